//! Each breach of the contract is caught: the caller's, and those of a runtime with one sin each.

use std::sync::Arc;

use retick_core::digest::Digest;
use retick_core::event::EventId;
use retick_core::runtime::{RuntimeFactory, SeatStep, StepFault};
use retick_core::seat::{ControlEpoch, Presence, Seat};

use super::*;
use crate::fixtures::{pack_tally, tally_descriptor, tally_factory};

/// What a broken runtime does wrong.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Sin {
    None,
    /// Takes every handle, and restores the youngest valid checkpoint instead.
    TakesStaleHandles,
    /// Says that every handle is stale.
    RefusesHandles,
    /// Takes a batch from anywhere.
    TakesAnyBatch,
    /// Steps once more than asked.
    StepsTooFar,
    /// Steps, and then says that it failed.
    FailsAfterStepping,
    /// Steps when it projects.
    ProjectsByStepping,
    /// Forgets every second thing that it was to keep.
    KeepsLess,
    /// Keeps the checkpoint, and restores another state.
    RestoresOther,
    /// Gives out its first handle again and again.
    ReusesHandles,
    /// Exports bytes that are not the state's.
    ExportsOther,
    /// Hydrates another tick's state.
    HydratesOther,
    /// Steps when a hydration fails.
    FailsHydrationDirty,
    /// Steps when a checkpoint is released.
    ReleasesByStepping,
    /// Emits an event of the tick before its batch.
    EmitsLate,
    /// Emits, and then says that it failed.
    FailsAfterEmitting,
    /// Emits when something is kept.
    EmitsWhenKeeping,
}

struct Broken {
    inner: Box<dyn Runtime>,
    sin: Sin,
    handles: Vec<Checkpoint>,
}

impl Broken {
    fn step_once(&mut self) {
        let batch = batch_at(self.inner.tick(), &[(Keep::NOTHING, 77)]);
        self.inner.advance(&batch, &mut Output::default()).expect("TALLY does not fault");
    }
}

impl Runtime for Broken {
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
        if self.sin == Sin::TakesAnyBatch {
            return Ok(());
        }
        if self.sin == Sin::FailsAfterEmitting {
            output.events.push(EventId::default(), &[]);
            return Err(AdvanceError::Fault { tick: batch.first(), fault: StepFault::Aborted });
        }
        self.inner.advance(batch, output)?;
        let projects = batch.steps().any(|step| step.keep().contains(Keep::PROJECTION));
        match self.sin {
            Sin::StepsTooFar => self.step_once(),
            Sin::ProjectsByStepping if projects => self.step_once(),
            Sin::KeepsLess => drop(output.kept.pop()),
            Sin::EmitsLate => {
                for tick in [1, 0] {
                    output.events.begin_tick(Tick::new(tick));
                    output.events.push(EventId::default(), &[]);
                }
            }
            Sin::FailsAfterStepping => {
                output.clear();
                return Err(AdvanceError::Fault { tick: batch.first(), fault: StepFault::Aborted });
            }
            _ => {}
        }
        Ok(())
    }

    fn keep(&mut self, keep: Keep, output: &mut Output) -> Result<(), AdvanceError> {
        self.inner.keep(keep, output)?;
        if self.sin == Sin::EmitsWhenKeeping {
            output.events.push(EventId::default(), &[]);
        }
        if let Some(kept) = output.kept.last_mut() {
            self.handles.extend(kept.checkpoint);
            if self.sin == Sin::ReusesHandles && kept.checkpoint.is_some() {
                kept.checkpoint = self.handles.first().copied();
            }
        }
        if self.sin == Sin::ProjectsByStepping && keep.contains(Keep::PROJECTION) {
            self.step_once();
        }
        Ok(())
    }

    fn restore(&mut self, checkpoint: Checkpoint) -> Result<(), CheckpointError> {
        match self.sin {
            Sin::RefusesHandles => Err(CheckpointError::Stale { tick: checkpoint.tick() }),
            Sin::TakesStaleHandles => Ok(()),
            Sin::RestoresOther => {
                self.inner.restore(checkpoint)?;
                self.step_once();
                let mut output = Output::default();
                self.inner.keep(Keep::CHECKPOINT, &mut output).expect("TALLY keeps");
                Ok(())
            }
            _ => self.inner.restore(checkpoint),
        }
    }

    fn release(&mut self, checkpoint: Checkpoint) -> Result<(), CheckpointError> {
        if self.sin == Sin::ReleasesByStepping {
            self.step_once();
        }
        self.inner.release(checkpoint)
    }

    fn export(
        &mut self,
        checkpoint: Checkpoint,
        offset: u64,
        max_bytes: usize,
        out: &mut Vec<u8>,
    ) -> Result<u64, CheckpointError> {
        let total = self.inner.export(checkpoint, offset, max_bytes, out)?;
        if let (Sin::ExportsOther, Some(last)) = (self.sin, out.last_mut()) {
            *last ^= 1;
        }
        Ok(total)
    }

    fn hydrate(&mut self, tick: Tick, canonical_state: &[u8]) -> Result<(), HydrateError> {
        if self.sin == Sin::FailsHydrationDirty {
            self.step_once();
            return Err(HydrateError::Malformed);
        }
        self.inner.hydrate(tick, canonical_state)?;
        if self.sin == Sin::HydratesOther {
            self.step_once();
        }
        Ok(())
    }
}

