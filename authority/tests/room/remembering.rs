//! What a restored room must still know of its seats, its door and its match, one thing at a time (A12).

use retick_authority::log::{FrameLog, MemoryLog, Record};
use retick_authority::room::{
    Durability, MatchSettlement, RecordError, RestoreError, Room, RoomConfig, SeatPolicy, SeatState,
};
use retick_core::tick::Tick;
use retick_core::wire::{ClientMessage, Refusal};

use crate::donors::encoded;
use crate::driver::{Match, Notice, config, durable, seat};
use crate::torn::{play, torn};

#[test]
fn a12_no_epoch_is_given_out_again_after_a_restart() {
    let seats = SeatPolicy { recycle_vacated: true, ..SeatPolicy::default() };
    let (mut game, clients) = Match::started(RoomConfig { seats, ..durable(2) });
    play(&mut game, &clients, 10);
    game.send(clients[1], &ClientMessage::Leave);
    play(&mut game, &clients[..1], 20);
    let last = game.frame(19).seat(seat(1)).epoch;
    game.restart(u64::MAX, Durability::EveryFrame);
    let next = game.join();
    assert_eq!(game.peer(next).seat, Some(seat(1)));
    assert!(game.peer(next).epoch > last, "{:?} behind {last:?}", game.peer(next).epoch);
}

#[test]
fn a6_a_token_that_was_replaced_before_a_restart_is_not_valid_after_it() {
    let (mut game, clients) = Match::started(durable(2));
    play(&mut game, &clients, 10);
    let first = game.peer(clients[1]).token();
    let back = game.resume(seat(1), first, 10);
    let second = game.peer(back).token();
    game.send(back, &ClientMessage::Ping { sent_micros: 1, rollbacks: 0 });
    game.restart(u64::MAX, Durability::EveryFrame);
    let thief = game.resume(seat(1), first, 10);
    assert_eq!(game.peer(thief).refusal(), Some(Refusal::Token));
    let owner = game.resume(seat(1), second, 10);
    assert_eq!((game.peer(owner).refusal(), game.peer(owner).seat), (None, Some(seat(1))));
}

/// A log hands out whole records. What a room can't read it names; it never takes the log for a shorter one.
#[test]
fn a12_half_a_record_is_named_and_nothing_behind_it_is_dropped_in_silence() {
    let (mut game, clients) = Match::started(durable(2));
    play(&mut game, &clients, 5);
    game.send(clients[1], &ClientMessage::Leave);
    play(&mut game, &clients[..1], 8);
    for half in 1..game.log.next_sequence() {
        let mut log = MemoryLog::new();
        for (sequence, record) in game.log.records() {
            let kept = if sequence == half { record.len() / 2 } else { record.len() };
            log.append(sequence, &record[..kept]).expect("in order");
        }
        match Room::restore(&mut log, Durability::EveryFrame) {
            Err(RestoreError::Record { sequence, error: RecordError::Malformed(_) }) => assert_eq!(sequence, half),
            other => panic!("record {half}: {:?}", other.err()),
        }
    }
}

#[test]
fn a6_who_does_not_come_back_after_a_restart_is_given_up_after_its_grace() {
    let (mut game, clients) = Match::started(RoomConfig { grace_millis: 500, ..durable(2) });
    play(&mut game, &clients, 10);
    game.restart(u64::MAX, Durability::EveryFrame);
    let back = game.return_from(clients[0]);
    let restarted = game.tick;
    game.step_to(restarted + 25);
    assert_eq!(game.room.seat_state(seat(1)), Some(SeatState::Disconnected));
    game.step_to(restarted + 40);
    assert_eq!(game.room.seat_state(seat(1)), Some(SeatState::Vacated));
    game.disconnect(back);
    game.step_to(restarted + 80);
    assert!(game.room.is_closed(), "nobody is left");
}

/// The match stands still until the window ends, and so does whatever a seat would lose by it.
#[test]
fn a12_no_grace_ends_within_the_recovery_window() {
    let (mut game, clients) = Match::started(RoomConfig { grace_millis: 500, ..config(2, 6) });
    play(&mut game, &clients, 60);
    game.restart(game.records_before(48), Durability::Interval);
    game.step_to(game.tick + 200);
    assert!(game.room.is_recovering());
    assert_eq!(game.room.seat_state(seat(1)), Some(SeatState::Disconnected));
    let back = game.return_from(clients[1]);
    assert_eq!((game.peer(back).refusal(), game.peer(back).seat), (None, Some(seat(1))));
}

