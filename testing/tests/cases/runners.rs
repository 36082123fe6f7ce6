//! N7, N8: runners in real rooms: what they tell of a match's life, what a reconnect is like, and what is drawn.

use std::sync::Arc;

use retick_core::client::PredictionMode;
use retick_core::event::EventLife;
use retick_core::runner::{
    AssetPreparation, Connection, Lifecycle, MatchUiState, Mode, OfflineOptions, RecoveryPhase, RunnerConfig,
    RunnerError, RunnerEvent, Status,
};
use retick_core::seat::{Seat, SeatSet};
use retick_core::tick::Tick;
use retick_testing::fixtures::{
    BEEPING_INPUT, beeper_factory, pack_tally, tally_descriptor, tally_factory, tally_reference, zig_packed,
};
use retick_testing::runner::{Frozen, HarnessSetup, Picture, RunnerHarness};

use crate::support::{seat, view};

fn tally_table(config: RunnerConfig) -> RunnerHarness {
    let setup = HarnessSetup { config, ..HarnessSetup::new(Arc::new(tally_factory()), 2, zig_packed) };
    open(RunnerHarness::new(setup))
}

fn open(mut harness: RunnerHarness) -> RunnerHarness {
    let factory = Arc::new(tally_factory());
    harness.open_room(tally_descriptor(factory.as_ref(), 2, 1));
    harness
}

fn only(number: u8) -> SeatSet {
    [seat(number)].into_iter().collect()
}

fn confirmed(harness: &RunnerHarness, player: usize) -> Tick {
    harness.runner(player).session().map_or(Tick::ZERO, |session| session.confirmed())
}

#[test]
fn n7_offline_networked_offline_and_stop_are_told_step_by_step() {
    let mut harness = tally_table(RunnerConfig::default());
    let descriptor = harness.room().descriptor().clone();
    let offline = OfflineOptions::new(descriptor).fill_with_bots();
    assert_eq!(harness.runner(0).lifecycle(), Lifecycle::Idle);
    harness.runner_mut(0).start_offline(&offline).expect("TALLY");
    harness.run_ticks(10);
    harness.join_all();
    harness.run_until_confirmed(60);
    let snapshot = harness.runner(0).snapshot();
    assert_eq!((snapshot.room_code, snapshot.ui_state()), (Some("ROOM"), MatchUiState::Live));
    assert_eq!(snapshot.presence, [retick_core::seat::Presence::Human; 2]);
    assert!(snapshot.occupancy.is_some_and(|occupancy| occupancy.is_full()), "the room says who is there");
    let net = snapshot.net.expect("networked");
    assert_eq!((net.recovery, net.client.own_substitutions), (RecoveryPhase::None, 0));
    assert!(snapshot.rollbacks > 30 && net.client.round_trip_micros.is_some_and(|micros| micros > 30_000), "{net:?}");
    assert!(net.client.sent_bytes > 0 && net.client.received_bytes > 0 && net.client.deepest_rollback_ticks > 0);
    harness.runner_mut(0).start_offline(&offline).expect("TALLY");
    harness.run_ticks(10);
    harness.runner_mut(0).stop().expect("not disposed of");
    harness.drain(0);
    use Status::{Connecting, Live, Offline, Stopped, Syncing};
    assert_eq!(harness.statuses(0), [Offline, Connecting, Syncing, Live, Offline, Stopped]);
    let here = Lifecycle::Running { mode: Mode::Offline, local_seats: only(0), connection: None };
    let there =
        Lifecycle::Running { mode: Mode::Networked, local_seats: only(0), connection: Some(Connection::Connected) };
    let starting = Lifecycle::Starting { mode: Mode::Networked };
    assert_eq!(harness.lifecycles(0), [here.clone(), starting, there, here, Lifecycle::Stopped]);
}

/// Seat 1 beeps in every tick, seat 0 never.
fn beeps(seat: Seat, _: Tick) -> Vec<u8> {
    pack_tally(if seat.number() == 1 { BEEPING_INPUT } else { 0 })
}

