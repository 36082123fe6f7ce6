//! Reconfiguration (A10): everyone starts over at tick 0 of a new generation, without disconnecting.

use retick_authority::log::Record;
use retick_authority::room::{
    ConnectionId, MatchSettlement, RECONFIGURE_WAIT_MILLIS, ReconfigureError, ReconfigurePolicy, RoomConfig, RoomEvent,
};
use retick_core::config::SessionConfig;
use retick_core::frame::FrameChain;
use retick_core::seat::{Generation, Presence, SeatSet};
use retick_core::tick::Tick;
use retick_core::wire::{ClientMessage, Refusal, RoomClock};

use crate::driver::{GENERATION, Match, Notice, config, seat};

const NEXT: Generation = Generation(1);

fn open(seats: usize) -> RoomConfig {
    RoomConfig { reconfigure: ReconfigurePolicy::Anyone, ..config(seats, 6) }
}

fn reconfigure(game: &mut Match, by: ConnectionId, config: &[u8]) {
    let generation = game.peer(by).generation;
    game.send(by, &ClientMessage::Reconfigure { generation, config });
}

/// A match that has been played for a while, and was reconfigured at authority tick 100.
fn reconfigured() -> (Match, Vec<ConnectionId>) {
    let (mut game, clients) = Match::started(open(2));
    game.play(&clients, 100);
    reconfigure(&mut game, clients[0], b"another level");
    (game, clients)
}

#[test]
fn a10_everyone_starts_over_at_tick_0_without_disconnecting() {
    let (mut game, clients) = reconfigured();
    let before = game.room.descriptor().clone();
    assert_eq!((before.generation(), before.config().bytes()), (NEXT, &b"another level"[..]));
    for client in &clients {
        assert_eq!(game.peer(*client).notices.last(), Some(&Notice::Reconfigured(NEXT)));
        assert_eq!(game.peer(*client).closed, None);
    }
    // The clock waits for everyone who plays.
    game.step_to(110);
    assert_eq!((game.room.clock_tick(), game.room.frontier()), (None, Tick::ZERO));
    game.ready(clients[0]);
    game.step_to(120);
    assert_eq!(game.room.clock_tick(), None);
    game.ready(clients[1]);
    assert!(
        clients.iter().all(|client| game.peer(*client).notices.last() == Some(&Notice::Started(RoomClock::default())))
    );
    // Ticks count from there: authority tick 120 is tick 0.
    for tick in 0..50 {
        clients.iter().for_each(|client| game.input(*client, tick, 3));
        game.step();
    }
    assert_eq!((game.room.frontier(), game.value(0, 0), game.when[0]), (Tick::new(50), (Some(3), false), 120));
    let view = game.frame(0);
    assert_eq!(
        (view.generation(), view.seat(seat(1)).presence, view.seat(seat(1)).epoch.0),
        (NEXT, Presence::Human, 1)
    );
    // The chain begins anew with the new descriptor.
    let mut chain = FrameChain::new(&before);
    (0..50).for_each(|tick| chain.extend(&game.frame(tick)));
    assert_eq!(game.room.chain_head(), chain.head());
    let logged: Vec<_> = game.log.frames().expect("a log").map(|frame| frame.expect("chained").generation()).collect();
    assert_eq!((logged.iter().filter(|it| **it == NEXT).count(), logged.len()), (50, 150));
    game.check_everyone();
}

#[test]
fn a10_nothing_of_the_old_generation_counts() {
    let (mut game, clients) = Match::started(open(2));
    game.play(&clients, 100);
    game.inputs(clients[0], 100, &[5; 20]);
    game.command(clients[0], 1, b"old");
    let old_epoch = game.peer(clients[0]).epoch;
    let (generation, tick) = (GENERATION, Tick::new(100));
    game.send(clients[0], &ClientMessage::Result { generation, tick, result: b"I won" });
    reconfigure(&mut game, clients[1], b"x");
    assert_eq!(game.room.settlement(), MatchSettlement::Incomplete { reported: SeatSet::EMPTY });
    clients.iter().for_each(|client| game.ready(*client));
    let stale = game.room.stats().stale_readies;
    game.send(clients[0], &ClientMessage::Ready { generation: GENERATION });
    assert_eq!(game.room.stats().stale_readies, stale + 1);
    let refused = game.counters(0).refused_inputs;
    let inputs = retick_core::wire::InputRun::new(1, &[9, 0, 0, 0]).expect("even");
    let message = retick_core::wire::Inputs { generation: GENERATION, epoch: old_epoch, first: Tick::new(3), inputs };
    game.send(clients[0], &ClientMessage::Inputs(message));
    assert_eq!(game.counters(0).refused_inputs, refused + 1);
    game.send(clients[0], &ClientMessage::Command { generation: GENERATION, sequence: 5, payload: b"old" });
    assert_eq!(game.counters(0).rejected_commands, 1);
    let checksum = retick_core::digest::Checksum::of(b"old");
    game.send(clients[0], &ClientMessage::Report { generation: GENERATION, tick: Tick::new(1), checksum });
    assert_eq!(game.room.seat_stats(seat(0)).expect("a seat").refused_reports, 1);
    // Neither what waited nor the last input of before is in any frame.
    game.step_to(110);
    assert!((0..4).all(|tick| game.value(tick, 0) == (None, true)), "no input yet in this generation");
    assert!((0..4).all(|tick| game.frame(tick).commands().len() == 0));
    assert!(game.peers.values().all(|peer| !peer.was_sent(b"old")));
    game.check_everyone();
}

