//! Rooms that are made of their logs, and what clients give back to them (A12).

use proptest::prelude::*;
use retick_authority::log::{FrameLog, MemoryLog, Record};
use retick_authority::room::{
    ConnectionId, Durability, MAX_TAIL_MESSAGES, MatchSettlement, Output, RECOVERY_WINDOW_MILLIS, RecordError,
    RestoreError, Room, RoomConfig, RoomEvent, SeatState,
};
use retick_core::config::SessionConfig;
use retick_core::seat::Presence;
use retick_core::tick::Tick;
use retick_core::wire::{ClientMessage, CloseReason, MAX_TAIL_TICKS, Refusal};

use crate::driver::{GENERATION, Match, Notice, config, durable, seat};

/// A match of `seats` that was played up to `tick`, with all inputs in time.
fn played(seats: usize, tick: u64) -> (Match, Vec<ConnectionId>) {
    let (mut game, clients) = Match::started(config(seats, 6));
    play(&mut game, &clients, tick);
    (game, clients)
}

fn play(game: &mut Match, clients: &[ConnectionId], tick: u64) {
    let until = game.room.frontier().index() + tick;
    while game.room.frontier().index() < until {
        let next = game.room.frontier().index();
        for (index, client) in clients.iter().enumerate() {
            game.input(*client, next, i32::try_from(next % 50).expect("small") + i32::try_from(index).expect("small"));
        }
        game.step();
    }
}

/// Everyone comes back with what they have.
fn return_all(game: &mut Match, clients: &[ConnectionId]) -> Vec<ConnectionId> {
    clients.iter().map(|client| game.return_from(*client)).collect()
}

fn wanted(game: &Match, client: ConnectionId) -> Option<u64> {
    let is_wanted = |notice: &Notice| if let Notice::TailWanted(next) = notice { Some(*next) } else { None };
    game.peer(client).notices.iter().find_map(is_wanted)
}

fn recovered(game: &Match) -> Option<(u64, u64)> {
    game.events.iter().find_map(|event| match event {
        RoomEvent::Recovered { frontier, returned_ticks } => Some((frontier.index(), *returned_ticks)),
        _ => None,
    })
}

#[test]
fn a12_a_restored_room_is_the_same_room() {
    let (mut game, clients) = Match::started(durable(3));
    play(&mut game, &clients, 20);
    game.send(clients[2], &ClientMessage::Leave);
    play(&mut game, &clients[..2], 20);
    let (head, frontier) = (game.room.chain_head(), game.room.frontier());
    let before: Vec<_> = clients.iter().map(|it| (game.peer(*it).claim, game.peer(*it).epoch)).collect();
    game.restart(u64::MAX, Durability::EveryFrame);
    assert_eq!((game.room.chain_head(), game.room.frontier(), game.room.fence()), (head, frontier, 1));
    assert!(!game.room.is_recovering(), "nothing that was released is missing");
    let states: Vec<_> = (0..3).map(|index| game.room.seat_state(seat(index))).collect();
    let [lost, gone] = [SeatState::Disconnected, SeatState::Vacated].map(Some);
    assert_eq!(states, [lost, lost, gone]);
    let back = return_all(&mut game, &clients[..2]);
    for (index, client) in back.iter().enumerate() {
        let peer = game.peer(*client);
        assert_eq!((peer.claim, peer.epoch), before[index]);
        assert!(!peer.token().matches(&game.peer(clients[index]).token()), "the old one let it in, and was rotated");
    }
    play(&mut game, &back, 10);
    game.check_everyone();
    assert!((40..50).all(|tick| game.frame(tick).fence() == 1 && game.value(tick, 0).0.is_some()));
    assert_eq!((game.frame(39).fence(), game.frame(45).seat(seat(1)).presence), (0, Presence::Human));
    // Who left stays away, and its claim is not given to anyone else.
    let left = game.return_from(clients[2]);
    assert_eq!(game.peer(left).refusal(), Some(Refusal::GraceOver));
    // A substitute still repeats the last input, from before the restart.
    let (mut game, clients) = Match::started(durable(2));
    play(&mut game, &clients, 10);
    let last = game.value(9, 1).0;
    game.restart(u64::MAX, Durability::EveryFrame);
    let back = return_all(&mut game, &clients);
    game.input(back[0], 10, 3);
    game.step_to(game.tick + 8);
    assert_eq!((game.value(10, 1), game.value(10, 0)), ((last, true), (Some(3), false)));
}

