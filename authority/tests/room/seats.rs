//! How seats change hands (A5): transitions, claims while the match runs, bots, and what is left of whoever left (A08).

use retick_authority::log::Record;
use retick_authority::room::{
    BotLeaseId, ConnectionId, OnLeave, RoomConfig, RoomEvent, SeatError, SeatPolicy, SeatState, SeatTransition,
};
use retick_core::frame::CommandSource;
use retick_core::seat::{ControlEpoch, Presence, SeatSet};
use retick_core::tick::Tick;
use retick_core::wire::{ClientMessage, PlayerId, Refusal};

use crate::driver::{Match, Notice, config, seat};

/// How far ahead a newcomer is told to take part, in ticks of 60 Hz.
const LEAD: u64 = 15;

fn with(policy: SeatPolicy, seats: usize) -> RoomConfig {
    RoomConfig { seats: policy, ..config(seats, 6) }
}

fn bots(indices: &[usize]) -> SeatSet {
    indices.iter().map(|index| seat(*index)).collect()
}

/// Every transition so far: seat, which, tick, epoch.
fn transitions(game: &Match) -> Vec<(usize, SeatTransition, u64, u32)> {
    let changed = |event: &RoomEvent| match event {
        RoomEvent::SeatChanged { seat, transition, tick, epoch, .. } => {
            Some((seat.index(), *transition, tick.index(), epoch.0))
        }
        _ => None,
    };
    game.events.iter().filter_map(changed).collect()
}

/// The same, as the log has them.
fn logged(game: &Match) -> Vec<(usize, SeatTransition, u64, u32)> {
    let records = game.log.records().map(|(_, bytes)| Record::decode(bytes).expect("a record"));
    let changed = |record| match record {
        Record::SeatChanged { seat, transition, tick, epoch, .. } => {
            Some((seat.index(), transition, tick.index(), epoch.0))
        }
        _ => None,
    };
    records.filter_map(changed).collect()
}

fn driven(game: &Match, tick: u64, index: usize) -> (Presence, u32) {
    let frame = game.frame(tick);
    let view = frame.seat(seat(index));
    (view.presence, view.epoch.0)
}

/// Every transition is an event and a record, and the frame of its tick is the first that shows it.
fn check_transitions(game: &Match, expected: &[(usize, SeatTransition, u64, u32)]) {
    assert_eq!(transitions(game), expected);
    assert_eq!(logged(game), expected);
    for (index, transition, tick, epoch) in expected {
        if *tick >= game.room.frontier().index() {
            continue;
        }
        let presence = match transition {
            SeatTransition::EmptyToBot | SeatTransition::HumanToBot => Presence::Bot,
            SeatTransition::EmptyToHuman | SeatTransition::BotToHuman => Presence::Human,
            SeatTransition::BotToEmpty | SeatTransition::HumanToEmpty => Presence::Empty,
        };
        let later = expected.iter().rfind(|other| (other.0, other.2) == (*index, *tick));
        if later.is_some_and(|other| other.3 == *epoch) {
            assert_eq!(driven(game, *tick, *index), (presence, *epoch), "{transition:?}");
        }
        if let Some(before) = tick.checked_sub(1) {
            assert!(driven(game, before, *index).1 < *epoch, "{transition:?} raises the epoch");
        }
    }
    game.check_everyone();
}

