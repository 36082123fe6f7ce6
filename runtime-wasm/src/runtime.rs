//! A game in a WASM module behind the [`Runtime`] trait (K2, K4, K9).

use std::sync::Arc;

use retick_core::digest::{Checksum, Digest};
use retick_core::identity::{IdentityManifest, MatchDescriptor};
use retick_core::runtime::{
    AdvanceError, Capabilities, Checkpoint, CheckpointError, CheckpointTable, HydrateError, Keep, Kept, Output,
    Runtime, StepBatch, StepFault, StepView, abi,
};
use retick_core::seat::SeatCount;
use retick_core::tick::Tick;

use crate::checkpoint::Pool;
use crate::guest::{Guest, Program};
use crate::hash::{self, StateBytes};

/// One match of a game in a WASM module; [`crate::WasmFactory`] makes it.
///
/// Whatever the module does, its faults are typed and the state is the one from before the call. A fault of this machine while
/// it puts that state back is retried before anything else runs; until it succeeds, calls fail with [`StepFault::Host`].
pub struct WasmRuntime {
    program: Arc<Program>,
    manifest: IdentityManifest,
    descriptor: Digest,
    capabilities: Capabilities,
    seats: SeatCount,
    tick: Tick,
    guest: Guest,
    checkpoints: CheckpointTable<Vec<u8>>,
    pool: Pool,
    /// The youngest checkpoint, as long as the state is still the one it holds.
    current: Option<Checkpoint>,
    /// The state, when this machine failed to put it back into the guest.
    unsettled: Option<Vec<u8>>,
    scratch: Vec<u8>,
    gas_used: u64,
}

/// Where the state of a moment can be had back from.
enum Anchor {
    Held(Checkpoint),
    Copy(Vec<u8>),
}

impl WasmRuntime {
    pub(crate) fn new(
        program: Arc<Program>,
        manifest: IdentityManifest,
        descriptor: &MatchDescriptor,
        capabilities: Capabilities,
        guest: Guest,
    ) -> WasmRuntime {
        WasmRuntime {
            program,
            manifest,
            descriptor: descriptor.digest(),
            capabilities,
            seats: descriptor.seats(),
            tick: Tick::ZERO,
            guest,
            checkpoints: CheckpointTable::default(),
            pool: Pool::default(),
            current: None,
            unsettled: None,
            scratch: Vec::new(),
            gas_used: 0,
        }
    }

    /// Gas that the last step took: a property of module, state and inputs, the same on every machine.
    pub fn gas_used(&self) -> u64 {
        self.gas_used
    }

    /// The memory of the state, for tests and tools.
    pub fn memory(&self) -> &[u8] {
        let unsettled = self.unsettled.as_ref();
        let parts = unsettled.and_then(|bytes| StateBytes::split(bytes, self.program.trailer_bytes()));
        parts.map_or(self.guest.memory(), |parts| parts.memory)
    }

    /// Makes sure that the state can be had back.
    fn anchor(&mut self) -> Anchor {
        match self.current {
            Some(checkpoint) => Anchor::Held(checkpoint),
            None => Anchor::Copy(self.pool.capture(&mut self.guest, self.tick)),
        }
    }

    /// Has the state back. The tick is the caller's.
    fn return_to(&mut self, anchor: Anchor) {
        let bytes = match &anchor {
            Anchor::Held(checkpoint) => self.checkpoints.get(*checkpoint).ok().map(|bytes| &*bytes),
            Anchor::Copy(bytes) => Some(bytes),
        };
        let Some(bytes) = bytes else { return };
        let loaded = load(&mut self.guest, &self.program, bytes);
        self.unsettled = loaded.err().map(|_| bytes.clone());
        if let Anchor::Held(checkpoint) = anchor {
            self.current = Some(checkpoint);
        } else {
            self.current = None;
            self.let_go(anchor);
        }
    }

    fn let_go(&mut self, anchor: Anchor) {
        if let Anchor::Copy(bytes) = anchor {
            self.pool.give(bytes);
        }
    }

    /// Tries again what this machine failed to do after the last fault.
    fn settle(&mut self) -> Result<(), AdvanceError> {
        if let Some(bytes) = &self.unsettled {
            let loaded = load(&mut self.guest, &self.program, bytes);
            loaded.map_err(|fault| AdvanceError::Fault { tick: self.tick, fault })?;
            self.unsettled = None;
        }
        Ok(())
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
        let before = self.current;
        let checkpoint = keep.contains(Keep::CHECKPOINT).then(|| {
            let bytes = self.pool.capture(&mut self.guest, self.tick);
            *self.current.insert(self.checkpoints.issue(self.tick, bytes))
        });
        let start = output.projections.len();
        let projection = if keep.contains(Keep::PROJECTION) {
            match self.project(&mut output.projections) {
                Ok(()) => Some(start..output.projections.len()),
                Err(StepFault::Host) => {
                    output.projections.truncate(start);
                    self.take_back(checkpoint);
                    self.current = before;
                    return Err(AdvanceError::Fault { tick: self.tick, fault: StepFault::Host });
                }
                // A guest's projection that traps shows nothing; it has no say in the match (K9).
                Err(_) => {
                    output.projections.truncate(start);
                    output.failed_projections += 1;
                    None
                }
            }
        } else {
            None
        };
        let checksum = keep.contains(Keep::CHECKSUM).then(|| self.checksum());
        output.kept.push(Kept { tick: self.tick, checkpoint, checksum, projection });
        Ok(())
    }

