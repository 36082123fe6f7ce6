//! What is written down, and what waits for it (A12).

use retick_authority::log::{FrameLog, LogError, MAX_RECORD_BYTES, MemoryLog, Record};
use retick_authority::room::{
    ClosedCause, Durability, MAX_UNPERSISTED_RECORDS, OnLeave, Output, Room, RoomConfig, RoomSecret, SeatPolicy,
    SeatTransition, StartPolicy, VacancyCause,
};
use retick_core::frame::FrameChain;
use retick_core::identity::MatchDescriptor;
use retick_core::seat::{ControlEpoch, Generation};
use retick_core::tick::Tick;
use retick_core::wire::{ClaimId, ClientMessage, MAX_EPHEMERAL_BYTES, look_ahead_ticks};

use crate::driver::{GENERATION, Match, Notice, SECRET, config, durable, seat};

#[test]
fn a12_the_log_tells_the_rooms_whole_life_in_order() {
    let (mut game, clients) = Match::started(config(2, 6));
    clients.iter().for_each(|client| game.input(*client, 0, 3));
    game.step();
    game.disconnect(clients[1]);
    let back = game.return_from(clients[1]);
    game.send(back, &ClientMessage::Leave);
    game.room.close(game.now());
    game.drain();
    let records: Vec<_> = game.log.records().map(|(_, bytes)| Record::decode(bytes).expect("a record")).collect();
    let descriptor = game.room.descriptor();
    let created =
        Record::Created { descriptor: &descriptor.to_bytes(), secret: SECRET, settings: config(2, 6).settings() };
    assert_eq!(records[0], created);
    let mut chain = FrameChain::new(descriptor);
    chain.extend(&game.frame(0));
    assert!(matches!(records[6], Record::Frame { tick: Tick::ZERO, head, .. } if head == chain.head()));
    assert_eq!(game.room.chain_head(), chain.head());
    let epoch = ControlEpoch(1);
    let claimed = |index, claim| Record::Claimed { seat: seat(index), claim: ClaimId(claim), epoch, player: None };
    let changed = |index, transition, tick, epoch| {
        let (tick, epoch) = (Tick::new(tick), ControlEpoch(epoch));
        Record::SeatChanged { seat: seat(index), transition, tick, epoch, lease: None }
    };
    let others: Vec<_> = records[1..6].iter().chain(&records[7..]).copied().collect();
    let expected = [
        claimed(0, 0),
        claimed(1, 1),
        Record::Started { generation: GENERATION },
        changed(0, SeatTransition::EmptyToHuman, 0, 1),
        changed(1, SeatTransition::EmptyToHuman, 0, 1),
        Record::Disconnected { seat: seat(1) },
        Record::Resumed { seat: seat(1), rotation: 1, proven: 0, epoch },
        Record::TokenProven { seat: seat(1), rotation: 1 },
        Record::Vacated { seat: seat(1), cause: VacancyCause::Left, retained: false },
        changed(1, SeatTransition::HumanToEmpty, 1, 2),
        Record::Closed { cause: ClosedCause::Requested },
    ];
    assert_eq!(others, expected);
}

/// A log restores its room without anything else, so it holds what tokens and tags are derived from.
#[test]
fn a12_the_first_record_holds_the_rooms_secret_and_all_its_settings() {
    let mut config = RoomConfig { grace_millis: 77, max_observers: 3, ..durable(2) };
    config.seats = SeatPolicy { recycle_vacated: true, on_leave: OnLeave::Bot, ..SeatPolicy::default() };
    config.start = StartPolicy::Minimum { seats: 1, countdown_millis: 500 };
    let mut room = Room::new(config.clone(), RoomSecret([0xa7; 32])).expect("valid");
    let Some(Output::Persist { record, .. }) = room.poll_output() else { panic!("the first output is a record") };
    let Ok(Record::Created { descriptor, secret, settings }) = Record::decode(record) else { panic!("{record:?}") };
    assert_eq!(secret, RoomSecret([0xa7; 32]));
    assert_eq!(settings.with(MatchDescriptor::from_bytes(descriptor).expect("a descriptor")), config);
}

