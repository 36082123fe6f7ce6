//! The records themselves: all that makes a restored room the same room (A12).
//!
//! A record says what changed, in the order in which it changed; what took effect on a tick comes before that tick's frame. What
//! ends with its transport (who was ready, votes, a countdown, an activation that was only scheduled) is not written down.

use alloc::vec::Vec;

use bincode::{BorrowDecode, Encode};
use retick_core::codec::wire::{self, WireError};
use retick_core::digest::Digest;
use retick_core::frame::{MAX_COMMAND_BYTES, MAX_COMMANDS_PER_FRAME};
use retick_core::identity::MAX_DESCRIPTOR_BYTES;
use retick_core::input::MAX_INPUT_BYTES;
use retick_core::seat::{ControlEpoch, Generation, MAX_SEATS, Seat};
use retick_core::tick::Tick;
use retick_core::wire::{ClaimId, PlayerId, RoomClock, Settlement};

use crate::room::{BotLeaseId, ClosedCause, Durability, RoomSecret, RoomSettings, SeatTransition, VacancyCause};

/// Most bytes of a record.
pub const MAX_RECORD_BYTES: usize = 512 * 1024;

/// Most bytes of a frame in its self-contained form, with room for the counts and tags around its parts.
pub(crate) const MAX_FRAME_BYTES: usize =
    MAX_SEATS as usize * (MAX_INPUT_BYTES + 16) + MAX_COMMANDS_PER_FRAME * (MAX_COMMAND_BYTES + 8) + 128;

const _: () = assert!(MAX_RECORD_BYTES > MAX_FRAME_BYTES + 64, "a frame's record fits");
const _: () = assert!(MAX_RECORD_BYTES > MAX_DESCRIPTOR_BYTES + 1024, "the first record fits");

/// The first byte of a summary, so that no other record is decoded to see that it is none.
const SUMMARY_TAG: u8 = 17;

