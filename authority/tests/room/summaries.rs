//! A room that is made of its summary is the room that wrote it, without the frames before (A7, A12).

use retick_authority::log::{FrameLog, LogError, MemoryLog, Record};
use retick_authority::room::{
    Durability, OnLeave, PausePolicy, ReconfigurePolicy, RecordError, RestoreError, Room, RoomConfig, SeatPolicy,
    SeatState, StartPolicy,
};
use retick_core::config::SessionConfig;
use retick_core::seat::Generation;
use retick_core::tick::Tick;
use retick_core::wire::{ClientMessage, Refusal};

use crate::donors::encoded;
use crate::driver::{Match, Notice, Transfer, durable, seat};

/// A match of four in which much has changed hands: who joined, left, came back with another token and was replaced by a bot.
fn eventful() -> Match {
    let seats = SeatPolicy { on_leave: OnLeave::Bot, humans_claim_bots: true, ..SeatPolicy::default() };
    let config = RoomConfig { seats, grace_millis: 500, pause: PausePolicy::Anyone, ..durable(4) };
    let mut game = Match::new(RoomConfig { reconfigure: ReconfigurePolicy::Anyone, ..config });
    let clients: Vec<_> = (0..4).map(|_| game.join_ready()).collect();
    game.play(&clients, 20);
    game.send(clients[3], &ClientMessage::Leave);
    game.disconnect(clients[2]);
    game.play(&clients[..2], 60);
    game.disconnect(clients[1]);
    let back = game.return_from(clients[1]);
    game.play(&[clients[0], back], 80);
    let (generation, tick, result) = (Generation(0), Tick::new(70), b"2:1");
    game.send(clients[0], &ClientMessage::Result { generation, tick, result });
    game.room.set_locked(true);
    game.drain();
    game
}

fn states(game: &Match) -> Vec<Option<SeatState>> {
    (0..4).map(|index| game.room.seat_state(seat(index))).collect()
}

#[test]
fn a12_a_room_is_made_of_its_summary_alone() {
    let mut game = eventful();
    let (head, frontier, fence) = (game.room.chain_head(), game.room.frontier(), game.room.fence());
    let settlement = format!("{:?}", game.room.settlement());
    game.forget();
    assert!(game.log.first_sequence() > 80 && game.log.next_sequence() == game.log.first_sequence() + 1);
    game.restart(u64::MAX, Durability::EveryFrame);
    assert_eq!((game.room.chain_head(), game.room.frontier(), game.room.fence()), (head, frontier, fence + 1));
    assert_eq!(game.room.history_start(), frontier, "no frame is there");
    assert_eq!(game.room.fence_before(Tick::new(3)), Some(0), "it knows who confirmed them");
    assert_eq!(format!("{:?}", game.room.settlement()), settlement);
    let [lost, bot] = [SeatState::Disconnected, SeatState::Bot].map(Some);
    assert_eq!((states(&game), game.room.is_locked()), (vec![lost, lost, bot, bot], true));

    // The tokens are theirs, and whoever was away too long takes the seat from the bot again. Who left has no claim.
    let clients: Vec<_> = game.peers.keys().copied().collect();
    let back: Vec<_> = [clients[0], clients[4]].map(|client| game.return_from(client)).into();
    let owner = game.return_from(clients[2]);
    let gone = game.return_from(clients[3]);
    assert_eq!(game.peer(gone).refusal(), Some(Refusal::GraceOver));
    assert!(back.iter().chain([&owner]).all(|client| game.peer(*client).refusal().is_none()));
    game.ready(owner);
    let until = game.tick + 60;
    game.play(&[back[0], back[1], owner], until);
    game.check_everyone();
    assert!(game.room.frontier() > frontier.saturating_add(40));
}

