//! Input during catch-up (N2, N6): a client that is connected and behind is still a player, and one that comes back sends what it
//! has sampled before it samples on.

use retick_core::client::ClientStatus;
use retick_core::seat::Seat;
use retick_core::tick::{Moment, Tick};
use retick_testing::fixtures::{pack_tally, zig};
use retick_testing::sim::{ClientRecord, ClientSetup, DEFAULT_LOBBY_TICKS, MatchReport, TurnSample};

use crate::support::{RATE, client, input, tally_match, zig_of};

/// The stall, in authority ticks.
const STALL: [u64; 2] = [200, 350];
/// The player presses a key this many ticks after the stall, and lets go of it.
const HELD: [u64; 2] = [STALL[1] + 30, STALL[1] + 90];
const BUDGET: usize = 2;

fn moment(tick: u64) -> Moment {
    RATE.moment_of(Tick::new(DEFAULT_LOBBY_TICKS + tick))
}

/// What the player holds in a tick.
fn held(tick: u64) -> i32 {
    if (HELD[0]..HELD[1]).contains(&tick) { 9 } else { 1 }
}

fn holder() -> ClientSetup {
    let mut player = ClientSetup::new(|_: Seat, tick: Tick| pack_tally(held(tick.index()))).latency_ticks(RATE, 2);
    (player.config.max_confirmed_frames_per_turn, player.config.max_steps_per_turn) = (Some(2), 2);
    player
}

/// The turns from the end of the stall until the client was live.
fn catch_up(client: &ClientRecord) -> &[TurnSample] {
    let after = client.turns.partition_point(|turn| turn.at.index() < STALL[1]);
    let turns = &client.turns[after..];
    let behind = turns.iter().position(|turn| turn.status == ClientStatus::CatchingUp).expect("it is behind");
    let live = turns[behind..].iter().position(|turn| turn.status == ClientStatus::Live);
    &turns[behind..=behind + live.expect("it comes back")]
}

fn play(player: ClientSetup) -> MatchReport {
    let setup = tally_match().client(client(zig).latency_ticks(RATE, 2)).client(player);
    let mut sim = setup.last_tick(800).build();
    sim.run_until_confirmed(800);
    sim.finish()
}

/// The contract of a connected catch-up.
fn check(report: &MatchReport) {
    let client = &report.clients[1];
    let turns = catch_up(client);
    assert!(turns.len() > 100, "guard: {} turns of catching up", turns.len());
    assert!(turns.iter().any(|turn| turn.queued_frames > 100), "guard");
    assert!(turns.iter().all(|turn| turn.progress.confirmed_frames <= BUDGET));
    // Who is far behind predicts nothing.
    let far = |turn: &&TurnSample| turn.received.since(turn.confirmed) > u64::from(report.rules.hard_tolerance_ticks);
    assert!(turns.iter().filter(far).all(|turn| turn.progress.predicted == 0));
    // It samples in every turn of it, at the room's pace, once it has got what the stall held back.
    let sampled = turns[1..].windows(2).map(|pair| pair[1].next_input.since(pair[0].next_input));
    assert!(sampled.clone().all(|ticks| (1..=2).contains(&ticks)), "{:?}", sampled.collect::<Vec<_>>());
    // The key and its release reach the frontier as real input, although they lie in the middle of the catch-up.
    let within = turns.first().map_or(0, |turn| turn.at.index())..turns.last().map_or(0, |turn| turn.at.index());
    assert!(within.contains(&HELD[0]) && within.contains(&HELD[1]), "guard: {within:?}");
    for tick in STALL[1] + 10..800 {
        let index = usize::try_from(tick).expect("small");
        assert_eq!(input(report, 1, index), Some(held(tick)), "tick {tick}");
        assert_eq!(report.confirmed_at(tick), Some(tick), "the room waits for nothing");
    }
    assert!(report.flagged_ticks().iter().all(|tick| (STALL[0]..STALL[1] + 10).contains(tick)));
    assert_eq!(client.turns.last().map(|turn| turn.status), Some(ClientStatus::Live));
    // Each tick once, and only confirmed ones are skipped.
    assert!(client.sampled.is_sorted_by(|one, next| one < next));
}

#[test]
fn n6_a_held_key_and_its_release_reach_the_frontier_while_a_frozen_client_catches_up() {
    let report = play(holder().frozen(moment(STALL[0])..moment(STALL[1])));
    check(&report);
    // What was confirmed without it is skipped.
    let client = &report.clients[1];
    assert!(client.sampled.len() < 790, "guard: {} ticks were sampled", client.sampled.len());
}

#[test]
fn n6_the_same_for_a_client_that_goes_on_while_nothing_arrives() {
    let mut player = holder();
    player.down.stalls = vec![moment(STALL[0])..moment(STALL[1])];
    check(&play(player));
}

/// Samples of ticks that the room has confirmed already count for nothing, so none is taken before the history is there; and what
/// was sampled before the transport was lost is sent again.
#[test]
fn n6_after_a_reconnect_unconfirmed_inputs_come_first_and_no_confirmed_tick_is_sampled() {
    let player = || client(zig).latency_ticks(RATE, 2);
    let setup = tally_match().hard_tolerance_ticks(60).client(player()).client(player());
    let mut sim = setup.disconnect(100, 1).reconnect(112, 1).last_tick(300).build();
    sim.run_until_confirmed(300);
    let report = sim.finish();
    assert_eq!(report.flagged_ticks(), [0; 0], "the room waits for 60 ticks, and every one of them is sent");
    assert!((0..300).all(|tick| input(&report, 1, tick) == Some(zig_of(1, tick as u64))));
    assert_eq!(report.clients[1].sampled, (0..300).map(Tick::new).collect::<Vec<_>>());

    let setup = tally_match().hard_tolerance_ticks(6).client(player()).client(player());
    // Long enough for a history that comes in more than one message.
    let mut sim = setup.disconnect(100, 1).reconnect(700, 1).last_tick(850).build();
    sim.run_until_confirmed(850);
    let report = sim.finish();
    let sampled = &report.clients[1].sampled;
    let gap = sampled.windows(2).find(|pair| pair[1].since(pair[0]) > 1).expect("guard: what was confirmed is skipped");
    assert!(gap[0] < Tick::new(130), "it predicts as far as its window: {}", gap[0]);
    assert!((690..712).contains(&gap[1].index()), "it goes on at the frontier: {}", gap[1]);
    assert!((715..850).all(|tick| input(&report, 1, tick) == Some(zig_of(1, tick as u64))));
}

/// The budget times the turns in a second must be more than the tick rate; where it is not, a statistic says so.
#[test]
fn n6_a_backlog_that_can_t_shrink_is_told() {
    for (budget, stuck) in [(1, true), (2, false)] {
        let mut player = holder().frozen(moment(STALL[0])..moment(STALL[1]));
        player.config.max_confirmed_frames_per_turn = Some(budget);
        let setup = tally_match().client(client(zig).latency_ticks(RATE, 2)).client(player);
        let mut sim = setup.build();
        sim.run_ticks(1000);
        let stats = sim.client(1).expect("a client").stats();
        assert_eq!(stats.backlog_is_stuck, stuck, "budget {budget}");
        assert_eq!(stats.queued_frames > 100, stuck, "budget {budget}");
        assert_eq!(
            stats.backlog_frames_per_second.is_some_and(|each| each.abs_diff(60) <= 1),
            stuck,
            "budget {budget}"
        );
        let report = sim.finish();
        let told = report.clients[1].turns.iter().any(|turn| turn.backlog_is_stuck);
        assert_eq!(told, stuck, "budget {budget}");
    }
}
