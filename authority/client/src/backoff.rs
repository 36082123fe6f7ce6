//! The pauses between attempts to connect: doubling, bounded, and over after a while.
//!
//! Each is drawn from the upper half of its length: clients that lost one service at one moment do not all come back at one moment.

use std::hash::{BuildHasher, RandomState};
use std::time::Duration;

use crate::config::Reconnect;

/// Gives the next pause, until the time is up. Knows no clock: it is told how long attempts have been made.
#[derive(Debug)]
pub(crate) struct Backoff {
    plan: Reconnect,
    /// What the pauses of this one are drawn by.
    draws: RandomState,
    next_millis: u64,
    /// Attempts that failed.
    pub(crate) failed: u32,
}

impl Backoff {
    pub(crate) fn new(plan: Reconnect) -> Backoff {
        let next_millis = plan.first_delay_millis.min(plan.max_delay_millis);
        Backoff { plan, draws: RandomState::new(), next_millis, failed: 0 }
    }

    /// An attempt failed, `tried` after the first one began. The pause before the next, or `None` to give up.
    pub(crate) fn pause(&mut self, tried: Duration) -> Option<Duration> {
        self.failed = self.failed.saturating_add(1);
        let left = Duration::from_millis(self.plan.give_up_millis).checked_sub(tried)?;
        let shorter = self.draws.hash_one(self.failed) % (self.next_millis / 2 + 1);
        let pause = Duration::from_millis(self.next_millis - shorter);
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
        for (tried, longest) in [(0, 100), (100, 200), (300, 350), (650, 350)] {
            let pause = pause(tried).expect("there is time");
            assert!((longest / 2..=longest).contains(&pause), "{pause} of {longest}");
        }
        assert_eq!(pause(900), None);
        assert_eq!(pause(1_001), None);
        assert_eq!(backoff.failed, 6);
    }

    /// Otherwise all clients of a service that was started again would come at once, again and again.
    #[test]
    fn a6_no_two_clients_come_back_at_one_moment() {
        let pauses = [(); 16].map(|()| {
            let mut backoff = Backoff::new(Reconnect::default());
            [(); 4].map(|()| backoff.pause(Duration::ZERO))
        });
        for (index, pause) in pauses.iter().enumerate() {
            assert!(!pauses[index + 1..].contains(pause), "{pause:?}");
        }
    }
}
