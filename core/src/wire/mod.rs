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

mod frames;
#[cfg(test)]
mod refusals;

use alloc::vec::Vec;

use bincode::{BorrowDecode, Decode, Encode};

pub use frames::Frames;

use crate::codec::wire::{self, Cursor, List, WireError};
use crate::digest::{Checksum, Identity};
use crate::identity::{InputLimits, MAX_DESCRIPTOR_BYTES};
use crate::input::MAX_INPUT_BYTES;
use crate::seat::{ControlEpoch, Generation, MAX_SEATS, Seat};
use crate::tick::{Moment, Tick};

/// The protocol that this build speaks. Raised when a message changes its form.
pub const PROTOCOL_VERSION: u16 = 2;
/// Most bytes of a message to the room.
pub const MAX_CLIENT_MESSAGE_BYTES: usize = 64 * 1024;
/// Most bytes of a message from the room.
pub const MAX_ROOM_MESSAGE_BYTES: usize = MAX_DESCRIPTOR_BYTES + 256 * 1024;
/// Most ticks of input in one message.
pub const MAX_INPUTS_PER_MESSAGE: usize = 512;
/// Most frames in one message.
pub const MAX_FRAMES_PER_MESSAGE: u32 = 1024;
/// Most bytes of an ephemeral (A9).
pub const MAX_EPHEMERAL_BYTES: usize = 1024;
/// Most bytes of a join ticket (V1).
pub const MAX_TICKET_BYTES: usize = 1024;

const _: () = assert!(MAX_CLIENT_MESSAGE_BYTES > crate::frame::MAX_COMMAND_BYTES + 64, "a command fits its message");

/// Proves who may take a seat again (A6): unguessable, bound to one room and seat.
#[derive(Clone, Copy, PartialEq, Eq, Encode, Decode)]
pub struct ResumeToken(pub [u8; 32]);

impl ResumeToken {
    /// Whether two tokens are equal, in time that does not depend on where they differ.
    #[must_use]
    pub fn matches(&self, other: &ResumeToken) -> bool {
        self.0.iter().zip(&other.0).fold(0, |difference, (a, b)| difference | (a ^ b)) == 0
    }
}

impl core::fmt::Debug for ResumeToken {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.write_str("ResumeToken(secret)")
    }
}

/// Numbers one claim of a seat in a room (A5).
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default, Encode, Decode)]
pub struct ClaimId(pub u64);

/// The release's proof after a restart (A12): 8 bytes, keyed with a secret of the room's.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Encode, Decode)]
pub struct ReleaseTag(pub [u8; 8]);

/// How a connection enters the room.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Encode, BorrowDecode)]
pub enum Entry<'a> {
    /// Claims a free seat. The ticket is the game backend's (V1), empty in an open room.
    Join {
        /// The join ticket.
        ticket: &'a [u8],
    },
    /// Takes the same seat again after a lost transport (A6).
    Resume {
        /// The seat.
        seat: Seat,
        /// The token that the seat was greeted with last.
        token: ResumeToken,
        /// The generation that the client is on.
        generation: Generation,
        /// The first tick whose frame the client does not have.
        next: Tick,
    },
}

/// A client's first message.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Encode, BorrowDecode)]
pub struct Hello<'a> {
    /// The protocol that the client speaks; first, so that any version can read it.
    pub protocol: u16,
    /// The identity that the client has loaded.
    pub identity: Identity,
    /// What it wants.
    pub entry: Entry<'a>,
}

/// Packed inputs for consecutive ticks, one behind another. All inputs of a game have the same length, so the run needs no
/// lengths of its own, and reading it allocates nothing.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Encode, BorrowDecode)]
pub struct InputRun<'a> {
    count: u32,
    bytes: &'a [u8],
}

