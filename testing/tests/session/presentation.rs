//! K10: what a real session tells of its game's events when a tick faults, when it catches up and when it hydrates.

use std::sync::Arc;
use std::time::Duration;

use retick_core::event::{EventKey, EventLife, PresentationEvent};
use retick_core::frame::{Frame, SeatFrame};
use retick_core::runtime::{RuntimeFactory, StepFault};
use retick_core::seat::{ControlEpoch, Generation, Presence};
use retick_core::session::{
    Budget, CatchUpEvents, DEFAULT_CATCH_UP_AFTER_TICKS, Held, HeldInputs, LocalConfig, LocalSession,
    PresentationPolicy, RemotePrediction, Session, SessionFault, SessionPolicy,
};
use retick_core::tick::Tick;
use retick_testing::fixtures::{BEEPING_INPUT, beep_key, beeper_factory, pack_tally, tally_descriptor};
use retick_testing::strict::{FaultPlan, StrictFactory, StrictProbe};

use crate::support::seat;

use EventLife::{Canceled, Confirmed, Predicted};

/// A beeping session whose seat 0 is local and silent; seat 1 is guessed to go on as it did.
struct Room {
    session: Session,
    probe: StrictProbe,
}

fn beep(tick: u64) -> EventKey {
    beep_key(seat(1), Tick::new(tick))
}

/// The frame of a tick in which seat 1 beeps, or is silent.
fn frame(tick: u64, beeps: impl Fn(u64) -> bool) -> Frame {
    let mut frame = Frame::new(Generation(0), Tick::new(tick));
    for value in [0, if beeps(tick) { BEEPING_INPUT } else { 0 }] {
        let (input, presence, epoch) = (pack_tally(value), Presence::Human, ControlEpoch(0));
        frame.push_seat(SeatFrame { input: Some(&input), substituted: false, presence, epoch });
    }
    frame
}

impl Room {
    fn new(presentation: PresentationPolicy, faults: Vec<FaultPlan>) -> Room {
        let factory = StrictFactory::new(Arc::new(beeper_factory()));
        let factory = faults.into_iter().fold(factory, StrictFactory::with_fault);
        let descriptor = tally_descriptor(&beeper_factory(), 2, 1);
        let runtime = factory.create(&descriptor).expect("a match of TALLY");
        let remote_prediction = RemotePrediction::RepeatLast;
        let policy =
            SessionPolicy { checksum_cadence_ticks: 1, remote_prediction, presentation, ..SessionPolicy::default() };
        let local = [seat(0)].into_iter().collect();
        let session = Session::new(runtime, &descriptor, policy, local).expect("a valid policy");
        let probe = factory.probes().remove(0);
        Room { session, probe }
    }

    fn confirm(&mut self, ticks: std::ops::Range<u64>, beeps: impl Fn(u64) -> bool) {
        ticks.for_each(|tick| self.session.confirm(&frame(tick, &beeps)).expect("the next frame"));
    }

    /// One turn up to `target`, and what came out of it.
    fn turn(&mut self, target: u64) -> (Vec<(EventLife, EventKey)>, Option<Held>, Option<SessionFault>) {
        self.session.skip_inputs_before(seat(0), self.session.received());
        while self.session.next_input(seat(0)) < Tick::new(target) {
            let tick = self.session.next_input(seat(0));
            self.session.submit(seat(0), tick, &pack_tally(0)).expect("the next tick");
        }
        let turn = self.session.advance(Budget { confirmed_frames: usize::MAX, target: Tick::new(target) });
        let mut told = vec![];
        while let Some(PresentationEvent { life, key, .. }) = self.session.poll_presentation_event() {
            told.push((life, key));
        }
        (told, turn.as_ref().ok().and_then(|turn| turn.held), turn.err())
    }
}

/// Seat 1 is silent in ticks 0 and 1 and beeps from 2 on.
fn from_two(tick: u64) -> bool {
    tick >= 2
}

#[test]
fn w5_a_tick_that_faults_as_predicted_takes_back_what_it_told() {
    // Tick 5 faults when it is predicted with a beep, until a frame says otherwise.
    let fault = StepFault::OutOfGas;
    let plan = FaultPlan::on_input(Tick::new(5), seat(1), pack_tally(BEEPING_INPUT), fault);
    let mut room = Room::new(PresentationPolicy::default(), vec![plan]);
    assert_eq!(room.turn(8), (vec![], None, None));
    room.confirm(0..4, from_two);
    let (told, held, ended) = room.turn(8);
    assert_eq!(held, Some(Held::PredictedFault { tick: Tick::new(5), fault }), "guard");
    assert_eq!((told, ended), (vec![(Confirmed, beep(2)), (Confirmed, beep(3)), (Predicted, beep(4))], None));
    // Tick 4 was silent, and so is the guess for all that follow it.
    room.confirm(4..5, |_| false);
    assert_eq!(room.turn(8).0, [(Canceled, beep(4))]);
    assert_eq!(room.turn(8), (vec![], None, None), "it plays on");
    room.probe.assert_clean();
}

