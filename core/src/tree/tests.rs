//! The tree against plain BLAKE3 and against a tree made chunk by chunk; the search and the diff against a comparison of bytes.

use alloc::collections::BTreeSet;
use alloc::string::ToString;
use alloc::{vec, vec::Vec};

use blake3::CHUNK_LEN;
use proptest::collection::vec;
use proptest::prelude::*;

use super::*;

/// Lengths of trailers on both sides of what changes the tree: chunks, pages, and powers of two of them.
const TRAILERS: [usize; 17] =
    [0, 1, 12, 63, 64, 65, 1023, 1024, 1025, 2048, 3000, 4095, 4096, 4097, 8192, 12_289, 40_000];

/// Bytes without a pattern that a page would repeat.
fn bytes(length: usize, seed: u64) -> Vec<u8> {
    let mut out = vec![0; length];
    blake3::Hasher::new().update(&seed.to_le_bytes()).finalize_xof().fill(&mut out);
    out
}

fn memory(pages: usize, seed: u64) -> Vec<u8> {
    bytes(pages * TREE_PAGE_BYTES, seed)
}

fn one_shot(memory: &[u8], trailer: &[u8]) -> SubtreeValue {
    *blake3::hash(&[memory, trailer].concat()).as_bytes()
}

fn scribble(memory: &mut [u8], page: u32, salt: u8) {
    let at = page as usize * TREE_PAGE_BYTES + usize::from(salt) * 16;
    memory[at] = memory[at].wrapping_add(1);
}

/// The value of some chunks, from the values of single chunks.
fn naive(memory: &[u8], first: usize, chunks: usize) -> SubtreeValue {
    if chunks == 1 {
        return value_at((first * CHUNK_LEN) as u64, &memory[first * CHUNK_LEN..][..CHUNK_LEN]);
    }
    let half = chunks / 2;
    merge_subtrees_non_root(&naive(memory, first, half), &naive(memory, first + half, half), Mode::Hash)
}

/// Every place of a memory of so many pages.
fn places(pages: u32) -> impl Iterator<Item = Subtree> {
    (0..u32::BITS).flat_map(move |level| (0..pages >> level).filter_map(move |index| Subtree::new(level, index)))
}

/// K5: for every number of pages up to 70 and every class of trailer, the first hash and one after a touched page.
#[test]
fn k5_the_root_is_the_plain_hash_for_every_size() {
    let whole = memory(70, 1);
    let trailer = bytes(TRAILERS[16], 2);
    for pages in 0..=70 {
        let mut memory = whole[..pages * TREE_PAGE_BYTES].to_vec();
        let mut tree = PageTree::new();
        tree.update(&memory, &[]);
        for touched in [None, Some(pages / 2), Some(0), pages.checked_sub(1)] {
            if let Some(page) = touched.filter(|page| *page < pages).and_then(|page| u32::try_from(page).ok()) {
                scribble(&mut memory, page, 7);
                tree.update(&memory, &[page]);
            }
            for length in TRAILERS {
                let trailer = &trailer[..length];
                assert!(tree.root(trailer) == one_shot(&memory, trailer), "{pages} pages, {length} bytes, {touched:?}");
            }
        }
    }
}

/// K5: a page that is not named is not hashed again, wherever it is and however the rest was hashed; naming it heals that.
#[test]
fn k5_a_missing_dirty_page_shows() {
    for pages in [1, 2, 3, 7, 8, 33, 64] {
        for page in 0..pages {
            let mut memory = memory(pages as usize, 3);
            let mut tree = PageTree::new();
            tree.update(&memory, &[]);
            tree.open(&memory);
            scribble(&mut memory, page, 1);
            let others: Vec<u32> = (0..pages).filter(|other| *other != page && other % 8 == 5).collect();
            others.iter().for_each(|other| scribble(&mut memory, *other, 2));
            tree.update(&memory, &others);
            assert!(tree.root(b"t") != one_shot(&memory, b"t"), "{page} of {pages}");
            tree.update(&memory, &[page]);
            assert!(tree.root(b"t") == one_shot(&memory, b"t"), "{page} of {pages}");
        }
    }
}

/// K5: pages may be named in any order, twice, and beyond the memory; bytes after the last whole page are the trailer's.
#[test]
fn k5_dirty_pages_come_in_any_order() {
    let mut memory = memory(20, 4);
    let mut tree = PageTree::new();
    tree.update(&memory, &[]);
    [3, 17, 4, 0].into_iter().for_each(|page| scribble(&mut memory, page, 3));
    tree.update(&memory, &[17, 3, 4, 3, u32::MAX, 0, 20]);
    assert_eq!(tree.root(b"end"), one_shot(&memory, b"end"));
    let (pages, rest) = memory.split_at(19 * TREE_PAGE_BYTES + 100).0.split_at(19 * TREE_PAGE_BYTES);
    tree.update(&memory[..pages.len() + 100], &[]);
    assert_eq!((tree.pages(), tree.root(rest)), (19, one_shot(pages, rest)));
}

