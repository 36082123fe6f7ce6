//! A5, A10 and A15 with real clients: a late joiner, a pause, and another config under a live match.

use retick_authority::room::{ConnectionId, PausePolicy, ReconfigurePolicy, RoomEvent, StartPolicy};
use retick_core::client::ClientConfig;
use retick_core::config::SessionConfig;
use retick_core::seat::{Generation, Presence};
use retick_core::tick::Tick;

use crate::support::{seat, view, zig_of};
use crate::table::{Party, Table};

const PLAYERS: [ConnectionId; 2] = [ConnectionId(0), ConnectionId(1)];

fn until(tick: u64) -> Party {
    Party::new(ClientConfig::default()).until(tick)
}

/// A match of two that has begun, and takes input for so many ticks.
fn started(ticks: u64) -> Table {
    let mut table = Table::new(2, |config| {
        (config.pause, config.reconfigure) = (PausePolicy::Creator, ReconfigurePolicy::Creator);
    });
    for id in PLAYERS {
        table.seat(id.0, until(ticks));
    }
    table.advance_to(30);
    assert!(table.room.clock_tick().is_some(), "guard");
    table
}

/// Plays until so many ticks are confirmed, and everyone has them.
fn play(table: &mut Table, ticks: u64) {
    let limit = table.a + ticks + 1_000;
    while (table.when.len() as u64) < ticks {
        table.advance(|_, _| true);
        assert!(table.a < limit, "{:?}", table.room.frontier());
    }
    (0..3).for_each(|_| table.advance(|_, _| true));
}

#[test]
fn a15_a_paused_match_goes_on_as_if_no_time_had_passed() {
    let mut table = started(300);
    table.advance_to(100);
    table.party(PLAYERS[0]).client.request_pause().expect("a player");
    table.send_all(PLAYERS[0]);
    assert!(table.room.is_paused());
    table.advance_to(105);
    let standing = table.room.frontier();
    table.advance_to(700);
    assert_eq!(table.room.frontier(), standing, "ten seconds later");
    for id in PLAYERS {
        let client = &table.party(id).client;
        let head = client.session().expect("a match").head();
        assert!(client.paused_at().is_some_and(|paused| head <= paused), "{head}");
    }
    table.party(PLAYERS[0]).client.request_unpause().expect("a player");
    table.send_all(PLAYERS[0]);
    play(&mut table, 300);
    for id in PLAYERS {
        assert_eq!(table.party(id).shown(), view(&[-5, 4], &[0, 0], 0x54FD_299E), "nobody was substituted");
    }
    // It took as long as it would have, and the pause.
    assert!((890..=900).contains(&table.when[299]), "{}", table.when[299]);
}

#[test]
fn a10_a_live_match_starts_over_with_another_config() {
    let mut table = started(200);
    table.advance_to(130);
    let before = table.party(PLAYERS[1]).confirmed();
    assert!(before > Tick::new(90), "guard");
    let config = SessionConfig::empty();
    table.party(PLAYERS[0]).client.request_reconfigure(&config).expect("a player");
    table.send_all(PLAYERS[0]);
    assert_eq!((table.room.frontier(), table.room.descriptor().generation()), (Tick::ZERO, Generation(1)));
    play(&mut table, 200);
    for id in PLAYERS {
        let party = table.party(id);
        assert_eq!((party.shown(), party.end.clone()), (view(&[-3, 3], &[0, 0], 0xF895_B9DF), None));
        assert!(party.frames.iter().all(|frame| frame.generation() == Generation(1)));
        assert_eq!(party.frames.len(), 200);
    }
    assert!(!table.events.iter().any(|event| matches!(event, RoomEvent::SeatDisconnected { .. })));
}

#[test]
fn a5_a_late_joiner_catches_up_and_plays_and_nobody_waited_for_it() {
    let mut table = Table::new(2, |config| config.start = StartPolicy::Manual);
    table.seat(PLAYERS[0].0, until(600));
    table.advance_to(30);
    let now = table.now();
    table.room.start(now).expect("one is there");
    table.drain_room();
    table.advance_to(330);
    table.seat(PLAYERS[1].0, until(600));
    play(&mut table, 600);
    let takes_part = table.party(PLAYERS[1]).client.active_from().expect("it was told").index();
    assert!((301..360).contains(&takes_part), "{takes_part}");
    let (late, first) = (table.party(PLAYERS[1]).frames.clone(), table.party(PLAYERS[0]).frames.clone());
    assert_eq!(late, first, "it has the whole match");
    for (frame, tick) in late.iter().zip(0..) {
        let view = frame.seat(seat(1));
        let expected = if tick < takes_part { Presence::Empty } else { Presence::Human };
        assert_eq!((view.presence, view.substituted), (expected, false), "{tick}");
        let played = retick_testing::fixtures::pack_tally(zig_of(1, tick));
        assert_eq!(view.input, (tick >= takes_part).then_some(&played[..]), "{tick}");
    }
    assert_eq!(table.party(PLAYERS[0]).shown(), table.party(PLAYERS[1]).shown());
    // Every tick was confirmed in its time.
    assert!(table.when.windows(2).all(|pair| pair[1] - pair[0] <= 1));
}