#[test]
fn a5_all_six_transitions_happen_on_a_tick_and_raise_the_epoch() {
    let policy = SeatPolicy { humans_claim_bots: true, on_leave: OnLeave::Bot, ..SeatPolicy::default() };
    let (mut game, clients) = Match::started(with(policy, 2));
    game.play(&clients, 10);
    // S5: the leaver's seat is a bot's in the next frame.
    game.send(clients[1], &ClientMessage::Leave);
    game.play(&clients[..1], 20);
    // S4, and S1 in the same breath later.
    assert_eq!(game.room.remove_bot(seat(1)), Ok(()));
    game.play(&clients[..1], 30);
    let lease = game.room.seat_bot(seat(1)).expect("an empty seat");
    assert_eq!((lease.id, lease.epoch), (BotLeaseId(1), ControlEpoch(4)));
    assert_eq!(game.room.bot_lease(seat(1)), Some(lease));
    game.play(&clients[..1], 40);
    // S3: somebody claims the bot's seat, and the bot plays until then.
    let human = game.join_ready();
    game.play(&[clients[0], human], 70);
    let takes = 40 + LEAD;
    assert_eq!((driven(&game, takes - 1, 1), driven(&game, takes, 1)), ((Presence::Bot, 4), (Presence::Human, 5)));
    check_transitions(
        &game,
        &[
            (0, SeatTransition::EmptyToHuman, 0, 1),
            (1, SeatTransition::EmptyToHuman, 0, 1),
            (1, SeatTransition::HumanToBot, 10, 2),
            (1, SeatTransition::BotToEmpty, 20, 3),
            (1, SeatTransition::EmptyToBot, 30, 4),
            (1, SeatTransition::BotToHuman, takes, 5),
        ],
    );
    // S6, where nobody takes over.
    let (mut game, clients) = Match::started(config(2, 6));
    game.play(&clients, 10);
    game.send(clients[1], &ClientMessage::Leave);
    game.play(&clients[..1], 20);
    check_transitions(
        &game,
        &[
            (0, SeatTransition::EmptyToHuman, 0, 1),
            (1, SeatTransition::EmptyToHuman, 0, 1),
            (1, SeatTransition::HumanToEmpty, 10, 2),
        ],
    );
}

#[test]
fn a06_bots_are_null_in_every_frame_and_nobody_waits_for_them() {
    let policy = SeatPolicy { initial_bots: bots(&[2, 3]), ..SeatPolicy::default() };
    let mut game = Match::new(with(policy, 4));
    let clients = [game.join_ready(), game.join_ready()];
    assert_eq!(game.room.clock_tick(), Some(Tick::ZERO), "bots make the room full");
    game.play(&clients, 60);
    for tick in 0..60 {
        for index in [2, 3] {
            assert_eq!((game.value(tick, index), driven(&game, tick, index)), ((None, false), (Presence::Bot, 1)));
        }
    }
    assert_eq!(game.when, (0..60).collect::<Vec<_>>());
    // An explicit leave leaves the bots playing, and the other player.
    game.send(clients[0], &ClientMessage::Leave);
    game.play(&clients[1..], 80);
    assert_eq!((driven(&game, 79, 0).0, driven(&game, 79, 3).0), (Presence::Empty, Presence::Bot));
    // The last player leaves, and bots alone don't keep the room.
    game.send(clients[1], &ClientMessage::Leave);
    assert!(game.room.is_closed());
    game.check_everyone();
}

#[test]
fn a5_a_claim_while_the_match_runs_takes_part_from_its_tick_and_not_before() {
    let mut game = Match::new(RoomConfig { start: retick_authority::room::StartPolicy::Manual, ..config(2, 6) });
    let first = game.join_ready();
    game.room.start(game.now()).expect("someone is there");
    game.play(&[first], 100);
    let late = game.join();
    assert_eq!(game.room.seat_state(seat(1)), Some(SeatState::Joining));
    game.play(&[first], 110);
    // It has the whole history, and nobody waited for it.
    assert_eq!((game.peer(late).next(), game.when[109]), (110, 109));
    assert_eq!(driven(&game, 109, 1), (Presence::Empty, 0));
    game.ready(late);
    let takes = 110 + LEAD;
    assert_eq!(game.peer(late).notices.last(), Some(&Notice::Activated(Tick::new(takes))));
    game.inputs(late, 110, &[9; 30]);
    game.play(&[first], 140);
    assert_eq!((game.value(takes - 1, 1), game.value(takes, 1)), ((None, false), (Some(9), false)));
    assert_eq!(game.room.seat_stats(seat(1)).expect("a seat").early_inputs, LEAD);
    assert_eq!((driven(&game, takes - 1, 1).0, driven(&game, takes, 1)), (Presence::Empty, (Presence::Human, 1)));
    // Said again, it is told the same.
    game.ready(late);
    assert_eq!(game.peer(late).notices.last(), Some(&Notice::Activated(Tick::new(takes))));
    game.check_everyone();
}

