//! What a step sees (K8) and what is guessed for it (S4), told by a game that remembers both.

use retick_core::config::{ConfigSchema, SessionConfig};
use retick_core::frame::{Frame, SeatFrame};
use retick_core::identity::MatchDescriptor;
use retick_core::input::{FieldPolicy, GameInput, InputSchema, Packer, Unpacker};
use retick_core::replay::Replay;
use retick_core::rng::SessionSeed;
use retick_core::runtime::{
    Capabilities, GameDescription, InitContext, NativeFactory, NoCommand, RuntimeFactory, Simulation, StepContext,
};
use retick_core::seat::{ControlEpoch, Generation, Presence, Seat, SeatCount};
use retick_core::session::{Budget, InputRetention, Recording, RemotePrediction, Session, SessionEvent, SessionPolicy};
use retick_core::tick::{Tick, TickRate};
use serde::{Deserialize, Serialize};

/// A held control, one that must not act for an absent player, and a pulse.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
struct Controls {
    hold: u8,
    steer: u8,
    fire: bool,
}

impl GameInput for Controls {
    fn schema() -> InputSchema {
        let builder = InputSchema::builder("controls/v1").integer("hold", 0..=15).integer("steer", 0..=7);
        builder.policy(FieldPolicy::Neutral).boolean("fire").policy(FieldPolicy::Once).build().unwrap()
    }
    fn pack(&self, packer: &mut Packer<'_>) {
        packer.integer(self.hold.into());
        packer.integer(self.steer.into());
        packer.boolean(self.fire);
    }
    fn unpack(unpacker: &mut Unpacker<'_>) -> Self {
        let [hold, steer] = [0; 2].map(|_| u8::try_from(unpacker.integer()).unwrap_or(0));
        Controls { hold, steer, fire: unpacker.boolean() }
    }
}

const NEUTRAL: Controls = Controls { hold: 0, steer: 0, fire: false };

/// What a step saw of a seat.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
struct Sight {
    input: Controls,
    substituted: bool,
    malformed: bool,
    presence: Presence,
    epoch: u32,
}

/// Every step's tick, rate and seats.
#[derive(Clone, Default, PartialEq, Eq, Debug, Serialize, Deserialize)]
struct Witness(Vec<(u64, u32, Vec<Sight>)>);

impl Simulation for Witness {
    type Input = Controls;
    type Command = NoCommand;

    fn describe() -> GameDescription {
        GameDescription {
            tick_rate: TickRate::Hz30,
            state_schema: "witness/v1",
            config_schema: ConfigSchema::empty(),
            seats: 2..=2,
            capabilities: Capabilities { commands: false, projection: true },
        }
    }
    fn init(_: &InitContext<'_>) -> Result<Self, u32> {
        Ok(Witness::default())
    }
    fn step(&mut self, context: &StepContext<'_, Self>) {
        let sight = |seat| Sight {
            input: context.input(seat),
            substituted: context.substituted(seat),
            malformed: context.malformed(seat),
            presence: context.presence(seat),
            epoch: context.epoch(seat).0,
        };
        self.0.push((context.tick().index(), context.tick_rate().hz(), context.seats().map(sight).collect()));
    }
    fn project(&self, out: &mut Vec<u8>) {
        out.extend(retick_core::codec::canonical::encode(self).unwrap());
    }
}

fn factory() -> NativeFactory<Witness> {
    NativeFactory::new(|sources| sources.module("witness.rs", include_bytes!("witness.rs"))).unwrap()
}

fn session(local: &[u8], policy: SessionPolicy) -> Session {
    let (config, seats) = (SessionConfig::empty(), SeatCount::new(2).unwrap());
    let descriptor = MatchDescriptor::new(factory().manifest(), config, SessionSeed::from_u64(1), seats);
    let local = local.iter().map(|seat| Seat::new(*seat).unwrap()).collect();
    Session::new(factory().create(&descriptor).unwrap(), &descriptor, policy, local).unwrap()
}

fn packed(input: Controls) -> Vec<u8> {
    Controls::schema().pack(&input).unwrap()
}

fn confirm(session: &mut Session, inputs: [Controls; 2]) {
    let mut frame = Frame::new(Generation(0), session.received());
    for packed in inputs.map(packed) {
        frame.push_seat(SeatFrame { input: Some(&packed), presence: Presence::Human, ..SeatFrame::default() });
    }
    session.confirm(&frame).unwrap();
}

fn to(target: u64) -> Budget {
    Budget { confirmed_frames: usize::MAX, target: Tick::new(target) }
}

fn seen(session: &Session) -> Witness {
    retick_core::codec::canonical::decode(session.projections().0).unwrap()
}

fn inputs_seen(session: &Session, seat: usize) -> Vec<Controls> {
    seen(session).0.iter().map(|(_, _, seats)| seats[seat].input).collect()
}

