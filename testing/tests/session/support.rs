//! A session of TALLY by hand: its frames, its events, and the offline fold that it must agree with.

use std::sync::Arc;

use retick_core::digest::Checksum;
use retick_core::frame::{Frame, SeatFrame};
use retick_core::identity::MatchDescriptor;
use retick_core::runtime::{Keep, Output, RuntimeFactory, StepBatch};
use retick_core::seat::{ControlEpoch, Generation, Presence, Seat, SeatSet};
use retick_core::session::{Budget, Progress, Recording, Session, SessionEvent, SessionFault, SessionPolicy};
use retick_core::tick::Tick;
use retick_testing::fixtures::{TallyView, pack_tally, tally_descriptor, tally_factory};
use retick_testing::strict::{FaultPlan, StrictFactory, StrictProbe};

pub fn seat(number: u8) -> Seat {
    Seat::new(number).expect("valid")
}

pub fn descriptor() -> MatchDescriptor {
    tally_descriptor(&tally_factory(), 2, 1)
}

/// A frame of two human seats.
pub fn frame(tick: u64, inputs: [i32; 2], substituted: [bool; 2]) -> Frame {
    let mut frame = Frame::new(Generation(0), Tick::new(tick));
    for (value, substituted) in inputs.into_iter().zip(substituted) {
        let input = pack_tally(value);
        let (presence, epoch) = (Presence::Human, ControlEpoch(0));
        frame.push_seat(SeatFrame { input: Some(&input), substituted, presence, epoch });
    }
    frame
}

/// The checksums of `S(0)` and of every state after it, by a runtime that only ever steps forward.
pub fn fold(frames: &[Frame]) -> Vec<Checksum> {
    let factory = tally_factory();
    let mut runtime = factory.create(&descriptor()).expect("a match of TALLY");
    let (mut batch, mut output) = (StepBatch::default(), Output::default());
    runtime.keep(Keep::CHECKSUM, &mut output).expect("TALLY is captured");
    batch.reset(Tick::ZERO);
    frames.iter().for_each(|frame| batch.push_frame(frame, factory.manifest().input_schema(), Keep::CHECKSUM));
    runtime.advance(&batch, &mut output).expect("TALLY does not fault");
    output.kept.iter().filter_map(|kept| kept.checksum).collect()
}

/// A session whose seat 0 is local, and everything that came out of it.
pub struct Table {
    pub session: Session,
    pub probe: StrictProbe,
    pub confirmed: Vec<Frame>,
    pub checksums: Vec<(u64, Checksum)>,
    pub rollbacks: Vec<(u64, u64)>,
}

impl Table {
    pub fn new(policy: SessionPolicy) -> Table {
        Table::with_faults(policy, vec![])
    }

    pub fn with_faults(policy: SessionPolicy, faults: Vec<FaultPlan>) -> Table {
        let factory = StrictFactory::new(Arc::new(tally_factory()));
        let factory = faults.into_iter().fold(factory, StrictFactory::with_fault);
        let runtime = factory.create(&descriptor()).expect("a match of TALLY");
        let policy = SessionPolicy { recording: Recording::Frames, ..policy };
        let local: SeatSet = [seat(0)].into_iter().collect();
        let session = Session::new(runtime, &descriptor(), policy, local).expect("a valid policy");
        let probe = factory.probes().remove(0);
        Table { session, probe, confirmed: vec![], checksums: vec![], rollbacks: vec![] }
    }

    /// Submits the local inputs before `end` that the session wants.
    pub fn submit_before(&mut self, end: u64, input: impl Fn(u64) -> i32) {
        self.session.skip_inputs_before(seat(0), self.session.received());
        while self.session.next_input(seat(0)) < Tick::new(end) {
            let tick = self.session.next_input(seat(0));
            self.session.submit(seat(0), tick, &pack_tally(input(tick.index()))).expect("the next tick");
        }
    }

    /// One turn without a bound on confirmed frames.
    pub fn advance(&mut self, target: u64) -> Result<Progress, SessionFault> {
        self.advance_within(usize::MAX, target)
    }

    pub fn advance_within(&mut self, confirmed_frames: usize, target: u64) -> Result<Progress, SessionFault> {
        let progress = self.session.advance(Budget { confirmed_frames, target: Tick::new(target) });
        while let Some(event) = self.session.poll_event() {
            match event {
                SessionEvent::Confirmed(frame) => self.confirmed.push(*frame),
                SessionEvent::Checksum { tick, checksum } => self.checksums.push((tick.index(), checksum)),
                SessionEvent::RolledBack { from, to } => self.rollbacks.push((from.index(), to.index())),
            }
        }
        progress
    }

    /// The checksum of the present.
    pub fn head_checksum(&mut self) -> Checksum {
        self.session.head_checksum().expect("TALLY is captured")
    }

    /// The projections of the present and of the tick before.
    pub fn shown(&self) -> (TallyView, TallyView) {
        let (current, previous) = self.session.projections();
        let read = |bytes| TallyView::read(bytes).expect("TALLY projects");
        (read(current), read(previous))
    }
}

/// Asserts that what a session confirmed is the fold of these frames, report by report.
pub fn assert_reports(checksums: &[(u64, Checksum)], frames: &[Frame], cadence: usize) {
    let folded = fold(frames);
    let due: Vec<_> = (0..frames.len()).step_by(cadence).map(|tick| (tick as u64 + 1, folded[tick + 1])).collect();
    assert_eq!(checksums, due);
}
