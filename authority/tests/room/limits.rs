//! Budgets, commands and ephemerals: at each limit and past it (A9, A11).

use retick_authority::log::FrameLog;
use retick_authority::room::{
    COMMANDS_PER_SECOND, CloseCause, ConnectionId, EPHEMERALS_PER_SECOND, MAX_COMMAND_BYTES_PER_FRAME,
    MAX_QUEUED_COMMAND_BYTES, MAX_QUEUED_COMMANDS, PausePolicy, RELEASE_BYTES, REQUESTS_PER_SECOND, RoomConfig,
    SeatPolicy,
};
use retick_core::frame::{CommandSource, MAX_COMMAND_BYTES, MAX_COMMANDS_PER_FRAME};
use retick_core::runtime::Capabilities;
use retick_core::seat::{ControlEpoch, Generation, Presence};
use retick_core::tick::{Tick, TickRate};
use retick_core::wire::{ClientMessage, CloseReason, InputRun, Inputs, MAX_EPHEMERAL_BYTES, MAX_INPUTS_PER_MESSAGE};

use crate::driver::{GENERATION, Match, Notice, config, descriptor, descriptor_of, seat};

#[test]
fn a11_a_connection_may_use_its_budget_and_no_more() {
    for (rate, configured, budget) in
        [(TickRate::Hz10, 120, 120), (TickRate::Hz60, 120, 270), (TickRate::Hz60, 500, 500)]
    {
        let config = RoomConfig { messages_per_second: configured, ..RoomConfig::new(descriptor(2, rate)) };
        assert_eq!(config.message_budget(), budget);
        let (mut game, clients) = Match::started(config);
        let ping = ClientMessage::Ping { sent_micros: 0, rollbacks: 0 };
        // The greeting and the readiness were two.
        (2..budget).for_each(|_| game.send(clients[0], &ping));
        assert_eq!(game.peer(clients[0]).closed, None);
        game.send(clients[0], &ping);
        assert_eq!(game.peer(clients[0]).closed, Some(CloseCause::Ended(CloseReason::Budget)));
        assert_eq!(game.peer(clients[0]).notices.last(), Some(&Notice::Closing(CloseReason::Budget)));
        assert_eq!(game.room.seat_presence(seat(0)), Presence::Disconnected);
        assert_eq!((game.peer(clients[1]).closed, game.room.stats().over_budget_connections), (None, 1));
    }
}

#[test]
fn a11_a_steady_sender_at_its_rate_is_never_closed() {
    let (mut game, clients) = Match::started(config(1, 6));
    for _ in 0..1_000 {
        // 4 of 4.5 messages a tick.
        (0..4).for_each(|_| game.send(clients[0], &ClientMessage::Ping { sent_micros: 0, rollbacks: 0 }));
        game.step();
    }
    assert_eq!(game.peer(clients[0]).closed, None);
}

fn commands(game: &Match, tick: u64) -> Vec<(CommandSource, Vec<u8>)> {
    game.frame(tick).commands().map(|(source, payload)| (source, payload.to_vec())).collect()
}

#[test]
fn a9_commands_are_ordered_into_the_next_frame() {
    let (mut game, clients) = Match::started(config(2, 0));
    game.step();
    game.command(clients[1], 5, b"a");
    game.command(clients[0], 0, b"b");
    game.command(clients[1], 6, b"");
    game.step();
    game.step();
    let from = |index| CommandSource::Game(seat(index));
    assert_eq!(commands(&game, 1), [(from(1), b"a".to_vec()), (from(0), b"b".to_vec()), (from(1), vec![])]);
    assert_eq!((commands(&game, 0), commands(&game, 2)), (vec![], vec![]));
    game.check_everyone();
}

#[test]
fn a9_commands_out_of_order_too_long_or_stale_are_rejected_and_counted() {
    let (mut game, clients) = Match::started(config(1, 0));
    let mut send = |generation, sequence, length| {
        let payload = vec![1; length];
        let generation = Generation(generation);
        game.send(clients[0], &ClientMessage::Command { generation, sequence, payload: &payload });
        game.counters(0).rejected_commands
    };
    assert_eq!(send(0, 3, MAX_COMMAND_BYTES), 0);
    assert_eq!(send(0, 4, MAX_COMMAND_BYTES + 1), 1);
    assert_eq!(send(0, 3, 1), 2);
    assert_eq!(send(0, 2, 1), 3);
    assert_eq!(send(1, 4, 1), 4);
    assert_eq!(send(0, 4, 1), 4);
    assert_eq!(send(0, u32::MAX, 1), 4);
    game.step();
    assert_eq!(commands(&game, 0).len(), 3);
    game.send(clients[0], &ClientMessage::Ping { sent_micros: 0, rollbacks: 0 });
    let counters = game.counters(0);
    assert!(
        matches!(game.peer(clients[0]).notices.last(), Some(Notice::Pong { counters: told, .. }) if *told == counters)
    );
}

