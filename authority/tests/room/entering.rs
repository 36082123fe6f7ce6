//! Greetings, refusals and the start (A5, A7, A15).

use retick_authority::room::{
    CloseCause, MAX_CONNECTIONS, Room, RoomConfig, RoomConfigError, RoomEvent, SeatState, StartError, StartPolicy,
};
use retick_core::digest::Identity;
use retick_core::seat::{ControlEpoch, Generation, Presence};
use retick_core::tick::{Tick, TickRate};
use retick_core::wire::{
    ClaimId, ClientMessage, CloseReason, Entry, Hello, MAX_TICKET_BYTES, PROTOCOL_VERSION, Refusal,
};

use crate::driver::{GENERATION, Match, Notice, SECRET, bytes_of, config, descriptor, hello, seat};

/// Sends one first message to a room of two seats, one of them taken, and gives the refusal.
fn refusal(first_message: &[u8]) -> Option<Refusal> {
    let mut game = Match::new(config(2, 6));
    let player = game.join();
    let client = game.connect();
    game.send_bytes(client, first_message);
    let peer = game.peer(client);
    assert_eq!(peer.closed, peer.refusal().map(CloseCause::Refused));
    // Whatever it was, it touched nobody else.
    assert_eq!((game.peer(player).closed, game.peer(player).notices.len()), (None, 1));
    peer.refusal()
}

#[test]
fn a7_a_first_message_that_is_no_greeting_is_refused() {
    let identity = descriptor(2, TickRate::Hz60).identity();
    let join = hello(identity, Entry::Join { ticket: b"" });
    assert_eq!(refusal(&join), None);
    let trailing = [&join[..], &[0]].concat();
    let ping = bytes_of(&ClientMessage::Ping { sent_micros: 0, rollbacks: 0 });
    let ticket = hello(identity, Entry::Join { ticket: &[0; MAX_TICKET_BYTES + 1] });
    let begun = &join[..2];
    for bytes in [&[][..], &[0], begun, &join[..join.len() - 1], &trailing, &ping, &ticket, &[255; 70_000]] {
        assert_eq!(refusal(bytes), Some(Refusal::Malformed), "{} bytes", bytes.len());
    }
}

#[test]
fn a7_another_protocol_or_identity_is_refused_with_both_values() {
    let room = descriptor(2, TickRate::Hz60).identity();
    let entry = Entry::Join { ticket: b"" };
    let later = bytes_of(&ClientMessage::Hello(Hello { protocol: 7, identity: room, entry }));
    assert_eq!(refusal(&later), Some(Refusal::Protocol { room: PROTOCOL_VERSION, client: 7 }));
    let client = Identity::from_bytes([9; 32]);
    assert_eq!(refusal(&hello(client, entry)), Some(Refusal::Identity { room, client }));
}

#[test]
fn a5_seats_are_claimed_once_lowest_first() {
    let mut game = Match::new(config(3, 6));
    let clients = [game.join(), game.join()];
    game.send(clients[0], &ClientMessage::Leave);
    let third = game.join();
    let (first, last) = (game.peer(clients[0]), game.peer(third));
    assert_eq!((first.seat, last.seat), (Some(seat(0)), Some(seat(2))), "a vacated seat is not recycled");
    assert_eq!((first.claim, last.claim, last.epoch), (ClaimId(0), ClaimId(2), ControlEpoch(1)));
    assert_ne!(first.token, last.token);
    let late = game.join();
    assert_eq!(game.peer(late).refusal(), Some(Refusal::Full { seats: 3 }));
    let states = [0, 1, 2, 3].map(|index| game.room.seat_state(seat(index)));
    assert_eq!(states, [Some(SeatState::Vacated), Some(SeatState::Joining), Some(SeatState::Joining), None]);
    assert_eq!(game.room.seat_presence(seat(1)), Presence::Empty);
}