/// One thing that a room must not forget (A12).
#[derive(Clone, Copy, PartialEq, Eq, Debug, Encode, BorrowDecode)]
pub enum Record<'a> {
    /// The room exists. Always the first record.
    Created {
        /// The match, encoded.
        descriptor: &'a [u8],
        /// The room's secret, from which tokens and tags follow. Whoever can read a log can take any seat in its room.
        secret: RoomSecret,
        /// Everything else that the room was made with.
        settings: RoomSettings,
    },
    /// A seat was claimed (A5): its holder is joining, and whoever held it before has no claim any more.
    Claimed {
        /// The seat.
        seat: Seat,
        /// The claim.
        claim: ClaimId,
        /// The control epoch that the seat has once it is activated.
        epoch: ControlEpoch,
        /// Who it is, if that is known (V1).
        player: Option<PlayerId>,
    },
    /// The driver of a seat changed (A5).
    SeatChanged {
        /// The seat.
        seat: Seat,
        /// How.
        transition: SeatTransition,
        /// The first tick of the new driver; its frame was not confirmed yet.
        tick: Tick,
        /// The seat's new control epoch.
        epoch: ControlEpoch,
        /// The lease, where the new driver is a bot.
        lease: Option<BotLeaseId>,
    },
    /// A seat's transport was lost, and its grace began (A6). A seat that was not activated yet must be ready again.
    Disconnected {
        /// The seat.
        seat: Seat,
    },
    /// A seat was resumed by its owner (A6).
    Resumed {
        /// The seat.
        seat: Seat,
        /// Number of the newest token of this claim; the first has 0.
        rotation: u32,
        /// Number of the oldest token of this claim that is still valid.
        proven: u32,
        /// The claim's control epoch: a new one where a bot had taken the seat.
        epoch: ControlEpoch,
    },
    /// The owner of a seat has proved that it received a token: older ones are not valid any more (A6).
    TokenProven {
        /// The seat.
        seat: Seat,
        /// Number of the token.
        rotation: u32,
    },
    /// A seat was given up (A5). What that does to its driver stands in the [`Record::SeatChanged`] behind it.
    Vacated {
        /// The seat.
        seat: Seat,
        /// Why.
        cause: VacancyCause,
        /// Whether its owner may still come back, without a grace, while a bot plays. Otherwise the claim has ended.
        retained: bool,
    },
    /// Tick 0 of a generation began.
    Started {
        /// The generation.
        generation: Generation,
    },
    /// The clock was stopped (A15).
    Paused {
        /// The generation.
        generation: Generation,
        /// The first tick that is not confirmed before the clock goes on.
        tick: Tick,
        /// Where the clock stands.
        clock: RoomClock,
    },
    /// The clock went on from where it stood (A15).
    Unpaused {
        /// The generation.
        generation: Generation,
    },
    /// The room was locked, or opened (V1).
    Locked {
        /// Whether it is locked now.
        locked: bool,
    },
    /// A new generation was set up (A10): history, reports, results, pauses and the chain start anew, seats keep their holders and
    /// epochs. Its clock runs from the next [`Record::Started`] on.
    Reconfigured {
        /// The match with its new config, encoded.
        descriptor: &'a [u8],
    },
    /// A seat said how the match ended (A15).
    Result {
        /// The seat.
        seat: Seat,
        /// The state that says so: `n` for `S(n)`.
        tick: Tick,
        /// The game's bytes.
        result: &'a [u8],
    },
    /// The match was settled (A15).
    Settled {
        /// The generation.
        generation: Generation,
        /// How.
        settlement: Settlement<'a>,
    },
    /// A tick was confirmed.
    Frame {
        /// The tick.
        tick: Tick,
        /// The frame in its self-contained form.
        frame: &'a [u8],
        /// The frame chain's head with this frame.
        head: Digest,
    },
    /// The room was restored from this log, and another run of it begins. Frames behind the ones that are in the log by then, or
    /// that clients gave back, carry this fence.
    Fence {
        /// How often the room was restored.
        fence: u32,
        /// What waits for the log in this run.
        durability: Durability,
    },
    /// The room ended. Always the last record.
    Closed {
        /// Why.
        cause: ClosedCause,
    },
    /// All that the records before this one say of the room, so that they are not needed any more: a log may begin with it (A7).
    Summary {
        /// The generation.
        generation: Generation,
        /// The first tick without a frame.
        frontier: Tick,
        /// The frame chain's head before that tick.
        head: Digest,
        /// The room without its frames, its secret among it. [`Room::restore`](crate::room::Room::restore) reads it.
        room: &'a [u8],
    },
    /// Two reports of a state differed (A8): no result of this generation is agreed any more.
    Desync {
        /// The generation.
        generation: Generation,
        /// The state: `n` for `S(n)`.
        tick: Tick,
    },
}

impl<'a> Record<'a> {
    /// Appends the record's bytes.
    pub fn encode_into(&self, out: &mut Vec<u8>) {
        wire::encode_into(self, out);
    }

    /// Whether `bytes` are the record of a frame, on which only other frames depend.
    pub fn is_frame(bytes: &[u8]) -> bool {
        matches!(Record::decode(bytes), Ok(Record::Frame { .. }))
    }

    /// Whether `bytes` are a [`Record::Summary`], which a log can begin with.
    #[must_use]
    pub fn is_summary(bytes: &[u8]) -> bool {
        bytes.first() == Some(&SUMMARY_TAG) && matches!(Record::decode(bytes), Ok(Record::Summary { .. }))
    }

    /// The record that `bytes` are.
    ///
    /// # Errors
    /// [`WireError`] when they are longer than [`MAX_RECORD_BYTES`], malformed or not canonical.
    pub fn decode(bytes: &'a [u8]) -> Result<Record<'a>, WireError> {
        wire::decode(bytes, MAX_RECORD_BYTES)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a12_a_summary_is_known_by_its_first_byte() {
        let (generation, frontier, head) = (Generation(0), Tick::ZERO, Digest::of(b"head"));
        let mut bytes = Vec::new();
        Record::Summary { generation, frontier, head, room: b"room" }.encode_into(&mut bytes);
        assert!(Record::is_summary(&bytes) && !Record::is_summary(&bytes[..bytes.len() - 1]));
        bytes.clear();
        Record::Closed { cause: ClosedCause::Requested }.encode_into(&mut bytes);
        assert!(!Record::is_summary(&bytes) && !Record::is_summary(b""));
    }
}
