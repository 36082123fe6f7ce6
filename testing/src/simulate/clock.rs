//! A machine's own clock: it runs fast or slow, jumps ahead, and never goes back.

use retick_core::tick::Moment;

use crate::sim::OwnClock;

/// A monotonic clock that began at some moment of the virtual one.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct LocalClock {
    began: Moment,
    rate: OwnClock,
    jumped_nanos: u64,
}

impl LocalClock {
    /// A clock that shows 0 at `began`.
    pub(super) fn new(began: Moment, drift_ppm: i32) -> LocalClock {
        LocalClock { began, rate: OwnClock { drift_ppm }, jumped_nanos: 0 }
    }

    pub(super) fn read(&self, now: Moment) -> Moment {
        self.rate.read(Moment::from_nanos(now.nanos_since(self.began))).plus_nanos(self.jumped_nanos)
    }

    /// When it shows `own`, on the virtual clock: not before it began.
    pub(super) fn moment_of(&self, own: Moment) -> Moment {
        let own = Moment::from_nanos(own.as_nanos().saturating_sub(self.jumped_nanos));
        self.began.plus_nanos(self.rate.moment_of(own).as_nanos())
    }

    pub(super) fn jump(&mut self, millis: u64) {
        self.jumped_nanos = self.jumped_nanos.saturating_add(millis.saturating_mul(1_000_000));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn t2_a_local_clock_shows_a_moment_when_it_says_also_after_a_jump() {
        for drift in [-20_000, 0, 300] {
            let mut clock = LocalClock::new(Moment::from_millis(70), drift);
            assert_eq!(clock.read(Moment::from_millis(70)), Moment::ZERO);
            clock.jump(1500);
            for millis in [1500, 1501, 90_000] {
                let own = Moment::from_millis(millis);
                assert_eq!(clock.read(clock.moment_of(own)), own, "{drift} ppm");
            }
        }
    }
}