#[test]
fn w5_a_machine_that_fails_confirms_what_was_confirmed_and_takes_back_the_rest() {
    let plan = FaultPlan::first(2, Tick::new(5), StepFault::Host);
    let mut room = Room::new(PresentationPolicy::default(), vec![plan]);
    room.confirm(0..3, from_two);
    // The first strike is in the present, which was predicted.
    let (told, _, ended) = room.turn(5);
    assert_eq!((told, ended), (vec![(Confirmed, beep(2)), (Predicted, beep(3)), (Predicted, beep(4))], None));
    // Tick 3 was guessed right, and tick 4 was not; nothing after it can be played any more.
    room.confirm(3..6, |tick| tick == 3);
    let (told, _, ended) = room.turn(8);
    assert_eq!(ended, Some(SessionFault::Runtime { tick: Tick::new(5), fault: StepFault::Host }), "guard");
    assert_eq!(told, [(Confirmed, beep(3)), (Canceled, beep(4))]);
}

#[test]
fn k10_a_long_catch_up_is_silent_and_counted_and_a_hydration_takes_back_what_was_predicted() {
    let late = u64::from(DEFAULT_CATCH_UP_AFTER_TICKS) + 10;
    let mut donor = Room::new(PresentationPolicy { catch_up: CatchUpEvents::Deliver, ..Default::default() }, vec![]);
    donor.confirm(0..late, from_two);
    let (told, ..) = donor.turn(0);
    assert_eq!(told, (2..late).map(|tick| (Confirmed, beep(tick))).collect::<Vec<_>>());

    let mut joiner = Room::new(PresentationPolicy::default(), vec![]);
    joiner.confirm(0..late, from_two);
    let (told, ..) = joiner.turn(late + 2);
    // What is predicted is of the present, and is heard.
    assert_eq!(told, [(Predicted, beep(late)), (Predicted, beep(late + 1))]);
    assert_eq!((joiner.session.dropped_events().catch_up, donor.session.dropped_events().catch_up), (late - 2, 0));

    let snapshot = donor.session.export_snapshot(Tick::new(late)).expect("kept");
    joiner.session.hydrate(&snapshot).expect("a snapshot of this match");
    let mut told = vec![];
    while let Some(PresentationEvent { life, key, .. }) = joiner.session.poll_presentation_event() {
        told.push((life, key));
    }
    assert_eq!(told, [(Canceled, beep(late)), (Canceled, beep(late + 1))]);
    joiner.confirm(late..late + 2, from_two);
    assert_eq!(joiner.turn(0).0, [(Confirmed, beep(late)), (Confirmed, beep(late + 1))]);
    joiner.probe.assert_clean();
}

/// Offline nothing is guessed: each event comes out once, confirmed, in order.
#[test]
fn k10_local_play_tells_each_event_once() {
    let descriptor = tally_descriptor(&beeper_factory(), 2, 1);
    let runtime = beeper_factory().create(&descriptor).expect("a match of TALLY");
    let local_seats = [seat(0), seat(1)].into_iter().collect();
    let config = LocalConfig { local_seats, ..LocalConfig::default() };
    let mut session = LocalSession::new(runtime, &descriptor, config).expect("a valid config");
    let mut told = vec![];
    for beeps in [false, true, false, true] {
        let input = pack_tally(if beeps { BEEPING_INPUT } else { 0 });
        session.set_input(seat(1), &input).expect("a local seat");
        session.update(Duration::from_micros(16_667), &mut HeldInputs).expect("plays");
        while let Some(event) = session.poll_presentation_event() {
            told.push((event.life, event.key));
        }
    }
    let played = session.tick().index();
    assert!(played >= 3, "{played} ticks");
    let expected: Vec<_> = (0..played).filter(|tick| tick % 2 == 1).map(|tick| (Confirmed, beep(tick))).collect();
    assert_eq!(told, expected);
    assert_eq!(session.dropped_events(), session.session().dropped_events());
}
