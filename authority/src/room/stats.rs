//! What the room counts. Every refusal that is not answered is counted here.

use retick_core::wire::SeatCounters;

/// What was counted about one seat.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct SeatStats {
    /// What the seat's own client is told too.
    pub counters: SeatCounters,
    /// Inputs that were there already, with equal bytes; ignored.
    pub duplicate_inputs: u64,
    /// Ticks for which the seat's input was missing.
    pub substituted_inputs: u64,
    /// Checksum reports that were refused: of an unconfirmed or unknown state, of a stale generation, or a second, different
    /// one (A8).
    pub refused_reports: u64,
    /// Ephemerals beyond the rate (A9).
    pub dropped_ephemerals: u64,
    /// Inputs for ticks before the one from which a newcomer takes part; ignored (A5).
    pub early_inputs: u64,
    /// Results that were refused: of an unconfirmed state, of a stale generation, a second one, or after the settlement (A15).
    pub refused_results: u64,
    /// Rollbacks of the seat's clients, as they report them: whatever they say, it decides nothing.
    pub reported_rollbacks: u64,
}

/// What was counted about the whole room.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct RoomStats {
    /// Messages of connections that the room knew.
    pub messages: u64,
    /// Messages of connections that the room did not know, or no longer.
    pub stray_messages: u64,
    /// Messages of greeted connections that were malformed, or broke the order of messages.
    pub malformed_messages: u64,
    /// Connections that were closed for exceeding their budget (A11).
    pub over_budget_connections: u64,
    /// Connections that were refused.
    pub refused_connections: u64,
    /// `Ready` messages of another generation.
    pub stale_readies: u64,
    /// Tails of history that did not prove themselves after a restart (A12).
    pub unproved_tails: u64,
    /// Requests that the sender may not make, or not now: to start, to pause, to reconfigure (A10, A15).
    pub refused_requests: u64,
    /// Messages of observers that only players may send (A14).
    pub ignored_observer_messages: u64,
    /// States whose reports differ (A8).
    pub desyncs: u64,
    /// Desyncs about which both sides were asked where their states differ (A8).
    pub searched_desyncs: u64,
    /// Answers to questions that were not asked, or not any more (A8).
    pub stray_answers: u64,
    /// States of which the referee has named a seat that is wrong (A13).
    pub verdicts: u64,
    /// States of which several seats and no other contradict the referee (A13).
    pub undecided_verdicts: u64,
    /// Seats that were put right by the referee's state (A13).
    pub repairs: u64,
    /// Repairs that did not come to an end (A13).
    pub failed_repairs: u64,
    /// Reports and results of the referee that were refused.
    pub refused_referee_words: u64,
    /// Snapshots that were taken from a donor and kept (A7).
    pub snapshots: u64,
    /// Donations that did not come to a snapshot: refused, damaged, disputed, too slow, or the donor went away.
    pub refused_snapshots: u64,
    /// Searches for a snapshot that found none.
    pub failed_donations: u64,
    /// Snapshots that a newcomer could not use.
    pub failed_deliveries: u64,
    /// Newcomers that were closed because they could not be given a state.
    pub unhydrated_connections: u64,
    /// Messages about transfers that are over, or another connection's.
    pub stray_transfers: u64,
    /// The sum over all seats, and all who held them.
    pub seats: SeatStats,
}

impl SeatStats {
    /// Adds what was counted about another seat.
    pub(super) fn add(&mut self, other: &SeatStats) {
        self.counters.late_inputs += other.counters.late_inputs;
        self.counters.conflicting_inputs += other.counters.conflicting_inputs;
        self.counters.refused_inputs += other.counters.refused_inputs;
        self.counters.rejected_commands += other.counters.rejected_commands;
        self.duplicate_inputs += other.duplicate_inputs;
        self.substituted_inputs += other.substituted_inputs;
        self.refused_reports += other.refused_reports;
        self.dropped_ephemerals += other.dropped_ephemerals;
        self.early_inputs += other.early_inputs;
        self.refused_results += other.refused_results;
        self.reported_rollbacks = self.reported_rollbacks.saturating_add(other.reported_rollbacks);
    }
}
