//! What a client counts and measures.

use crate::wire::SeatCounters;

/// Counts since the client was made.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct ClientStats {
    /// Mispredictions corrected.
    pub rollbacks: u64,
    /// Ticks resimulated by them.
    pub resimulated_ticks: u64,
    /// The deepest of them, in ticks.
    pub deepest_rollback_ticks: u64,
    /// Own ticks that the authority substituted.
    pub own_substitutions: u64,
    /// Checksums reported.
    pub reports: u64,
    /// Turns in which the prediction window was full.
    pub blocked_turns: u64,
    /// Desyncs announced by the room.
    pub desyncs: u64,
    /// Bytes of the messages sent.
    pub sent_bytes: u64,
    /// Bytes of the messages received.
    pub received_bytes: u64,
    /// The measured round trip, in microseconds; `None` before the first answer.
    pub round_trip_micros: Option<u64>,
    /// By how much a round trip is longer than the quickest, on the mean, in microseconds.
    pub jitter_micros: u64,
    /// The input delay in force, in ticks (N3).
    pub input_delay_ticks: u16,
    /// Confirmed frames that wait for their turn (N6).
    pub queued_frames: u64,
    /// Confirmed frames applied in the last second in which some waited; `None` when none wait, or not for long.
    pub backlog_frames_per_second: Option<u64>,
    /// Whether those are no more than the room confirms in a second: the frames that wait will never be fewer (N6).
    pub backlog_is_stuck: bool,
    /// What the room counted about this seat, as of its last answer.
    pub room: SeatCounters,
}
