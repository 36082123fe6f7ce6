//! A01: the deadline edge, and "neutral" is not "missing".

use retick_testing::fixtures::pack_tally;
use retick_testing::sim::{MatchReport, RawSeat};

use crate::support::{authority_tally, input, tally_match, view, zig_of};

const TICKS: u64 = 60;

fn zig_seat() -> RawSeat {
    (0..TICKS).fold(RawSeat::silent(), |seat, tick| seat.input(tick, tick, pack_tally(zig_of(0, tick))))
}

/// Plays until the room has confirmed all 60 ticks.
fn play(other: RawSeat) -> MatchReport {
    let setup = tally_match().hard_tolerance_ticks(6).raw(zig_seat()).raw(other);
    let mut sim = setup.build();
    sim.run_ticks(TICKS);
    sim.finish()
}

#[test]
fn a01_the_deadline_edge_and_a_neutral_input_that_is_not_missing() {
    let seat = (0..TICKS).fold(RawSeat::silent(), |seat, tick| {
        let (at, value) = match tick {
            20 => (25, 9),
            40 => (47, 9),
            50 => (50, 0),
            _ => (tick, 1),
        };
        seat.input(at, tick, pack_tally(value))
    });
    let report = play(seat);
    assert_eq!(report.flagged_ticks(), [40], "guard");
    assert_eq!(report.frames[40].substituted().iter().map(|seat| seat.number()).collect::<Vec<_>>(), [1]);
    assert_eq!([20, 39, 40, 41, 50].map(|tick| input(&report, 1, tick)), [9, 1, 1, 1, 0].map(Some));
    assert_eq!([20, 39].map(|tick| report.confirmed_at(tick)), [Some(25), Some(39)]);
    assert_eq!((40..=46).map(|tick| report.confirmed_at(tick)).collect::<Vec<_>>(), [Some(46); 7]);
    // The late 9 is dropped, counted once, and changes nothing after it.
    assert_eq!(report.seat_stats[1].counters.late_inputs, 1, "guard");
    assert!((41..60).filter(|tick| *tick != 50).all(|tick| input(&report, 1, tick) == Some(1)));
    assert_eq!(report.room.seats.counters.late_inputs, 1);
    assert_eq!(report.room.seats.counters.conflicting_inputs + report.room.seats.duplicate_inputs, 0);
    assert_eq!(authority_tally(&report, 60), view(&[1, 67], &[0, 1], 0x4D11_D5C7));
}

#[test]
fn a01_missing_first_inputs_are_null_and_flagged() {
    let seat = (3..TICKS).fold(RawSeat::silent(), |seat, tick| seat.input(tick, tick, pack_tally(1)));
    let report = play(seat);
    assert_eq!(report.flagged_ticks(), [0, 1, 2]);
    assert_eq!([0, 1, 2, 3].map(|tick| input(&report, 1, tick)), [None, None, None, Some(1)]);
    assert_eq!([0, 1, 2, 3].map(|tick| report.confirmed_at(tick)), [6, 7, 8, 8].map(Some));
    assert_eq!(report.room.seats.counters.late_inputs, 0);
}

#[test]
fn a01_an_input_one_tick_behind_the_frontier_is_late() {
    let missing_three = (3..TICKS).fold(RawSeat::silent(), |seat, tick| seat.input(tick, tick, pack_tally(1)));
    // Tick 0 was confirmed at authority tick 6 and tick 1 is not: its input comes one tick too late.
    let report = play(missing_three.input(7, 0, pack_tally(9)));
    assert_eq!(report.flagged_ticks(), [0, 1, 2]);
    assert_eq!([0, 1, 2, 3].map(|tick| report.confirmed_at(tick)), [6, 7, 8, 8].map(Some));
    assert_eq!(report.seat_stats[1].counters.late_inputs, 1);
    assert_eq!(authority_tally(&report, 60).sum[1], 57);
}
