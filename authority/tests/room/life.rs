//! A match's life (A15): how it begins, stands still, and ends with a result; who is told, and who may.

use retick_authority::room::{
    MatchSettlement, PauseError, PausePolicy, Room, RoomConfig, RoomConfigError, RoomEvent, SeatPolicy, StartError,
    StartPolicy,
};
use retick_core::seat::{Generation, Presence, SeatSet};
use retick_core::tick::Tick;
use retick_core::wire::{ClientMessage, Refusal, RoomClock};

use crate::driver::{GENERATION, Match, Notice, SECRET, config, seat};

fn pause(game: &mut Match, client: retick_authority::room::ConnectionId, paused: bool) {
    game.send(client, &ClientMessage::Pause { generation: GENERATION, paused });
}

fn minimum(seats: u8, countdown_millis: u32) -> RoomConfig {
    RoomConfig { start: StartPolicy::Minimum { seats, countdown_millis }, ..config(3, 6) }
}

#[test]
fn a15_a_countdown_runs_while_enough_players_want_it() {
    let mut game = Match::new(minimum(2, 1_000));
    let first = game.join_ready();
    game.step_to(100);
    let second = game.join_ready();
    assert!(game.room.next_timeout().is_some(), "the countdown is awaited");
    game.step_to(130);
    // A vote to wait ends it, and it begins anew.
    game.send(second, &ClientMessage::Vote { ready: false });
    game.step_to(200);
    assert_eq!(game.room.clock_tick(), None);
    game.send(second, &ClientMessage::Vote { ready: true });
    game.step_to(259);
    assert_eq!(game.room.clock_tick(), None);
    game.step_to(262);
    assert!(game.room.clock_tick().is_some());
    let starts = game.events.iter().filter(|event| matches!(event, RoomEvent::Started { .. }));
    assert_eq!(starts.count(), 1);
    assert_eq!(game.room.seat_presence(seat(2)), Presence::Empty);
    assert_eq!(game.peer(first).roster.as_ref().map(|roster| roster.1[1].ready), Some(true));
    assert_eq!(game.room.start(game.now()), Err(StartError::NotManual));
}

#[test]
fn a15_a_countdown_ends_with_a_lost_player_and_a_full_room_needs_none() {
    let mut game = Match::new(minimum(2, 1_000));
    let clients = [game.join_ready(), game.join_ready()];
    game.step_to(30);
    game.disconnect(clients[1]);
    game.step_to(120);
    assert_eq!(game.room.clock_tick(), None);
    let back = game.return_from(clients[1]);
    game.ready(back);
    let third = game.join_ready();
    assert!(game.room.clock_tick().is_some(), "everyone is there and wants it");
    assert!(game.peer(third).notices.contains(&Notice::Started(RoomClock::default())));
    let refused = |config| Room::new(config, SECRET).err();
    assert_eq!(refused(minimum(0, 1)), Some(RoomConfigError::Minimum { seats: 0 }));
    assert_eq!(refused(minimum(4, 1)), Some(RoomConfigError::Minimum { seats: 4 }));
    assert_eq!(refused(minimum(3, 600_000)), None);
    let countdown_millis = 600_001;
    assert_eq!(refused(minimum(3, countdown_millis)), Some(RoomConfigError::Countdown { countdown_millis }));
}

#[test]
fn a15_a_vote_to_wait_holds_a_full_room() {
    let mut game = Match::new(config(2, 6));
    let first = game.join();
    game.send(first, &ClientMessage::Vote { ready: false });
    game.ready(first);
    let second = game.join_ready();
    assert_eq!(game.room.clock_tick(), None);
    game.send(second, &ClientMessage::Vote { ready: true });
    assert_eq!(game.room.clock_tick(), None);
    game.send(first, &ClientMessage::Vote { ready: true });
    assert_eq!(game.room.clock_tick(), Some(Tick::ZERO));
}

