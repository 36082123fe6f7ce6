//! The dirty map: the module itself marks what it writes, so that a checkpoint need not look at the memory.
//!
//! ```text
//!   0                                 N pages                             N + M pages
//!   ├──────── the game's part ────────┼─ N marks ─┼─ M marks ─┼── zeros ──┤
//!                                      └ game      └ the map itself
//! ```
//!
//! After every store the module writes 1 into the mark of the store's first byte's page, and of its last byte's; after a bulk
//! operation into the marks of all its pages. **After**, because the map counts its own pages too: whatever a store of the game's
//! own does to the map, the map's mark is set once it is done, so no such store goes unseen, not even one of a canonical 0 over a
//! mark or over the map's own. Marks are 0 or 1; all else is a fault as well.
//!
//! The game must not learn from the map what machines do differently. Collecting clears it, so it is to be collected after every
//! call into the module, and not at checkpoints alone, whose places differ between machines: then the map is zero whenever a call
//! begins, and a load from it depends on the stores of the same call only.

use super::SMALL_PAGE_BYTES;
use super::set::PageSet;
use super::store::PageStore;
use super::tracker::{TrackFault, Tracker};

/// Marks that are looked at together.
const WORD_MARKS: usize = 8;

/// Where a mark's only bit is, in each of a word's marks.
const MARK_BITS: u64 = 0x0101_0101_0101_0101;

/// Reads the marks of a module that was given a map.
#[derive(Debug)]
pub struct DirtyMap {
    game_pages: u32,
}

impl DirtyMap {
    /// The map of a game whose own part of the memory has so many pages.
    pub fn new(game_pages: u32) -> DirtyMap {
        DirtyMap { game_pages }
    }

    /// Where the map begins, in bytes: page `p` is marked at `offset() + p`.
    pub fn offset(&self) -> usize {
        self.game_pages as usize * SMALL_PAGE_BYTES
    }

    /// Pages of the map: as few as hold a mark for each page of the game and of the map.
    pub fn pages(&self) -> u32 {
        const MARKS_FOR_OTHERS: u32 = 4096 - 1;
        const _: () = assert!(MARKS_FOR_OTHERS as usize + 1 == SMALL_PAGE_BYTES);
        self.game_pages.div_ceil(MARKS_FOR_OTHERS)
    }

    fn map<'a>(&self, memory: &'a mut [u8]) -> Result<&'a mut [u8], TrackFault> {
        let (bytes, start) = (memory.len(), self.offset());
        let expected = start + self.pages() as usize * SMALL_PAGE_BYTES;
        let map = memory.get_mut(start..expected);
        map.ok_or(TrackFault::Length { bytes, expected })
    }
}

impl Tracker for DirtyMap {
    fn collect(&mut self, memory: &mut [u8], _: &PageStore, dirty: &mut PageSet) -> Result<(), TrackFault> {
        let scanned = self.map(memory).and_then(|map| {
            let marks = (self.game_pages + self.pages()) as usize;
            let words = map.as_chunks_mut().0;
            let scanned = scan(&mut words[..marks.div_ceil(WORD_MARKS)], self.game_pages, dirty);
            if scanned.is_err() {
                map.fill(0);
            }
            scanned
        });
        if scanned.is_err() {
            dirty.insert_all();
        }
        scanned
    }

    fn forget(&mut self, memory: &mut [u8]) -> Result<(), TrackFault> {
        self.map(memory).map(|map| map.fill(0))
    }
}

/// Moves the marks of the words into `dirty`.
fn scan(words: &mut [[u8; WORD_MARKS]], game_pages: u32, dirty: &mut PageSet) -> Result<(), TrackFault> {
    for (first, word) in (0..).step_by(WORD_MARKS).zip(words) {
        let mut marks = u64::from_le_bytes(*word);
        if marks == 0 {
            continue;
        }
        if marks & !MARK_BITS != 0 {
            let marked = (first..).zip(*word).find(|(_, mark)| *mark > 1);
            let (page, mark) = marked.unwrap_or_default();
            return Err(TrackFault::Mark { page, mark });
        }
        *word = [0; WORD_MARKS];
        while marks != 0 {
            let page = first + marks.trailing_zeros() / u8::BITS;
            if page >= game_pages {
                return Err(TrackFault::MapWritten);
            }
            dirty.insert(page);
            marks &= marks - 1;
        }
    }
    Ok(())
}
