//! Each check passes the clean games, and each planted fault is caught by the check that is meant for it, at its state.

use retick_core::tick::Tick;
use retick_testing::assert::{
    ByteDifference, Compared, DeterminismProof, GameFault, HydrationProof, Premise, SynctestProof,
    assert_deterministic, assert_hydration, check_deterministic, check_hydration, check_synctest, synctest,
};
use retick_testing::fixtures::{pack_tally, tally_descriptor, tally_factory, zig_packed};
use retick_testing::twins::{
    BySeat, FirstExecution, HonestCounter, Leak, Noise, Numbered, SharedCell, SkippedField, StaticCounter, Steady,
    Unencoded, duel_factory, noisy_factory, twin_factory,
};

const TICKS: u64 = 120;

/// Where the byte of `Leaky::leaked` that changes first stands: behind the tick and the sum.
const LEAKED: u64 = 16;

fn determinism<L: Leak>() -> Result<DeterminismProof, GameFault> {
    let factory = twin_factory::<L>();
    check_deterministic(&factory, &tally_descriptor(&factory, 2, 1), zig_packed, TICKS)
}

fn rollback<L: Leak>(depth: u64) -> Result<SynctestProof, GameFault> {
    let factory = twin_factory::<L>();
    check_synctest(&factory, &tally_descriptor(&factory, 2, 1), zig_packed, TICKS, depth)
}

fn hydration<L: Leak>(every_ticks: u64) -> Result<HydrationProof, GameFault> {
    let factory = twin_factory::<L>();
    check_hydration(&factory, &tally_descriptor(&factory, 2, 1), zig_packed, TICKS, every_ticks)
}

#[test]
fn t4_the_clean_twins_pass_every_check() {
    let proof = determinism::<HonestCounter>().expect("deterministic");
    assert_eq!(proof.states, TICKS + 1);
    for depth in [1, 2, 8] {
        let proof = rollback::<HonestCounter>(depth).expect("rollback-safe");
        let resimulated_ticks = (1..=TICKS).map(|tick| tick.min(depth)).sum();
        // In tick 0 the inputs before it are the right ones; zig repeats none within eleven ticks.
        assert_eq!(proof, SynctestProof { rollbacks: TICKS, resimulated_ticks, mispredicted_ticks: TICKS - 1 });
    }
    for (every_ticks, hydrations) in [(1, TICKS + 1), (50, 3)] {
        let proof = hydration::<HonestCounter>(every_ticks).expect("hydration-safe");
        assert_eq!(proof, HydrationProof { hydrations, states: TICKS + 1 });
    }
    let factory = tally_factory();
    let descriptor = tally_descriptor(&factory, 3, 1);
    assert_deterministic(&factory, &descriptor, zig_packed, TICKS);
    synctest(&factory, &descriptor, zig_packed, TICKS, 7);
    assert_hydration(&factory, &descriptor, zig_packed, TICKS, 1);
}

#[test]
fn t4_a_static_counter_is_caught_by_the_determinism_check_in_the_first_tick() {
    let fault = determinism::<StaticCounter>().expect_err("caught");
    let GameFault::Differs { compared: Compared::Instances, tick, difference: Some(difference), .. } = fault else {
        panic!("{fault}")
    };
    assert_eq!((tick, difference.offset), (Tick::new(1), LEAKED));
    assert_ne!(difference.first, difference.second);
    assert!(rollback::<StaticCounter>(3).is_err());
}

#[test]
fn t4_a_cell_that_clones_share_passes_determinism_and_is_caught_by_the_synctest() {
    assert!(determinism::<SharedCell>().is_ok());
    let fault = rollback::<SharedCell>(3).expect_err("caught");
    let GameFault::Differs { compared: Compared::Resimulated { from }, tick, difference: Some(difference), .. } = fault
    else {
        panic!("{fault}")
    };
    // The wrong step of tick 0 counted one too many.
    assert_eq!((from, tick), (Tick::ZERO, Tick::new(1)));
    assert_eq!(difference, ByteDifference { offset: LEAKED, first: Some(0), second: Some(1) });
    assert!(hydration::<SharedCell>(30).is_err());
}