impl<'a> InputRun<'a> {
    /// A run of `count` inputs of equal length; `None` when the bytes do not divide into so many, when an input would be longer
    /// than [`MAX_INPUT_BYTES`], and for more than [`MAX_INPUTS_PER_MESSAGE`] inputs or none.
    pub fn new(count: u32, bytes: &'a [u8]) -> Option<InputRun<'a>> {
        let run = InputRun { count, bytes };
        run.is_valid().then_some(run)
    }

    fn is_valid(&self) -> bool {
        let count = self.len();
        (1..=MAX_INPUTS_PER_MESSAGE).contains(&count)
            && self.bytes.len().is_multiple_of(count)
            && self.bytes.len() / count <= MAX_INPUT_BYTES
    }

    /// How many inputs there are.
    #[expect(clippy::len_without_is_empty, reason = "a run is never empty")]
    pub const fn len(&self) -> usize {
        self.count as usize
    }

    /// The inputs, in the order of their ticks.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = &'a [u8]> + use<'a> {
        let (bytes, each) = (self.bytes, self.bytes.len() / self.len().max(1));
        (0..self.len()).map(move |index| &bytes[index * each..(index + 1) * each])
    }
}

/// A run of inputs for consecutive ticks.
#[derive(Clone, PartialEq, Eq, Debug, Encode, BorrowDecode)]
pub struct Inputs<'a> {
    /// The generation of the ticks.
    pub generation: Generation,
    /// The control epoch under which they were sampled.
    pub epoch: ControlEpoch,
    /// Tick of the first input.
    pub first: Tick,
    /// The inputs, packed, one a tick.
    pub inputs: InputRun<'a>,
}

/// What a client sends.
#[derive(Clone, PartialEq, Eq, Debug, Encode, BorrowDecode)]
pub enum ClientMessage<'a> {
    /// The first message of every connection.
    Hello(Hello<'a>),
    /// The client has verified the greeting and built its session; its seat may be waited for.
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
        /// Strictly increasing within a control epoch.
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
    },
    /// Leaves the match for good (A1).
    Leave,
}

/// Rules of the room that every client follows; they stand in the greeting.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Encode, Decode)]
pub struct RoomRules {
    /// Ticks that the room waits for an input before it substitutes (A1).
    pub hard_tolerance_ticks: u16,
    /// Every how many confirmed ticks a checksum is reported (A8).
    pub checksum_cadence_ticks: u32,
}

/// The greeting (A7).
#[derive(Clone, Copy, PartialEq, Eq, Debug, Encode, BorrowDecode)]
pub struct Welcome<'a> {
    /// The seat that this connection holds.
    pub seat: Seat,
    /// The claim under which it holds it.
    pub claim: ClaimId,
    /// The seat's control epoch.
    pub epoch: ControlEpoch,
    /// What resumes the seat.
    pub token: ResumeToken,
    /// The match, encoded; verified against the client's own module before tick 0 is built.
    pub descriptor: &'a [u8],
    /// The room's rules.
    pub rules: RoomRules,
    /// The first tick that no frame was released for yet.
    pub frontier: Tick,
}

/// A position on the room's clock.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Default, Encode, Decode)]
pub struct RoomClock {
    /// Microseconds since the generation's tick 0 began, as the room's clamped clock counts them.
    pub micros: u64,
}

impl RoomClock {
    /// The same position as a moment since tick 0.
    pub const fn moment(self) -> Moment {
        Moment::from_micros(self.micros)
    }
}

/// What the room counted about the receiver's own seat.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Encode, Decode)]
pub struct SeatCounters {
    /// Inputs that came after their tick was confirmed.
    pub late_inputs: u64,
    /// Second, different inputs for one tick.
    pub conflicting_inputs: u64,
    /// Inputs that were refused: too far ahead, too long, of a stale epoch or generation.
    pub refused_inputs: u64,
    /// Commands that were refused.
    pub rejected_commands: u64,
}

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
    /// The ticket does not admit to this room.
    #[error("the join ticket is not valid here")]
    Ticket,
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
}