#[test]
fn a12_frames_leave_only_behind_their_record() {
    let (mut game, clients) = Match::started(durable(2));
    game.persists = false;
    clients.iter().for_each(|client| game.inputs(*client, 0, &[3; 10]));
    let before = game.log.next_sequence();
    game.step_to(3);
    assert_eq!((game.room.frontier(), game.log.next_sequence()), (Tick::new(3), before + 3));
    assert_eq!(game.peer(clients[0]).next(), 0);
    // Answers about the clock depend on nothing.
    game.send(clients[0], &ClientMessage::Ping { sent_micros: 4, rollbacks: 0 });
    assert!(matches!(game.peer(clients[0]).notices.last(), Some(Notice::Pong { sent_micros: 4, .. })));
    game.persist_through(before);
    assert_eq!((game.peer(clients[0]).next(), game.peer(clients[1]).next()), (1, 1));
    game.persist_through(before + 2);
    assert_eq!(game.peer(clients[0]).next(), 3);
    game.check_everyone();
}

#[test]
fn a12_a_greeting_leaves_only_behind_its_claim() {
    let mut game = Match::new(durable(2));
    game.persists = false;
    let client = game.join();
    game.send(client, &ClientMessage::Ping { sent_micros: 4, rollbacks: 0 });
    assert_eq!((game.peer(client).notices.len(), game.events.len()), (0, 0));
    game.persist_through(1);
    assert_eq!(game.peer(client).notices.len(), 0);
    game.persist_through(2);
    assert!(matches!(game.peer(client).notices[..], [Notice::Welcome { .. }, Notice::Pong { .. }]));
}

#[test]
fn a12_a_returner_gets_no_frame_that_is_not_durable() {
    let (mut game, clients) = Match::started(durable(2));
    clients.iter().for_each(|client| game.inputs(*client, 0, &[3; 10]));
    game.step_to(2);
    game.persists = false;
    game.step_to(4);
    let durable_through = game.log.next_sequence() - 1;
    let token = game.peer(clients[1]).token();
    let back = game.resume(seat(1), token, 0);
    game.step();
    assert_eq!((game.peer(back).next(), game.peer(back).notices.len()), (0, 0));
    game.persist_through(durable_through + 1);
    assert_eq!((game.peer(back).next(), game.peer(back).notices.len()), (0, 2), "the resume is durable, tick 4 is not");
    game.persist_through(durable_through + 2);
    assert_eq!(game.peer(back).next(), 5);
    game.check_everyone();
}

#[test]
fn a12_a_log_that_stands_still_stops_the_frames_and_not_the_room() {
    let mut config = durable(1);
    config.rules.hard_tolerance_ticks = 0;
    let (mut game, clients) = Match::started(config);
    game.persists = false;
    let ahead = look_ahead_ticks(game.rate, &game.room.rules(), &game.room.descriptor().limits());
    let limit = usize::try_from(MAX_UNPERSISTED_RECORDS.min(ahead)).expect("small");
    game.step_to(MAX_UNPERSISTED_RECORDS + 50);
    assert_eq!((game.when.len(), game.peer(clients[0]).next()), (limit, 0));
    // Answers go out, and the match's clock, of which they tell, stands still.
    let ping = ClientMessage::Ping { sent_micros: 4, rollbacks: 0 };
    let told = |game: &mut Match| {
        game.send(clients[0], &ping);
        match game.peer(clients[0]).notices.last() {
            Some(Notice::Pong { clock, .. }) => *clock,
            other => panic!("{other:?}"),
        }
    };
    let stands = told(&mut game);
    game.step_to(game.tick + 60);
    assert_eq!(told(&mut game), stands);
    game.persists = true;
    game.persist_through(u64::MAX);
    game.step();
    assert_eq!((game.when.len(), game.peer(clients[0]).next()), (limit + 1, limit as u64 + 1));
    game.check_everyone();
}

#[test]
fn a12_a_changed_log_breaks_the_chain_at_its_tick() {
    let (mut game, clients) = Match::started(config(1, 6));
    game.inputs(clients[0], 0, &[3; 5]);
    game.step_to(5);
    let frames = |log: &MemoryLog| log.frames().expect("a room's log").collect::<Result<Vec<_>, _>>();
    assert_eq!(frames(&game.log).map(|frames| frames.len()), Ok(5));

    let copy = |change: &dyn Fn(u64, &mut Vec<u8>) -> bool| {
        let mut log = MemoryLog::new();
        for (sequence, record) in game.log.records() {
            let mut record = record.to_vec();
            if change(sequence, &mut record) {
                log.append(log.next_sequence(), &record).expect("in order");
            }
        }
        log
    };
    // Records 1 to 4 are the creation, the claim, the start and the seat's new driver; tick 2 stands in record 7.
    let forged = copy(&|sequence, record| {
        if sequence == 7 {
            let value = record.iter().position(|byte| *byte == 3).expect("the input");
            record[value] = 4;
        }
        true
    });
    assert!(matches!(frames(&forged), Err(LogError::Chain { tick, .. }) if tick == Tick::new(2)));
    let gap = copy(&|sequence, _| sequence != 7);
    assert_eq!(frames(&gap).map(|_| ()), Err(LogError::Frame { sequence: 7 }));
    let torn = copy(&|sequence, record| {
        record.truncate(if sequence == 7 { 9 } else { MAX_RECORD_BYTES });
        true
    });
    assert!(matches!(frames(&torn), Err(LogError::Record { sequence: 7, .. })));
    let headless = copy(&|sequence, _| sequence != 1);
    assert_eq!(headless.frames().map(|_| ()), Err(LogError::NotCreated));
    assert_eq!(MemoryLog::new().frames().map(|_| ()), Err(LogError::NotCreated));
}

