//! The messages between clients and the room, and their limits.
//!
//! A message is one WebSocket binary message, or one datagram: bincode 2 in its variable-length form, the enum's number first.
//! Every message about ticks carries the generation (A10), and inputs carry the control epoch too (A5). These types borrow from
//! the received bytes; they are not the types that the machines keep.
//!
//! ```
//! use retick_core::seat::{ControlEpoch, Generation};
//! use retick_core::tick::Tick;
//! use retick_core::wire::{ClientMessage, InputRun, Inputs};
//!
//! // Two ticks of a game whose inputs take one byte.
//! let inputs = InputRun::new(2, &[10, 20]).expect("two inputs of one byte");
//! let (generation, epoch, first) = (Generation(0), ControlEpoch(1), Tick::new(40));
//! let mut bytes = Vec::new();
//! ClientMessage::Inputs(Inputs { generation, epoch, first, inputs }).encode_into(&mut bytes);
//!
//! let Ok(ClientMessage::Inputs(received)) = ClientMessage::decode(&bytes) else { panic!("its own bytes") };
//! assert_eq!((received.first, received.inputs.iter().last()), (first, Some(&[20][..])));
//! // Whatever else arrives is a typed error.
//! assert!(ClientMessage::decode(&bytes[..bytes.len() - 1]).is_err() && ClientMessage::decode(b"hello").is_err());
//! ```

mod assembly;
mod client_message;
mod clock;
mod end;
mod entry;
mod frames;
mod inputs;
mod inquiry;
#[cfg(test)]
mod refusals;
mod room_message;
mod transfer;

pub use self::assembly::{Assembly, Chunk, ChunkError};
pub use self::client_message::ClientMessage;
pub use self::clock::RoomClock;
pub use self::end::{CloseReason, Refusal};
pub use self::entry::{Claim, ClaimId, Entry, Hello, History, PlayerId, ResumeToken, RoomRules, Welcome};
pub use self::frames::{Frames, ReleaseTag};
pub use self::inputs::{InputRun, Inputs, encode_inputs};
pub use self::inquiry::{
    Answer, Finding, InquiryId, MAX_INQUIRY_BYTES, MAX_INQUIRY_TICKS, MAX_PLACE_BYTES, Place, PlaceTick, Question,
    StateSource, Witness,
};
pub use self::room_message::{RoomMessage, SeatCounters, SeatView, Settlement};
pub use self::transfer::{
    MAX_SNAPSHOT_CHUNKS, NoSnapshot, SNAPSHOT_CHUNK_BYTES, SNAPSHOT_WINDOW_CHUNKS, SnapshotHeader, TransferId,
};
use crate::codec::wire::WireError;
use crate::identity::{InputLimits, MAX_DESCRIPTOR_BYTES};

/// The protocol that this build speaks. Raised when a message changes its form.
pub const PROTOCOL_VERSION: u16 = 3;
/// Most bytes of a message to the room.
pub const MAX_CLIENT_MESSAGE_BYTES: usize = SNAPSHOT_CHUNK_BYTES + 4096;
/// Most bytes of a message from the room.
pub const MAX_ROOM_MESSAGE_BYTES: usize = MAX_DESCRIPTOR_BYTES + SNAPSHOT_CHUNK_BYTES;
/// Most ticks of input in one message.
pub const MAX_INPUTS_PER_MESSAGE: usize = 512;
/// Most frames in one message.
pub const MAX_FRAMES_PER_MESSAGE: u32 = 1024;
/// Most ticks of which a client keeps the newest frames, for a room that lost them (A12).
pub const MAX_TAIL_TICKS: usize = 1024;
/// Bytes of those frames at which the oldest are dropped; each is self-contained.
pub const MAX_TAIL_BYTES: usize = 1 << 20;
/// Most bytes of an ephemeral (A9).
pub const MAX_EPHEMERAL_BYTES: usize = 1024;
/// Most bytes of a join ticket (V1).
pub const MAX_TICKET_BYTES: usize = 1024;
/// Most bytes of a match's result (A15).
pub const MAX_RESULT_BYTES: usize = 1024;

const _: () = assert!(MAX_CLIENT_MESSAGE_BYTES > crate::frame::MAX_COMMAND_BYTES + 64, "a command fits its message");
const _: () = assert!(MAX_CLIENT_MESSAGE_BYTES > crate::config::MAX_CONFIG_BYTES + 64, "a config fits its message");
const _: () = assert!(MAX_DESCRIPTOR_BYTES > 1024, "a chunk of a snapshot fits its message");

/// Bytes that are not a message.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
pub enum MessageError {
    /// The greeting is of another protocol; nothing else in it was read.
    #[error("protocol {theirs}, where {PROTOCOL_VERSION} is spoken")]
    Protocol {
        /// The protocol of the greeting.
        theirs: u16,
    },
    /// The bytes are malformed.
    #[error("{0}")]
    Encoding(#[from] WireError),
    /// A part of the message is beyond its limit.
    #[error("a part of the message is beyond its limit")]
    Limit,
}

/// How many ticks ahead of the frontier a seat may buffer inputs (A4): the larger of two seconds, and the tolerance with the
/// largest input delay.
pub fn look_ahead_ticks(tick_rate: crate::tick::TickRate, rules: &RoomRules, limits: &InputLimits) -> u64 {
    let slack = u64::from(rules.hard_tolerance_ticks) + u64::from(limits.max_input_delay_ticks);
    slack.max(2 * u64::from(tick_rate.hz()))
}

#[cfg(test)]
mod tests {
    use alloc::vec;
    use alloc::vec::Vec;

