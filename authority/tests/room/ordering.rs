//! The confirm rule: A1 to A4, and the cases A01, A03 and A07.

use retick_authority::room::{CloseCause, ClosedCause, ConnectionId, RoomEvent, SeatState};
use retick_core::seat::{ControlEpoch, Generation, Presence};
use retick_core::tick::Tick;
use retick_core::wire::{ClientMessage, CloseReason, InputRun, Inputs};

use crate::driver::{GENERATION, Match, config, seat, zig};

#[test]
fn a01_the_deadline_edge() {
    let (mut game, clients) = Match::started(config(2, 6));
    for a in 0..80 {
        if a < 60 {
            game.input(clients[0], a, zig(0, a));
        }
        for tick in 0..60 {
            let (arrives, value) = match tick {
                20 => (25, 9),
                40 => (47, 9),
                50 => (50, 0),
                _ => (tick, 1),
            };
            if arrives == a {
                game.input(clients[1], tick, value);
            }
        }
        game.step();
    }
    assert_eq!((game.value(20, 1), game.when[20]), ((Some(9), false), 25));
    assert_eq!((game.value(39, 1), game.value(40, 1)), ((Some(1), false), (Some(1), true)));
    assert_eq!(game.when[40..47], [46; 7]);
    assert_eq!(game.value(50, 1), (Some(0), false));
    assert_eq!(game.flagged(1)[0], 40);
    // The script ends at tick 60; from there on both seats are silent and the room goes on without them.
    assert_eq!(game.flagged(1).iter().filter(|tick| **tick < 60).count(), 1);
    assert_eq!(game.counters(1).late_inputs, 1);
    let tally = game.tally(60);
    assert_eq!((tally.sum, tally.sub, tally.mix), (vec![1, 67], vec![0, 1], 0x4D11_D5C7));
}

#[test]
fn a1_inputs_are_awaited_while_a_tick_that_the_clock_has_reached_lacks_one() {
    assert!(Match::new(config(2, 6)).room.awaits_inputs(), "no clock says when they count");
    let (mut game, clients) = Match::started(config(2, 6));
    for tick in 0..20 {
        game.input(clients[0], tick, 0);
        if tick != 9 {
            game.input(clients[1], tick, 0);
        }
        game.step();
        // The room goes on without it at its deadline.
        assert_eq!(game.room.awaits_inputs(), (9..15).contains(&tick), "{tick}");
    }
}

#[test]
fn a01_neutral_is_not_missing() {
    let (mut game, clients) = Match::started(config(2, 6));
    for a in 0..30 {
        game.input(clients[0], a, zig(0, a));
        if a >= 3 {
            game.input(clients[1], a, 1);
        }
        game.step();
    }
    for tick in 0..3 {
        assert_eq!(game.value(tick, 1), (None, true));
    }
    assert_eq!(game.value(3, 1), (Some(1), false));
    assert_eq!(game.when[..4], [6, 7, 8, 8]);
}

#[test]
fn a01_the_last_delivery_before_the_deadline_counts_and_the_first_after_does_not() {
    for (arrives, expected) in [(15, (Some(9), false)), (16, (Some(9), false)), (17, (Some(1), true))] {
        let (mut game, clients) = Match::started(config(2, 6));
        for a in 0..30 {
            game.input(clients[0], a, 0);
            if a != 10 {
                game.input(clients[1], a, 1);
            }
            if a == arrives {
                game.input(clients[1], 10, 9);
            }
            game.step();
        }
        assert_eq!((game.value(10, 1), game.when[10]), (expected, arrives.min(16)), "arrives at {arrives}");
    }
}

/// The fault that this pins: accepting an input whose tick is at least the frontier less one.
#[test]
fn a01_an_input_for_the_tick_that_was_just_confirmed_is_late() {
    let (mut game, clients) = Match::started(config(2, 6));
    game.inputs(clients[0], 0, &[0; 30]);
    game.inputs(clients[1], 0, &[1; 10]);
    game.step_to(17);
    assert_eq!(game.room.frontier(), Tick::new(11));
    game.input(clients[1], 10, 9);
    assert_eq!(game.counters(1).late_inputs, 1);
    game.step_to(30);
    assert_eq!((game.value(10, 1), game.value(11, 1)), ((Some(1), true), (Some(1), true)));
}

