//! Re-simulates the frames of a replay, for whoever verifies or watches it.

use alloc::boxed::Box;

use super::file::Replay;
use crate::input::InputSchema;
use crate::runtime::{AdvanceError, HydrateError, Keep, Kept, Output, Runtime, StepBatch};
use crate::tick::Tick;

/// Ticks stepped in one batch.
const TICKS_PER_BATCH: usize = 64;

/// A runtime, and the buffers with which it is stepped.
pub(super) struct Stepper {
    runtime: Box<dyn Runtime>,
    schema: InputSchema,
    batch: StepBatch,
    output: Output,
    steps: u64,
}

impl core::fmt::Debug for Stepper {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("Stepper").field("tick", &self.tick()).field("steps", &self.steps).finish_non_exhaustive()
    }
}

impl Stepper {
    pub(super) fn new(runtime: Box<dyn Runtime>) -> Stepper {
        let schema = runtime.manifest().input_schema().clone();
        Stepper { runtime, schema, batch: StepBatch::default(), output: Output::default(), steps: 0 }
    }

    /// The current state's tick.
    pub(super) fn tick(&self) -> Tick {
        self.runtime.tick()
    }

    /// How many steps were run in all.
    pub(super) fn steps(&self) -> u64 {
        self.steps
    }

    /// The runtime, for what is neither stepping nor keeping.
    pub(super) fn runtime_mut(&mut self) -> &mut dyn Runtime {
        self.runtime.as_mut()
    }

    /// Replaces the state.
    pub(super) fn hydrate(&mut self, tick: Tick, state: &[u8]) -> Result<(), HydrateError> {
        self.runtime.hydrate(tick, state)
    }

    /// Keeps something of the current state.
    pub(super) fn keep(&mut self, keep: Keep) -> Result<&Output, AdvanceError> {
        self.output.clear();
        self.runtime.keep(keep, &mut self.output)?;
        Ok(&self.output)
    }

    /// Steps through the frames of `replay` up to `S(to)`, and hands over what `keep` asks for of each state.
    pub(super) fn run(
        &mut self,
        replay: &Replay,
        to: Tick,
        keep: impl Fn(Tick) -> Keep,
        mut seen: impl FnMut(&Kept),
    ) -> Result<(), AdvanceError> {
        let from = self.tick();
        self.batch.reset(from);
        replay.try_each_frame(from, to, |frame| {
            self.batch.push_frame(frame, &self.schema, keep(frame.tick().saturating_add(1)));
            if self.batch.len() < TICKS_PER_BATCH { Ok(()) } else { self.step(&mut seen) }
        })?;
        self.step(&mut seen)
    }

    fn step(&mut self, seen: &mut impl FnMut(&Kept)) -> Result<(), AdvanceError> {
        if self.batch.is_empty() {
            return Ok(());
        }
        self.output.clear();
        if let Err(error) = self.runtime.advance(&self.batch, &mut self.output) {
            self.step_before(&error, seen);
            return Err(error);
        }
        self.take_kept(seen);
        Ok(())
    }

    /// Steps through what of a failed batch can be stepped: where a match went another way before it faulted, the states up to
    /// there say so.
    fn step_before(&mut self, error: &AdvanceError, seen: &mut impl FnMut(&Kept)) {
        let steps = match error {
            AdvanceError::Fault { tick, .. } => tick.since(self.batch.first()),
            // The state that can't be captured is the one that this step leads to.
            AdvanceError::Capture { tick, .. } => tick.since(self.batch.first()).saturating_sub(1),
            _ => 0,
        };
        self.batch.truncate(usize::try_from(steps).unwrap_or(usize::MAX));
        self.output.clear();
        if !self.batch.is_empty() && self.runtime.advance(&self.batch, &mut self.output).is_ok() {
            self.take_kept(seen);
        }
    }

    fn take_kept(&mut self, seen: &mut impl FnMut(&Kept)) {
        self.steps += self.batch.len() as u64;
        self.output.kept.iter().for_each(seen);
        self.batch.reset(self.runtime.tick());
    }
}
