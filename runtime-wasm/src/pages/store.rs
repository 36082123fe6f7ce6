//! The states of one memory, as chains of page contents: an undo log with the newest content in front.
//!
//! ```text
//!   slots      3              5         6       the last save, or restore
//!              │ replaced     │         │           │ newest
//!   page 0     ·              a  ◀──────·───────────b        a: read by 3 and 5; b: born at 6
//!   page 1     c  ◀───────────d  ◀──────·───────────e        d: born at 5, read by 5 alone
//!   page 2     ·              ·         ·           f        f: read by all
//! ```
//!
//! The newest version of every page together is the memory as it was at the last save or restore; the live memory differs from
//! it at most where the tracker says so. When a save replaces a version that the youngest slot reads, the version moves into
//! that slot's list. So a slot reads, of each page, the newest version that was born when it was saved or before, and its list
//! holds what it reads and nobody younger does:
//!
//! - **save** copies each dirty page once; a version that no slot reads is overwritten in place.
//! - **restore** empties the lists from the youngest to the slot's own. Each version in them becomes its page's newest again,
//!   by a pointer; then each touched page is copied once.
//! - **release** passes the slot's list on to the slot before it, except what was born after that one: nobody reads that any
//!   more. Nothing is copied, in any order, and releasing the youngest costs nothing at all.
//!
//! Forward deltas over a base would need a search to restore a page and a write into the base to release a slot; here the work
//! is constant for each page touched, and only a read of an old slot walks a chain, of at most one version a slot.

use std::collections::VecDeque;

use super::set::PageSet;
use super::versions::{List, VersionId, Versions};
use super::{Page, SMALL_PAGE_BYTES};

/// Pages of the largest memory with 32-bit addresses.
pub(super) const MAX_PAGES: u32 = 1 << 20;

/// A saved state. It is never given out twice, so a released one is an error and never another state (K4).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct SlotId(u64);

/// Why the store can't do what it was asked. Nothing has changed.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
pub enum PageError {
    /// The memory is not as long as the one that the store was made for, or not made of whole pages.
    #[error("a memory of {bytes} bytes where {expected} were kept")]
    Length {
        /// Bytes that the memory has.
        bytes: usize,
        /// Bytes that the store keeps.
        expected: usize,
    },
    /// The memory has no such page.
    #[error("page {page} of a memory of {pages}")]
    Page {
        /// The page.
        page: u32,
        /// Pages of the memory.
        pages: u32,
    },
    /// The slot was released, by its owner or by the restore of an older one.
    #[error("the slot was released")]
    Released,
}

/// A live slot.
#[derive(Debug)]
struct Slot {
    serial: u64,
    /// Versions that this slot reads, perhaps older ones too, and younger ones do not.
    replaced: List,
}

/// The states of one memory whose length never changes.
#[derive(Debug)]
pub struct PageStore {
    versions: Versions,
    /// By page: the content at the last save or restore.
    newest: Vec<VersionId>,
    /// Live slots, oldest first.
    slots: VecDeque<Slot>,
    /// The serial of the last save; 0 is the content at the start.
    serial: u64,
    touched: PageSet,
    copied: u64,
}

impl PageStore {
    /// A store for this memory as it is, with no slot yet. It costs one copy of what is not zero.
    ///
    /// # Errors
    /// [`PageError::Length`] if the memory is not made of whole pages, or of more than a 32-bit memory has.
    pub fn new(memory: &[u8]) -> Result<PageStore, PageError> {
        let pages = whole_pages(memory.len())?;
        let (versions, newest) = Versions::new(memory);
        let (slots, touched) = (VecDeque::new(), PageSet::new(pages));
        Ok(PageStore { versions, newest, slots, serial: 0, touched, copied: 0 })
    }

    /// Pages of the memory.
    pub fn pages(&self) -> u32 {
        // `new` refuses more.
        u32::try_from(self.newest.len()).unwrap_or(u32::MAX)
    }

    /// Bytes of the memory.
    pub fn bytes(&self) -> usize {
        self.newest.len() * SMALL_PAGE_BYTES
    }

    /// Saves the memory. `dirty` names every page that was written since the last save or restore; it may name others too, and
    /// a page many times.
    ///
    /// # Errors
    /// [`PageError::Length`], [`PageError::Page`].
    pub fn save(&mut self, memory: &[u8], dirty: &[u32]) -> Result<SlotId, PageError> {
        self.check(memory, dirty)?;
        self.serial += 1;
        let pages = memory.as_chunks().0;
        for page in dirty {
            self.keep(*page as usize, &pages[*page as usize]);
        }
        self.slots.push_back(Slot { serial: self.serial, replaced: List::default() });
        Ok(SlotId(self.serial))
    }

    fn keep(&mut self, page: usize, content: &Page) {
        let last = self.newest[page];
        let born = self.versions[last].born;
        if born == self.serial {
            return;
        }
        let version = match self.slots.back_mut() {
            Some(youngest) if born <= youngest.serial => {
                self.versions.push(&mut youngest.replaced, last);
                self.versions.succeed(last)
            }
            _ => last,
        };
        self.newest[page] = version;
        self.versions[version].born = self.serial;
        *self.versions.page_mut(version) = *content;
        self.copied += 1;
    }

