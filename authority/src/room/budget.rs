//! Rates (A9, A11): a bucket that fills with time and holds at most one second's worth.

use retick_core::tick::Moment;

/// What one unit costs: credit is counted in units times nanoseconds, so that no fraction is ever lost.
const UNIT: u64 = 1_000_000_000;

/// Allows `per_second` units a second, and as many at once after a quiet second.
#[derive(Clone, Copy, Debug)]
pub(super) struct TokenBucket {
    per_second: u32,
    credit: u64,
    filled: Moment,
}

impl TokenBucket {
    pub(super) fn full(per_second: u32, now: Moment) -> TokenBucket {
        TokenBucket { per_second, credit: capacity(per_second), filled: now }
    }

    /// Takes one unit, or says that there is none.
    #[must_use]
    pub(super) fn take(&mut self, now: Moment) -> bool {
        let gained = now.nanos_since(self.filled).saturating_mul(u64::from(self.per_second));
        self.credit = self.credit.saturating_add(gained).min(capacity(self.per_second));
        self.filled = self.filled.max(now);
        let enough = self.credit >= UNIT;
        if enough {
            self.credit -= UNIT;
        }
        enough
    }
}

fn capacity(per_second: u32) -> u64 {
    u64::from(per_second).saturating_mul(UNIT)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a11_a_bucket_gives_its_rate_and_no_more() {
        let mut bucket = TokenBucket::full(3, Moment::ZERO);
        let mut at = |millis| bucket.take(Moment::from_millis(millis));
        assert!(at(0) && at(0) && at(0) && !at(0));
        assert!(!at(333) && at(334) && !at(334));
        // A moment from the past gives nothing, and an age gives no more than a second's worth.
        assert!(!at(0));
        assert!(at(1 << 40) && at(1 << 40) && at(1 << 40) && !at(1 << 40));
    }
}
