//! Lost transports, graces, resumes and the history that they bring (A6, A7, R05).

use retick_authority::room::{
    CloseCause, ConnectionId, MAX_CATCH_UP_CHUNKS_PER_CONNECTION, MAX_FRAMES_PER_RELEASE, RoomEvent, SeatState,
    VacancyCause,
};
use retick_core::seat::{Generation, Presence};
use retick_core::tick::Tick;
use retick_core::wire::{ClientMessage, CloseReason, PlayerId, Refusal, ResumeToken};

use crate::driver::{Match, Notice, config, seat, zig};

/// R05 up to authority tick `a`: seat 1 plays 2 until its transport is lost at 100, seat 0 plays on.
fn lost_at_100(a: u64) -> (Match, [ConnectionId; 2]) {
    let (mut game, clients) = Match::started(config(2, 6));
    while game.tick < a {
        let tick = game.tick;
        game.input(clients[0], tick, zig(0, tick));
        if tick < 100 {
            game.input(clients[1], tick, 2);
        } else if tick == 100 {
            game.disconnect(clients[1]);
        }
        game.step();
    }
    (game, [clients[0], clients[1]])
}

#[test]
fn r05_back_inside_the_grace() {
    let (mut game, clients) = lost_at_100(160);
    assert_eq!(game.room.seat_presence(seat(1)), Presence::Disconnected);
    let back = game.return_from(clients[1]);
    assert_eq!(game.peer(back).seat, Some(seat(1)));
    for tick in 100..160 {
        game.input(back, tick, 2);
    }
    while game.tick < 300 {
        let tick = game.tick;
        game.input(clients[0], tick, zig(0, tick));
        game.input(back, tick, 2);
        game.step();
    }
    let first_back = (100..300).find(|tick| game.value(*tick, 1).0.is_some());
    assert_eq!(first_back, Some(154));
    assert!((100..154).all(|tick| game.value(tick, 1) == (None, true)));
    assert_eq!(game.counters(1).late_inputs, 54);
    assert!(game.when.iter().zip(0..).all(|(when, tick)| when - tick <= 6));
    let tally = game.tally(300);
    assert_eq!((tally.sum, tally.mix), (vec![-5, 492], 0xB82E_D4C6));
    // The one that came back has everything, with nothing sent twice.
    assert_eq!((game.peer(back).first, game.peer(back).next()), (100, 300));
}

#[test]
fn r05_the_last_tick_of_the_grace_and_the_first_after_it() {
    // The grace of 900 ticks began at 100, and ends at 1000 after that tick's deliveries.
    for (returns_at, admitted) in [(999, true), (1000, true), (1001, false)] {
        let (mut game, clients) = lost_at_100(returns_at);
        let back = game.return_from(clients[1]);
        game.step();
        if admitted {
            assert_eq!(game.peer(back).refusal(), None);
            assert_eq!(game.room.seat_state(seat(1)), Some(SeatState::Playing));
        } else {
            assert_eq!(game.peer(back).refusal(), Some(Refusal::GraceOver));
            assert_eq!(game.room.seat_state(seat(1)), Some(SeatState::Vacated));
            let vacated = RoomEvent::SeatVacated { seat: seat(1), cause: VacancyCause::GraceOver };
            assert_eq!(game.events.iter().filter(|event| **event == vacated).count(), 1);
            let frame = game.frame(1000);
            assert_eq!((frame.seat(seat(1)).presence, game.when[1000]), (Presence::Empty, 1000));
        }
        game.check_everyone();
    }
}

#[test]
fn r05_a_leave_on_the_new_transport_frees_the_seat_in_that_tick() {
    let (mut game, clients) = lost_at_100(160);
    let back = game.return_from(clients[1]);
    game.inputs(clients[0], 160, &[0; 11]);
    game.step_to(170);
    game.send(back, &ClientMessage::Leave);
    game.step();
    assert_eq!(game.frame(170).seat(seat(1)).presence, Presence::Empty);
    assert_eq!(game.return_from(back).0, 3);
    assert_eq!(game.peer(ConnectionId(3)).refusal(), Some(Refusal::GraceOver));
}