#[test]
fn a15_the_creator_starts_and_passes_that_on_when_it_leaves() {
    let mut game = Match::new(RoomConfig { start: StartPolicy::Creator, ..config(3, 6) });
    let clients = [game.join_ready(), game.join_ready(), game.join_ready()];
    assert_eq!((game.room.clock_tick(), game.room.creator()), (None, Some(seat(0))));
    game.send(clients[1], &ClientMessage::Start);
    assert_eq!((game.room.clock_tick(), game.room.stats().refused_requests), (None, 1));
    game.send(clients[0], &ClientMessage::Leave);
    assert_eq!(game.room.creator(), Some(seat(1)));
    game.send(clients[1], &ClientMessage::Start);
    assert_eq!(game.room.clock_tick(), Some(Tick::ZERO));
    game.send(clients[1], &ClientMessage::Start);
    assert_eq!(game.room.stats().refused_requests, 2);
    game.play(&clients[1..], 5);
    game.check_everyone();
}

#[test]
fn a15_who_is_there_is_told_when_it_changes_and_not_otherwise() {
    let mut game = Match::new(config(2, 6));
    let first = game.join();
    let views = |game: &Match| game.peer(first).roster.clone().expect("told").1;
    assert_eq!((views(&game)[0].joining, views(&game)[0].ready), (true, false));
    game.ready(first);
    assert_eq!((views(&game)[0].joining, views(&game)[0].ready), (false, true));
    assert_eq!(views(&game)[0].presence, Presence::Human);
    let second = game.join_ready();
    assert_eq!(views(&game)[1].presence, Presence::Human);
    let told = game.peer(first).rosters;
    game.play(&[first, second], 100);
    assert_eq!(game.peer(first).rosters, told);
    game.disconnect(second);
    assert_eq!((views(&game)[1].presence, game.peer(first).rosters), (Presence::Disconnected, told + 1));
    // Everyone who is greeted knows it, also when nothing changes.
    let observer = game.observe(0);
    assert_eq!(game.peer(observer).roster.as_ref().map(|roster| roster.1.len()), Some(2));
    assert_eq!(game.peer(first).rosters, told + 1);
}

#[test]
fn v1_a_locked_room_lets_in_whoever_has_a_seat() {
    let mut game = Match::new(config(3, 6));
    let player = retick_core::wire::PlayerId([7; 32]);
    let clients = [game.join_ready(), game.join_as(player)];
    game.room.set_locked(true);
    game.drain();
    assert!(game.room.is_locked() && game.peer(clients[0]).roster.as_ref().is_some_and(|roster| roster.0));
    let stranger = game.join();
    assert_eq!(game.peer(stranger).refusal(), Some(Refusal::Locked));
    let back = game.return_from(clients[0]);
    let again = game.join_as(player);
    assert_eq!((game.peer(back).seat, game.peer(again).seat), (Some(seat(0)), Some(seat(1))));
    game.room.set_locked(false);
    let welcome = game.join();
    assert_eq!(game.peer(welcome).seat, Some(seat(2)));
}

