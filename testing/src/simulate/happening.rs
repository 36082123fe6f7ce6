//! What can happen in a match beside what its machines do by themselves.

use serde::{Deserialize, Serialize};

/// Something that happens.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Planned {
    /// When, in milliseconds.
    pub at_millis: u64,
    /// What.
    pub event: Happening,
}

/// What can happen. `actor` is an [`ActorPlan::number`](super::ActorPlan::number); what names nobody does nothing.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[expect(missing_docs, reason = "fields are durations in milliseconds, or what their name says")]
pub enum Happening {
    /// Nothing gets through for a while; streams hold it back.
    Cut { actor: u32, millis: u64 },
    /// The transport dies in silence; each end notices after a while.
    HalfOpen { actor: u32, client_notices_millis: u64, room_notices_millis: u64 },
    /// The transport is lost, and both ends know.
    Drop { actor: u32 },
    /// The client lets its connection go and opens another; the room hears of it by the greeting.
    Supersede { actor: u32, room_notices_millis: u64 },
    /// The client's process is started anew and knows nothing.
    Restart { actor: u32 },
    /// The client's process stands still.
    Freeze { actor: u32, millis: u64 },
    /// The client reads so many bytes a second, no more.
    Slow { actor: u32, millis: u64, bytes_per_second: u32 },
    /// Losses, in ten thousand, on both links.
    Lossy { actor: u32, millis: u64, loss: u32 },
    /// The client's clock jumps ahead.
    Jump { actor: u32, millis: u64 },
    /// The player leaves for good.
    Leave { actor: u32 },
    /// The room's machine dies, keeps some of what was not synced, and comes back.
    Kill { down_millis: u64, keeps_percent: u8 },
    /// The room's process stands still.
    RoomFreeze { millis: u64 },
    /// The room's clock jumps ahead.
    RoomJump { millis: u64 },
    /// The storage syncs nothing.
    StorageStall { millis: u64 },
    /// A player asks for the clock to stand still, and later to go on.
    Pause { actor: u32, millis: u64 },
    /// A player swaps the session config.
    Reconfigure { actor: u32, stride: u16 },
    /// The driver gives a seat to a bot.
    SeatBot { seat: u8 },
    /// The driver takes a bot off its seat.
    RemoveBot { seat: u8 },
    /// The driver locks the room, and opens it later.
    Lock { millis: u64 },
    /// A player requests commands.
    Command { actor: u32, count: u8 },
    /// A player sends ephemerals.
    Ephemeral { actor: u32, count: u8 },
    /// A player says how the match ended.
    Result { actor: u32 },
    /// A liar sends so many forged messages.
    Forge { actor: u32, count: u16 },
    /// A liar damages or repeats what it sends, so many in ten thousand, from now on.
    Mutate { actor: u32, chance: u32 },
    /// A liar's checksums are lies from now on.
    Lie { actor: u32 },
    /// A liar damages the snapshots that it donates from now on.
    SpoilDonations { actor: u32 },
}

impl Happening {
    /// Whom it happens to, if it is one of the actors.
    pub fn actor(&self) -> Option<u32> {
        match self {
            Happening::Cut { actor, .. }
            | Happening::HalfOpen { actor, .. }
            | Happening::Drop { actor }
            | Happening::Supersede { actor, .. }
            | Happening::Restart { actor }
            | Happening::Freeze { actor, .. }
            | Happening::Slow { actor, .. }
            | Happening::Lossy { actor, .. }
            | Happening::Jump { actor, .. }
            | Happening::Leave { actor }
            | Happening::Pause { actor, .. }
            | Happening::Reconfigure { actor, .. }
            | Happening::Command { actor, .. }
            | Happening::Ephemeral { actor, .. }
            | Happening::Result { actor }
            | Happening::Forge { actor, .. }
            | Happening::Mutate { actor, .. }
            | Happening::Lie { actor }
            | Happening::SpoilDonations { actor } => Some(*actor),
            Happening::Kill { .. }
            | Happening::RoomFreeze { .. }
            | Happening::RoomJump { .. }
            | Happening::StorageStall { .. }
            | Happening::SeatBot { .. }
            | Happening::RemoveBot { .. }
            | Happening::Lock { .. } => None,
        }
    }

    /// Its name, for totals.
    pub fn name(&self) -> &'static str {
        match self {
            Happening::Cut { .. } => "cuts",
            Happening::HalfOpen { .. } => "half-open connections",
            Happening::Drop { .. } => "drops",
            Happening::Supersede { .. } => "abandoned connections",
            Happening::Restart { .. } => "process restarts",
            Happening::Freeze { .. } => "freezes",
            Happening::Slow { .. } => "slow readers",
            Happening::Lossy { .. } => "lossy phases",
            Happening::Jump { .. } => "clock jumps",
            Happening::Leave { .. } => "leaves",
            Happening::Kill { .. } => "kills",
            Happening::RoomFreeze { .. } => "room freezes",
            Happening::RoomJump { .. } => "room clock jumps",
            Happening::StorageStall { .. } => "storage stalls",
            Happening::Pause { .. } => "pause requests",
            Happening::Reconfigure { .. } => "reconfigure requests",
            Happening::SeatBot { .. } => "bots seated",
            Happening::RemoveBot { .. } => "bots removed",
            Happening::Lock { .. } => "locks",
            Happening::Command { .. } => "command bursts",
            Happening::Ephemeral { .. } => "ephemeral bursts",
            Happening::Result { .. } => "results",
            Happening::Forge { .. } => "forgeries",
            Happening::Mutate { .. } => "mutating liars",
            Happening::Lie { .. } => "checksum liars",
            Happening::SpoilDonations { .. } => "spoiling donors",
        }
    }
}