#[test]
fn a5_a_newcomer_that_is_lost_before_its_tick_must_be_ready_again() {
    let policy = SeatPolicy { recycle_vacated: true, ..SeatPolicy::default() };
    let (mut game, clients) = Match::started(with(policy, 2));
    game.play(&clients, 10);
    game.send(clients[1], &ClientMessage::Leave);
    let late = game.join_ready();
    game.disconnect(late);
    game.play(&clients[..1], 60);
    assert_eq!((driven(&game, 59, 1).0, game.when[59]), (Presence::Empty, 59));
    let back = game.return_from(late);
    game.play(&clients[..1], 70);
    assert_eq!(driven(&game, 69, 1).0, Presence::Empty);
    game.ready(back);
    game.play(&[clients[0], back], 90);
    assert_eq!((driven(&game, 70 + LEAD - 1, 1).0, driven(&game, 70 + LEAD, 1).0), (Presence::Empty, Presence::Human));
    game.check_everyone();
}

#[test]
fn a5_who_may_claim_what() {
    // Which seat a newcomer gets while seat 0 plays, seat 1 was vacated, seat 2 is a bot's.
    let claimed = |recycle_vacated, humans_claim_bots| {
        let initial_bots = bots(&[2]);
        let policy = SeatPolicy { recycle_vacated, humans_claim_bots, initial_bots, ..SeatPolicy::default() };
        let mut game = Match::new(with(policy, 3));
        let players = [game.join_ready(), game.join_ready()];
        game.play(&players, 10);
        game.send(players[1], &ClientMessage::Leave);
        let newcomers = [game.join(), game.join()];
        newcomers.map(|client| game.peer(client).seat.map(|seat| seat.index()))
    };
    assert_eq!(claimed(false, false), [None, None]);
    assert_eq!(claimed(true, false), [Some(1), None]);
    assert_eq!(claimed(false, true), [Some(2), None]);
    assert_eq!(claimed(true, true), [Some(1), Some(2)]);
}

#[test]
fn a5_a_seat_is_given_to_a_bot_or_taken_from_one_only_where_no_player_is() {
    let (mut game, clients) = Match::started(config(2, 6));
    assert_eq!(game.room.seat_bot(seat(0)), Err(SeatError::Held));
    assert_eq!(game.room.seat_bot(seat(2)), Err(SeatError::NoSuchSeat));
    assert_eq!(game.room.remove_bot(seat(0)), Err(SeatError::NoBot));
    game.play(&clients, 10);
    // A bot stands in for a player whose transport is lost; the player takes its seat back from it.
    game.disconnect(clients[1]);
    game.room.seat_bot(seat(1)).expect("its player is away");
    assert_eq!(game.room.seat_bot(seat(1)), Err(SeatError::Bot));
    game.play(&clients[..1], 20);
    let back = game.return_from(clients[1]);
    assert_eq!(game.room.remove_bot(seat(1)), Err(SeatError::Held), "its owner is on the way");
    assert_eq!((game.peer(back).epoch, game.peer(back).claim), (ControlEpoch(3), game.peer(clients[1]).claim));
    game.ready(back);
    game.play(&[clients[0], back], 50);
    let expected = [
        (0, SeatTransition::EmptyToHuman, 0, 1),
        (1, SeatTransition::EmptyToHuman, 0, 1),
        (1, SeatTransition::HumanToBot, 10, 2),
        (1, SeatTransition::BotToHuman, 20 + LEAD, 3),
    ];
    check_transitions(&game, &expected);
    game.room.close(game.now());
    assert_eq!(game.room.seat_bot(seat(0)), Err(SeatError::Closed));
}

