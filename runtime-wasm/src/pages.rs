//! Checkpoints of one linear memory by pages: their cost follows what was written since the last one (W6).
//!
//! ```text
//!  memory ──▶ Tracker::collect ──▶ PageSet ──▶ PageStore::save ────▶ SlotId
//!    ▲        who wrote where?     pages          restore, release, read
//!    └──────────── each page that differs, once ────────┘
//! ```
//!
//! [`PageStore`] keeps the states, a [`Tracker`] says which pages were written, and neither knows how the other works: any
//! tracker may name a page too many, none may miss one. What a state holds beside its memory (tick, globals, sizes) is the
//! runtime's, which also says which slot is which checkpoint.
//!
//! A page here has 4 KiB: small enough that a lone write costs little, and the piece that the checksum's tree is made of.
//! WebAssembly's own page, in which limits count, is sixteen of them. All of this holds for a memory whose length never
//! changes (minimum, maximum and limit are one, W7); another length is a typed error and changes nothing.
//!
//! ```
//! use retick_wasm::pages::{ComparePages, PageSet, PageStore, Tracker};
//!
//! let mut memory = vec![0u8; 8 * 4096];
//! let (mut store, mut dirty) = (PageStore::new(&memory)?, PageSet::new(8));
//! let start = store.save(&memory, &[])?;
//! memory[5 * 4096] = 7;
//! ComparePages::new(0).collect(&mut memory, &store, &mut dirty)?;
//! assert_eq!(dirty.as_slice(), [5]);
//! store.save(&memory, dirty.as_slice())?;
//!
//! // One page was written, so one page is written back.
//! let mut restored = Vec::new();
//! store.restore(start, &mut memory, &[], &mut restored)?;
//! assert_eq!((restored, memory[5 * 4096]), (vec![5], 0));
//! # Ok::<(), Box<dyn core::error::Error>>(())
//! ```

mod map;
mod set;
mod store;
mod tracker;
#[cfg(all(target_os = "linux", target_pointer_width = "64"))]
mod userfault;
mod versions;

#[cfg(test)]
mod tests;

pub use self::{
    map::{DirtyMap, mark},
    set::PageSet,
    store::{PageError, PageStore, SlotId},
    tracker::{ComparePages, CopyAll, TrackFault, Tracker},
};

#[cfg(all(target_os = "linux", target_pointer_width = "64"))]
pub use self::userfault::{ProtectPages, Unavailable};

/// Bytes of a page: four of BLAKE3's chunks, one page of most machines.
pub const SMALL_PAGE_BYTES: usize = 4096;

/// The content of a page.
pub type Page = [u8; SMALL_PAGE_BYTES];
