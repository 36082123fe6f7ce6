//! Whatever arrives, in whatever order: no panic, and the frames of all who are told of them are gapless and equal.

use proptest::collection::vec;
use proptest::prelude::*;
use proptest::strategy::ValueTree;
use proptest::test_runner::TestRunner;
use retick_authority::room::{
    ConnectionId, Durability, OnLeave, PausePolicy, ReconfigurePolicy, RestoreError, Room, RoomConfig, RoomEvent,
    SeatPolicy, SeatTransition, StartPolicy, VacancyCause,
};
use retick_core::digest::Checksum;
use retick_core::seat::{ControlEpoch, Generation};
use retick_core::tick::Tick;
use retick_core::wire::{
    ClientMessage, Entry, InputRun, Inputs, NoSnapshot, PlayerId, ResumeToken, SnapshotHeader, TransferId,
};

use crate::donors;
use crate::driver::{GENERATION, Match, Notice, Transfer, bytes_of, config, hello, seat};

#[derive(Clone, Debug)]
enum Act {
    Connect,
    Join(usize),
    Ready(usize),
    Return {
        of: usize,
        behind: u64,
        forge: bool,
    },
    Inputs {
        by: usize,
        offset: u64,
        back: bool,
        lengths: Vec<u8>,
        epoch: u32,
        generation: u32,
    },
    Report {
        by: usize,
        back: u64,
        odd: bool,
    },
    Command {
        by: usize,
        sequence: u32,
        length: usize,
    },
    Ephemeral {
        by: usize,
    },
    Ping(usize),
    Leave(usize),
    Garbage {
        by: usize,
        bytes: Vec<u8>,
    },
    Truncated {
        by: usize,
        cut: usize,
    },
    Disconnect(usize),
    Steps(u64),
    Stall(u64),
    Persist,
    Start,
    Close,
    JoinAs(u8),
    Observe {
        next: u64,
    },
    Vote {
        by: usize,
        ready: bool,
    },
    StartBy(usize),
    Pause {
        by: usize,
        paused: bool,
    },
    Reconfigure {
        by: usize,
        length: usize,
    },
    Result {
        by: usize,
        back: u64,
        odd: bool,
    },
    SeatBot(usize),
    RemoveBot(usize),
    Lock(bool),
    Donate {
        by: usize,
        fault: u32,
    },
    Download {
        by: usize,
        fault: u32,
    },
    Transfer {
        by: usize,
        kind: u8,
        transfer: u64,
        number: u32,
    },
    /// The room is killed behind a summary of itself, which its log begins with then or not.
    Restart {
        forget: bool,
    },
}

fn act() -> impl Strategy<Value = Act> {
    let by = || 0usize..12;
    // The first connections hold the seats.
    let player = || prop_oneof![3 => 0usize..4, 1 => 0usize..12];
    let length = || prop_oneof![9 => Just(4u8), 1 => 0u8..6];
    let epoch = || prop_oneof![9 => Just(1u32), 1 => 0u32..3];
    prop_oneof![
        3 => Just(Act::Connect),
        3 => by().prop_map(Act::Join),
        6 => by().prop_map(Act::Ready),
        3 => (by(), 0u64..40, prop::bool::weighted(0.2)).prop_map(|(of, behind, forge)| Act::Return { of, behind, forge }),
        25 => (player(), prop_oneof![2 => 0u64..10, 1 => 0u64..200], any::<bool>(), vec(length(), 0..50), epoch(), prop::bool::weighted(0.05)).prop_map(
            |(by, offset, back, lengths, epoch, stale)| {
                Act::Inputs { by, offset, back, lengths, epoch, generation: u32::from(stale) }
            }
        ),
        8 => (player(), 0u64..12, prop::bool::weighted(0.1)).prop_map(|(by, back, odd)| Act::Report { by, back, odd }),
        2 => (by(), 0u32..9, 0usize..5000).prop_map(|(by, sequence, length)| Act::Command { by, sequence, length }),
        1 => by().prop_map(|by| Act::Ephemeral { by }),
        1 => by().prop_map(Act::Ping),
        1 => by().prop_map(Act::Leave),
        1 => (by(), vec(any::<u8>(), 0..40)).prop_map(|(by, bytes)| Act::Garbage { by, bytes }),
        1 => (by(), 0usize..60).prop_map(|(by, cut)| Act::Truncated { by, cut }),
        1 => by().prop_map(Act::Disconnect),
        9 => (1u64..30).prop_map(Act::Steps),
        1 => (0u64..40_000_000_000).prop_map(Act::Stall),
        2 => Just(Act::Persist),
        1 => Just(Act::Start),
        1 => prop::bool::weighted(0.05).prop_map(|close| if close { Act::Close } else { Act::Persist }),
        8 => of_life(),
        6 => of_snapshots(),
        1 => (prop::bool::weighted(0.1), any::<bool>()).prop_map(|(restart, forget)| {
            if restart { Act::Restart { forget } } else { Act::Persist }
        }),
    ]
}