/// K8: tick and rate, and of each seat its input, the two flags, its presence and its epoch, as the frame says.
#[test]
fn k8_a_step_sees_what_the_frame_says_of_each_seat() {
    let mut session = session(&[], SessionPolicy::default());
    let held = Controls { hold: 9, steer: 5, fire: true };
    let mut frame = Frame::new(Generation(0), Tick::ZERO);
    let [substituted, malformed] = [packed(held), vec![0xFF; 7]];
    frame.push_seat(SeatFrame {
        input: Some(&substituted),
        substituted: true,
        presence: Presence::Human,
        epoch: ControlEpoch(3),
    });
    frame.push_seat(SeatFrame {
        input: Some(&malformed),
        substituted: false,
        presence: Presence::Disconnected,
        epoch: ControlEpoch(4),
    });
    session.confirm(&frame).unwrap();
    session.advance(to(0)).unwrap();
    let [first, second] = [
        Sight {
            input: Controls { hold: 9, ..NEUTRAL },
            substituted: true,
            malformed: false,
            presence: Presence::Human,
            epoch: 3,
        },
        Sight { input: NEUTRAL, substituted: false, malformed: true, presence: Presence::Disconnected, epoch: 4 },
    ];
    assert_eq!(seen(&session).0, [(0, 30, vec![first, second])]);
}

/// K8: a step sees nothing of prediction or of who is local: a machine that guessed right never steps again, and has seen what
/// one has that waited.
#[test]
fn k8_a_step_does_not_see_whether_it_is_predicted_or_local() {
    let inputs = [Controls { hold: 3, ..NEUTRAL }, NEUTRAL];
    let mut player = session(&[0], SessionPolicy::default());
    for tick in 0..4 {
        player.submit(Seat::new(0).unwrap(), Tick::new(tick), &packed(inputs[0])).unwrap();
    }
    player.advance(to(4)).unwrap();
    let mut watcher = session(&[], SessionPolicy::default());
    (0..4).for_each(|_| [&mut player, &mut watcher].into_iter().for_each(|session| confirm(session, inputs)));
    assert_eq!(player.advance(to(4)).map(|progress| progress.steps), Ok(0), "guard: every guess was right");
    watcher.advance(to(0)).unwrap();
    assert_eq!(seen(&player), seen(&watcher));
    assert_eq!(player.head_checksum(), watcher.head_checksum());
}

/// S4: the last confirmed input is repeated as far as each field's policy lets it, or nothing is.
#[test]
fn s4_a_guess_repeats_what_the_policies_keep_or_is_neutral() {
    let given = Controls { hold: 9, steer: 5, fire: true };
    let kept = Controls { hold: 9, ..NEUTRAL };
    for (remote_prediction, guessed) in [(RemotePrediction::RepeatLast, kept), (RemotePrediction::Neutral, NEUTRAL)] {
        let mut session = session(&[], SessionPolicy { remote_prediction, ..SessionPolicy::default() });
        confirm(&mut session, [NEUTRAL, given]);
        session.advance(to(4)).unwrap();
        assert_eq!(inputs_seen(&session, 1), [given, guessed, guessed, guessed], "{remote_prediction:?}");
        // The next frame says otherwise, and what follows it is guessed anew.
        confirm(&mut session, [NEUTRAL, Controls { hold: 2, ..given }]);
        session.advance(to(4)).unwrap();
        let guessed = Controls { hold: if guessed == NEUTRAL { 0 } else { 2 }, ..NEUTRAL };
        assert_eq!(inputs_seen(&session, 1), [given, Controls { hold: 2, ..given }, guessed, guessed]);
    }
}

/// S4: what was guessed comes out nowhere: not as a frame, not in a replay, not as a checksum.
#[test]
fn s4_no_guess_reaches_a_recorder_a_replay_or_a_report() {
    let policy = SessionPolicy {
        recording: Recording::Frames,
        input_retention: InputRetention::All,
        checksum_cadence_ticks: 1,
        ..SessionPolicy::default()
    };
    let mut session = session(&[], policy);
    let pulses = |tick: u8| [NEUTRAL, Controls { hold: tick, ..NEUTRAL }];
    let (mut frames, mut reported) = (vec![], vec![]);
    for tick in 0..6 {
        confirm(&mut session, pulses(tick));
        session.advance(to(u64::from(tick) + 5)).unwrap();
        assert!(session.head() > session.confirmed(), "guard: there are guesses");
        while let Some(event) = session.poll_event() {
            match event {
                SessionEvent::Confirmed(frame) => frames.push(*frame),
                SessionEvent::Checksum { tick, .. } => reported.push(tick.index()),
                SessionEvent::RolledBack { .. } => {}
            }
        }
    }
    let held = |frames: &[Frame]| -> Vec<Vec<u8>> {
        frames.iter().map(|frame| frame.input(Seat::new(1).unwrap()).unwrap().to_vec()).collect()
    };
    let expected: Vec<_> = (0..6).map(|tick| packed(pulses(tick)[1])).collect();
    assert_eq!(held(&frames), expected);
    assert_eq!(reported, (1..=6).collect::<Vec<_>>());
    let replay = Replay::parse(&session.export_replay().unwrap()).unwrap();
    assert_eq!(held(&replay.frames().collect::<Vec<_>>()), expected);
}