/// Otherwise a hostile seat could have a command ordered that other machines do not expect.
#[test]
fn k7_a_room_orders_no_command_for_a_game_that_takes_none() {
    let descriptor = descriptor_of(1, TickRate::Hz60, Capabilities::default());
    let mut config = RoomConfig::new(descriptor);
    config.rules.hard_tolerance_ticks = 0;
    let (mut game, clients) = Match::started(config);
    game.command(clients[0], 0, b"");
    game.command(clients[0], 1, b"x");
    game.step();
    assert_eq!((game.counters(0).rejected_commands, commands(&game, 0)), (2, vec![]));
}

#[test]
fn a9_command_and_ephemeral_rates_hold_for_each_seat() {
    let (mut game, clients) = Match::started(config(2, 0));
    (0..=COMMANDS_PER_SECOND).for_each(|sequence| game.command(clients[0], sequence, b"x"));
    game.command(clients[1], 0, b"y");
    assert_eq!((game.counters(0).rejected_commands, game.counters(1).rejected_commands), (1, 0));
    (0..=EPHEMERALS_PER_SECOND).for_each(|_| game.send(clients[0], &ClientMessage::Ephemeral { payload: b"hi" }));
    let heard = |game: &Match, client| {
        let ephemeral = |notice: &&Notice| **notice == Notice::Ephemeral { seat: seat(0), payload: b"hi".to_vec() };
        game.peer(client).notices.iter().filter(ephemeral).count()
    };
    assert_eq!((heard(&game, clients[0]), heard(&game, clients[1])), (0, EPHEMERALS_PER_SECOND as usize));
    assert_eq!(game.room.stats().seats.dropped_ephemerals, 1);
    // Two ticks later there is one more command, and another tick later one more ephemeral.
    game.step_to(2);
    game.command(clients[0], 100, b"x");
    assert_eq!(game.counters(0).rejected_commands, 1);
    game.step_to(3);
    game.send(clients[0], &ClientMessage::Ephemeral { payload: b"hi" });
    assert_eq!(heard(&game, clients[1]), EPHEMERALS_PER_SECOND as usize + 1);
}

#[test]
fn a9_an_ephemeral_beyond_its_length_is_malformed() {
    let (mut game, clients) = Match::started(config(2, 0));
    game.send(clients[0], &ClientMessage::Ephemeral { payload: &[1; MAX_EPHEMERAL_BYTES] });
    assert_eq!(game.peer(clients[0]).closed, None);
    game.send(clients[0], &ClientMessage::Ephemeral { payload: &[1; MAX_EPHEMERAL_BYTES + 1] });
    assert_eq!(game.peer(clients[0]).closed, Some(CloseCause::Ended(CloseReason::Malformed)));
}

/// Eight seats send their whole allowance of commands at once: how many each tick's frame then holds.
fn commands_of_a_burst(payload: &[u8], ticks: u64) -> (Match, Vec<ConnectionId>, Vec<usize>) {
    let (mut game, clients) = Match::started(config(8, 0));
    for sequence in 0..COMMANDS_PER_SECOND {
        clients.iter().for_each(|client| game.command(*client, sequence, payload));
    }
    game.step_to(ticks);
    let counts: Vec<_> = (0..ticks).map(|tick| commands(&game, tick).len()).collect();
    let rejected = 8 * COMMANDS_PER_SECOND as usize - counts.iter().sum::<usize>();
    assert_eq!(game.room.stats().seats.counters.rejected_commands, rejected as u64);
    (game, clients, counts)
}

#[test]
fn a9_commands_wait_in_a_bounded_queue_and_fill_bounded_frames() {
    let (game, _, counts) = commands_of_a_burst(b"x", 5);
    const { assert!(4 * MAX_COMMANDS_PER_FRAME == MAX_QUEUED_COMMANDS) };
    assert_eq!(counts, [MAX_COMMANDS_PER_FRAME; 4].into_iter().chain([0]).collect::<Vec<_>>());
    game.check_everyone();
}

/// Otherwise some seats could have so much ordered at once that the connections of others are closed as too slow.
#[test]
fn a11_a_burst_of_large_commands_is_bounded_in_bytes() {
    let (mut game, clients, counts) = commands_of_a_burst(&[3; MAX_COMMAND_BYTES], 9);
    assert_eq!(counts, [8; 8].into_iter().chain([0]).collect::<Vec<_>>());
    const { assert!(8 * MAX_COMMAND_BYTES == MAX_COMMAND_BYTES_PER_FRAME) };
    const { assert!(64 * MAX_COMMAND_BYTES == MAX_QUEUED_COMMAND_BYTES) };
    // Frames this large come one a message, also in history.
    let token = game.peer(clients[0]).token();
    let back = game.resume(seat(0), token, 0);
    game.step_to(18);
    let releases: Vec<_> = game.peer(back).releases.iter().map(|(first, count, _)| (*first, *count)).collect();
    assert_eq!(releases[..4], [(0, 1), (1, 1), (2, 1), (3, 1)]);
    const { assert!(MAX_COMMAND_BYTES_PER_FRAME > RELEASE_BYTES) };
    game.check_everyone();
}

