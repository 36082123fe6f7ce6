//! K10: what the desync detector must and must not say.

use std::slice;
use std::sync::Arc;

use retick_authority::room::{RoomEvent, Verification};
use retick_core::client::ClientEvent;
use retick_core::digest::Checksum;
use retick_core::runtime::RuntimeFactory;
use retick_core::seat::{Seat, SeatSet};
use retick_core::tick::Tick;
use retick_testing::checkers::Breach;
use retick_testing::fixtures::{tally_factory, zig, zig_packed};
use retick_testing::sim::{ClientRecord, ClientSetup, MatchSetup, RawSeat, RawSend, Reporting, SimulatedMatch};
use retick_testing::twins::{Flip, FlippedFrame, FlippedMix, FlippedSub, FlippedSum, flipped_factory};

use crate::support::{RATE, client, seat, tally_match};

/// Enough for S(181), and not for S(241).
const TICKS: u64 = 200;
/// Inputs go on beyond it, so that nobody is waited for while the last messages arrive.
const LAST_TICK: u64 = TICKS + 30;
/// Seat 2's bit flips in this state.
const FLIPPED: u64 = 130;

fn honest() -> ClientSetup {
    client(zig).latency_ticks(RATE, 1)
}

fn setup() -> MatchSetup {
    tally_match().hard_tolerance_ticks(6).checksum_cadence_ticks(60).last_tick(LAST_TICK)
}

/// Plays to the end, and until the last reports and notices have arrived.
fn play(setup: MatchSetup) -> SimulatedMatch {
    let mut sim = setup.build();
    sim.run_until_confirmed(TICKS);
    sim.run_ticks(10);
    sim
}

fn verification(sim: &SimulatedMatch, tick: u64) -> Verification {
    sim.room().verification(Tick::new(tick))
}

type Notice = (Tick, Vec<(Seat, Checksum)>);

fn notices(client: &ClientRecord) -> Vec<Notice> {
    let notice = |(_, event): &(Tick, ClientEvent)| match event {
        ClientEvent::Desync { tick, values } => Some((*tick, values.clone())),
        _ => None,
    };
    client.events.iter().filter_map(notice).collect()
}

fn reported(client: &ClientRecord) -> Vec<(u64, Checksum)> {
    client.reports.iter().map(|sent| (sent.tick.index(), sent.checksum)).collect()
}

/// Plays with a bit of seat 2's memory flipped in `S(130)`: one notice, for frame 181, to all three, with both values.
fn check_flipped<F: Flip>() {
    let twin = flipped_factory::<F, 2, FLIPPED>();
    assert_eq!(twin.manifest().identity(), tally_factory().manifest().identity(), "no manifest can see it");
    let mut sim = play(setup().client(honest()).client(honest()).client(honest().factory(Arc::new(twin))));
    assert_eq!([1, 61, 121, 181].map(|tick| verification(&sim, tick)), {
        [Verification::Agreed, Verification::Agreed, Verification::Agreed, Verification::Desync]
    });
    let report = sim.report();
    let values: Vec<_> = report.clients.iter().map(reported).collect();
    for (index, tick) in [1, 61, 121].into_iter().enumerate() {
        let sums = values.iter().map(|reports| reports[index]).collect::<Vec<_>>();
        assert!(sums.iter().all(|sum| *sum == sums[0] && sum.0 == tick), "guard: {sums:?}");
    }
    let last: Vec<_> = values.iter().map(|reports| reports[3]).collect();
    assert!(values.iter().all(|reports| reports.len() == 4), "guard: all have reported");
    assert!(last[0] == last[1] && last[0].1 != last[2].1 && last[2].0 == 181, "guard: {last:?}");
    let told = (Tick::new(181), vec![(seat(0), last[0].1), (seat(1), last[1].1), (seat(2), last[2].1)]);
    for client in &report.clients {
        assert_eq!(notices(client), slice::from_ref(&told), "seat {}", client.seat);
        assert_eq!(client.stats.desyncs, 1);
    }
    let events = report.room_events.iter().filter(|(_, event)| matches!(event, RoomEvent::Desync { .. }));
    assert_eq!((events.count(), report.desyncs(), report.room.seats.refused_reports), (1, 1, 0));
    assert_eq!(report.flagged_ticks(), [0; 0]);
    // The fold of the authority's log says who is wrong.
    let (expected, found) = (last[0].1, last[2].1);
    assert_eq!(sim.check(), Err(vec![Breach::State { seat: seat(2), tick: Tick::new(181), expected, found }]));
}