#[test]
fn t4_a_field_that_is_not_encoded_is_caught_by_the_hydration_check_in_the_first_step() {
    assert!(determinism::<SkippedField>().is_ok());
    assert!(rollback::<SkippedField>(3).is_ok());
    let fault = hydration::<SkippedField>(30).expect_err("caught");
    let GameFault::Differs { compared: Compared::Hydrated { at }, tick, difference: Some(difference), .. } = fault
    else {
        panic!("{fault}")
    };
    assert_eq!((at, tick, difference.offset), (Tick::new(30), Tick::new(31), LEAKED));
}

#[test]
fn k10_events_that_depend_on_more_than_the_step_are_caught_by_the_check_that_is_meant_for_it() {
    fn all<N: Noise>() -> [Option<Tick>; 3] {
        let factory = noisy_factory::<N>();
        let descriptor = tally_descriptor(&factory, 2, 1);
        let faults = [
            check_deterministic(&factory, &descriptor, zig_packed, TICKS).err(),
            check_synctest(&factory, &descriptor, zig_packed, TICKS, 3).err(),
            check_hydration(&factory, &descriptor, zig_packed, TICKS, 30).err(),
        ];
        faults.map(|fault| {
            let GameFault::EventsDiffer { tick, first, second } = fault? else { panic!("states differ") };
            assert_ne!(first, second);
            Some(tick)
        })
    }
    let differ = |tick| Some(Tick::new(tick));
    assert_eq!(all::<Steady>(), [None, None, None]);
    // The wrong execution of tick 0 was heard, the right one was not.
    assert_eq!(all::<FirstExecution>(), [None, differ(0), None]);
    assert_eq!(all::<Unencoded>(), [None, None, differ(30)]);
    assert_eq!(all::<Numbered>(), [differ(0), differ(0), differ(0)]);
}

#[test]
fn t3_a_check_that_proves_nothing_says_so() {
    let factory = tally_factory();
    let descriptor = tally_descriptor(&factory, 1, 1);
    let nothing = |ticks| GameFault::PremiseNotMet(Premise::Work { ticks });
    assert_eq!(check_synctest(&factory, &descriptor, zig_packed, 10, 0), Err(nothing(10)));
    assert_eq!(check_synctest(&factory, &descriptor, zig_packed, 0, 3), Err(nothing(0)));
    assert_eq!(check_hydration(&factory, &descriptor, zig_packed, 10, 0), Err(nothing(10)));
    assert_eq!(check_hydration(&factory, &descriptor, zig_packed, 0, 10), Err(nothing(0)));
    let unmoved = Err(GameFault::PremiseNotMet(Premise::Movement { ticks: 0 }));
    assert_eq!(check_deterministic(&factory, &descriptor, |_, _| pack_tally(0), 0), unmoved);
    // In 300 ticks two bytes of the tick move, and nothing else where nobody shoots; one shot is something.
    let duel = duel_factory::<BySeat>();
    let played = |shot: u64| {
        let script = move |_, tick: Tick| vec![u8::from(tick.index() == shot)];
        check_deterministic(&duel, &tally_descriptor(&duel, 2, 1), script, 300)
    };
    assert_eq!(played(300), Err(GameFault::PremiseNotMet(Premise::Movement { ticks: 300 })));
    assert_eq!(played(299).map(|proof| proof.states), Ok(301));
    // Who holds one input mispredicts nothing, so that a rollback brings out nothing.
    let held = check_synctest(&factory, &descriptor, |_, _| pack_tally(4), 50, 3);
    assert_eq!(held, Err(GameFault::PremiseNotMet(Premise::Misprediction { ticks: 50 })));
}

#[test]
fn t3_a_difference_is_named_by_its_first_byte_and_both_values() {
    let between = ByteDifference::between;
    assert_eq!(between(b"abc", b"abc"), None);
    let difference = |offset, first, second| Some(ByteDifference { offset, first, second });
    assert_eq!(between(b"abc", b"axc"), difference(1, Some(b'b'), Some(b'x')));
    assert_eq!(between(b"abc", b"ab"), difference(2, Some(b'c'), None));
    assert_eq!(between(b"", b"a"), difference(0, None, Some(b'a')));
}
