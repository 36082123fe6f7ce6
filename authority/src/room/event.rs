//! What a room tells its driver, beside what it sends.

use bincode::{BorrowDecode, Encode};
use retick_core::seat::{ControlEpoch, Generation, Seat};
use retick_core::tick::Tick;
use retick_core::wire::{ClaimId, CloseReason, Refusal};

use super::transitions::{BotLease, SeatTransition};

/// A connection, by the number that the driver chose for it. A number is used once in a room's life: outputs that wait for a
/// record may still name a connection that has ended.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct ConnectionId(pub u64);

/// One thing that a room wants done. Nothing may be skipped: what is not done is lost.
#[must_use]
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Output<'a> {
    /// Send one message to all of these. A connection that ended meanwhile is to be passed over.
    Transmit {
        /// The receivers, at least one.
        to: &'a [ConnectionId],
        /// The message, encoded once for all of them.
        bytes: &'a [u8],
    },
    /// Keep a record, and then call [`Room::handle_persisted`](super::Room::handle_persisted) (A12).
    Persist {
        /// The record's number. They come in order and without a gap.
        sequence: u64,
        /// The record, for [`FrameLog::append`](crate::log::FrameLog::append).
        record: &'a [u8],
    },
    /// Close a connection once what was transmitted to it before is sent. The room has already forgotten it.
    Close {
        /// The connection.
        connection: ConnectionId,
        /// Why. The connection was told the same.
        cause: CloseCause,
    },
    /// Something happened that the driver may want to know.
    Event(RoomEvent),
}

/// Why a room closes a connection.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum CloseCause {
    /// It was never greeted.
    Refused(Refusal),
    /// It had been greeted.
    Ended(CloseReason),
}

/// What happened in a room.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum RoomEvent {
    /// A seat was claimed (A5).
    SeatClaimed {
        /// The seat.
        seat: Seat,
        /// The claim.
        claim: ClaimId,
        /// Who holds it.
        connection: ConnectionId,
    },
    /// A seat's client has verified the greeting.
    SeatReady {
        /// The seat.
        seat: Seat,
    },
    /// A seat's transport was lost, and its grace runs (A6).
    SeatDisconnected {
        /// The seat.
        seat: Seat,
    },
    /// A seat's owner is back (A6).
    SeatResumed {
        /// The seat.
        seat: Seat,
        /// Who holds it now.
        connection: ConnectionId,
    },
    /// The driver of a seat changed (A5).
    SeatChanged {
        /// The seat.
        seat: Seat,
        /// How.
        transition: SeatTransition,
        /// The first tick of the new driver.
        tick: Tick,
        /// The seat's new control epoch.
        epoch: ControlEpoch,
        /// The lease, where the new driver is a bot.
        lease: Option<BotLease>,
    },
    /// A seat was given up.
    SeatVacated {
        /// The seat.
        seat: Seat,
        /// Why.
        cause: VacancyCause,
    },
    /// Tick 0 has begun.
    Started {
        /// The generation.
        generation: Generation,
    },
    /// Somebody watches, without a seat (A14).
    ObserverJoined {
        /// Who.
        connection: ConnectionId,
    },
    /// The match's clock stands still (A15).
    Paused {
        /// The first tick that it has not reached.
        tick: Tick,
    },
    /// The match's clock goes on (A15).
    Unpaused,
    /// The room was locked, or opened (V1).
    Locked {
        /// Whether it is locked now.
        locked: bool,
    },
    /// A new generation was set up (A10).
    Reconfigured {
        /// The generation.
        generation: Generation,
    },
    /// Everyone agrees on the match's result, which is [`Room::settlement`](super::Room::settlement)'s to tell (A15).
    Agreed {
        /// The state that says so: `n` for `S(n)`.
        tick: Tick,
    },
    /// The match's result is disputed (A15).
    Disputed,
    /// Two reports of one state differ (A8). At most one event for each state.
    Desync {
        /// The state: `n` for `S(n)`.
        tick: Tick,
    },
    /// Both sides of a desync were asked where their states differ, which is [`Room::desync_finding`](super::Room::desync_finding)'s to
    /// tell (A8).
    DesyncSearched {
        /// The state whose reports differ: `n` for `S(n)`.
        tick: Tick,
        /// The state that differs first, as far as that is known, and where in it.
        found: Option<(Tick, u64)>,
    },
    /// The referee contradicts a seat (A13). At most one event for each seat and state.
    SeatWrong {
        /// The seat.
        seat: Seat,
        /// The state: `n` for `S(n)`.
        tick: Tick,
    },
    /// A seat goes on from the referee's state (A13).
    SeatRepaired {
        /// The seat.
        seat: Seat,
        /// The state: `n` for `S(n)`.
        tick: Tick,
    },
    /// The room was restored, and goes on with what its log and its clients had (A12).
    Recovered {
        /// The first tick that is confirmed in this run.
        frontier: Tick,
        /// How many ticks before it clients gave back.
        returned_ticks: u64,
    },
    /// There is another [snapshot](super::Room::newest_snapshot) than before (A7).
    SnapshotKept {
        /// The generation of the state.
        generation: Generation,
        /// The state: `n` for `S(n)`.
        tick: Tick,
        /// Whether another seat than the donor's has reported its checksum by now.
        verified: bool,
    },
    /// The room ended. Happens once, and no tick is confirmed afterwards.
    Closed {
        /// Why.
        cause: ClosedCause,
    },
}

/// Why a seat was given up.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Encode, BorrowDecode)]
pub enum VacancyCause {
    /// Its player left (A1).
    Left,
    /// Its grace ran out (A6).
    GraceOver,
    /// The driver gave it to a bot while its player was away (A5).
    BotSeated,
    /// The driver took away the bot that played for its player (A5).
    BotRemoved,
}

/// Why a room ended.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Encode, BorrowDecode)]
pub enum ClosedCause {
    /// Nobody holds a seat any more.
    Deserted,
    /// The driver closed it.
    Requested,
}
