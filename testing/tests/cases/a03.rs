//! A03: press and release arrive in the wrong order ("stuck key").

use retick_testing::fixtures::pack_tally;
use retick_testing::sim::{MatchReport, RawSeat};

use crate::support::{authority_tally, input, tally_match, view, zig_of};

const TICKS: u64 = 60;

/// Seat 1 holds 0, but tick 31's release arrives at authority tick 30, and what `press` says for tick 30 later.
fn play(press: impl Fn(RawSeat) -> RawSeat) -> MatchReport {
    let zig_seat = (0..TICKS).fold(RawSeat::silent(), |seat, tick| seat.input(tick, tick, pack_tally(zig_of(0, tick))));
    let others = (0..TICKS).filter(|tick| *tick != 30);
    let seat = others.fold(RawSeat::silent(), |seat, tick| {
        let at = if tick == 31 { 30 } else { tick };
        seat.input(at, tick, pack_tally(0))
    });
    let mut sim = tally_match().hard_tolerance_ticks(6).raw(zig_seat).raw(press(seat)).build();
    // Guard: the release of tick 31 is there before the press of tick 30.
    sim.run_ticks(32);
    assert_eq!(sim.room().frontier().index(), 30);
    sim.run_ticks(TICKS - 32);
    sim.finish()
}

fn check(report: &MatchReport) {
    assert_eq!([29, 30, 31, 32].map(|tick| input(report, 1, tick)), [0, 5, 0, 0].map(Some));
    assert_eq!(report.flagged_ticks(), [0; 0]);
    assert_eq!([29, 30, 31, 32].map(|tick| report.confirmed_at(tick)), [29, 32, 32, 32].map(Some));
    assert_eq!(authority_tally(report, 60), view(&[1, 5], &[0, 0], 0x1E31_7789));
    // Both raw seats were sent exactly the authority's frames; the checkers compare them byte for byte.
    assert!(report.raw_seats.iter().all(|raw| raw.frames.len() == 60));
}

#[test]
fn a03_inputs_are_ordered_by_their_tick_never_by_arrival() {
    let report = play(|seat| seat.input(32, 30, pack_tally(5)));
    check(&report);
    assert_eq!(report.room.seats.duplicate_inputs + report.room.seats.counters.conflicting_inputs, 0);
}

#[test]
fn a03_an_equal_input_is_ignored_and_a_conflicting_one_never_counts() {
    let report =
        play(|seat| seat.input(32, 30, pack_tally(5)).input(32, 30, pack_tally(5)).input(32, 30, pack_tally(7)));
    check(&report);
    assert_eq!(report.seat_stats[1].duplicate_inputs, 1);
    assert_eq!(report.seat_stats[1].counters.conflicting_inputs, 1);
}
