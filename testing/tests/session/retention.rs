//! What is kept, and what is not any more (S5, K4).

use std::sync::Arc;

use retick_core::runtime::{CheckpointError, Keep, Output, RuntimeFactory};
use retick_core::session::{InputRetention, Retention, SessionPolicy, Standing, StateReadError};
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
        let released = StateReadError::Released { tick: Tick::new(tick) };
        assert_eq!(table.session.checksum_at(Tick::new(tick)), checksum.ok_or(released.clone()), "{tick}");
        assert_eq!(snapshot, if kept { Ok(folded[tick as usize]) } else { Err(released.into()) }, "{tick}");
    }
    // A state that is not confirmed is none to read.
    let unconfirmed = StateReadError::NotConfirmed { tick: Tick::new(2001) };
    assert_eq!(table.session.export_snapshot(Tick::new(2001)).err(), Some(SnapshotError::Read(unconfirmed.clone())));
    assert_eq!(table.session.checksum_at(Tick::new(2001)), Err(unconfirmed));
    // The last confirmed state has no checksum that was taken on the way, and is always there (S(applied+1)).
    assert_eq!((table.session.confirmed_checksum(Tick::new(2000)), folded.len()), (None, 2001));
    assert_eq!(table.session.checksum_at(Tick::new(2000)), Ok(folded[2000]));
    assert!(table.rollbacks.len() > 1000, "guard");
    table.probe.assert_clean();
}

#[test]
fn s5_window_retention_keeps_every_state_of_the_window_and_releases_the_next() {
    let policy = SessionPolicy {
        checkpoint_window_ticks: 50,
        checksum_cadence_ticks: 20,
        retention: Retention::Window,
        ..SessionPolicy::default()
    };
    let mut table = Table::new(policy);
    let frames: Vec<_> = (0..200).map(|tick| frame(tick, [1, (tick % 3) as i32], [false; 2])).collect();
    for frame in &frames {
        let tick = frame.tick().index();
        table.submit_before(tick + 8, |_| 1);
        table.advance(tick + 8).expect("plays");
        table.session.confirm(frame).expect("next");
        table.advance(tick + 8).expect("plays");
        assert_eq!(table.session.kept_checkpoints(), table.probe.counters().checkpoints_alive, "nothing leaks");
    }
    assert!(table.rollbacks.len() > 100, "guard");
    let folded = fold(&frames);
    for tick in 0..=200 {
        let kept = tick >= 150;
        let released = StateReadError::Released { tick: Tick::new(tick) };
        let expected = if kept { Ok(folded[tick as usize]) } else { Err(released) };
        assert_eq!(table.session.checksum_at(Tick::new(tick)), expected, "{tick}");
        let snapshot = table.session.export_snapshot(Tick::new(tick)).map(|snapshot| snapshot.checksum());
        assert_eq!(snapshot, expected.map_err(SnapshotError::Read), "{tick}");
    }
    // The window behind the frontier, the frontier, and what is predicted but for the present itself.
    assert_eq!(table.session.kept_checkpoints(), 50 + table.session.head().since(table.session.confirmed()) as usize);
    table.probe.assert_clean();
}

/// Frames that wait in the session's own queue are no catch-up; frames that have not arrived are.
#[test]
fn s5_a_session_that_catches_up_keeps_the_whole_window_until_it_is_live() {
    for (standing, all) in [(Standing::Live, false), (Standing::CatchingUp, true), (Standing::AwaitingHydration, true)]
    {
        let mut table = Table::new(SessionPolicy::default());
        let frames: Vec<_> = (0..600).map(|tick| frame(tick, [1, (tick % 3) as i32], [false; 2])).collect();
        let folded = fold(&frames);
        table.session.set_standing(standing);
        frames.iter().for_each(|frame| table.session.confirm(frame).expect("next"));
        for _ in 0..10 {
            table.advance_within(50, 0).expect("plays");
        }
        assert_eq!((table.session.confirmed(), table.session.queued_frames()), (Tick::new(500), 100));
        // S(500), and S(361) and S(481) of the report ticks.
        assert_eq!(table.session.kept_checkpoints(), if all { 257 } else { 3 }, "{standing:?}");
        for tick in [244, 300, 361, 499] {
            let released = StateReadError::Released { tick: Tick::new(tick) };
            let expected = if all || tick == 361 { Ok(folded[tick as usize]) } else { Err(released) };
            assert_eq!(table.session.checksum_at(Tick::new(tick)), expected, "{standing:?} {tick}");
        }
        table.session.set_standing(Standing::Live);
        table.advance_within(100, 0).expect("plays");
        assert_eq!((table.session.confirmed(), table.session.kept_checkpoints()), (Tick::new(600), 3));
        assert_eq!(table.session.kept_checkpoints(), table.probe.counters().checkpoints_alive);
        table.probe.assert_clean();
    }
}

