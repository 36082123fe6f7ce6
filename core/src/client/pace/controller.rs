//! The controller: lets a position on the room's clock follow the one that is desired, without a jump and without a backward step.
//!
//! While the error is small, time passes by at most two percent faster or slower than the room's, and exactly as fast at no error.
//! A larger error, as at the start or when a path changed, is made up for in the quarter of a second, at most twice as fast or
//! standing still; only beyond a second is it jumped over. The present lags behind by the input delay, and a change of the delay
//! takes its time from the same two percent.

use super::clock::scale;

/// Largest correction of the rate in steady state, in parts per million (N4).
pub(super) const MAX_CORRECTION_PPM: i64 = 20_000;
/// An error below this is none: no measurement is better.
const NO_ERROR_NANOS: i64 = 100_000;
/// In which time a small error is made up for, and a large one.
const STEADY_NANOS: i64 = 1_000_000_000;
const HURRY_NANOS: i64 = 250_000_000;
/// An error beyond this is not made up for but jumped over.
const JUMP_NANOS: i64 = 1_100_000_000;
/// A large error is one of two ticks, but no less and no more than this.
const LARGE_ERROR_NANOS: [i64; 2] = [25_000_000, 50_000_000];
/// A hurry ends when the error is this much smaller than a large one.
const HURRY_ENDS_AT: i64 = 8;

/// What the controller goes by in one turn, in nanoseconds.
#[derive(Clone, Copy, Debug)]
pub(super) struct Aim {
    /// Where the position should be.
    pub(super) desired: i64,
    /// What passed since the last turn, as the room's clock runs.
    pub(super) elapsed: i64,
    /// By how much the present should lag.
    pub(super) lag: i64,
}

/// Where samples and the present should be, in nanoseconds of the room's clock.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Positions {
    pub(super) sample: i64,
    pub(super) present: i64,
}

#[derive(Debug)]
pub(super) struct Controller {
    large_error_nanos: i64,
    position_nanos: Option<i64>,
    lag_nanos: i64,
    hurries: bool,
}

impl Controller {
    /// A controller for ticks of this length.
    pub(super) fn new(tick_nanos: i64) -> Controller {
        let [least, most] = LARGE_ERROR_NANOS;
        let large_error_nanos = tick_nanos.saturating_mul(2).clamp(least, most);
        Controller { large_error_nanos, position_nanos: None, lag_nanos: 0, hurries: false }
    }

    /// Where the samples are wanted, if it was ever said.
    pub(super) fn position_nanos(&self) -> Option<i64> {
        self.position_nanos
    }

    /// Where the present is wanted, if it was ever said.
    pub(super) fn present_nanos(&self) -> Option<i64> {
        self.position_nanos.map(|position| position.saturating_sub(self.lag_nanos))
    }

    /// Another clock is followed from now on.
    pub(super) fn forget(&mut self) {
        (self.position_nanos, self.hurries) = (None, false);
    }

    pub(super) fn turn(&mut self, aim: Aim) -> Positions {
        let even = self.position_nanos.map(|position| position.saturating_add(aim.elapsed));
        let error = even.map(|even| aim.desired.saturating_sub(even));
        let sample = match (even, error) {
            (Some(even), Some(error)) if error.saturating_abs() <= JUMP_NANOS => {
                let correction = self.correction(error, aim.elapsed);
                self.let_lag_follow(aim, correction);
                even.saturating_add(correction)
            }
            _ => {
                (self.lag_nanos, self.hurries) = (aim.lag, false);
                aim.desired
            }
        };
        self.position_nanos = Some(sample);
        Positions { sample, present: sample.saturating_sub(self.lag_nanos) }
    }

    fn correction(&mut self, error: i64, elapsed: i64) -> i64 {
        let size = error.saturating_abs();
        self.hurries = size > self.large_error_nanos || (self.hurries && size > self.large_error_nanos / HURRY_ENDS_AT);
        let (time, most) = match (self.hurries, size < NO_ERROR_NANOS) {
            (true, _) => (HURRY_NANOS, elapsed),
            (false, true) => return 0,
            (false, false) => (STEADY_NANOS, steady_correction(elapsed)),
        };
        let most = most.min(size);
        scale(error, elapsed, time).clamp(-most, most)
    }

    /// What the position left of the two percent is the lag's.
    fn let_lag_follow(&mut self, aim: Aim, correction: i64) {
        let most = steady_correction(aim.elapsed).saturating_sub(correction.saturating_abs()).max(0);
        let change = aim.lag.saturating_sub(self.lag_nanos).clamp(-most, most);
        self.lag_nanos = self.lag_nanos.saturating_add(change);
    }
}

fn steady_correction(elapsed: i64) -> i64 {
    scale(elapsed, MAX_CORRECTION_PPM, 1_000_000)
}

#[cfg(test)]
mod tests {
    use std::vec::Vec;

    use super::*;
    use crate::tick::{Moment, TickRate};

    const TURN: i64 = 16_666_667;
    const SECOND: i64 = 1_000_000_000;

    fn tick_nanos(rate: TickRate) -> i64 {
        SECOND / i64::from(rate.hz())
    }

