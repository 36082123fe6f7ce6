//! Observers (A14): they get what everyone gets, hold no seat, and hold up nobody.

use retick_authority::room::{
    CloseCause, ConnectionId, MAX_DELIVERIES, MAX_OBSERVER_DELIVERIES, RoomConfig, SeatState,
};
use retick_core::seat::Presence;
use retick_core::tick::Tick;
use retick_core::wire::{ClientMessage, CloseReason, NoSnapshot, Refusal};

use crate::donation::{ENTRY, REPORTED, STATE_BYTES, Scene, forgetful};
use crate::donors::{Peers, Taker};
use crate::driver::{GENERATION, Match, Notice, Transfer, config, seat};

#[test]
fn a14_an_observer_gets_frames_desyncs_and_ephemerals_and_no_seat() {
    let mut game = Match::new(config(2, 6));
    let early = game.observe(0);
    assert_eq!(game.peer(early).notices, [Notice::Watching { frontier: Tick::ZERO }]);
    let clients = [game.join_ready(), game.join_ready()];
    assert_eq!(game.room.observer_count(), 1);
    game.play(&clients, 50);
    let late = game.observe(0);
    game.play(&clients, 60);
    for observer in [early, late] {
        let peer = game.peer(observer);
        assert_eq!((peer.seat, peer.first, peer.next()), (None, 0, 60));
    }
    // One that was away goes on from where it was.
    let back = game.observe(57);
    game.play(&clients, 65);
    assert_eq!((game.peer(back).first, game.peer(back).next()), (57, 65));
    game.send(clients[0], &ClientMessage::Ephemeral { payload: b"hi" });
    game.report(clients[0], 1, b"a");
    game.report(clients[1], 1, b"b");
    let told = |game: &Match, notice: fn(&Notice) -> bool| game.peer(early).notices.iter().any(notice);
    assert!(told(&game, |notice| matches!(notice, Notice::Ephemeral { .. })));
    assert!(told(&game, |notice| matches!(notice, Notice::Desync { .. })));
    assert!(told(&game, |notice| matches!(notice, Notice::Started(_))));
    assert_eq!(game.when, (0..65).collect::<Vec<_>>());
    game.check_everyone();
}

#[test]
fn a14_what_only_players_may_send_is_counted_and_ignored() {
    let (mut game, clients) = Match::started(config(2, 6));
    let observer = game.observe(0);
    game.inputs(observer, 0, &[9; 10]);
    game.report(observer, 1, b"a");
    game.command(observer, 1, b"x");
    let (generation, paused) = (GENERATION, true);
    for message in [
        ClientMessage::Ephemeral { payload: b"boo" },
        ClientMessage::Vote { ready: false },
        ClientMessage::Start,
        ClientMessage::Pause { generation, paused },
        ClientMessage::Reconfigure { generation, config: b"" },
        ClientMessage::Result { generation, tick: Tick::ZERO, result: b"I won" },
    ] {
        game.send(observer, &message);
    }
    assert_eq!(game.room.stats().ignored_observer_messages, 9);
    // It may ask for the clock, and say that it is ready.
    game.ready(observer);
    game.send(observer, &ClientMessage::Ping { sent_micros: 8, rollbacks: 0 });
    assert!(matches!(game.peer(observer).notices.last(), Some(Notice::Pong { sent_micros: 8, .. })));
    game.play(&clients, 10);
    assert_eq!((game.when[9], game.value(5, 0), game.value(5, 1)), (9, (Some(1), false), (Some(1), false)));
    assert!(clients.iter().all(|client| !game.peer(*client).was_sent(b"boo")));
    assert_eq!(game.room.stats().ignored_observer_messages, 9);
    // Bytes that are no message, or a second greeting, end it alone.
    game.send_bytes(observer, &[200]);
    assert_eq!(game.peer(observer).closed, Some(CloseCause::Ended(CloseReason::Malformed)));
    assert_eq!(game.room.seat_presence(seat(0)), Presence::Human);
    game.check_everyone();
}

