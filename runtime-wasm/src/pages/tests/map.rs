//! The dirty map: where it lies and what it names.

use super::super::{ComparePages, DirtyMap, PageSet, PageStore, SMALL_PAGE_BYTES, TrackFault, Tracker, mark};
use super::rig::BASE;

struct Game {
    map: DirtyMap,
    memory: Vec<u8>,
    store: PageStore,
    dirty: PageSet,
}

impl Game {
    fn new(pages: u32) -> Game {
        let memory = vec![0; BASE + pages as usize * SMALL_PAGE_BYTES];
        let store = PageStore::new(&memory[BASE..]).expect("whole pages");
        Game { map: DirtyMap::new(pages), memory, store, dirty: PageSet::new(pages) }
    }

    fn collect(&mut self) -> Result<(), TrackFault> {
        self.map.collect(&mut self.memory, &self.store, &mut self.dirty)
    }
}

/// W6: every page can be named, the first and the last, once each; collecting clears the map.
#[test]
fn w6_marked_pages_are_named_once() {
    for pages in [1, 7, 8, 9, 64, 4095, 4096] {
        let mut game = Game::new(pages);
        let last = u32::try_from(game.memory.len() - BASE - 1).expect("small");
        [0, 5, last, last].into_iter().for_each(|address| mark(&mut game.memory, address, 1));
        assert_eq!(game.collect(), Ok(()));
        let mut expected = vec![0, pages - 1];
        expected.dedup();
        assert_eq!(game.dirty.sorted(), expected);
        assert!(game.memory.iter().all(|byte| *byte == 0));
        // Marks add up until the set is emptied, and what is forgotten is not named.
        mark(&mut game.memory, 0, 1);
        game.map.forget(&mut game.memory).expect("long enough");
        assert_eq!((game.collect(), game.dirty.as_slice().len()), (Ok(()), expected.len()));
    }
}

/// W6: what the host wrote is marked from its first byte's page to its last byte's, and nothing for no bytes.
#[test]
fn w6_a_span_of_the_hosts_is_marked_whole() {
    let cases: [(u32, u32, &[u32]); 6] = [
        (0, 0, &[]),
        (4095, 1, &[0]),
        (4095, 2, &[0, 1]),
        (4096, 4096, &[1]),
        (1, 3 * 4096, &[0, 1, 2, 3]),
        (u32::MAX, u32::MAX, &[]),
    ];
    for (address, length, pages) in cases {
        let mut game = Game::new(17);
        mark(&mut game.memory, address, length);
        assert_eq!(game.collect(), Ok(()));
        assert_eq!(game.dirty.sorted(), pages, "{address} {length}");
    }
}

/// W7: a memory that has another length than was tracked is a typed error, and nothing counts as clean.
#[test]
fn w7_another_length_is_a_fault() {
    let mut game = Game::new(2);
    let (mut dirty, mut memory) = (PageSet::new(2), vec![0; 1]);
    let fault = Err(TrackFault::Length { bytes: 1, expected: 2 });
    assert_eq!(game.map.collect(&mut memory, &game.store, &mut dirty), fault);
    assert_eq!(dirty.sorted(), [0, 1]);
    assert_eq!(game.map.forget(&mut memory), fault);
    for bytes in [0, BASE, BASE + 8191] {
        let (mut dirty, mut memory) = (PageSet::new(2), vec![0; bytes]);
        let fault = Err(TrackFault::Length { bytes, expected: BASE + 8192 });
        assert_eq!(ComparePages::new(BASE).collect(&mut memory, &game.store, &mut dirty), fault);
        assert_eq!(dirty.sorted(), [0, 1]);
    }
}
