//! The input delay (N3): how many ticks the present lags behind the samples, and how many ticks early those are sent.

use super::config::{DelayBudget, InputDelay};
use super::pace::Delays;
use crate::tick::Moment;

/// How often a delay is judged: once a second.
const PERIOD_NANOS: u64 = 1_000_000_000;
/// Periods in a row that must be calm before the present lags a tick less.
const CALM_PERIODS: u16 = 3;
/// Periods in a row without a substitution before inputs are sent a tick less early.
const PUNCTUAL_PERIODS: u16 = 10;

/// What the delay is judged by: counts since the client was made, and what must be predicted without a delay.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Measured {
    pub(super) rollbacks: u64,
    pub(super) resimulated_ticks: u64,
    pub(super) own_substitutions: u64,
    pub(super) lead_ticks: u64,
}

/// Chooses the delay.
#[derive(Debug)]
pub(super) struct DelayTuner {
    setting: InputDelay,
    /// What mispredictions call for.
    lag_ticks: u16,
    /// What substitutions call for.
    early_ticks: u16,
    /// When the period began, and the counts at that moment.
    period: Option<(Moment, Measured)>,
    calm_periods: u16,
    punctual_periods: u16,
}

impl DelayTuner {
    pub(super) fn new(setting: InputDelay) -> DelayTuner {
        DelayTuner { setting, lag_ticks: 0, early_ticks: 0, period: None, calm_periods: 0, punctual_periods: 0 }
    }

    /// The delays in force, none of which is beyond `limit_ticks`.
    pub(super) fn delays(&self, limit_ticks: u16) -> Delays {
        match self.setting {
            InputDelay::Fixed(ticks) => Delays { present_ticks: ticks.min(limit_ticks), early_ticks: 0 },
            InputDelay::Auto { min_ticks, max_ticks, .. } => {
                let most = max_ticks.min(limit_ticks);
                let early_ticks = self.early_ticks.min(most);
                let both = self.lag_ticks.saturating_add(early_ticks).max(min_ticks).min(most);
                Delays { present_ticks: both, early_ticks }
            }
        }
    }

    /// What happens now says nothing about the delay: the client catches up, or is away.
    pub(super) fn pause(&mut self) {
        self.period = None;
    }

    /// Judges the delay when a period is over.
    pub(super) fn turn(&mut self, now: Moment, measured: Measured) {
        let InputDelay::Auto { max_ticks, budget, .. } = self.setting else { return };
        let (began, before) = *self.period.get_or_insert((now, measured));
        let passed = now.nanos_since(began);
        if passed < PERIOD_NANOS {
            return;
        }
        self.period = Some((now, measured));
        let seen = Period::between(&before, &measured);
        self.judge_substitutions(&seen, budget, max_ticks);
        self.judge_rollbacks(&seen, budget, max_ticks);
    }

    fn judge_substitutions(&mut self, seen: &Period, budget: DelayBudget, max_ticks: u16) {
        if seen.substitutions > u64::from(budget.max_substitutions_per_second) {
            self.punctual_periods = 0;
            self.early_ticks = self.early_ticks.saturating_add(1).min(max_ticks);
        } else if seen.substitutions == 0 {
            self.punctual_periods += 1;
        }
        if self.punctual_periods >= PUNCTUAL_PERIODS {
            self.punctual_periods = 0;
            self.early_ticks = self.early_ticks.saturating_sub(1);
        }
    }

    fn judge_rollbacks(&mut self, seen: &Period, budget: DelayBudget, max_ticks: u16) {
        let (rate, depth) = (u64::from(budget.max_rollbacks_per_second), u64::from(budget.max_rollback_ticks));
        let many = seen.rollbacks > rate;
        if many && seen.depth_over(depth) {
            let called_for = u16::try_from(seen.lead_ticks.saturating_sub(depth)).unwrap_or(u16::MAX);
            self.lag_ticks = called_for.max(self.lag_ticks.saturating_add(1)).min(max_ticks);
            self.calm_periods = 0;
            return;
        }
        // Calm is where a tick less would do, too.
        let few = seen.rollbacks <= rate / 2;
        let shallow = seen.lead_ticks.saturating_sub(u64::from(self.lag_ticks)) < depth;
        self.calm_periods = if few || shallow { self.calm_periods + 1 } else { 0 };
        if self.calm_periods >= CALM_PERIODS {
            self.calm_periods = 0;
            self.lag_ticks = self.lag_ticks.saturating_sub(1);
        }
    }
}

/// What happened in one period.
#[derive(Clone, Copy, Debug)]
struct Period {
    rollbacks: u64,
    resimulated_ticks: u64,
    substitutions: u64,
    lead_ticks: u64,
}

impl Period {
    fn between(before: &Measured, after: &Measured) -> Period {
        Period {
            rollbacks: after.rollbacks.saturating_sub(before.rollbacks),
            resimulated_ticks: after.resimulated_ticks.saturating_sub(before.resimulated_ticks),
            substitutions: after.own_substitutions.saturating_sub(before.own_substitutions),
            lead_ticks: after.lead_ticks,
        }
    }

