//! K01: tick numbers cross a word boundary. The sessions begin at tick B by a snapshot, and a small authority in here orders their
//! inputs: a room begins at tick 0, so its own ticks are not covered.

use std::collections::BTreeMap;
use std::sync::Arc;

use retick_core::codec::wire::Cursor;
use retick_core::digest::Checksum;
use retick_core::frame::{Frame, SeatFrame};
use retick_core::identity::MatchDescriptor;
use retick_core::runtime::{AdvanceError, Keep, Output, RuntimeFactory, SeatStep, StepBatch};
use retick_core::seat::{ControlEpoch, Generation, Presence, Seat};
use retick_core::session::{
    Budget, DEFAULT_CHECKPOINT_WINDOW_TICKS, MAX_LOCAL_INPUTS_AHEAD, Recording, Session, SessionEvent, SessionPolicy,
};
use retick_core::snapshot::{LastInput, Snapshot};
use retick_core::tick::Tick;
use retick_testing::fixtures::{
    TallyView, pack_tally, tally_descriptor, tally_factory, tally_reference, tally_state, zig,
};
use retick_testing::strict::StrictFactory;

use crate::support::{seat, view};

const TICKS: u64 = 40;
const LATENCY: u64 = 3;
const WINDOW: u16 = 16;
const HARD_TOLERANCE: u64 = 20;

fn descriptor() -> MatchDescriptor {
    tally_descriptor(&tally_factory(), 2, 1)
}

/// A session of one seat, and what came out of it.
struct Player {
    seat: Seat,
    session: Session,
    probe: retick_testing::strict::StrictProbe,
    confirmed: Vec<Frame>,
    checksums: Vec<(Tick, Checksum)>,
    rollbacks: Vec<(Tick, Tick)>,
    shown: Vec<(Tick, Tick)>,
}

impl Player {
    fn at(base: Tick, number: u8) -> Player {
        let factory = StrictFactory::new(Arc::new(tally_factory()));
        let runtime = factory.create(&descriptor()).expect("a match of TALLY");
        let policy = SessionPolicy {
            prediction_window_ticks: WINDOW,
            checksum_cadence_ticks: 8,
            recording: Recording::Frames,
            ..SessionPolicy::default()
        };
        let local = [seat(number)].into_iter().collect();
        let mut session = Session::new(runtime, &descriptor(), policy, local).expect("a valid policy");
        let last = LastInput::new(&pack_tally(0), Presence::Human, ControlEpoch(0));
        let snapshot = Snapshot::new(&descriptor(), base, vec![last.clone(), last], &tally_state(base, 2));
        let snapshot = Snapshot::from_bytes(&snapshot.to_bytes()).expect("its own bytes");
        session.hydrate(&snapshot).expect("a snapshot of this match");
        let (probe, empty) = (factory.probes().remove(0), vec![]);
        let (confirmed, checksums, rollbacks) = (vec![], vec![], vec![]);
        Player { seat: seat(number), session, probe, confirmed, checksums, rollbacks, shown: empty }
    }

    /// Gives the inputs of every tick before `target`, and plays up to there. What was sampled comes back.
    fn turn(&mut self, base: Tick, target: Tick) -> Vec<(Tick, Vec<u8>)> {
        let mut sampled = vec![];
        while self.session.next_input(self.seat) < target {
            let tick = self.session.next_input(self.seat);
            let input = pack_tally(zig(self.seat, Tick::new(tick.since(base))));
            self.session.submit(self.seat, tick, &input).expect("the next tick");
            sampled.push((tick, input));
        }
        self.session.advance(Budget { confirmed_frames: usize::MAX, target }).expect("TALLY does not fault");
        self.shown.push((self.session.confirmed(), self.session.head()));
        while let Some(event) = self.session.poll_event() {
            match event {
                SessionEvent::Confirmed(frame) => self.confirmed.push(*frame),
                SessionEvent::Checksum { tick, checksum } => self.checksums.push((tick, checksum)),
                SessionEvent::RolledBack { from, to } => self.rollbacks.push((from, to)),
            }
        }
        sampled
    }
}

/// The frame of two inputs, as it arrives at the other end of the wire.
fn frame(tick: Tick, inputs: &[Vec<u8>; 2]) -> Frame {
    let mut frame = Frame::new(Generation(0), tick);
    for input in inputs {
        let (presence, epoch) = (Presence::Human, ControlEpoch(0));
        frame.push_seat(SeatFrame { input: Some(input), substituted: false, presence, epoch });
    }
    let (mut bytes, mut arrived) = (vec![], Frame::new(Generation(0), Tick::ZERO));
    frame.encode_full(&mut bytes);
    arrived.decode_full(&mut Cursor::new(&bytes), descriptor().seats()).expect("its own bytes");
    assert_eq!(arrived, frame);
    arrived
}

