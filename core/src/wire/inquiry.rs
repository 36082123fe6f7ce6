//! What the room asks when reports differ, and what it says of it: where two states differ first (A8), and who is wrong (A13).
//!
//! The room knows nothing of states but their checksums. It asks the two sides of a desync for values of the tree over their states
//! ([`crate::tree`]), compares them, and ends with the bytes of one page.

use bincode::{BorrowDecode, Decode, Encode};

use crate::codec::wire::List;
use crate::digest::Checksum;
use crate::seat::{MAX_SEATS, Seat};
use crate::tick::Tick;
use crate::tree::{Subtree, SubtreeValue, TREE_PAGE_BYTES};

/// Most states whose checksums one answer holds: as many as a client's default window of checkpoints.
pub const MAX_INQUIRY_TICKS: usize = 256;
/// Most bytes of a state that one answer holds: a page.
pub const MAX_INQUIRY_BYTES: usize = TREE_PAGE_BYTES;
/// Most differing bytes of each side that a [`Place`] shows.
pub const MAX_PLACE_BYTES: usize = 64;

/// Numbers one question to one connection.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default, Encode, Decode)]
pub struct InquiryId(pub u64);

/// Which of a client's states is meant.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Encode, Decode)]
pub enum StateSource {
    /// The one that it played, and still keeps.
    Kept,
    /// The one that it gets by playing the confirmed frames again from an earlier state that it keeps.
    Replayed,
}

/// What the room asks of one client. The client's own play is not disturbed by any of it.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Encode, Decode)]
pub enum Question {
    /// The checksums of every state behind `S(base)` through `S(last)`, played again from `S(base)`.
    Checksums {
        /// The state to begin with: `n` for `S(n)`.
        base: Tick,
        /// The last state; at most [`MAX_INQUIRY_TICKS`] behind the first.
        last: Tick,
    },
    /// The value of a subtree of the state's whole pages.
    Value {
        /// The state: `n` for `S(n)`.
        tick: Tick,
        /// Which one.
        source: StateSource,
        /// The subtree's level.
        level: u32,
        /// Its index in the level.
        index: u32,
    },
    /// Some bytes of the state.
    Bytes {
        /// The state: `n` for `S(n)`.
        tick: Tick,
        /// Which one.
        source: StateSource,
        /// The first byte.
        offset: u64,
        /// How many; at most [`MAX_INQUIRY_BYTES`].
        count: u32,
    },
}

impl Question {
    /// The subtree that is asked for, if it is a place at all.
    pub const fn subtree(&self) -> Option<Subtree> {
        match self {
            Question::Value { level, index, .. } => Subtree::new(*level, *index),
            _ => None,
        }
    }

    pub(super) fn is_valid(&self) -> bool {
        match self {
            Question::Checksums { base, last } => base < last && last.since(*base) <= MAX_INQUIRY_TICKS as u64,
            Question::Value { .. } => self.subtree().is_some(),
            Question::Bytes { count, .. } => *count as usize <= MAX_INQUIRY_BYTES,
        }
    }
}

/// What a client answers.
#[derive(Clone, PartialEq, Eq, Debug, Encode, BorrowDecode)]
pub enum Answer<'a> {
    /// It has no such state, or not any more.
    Unknown,
    /// The checksums that were asked for, in order.
    Checksums(List<Checksum, MAX_INQUIRY_TICKS>),
    /// The value of the subtree; `None` if the state has not all of its pages.
    Value(Option<SubtreeValue>),
    /// The bytes that were asked for, as far as the state reaches.
    Bytes {
        /// Bytes of the whole state.
        total: u64,
        /// The bytes.
        bytes: &'a [u8],
    },
}

impl Answer<'_> {
    pub(super) fn is_valid(&self) -> bool {
        match self {
            Answer::Bytes { bytes, .. } => bytes.len() <= MAX_INQUIRY_BYTES,
            _ => true,
        }
    }
}

/// One side of a desync.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Encode, Decode)]
pub enum Witness {
    /// A seat's client.
    Seat(Seat),
    /// The room's own referee (A13).
    Referee,
}

impl core::fmt::Display for Witness {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        match self {
            Witness::Seat(seat) => write!(f, "seat {seat}"),
            Witness::Referee => f.write_str("the referee"),
        }
    }
}

/// Which state a [`Place`] is of.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Encode, Decode)]
pub enum PlaceTick {
    /// The first one that differs: the one before is the same on both sides.
    First(Tick),
    /// The one that was reported. Where the difference began between this and the last report is not known, for at least one side
    /// does not come to it again, or has not kept what is needed to try.
    Reported(Tick),
}

impl PlaceTick {
    /// The state: `n` for `S(n)`.
    pub const fn tick(self) -> Tick {
        match self {
            PlaceTick::First(tick) | PlaceTick::Reported(tick) => tick,
        }
    }
}

/// The first bytes that differ.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Encode, BorrowDecode)]
pub struct Place<'a> {
    /// In which state.
    pub tick: PlaceTick,
    /// Where in the state's canonical bytes: in a module's state, the address in its memory.
    pub address: u64,
    /// The bytes of the first side, at most [`MAX_PLACE_BYTES`].
    pub ours: &'a [u8],
    /// The bytes of the other side; as many, unless one state ends before.
    pub theirs: &'a [u8],
}

/// What came of asking about a desync (A8). Sent once for each desync that the room asks about.
#[derive(Clone, PartialEq, Eq, Debug, Encode, BorrowDecode)]
pub struct Finding<'a> {
    /// The state whose reports differ: `n` for `S(n)`.
    pub report: Tick,
    /// Who was asked.
    pub witnesses: (Witness, Witness),
    /// Where their states differ, if that was found.
    pub place: Option<Place<'a>>,
    /// Seats that come to another state than they reported when they play the same frames again: a fault of that machine, which
    /// happened once, or a forged report.
    pub contradicted: List<Seat, { MAX_SEATS as usize }>,
    /// Who did not answer in time.
    pub silent: List<Witness, 2>,
}

impl Finding<'_> {
    pub(super) fn is_valid(&self) -> bool {
        let within = |place: &Place<'_>| place.ours.len().max(place.theirs.len()) <= MAX_PLACE_BYTES;
        self.place.as_ref().is_none_or(within)
    }
}
