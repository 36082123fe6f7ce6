//! A game that faults at any tick, whatever was predicted and whenever frames come: the fault holds the session while it is
//! only predicted, ends it once it is confirmed, and leaves no trace when a confirmed frame averts it (W5, K2).

use std::cell::Cell;

use proptest::prelude::*;
use proptest::test_runner::TestRunner;
use retick_core::frame::Frame;
use retick_core::runtime::StepFault;
use retick_core::session::{Held, RemotePrediction, SessionFault, SessionPolicy};
use retick_core::tick::Tick;
use retick_testing::fixtures::{pack_tally, tally_factory};
use retick_testing::strict::FaultPlan;

use crate::games::{State, state_of, straight};
use crate::support::{Table, descriptor, frame, seat};

const FAULT: StepFault = StepFault::Arithmetic;

/// A match of few values, so that a guess is right now and then, in which one tick faults with one value of seat 1.
#[derive(Clone, Debug)]
struct Script {
    inputs: Vec<[i32; 2]>,
    fault_at: u64,
    fault_with: i32,
}

/// How many frames arrive before a turn, how far beyond them the present is wanted, and how many frames it may apply.
type Turn = (usize, u64, usize);

fn script() -> impl Strategy<Value = Script> {
    let values = prop_oneof![3 => Just(0), 2 => Just(1), 1 => Just(2)];
    let inputs = prop::collection::vec((0..3_i32, values).prop_map(|(local, remote)| [local, remote]), 1..40);
    (inputs, any::<prop::sample::Index>(), 0..3_i32).prop_map(|(inputs, fault_at, fault_with)| {
        let fault_at = fault_at.index(inputs.len()) as u64;
        Script { inputs, fault_at, fault_with }
    })
}

fn turns() -> impl Strategy<Value = Vec<Turn>> {
    let budget = prop_oneof![2 => Just(usize::MAX), 1 => 1..3_usize];
    prop::collection::vec((0..3_usize, 0..10_u64, budget), 0..50)
}

fn policy() -> impl Strategy<Value = SessionPolicy> {
    let remote = prop_oneof![Just(RemotePrediction::RepeatLast), Just(RemotePrediction::Neutral)];
    (0..9_u16, 1..9_u32, remote).prop_map(|(prediction_window_ticks, cadence, remote_prediction)| SessionPolicy {
        prediction_window_ticks,
        checksum_cadence_ticks: cadence,
        checkpoint_window_ticks: cadence + 3,
        remote_prediction,
        ..SessionPolicy::default()
    })
}

/// A session of the script's match, beside a straight run of the same frames in a game that never faults.
struct Proof<'a> {
    script: &'a Script,
    frames: Vec<Frame>,
    straight: Vec<State>,
    table: Table,
    /// How often it held because of the fault.
    held: u32,
}