fn batch_at(first: Tick, steps: &[(Keep, i32)]) -> StepBatch {
    let mut batch = StepBatch::default();
    batch.reset(first);
    for (keep, value) in steps {
        batch.push_step(*keep);
        let (presence, epoch) = (Presence::Human, ControlEpoch(1));
        let input = pack_tally(*value);
        batch.push_seat(SeatStep { input: &input, substituted: false, malformed: false, presence, epoch });
    }
    batch
}

fn strict(sin: Sin, plans: Vec<FaultPlan>) -> StrictRuntime {
    let factory = tally_factory();
    let inner = factory.create(&tally_descriptor(&factory, 1, 1)).expect("a match of TALLY");
    StrictRuntime::new(Box::new(Broken { inner, sin, handles: Vec::new() }), plans)
}

const ALL: [(Keep, i32); 4] =
    [(Keep::CHECKPOINT, 1), (Keep::CHECKSUM, 2), (Keep::CHECKPOINT, 3), (Keep::PROJECTION, 4)];

/// Everything that a careful caller does: keep, step, restore twice, release, export in pieces, hydrate, fail to hydrate. Gives
/// what was exported at once, and in pieces.
fn drive(runtime: &mut StrictRuntime) -> [Vec<u8>; 2] {
    let mut output = Output::default();
    runtime.keep(Keep::CHECKPOINT | Keep::PROJECTION, &mut output).expect("S(0) is kept");
    let start = output.kept[0].checkpoint.expect("asked for");
    let _ = runtime.advance(&batch_at(Tick::ZERO, &ALL), &mut output);
    let _ = runtime.keep(Keep::CHECKPOINT, &mut output);
    let _ = runtime.restore(start);
    let _ = runtime.restore(start);
    let (mut bytes, mut pieces) = (Vec::new(), Vec::new());
    if let Ok(total) = runtime.export(start, 0, usize::MAX, &mut bytes) {
        while (pieces.len() as u64) < total && runtime.export(start, pieces.len() as u64, 7, &mut pieces).is_ok() {}
    }
    let _ = runtime.hydrate(Tick::new(9), &bytes);
    let _ = runtime.hydrate(Tick::ZERO, &bytes);
    let mut output = Output::default();
    runtime.keep(Keep::CHECKPOINT, &mut output).expect("S(0) is kept");
    let _ = runtime.release(output.kept[0].checkpoint.expect("asked for"));
    [bytes, pieces]
}

#[test]
fn k4_a_clean_runtime_and_a_careful_caller_pass() {
    let mut runtime = strict(Sin::None, vec![]);
    let [bytes, pieces] = drive(&mut runtime);
    assert_eq!(pieces, bytes);
    runtime.probe().assert_clean();
    let counters = runtime.probe().counters();
    assert_eq!((counters.batches, counters.steps, counters.restores), (1, 4, 2));
    assert_eq!((counters.releases, counters.hydrations), (1, 1));
    assert_eq!((counters.checkpoints_alive, counters.most_checkpoints_alive), (0, 4));
}

#[test]
fn k4_every_sin_of_a_runtime_is_caught() {
    type Expected = fn(&Violation) -> bool;
    let sins: [(Sin, Expected); 14] = [
        (Sin::RefusesHandles, |found| matches!(found, Violation::ValidHandleRefused { call: Call::Restore, .. })),
        (Sin::StepsTooFar, |found| matches!(found, Violation::Tick { call: Call::Advance, .. })),
        (Sin::FailsAfterStepping, |found| matches!(found, Violation::NotPure { call: Call::Advance, .. })),
        (Sin::ProjectsByStepping, |found| matches!(found, Violation::ProjectionChangedState { .. })),
        (Sin::KeepsLess, |found| matches!(found, Violation::Kept { call: Call::Advance, .. })),
        (Sin::RestoresOther, |found| matches!(found, Violation::RestoredOtherState { .. })),
        (Sin::ReusesHandles, |found| matches!(found, Violation::BadHandle { .. })),
        (Sin::ExportsOther, |found| matches!(found, Violation::BytesOfOtherState { call: Call::Export, .. })),
        (Sin::HydratesOther, |found| matches!(found, Violation::BytesOfOtherState { call: Call::Hydrate, .. })),
        (Sin::FailsHydrationDirty, |found| matches!(found, Violation::NotPure { call: Call::Hydrate, .. })),
        (Sin::EmitsLate, |found| matches!(found, Violation::Events { tick } if *tick == Tick::ZERO)),
        (Sin::FailsAfterEmitting, |found| matches!(found, Violation::NotPure { call: Call::Advance, .. })),
        (Sin::EmitsWhenKeeping, |found| matches!(found, Violation::NotPure { call: Call::Keep, .. })),
        (Sin::ReleasesByStepping, |found| matches!(found, Violation::NotPure { call: Call::Release, .. })),
    ];
    for (sin, expected) in sins {
        let mut runtime = strict(sin, vec![]);
        drive(&mut runtime);
        let found = runtime.probe().violations();
        assert!(found.iter().any(expected), "{sin:?}: {found:#?}");
        assert!(found.iter().any(|violation| !violation.is_the_callers()), "{sin:?}: {found:#?}");
    }
}

