//! What the service counts, in the form that Prometheus reads (V1). No label has more values than are listed here.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use metrics::{
    Counter, Gauge, Histogram, counter, describe_counter, describe_gauge, describe_histogram, gauge, histogram,
};
use metrics_exporter_prometheus::{Matcher, PrometheusBuilder, PrometheusHandle, PrometheusRecorder};
use retick_core::wire::Refusal;
use tokio::time::Duration;

use super::handshakes::Stage;
use crate::room::SeatState;

/// Upper ends of the buckets of the tick lag, in seconds: a tick at 60 Hz takes 0.0167.
const TICK_LAG_BUCKETS: [f64; 12] = [0.0005, 0.001, 0.002, 0.004, 0.008, 0.0167, 0.033, 0.067, 0.125, 0.25, 0.5, 1.0];
/// How often samples of histograms are folded into their buckets, where nobody asks for them.
pub(super) const UPKEEP: Duration = Duration::from_secs(5);

/// Every seat state with its name, in the order of the metric's values.
pub(super) const SEAT_STATES: [(SeatState, &str); 6] = [
    (SeatState::Free, "free"),
    (SeatState::Joining, "joining"),
    (SeatState::Playing, "playing"),
    (SeatState::Disconnected, "disconnected"),
    (SeatState::Vacated, "vacated"),
    (SeatState::Bot, "bot"),
];

/// The name of a seat's state.
pub(super) fn seat_state_name(state: SeatState) -> &'static str {
    SEAT_STATES.iter().find(|(known, _)| *known == state).map_or("other", |(_, name)| name)
}

/// The name of a refusal, as a label and in the monitor.
pub(super) fn refusal_name(refusal: &Refusal) -> &'static str {
    match refusal {
        Refusal::Protocol { .. } => "protocol",
        Refusal::Identity { .. } => "identity",
        Refusal::Full { .. } => "full",
        Refusal::Token => "token",
        Refusal::GraceOver => "grace-over",
        Refusal::HistoryForked { .. } => "history-forked",
        Refusal::Ticket => "ticket",
        Refusal::Locked => "locked",
        Refusal::Observers => "observers",
        Refusal::Closing => "closing",
        Refusal::Malformed => "malformed",
    }
}

/// Bytes of one room's messages, counted by its connections.
#[derive(Debug, Default)]
pub(super) struct Traffic {
    received: AtomicU64,
    sent: AtomicU64,
}

impl Traffic {
    pub(super) fn received(&self, bytes: usize) {
        self.received.fetch_add(bytes as u64, Ordering::Relaxed);
    }

    pub(super) fn sent(&self, bytes: usize) {
        self.sent.fetch_add(bytes as u64, Ordering::Relaxed);
    }

    /// Received and sent so far.
    pub(super) fn totals(&self) -> (u64, u64) {
        (self.received.load(Ordering::Relaxed), self.sent.load(Ordering::Relaxed))
    }
}

/// One service's own registry: two services in a process don't add up, and nothing is installed for the whole process.
pub(super) struct Metrics {
    recorder: PrometheusRecorder,
    handle: PrometheusHandle,
    instruments: Instruments,
}

/// What is counted and measured.
pub(super) struct Instruments {
    pub(super) rooms: Gauge,
    pub(super) rooms_created: Counter,
    pub(super) connections: Gauge,
    pub(super) connections_turned_away: Counter,
    pub(super) handshakes: [Gauge; Stage::ALL.len()],
    pub(super) handshakes_evicted: Counter,
    pub(super) seats: [Gauge; SEAT_STATES.len()],
    pub(super) frames_confirmed: Counter,
    pub(super) inputs_substituted: Counter,
    pub(super) inputs_late: Counter,
    pub(super) rollbacks_reported: Counter,
    pub(super) desyncs: Counter,
    pub(super) bytes_received: Counter,
    pub(super) bytes_sent: Counter,
    pub(super) slow_consumers: Counter,
    pub(super) over_budget: Counter,
    pub(super) tick_lag_seconds: Histogram,
}

impl std::ops::Deref for Metrics {
    type Target = Instruments;