#[test]
fn r05_a_second_loss_starts_the_grace_anew_and_one_before_the_greeting_changes_nothing() {
    let (mut game, clients) = lost_at_100(160);
    // A transport that opens and breaks before it says who it is has no claim on anything.
    let silent = game.connect();
    game.disconnect(silent);
    let back = game.return_from(clients[1]);
    game.disconnect(back);
    game.step_to(1060);
    assert_eq!(game.room.seat_state(seat(1)), Some(SeatState::Disconnected));
    game.step();
    assert_eq!(game.room.seat_state(seat(1)), Some(SeatState::Vacated));
}

#[test]
fn a6_a_second_connection_of_the_same_player_supersedes_the_first() {
    let (mut game, clients) = Match::started(config(2, 6));
    clients.iter().for_each(|client| game.inputs(*client, 0, &[1; 10]));
    game.step_to(5);
    let second = game.return_from(clients[1]);
    let older = game.peer(clients[1]);
    assert_eq!(older.closed, Some(CloseCause::Ended(CloseReason::Superseded)));
    assert_eq!(older.notices.last(), Some(&Notice::Closing(CloseReason::Superseded)));
    // The end of the old transport is no loss of the seat, and its messages are nobody's.
    game.disconnect(clients[1]);
    game.input(clients[1], 11, 4);
    assert_eq!((game.room.seat_presence(seat(1)), game.room.stats().stray_messages), (Presence::Human, 1));
    game.step_to(10);
    assert_eq!((game.peer(clients[1]).next(), game.peer(second).next()), (5, 10));
    assert_eq!(game.when, (0..10).collect::<Vec<_>>());
    game.check_everyone();
}

#[test]
fn a6_only_the_seats_own_token_resumes_it() {
    let (mut game, clients) = Match::started(config(3, 6));
    let tokens: Vec<_> = clients.iter().map(|client| game.peer(*client).token()).collect();
    let mut forged = tokens[0];
    forged.0[31] ^= 1;
    for (index, token) in [(0, tokens[1]), (1, tokens[0]), (0, forged), (0, ResumeToken([0; 32])), (100, tokens[0])] {
        let client = game.resume(seat(index), token, 0);
        assert_eq!(game.peer(client).refusal(), Some(Refusal::Token), "{index}");
        assert_eq!(game.peer(client).closed, Some(CloseCause::Refused(Refusal::Token)));
    }
    assert_eq!(game.room.seat_presence(seat(0)), Presence::Human);
    assert_eq!(game.peer(clients[0]).closed, None);
    assert_eq!(game.room.stats().refused_connections, 5);
}

#[test]
fn a6_a_seat_that_nobody_claimed_has_no_token() {
    let mut game = Match::new(config(2, 6));
    let client = game.join();
    let token = game.peer(client).token();
    let other = game.resume(seat(1), token, 0);
    assert_eq!(game.peer(other).refusal(), Some(Refusal::Token));
}

#[test]
fn a12_a_client_beyond_the_room_or_of_another_generation_has_another_history() {
    let (mut game, clients) = Match::started(config(2, 6));
    clients.iter().for_each(|client| game.inputs(*client, 0, &[1; 10]));
    game.step_to(10);
    let token = game.peer(clients[1]).token();
    let forked = |client| Some(Refusal::HistoryForked { room: Tick::new(10), client: Tick::new(client) });
    let beyond = game.resume(seat(1), token, 11);
    assert_eq!(game.peer(beyond).refusal(), forked(11));
    let other = game.resume_in(Generation(1), seat(1), token, 4);
    assert_eq!(game.peer(other).refusal(), forked(4));
    let level = game.resume(seat(1), token, 10);
    assert_eq!(game.peer(level).refusal(), None);
}

