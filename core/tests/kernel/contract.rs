//! S3, K2: a runtime that breaks its contract ends its session by name, and nothing of that turn is taken.

use std::iter;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use retick_core::codec::canonical::{EncodeError, EncodeReason};
use retick_core::digest::Checksum;
use retick_core::frame::{Frame, SeatFrame};
use retick_core::identity::IdentityManifest;
use retick_core::runtime::{
    AdvanceError, Capabilities, Checkpoint, CheckpointError, HydrateError, Keep, Output, Runtime, StepBatch, StepFault,
};
use retick_core::seat::{Generation, Presence, Seat};
use retick_core::session::{Budget, Progress, Session, SessionEvent, SessionFault, SessionPolicy};
use retick_core::tick::Tick;

use crate::counter::{descriptor, frame, runtime};

/// What a broken runtime does, once it is told to break.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Breach {
    /// It refuses to restore a checkpoint that it gave and nobody released.
    Restore,
    /// It fails to keep the current state.
    Keep,
    /// It refuses a batch that begins at its tick.
    Advance,
    /// It faults in the second step of a batch, and refuses the batch of the first alone.
    AdvanceAgain,
    /// It faults in the second step of a batch, and fails to keep the state before it.
    KeepBeforeFault,
    /// It says that no state has a canonical form, and then fails to export one.
    Export,
}

struct Broken {
    inner: Box<dyn Runtime>,
    breach: Breach,
    told: Arc<AtomicBool>,
    faulted: bool,
}

impl Broken {
    fn breaks(&self, breaches: &[Breach]) -> bool {
        self.told.load(Ordering::Relaxed) && breaches.contains(&self.breach)
    }
}

impl Runtime for Broken {
    fn descriptor_digest(&self) -> retick_core::digest::Digest {
        self.inner.descriptor_digest()
    }

    fn manifest(&self) -> &IdentityManifest {
        self.inner.manifest()
    }

    fn capabilities(&self) -> Capabilities {
        self.inner.capabilities()
    }

    fn tick(&self) -> Tick {
        self.inner.tick()
    }

    fn advance(&mut self, batch: &StepBatch, output: &mut Output) -> Result<(), AdvanceError> {
        let second = batch.first().saturating_add(1);
        let refused = AdvanceError::NotCurrent { first: batch.first(), current: second };
        if self.breaks(&[Breach::AdvanceAgain, Breach::KeepBeforeFault]) && batch.len() > 1 {
            self.faulted = true;
            return Err(AdvanceError::Fault { tick: second, fault: StepFault::OutOfGas });
        }
        if self.breaks(&[Breach::Advance, Breach::AdvanceAgain]) {
            return Err(refused);
        }
        if self.breaks(&[Breach::Export]) && batch.steps().any(|step| step.keep().contains(Keep::CHECKSUM)) {
            let error = EncodeError { path: "sum".into(), reason: EncodeReason::Custom("none".into()) };
            return Err(AdvanceError::Capture { tick: second, error });
        }
        self.inner.advance(batch, output)
    }

    fn keep(&mut self, keep: Keep, output: &mut Output) -> Result<(), AdvanceError> {
        if self.breaks(&[Breach::Keep]) || self.faulted && self.breaks(&[Breach::KeepBeforeFault]) {
            return Err(AdvanceError::Fault { tick: self.tick(), fault: StepFault::Host });
        }
        self.inner.keep(keep, output)
    }

    fn restore(&mut self, checkpoint: Checkpoint) -> Result<(), CheckpointError> {
        if self.breaks(&[Breach::Restore]) {
            return Err(CheckpointError::Stale { tick: checkpoint.tick() });
        }
        self.inner.restore(checkpoint)
    }

    fn release(&mut self, checkpoint: Checkpoint) -> Result<(), CheckpointError> {
        self.inner.release(checkpoint)
    }

    fn export(
        &mut self,
        checkpoint: Checkpoint,
        offset: u64,
        max_bytes: usize,
        out: &mut Vec<u8>,
    ) -> Result<u64, CheckpointError> {
        if self.breaks(&[Breach::Export]) {
            return Err(CheckpointError::Host { tick: checkpoint.tick() });
        }
        self.inner.export(checkpoint, offset, max_bytes, out)
    }

    fn hydrate(&mut self, tick: Tick, canonical_state: &[u8]) -> Result<(), HydrateError> {
        self.inner.hydrate(tick, canonical_state)
    }
}

/// A session whose seat 0 is local, and that has predicted two ticks after one that is confirmed.
struct Table {
    session: Session,
    told: Arc<AtomicBool>,
}

impl Table {
    fn new(breach: Breach) -> Table {
        let told = Arc::new(AtomicBool::new(false));
        let broken = Broken { inner: runtime(2), breach, told: told.clone(), faulted: false };
        let policy = SessionPolicy { checksum_cadence_ticks: 1, ..SessionPolicy::default() };
        let local = Seat::new(0).into_iter().collect();
        let session = Session::new(Box::new(broken), &descriptor(2), policy, local).unwrap();
        let mut table = Table { session, told };
        (0..8).for_each(|tick| table.submit(tick));
        table.session.confirm(&frame(0)).unwrap();
        let progress = table.advance(3).unwrap();
        assert_eq!((progress.confirmed_frames, progress.predicted), (1, 2));
        while table.session.poll_event().is_some() {}
        table
    }

