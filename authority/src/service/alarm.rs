//! A timer that is kept and moved. Making one for every wait costs two visits to the timers that all tasks share.

use std::pin::Pin;

use tokio::time::{Instant, Sleep, sleep_until};

/// Waits for moments, one after another.
#[derive(Debug)]
pub(super) struct Alarm(Pin<Box<Sleep>>);

impl Alarm {
    pub(super) fn new() -> Alarm {
        Alarm(Box::pin(sleep_until(Instant::now())))
    }

    /// Waits until `due`; forever without one. A wait that was given up and begins anew for the same moment costs nothing.
    pub(super) async fn until(&mut self, due: Option<Instant>) {
        let Some(due) = due else { return std::future::pending().await };
        if self.0.deadline() != due || self.0.is_elapsed() {
            self.0.as_mut().reset(due);
        }
        self.0.as_mut().await;
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use tokio::time::timeout;

    use super::*;

    #[tokio::test]
    async fn an_alarm_goes_off_at_each_moment_and_never_without_one() {
        let mut alarm = Alarm::new();
        let begin = Instant::now();
        for millis in [0, 20, 5, 5] {
            let due = begin + Duration::from_millis(millis);
            // Given up, and begun anew.
            let _ = timeout(Duration::ZERO, alarm.until(Some(due))).await;
            alarm.until(Some(due)).await;
            assert!(Instant::now() >= due, "{millis} ms");
        }
        assert!(timeout(Duration::from_millis(5), alarm.until(None)).await.is_err());
    }
}
