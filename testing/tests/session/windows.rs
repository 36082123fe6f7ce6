//! The prediction window and the budget: how far a session goes, and that nothing is lost by it (S3, N6).

use retick_core::session::{Held, SessionPolicy};
use retick_core::tick::Tick;

use crate::support::{Table, assert_reports, frame, seat};

fn policy(window: u16) -> SessionPolicy {
    SessionPolicy { prediction_window_ticks: window, checksum_cadence_ticks: 1, ..SessionPolicy::default() }
}

#[test]
fn s3_window_zero_is_lockstep() {
    let mut table = Table::new(policy(0));
    let frames: Vec<_> = (0..20).map(|tick| frame(tick, [1, tick as i32], [false; 2])).collect();
    for frame in &frames {
        table.submit_before(frame.tick().index() + 1, |_| 1);
        let held = table.advance(100).expect("plays");
        assert_eq!((held.steps, held.held), (0, Some(Held::WindowFull)));
        table.session.confirm(frame).expect("next");
        let progress = table.advance(100).expect("plays");
        assert_eq!((progress.confirmed_frames, progress.steps, progress.predicted), (1, 1, 0));
        assert_eq!(table.session.head(), table.session.confirmed());
    }
    assert!(table.rollbacks.is_empty() && table.probe.counters().restores == 0);
    assert_reports(&table.checksums, &frames, 1);
    table.probe.assert_clean();
}

#[test]
fn s3_a_full_window_steps_nothing_and_loses_no_input() {
    let mut table = Table::new(policy(4));
    table.submit_before(30, |tick| tick as i32);
    assert_eq!(table.advance(30).map(|progress| (progress.steps, progress.held)), Ok((4, Some(Held::WindowFull))));
    for _ in 0..25 {
        assert_eq!(table.advance(30).map(|progress| (progress.steps, progress.held)), Ok((0, Some(Held::WindowFull))));
    }
    // What was submitted is still there for every tick, and what is confirmed differs from the guess in every tick.
    let kept: Vec<_> = (0..30).map(|tick| table.session.local_input(seat(0), Tick::new(tick)).is_some()).collect();
    assert_eq!(kept, [true; 30]);
    let frames: Vec<_> = (0..30).map(|tick| frame(tick, [tick as i32, 5], [false; 2])).collect();
    frames.iter().for_each(|frame| table.session.confirm(frame).expect("next"));
    let progress = table.advance(30).expect("plays");
    assert_eq!((progress.confirmed_frames, progress.resimulated, table.rollbacks.as_slice()), (30, 4, &[(0, 4)][..]));
    assert_reports(&table.checksums, &frames, 1);
    table.probe.assert_clean();
}

#[test]
fn s3_the_window_counts_from_the_confirmed_tick_of_the_same_turn() {
    let mut table = Table::new(policy(3));
    table.submit_before(9, |_| 0);
    table.advance(9).expect("plays");
    assert_eq!(table.session.head(), Tick::new(3));
    (0..2).for_each(|tick| table.session.confirm(&frame(tick, [0, 0], [false; 2])).expect("next"));
    table.advance(9).expect("plays");
    assert_eq!((table.session.confirmed(), table.session.head()), (Tick::new(2), Tick::new(5)));
}

#[test]
fn s1_a_missing_local_input_holds_at_its_tick() {
    let mut table = Table::new(policy(8));
    table.submit_before(2, |_| 1);
    let held = table.advance(5).expect("plays").held;
    assert_eq!(held, Some(Held::InputMissing { seat: seat(0), tick: Tick::new(2) }));
    assert_eq!(table.session.head(), Tick::new(2));
}

#[test]
fn n6_a_budget_changes_when_and_never_what() {
    let frames: Vec<_> = (0..90).map(|tick| frame(tick, [1, (tick % 7) as i32], [false; 2])).collect();
    let results = [1, 2, 7, usize::MAX].map(|budget| {
        let mut table = Table::new(policy(6));
        let mut most = 0;
        for turn in 0..200_u64 {
            // Ten frames at once, every third turn.
            let next = table.session.received().index() as usize;
            let arriving = if turn % 3 == 0 { 10 } else { 0 };
            frames.iter().skip(next).take(arriving).for_each(|frame| table.session.confirm(frame).expect("next"));
            table.submit_before(table.session.head().index() + 2, |_| 1);
            let target = table.session.head().index() + 1;
            let progress = table.advance_within(budget, target).expect("plays");
            most = most.max(progress.confirmed_frames);
            assert!(progress.confirmed_frames <= budget);
        }
        assert!(most == budget || budget > 10, "guard: the budget of {budget} bound");
        assert_eq!(table.session.queued_frames(), 0);
        assert_reports(&table.checksums, &frames, 1);
        table.probe.assert_clean();
        (table.confirmed, table.checksums)
    });
    assert!(results.iter().all(|result| *result == results[0]));
}
