//! A batch that fails in the middle changes nothing, whatever it has stepped, kept and counted by then (K2).

use std::sync::Arc;

use proptest::prelude::*;
use retick_core::codec::canonical::{EncodeError, EncodeReason};
use retick_core::digest::Checksum;
use retick_core::frame::CommandSource;
use retick_core::identity::MatchDescriptor;
use retick_core::runtime::{
    AdvanceError, Checkpoint, CheckpointError, Keep, MAX_SPARE_STATES, Output, Runtime, RuntimeFactory, SeatStep,
    StepBatch, StepFault,
};
use retick_core::seat::{ControlEpoch, Presence};
use retick_core::tick::Tick;
use retick_testing::fixtures::{pack_tally, tally_descriptor, tally_factory};
use retick_testing::strict::{FaultPlan, StrictFactory, StrictProbe, Violation};

use crate::brittle::{POISON, brittle_factory, living_states};
use crate::games::exported;
use crate::support::seat;

const FAULT: StepFault = StepFault::OutOfBounds;
/// No script is longer.
const MOST_TICKS: u64 = 400;

/// One step: what both seats give, what is kept after it, and whether it holds a command that does not decode.
#[derive(Clone, Copy, Debug)]
struct Step {
    inputs: [i32; 2],
    keep: Keep,
    spoilt_command: bool,
}

#[derive(Clone, Debug)]
enum Act {
    Play(Vec<Step>),
    /// A batch whose step at this position fails, and perhaps later ones too.
    Fail(Vec<Step>, usize),
    /// Return to the handle of this number, counted from the oldest.
    Restore(prop::sample::Index),
    Release(prop::sample::Index),
}

fn step() -> impl Strategy<Value = Step> {
    let keep = prop::sample::subsequence(vec![Keep::CHECKPOINT, Keep::CHECKSUM, Keep::PROJECTION], 0..=3);
    let keep = keep.prop_map(|parts| parts.into_iter().fold(Keep::NOTHING, |keep, part| keep | part));
    let step = ([-3..4_i32, -3..4_i32], keep, prop::bool::weighted(0.2));
    step.prop_map(|(inputs, keep, spoilt_command)| Step { inputs, keep, spoilt_command })
}

fn failing() -> impl Strategy<Value = Act> {
    let steps = prop::collection::vec(step(), 1..10);
    (steps, any::<prop::sample::Index>(), any::<bool>()).prop_map(|(mut steps, at, again)| {
        let at = at.index(steps.len());
        poison(&mut steps[at]);
        // The first step that fails is the one that is named.
        steps.last_mut().filter(|_| again).into_iter().for_each(poison);
        Act::Fail(steps, at)
    })
}

/// Makes a step fail, in a game that faults and in one whose state can't be captured after it.
fn poison(step: &mut Step) {
    step.inputs[1] = POISON;
    step.keep = step.keep | Keep::CHECKSUM;
}

fn acts() -> impl Strategy<Value = Vec<Act>> {
    let play = prop::collection::vec(step(), 0..8).prop_map(Act::Play);
    let restore = any::<prop::sample::Index>().prop_map(Act::Restore);
    let release = any::<prop::sample::Index>().prop_map(Act::Release);
    prop::collection::vec(prop_oneof![3 => play, 4 => failing(), 1 => restore, 1 => release], 1..20)
}

/// Everything that can be seen of a runtime.
#[derive(PartialEq, Eq, Debug)]
struct Seen {
    tick: Tick,
    checksum: Checksum,
    projection: Vec<u8>,
    states: Vec<(Tick, Result<Vec<u8>, CheckpointError>)>,
}

/// A runtime, all that it kept, and its handles, oldest first.
struct Lane {
    runtime: Box<dyn Runtime>,
    output: Output,
    handles: Vec<Checkpoint>,
    released: Vec<Checkpoint>,
}

impl Lane {
    fn new(factory: &dyn RuntimeFactory, descriptor: &MatchDescriptor) -> Lane {
        let runtime = factory.create(descriptor).expect("a match of the game");
        let mut lane = Lane { runtime, output: Output::default(), handles: vec![], released: vec![] };
        lane.runtime.keep(Keep::CHECKPOINT, &mut lane.output).expect("S(0) is kept");
        lane.take_handles(0);
        lane
    }

    fn take_handles(&mut self, from: usize) {
        self.handles.extend(self.output.kept[from..].iter().filter_map(|kept| kept.checkpoint));
    }