#[test]
fn a9_a_leaver_takes_its_commands_along() {
    let (mut game, clients) = Match::started(config(2, 0));
    game.command(clients[0], 0, b"lost");
    game.command(clients[1], 0, b"kept");
    game.send(clients[0], &ClientMessage::Leave);
    game.step();
    assert_eq!(commands(&game, 0), [(CommandSource::Game(seat(1)), b"kept".to_vec())]);
}

/// What was requested before tick 0 waits for it, and nobody drove the seat yet.
#[test]
fn a9_who_leaves_before_tick_0_takes_its_commands_along() {
    let policy = SeatPolicy { recycle_vacated: true, ..SeatPolicy::default() };
    let mut game = Match::new(RoomConfig { seats: policy, ..config(3, 0) });
    let (stays, leaves) = (game.join_ready(), game.join_ready());
    game.command(leaves, 0, b"lost");
    game.command(stays, 0, b"kept");
    game.send(leaves, &ClientMessage::Leave);
    let others = [game.join_ready(), game.join_ready()];
    game.play(&[stays, others[0], others[1]], 3);
    assert_eq!(commands(&game, 0), [(CommandSource::Game(seat(0)), b"kept".to_vec())]);
    game.check_everyone();
}

#[test]
fn a1_the_longest_message_of_inputs_is_taken_as_far_as_the_look_ahead() {
    let (mut game, clients) = Match::started(config(1, 6));
    let flat = [7; 4 * MAX_INPUTS_PER_MESSAGE];
    let inputs = InputRun::new(u32::try_from(MAX_INPUTS_PER_MESSAGE).expect("small"), &flat).expect("even");
    let message = Inputs { generation: GENERATION, epoch: ControlEpoch(1), first: Tick::ZERO, inputs };
    game.send(clients[0], &ClientMessage::Inputs(message));
    assert_eq!(game.counters(0).refused_inputs, MAX_INPUTS_PER_MESSAGE as u64 - 121);
    game.step_to(121);
    assert_eq!((game.when.len(), game.flagged(0)), (121, vec![]));
}

#[test]
fn a5_the_largest_room_plays() {
    let (mut game, clients) = Match::started(config(128, 6));
    for a in 0..5 {
        clients.iter().for_each(|client| game.input(*client, a, 1));
        game.step();
    }
    assert_eq!(game.when, [0, 1, 2, 3, 4]);
    assert_eq!(game.peer(ConnectionId(127)).next(), 5);
    assert_eq!(game.tally(5).sum, [5; 128]);
}

/// One seat that sends all that it may while nothing is ordered leaves room for the commands of the others.
#[test]
fn a9_no_seat_takes_the_queue_from_the_others() {
    for payload in [&[3; MAX_COMMAND_BYTES][..], b"x"] {
        let (mut game, clients) = Match::started(config(4, 0));
        game.step();
        let now = game.now();
        game.room.pause(now).expect("it runs");
        for second in 0..8 {
            let first = 60 * second;
            (first..first + COMMANDS_PER_SECOND).for_each(|sequence| game.command(clients[0], sequence, payload));
            game.step_to(game.tick + 60);
        }
        assert!(game.counters(0).rejected_commands > 0, "guard: it wants more than there is");
        for other in &clients[1..] {
            game.command(*other, 0, b"mine");
        }
        let rejected: Vec<_> = (1..4).map(|index| game.counters(index).rejected_commands).collect();
        assert_eq!(rejected, [0, 0, 0]);
        let now = game.now();
        game.room.unpause(now).expect("it stood still");
        game.step_to(game.tick + 20);
        let ordered = (0..game.room.frontier().index()).flat_map(|tick| commands(&game, tick));
        assert_eq!(ordered.filter(|(_, payload)| payload == b"mine").count(), 3);
    }
}

/// Each of these is told to everyone, and some are written down.
#[test]
fn a11_votes_and_pauses_have_a_rate() {
    let mut game = Match::new(RoomConfig { pause: PausePolicy::Anyone, ..config(3, 6) });
    let clients = [game.join_ready(), game.join_ready()];
    let told = game.peer(clients[0]).rosters;
    (0..200).for_each(|turn| game.send(clients[1], &ClientMessage::Vote { ready: turn % 2 == 1 }));
    let most = REQUESTS_PER_SECOND as usize;
    assert_eq!((game.peer(clients[0]).rosters - told, game.peer(clients[1]).closed), (most, None));
    assert_eq!(game.room.stats().refused_requests, 200 - u64::from(REQUESTS_PER_SECOND));
    let third = game.join_ready();
    game.step_to(60);
    game.send(clients[1], &ClientMessage::Vote { ready: true });
    assert!(game.room.clock_tick().is_some(), "a second later it is heard again");
    let records = game.log.next_sequence();
    for turn in 0..200 {
        game.send(third, &ClientMessage::Pause { generation: GENERATION, paused: turn % 2 == 0 });
    }
    assert_eq!(game.log.next_sequence() - records, u64::from(REQUESTS_PER_SECOND));
}