#[test]
fn a12_a_restored_lobby_waits_on() {
    let mut game = Match::new(durable(2));
    let first = game.join_ready();
    game.restart(u64::MAX, Durability::EveryFrame);
    let back = game.return_from(first);
    game.ready(back);
    let second = game.join_ready();
    // The claims of each run have numbers of their own.
    assert_eq!((game.peer(back).claim.0, game.peer(second).claim.0), (0, 1 << 32));
    play(&mut game, &[back, second], 5);
    game.check_everyone();
}

#[test]
fn a12_clients_give_back_what_the_log_lost_and_a_fence_follows() {
    let (mut game, clients) = played(2, 60);
    let kept = game.records_before(48);
    game.restart(kept, Durability::Interval);
    assert!(game.room.is_recovering() && game.room.frontier() == Tick::new(48));
    // Nothing is confirmed, whoever has sent what.
    let one = game.return_from(clients[0]);
    assert_eq!((wanted(&game, one), game.room.clock_tick()), (Some(48), None));
    game.input(one, 60, 7);
    game.step_to(game.tick + 30);
    assert_eq!(game.room.frontier(), Tick::new(48));
    // In two parts, each of which proves itself.
    game.give_back(one, clients[0], 48, 53);
    game.give_back(one, clients[0], 53, 60);
    let other = game.return_from(clients[1]);
    game.step();
    assert_eq!((recovered(&game), game.room.is_recovering()), (Some((60, 12)), false));
    let started = |client| game.peer(client).notices.iter().any(|notice| matches!(notice, Notice::Started(_)));
    assert!(started(one) && started(other));
    game.input(other, 60, 8);
    game.step();
    assert_eq!((game.value(60, 0), game.value(60, 1)), ((Some(7), false), (Some(8), false)));
    play(&mut game, &[one, other], 20);
    game.check_everyone();
    let fences: Vec<_> = [47, 48, 59, 60].map(|tick| game.frame(tick).fence()).into();
    assert_eq!(fences, [0, 0, 0, 1]);
    assert_eq!(game.tally(80).sub, [0, 0]);
}

/// The fault that this pins: graces end on the clock also while nobody's does, so that the room asked to be called again at once,
/// for as long as it waited.
#[test]
fn a12_a_room_that_waits_for_its_clients_is_not_called_for_their_graces() {
    let config = RoomConfig { grace_millis: 1_000, ..config(2, 6) };
    let (mut game, clients) = Match::started(config);
    play(&mut game, &clients, 60);
    game.restart(game.records_before(50), Durability::Interval);
    game.return_from(clients[0]);
    let grace_is_over = game.tick + 120;
    while game.tick < grace_is_over {
        game.step();
        assert!(game.room.is_recovering(), "guard: the other one is awaited");
        let next = game.room.next_timeout().expect("the window ends");
        assert!(next > game.now(), "called at {:?}, and wants to be called at {next:?}", game.now());
    }
}

/// The fault that this pins: a room that waits for nothing gave out a number again that was lost with the machine, and with it the
/// token of whoever had it before.
#[test]
fn a6_a_claim_that_was_lost_with_the_machine_leaves_no_key_to_the_seat_behind() {
    let mut game = Match::new(config(2, 6));
    let lost = game.join_ready();
    let (token, claim) = (game.peer(lost).token(), game.peer(lost).claim);
    // Of the log nothing is left but the room's creation.
    game.restart(1, Durability::None);
    let next = game.join_ready();
    assert_eq!(game.peer(next).seat, Some(seat(0)), "guard: it is the same seat");
    assert!(game.peer(next).claim > claim && game.peer(next).token() != token);
    let returned = game.resume(seat(0), token, 0);
    assert_eq!(game.peer(returned).refusal(), Some(Refusal::Token));
    assert_eq!(game.peer(next).closed, None);
}

