//! Sessions that differ in all that must not matter, on one match: each has the same bytes in every state that it can still
//! read, whenever frames arrive and whoever is hydrated from whom (S3, S4, S5, S8).

use std::cell::Cell;
use std::sync::Arc;

use proptest::prelude::*;
use proptest::sample::Index;
use proptest::test_runner::TestRunner;
use retick_core::frame::{Frame, SeatFrame};
use retick_core::runtime::RuntimeFactory;
use retick_core::seat::{ControlEpoch, Generation, Presence, Seat, SeatSet};
use retick_core::session::{Budget, RemotePrediction, Retention, Session, SessionEvent, SessionPolicy, Standing};
use retick_core::snapshot::Snapshot;
use retick_core::tick::Tick;
use retick_testing::fixtures::{pack_tally, tally_descriptor, tally_factory};
use retick_testing::strict::{StrictFactory, StrictProbe};

use crate::games::{State, state_of, straight};
use crate::support::seat;

const SEATS: usize = 3;
/// Who plays which seats: one each, two on one machine, and one who only watches.
const LOCAL: [&[u8]; 4] = [&[0], &[1], &[1, 2], &[]];

/// What one seat really gives in a tick, who drives it, and whether the authority substitutes its input.
type Given = (i32, Presence, bool);

#[derive(Clone, Debug)]
enum Act {
    /// So many frames arrive.
    Arrive(usize),
    /// A turn: how far beyond the received frames the present is wanted, and how many frames may be applied.
    Turn(u64, usize),
    /// A snapshot of another session, of one of the states that it can read.
    Hydrate(Index, Index),
    /// Another standing, which changes what is retained from there on.
    Stand(Standing),
}

fn given() -> impl Strategy<Value = Given> {
    let value = prop_oneof![3 => Just(0), 2 => Just(1), 1 => any::<i32>()];
    let presence = prop_oneof![8 => Just(Presence::Human), 1 => Just(Presence::Disconnected)];
    (value, presence, prop::bool::weighted(0.15))
}

fn acts() -> impl Strategy<Value = Vec<(usize, Act)>> {
    let turn = (0..14_u64, prop_oneof![2 => Just(usize::MAX), 1 => 1..4_usize]);
    let hydrate = (any::<Index>(), any::<Index>()).prop_map(|(donor, tick)| Act::Hydrate(donor, tick));
    let turn = turn.prop_map(|(ahead, budget)| Act::Turn(ahead, budget));
    let standing = prop_oneof![Just(Standing::Live), Just(Standing::CatchingUp), Just(Standing::AwaitingHydration)];
    let stand = standing.prop_map(Act::Stand);
    let act = prop_oneof![6 => (0..5_usize).prop_map(Act::Arrive), 9 => turn, 1 => hydrate, 1 => stand];
    prop::collection::vec((0..LOCAL.len(), act), 0..120)
}

/// One policy for each session. An axis of policies that must not matter is one more element here.
fn policy() -> impl Strategy<Value = SessionPolicy> {
    let window = prop_oneof![1 => Just(0), 4 => 1..17_u16];
    let remote = prop_oneof![Just(RemotePrediction::RepeatLast), Just(RemotePrediction::Neutral)];
    let retention = prop_oneof![Just(Retention::Required), Just(Retention::Window)];
    (window, 1..20_u32, 0..30_u32, remote, retention).prop_map(
        |(window, cadence, beyond, remote_prediction, retention)| SessionPolicy {
            prediction_window_ticks: window,
            checksum_cadence_ticks: cadence,
            checkpoint_window_ticks: cadence + beyond,
            remote_prediction,
            retention,
            ..SessionPolicy::default()
        },
    )
}

fn frames(script: &[[Given; SEATS]]) -> Vec<Frame> {
    let mut last = [0; SEATS];
    let mut frame_of = |(given, tick): (&[Given; SEATS], u64)| {
        let mut frame = Frame::new(Generation(0), Tick::new(tick));
        for ((value, presence, substituted), last) in given.iter().zip(&mut last) {
            *last = if *substituted { *last } else { *value };
            let (input, epoch) = (pack_tally(*last), ControlEpoch(0));
            let input = (*presence == Presence::Human).then_some(input.as_slice());
            frame.push_seat(SeatFrame { input, substituted: *substituted, presence: *presence, epoch });
        }
        frame
    };
    script.iter().zip(0..).map(&mut frame_of).collect()
}

/// One of the sessions.
struct Machine {
    session: Session,
    probe: StrictProbe,
    local: Vec<Seat>,
}

impl Machine {
    fn new(local: &[u8], policy: SessionPolicy) -> Machine {
        let factory = StrictFactory::new(Arc::new(tally_factory()));
        let descriptor = tally_descriptor(&tally_factory(), SEATS as u8, 1);
        let runtime = factory.create(&descriptor).expect("a match of TALLY");
        let local: Vec<_> = local.iter().map(|number| seat(*number)).collect();
        let seats: SeatSet = local.iter().copied().collect();
        let session = Session::new(runtime, &descriptor, policy, seats).expect("a valid policy");
        Machine { session, probe: factory.probes().remove(0), local }
    }

