//! A memory with a store and a tracker, played by a script beside whole copies; the first difference is an error.

use std::collections::BTreeSet;
use std::ops::{Deref, DerefMut, Range};

use super::super::{PageError, PageSet, PageStore, SMALL_PAGE_BYTES, SlotId, Tracker, mark};

/// Where the game's part begins.
pub const BASE: usize = 2 * SMALL_PAGE_BYTES;

/// What can happen. Selectors count from the oldest live slot, modulo how many there are.
#[derive(Clone, Debug)]
pub enum Op {
    /// Stores bytes from an offset on, as the module would; both are cut to the memory.
    Write {
        page: u32,
        offset: u32,
        bytes: u32,
        value: u8,
    },
    Collect,
    Save,
    Restore(usize),
    Release(usize),
    Rebase,
}

/// Where a rig and its copies first differed.
#[derive(PartialEq, Eq, Debug)]
pub enum Wrong {
    Read { slot: usize, page: u32 },
    Restored { slot: usize },
    Pages { found: Vec<u32>, expected: Vec<u32> },
    Copies { found: u64, expected: u64 },
    Stale,
    Fault,
}

struct Kept {
    slot: SlotId,
    copy: Vec<u8>,
    /// Pages that were named between this slot and the next one.
    after: BTreeSet<u32>,
}

/// Zeroed bytes that begin where a page does, as a linear memory does.
struct Aligned {
    bytes: Vec<u8>,
    span: Range<usize>,
}

impl Aligned {
    fn new(bytes: usize) -> Aligned {
        let buffer = vec![0; bytes + SMALL_PAGE_BYTES];
        let start = buffer.as_ptr().align_offset(SMALL_PAGE_BYTES);
        Aligned { bytes: buffer, span: start..start + bytes }
    }
}

impl Deref for Aligned {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        &self.bytes[self.span.clone()]
    }
}

impl DerefMut for Aligned {
    fn deref_mut(&mut self) -> &mut [u8] {
        &mut self.bytes[self.span.clone()]
    }
}

pub struct Rig<T> {
    tracker: T,
    memory: Aligned,
    store: PageStore,
    pub dirty: PageSet,
    kept: Vec<Kept>,
    gone: Vec<SlotId>,
}

impl<T: Tracker> Rig<T> {
    /// A memory of patterned and of zero pages, with a dirty map in front that is marked whether the tracker looks or not.
    pub fn new(pages: u32, tracker: T) -> Rig<T> {
        Rig::made_for(pages, |_, _| tracker)
    }

    /// As `new`, with a tracker that is made for this memory and its game's part.
    pub fn made_for(pages: u32, tracker: impl FnOnce(&mut [u8], Range<usize>) -> T) -> Rig<T> {
        let mut memory = Aligned::new(BASE + pages as usize * SMALL_PAGE_BYTES);
        for (index, page) in memory[BASE..].chunks_mut(SMALL_PAGE_BYTES).enumerate().step_by(2) {
            page.fill(u8::try_from(index % 250).expect("small") + 1);
        }
        let store = PageStore::new(&memory[BASE..]).expect("whole pages");
        let dirty = PageSet::new(pages);
        let end = memory.len();
        let tracker = tracker(&mut memory, BASE..end);
        Rig { tracker, memory, store, dirty, kept: vec![], gone: vec![] }
    }

    pub fn play(&mut self, op: &Op) -> Result<(), Wrong> {
        match *op {
            Op::Write { page, offset, bytes, value } => self.write(page, offset, bytes, value),
            Op::Collect => self.collect()?,
            Op::Save => self.save()?,
            Op::Restore(selector) if !self.kept.is_empty() => self.restore(selector % self.kept.len())?,
            Op::Release(selector) if !self.kept.is_empty() => self.release(selector % self.kept.len())?,
            Op::Restore(_) | Op::Release(_) => {}
            Op::Rebase => self.rebase()?,
        }
        Ok(())
    }

    pub fn game(&self) -> &[u8] {
        &self.memory[BASE..]
    }

    pub fn store(&self) -> &PageStore {
        &self.store
    }

