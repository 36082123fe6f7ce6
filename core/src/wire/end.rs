//! Why a connection is not greeted, and why one ends.

use bincode::{Decode, Encode};

use super::NoSnapshot;
use crate::digest::Identity;
use crate::tick::Tick;

/// Why the room does not greet a connection.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error, Encode, Decode)]
pub enum Refusal {
    /// The protocol versions differ.
    #[error("the room speaks protocol {room}, the client protocol {client}")]
    Protocol {
        /// The room's.
        room: u16,
        /// The client's.
        client: u16,
    },
    /// The client has loaded another identity.
    #[error("the room plays identity {room}, but the client has loaded {client}")]
    Identity {
        /// The room's.
        room: Identity,
        /// The client's.
        client: Identity,
    },
    /// No seat is free.
    #[error("the room is full: {seats} seats")]
    Full {
        /// Seats of the room.
        seats: u8,
    },
    /// The resume token is not the seat's.
    #[error("the resume token is not this seat's")]
    Token,
    /// The seat's grace is over and the seat was given up.
    #[error("the grace of this seat is over")]
    GraceOver,
    /// The client is beyond what the room knows, so their histories differ.
    #[error("the client has frames through {client}, the room has {room}")]
    HistoryForked {
        /// The first tick that the room has not released.
        room: Tick,
        /// The first tick that the client does not have.
        client: Tick,
    },
    /// The ticket does not admit to this room, or there is none where one is needed (V1).
    #[error("the join ticket is not valid here")]
    Ticket,
    /// The room is locked: only who holds a seat gets in (V1).
    #[error("the room is locked")]
    Locked,
    /// The room takes no further observers (A14).
    #[error("the room takes no further observers")]
    Observers,
    /// The room is closing.
    #[error("the room is closing")]
    Closing,
    /// The first message was not a greeting, or was malformed.
    #[error("the first message was not a well-formed greeting")]
    Malformed,
}

/// Why the room ends a connection that it had greeted.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error, Encode, Decode)]
pub enum CloseReason {
    /// Another connection of the same player took the seat (A6).
    #[error("another connection took this seat")]
    Superseded,
    /// It left.
    #[error("the seat was left")]
    Left,
    /// It sent bytes that are no message, or broke the order of messages.
    #[error("a malformed message")]
    Malformed,
    /// It sent more than its budget (A11).
    #[error("too many messages")]
    Budget,
    /// It read too slowly (A11).
    #[error("too slow to read")]
    SlowConsumer,
    /// The room ended.
    #[error("the room ended")]
    RoomEnded,
    /// What the client has missed can't be replayed any more, and no snapshot is to be had (A7).
    #[error("the history that is missing is gone, and there is no snapshot: {0}")]
    NoHistory(NoSnapshot),
    /// After a restart the room went on without frames that the client has (A12).
    #[error("the room went on from tick {room}, but the client has frames through {client}")]
    HistoryForked {
        /// The first tick that the room did not have.
        room: Tick,
        /// The first tick that the client does not have.
        client: Tick,
    },
}
