//! A game's own CI (T1): everything that the kit proves, of Skirmish, native and as the module that is committed. The function below
//! is all that a game needs; its factory, a match of it and its inputs are the game's own.

use std::sync::Arc;

use retick_core::identity::MatchDescriptor;
use retick_core::rng::SessionSeed;
use retick_core::runtime::RuntimeFactory;
use retick_core::seat::SeatCount;
use retick_testing::assert::{
    assert_deterministic, assert_hydration, assert_late_join_hydration, assert_presentation_parity,
    assert_replay_verifies, assert_runner_lifecycle, assert_two_client_convergence, synctest,
};
use retick_testing::inputs::made_up_inputs;
use retick_wasm::{Limits, WasmFactory};
use skirmish::Rules;

fn prove<F: RuntimeFactory + Clone + 'static>(game: &F, ticks: u64) {
    let (rules, seats) = (Rules::default().to_config().expect("in range"), SeatCount::new(3).expect("three seats"));
    let three = MatchDescriptor::new(game.manifest(), rules, SessionSeed::from_u64(7), seats);
    let script = made_up_inputs(game.manifest().input_schema().clone(), 7);
    assert_deterministic(game, &three, &script, ticks);
    synctest(game, &three, &script, ticks, 8);
    assert_hydration(game, &three, &script, ticks, 97);
    assert_replay_verifies(game, &three, &script, ticks);
    assert_two_client_convergence(game, &three, &script, ticks);
    assert_late_join_hydration(game, &three, &script, ticks, ticks / 2);
    assert_presentation_parity(game, &three, &script, ticks);
    assert_runner_lifecycle(game, &three, &script, ticks);
}

#[test]
fn t1_skirmish_is_proved_in_its_own_ci() {
    prove(&Arc::new(skirmish::native_factory().expect("a manifest")), 300);
}

#[test]
fn t1_skirmish_is_proved_as_a_module() {
    prove(&WasmFactory::load(skirmish::MODULE, Limits::default()).expect("the committed module"), 240);
}
