//! A game in a WASM module behind the [`Runtime`] trait (K2, K4, K9).

use std::sync::Arc;

use retick_core::digest::Digest;
use retick_core::identity::{IdentityManifest, MatchDescriptor};
use retick_core::runtime::{
    AdvanceError, Capabilities, Checkpoint, CheckpointError, CheckpointTable, HydrateError, Keep, Kept, Output,
    Runtime, StepBatch, StepFault, StepView, abi,
};
use retick_core::seat::SeatCount;
use retick_core::tick::Tick;

use crate::checkpoint::{Saved, States};
use crate::guest::{Guest, Program};
use crate::hash::Trailer;
use retick_core::tree::OpenTree;

/// One match of a game in a WASM module; [`crate::WasmFactory`] makes it.
///
/// Whatever the module does, its faults are typed and the state is the one from before the call. Its memory has its whole limit
/// from the start, so that nothing here can fail for want of memory once the match has begun.
pub struct WasmRuntime {
    program: Arc<Program>,
    manifest: IdentityManifest,
    descriptor: Digest,
    capabilities: Capabilities,
    seats: SeatCount,
    tick: Tick,
    guest: Guest,
    states: States,
    checkpoints: CheckpointTable<Saved>,
    /// The youngest checkpoint, as long as the state is still the one it holds.
    current: Option<Checkpoint>,
    scratch: Vec<u8>,
    gas_used: u64,
}

/// Where the state of a moment can be had back from.
enum Anchor {
    Held(Checkpoint),
    Saved(Saved),
}

impl WasmRuntime {
    pub(crate) fn new(
        program: Arc<Program>,
        manifest: IdentityManifest,
        descriptor: &MatchDescriptor,
        capabilities: Capabilities,
        mut guest: Guest,
    ) -> Result<WasmRuntime, StepFault> {
        let states = States::new(&program, &mut guest)?;
        Ok(WasmRuntime {
            program,
            manifest,
            descriptor: descriptor.digest(),
            capabilities,
            seats: descriptor.seats(),
            tick: Tick::ZERO,
            guest,
            states,
            checkpoints: CheckpointTable::default(),
            current: None,
            scratch: Vec::new(),
            gas_used: 0,
        })
    }

    /// Gas that the last step took: a property of module, state and inputs, the same on every machine.
    pub fn gas_used(&self) -> u64 {
        self.gas_used
    }

    /// The memory of the state, for tests and tools: the whole limit, of which the game knows a part (W7).
    pub fn memory(&self) -> &[u8] {
        self.guest.memory()
    }

    /// Pages of 64 KiB that the game knows its memory to have (W7).
    pub fn known_pages(&mut self) -> u32 {
        self.guest.known_pages()
    }

    /// The trailer of the state's canonical bytes, which follow [`memory`](Self::memory): the tick, the pages that the game
    /// knows, and its mutable globals (K5).
    pub fn trailer(&mut self) -> Vec<u8> {
        let mut trailer = Vec::new();
        self.guest.append_trailer(self.tick, &mut trailer);
        trailer
    }

