//! The dirty map: the module itself marks what it writes, so that a checkpoint need not look at the memory.
//!
//! ```text
//!   0            N marks            base                            base + N pages
//!   ├─ marks ────┼─ unused ─────────┼──────── the game's part ────────────┤
//! ```
//!
//! Byte `p` of the memory is 1 if page `p` of the game's part was written since the map was last collected. The module's loads
//! and stores all begin at the base, so that the game can neither read its marks nor write them, whatever it does. What the host
//! writes it marks as the module would, with [`mark`].

use super::SMALL_PAGE_BYTES;
use super::set::PageSet;
use super::store::PageStore;
use super::tracker::{TrackFault, Tracker};

/// Marks that are looked at together.
const WORD_MARKS: usize = 8;

/// Reads the marks of a module that was given a map.
#[derive(Debug)]
pub struct DirtyMap {
    game_pages: u32,
}

impl DirtyMap {
    /// The map of a game whose own part of the memory has so many pages of 4 KiB.
    pub fn new(game_pages: u32) -> DirtyMap {
        DirtyMap { game_pages }
    }

    fn marks<'a>(&self, memory: &'a mut [u8]) -> Result<&'a mut [u8], TrackFault> {
        let (bytes, expected) = (memory.len(), self.game_pages as usize);
        memory.get_mut(..expected).ok_or(TrackFault::Length { bytes, expected })
    }
}

impl Tracker for DirtyMap {
    fn collect(&mut self, memory: &mut [u8], _: &PageStore, dirty: &mut PageSet) -> Result<(), TrackFault> {
        match self.marks(memory) {
            Ok(marks) => {
                scan(marks, dirty);
                Ok(())
            }
            Err(fault) => {
                dirty.insert_all();
                Err(fault)
            }
        }
    }

    fn forget(&mut self, memory: &mut [u8]) -> Result<(), TrackFault> {
        self.marks(memory).map(|marks| marks.fill(0))
    }
}

/// Marks what the host wrote: `length` bytes of the game's part from `address` on, which were in the memory.
pub fn mark(memory: &mut [u8], address: u32, length: u32) {
    let Some(last) = length.checked_sub(1).and_then(|rest| address.checked_add(rest)) else { return };
    let page = |address: u32| address as usize / SMALL_PAGE_BYTES;
    if let Some(marks) = memory.get_mut(page(address)..=page(last)) {
        marks.fill(1);
    }
}

/// Moves the marks into `dirty`. Most words have none.
fn scan(marks: &mut [u8], dirty: &mut PageSet) {
    let (words, rest) = marks.as_chunks_mut::<WORD_MARKS>();
    let mut take = |first: usize, marks: &mut [u8]| {
        for (mark, page) in marks.iter_mut().zip(first..).filter(|(mark, _)| **mark != 0) {
            *mark = 0;
            // Pages of a memory have 32-bit numbers.
            dirty.insert(u32::try_from(page).unwrap_or(u32::MAX));
        }
    };
    let rest_first = words.len() * WORD_MARKS;
    for (first, word) in (0..).step_by(WORD_MARKS).zip(words.iter_mut()) {
        if u64::from_ne_bytes(*word) != 0 {
            take(first, word);
        }
    }
    take(rest_first, rest);
}
