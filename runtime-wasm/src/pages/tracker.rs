//! Who says which pages were written: the seam, and the two trackers that need nobody's help.

use super::set::PageSet;
use super::store::PageStore;

/// Why a tracker can't say which pages were written. `dirty` names every page then, so that saves and restores stay exact.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
pub enum TrackFault {
    /// The memory does not have the length that the tracker was made for.
    #[error("a memory of {bytes} bytes where {expected} are tracked")]
    Length {
        /// Bytes that the memory has.
        bytes: usize,
        /// Bytes that are tracked, the tracker's own among them.
        expected: usize,
    },
    /// The memory is not where the tracked one is.
    #[error("another memory than the one that is tracked")]
    Moved,
    /// The kernel doesn't tell what was written. The memory itself is what the step left, and comparing finds what differs; the
    /// tracker may fail again.
    #[error("the kernel does not tell what was written: error {code}")]
    Kernel {
        /// The system's error number.
        code: i32,
    },
}

/// Finds the pages that were written. It may name a page too many and never misses one; none of this is seen by the game.
pub trait Tracker {
    /// Adds to `dirty` what was written since the last call, and at least what makes `memory` differ from the store's last
    /// save or restore. `memory` is the whole linear memory, of which the store keeps the game's part, from its base on.
    ///
    /// # Errors
    /// [`TrackFault`]; every page is in `dirty` then.
    fn collect(&mut self, memory: &mut [u8], store: &PageStore, dirty: &mut PageSet) -> Result<(), TrackFault>;

    /// The game's part is what the store saved or restored last: what was written before no longer counts. To be called
    /// after the host has written the memory: a restore, a hydration.
    ///
    /// # Errors
    /// [`TrackFault::Length`], [`TrackFault::Moved`], [`TrackFault::Kernel`].
    fn forget(&mut self, memory: &mut [u8]) -> Result<(), TrackFault>;
}

/// Takes every page for written. Best for memories of a few pages, and right for every memory.
#[derive(Debug, Default)]
pub struct CopyAll;

impl Tracker for CopyAll {
    fn collect(&mut self, _: &mut [u8], _: &PageStore, dirty: &mut PageSet) -> Result<(), TrackFault> {
        dirty.insert_all();
        Ok(())
    }

    fn forget(&mut self, _: &mut [u8]) -> Result<(), TrackFault> {
        Ok(())
    }
}

/// Compares every page with what was saved last. Names what differs, at the cost of reading the memory, and what differed at the
/// last call if nothing was saved since: such a page may have been written back, and is another than it was then.
#[derive(Debug)]
pub struct ComparePages {
    base: usize,
    /// What differed at the last call, and room for what does now.
    differed: Vec<u32>,
    differs: Vec<u32>,
    /// The save that it differed from.
    save: u64,
}

impl ComparePages {
    /// For a game whose part of the memory begins at this byte.
    pub fn new(base: usize) -> ComparePages {
        ComparePages { base, differed: Vec::new(), differs: Vec::new(), save: 0 }
    }
}

impl Tracker for ComparePages {
    fn collect(&mut self, memory: &mut [u8], store: &PageStore, dirty: &mut PageSet) -> Result<(), TrackFault> {
        let (bytes, expected) = (memory.len(), self.base + store.bytes());
        let Some(game) = memory.get(self.base..expected) else {
            dirty.insert_all();
            return Err(TrackFault::Length { bytes, expected });
        };
        self.differs.clear();
        if self.save != store.last_save() {
            self.save = store.last_save();
            self.differed.clear();
        }
        for (page, (content, last)) in (0..).zip(game.as_chunks().0.iter().zip(store.last())) {
            if content != last {
                self.differs.push(page);
            }
        }
        self.differs.iter().chain(&self.differed).for_each(|page| dirty.insert(*page));
        std::mem::swap(&mut self.differs, &mut self.differed);
        Ok(())
    }

    fn forget(&mut self, _: &mut [u8]) -> Result<(), TrackFault> {
        self.differed.clear();
        Ok(())
    }
}