/// Claims, epochs and leases that were given out, and tokens that nobody has shown yet.
#[test]
fn a5_what_was_given_out_before_a_summary_is_not_given_out_again() {
    let seats = SeatPolicy { recycle_vacated: true, ..SeatPolicy::default() };
    let mut game = Match::new(RoomConfig { seats, start: StartPolicy::Manual, ..durable(3) });
    let clients = [game.join_ready(), game.join_ready()];
    let lease = game.room.seat_bot(seat(2)).expect("it is free");
    game.room.start(game.now()).expect("there are players");
    game.drain();
    game.play(&clients, 10);
    game.send(clients[1], &ClientMessage::Leave);
    game.room.remove_bot(seat(2)).expect("a bot plays there");
    game.drain();
    game.play(&clients[..1], 20);
    let claim = game.peer(clients[1]).claim;
    let epochs = [1, 2].map(|index| game.frame(19).seat(seat(index)).epoch);
    game.forget();
    game.restart(u64::MAX, Durability::EveryFrame);
    let again = game.room.seat_bot(seat(2)).expect("it is free");
    game.drain();
    let newcomer = game.join();
    assert_eq!(game.peer(newcomer).seat, Some(seat(1)));
    assert!(game.peer(newcomer).claim > claim && game.peer(newcomer).epoch > epochs[0]);
    assert!(again.id > lease.id && again.epoch > epochs[1], "{again:?} behind {lease:?} and {epochs:?}");
}

/// Its owner may never have received the newest token, so both are valid behind the summary too.
#[test]
fn a6_an_unproven_token_and_the_one_before_it_are_valid_behind_a_summary() {
    for shows_newest in [true, false] {
        let (mut game, clients) = Match::started(durable(2));
        game.play(&clients, 10);
        let first = game.peer(clients[0]).token();
        let back = game.return_from(clients[0]);
        let second = game.peer(back).token();
        game.forget();
        game.restart(u64::MAX, Durability::EveryFrame);
        let token = if shows_newest { second } else { first };
        let returned = game.resume(seat(0), token, game.room.frontier().index());
        assert_eq!(game.peer(returned).refusal(), None, "{shows_newest}");
    }
}

#[test]
fn a2_a_substitute_repeats_the_input_that_a_summary_holds() {
    let (mut game, clients) = Match::started(durable(2));
    game.play(&clients, 10);
    game.input(clients[0], 10, 3);
    game.input(clients[1], 10, 44);
    game.step();
    game.forget();
    game.restart(u64::MAX, Durability::EveryFrame);
    let next = game.room.frontier().index();
    let back = clients.iter().map(|client| game.return_from(*client)).collect::<Vec<_>>();
    game.input(back[0], next, 5);
    game.step_to(game.tick + 8);
    assert_eq!((game.value(next, 0), game.value(next, 1)), ((Some(5), false), (Some(44), true)));
}

#[test]
fn a12_a_summary_in_the_middle_of_a_log_must_say_what_the_records_before_it_say() {
    let mut game = eventful();
    game.room.summarize();
    game.drain();
    let last = game.log.next_sequence() - 1;
    let rebuilt = |change: &dyn Fn(&mut Vec<u8>)| {
        let mut log = MemoryLog::new();
        for (sequence, record) in game.log.records() {
            let mut record = record.to_vec();
            if sequence == last {
                change(&mut record);
            }
            log.append(sequence, &record).expect("in order");
        }
        Room::restore(&mut log, Durability::EveryFrame).err()
    };
    assert_eq!(rebuilt(&|_| {}), None);
    let whole = game.log.record(last).expect("the summary").to_vec();
    for byte in 1..whole.len() {
        let refused = rebuilt(&|record: &mut Vec<u8>| record[byte] ^= 1);
        let is_refused = |error: &RecordError| matches!(error, RecordError::Contradiction | RecordError::Malformed(_));
        assert!(
            matches!(&refused, Some(RestoreError::Record { sequence, error }) if *sequence == last && is_refused(error)),
            "byte {byte}: {refused:?}"
        );
    }
}