/// Plays 40 ticks from `base` on; C1's inputs of four ticks take two ticks longer.
fn play(base: Tick) -> [Player; 2] {
    let mut players = [0, 1].map(|number| Player::at(base, number));
    let (mut to_room, mut to_players) = (BTreeMap::<u64, Vec<(Seat, u64, Vec<u8>)>>::new(), BTreeMap::new());
    // The authority counts from its own start: what is under test are the sessions' ticks.
    let (mut inputs, mut frontier) = (BTreeMap::<u64, [Option<Vec<u8>>; 2]>::new(), 0);
    for at in 0..TICKS + 3 * LATENCY {
        for (seat, tick, input) in to_room.remove(&at).unwrap_or_default() {
            inputs.entry(tick).or_default()[seat.index()] = Some(input);
        }
        for frame in to_players.remove(&at).unwrap_or_else(Vec::new) {
            players.iter_mut().for_each(|player| player.session.confirm(&frame).expect("the next frame"));
        }
        while let (true, Some([Some(one), Some(other)])) = (frontier <= at, inputs.get(&frontier)) {
            let tick = base.checked_add(frontier).expect("a tick");
            to_players.entry(at + LATENCY).or_default().push(frame(tick, &[one.clone(), other.clone()]));
            frontier += 1;
        }
        assert!(at.saturating_sub(frontier) < HARD_TOLERANCE, "nothing is substituted");
        for player in &mut players {
            let target = base.checked_add((at + LATENCY + 1).min(TICKS)).expect("a tick");
            for (tick, input) in player.turn(base, target) {
                let tick = tick.index() - base.index();
                let slow = player.seat == seat(1) && (6..=9).contains(&tick);
                let due = at + LATENCY + if slow { 2 } else { 0 };
                to_room.entry(due).or_default().push((player.seat, tick, input));
            }
        }
    }
    players
}

fn check(base: u64) {
    let base = Tick::new(base);
    let mut players = play(base);
    let after = |ticks: u64| base.checked_add(ticks).expect("a tick");
    for player in &mut players {
        let who = format!("seat {} from {base}", player.seat);
        assert_eq!((player.session.confirmed(), player.session.head()), (after(TICKS), after(TICKS)), "{who}");
        let expected = view(&[2, 1], &[0, 0], 0xCB96_5318);
        assert_eq!(TallyView::read(player.session.projections().0).as_ref(), Some(&expected), "{who}");
        assert_eq!(tally_reference(2, &player.confirmed), expected, "{who}");
        // The state's own count, behind the tick that every state starts with.
        let snapshot = player.session.export_snapshot(after(TICKS)).expect("kept");
        let state = snapshot.verify(&descriptor()).expect("of this match");
        let frame = after(TICKS).index().to_le_bytes();
        assert_eq!((&state[..8], &state[8..16]), (&frame[..], &frame[..]), "{who}");
        // Every number in every log is the next one, and no state falls behind the one before.
        let ticks: Vec<_> = player.confirmed.iter().map(Frame::tick).collect();
        assert_eq!(ticks, (0..TICKS).map(after).collect::<Vec<_>>(), "{who}");
        let due: Vec<_> = (1..=TICKS).map(after).filter(|state| state.saturating_sub(1).index() % 8 == 0).collect();
        assert_eq!(player.checksums.iter().map(|(tick, _)| *tick).collect::<Vec<_>>(), due, "{who}");
        assert!(player.shown.is_sorted_by(|one, next| one.0 <= next.0 && one.1 <= next.1), "{who}");
        assert_eq!(player.probe.violations(), [], "{who}");
        for (from, to) in &player.rollbacks {
            assert!(base <= *from && from < to, "{who}: I6");
        }
        assert!(player.shown.iter().all(|(confirmed, head)| head.since(*confirmed) <= u64::from(WINDOW)), "{who}: I5");
    }
    assert_eq!(players[0].checksums, players[1].checksums);
    let across = |(from, to): &(Tick, Tick)| *from <= after(7) && *to >= after(9);
    assert!(players[0].rollbacks.iter().any(across), "guard, from {base}: {:?}", players[0].rollbacks);
}

#[test]
fn k01_two_sessions_roll_back_across_every_word_boundary() {
    [1 << 16, 1 << 31, 1 << 32, 1 << 53].into_iter().for_each(|boundary: u64| check(boundary - 8));
}

#[test]
fn k01_two_sessions_roll_back_across_the_ends_of_every_window() {
    // Checkpoints kept while predicting, those of report ticks, and the inputs that may wait.
    let caps = [u64::from(WINDOW) + 1, u64::from(DEFAULT_CHECKPOINT_WINDOW_TICKS), MAX_LOCAL_INPUTS_AHEAD];
    caps.into_iter().for_each(|cap| (1..=3).for_each(|times| check(times * cap - 8)));
    // And from the start, as a control.
    check(0);
}

#[test]
fn k01_the_last_tick_there_is_can_be_reached_and_stepping_past_it_is_a_typed_error() {
    let base = u64::MAX - TICKS;
    check(base);
    let factory = tally_factory();
    let mut runtime = factory.create(&descriptor()).expect("a match of TALLY");
    runtime.hydrate(Tick::MAX, &tally_state(Tick::MAX, 2)).expect("canonical");
    let (mut batch, mut output) = (StepBatch::default(), Output::default());
    batch.reset(Tick::MAX);
    batch.push_step(Keep::CHECKSUM);
    for _ in 0..2 {
        let (presence, epoch) = (Presence::Human, ControlEpoch(0));
        batch.push_seat(SeatStep { input: &pack_tally(1), substituted: false, malformed: false, presence, epoch });
    }
    assert_eq!(runtime.advance(&batch, &mut output), Err(AdvanceError::TickRange));
    assert_eq!((runtime.tick(), output.kept.len()), (Tick::MAX, 0));
}
