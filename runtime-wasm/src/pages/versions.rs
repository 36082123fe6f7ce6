//! The kept contents of pages: buffers in a few slabs that are never freed, and the chains between the contents of one page.
//!
//! A version is always in one of three places: a page's newest, in the list of a slot that still reads it, or free. Lists run
//! through the versions themselves, so that moving one costs and allocates nothing.

use core::ops::{Index, IndexMut};

use super::{Page, SMALL_PAGE_BYTES};

/// Pages by which the pool grows: 256 KiB.
const SLAB_PAGES: usize = 64;

/// One content of one page.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct VersionId(u32);

/// What is known of a version.
#[derive(Clone, Debug, Default)]
pub(super) struct Version {
    pub page: u32,
    /// The save that copied it: slots from this serial on read it, or a newer one.
    pub born: u64,
    pub older: Option<VersionId>,
    newer: Option<VersionId>,
    next: Option<VersionId>,
}

/// Some versions, last come first.
#[derive(Debug, Default)]
pub(super) struct List(Option<VersionId>);

/// All versions of all pages.
#[derive(Debug)]
pub(super) struct Versions {
    /// One buffer a page at first. Pages that were zero from the start are never touched, so that the system need not back
    /// them.
    base: Box<[u8]>,
    base_pages: usize,
    slabs: Vec<Box<[u8]>>,
    about: Vec<Version>,
    free: List,
}

impl Versions {
    /// One version for each page of a memory, and the ids in the order of the pages.
    pub fn new(memory: &[u8]) -> (Versions, Vec<VersionId>) {
        let mut base = vec![0; memory.len()].into_boxed_slice();
        let pages = memory.as_chunks().0;
        for (kept, page) in base.as_chunks_mut().0.iter_mut().zip(pages).filter(|(_, page)| **page != ZERO) {
            *kept = *page;
        }
        let about = (0..pages.len()).map(|page| Version { page: id(page).0, ..Version::default() }).collect();
        let versions = Versions { base, base_pages: pages.len(), slabs: Vec::new(), about, free: List::default() };
        (versions, (0..pages.len()).map(id).collect())
    }

    /// The content of a version.
    pub fn page(&self, VersionId(index): VersionId) -> &Page {
        let index = index as usize;
        match index.checked_sub(self.base_pages) {
            None => &self.base.as_chunks().0[index],
            Some(index) => &self.slabs[index / SLAB_PAGES].as_chunks().0[index % SLAB_PAGES],
        }
    }

    /// The content of a version, to be written.
    pub fn page_mut(&mut self, VersionId(index): VersionId) -> &mut Page {
        let index = index as usize;
        match index.checked_sub(self.base_pages) {
            None => &mut self.base.as_chunks_mut().0[index],
            Some(index) => &mut self.slabs[index / SLAB_PAGES].as_chunks_mut().0[index % SLAB_PAGES],
        }
    }

    /// A version that is newer than the newest of its page. Its content is whatever the buffer held.
    pub fn succeed(&mut self, older: VersionId) -> VersionId {
        let newer = self.take();
        self[older].newer = Some(newer);
        let page = self[older].page;
        self[newer] = Version { page, older: Some(older), ..Version::default() };
        newer
    }

    /// Takes a version out of its page's chain, and its buffer back. It is in no list any more.
    pub fn discard(&mut self, version: VersionId) {
        let (older, newer) = (self[version].older, self[version].newer);
        if let Some(older) = older {
            self[older].newer = newer;
        }
        if let Some(newer) = newer {
            self[newer].older = older;
        }
        let mut free = core::mem::take(&mut self.free);
        self.push(&mut free, version);
        self.free = free;
    }

    /// Puts a version into a list; it is in no other.
    pub fn push(&mut self, list: &mut List, version: VersionId) {
        self[version].next = list.0.replace(version);
    }

    /// Takes a version out of a list.
    pub fn pop(&mut self, list: &mut List) -> Option<VersionId> {
        let first = list.0?;
        list.0 = self[first].next.take();
        Some(first)
    }

    /// Buffers in all, used and free.
    pub fn buffers(&self) -> usize {
        self.about.len()
    }

    fn take(&mut self) -> VersionId {
        let mut free = core::mem::take(&mut self.free);
        if free.0.is_none() {
            self.grow(&mut free);
        }
        let taken = self.pop(&mut free);
        self.free = free;
        taken.expect("the pool grew by a slab, which is not empty")
    }

    fn grow(&mut self, free: &mut List) {
        let first = self.about.len();
        self.slabs.push(vec![0; SLAB_PAGES * SMALL_PAGE_BYTES].into_boxed_slice());
        self.about.resize(first + SLAB_PAGES, Version::default());
        // The lowest is used first.
        (first..first + SLAB_PAGES).rev().for_each(|index| self.push(free, id(index)));
    }
}

const ZERO: Page = [0; SMALL_PAGE_BYTES];

fn id(index: usize) -> VersionId {
    VersionId(u32::try_from(index).expect("the buffers of 2^32 pages are 16 TiB, which no allocation gives"))
}

impl Index<VersionId> for Versions {
    type Output = Version;

    fn index(&self, VersionId(index): VersionId) -> &Version {
        &self.about[index as usize]
    }
}

impl IndexMut<VersionId> for Versions {
    fn index_mut(&mut self, VersionId(index): VersionId) -> &mut Version {
        &mut self.about[index as usize]
    }
}
