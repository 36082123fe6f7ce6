//! T03: the spiral of death, as far as a client has it, and clocks that jump. The room's part stands with its tests.

use std::num::NonZeroU32;
use std::sync::Arc;

use retick_core::client::{ClientConfig, ClientStatus, InputDelay, MOBILE_CHECKSUM_CADENCE_TICKS};
use retick_core::tick::TickRate;
use retick_testing::environment::{Machine, Zone};
use retick_testing::fixtures::{tally_factory_at, zig};
use retick_testing::sim::{ClientRecord, ClientSetup, MatchReport, MatchSetup, TurnSample};

use crate::support::{RATE, client, tally_match};

const STEP_MILLIS: u64 = 25;
const MINUTE: u64 = 30 * 60;

fn overloaded(config: ClientConfig, step_millis: u64) -> ClientSetup {
    let mut player = client(zig).latency_ticks(TickRate::Hz30, 2);
    player.config = config;
    player.turns_per_second = NonZeroU32::new(60);
    player.step_nanos = step_millis * 1_000_000;
    player
}

/// Two minutes of a match in which every tick corrects something.
fn play(config: ClientConfig, step_millis: u64) -> MatchReport {
    let setup = MatchSetup::new(Arc::new(tally_factory_at::<30>())).strict();
    let setup = setup.checksum_cadence_ticks(MOBILE_CHECKSUM_CADENCE_TICKS);
    let setup = setup.client(overloaded(config, step_millis)).client(client(zig).latency_ticks(TickRate::Hz30, 2));
    let mut sim = setup.build();
    sim.run_ticks(2 * MINUTE);
    sim.finish()
}

fn steps(client: &ClientRecord, from: u64, to: u64) -> impl Iterator<Item = u64> {
    let turns = client.turns.iter().filter(move |turn| (from..to).contains(&turn.at.index()));
    turns.map(|turn| turn.progress.steps as u64)
}

#[test]
fn t03a_a_client_that_is_too_slow_does_bounded_work_and_says_so() {
    // Guard: what a machine without costs does is more than this one can.
    let demanded: u64 = steps(&play(ClientConfig::default(), 0).clients[0], 0, MINUTE).sum();
    assert!(demanded * STEP_MILLIS > 60_000, "guard: {demanded} steps");

    let bounded = |frames, steps| ClientConfig {
        max_confirmed_frames_per_turn: Some(frames),
        max_steps_per_turn: steps,
        ..ClientConfig::default()
    };
    for config in [ClientConfig::mobile(), bounded(8, 4), bounded(2, 1), ClientConfig::default()] {
        let report = play(config, STEP_MILLIS);
        let client = &report.clients[0];
        let frames = config.max_confirmed_frames_per_turn.map_or(usize::MAX, |frames| frames as usize);
        let window = u64::from(config.prediction_window_ticks);
        let within = |turn: &TurnSample| {
            turn.progress.confirmed_frames <= frames
                && turn.progress.resimulated <= window
                && turn.progress.predicted <= u64::from(config.max_steps_per_turn)
        };
        assert!(client.turns.iter().all(within), "{config:?}");
        let behind = |turn: &TurnSample| turn.at.since(turn.confirmed);
        let hidden = |turn: &&TurnSample| behind(turn) > 60 && turn.status != ClientStatus::CatchingUp;
        assert_eq!(client.turns.iter().find(hidden), None, "{config:?}");
        // The second minute's turns are no longer than the first's.
        let longest = |from, to| steps(client, from, to).max().expect("turns were taken");
        let [first, second] = [(0, MINUTE), (MINUTE, 2 * MINUTE)].map(|(from, to)| longest(from, to));
        assert!(second <= first, "{config:?}: {first} steps, then {second}");
        let sum = |from, to| steps(client, from, to).sum::<u64>() / steps(client, from, to).count() as u64;
        assert!(sum(MINUTE, 2 * MINUTE) <= sum(0, MINUTE) + 1, "{config:?}");
        let stuck = client.turns.iter().filter(|turn| turn.backlog_is_stuck).count();
        let backlog = client.turns.iter().map(behind).max().unwrap_or(0);
        assert!(stuck > 0 || backlog <= 60, "{config:?}: a backlog of {backlog} that nobody was told of");
    }
}

/// Whatever the system's clock does meanwhile, nothing goes by it: graces and deadlines are of the caller's monotonic time (T03 e).
#[test]
fn t03e_the_system_clock_moves_no_tick_no_grace_and_no_deadline() {
    let play = |machines: [Machine; 2]| {
        let player = |machine| {
            let mut player = client(zig).latency_ticks(RATE, 2);
            player.machine = Some(machine);
            player.config.input_delay = InputDelay::Fixed(1);
            player
        };
        let setup = tally_match().disconnect(200, 1).reconnect(320, 1);
        let mut sim = setup.client(player(machines[0])).client(player(machines[1])).build();
        sim.run_ticks(600);
        let report = sim.finish();
        (report.confirm_times.clone(), report.frames.clone(), report.room_events.clone())
    };
    // An hour back in the middle of it, an hour on, a second that is shown twice, and a clock that is elsewhere from the start.
    let moved = |before_minutes, after_minutes| Machine {
        number: 1,
        clock_start_millis: 1_700_000_000_000,
        zone: Zone::Changing { after_millis: 5_000, before_minutes, after_minutes },
    };
    let still = play([Machine::numbered(0), Machine::numbered(1)]);
    let leap = Machine { zone: Zone::LeapSecond { after_millis: 5_000 }, ..moved(0, 0) };
    let elsewhere = Machine { clock_start_millis: 999, ..Machine::numbered(1) };
    for machine in [moved(60, 0), moved(0, 60), leap, elsewhere] {
        assert_eq!(play([machine, Machine::numbered(0)]), still, "{machine:?}");
    }
}
