//! Tracking with the kernel's help: pages are write-protected, and the kernel notes which ones were written nonetheless.
//!
//! ```text
//!   new, forget         a step writes                      collect
//!   ┌─┬─┬─┬─┬─┬─┐       ┌─┬─┬─┬─┬─┬─┐                      ┌─┬─┬─┬─┬─┬─┐
//!   │P│P│P│P│P│P│ ────▶ │P│ │P│P│ │P│ ──▶ written: 1, 4 ──▶ │P│P│P│P│P│P│
//!   └─┴─┴─┴─┴─┴─┘       └─┴─┴─┴─┴─┴─┘                      └─┴─┴─┴─┴─┴─┘
//! ```
//!
//! The module needs no instrumentation and the memory is not read: the first store into a protected page costs a page fault,
//! which the kernel resolves by itself, and one scan of the page table tells the pages and protects them again. Nothing of it
//! is seen by the game, and no signal and no other thread plays a part. It needs no privilege, but Linux 6.7 and a machine
//! with pages of 4 KiB; [`ProtectPages::probe`] tries. Everything else works without it.
//!
//! System calls, and all that is unsafe about them, are in `kernel`.

use std::ops::Range;

use self::kernel::{Mapping, Region};
use super::SMALL_PAGE_BYTES;
use super::set::PageSet;
use super::store::{PageStore, whole_pages};
use super::tracker::{TrackFault, Tracker};

pub(super) mod kernel;

/// Why the kernel doesn't track a memory's pages here.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
pub enum Unavailable {
    /// The system call is not there, or a filter says so.
    #[error("no userfaultfd")]
    NotThere,
    /// A filter or a setting of the system forbids it.
    #[error("userfaultfd is refused")]
    Refused,
    /// The kernel lacks what came with Linux 6.7.
    #[error("the kernel is too old for asynchronous write protection")]
    TooOld,
    /// The process may not look at its own page table: no `/proc`, or it was made undumpable.
    #[error("no access to the page table")]
    PageTable,
    /// The machine's pages are not those of the store.
    #[error("the machine's pages have {bytes} bytes")]
    PageSize {
        /// Bytes of one of the machine's pages.
        bytes: usize,
    },
    /// The memory does not begin where a page does.
    #[error("the memory begins within a page")]
    Unaligned,
    /// The game's part is not made of whole pages of the memory, or is empty, or larger than a 32-bit memory.
    #[error("bytes {start}..{end} of a memory of {bytes} are no pages to track")]
    Part {
        /// The part's first byte.
        start: usize,
        /// The byte behind its last one.
        end: usize,
        /// Bytes that the memory has.
        bytes: usize,
    },
    /// The memory can't be registered: another tracker has it, or it is of a kind that can't be protected.
    #[error("the memory is not registered: error {code}")]
    Register {
        /// The system's error number.
        code: i32,
    },
    /// The process is out of descriptors, or the kernel of memory.
    #[error("no resources: error {code}")]
    Exhausted {
        /// The system's error number.
        code: i32,
    },
    /// The trial told other pages than were written.
    #[error("the kernel told other pages than were written")]
    Wrong,
}

/// Lets the kernel note the written pages of a memory that neither moves nor changes its length.
///
/// It names exactly what was written, by the module or by the host or by a system call; a page that was only read is not named.
/// The memory may be gone before the tracker is: dropping ends the protection of what is left of it. While the tracker lives,
/// none of the memory's pages may be given back to the system (`MADV_DONTNEED`): that is no write to the kernel.
#[doc(alias = "userfaultfd")]
#[doc(alias = "write protect")]
#[derive(Debug)]
pub struct ProtectPages {
    address: usize,
    bytes: usize,
    region: Region,
}

impl ProtectPages {
    /// Tries on a small memory of its own whether the kernel tells what was written. Takes about as long as twenty system calls.
    ///
    /// # Errors
    /// [`Unavailable`].
    pub fn probe() -> Result<(), Unavailable> {
        const PART: Range<usize> = SMALL_PAGE_BYTES..4 * SMALL_PAGE_BYTES;
        let mut memory = Mapping::new(PART.end + SMALL_PAGE_BYTES)?;
        let mut tracker = ProtectPages::new(memory.bytes(), PART)?;
        let mut found = PageSet::new(3);
        for written in [None, Some(1), Some(1), Some(2), None] {
            let bytes = memory.bytes();
            // Outside of the part, and read alone: neither counts.
            bytes[0] += 1;
            bytes[PART.end] += std::hint::black_box(bytes[PART.start]) + 1;
            if let Some(page) = written {
                bytes[PART.start + page * SMALL_PAGE_BYTES] += 1;
            }
            found.clear();
            let told = tracker.scan(memory.bytes(), &mut found);
            let pages = found.as_slice().iter().map(|page| *page as usize);
            if told.is_err() || !pages.eq(written) {
                return Err(Unavailable::Wrong);
            }
        }
        Ok(())
    }

    /// Protects the pages of the memory's `part`, given in bytes, which is the game's: the trackers and the store number pages
    /// from its first one. What was written before does not count.
    ///
    /// # Errors
    /// [`Unavailable`].
    pub fn new(memory: &mut [u8], part: Range<usize>) -> Result<ProtectPages, Unavailable> {
        let bytes = rustix::param::page_size();
        if bytes != SMALL_PAGE_BYTES {
            return Err(Unavailable::PageSize { bytes });
        }
        let (address, bytes) = (address(memory), memory.len());
        if !address.is_multiple_of(SMALL_PAGE_BYTES) {
            return Err(Unavailable::Unaligned);
        }
        let Range { start, end } = part;
        let inside = start < end && end <= bytes && start.is_multiple_of(SMALL_PAGE_BYTES);
        if !inside || whole_pages(end - start).is_err() {
            return Err(Unavailable::Part { start, end, bytes });
        }
        let region = Region::new(&mut memory[start..end])?;
        Ok(ProtectPages { address, bytes, region })
    }

    fn check(&self, memory: &mut [u8]) -> Result<(), TrackFault> {
        let (bytes, expected) = (memory.len(), self.bytes);
        if bytes != expected {
            return Err(TrackFault::Length { bytes, expected });
        }
        if address(memory) == self.address { Ok(()) } else { Err(TrackFault::Moved) }
    }

    fn scan(&mut self, memory: &mut [u8], dirty: &mut PageSet) -> Result<(), TrackFault> {
        self.check(memory)?;
        let scanned = self.region.take_written(|page| dirty.insert(page));
        scanned.map_err(|error| TrackFault::Kernel { code: error.raw_os_error() })
    }
}

impl Tracker for ProtectPages {
    fn collect(&mut self, memory: &mut [u8], _: &PageStore, dirty: &mut PageSet) -> Result<(), TrackFault> {
        let scanned = self.scan(memory, dirty);
        if scanned.is_err() {
            dirty.insert_all();
        }
        scanned
    }

    fn forget(&mut self, memory: &mut [u8]) -> Result<(), TrackFault> {
        self.check(memory)?;
        self.region.protect().map_err(|error| TrackFault::Kernel { code: error.raw_os_error() })
    }
}

/// Where the memory is. Exposed, because the kernel looks at its pages: no store may be put off until after a system call.
fn address(memory: &mut [u8]) -> usize {
    memory.as_mut_ptr().expose_provenance()
}