#[test]
fn n7_a_reconnect_is_not_terminal_and_silent_until_the_client_has_caught_up_and_is_further() {
    let mut config = RunnerConfig { confirmed_frame_queue: 8, ..RunnerConfig::default() };
    // Several updates to catch up, none of which is long enough for the session to be silent by itself.
    config.client.max_confirmed_frames_per_turn = Some(4);
    config.client.presentation.catch_up_after_ticks = 10_000;
    let setup =
        HarnessSetup { config, hard_tolerance_ticks: 6, ..HarnessSetup::new(Arc::new(beeper_factory()), 2, beeps) };
    let mut harness = RunnerHarness::new(setup);
    harness.open_room(tally_descriptor(&beeper_factory(), 2, 1));
    harness.join_all();
    harness.run_until_confirmed(60);
    let heard = harness.presented(0).len();
    assert!(heard > 60, "guard: {heard}");
    while harness.runner_mut(0).pop_confirmed_frame().is_some() {}
    let before = confirmed(&harness, 0);
    harness.clear_records();

    harness.lose(0);
    let lost = harness.runner(0).snapshot();
    assert_eq!((lost.status, lost.connection), (Status::Syncing, Some(Connection::Reconnecting)));
    assert_eq!((lost.ui_state(), lost.controls_active()), (MatchUiState::Reconnecting, false));
    assert_eq!(lost.net.expect("networked").recovery, RecoveryPhase::Reconnecting);
    harness.run_ticks(60);
    assert_eq!(confirmed(&harness, 0), before, "guard: nothing comes");
    harness.connect(0);
    let connected = harness.runner(0).snapshot();
    assert_eq!((connected.status, connected.ui_state()), (Status::Syncing, MatchUiState::CatchingUp));
    assert!(connected.controls_active() && connected.render.is_some());
    harness.run_until(120, |harness| harness.runner(0).status() == Status::Live);
    assert!(confirmed(&harness, 0) > before.saturating_add(40), "it is live only once it is further");
    assert_eq!(harness.statuses(0), [Status::Syncing, Status::Live]);
    // What came until then was history: of its beeps, only the ends of those that were told before came out.
    let told: Vec<_> = harness.presented(0).to_vec();
    assert!(
        told.iter().all(|(life, key)| *life != EventLife::Predicted && key.tick < before.saturating_add(9)),
        "{told:?}"
    );
    let net = harness.runner(0).snapshot().net.expect("networked");
    assert!(net.dropped_events.catch_up >= 40 && net.silenced_confirmed_frames >= 40, "{net:?}");
    let frame = harness.runner_mut(0).pop_confirmed_frame();
    assert_eq!(frame.map(|frame| frame.tick()), None);

    // From now on it is heard again, each beep confirmed once, and the newest frames can be drained.
    let live_from = confirmed(&harness, 0);
    harness.clear_records();
    harness.run_ticks(60);
    let confirmed_beeps: Vec<_> =
        harness.presented(0).iter().filter(|(life, _)| *life == EventLife::Confirmed).collect();
    assert!(confirmed_beeps.len() >= 55 && confirmed_beeps.windows(2).all(|pair| pair[0].1 < pair[1].1));
    let frames: Vec<_> = std::iter::from_fn(|| harness.runner_mut(0).pop_confirmed_frame()).collect();
    let newest = confirmed(&harness, 0);
    assert_eq!(frames.iter().map(|frame| newest.since(frame.tick())).collect::<Vec<_>>(), [8, 7, 6, 5, 4, 3, 2, 1]);
    let dropped = harness.runner(0).snapshot().net.expect("networked").dropped_confirmed_frames;
    assert!(dropped >= newest.since(live_from) - 8, "{dropped}");
}

/// A client that is connected and behind is still a player.
#[test]
fn n7_controls_stay_while_a_frozen_app_catches_up_and_its_input_flows() {
    let mut config = RunnerConfig::default();
    config.client.max_confirmed_frames_per_turn = Some(2);
    let mut harness = tally_table(config);
    harness.join_all();
    harness.run_until_confirmed(60);
    harness.clear_records();
    harness.set_frozen(0, Frozen::Yes);
    harness.run_ticks(120);
    harness.set_frozen(0, Frozen::No);
    let (mut turns, mut before) = (0, confirmed(&harness, 0));
    harness.advance();
    while harness.runner(0).status() != Status::Live {
        let snapshot = harness.runner(0).snapshot();
        assert_eq!((snapshot.status, snapshot.ready), (Status::Syncing, true));
        assert_eq!((snapshot.ui_state(), snapshot.controls_active()), (MatchUiState::CatchingUp, true));
        assert_eq!(snapshot.net.expect("networked").recovery, RecoveryPhase::CatchingUp);
        assert!(confirmed(&harness, 0).since(before) <= 2, "no turn applies more than two confirmed frames");
        before = confirmed(&harness, 0);
        turns += 1;
        assert!(turns < 300, "it catches up");
        harness.advance();
    }
    assert!(turns > 50, "guard: it was behind for {turns} turns");
    assert_eq!(harness.statuses(0), [Status::Syncing, Status::Live]);
    // Every tick is sampled once, and none is skipped that was not confirmed before.
    let sampled: Vec<_> = harness.sampled(0).iter().map(|(_, tick)| tick.index()).collect();
    assert!(sampled.len() > 50 && sampled.windows(2).all(|pair| pair[0] < pair[1]));
    assert!(sampled.windows(2).filter(|pair| pair[0] + 1 < pair[1]).count() <= 1, "one gap at most: {sampled:?}");
}