    fn deref(&self) -> &Instruments {
        &self.instruments
    }
}

impl std::fmt::Debug for Metrics {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Metrics(..)")
    }
}

impl Metrics {
    pub(super) fn new() -> Arc<Metrics> {
        let lag = Matcher::Full("retick_tick_lag_seconds".to_owned());
        let builder = PrometheusBuilder::new();
        // Buckets that are not empty are never refused; without them the histogram is a summary.
        let builder =
            builder.set_buckets_for_metric(lag, &TICK_LAG_BUCKETS).unwrap_or_else(|_| PrometheusBuilder::new());
        let recorder = builder.build_recorder();
        let instruments = metrics::with_local_recorder(&recorder, || {
            describe();
            Instruments::new()
        });
        Arc::new(Metrics { handle: recorder.handle(), recorder, instruments })
    }

    /// Counts a refusal, of a greeting or of a request, by its stable code.
    pub(super) fn refused(&self, code: &'static str) {
        metrics::with_local_recorder(&self.recorder, || counter!("retick_refusals_total", "code" => code).increment(1));
    }

    /// Everything, as Prometheus reads it.
    pub(super) fn render(&self) -> String {
        self.handle.render()
    }

    /// Folds samples that wait into their buckets.
    pub(super) fn upkeep(&self) {
        self.handle.run_upkeep();
    }
}

impl Instruments {
    fn new() -> Instruments {
        Instruments {
            rooms: gauge!("retick_rooms"),
            rooms_created: counter!("retick_rooms_created_total"),
            connections: gauge!("retick_connections"),
            connections_turned_away: counter!("retick_connections_turned_away_total"),
            handshakes: Stage::ALL.map(|stage| gauge!("retick_handshakes", "stage" => stage.name())),
            handshakes_evicted: counter!("retick_handshakes_evicted_total"),
            seats: SEAT_STATES.map(|(_, state)| gauge!("retick_seats", "state" => state)),
            frames_confirmed: counter!("retick_frames_confirmed_total"),
            inputs_substituted: counter!("retick_inputs_substituted_total"),
            inputs_late: counter!("retick_inputs_late_total"),
            rollbacks_reported: counter!("retick_rollbacks_reported_total"),
            desyncs: counter!("retick_desyncs_total"),
            bytes_received: counter!("retick_bytes_received_total"),
            bytes_sent: counter!("retick_bytes_sent_total"),
            slow_consumers: counter!("retick_slow_consumers_total"),
            over_budget: counter!("retick_over_budget_total"),
            tick_lag_seconds: histogram!("retick_tick_lag_seconds"),
        }
    }
}

fn describe() {
    describe_gauge!("retick_rooms", "Rooms that live.");
    describe_counter!("retick_rooms_created_total", "Rooms that were made.");
    describe_gauge!("retick_connections", "Connections that are open, of HTTP and WebSocket.");
    describe_counter!("retick_connections_turned_away_total", "Connections beyond a limit.");
    describe_gauge!("retick_handshakes", "Connections on their way in, by stage.");
    describe_counter!("retick_handshakes_evicted_total", "Connections that gave way to newer ones on their way in.");
    describe_gauge!("retick_seats", "Seats of all rooms, by state.");
    describe_counter!("retick_frames_confirmed_total", "Frames that rooms confirmed.");
    describe_counter!("retick_inputs_substituted_total", "Inputs that rooms substituted.");
    describe_counter!("retick_inputs_late_total", "Inputs that came after their tick was confirmed.");
    describe_counter!("retick_rollbacks_reported_total", "Rollbacks, as clients report them.");
    describe_counter!("retick_desyncs_total", "States whose reports differ.");
    describe_counter!("retick_bytes_received_total", "Bytes of messages from players.");
    describe_counter!("retick_bytes_sent_total", "Bytes of messages to players.");
    describe_counter!("retick_slow_consumers_total", "Connections that read too slowly.");
    describe_counter!("retick_over_budget_total", "Connections that sent more than their budget.");
    describe_counter!("retick_refusals_total", "Refused greetings and requests, by code.");
    describe_histogram!("retick_tick_lag_seconds", "How much later than due a room took its turn.");
}