    /// Compares every live slot with its copy, and asks for every slot that is gone.
    pub fn check(&self) -> Result<(), Wrong> {
        for (slot, kept) in self.kept.iter().enumerate() {
            for (page, expected) in (0..).zip(kept.copy.as_chunks().0) {
                if self.store.read(kept.slot, page) != Ok(expected) {
                    return Err(Wrong::Read { slot, page });
                }
            }
        }
        let stale = |slot: &SlotId| self.store.read(*slot, 0) == Err(PageError::Released);
        if self.gone.iter().all(stale) { Ok(()) } else { Err(Wrong::Stale) }
    }

    fn write(&mut self, page: u32, offset: u32, bytes: u32, value: u8) {
        let end = self.game().len();
        let start = (page as usize * SMALL_PAGE_BYTES + offset as usize) % end;
        let stop = (start + bytes.max(1) as usize).min(end);
        self.memory[BASE..][start..stop].fill(value);
        let [address, length] = [start, stop - start].map(|number| u32::try_from(number).expect("small"));
        mark(&mut self.memory, address, length);
    }

    fn collect(&mut self) -> Result<(), Wrong> {
        self.tracker.collect(&mut self.memory, &self.store, &mut self.dirty).map_err(|_| Wrong::Fault)
    }

    fn save(&mut self) -> Result<(), Wrong> {
        self.collect()?;
        let (before, copy) = (self.store.copied_pages(), self.game().to_vec());
        let slot = self.store.save(&copy, self.dirty.as_slice()).map_err(|_| Wrong::Fault)?;
        if let Some(youngest) = self.kept.last_mut() {
            youngest.after.extend(self.dirty.as_slice());
        }
        self.kept.push(Kept { slot, copy, after: BTreeSet::new() });
        self.copied(before, self.dirty.as_slice().len() as u64)?;
        self.dirty.clear();
        Ok(())
    }

    fn restore(&mut self, index: usize) -> Result<(), Wrong> {
        self.collect()?;
        let mut expected: BTreeSet<u32> = self.dirty.as_slice().iter().copied().collect();
        self.kept[index..].iter().for_each(|kept| expected.extend(&kept.after));
        let (before, mut restored) = (self.store.copied_pages(), vec![]);
        let (game, slot) = (&mut self.memory[BASE..], self.kept[index].slot);
        self.store.restore(slot, game, self.dirty.as_slice(), &mut restored).map_err(|_| Wrong::Fault)?;
        self.tracker.forget(&mut self.memory).map_err(|_| Wrong::Fault)?;
        self.dirty.clear();
        self.gone.extend(self.kept.drain(index + 1..).map(|kept| kept.slot));
        self.kept[index].after.clear();
        if self.game() != self.kept[index].copy {
            return Err(Wrong::Restored { slot: index });
        }
        let expected: Vec<u32> = expected.into_iter().collect();
        if restored != expected {
            return Err(Wrong::Pages { found: restored, expected });
        }
        self.copied(before, expected.len() as u64)?;
        self.check()
    }

    fn release(&mut self, index: usize) -> Result<(), Wrong> {
        let (before, gone) = (self.store.copied_pages(), self.kept.remove(index));
        self.store.release(gone.slot).map_err(|_| Wrong::Fault)?;
        self.gone.push(gone.slot);
        if let Some(earlier) = index.checked_sub(1) {
            self.kept[earlier].after.extend(gone.after);
        }
        self.copied(before, 0)?;
        self.check()
    }

    fn rebase(&mut self) -> Result<(), Wrong> {
        self.store.rebase(&self.memory[BASE..]).map_err(|_| Wrong::Fault)?;
        self.tracker.forget(&mut self.memory).map_err(|_| Wrong::Fault)?;
        self.dirty.clear();
        self.gone.extend(self.kept.drain(..).map(|kept| kept.slot));
        self.check()
    }

    fn copied(&self, before: u64, expected: u64) -> Result<(), Wrong> {
        let found = self.store.copied_pages() - before;
        if found == expected { Ok(()) } else { Err(Wrong::Copies { found, expected }) }
    }
}