#[test]
fn a5_an_owner_reclaims_its_seat_from_the_bot_that_came_after_its_grace() {
    for claims_bots in [false, true] {
        let policy = SeatPolicy { on_leave: OnLeave::Bot, humans_claim_bots: claims_bots, ..SeatPolicy::default() };
        let mut config = with(policy, 2);
        config.grace_millis = 500;
        let (mut game, clients) = Match::started(config);
        game.play(&clients, 10);
        game.disconnect(clients[1]);
        game.play(&clients[..1], 60);
        assert_eq!((game.room.seat_state(seat(1)), driven(&game, 59, 1).0), (Some(SeatState::Bot), Presence::Bot));
        // Whoever else comes gets it only where people may take bots' seats; that ends the owner's right.
        let other = game.join();
        assert_eq!(game.peer(other).seat.is_some(), claims_bots);
        let back = game.return_from(clients[1]);
        if claims_bots {
            assert_eq!(game.peer(back).refusal(), Some(Refusal::Token));
        } else {
            game.ready(back);
            game.play(&[clients[0], back], 90);
            assert_eq!(driven(&game, 60 + LEAD, 1), (Presence::Human, 3));
        }
        // One that left for good has no such right.
        game.send(clients[0], &ClientMessage::Leave);
        let gone = game.return_from(clients[0]);
        assert!(game.peer(gone).refusal().is_some());
        game.check_everyone();
    }
}

#[test]
fn a5_a_bot_that_is_taken_off_takes_the_right_of_whom_it_played_for_along() {
    let policy = SeatPolicy { on_leave: OnLeave::Bot, ..SeatPolicy::default() };
    let mut config = with(policy, 2);
    config.grace_millis = 500;
    let (mut game, clients) = Match::started(config);
    game.play(&clients, 10);
    game.disconnect(clients[1]);
    game.play(&clients[..1], 60);
    assert_eq!(game.room.remove_bot(seat(1)), Ok(()));
    game.drain();
    assert_eq!(game.room.seat_state(seat(1)), Some(SeatState::Vacated));
    let back = game.return_from(clients[1]);
    assert_eq!(game.peer(back).refusal(), Some(Refusal::GraceOver));
    game.check_everyone();
}

/// A right to come back is for who has played: whoever was only on the way to a bot's seat is a newcomer again.
#[test]
fn a5_who_never_took_part_has_no_right_to_the_bots_seat_after_its_grace() {
    let policy = SeatPolicy { initial_bots: bots(&[1]), humans_claim_bots: true, ..SeatPolicy::default() };
    let mut config = with(policy, 2);
    config.grace_millis = 500;
    let mut game = Match::new(config);
    let player = game.join_ready();
    game.play(&[player], 10);
    let newcomer = game.join_as(PlayerId([9; 32]));
    assert_eq!(game.peer(newcomer).seat, Some(seat(1)));
    game.disconnect(newcomer);
    game.play(&[player], 60);
    assert_eq!((game.room.seat_state(seat(1)), game.room.seat_of(PlayerId([9; 32]))), (Some(SeatState::Bot), None));
    let back = game.return_from(newcomer);
    assert_eq!(game.peer(back).refusal(), Some(Refusal::GraceOver));
    game.check_everyone();
}