#[test]
fn k10_a_a_flipped_bit_in_a_sum_is_told_once_to_everyone_with_both_values() {
    check_flipped::<FlippedSum>();
}

#[test]
fn k10_b_a_flipped_bit_in_any_field_is_told_for_the_same_frame() {
    check_flipped::<FlippedMix>();
    check_flipped::<FlippedSub>();
    check_flipped::<FlippedFrame>();
}

#[test]
fn k10_c_a_silent_client_is_incomplete_and_not_agreed() {
    let mut silent = honest();
    silent.reporting = Reporting::Withheld;
    let sim = play(setup().client(honest()).client(honest()).client(silent));
    let others: SeatSet = [seat(0), seat(1)].into_iter().collect();
    for tick in [1, 61, 121, 181] {
        assert_eq!(verification(&sim, tick), Verification::Incomplete { reported: others }, "S({tick})");
    }
    // What nobody can have reported is no agreement either.
    assert_eq!(verification(&sim, 241), Verification::Incomplete { reported: SeatSet::EMPTY });
    let report = sim.finish();
    assert!(report.clients[..2].iter().all(|client| client.reports.len() == 4), "guard");
    assert_eq!((report.clients[2].checksums.len(), report.clients[2].reports.len()), (4, 0), "guard");
    assert!(report.clients.iter().all(|client| notices(client).is_empty()));
    assert_eq!((report.desyncs(), report.room.seats.refused_reports), (0, 0));
}

#[test]
fn k10_d_early_and_contradicting_reports_are_refused_and_counted() {
    let honest_sums = {
        let report = play(setup().client(honest()).client(honest()).client(honest())).finish();
        reported(&report.clients[0])
    };
    let say = |tick: u64, checksum| RawSend::Report { tick: Tick::new(tick), checksum };
    let lie = Checksum::of(b"another state");
    let inputs =
        (0..LAST_TICK).fold(RawSeat::silent(), |raw, tick| raw.input(tick, tick, zig_packed(seat(2), Tick::new(tick))));
    let raw = honest_sums.iter().filter(|(tick, _)| *tick < 181).fold(inputs, |raw, (tick, sum)| {
        // The right one, again the right one, and then another.
        let at = tick + 10;
        raw.send(at, say(*tick, *sum)).send(at, say(*tick, *sum)).send(at, say(*tick, lie))
    });
    // For a frame that is confirmed much later, right and wrong; off the cadence; and in time at last.
    let raw = raw.send(100, say(181, honest_sums[3].1)).send(100, say(181, lie)).send(100, say(62, lie));
    let sim = play(setup().client(honest()).client(honest()).raw(raw.send(190, say(181, honest_sums[3].1))));
    assert_eq!([1, 61, 121, 181].map(|tick| verification(&sim, tick)), [Verification::Agreed; 4]);
    let report = sim.finish();
    let refused: Vec<_> = report.seat_stats.iter().map(|stats| stats.refused_reports).collect();
    assert_eq!(refused, [0, 0, 3 + 3]);
    assert!(report.clients.iter().all(|client| notices(client).is_empty() && client.reports.len() == 4));
    assert!(report.raw_seats[0].desyncs.is_empty());
    assert_eq!((report.desyncs(), report.flagged_ticks()), (0, vec![]));
}