#[test]
fn a12_the_window_ends_without_those_who_do_not_come() {
    let (mut game, clients) = played(2, 60);
    game.restart(game.records_before(50), Durability::Interval);
    let began = game.tick;
    let back = game.resume(seat(0), game.peer(clients[0]).token(), 40);
    while game.room.is_recovering() {
        game.step();
    }
    let waited_millis = (game.tick - began) * 1000 / 60;
    assert!(waited_millis.abs_diff(RECOVERY_WINDOW_MILLIS) < 100, "{waited_millis}");
    assert_eq!(recovered(&game), Some((50, 0)));
    assert_eq!(game.peer(back).next(), 50, "history comes in the window too");
    game.peers.remove(&clients[0]);
    // Who comes later with more is told so, and with as much, but of another history, too.
    let late = game.return_from(clients[1]);
    assert!(
        matches!(game.peer(late).refusal(), Some(Refusal::HistoryForked { client, .. }) if client == Tick::new(60))
    );
    play(&mut game, &[back], 20);
    let same_length = game.return_from(clients[1]);
    assert!(matches!(game.peer(same_length).refusal(), Some(Refusal::HistoryForked { .. })));
    // Who has no more than the shared part is let in.
    let token = game.peer(clients[1]).token();
    let shorter = game.resume_with(seat(1), token, (GENERATION, 50, Some(0)));
    assert_eq!(game.peer(shorter).refusal(), None);
    game.step_to(game.tick + 5);
    game.peers.remove(&clients[1]);
    game.check_everyone();
}

#[test]
fn a12_what_does_not_prove_itself_is_not_taken_and_its_holder_is_told() {
    let (mut game, clients) = played(2, 60);
    game.restart(game.records_before(50), Durability::Interval);
    let back = return_all(&mut game, &clients);
    // A changed frame, a gap, another release's tag, and a part without its release's end.
    let peer = game.peers.get_mut(&clients[0]).expect("known");
    let genuine = (peer.frames.clone(), peer.tags.clone());
    peer.frames.swap(51, 52);
    let forged = peer.frames[51].clone();
    peer.frames[52] = forged;
    game.give_back(back[0], clients[0], 50, 60);
    let peer = game.peers.get_mut(&clients[0]).expect("known");
    (peer.frames, peer.tags) = genuine;
    let other = peer.tags[&59];
    peer.tags.insert(58, other);
    game.give_back(back[0], clients[0], 51, 60);
    game.give_back(back[0], clients[0], 50, 58);
    game.give_back(back[0], clients[0], 40, 60);
    assert_eq!(game.room.stats().unproved_tails, 4);
    game.give_back(back[1], clients[1], 50, 57);
    game.step();
    assert!(game.room.is_recovering(), "seat 1 says that it has more");
    while game.room.is_recovering() {
        game.step();
    }
    assert_eq!(recovered(&game), Some((57, 7)));
    for client in back {
        let forked = CloseReason::HistoryForked { room: Tick::new(57), client: Tick::new(60) };
        assert!(game.peer(client).notices.contains(&Notice::Closing(forked)), "{:?}", game.peer(client).notices);
    }
    // What is no frame at all ends its connection alone.
    let (mut game, clients) = played(1, 10);
    game.restart(game.records_before(5), Durability::Interval);
    let back = game.return_from(clients[0]);
    let bytes = crate::driver::bytes_of(&ClientMessage::Tail(retick_core::wire::Frames {
        generation: GENERATION,
        first: Tick::new(5),
        count: 3,
        complete: true,
        tag: Default::default(),
        body: &[255; 40],
    }));
    game.send_bytes(back, &bytes);
    assert!(game.peer(back).notices.contains(&Notice::Closing(CloseReason::Malformed)));
}

/// Shorter than the older one, and longer: who holds the older one is told in either case.
#[test]
fn a12_of_two_histories_the_later_run_wins() {
    for ticks in [5, 30] {
        two_histories(ticks);
    }
}