    fn advance(&mut self, steps: &[Step]) -> Result<(), AdvanceError> {
        let mut batch = StepBatch::default();
        batch.reset(self.runtime.tick());
        for step in steps {
            batch.push_step(step.keep);
            for input in step.inputs.map(pack_tally) {
                let (presence, epoch) = (Presence::Human, ControlEpoch(0));
                batch.push_seat(SeatStep { input: &input, substituted: false, malformed: false, presence, epoch });
            }
            if step.spoilt_command {
                batch.push_command(CommandSource::Authority, b"no command of this game");
            }
        }
        let from = self.output.kept.len();
        let ran = self.runtime.advance(&batch, &mut self.output);
        self.take_handles(from);
        ran
    }

    /// A batch that fails at this position, and leaves everything as it was.
    fn fail(&mut self, steps: &[Step], at: usize, expected: &dyn Fn(Tick) -> AdvanceError) {
        let (output, seen) = (self.output.clone(), self.seen());
        let failing = self.runtime.tick().saturating_add(at as u64);
        assert_eq!(self.advance(steps), Err(expected(failing)));
        assert_eq!(self.output, output, "nothing is appended");
        assert_eq!(self.seen(), seen);
    }

    fn restore(&mut self, index: usize) {
        self.runtime.restore(self.handles[index]).expect("a valid handle");
        self.released.extend(self.handles.drain(index + 1..));
    }

    fn release(&mut self, index: usize) {
        let handle = self.handles.remove(index);
        self.runtime.release(handle).expect("a valid handle");
        self.released.push(handle);
    }

    fn seen(&mut self) -> Seen {
        let mut output = Output::default();
        self.runtime.keep(Keep::CHECKSUM | Keep::PROJECTION, &mut output).expect("a state with a form");
        let kept = &output.kept[0];
        let (tick, checksum) = (kept.tick, kept.checksum.expect("asked for"));
        let projection = output.projection(kept).expect("asked for").to_vec();
        assert_eq!(tick, self.runtime.tick());
        let handles = self.handles.iter().chain(&self.released).copied().collect::<Vec<_>>();
        let read = |handle: Checkpoint| {
            let mut bytes = vec![];
            let read = self.runtime.export(handle, 0, usize::MAX, &mut bytes);
            (handle.tick(), read.map(|_| bytes))
        };
        Seen { tick, checksum, projection, states: handles.into_iter().map(read).collect() }
    }
}

/// Two runtimes of which only one lives through the batches that fail: nobody can tell them apart.
struct Pair {
    lane: Lane,
    twin: Lane,
}

impl Pair {
    fn new(factory: &dyn RuntimeFactory) -> Pair {
        let descriptor = tally_descriptor(factory, 2, 1);
        Pair { lane: Lane::new(factory, &descriptor), twin: Lane::new(factory, &descriptor) }
    }

    fn play(&mut self, act: &Act, expected: &dyn Fn(Tick) -> AdvanceError) {
        let handles = self.lane.handles.len();
        match act {
            Act::Play(steps) => self.both(|lane| lane.advance(steps).expect("no step fails")),
            Act::Fail(steps, at) => self.lane.fail(steps, *at, expected),
            Act::Restore(index) => self.both(|lane| lane.restore(index.index(handles))),
            // The oldest one stays, so that there is always one to return to.
            Act::Release(index) if handles > 1 => self.both(|lane| lane.release(1 + index.index(handles - 1))),
            Act::Release(_) => {}
        }
        assert_eq!(self.lane.seen(), self.twin.seen());
    }

    fn both(&mut self, act: impl Fn(&mut Lane)) {
        act(&mut self.lane);
        act(&mut self.twin);
    }

    /// What was kept on the way is the same, and each handle still leads to its state.
    fn finish(mut self) {
        assert_eq!(without_handles(&self.lane.output), without_handles(&self.twin.output));
        for index in (0..self.lane.handles.len()).rev() {
            let handle = self.lane.handles[index];
            let checksum = Checksum::of(&exported(self.lane.runtime.as_mut(), handle));
            self.both(|lane| lane.restore(index));
            let seen = self.lane.seen();
            assert_eq!((seen.tick, seen.checksum), (handle.tick(), checksum));
            assert_eq!(seen, self.twin.seen());
        }
    }
}

fn check(factory: &dyn RuntimeFactory, acts: &[Act], expected: &dyn Fn(Tick) -> AdvanceError) {
    let mut pair = Pair::new(factory);
    acts.iter().for_each(|act| pair.play(act, expected));
    pair.finish();
}

fn without_handles(output: &Output) -> Output {
    let mut output = output.clone();
    output.kept.iter_mut().for_each(|kept| kept.checkpoint = None);
    output
}