/// Both runs of A03: tick 31 arrives before tick 30, then the repeats.
fn a03(repeats: &[i32]) -> Match {
    let (mut game, clients) = Match::started(config(2, 6));
    for a in 0..60 {
        game.input(clients[0], a, zig(0, a));
        match a {
            30 => game.input(clients[1], 31, 0),
            31 => {}
            32 => {
                game.input(clients[1], 32, 0);
                game.input(clients[1], 30, 5);
                repeats.iter().for_each(|value| game.input(clients[1], 30, *value));
            }
            _ => game.input(clients[1], a, 0),
        }
        game.step();
    }
    assert_eq!([30, 31, 32].map(|tick| game.value(tick, 1)), [(Some(5), false), (Some(0), false), (Some(0), false)]);
    assert_eq!(game.when[30..33], [32; 3]);
    let tally = game.tally(60);
    assert_eq!((tally.sum, tally.sub, tally.mix), (vec![1, 5], vec![0, 0], 0x1E31_7789));
    game
}

#[test]
fn a03_inputs_are_ordered_by_their_tick() {
    let game = a03(&[]);
    assert_eq!(game.counters(1), Default::default());
}

#[test]
fn a03_the_first_of_two_inputs_stands() {
    let game = a03(&[5, 7]);
    assert_eq!(game.counters(1).conflicting_inputs, 1);
    assert_eq!(game.room.seat_stats(seat(1)).map(|stats| stats.duplicate_inputs), Some(1));
}

/// Three seats, H = 30: everyone plays `zig` except for what `at` says of seat 2.
fn a07(ticks: u64, mut at: impl FnMut(&mut Match, ConnectionId, u64)) -> Match {
    let (mut game, clients) = Match::started(config(3, 30));
    for a in 0..ticks {
        for (client, s) in clients.iter().zip(0..2) {
            game.input(*client, a, zig(s, a));
        }
        at(&mut game, clients[2], a);
        game.step();
    }
    game
}

#[test]
fn a07a_a_leave_never_stalls_the_room() {
    let game = a07(301, |game, client, a| match a {
        0..100 => game.input(client, a, zig(2, a)),
        100 => {
            // Buffered ahead, and discarded by the leave.
            game.inputs(client, 100, &[9; 5]);
            game.send(client, &ClientMessage::Leave);
        }
        _ => {}
    });
    assert!(game.when.iter().zip(0..).all(|(when, tick)| *when == tick), "no tick lags");
    assert_eq!(game.value(100, 2), (None, false));
    assert_eq!(game.frame(99).seat(seat(2)).presence, Presence::Human);
    let left = game.frame(100);
    assert_eq!((left.seat(seat(2)).presence, left.seat(seat(2)).epoch), (Presence::Empty, ControlEpoch(2)));
    let peer = &game.peers[&ConnectionId(2)];
    assert_eq!(peer.closed, Some(CloseCause::Ended(CloseReason::Left)));
    let tally = game.tally(300);
    assert_eq!((tally.sum, tally.sub, tally.mix), (vec![-5, 4, 1], vec![0; 3], 0xD7D9_ECDF));
}

#[test]
fn a07b_a_dropped_seat_delays_by_the_tolerance_alone() {
    let game = a07(400, |game, client, a| match a {
        0..200 => game.input(client, a, zig(2, a)),
        260 => game.disconnect(client),
        _ => {}
    });
    assert_eq!(game.when[199..202], [199, 230, 231]);
    assert!(game.when.windows(2).all(|pair| pair[1] - pair[0] <= 31));
    // Substitution happens at the deadline: ticks 200 to 229 were substituted before the disconnect was processed at 260, and
    // tick 230, whose deadline is 260, after it.
    for tick in 200..230 {
        assert_eq!(game.value(tick, 2), (Some(-3), true), "{tick}");
        assert_eq!(game.frame(tick).seat(seat(2)).presence, Presence::Human);
    }
    for tick in 230..370 {
        assert_eq!(game.value(tick, 2), (None, true), "{tick}");
        assert_eq!(game.frame(tick).seat(seat(2)).presence, Presence::Disconnected);
    }
    game.check_everyone();
}

#[test]
fn a07c_a_seat_that_leaves_before_tick_0_is_not_waited_for() {
    let mut game = Match::new(config(3, 30));
    let clients = [game.join_ready(), game.join_ready(), game.join()];
    game.step();
    assert_eq!(game.room.clock_tick(), None);
    game.send(clients[2], &ClientMessage::Leave);
    assert!(game.events.contains(&RoomEvent::Started { generation: GENERATION }));
    (0..2).for_each(|k| game.input(clients[k], 0, 4));
    game.step();
    assert_eq!(game.when, [1]);
    assert_eq!((game.value(0, 1), game.value(0, 2)), ((Some(4), false), (None, false)));
    assert_eq!(game.room.seat_state(seat(2)), Some(SeatState::Vacated));
}