fn two_histories(ticks: u64) {
    // Run 0 confirms to 60, and the log keeps 50. Only seat 1 comes back, with nothing beyond.
    let (mut game, clients) = played(2, 60);
    let kept = game.records_before(50);
    game.restart(kept, Durability::Interval);
    let token = game.peer(clients[1]).token();
    let back = game.resume(seat(1), token, 50);
    while game.room.is_recovering() {
        game.step();
    }
    // Run 1 confirms others for the same ticks, of which the log keeps none but the fence.
    play(&mut game, &[back], ticks);
    let fence =
        game.log.records().find(|(_, it)| matches!(Record::decode(it), Ok(Record::Fence { .. }))).expect("one").0;
    game.restart(fence + 1, Durability::Interval);
    assert_eq!((game.room.frontier(), game.room.fence()), (Tick::new(50), 2));
    // The older history is longer, and was first.
    let older = game.return_from(clients[0]);
    game.give_back(older, clients[0], 50, 60);
    let newer = game.return_from(back);
    let end = game.peer(back).next();
    game.give_back(newer, back, 50, end);
    assert_eq!(game.room.stats().unproved_tails, 0);
    while game.room.is_recovering() {
        game.step();
    }
    assert_eq!((recovered(&game).map(|it| it.0), game.frame(54).fence()), (Some(50), 1));
    assert_eq!(game.room.frontier(), Tick::new(end));
    assert!(game.peer(older).notices.iter().any(|it| matches!(it, Notice::Closing(CloseReason::HistoryForked { .. }))));
    assert_eq!(game.peer(newer).closed, None);
}

#[test]
fn a12_a_tail_is_bounded() {
    let (mut game, clients) = played(1, 20 + MAX_TAIL_TICKS as u64);
    game.restart(game.records_before(10), Durability::Interval);
    let back = game.return_from(clients[0]);
    let end = 10 + MAX_TAIL_TICKS as u64;
    game.give_back(back, clients[0], 10, 500);
    game.give_back(back, clients[0], 500, end + 1);
    assert_eq!(game.room.stats().unproved_tails, 1);
    game.give_back(back, clients[0], 500, end);
    assert_eq!(game.room.stats().unproved_tails, 1);
    while game.room.is_recovering() {
        game.step();
    }
    assert_eq!(recovered(&game), Some((end, MAX_TAIL_TICKS as u64)));
}

/// A log of everything that a room goes through.
fn eventful() -> MemoryLog {
    let (mut game, clients) = Match::started(config(3, 6));
    play(&mut game, &clients, 10);
    game.disconnect(clients[1]);
    game.step_to(game.tick + 10);
    let back = game.return_from(clients[1]);
    game.send(clients[2], &ClientMessage::Leave);
    play(&mut game, &[clients[0], back], 10);
    game.restart(game.records_before(25), Durability::Interval);
    let again = return_all(&mut game, &[clients[0], back]);
    game.give_back(again[0], clients[0], 25, game.peer(clients[0]).next());
    game.step();
    play(&mut game, &again, 5);
    game.restart(u64::MAX, Durability::None);
    game.step_to(game.tick + 400);
    game.room.close(game.now());
    game.drain();
    game.log
}

/// A log of bots, pauses, a lock, results and a reconfiguration.
fn lively() -> MemoryLog {
    let (mut game, clients) = Match::started(RoomConfig { max_observers: 2, ..config(3, 6) });
    game.room.set_locked(true);
    game.play(&clients, 10);
    game.send(clients[2], &ClientMessage::Leave);
    game.room.seat_bot(seat(2)).expect("it is empty");
    game.drain();
    game.step_to(game.tick + 10);
    game.room.pause(game.now()).expect("it runs");
    game.drain();
    game.step_to(game.tick + 5);
    let end = game.room.frontier();
    for client in &clients[..2] {
        game.send(*client, &ClientMessage::Result { generation: GENERATION, tick: end, result: b"over" });
    }
    game.room.unpause(game.now()).expect("it stands");
    game.room.remove_bot(seat(2)).expect("it is there");
    game.drain();
    game.disconnect(clients[1]);
    game.room.seat_bot(seat(1)).expect("its player is away");
    game.drain();
    game.step_to(game.tick + 10);
    let back = game.return_from(clients[1]);
    game.ready(back);
    game.step_to(game.tick + 60);
    let config = SessionConfig::from_bytes(b"another level").expect("short");
    game.room.reconfigure(config, game.now()).expect("it runs");
    game.drain();
    game.step_to(game.tick + 3);
    for client in [clients[0], back] {
        game.ready(client);
    }
    game.step_to(game.tick + 20);
    game.log
}

