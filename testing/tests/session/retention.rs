//! What is kept, and what is not any more (S5, K4).

use std::sync::Arc;

use retick_core::runtime::{CheckpointError, Keep, Output, RuntimeFactory};
use retick_core::session::SessionPolicy;
use retick_core::snapshot::SnapshotError;
use retick_core::tick::Tick;
use retick_testing::fixtures::tally_factory;
use retick_testing::strict::{Call, StrictFactory, Violation};

use crate::support::{Table, descriptor, fold, frame};

#[test]
fn s5_required_retention_keeps_what_can_be_read_and_nothing_else() {
    let policy = SessionPolicy::default();
    let mut table = Table::new(policy);
    let frames: Vec<_> = (0..2000).map(|tick| frame(tick, [1, (tick % 3) as i32], [false; 2])).collect();
    let window = u64::from(policy.prediction_window_ticks);
    for frame in &frames {
        let tick = frame.tick().index();
        table.submit_before(tick + window, |_| 1);
        table.advance(tick + window).expect("plays");
        table.session.confirm(frame).expect("next");
        table.advance(tick + window).expect("plays");
        // The confirmed state, each predicted one, and the report ticks of the last 256.
        let most = 1 + 8 + 256_u64.div_ceil(120) as usize;
        assert!(table.session.kept_checkpoints() <= most, "{} at {tick}", table.session.kept_checkpoints());
        assert_eq!(table.session.kept_checkpoints(), table.probe.counters().checkpoints_alive, "nothing leaks");
        // S(applied+1) is always there.
        assert!(table.session.export_snapshot(table.session.confirmed()).is_ok());
    }
    let folded = fold(&frames);
    // Report states: 121 + 120 k. Those within 256 ticks of S(2000) can still be read.
    for (tick, kept) in [(1561, false), (1681, false), (1801, true), (1921, true)] {
        let checksum = table.session.confirmed_checksum(Tick::new(tick));
        assert_eq!(checksum, kept.then(|| folded[tick as usize]), "{tick}");
        let snapshot = table.session.export_snapshot(Tick::new(tick)).map(|snapshot| snapshot.checksum());
        let released = SnapshotError::Released { tick: Tick::new(tick) };
        assert_eq!(snapshot, if kept { Ok(folded[tick as usize]) } else { Err(released) }, "{tick}");
    }
    // A state that is not confirmed is none to read.
    let released = SnapshotError::Released { tick: Tick::new(2001) };
    assert_eq!(table.session.export_snapshot(Tick::new(2001)).err(), Some(released));
    assert!(table.rollbacks.len() > 1000, "guard");
    table.probe.assert_clean();
}

#[test]
fn s5_results_do_not_depend_on_retention() {
    let play = |checkpoint_window_ticks| {
        let policy = SessionPolicy { checkpoint_window_ticks, checksum_cadence_ticks: 5, ..SessionPolicy::default() };
        let mut table = Table::new(policy);
        for tick in 0..300 {
            table.submit_before(tick + 8, |_| 1);
            table.advance(tick + 8).expect("plays");
            table.session.confirm(&frame(tick, [1, (tick % 3) as i32], [false; 2])).expect("next");
        }
        (table.checksums, table.confirmed)
    };
    assert_eq!(play(5), play(300));
}

#[test]
fn k4_a_stale_handle_is_a_typed_error_and_never_another_state() {
    let factory = StrictFactory::new(Arc::new(tally_factory()));
    let mut runtime = factory.create(&descriptor()).expect("a match of TALLY");
    let mut output = Output::default();
    runtime.keep(Keep::CHECKPOINT | Keep::CHECKSUM, &mut output).expect("S(0) is kept");
    runtime.keep(Keep::CHECKPOINT, &mut output).expect("S(0) is kept twice");
    let handles: Vec<_> = output.kept.iter().filter_map(|kept| kept.checkpoint).collect();
    runtime.restore(handles[0]).expect("valid");
    let stale = CheckpointError::Stale { tick: Tick::ZERO };
    assert_eq!(runtime.restore(handles[1]), Err(stale.clone()));
    runtime.release(handles[0]).expect("valid");
    assert_eq!(runtime.restore(handles[0]), Err(stale));
    let breach = Violation::StaleHandle { call: Call::Restore, tick: Tick::ZERO };
    assert_eq!(factory.probes()[0].violations(), [breach.clone(), breach]);
}