/// What the room sends.
#[derive(Clone, PartialEq, Eq, Debug, Encode, BorrowDecode)]
pub enum RoomMessage<'a> {
    /// The greeting.
    Welcome(Welcome<'a>),
    /// No greeting; the connection ends.
    Refused(Refusal),
    /// Tick 0 of a generation has begun, and the clock runs.
    Started {
        /// The generation.
        generation: Generation,
        /// Where the clock is.
        clock: RoomClock,
    },
    /// Confirmed frames.
    Frames(Frames<'a>),
    /// Answers a ping.
    Pong {
        /// The client's clock, as it sent it.
        sent_micros: u64,
        /// The room's clock, if it runs.
        clock: Option<RoomClock>,
        /// What was counted about the receiver.
        counters: SeatCounters,
    },
    /// Two reports of one state differ (A8).
    Desync {
        /// The generation of the tick.
        generation: Generation,
        /// The state: `n` for `S(n)`.
        tick: Tick,
        /// Every seat's report.
        values: List<(Seat, Checksum), { MAX_SEATS as usize }>,
    },
    /// Another seat's ephemeral.
    Ephemeral {
        /// Whose.
        seat: Seat,
        /// Its bytes.
        payload: &'a [u8],
    },
    /// The connection ends.
    Closing(CloseReason),
}

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
        let message = wire::decode(bytes, MAX_CLIENT_MESSAGE_BYTES)?;
        let fits = match &message {
            ClientMessage::Hello(Hello { entry: Entry::Join { ticket }, .. }) => ticket.len() <= MAX_TICKET_BYTES,
            ClientMessage::Inputs(inputs) => inputs.inputs.is_valid(),
            ClientMessage::Ephemeral { payload } => payload.len() <= MAX_EPHEMERAL_BYTES,
            _ => true,
        };
        if fits { Ok(message) } else { Err(MessageError::Limit) }
    }
}

impl<'a> RoomMessage<'a> {
    /// Appends the message's bytes.
    pub fn encode_into(&self, out: &mut Vec<u8>) {
        wire::encode_into(self, out);
    }

    /// The message that `bytes` are.
    ///
    /// # Errors
    /// [`MessageError`].
    pub fn decode(bytes: &'a [u8]) -> Result<RoomMessage<'a>, MessageError> {
        let message = wire::decode(bytes, MAX_ROOM_MESSAGE_BYTES)?;
        match &message {
            RoomMessage::Frames(frames) if frames.count == 0 || frames.count > MAX_FRAMES_PER_MESSAGE => {
                Err(MessageError::Limit)
            }
            RoomMessage::Ephemeral { payload, .. } if payload.len() > MAX_EPHEMERAL_BYTES => Err(MessageError::Limit),
            _ => Ok(message),
        }
    }
}

/// Appends a [`ClientMessage::Inputs`] from `count` inputs of `input_bytes` each that lie one by one, without gathering them.
pub fn encode_inputs<'a>(
    header: (Generation, ControlEpoch, Tick),
    count: u32,
    input_bytes: usize,
    inputs: impl Iterator<Item = &'a [u8]>,
    out: &mut Vec<u8>,
) {
    let (generation, epoch, first) = header;
    let total = u64::from(count) * input_bytes as u64;
    wire::encode_into(&(INPUTS, generation, epoch, first, count, total), out);
    inputs.for_each(|input| out.extend_from_slice(input));
}

/// Number of [`ClientMessage::Inputs`] on the wire.
const INPUTS: u32 = 2;

/// How many ticks ahead of the frontier a seat may buffer inputs (A4): the larger of two seconds, and the tolerance with the
/// largest input delay.
pub fn look_ahead_ticks(tick_rate: crate::tick::TickRate, rules: &RoomRules, limits: &InputLimits) -> u64 {
    let slack = u64::from(rules.hard_tolerance_ticks) + u64::from(limits.max_input_delay_ticks);
    slack.max(2 * u64::from(tick_rate.hz()))
}

#[cfg(test)]
mod tests {
    use alloc::vec;

    use super::*;

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
