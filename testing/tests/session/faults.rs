//! A game that faults: held while it is predicted, terminal once it is confirmed, with the last good state readable (W5).

use retick_core::runtime::StepFault;
use retick_core::session::{Held, SessionFault, SessionPolicy};
use retick_core::tick::Tick;
use retick_testing::fixtures::{pack_tally, tally_reference};
use retick_testing::strict::FaultPlan;

use crate::support::{Table, assert_reports, fold, frame, seat};

const FAULT: StepFault = StepFault::OutOfGas;
const AT: Tick = Tick::new(5);

fn policy() -> SessionPolicy {
    SessionPolicy { checksum_cadence_ticks: 1, ..SessionPolicy::default() }
}

fn held() -> Option<Held> {
    Some(Held::PredictedFault { tick: AT, fault: FAULT })
}

/// A session that predicted into a fault at tick 5, with all its inputs for ticks before 20 submitted.
fn holding(plan: FaultPlan) -> Table {
    let mut table = Table::with_faults(policy(), vec![plan]);
    table.submit_before(20, |_| 1);
    assert_eq!(table.advance(8).map(|progress| (progress.steps, progress.held)), Ok((5, held())));
    assert_eq!(table.session.head(), AT);
    table
}

#[test]
fn w5_a_predicted_fault_holds_at_the_last_good_state_and_a_confirmed_frame_averts_it() {
    // It faults with what repeat-last predicts of seat 1: neutral.
    let mut table = holding(FaultPlan::on_input(AT, seat(1), pack_tally(0), FAULT));
    let mut frames: Vec<_> = (0..5).map(|tick| frame(tick, [1, 0], [false; 2])).collect();
    assert_eq!(table.head_checksum(), fold(&frames)[5]);
    assert_eq!(table.shown().0, tally_reference(2, &frames));
    // Every further turn holds, and the frames before the fault change nothing of that.
    for frame in &frames {
        assert_eq!(table.advance(8).map(|progress| (progress.steps, progress.held)), Ok((0, held())));
        table.session.confirm(frame).expect("next");
    }
    assert_eq!(table.advance(8).map(|progress| (progress.confirmed_frames, progress.held)), Ok((1, held())));
    // The confirmed input is another one.
    frames.push(frame(5, [1, 9], [false; 2]));
    table.session.confirm(&frames[5]).expect("next");
    let progress = table.advance(8).expect("averted");
    assert_eq!((progress.confirmed_frames, progress.held), (1, None));
    assert_eq!((table.session.confirmed(), table.session.head()), (Tick::new(6), Tick::new(8)));
    assert_reports(&table.checksums, &frames, 1);
    table.probe.assert_clean();
}

#[test]
fn w5_a_confirmed_fault_is_terminal_and_the_state_before_it_readable() {
    let mut table = holding(FaultPlan::always(AT, FAULT));
    let frames: Vec<_> = (0..8).map(|tick| frame(tick, [1, 0], [false; 2])).collect();
    frames.iter().take(5).for_each(|frame| table.session.confirm(frame).expect("next"));
    assert_eq!(table.advance(8).map(|progress| (progress.confirmed_frames, progress.held)), Ok((5, held())));
    frames.iter().skip(5).for_each(|frame| table.session.confirm(frame).expect("next"));
    check_terminal(&mut table, &frames[..5]);
}

#[test]
fn w5_a_fault_in_the_middle_of_confirmed_frames_applies_those_before_it() {
    for window in [0, 8] {
        let policy = SessionPolicy { prediction_window_ticks: window, ..policy() };
        let mut table = Table::with_faults(policy, vec![FaultPlan::always(AT, FAULT)]);
        let frames: Vec<_> = (0..12).map(|tick| frame(tick, [1, 3], [false; 2])).collect();
        frames.iter().for_each(|frame| table.session.confirm(frame).expect("next"));
        check_terminal(&mut table, &frames[..5]);
    }
}

/// The state that a fault ends in is neither a report tick's nor what the turn was to end in, and must be kept all the same.
#[test]
fn w5_the_state_before_a_confirmed_fault_is_readable_at_any_cadence() {
    let mut table = Table::with_faults(SessionPolicy::default(), vec![FaultPlan::always(AT, FAULT)]);
    let frames: Vec<_> = (0..12).map(|tick| frame(tick, [1, 3], [false; 2])).collect();
    frames.iter().for_each(|frame| table.session.confirm(frame).expect("next"));
    assert_eq!(table.advance(8), Err(SessionFault::Runtime { tick: AT, fault: FAULT }));
    let good = fold(&frames[..5])[5];
    assert_eq!(table.session.export_snapshot(AT).map(|snapshot| snapshot.checksum()), Ok(good));
    assert_eq!(table.session.confirmed_checksum(AT), Some(good));
}

#[test]
fn w5_a_fault_while_resimulating_holds_where_it_strikes() {
    // It strikes with the value 7 of seat 1, which only the correction brings.
    let mut table = Table::with_faults(policy(), vec![FaultPlan::on_input(AT, seat(1), pack_tally(7), FAULT)]);
    table.submit_before(20, |_| 1);
    assert_eq!(table.advance(8).map(|progress| progress.held), Ok(None));
    let frames: Vec<_> = (0..6).map(|tick| frame(tick, [1, if tick < 2 { 0 } else { 7 }], [false; 2])).collect();
    frames.iter().take(3).for_each(|frame| table.session.confirm(frame).expect("next"));
    // Ticks 3 and 4 are predicted with 7 now, and so would be tick 5.
    assert_eq!(table.advance(8).map(|progress| (progress.steps, progress.held)), Ok((3, held())));
    assert_eq!((table.rollbacks.as_slice(), table.session.head()), (&[(2, 8)][..], AT));
    let good = tally_reference(2, &frames[..5]);
    assert_eq!(table.shown(), (good.clone(), good), "nothing of the present that was rolled back");
    frames.iter().skip(3).for_each(|frame| table.session.confirm(frame).expect("next"));
    check_terminal(&mut table, &frames[..5]);
}

/// The next turn ends the session for good, with the frames before tick 5 applied and nothing else.
fn check_terminal(table: &mut Table, good: &[retick_core::frame::Frame]) {
    let fault = SessionFault::Runtime { tick: AT, fault: FAULT };
    for _ in 0..3 {
        assert_eq!(table.advance(8), Err(fault.clone()));
        assert_eq!(table.session.fault(), Some(&fault));
        assert_eq!((table.session.confirmed(), table.session.head()), (AT, AT));
    }
    assert_eq!(table.confirmed, good);
    assert_reports(&table.checksums, good, 1);
    assert_eq!(table.head_checksum(), fold(good)[5]);
    assert_eq!(table.session.export_snapshot(AT).map(|snapshot| snapshot.checksum()), Ok(fold(good)[5]));
    assert_eq!(table.shown().0, tally_reference(2, good));
    table.probe.assert_clean();
}
