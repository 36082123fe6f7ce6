//! How much time has passed that no tick has been stepped for yet.

use core::time::Duration;

use crate::tick::TickRate;

/// Nanoseconds in a second: one tick, in nanoseconds times the tick rate.
const NANOS: u128 = 1_000_000_000;

/// Time that was handed in and not stepped, counted in nanoseconds times the tick rate, so that no rate loses a fraction.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Clock(u128);

impl Clock {
    /// Adds what has passed, and drops whole ticks beyond `most`. Says how many were dropped.
    pub(super) fn pass(&mut self, delta: Duration, rate: TickRate, most: u16) -> u64 {
        self.0 += delta.as_nanos() * u128::from(rate.hz());
        let dropped = (self.0 / NANOS).saturating_sub(u128::from(most));
        self.0 -= dropped * NANOS;
        u64::try_from(dropped).unwrap_or(u64::MAX)
    }

    /// Whether a tick is due.
    pub(super) fn is_due(&self) -> bool {
        self.0 >= NANOS
    }

    /// Takes the time of one tick that was stepped.
    pub(super) fn take_tick(&mut self) {
        self.0 = self.0.saturating_sub(NANOS);
    }

    /// How far the next tick is under way, from 0 up to, but not including, 1.
    pub(super) fn alpha(&self) -> f64 {
        let part = u32::try_from(self.0.min(NANOS - 1)).unwrap_or(0);
        f64::from(part) / 1e9
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ticks(clock: &mut Clock) -> u64 {
        let mut ticks = 0;
        while clock.is_due() {
            clock.take_tick();
            ticks += 1;
        }
        ticks
    }

    #[test]
    fn s6_no_rate_loses_a_fraction_of_a_tick() {
        for rate in TickRate::ALL {
            let (mut clock, mut stepped) = (Clock::default(), 0);
            // Three updates a millisecond for a minute: a third of a millisecond is no whole number of anything.
            for _ in 0..180_000 {
                assert_eq!(clock.pass(Duration::from_nanos(333_333), rate, 8), 0);
                stepped += ticks(&mut clock);
            }
            let passed = 180_000 * 333_333 * u128::from(rate.hz());
            assert_eq!(u128::from(stepped), passed / NANOS, "{rate}");
            assert_eq!(clock.0, passed % NANOS);
        }
    }

    #[test]
    fn s6_time_beyond_the_most_is_dropped_in_whole_ticks() {
        let mut clock = Clock::default();
        // Eight ticks and a half; then nine with that half.
        assert_eq!(clock.pass(Duration::from_millis(850), TickRate::Hz10, 8), 0);
        assert_eq!((ticks(&mut clock), clock.alpha()), (8, 0.5));
        assert_eq!(clock.pass(Duration::from_millis(900), TickRate::Hz10, 8), 1);
        assert_eq!((ticks(&mut clock), clock.alpha()), (8, 0.5));
        assert_eq!(clock.pass(Duration::MAX, TickRate::Hz120, 8), u64::MAX);
        assert_eq!(ticks(&mut clock), 8);
        assert!((0.0..1.0).contains(&clock.alpha()));
    }
}