#[test]
fn a6_a_player_whom_the_backend_knows_supersedes_its_own_older_connection() {
    let mut game = Match::new(config(2, 6));
    let (x, y) = (PlayerId([1; 32]), PlayerId([2; 32]));
    let clients = [game.join_as(x), game.join_as(y)];
    clients.iter().for_each(|client| game.ready(*client));
    game.play(&clients, 10);
    let again = game.join_as(x);
    assert_eq!(game.peer(again).seat, Some(seat(0)));
    assert_eq!(game.peer(again).claim, game.peer(clients[0]).claim);
    assert!(game.peer(clients[0]).closed.is_some() && game.peer(clients[1]).closed.is_none());
    // It has nothing yet, plays on, and nothing of the seat has changed.
    game.ready(again);
    game.play(&[again, clients[1]], 30);
    assert_eq!((game.peer(again).first, game.peer(again).next()), (0, 30));
    assert_eq!(driven(&game, 29, 0), (Presence::Human, 1));
    // Another player with the token is not its owner.
    let token = game.peer(again).token();
    let thief = game.connect();
    game.room.handle_admitted(thief, y);
    let entry = retick_core::wire::Entry::Resume {
        seat: seat(0),
        token,
        generation: crate::driver::GENERATION,
        next: Tick::ZERO,
        fence: None,
    };
    let bytes = crate::driver::hello(game.room.descriptor().identity(), entry);
    game.send_bytes(thief, &bytes);
    assert_eq!(game.peer(thief).refusal(), Some(Refusal::Token));
    game.check_everyone();
}

/// Its right ended with its claim: the backend's word for who it is gets it no more than anyone.
#[test]
fn a08_whoever_left_has_no_right_to_the_seat_that_another_player_claimed_since() {
    let policy = SeatPolicy { recycle_vacated: true, ..SeatPolicy::default() };
    let mut game = Match::new(with(policy, 2));
    let [x, y, z] = [1, 2, 3].map(|byte| PlayerId([byte; 32]));
    let clients = [game.join_as(x), game.join_as(y)];
    clients.iter().for_each(|client| game.ready(*client));
    game.play(&clients, 10);
    game.send(clients[1], &ClientMessage::Leave);
    assert_eq!(game.room.seat_of(y), None);
    let next = game.join_as(z);
    assert_eq!((game.room.seat_of(z), game.room.seat_of(y)), (Some(seat(1)), None));
    let back = game.join_as(y);
    assert_eq!(game.peer(back).refusal(), Some(Refusal::Full { seats: 2 }));
    assert_eq!(game.peer(next).closed, None);
    game.check_everyone();
}

/// The room's secrets don't exist yet, so X's markers stand in what the room does carry for it: a command that waits, ephemerals
/// and inputs that were not confirmed. None of that may reach Y, who has the seat after it, or anyone else, after X has left.
#[test]
fn a08_a_recycled_seat_keeps_nothing_of_whoever_left() {
    let policy = SeatPolicy { recycle_vacated: true, ..SeatPolicy::default() };
    let (mut game, clients) = Match::started(with(policy, 3));
    let (role, hand): ([u8; 16], [u8; 16]) = (*b"X: the traitor.!", *b"X: seven, queen!");
    game.play(&clients, 120);
    let (x, token, claim) = (clients[1], game.peer(clients[1]).token(), game.peer(clients[1]).claim);
    let (marked, epoch) = (i32::from_le_bytes(*b"Xin!"), game.peer(x).epoch);
    game.inputs(x, 125, &[marked; 60]);
    game.command(x, 1, &role);
    game.command(x, 1, b"again");
    assert_ne!(game.counters(1), Default::default(), "guard: something was counted about X");
    // An ephemeral reaches who is there, and nobody later.
    game.send(x, &ClientMessage::Ephemeral { payload: &hand });
    game.send(x, &ClientMessage::Leave);
    game.play(&[clients[0], clients[2]], 180);
    let y = game.join_ready();
    assert_eq!(game.peer(y).seat, Some(seat(1)));
    assert_ne!((game.peer(y).claim, game.peer(y).token()), (claim, token));
    assert!(game.peer(y).epoch > epoch, "raised");
    assert_eq!(game.counters(1), Default::default(), "what was counted about X is not Y's");
    let players = [clients[0], y, clients[2]];
    game.play(&players, 200);
    let observer = game.observe(0);
    let late = game.join();
    assert_eq!(game.peer(late).refusal(), Some(Refusal::Full { seats: 3 }));
    game.play(&players, 210);
    let returned = game.resume(seat(1), token, 120);
    assert_eq!(game.peer(returned).refusal(), Some(Refusal::Token));
    game.play(&players, 300);
    assert!(game.peer(clients[0]).was_sent(&hand), "guard");
    for client in [y, observer, late, returned] {
        assert!(!game.peer(client).was_sent(&role) && !game.peer(client).was_sent(&hand), "{client:?}");
        assert!(!game.peer(client).was_sent(b"Xin!"), "{client:?}");
    }
    assert!(game.peers.values().all(|peer| !peer.was_sent(&role)));
    // In the frames: X until 119, nobody until Y's first tick, then Y alone.
    let takes = 180 + LEAD;
    assert_eq!((game.value(119, 1), game.value(120, 1)), ((Some(1), false), (None, false)));
    assert_eq!((game.value(takes - 1, 1), game.value(takes, 1)), ((None, false), (Some(1), false)));
    let mut commands = (0..300).flat_map(|tick| game.frame(tick).commands().map(|it| it.0).collect::<Vec<_>>());
    assert!(!commands.any(|source| source == CommandSource::Game(seat(1))));
    assert_eq!((game.peer(observer).next(), game.peer(y).next()), (300, 300));
    game.check_everyone();
}

