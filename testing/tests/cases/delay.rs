//! Input delay (N3): on paths that change, it changes with them, and no tick's input is repeated or skipped.

use std::collections::BTreeSet;

use proptest::prelude::*;
use retick_core::client::{DelayBudget, InputDelay};
use retick_core::tick::{Moment, Tick};
use retick_testing::fixtures::zig;
use retick_testing::net::{Jitter, tick_nanos};
use retick_testing::sim::{ClientRecord, ClientSetup, DEFAULT_LOBBY_TICKS, MatchReport};

use crate::support::{RATE, authority_tally, client, input, shown_tally, tally_match, zig_of};

fn moment(tick: u64) -> Moment {
    RATE.moment_of(Tick::new(DEFAULT_LOBBY_TICKS + tick))
}

/// A player whose path becomes longer or shorter at `change`.
fn player(delay: InputDelay, latency: [u64; 2], change: u64, jitter_steps: u32) -> ClientSetup {
    let mut player = client(zig).latency_ticks(RATE, latency[0]).window_ticks(40);
    player.config.input_delay = delay;
    player.up.later_latency = Some((moment(change), latency[1] * tick_nanos(RATE)));
    player.down.later_latency = player.up.later_latency;
    player.up.jitter = Jitter { steps: jitter_steps, step_nanos: tick_nanos(RATE) / 4 };
    player
}

fn play(players: [ClientSetup; 2], ticks: u64, seed: u64) -> MatchReport {
    let [one, other] = players;
    let setup = tally_match().seed(seed).hard_tolerance_ticks(40).client(one).client(other);
    let mut sim = setup.last_tick(ticks).build();
    sim.run_until_confirmed(ticks);
    sim.finish()
}

/// Every tick's input was sampled once, in order, and is what was confirmed.
fn check_inputs(report: &MatchReport, ticks: u64) {
    for client in &report.clients {
        assert_eq!(client.sampled, (0..ticks).map(Tick::new).collect::<Vec<_>>(), "seat {}", client.seat);
        let script = |tick: u64| Some(zig_of(client.seat.number(), tick));
        let confirmed = |tick: u64| input(report, client.seat.number(), usize::try_from(tick).expect("small"));
        assert!((0..ticks).all(|tick| confirmed(tick) == script(tick)), "seat {}", client.seat);
    }
    assert_eq!(report.flagged_ticks(), [0; 0]);
    let end = authority_tally(report, usize::try_from(ticks).expect("small"));
    assert!(report.clients.iter().all(|client| shown_tally(client) == end));
}

fn delays(client: &ClientRecord) -> BTreeSet<u16> {
    client.turns.iter().map(|turn| turn.input_delay_ticks).collect()
}

const STRICT: DelayBudget =
    DelayBudget { max_rollbacks_per_second: 0, max_rollback_ticks: 2, max_substitutions_per_second: 0 };

proptest! {
    #![proptest_config(ProptestConfig { cases: 12, ..ProptestConfig::default() })]

    /// Whatever the paths do, and whatever delay follows from it.
    #[test]
    fn n3_a_change_of_the_delay_repeats_and_skips_no_tick(
        seed in any::<u64>(),
        before in 0_u64..9,
        after in 0_u64..9,
        change in 100_u64..400,
        jitter_steps in 0_u32..8,
        min_ticks in 0_u16..4,
        more_ticks in 0_u16..9,
    ) {
        let auto = InputDelay::Auto { min_ticks, max_ticks: min_ticks + more_ticks, budget: STRICT };
        let tuned = player(auto, [before, after], change, jitter_steps);
        let report = play([tuned, player(InputDelay::Fixed(min_ticks), [2, 2], change, 0)], 600, seed);
        check_inputs(&report, 600);
        let within = |turn: &retick_testing::sim::TurnSample| {
            (min_ticks..=min_ticks + more_ticks).contains(&turn.input_delay_ticks)
        };
        prop_assert!(report.clients[0].turns.iter().all(within));
    }
}

#[test]
fn n3_the_delay_follows_the_path_within_its_bounds_and_keeps_rollbacks_shallow() {
    let auto = InputDelay::Auto { min_ticks: 1, max_ticks: 9, budget: STRICT };
    let far = || player(InputDelay::Fixed(0), [1, 1], 600, 0);
    let report = play([player(auto, [1, 5], 600, 0), far()], 1800, 1);
    check_inputs(&report, 1800);
    let client = &report.clients[0];
    let at = |tick: u64| client.turns.iter().find(|turn| turn.at == Tick::new(tick)).expect("a turn a tick");
    let (near, later) = (at(590).input_delay_ticks, at(1790).input_delay_ticks);
    assert!(near < later && later <= 9, "{near} ticks, then {later}");
    assert!(delays(client).len() >= 3, "guard: {:?}", delays(client));
    // Without a delay this path costs rollbacks of about ten ticks.
    let depth = |from: u64| {
        let late: Vec<u64> = client
            .rollbacks
            .iter()
            .filter(|seen| seen.at.index() >= from)
            .map(|seen| seen.to.since(seen.from))
            .collect();
        (late.iter().sum::<u64>(), late.len() as u64)
    };
    let (ticks, count) = depth(1200);
    assert!(count > 300, "guard: {count} rollbacks");
    assert!(ticks <= 4 * count, "{ticks} ticks in {count} rollbacks");
    // One turn a tick, and none of them steps more than twice or stands still longer than a turn because of it.
    let steps = client.turns.iter().filter(|turn| turn.at >= Tick::new(60)).map(|turn| turn.progress.predicted);
    assert!(steps.clone().all(|ticks| ticks <= 2), "{:?}", steps.max());
}

#[test]
fn n3_a_fixed_delay_takes_as_much_from_the_lead() {
    let lead = |ticks: u16| {
        let report = play(
            [player(InputDelay::Fixed(ticks), [3, 3], 600, 0), player(InputDelay::Fixed(0), [3, 3], 600, 0)],
            400,
            1,
        );
        check_inputs(&report, 400);
        let turns = report.clients[0].turns.iter().filter(|turn| (200..390).contains(&turn.at.index()));
        turns.map(|turn| turn.head.since(turn.confirmed)).max().expect("turns")
    };
    let undelayed = lead(0);
    assert_eq!([1, 3, 5].map(|ticks| undelayed - lead(ticks)), [1, 3, 5]);
}