    /// The values of the tree over the state's memory, by which two machines find their first differing page (T3): see
    /// [`retick_core::tree`].
    pub fn open_tree(&mut self) -> OpenTree<'_> {
        self.states.open_tree(&mut self.guest)
    }

    /// Pages of 4 KiB that were written since the last checkpoint or restore, or more where they are not tracked one by one.
    pub fn written_pages(&mut self) -> usize {
        self.states.written(&mut self.guest)
    }

    /// Makes sure that the state can be had back.
    fn anchor(&mut self) -> Result<Anchor, AdvanceError> {
        if let Some(checkpoint) = self.current {
            return Ok(Anchor::Held(checkpoint));
        }
        let saved = self.states.save(&mut self.guest, self.tick);
        saved.map(Anchor::Saved).map_err(|fault| AdvanceError::Fault { tick: self.tick, fault })
    }

    /// Has the state back. The tick is the caller's.
    fn return_to(&mut self, anchor: Anchor) -> Result<(), StepFault> {
        match anchor {
            Anchor::Held(checkpoint) => {
                let saved = self.checkpoints.get(checkpoint).map_err(|_| StepFault::Host)?;
                self.states.restore(&self.program, &mut self.guest, saved)?;
                self.current = Some(checkpoint);
            }
            Anchor::Saved(saved) => {
                self.current = None;
                let restored = self.states.restore(&self.program, &mut self.guest, &saved);
                self.states.release(saved);
                restored?;
            }
        }
        Ok(())
    }

    fn let_go(&mut self, anchor: Anchor) {
        if let Anchor::Saved(saved) = anchor {
            self.states.release(saved);
        }
    }

    fn run(&mut self, batch: &StepBatch, output: &mut Output) -> Result<(), AdvanceError> {
        for view in batch.steps() {
            let stepped = self.step(view, output);
            stepped.map_err(|fault| AdvanceError::Fault { tick: view.tick(), fault })?;
            self.tick = view.tick().saturating_add(1);
            self.keep_current(view.keep(), output)?;
        }
        Ok(())
    }

    fn step(&mut self, view: StepView<'_>, output: &mut Output) -> Result<(), StepFault> {
        self.current = None;
        self.scratch.clear();
        abi::encode_step(view, &mut self.scratch);
        output.events.begin_tick(view.tick());
        let gas = self.program.limits().gas_per_tick;
        let (skipped, gas) = self.guest.step(&self.scratch, gas, &mut output.events)?;
        let skipped = u64::from(skipped);
        if skipped > view.commands().len() as u64 {
            return Err(StepFault::Interface);
        }
        self.gas_used = gas;
        output.malformed_commands += skipped;
        Ok(())
    }

    /// Keeps something of the current state. After an error nothing was appended, and no checkpoint was issued.
    fn keep_current(&mut self, keep: Keep, output: &mut Output) -> Result<(), AdvanceError> {
        if keep == Keep::NOTHING {
            return Ok(());
        }
        let projection = if keep.contains(Keep::PROJECTION) { self.project(output)? } else { None };
        let checksum = keep.contains(Keep::CHECKSUM).then(|| self.states.checksum(&mut self.guest, self.tick));
        let checkpoint = if keep.contains(Keep::CHECKPOINT) { Some(self.checkpoint()?) } else { None };
        output.kept.push(Kept { tick: self.tick, checkpoint, checksum, projection });
        Ok(())
    }

    fn checkpoint(&mut self) -> Result<Checkpoint, AdvanceError> {
        let saved = self.states.save(&mut self.guest, self.tick);
        let saved = saved.map_err(|fault| AdvanceError::Fault { tick: self.tick, fault })?;
        Ok(*self.current.insert(self.checkpoints.issue(self.tick, saved)))
    }

    /// Projects, and undoes what the projection wrote (K9). A guest's projection that traps shows nothing; it has no say in the
    /// match.
    fn project(&mut self, output: &mut Output) -> Result<Option<core::ops::Range<usize>>, AdvanceError> {
        let host = |tick| AdvanceError::Fault { tick, fault: StepFault::Host };
        let (start, anchor) = (output.projections.len(), self.anchor()?);
        let gas = self.program.limits().gas_per_tick;
        let projected = self.guest.project(gas).map(|bytes| output.projections.extend_from_slice(bytes));
        self.return_to(anchor).map_err(|_| host(self.tick))?;
        match projected {
            Ok(()) => Ok(Some(start..output.projections.len())),
            Err(StepFault::Host) => Err(host(self.tick)),
            Err(_) => {
                output.failed_projections += 1;
                Ok(None)
            }
        }
    }

    fn check_batch(&self, batch: &StepBatch) -> Result<(), AdvanceError> {
        if batch.first() != self.tick {
            return Err(AdvanceError::NotCurrent { first: batch.first(), current: self.tick });
        }
        let expected = self.seats.count();
        if let Some(found) = batch.other_seat_count(expected) {
            return Err(AdvanceError::Seats { found, expected });
        }
        self.tick.checked_add(batch.len() as u64).map(drop).ok_or(AdvanceError::TickRange)
    }

    /// The memory and the trailer of canonical bytes that can be a state of this game at `tick`.
    fn parts<'a>(&self, tick: Tick, bytes: &'a [u8]) -> Result<(&'a [u8], Trailer<'a>), HydrateError> {
        let (length, limit) = (bytes.len() as u64, self.program.state_bytes());
        if length > limit {
            return Err(HydrateError::TooLong { bytes: length, limit });
        }
        let trailer_bytes = self.program.trailer_bytes();
        let parts = bytes.split_at_checked(self.program.layout().game_bytes() as usize);
        let (memory, trailer) = parts.ok_or(HydrateError::Malformed)?;
        let trailer = Trailer::split(trailer, trailer_bytes).ok_or(HydrateError::Malformed)?;
        if !self.program.can_have_pages(trailer.pages) {
            return Err(HydrateError::Malformed);
        }
        if trailer.tick != tick {
            return Err(HydrateError::Tick { expected: tick, found: trailer.tick });
        }
        Ok((memory, trailer))
    }
}