#[test]
fn a7_history_comes_in_bounded_chunks_and_joins_the_live_frames() {
    let (mut game, clients) = Match::started(config(2, 6));
    let played = 3 * u64::from(MAX_FRAMES_PER_RELEASE) * MAX_CATCH_UP_CHUNKS_PER_CONNECTION as u64 / 2;
    let play = |game: &mut Match, until: u64, clients: &[ConnectionId]| {
        while game.tick < until {
            let tick = game.tick;
            clients.iter().zip(0..).for_each(|(client, s)| game.input(*client, tick, zig(s, tick)));
            game.step();
        }
    };
    play(&mut game, played, &clients);
    let frames_per_call = u64::from(MAX_FRAMES_PER_RELEASE) * MAX_CATCH_UP_CHUNKS_PER_CONNECTION as u64;
    // Someone who lost everything, and someone who is a few frames behind.
    let token = game.peer(clients[1]).token();
    let back = game.resume(seat(1), token, 0);
    assert_eq!(game.peer(back).next(), 0, "history comes with the clock");
    let notices = &game.peer(back).notices;
    assert_eq!(notices[0], Notice::Welcome { seat: seat(1), frontier: Tick::new(played) });
    assert!(matches!(notices[1], Notice::Started(clock) if clock.moment() == game.now()));
    play(&mut game, played + 1, &[clients[0], back]);
    assert_eq!(game.peer(back).next(), frames_per_call);
    play(&mut game, played + 5, &[clients[0], back]);
    let peer = game.peer(back);
    assert_eq!(peer.next(), played + 5);
    let (chunks, live): (Vec<_>, Vec<_>) = peer.releases.iter().partition(|(_, _, complete)| *complete);
    assert_eq!(chunks[0], (0, MAX_FRAMES_PER_RELEASE, true));
    assert!(chunks.iter().all(|(_, count, _)| *count <= MAX_FRAMES_PER_RELEASE));
    assert_eq!(chunks.iter().map(|(_, count, _)| u64::from(*count)).sum::<u64>(), played + 2);
    assert_eq!(live, [(played + 2, 1, false), (played + 3, 1, false), (played + 4, 1, false)]);

    let near = game.resume(seat(1), game.peer(back).token(), played - 2);
    play(&mut game, played + 8, &[clients[0], near]);
    assert_eq!(game.peer(near).releases[0], (played - 2, 8, true));
    game.check_everyone();
}

#[test]
fn a7_many_returners_share_a_bounded_stream_and_all_catch_up() {
    let (mut game, clients) = Match::started(config(8, 0));
    game.step_to(2048);
    let returned: Vec<_> = (0..8).map(|k| game.resume(seat(k), game.peer(clients[k]).token(), 0)).collect();
    let mut frames = 0;
    for _ in 0..12 {
        let before = frames;
        game.step();
        frames = returned.iter().map(|client| game.peer(*client).next()).sum();
        assert!(frames - before <= 8 * 256 + 8);
    }
    assert!(returned.iter().all(|client| game.peer(*client).next() == 2060));
    game.check_everyone();
}

/// A chatty seat makes a driver call the room often; whoever catches up must not be sent more for it.
#[test]
fn a7_catching_up_keeps_the_pace_of_the_rooms_clock() {
    let (mut game, clients) = Match::started(config(2, 0));
    game.step_to(2048);
    let back = game.resume(seat(1), game.peer(clients[1]).token(), 0);
    game.step();
    let now = game.now();
    game.room.handle_timeout(now);
    game.drain();
    let sent = game.peer(back).next();
    assert!(sent > 0 && sent < 1024, "{sent}");
    (0..50).for_each(|_| game.room.handle_timeout(now));
    game.drain();
    assert_eq!(game.peer(back).next(), sent);
}

#[test]
fn a6_a_seat_that_is_lost_before_tick_0_must_be_ready_again() {
    let mut game = Match::new(config(2, 6));
    let first = game.join_ready();
    game.disconnect(first);
    let second = game.join_ready();
    assert_eq!(game.room.clock_tick(), None);
    let back = game.return_from(first);
    assert_eq!(game.room.clock_tick(), None);
    assert_ne!(game.peer(back).token(), game.peer(first).token(), "rotated");
    game.ready(back);
    assert_eq!(game.room.clock_tick(), Some(Tick::ZERO));
    assert_eq!(game.peer(second).notices.last(), Some(&Notice::Started(Default::default())));
}

/// The other one has never heard of the commands of the first.
#[test]
fn a9_commands_of_a_players_other_machine_are_taken_from_its_first_on() {
    let player = PlayerId([7; 32]);
    let mut game = Match::new(config(1, 0));
    let first = game.join_as(player);
    game.ready(first);
    game.step();
    (1..=9).for_each(|sequence| game.command(first, sequence, b"first"));
    let second = game.join_as(player);
    assert_eq!(game.peer(first).closed, Some(CloseCause::Ended(CloseReason::Superseded)), "guard");
    game.command(second, 1, b"second");
    game.command(second, 1, b"again");
    assert_eq!(game.counters(0).rejected_commands, 1, "numbers still rise on a connection");
    game.step();
    let frame = game.frame(1);
    let ordered: Vec<_> = frame.commands().map(|(_, payload)| payload).collect();
    assert_eq!((ordered.len(), ordered.last()), (10, Some(&&b"second"[..])));
}
