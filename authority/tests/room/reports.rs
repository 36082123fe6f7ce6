//! What the desync detector must and must not say (A8, K10).

use retick_authority::room::{ConnectionId, MAX_REPORT_TICKS, RoomConfig, RoomEvent, Verification};
use retick_core::digest::Checksum;
use retick_core::seat::{Generation, SeatSet};
use retick_core::tick::Tick;
use retick_core::wire::ClientMessage;

use crate::driver::{Match, Notice, config, seat};

/// Three seats on cadence 60, played to authority tick 200, so that S(1), S(61), S(121) and S(181) can be reported.
fn played() -> (Match, Vec<ConnectionId>) {
    let mut config = config(3, 6);
    config.rules.checksum_cadence_ticks = 60;
    let (mut game, clients) = Match::started(config);
    for a in 0..200 {
        clients.iter().for_each(|client| game.input(*client, a, 1));
        game.step();
    }
    (game, clients)
}

fn desyncs(game: &Match, client: ConnectionId) -> Vec<Notice> {
    let desync = |notice: &&Notice| matches!(notice, Notice::Desync { .. });
    game.peer(client).notices.iter().filter(desync).cloned().collect()
}

#[test]
fn k10_one_notice_for_the_first_difference_with_both_values_to_everyone() {
    let (mut game, clients) = played();
    for tick in [1, 61, 121] {
        clients.iter().for_each(|client| game.report(*client, tick, b"same"));
        assert_eq!(game.verification(tick), Verification::Agreed);
    }
    game.report(clients[0], 181, b"good");
    game.report(clients[2], 181, b"bad");
    game.report(clients[1], 181, b"good");
    let values = vec![(seat(0), Checksum::of(b"good")), (seat(2), Checksum::of(b"bad"))];
    for client in clients {
        assert_eq!(desyncs(&game, client), [Notice::Desync { tick: Tick::new(181), values: values.clone() }]);
    }
    assert_eq!(game.verification(181), Verification::Desync);
    let event = RoomEvent::Desync { tick: Tick::new(181) };
    assert_eq!(game.events.iter().filter(|e| **e == event).count(), 1);
    assert_eq!(game.room.stats().desyncs, 1);
}

#[test]
fn k10_silence_is_incomplete() {
    let (mut game, clients) = played();
    clients[..2].iter().for_each(|client| game.report(*client, 61, b"same"));
    let reported: SeatSet = [seat(0), seat(1)].into_iter().collect();
    assert_eq!(game.verification(61), Verification::Incomplete { reported });
    // Whoever leaves before reporting stays silent for the states it was part of.
    game.send(clients[2], &ClientMessage::Leave);
    assert_eq!(game.verification(61), Verification::Incomplete { reported });
    assert_eq!(desyncs(&game, clients[0]), []);
}

#[test]
fn k10_reports_of_unconfirmed_states_and_second_reports_are_refused_and_counted() {
    let (mut game, clients) = played();
    let refused = |game: &Match| game.room.seat_stats(seat(2)).map(|stats| stats.refused_reports);
    game.report(clients[2], 241, b"early");
    for off_cadence in [0, 60, 62, 120, u64::MAX] {
        game.report(clients[2], off_cadence, b"x");
    }
    assert_eq!(refused(&game), Some(6));
    game.report(clients[2], 61, b"one");
    game.report(clients[2], 61, b"one");
    assert_eq!(refused(&game), Some(6));
    game.report(clients[2], 61, b"two");
    let checksum = Checksum::of(b"two");
    let stale = ClientMessage::Report { generation: Generation(1), tick: Tick::new(1), checksum };
    game.send(clients[2], &stale);
    assert_eq!(refused(&game), Some(8));
    clients[..2].iter().for_each(|client| game.report(*client, 61, b"one"));
    assert_eq!((game.verification(61), desyncs(&game, clients[0])), (Verification::Agreed, vec![]));
}

#[test]
fn a8_a_state_can_be_reported_once_its_last_tick_is_confirmed_and_not_before() {
    let mut config = config(1, 6);
    config.rules.checksum_cadence_ticks = 10;
    let (mut game, clients) = Match::started(config);
    game.inputs(clients[0], 0, &[1; 30]);
    game.step_to(10);
    game.report(clients[0], 11, b"a");
    assert_eq!(game.room.stats().seats.refused_reports, 1);
    game.step();
    game.report(clients[0], 11, b"a");
    assert_eq!((game.room.stats().seats.refused_reports, game.verification(11)), (1, Verification::Agreed));
}

#[test]
fn a8_only_the_latest_states_are_kept() {
    let mut config = config(1, 0);
    config.rules.checksum_cadence_ticks = 1;
    let (mut game, clients) = Match::started(config);
    let kept = MAX_REPORT_TICKS as u64;
    game.step_to(kept + 1);
    game.report(clients[0], 1, b"a");
    game.report(clients[0], 2, b"a");
    assert_eq!((game.room.stats().seats.refused_reports, game.verification(2)), (1, Verification::Agreed));
}

#[test]
fn a8_a_seat_that_is_away_when_a_state_is_confirmed_is_not_waited_for() {
    let mut config: RoomConfig = config(2, 0);
    config.rules.checksum_cadence_ticks = 10;
    let (mut game, clients) = Match::started(config);
    game.disconnect(clients[1]);
    game.step_to(11);
    game.report(clients[0], 11, b"a");
    assert_eq!(game.verification(11), Verification::Agreed);
    // But when it is back and says otherwise, that is a desync, and it hears of it like everyone.
    let back = game.return_from(clients[1]);
    game.report(back, 11, b"b");
    assert_eq!((game.verification(11), desyncs(&game, back).len()), (Verification::Desync, 1));
}
