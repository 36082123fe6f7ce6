//! The room's own referee (A13), on its side of the door: who may speak for it, and what its word does.

use retick_authority::room::{ConnectionId, RoomEvent, VERDICT_MILLIS};
use retick_core::digest::Checksum;
use retick_core::seat::SeatSet;
use retick_core::tick::Tick;
use retick_core::wire::{Answer, ClientMessage, InquiryId, Question, StateSource};

use crate::driver::{Match, Notice, config, seat};

/// Two seats, played until S(1) can be reported, and a referee beside them.
fn refereed() -> (Match, [ConnectionId; 2], ConnectionId) {
    let mut config = config(2, 6);
    config.max_observers = 0;
    let mut game = Match::new(config);
    let clients = [game.join_ready(), game.join_ready()];
    game.room.set_locked(true);
    let referee = game.observe_as_referee();
    game.play(&clients, 30);
    (game, clients, referee)
}

fn wrong(game: &Match) -> Vec<RoomEvent> {
    game.events.iter().filter(|event| matches!(event, RoomEvent::SeatWrong { .. })).copied().collect()
}

#[test]
fn a13_neither_a_lock_nor_a_full_house_keeps_the_referee_out_and_it_is_no_observer() {
    let (game, _, referee) = refereed();
    assert_eq!((game.peer(referee).next(), game.room.observer_count()), (30, 0));
    game.check_everyone();
}

#[test]
fn a13_nobody_else_speaks_as_the_referee() {
    let (mut game, clients) = Match::started(config(2, 6));
    let observer = game.observe(0);
    game.play(&clients, 30);
    game.report(observer, 1, b"right");
    game.report(clients[0], 1, b"right");
    game.report(clients[1], 1, b"wrong");
    assert_eq!((wrong(&game), game.room.wrong_seats()), (vec![], SeatSet::EMPTY));
    assert_eq!(game.room.stats().ignored_observer_messages, 1);
}

#[test]
fn a13_a_seat_is_named_once_with_the_right_value_to_everyone() {
    let (mut game, clients, referee) = refereed();
    game.report(clients[1], 1, b"wrong");
    game.report(referee, 1, b"right");
    assert_eq!(wrong(&game), [], "the other one may contradict the referee as well");
    game.report(clients[0], 1, b"right");
    assert_eq!(wrong(&game), [RoomEvent::SeatWrong { seat: seat(1), tick: Tick::new(1) }]);
    let expected = Notice::Verdict { tick: Tick::new(1), checksum: Checksum::of(b"right"), wrong: vec![seat(1)] };
    for peer in [clients[0], clients[1], referee] {
        let verdicts = game.peer(peer).notices.iter().filter(|notice| matches!(notice, Notice::Verdict { .. }));
        assert_eq!(verdicts.collect::<Vec<_>>(), [&expected]);
    }
    game.report(referee, 1, b"another");
    assert_eq!((game.room.stats().refused_referee_words, game.room.stats().verdicts), (1, 1));
}

#[test]
fn a13_whoever_says_nothing_is_not_waited_for_long() {
    let (mut game, clients, referee) = refereed();
    game.report(referee, 1, b"right");
    game.report(clients[1], 1, b"wrong");
    assert_eq!(wrong(&game), []);
    game.play(&clients, 30 + VERDICT_MILLIS * 60 / 1000 + 2);
    assert_eq!(wrong(&game), [RoomEvent::SeatWrong { seat: seat(1), tick: Tick::new(1) }]);
}

#[test]
fn a13_a_second_referee_takes_the_first_ones_place() {
    let (mut game, clients, first) = refereed();
    let second = game.observe_as_referee();
    game.report(first, 1, b"x");
    game.report(second, 1, b"right");
    game.report(clients[0], 1, b"right");
    game.report(clients[1], 1, b"wrong");
    assert_eq!(wrong(&game).len(), 1);
    assert_eq!(game.room.stats().refused_referee_words, 0, "the first one is an observer");
}

#[test]
fn a8_an_answer_that_nobody_asked_for_is_counted_and_nothing_else() {
    let (mut game, clients) = Match::started(config(2, 6));
    game.play(&clients, 30);
    game.report(clients[0], 1, b"a");
    game.report(clients[1], 1, b"b");
    let answer = |inquiry| ClientMessage::Answer { inquiry: InquiryId(inquiry), answer: Answer::Unknown };
    for (client, inquiry) in [(clients[0], 1), (clients[1], 0), (clients[0], 77)] {
        game.send(client, &answer(inquiry));
    }
    assert_eq!(game.room.stats().stray_answers, 3, "each answers the question of the other");
    for (client, inquiry) in [(clients[0], 0), (clients[1], 1), (clients[0], 0)] {
        game.send(client, &answer(inquiry));
    }
    // Neither has its state any more.
    let found = game.room.desync_finding().expect("both have answered");
    assert_eq!((&found.place, found.silent.len(), game.room.stats().stray_answers), (&None, 0, 4));
    for (client, inquiry) in [(clients[0], 0), (clients[1], 1)] {
        let asked = game.peer(client).notices.iter().filter(|notice| matches!(notice, Notice::Asked(..)));
        let question = Question::Bytes { tick: Tick::new(1), source: StateSource::Kept, offset: 0, count: 0 };
        assert_eq!(asked.collect::<Vec<_>>(), [&Notice::Asked(InquiryId(inquiry), question)]);
    }
}
