//! The checksum as a tree: once it had its greatest size, a state costs no allocation (K5).

use retick_core::digest::Checksum;
use retick_core::tree::{PageTree, TREE_PAGE_BYTES};

/// Pages of the memory.
const PAGES: usize = 100;

/// K5: updates, roots and openings, shrinking and growing included.
#[test]
fn k5_the_steady_state_of_a_tree_allocates_nothing() {
    let mut memory = vec![7; PAGES * TREE_PAGE_BYTES];
    let mut tree = PageTree::new();
    tree.update(&memory, &[9, 8, 7, 6]);
    let counted = allocation_counter::measure(|| {
        for number in 0..40_u8 {
            let length = memory.len() - usize::from(number % 4) * TREE_PAGE_BYTES;
            memory[usize::from(number) * TREE_PAGE_BYTES + 5] ^= 1;
            tree.update(&memory[..length], &[u32::from(number), 0, 3]);
            tree.root(b"trailer");
            tree.open(&memory[..length]);
        }
    });
    assert_eq!((counted.count_total, tree.pages()), (0, 97));
    let state = [&memory[..97 * TREE_PAGE_BYTES], b"t"].concat();
    assert_eq!(Checksum::from_bytes(tree.root(b"t")), Checksum::of(&state));
}