impl<'a> Proof<'a> {
    fn new(script: &'a Script, policy: SessionPolicy) -> Proof<'a> {
        let frames = script.inputs.iter().zip(0..).map(|(inputs, tick)| frame(tick, *inputs, [false; 2]));
        let frames: Vec<_> = frames.collect();
        let straight = straight(&tally_factory(), &descriptor(), &frames);
        let fault_with = pack_tally(script.fault_with);
        let plan = FaultPlan::on_input(Tick::new(script.fault_at), seat(1), fault_with, FAULT);
        Proof { script, frames, straight, table: Table::with_faults(policy, vec![plan]), held: 0 }
    }

    fn turn(&mut self, (arriving, ahead, budget): Turn) {
        let received = self.table.session.received().index() as usize;
        let arriving = self.frames.iter().skip(received).take(arriving);
        arriving.for_each(|frame| self.table.session.confirm(frame).expect("the next frame"));
        let target = self.table.session.received().index() + ahead;
        let local = |tick| self.script.inputs.get(tick as usize).map_or(0, |inputs| inputs[0]);
        self.table.submit_before(target, local);
        match self.table.advance_within(budget, target) {
            Ok(progress) => self.check_held(progress.held),
            Err(fault) => self.check_ended(&fault),
        }
        let confirmed = self.table.session.confirmed().index();
        let state = state_of(&mut self.table.session, confirmed);
        assert_eq!(state.as_ref(), self.straight.get(confirmed as usize), "S({confirmed})");
        let alive = self.table.probe.counters().checkpoints_alive;
        assert_eq!(self.table.session.kept_checkpoints(), alive, "no checkpoint of a failed batch is left");
    }

    /// What stands between the frontier and the fault is what the guesses lead to, and it can be read.
    fn check_held(&mut self, held: Option<Held>) {
        let session = &self.table.session;
        let (confirmed, head) = (session.confirmed(), session.head());
        if let Some(Held::PredictedFault { tick, fault }) = held {
            assert_eq!((tick, fault, head), (Tick::new(self.script.fault_at), FAULT, tick));
            self.held += 1;
        }
        let confirmed = confirmed.index() as usize;
        let last = match session.policy().remote_prediction {
            RemotePrediction::Neutral => 0,
            RemotePrediction::RepeatLast => confirmed.checked_sub(1).map_or(0, |last| self.script.inputs[last][1]),
        };
        let local = |tick: usize| self.script.inputs.get(tick).map_or(0, |inputs| inputs[0]);
        let guessed =
            (confirmed..head.index() as usize).map(|tick| frame(tick as u64, [local(tick), last], [false; 2]));
        let played: Vec<_> = self.frames[..confirmed].iter().cloned().chain(guessed).collect();
        // Older guesses may still stand, where nothing confirmed has contradicted them yet.
        if self.table.rollbacks.last().is_some_and(|(from, _)| from + 1 == confirmed as u64) || confirmed == 0 {
            let expected = straight(&tally_factory(), &descriptor(), &played).last().map(|state| state.checksum);
            assert_eq!(Some(self.table.head_checksum()), expected, "the present is what the guesses lead to");
        }
    }

    /// The end says which tick it was; the state before it stays, whatever else is asked.
    fn check_ended(&mut self, fault: &SessionFault) {
        let at = Tick::new(self.script.fault_at);
        assert_eq!(fault, &SessionFault::Runtime { tick: at, fault: FAULT });
        assert_eq!((self.table.session.confirmed(), self.table.session.head()), (at, at));
        assert_eq!(self.table.head_checksum(), self.straight[at.index() as usize].checksum);
    }

    /// Everything arrives. The match goes to its end as in a game that never faults, unless the fault is confirmed.
    fn finish(mut self) -> (u32, bool) {
        self.turn((self.frames.len(), 0, usize::MAX));
        let faults = self.script.inputs[self.script.fault_at as usize][1] == self.script.fault_with;
        assert_eq!(self.table.session.fault().is_some(), faults);
        let end = if faults { self.script.fault_at as usize } else { self.frames.len() };
        assert_eq!(self.table.session.confirmed(), Tick::new(end as u64));
        assert_eq!(self.table.confirmed, self.frames[..end]);
        let right = |(tick, checksum): &(u64, _)| self.straight[*tick as usize].checksum == *checksum;
        assert!(self.table.checksums.iter().all(right));
        self.table.probe.assert_clean();
        (self.held, faults)
    }
}

#[test]
fn w5_a_fault_at_any_tick_is_averted_without_a_trace_or_ends_the_session_before_it() {
    let config = ProptestConfig { cases: 300, failure_persistence: None, ..ProptestConfig::default() };
    let [averted, confirmed, ended] = [const { Cell::new(0) }; 3];
    let played = TestRunner::new(config).run(&(script(), turns(), policy()), |(script, turns, policy)| {
        let mut proof = Proof::new(&script, policy);
        turns.into_iter().for_each(|turn| proof.turn(turn));
        let (held, faults) = proof.finish();
        let count = match (held > 0, faults) {
            (true, false) => &averted,
            (true, true) => &confirmed,
            (false, _) => &ended,
        };
        count.set(count.get() + 1);
        Ok(())
    });
    assert!(played.is_ok(), "{}", played.expect_err("checked"));
    let counts = [averted.get(), confirmed.get(), ended.get()];
    assert!(counts.iter().all(|count| *count > 5), "guard: {counts:?} were averted, confirmed, not held at all");
}
