//! The clamped clock, graces and `next_timeout` (A1, T03).

use retick_authority::room::{CLOCK_CLAMP_NANOS, MAX_TIMEOUT_INTERVAL_NANOS, Room, RoomConfig, SeatState, StartPolicy};
use retick_core::tick::{Moment, Tick, TickRate};
use retick_core::wire::{ClientMessage, RoomClock};

use crate::driver::{Match, Notice, SECRET, bytes_of, config, descriptor, hello, seat};
use retick_authority::room::ConnectionId;
use retick_core::wire::Entry;

#[test]
fn t03b_a_stalled_room_does_not_fast_forward() {
    let mut config = RoomConfig::new(descriptor(1, TickRate::Hz120));
    config.rules.hard_tolerance_ticks = 0;
    let (mut game, _) = Match::started(config);
    let steps = |game: &mut Match, millis: u64, sixtieths: u64| {
        let at = Moment::from_millis(millis).plus_nanos(sixtieths * 1_000_000_000 / 60);
        game.room.handle_timeout(at);
        game.drain();
        game.room.frontier().index()
    };
    let before = steps(&mut game, 0, 0);
    let after = steps(&mut game, 5_000, 0);
    assert_eq!((before, after), (1, 13), "one call of 5 s runs 12 steps");
    let after_all = (1..=6_000).map(|sixtieths| steps(&mut game, 5_000, sixtieths)).last();
    assert_eq!(after_all, Some(13 + 12_000));
}

#[test]
fn t03c_nobody_is_substituted_and_no_grace_ends_for_time_that_did_not_pass() {
    let (mut game, clients) = Match::started(config(3, 6));
    let play = |game: &mut Match, until: u64| {
        while game.tick < until {
            let tick = game.tick;
            clients[..2].iter().for_each(|client| game.input(*client, tick, 1));
            game.step();
        }
    };
    game.disconnect(clients[2]);
    play(&mut game, 300);
    // Ten of fifteen seconds of grace are left. The driver stalls for thirty, while the clients go on sending.
    assert_eq!(game.room.seat_state(seat(2)), Some(SeatState::Disconnected));
    let frontier = game.room.frontier().index();
    game.skew_nanos += 30_000_000_000;
    clients[..2].iter().for_each(|client| game.inputs(*client, 300, &[1; 6]));
    game.step();
    let confirmed = game.room.frontier().index() - frontier;
    assert_eq!((confirmed, game.room.clock_tick()), (6, Some(Tick::new(305))), "the clamp's worth");
    game.tick = 306;
    // From here the caller's clock is 30 s, less the clamp, ahead of the room's.
    game.skew_nanos = 30_000_000_000 - CLOCK_CLAMP_NANOS + 1_000_000_000_u64.div_ceil(60);
    play(&mut game, 899);
    assert_eq!((game.flagged(0), game.flagged(1)), (vec![], vec![]));
    assert_eq!(game.room.seat_state(seat(2)), Some(SeatState::Disconnected));
    play(&mut game, 902);
    assert_eq!(game.room.seat_state(seat(2)), Some(SeatState::Vacated));
}

#[test]
fn t03_pings_read_the_clamped_clock() {
    let mut game = Match::new(config(1, 6));
    let client = game.join();
    let ping = |game: &mut Match, sent_micros| {
        game.send(client, &ClientMessage::Ping { sent_micros, rollbacks: 0 });
        match game.peer(client).notices.last() {
            Some(Notice::Pong { sent_micros: echoed, clock, .. }) => {
                assert_eq!(*echoed, sent_micros);
                *clock
            }
            other => panic!("{other:?}"),
        }
    };
    assert_eq!(ping(&mut game, u64::MAX), None);
    game.ready(client);
    game.skew_nanos = 40_000_000;
    assert_eq!(ping(&mut game, 1), Some(RoomClock { micros: 40_000 }));
    game.skew_nanos = 3_000_000_000;
    assert_eq!(ping(&mut game, 2), Some(RoomClock { micros: 100_000 }));
    // A ping moves nothing.
    assert_eq!(game.room.clock_tick(), Some(Tick::ZERO));
    game.room.handle_timeout(game.now());
    assert_eq!(ping(&mut game, 3), Some(RoomClock { micros: 100_000 }));
}

#[test]
fn a1_the_room_asks_for_each_tick_and_never_sleeps_past_its_clamp() {
    for rate in TickRate::ALL {
        let mut game = Match::new(RoomConfig { start: StartPolicy::Manual, ..RoomConfig::new(descriptor(1, rate)) });
        assert_eq!(game.room.next_timeout(), None);
        game.join_ready();
        assert_eq!(game.room.next_timeout(), None, "a lobby without graces awaits nothing");
        // Started between two calls, a little after the clock's last move.
        game.room.handle_timeout(Moment::from_millis(10));
        game.room.start(Moment::from_millis(13)).expect("a player is there");
        assert_eq!(game.room.next_timeout(), Some(Moment::from_millis(13)));
        let mut now = Moment::from_millis(13);
        for _ in 0..200 {
            // A driver that always wakes 2 ms late confirms every tick on time all the same.
            game.room.handle_timeout(now);
            let next = game.room.next_timeout().expect("the clock runs");
            let waits = next.nanos_since(now);
            assert!(waits > 0 && waits <= MAX_TIMEOUT_INTERVAL_NANOS, "{rate}: {waits}");
            let since_start = Moment::from_nanos(now.nanos_since(Moment::from_millis(13)));
            assert_eq!(game.room.clock_tick(), Some(rate.tick_at(since_start)), "{rate}");
            now = next.plus_nanos(2_000_000);
        }
    }
}

#[test]
fn a6_graces_and_greetings_are_awaited_before_the_start_too() {
    let mut config = config(2, 6);
    (config.grace_millis, config.greeting_millis) = (80, 20);
    let mut room = Room::new(config, SECRET).expect("valid");
    let at = Moment::from_millis;
    let (player, silent) = (ConnectionId(1), ConnectionId(2));
    room.handle_connected(player, at(1_000));
    let identity = room.descriptor().identity();
    room.handle_message(player, &hello(identity, Entry::Join { ticket: b"" }), at(1_000));
    room.handle_message(player, &bytes_of(&ClientMessage::Ready { generation: Default::default() }), at(1_000));
    assert_eq!(room.next_timeout(), None);
    room.handle_connected(silent, at(1_010));
    assert_eq!(room.next_timeout(), Some(at(1_030)));
    room.handle_disconnected(player, at(1_010));
    room.handle_timeout(at(1_030));
    assert_eq!((room.stats().refused_connections, room.next_timeout()), (1, Some(at(1_080))));
    room.handle_timeout(at(1_080));
    assert_eq!(room.next_timeout(), Some(at(1_090)));
    room.handle_timeout(at(1_089));
    assert_eq!(room.seat_state(seat(0)), Some(SeatState::Disconnected));
    room.handle_timeout(at(1_090));
    assert_eq!((room.seat_state(seat(0)), room.next_timeout()), (Some(SeatState::Vacated), None));
}