    fn depth_over(&self, ticks: u64) -> bool {
        self.resimulated_ticks > self.rollbacks.saturating_mul(ticks)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const BUDGET: DelayBudget =
        DelayBudget { max_rollbacks_per_second: 6, max_rollback_ticks: 4, max_substitutions_per_second: 0 };
    const AUTO: InputDelay = InputDelay::Auto { min_ticks: 1, max_ticks: 8, budget: BUDGET };

    /// A tuner, and the counts that it is shown.
    struct Run {
        tuner: DelayTuner,
        second: u64,
        counts: Measured,
    }

    impl Run {
        fn new(setting: InputDelay) -> Run {
            let mut run = Run { tuner: DelayTuner::new(setting), second: 0, counts: Measured::default() };
            run.seconds(1, (0, 0), 0, 0);
            run
        }

        /// So many seconds, each with so many rollbacks of a depth and so many substitutions, at a lead; the delays after each.
        fn seconds(&mut self, count: usize, rollbacks: (u64, u64), substitutions: u64, lead: u64) -> Vec<(u16, u16)> {
            let mut second = || {
                self.counts.rollbacks += rollbacks.0;
                self.counts.resimulated_ticks += rollbacks.0 * rollbacks.1;
                self.counts.own_substitutions += substitutions;
                self.counts.lead_ticks = lead;
                self.tuner.turn(Moment::from_millis(1000 * self.second), self.counts);
                self.second += 1;
                let Delays { present_ticks, early_ticks } = self.tuner.delays(12);
                (present_ticks, early_ticks)
            };
            (0..count).map(|_| second()).collect()
        }
    }

    use std::vec::Vec;

    #[test]
    fn n3_a_fixed_delay_is_that_within_the_rooms_limit() {
        for (ticks, in_force) in [(0, 0), (3, 3), (12, 12), (13, 12)] {
            let mut run = Run::new(InputDelay::Fixed(ticks));
            assert_eq!(run.seconds(3, (60, 9), 60, 9), [(in_force, 0); 3]);
        }
    }

    #[test]
    fn n3_within_the_budget_the_delay_is_the_least() {
        // Many but shallow; deep but rare; exactly at both bounds.
        for rollbacks in [(60, 4), (6, 9), (6, 4)] {
            assert_eq!(Run::new(AUTO).seconds(5, rollbacks, 0, 9), [(1, 0); 5], "{rollbacks:?}");
        }
    }

    #[test]
    fn n3_beyond_the_budget_it_grows_to_what_the_round_trip_calls_for_and_on_if_that_is_too_little() {
        let mut run = Run::new(AUTO);
        assert_eq!(run.seconds(4, (7, 5), 0, 9), [(5, 0), (6, 0), (7, 0), (8, 0)]);
        assert_eq!(run.seconds(2, (7, 5), 0, 9), [(8, 0); 2], "never beyond the most");
        assert_eq!(run.tuner.delays(5), Delays { present_ticks: 5, early_ticks: 0 }, "nor beyond the room's limit");
    }

    #[test]
    fn n3_it_shrinks_by_a_tick_after_three_calm_seconds_and_stays_where_one_less_would_be_too_little() {
        let mut run = Run::new(AUTO);
        run.seconds(1, (60, 9), 0, 10);
        assert_eq!(run.seconds(6, (60, 4), 0, 10), [(6, 0); 6], "within the budget, but a tick less would not be");
        assert_eq!(run.seconds(6, (0, 0), 0, 10), [(6, 0), (6, 0), (5, 0), (5, 0), (5, 0), (4, 0)], "nobody moves");
        assert_eq!(run.seconds(1, (60, 6), 0, 10), [(6, 0)]);
        assert_eq!(run.seconds(3, (60, 1), 0, 7)[2], (5, 0), "the path became shorter");
    }

    #[test]
    fn n3_substitutions_send_inputs_earlier_and_leave_the_present_where_it_is() {
        let mut run = Run::new(AUTO);
        // The least delay of one tick covers the first tick.
        assert_eq!(run.seconds(3, (0, 0), 1, 2), [(1, 1), (2, 2), (3, 3)]);
        assert_eq!(run.seconds(10, (0, 0), 0, 2)[9], (2, 2));
        assert_eq!(run.seconds(40, (0, 0), 0, 2)[39], (1, 0));
        assert_eq!(run.seconds(20, (0, 0), 1, 2)[19], (8, 8), "never beyond the most");
    }

    #[test]
    fn n3_what_happens_while_it_catches_up_is_not_judged() {
        let mut run = Run::new(AUTO);
        for _ in 0..9 {
            run.tuner.pause();
            assert_eq!(run.seconds(1, (60, 9), 60, 9), [(1, 0)]);
        }
    }
}
