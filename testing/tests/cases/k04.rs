//! K04: a seat disconnects, with nothing to undo and with something to undo.

use retick_core::seat::{Presence, Seat};
use retick_core::tick::Tick;
use retick_testing::fixtures::{TallyView, pack_tally, zig};
use retick_testing::sim::{MatchReport, RawSeat, SimulatedMatch};

use crate::support::{RATE, authority_tally, client, input, shown_tally, tally_match, view};

fn presence(report: &MatchReport, seat: u8, tick: usize) -> Presence {
    report.frames[tick].seat(Seat::new(seat).expect("valid")).presence
}

#[test]
fn k04_a_a_seat_that_is_gone_before_tick_0_leaves_nothing_to_undo() {
    let setup = tally_match().hard_tolerance_ticks(6).last_tick(60);
    let mut sim = setup.client(client(zig)).raw(RawSeat::silent()).disconnect(0, 1).build();
    assert_eq!(sim.room().frontier(), Tick::ZERO, "guard: no tick is confirmed when the transport closes");
    sim.run_until_confirmed(60);
    // I6, at every rollback, is among the invariants.
    let report = sim.finish();
    assert_eq!(report.delivered_inputs[1], 0, "guard");
    assert!((0..60).all(|tick| input(&report, 1, tick).is_none() && presence(&report, 1, tick) != Presence::Human));
    let client = &report.clients[0];
    // The guess that seat 1 is there and neutral is the only one to be undone, and only where it was played.
    assert!(client.rollbacks.iter().any(|seen| seen.from == Tick::ZERO && seen.to > seen.from), "guard");
    // The frames say that nobody stood in for its input in time (reading 4).
    let end = view(&[1, 0], &[0, 60], 0xCAA4_77C4);
    assert_eq!((authority_tally(&report, 60), shown_tally(client)), (end.clone(), end));
    assert_eq!(report.desyncs(), 0);
}

/// Whether a survivor shows a present in which seat 2 went on holding 4 beyond its last input, unconfirmed.
fn predicts_the_departed(sim: &SimulatedMatch, survivor: usize) -> bool {
    let session = sim.client(survivor).and_then(|client| client.session()).expect("it plays");
    let shown = TallyView::read(session.projections().0).expect("TALLY projects");
    let (confirmed, head) = (session.confirmed().index(), session.head().index());
    confirmed <= 100 && head > 100 && shown.sum[2] == i64::try_from(4 * head).expect("small")
}

#[test]
fn k04_b_the_predicted_inputs_of_a_departed_seat_are_undone() {
    let raw = (0..100).fold(RawSeat::silent(), |raw, tick| raw.input(tick, tick, pack_tally(4)));
    let setup = tally_match().hard_tolerance_ticks(12).last_tick(160).disconnect(100, 2);
    let survivor = || client(zig).latency_ticks(RATE, 2).window_ticks(24);
    let mut sim = setup.client(survivor()).client(survivor()).raw(raw).build();
    let mut predicted = [false; 2];
    while sim.authority_tick() < Tick::new(120) {
        sim.advance();
        (0..2).for_each(|survivor| predicted[survivor] |= predicts_the_departed(&sim, survivor));
    }
    assert_eq!(predicted, [true; 2], "guard: each survivor predicted 4 for tick 100");
    sim.run_until_confirmed(160);
    let report = sim.finish();
    assert_eq!(report.delivered_inputs[2], 100);
    assert!((0..100).all(|tick| input(&report, 2, tick) == Some(4) && presence(&report, 2, tick) == Presence::Human));
    assert!((100..160).all(|tick| input(&report, 2, tick).is_none()));
    assert!((100..160).all(|tick| presence(&report, 2, tick) == Presence::Disconnected));
    let end = view(&[-2, 5, 400], &[0, 0, 60], 0xFC8B_AC8C);
    assert_eq!(authority_tally(&report, 160), end);
    for client in &report.clients {
        assert_eq!(shown_tally(client), end);
        let undone = |seen: &&retick_testing::sim::RollbackSeen| seen.from == Tick::new(100) && seen.to > seen.from;
        assert_eq!(client.rollbacks.iter().filter(undone).count(), 1, "guard: seat {}", client.seat);
    }
    assert_eq!(report.desyncs(), 0);
}
