//! K02: the checksum of a frame that is still about to be rolled back.

use retick_authority::room::Verification;
use retick_core::seat::Seat;
use retick_core::tick::Tick;
use retick_testing::fixtures::zig;

use crate::support::{RATE, authority_tally, client, shown_tally, tally_match, view};

/// Everyone's very first input differs from the neutral guess.
fn script(seat: Seat, tick: Tick) -> i32 {
    if tick == Tick::ZERO { 100 + i32::from(seat.number()) } else { zig(seat, tick) }
}

#[test]
fn k02_only_confirmed_and_corrected_states_are_reported() {
    let setup = tally_match().hard_tolerance_ticks(60).checksum_cadence_ticks(1).last_tick(60);
    let setup = (0..3).fold(setup, |setup, _| setup.client(client(script).latency_ticks(RATE, 3)));
    let mut sim = setup.build();
    sim.run_until_confirmed(60);
    // The last reports are under way.
    sim.run_ticks(4);
    assert_eq!(sim.room().frontier(), Tick::new(60));
    // The room keeps the reports of the last 64 states, so it still judges all of these.
    let agreed = |tick| sim.room().verification(Tick::new(tick)) == Verification::Agreed;
    assert_eq!((1..=60).filter(|tick| !agreed(*tick)).collect::<Vec<_>>(), [0; 0]);
    let report = sim.finish();

    assert_eq!(report.desyncs(), 0);
    assert_eq!(report.room.seats.refused_reports, 0);
    assert_eq!(report.flagged_ticks(), [0; 0]);
    assert_eq!(authority_tally(&report, 1), view(&[100, 101, 102], &[0, 0, 0], 0x0001_FD2C));
    let end = view(&[106, 108, 99], &[0, 0, 0], 0x7F1E_3130);
    assert_eq!(authority_tally(&report, 60), end);
    for client in &report.clients {
        // One report for each of 1…60, in order; that each left after its tick was applied as confirmed is I4.
        let reported: Vec<_> = client.reports.iter().map(|sent| sent.tick.index()).collect();
        assert_eq!(reported, (1..=60).collect::<Vec<_>>());
        assert_eq!(shown_tally(client), end);
        assert!(client.rollbacks.iter().any(|seen| seen.from == Tick::ZERO), "guard: seat {}", client.seat);
        assert_eq!(client.stats.desyncs, 0);
    }
}
