//! A position on the room's clock, as it travels.

use bincode::{Decode, Encode};

use crate::tick::Moment;

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