/// What a room says of itself, as far as a restart leaves it.
fn description(room: &Room) -> String {
    let seats = room.descriptor().seats().seats();
    let seats: Vec<_> =
        seats.map(|seat| (room.bot_lease(seat), room.frame(Tick::ZERO).map(|it| it.seat(seat).epoch))).collect();
    let position = (room.descriptor().digest(), room.frontier(), room.chain_head());
    format!("{position:?} {seats:?} {:?} {} {:?}", room.settlement(), room.is_locked(), room.creator())
}

/// Restores the room of each beginning of a log, with what the room said of itself when that was its whole log.
#[test]
fn a12_bots_pauses_results_and_generations_are_restored() {
    let log = lively();
    let (mut kinds, mut settled, mut paused, mut generations) = (0, 0, 0, 0);
    for end in 1..log.next_sequence() {
        let mut prefix = beginning(&log, end);
        let room = Room::restore(&mut prefix, Durability::EveryFrame).unwrap_or_else(|error| panic!("{end}: {error}"));
        // What was restored is restored again, with the fence in between.
        let mut again = prefix.clone();
        let mut room = room;
        while let Some(output) = room.poll_output() {
            if let Output::Persist { sequence, record } = output {
                again.append(sequence, record).expect("the log goes on");
            }
        }
        if room.is_closed() {
            continue;
        }
        let second = Room::restore(&mut again, Durability::EveryFrame).expect("its own log");
        assert_eq!((description(&second), second.fence()), (description(&room), room.fence() + 1), "record {end}");
        kinds += usize::from((0..3).any(|index| room.bot_lease(seat(index)).is_some()));
        settled += usize::from(matches!(room.settlement(), MatchSettlement::Agreed { .. }));
        generations += usize::from(room.descriptor().generation() != GENERATION);
        paused += usize::from(room.is_recovering());
    }
    assert!(kinds > 10 && settled > 10 && paused > 10 && generations > 3, "{kinds} {settled} {paused} {generations}");
}

fn beginning(log: &MemoryLog, end: u64) -> MemoryLog {
    let mut prefix = MemoryLog::new();
    for (sequence, record) in log.records().take_while(|(sequence, _)| *sequence <= end) {
        prefix.append(sequence, record).expect("in order");
    }
    prefix
}

/// The clock that was stopped before the restart is stopped after it, at the same tick.
#[test]
fn a12_a_pause_outlives_a_restart() {
    for (before, recovers) in [(Durability::EveryFrame, false), (Durability::Interval, true)] {
        let (mut game, clients) = Match::started(RoomConfig { durability: before, ..config(2, 6) });
        game.play(&clients, 20);
        game.room.pause(game.now()).expect("it runs");
        game.drain();
        let (frontier, clock) = (game.room.frontier(), game.room.clock_tick());
        game.restart(u64::MAX, Durability::EveryFrame);
        assert_eq!(game.room.is_recovering(), recovers);
        let back = return_all(&mut game, &clients);
        game.step_to(game.tick + 20);
        assert!(game.room.is_paused());
        assert_eq!((game.room.frontier(), game.room.clock_tick()), (frontier, clock));
        game.room.unpause(game.now()).expect("it stands");
        game.drain();
        play(&mut game, &back, 10);
        game.check_everyone();
    }
}

/// The fault that this pins: a room that was restored as it stood still confirmed ticks that its clock had not reached, when clients
/// gave back frames from after the pause.
#[test]
fn a12_frames_from_after_a_pause_move_the_clock_that_stood_before_them() {
    let (mut game, clients) = Match::started(config(2, 6));
    play(&mut game, &clients, 20);
    game.room.pause(game.now()).expect("it runs");
    game.drain();
    let stood = game.log.records().count() as u64;
    game.step_to(game.tick + 10);
    game.room.unpause(game.now()).expect("it stands");
    game.drain();
    play(&mut game, &clients, 20);
    let played = game.room.frontier();
    game.restart(stood, Durability::None);
    let lost = game.room.frontier();
    let one = game.return_from(clients[0]);
    game.give_back(one, clients[0], lost.index(), played.index());
    game.return_from(clients[1]);
    game.step();
    assert!(
        game.room.is_paused() && game.room.frontier() == played,
        "guard: the frames are back, the end of the pause is not"
    );
    let clock = game.room.clock_tick().expect("it stands somewhere");
    assert!(clock >= played, "{clock} is before {played}");
}

