//! How seats change hands: the six transitions, and the leases of bots (A5).

use bincode::{BorrowDecode, Encode};
use retick_core::seat::ControlEpoch;

/// A change of a seat's driver (A5). Each happens on a tick, raises the seat's control epoch, and is an event and a record.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Encode, BorrowDecode)]
pub enum SeatTransition {
    /// S1: a bot takes an empty seat.
    EmptyToBot,
    /// S2: a player takes an empty seat.
    EmptyToHuman,
    /// S3: a player takes a bot's seat.
    BotToHuman,
    /// S4: a bot is taken off its seat.
    BotToEmpty,
    /// S5: a bot takes the seat of a player who left.
    HumanToBot,
    /// S6: a player left, and nobody plays.
    HumanToEmpty,
}

/// Numbers one bot's hold on a seat in a room (A5). No number is used twice.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default, Encode, BorrowDecode)]
pub struct BotLeaseId(pub u64);

/// A bot's hold on a seat (A5). The game itself plays it, inside its step: its input is null in every frame.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Encode, BorrowDecode)]
pub struct BotLease {
    /// The lease.
    pub id: BotLeaseId,
    /// The seat's control epoch under it.
    pub epoch: ControlEpoch,
}
