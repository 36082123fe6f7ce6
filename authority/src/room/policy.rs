//! Who may do what in a room, and when (A5, A10, A15). Settings alone; what follows from them stands where it is done.

use bincode::{BorrowDecode, Encode};
use retick_core::seat::SeatSet;

/// Longest countdown of [`StartPolicy::Minimum`], in milliseconds: ten minutes.
pub const MAX_COUNTDOWN_MILLIS: u32 = 600_000;

/// How seats change hands (A5). The default is fixed seats: nobody takes over from anybody, and no bot plays.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Encode, BorrowDecode)]
pub struct SeatPolicy {
    /// Whether a seat that was given up can be claimed again, by somebody else.
    pub recycle_vacated: bool,
    /// Whether people can claim seats that bots play. The owner of a seat that a bot took over always can.
    pub humans_claim_bots: bool,
    /// Who plays when somebody leaves, or does not come back.
    pub on_leave: OnLeave,
    /// The seats that bots play from tick 0 on.
    pub initial_bots: SeatSet,
}

/// Who plays a seat that its player has left (A5).
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default, Encode, BorrowDecode)]
pub enum OnLeave {
    /// Nobody (S6).
    #[default]
    Empty,
    /// A bot (S5).
    Bot,
}

/// When tick 0 begins (A15). A player counts as wanting it from the moment at which its client is ready, until it votes otherwise.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default, Encode, BorrowDecode)]
pub enum StartPolicy {
    /// Once no seat is free, and everyone who holds one is ready and wants it.
    #[default]
    WhenFull,
    /// When so many have been ready and wanting for so long, or no seat is free and everyone wants it.
    Minimum {
        /// How many seats, at least 1.
        seats: u8,
        /// For how long, in milliseconds of the room's clock, at most [`MAX_COUNTDOWN_MILLIS`].
        countdown_millis: u32,
    },
    /// When the creator says so, or [`Room::start`](super::Room::start) is called, with the seats that are claimed by then.
    Creator,
    /// When [`Room::start`](super::Room::start) is called, with the seats that are claimed by then.
    Manual,
}

/// Who may stop the room's clock, and let it go on (A15). The driver always may.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default, Encode, BorrowDecode)]
pub enum PausePolicy {
    /// No player.
    #[default]
    Nobody,
    /// The creator: whoever holds the oldest claim.
    Creator,
    /// Everyone who holds a seat.
    Anyone,
}

/// Who may swap the session config under a live room (A10).
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default, Encode, BorrowDecode)]
pub enum ReconfigurePolicy {
    /// No player.
    #[default]
    Nobody,
    /// The creator: whoever holds the oldest claim.
    Creator,
    /// Everyone who holds a seat.
    Anyone,
}