/// What happens from one state to the next.
#[derive(Clone, Debug)]
struct Change {
    /// The memory's new number of pages; `None` for as many as before.
    pages: Option<usize>,
    /// First page and length of what is touched.
    runs: Vec<(u32, u32)>,
    trailer_bytes: usize,
}

fn change() -> impl Strategy<Value = Change> {
    let pages = prop_oneof![2 => Just(None), 1 => (0..90_usize).prop_map(Some)];
    let runs = vec((0..90_u32, prop_oneof![4 => 1..3_u32, 1 => 1..40_u32]), 0..6);
    (pages, runs, 0..6000_usize).prop_map(|(pages, runs, trailer_bytes)| Change { pages, runs, trailer_bytes })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 96, failure_persistence: None, ..ProptestConfig::default() })]

    /// K5: through any history of touched pages, growth and shrinkage, the root is the plain hash at every state, and every
    /// value is what single chunks give.
    #[test]
    fn k5_the_root_is_the_plain_hash_through_any_history(first in 0..90_usize, history in vec(change(), 1..12), open in 0..12_usize) {
        let (mut state, mut tree) = (memory(first, 5), PageTree::new());
        tree.update(&state, &[]);
        for (number, Change { pages, runs, trailer_bytes }) in history.into_iter().enumerate() {
            state.resize(pages.map_or(state.len(), |pages| pages * TREE_PAGE_BYTES), 9);
            let count = u32::try_from(state.len() / TREE_PAGE_BYTES).expect("few");
            let dirty: BTreeSet<u32> = runs.iter().flat_map(|(at, run)| *at..at + run).filter(|page| *page < count).collect();
            let dirty: Vec<u32> = dirty.into_iter().collect();
            dirty.iter().for_each(|page| scribble(&mut state, *page, u8::try_from(number).expect("few")));
            tree.update(&state, &dirty);
            let trailer = bytes(trailer_bytes, 6);
            prop_assert!(tree.root(&trailer) == one_shot(&state, &trailer));
            for at in places(count) {
                let told = tree.value(at);
                prop_assert!(told.is_none_or(|value| value == naive(&state, 4 * at.first_page() as usize, 4 << at.level())));
            }
            if number == open {
                tree.open(&state);
                prop_assert!(places(count).all(|at| tree.value(at).is_some()));
            }
        }
    }

    /// T: the search finds the first page that a comparison of the bytes finds.
    #[test]
    fn t_the_search_finds_the_first_difference(
        sizes in (0..80_usize, 0..80_usize),
        touched in vec(0..80_u32, 0..4),
    ) {
        let (ours, mut theirs) = (memory(sizes.0, 7), memory(sizes.1, 7));
        let common = u32::try_from(sizes.0.min(sizes.1)).expect("few");
        touched.iter().filter(|page| (**page as usize) < sizes.1).for_each(|page| scribble(&mut theirs, *page, 4));
        let first = (0..common).find(|page| {
            let range = *page as usize * TREE_PAGE_BYTES..(*page as usize + 1) * TREE_PAGE_BYTES;
            ours[range.clone()] != theirs[range]
        });
        let (mut here, mut there) = (PageTree::new(), PageTree::new());
        here.update(&ours, &[]);
        there.update(&theirs, &[]);
        let (here, there) = (here.open(&ours), there.open(&theirs));
        prop_assert_eq!(first_difference(common, |at| here.value(at), |at| there.value(at)), first);
    }
}

/// T: the values that are shown are those of single chunks, and there is one for each place and no other.
#[test]
fn t_an_open_tree_has_the_value_of_every_place() {
    for pages in [0, 1, 2, 5, 8, 21] {
        let memory = memory(pages as usize, 8);
        let mut tree = PageTree::new();
        tree.update(&memory, &[]);
        let open = tree.open(&memory);
        for at in places(pages) {
            let expected = naive(&memory, 4 * at.first_page() as usize, 4 << at.level());
            assert!(open.value(at) == Some(expected), "{at:?} of {pages}");
        }
        for level in 0..u32::BITS {
            let beyond = Subtree::new(level, pages >> level).expect("in range");
            assert_eq!(open.value(beyond), None, "{beyond:?} of {pages}");
        }
    }
}

