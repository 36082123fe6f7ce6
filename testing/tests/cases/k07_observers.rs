//! K07 with real observers (A14): one that stops reading, one that is slow, and one that was there before the match.

use retick_authority::room::{ConnectionId, EPHEMERALS_PER_SECOND, StartPolicy};
use retick_core::client::{ClientConfig, ClientRole, EndReason};
use retick_core::tick::{Moment, Tick};
use retick_core::wire::{CloseReason, MAX_EPHEMERAL_BYTES};

use crate::support::view;
use crate::table::{OUTBOUND_CAP_BYTES, Party, Table};

const TICKS: u64 = 10_000;
/// Authority ticks before tick 0.
const LOBBY: u64 = 300;
/// The slow one runs freely from this authority tick of the match on.
const RELEASE: u64 = 600;
/// Most confirmed frames of its turns.
const BUDGET: usize = 8;

const PLAYERS: [ConnectionId; 2] = [ConnectionId(0), ConnectionId(1)];
const DEAF: ConnectionId = ConnectionId(2);
const SLOW: ConnectionId = ConnectionId(3);
const EARLY: ConnectionId = ConnectionId(4);

fn observer(max_confirmed_frames_per_turn: Option<u32>) -> Party {
    let role = ClientRole::Observer;
    Party::new(ClientConfig { role, max_confirmed_frames_per_turn, ..ClientConfig::default() })
}

/// Two players, in a room that waits to be started.
fn players() -> Table {
    let mut table = Table::new(2, |config| config.start = StartPolicy::Manual);
    for id in PLAYERS {
        table.seat(id.0, Party::new(ClientConfig::default()).until(TICKS));
    }
    table
}

fn start(table: &mut Table) {
    let now = table.now();
    table.room.start(now).expect("two are there");
    table.drain_room();
}

/// A tick of the match, in which the players may chat: each sends the largest ephemeral ten times a second.
fn advance(table: &mut Table, does: impl Fn(ConnectionId, u64) -> bool) {
    table.advance(does);
    for id in PLAYERS {
        if table.a.is_multiple_of(2 * 60 / u64::from(EPHEMERALS_PER_SECOND)) {
            table.party(id).client.send_ephemeral(&[7; MAX_EPHEMERAL_BYTES]).expect("a player");
            table.send_all(id);
        }
    }
}

/// The players' match alone, with the same chatter: when each tick was confirmed.
fn control() -> Vec<u64> {
    let mut table = players();
    table.advance_to(LOBBY);
    start(&mut table);
    while (table.when.len() as u64) < TICKS {
        advance(&mut table, |_, _| true);
    }
    table.when
}

#[test]
fn k07_observers_that_are_deaf_slow_or_early_change_nothing_for_the_players() {
    let mut table = players();
    table.seat(EARLY.0, observer(None));
    table.advance_to(LOBBY);
    table.seat(DEAF.0, observer(None));
    table.seat(SLOW.0, observer(Some(8)));
    start(&mut table);
    let free_at = LOBBY + RELEASE;
    let (mut peak, mut reached) = (0, None);
    while (table.when.len() as u64) < TICKS {
        if table.a == LOBBY + 100 {
            table.party(DEAF).reads = false;
        }
        let before = table.party(SLOW).confirmed();
        // Eight frames in every sixteenth tick are one in two.
        advance(&mut table, |id, a| id != SLOW || a >= free_at || a % 16 == 0);
        let applied = table.party(SLOW).confirmed().since(before);
        assert!(applied <= BUDGET as u64, "{applied}");
        let (a, backlog) = (table.a, table.party(SLOW).backlog());
        if a < free_at {
            peak = peak.max(backlog);
        } else if backlog == 0 && reached.is_none() {
            reached = Some(a - free_at);
        } else if reached.is_some() {
            assert_eq!(backlog, 0, "it stays at the frontier");
        }
    }
    // (a) The deaf one was closed by the cap, for its reason, and the players' times are those without observers.
    assert_eq!(table.when, control());
    assert_eq!(table.slow_consumers, [DEAF], "guard");
    let party = table.party(DEAF);
    assert!(party.most_queued_bytes <= OUTBOUND_CAP_BYTES + party.longest_message_bytes);
    party.read(Moment::ZERO);
    assert_eq!(party.end, Some(EndReason::Closed(CloseReason::SlowConsumer)));
    assert_eq!(table.room.observer_count(), 2);
    // (b) The slow one had a backlog, and made up for it.
    assert!(peak >= 250, "guard: {peak}");
    assert!(reached.is_some_and(|turns| turns <= 45), "{reached:?}");
    // (c) The early one saw tick 0 first.
    assert_eq!(table.party(EARLY).frames.first().map(|frame| frame.tick()), Some(Tick::ZERO));
    // Everyone who is there has seen the same match. The room still waits for the input of the tick behind the last.
    (0..4).for_each(|_| table.advance(|_, _| true));
    for id in [PLAYERS[0], PLAYERS[1], EARLY, SLOW] {
        let party = table.party(id);
        assert_eq!((party.confirmed(), party.shown()), (Tick::new(TICKS), view(&[-5, -2], &[0, 0], 0xF52D_4D94)));
    }
}