    /// Makes the memory what it was at `slot`, and releases every younger slot. `dirty_now` names every page that was written
    /// since the last save or restore. Appends the pages that it wrote to `restored`, each once, from the lowest up: what was
    /// written and saved since the slot, and what is dirty now.
    ///
    /// # Errors
    /// [`PageError::Length`], [`PageError::Page`], [`PageError::Released`].
    pub fn restore(
        &mut self,
        slot: SlotId,
        memory: &mut [u8],
        dirty_now: &[u32],
        restored: &mut Vec<u32>,
    ) -> Result<(), PageError> {
        self.check(memory, dirty_now)?;
        let index = self.position(slot)?;
        dirty_now.iter().for_each(|page| self.touched.insert(*page));
        while self.slots.len() > index {
            let Some(Slot { replaced, .. }) = self.slots.pop_back() else { break };
            self.undo(replaced);
        }
        self.slots.push_back(Slot { serial: slot.0, replaced: List::default() });
        let pages = memory.as_chunks_mut().0;
        for page in self.touched.sorted() {
            pages[*page as usize] = *self.versions.page(self.newest[*page as usize]);
        }
        restored.extend_from_slice(self.touched.as_slice());
        self.copied += self.touched.as_slice().len() as u64;
        self.touched.clear();
        Ok(())
    }

    /// Makes the versions of a list the newest again. The lists of younger slots went before.
    fn undo(&mut self, mut list: List) {
        while let Some(version) = self.versions.pop(&mut list) {
            let page = self.versions[version].page;
            let newer = std::mem::replace(&mut self.newest[page as usize], version);
            debug_assert_eq!(self.versions[newer].older, Some(version), "a list holds what one replacement made old");
            self.versions.discard(newer);
            self.touched.insert(page);
        }
    }

    /// Releases a slot; the others, and the memory, stay what they are. A restore has released the younger ones already.
    ///
    /// # Errors
    /// [`PageError::Released`].
    pub fn release(&mut self, slot: SlotId) -> Result<(), PageError> {
        let index = self.position(slot)?;
        let Some(Slot { mut replaced, .. }) = self.slots.remove(index) else { return Err(PageError::Released) };
        let mut before = index.checked_sub(1).and_then(|before| self.slots.get_mut(before));
        while let Some(version) = self.versions.pop(&mut replaced) {
            match &mut before {
                Some(before) if self.versions[version].born <= before.serial => {
                    self.versions.push(&mut before.replaced, version);
                }
                _ => self.versions.discard(version),
            }
        }
        Ok(())
    }

    /// Releases every slot and takes the memory as it is for what was saved last: after hydration, and after a fault that
    /// leaves unknown what was written. Costs what the memory has.
    ///
    /// # Errors
    /// [`PageError::Length`].
    pub fn rebase(&mut self, memory: &[u8]) -> Result<(), PageError> {
        self.check(memory, &[])?;
        while let Some(Slot { mut replaced, .. }) = self.slots.pop_front() {
            while let Some(version) = self.versions.pop(&mut replaced) {
                self.versions.discard(version);
            }
        }
        self.serial += 1;
        for (page, content) in memory.as_chunks().0.iter().enumerate() {
            if self.versions.page(self.newest[page]) != content {
                self.keep(page, content);
            }
        }
        Ok(())
    }

    /// A page as it was at `slot`; the live memory plays no part.
    ///
    /// # Errors
    /// [`PageError::Page`], [`PageError::Released`].
    pub fn read(&self, slot: SlotId, page: u32) -> Result<&Page, PageError> {
        self.position(slot)?;
        let none = PageError::Page { page, pages: self.pages() };
        let mut version = *self.newest.get(page as usize).ok_or(none)?;
        while self.versions[version].born > slot.0 {
            version = self.versions[version].older.expect("a live slot's versions are discarded by its release alone");
            debug_assert_eq!(self.versions[version].page, page, "a chain never leaves its page");
        }
        Ok(self.versions.page(version))
    }

    /// Another number after each save and rebase.
    pub(super) fn last_save(&self) -> u64 {
        self.serial
    }

    /// The pages as they were at the last save or restore, in their order.
    pub fn last(&self) -> impl Iterator<Item = &Page> {
        self.newest.iter().map(|version| self.versions.page(*version))
    }

    /// Pages copied since the start, into slots and back.
    pub fn copied_pages(&self) -> u64 {
        self.copied
    }

    /// Buffers of one page each that the store has, used and free. It never gives one back: it has as many as were in use at
    /// once, up to the rest of a slab.
    pub fn buffers(&self) -> usize {
        self.versions.buffers()
    }

    fn check(&self, memory: &[u8], dirty: &[u32]) -> Result<(), PageError> {
        let (bytes, expected, pages) = (memory.len(), self.bytes(), self.pages());
        if bytes != expected {
            return Err(PageError::Length { bytes, expected });
        }
        dirty.iter().find(|page| **page >= pages).map_or(Ok(()), |page| Err(PageError::Page { page: *page, pages }))
    }

    fn position(&self, slot: SlotId) -> Result<usize, PageError> {
        self.slots.binary_search_by_key(&slot.0, |slot| slot.serial).map_err(|_| PageError::Released)
    }
}

/// The pages of a memory of so many bytes; otherwise how many bytes the largest one has that would do.
pub(super) fn whole_pages(bytes: usize) -> Result<u32, PageError> {
    let (count, rest) = (bytes / SMALL_PAGE_BYTES, bytes % SMALL_PAGE_BYTES);
    let expected = count.min(MAX_PAGES as usize) * SMALL_PAGE_BYTES;
    let pages = u32::try_from(count).ok().filter(|pages| *pages <= MAX_PAGES && rest == 0);
    pages.ok_or(PageError::Length { bytes, expected })
}
