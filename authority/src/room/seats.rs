//! The seats: who holds them, what they delivered, and what they put into a frame (A2, A5, A6).

use retick_core::frame::SeatFrame;
use retick_core::seat::{ControlEpoch, Presence};
use retick_core::tick::{Moment, Tick};
use retick_core::wire::ClaimId;

use alloc::vec::Vec;

use super::budget::TokenBucket;
use super::clock::RoomTime;
use super::commands::{COMMANDS_PER_SECOND, EPHEMERALS_PER_SECOND};
use super::event::ConnectionId;
use super::inputs::InputBuffer;
use super::stats::SeatStats;

/// Where a seat stands in its life (A5).
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum SeatState {
    /// Nobody claimed it yet.
    Free,
    /// It is claimed, and its client has not said that it is ready. Never waited for (A3).
    Joining,
    /// Its client plays.
    Playing,
    /// Its transport is lost and its grace runs.
    Disconnected,
    /// It was given up. Not claimed again: seats are fixed.
    Vacated,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Tenure {
    Free,
    Held {
        /// Whether the seat takes part in ticks.
        active: bool,
    },
    Vacated,
}

/// One seat.
#[derive(Clone, Debug)]
pub(super) struct SeatSlot {
    tenure: Tenure,
    pub(super) claim: ClaimId,
    pub(super) epoch: ControlEpoch,
    pub(super) connection: Option<ConnectionId>,
    /// When the grace of a lost transport is over.
    pub(super) grace_end: Option<RoomTime>,
    pub(super) inputs: InputBuffer,
    /// The last input that was delivered and confirmed in this control epoch.
    last: Vec<u8>,
    has_last: bool,
    pub(super) last_command: Option<u32>,
    pub(super) command_budget: TokenBucket,
    pub(super) ephemeral_budget: TokenBucket,
    pub(super) stats: SeatStats,
    /// How many rollbacks the seat's client had reported last.
    last_rollbacks: u32,
}

impl SeatSlot {
    pub(super) fn new(inputs: InputBuffer) -> SeatSlot {
        SeatSlot {
            tenure: Tenure::Free,
            claim: ClaimId::default(),
            epoch: ControlEpoch::default(),
            connection: None,
            grace_end: None,
            inputs,
            last: Vec::new(),
            has_last: false,
            last_command: None,
            command_budget: TokenBucket::full(COMMANDS_PER_SECOND, Moment::ZERO),
            ephemeral_budget: TokenBucket::full(EPHEMERALS_PER_SECOND, Moment::ZERO),
            stats: SeatStats::default(),
            last_rollbacks: 0,
        }
    }

    /// The seat's client has rolled back so often in all. A smaller number than before is another client's.
    pub(super) fn report_rollbacks(&mut self, total: u32) {
        let more = total.checked_sub(self.last_rollbacks).unwrap_or(total);
        self.last_rollbacks = total;
        self.stats.reported_rollbacks = self.stats.reported_rollbacks.saturating_add(u64::from(more));
    }

    pub(super) fn state(&self) -> SeatState {
        match (self.tenure, self.connection) {
            (Tenure::Free, _) => SeatState::Free,
            (Tenure::Vacated, _) => SeatState::Vacated,
            (Tenure::Held { .. }, None) => SeatState::Disconnected,
            (Tenure::Held { active: false }, Some(_)) => SeatState::Joining,
            (Tenure::Held { active: true }, Some(_)) => SeatState::Playing,
        }
    }

    /// What the next frame says of who drives the seat.
    pub(super) fn presence(&self) -> Presence {
        match (self.tenure, self.connection) {
            (Tenure::Held { active: true }, Some(_)) => Presence::Human,
            (Tenure::Held { active: true }, None) => Presence::Disconnected,
            _ => Presence::Empty,
        }
    }

    pub(super) fn is_held(&self) -> bool {
        matches!(self.tenure, Tenure::Held { .. })
    }

    /// Whether the seat takes part in ticks, and so is waited for (A3).
    pub(super) fn is_active(&self) -> bool {
        self.tenure == Tenure::Held { active: true }
    }

    /// The seat's first claim: S2 of A5.
    pub(super) fn claim(&mut self, claim: ClaimId, connection: ConnectionId) {
        self.tenure = Tenure::Held { active: false };
        self.claim = claim;
        self.connection = Some(connection);
        self.raise_epoch();
    }

    /// The seat's claim in an earlier run of the room.
    pub(super) fn restore_claim(&mut self, claim: ClaimId, epoch: ControlEpoch) {
        self.tenure = Tenure::Held { active: false };
        self.claim = claim;
        self.epoch = epoch;
    }

    /// The seat's control epoch in an earlier run.
    pub(super) fn restore_epoch(&mut self, epoch: ControlEpoch) {
        self.epoch = epoch;
        self.has_last = false;
    }

    /// Takes from a frame that was confirmed in an earlier run what follows from it: who took part, and the last input (A2).
    pub(super) fn adopt(&mut self, tick: Tick, view: SeatFrame<'_>) {
        self.inputs.take(tick);
        if !self.is_held() || view.epoch != self.epoch {
            return;
        }
        let takes_part = matches!(view.presence, Presence::Human | Presence::Disconnected);
        self.tenure = Tenure::Held { active: self.is_active() || takes_part };
        if let Some(input) = view.input.filter(|_| takes_part && !view.substituted) {
            self.last.clear();
            self.last.extend_from_slice(input);
            self.has_last = true;
        }
    }

    /// Lets a held seat take part in ticks, or not.
    pub(super) fn set_active(&mut self, active: bool) {
        if self.is_held() {
            self.tenure = Tenure::Held { active };
        }
    }

    /// Gives the seat up: S6 of A5. Everything it had buffered is discarded (A1).
    pub(super) fn vacate(&mut self) {
        self.tenure = Tenure::Vacated;
        self.connection = None;
        self.grace_end = None;
        self.raise_epoch();
    }

    fn raise_epoch(&mut self) {
        self.epoch = self.epoch.next();
        self.inputs.clear();
        self.has_last = false;
        self.last_command = None;
    }

    /// What the seat puts into the frame of `tick`, now (A2).
    pub(super) fn confirm(&mut self, tick: Tick) -> SeatFrame<'_> {
        let (presence, epoch, active) = (self.presence(), self.epoch, self.is_active());
        // Taken also from a seat that doesn't take part: a confirmed tick leaves nothing behind in the buffer.
        let delivered = self.inputs.take(tick).filter(|_| active);
        if let Some(input) = delivered {
            self.last.clear();
            self.last.extend_from_slice(input);
            self.has_last = true;
            return SeatFrame { input: Some(&self.last), substituted: false, presence, epoch };
        }
        self.stats.substituted_inputs += u64::from(active);
        let repeats = self.has_last && presence == Presence::Human;
        SeatFrame { input: repeats.then_some(self.last.as_slice()), substituted: active, presence, epoch }
    }
}
