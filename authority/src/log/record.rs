//! The records themselves: all that makes a restored room the same room (A12).

use alloc::vec::Vec;

use bincode::{BorrowDecode, Encode};
use retick_core::codec::wire::{self, WireError};
use retick_core::digest::Digest;
use retick_core::frame::{MAX_COMMAND_BYTES, MAX_COMMANDS_PER_FRAME};
use retick_core::identity::MAX_DESCRIPTOR_BYTES;
use retick_core::input::MAX_INPUT_BYTES;
use retick_core::seat::{ControlEpoch, Generation, MAX_SEATS, Seat};
use retick_core::tick::Tick;
use retick_core::wire::{ClaimId, RoomRules};

use crate::room::{ClosedCause, Durability, RoomSecret, StartPolicy, VacancyCause};

/// Most bytes of a record.
pub const MAX_RECORD_BYTES: usize = 512 * 1024;

/// Most bytes of a frame in its self-contained form, with room for the counts and tags around its parts.
pub(crate) const MAX_FRAME_BYTES: usize =
    MAX_SEATS as usize * (MAX_INPUT_BYTES + 16) + MAX_COMMANDS_PER_FRAME * (MAX_COMMAND_BYTES + 8) + 128;

const _: () = assert!(MAX_RECORD_BYTES > MAX_FRAME_BYTES + 64, "a frame's record fits");
const _: () = assert!(MAX_RECORD_BYTES > MAX_DESCRIPTOR_BYTES + 128, "the first record fits");

/// One thing that a room must not forget (A12).
#[derive(Clone, Copy, PartialEq, Eq, Debug, Encode, BorrowDecode)]
pub enum Record<'a> {
    /// The room exists. Always the first record.
    Created {
        /// The match, encoded.
        descriptor: &'a [u8],
        /// The room's secret, from which tokens and tags follow: whoever reads the log can forge both.
        secret: RoomSecret,
        /// The rules that stand in the greeting.
        rules: RoomRules,
        /// How long a lost seat is kept, in milliseconds.
        grace_millis: u64,
        /// When tick 0 begins.
        start: StartPolicy,
        /// What waits for the log in the room's first run.
        durability: Durability,
    },
    /// A seat was claimed (A5). Its resume token follows from the room's secret, the seat and the claim.
    Claimed {
        /// The seat.
        seat: Seat,
        /// The claim.
        claim: ClaimId,
        /// The seat's new control epoch.
        epoch: ControlEpoch,
    },
    /// A seat's transport was lost, and its grace began (A6).
    Disconnected {
        /// The seat.
        seat: Seat,
    },
    /// A seat was resumed by its owner (A6).
    Resumed {
        /// The seat.
        seat: Seat,
    },
    /// A seat was given up (A5, S6).
    Vacated {
        /// The seat.
        seat: Seat,
        /// The seat's new control epoch.
        epoch: ControlEpoch,
        /// Why.
        cause: VacancyCause,
    },
    /// Tick 0 of a generation began.
    Started {
        /// The generation.
        generation: Generation,
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
}

impl<'a> Record<'a> {
    /// Appends the record's bytes.
    pub fn encode_into(&self, out: &mut Vec<u8>) {
        wire::encode_into(self, out);
    }

    /// The record that `bytes` are.
    ///
    /// # Errors
    /// [`WireError`] when they are longer than [`MAX_RECORD_BYTES`], malformed or not canonical.
    pub fn decode(bytes: &'a [u8]) -> Result<Record<'a>, WireError> {
        wire::decode(bytes, MAX_RECORD_BYTES)
    }
}
