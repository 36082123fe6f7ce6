//! Timed blocks in turns: each round gives every contender one block, so that what disturbs the machine meets all of them.

use std::time::{Duration, Instant};

/// How long to measure.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Plan {
    /// How many rounds.
    pub rounds: usize,
    /// About how long the slowest contender's block is to take.
    pub block: Duration,
    /// Most ticks of a block.
    pub max_ticks: u32,
}

impl Plan {
    /// For figures that are written down.
    pub const FULL: Plan = Plan { rounds: 61, block: Duration::from_millis(10), max_ticks: 4096 };
    /// To see that everything runs.
    pub const QUICK: Plan = Plan { rounds: 3, block: Duration::from_micros(100), max_ticks: 4 };
}

/// What one tick of a contender took, in nanoseconds, over all of its blocks.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Timing {
    /// The median block.
    pub median: f64,
    /// The first quartile.
    pub low: f64,
    /// The third quartile.
    pub high: f64,
}

impl Timing {
    /// The quartiles of some samples.
    ///
    /// # Panics
    /// Without a sample.
    #[must_use]
    pub fn of(mut samples: Vec<f64>) -> Timing {
        assert!(!samples.is_empty(), "a timing needs a sample");
        samples.sort_by(f64::total_cmp);
        let at = |quarter: usize| samples[(samples.len() - 1) * quarter / 4];
        Timing { median: at(2), low: at(1), high: at(3) }
    }
}

/// Someone who plays so many ticks when asked.
pub type Contender<'a> = &'a mut dyn FnMut(u32);

/// Times all contenders in turns; all of them play equally many ticks. Every block begins with a tick that is not timed, which
/// brings back to the caches what the other contenders took. Who begins changes from round to round.
pub fn take_turns(plan: Plan, contenders: &mut [Contender<'_>]) -> Vec<Timing> {
    let ticks = ticks_per_block(plan, contenders);
    let mut samples = vec![Vec::with_capacity(plan.rounds); contenders.len()];
    for round in 0..plan.rounds {
        for offset in 0..contenders.len() {
            let index = (round + offset) % contenders.len();
            contenders[index](1);
            let nanos = time(contenders[index], ticks).as_secs_f64() * 1e9;
            samples[index].push(nanos / f64::from(ticks));
        }
    }
    samples.into_iter().map(Timing::of).collect()
}

/// Warms everyone up, and finds how many ticks make a block of the slowest.
fn ticks_per_block(plan: Plan, contenders: &mut [Contender<'_>]) -> u32 {
    let mut ticks = 1;
    loop {
        let slowest = contenders.iter_mut().map(|contender| time(contender, ticks)).max().unwrap_or_default();
        if slowest >= plan.block / 2 || ticks >= plan.max_ticks {
            return ticks;
        }
        ticks = (ticks * 2).min(plan.max_ticks);
    }
}

fn time(contender: &mut dyn FnMut(u32), ticks: u32) -> Duration {
    let start = Instant::now();
    contender(ticks);
    start.elapsed()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_timing_is_the_middle_and_the_quartiles() {
        let timing = Timing::of(vec![9.0, 1.0, 5.0, 3.0, 7.0]);
        assert_eq!(timing, Timing { median: 5.0, low: 3.0, high: 7.0 });
    }

    #[test]
    fn all_contenders_play_equally_many_ticks() {
        let (mut fast, mut slow) = (0, 0);
        let timings = take_turns(Plan::QUICK, &mut [&mut |ticks| fast += ticks, &mut |ticks| slow += ticks]);
        assert_eq!((timings.len(), fast), (2, slow));
        assert!(fast > 0);
    }
}