/// What changes hands, begins and ends.
fn of_life() -> impl Strategy<Value = Act> {
    let by = || prop_oneof![3 => 0usize..4, 1 => 0usize..12];
    prop_oneof![
        2 => (0u8..3).prop_map(Act::JoinAs),
        2 => (0u64..60).prop_map(|next| Act::Observe { next }),
        1 => (by(), any::<bool>()).prop_map(|(by, ready)| Act::Vote { by, ready }),
        1 => by().prop_map(Act::StartBy),
        14 => (by(), any::<bool>()).prop_map(|(by, paused)| Act::Pause { by, paused }),
        1 => (by(), 0usize..40).prop_map(|(by, length)| Act::Reconfigure { by, length }),
        6 => (by(), 0u64..2, prop::bool::weighted(0.1)).prop_map(|(by, back, odd)| Act::Result { by, back, odd }),
        2 => (0usize..5).prop_map(Act::SeatBot),
        2 => (0usize..5).prop_map(Act::RemoveBot),
        1 => prop::bool::weighted(0.3).prop_map(Act::Lock),
    ]
}

/// What donors and newcomers say (A7): mostly what is asked for, and anything else.
fn of_snapshots() -> impl Strategy<Value = Act> {
    let by = || prop_oneof![3 => 0usize..4, 1 => 0usize..12];
    let fault = || prop_oneof![4 => Just(0u32), 1 => 1u32..4];
    prop_oneof![
        8 => (by(), fault()).prop_map(|(by, fault)| Act::Donate { by, fault }),
        4 => (by(), fault()).prop_map(|(by, fault)| Act::Download { by, fault }),
        1 => (by(), 0u8..5, 0u64..8, 0u32..20).prop_map(|(by, kind, transfer, number)| {
            Act::Transfer { by, kind, transfer, number }
        }),
    ]
}

fn last_transfer(game: &Match, by: usize, wanted: fn(&Transfer) -> bool) -> Option<Transfer> {
    let peer = game.peers.get(&ConnectionId(by as u64)).filter(|peer| peer.closed.is_none())?;
    let notices = peer.notices.iter().rev();
    let transfer =
        |notice: &Notice| if let Notice::Transfer(transfer) = notice { Some(transfer.clone()) } else { None };
    notices.filter_map(transfer).find(wanted)
}

/// Gives what was asked for last, whether or not it is still wanted: the state whose only byte is 0, which most have reported.
fn donate(game: &mut Match, by: usize, fault: u32) {
    let wanted = last_transfer(game, by, |told| matches!(told, Transfer::Wanted { .. }));
    let Some(Transfer::Wanted { transfer, tick }) = wanted else { return };
    let mut bytes = donors::encoded(game, tick, &[0]);
    let generation = game.room.descriptor().generation();
    let header = SnapshotHeader { generation, ..donors::header(transfer, tick, &[0], &bytes) };
    let client = ConnectionId(by as u64);
    game.send(client, &ClientMessage::SnapshotOffer(header));
    match fault {
        1 => bytes[60] ^= 1,
        2 => bytes.truncate(20),
        3 => return,
        _ => {}
    }
    game.send(client, &ClientMessage::SnapshotChunk { transfer, index: 0, bytes: &bytes });
}

