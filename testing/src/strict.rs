//! A runtime that breaks loudly: it wraps any other and holds both sides to the contract of the trait (K2, K4, K5, K9).
//!
//! It takes more checksums than it is asked for, so it is for tests. What it finds is read through a [`StrictProbe`], also when
//! the runtime itself disappeared into a session.
//!
//! ```
//! use std::sync::Arc;
//!
//! use retick_core::runtime::{Keep, Output, RuntimeFactory};
//! use retick_testing::fixtures::{tally_descriptor, tally_factory};
//! use retick_testing::strict::{StrictFactory, Violation};
//!
//! let factory = StrictFactory::new(Arc::new(tally_factory()));
//! let mut runtime = factory.create(&tally_descriptor(&factory, 2, 1))?;
//! let probe = &factory.probes()[0];
//! let mut output = Output::default();
//! runtime.keep(Keep::CHECKPOINT, &mut output)?;
//! let checkpoint = output.kept[0].checkpoint.ok_or("asked for")?;
//! runtime.restore(checkpoint)?;
//! probe.assert_clean();
//!
//! // To use a handle that was released is an error for the caller, and a finding for the test.
//! runtime.release(checkpoint)?;
//! assert!(runtime.restore(checkpoint).is_err());
//! assert!(matches!(probe.violations()[..], [Violation::StaleHandle { .. }]));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod factory;
mod ledger;
mod plan;
#[cfg(test)]
mod tests;

pub use factory::StrictFactory;
pub use ledger::{Call, StrictCounters, StrictProbe, Violation};
pub use plan::FaultPlan;

use ledger::Ledger;
use retick_core::digest::{Checksum, Digest};
use retick_core::identity::IdentityManifest;
use retick_core::runtime::{
    AdvanceError, Capabilities, Checkpoint, CheckpointError, HydrateError, Keep, Kept, Output, Runtime, StepBatch,
};
use retick_core::tick::Tick;

/// Wraps a runtime, checks every call and every answer, and injects planned faults.
pub struct StrictRuntime {
    inner: Box<dyn Runtime>,
    probe: StrictProbe,
    ledger: Ledger,
    plans: Vec<FaultPlan>,
    batch: StepBatch,
    output: Output,
}

impl StrictRuntime {
    /// A strict runtime around `inner`, none of whose checkpoints may be in use.
    pub fn new(inner: Box<dyn Runtime>, plans: Vec<FaultPlan>) -> StrictRuntime {
        let (batch, output) = (StepBatch::default(), Output::default());
        StrictRuntime { inner, probe: StrictProbe::default(), ledger: Ledger::default(), plans, batch, output }
    }

    /// Looks into this runtime, whoever owns it.
    pub fn probe(&self) -> StrictProbe {
        self.probe.clone()
    }

    /// The checksum of the current state, or `None` when it has none.
    fn checksum(&mut self) -> Option<Checksum> {
        self.output.clear();
        self.inner.keep(Keep::CHECKSUM, &mut self.output).ok()?;
        self.output.kept.first()?.checksum
    }

    fn check(&self, holds: bool, violation: impl FnOnce() -> Violation) {
        if !holds {
            self.probe.report(violation());
        }
    }

    fn check_tick(&self, call: Call, expected: Tick) {
        let found = self.inner.tick();
        self.check(found == expected, || Violation::Tick { call, expected, found });
    }

    /// Asks for the checksum of every state of which anything is kept, so that each handle and projection is known with it.
    fn widen(&mut self, batch: &StepBatch) {
        self.batch.reset(batch.first());
        for (index, step) in batch.steps().enumerate() {
            self.batch.push_from(batch, index, widened(step.keep()));
        }
    }

    /// Checks what the inner runtime kept against what was asked for, and hands it on with nothing more than that.
    fn hand_on(&mut self, call: Call, asked: &[(Tick, Keep)], inner: &Output, output: &mut Output) {
        let kept_as_asked = |kept: &Kept, (tick, keep): &(Tick, Keep)| {
            kept.tick == *tick
                && kept.checkpoint.is_some() == keep.contains(Keep::CHECKPOINT)
                && (kept.checksum.is_some() || !keep.contains(Keep::CHECKSUM))
                && kept.projection.is_some() == keep.contains(Keep::PROJECTION)
        };
        let agreeing = inner.kept.iter().zip(asked).take_while(|(kept, asked)| kept_as_asked(kept, asked)).count();
        if agreeing < asked.len().max(inner.kept.len()) {
            let asked_tick = asked.get(agreeing).map(|(tick, _)| *tick);
            let tick = asked_tick.or(inner.kept.get(agreeing).map(|kept| kept.tick)).unwrap_or(self.inner.tick());
            self.probe.report(Violation::Kept { call, tick });
        }
        let offset = output.projections.len();
        output.projections.extend_from_slice(&inner.projections);
        output.malformed_commands += inner.malformed_commands;
        output.events.append(&inner.events);
        for (kept, (_, keep)) in inner.kept.iter().zip(asked) {
            if let (Some(checkpoint), Some(checksum)) = (kept.checkpoint, kept.checksum) {
                let fresh = self.ledger.issue(checkpoint, checksum);
                self.check(fresh && checkpoint.tick() == kept.tick, || Violation::BadHandle { tick: kept.tick });
            }
            let checksum = kept.checksum.filter(|_| keep.contains(Keep::CHECKSUM));
            let projection = kept.projection.clone().map(|range| range.start + offset..range.end + offset);
            output.kept.push(Kept { tick: kept.tick, checkpoint: kept.checkpoint, checksum, projection });
        }
        self.count_checkpoints();
    }