#[test]
fn a14_observers_are_capped_and_a_locked_room_takes_none() {
    let mut game = Match::new(RoomConfig { max_observers: 2, ..config(2, 6) });
    let watching = [game.observe(0), game.observe(0)];
    let third = game.observe(0);
    assert_eq!(game.peer(third).refusal(), Some(Refusal::Observers));
    // A place that was left, or lost, is free at once: observers have no grace.
    game.send(watching[0], &ClientMessage::Leave);
    assert_eq!(game.peer(watching[0]).closed, Some(CloseCause::Ended(CloseReason::Left)));
    let fourth = game.observe(0);
    assert_eq!((game.peer(fourth).refusal(), game.room.observer_count()), (None, 2));
    game.disconnect(watching[1]);
    game.room.set_locked(true);
    let fifth = game.observe(0);
    assert_eq!(game.peer(fifth).refusal(), Some(Refusal::Locked));
    let mut none = Match::new(RoomConfig { max_observers: 0, ..config(2, 6) });
    let refused = none.observe(0);
    assert_eq!(none.peer(refused).refusal(), Some(Refusal::Observers));
    // Frames that the room does not have are another history.
    let beyond = game.observe(7);
    assert_eq!(game.peer(beyond).refusal(), Some(Refusal::Locked));
    game.room.set_locked(false);
    let beyond = game.observe(7);
    let forked = Refusal::HistoryForked { room: Tick::ZERO, client: Tick::new(7) };
    assert_eq!(game.peer(beyond).refusal(), Some(forked));
}

#[test]
fn a11_an_observer_that_floods_is_closed_and_nobody_else_notices() {
    let (mut game, clients) = Match::started(config(2, 6));
    let observer = game.observe(0);
    for sent_micros in 0..=270 {
        game.send(observer, &ClientMessage::Ping { sent_micros, rollbacks: 0 });
    }
    assert_eq!(game.peer(observer).closed, Some(CloseCause::Ended(CloseReason::Budget)));
    assert_eq!((game.room.stats().over_budget_connections, game.room.observer_count()), (1, 0));
    game.play(&clients, 20);
    assert_eq!(game.when, (0..20).collect::<Vec<_>>());
}

#[test]
fn a14_observers_do_not_keep_a_deserted_room() {
    let (mut game, clients) = Match::started(config(2, 6));
    let observer = game.observe(0);
    clients.iter().for_each(|client| game.send(*client, &ClientMessage::Leave));
    assert!(game.room.is_closed());
    assert_eq!(game.peer(observer).closed, Some(CloseCause::Ended(CloseReason::RoomEnded)));
    assert_eq!(game.room.seat_state(seat(0)), Some(SeatState::Vacated));
}

/// Who is announced a snapshot, of these.
fn announced(scene: &Scene, connections: &[ConnectionId]) -> usize {
    let told = |id: &&ConnectionId| {
        Peers::told(&scene.game, **id).iter().any(|transfer| matches!(transfer, Transfer::Snapshot { .. }))
    };
    connections.iter().filter(told).count()
}

#[test]
fn a14_observers_that_read_slowly_never_keep_a_player_from_its_snapshot() {
    let mut scene = Scene::before(forgetful(4), STATE_BYTES, 1);
    let onlookers: Vec<_> = (0..MAX_DELIVERIES).map(|_| scene.game.observe(0)).collect();
    scene.peers.takers.extend(onlookers.iter().map(|onlooker| (*onlooker, Taker::Stalls)));
    scene.play(ENTRY + 60);
    let served = announced(&scene, &onlookers);
    scene.enter();
    scene.play(ENTRY + 240);
    assert_eq!(scene.hydrated(0), Some((REPORTED, true)), "{served} observers were being served");
    assert_eq!(served, MAX_OBSERVER_DELIVERIES);
    // Those in the way are given up, and the others have their turn.
    scene.play(ENTRY + 60 + 12 * 60);
    assert_eq!(announced(&scene, &onlookers), MAX_DELIVERIES);
    scene.check_undisturbed();
}

/// Each would cost a player four megabytes of upload.
#[test]
fn a14_an_observer_that_can_use_no_snapshot_makes_no_player_give_another() {
    let mut scene = Scene::before(forgetful(4), STATE_BYTES, 1);
    let onlooker = scene.game.observe(0);
    scene.peers.takers.insert(onlooker, Taker::Fails);
    scene.play(ENTRY + 300);
    assert_eq!(scene.game.room.stats().failed_deliveries, 2, "guard: it had the same twice");
    assert_eq!(scene.peers.asked.len(), 1);
    // It waits for the next one for so long, and no longer.
    scene.play(ENTRY + 300 + 10 * 60);
    let closed = CloseCause::Ended(CloseReason::NoHistory(NoSnapshot::Mismatch));
    assert_eq!((scene.game.peer(onlooker).closed, scene.peers.asked.len()), (Some(closed), 1));
    scene.enter();
    scene.play(scene.game.tick + 100);
    assert!(scene.hydrated(0).is_some_and(|(_, verified)| verified), "a player is given one all the same");
    assert_eq!(scene.peers.asked.len(), 2);
    scene.check_undisturbed();
}