    fn arrive(&mut self, count: usize, frames: &[Frame]) {
        let received = self.session.received().index() as usize;
        let arriving = frames.iter().skip(received).take(count);
        arriving.for_each(|frame| self.session.confirm(frame).expect("the next frame"));
    }

    /// One turn; says whether it rolled back.
    fn turn(&mut self, ahead: u64, confirmed_frames: usize, script: &[[Given; SEATS]]) -> bool {
        let target = self.session.received().saturating_add(ahead);
        for seat in &self.local {
            self.session.skip_inputs_before(*seat, self.session.received());
            while self.session.next_input(*seat) < target {
                let tick = self.session.next_input(*seat);
                let input = script.get(tick.index() as usize).map_or(0, |given| given[seat.index()].0);
                self.session.submit(*seat, tick, &pack_tally(input)).expect("the next tick");
            }
        }
        self.session.advance(Budget { confirmed_frames, target }).expect("TALLY does not fault");
        let window = u64::from(self.session.policy().prediction_window_ticks);
        assert!(self.session.head().since(self.session.confirmed()) <= window);
        let events: Vec<_> = core::iter::from_fn(|| self.session.poll_event()).collect();
        events.iter().any(|event| matches!(event, SessionEvent::RolledBack { .. }))
    }

    /// Compares each state that it can read, and says which those are.
    fn audit(&mut self, straight: &[State]) -> Vec<u64> {
        let confirmed = self.session.confirmed().index();
        let mut readable = vec![];
        for tick in 0..=confirmed {
            let expected = &straight[tick as usize];
            if let Some(state) = state_of(&mut self.session, tick) {
                assert_eq!(state, *expected, "S({tick})");
                readable.push(tick);
            }
            let checksum = self.session.confirmed_checksum(Tick::new(tick));
            assert!(checksum.is_none_or(|checksum| checksum == expected.checksum), "checksum of S({tick})");
        }
        assert_eq!(readable.last(), Some(&confirmed), "the last confirmed state can always be read");
        assert_eq!(self.session.kept_checkpoints(), self.probe.counters().checkpoints_alive, "nothing leaks");
        readable
    }
}

/// Plays a schedule and then everything that is left of the match; counts rollbacks and hydrations.
fn play(script: &[[Given; SEATS]], acts: Vec<(usize, Act)>, policies: Vec<SessionPolicy>) -> (u64, u64) {
    let frames = frames(script);
    let descriptor = tally_descriptor(&tally_factory(), SEATS as u8, 1);
    let straight = straight(&tally_factory(), &descriptor, &frames);
    let mut machines: Vec<_> = LOCAL.iter().zip(policies).map(|(local, policy)| Machine::new(local, policy)).collect();
    let (mut rollbacks, mut hydrations) = (0, 0);
    for (at, act) in acts {
        match act {
            Act::Arrive(count) => machines[at].arrive(count, &frames),
            Act::Stand(standing) => machines[at].session.set_standing(standing),
            Act::Turn(ahead, budget) => rollbacks += u64::from(machines[at].turn(ahead, budget, script)),
            Act::Hydrate(donor, tick) => {
                let donor = donor.get_mut(&mut machines);
                let tick = Tick::new(*tick.get(&donor.audit(&straight)));
                let bytes = donor.session.export_snapshot(tick).expect("it can be read").to_bytes();
                let snapshot = Snapshot::from_bytes(&bytes).expect("its own bytes");
                machines[at].session.hydrate(&snapshot).expect("a snapshot of this match");
                assert_eq!((machines[at].session.confirmed(), machines[at].session.head()), (tick, tick));
                hydrations += 1;
            }
        }
        machines[at].audit(&straight);
    }
    for machine in &mut machines {
        machine.arrive(frames.len(), &frames);
        machine.turn(0, usize::MAX, script);
        assert_eq!(machine.audit(&straight).last(), Some(&(frames.len() as u64)));
        machine.probe.assert_clean();
    }
    (rollbacks, hydrations)
}

#[test]
fn s3_s5_s8_whatever_sessions_differ_in_each_state_has_the_same_bytes_everywhere() {
    let config = ProptestConfig { cases: 120, failure_persistence: None, ..ProptestConfig::default() };
    let script = prop::collection::vec([given(), given(), given()], 1..50);
    let policies = prop::collection::vec(policy(), LOCAL.len());
    let [rollbacks, hydrations] = [const { Cell::new(0) }; 2];
    let played = TestRunner::new(config).run(&(script, acts(), policies), |(script, acts, policies)| {
        let (rolled_back, hydrated) = play(&script, acts, policies);
        rollbacks.set(rollbacks.get() + rolled_back);
        hydrations.set(hydrations.get() + hydrated);
        Ok(())
    });
    assert!(played.is_ok(), "{}", played.expect_err("checked"));
    let counts = (rollbacks.get(), hydrations.get());
    assert!(counts.0 > 200 && counts.1 > 50, "guard: {counts:?} rollbacks and hydrations");
}