/// A runtime with two checkpoints of which the younger was released by restoring the older.
fn with_stale_handle(sin: Sin) -> (StrictRuntime, Checkpoint) {
    let mut runtime = strict(sin, vec![]);
    let mut output = Output::default();
    runtime.keep(Keep::CHECKPOINT, &mut output).expect("S(0) is kept");
    runtime.advance(&batch_at(Tick::ZERO, &ALL), &mut output).expect("TALLY does not fault");
    let handles: Vec<_> = output.kept.iter().filter_map(|kept| kept.checkpoint).collect();
    runtime.restore(handles[0]).expect("a valid handle");
    (runtime, handles[1])
}

#[test]
fn k4_a_stale_handle_is_refused_and_the_caller_named_in_every_call() {
    let (mut runtime, stale) = with_stale_handle(Sin::None);
    let refusal = CheckpointError::Stale { tick: stale.tick() };
    assert_eq!(runtime.restore(stale), Err(refusal.clone()));
    assert_eq!(runtime.release(stale), Err(refusal.clone()));
    assert_eq!(runtime.export(stale, 0, 9, &mut Vec::new()), Err(refusal));
    let breach = |call| Violation::StaleHandle { call, tick: stale.tick() };
    assert_eq!(runtime.probe().violations(), [Call::Restore, Call::Release, Call::Export].map(breach));
    assert!(runtime.probe().violations().iter().all(Violation::is_the_callers));
    // A handle of another runtime is as stale.
    let (mut other, _) = with_stale_handle(Sin::None);
    assert!(other.restore(stale).is_err());
}

#[test]
fn k4_a_runtime_that_takes_a_stale_handle_is_caught() {
    let (mut runtime, stale) = with_stale_handle(Sin::TakesStaleHandles);
    let _ = runtime.restore(stale);
    let taken = Violation::StaleHandleTaken { call: Call::Restore, tick: stale.tick() };
    assert!(runtime.probe().violations().contains(&taken));
}

#[test]
fn k2_a_batch_from_elsewhere_is_refused_and_both_sides_are_named() {
    let batch = batch_at(Tick::new(3), &ALL);
    let mut runtime = strict(Sin::None, vec![]);
    let refusal = AdvanceError::NotCurrent { first: Tick::new(3), current: Tick::ZERO };
    assert_eq!(runtime.advance(&batch, &mut Output::default()), Err(refusal));
    let breach = Violation::BatchNotCurrent { first: Tick::new(3), current: Tick::ZERO };
    assert_eq!(runtime.probe().violations(), std::slice::from_ref(&breach));
    let mut careless = strict(Sin::TakesAnyBatch, vec![]);
    assert_eq!(careless.advance(&batch, &mut Output::default()), Ok(()));
    assert_eq!(careless.probe().violations(), [breach, Violation::WrongBatchTaken { first: Tick::new(3) }]);
}

#[test]
fn w5_a_planned_fault_strikes_as_often_as_planned_and_leaves_nothing_behind() {
    let tick = Tick::new(2);
    let error = AdvanceError::Fault { tick, fault: StepFault::OutOfGas };
    let mut runtime = strict(Sin::None, vec![FaultPlan::first(2, tick, StepFault::OutOfGas)]);
    let (batch, mut output) = (batch_at(Tick::ZERO, &ALL), Output::default());
    for _ in 0..2 {
        assert_eq!(runtime.advance(&batch, &mut output), Err(error.clone()));
        assert_eq!((runtime.tick(), &output), (Tick::ZERO, &Output::default()));
    }
    assert_eq!(runtime.advance(&batch, &mut output), Ok(()));
    assert_eq!(runtime.probe().counters().injected_faults, 2);
    runtime.probe().assert_clean();

    let seat = Seat::new(0).expect("valid");
    let plan = FaultPlan::on_input(tick, seat, pack_tally(3), StepFault::OutOfGas);
    let mut runtime = strict(Sin::None, vec![plan]);
    assert_eq!(runtime.advance(&batch, &mut output), Err(error));
    let other = ALL.map(|(keep, _)| (keep, 5));
    assert_eq!(runtime.advance(&batch_at(Tick::ZERO, &other), &mut output), Ok(()));
}

#[test]
fn the_factory_hands_out_a_probe_for_each_runtime() {
    let factory = StrictFactory::new(Arc::new(tally_factory()));
    let descriptor = tally_descriptor(&factory, 1, 1);
    let mut made = [factory.create(&descriptor), factory.clone().create(&descriptor)].map(|made| made.expect("made"));
    made[1].keep(Keep::CHECKPOINT, &mut Output::default()).expect("S(0) is kept");
    let alive: Vec<_> = factory.probes().iter().map(|probe| probe.counters().checkpoints_alive).collect();
    assert_eq!(alive, [0, 1]);
}