/// Answers what was announced last.
fn download(game: &mut Match, by: usize, fault: u32) {
    let announced = last_transfer(game, by, |told| matches!(told, Transfer::Snapshot { .. }));
    let Some(Transfer::Snapshot { header, .. }) = announced else { return };
    let (client, transfer, stray) = (ConnectionId(by as u64), header.transfer, game.room.stats().stray_transfers);
    match fault {
        1 => return game.send(client, &ClientMessage::SnapshotFailed { transfer }),
        2 => return game.send(client, &ClientMessage::SnapshotProgress { transfer, next: 0 }),
        3 => return game.send(client, &ClientMessage::SnapshotProgress { transfer, next: 9 }),
        _ => game.send(client, &ClientMessage::SnapshotProgress { transfer, next: header.chunk_count() }),
    }
    let peer = game.peers.get_mut(&client).expect("known");
    if peer.closed.is_none() && game.room.stats().stray_transfers == stray {
        // It has the state, so it goes on from there.
        peer.frames.clear();
        peer.first = header.tick.index();
    }
}

fn transfer(kind: u8, transfer: u64, number: u32) -> Vec<u8> {
    let transfer = TransferId(transfer);
    bytes_of(&match kind {
        0 => ClientMessage::SnapshotRefused { transfer, cause: NoSnapshot::TooLarge },
        1 => ClientMessage::SnapshotProgress { transfer, next: number },
        2 => ClientMessage::SnapshotFailed { transfer },
        3 => ClientMessage::SnapshotChunk { transfer, index: number, bytes: &[1, 2, 3] },
        _ => ClientMessage::SnapshotOffer(donors::header(transfer, u64::from(number), &[0], &[7])),
    })
}

/// What is replayed up to the summary must be what the summary says, or the log is refused.
fn restart(game: &mut Match, forget: bool) {
    game.persist_through(u64::MAX);
    if game.room.is_closed() {
        return;
    }
    let durability = game.room.settings().durability;
    if forget {
        game.forget();
    } else {
        game.room.summarize();
        game.drain();
    }
    game.restart(u64::MAX, durability);
    // Both are the same room: it says the same of itself, and so does the one that is made of all that it wrote.
    game.room.summarize();
    game.drain();
    let mut log = game.log.clone();
    if let Err(error) = Room::restore(&mut log, durability) {
        assert!(matches!(error, RestoreError::Ended { .. }), "{error}");
    }
}

