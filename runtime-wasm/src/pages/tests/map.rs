//! The dirty map: where it lies, what it names, and what a module that writes into it gets.

use super::super::{ComparePages, DirtyMap, PageSet, PageStore, SMALL_PAGE_BYTES, TrackFault, Tracker};

struct Game {
    map: DirtyMap,
    memory: Vec<u8>,
    store: PageStore,
    dirty: PageSet,
}

impl Game {
    fn new(pages: u32) -> Game {
        let map = DirtyMap::new(pages);
        let memory = vec![0; map.offset() + map.pages() as usize * SMALL_PAGE_BYTES];
        let store = PageStore::new(&memory[..map.offset()]).expect("whole pages");
        Game { map, memory, store, dirty: PageSet::new(pages) }
    }

    /// What a module does for a store of its game's: first the store, then the mark of its page.
    fn store_byte(&mut self, address: usize, value: u8) {
        self.memory[address] = value;
        let mark = self.map.offset() + address / SMALL_PAGE_BYTES;
        self.memory[mark] = 1;
    }

    fn collect(&mut self) -> Result<(), TrackFault> {
        self.map.collect(&mut self.memory, &self.store, &mut self.dirty)
    }

    /// Collects, which must fail; every page is dirty then, and the next step starts afresh.
    fn check_fault(&mut self, fault: TrackFault) {
        assert_eq!(self.collect(), Err(fault));
        assert!(self.dirty.sorted().iter().copied().eq(0..self.store.pages()));
        self.dirty.clear();
        assert_eq!((self.collect(), self.dirty.as_slice()), (Ok(()), &[][..]));
    }
}

/// W6: the map is as small as holds the marks of the game and its own.
#[test]
fn w6_the_map_has_room_for_its_own_marks() {
    for (game, map) in [(0, 0), (1, 1), (16, 1), (4095, 1), (4096, 2), (8190, 2), (8191, 3), (1 << 20, 257)] {
        assert_eq!(DirtyMap::new(game).pages(), map, "{game}");
        assert!(game + map <= map * 4096, "{game}");
    }
}

/// W6: every page can be named, the first and the last, once each; collecting clears the map.
#[test]
fn w6_marked_pages_are_named_once() {
    for pages in [1, 7, 8, 9, 64, 4095, 4096] {
        let mut game = Game::new(pages);
        let last = game.map.offset() - 1;
        [0, 5, last, last].into_iter().for_each(|address| game.store_byte(address, 1));
        assert_eq!(game.collect(), Ok(()));
        let mut expected = vec![0, pages - 1];
        expected.dedup();
        assert_eq!(game.dirty.sorted(), expected);
        assert!(game.memory[game.map.offset()..].iter().all(|mark| *mark == 0));
        // Marks add up until the set is emptied, and what is forgotten is not named.
        game.store_byte(0, 2);
        game.map.forget(&mut game.memory).expect("long enough");
        assert_eq!((game.collect(), game.dirty.as_slice().len()), (Ok(()), expected.len()));
    }
}

/// W3: a mark that no instrumented store writes is a fault by name, wherever it stands in its word.
#[test]
fn w3_a_mark_that_is_no_mark_is_a_fault() {
    for (page, mark) in [(0, 2), (8, 255), (15, 128), (16, 3)] {
        let mut game = Game::new(17);
        game.store_byte(3, 1);
        let address = game.map.offset() + page as usize;
        game.memory[address] = mark;
        game.check_fault(TrackFault::Mark { page, mark });
    }
}

/// W3: a game's store into the map is seen although it writes what a mark may be: a 0 that hides a page, the map's own mark, a
/// 1 where no page is.
#[test]
fn w3_a_store_into_the_map_is_a_fault() {
    for (address, value) in [(0, 0), (17, 0), (16, 0), (0, 1), (23, 1), (24, 1), (4095, 7)] {
        let mut game = Game::new(17);
        game.store_byte(3, 1);
        let address = game.map.offset() + address;
        game.store_byte(address, value);
        game.check_fault(TrackFault::MapWritten);
        assert!(game.memory[game.map.offset()..].iter().all(|mark| *mark == 0));
    }
}

/// W3: after a fault a restore with all pages is exact, whatever the map hid.
#[test]
fn w3_a_fault_is_undone_exactly() {
    let mut game = Game::new(17);
    let slot = game.store.save(&game.memory[..game.map.offset()], &[]).expect("fits");
    game.store_byte(5 * SMALL_PAGE_BYTES, 1);
    let mark = game.map.offset() + 5;
    game.store_byte(mark, 0);
    assert_eq!(game.collect(), Err(TrackFault::MapWritten));
    let memory = &mut game.memory[..game.map.offset()];
    game.store.restore(slot, memory, game.dirty.as_slice(), &mut vec![]).expect("live");
    assert!(game.memory.iter().all(|byte| *byte == 0));
}

/// W7: a memory that has another length than was tracked is a typed error, and nothing counts as clean.
#[test]
fn w7_another_length_is_a_fault() {
    let mut game = Game::new(2);
    for (bytes, expected) in [(0, 12_288), (8192, 12_288), (12_287, 12_288)] {
        let (mut dirty, mut memory) = (PageSet::new(2), vec![0; bytes]);
        let fault = Err(TrackFault::Length { bytes, expected });
        assert_eq!(game.map.collect(&mut memory, &game.store, &mut dirty), fault);
        assert_eq!(dirty.sorted(), [0, 1]);
        assert_eq!(game.map.forget(&mut memory), fault);
    }
    let (mut dirty, mut memory) = (PageSet::new(2), vec![0; 8191]);
    let fault = Err(TrackFault::Length { bytes: 8191, expected: 8192 });
    assert_eq!(ComparePages.collect(&mut memory, &game.store, &mut dirty), fault);
    assert_eq!(dirty.sorted(), [0, 1]);
}
