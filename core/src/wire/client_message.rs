//! What a client sends.

use alloc::vec::Vec;

use bincode::{BorrowDecode, Encode};

use super::inputs::INPUTS;
use super::{
    Answer, Frames, Hello, Inputs, InquiryId, MAX_CLIENT_MESSAGE_BYTES, MAX_EPHEMERAL_BYTES, MAX_RESULT_BYTES,
    MessageError, NoSnapshot, PROTOCOL_VERSION, SNAPSHOT_CHUNK_BYTES, SnapshotHeader, TransferId,
};
use crate::codec::wire::{self, Cursor};
use crate::digest::Checksum;
use crate::seat::Generation;
use crate::tick::Tick;

/// What a client sends.
#[derive(Clone, PartialEq, Eq, Debug, Encode, BorrowDecode)]
pub enum ClientMessage<'a> {
    /// The first message of every connection.
    Hello(Hello<'a>),
    /// The client has verified the greeting, built its session, and caught up with what had been confirmed when it was greeted; its
    /// seat may be waited for.
    Ready {
        /// The generation it is ready for.
        generation: Generation,
    },
    /// Inputs of its seat (N2).
    Inputs(Inputs<'a>),
    /// The checksum of a confirmed state (A8).
    Report {
        /// The generation of the tick.
        generation: Generation,
        /// The state: `n` for `S(n)`.
        tick: Tick,
        /// Its checksum.
        checksum: Checksum,
    },
    /// A request for a command (A9).
    Command {
        /// The generation it was made in.
        generation: Generation,
        /// Strictly increasing on a connection within a control epoch.
        sequence: u32,
        /// The game's bytes, at most 4,096.
        payload: &'a [u8],
    },
    /// Bytes for all others, outside the match (A9).
    Ephemeral {
        /// At most 1,024 bytes.
        payload: &'a [u8],
    },
    /// Asks for the room's clock.
    Ping {
        /// The client's own clock, in microseconds; comes back unchanged.
        sent_micros: u64,
        /// Mispredictions that the client has corrected so far, for whoever watches the room.
        rollbacks: u32,
    },
    /// Leaves the match for good (A1).
    Leave,
    /// The player wants the match to begin, or not yet (A15).
    Vote {
        /// Whether it wants.
        ready: bool,
    },
    /// Begins the match, where the creator does that (A15).
    Start,
    /// Holds the match, or lets it go on (A15).
    Pause {
        /// The generation it was asked in.
        generation: Generation,
        /// Whether it is to stand still.
        paused: bool,
    },
    /// Swaps the session config, and begins a new generation (A10).
    Reconfigure {
        /// The generation that the new one is to follow.
        generation: Generation,
        /// The new config's canonical bytes.
        config: &'a [u8],
    },
    /// The result of the match, by this client's confirmed simulation (A15).
    Result {
        /// The generation of the tick.
        generation: Generation,
        /// The state that says so: `n` for `S(n)`.
        tick: Tick,
        /// The game's bytes, at most 1,024.
        result: &'a [u8],
    },
    /// A donor has the snapshot that the room asked for; its chunks follow (A7).
    SnapshotOffer(SnapshotHeader),
    /// A part of it.
    SnapshotChunk {
        /// The transfer.
        transfer: TransferId,
        /// Which part, from 0.
        index: u32,
        /// Its bytes.
        bytes: &'a [u8],
    },
    /// A donor can't donate.
    SnapshotRefused {
        /// The transfer.
        transfer: TransferId,
        /// Why.
        cause: NoSnapshot,
    },
    /// A newcomer has all chunks before this one.
    SnapshotProgress {
        /// The transfer.
        transfer: TransferId,
        /// The first chunk that it does not have.
        next: u32,
    },
    /// A newcomer can't use what it received.
    SnapshotFailed {
        /// The transfer.
        transfer: TransferId,
    },
    /// Frames that the room asked for after a restart (A12).
    Tail(Frames<'a>),
    /// Answers a question about a state of which reports differ (A8).
    Answer {
        /// The question.
        inquiry: InquiryId,
        /// The answer.
        answer: Answer<'a>,
    },
}

/// Number of [`ClientMessage::Hello`] on the wire.
const HELLO: u8 = 0;

impl<'a> ClientMessage<'a> {
    /// Appends the message's bytes.
    pub fn encode_into(&self, out: &mut Vec<u8>) {
        wire::encode_into(self, out);
    }

    /// The message that `bytes` are. Of a greeting the protocol is read first, so that every version can be told apart.
    ///
    /// # Errors
    /// [`MessageError`].
    pub fn decode(bytes: &'a [u8]) -> Result<ClientMessage<'a>, MessageError> {
        // Most messages are no greeting, which their first byte says.
        if bytes.first() == Some(&HELLO) {
            let mut cursor = Cursor::new(bytes);
            let (_, theirs): (u32, u16) = cursor.take()?;
            if theirs != PROTOCOL_VERSION {
                return Err(MessageError::Protocol { theirs });
            }
        }
        if bytes.len() <= MAX_CLIENT_MESSAGE_BYTES
            && let Some(inputs) = Inputs::read(bytes)
        {
            return Ok(ClientMessage::Inputs(inputs));
        }
        ClientMessage::decode_any(bytes)
    }

    /// The general way, which also tells what is wrong.
    pub(super) fn decode_any(bytes: &'a [u8]) -> Result<ClientMessage<'a>, MessageError> {
        let message: ClientMessage<'a> = wire::decode(bytes, MAX_CLIENT_MESSAGE_BYTES)?;
        if message.is_within_limits() { Ok(message) } else { Err(MessageError::Limit) }
    }

    /// Whether `bytes` are inputs, if they are a message at all. Reads no more than what kind of message it is.
    #[must_use]
    pub fn are_inputs(bytes: &[u8]) -> bool {
        bytes.first() == Some(&INPUTS)
    }

    fn is_within_limits(&self) -> bool {
        match self {
            ClientMessage::Hello(hello) => hello.entry.is_valid(),
            ClientMessage::Inputs(inputs) => inputs.inputs.is_valid(),
            ClientMessage::Ephemeral { payload } => payload.len() <= MAX_EPHEMERAL_BYTES,
            ClientMessage::Result { result, .. } => result.len() <= MAX_RESULT_BYTES,
            ClientMessage::SnapshotOffer(header) => header.is_valid(),
            ClientMessage::SnapshotChunk { bytes, .. } => bytes.len() <= SNAPSHOT_CHUNK_BYTES,
            ClientMessage::Tail(frames) => frames.is_valid(),
            ClientMessage::Answer { answer, .. } => answer.is_valid(),
            _ => true,
        }
    }
}
