//! What comes out of a client: messages for the room, and what happened for the game.

use alloc::vec::Vec;

use super::{HydrationError, MatchResult};
use crate::digest::{Checksum, Digest, Identity};
use crate::frame::FrameError;
use crate::identity::DescriptorError;
use crate::runtime::CreateError;
use crate::seat::{Generation, Seat};
use crate::session::{ConfirmError, SessionError, SessionEvent, SessionFault};
use crate::tick::Tick;
use crate::wire::{CloseReason, MessageError, NoSnapshot, Refusal, SeatView};

/// What comes out of a client.
#[must_use]
#[derive(Debug)]
pub enum Output<'a> {
    /// Send these bytes as one message.
    Transmit(&'a [u8]),
    /// Tell the game.
    Event(ClientEvent),
}

/// What happened, for the game.
#[must_use]
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum ClientEvent {
    /// The room gave it a seat, and the match is the one that it has loaded.
    Joined {
        /// The seat.
        seat: Seat,
        /// Whether it held the seat before.
        resumed: bool,
    },
    /// The room lets it watch, and the match is the one that it has loaded (A14).
    Watching {
        /// Whether it watched before.
        resumed: bool,
    },
    /// Tick 0 of the generation has begun.
    Started,
    /// Who is there has changed, or whether the room is locked (A15).
    Roster {
        /// Whether only who has a seat gets in.
        locked: bool,
        /// Every seat, in order.
        seats: Vec<SeatView>,
    },
    /// The match's clock stands still (A15).
    Paused {
        /// The first tick that is not confirmed before it goes on.
        tick: Tick,
    },
    /// The match's clock goes on (A15).
    Unpaused,
    /// The room has another session config, and the match starts over at tick 0 (A10).
    Reconfigured {
        /// The generation that is played now.
        generation: Generation,
    },
    /// The match has a result (A15).
    Settled(MatchResult),
    /// Something on the confirmed timeline.
    Session(SessionEvent),
    /// Machines disagree about a state (A8).
    Desync {
        /// The state: `n` for `S(n)`.
        tick: Tick,
        /// Every seat's report.
        values: Vec<(Seat, Checksum)>,
    },
    /// Another seat's ephemeral (A9).
    Ephemeral {
        /// Whose.
        seat: Seat,
        /// Its bytes.
        payload: Vec<u8>,
    },
    /// A part of the snapshot arrived from which the session is going to be built (A7).
    Hydrating {
        /// Bytes that are there.
        received_bytes: u32,
        /// Bytes of the encoded snapshot.
        total_bytes: u32,
    },
    /// The session was built from a snapshot, and goes on from there (A7).
    Hydrated {
        /// The state: `n` for `S(n)`.
        tick: Tick,
        /// Whether the room knew of a report of this state by another seat than the donor's.
        verified: bool,
    },
    /// A snapshot was not taken; the session is as before, and the room sends another one, or gives up.
    HydrationFailed {
        /// Why.
        error: HydrationError,
    },
    /// The room has no snapshot just now. It goes on looking for one, sends frames instead, or gives up.
    NoSnapshot {
        /// Why.
        cause: NoSnapshot,
    },
    /// The service is about to stop (V1). The match goes on until the room says that it ended.
    Draining {
        /// How long the room still lives, in milliseconds.
        millis: u32,
    },
    /// It is over; close the transport.
    Ended(EndReason),
}

/// Why a client is over. Only [`EndReason::Closed`] with [`CloseReason::Left`] was asked for.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum EndReason {
    /// The room refused it.
    #[error("the room refused: {0}")]
    Refused(Refusal),
    /// The room ended the connection.
    #[error("the room closed the connection: {0}")]
    Closed(CloseReason),
    /// The room's match is not the loaded game's.
    #[error("the room plays identity {room}, but {loaded} is loaded")]
    Identity {
        /// The room's identity.
        room: Identity,
        /// The loaded game's.
        loaded: Identity,
    },
    /// The room's descriptor is malformed.
    #[error("the room's descriptor: {0}")]
    Descriptor(DescriptorError),
    /// The descriptor changed, and not into a later generation of the same game.
    #[error("the match changed from {before} to {after}")]
    MatchChanged {
        /// Digest of the descriptor before.
        before: Digest,
        /// Digest of the descriptor now.
        after: Digest,
    },
    /// There is no runtime for the room's match.
    #[error("{0}")]
    Create(CreateError),
    /// There is no session for the room's match.
    #[error("{0}")]
    Session(SessionError),
    /// The window of checkpoints can't hold one checksum cadence and the slowest round trip, so this client could never donate a
    /// state that it reported (A7).
    #[error("a checkpoint window of {window_ticks} ticks, where cadence and slowest round trip take {needed_ticks}")]
    CheckpointWindow {
        /// Ticks that the window holds.
        window_ticks: u32,
        /// Ticks that it must hold.
        needed_ticks: u64,
    },
    /// The session faulted.
    #[error("{0}")]
    Fault(SessionFault),
    /// More came than is held while the game prepares the match: [`MAX_HELD_MESSAGES`](super::MAX_HELD_MESSAGES), or
    /// [`MAX_HELD_BYTES`](super::MAX_HELD_BYTES).
    #[error("the preparation took too long: more came than is held")]
    PreparationOverflow,
    /// The room sent bytes that are no message.
    #[error("the room sent a malformed message: {0}")]
    Message(MessageError),
    /// The room sent frames that do not decode.
    #[error("the room sent a malformed frame: {0}")]
    Frame(FrameError),
    /// The room sent a frame that does not follow on the last one.
    #[error("the room sent a frame out of order: {0}")]
    Order(ConfirmError),
    /// The room sent a message that has no place here.
    #[error("the room broke the protocol")]
    Protocol,
}