#[test]
fn a07d_a_deserted_room_closes_once() {
    let (mut game, clients) = Match::started(config(3, 30));
    (0..3).for_each(|k| game.inputs(clients[k], 0, &[1; 20]));
    game.step_to(10);
    clients.iter().for_each(|client| game.send(*client, &ClientMessage::Leave));
    clients.iter().for_each(|client| game.disconnect(*client));
    game.room.close(game.now());
    game.step_to(60);
    let closed = |event: &&RoomEvent| matches!(event, RoomEvent::Closed { .. });
    assert_eq!(game.events.iter().filter(closed).count(), 1);
    assert_eq!(game.events.last(), Some(&RoomEvent::Closed { cause: ClosedCause::Deserted }));
    assert_eq!((game.when.len(), game.room.next_timeout(), game.room.is_closed()), (10, None, true));
    game.check_everyone();
}

#[test]
fn a1_no_tick_is_confirmed_before_the_clock_reaches_it() {
    let (mut game, clients) = Match::started(config(2, 6));
    clients.iter().for_each(|client| game.inputs(*client, 0, &[3; 50]));
    assert_eq!(game.room.frontier(), Tick::ZERO, "messages are only recorded");
    game.step_to(50);
    assert!(game.when.iter().zip(0..).all(|(when, tick)| *when == tick));
    assert_eq!(game.when.len(), 50);
}

#[test]
fn a2_the_last_input_survives_a_reconnect_but_not_a_control_epoch() {
    let (mut game, clients) = Match::started(config(2, 0));
    clients.iter().for_each(|client| game.input(*client, 0, 7));
    game.step();
    game.disconnect(clients[1]);
    game.step();
    let back = game.return_from(clients[1]);
    game.step();
    game.send(back, &ClientMessage::Leave);
    game.step();
    let seen: Vec<_> = (0..4).map(|tick| game.value(tick, 1)).collect();
    assert_eq!(seen, [(Some(7), false), (None, true), (Some(7), true), (None, false)]);
    let epochs: Vec<_> = (0..4).map(|tick| game.frame(tick).seat(seat(1)).epoch.0).collect();
    assert_eq!(epochs, [1, 1, 1, 2]);
}

#[test]
fn a2_a_disconnect_keeps_what_was_delivered() {
    let (mut game, clients) = Match::started(config(2, 6));
    game.inputs(clients[0], 0, &[1; 20]);
    game.inputs(clients[1], 0, &[2; 10]);
    game.step_to(3);
    game.disconnect(clients[1]);
    game.step_to(20);
    assert_eq!((game.value(9, 1), game.when[9]), ((Some(2), false), 9));
    assert_eq!((game.value(10, 1), game.when[10]), ((None, true), 16));
}

#[test]
fn a4_inputs_beyond_the_look_ahead_are_refused_and_counted() {
    let (mut game, clients) = Match::started(config(2, 6));
    // 120 ticks are two seconds, which is more than tolerance and input delay.
    game.input(clients[0], 120, 5);
    assert_eq!(game.counters(0).refused_inputs, 0);
    game.input(clients[0], 121, 5);
    game.input(clients[0], u64::MAX, 5);
    assert_eq!(game.counters(0).refused_inputs, 2);
    game.step_to(7);
    game.input(clients[0], 121, 6);
    game.step_to(140);
    assert_eq!((game.value(120, 0), game.value(121, 0)), ((Some(5), false), (Some(6), false)));
}

#[test]
fn a2_a5_inputs_that_are_too_long_or_stale_are_refused_and_counted() {
    let (mut game, clients) = Match::started(config(2, 6));
    let mut send = |generation, epoch, first, input: &[u8]| {
        let flat = [input, input].concat();
        let inputs = InputRun::new(2, &flat).expect("even");
        let message =
            Inputs { generation: Generation(generation), epoch: ControlEpoch(epoch), first: Tick::new(first), inputs };
        game.send(clients[0], &ClientMessage::Inputs(message));
        game.counters(0).refused_inputs
    };
    assert_eq!(send(0, 1, 0, &[0; 4]), 0);
    assert_eq!(send(0, 1, 2, &[0; 5]), 2);
    assert_eq!(send(1, 1, 2, &[0; 4]), 4);
    assert_eq!(send(0, 0, 2, &[0; 4]), 6);
    assert_eq!(send(0, 2, 2, &[0; 4]), 8);
    assert_eq!(send(0, 1, u64::MAX, &[0; 4]), 10);
    assert_eq!(send(0, 1, 2, &[0; 4]), 10);
}
