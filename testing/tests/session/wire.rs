//! What a match of the example game costs on the wire, with real clients.

use std::sync::Arc;

use retick_core::input::GameInput;
use retick_core::rng::SessionSeed;
use retick_core::seat::Seat;
use retick_core::tick::Tick;
use retick_testing::sim::{ClientSetup, MatchSetup, SimulatedMatch};
use skirmish::{Rules, SkirmishInput, scripted_input};

const SECONDS: u64 = 20;
const HZ: u64 = 60;

/// Bytes a second down to each of four seats whose inputs change once in so many ticks, and in which share of ticks they did.
fn bytes_down(change_every_ticks: u64) -> (Vec<u64>, f64) {
    let played = move |seat: Seat, tick: Tick| {
        let step = (tick.index() + 7 * u64::from(seat.number())) / change_every_ticks;
        SkirmishInput::schema().pack(&scripted_input(seat, Tick::new(step), 7)).expect("a valid input")
    };
    let config = Rules::default().to_config().expect("rules in range");
    let mut setup = MatchSetup::new(Arc::new(skirmish::native_factory().expect("a game")));
    setup = setup.game(config, SessionSeed::from_u64(7));
    for _ in 0..4 {
        setup = setup.client(ClientSetup::new(played));
    }
    let mut sim = setup.build();
    // The greeting and the first complete frame are before this.
    sim.run_until_confirmed(HZ);
    let before = received(&sim);
    let first = sim.frames().len();
    sim.run_until_confirmed(HZ * (SECONDS + 1));
    let ticks = sim.frames().len() - first;
    let bytes =
        received(&sim).into_iter().zip(before).map(|(now, before)| (now - before) * HZ / ticks as u64).collect();
    let frames = sim.frames();
    let changes = frames.windows(2).filter(|pair| pair[0].seats().ne(pair[1].seats())).count();
    sim.check().expect("every invariant holds");
    (bytes, changes as f64 / frames.len() as f64)
}

/// What each client has received.
fn received(sim: &SimulatedMatch) -> Vec<u64> {
    (0..4).map(|player| sim.client(player).expect("a client").stats().received_bytes).collect()
}

#[test]
fn a2_a_seat_of_the_example_game_gets_less_than_a_thousand_bytes_a_second() {
    let (bytes, changed) = bytes_down(30);
    assert!((0.1..0.2).contains(&changed), "guard: each of four seats changes twice a second: {changed}");
    assert!(bytes.iter().all(|bytes| (480..=1_000).contains(bytes)), "{bytes:?}");
    // Aims that sweep change in nearly every tick, and then only their own bytes travel.
    let (sweeping, changed) = bytes_down(1);
    assert!(changed > 0.9, "guard: {changed}");
    assert!(sweeping.iter().all(|bytes| *bytes <= 1_500), "{sweeping:?}");
}