fn perform(game: &mut Match, act: Act) {
    let id = |index: usize| ConnectionId(index as u64);
    let identity = game.room.descriptor().identity();
    let frontier = game.room.frontier().index();
    let current = game.room.descriptor().generation();
    let game_epoch = match &act {
        Act::Inputs { by, .. } => game.peers.get(&id(*by)).map(|peer| peer.epoch),
        _ => None,
    };
    let mut send = |by: usize, bytes: &[u8]| {
        if game.peers.contains_key(&id(by)) {
            game.send_bytes(id(by), bytes);
        } else {
            game.room.handle_message(id(by), bytes, game.now());
        }
    };
    match act {
        Act::Connect => {
            let client = game.connect();
            // The driver's mistake: a number that is in use.
            if !game.room.is_closed() {
                game.room.handle_connected(client, game.now());
            }
        }
        Act::Join(by) => send(by, &hello(identity, Entry::Join { ticket: b"ticket" })),
        Act::Ready(by) => send(by, &bytes_of(&ClientMessage::Ready { generation: current })),
        Act::Return { of, behind, forge } => {
            let Some((seat, mut token)) = game.peers.get(&id(of)).and_then(|peer| peer.seat.zip(peer.token)) else {
                return;
            };
            if forge {
                token = ResumeToken([7; 32]);
            }
            let generation = game.peers[&id(of)].generation;
            game.resume_in(generation, seat, token, frontier.saturating_sub(behind) + u64::from(behind == 39) * 50);
        }
        Act::Inputs { by, offset, back, lengths, epoch, generation } => {
            let first = if back { frontier.saturating_sub(offset) } else { frontier + offset };
            let (count, each) = (lengths.len().max(1), lengths.first().map_or(1, |length| usize::from(*length)));
            let flat: Vec<u8> = (0..count * each).map(|index| u8::try_from(index % 5 + 1).expect("small")).collect();
            let inputs = InputRun::new(u32::try_from(count).expect("small"), &flat).expect("even");
            // Mostly what the seat was told.
            let told = game_epoch.filter(|_| epoch == 1).unwrap_or(ControlEpoch(epoch));
            let (generation, epoch, first) = (Generation(current.0 ^ generation), told, Tick::new(first));
            send(by, &bytes_of(&ClientMessage::Inputs(Inputs { generation, epoch, first, inputs })));
        }
        Act::Report { by, back, odd } => {
            // Every tenth state is due; the first guess here is one that is not confirmed yet.
            let tick = Tick::new((frontier / 10 + 1).saturating_sub(back) * 10 + 1);
            let checksum = Checksum::of(&[u8::from(odd)]);
            send(by, &bytes_of(&ClientMessage::Report { generation: current, tick, checksum }));
        }
        Act::Command { by, sequence, length } => {
            let payload = vec![8; length];
            send(by, &bytes_of(&ClientMessage::Command { generation: current, sequence, payload: &payload }));
        }
        Act::Ephemeral { by } => send(by, &bytes_of(&ClientMessage::Ephemeral { payload: b"hi" })),
        Act::Ping(by) => send(by, &bytes_of(&ClientMessage::Ping { sent_micros: 1, rollbacks: 0 })),
        Act::Leave(by) => send(by, &bytes_of(&ClientMessage::Leave)),
        Act::Garbage { by, bytes } => send(by, &bytes),
        Act::Truncated { by, cut } => {
            let bytes = hello(
                identity,
                Entry::Resume {
                    seat: seat(0),
                    token: ResumeToken([1; 32]),
                    generation: GENERATION,
                    next: Tick::MAX,
                    fence: None,
                },
            );
            send(by, &bytes[..cut.min(bytes.len())]);
        }
        Act::Disconnect(by) => game.disconnect(id(by)),
        Act::Steps(count) => {
            let until = game.tick + count;
            game.step_to(until);
        }
        Act::Stall(nanos) => game.skew_nanos += nanos,
        Act::Persist => game.persist_through(u64::MAX),
        // Refused when the room starts by itself, or has started.
        Act::Start => _ = game.room.start(game.now()),
        Act::Close => game.room.close(game.now()),
        Act::JoinAs(player) => _ = game.join_as(PlayerId([player; 32])),
        Act::Observe { next } => _ = game.observe_in(current, frontier.saturating_sub(next)),
        Act::Vote { by, ready } => send(by, &bytes_of(&ClientMessage::Vote { ready })),
        Act::StartBy(by) => send(by, &bytes_of(&ClientMessage::Start)),
        Act::Pause { by, paused } => send(by, &bytes_of(&ClientMessage::Pause { generation: current, paused })),
        Act::Reconfigure { by, length } => {
            let config = vec![3; length];
            send(by, &bytes_of(&ClientMessage::Reconfigure { generation: current, config: &config }));
        }
        Act::Result { by, back, odd } => {
            let (tick, result) = (Tick::new(frontier.saturating_sub(back)), [u8::from(odd)]);
            send(by, &bytes_of(&ClientMessage::Result { generation: current, tick, result: &result }));
        }
        Act::SeatBot(index) => _ = game.room.seat_bot(seat(index)),
        Act::RemoveBot(index) => _ = game.room.remove_bot(seat(index)),
        Act::Lock(locked) => game.room.set_locked(locked),
        Act::Donate { by, fault } => donate(game, by, fault),
        Act::Download { by, fault } => download(game, by, fault),
        Act::Transfer { by, kind, transfer, number } => send(by, &self::transfer(kind, transfer, number)),
        Act::Restart { forget } => restart(game, forget),
    }
    game.drain();
}

/// One match: how it is set up, and what happens.
#[derive(Clone, Debug)]
struct Script {
    seats: usize,
    start: StartPolicy,
    policy: SeatPolicy,
    durability: Durability,
    persists: bool,
    acts: Vec<Act>,
}

fn script() -> impl Strategy<Value = Script> {
    let start = prop_oneof![
        3 => Just(StartPolicy::WhenFull),
        3 => Just(StartPolicy::Manual),
        1 => Just(StartPolicy::Creator),
        1 => Just(StartPolicy::Minimum { seats: 1, countdown_millis: 200 }),
    ];
    let policy = (any::<bool>(), any::<bool>(), any::<bool>(), prop::bool::weighted(0.2)).prop_map(
        |(recycle_vacated, humans_claim_bots, bots_follow, bot)| SeatPolicy {
            recycle_vacated,
            humans_claim_bots,
            on_leave: if bots_follow { OnLeave::Bot } else { OnLeave::Empty },
            initial_bots: bot.then(|| seat(0)).into_iter().collect(),
        },
    );
    let policies = (start, policy, any::<bool>(), any::<bool>());
    (1usize..5, policies, vec(act(), 0..150)).prop_map(|(seats, (start, policy, durable, persists), acts)| Script {
        seats,
        start,
        policy,
        durability: if durable { Durability::EveryFrame } else { Durability::None },
        persists,
        acts,
    })
}

