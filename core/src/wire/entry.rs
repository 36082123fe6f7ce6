//! How a connection enters a room, and how it is greeted (A5, A6, A7, A14).

use bincode::{BorrowDecode, Decode, Encode};

use super::MAX_TICKET_BYTES;
use crate::digest::Identity;
use crate::seat::{ControlEpoch, Generation, Seat};
use crate::tick::Tick;

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

/// Who holds a seat, as the game's own backend knows its players (V1): the digest of the player's name. Two connections of one
/// player are one player (A6).
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Encode, Decode)]
pub struct PlayerId(pub [u8; 32]);

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
        /// The token that the seat was greeted with last, or the one before it.
        token: ResumeToken,
        /// The generation that the client is on.
        generation: Generation,
        /// The first tick whose frame the client does not have.
        next: Tick,
        /// The fence of the frame before it (A12), which tells histories of the same length apart; `None` for a client that has no
        /// frame of its own.
        fence: Option<u32>,
    },
    /// Watches, without a seat (A14).
    Observe {
        /// The join ticket.
        ticket: &'a [u8],
        /// The generation of which the observer has frames, if it has any.
        generation: Generation,
        /// The first tick whose frame it does not have; 0 on its first connection.
        next: Tick,
        /// The fence of the frame before it (A12); `None` for an observer that has no frame of its own.
        fence: Option<u32>,
    },
}

impl<'a> Entry<'a> {
    /// The join ticket, where one belongs.
    pub const fn ticket(&self) -> Option<&'a [u8]> {
        match self {
            Entry::Join { ticket } | Entry::Observe { ticket, .. } => Some(ticket),
            Entry::Resume { .. } => None,
        }
    }

    pub(super) fn is_valid(&self) -> bool {
        self.ticket().is_none_or(|ticket| ticket.len() <= MAX_TICKET_BYTES)
    }
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

/// Rules of the room that every client follows; they stand in the greeting.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Encode, Decode)]
pub struct RoomRules {
    /// Ticks that the room waits for an input before it substitutes (A1).
    pub hard_tolerance_ticks: u16,
    /// Every how many confirmed ticks a checksum is reported (A8).
    pub checksum_cadence_ticks: u32,
}

/// The hold of one connection on one seat (A5).
#[derive(Clone, Copy, PartialEq, Eq, Debug, Encode, Decode)]
pub struct Claim {
    /// The seat that this connection holds.
    pub seat: Seat,
    /// The claim under which it holds it.
    pub id: ClaimId,
    /// The seat's control epoch.
    pub epoch: ControlEpoch,
    /// What resumes the seat. Rotated at each resume; the one before stays valid until the first message on this connection.
    pub token: ResumeToken,
}

/// Where the frames of a greeted connection begin (A7).
#[derive(Clone, Copy, PartialEq, Eq, Debug, Encode, Decode)]
pub enum History {
    /// With this tick, which the client can apply as it is.
    Frames {
        /// The first tick to come.
        next: Tick,
    },
    /// With those behind a snapshot that is being fetched: [`RoomMessage::Snapshot`](super::RoomMessage::Snapshot) follows.
    Snapshot,
}

/// The greeting (A7).
#[derive(Clone, Copy, PartialEq, Eq, Debug, Encode, BorrowDecode)]
pub struct Welcome<'a> {
    /// The seat; `None` for an observer (A14).
    pub claim: Option<Claim>,
    /// The match, encoded; verified against the client's own module before tick 0 is built.
    pub descriptor: &'a [u8],
    /// The room's rules.
    pub rules: RoomRules,
    /// The first tick that no frame was released for yet.
    pub frontier: Tick,
    /// Where the frames begin.
    pub history: History,
}