    /// A controller that stands `error` short of where it should be, and its errors after each turn of so many.
    fn errors(rate: TickRate, error: i64, turns: usize) -> Vec<i64> {
        let mut controller = Controller::new(tick_nanos(rate));
        let mut desired = 100 * SECOND;
        controller.turn(Aim { desired, elapsed: 0, lag: 0 });
        desired += error;
        let mut last = 100 * SECOND;
        let errors = (0..turns).map(|_| {
            desired += TURN;
            let Positions { sample, .. } = controller.turn(Aim { desired, elapsed: TURN, lag: 0 });
            assert!((last..=last + 2 * TURN).contains(&sample), "never back, and at most twice as fast");
            last = sample;
            desired - sample
        });
        errors.collect()
    }

    #[test]
    fn n4_at_no_error_time_passes_exactly_as_fast_as_the_rooms() {
        assert_eq!(errors(TickRate::Hz60, 0, 36_000), [0; 36_000]);
        // What is below the resolution of a measurement is none.
        assert_eq!(errors(TickRate::Hz60, NO_ERROR_NANOS - 1, 60), [NO_ERROR_NANOS - 1; 60]);
    }

    #[test]
    fn n4_a_small_error_is_corrected_by_at_most_two_percent() {
        for rate in TickRate::ALL {
            let large = Controller::new(tick_nanos(rate)).large_error_nanos;
            for error in [large, -large, large / 3, -large / 3] {
                let errors = errors(rate, error, 300);
                let steps = [error].into_iter().chain(errors.iter().copied()).collect::<Vec<_>>();
                let corrections = steps.windows(2).map(|pair| (pair[0] - pair[1]).abs());
                let most = corrections.max().expect("turns were taken");
                assert!(most <= TURN / 50, "{rate}, {error}: {most}");
                assert!(errors[299].abs() < tick_nanos(rate) / 20, "{rate}, {error}: {}", errors[299]);
            }
        }
    }

    #[test]
    fn n4_from_an_offset_of_a_second_it_converges_to_half_a_tick_within_five_seconds() {
        for rate in TickRate::ALL {
            for error in [SECOND, -SECOND, SECOND / 4, -SECOND / 4, SECOND / 10] {
                let errors = errors(rate, error, 300);
                // It gets there and stays there, from one side: no overshoot.
                let within = errors.iter().position(|error| error.abs() <= tick_nanos(rate) / 2);
                let within = within.expect("within five seconds");
                assert!(errors[within..].iter().all(|error| error.abs() <= tick_nanos(rate) / 2), "{rate}, {error}");
                assert!(errors.iter().all(|left| left.signum() * error.signum() >= 0), "{rate}, {error}");
                assert!(errors[299].abs() < 5_000_000, "{rate}, {error}: {}", errors[299]);
            }
        }
    }

    #[test]
    fn n4_what_lies_beyond_a_second_is_jumped_over_both_ways() {
        for error in [2 * SECOND, -2 * SECOND] {
            let mut controller = Controller::new(TURN);
            controller.turn(Aim { desired: 100 * SECOND, elapsed: 0, lag: 0 });
            let desired = 100 * SECOND + TURN + error;
            let aim = Aim { desired, elapsed: TURN, lag: 7 };
            assert_eq!(controller.turn(aim), Positions { sample: desired, present: desired - 7 });
        }
    }

    #[test]
    fn n3_a_change_of_the_delay_takes_the_present_along_within_the_two_percent() {
        for delays in [[0, 3], [3, 0]] {
            let mut controller = Controller::new(TURN);
            let aim = |desired, turns: i64, delay: i64| Aim { desired, elapsed: turns * TURN, lag: delay * TURN };
            let mut last = controller.turn(aim(SECOND, 0, delays[0]));
            for turn in 1..=300 {
                let now = controller.turn(aim(SECOND + turn * TURN, 1, delays[1]));
                assert_eq!(now.sample, last.sample + TURN, "samples keep their pace");
                let step = now.present - last.present;
                assert!((step - TURN).abs() <= TURN / 50, "{delays:?}: {step}");
                last = now;
            }
            assert_eq!(last.sample - last.present, delays[1] * TURN, "{delays:?}");
        }
    }

    /// A day in calls of three sizes: none loses or gains a tick.
    #[test]
    fn t03d_no_size_of_a_turn_loses_time() {
        const DAY: i64 = 24 * 3600 * SECOND;
        let calls: [fn(i64) -> i64; 3] =
            [|call| call * SECOND / 144, |call| call * 16_000_000, |call| call * 7_000_000];
        for moment_of in calls {
            let mut controller = Controller::new(TURN);
            let (mut last, mut position, mut call) = (0, 0, 0);
            while last < DAY {
                let desired = moment_of(call);
                position = controller.turn(Aim { desired, elapsed: desired - last, lag: 0 }).sample;
                (last, call) = (desired, call + 1);
            }
            assert_eq!(position, last);
            let position = Moment::from_nanos(u64::try_from(position).expect("positive"));
            for (rate, ticks) in [(TickRate::Hz60, 5_184_000), (TickRate::Hz120, 10_368_000)] {
                assert!(rate.tick_at(position).index().abs_diff(ticks) <= 1, "{rate}: {position:?}");
            }
        }
    }
}