    fn count_checkpoints(&self) {
        let alive = self.ledger.len();
        self.probe.count(|counters| {
            counters.checkpoints_alive = alive;
            counters.most_checkpoints_alive = counters.most_checkpoints_alive.max(alive);
        });
    }

    /// Checks an answer about a handle: valid ones are taken, stale ones refused. Gives the checksum of a valid one.
    fn check_handle<T>(
        &self,
        call: Call,
        checkpoint: Checkpoint,
        answer: &Result<T, CheckpointError>,
    ) -> Option<Checksum> {
        let (known, tick) = (self.ledger.checksum(checkpoint), checkpoint.tick());
        let stale = matches!(answer, Err(CheckpointError::Stale { .. }));
        match known {
            None => {
                self.probe.report(Violation::StaleHandle { call, tick });
                self.check(stale, || Violation::StaleHandleTaken { call, tick });
            }
            Some(_) => self.check(!stale, || Violation::ValidHandleRefused { call, tick }),
        }
        known
    }

    fn advance_current(&mut self, batch: &StepBatch, output: &mut Output) -> Result<(), AdvanceError> {
        let (tick, before) = (self.inner.tick(), self.checksum());
        self.widen(batch);
        let mut inner = Output::default();
        let ran = self.inner.advance(&self.batch, &mut inner);
        if ran.is_err() {
            let appended = !inner.kept.is_empty()
                || !inner.projections.is_empty()
                || inner.malformed_commands > 0
                || emitted(&inner);
            let same = self.inner.tick() == tick && self.checksum() == before;
            self.check(same && !appended, || Violation::NotPure { call: Call::Advance, tick });
            return ran;
        }
        let length = batch.len() as u64;
        self.check_tick(Call::Advance, tick.saturating_add(length));
        self.probe.count(|counters| {
            counters.batches += 1;
            counters.steps += length;
        });
        let asked: Vec<_> = batch.steps().map(|step| (step.tick().saturating_add(1), step.keep())).collect();
        let asked: Vec<_> = asked.into_iter().filter(|(_, keep)| *keep != Keep::NOTHING).collect();
        self.check_projected(&asked, &inner);
        self.check_events(tick, length, &inner);
        self.hand_on(Call::Advance, &asked, &inner, output);
        Ok(())
    }

    /// K9: the checksum that was taken with the last state is still that of the state, after its projection.
    fn check_projected(&mut self, asked: &[(Tick, Keep)], inner: &Output) {
        let tick = self.inner.tick();
        let projected = asked.last().is_some_and(|(last, keep)| *last == tick && keep.contains(Keep::PROJECTION));
        if let (true, Some(before)) = (projected, inner.kept.last().and_then(|kept| kept.checksum)) {
            let after = self.checksum();
            self.check(after == Some(before), || Violation::ProjectionChangedState { tick });
        }
    }
}

impl StrictRuntime {
    /// K10: what a batch emits is of its ticks, in their order.
    fn check_events(&self, first: Tick, length: u64, inner: &Output) {
        let mut least = first;
        for event in inner.events.iter() {
            let tick = event.key.tick;
            if tick < least || tick >= first.saturating_add(length) {
                return self.probe.report(Violation::Events { tick });
            }
            least = tick;
        }
    }
}

/// Whether a call emitted anything, dropped or not.
fn emitted(output: &Output) -> bool {
    !output.events.is_empty() || output.events.dropped() > 0
}

impl Runtime for StrictRuntime {
    fn manifest(&self) -> &IdentityManifest {
        self.inner.manifest()
    }

    fn descriptor_digest(&self) -> Digest {
        self.inner.descriptor_digest()
    }

    fn capabilities(&self) -> Capabilities {
        self.inner.capabilities()
    }

    fn tick(&self) -> Tick {
        self.inner.tick()
    }

