//! The pauses between attempts to connect: doubling, bounded, and over after a while.

use std::time::Duration;

use crate::config::Reconnect;

/// Gives the next pause, until the time is up. Knows no clock: it is told how long attempts have been made.
#[derive(Debug)]
pub(crate) struct Backoff {
    plan: Reconnect,
    next_millis: u64,
    /// Attempts that failed.
    pub(crate) failed: u32,
}

impl Backoff {
    pub(crate) fn new(plan: Reconnect) -> Backoff {
        Backoff { plan, next_millis: plan.first_delay_millis.min(plan.max_delay_millis), failed: 0 }
    }

    /// An attempt failed, `tried` after the first one began. The pause before the next, or `None` to give up.
    pub(crate) fn pause(&mut self, tried: Duration) -> Option<Duration> {
        self.failed = self.failed.saturating_add(1);
        let left = Duration::from_millis(self.plan.give_up_millis).checked_sub(tried)?;
        let pause = Duration::from_millis(self.next_millis);
        self.next_millis = self.next_millis.saturating_mul(2).min(self.plan.max_delay_millis);
        (pause <= left).then_some(pause)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a6_pauses_double_up_to_the_longest_and_end_with_the_time() {
        let plan = Reconnect { first_delay_millis: 100, max_delay_millis: 350, give_up_millis: 1_000 };
        let mut backoff = Backoff::new(plan);
        let mut pause = |tried| backoff.pause(Duration::from_millis(tried)).map(|pause| pause.as_millis());
        assert_eq!(pause(0), Some(100));
        assert_eq!(pause(100), Some(200));
        assert_eq!(pause(300), Some(350));
        assert_eq!(pause(650), Some(350));
        assert_eq!(pause(651), None);
        assert_eq!(pause(1_001), None);
        assert_eq!(backoff.failed, 6);
    }
}
