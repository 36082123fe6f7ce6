//! A session at the edges of a turn: states without a form, a panic, an older snapshot, nobody who polls.
//!
//! Each test is of a fault that was there once.

use std::panic::{AssertUnwindSafe, catch_unwind};

use retick_core::config::{ConfigSchema, SessionConfig};
use retick_core::event::{EventId, EventLife};
use retick_core::frame::{Frame, SeatFrame};
use retick_core::identity::MatchDescriptor;
use retick_core::input::{GameInput, InputSchema, Packer, Unpacker};
use retick_core::rng::SessionSeed;
use retick_core::runtime::{
    AdvanceError, Capabilities, GameDescription, InitContext, NativeFactory, NoCommand, RuntimeFactory, Simulation,
    StepContext,
};
use retick_core::seat::{Generation, Presence, Seat, SeatCount};
use retick_core::session::{
    Budget, Held, InputRetention, MAX_WAITING_EVENTS, Retention, Session, SessionFault, SessionPolicy,
};
use retick_core::snapshot::SnapshotError;
use retick_core::tick::{Tick, TickRate};
use serde::{Deserialize, Serialize, Serializer};

/// After this input the state has no form until the next step.
const FORMLESS: i64 = 99;
/// This input panics.
const PANICS: i64 = 98;
/// This input makes the state large, and nothing packs it.
const SWELLS: i64 = 97;
/// This input emits an event.
const EMITS: i64 = 50;

#[derive(Clone, Serialize, Deserialize)]
struct Edgy {
    ticks: u8,
    mix: u64,
    #[serde(serialize_with = "whole")]
    broken: bool,
    noise: Vec<u64>,
}

fn whole<S: Serializer>(broken: &bool, serializer: S) -> Result<S::Ok, S::Error> {
    if *broken { Err(serde::ser::Error::custom("broken")) } else { serializer.serialize_bool(false) }
}

#[derive(Clone)]
struct Value(i64);

impl GameInput for Value {
    fn schema() -> InputSchema {
        InputSchema::builder("value/v1").integer("value", 0..=100).build().unwrap()
    }
    fn pack(&self, packer: &mut Packer<'_>) {
        packer.integer(self.0);
    }
    fn unpack(unpacker: &mut Unpacker<'_>) -> Self {
        Value(unpacker.integer())
    }
}

impl Simulation for Edgy {
    type Input = Value;
    type Command = NoCommand;

    fn describe() -> GameDescription {
        GameDescription {
            tick_rate: TickRate::Hz60,
            state_schema: "edgy/v1",
            config_schema: ConfigSchema::empty(),
            seats: 1..=1,
            capabilities: Capabilities { commands: false, projection: true },
        }
    }
    fn init(_: &InitContext<'_>) -> Result<Self, u32> {
        Ok(Edgy { ticks: 0, mix: 1, broken: false, noise: vec![] })
    }
    fn step(&mut self, context: &StepContext<'_, Self>) {
        for (_, Value(value)) in context.inputs() {
            (self.ticks, self.broken) = (self.ticks.wrapping_add(1), value == FORMLESS);
            self.mix = self.mix.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(value.unsigned_abs() + 1);
            assert_ne!(value, PANICS, "the game panics");
            if value == SWELLS {
                let next = |mix: &u64| Some(mix.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1) ^ (mix >> 33));
                self.noise = std::iter::successors(Some(self.mix), next).take(700_000).collect();
            }
            if value == EMITS {
                context.emit(EventId { module: 1, source: 1, event: 1 }, b"x");
            }
        }
    }
    /// As many bytes as ticks were stepped: none for `S(0)`.
    fn project(&self, out: &mut Vec<u8>) {
        out.extend(0..self.ticks);
    }
}