#[test]
fn a15_the_room_starts_when_all_are_ready_and_not_before() {
    let mut game = Match::new(config(3, 6));
    let clients = [game.join_ready(), game.join(), game.join()];
    game.step();
    game.send(clients[1], &ClientMessage::Ready { generation: Generation(1) });
    assert_eq!((game.room.clock_tick(), game.room.stats().stale_readies), (None, 1));
    game.ready(clients[0]);
    game.ready(clients[2]);
    assert_eq!(game.room.clock_tick(), None, "full, but one is not ready");
    game.ready(clients[1]);
    assert_eq!(game.room.clock_tick(), Some(Tick::ZERO));
    for client in clients {
        let started = |notice: &&Notice| **notice == Notice::Started(Default::default());
        assert_eq!(game.peer(client).notices.iter().filter(started).count(), 1);
    }
    let starts = game.events.iter().filter(|event| matches!(event, RoomEvent::Started { .. }));
    assert_eq!(starts.count(), 1);
    assert_eq!(game.room.start(game.now()), Err(StartError::NotManual));
}

#[test]
fn a15_a_manual_room_starts_with_who_is_there() {
    let mut game = Match::new(RoomConfig { start: StartPolicy::Manual, ..config(3, 6) });
    assert_eq!(game.room.start(game.now()), Err(StartError::NoSeats));
    let clients = [game.join_ready(), game.join()];
    game.step();
    assert_eq!(game.room.clock_tick(), None);
    game.tick = 0;
    assert_eq!(game.room.start(game.now()), Ok(()));
    assert_eq!(game.room.start(game.now()), Err(StartError::NotWaiting));
    // The one that is not ready is not waited for, and what it sends is refused, until it is.
    game.input(clients[1], 0, 9);
    game.inputs(clients[0], 0, &[4; 10]);
    game.step_to(5);
    assert_eq!((game.when.as_slice(), game.counters(1).refused_inputs), (&[0, 1, 2, 3, 4][..], 1));
    assert_eq!((game.value(4, 1), game.frame(4).seat(seat(1)).presence), ((None, false), Presence::Empty));
    game.ready(clients[1]);
    let first = 5 + 15;
    assert_eq!(game.peer(clients[1]).notices.last(), Some(&Notice::Activated(Tick::new(first))));
    game.inputs(clients[0], 10, &[4; 20]);
    game.inputs(clients[1], 5, &[6; 20]);
    game.step_to(first + 5);
    let seen = |tick| (game.value(tick, 1), game.frame(tick).seat(seat(1)).presence);
    assert_eq!(seen(first - 1), ((None, false), Presence::Empty));
    assert_eq!(seen(first), ((Some(6), false), Presence::Human));
    assert_eq!(game.room.seat_stats(seat(1)).map(|stats| stats.early_inputs), Some(15));
    assert_eq!(game.frame(first).seat(seat(2)).presence, Presence::Empty);
    // A seat that nobody had is free also while the match runs.
    let late = [game.join(), game.join()];
    assert_eq!(game.peer(late[0]).seat, Some(seat(2)));
    assert_eq!(game.peer(late[1]).refusal(), Some(Refusal::Full { seats: 3 }));
    game.check_everyone();
}

#[test]
fn a3_what_a_joining_seat_left_in_its_buffer_never_stands_for_a_later_tick() {
    // Ready, delivers, is lost, and the room starts without it: the ring must not keep tick 3 for tick 3 + 121.
    let mut game = Match::new(RoomConfig { start: StartPolicy::Manual, ..config(2, 6) });
    let clients = [game.join_ready(), game.join_ready()];
    game.input(clients[1], 3, 9);
    game.disconnect(clients[1]);
    game.room.start(game.now()).expect("someone is there");
    game.step_to(20);
    let back = game.return_from(clients[1]);
    game.ready(back);
    game.step_to(140);
    assert_eq!(game.value(3, 1), (None, false));
    assert_eq!(game.value(3 + 121, 1), (None, true));
    game.check_everyone();
}

