//! Which way of finding written pages a game gets. It is this machine's choice alone: states, checksums, faults and the identity
//! are the same under each of them.

use crate::normalise::{Layout, Marks};
#[cfg(all(target_os = "linux", target_pointer_width = "64"))]
use crate::pages::ProtectPages;
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
    /// The dirty map, for memories of any size and on every platform: of 64 KiB, the least that a module can have, a save costs a
    /// tenth of copying all of it when one page was written, and no more when all were; and a larger one gains more
    /// (`benches/RESULTS.md`).
    #[default]
    Automatic,
    /// Every page counts as written.
    CopyAll,
    /// Every page is compared with what was saved last.
    ComparePages,
    /// The module marks the pages that it writes.
    DirtyMap,
    /// The kernel write-protects pages and says which were written, so that the module runs without marks: Linux from 6.7 on, where
    /// nothing forbids it. The first store into each page costs a fault, about half a microsecond, in the step. Elsewhere this is
    /// [`Tracking::DirtyMap`].
    ProtectPages,
}

impl Tracking {
    /// What stands behind [`Tracking::Automatic`], and behind what this machine doesn't have.
    pub(crate) fn resolve(self) -> Tracking {
        match self {
            Tracking::Automatic => Tracking::DirtyMap,
            Tracking::ProtectPages if !can_protect() => Tracking::DirtyMap,
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

    /// The tracker of one instance, whose memory this is and stays.
    pub(crate) fn tracker(self, layout: &Layout, memory: &mut [u8]) -> AnyTracker {
        match self {
            Tracking::CopyAll => AnyTracker::CopyAll(CopyAll),
            Tracking::ComparePages => AnyTracker::compare(layout.base() as usize),
            Tracking::Automatic | Tracking::DirtyMap => AnyTracker::DirtyMap(DirtyMap::new(layout.small_pages())),
            Tracking::ProtectPages => protect(layout, memory),
        }
    }
}

#[cfg(all(target_os = "linux", target_pointer_width = "64"))]
fn can_protect() -> bool {
    ProtectPages::probe().is_ok()
}

/// A module without marks can't fall back on the map, so that a machine that has run out of descriptors compares pages.
#[cfg(all(target_os = "linux", target_pointer_width = "64"))]
fn protect(layout: &Layout, memory: &mut [u8]) -> AnyTracker {
    let part = layout.base() as usize..memory.len();
    ProtectPages::new(memory, part)
        .map_or_else(|_| AnyTracker::compare(layout.base() as usize), AnyTracker::ProtectPages)
}

#[cfg(not(all(target_os = "linux", target_pointer_width = "64")))]
fn can_protect() -> bool {
    false
}

#[cfg(not(all(target_os = "linux", target_pointer_width = "64")))]
fn protect(layout: &Layout, _: &mut [u8]) -> AnyTracker {
    AnyTracker::compare(layout.base() as usize)
}

/// The tracker of one instance.
#[derive(Debug)]
pub(crate) enum AnyTracker {
    CopyAll(CopyAll),
    ComparePages(ComparePages),
    DirtyMap(DirtyMap),
    #[cfg(all(target_os = "linux", target_pointer_width = "64"))]
    ProtectPages(ProtectPages),
}

impl AnyTracker {
    /// The tracker that needs nothing, and takes over when another fails.
    pub(crate) fn compare(base: usize) -> AnyTracker {
        AnyTracker::ComparePages(ComparePages::new(base))
    }

    fn tracker(&mut self) -> &mut dyn Tracker {
        match self {
            AnyTracker::CopyAll(tracker) => tracker,
            AnyTracker::ComparePages(tracker) => tracker,
            AnyTracker::DirtyMap(tracker) => tracker,
            #[cfg(all(target_os = "linux", target_pointer_width = "64"))]
            AnyTracker::ProtectPages(tracker) => tracker,
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
