//! Whatever is mispredicted, however deep, and however frames arrive: the confirmed timeline is the offline fold (S3, S4).

use proptest::prelude::*;
use retick_core::frame::Frame;
use retick_core::session::{RemotePrediction, SessionPolicy};
use retick_core::tick::Tick;
use retick_testing::fixtures::tally_reference;

use crate::support::{Table, assert_reports, fold, frame};

/// One tick: the local input, the remote one, and whether the authority substitutes the local one.
type Scripted = (i32, i32, bool);

#[derive(Clone, Copy, Debug)]
struct Turn {
    /// Frames that arrive before it.
    arriving: usize,
    /// How far beyond the received frames the present is wanted.
    ahead: u64,
    /// Most confirmed frames that it applies.
    budget: usize,
}

fn scripted() -> impl Strategy<Value = Vec<Scripted>> {
    // Few values, so that repeat-last is right now and then.
    let local = -2..3_i32;
    let remote = prop_oneof![3 => Just(0), 2 => Just(1), 1 => any::<i32>()];
    let substituted = prop_oneof![5 => Just(false), 1 => Just(true)];
    prop::collection::vec((local, remote, substituted), 1..60)
}

fn turns() -> impl Strategy<Value = Vec<Turn>> {
    let budget = prop_oneof![2 => Just(usize::MAX), 1 => 1..4_usize];
    let turn = (0..5_usize, 0..14_u64, budget);
    let turn = turn.prop_map(|(arriving, ahead, budget)| Turn { arriving, ahead, budget });
    prop::collection::vec(turn, 0..60)
}

fn policy() -> impl Strategy<Value = SessionPolicy> {
    let remote = prop_oneof![Just(RemotePrediction::RepeatLast), Just(RemotePrediction::Neutral)];
    (0..12_u16, 1..9_u32, remote).prop_map(|(window, cadence, remote_prediction)| SessionPolicy {
        prediction_window_ticks: window,
        checksum_cadence_ticks: cadence,
        checkpoint_window_ticks: cadence + 3,
        remote_prediction,
        ..SessionPolicy::default()
    })
}

fn frames(script: &[Scripted]) -> Vec<Frame> {
    let mut last = 0;
    let mut frame_of = |(tick, (local, remote, substituted)): (usize, &Scripted)| {
        last = if *substituted { last } else { *local };
        frame(tick as u64, [last, *remote], [*substituted, false])
    };
    script.iter().enumerate().map(&mut frame_of).collect()
}

fn play_turn(table: &mut Table, script: &[Scripted], frames: &[Frame], turn: Turn) {
    for _ in 0..turn.arriving {
        let next = usize::try_from(table.session.received().index()).expect("small");
        if let Some(frame) = frames.get(next) {
            table.session.confirm(frame).expect("the next frame");
        }
    }
    let target = table.session.received().index() + turn.ahead;
    table.submit_before(target, |tick| script.get(tick as usize).map_or(0, |(local, ..)| *local));
    let (head_before, oldest) = (table.session.head(), table.session.oldest_checkpoint());
    let rollbacks_before = table.rollbacks.len();
    table.advance_within(turn.budget, target).expect("TALLY does not fault");

    let session = &table.session;
    let window = u64::from(session.policy().prediction_window_ticks);
    // I5, and I6 for each rollback.
    assert!(session.head().since(session.confirmed()) <= window);
    for (from, to) in &table.rollbacks[rollbacks_before..] {
        assert!(from < to && *to == head_before.index() && oldest.is_some_and(|oldest| oldest.index() <= *from));
    }
    if session.head() == session.confirmed() && session.head() > Tick::ZERO {
        let confirmed = session.confirmed().index() as usize;
        let (current, previous) = table.shown();
        assert_eq!(current, tally_reference(2, &frames[..confirmed]));
        assert_eq!(previous, tally_reference(2, &frames[..confirmed - 1]));
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn s3_the_confirmed_timeline_is_the_offline_fold(script in scripted(), turns in turns(), policy in policy()) {
        let frames = frames(&script);
        let mut table = Table::new(policy);
        turns.into_iter().for_each(|turn| play_turn(&mut table, &script, &frames, turn));
        // Everything that is left arrives at last, and is applied.
        let rest = Turn { arriving: frames.len(), ahead: 0, budget: usize::MAX };
        play_turn(&mut table, &script, &frames, rest);

        prop_assert_eq!(&table.confirmed, &frames);
        assert_reports(&table.checksums, &frames, policy.checksum_cadence_ticks as usize);
        prop_assert_eq!(table.session.confirmed(), Tick::new(frames.len() as u64));
        // The present may lie beyond the last frame. Its state is confirmed once it does not.
        if table.session.head() == table.session.confirmed() {
            prop_assert_eq!(Some(table.head_checksum()), fold(&frames).last().copied());
        }
        prop_assert_eq!(table.session.kept_checkpoints(), table.probe.counters().checkpoints_alive);
        table.probe.assert_clean();
    }
}

#[test]
fn s3_a_right_prediction_costs_no_step_and_a_wrong_one_one_batch() {
    let mut table = Table::new(SessionPolicy::default());
    table.submit_before(8, |_| 1);
    assert_eq!(table.advance(8).map(|progress| (progress.steps, progress.predicted)), Ok((8, 8)));
    let batches = table.probe.counters().batches;
    // Three frames as predicted: seat 1 neutral.
    (0..3).for_each(|tick| table.session.confirm(&frame(tick, [1, 0], [false; 2])).expect("next"));
    let progress = table.advance(8).expect("plays");
    assert_eq!((progress.confirmed_frames, progress.steps, progress.resimulated), (3, 0, 0));
    assert_eq!(table.probe.counters().batches, batches);
    // Then one as predicted and two that are not: one restore to tick 4, one batch to the present.
    let values = [0, 7, 7];
    (3..6)
        .zip(values)
        .for_each(|(tick, value)| table.session.confirm(&frame(tick, [1, value], [false; 2])).expect("next"));
    let progress = table.advance(8).expect("plays");
    assert_eq!((progress.confirmed_frames, progress.steps, progress.resimulated), (3, 4, 4));
    assert_eq!((table.rollbacks.as_slice(), table.probe.counters().restores), (&[(4, 8)][..], 1));
    assert_eq!(table.probe.counters().batches, batches + 1);
    table.probe.assert_clean();
}