#[test]
fn a10_the_wait_for_players_is_bounded_and_lost_ones_are_not_waited_for() {
    let (mut game, clients) = reconfigured();
    game.ready(clients[0]);
    let ticks = RECONFIGURE_WAIT_MILLIS * 60 / 1000;
    game.step_to(100 + ticks - 1);
    assert_eq!(game.room.clock_tick(), None);
    game.step_to(100 + ticks + 2);
    assert!(game.room.clock_tick().is_some());
    // The silent one is waited for as any late player, and no longer.
    game.step_to(100 + ticks + 20);
    assert_eq!((game.value(0, 1), game.room.frontier() > Tick::new(8)), ((None, true), true));

    let (mut game, clients) = reconfigured();
    game.ready(clients[0]);
    game.disconnect(clients[1]);
    assert_eq!(game.room.clock_tick(), Some(Tick::ZERO));
    // It comes back from the old generation, and starts over like everyone.
    game.step_to(140);
    let back = game.resume_in(GENERATION, seat(1), game.peer(clients[1]).token(), 100);
    assert_eq!((game.peer(back).refusal(), game.peer(back).generation, game.peer(back).first), (None, NEXT, 0));
    game.ready(back);
    game.step_to(150);
    assert!(game.peer(back).next() > 0);
    game.check_everyone();
}

#[test]
fn a10_who_may_swap_the_config() {
    let outcome = |policy, by: usize, config: &[u8]| {
        let (mut game, clients) = Match::started(RoomConfig { reconfigure: policy, ..crate::driver::config(2, 6) });
        reconfigure(&mut game, clients[by], config);
        (game.room.descriptor().generation().0, game.room.stats().refused_requests)
    };
    assert_eq!(outcome(ReconfigurePolicy::Nobody, 0, b"x"), (0, 1));
    assert_eq!(
        (outcome(ReconfigurePolicy::Creator, 0, b"x"), outcome(ReconfigurePolicy::Creator, 1, b"x")),
        ((1, 0), (0, 1))
    );
    assert_eq!(outcome(ReconfigurePolicy::Anyone, 1, b"x"), (1, 0));
    assert_eq!(outcome(ReconfigurePolicy::Anyone, 0, &[7; 65_536]), (1, 0));
    assert_eq!(outcome(ReconfigurePolicy::Anyone, 0, &[7; 65_537]), (0, 1));
    // Of a generation that is over, or too soon after the last.
    let (mut game, clients) = reconfigured();
    game.send(clients[0], &ClientMessage::Reconfigure { generation: GENERATION, config: b"y" });
    game.send(clients[0], &ClientMessage::Reconfigure { generation: NEXT, config: b"y" });
    clients.iter().for_each(|client| game.ready(*client));
    game.send(clients[0], &ClientMessage::Reconfigure { generation: NEXT, config: b"y" });
    assert_eq!((game.room.descriptor().generation(), game.room.stats().refused_requests), (NEXT, 3));
    let too_soon = game.room.reconfigure(SessionConfig::empty(), game.now());
    assert_eq!(too_soon, Err(ReconfigureError::TooSoon));
    game.step_to(170);
    assert_eq!(game.room.reconfigure(SessionConfig::empty(), game.now()), Ok(()));
    game.drain();
    assert_eq!(game.room.descriptor().generation(), Generation(2));
    game.room.close(game.now());
    assert_eq!(game.room.reconfigure(SessionConfig::empty(), game.now()), Err(ReconfigureError::Closed));
}

#[test]
fn a10_a_lobby_goes_on_waiting_with_the_new_config() {
    let mut game = Match::new(open(2));
    let first = game.join_ready();
    reconfigure(&mut game, first, b"settings");
    assert_eq!(game.peer(first).notices.last(), Some(&Notice::Reconfigured(NEXT)));
    let second = game.join();
    assert_eq!(game.peer(second).generation, NEXT);
    game.ready(second);
    assert_eq!(game.room.clock_tick(), None, "the first is not ready for this generation");
    game.ready(first);
    assert_eq!(game.room.clock_tick(), Some(Tick::ZERO));
    let started = RoomEvent::Started { generation: NEXT };
    assert_eq!(game.events.iter().filter(|event| **event == started).count(), 1);
    game.play(&[first, second], 10);
    game.check_everyone();
}

#[test]
fn a10_the_log_and_later_greetings_tell_of_the_generation() {
    let (mut game, clients) = reconfigured();
    clients.iter().for_each(|client| game.ready(*client));
    let kinds: Vec<_> = game
        .log
        .records()
        .filter_map(|(_, bytes)| match Record::decode(bytes).expect("a record") {
            Record::Reconfigured { descriptor } => Some((descriptor.len(), 0)),
            Record::Started { generation } => Some((0, generation.0)),
            _ => None,
        })
        .collect();
    let descriptor = game.room.descriptor().to_bytes();
    assert_eq!(kinds, [(0, 0), (descriptor.len(), 0), (0, 1)]);
    // One whose generation the room has not reached has another history.
    let token = game.peer(clients[1]).token();
    let ahead = game.resume_in(Generation(2), seat(1), token, 0);
    let forked = Refusal::HistoryForked { room: Tick::ZERO, client: Tick::ZERO };
    assert_eq!(game.peer(ahead).refusal(), Some(forked));
}
