//! What one turn may still do (N6), and whether the frames that wait ever become fewer.

use super::config::ClientConfig;
use crate::session::{Held, Progress};
use crate::tick::{Moment, TickRate};

/// Over how much time a backlog is judged.
const BACKLOG_PERIOD_NANOS: u64 = 1_000_000_000;

/// What is left of a turn's budget. A turn lasts from one [`handle_turn`](super::Client::handle_turn) to the next, however often
/// the client is stepped and whatever arrives meanwhile.
#[derive(Clone, Copy, Debug)]
pub(super) struct TurnBudget {
    confirmed_frames: usize,
    steps: u64,
    rolled_back: bool,
    blocked: bool,
}

impl TurnBudget {
    pub(super) fn new(config: &ClientConfig) -> TurnBudget {
        let most = config.max_confirmed_frames_per_turn;
        TurnBudget {
            confirmed_frames: most.map_or(usize::MAX, |most| usize::try_from(most).unwrap_or(usize::MAX)),
            steps: u64::from(config.max_steps_per_turn),
            rolled_back: false,
            blocked: false,
        }
    }

    /// Confirmed frames that may still be applied: none after a rollback, for the next one might need another.
    pub(super) fn confirmed_frames(&self) -> usize {
        if self.rolled_back { 0 } else { self.confirmed_frames }
    }

    /// Ticks that may still be predicted.
    pub(super) fn steps(&self) -> u64 {
        self.steps
    }

    /// Takes what was done. Says whether the window blocked this turn for the first time.
    pub(super) fn spend(&mut self, progress: &Progress) -> bool {
        // No bound is none, however much is done.
        if self.confirmed_frames != usize::MAX {
            self.confirmed_frames = self.confirmed_frames.saturating_sub(progress.confirmed_frames);
        }
        self.steps = self.steps.saturating_sub(progress.predicted);
        self.rolled_back |= progress.resimulated > 0;
        let is_blocked = progress.held == Some(Held::WindowFull);
        is_blocked && !core::mem::replace(&mut self.blocked, true)
    }
}

/// Frames that wait from turn to turn.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Backlog {
    began: Option<Moment>,
    applied: u64,
    /// Frames applied in a second, while frames waited.
    pub(super) frames_per_second: Option<u64>,
    /// Whether that is too few.
    pub(super) is_stuck: bool,
}

impl Backlog {
    /// A step applied so many frames, and left so many.
    pub(super) fn step(&mut self, now: Moment, applied: usize, left: usize, rate: TickRate) {
        if left == 0 {
            *self = Backlog::default();
            return;
        }
        let Some(began) = self.began else {
            self.began = Some(now);
            return;
        };
        self.applied += applied as u64;
        let passed = now.nanos_since(began);
        if passed >= BACKLOG_PERIOD_NANOS {
            let per_second = (u128::from(self.applied) * 1_000_000_000 + u128::from(passed / 2)) / u128::from(passed);
            let per_second = u64::try_from(per_second).unwrap_or(u64::MAX);
            self.frames_per_second = Some(per_second);
            self.is_stuck = per_second <= u64::from(rate.hz());
            (self.began, self.applied) = (Some(now), 0);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn progress(confirmed_frames: usize, resimulated: u64, predicted: u64) -> Progress {
        Progress { confirmed_frames, steps: 0, resimulated, predicted, held: None }
    }

    fn budget(frames: Option<u32>) -> TurnBudget {
        TurnBudget::new(&ClientConfig { max_confirmed_frames_per_turn: frames, ..ClientConfig::default() })
    }

    #[test]
    fn n6_what_a_turn_did_is_gone_until_the_next_one() {
        let mut turn = budget(Some(8));
        turn.spend(&progress(5, 0, 3));
        assert_eq!((turn.confirmed_frames(), turn.steps()), (3, 1));
        turn.spend(&progress(3, 0, 1));
        assert_eq!((turn.confirmed_frames(), turn.steps()), (0, 0));
        let mut turn = budget(None);
        turn.spend(&progress(500, 0, 0));
        assert_eq!(turn.confirmed_frames(), usize::MAX);
        turn.spend(&progress(1, 4, 0));
        assert_eq!(turn.confirmed_frames(), 0, "one rollback a turn");
    }

    #[test]
    fn n6_a_turn_is_blocked_once() {
        let mut turn = budget(None);
        let full = Progress { held: Some(Held::WindowFull), ..progress(0, 0, 0) };
        assert_eq!([full, full].map(|progress| turn.spend(&progress)), [true, false]);
    }

    #[test]
    fn n6_a_backlog_that_can_t_shrink_is_told_from_one_that_does() {
        for (each, stuck) in [(1, true), (2, false)] {
            let mut backlog = Backlog::default();
            for turn in 0..=60_u64 {
                assert!(!backlog.is_stuck, "not before a second was seen");
                backlog.step(Moment::from_nanos(turn * 16_666_667), each, 300, TickRate::Hz60);
            }
            assert_eq!((backlog.is_stuck, backlog.frames_per_second), (stuck, Some(each as u64 * 60)));
            backlog.step(Moment::from_millis(1001), each, 0, TickRate::Hz60);
            assert_eq!((backlog.is_stuck, backlog.frames_per_second), (false, None));
        }
    }
}