    fn submit(&mut self, tick: u64) {
        let (seat, frame) = (Seat::new(0).unwrap(), frame(tick));
        self.session.submit(seat, Tick::new(tick), frame.input(seat).unwrap()).unwrap();
    }

    /// Confirms this tick as it was predicted, with the other seat's last input, or otherwise.
    fn confirm(&mut self, tick: u64, prediction: Prediction) {
        let [mine, other] = [0, 1].map(|number| Seat::new(number).unwrap());
        let (played, last) = (frame(tick), frame(0));
        let theirs = if prediction == Prediction::Right { &last } else { &played };
        let (presence, epoch) = (Presence::Human, last.seat(other).epoch);
        let mut confirmed = Frame::new(Generation(0), Tick::new(tick));
        for input in [played.input(mine), theirs.input(other)] {
            confirmed.push_seat(SeatFrame { input, substituted: false, presence, epoch });
        }
        self.session.confirm(&confirmed).unwrap();
    }

    fn advance(&mut self, target: u64) -> Result<Progress, SessionFault> {
        self.session.advance(Budget { confirmed_frames: usize::MAX, target: Tick::new(target) })
    }
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Prediction {
    Right,
    Wrong,
}

/// Breaks in a turn that confirms tick 1 and goes on to `target`, and ends with a breach at `tick`.
fn check(breach: Breach, confirms: Option<Prediction>, target: u64, tick: u64) {
    let what = format!("{breach:?} {confirms:?}");
    // The guard: the same turn on the same runtime, which is not told to break.
    let mut honest = Table::new(breach);
    confirms.into_iter().for_each(|prediction| honest.confirm(1, prediction));
    assert!(honest.advance(target).is_ok(), "{what}");

    let mut table = Table::new(breach);
    confirms.into_iter().for_each(|prediction| table.confirm(1, prediction));
    table.told.store(true, Ordering::Relaxed);
    let fault = SessionFault::Contract { tick: Tick::new(tick) };
    for _ in 0..3 {
        assert_eq!(table.advance(target), Err(fault.clone()), "{what}");
        assert_eq!(table.session.fault(), Some(&fault), "{what}");
        assert_eq!(table.session.confirmed(), Tick::new(1), "{what}");
        assert_eq!(table.session.poll_event(), None, "{what}: no event of that turn");
    }
    // The confirmed state stays readable.
    table.told.store(false, Ordering::Relaxed);
    let snapshot = table.session.export_snapshot(Tick::new(1)).unwrap();
    assert_eq!(snapshot.checksum(), first_checksum(), "{what}");
}

/// The checksum of `S(1)` by a runtime that only steps.
fn first_checksum() -> Checksum {
    let (mut runtime, mut batch, mut output) = (runtime(2), StepBatch::default(), Output::default());
    batch.reset(Tick::ZERO);
    batch.push_frame(&frame(0), &runtime.manifest().input_schema().clone(), Keep::CHECKSUM);
    runtime.advance(&batch, &mut output).unwrap();
    output.kept[0].checksum.unwrap()
}

#[test]
fn s3_a_runtime_that_refuses_its_own_checkpoint_ends_the_session() {
    check(Breach::Restore, Some(Prediction::Wrong), 3, 1);
}

#[test]
fn k2_a_runtime_that_refuses_a_good_batch_ends_the_session() {
    check(Breach::Advance, None, 4, 3);
    check(Breach::Advance, Some(Prediction::Wrong), 3, 1);
}

#[test]
fn k2_a_runtime_that_can_t_keep_its_state_ends_the_session() {
    // The present is kept when the next step leaves it.
    check(Breach::Keep, None, 4, 3);
}

#[test]
fn w5_a_runtime_that_fails_beside_its_fault_ends_the_session() {
    check(Breach::AdvanceAgain, None, 5, 3);
    check(Breach::KeepBeforeFault, None, 5, 3);
}

/// A guess without a canonical form is exported once it proves right, and that must work.
#[test]
fn k13_a_runtime_that_can_t_export_a_confirmed_state_ends_the_session() {
    let mut table = Table::new(Breach::Export);
    table.told.store(true, Ordering::Relaxed);
    let progress = table.advance(5).unwrap();
    assert_eq!(progress.predicted, 2, "what has no form is shown all the same");
    let fault = SessionFault::Contract { tick: Tick::new(4) };
    let mut turns = (1..5).map(|tick| {
        table.confirm(tick, Prediction::Right);
        table.advance(0)
    });
    let ended = turns.find_map(Result::err).unwrap();
    assert_eq!((&ended, table.session.fault()), (&fault, Some(&fault)));
    let reported = iter::from_fn(|| table.session.poll_event()).filter_map(|event| match event {
        SessionEvent::Checksum { tick, .. } => Some(tick.index()),
        _ => None,
    });
    assert_eq!(reported.collect::<Vec<_>>(), [2, 3], "nothing is reported of the state that can't be read");
}
