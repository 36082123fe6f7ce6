//! The room's clamped clock (A1): it only moves in [`Clock::advance`], and by at most [`CLOCK_CLAMP_NANOS`] each time.
//!
//! After a stall the room neither fast-forwards nor counts time that did not pass for it. Ticks, graces and greetings are
//! measured on this clock alone; the caller's moments stop here.

use retick_core::tick::Moment;

/// Most nanoseconds by which one call moves the room's clock: 0.1 s (A1).
pub const CLOCK_CLAMP_NANOS: u64 = 100_000_000;

/// Longest interval, in nanoseconds, after which a room whose clock matters asks to be called again. Half the clamp, so that a
/// driver which wakes a little late loses no time to it, at any tick rate.
pub const MAX_TIMEOUT_INTERVAL_NANOS: u64 = CLOCK_CLAMP_NANOS / 2;

/// A position on the clamped clock, in nanoseconds since the room was made.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Default)]
pub(super) struct RoomTime(u64);

impl RoomTime {
    pub(super) fn plus_millis(self, millis: u64) -> RoomTime {
        RoomTime(self.0.saturating_add(millis.saturating_mul(1_000_000)))
    }

    pub(super) fn plus_nanos(self, nanos: u64) -> RoomTime {
        RoomTime(self.0.saturating_add(nanos))
    }

    /// The moment that lies so long before this one; the clock's beginning, where that would be before it.
    pub(super) fn minus(self, passed: Moment) -> RoomTime {
        RoomTime(self.0.saturating_sub(passed.as_nanos()))
    }

    /// The time since `origin`, as a moment of the clock that starts there.
    pub(super) fn since(self, origin: RoomTime) -> Moment {
        Moment::from_nanos(self.0.saturating_sub(origin.0))
    }
}

#[derive(Clone, Debug, Default)]
pub(super) struct Clock {
    /// The caller's moment up to which time was counted; `None` before the first call.
    counted: Option<Moment>,
    /// The last of the caller's moments.
    latest: Moment,
    time: RoomTime,
}

impl Clock {
    /// A clock that begins at `moment` since the room was made.
    pub(super) fn starting_at(moment: Moment) -> Clock {
        Clock { time: RoomTime(moment.as_nanos()), ..Clock::default() }
    }

    /// Where the clock is.
    pub(super) fn time(&self) -> RoomTime {
        self.time
    }

    /// Where the clock would be if it moved at the last of the caller's moments. Moves nothing.
    pub(super) fn present(&self) -> RoomTime {
        self.at(self.latest)
    }

    fn at(&self, now: Moment) -> RoomTime {
        let passed = self.counted.map_or(0, |counted| now.nanos_since(counted));
        self.time.plus_nanos(passed.min(CLOCK_CLAMP_NANOS))
    }

    /// Takes the caller's time. Nothing moves; time is counted from the first moment on.
    pub(super) fn observe(&mut self, now: Moment) {
        self.counted.get_or_insert(now);
        self.latest = self.latest.max(now);
    }

    /// Moves the clock. A moment before the last one moves nothing.
    pub(super) fn advance(&mut self, now: Moment) {
        self.time = self.at(now);
        self.latest = self.latest.max(now);
        self.counted = Some(self.counted.map_or(now, |counted| counted.max(now)));
    }

    /// The caller's moment at which the clock reaches `time`, provided that it is moved often enough.
    pub(super) fn moment_of(&self, time: RoomTime) -> Moment {
        self.counted.unwrap_or_default().plus_nanos(time.0.saturating_sub(self.time.0))
    }
}

#[cfg(test)]
mod tests {
    use retick_core::tick::TickRate;

    use super::*;

    const SECOND: u64 = 1_000_000_000;

    #[test]
    fn t03_a_call_counts_at_most_the_clamp() {
        let mut clock = Clock::default();
        clock.advance(Moment::from_millis(7_000));
        assert_eq!(clock.time(), RoomTime(0));
        clock.advance(Moment::from_millis(7_100));
        assert_eq!(clock.time(), RoomTime(CLOCK_CLAMP_NANOS));
        let past = Moment::from_millis(7_100).plus_nanos(CLOCK_CLAMP_NANOS + 1);
        assert_eq!(clock.at(past), RoomTime(2 * CLOCK_CLAMP_NANOS));
        clock.advance(past);
        assert_eq!(clock.time(), RoomTime(2 * CLOCK_CLAMP_NANOS));
        clock.advance(Moment::ZERO);
        assert_eq!(clock.time(), RoomTime(2 * CLOCK_CLAMP_NANOS));
        clock.advance(past.plus_nanos(5));
        assert_eq!(clock.time(), RoomTime(2 * CLOCK_CLAMP_NANOS + 5));
    }

    #[test]
    fn t03d_a_day_has_its_steps_whatever_the_size_of_a_call() {
        let day = 24 * 3_600 * SECOND;
        // At 144 calls a second, every 16 ms, and every 7 ms.
        for (calls, nanos) in
            [(24 * 3_600 * 144, SECOND / 144), (day / 16_000_000, 16_000_000), (day / 7_000_000, 7_000_000)]
        {
            let mut clock = Clock::default();
            let at = |call: u64| if nanos == SECOND / 144 { call * SECOND / 144 } else { call * nanos };
            (0..=calls).for_each(|call| clock.advance(Moment::from_nanos(at(call))));
            for (rate, steps) in [(TickRate::Hz60, 5_184_000), (TickRate::Hz120, 10_368_000u64)] {
                let found = rate.tick_at(clock.time().since(RoomTime::default())).index();
                assert!(found.abs_diff(steps) <= 1, "{found} steps where {steps} belong, {nanos} ns a call");
            }
        }
    }

    #[test]
    fn t03_no_time_is_lost_whatever_the_size_of_a_call() {
        // The fault that this pins: deltas cut to whole milliseconds lose a tenth at 144 calls a second.
        for calls_per_second in [144, 1_000, 62] {
            let mut clock = Clock::default();
            for call in 0..=3_600 * calls_per_second {
                clock.advance(Moment::from_nanos(call * SECOND / calls_per_second));
            }
            assert_eq!(clock.time(), RoomTime(3_600 * SECOND), "{calls_per_second}");
        }
    }
}
