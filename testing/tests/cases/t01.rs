//! T01: one client runs ahead. Two clients whose clocks run two percent fast and slow, one of which starts 20 ticks late; then the
//! same without any latency at 20 ticks per second, and with a path that becomes longer.

use std::num::NonZeroU32;
use std::sync::Arc;

use retick_core::session::Held;
use retick_core::tick::{Moment, Tick, TickRate};
use retick_testing::fixtures::{tally_factory_at, zig};
use retick_testing::net::tick_nanos;
use retick_testing::sim::{ClientRecord, ClientSetup, ClockNews, MatchReport, MatchSetup, OwnClock, TurnSample};

use crate::support::{RATE, authority_tally, client, shown_tally, tally_match, view};

const TICKS: u64 = 3600;
/// C1 starts so many ticks after C0, and the match one later.
const LATE_TICKS: u64 = 20;
/// Start-up transients, and that of a jump, are over after so many ticks.
const TRANSIENT_TICKS: u64 = 300;

/// C0 and C1, at `rate` turns per second of their own clocks.
fn players(rate: TickRate, latency_ticks: u64) -> [ClientSetup; 2] {
    [(0, 2), (LATE_TICKS, -2)].map(|(enters_at, percent)| {
        let mut player = client(zig).latency_ticks(rate, latency_ticks).window_ticks(20);
        (player.enters_at, player.clock) = (enters_at, OwnClock::percent(percent));
        player.turns_per_second = NonZeroU32::new(rate.hz());
        player
    })
}

fn setup(setup: MatchSetup, players: [ClientSetup; 2]) -> MatchSetup {
    let mut setup = players.into_iter().fold(setup, MatchSetup::client);
    setup.lobby_ticks = LATE_TICKS + 1;
    setup.last_tick(TICKS)
}

fn play(setup: MatchSetup) -> MatchReport {
    let mut sim = setup.build();
    sim.run_until_confirmed(TICKS);
    sim.finish()
}

fn turns(client: &ClientRecord, from: u64, to: u64) -> impl Iterator<Item = &TurnSample> {
    client.turns.iter().filter(move |turn| (from..to).contains(&turn.at.index()))
}

fn mean(values: impl Iterator<Item = u64>) -> f64 {
    let (mut sum, mut count) = (0_u32, 0_u32);
    for value in values {
        sum += u32::try_from(value).expect("small");
        count += 1;
    }
    assert!(count > 0, "nothing to take the mean of");
    f64::from(sum) / f64::from(count)
}

/// The mean lead of a client in authority ticks `from..to`: how far its present is predicted.
fn mean_lead(client: &ClientRecord, from: u64, to: u64) -> f64 {
    mean(turns(client, from, to).map(|turn| turn.head.since(turn.confirmed)))
}

fn mean_rollback(client: &ClientRecord, from: u64) -> f64 {
    let late = client.rollbacks.iter().filter(|rollback| rollback.at.index() >= from);
    mean(late.map(|rollback| rollback.to.since(rollback.from)))
}

/// What holds in every run.
fn check(report: &MatchReport) {
    let end = view(&[-5, 4], &[0, 0], 0xC053_19DA);
    assert_eq!(authority_tally(report, 3600), end);
    assert_eq!(report.flagged_ticks(), [0; 0]);
    for client in &report.clients {
        assert_eq!(shown_tally(client), end, "seat {}", client.seat);
        assert_eq!(client.sampled, (0..TICKS).map(Tick::new).collect::<Vec<_>>(), "no tick is skipped or repeated");
        let most = u64::from(client.config.max_steps_per_turn);
        assert!(client.turns.iter().all(|turn| turn.progress.predicted <= most), "seat {}", client.seat);
        // A rollback goes to a tick that was played, never to the present or beyond.
        assert!(client.rollbacks.iter().all(|rollback| rollback.from < rollback.head_before), "seat {}", client.seat);
    }
}