fn session(policy: SessionPolicy) -> Session {
    let factory = NativeFactory::<Edgy>::new(|sources| sources.module("edges.rs", include_bytes!("edges.rs"))).unwrap();
    let (config, seats) = (SessionConfig::empty(), SeatCount::new(1).unwrap());
    let descriptor = MatchDescriptor::new(factory.manifest(), config, SessionSeed::from_u64(9), seats);
    let local = [Seat::new(0).unwrap()].into_iter().collect();
    Session::new(factory.create(&descriptor).unwrap(), &descriptor, policy, local).unwrap()
}

fn with_cadence(checksum_cadence_ticks: u32) -> SessionPolicy {
    SessionPolicy { checksum_cadence_ticks, ..SessionPolicy::default() }
}

fn packed(value: i64) -> Vec<u8> {
    Value::schema().pack(&Value(value)).unwrap()
}

fn submit(session: &mut Session, values: &[i64]) {
    for value in values {
        let seat = Seat::new(0).unwrap();
        session.submit(seat, session.next_input(seat), &packed(*value)).unwrap();
    }
}

fn confirm(session: &mut Session, values: &[i64]) {
    for value in values {
        let mut frame = Frame::new(Generation(0), session.received());
        let presence = Presence::Human;
        frame.push_seat(SeatFrame { input: Some(&packed(*value)), presence, ..SeatFrame::default() });
        session.confirm(&frame).unwrap();
    }
}

fn to(target: u64) -> Budget {
    Budget { confirmed_frames: usize::MAX, target: Tick::new(target) }
}

/// K13: a state without a form that was only guessed, at the very head, is named when its guess proves right.
#[test]
fn k13_a_formless_head_is_named_once_it_is_confirmed() {
    let mut session = session(with_cadence(1));
    submit(&mut session, &[1, 2, FORMLESS]);
    assert_eq!(session.advance(to(3)).map(|progress| progress.predicted), Ok(3));
    confirm(&mut session, &[1, 2, FORMLESS]);
    let ended = session.advance(to(3));
    assert!(matches!(ended, Err(SessionFault::Capture(_))), "{ended:?}");
}

/// K13: the first confirmed state without a form is the one that is named, and a hydration forgets it.
#[test]
fn k13_the_first_formless_state_is_named_and_forgotten_by_a_hydration() {
    let mut session = session(with_cadence(1));
    let start = session.export_snapshot(Tick::ZERO).unwrap();
    submit(&mut session, &[1, FORMLESS]);
    session.advance(to(2)).unwrap();
    confirm(&mut session, &[1, FORMLESS, FORMLESS]);
    let ended = session.advance(to(2));
    let of_two = |error: &AdvanceError| matches!(error, AdvanceError::Capture { tick, .. } if tick.index() == 2);
    assert!(matches!(&ended, Err(SessionFault::Capture(error)) if of_two(error)), "{ended:?}");
    assert_eq!(session.confirmed(), Tick::new(2));
    session.hydrate(&start).unwrap();
    confirm(&mut session, &[1, 2]);
    assert_eq!(session.advance(to(0)).map(|progress| progress.confirmed_frames), Ok(2));
}

/// S5: whatever ends a session, its last confirmed state can be read.
#[test]
fn s5_the_last_confirmed_state_is_readable_after_a_capture_failed_behind_it() {
    let mut session = session(with_cadence(3));
    submit(&mut session, &[1, 1, 1]);
    session.advance(to(3)).unwrap();
    confirm(&mut session, &[1, 1, 1, FORMLESS]);
    let ended = session.advance(to(3));
    assert!(matches!(ended, Err(SessionFault::Capture(_))), "{ended:?}");
    assert_eq!((session.confirmed(), session.head()), (Tick::new(3), Tick::new(3)));
    assert!(session.checksum_at(Tick::new(3)).is_ok());
    assert!(session.export_snapshot(Tick::new(3)).is_ok());
}

/// K9: an empty projection is one like any other, also as the one before.
#[test]
fn k9_an_empty_projection_stays_the_previous_one() {
    let mut session = session(with_cadence(120));
    assert_eq!(session.projections(), (&[][..], &[][..]));
    confirm(&mut session, &[1]);
    session.advance(to(0)).unwrap();
    assert_eq!(session.projections(), (&[0][..], &[][..]));
}

