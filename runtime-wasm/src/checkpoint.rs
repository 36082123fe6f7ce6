//! The states of one guest (K4, W6): its memory by pages, and of each state the trailer beside it; and the checksum, which
//! follows the same pages (K5).
//!
//! ```text
//!             ┌─ unsaved ──▶ PageStore ── save, restore, export
//!  tracker ───┤
//!             └─ unhashed ─▶ PageTree ─── checksum
//! ```
//!
//! What the tracker finds goes into two sets, since states are saved and hashed at different moments. A restore writes pages as
//! well, which are the saved ones again and have to be hashed anew.

use retick_core::digest::Checksum;
use retick_core::tick::Tick;

use crate::guest::{Guest, Program};
use crate::hash::Trailer;
use crate::pages::{PageSet, PageStore, SMALL_PAGE_BYTES, SlotId, Tracker};
use crate::tracking::AnyTracker;
use retick_core::runtime::StepFault;
use retick_core::tree::{OpenTree, PageTree};

/// A saved state.
#[derive(Debug)]
pub(crate) struct Saved {
    slot: SlotId,
    trailer: Vec<u8>,
}

/// The states of one guest, which is the only one that its calls may name.
#[derive(Debug)]
pub(crate) struct States {
    store: PageStore,
    tracker: AnyTracker,
    /// Pages that may differ from the last save or restore.
    unsaved: PageSet,
    /// Pages that may differ from what the tree knows.
    unhashed: PageSet,
    tree: PageTree,
    /// Pages that a tracker found, or that a restore wrote, on their way.
    found: PageSet,
    restored: Vec<u32>,
    /// Buffers of released trailers.
    trailers: Vec<Vec<u8>>,
    trailer: Vec<u8>,
}

impl States {
    /// For a guest whose state is the first. Fails when its memory is not made as the program says, which nothing causes.
    pub fn new(program: &Program, guest: &mut Guest) -> Result<States, StepFault> {
        let store = PageStore::new(guest.memory()).map_err(|_| StepFault::Host)?;
        let set = || PageSet::new(store.pages());
        let (unsaved, mut unhashed, found) = (set(), set(), set());
        unhashed.insert_all();
        let tracker = program.tracking().tracker(program.layout(), guest.whole_memory().0);
        let tree = PageTree::new();
        let (restored, trailers, trailer) = (Vec::new(), Vec::new(), Vec::new());
        let mut states = States { store, tracker, unsaved, unhashed, tree, found, restored, trailers, trailer };
        states.forget(guest);
        Ok(states)
    }

    /// Saves the state as it is.
    pub fn save(&mut self, guest: &mut Guest, tick: Tick) -> Result<Saved, StepFault> {
        self.collect(guest);
        let slot = self.store.save(guest.memory(), self.unsaved.as_slice()).map_err(|_| StepFault::Host)?;
        self.unsaved.clear();
        let mut trailer = self.trailers.pop().unwrap_or_default();
        trailer.clear();
        guest.append_trailer(tick, &mut trailer);
        Ok(Saved { slot, trailer })
    }

    /// Makes the guest's state a saved one, and gives up all that were saved after it.
    pub fn restore(&mut self, program: &Program, guest: &mut Guest, saved: &Saved) -> Result<(), StepFault> {
        let trailer = Trailer::split(&saved.trailer, program.trailer_bytes()).ok_or(StepFault::Host)?;
        self.collect(guest);
        self.restored.clear();
        let (memory, base) = guest.whole_memory();
        let game = memory.get_mut(base..).unwrap_or_default();
        let restored = self.store.restore(saved.slot, game, self.unsaved.as_slice(), &mut self.restored);
        restored.map_err(|_| StepFault::Host)?;
        self.restored.iter().for_each(|page| self.unhashed.insert(*page));
        self.forget(guest);
        guest.set_trailer(program, &trailer)
    }

    /// Gives up one saved state; what has been given up by a restore already is let go.
    pub fn release(&mut self, saved: Saved) {
        // A slot that a restore gave up is gone, and that is all that is wanted.
        let _already_gone = self.store.release(saved.slot);
        self.trailers.push(saved.trailer);
    }

    /// Takes the guest's state, whatever it is now, as the only one. Every saved state is to be released.
    pub fn rebase(&mut self, guest: &mut Guest) -> Result<(), StepFault> {
        self.store.rebase(guest.memory()).map_err(|_| StepFault::Host)?;
        self.unhashed.insert_all();
        self.forget(guest);
        Ok(())
    }

    /// The checksum of the state as it is: the BLAKE3 of its canonical bytes.
    pub fn checksum(&mut self, guest: &mut Guest, tick: Tick) -> Checksum {
        self.update_tree(guest);
        self.trailer.clear();
        guest.append_trailer(tick, &mut self.trailer);
        Checksum::from_bytes(self.tree.root(&self.trailer))
    }

    /// The values of the tree of the state as it is.
    pub fn open_tree(&mut self, guest: &mut Guest) -> OpenTree<'_> {
        self.update_tree(guest);
        self.tree.open(guest.memory())
    }

    /// Pages of 4 KiB that may differ from the last save or restore.
    pub fn written(&mut self, guest: &mut Guest) -> usize {
        self.collect(guest);
        self.unsaved.as_slice().len()
    }

    /// Appends a part of a saved state's canonical bytes, and says how many there are in all.
    pub fn export(&self, saved: &Saved, offset: u64, max_bytes: usize, out: &mut Vec<u8>) -> Result<u64, StepFault> {
        let memory_bytes = self.store.bytes();
        let total = memory_bytes + saved.trailer.len();
        let start = usize::try_from(offset).unwrap_or(usize::MAX).min(total);
        let end = start.saturating_add(max_bytes).min(total);
        out.reserve(end - start);
        let mut at = start;
        while at < end.min(memory_bytes) {
            let (page, within) = (at / SMALL_PAGE_BYTES, at % SMALL_PAGE_BYTES);
            let page = u32::try_from(page).map_err(|_| StepFault::Host)?;
            let content = self.store.read(saved.slot, page).map_err(|_| StepFault::Host)?;
            let taken = (SMALL_PAGE_BYTES - within).min(end - at);
            out.extend_from_slice(content.get(within..within + taken).unwrap_or_default());
            at += taken;
        }
        let of_trailer = at.saturating_sub(memory_bytes)..end.saturating_sub(memory_bytes);
        out.extend_from_slice(saved.trailer.get(of_trailer).unwrap_or_default());
        Ok(total as u64)
    }

    fn update_tree(&mut self, guest: &mut Guest) {
        self.collect(guest);
        self.tree.update(guest.memory(), self.unhashed.sorted());
        self.unhashed.clear();
    }

    /// Notes what was written since the last time. A tracker that fails names every page, and is not asked again.
    fn collect(&mut self, guest: &mut Guest) {
        let (memory, base) = guest.whole_memory();
        if self.tracker.collect(memory, &self.store, &mut self.found).is_err() {
            self.tracker = AnyTracker::compare(base);
        }
        for page in self.found.as_slice() {
            self.unsaved.insert(*page);
            self.unhashed.insert(*page);
        }
        self.found.clear();
    }

    /// The memory is what was saved or restored last.
    fn forget(&mut self, guest: &mut Guest) {
        self.unsaved.clear();
        let (memory, base) = guest.whole_memory();
        if self.tracker.forget(memory).is_err() {
            self.tracker = AnyTracker::compare(base);
        }
    }
}