/// Both pay the same, and neither is blocked.
fn check_fair(report: &MatchReport, from: u64) {
    let [one, other] = [0, 1].map(|seat| &report.clients[seat]);
    let leads = [one, other].map(|client| mean_lead(client, from, TICKS));
    assert!((leads[0] - leads[1]).abs() <= 1.0, "mean leads {leads:?}");
    let depths = [one, other].map(|client| mean_rollback(client, from));
    assert!((depths[0] - depths[1]).abs() <= 1.0, "mean rollbacks {depths:?}");
    for client in [one, other] {
        let blocked = turns(client, from, TICKS).filter(|turn| turn.progress.held == Some(Held::WindowFull)).count();
        let all = turns(client, from, TICKS).count();
        assert!(100 * blocked <= all, "seat {}: {blocked} of {all} turns are blocked", client.seat);
    }
}

/// From `from` on the mean lead of each second is that of the rest.
fn check_settled(report: &MatchReport, from: u64, to: u64) {
    for client in &report.clients {
        let rest = mean_lead(client, to.saturating_sub(TRANSIENT_TICKS), to);
        for second in (from..to).step_by(60) {
            let lead = mean_lead(client, second, (second + 60).min(to));
            assert!((lead - rest).abs() <= 1.0, "seat {}, tick {second}: {lead}, at the end {rest}", client.seat);
        }
    }
}

#[test]
fn t01_clocks_that_run_two_percent_fast_and_slow_lead_alike() {
    let report = play(setup(tally_match().hard_tolerance_ticks(20), players(RATE, 3)));
    check(&report);
    check_fair(&report, TICKS / 2);
    check_settled(&report, TRANSIENT_TICKS, TICKS);
}

#[test]
fn t01_without_latency_nobody_is_late_and_nothing_of_the_present_is_rolled_back() {
    let room = MatchSetup::new(Arc::new(tally_factory_at::<20>())).strict().hard_tolerance_ticks(6);
    let report = play(setup(room, players(TickRate::Hz20, 0)));
    check(&report);
    assert!(report.clients.iter().all(|client| client.stats.own_substitutions == 0));
    // Inputs are there when the room's clock reaches their tick.
    let late = (TRANSIENT_TICKS..TICKS).filter(|tick| report.confirmed_at(*tick) != Some(*tick)).count();
    assert!(late as u64 <= (TICKS - TRANSIENT_TICKS) / 20, "{late} ticks were waited for");
}

#[test]
fn t01_a_path_that_becomes_longer_is_made_up_for_within_300_ticks() {
    let jump = TICKS / 2;
    let at = RATE.moment_of(Tick::new(LATE_TICKS + 1 + jump));
    let mut players = players(RATE, 3);
    for player in &mut players {
        player.up.later_latency = Some((at, 7 * tick_nanos(RATE)));
        player.down.later_latency = Some((at, 7 * tick_nanos(RATE)));
    }
    let report = play(setup(tally_match().hard_tolerance_ticks(20), players));
    check(&report);
    check_settled(&report, TRANSIENT_TICKS, jump);
    check_settled(&report, jump + TRANSIENT_TICKS, TICKS);
    check_fair(&report, jump + TRANSIENT_TICKS);
    let [before, after] =
        [(jump - 300, jump), (TICKS - 300, TICKS)].map(|(from, to)| mean_lead(&report.clients[0], from, to));
    assert!(after - before >= 6.0, "guard: {before} before and {after} after");
}

/// The guard of the case: who goes by its own clock alone pays for all.
#[test]
fn t01_without_a_correction_the_leads_differ_by_three_ticks_and_more() {
    let players = players(RATE, 3).map(|player| ClientSetup { clock_news: ClockNews::Withheld, ..player });
    let mut sim = setup(tally_match().hard_tolerance_ticks(20), players).build();
    sim.run_ticks(2400);
    let report = sim.report();
    let leads = [0, 1].map(|seat: usize| mean_lead(&report.clients[seat], 1200, 2400));
    assert!((leads[0] - leads[1]).abs() >= 3.0, "guard: {leads:?}");
    let moments: Vec<Moment> = report.clients[0].turns.iter().map(|turn| turn.began).collect();
    assert!(moments.is_sorted());
}