#[test]
fn v1_a_lock_outlives_a_restart() {
    let mut game = Match::new(durable(2));
    game.join_ready();
    game.room.set_locked(true);
    game.drain();
    game.restart(u64::MAX, Durability::EveryFrame);
    assert!(game.room.is_locked());
    let newcomer = game.join();
    assert_eq!(game.peer(newcomer).refusal(), Some(Refusal::Locked));
}

/// A result and the settlement that follows from it are two records, and the machine may stop between them.
#[test]
fn a15_the_last_result_settles_the_match_also_if_the_room_was_killed_behind_it() {
    let (mut game, clients) = Match::started(durable(2));
    play(&mut game, &clients, 20);
    let (generation, tick, result) = (game.peer(clients[0]).generation, Tick::new(20), b"2:1");
    clients.iter().for_each(|client| game.send(*client, &ClientMessage::Result { generation, tick, result }));
    let is_settled = |record: &[u8]| matches!(Record::decode(record), Ok(Record::Settled { .. }));
    let settled = game.log.records().find(|(_, record)| is_settled(record)).expect("it was settled").0;
    game.restart(settled - 1, Durability::EveryFrame);
    assert_eq!(game.room.settlement(), MatchSettlement::Agreed { tick, result: b"2:1" });
    assert!(game.log.records().skip(usize::try_from(settled).expect("small") - 1).any(|(_, it)| is_settled(it)));
}

/// A snapshot that was kept beside the log may be of a tick that the log has lost, or be of another match.
#[test]
fn a7_a_restored_room_takes_no_snapshot_that_its_history_does_not_go_on_from() {
    let (mut game, clients) = Match::started(durable(2));
    play(&mut game, &clients, 60);
    let snapshots: Vec<_> = [40, 60, 61, 70].map(|tick| encoded(&game, tick, b"state")).into();
    game.restart(u64::MAX, Durability::EveryFrame);
    let taken: Vec<_> = snapshots.iter().map(|it| game.room.restore_snapshot(it.clone()).is_ok()).collect();
    assert_eq!(taken, [true, true, false, false]);
    assert_eq!(game.room.newest_snapshot().map(|kept| (kept.tick, kept.verified)), Some((Tick::new(60), false)));
    let mut damaged = snapshots[0].clone();
    damaged[60] ^= 1;
    assert!(game.room.restore_snapshot(damaged).is_err());
}

/// What one client gives back another one may lack.
#[test]
fn a12_who_came_back_without_the_newest_frames_gets_those_that_were_given_back() {
    let (mut game, clients) = torn();
    let holder = game.return_from(clients[0]);
    game.give_back(holder, clients[0], 48, 60);
    let token = game.peer(clients[1]).token();
    let behind = game.resume(seat(1), token, 48);
    game.step_to(game.tick + 3);
    assert_eq!((game.room.is_recovering(), game.room.frontier()), (false, Tick::new(60)));
    play(&mut game, &[holder, behind], 70);
    game.step_to(game.tick + 3);
    assert_eq!((game.peer(behind).first, game.peer(behind).next()), (48, game.room.frontier().index()));
    game.check_everyone();
}

/// A substitute repeats the last input (A2), also where a client gave that back.
#[test]
fn a2_a_substitute_repeats_an_input_that_was_given_back() {
    let (mut game, clients) = torn();
    let holder = game.return_from(clients[0]);
    game.give_back(holder, clients[0], 48, 60);
    let _silent = game.return_from(clients[1]);
    game.step();
    assert_eq!(game.room.frontier(), Tick::new(60));
    game.input(holder, 60, 3);
    game.step_to(game.tick + 8);
    assert_eq!((game.value(60, 0), game.value(60, 1)), ((Some(3), false), (Some(59), true)));
}

/// With an interval frames don't wait for the log. Who holds which seat, with which token, does: a room that forgot it would give
/// the same claim to somebody else.
#[test]
fn a12_with_an_interval_a_greeting_still_leaves_only_behind_its_claim() {
    let mut game = Match::new(RoomConfig { durability: Durability::Interval, ..config(2, 6) });
    game.persists = false;
    let clients = [game.join(), game.join()];
    assert!(clients.iter().all(|client| game.peer(*client).notices.is_empty()));
    game.persist_through(u64::MAX);
    assert!(clients.iter().all(|it| matches!(game.peer(*it).notices.first(), Some(Notice::Welcome { .. }))));
    let recorded = game.log.next_sequence();
    clients.iter().for_each(|client| game.ready(*client));
    game.persist_through(u64::MAX);
    play(&mut game, &clients, 10);
    assert!(game.log.next_sequence() > recorded + 9, "guard: their records wait");
    assert_eq!(game.peer(clients[0]).next(), 10);
}
