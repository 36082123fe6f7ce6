//! Confirmed frames on their way to a client, or back to a room that lost them (A12), and the room's clock.

use bincode::{BorrowDecode, Decode, Encode};

use super::MAX_FRAMES_PER_MESSAGE;
use crate::seat::Generation;
use crate::tick::{Moment, Tick};

/// The release's proof after a restart (A12): 8 bytes, keyed with a secret of the room's.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Encode, Decode)]
pub struct ReleaseTag(pub [u8; 8]);

impl ReleaseTag {
    /// Whether two tags are equal, in time that does not depend on where they differ.
    #[must_use]
    pub fn matches(&self, other: &ReleaseTag) -> bool {
        self.0.iter().zip(&other.0).fold(0, |difference, (a, b)| difference | (a ^ b)) == 0
    }
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

/// A run of frames for consecutive ticks, encoded once for all receivers. The frames follow behind it in `body`: the first is
/// self-contained if `complete`, each other is abbreviated against the one before.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Encode, BorrowDecode)]
pub struct Frames<'a> {
    /// The generation of the ticks.
    pub generation: Generation,
    /// Tick of the first frame.
    pub first: Tick,
    /// How many frames there are.
    pub count: u32,
    /// Whether the first one stands alone. Otherwise the receiver had the frame before it.
    pub complete: bool,
    /// Proves this release after a restart of the room.
    pub tag: ReleaseTag,
    /// The frames, as [`crate::frame::Frame::encode_after`] writes them.
    pub body: &'a [u8],
}

impl Frames<'_> {
    pub(super) fn is_valid(&self) -> bool {
        (1..=MAX_FRAMES_PER_MESSAGE).contains(&self.count)
    }
}