/// What is numbered and budgeted is numbered and budgeted for a control epoch: whoever comes next begins anew.
#[test]
fn a9_a_new_claim_numbers_its_commands_anew() {
    let policy = SeatPolicy { recycle_vacated: true, ..SeatPolicy::default() };
    let (mut game, clients) = Match::started(with(policy, 2));
    game.command(clients[1], 900, b"x");
    game.play(&clients, 10);
    game.send(clients[1], &ClientMessage::Leave);
    let next = game.join_ready();
    // Not before it takes part.
    game.command(next, 1, b"early");
    assert_eq!(game.counters(1).rejected_commands, 1);
    game.play(&[clients[0], next], 40);
    game.command(next, 1, b"y");
    game.play(&[clients[0], next], 45);
    assert_eq!(game.counters(1).rejected_commands, 1);
    let commands = |tick| game.frame(tick).commands().map(|it| it.1.to_vec()).collect::<Vec<_>>();
    assert_eq!((commands(0), commands(40)), (vec![b"x".to_vec()], vec![b"y".to_vec()]));
}

#[test]
fn a5_two_newcomers_never_get_one_seat() {
    let policy = SeatPolicy { recycle_vacated: true, ..SeatPolicy::default() };
    let (mut game, clients) = Match::started(with(policy, 4));
    game.play(&clients, 5);
    game.send(clients[3], &ClientMessage::Leave);
    let waiting: Vec<ConnectionId> = (0..5).map(|_| game.join()).collect();
    let seated: Vec<_> = waiting.iter().filter_map(|client| game.peer(*client).seat).collect();
    assert_eq!(seated, [seat(3)]);
    let refused = waiting.iter().filter(|client| game.peer(**client).refusal() == Some(Refusal::Full { seats: 4 }));
    assert_eq!(refused.count(), 4);
}

/// A bot that plays for somebody who may come back is the last that a newcomer gets.
#[test]
fn a5_a_newcomer_gets_a_bots_own_seat_before_one_that_is_kept_for_its_owner() {
    let policy = SeatPolicy {
        on_leave: OnLeave::Bot,
        humans_claim_bots: true,
        initial_bots: bots(&[2]),
        ..SeatPolicy::default()
    };
    let mut config = with(policy, 3);
    config.grace_millis = 500;
    let mut game = Match::new(config);
    let clients = [game.join_ready(), game.join_ready()];
    game.play(&clients, 10);
    game.disconnect(clients[1]);
    game.play(&clients[..1], 60);
    assert_eq!([1, 2].map(|index| game.room.seat_state(seat(index))), [Some(SeatState::Bot); 2], "guard");
    let newcomer = game.join_ready();
    assert_eq!(game.peer(newcomer).seat, Some(seat(2)));
    let back = game.return_from(clients[1]);
    assert_eq!((game.peer(back).refusal(), game.peer(back).seat), (None, Some(seat(1))));
    game.check_everyone();
}
