//! A client's own clock, which need not run as fast as the virtual one.

use retick_core::tick::Moment;

const MILLION: u128 = 1_000_000;

/// How fast a client's clock runs. Everything that the client is told about time, and when it takes its turns, goes by it.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct OwnClock {
    /// By how many millionths it is faster than the virtual clock, or slower.
    pub drift_ppm: i32,
}

impl OwnClock {
    /// A clock that is so many hundredths faster, or slower.
    pub const fn percent(percent: i32) -> OwnClock {
        OwnClock { drift_ppm: percent.saturating_mul(10_000) }
    }

    fn rate_ppm(self) -> u128 {
        u128::try_from(i64::from(self.drift_ppm).saturating_add(1_000_000)).unwrap_or(1).max(1)
    }

    /// What it shows at a moment of the virtual clock.
    pub fn read(self, now: Moment) -> Moment {
        let nanos = u128::from(now.as_nanos()) * self.rate_ppm() / MILLION;
        Moment::from_nanos(u64::try_from(nanos).unwrap_or(u64::MAX))
    }

    /// When it shows `own`, on the virtual clock.
    pub fn moment_of(self, own: Moment) -> Moment {
        let nanos = (u128::from(own.as_nanos()) * MILLION).div_ceil(self.rate_ppm());
        Moment::from_nanos(u64::try_from(nanos).unwrap_or(u64::MAX))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn t2_a_clock_shows_a_moment_when_it_says() {
        for percent in [-2, 0, 2] {
            let clock = OwnClock::percent(percent);
            for millis in [0, 1, 17, 60_000] {
                let own = Moment::from_millis(millis);
                assert_eq!(clock.read(clock.moment_of(own)), own, "{percent} %");
            }
        }
        assert_eq!(OwnClock::percent(2).read(Moment::from_millis(1000)), Moment::from_millis(1020));
    }
}