    use super::*;
    use crate::digest::Identity;
    use crate::input::MAX_INPUT_BYTES;
    use crate::seat::{ControlEpoch, Generation};
    use crate::tick::Tick;

    fn bytes_of(message: &ClientMessage<'_>) -> Vec<u8> {
        let mut bytes = vec![];
        message.encode_into(&mut bytes);
        bytes
    }

    fn hello(protocol: u16) -> Vec<u8> {
        let entry = Entry::Join { ticket: b"" };
        bytes_of(&ClientMessage::Hello(Hello { protocol, identity: Identity::from_bytes([7; 32]), entry }))
    }

    #[test]
    fn v1_a_greeting_of_another_protocol_is_told_apart_whatever_follows() {
        assert!(matches!(ClientMessage::decode(&hello(PROTOCOL_VERSION)), Ok(ClientMessage::Hello(_))));
        let mut foreign = hello(9);
        foreign.truncate(5);
        foreign.extend_from_slice(b"whatever a later protocol says");
        assert_eq!(ClientMessage::decode(&foreign), Err(MessageError::Protocol { theirs: 9 }));
    }

    #[test]
    fn k13_messages_end_at_their_limits() {
        let inputs = |each: usize, count: usize| {
            let bytes = vec![7; each * count];
            let inputs = InputRun { count: u32::try_from(count).expect("small"), bytes: &bytes };
            let (generation, epoch, first) = (Generation(0), ControlEpoch(0), Tick::ZERO);
            let message = bytes_of(&ClientMessage::Inputs(Inputs { generation, epoch, first, inputs }));
            ClientMessage::decode(&message).map(|_| ())
        };
        assert_eq!(inputs(MAX_INPUT_BYTES, 8), Ok(()));
        assert_eq!(inputs(MAX_INPUT_BYTES + 1, 1), Err(MessageError::Limit));
        assert_eq!(inputs(0, MAX_INPUTS_PER_MESSAGE), Ok(()));
        assert_eq!(inputs(0, MAX_INPUTS_PER_MESSAGE + 1), Err(MessageError::Limit));
        assert_eq!(inputs(1, 0), Err(MessageError::Limit));
        assert_eq!(InputRun::new(2, &[1, 2, 3]), None);
        let run = InputRun::new(2, &[1, 2, 3, 4]).expect("even");
        assert_eq!(run.iter().collect::<Vec<_>>(), [[1, 2], [3, 4]]);
        for (length, fits) in [(MAX_EPHEMERAL_BYTES, true), (MAX_EPHEMERAL_BYTES + 1, false)] {
            let payload = vec![0; length];
            let bytes = bytes_of(&ClientMessage::Ephemeral { payload: &payload });
            assert_eq!(ClientMessage::decode(&bytes).is_ok(), fits);
        }
    }

    #[test]
    fn n2_inputs_encode_the_same_gathered_and_one_by_one() {
        let inputs: [&[u8]; 3] = [b"ab", b"cd", b"ef"];
        let (generation, epoch, first) = (Generation(1), ControlEpoch(2), Tick::new(300));
        let run = InputRun::new(3, b"abcdef").expect("even");
        let gathered = bytes_of(&ClientMessage::Inputs(Inputs { generation, epoch, first, inputs: run }));
        let mut streamed = vec![];
        encode_inputs((generation, epoch, first), 3, 2, inputs.into_iter(), &mut streamed);
        assert_eq!(streamed, gathered);
        assert!(ClientMessage::are_inputs(&gathered) && !ClientMessage::are_inputs(&[]));
        for other in [ClientMessage::Leave, ClientMessage::Ready { generation }, ClientMessage::Start] {
            assert!(!ClientMessage::are_inputs(&bytes_of(&other)));
        }
    }

    #[test]
    fn k13_inputs_are_read_field_by_field_as_the_general_way_reads_them() {
        let edges = [0, 250, 251, u64::from(u16::MAX), 1 << 16, u64::from(u32::MAX), 1 << 32, u64::MAX];
        let mut messages = Vec::new();
        for first in edges.map(Tick::new) {
            for number in [0, 250, 251, 1 << 16, u32::MAX] {
                for inputs in [InputRun { count: 2, bytes: b"abcd" }, InputRun { count: 300, bytes: &[7; 300] }] {
                    let (generation, epoch) = (Generation(number), ControlEpoch(number));
                    messages.push(bytes_of(&ClientMessage::Inputs(Inputs { generation, epoch, first, inputs })));
                }
            }
        }
        let agree = |bytes: &[u8]| {
            let (read, general) = (Inputs::read(bytes).map(ClientMessage::Inputs), ClientMessage::decode_any(bytes));
            assert_eq!(read, general.ok().filter(|_| ClientMessage::are_inputs(bytes)), "{bytes:?}");
        };
        for mut bytes in messages {
            agree(&bytes);
            // Everything that one wrong byte in the header makes of it, and every shorter and longer form.
            for place in 0..bytes.len().min(28) {
                let right = bytes[place];
                for wrong in 0..=u8::MAX {
                    bytes[place] = wrong;
                    agree(&bytes);
                }
                bytes[place] = right;
                agree(&bytes[..place]);
                let mut longer = bytes.clone();
                longer.insert(place, 0);
                agree(&longer);
            }
        }
    }

    #[test]
    fn a6_tokens_are_compared_whole_and_never_printed() {
        let token = ResumeToken([1; 32]);
        let mut other = token;
        other.0[31] = 0;
        assert!(token.matches(&token) && !token.matches(&other));
        assert_eq!(alloc::format!("{token:?}"), "ResumeToken(secret)");
    }
}