#[test]
fn n7_a_room_waits_with_tick_0_for_whoever_prepares() {
    let preparation = AssetPreparation::Awaited { pins_field: None };
    let mut harness = tally_table(RunnerConfig { preparation, ..RunnerConfig::default() });
    harness.join_all();
    harness.run_ticks(20);
    let tickets = [0, 1].map(|player| harness.requests(player)[0].ticket);
    harness.runner_mut(0).complete_preparation(tickets[0], Ok(&[])).expect("nothing is pinned");
    // Longer than a greeting, a silence or a grace may last.
    harness.run_ticks(20 * 60);
    assert_eq!(harness.room().frontier(), Tick::ZERO);
    assert_eq!([0, 1].map(|player| harness.runner(player).status()), [Status::Connecting; 2]);
    let running = |player: usize| matches!(harness.runner(player).lifecycle(), Lifecycle::Running { .. });
    assert_eq!([0, 1].map(running), [true, false]);
    harness.runner_mut(1).complete_preparation(tickets[1], Ok(&[])).expect("nothing is pinned");
    harness.run_until_confirmed(60);
    assert_eq!(tally_reference(2, &harness.frames()[..60]), view(&[1, 5], &[0, 0], 0xDAB4_FAC9));
    assert_eq!([0, 1].map(|player| harness.requests(player).len()), [1, 1]);
    // The ticket of a match that runs is over.
    let late = harness.runner_mut(0).complete_preparation(tickets[0], Ok(&[]));
    assert_eq!((late, harness.runner(0).status()), (Err(RunnerError::StalePreparation), Status::Live));
}

#[test]
fn n7_the_room_s_end_of_a_match_is_told_as_what_it_is() {
    let mut harness = tally_table(RunnerConfig::default());
    harness.join_all();
    harness.run_until_confirmed(30);
    harness.runner_mut(0).leave().expect("it plays");
    harness.drain(0);
    harness.run_ticks(10);
    assert_eq!((harness.runner(0).lifecycle(), harness.runner(1).status()), (Lifecycle::Stopped, Status::Live));
    assert_eq!(harness.statuses(0).last(), Some(&Status::Stopped));
    let ended = |event: &RunnerEvent| format!("{event:?}").contains("Left");
    assert!(harness.events(0).iter().any(ended));
}

/// What is drawn moves evenly, however often it is drawn, and never back.
#[test]
fn n7_pictures_move_evenly_between_ticks() {
    for (updates_per_tick, mode) in [(3, PredictionMode::Always), (3, PredictionMode::ConfirmedOnly)] {
        let mut config = RunnerConfig::default();
        config.client.mode = mode;
        let defaults = HarnessSetup::new(Arc::new(tally_factory()), 2, zig_packed);
        let mut harness = open(RunnerHarness::new(HarnessSetup { config, updates_per_tick, ..defaults }));
        harness.join_all();
        harness.run_until_confirmed(300);
        harness.clear_records();
        harness.run_ticks(120);
        let pictures = harness.pictures(0);
        assert!(pictures.iter().all(|picture| (0.0..1.0).contains(&picture.alpha)));
        let place = |picture: &Picture| f64::from(u32::try_from(picture.tick.index()).expect("small")) + picture.alpha;
        let positions: Vec<_> = pictures.iter().map(place).collect();
        let steps: Vec<_> = positions.windows(2).map(|pair| pair[1] - pair[0]).collect();
        let (least, most) =
            steps.iter().fold((f64::MAX, f64::MIN), |(least, most), step| (least.min(*step), most.max(*step)));
        assert!(least >= 0.0, "{mode:?}: a picture went back by {least}");
        let even = 1.0 / f64::from(updates_per_tick);
        assert!(most <= even * 1.5, "{mode:?}: a picture jumped by {most}");
        let total: f64 = steps.iter().sum();
        assert!((total - 120.0).abs() < 4.0, "{mode:?}: {total} ticks in 120");
    }
}