impl Runtime for WasmRuntime {
    fn manifest(&self) -> &IdentityManifest {
        &self.manifest
    }

    fn descriptor_digest(&self) -> Digest {
        self.descriptor
    }

    fn capabilities(&self) -> Capabilities {
        self.capabilities
    }

    fn tick(&self) -> Tick {
        self.tick
    }

    fn advance(&mut self, batch: &StepBatch, output: &mut Output) -> Result<(), AdvanceError> {
        self.check_batch(batch)?;
        if batch.is_empty() {
            return Ok(());
        }
        let (tick, anchor, checkpoints) = (self.tick, self.anchor()?, self.checkpoints.len());
        let (kept, projected, malformed) = (output.kept.len(), output.projections.len(), output.malformed_commands);
        let (events, failed) = (output.events.mark(), output.failed_projections);
        let ran = self.run(batch, output);
        let Err(fault) = ran else {
            self.let_go(anchor);
            return Ok(());
        };
        output.kept.truncate(kept);
        output.projections.truncate(projected);
        output.malformed_commands = malformed;
        output.failed_projections = failed;
        output.events.truncate(events);
        self.tick = tick;
        let returned = self.return_to(anchor);
        while self.checkpoints.len() > checkpoints
            && let Some(saved) = self.checkpoints.pop()
        {
            self.states.release(saved);
        }
        returned.map_err(|fault| AdvanceError::Fault { tick, fault })?;
        Err(fault)
    }

    fn keep(&mut self, keep: Keep, output: &mut Output) -> Result<(), AdvanceError> {
        let projected = output.projections.len();
        let kept = self.keep_current(keep, output);
        if kept.is_err() {
            output.projections.truncate(projected);
        }
        kept
    }

    fn restore(&mut self, checkpoint: Checkpoint) -> Result<(), CheckpointError> {
        let saved = self.checkpoints.get(checkpoint)?;
        let tick = checkpoint.tick();
        let restored = self.states.restore(&self.program, &mut self.guest, saved);
        restored.map_err(|_| CheckpointError::Host { tick })?;
        while let Some(saved) = self.checkpoints.pop_younger(checkpoint) {
            self.states.release(saved);
        }
        self.tick = tick;
        self.current = Some(checkpoint);
        Ok(())
    }

    fn release(&mut self, checkpoint: Checkpoint) -> Result<(), CheckpointError> {
        let saved = self.checkpoints.release(checkpoint)?;
        self.states.release(saved);
        if self.current == Some(checkpoint) {
            self.current = None;
        }
        Ok(())
    }

    fn export(
        &mut self,
        checkpoint: Checkpoint,
        offset: u64,
        max_bytes: usize,
        out: &mut Vec<u8>,
    ) -> Result<u64, CheckpointError> {
        let saved = self.checkpoints.get(checkpoint)?;
        let exported = self.states.export(saved, offset, max_bytes, out);
        exported.map_err(|_| CheckpointError::Host { tick: checkpoint.tick() })
    }

    fn hydrate(&mut self, tick: Tick, canonical_state: &[u8]) -> Result<(), HydrateError> {
        let (memory, trailer) = self.parts(tick, canonical_state)?;
        self.guest.overwrite(&self.program, memory, &trailer).map_err(|_| HydrateError::Host)?;
        self.states.rebase(&mut self.guest).map_err(|_| HydrateError::Host)?;
        while let Some(saved) = self.checkpoints.pop() {
            self.states.release(saved);
        }
        self.tick = tick;
        self.current = None;
        Ok(())
    }

    fn last_log(&self) -> Vec<String> {
        self.guest.last_log()
    }
}

impl core::fmt::Debug for WasmRuntime {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("WasmRuntime").field("tick", &self.tick).finish_non_exhaustive()
    }
}
