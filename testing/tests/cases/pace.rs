//! Pace and modes beside the cases: a margin for jitter (N4), and a client that predicts nothing (N5).

use retick_core::client::PredictionMode;
use retick_testing::fixtures::zig;
use retick_testing::net::{Jitter, tick_nanos};
use retick_testing::sim::MatchReport;

use crate::support::{RATE, authority_tally, client, input, shown_tally, tally_match, zig_of};

const TICKS: u64 = 1200;

/// How many hundredths of the ticks the room confirmed in the tick itself, once the first measurements were in.
fn punctual_percent(report: &MatchReport) -> u64 {
    let punctual = (TICKS / 2..TICKS).filter(|tick| report.confirmed_at(*tick) == Some(*tick)).count() as u64;
    100 * punctual / (TICKS / 2)
}

#[test]
fn n4_inputs_are_there_in_time_although_their_delay_varies() {
    let mut steady = client(zig).latency_ticks(RATE, 4).window_ticks(30);
    let lead = |report: &MatchReport| {
        let turns = &report.clients[0].turns;
        turns.iter().skip(600).map(|turn| turn.head.since(turn.confirmed)).sum::<u64>() / (turns.len() as u64 - 600)
    };
    let play = |steps: u32, player: &mut retick_testing::sim::ClientSetup| {
        player.up.jitter = Jitter { steps, step_nanos: tick_nanos(RATE) / 4 };
        let setup = tally_match().hard_tolerance_ticks(20).client(player.clone()).client(player.clone());
        let mut sim = setup.last_tick(TICKS).build();
        sim.run_until_confirmed(TICKS);
        sim.finish()
    };
    let [still, shaken] = [0, 8].map(|steps| play(steps, &mut steady));
    assert_eq!(punctual_percent(&still), 100);
    // Two ticks up or down: the quickest path is what is known, and most are slower.
    let percent = punctual_percent(&shaken);
    assert!(percent >= 85, "{percent} %");
    assert_eq!(shaken.flagged_ticks(), [0; 0]);
    // The margin is no more than the jitter is.
    assert!((1..=6).contains(&(lead(&shaken) - lead(&still))), "{} and {}", lead(&still), lead(&shaken));
}

#[test]
fn n5_a_client_that_predicts_nothing_shows_confirmed_states_alone_and_its_input_flows() {
    let mut quiet = client(zig).latency_ticks(RATE, 3);
    quiet.config.mode = PredictionMode::ConfirmedOnly;
    let setup = tally_match().hard_tolerance_ticks(12).client(quiet).client(client(zig).latency_ticks(RATE, 3));
    let mut sim = setup.last_tick(600).build();
    sim.run_until_confirmed(600);
    let report = sim.finish();
    let [quiet, other] = [&report.clients[0], &report.clients[1]];
    assert!(quiet.turns.iter().all(|turn| turn.head == turn.confirmed && turn.progress.predicted == 0));
    assert_eq!((quiet.rollbacks.len(), quiet.stats.rollbacks), (0, 0));
    assert!(other.rollbacks.len() > 100, "guard");
    assert_eq!(report.flagged_ticks(), [0; 0]);
    assert!((0..600).all(|tick| input(&report, 0, tick) == Some(zig_of(0, tick as u64))));
    assert_eq!(shown_tally(quiet), authority_tally(&report, 600));
}