    /// Gives up a checkpoint that nobody has seen.
    fn take_back(&mut self, checkpoint: Option<Checkpoint>) {
        if let Some(bytes) = checkpoint.and_then(|checkpoint| self.checkpoints.release(checkpoint).ok()) {
            self.pool.give(bytes);
        }
    }

    /// Projects, and undoes what the projection wrote (K9).
    fn project(&mut self, out: &mut Vec<u8>) -> Result<(), StepFault> {
        let anchor = self.anchor();
        let projected =
            self.guest.project(self.program.limits().gas_per_tick).map(|bytes| out.extend_from_slice(bytes));
        self.return_to(anchor);
        projected?;
        if self.unsettled.is_some() { Err(StepFault::Host) } else { Ok(()) }
    }

    fn checksum(&mut self) -> Checksum {
        if let Some(bytes) = self.current.and_then(|checkpoint| self.checkpoints.get(checkpoint).ok()) {
            return Checksum::of(bytes);
        }
        self.scratch.clear();
        self.guest.append_trailer(self.tick, &mut self.scratch);
        hash::checksum(self.guest.memory(), &self.scratch)
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

    /// The parts of canonical bytes that can be a state of this game at `tick`.
    fn parts<'a>(&self, tick: Tick, bytes: &'a [u8]) -> Result<StateBytes<'a>, HydrateError> {
        let (length, limit) = (bytes.len() as u64, self.program.max_state_bytes());
        if length > limit {
            return Err(HydrateError::TooLong { bytes: length, limit });
        }
        let state = StateBytes::split(bytes, self.program.trailer_bytes()).ok_or(HydrateError::Malformed)?;
        if !self.program.can_have_pages(state.pages) {
            return Err(HydrateError::Malformed);
        }
        if state.tick != tick {
            return Err(HydrateError::Tick { expected: tick, found: state.tick });
        }
        Ok(state)
    }
}

/// Puts a state that this runtime captured itself into the guest.
fn load(guest: &mut Guest, program: &Program, bytes: &[u8]) -> Result<(), StepFault> {
    let state = StateBytes::split(bytes, program.trailer_bytes()).ok_or(StepFault::Host)?;
    guest.load(program, &state)
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
        self.settle()?;
        let (tick, anchor, checkpoints) = (self.tick, self.anchor(), self.checkpoints.len());
        let (kept, projected, malformed) = (output.kept.len(), output.projections.len(), output.malformed_commands);
        let events = output.events.mark();
        let ran = self.run(batch, output);
        if ran.is_err() {
            while self.checkpoints.len() > checkpoints
                && let Some(bytes) = self.checkpoints.pop()
            {
                self.pool.give(bytes);
            }
            self.tick = tick;
            self.return_to(anchor);
            output.kept.truncate(kept);
            output.projections.truncate(projected);
            output.malformed_commands = malformed;
            output.events.truncate(events);
        } else {
            self.let_go(anchor);
        }
        ran
    }

    fn keep(&mut self, keep: Keep, output: &mut Output) -> Result<(), AdvanceError> {
        self.settle()?;
        self.keep_current(keep, output)
    }

    fn restore(&mut self, checkpoint: Checkpoint) -> Result<(), CheckpointError> {
        let bytes = self.checkpoints.get(checkpoint)?;
        let tick = checkpoint.tick();
        load(&mut self.guest, &self.program, bytes).map_err(|_| CheckpointError::Host { tick })?;
        while let Some(bytes) = self.checkpoints.pop_younger(checkpoint) {
            self.pool.give(bytes);
        }
        self.tick = tick;
        self.current = Some(checkpoint);
        self.unsettled = None;
        Ok(())
    }

    fn release(&mut self, checkpoint: Checkpoint) -> Result<(), CheckpointError> {
        let bytes = self.checkpoints.release(checkpoint)?;
        self.pool.give(bytes);
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
        let bytes = self.checkpoints.get(checkpoint)?;
        let rest = usize::try_from(offset).ok().and_then(|offset| bytes.get(offset..)).unwrap_or_default();
        out.extend_from_slice(&rest[..rest.len().min(max_bytes)]);
        Ok(bytes.len() as u64)
    }

    fn hydrate(&mut self, tick: Tick, canonical_state: &[u8]) -> Result<(), HydrateError> {
        let state = self.parts(tick, canonical_state)?;
        self.guest.load(&self.program, &state).map_err(|_| HydrateError::Host)?;
        while let Some(bytes) = self.checkpoints.pop() {
            self.pool.give(bytes);
        }
        self.tick = tick;
        self.current = None;
        self.unsettled = None;
        Ok(())
    }

    fn last_log(&self) -> Vec<String> {
        self.guest.log().cloned().collect()
    }
}

impl core::fmt::Debug for WasmRuntime {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("WasmRuntime").field("tick", &self.tick).finish_non_exhaustive()
    }
}
