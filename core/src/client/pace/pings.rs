//! When the room is asked for its clock: quickly while something is new, and seldom afterwards.

use crate::tick::Moment;

/// Between two pings while the measurements are new, and afterwards.
const QUICK_NANOS: u64 = 100_000_000;
const SEDATE_NANOS: u64 = 500_000_000;
/// How many are sent quickly.
const QUICK_PINGS: u8 = 8;

#[derive(Debug)]
pub(super) struct PingSchedule {
    next: Moment,
    quick_left: u8,
}

impl PingSchedule {
    pub(super) fn new() -> PingSchedule {
        PingSchedule { next: Moment::ZERO, quick_left: QUICK_PINGS }
    }

    /// A new transport: the first ping is due at once.
    pub(super) fn restart(&mut self, now: Moment) {
        *self = PingSchedule { next: now, quick_left: QUICK_PINGS };
    }

    /// Something changed: the next pings are quick ones, unless they are that already.
    pub(super) fn hurry(&mut self, now: Moment) {
        if self.quick_left == 0 {
            self.quick_left = QUICK_PINGS;
            self.next = self.next.min(now.plus_nanos(QUICK_NANOS));
        }
    }

    /// Whether a ping is due; if so, schedules the next.
    pub(super) fn take(&mut self, now: Moment) -> bool {
        if now < self.next {
            return false;
        }
        self.quick_left = self.quick_left.saturating_sub(1);
        self.next = now.plus_nanos(if self.quick_left > 0 { QUICK_NANOS } else { SEDATE_NANOS });
        true
    }

    pub(super) fn next(&self) -> Moment {
        self.next
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// How many pings are sent from `from` until before `to`, in milliseconds.
    fn sent(pings: &mut PingSchedule, from: u64, to: u64) -> usize {
        (from..to).filter(|millis| pings.take(Moment::from_millis(*millis))).count()
    }

    #[test]
    fn n4_pings_are_quick_at_first_and_after_a_change_and_never_more_than_ten_a_second() {
        let mut pings = PingSchedule::new();
        pings.restart(Moment::from_millis(7));
        assert_eq!(sent(&mut pings, 0, 7), 0);
        assert_eq!(sent(&mut pings, 7, 708), 8);
        assert_eq!(sent(&mut pings, 708, 5707), 9);
        // Whoever is surprised again and again is no nuisance.
        let mut most = 0;
        for second in 6..16 {
            let count = (0..10).map(|tenth| {
                let from = 1000 * second + 100 * tenth;
                pings.hurry(Moment::from_millis(from));
                sent(&mut pings, from, from + 100)
            });
            most = most.max(count.sum());
        }
        assert!((9..=10).contains(&most), "{most}");
    }
}