#[test]
fn a15_nobody_is_substituted_while_the_clock_stands_still_and_it_goes_on_from_there() {
    let (mut game, clients) = Match::started(RoomConfig { pause: PausePolicy::Anyone, ..config(2, 6) });
    game.play(&clients, 20);
    // Seat 1 is late when the clock is stopped.
    game.inputs(clients[0], 20, &[1; 3]);
    game.step_to(22);
    pause(&mut game, clients[0], true);
    let stopped = Tick::new(23);
    assert!(clients.iter().all(|client| game.peer(*client).notices.last() == Some(&Notice::Paused(stopped))));
    assert_eq!(game.events.last(), Some(&RoomEvent::Paused { tick: stopped }));
    game.step_to(300);
    assert_eq!(
        (game.room.frontier(), game.room.clock_tick(), game.room.is_paused()),
        (Tick::new(20), Some(Tick::new(22)), true)
    );
    // What was still missing may come, and counts; beyond, nothing is confirmed.
    game.inputs(clients[1], 20, &[2; 5]);
    game.inputs(clients[0], 23, &[1; 5]);
    game.step_to(310);
    assert_eq!((game.room.frontier(), game.flagged(1)), (Tick::new(23), vec![]));
    // A newcomer is told.
    let observer = game.observe(0);
    assert_eq!(game.peer(observer).notices.last(), Some(&Notice::Paused(stopped)));
    pause(&mut game, clients[1], false);
    let clock = RoomClock { micros: game.rate.moment_of(Tick::new(22)).as_nanos().div_ceil(1_000) };
    assert_eq!(game.peer(clients[0]).notices.last(), Some(&Notice::Resumed(clock)));
    game.step_to(312);
    assert_eq!(game.room.frontier(), Tick::new(24));
    for tick in 25..60 {
        clients.iter().for_each(|client| game.input(*client, tick, 1));
        game.step();
    }
    assert_eq!((game.room.frontier(), game.flagged(0), game.flagged(1)), (Tick::new(59), vec![], vec![]));
    assert_eq!(game.peer(observer).next(), 59);
    game.check_everyone();
}

#[test]
fn a15_graces_run_on_while_the_clock_stands_still() {
    let mut config = RoomConfig { pause: PausePolicy::Anyone, ..config(2, 6) };
    config.grace_millis = 1_000;
    let (mut game, clients) = Match::started(config);
    game.play(&clients, 10);
    game.disconnect(clients[1]);
    game.input(clients[0], 10, 1);
    pause(&mut game, clients[0], true);
    game.step_to(60);
    assert_eq!(game.room.seat_presence(seat(1)), Presence::Disconnected);
    game.step_to(80);
    assert_eq!((game.room.seat_presence(seat(1)), game.room.frontier()), (Presence::Empty, Tick::new(11)));
    game.check_everyone();
}

#[test]
fn a15_who_may_stop_the_clock() {
    let outcome = |policy, by: usize| {
        let (mut game, clients) = Match::started(RoomConfig { pause: policy, ..config(2, 6) });
        game.play(&clients, 5);
        pause(&mut game, clients[by], true);
        (game.room.is_paused(), game.room.stats().refused_requests)
    };
    assert_eq!(outcome(PausePolicy::Nobody, 0), (false, 1));
    assert_eq!((outcome(PausePolicy::Creator, 0), outcome(PausePolicy::Creator, 1)), ((true, 0), (false, 1)));
    assert_eq!(outcome(PausePolicy::Anyone, 1), (true, 0));
    let (mut game, clients) = Match::started(RoomConfig { pause: PausePolicy::Anyone, ..config(2, 6) });
    game.send(clients[0], &ClientMessage::Pause { generation: Generation(1), paused: true });
    pause(&mut game, clients[0], false);
    assert_eq!(game.room.stats().refused_requests, 2);
    // The driver always may.
    let now = game.now();
    assert_eq!((game.room.unpause(now), game.room.pause(now)), (Err(PauseError::NotPaused), Ok(())));
    assert_eq!((game.room.pause(now), game.room.unpause(now)), (Err(PauseError::NotRunning), Ok(())));
}

fn result(game: &mut Match, client: retick_authority::room::ConnectionId, tick: u64, result: &[u8]) {
    let generation = game.peer(client).generation;
    game.send(client, &ClientMessage::Result { generation, tick: Tick::new(tick), result });
}

fn refused(game: &Match) -> u64 {
    game.room.stats().seats.refused_results
}