/// Whatever is kept can be exported: also the state at which a session began, and the one at which it fell behind.
#[test]
fn s5_every_state_that_is_kept_makes_a_snapshot() {
    let frames: Vec<_> = (0..60).map(|tick| frame(tick, [1, (tick % 3) as i32], [false; 2])).collect();
    let folded = fold(&frames);
    let policy = SessionPolicy { checksum_cadence_ticks: 200, ..SessionPolicy::default() };
    for (retention, first) in [(Retention::Window, 0), (Retention::Required, 30)] {
        let mut table = Table::new(SessionPolicy { retention, ..policy });
        frames.iter().take(30).for_each(|frame| table.session.confirm(frame).expect("next"));
        table.advance(0).expect("plays");
        table.session.set_standing(Standing::CatchingUp);
        frames.iter().skip(30).for_each(|frame| table.session.confirm(frame).expect("next"));
        table.advance(0).expect("plays");
        for tick in first..=60 {
            let snapshot = table.session.export_snapshot(Tick::new(tick)).expect("kept");
            assert_eq!(snapshot.checksum(), folded[tick as usize], "{tick}");
            // Repeat-last would go by what the frame before it says.
            let mut heir = Table::new(policy);
            heir.session.hydrate(&snapshot).expect("a snapshot of this match");
            heir.submit_before(tick + 1, |_| 1);
            heir.advance(tick + 1).expect("predicts");
            let guess = tick.checked_sub(1).map_or(0, |last| (last % 3) as i32);
            let guessed = [&frames[..tick as usize], &[frame(tick, [1, guess], [false; 2])]].concat();
            assert_eq!(Some(&heir.head_checksum()), fold(&guessed).last(), "{tick}");
        }
        assert_eq!(table.session.kept_checkpoints() as u64, 61 - first + u64::from(first > 0));
    }
}

/// One match under every kind of retention: events, reports, and what is shown in every turn.
#[test]
fn s5_results_do_not_depend_on_retention() {
    let play = |policy: SessionPolicy, standing: Standing| {
        let mut table = Table::new(SessionPolicy { checksum_cadence_ticks: 5, ..policy });
        let mut shown = vec![];
        for tick in 0..300 {
            table.session.set_standing(standing);
            table.submit_before(tick + 8, |_| 1);
            table.advance(tick + 8).expect("plays");
            table.session.confirm(&frame(tick, [1, (tick % 3) as i32], [false; 2])).expect("next");
            shown.push((table.shown(), table.head_checksum()));
        }
        (table.checksums, table.confirmed, table.rollbacks, shown)
    };
    let window = |checkpoint_window_ticks| SessionPolicy { checkpoint_window_ticks, ..SessionPolicy::default() };
    let expected = play(window(5), Standing::Live);
    assert!(expected.2.len() > 100 && expected.0.len() == 60, "guard");
    for policy in [
        window(300),
        SessionPolicy { retention: Retention::Window, ..window(5) },
        SessionPolicy { retention: Retention::Window, ..window(300) },
        SessionPolicy { input_retention: InputRetention::Last(3), ..window(5) },
        SessionPolicy { input_retention: InputRetention::All, ..window(5) },
    ] {
        assert_eq!(play(policy, Standing::Live), expected, "{policy:?}");
        assert_eq!(play(policy, Standing::CatchingUp), expected, "{policy:?}");
    }
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
