//! A stall of 300 ticks (N6): the worst turn and the turns to recover, bounded by count, and the same match with every budget.

use retick_testing::recovery::{Recovery, STALL_TICKS, STEPS_PER_TURN, Stall, WINDOW_TICKS, recover};

/// What a turn may step with this budget.
fn turn_bound(budget: u32) -> u64 {
    u64::from(budget) + u64::from(WINDOW_TICKS) + u64::from(STEPS_PER_TURN)
}

fn check(stall: Stall) -> [Recovery; 3] {
    let [unbounded, eight, sixteen] = [None, Some(8), Some(16)].map(|budget| recover(stall, budget));
    // Guard: without a budget a whole burst is one turn's work. After a reconnect the history comes in more than one message.
    let burst = if stall == Stall::Frozen { STALL_TICKS - 20 } else { 250 };
    assert!(unbounded.worst_turn_frames >= burst, "{stall:?}: {}", unbounded.worst_turn_frames);
    for (recovery, budget) in [(&eight, 8), (&sixteen, 16)] {
        assert!(recovery.most_queued_frames >= 250, "guard: {stall:?}: {}", recovery.most_queued_frames);
        assert!(recovery.most_confirmed_frames <= budget as usize, "{stall:?}, {budget}");
        assert!(
            recovery.worst_turn_frames <= turn_bound(budget),
            "{stall:?}, {budget}: {}",
            recovery.worst_turn_frames
        );
        // Each turn takes its budget off and a tick comes on, and the last few are for the frames within the tolerance.
        let most = STALL_TICKS.div_ceil(u64::from(budget) - 1) + 5;
        assert!(recovery.turns <= most, "{stall:?}, {budget}: {} turns", recovery.turns);
        // Frames that wait hold no checkpoints.
        if stall == Stall::Frozen {
            assert!(recovery.most_checkpoints <= usize::from(WINDOW_TICKS) + 5, "{}", recovery.most_checkpoints);
        }
        // The budget decides when a frame is applied and nothing else.
        assert_eq!(recovery.match_frames, unbounded.match_frames, "{stall:?}, {budget}");
        assert_eq!(recovery.checksums, unbounded.checksums, "{stall:?}, {budget}");
    }
    assert!(sixteen.turns < eight.turns && unbounded.turns < sixteen.turns);
    [unbounded, eight, sixteen]
}

#[test]
fn n6_a_client_that_was_frozen_for_300_ticks_recovers_in_bounded_turns() {
    check(Stall::Frozen);
}

#[test]
fn n6_a_client_that_was_dropped_for_300_ticks_recovers_in_bounded_turns() {
    check(Stall::Dropped);
}