#[test]
fn a12_records_are_read_back_by_their_number() {
    let (game, _) = Match::started(config(1, 6));
    let mut log = game.log.clone();
    let mut out = vec![9];
    assert_eq!(log.read_into(3, &mut out), Ok(true));
    assert_eq!(Record::decode(&out), Ok(Record::Started { generation: Generation(0) }));
    for missing in [0, 5, u64::MAX] {
        assert_eq!((log.read_into(missing, &mut out), out.len()), (Ok(false), 0));
    }
    assert_eq!(log.append(6, b""), Err(LogError::Sequence { expected: 5, found: 6 }));
}

#[test]
fn a6_tokens_depend_on_the_secret_alone_and_survive_a_rebuilt_room() {
    let token = |secret| {
        let mut game = Match::new(config(2, 6));
        game.room = Room::new(config(2, 6), secret).expect("valid");
        let client = game.join();
        game.peer(client).token()
    };
    assert_eq!(token(SECRET), token(SECRET));
    assert_ne!(token(SECRET), token(RoomSecret([1; 32])));
}

/// Otherwise everyone would be played by substitutes for as long as the disk stands still, and then see all of it at once (A1).
#[test]
fn a1_time_in_which_the_log_stands_still_does_not_pass_for_the_match() {
    for durability in [Durability::EveryFrame, Durability::Interval] {
        check_that_time_stands_still(durability);
    }
}

fn check_that_time_stands_still(durability: Durability) {
    let (mut game, clients) = Match::started(RoomConfig { durability, ..config(2, 6) });
    game.play(&clients, 60);
    game.persists = false;
    // With intervals frames wait for what stands before them alone.
    game.room.set_locked(true);
    game.drain();
    // A client that hears nothing sends as far ahead as it may, and no further.
    let ahead = look_ahead_ticks(game.rate, &game.room.rules(), &game.room.descriptor().limits());
    let values = vec![1; usize::try_from(ahead).expect("small")];
    clients.iter().for_each(|client| game.inputs(*client, 60, &values));
    game.step_to(3_000);
    let stood = game.room.frontier().index();
    assert!((60..=60 + ahead).contains(&stood), "it went on to tick {stood}");
    assert_eq!(game.room.clock_tick().map(|tick| tick.index() <= stood), Some(true));
    game.persists = true;
    game.persist_through(u64::MAX);
    // Then it goes on, tick by tick.
    for _ in 0..60 {
        let next = game.room.frontier().index();
        clients.iter().for_each(|client| game.input(*client, next, 2));
        game.step();
    }
    let passed = game.room.frontier().index() - stood;
    assert!((59..=60).contains(&passed), "{passed} ticks in a second");
    assert_eq!((game.flagged(0), game.flagged(1)), (vec![], vec![]));
    game.check_everyone();
}

/// Ephemerals are for the moment. Behind a log that stands still they would only pile up.
#[test]
fn a9_ephemerals_are_dropped_where_too_much_waits_for_the_log() {
    let (mut game, clients) = Match::started(durable(2));
    game.persists = false;
    game.step();
    let (payload, sent) = ([7; MAX_EPHEMERAL_BYTES], 3 * 1024);
    for _ in 0..sent {
        game.send(clients[0], &ClientMessage::Ephemeral { payload: &payload });
        game.step_to(game.tick + 3);
    }
    // A mebibyte waits.
    let heard = sent - game.room.stats().seats.dropped_ephemerals;
    assert!((1000..=1024).contains(&heard), "{heard}");
    game.persists = true;
    game.persist_through(u64::MAX);
    let is_ephemeral = |notice: &&Notice| matches!(notice, Notice::Ephemeral { .. });
    assert_eq!(game.peer(clients[1]).notices.iter().filter(is_ephemeral).count() as u64, heard);
    // Once the log is there, they are heard again.
    game.send(clients[0], &ClientMessage::Ephemeral { payload: b"again" });
    assert!(game.peer(clients[1]).was_sent(b"again"));
}