#[test]
fn a12_no_bytes_for_a_summary_make_a_room_panic() {
    let mut game = eventful();
    game.forget();
    let whole = game.log.record(game.log.first_sequence()).expect("the summary").to_vec();
    let restored = |record: &[u8]| {
        let mut log = MemoryLog::new();
        log.append(1, record).expect("the first");
        Room::restore(&mut log, Durability::EveryFrame)
    };
    assert!(restored(&whole).is_ok());
    let mut taken = 0;
    for byte in 0..whole.len() {
        assert!(restored(&whole[..byte]).is_err());
        for bit in 0..8 {
            let mut changed = whole.clone();
            changed[byte] ^= 1 << bit;
            if let Ok(mut room) = restored(&changed) {
                taken += 1;
                room.summarize();
                while room.poll_output().is_some() {}
            }
        }
    }
    assert!(taken > 100, "guard: rooms were made: {taken}");
}

/// Whoever needs the match whole is told that the log has not got it.
#[test]
fn a12_frames_that_are_forgotten_are_named() {
    let (mut game, clients) = Match::started(durable(2));
    game.play(&clients, 30);
    let frontier = game.room.frontier();
    game.forget();
    let forgotten = LogError::Forgotten { generation: Generation(0), frontier };
    assert_eq!(game.log.frames().map(|_| ()), Err(forgotten));
    game.play(&clients, 40);
    let kept: Vec<_> = game.log.kept_frames().expect("a room").map(|frame| frame.expect("chained").tick()).collect();
    assert_eq!(kept.first(), Some(&frontier));
    assert_eq!(kept.len() as u64, game.room.frontier().index() - frontier.index());
}

#[test]
fn a10_a_summary_is_of_its_generation_and_of_a_clock_that_stands() {
    let mut game = eventful();
    let mut newest = game.peers.keys().copied().next().expect("there are some");
    let now = game.now();
    game.room.reconfigure(SessionConfig::from_bytes(b"more").expect("short"), now).expect("it may");
    game.drain();
    for started in [false, true] {
        if started {
            let until = game.tick + 20;
            game.step_to(until);
            game.room.pause(game.now()).expect("it runs");
            game.drain();
        }
        let (frontier, paused) = (game.room.frontier(), game.room.is_paused());
        assert_eq!((frontier > Tick::ZERO, paused), (started, started));
        game.forget();
        game.restart(u64::MAX, Durability::EveryFrame);
        assert_eq!((game.room.frontier(), game.room.is_paused()), (frontier, paused));
        assert_eq!(game.room.descriptor().generation(), Generation(1));
        assert_eq!(game.room.clock_tick().is_some(), started);
        let back = game.return_from(newest);
        assert_eq!(game.peer(back).refusal(), None);
        newest = back;
        let waits = game.peer(back).notices.iter().any(|notice| matches!(notice, Notice::Paused(_)));
        assert_eq!(waits, paused);
        if !started {
            game.ready(back);
        }
    }
}

/// A newcomer to a room whose first frames are forgotten begins from the snapshot that was kept.
#[test]
fn a7_a_room_without_its_first_frames_takes_the_snapshot_that_was_kept_beside_them() {
    let (mut game, clients) = Match::started(durable(2));
    game.play(&clients, 60);
    let start = game.room.frontier().index();
    game.forget();
    game.play(&clients, 120);
    let snapshots: Vec<_> = [start - 1, start, 100].map(|tick| encoded(&game, tick, b"state")).into();
    game.restart(u64::MAX, Durability::EveryFrame);
    let taken: Vec<_> = snapshots.iter().map(|it| game.room.restore_snapshot(it.clone()).is_ok()).collect();
    assert_eq!(taken, [false, true, true], "the frames before {start} are not there");
    // Who was away for longer than the history reaches gets it too.
    let token = game.peer(clients[1]).token();
    let behind = game.resume_with(seat(1), token, (Generation(0), 30, Some(0)));
    game.step_to(game.tick + 3);
    assert_eq!(game.peer(behind).refusal(), None);
    let offered = |notice: &Notice| matches!(notice, Notice::Transfer(Transfer::Snapshot { .. }));
    assert!(game.peer(behind).notices.iter().any(offered), "{:?}", game.peer(behind).notices);
    let is_frame =
        |record: &[u8]| matches!(Record::decode(record), Ok(Record::Frame { tick, .. }) if tick.index() < start);
    assert!(!game.log.records().any(|(_, record)| is_frame(record)));
}