#[test]
fn a15_a_closed_room_refuses_and_tells_everyone() {
    let mut game = Match::new(config(2, 6));
    let (player, silent) = (game.join_ready(), game.connect());
    game.room.close(game.now());
    game.drain();
    assert_eq!(game.peer(player).closed, Some(CloseCause::Ended(CloseReason::RoomEnded)));
    assert_eq!(game.peer(silent).refusal(), Some(Refusal::Closing));
    let late = game.connect();
    assert_eq!(game.peer(late).refusal(), Some(Refusal::Closing));
    game.step();
    assert_eq!((game.room.is_closed(), game.room.clock_tick()), (true, None));
}

#[test]
fn a15_a_lobby_in_which_a_seat_is_still_free_outlives_its_players() {
    let mut game = Match::new(config(2, 6));
    let first = game.join_ready();
    game.send(first, &ClientMessage::Leave);
    assert!(!game.room.is_closed());
    let second = game.join_ready();
    assert_eq!((game.peer(second).seat, game.room.clock_tick()), (Some(seat(1)), Some(Tick::ZERO)));
    game.send(second, &ClientMessage::Leave);
    assert!(game.room.is_closed());
}

#[test]
fn l02_half_open_connections_hold_no_seat_and_end() {
    let mut game = Match::new(config(2, 6));
    let silent: Vec<_> = (0..MAX_CONNECTIONS - 1).map(|_| game.connect()).collect();
    let honest = game.join_ready();
    assert_eq!(game.peer(honest).seat, Some(seat(0)));
    let beyond = game.connect();
    assert_eq!(game.peer(beyond).refusal(), Some(Refusal::Full { seats: 2 }));
    game.step_to(300);
    assert_eq!(game.peer(silent[0]).refusal(), None);
    game.step();
    assert!(silent.iter().all(|client| game.peer(*client).refusal() == Some(Refusal::Malformed)));
    let other = game.join_ready();
    assert_eq!((game.peer(other).seat, game.room.clock_tick()), (Some(seat(1)), Some(Tick::ZERO)));
}

#[test]
fn a7_a_second_greeting_or_a_malformed_message_ends_that_connection_alone() {
    let identity = descriptor(2, TickRate::Hz60).identity();
    for bytes in [&hello(identity, Entry::Join { ticket: b"" })[..], &[], &[200], &[6]] {
        let (mut game, clients) = Match::started(config(2, 6));
        game.inputs(clients[0], 0, &[3; 10]);
        game.send_bytes(clients[1], bytes);
        assert_eq!(game.peer(clients[1]).closed, Some(CloseCause::Ended(CloseReason::Malformed)));
        assert_eq!(game.room.seat_presence(seat(1)), Presence::Disconnected);
        game.step_to(10);
        assert_eq!((game.value(0, 0), game.value(0, 1)), ((Some(3), false), (None, true)));
        assert_eq!((game.peer(clients[0]).closed, game.room.stats().malformed_messages), (None, 1));
        let back = game.return_from(clients[1]);
        assert_eq!((game.peer(back).refusal(), game.room.seat_presence(seat(1))), (None, Presence::Human));
    }
}

#[test]
fn a11_a_room_whose_honest_burst_exceeds_its_budget_is_refused_with_both_numbers() {
    let with = |hard_tolerance_ticks, input_delay| {
        let mut config = config(2, hard_tolerance_ticks);
        config.descriptor = config.descriptor.with_max_input_delay_ticks(input_delay);
        Room::new(config, SECRET).err()
    };
    assert_eq!(with(200, 10), None);
    assert_eq!(with(200, 11), Some(RoomConfigError::Budget { burst: 271, budget: 270 }));
    let mut config = config(2, 6);
    config.rules.checksum_cadence_ticks = 0;
    assert_eq!(Room::new(config.clone(), SECRET).err(), Some(RoomConfigError::NoCadence));
    config.rules.checksum_cadence_ticks = 196;
    assert!(Room::new(config.clone(), SECRET).is_ok());
    config.rules.checksum_cadence_ticks = 197;
    let too_long = RoomConfigError::Cadence { cadence: 197, most: 196 };
    assert_eq!(Room::new(config, SECRET).err(), Some(too_long));
    assert_eq!(GENERATION, descriptor(2, TickRate::Hz10).generation());
}