    fn advance(&mut self, batch: &StepBatch, output: &mut Output) -> Result<(), AdvanceError> {
        let (first, current) = (batch.first(), self.inner.tick());
        if first != current {
            self.probe.report(Violation::BatchNotCurrent { first, current });
            let ran = self.inner.advance(batch, output);
            self.check(ran.is_err(), || Violation::WrongBatchTaken { first });
            return ran;
        }
        if let Some((tick, fault)) = FaultPlan::strike(&mut self.plans, batch) {
            self.probe.count(|counters| counters.injected_faults += 1);
            return Err(AdvanceError::Fault { tick, fault });
        }
        self.advance_current(batch, output)
    }

    fn keep(&mut self, keep: Keep, output: &mut Output) -> Result<(), AdvanceError> {
        let (tick, before) = (self.inner.tick(), self.checksum());
        let mut inner = Output::default();
        let kept = self.inner.keep(widened(keep), &mut inner);
        let same = self.inner.tick() == tick && self.checksum() == before && !emitted(&inner);
        self.check(same, || match keep.contains(Keep::PROJECTION) {
            true => Violation::ProjectionChangedState { tick },
            false => Violation::NotPure { call: Call::Keep, tick },
        });
        kept?;
        let asked = [(tick, keep)];
        let asked = if keep == Keep::NOTHING { &[] } else { &asked[..] };
        self.hand_on(Call::Keep, asked, &inner, output);
        Ok(())
    }

    fn restore(&mut self, checkpoint: Checkpoint) -> Result<(), CheckpointError> {
        let answer = self.inner.restore(checkpoint);
        if let (Some(expected), true) = (self.check_handle(Call::Restore, checkpoint, &answer), answer.is_ok()) {
            let tick = checkpoint.tick();
            self.check_tick(Call::Restore, tick);
            self.ledger.release_younger(checkpoint);
            let found = self.checksum().unwrap_or(Checksum::from_bytes([0; 32]));
            self.check(found == expected, || Violation::RestoredOtherState { tick, expected, found });
            self.probe.count(|counters| counters.restores += 1);
            self.count_checkpoints();
        }
        answer
    }

    fn release(&mut self, checkpoint: Checkpoint) -> Result<(), CheckpointError> {
        let (tick, before) = (self.inner.tick(), self.checksum());
        let answer = self.inner.release(checkpoint);
        self.check_handle(Call::Release, checkpoint, &answer);
        let same = self.inner.tick() == tick && self.checksum() == before;
        self.check(same, || Violation::NotPure { call: Call::Release, tick });
        if answer.is_ok() {
            self.ledger.release(checkpoint);
            self.probe.count(|counters| counters.releases += 1);
            self.count_checkpoints();
        }
        answer
    }

    fn export(
        &mut self,
        checkpoint: Checkpoint,
        offset: u64,
        max_bytes: usize,
        out: &mut Vec<u8>,
    ) -> Result<u64, CheckpointError> {
        let (tick, before, start) = (self.inner.tick(), self.checksum(), out.len());
        let answer = self.inner.export(checkpoint, offset, max_bytes, out);
        let known = self.check_handle(Call::Export, checkpoint, &answer);
        let pure = self.inner.tick() == tick && self.checksum() == before;
        let appended = out.len() - start;
        let within = if answer.is_ok() { appended <= max_bytes } else { appended == 0 };
        self.check(pure && within, || Violation::NotPure { call: Call::Export, tick });
        let whole = offset == 0 && answer == Ok(appended as u64);
        let bytes = Checksum::of(&out[start..]);
        let right = !whole || known.is_none_or(|checksum| checksum == bytes);
        self.check(right, || Violation::BytesOfOtherState { call: Call::Export, tick: checkpoint.tick() });
        answer
    }

    fn hydrate(&mut self, tick: Tick, canonical_state: &[u8]) -> Result<(), HydrateError> {
        let (tick_before, before) = (self.inner.tick(), self.checksum());
        let answer = self.inner.hydrate(tick, canonical_state);
        if answer.is_err() {
            let same = self.inner.tick() == tick_before && self.checksum() == before;
            self.check(same, || Violation::NotPure { call: Call::Hydrate, tick: tick_before });
            return answer;
        }
        self.ledger.clear();
        self.check_tick(Call::Hydrate, tick);
        let right = self.checksum() == Some(Checksum::of(canonical_state));
        self.check(right, || Violation::BytesOfOtherState { call: Call::Hydrate, tick });
        self.probe.count(|counters| counters.hydrations += 1);
        self.count_checkpoints();
        answer
    }

    fn last_log(&self) -> Vec<String> {
        self.inner.last_log()
    }
}

fn widened(keep: Keep) -> Keep {
    if keep == Keep::NOTHING { keep } else { keep | Keep::CHECKSUM }
}