/// K9: when a turn fails behind a rollback, what is shown is the state that the session went back to.
#[test]
fn k9_a_failed_turn_shows_no_guess_that_was_rolled_back() {
    let mut session = session(with_cadence(1));
    submit(&mut session, &[1, 1, 1, 1]);
    session.advance(to(4)).unwrap();
    assert_eq!(session.projections().0, [0, 1, 2, 3]);
    confirm(&mut session, &[2, FORMLESS]);
    assert!(session.advance(to(4)).is_err());
    assert_eq!(session.head(), Tick::ZERO);
    assert_eq!(session.projections().0, [0; 0]);
}

/// K2: a panic that somebody catches leaves a session that says so, and never plays on from what was half done.
#[test]
fn k2_a_session_through_which_a_panic_unwound_is_over() {
    let mut session = session(with_cadence(120));
    submit(&mut session, &[PANICS]);
    assert!(catch_unwind(AssertUnwindSafe(|| session.advance(to(1)))).is_err());
    confirm(&mut session, &[3, 4]);
    for _ in 0..2 {
        assert_eq!(session.advance(to(2)), Err(SessionFault::Unwound { tick: Tick::ZERO }));
    }
    assert_eq!((session.confirmed(), session.head()), (Tick::ZERO, Tick::ZERO));
}

/// K10: what came out confirmed does not come out again when an older state is hydrated and played on.
#[test]
fn k10_events_before_the_frontier_are_not_repeated_after_an_older_hydration() {
    let retained =
        SessionPolicy { input_retention: InputRetention::All, retention: Retention::Window, ..with_cadence(120) };
    let mut session = session(retained);
    confirm(&mut session, &[EMITS; 10]);
    session.advance(to(0)).unwrap();
    let snapshot = session.export_snapshot(Tick::new(5)).unwrap();
    let told = |session: &mut Session| {
        let mut told = vec![];
        while let Some(event) = session.poll_presentation_event() {
            told.push((event.life, event.key.tick.index()));
        }
        told
    };
    assert_eq!(told(&mut session), (0..10).map(|tick| (EventLife::Confirmed, tick)).collect::<Vec<_>>());
    session.hydrate_with_frames(&snapshot).unwrap();
    confirm(&mut session, &[EMITS; 2]);
    session.advance(to(0)).unwrap();
    assert_eq!(told(&mut session), [(EventLife::Confirmed, 10), (EventLife::Confirmed, 11)]);
    assert_eq!(session.dropped_events().repeated, 5);
}

/// S8: a state that no snapshot could carry is refused where it is exported.
#[test]
fn s8_a_state_that_nobody_could_read_is_not_exported() {
    let mut session = session(with_cadence(120));
    confirm(&mut session, &[1, SWELLS]);
    session.advance(to(0)).unwrap();
    let refused = session.export_snapshot(Tick::new(2)).err();
    assert!(matches!(refused, Some(SnapshotError::TooLarge { bytes, limit }) if bytes > limit), "{refused:?}");
    assert!(matches!(session.export_promotion().err(), Some(SnapshotError::TooLarge { .. })));
}

/// S1: a session that nobody polls applies no more frames, loses nothing, and says why it waits.
#[test]
fn s1_events_that_nobody_polls_hold_the_session() {
    let mut session = session(with_cadence(1));
    let mut waited = 0;
    while waited == 0 {
        confirm(&mut session, &[1]);
        let progress = session.advance(to(0)).unwrap();
        waited += u64::from(progress.held == Some(Held::EventsWaiting));
    }
    let frames = session.confirmed().index();
    assert!((MAX_WAITING_EVENTS as u64 - 2..=MAX_WAITING_EVENTS as u64).contains(&frames), "{frames} frames");
    assert_eq!(session.queued_frames(), 1);
    let polled = std::iter::from_fn(|| session.poll_event()).count() as u64;
    assert_eq!(polled, frames);
    assert_eq!(session.advance(to(0)).map(|progress| progress.confirmed_frames), Ok(1));
}
