//! What one room adds to the service's metrics: the differences between what it counted then and counts now (V1).

use std::sync::Arc;

use tokio::time::{Duration, Instant};

use super::metrics::{Metrics, Traffic};
use crate::room::{Room, RoomStats};

/// How often a room's counts are added to the service's.
const INTERVAL: Duration = Duration::from_millis(250);
/// For how long the worst lag of a room is shown.
const LAG_WINDOW: Duration = Duration::from_secs(2);

/// What was added up already.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Counted {
    frames: u64,
    stats: RoomStats,
    traffic: (u64, u64),
    slow_consumers: u64,
}

/// One room's meter.
#[derive(Debug)]
pub(super) struct Meter {
    metrics: Arc<Metrics>,
    traffic: Arc<Traffic>,
    counted: Counted,
    due: Instant,
    /// The worst lag of this window and of the one before, and when this one ends.
    lag: [Duration; 2],
    window_end: Instant,
}

impl Meter {
    pub(super) fn new(metrics: Arc<Metrics>, traffic: Arc<Traffic>, now: Instant) -> Meter {
        let (due, window_end) = (now + INTERVAL, now + LAG_WINDOW);
        Meter { metrics, traffic, counted: Counted::default(), due, lag: [Duration::ZERO; 2], window_end }
    }

    /// The room took a turn at `now` that was due at `due`.
    pub(super) fn turn(&mut self, due: Option<Instant>, now: Instant) {
        if now >= self.window_end {
            self.lag = [Duration::ZERO, self.lag[0]];
            self.window_end = now + LAG_WINDOW;
        }
        // Mail wakes a room before its turn is due; that is no lag.
        let Some(lag) = due.and_then(|due| now.checked_duration_since(due)) else { return };
        self.lag[0] = self.lag[0].max(lag);
        self.metrics.tick_lag_seconds.record(lag.as_secs_f64());
    }

    /// The worst lag of the last seconds.
    pub(super) fn lag(&self) -> Duration {
        self.lag[0].max(self.lag[1])
    }

    /// Adds what the room counted, if that is due.
    pub(super) fn add_if_due(&mut self, room: &Room, slow_consumers: u64, now: Instant) {
        if now >= self.due || room.is_closed() {
            self.due = now + INTERVAL;
            self.add(room, slow_consumers);
        }
    }

    fn add(&mut self, room: &Room, slow_consumers: u64) {
        let frames = room.frontier().index();
        let now = Counted { frames, stats: room.stats(), traffic: self.traffic.totals(), slow_consumers };
        let before = std::mem::replace(&mut self.counted, now);
        let (metrics, seats, seats_before) = (&self.metrics, now.stats.seats, before.stats.seats);
        // A new generation begins at tick 0 again.
        metrics.frames_confirmed.increment(now.frames.saturating_sub(before.frames));
        metrics.inputs_substituted.increment(seats.substituted_inputs.saturating_sub(seats_before.substituted_inputs));
        metrics.inputs_late.increment(seats.counters.late_inputs.saturating_sub(seats_before.counters.late_inputs));
        metrics.rollbacks_reported.increment(seats.reported_rollbacks.saturating_sub(seats_before.reported_rollbacks));
        metrics.desyncs.increment(now.stats.desyncs.saturating_sub(before.stats.desyncs));
        let over_budget = |stats: &RoomStats| stats.over_budget_connections;
        metrics.over_budget.increment(over_budget(&now.stats).saturating_sub(over_budget(&before.stats)));
        metrics.bytes_received.increment(now.traffic.0 - before.traffic.0);
        metrics.bytes_sent.increment(now.traffic.1 - before.traffic.1);
        metrics.slow_consumers.increment(now.slow_consumers - before.slow_consumers);
    }
}