fn play(script: Script) -> Result<Match, TestCaseError> {
    let Script { seats, start, policy, durability, persists, acts } = script;
    let mut config = RoomConfig { start, durability, grace_millis: 1_500, greeting_millis: 900, ..config(seats, 6) };
    config.seats = policy;
    (config.pause, config.reconfigure) = (PausePolicy::Anyone, ReconfigurePolicy::Anyone);
    config.rules.checksum_cadence_ticks = 10;
    config.donation.snapshot_interval_millis = 500;
    config.donation.transfer_timeout_millis = 2_000;
    config.donation.replay_millis = 500;
    let mut game = Match::new(config);
    game.persists = persists;
    // Most scripts shall reach the match itself.
    (0..seats).for_each(|_| {
        game.join_ready();
    });
    for act in acts {
        let position = |game: &Match| (game.room.descriptor().generation(), game.room.frontier());
        let (before, closed) = (position(&game), game.room.is_closed());
        perform(&mut game, act);
        prop_assert!(position(&game) >= before);
        prop_assert!(!closed || position(&game) == before, "no tick after the end");
        if let Some(clock) = game.room.clock_tick() {
            prop_assert!(game.room.frontier().index() <= clock.index() + 1, "no tick before its time");
        }
    }
    game.persist_through(u64::MAX);
    game.check_everyone();
    Ok(game)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn any_sequence_keeps_frames_gapless_and_equal(script in script()) {
        play(script)?;
    }

    #[test]
    fn any_first_bytes_are_answered(bytes in vec(any::<u8>(), 0..200)) {
        let mut game = Match::new(config(2, 6));
        let client = game.connect();
        game.send_bytes(client, &bytes);
        let peer = game.peer(client);
        prop_assert!(peer.closed.is_some() || peer.seat.is_some() || game.room.observer_count() == 1);
    }
}

/// The premise of the test above: its scripts reach what they shall break.
#[test]
fn the_scripts_play_matches_in_which_much_happens() {
    let mut runner = TestRunner::deterministic();
    let mut happened = [0; 16];
    for _ in 0..300 {
        let script = script().new_tree(&mut runner).expect("a script").current();
        let game = play(script).expect("sound");
        let (stats, count) =
            (game.room.stats(), |wanted: fn(&RoomEvent) -> bool| game.events.iter().filter(|e| wanted(e)).count());
        let delivered = (game.room.history_start().index()..game.room.frontier().index())
            .filter(|tick| game.value_bytes(*tick) > 0)
            .count();
        let now = [
            delivered as u64,
            stats.seats.substituted_inputs,
            stats.seats.counters.late_inputs,
            stats.desyncs,
            count(|event| matches!(event, RoomEvent::SeatResumed { .. })) as u64,
            count(|event| matches!(event, RoomEvent::SeatVacated { cause: VacancyCause::GraceOver, .. })) as u64,
            count(|event| matches!(event, RoomEvent::Closed { .. })) as u64,
            count(|event| matches!(event, RoomEvent::SeatChanged { transition: SeatTransition::BotToHuman, .. }))
                as u64,
            count(|event| matches!(event, RoomEvent::SeatChanged { transition: SeatTransition::HumanToBot, .. }))
                as u64,
            count(|event| matches!(event, RoomEvent::Paused { .. })) as u64,
            count(|event| matches!(event, RoomEvent::Unpaused)) as u64,
            count(|event| matches!(event, RoomEvent::Reconfigured { .. })) as u64,
            count(|event| matches!(event, RoomEvent::Agreed { .. } | RoomEvent::Disputed)) as u64,
            count(|event| matches!(event, RoomEvent::ObserverJoined { .. })) as u64,
            stats.snapshots,
            stats.refused_snapshots,
        ];
        happened.iter_mut().zip(now).for_each(|(sum, now)| *sum += now);
    }
    assert!(
        happened
            .iter()
            .zip([1_000, 1_000, 100, 5, 30, 10, 5, 2, 10, 20, 10, 10, 5, 20, 5, 5])
            .all(|(sum, least)| *sum >= least),
        "{happened:?}"
    );
}