/// T: with one page that differs, or none, the search ends there after at most log2 n + 1 questions. The two sides are
/// stood in for by what they would answer.
#[test]
fn t_the_search_asks_a_logarithm_of_questions() {
    let check = |pages: u32, page: u32| {
        let mut asked = 0;
        let theirs = |at: Subtree| Some([u8::from((at.first_page()..=at.last_page()).contains(&page)); 32]);
        let ours = |at: Subtree| {
            asked += 1;
            assert!(at.last_page() < pages, "{at:?} of {pages}");
            Some([0; 32])
        };
        let found = first_difference(pages, ours, theirs);
        assert_eq!(found, Some(page).filter(|page| *page < pages), "{page} of {pages}");
        assert!(asked <= DifferenceSearch::most_questions(pages), "{asked} for {page} of {pages}");
        asked
    };
    for pages in 1..=70_u32 {
        let most = (0..=pages).map(|page| check(pages, page)).max();
        assert_eq!(most, Some(DifferenceSearch::most_questions(pages)), "{pages}: the bound is reached");
        assert_eq!(DifferenceSearch::most_questions(pages), pages.ilog2() + 1);
    }
    for pages in [1 << 20, (1 << 20) - 1, u32::MAX] {
        [0, 1, 4097, pages / 3, pages - 2, pages - 1].into_iter().for_each(|page| assert!(check(pages, page) <= 32));
    }
    assert_eq!(DifferenceSearch::new(0).status(), Search::Same);
}

/// T: a side that lies or has nothing to say leads somewhere, and an answer without a question changes nothing.
#[test]
fn t_wrong_answers_end_the_search_too() {
    for answers in [0_u64, u64::MAX, 0x5555_5555_5555_5555, 0x9E37_79B9_7F4A_7C15] {
        let mut search = DifferenceSearch::new(u32::MAX);
        let mut asked = 0;
        while let Search::Ask(_) = search.status() {
            search.answer(Some([0; 32]), (answers >> asked & 1 == 1).then_some([0; 32]));
            asked += 1;
        }
        assert!(asked <= DifferenceSearch::most_questions(u32::MAX));
        let found = search;
        search.answer(None, Some([1; 32]));
        assert_eq!(search, found);
    }
}

/// T: every place that can be said is one whose pages have numbers.
#[test]
fn t_places_end_where_page_numbers_do() {
    let top = |level| Subtree::new(level, u32::MAX >> level).map(Subtree::last_page);
    assert!((0..32).all(|level| top(level) == Some(u32::MAX)));
    assert!((1..32).all(|level| Subtree::new(level, (u32::MAX >> level) + 1).is_none()));
    assert!([32, 33, u32::MAX].into_iter().all(|level| Subtree::new(level, 0).is_none()));
}

fn check_diff(ours: &[u8], theirs: &[u8], expected: &[(u32, usize, usize)]) {
    let found: Vec<_> = diff(9, ours, theirs).map(|run| (run.offset, run.ours.len(), run.theirs.len())).collect();
    assert_eq!(found, expected);
    for run in diff(9, ours, theirs) {
        let start = run.offset as usize;
        assert_eq!((run.page, run.address()), (9, 9 * 4096 + u64::from(run.offset)));
        assert_eq!((run.ours, run.theirs), (&ours[start..][..run.ours.len()], &theirs[start..][..run.theirs.len()]));
    }
}

/// T: runs at both ends, next to equal bytes, of unequal sides, and never beyond a page.
#[test]
fn t_a_diff_names_offset_and_both_values() {
    check_diff(&[], &[], &[]);
    check_diff(&[1, 2, 3], &[1, 2, 3], &[]);
    check_diff(&[1, 2, 3], &[0, 2, 0], &[(0, 1, 1), (2, 1, 1)]);
    check_diff(&[1, 2, 3, 4], &[1, 9, 9, 4], &[(1, 2, 2)]);
    check_diff(&[1, 2, 3], &[1], &[(1, 2, 0)]);
    check_diff(&[0, 2], &[1, 1, 5], &[(0, 2, 2), (2, 0, 1)]);
    let (zeros, mut far) = (vec![0; 5000], vec![0; 5000]);
    far[4095..].fill(1);
    check_diff(&zeros, &far, &[(4095, 1, 1)]);
    let stripes: Vec<u8> = (0..4095_u32).map(|at| u8::from(at % 2 == 0)).collect();
    assert_eq!(diff(0, &zeros, &stripes).count(), 2049);
}

/// T: the text shows a few bytes of a long run, and how many there are.
#[test]
fn t_the_text_of_a_long_run_is_short() {
    let run = |length| DifferingRun { page: 1, offset: 2, ours: &[0xAB; 17][..length], theirs: &[] }.to_string();
    assert_eq!(run(1), "page 1, offset 0x002 (address 0x00001002): ours ab, theirs nothing");
    assert!(run(16).ends_with(" ab, theirs nothing") && run(16).matches("ab").count() == 16);
    assert!(run(17).ends_with(" ab … (17 bytes), theirs nothing") && run(17).matches("ab").count() == 16);
}
