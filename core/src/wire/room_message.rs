//! What the room sends.

use alloc::vec::Vec;

use bincode::{BorrowDecode, Decode, Encode};

use super::{
    CloseReason, Finding, Frames, InquiryId, MAX_EPHEMERAL_BYTES, MAX_RESULT_BYTES, MAX_ROOM_MESSAGE_BYTES,
    MessageError, NoSnapshot, Question, Refusal, RoomClock, SNAPSHOT_CHUNK_BYTES, SnapshotHeader, TransferId, Welcome,
};
use crate::codec::wire::{self, List};
use crate::digest::Checksum;
use crate::seat::{ControlEpoch, Generation, MAX_SEATS, Presence, Seat};
use crate::tick::Tick;

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

/// One seat, for a lobby's screen (A5, A15). What the simulation sees of a seat stands in the frames.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Encode, Decode)]
pub struct SeatView {
    /// Who drives it.
    pub presence: Presence,
    /// Whether somebody has claimed it and does not take part yet.
    pub joining: bool,
    /// Whether its player wants the match to begin.
    pub ready: bool,
    /// Its control epoch.
    pub epoch: ControlEpoch,
}

/// How a match was settled (A15).
#[derive(Clone, Copy, PartialEq, Eq, Debug, Encode, BorrowDecode)]
pub enum Settlement<'a> {
    /// Every seat that had to say something said this.
    Agreed {
        /// The state that says so: `n` for `S(n)`.
        tick: Tick,
        /// The game's bytes.
        result: &'a [u8],
    },
    /// Two seats contradict each other, in their results or in a checksum before.
    Disputed,
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
    /// Who is there (A5, A15); sent when it changes.
    Roster {
        /// Whether the room is locked (V1).
        locked: bool,
        /// Every seat, in order.
        seats: List<SeatView, { MAX_SEATS as usize }>,
    },
    /// The receiver's seat takes part from this tick on: earlier inputs of this claim don't count (A5).
    Activated {
        /// The generation of the tick.
        generation: Generation,
        /// The tick.
        tick: Tick,
    },
    /// The clock stands still, and this tick is not confirmed before it goes on (A15).
    Paused {
        /// The generation of the tick.
        generation: Generation,
        /// The tick.
        tick: Tick,
    },
    /// The clock goes on (A15).
    Resumed {
        /// The generation.
        generation: Generation,
        /// Where the clock is.
        clock: RoomClock,
    },
    /// A new generation begins; its clock runs once everyone is ready for it (A10).
    Reconfigured {
        /// The match with its new config, encoded.
        descriptor: &'a [u8],
    },
    /// The match has a result (A15).
    Settled {
        /// The generation.
        generation: Generation,
        /// Which.
        settlement: Settlement<'a>,
    },
    /// The room needs a snapshot of a confirmed state that the receiver reports the checksum of (A7).
    SnapshotWanted {
        /// The transfer.
        transfer: TransferId,
        /// The generation of the state.
        generation: Generation,
        /// The state: `n` for `S(n)`.
        tick: Tick,
    },
    /// The donor's chunks before this one arrived.
    SnapshotProgress {
        /// The transfer.
        transfer: TransferId,
        /// The first chunk that the room does not have.
        next: u32,
    },
    /// The donor need not go on.
    SnapshotCanceled {
        /// The transfer.
        transfer: TransferId,
    },
    /// A snapshot for the receiver; its chunks follow.
    Snapshot {
        /// What it is.
        header: SnapshotHeader,
        /// Whether other seats than the donor reported this checksum (A7).
        verified: bool,
    },
    /// A part of it.
    SnapshotChunk {
        /// The transfer.
        transfer: TransferId,
        /// Which part, from 0.
        index: u32,
        /// Its bytes.
        bytes: &'a [u8],
    },
    /// There is no snapshot just now; the room tries again as long as the receiver stays.
    NoSnapshot {
        /// Why.
        cause: NoSnapshot,
    },
    /// The room was restarted, and asks for the frames from this tick on (A12).
    TailWanted {
        /// The generation of the tick.
        generation: Generation,
        /// The first tick that the room does not have.
        next: Tick,
    },
    /// The service is about to stop (V1).
    Draining {
        /// How long the room still lives, in milliseconds.
        millis: u32,
    },
    /// Asks about a state of which reports differ (A8). The receiver answers by [`ClientMessage::Answer`](super::ClientMessage::Answer).
    Inquiry {
        /// The question's number.
        inquiry: InquiryId,
        /// The generation of the state.
        generation: Generation,
        /// The question.
        question: Question,
    },
    /// Where the states of a desync differ (A8).
    Found {
        /// The generation of the state.
        generation: Generation,
        /// What was found.
        finding: Finding<'a>,
    },
    /// The room's referee has said which checksum of a state is right, and these seats reported another one (A13). Each seat is named
    /// once for a state.
    Verdict {
        /// The generation of the state.
        generation: Generation,
        /// The state: `n` for `S(n)`.
        tick: Tick,
        /// The right checksum.
        checksum: Checksum,
        /// The seats that are wrong.
        wrong: List<Seat, { MAX_SEATS as usize }>,
    },
    /// A snapshot that puts the receiver right, which plays on meanwhile; its chunks follow (A13).
    Repair {
        /// What it is.
        header: SnapshotHeader,
    },
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
        let message: RoomMessage<'a> = wire::decode(bytes, MAX_ROOM_MESSAGE_BYTES)?;
        if message.is_within_limits() { Ok(message) } else { Err(MessageError::Limit) }
    }

    fn is_within_limits(&self) -> bool {
        match self {
            RoomMessage::Frames(frames) => frames.is_valid(),
            RoomMessage::Ephemeral { payload, .. } => payload.len() <= MAX_EPHEMERAL_BYTES,
            RoomMessage::Settled { settlement: Settlement::Agreed { result, .. }, .. } => {
                result.len() <= MAX_RESULT_BYTES
            }
            RoomMessage::Snapshot { header, .. } | RoomMessage::Repair { header } => header.is_valid(),
            RoomMessage::Inquiry { question, .. } => question.is_valid(),
            RoomMessage::Found { finding, .. } => finding.is_valid(),
            RoomMessage::SnapshotChunk { bytes, .. } => bytes.len() <= SNAPSHOT_CHUNK_BYTES,
            _ => true,
        }
    }
}