fn with_changed_record(log: &MemoryLog, changed: u64, change: impl Fn(&mut Vec<u8>)) -> MemoryLog {
    let mut copy = MemoryLog::new();
    for (sequence, record) in log.records() {
        let mut record = record.to_vec();
        if sequence == changed {
            change(&mut record);
        }
        copy.append(sequence, &record).expect("in order");
    }
    copy
}

#[test]
fn a12_every_beginning_of_a_log_restores() {
    let log = eventful();
    let whole = log.next_sequence();
    let mut frontier = Tick::ZERO;
    for end in 1..whole {
        let mut prefix = beginning(&log, end);
        match Room::restore(&mut prefix, Durability::EveryFrame) {
            Ok(room) => {
                assert!(room.frontier() >= frontier, "record {end}");
                frontier = room.frontier();
            }
            Err(RestoreError::Ended { .. }) => assert_eq!(end, whole - 1),
            Err(error) => panic!("record {end}: {error}"),
        }
    }
    assert!(frontier > Tick::new(30));
    assert_eq!(Room::restore(&mut MemoryLog::new(), Durability::None).err(), Some(RestoreError::Empty));
}

#[test]
fn a12_records_that_contradict_each_other_are_refused() {
    let log = eventful();
    let kinds: Vec<(u64, Vec<u8>)> = log.records().map(|(sequence, record)| (sequence, record.to_vec())).collect();
    let named = |is: fn(&Record<'_>) -> bool| {
        kinds.iter().find(|(_, record)| is(&Record::decode(record).expect("a record"))).expect("there is one").clone()
    };
    let (frame, bytes) = named(|record| matches!(record, Record::Frame { tick, .. } if *tick == Tick::new(3)));
    let (_, claim) = named(|record| matches!(record, Record::Claimed { .. }));
    let (_, created) = named(|record| matches!(record, Record::Created { .. }));
    let (_, started) = named(|record| matches!(record, Record::Started { .. }));
    let (_, fence) = named(|record| matches!(record, Record::Fence { .. }));
    // In the place of tick 3: another frame, and records that can't stand there.
    let (_, later) = named(|record| matches!(record, Record::Frame { tick, .. } if *tick == Tick::new(4)));
    for wrong in [&claim, &created, &started, &later] {
        let mut forged = with_changed_record(&log, frame, |record| record.clone_from(wrong));
        let error = Room::restore(&mut forged, Durability::None).err();
        let expected = RestoreError::Record { sequence: frame, error: RecordError::Contradiction };
        assert_eq!(error, Some(expected), "{:?}", Record::decode(wrong));
    }
    // A fence fits there; the frame that is missing then does not.
    let mut forged = with_changed_record(&log, frame, |record| record.clone_from(&fence));
    assert!(
        matches!(Room::restore(&mut forged, Durability::None), Err(RestoreError::Record { sequence, .. }) if sequence == frame + 1)
    );
    let mut forged = with_changed_record(&log, frame, |record| {
        let last = record.len() - 1;
        record[last] ^= 1;
    });
    assert!(matches!(
        Room::restore(&mut forged, Durability::None),
        Err(RestoreError::Record { sequence, error: RecordError::Chain { .. } }) if sequence == frame
    ));
    let mut headless = with_changed_record(&log, 1, |record| record.clone_from(&bytes));
    let error = Room::restore(&mut headless, Durability::None).err();
    assert_eq!(error, Some(RestoreError::Record { sequence: 1, error: RecordError::NotCreated }));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    /// Records stand behind checksums; whoever changes one nevertheless gets an error or a room, and no panic.
    #[test]
    fn a12_no_record_panics(record in 1u64..60, byte in 0usize..4096, mask in 1u8.., cut in any::<bool>()) {
        let log = eventful_once();
        let mut changed = with_changed_record(log, record, |bytes| {
            if cut {
                bytes.truncate(byte % (bytes.len() + 1));
            } else {
                let place = byte % bytes.len();
                bytes[place] ^= mask;
            }
        });
        let _ = Room::restore(&mut changed, Durability::Interval);
    }
}