#[test]
fn a15_a_result_is_agreed_once_everyone_has_said_the_same() {
    let (mut game, clients) = Match::started(config(3, 6));
    game.play(&clients, 50);
    result(&mut game, clients[0], 51, b"too early");
    game.send(clients[0], &ClientMessage::Result { generation: Generation(1), tick: Tick::new(9), result: b"stale" });
    assert_eq!((refused(&game), game.room.settlement()), (2, MatchSettlement::Incomplete { reported: SeatSet::EMPTY }));
    result(&mut game, clients[0], 50, b"2:1");
    result(&mut game, clients[1], 50, b"2:1");
    let reported = [seat(0), seat(1)].into_iter().collect();
    assert_eq!(game.room.settlement(), MatchSettlement::Incomplete { reported }, "silence is no agreement");
    result(&mut game, clients[0], 50, b"3:1");
    assert_eq!(refused(&game), 3);
    // Whoever leaves need not say anything any more.
    game.send(clients[2], &ClientMessage::Leave);
    let agreed = MatchSettlement::Agreed { tick: Tick::new(50), result: b"2:1" };
    assert_eq!(game.room.settlement(), agreed);
    let told = Notice::Agreed { tick: Tick::new(50), result: b"2:1".to_vec() };
    for client in &clients[..2] {
        assert_eq!(game.peer(*client).notices.iter().filter(|notice| **notice == told).count(), 1);
    }
    // It is final, and newcomers are told.
    result(&mut game, clients[1], 50, b"2:1");
    assert_eq!((refused(&game), game.room.settlement()), (4, agreed));
    let observer = game.observe(0);
    assert!(game.peer(observer).notices.contains(&told));
    assert!(game.events.contains(&RoomEvent::Agreed { tick: Tick::new(50) }));
}

/// What somebody said who is not in the match any more neither speaks for it nor against it.
#[test]
fn a15_whoever_leaves_takes_its_result_along() {
    let (mut game, clients) = Match::started(config(3, 6));
    game.play(&clients, 50);
    result(&mut game, clients[0], 50, b"I won");
    game.send(clients[0], &ClientMessage::Leave);
    assert_eq!(game.room.settlement(), MatchSettlement::Incomplete { reported: SeatSet::EMPTY });
    result(&mut game, clients[1], 50, b"2:1");
    result(&mut game, clients[2], 50, b"2:1");
    assert_eq!(game.room.settlement(), MatchSettlement::Agreed { tick: Tick::new(50), result: b"2:1" });
}

#[test]
fn a15_two_results_that_differ_or_a_desync_are_a_dispute() {
    // In bytes, in the state, and although all results agree.
    for (tick, said, differs) in [(50, &b"2:2"[..], false), (49, b"2:1", false), (50, b"2:1", true)] {
        let (mut game, clients) = Match::started(config(2, 6));
        game.play(&clients, 60);
        if differs {
            game.report(clients[0], 1, b"a");
            game.report(clients[1], 1, b"b");
        }
        result(&mut game, clients[0], 50, b"2:1");
        result(&mut game, clients[1], tick, said);
        assert_eq!(game.room.settlement(), MatchSettlement::Disputed);
        assert!(clients.iter().all(|client| game.peer(*client).notices.last() == Some(&Notice::Disputed)));
        assert_eq!(game.events.iter().filter(|event| **event == RoomEvent::Disputed).count(), 1);
    }
}

/// K10(c), the settlement: whoever is silent makes it incomplete, and a bot has nothing to say.
#[test]
fn k10_c_a_silent_seat_leaves_the_settlement_incomplete() {
    let initial_bots = [seat(2)].into_iter().collect();
    let seats = SeatPolicy { initial_bots, ..SeatPolicy::default() };
    let mut game = Match::new(RoomConfig { seats, ..config(3, 6) });
    let clients = [game.join_ready(), game.join_ready()];
    game.play(&clients, 50);
    result(&mut game, clients[0], 50, b"won");
    game.play(&clients, 200);
    let reported = [seat(0)].into_iter().collect();
    assert_eq!(game.room.settlement(), MatchSettlement::Incomplete { reported });
    result(&mut game, clients[1], 50, b"won");
    assert_eq!(game.room.settlement(), MatchSettlement::Agreed { tick: Tick::new(50), result: b"won" });
}
