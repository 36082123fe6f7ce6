//! Which way of finding written pages a game gets. It is this machine's choice alone: states, checksums, faults and the identity
//! are the same under each of them.

use crate::limits::PAGE_BYTES;
use crate::normalise::{Layout, Marks};
use crate::pages::{ComparePages, CopyAll, DirtyMap, PageSet, PageStore, TrackFault, Tracker};

/// How checkpoints learn which pages were written (W6).
///
/// ```
/// use retick_wasm::Tracking;
///
/// assert_eq!(Tracking::default(), Tracking::Automatic);
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
#[non_exhaustive]
pub enum Tracking {
    /// By the memory's size: every page of one of up to 128 KiB, and the dirty map for all larger ones.
    #[default]
    Automatic,
    /// Every page counts as written.
    CopyAll,
    /// Every page is compared with what was saved last.
    ComparePages,
    /// The module marks the pages that it writes.
    DirtyMap,
}

/// The largest memory that is copied whole, in bytes: below it, that is as fast as marking, and steps are faster.
const COPIED_WHOLE_BYTES: u64 = 2 * PAGE_BYTES;

impl Tracking {
    /// What stands behind [`Tracking::Automatic`] for a game; all others stand for themselves.
    pub(crate) fn resolve(self, layout: &Layout) -> Tracking {
        match self {
            Tracking::Automatic if u64::from(layout.game_bytes()) <= COPIED_WHOLE_BYTES => Tracking::CopyAll,
            Tracking::Automatic => Tracking::DirtyMap,
            chosen => chosen,
        }
    }

    /// Whether modules must mark what they write.
    pub(crate) fn marks(self) -> Marks {
        match self {
            Tracking::DirtyMap => Marks::Map,
            _ => Marks::None,
        }
    }

    /// The tracker of one instance.
    pub(crate) fn tracker(self, layout: &Layout) -> AnyTracker {
        match self {
            Tracking::CopyAll => AnyTracker::CopyAll(CopyAll),
            Tracking::ComparePages => AnyTracker::ComparePages(ComparePages::new(layout.base() as usize)),
            Tracking::Automatic | Tracking::DirtyMap => AnyTracker::DirtyMap(DirtyMap::new(layout.small_pages())),
        }
    }
}

/// The tracker of one instance.
#[derive(Debug)]
pub(crate) enum AnyTracker {
    CopyAll(CopyAll),
    ComparePages(ComparePages),
    DirtyMap(DirtyMap),
}

impl AnyTracker {
    fn tracker(&mut self) -> &mut dyn Tracker {
        match self {
            AnyTracker::CopyAll(tracker) => tracker,
            AnyTracker::ComparePages(tracker) => tracker,
            AnyTracker::DirtyMap(tracker) => tracker,
        }
    }
}

impl Tracker for AnyTracker {
    fn collect(&mut self, memory: &mut [u8], store: &PageStore, dirty: &mut PageSet) -> Result<(), TrackFault> {
        self.tracker().collect(memory, store, dirty)
    }

    fn forget(&mut self, memory: &mut [u8]) -> Result<(), TrackFault> {
        self.tracker().forget(memory)
    }
}
