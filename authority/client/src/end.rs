//! How a networked client ends, and what can go wrong below it.

use std::io;

use retick_core::client::{Client, EndReason};
use retick_core::session::SubmitError;
use retick_core::tick::Tick;

/// Why a client is over. [`NetEnd::Stopped`] and [`NetEnd::Left`] were asked for;
/// [`EndReason::Closed`] with `RoomEnded` is how a room ends that was closed.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum NetEnd {
    /// It was stopped; its seat waits for the length of the room's grace.
    #[error("stopped")]
    Stopped,
    /// It left the match for good.
    #[error("left the match")]
    Left,
    /// The machine is over.
    #[error("{0}")]
    Machine(EndReason),
    /// The service could not be reached for too long, or refused the connection for good.
    #[error("no connection after {attempts} attempts: {last}")]
    Unreachable {
        /// Attempts that failed in a row.
        attempts: u32,
        /// How the last one failed.
        last: ConnectError,
    },
    /// The player's callback gave bytes that are not an input of the game.
    #[error("the input for tick {tick}: {error}")]
    Input {
        /// The tick.
        tick: Tick,
        /// What is wrong with it.
        error: SubmitError,
    },
}

/// Why an attempt to connect failed.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
pub enum ConnectError {
    /// It took too long.
    #[error("the connection took too long")]
    Timeout,
    /// The network failed.
    #[error("the network failed: {0}")]
    Io(io::ErrorKind),
    /// There is no such room. Final.
    #[error("there is no such room")]
    NoSuchRoom,
    /// The service answered with this HTTP status. Final from 400 to 499.
    #[error("the service answered with status {status}")]
    Refused {
        /// The status.
        status: u16,
    },
    /// The socket opened, but was lost before the room had answered the greeting.
    #[error("the room did not answer the greeting")]
    NoGreeting,
    /// The other side does not speak WebSocket.
    #[error("the other side does not speak WebSocket")]
    Handshake,
}

impl ConnectError {
    /// Whether a further attempt can't succeed.
    pub fn is_final(&self) -> bool {
        match self {
            ConnectError::NoSuchRoom => true,
            ConnectError::Refused { status } => (400..500).contains(status),
            _ => false,
        }
    }
}

impl From<io::Error> for ConnectError {
    fn from(error: io::Error) -> ConnectError {
        ConnectError::Io(error.kind())
    }
}

/// Why a transport was lost. Not terminal.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
pub enum LostTransport {
    /// The other side closed it, or the network did.
    #[error("the connection was closed")]
    Closed,
    /// Nothing came for too long.
    #[error("nothing was received for too long")]
    Silent,
    /// More than [`MAX_UNSENT_BYTES`](crate::MAX_UNSENT_BYTES) wait to be sent.
    #[error("too much waits to be sent")]
    Congested,
    /// Something else than a binary message came.
    #[error("a message that is not binary, or is too long")]
    Protocol,
    /// The caller asked for a new transport.
    #[error("a new transport was asked for")]
    Requested,
}

/// What is left of a client that is over.
#[must_use]
pub struct Outcome {
    /// Why it is over.
    pub end: NetEnd,
    /// The machine, for its session, its statistics and the head of its frame chain.
    pub client: Client,
    /// How many transports were lost.
    pub lost_transports: u64,
}

impl std::fmt::Debug for Outcome {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Outcome { end, client, lost_transports } = self;
        let confirmed = client.session().map(|session| session.confirmed());
        f.debug_struct("Outcome")
            .field("end", end)
            .field("confirmed", &confirmed)
            .field("lost_transports", lost_transports)
            .finish_non_exhaustive()
    }
}

/// The client's task is gone without an outcome: a callback of the player panicked, or its runtime was shut down.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
#[error("the client's task panicked, or its runtime was shut down")]
pub struct TaskLost;