fn eventful_once() -> &'static MemoryLog {
    static LOG: std::sync::OnceLock<MemoryLog> = std::sync::OnceLock::new();
    LOG.get_or_init(eventful)
}

/// A log holds the whole match. A room that is made of it holds what a room holds.
#[test]
fn a7_a_restored_room_has_no_more_history_than_it_may() {
    let mut config = durable(2);
    config.donation.history_millis = 5_000;
    let (mut game, clients) = Match::started(config);
    play(&mut game, &clients, 2_000);
    let before = game.room.history_start();
    assert!(before > Tick::ZERO, "guard");
    game.restart(u64::MAX, Durability::EveryFrame);
    assert_eq!(game.room.history_start(), before);
    let back = return_all(&mut game, &clients);
    play(&mut game, &back, 10);
    game.check_everyone();
}

/// Each may cost as much as a mebibyte of hashing, proved or not.
#[test]
fn a12_a_connection_gives_back_so_many_messages_and_no_more() {
    let (mut game, clients) = played(3, 60);
    game.restart(game.records_before(50), Durability::Interval);
    let back = return_all(&mut game, &clients[..2]);
    let most = u64::from(MAX_TAIL_MESSAGES);
    (0..most + 5).for_each(|_| game.give_back(back[0], clients[0], 50, 55));
    assert_eq!(game.room.stats().unproved_tails, 5);
    // Another one is heard all the same.
    game.give_back(back[1], clients[1], 50, 60);
    assert_eq!(game.room.stats().unproved_tails, 5);
    game.step_to(game.tick + 60 * RECOVERY_WINDOW_MILLIS / 1000 + 60);
    assert_eq!(recovered(&game), Some((60, 10)));
}

/// A match of which two machines disagreed has no result, whatever its players say after a restart.
#[test]
fn a12_a_desync_is_not_forgotten() {
    for sums_up in [false, true] {
        check_that_a_desync_is_known(sums_up);
    }
}

fn check_that_a_desync_is_known(sums_up: bool) {
    let (mut game, clients) = Match::started(durable(2));
    play(&mut game, &clients, 10);
    game.report(clients[0], 1, b"one");
    game.report(clients[1], 1, b"other");
    if sums_up {
        game.forget();
    }
    game.restart(u64::MAX, Durability::EveryFrame);
    let back = return_all(&mut game, &clients);
    play(&mut game, &back, 10);
    let result = ClientMessage::Result { generation: GENERATION, tick: Tick::new(15), result: b"I won" };
    back.iter().for_each(|client| game.send(*client, &result));
    assert_eq!(game.room.settlement(), MatchSettlement::Disputed);
    // It was one of its generation alone.
    let now = game.now();
    game.room.reconfigure(SessionConfig::empty(), now).expect("it runs");
    game.drain();
    game.restart(u64::MAX, Durability::EveryFrame);
    assert_eq!(game.room.settlement(), MatchSettlement::Incomplete { reported: Default::default() });
}

/// A vote ends with its transport, whether the room was restarted meanwhile or not.
#[test]
fn a15_a_vote_to_wait_ends_with_its_transport() {
    for restarts in [false, true] {
        let mut game = Match::new(durable(2));
        let clients = [game.join_ready(), game.join()];
        game.send(clients[0], &ClientMessage::Vote { ready: false });
        game.ready(clients[1]);
        assert_eq!(game.room.clock_tick(), None, "guard: it waits");
        let back = if restarts {
            game.restart(u64::MAX, Durability::EveryFrame);
            clients.map(|client| game.return_from(client))
        } else {
            [game.return_from(clients[0]), clients[1]]
        };
        game.ready(back[0]);
        game.ready(back[1]);
        assert_eq!(game.room.clock_tick(), Some(Tick::ZERO), "restarts: {restarts}");
    }
}