/// The native adapter, where capturing a state is what fails.
fn uncapturable(acts: &[Act]) {
    let broken = |tick: Tick| {
        let error = EncodeError { path: "broken".into(), reason: EncodeReason::Custom("broken".into()) };
        AdvanceError::Capture { tick: tick.saturating_add(1), error }
    };
    let factory = Arc::new(brittle_factory());
    check(factory.as_ref(), acts, &broken);
    let strict = StrictFactory::new(factory);
    check(&strict, acts, &broken);
    assert_contract(&strict);
}

/// Only these tests break the contract, where they ask for what was released.
fn assert_contract(strict: &StrictFactory) {
    let violations: Vec<_> = strict.probes().iter().flat_map(StrictProbe::violations).collect();
    assert!(violations.iter().all(Violation::is_the_callers), "{violations:#?}");
}

/// A runtime whose steps fault, as a module's do.
fn faulting(acts: &[Act]) {
    let plan = |tick| FaultPlan::on_input(Tick::new(tick), seat(1), pack_tally(POISON), FAULT);
    let strict = StrictFactory::new(Arc::new(tally_factory()));
    let strict = (0..MOST_TICKS).map(plan).fold(strict, StrictFactory::with_fault);
    check(&strict, acts, &|tick| AdvanceError::Fault { tick, fault: FAULT });
    let counters = strict.probes()[0].counters();
    let failing = acts.iter().filter(|act| matches!(act, Act::Fail(..))).count();
    assert_eq!(counters.injected_faults, failing as u64, "guard: each failing batch struck");
    assert_contract(&strict);
}

/// A real module: it faults by itself, with memory written, pages grown and an event emitted.
#[cfg(feature = "wasm")]
fn trapping(factory: &Arc<retick_wasm::WasmFactory>, acts: &[Act]) {
    let trapped = |tick| AdvanceError::Fault { tick, fault: StepFault::Aborted };
    check(factory.as_ref(), acts, &trapped);
    let strict = StrictFactory::new(factory.clone());
    check(&strict, acts, &trapped);
    assert_contract(&strict);
}

#[cfg(feature = "wasm")]
proptest! {
    // What is seen of each state is a whole memory.
    #![proptest_config(ProptestConfig { cases: 25, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn k2_a_batch_that_traps_in_a_module_changes_nothing(acts in acts()) {
        trapping(&MODULE, &acts);
    }
}

#[cfg(feature = "wasm")]
static MODULE: std::sync::LazyLock<Arc<retick_wasm::WasmFactory>> =
    std::sync::LazyLock::new(|| Arc::new(crate::module::module_factory()));

proptest! {
    #![proptest_config(ProptestConfig { cases: 150, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn k2_a_batch_that_fails_at_any_tick_changes_nothing(acts in acts()) {
        uncapturable(&acts);
        faulting(&acts);
    }
}

/// Each position in batches of each length, at `S(0)` and later, with everything kept after every step.
#[test]
fn k2_a_batch_that_fails_in_its_first_or_last_step_changes_nothing() {
    let keep = Keep::CHECKPOINT | Keep::CHECKSUM | Keep::PROJECTION;
    let step = Step { inputs: [1, 2], keep, spoilt_command: true };
    for (played, length) in [0, 1, 5].into_iter().flat_map(|played| (1..6).map(move |length| (played, length))) {
        for at in 0..length {
            let mut steps = vec![step; length];
            poison(&mut steps[at]);
            let other = vec![Step { inputs: [-1, 3], ..step }; length];
            let acts = [Act::Play(vec![step; played]), Act::Fail(steps, at), Act::Play(other)];
            uncapturable(&acts);
            faulting(&acts);
            #[cfg(feature = "wasm")]
            trapping(&MODULE, &acts);
        }
    }
}

/// What a failed batch had kept is given back, and not only out of reach.
#[test]
fn k2_failed_batches_leave_no_state_behind() {
    let factory = brittle_factory();
    let mut lane = Lane::new(&factory, &tally_descriptor(&factory, 2, 1));
    let mut steps = vec![Step { inputs: [1, 2], keep: Keep::CHECKPOINT, spoilt_command: false }; 4];
    poison(&mut steps[3]);
    for _ in 0..50 {
        assert!(lane.advance(&steps).is_err());
        // Without a handle there are the live state, and released ones that are overwritten next.
        assert!(living_states() <= lane.handles.len() + 1 + MAX_SPARE_STATES, "{} states", living_states());
    }
}
