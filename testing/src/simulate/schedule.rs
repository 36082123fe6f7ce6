//! A whole match as data: everything that happens in it and is not the machines' own doing. It is drawn from a seed, can be saved,
//! edited and played again, and is made smaller where it fails.

use serde::{Deserialize, Serialize};

/// Everything about one simulated match. Equal schedules give equal traces, to the byte.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Schedule {
    /// What links and inputs draw their numbers from.
    pub seed: u64,
    /// What is played.
    pub game: Game,
    /// Seats of the match.
    pub seats: u8,
    /// How long faults last, in milliseconds.
    pub safety_millis: u64,
    /// How long everything is healthy afterwards, in milliseconds; then the match must have converged.
    pub liveness_millis: u64,
    /// The room and its machine.
    pub room: RoomPlan,
    /// Who comes.
    pub actors: Vec<ActorPlan>,
    /// What happens, in any order.
    pub events: Vec<Planned>,
}

/// A game of the kit's fixtures.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub enum Game {
    /// TALLY at 60 Hz.
    Tally60,
    /// TALLY at 20 Hz.
    Tally20,
    /// ENT at 60 Hz.
    Ent60,
    /// MEDLEY at 30 Hz.
    Medley30,
    /// MEDLEY at 60 Hz.
    Medley60,
}

/// When the match begins.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub enum StartPlan {
    /// Once every seat is taken.
    Full,
    /// With so many, after so many milliseconds.
    Minimum {
        /// How many seats.
        seats: u8,
        /// For how long.
        countdown_millis: u32,
    },
    /// When its creator asks, or the driver at this moment.
    Creator {
        /// The driver's moment.
        at_millis: u64,
    },
    /// When the driver says so.
    Manual {
        /// That moment.
        at_millis: u64,
    },
}

/// Who may do something.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub enum Permitted {
    /// No player.
    Nobody,
    /// The creator.
    Creator,
    /// Everyone with a seat.
    Anyone,
}

/// What is waited for before something leaves the room.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub enum Waits {
    /// Nothing.
    None,
    /// Everything but frames.
    Interval,
    /// Everything.
    EveryFrame,
}

/// The room, its rules, and the machine that it runs on.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct RoomPlan {
    /// Ticks that it waits for an input.
    pub hard_tolerance_ticks: u16,
    /// Ticks between two checksum reports.
    pub checksum_cadence_ticks: u32,
    /// How long a lost seat is kept.
    pub grace_millis: u64,
    /// Whether a seat that was given up can be claimed again.
    pub recycles: bool,
    /// Whether people take over from bots.
    pub humans_claim_bots: bool,
    /// Whether a bot plays on for who left.
    pub bots_on_leave: bool,
    /// Seats that bots play from the start, from the last one on.
    pub initial_bots: u8,
    /// When it begins.
    pub start: StartPlan,
    /// Who may stop the clock.
    pub pause: Permitted,
    /// Who may swap the config.
    pub reconfigure: Permitted,
    /// What it waits for.
    pub durability: Waits,
    /// Most observers.
    pub max_observers: u16,
    /// How often it asks for a snapshot.
    pub snapshot_interval_millis: u64,
    /// What a newcomer may miss and still gets frames alone.
    pub replay_millis: u64,
    /// How much history is kept without a snapshot.
    pub history_millis: u64,
    /// How long a transfer may stand still.
    pub transfer_timeout_millis: u64,
    /// Whether connections are somebody's, by join tickets.
    pub tickets: bool,
    /// How long a sync of the storage takes, in microseconds.
    pub sync_micros: u64,
    /// How often it syncs what nothing waits for.
    pub sync_interval_millis: u64,
    /// By how many millionths its clock is fast.
    pub clock_ppm: i32,
    /// Bytes under way to one connection at which it is closed.
    pub outbound_cap_bytes: u64,
}

/// What somebody is to the match.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Serialize, Deserialize)]
pub enum Role {
    /// An honest player.
    Player,
    /// An honest observer.
    Observer,
    /// A player who forges, repeats and damages messages, and lies about checksums.
    Liar,
}

/// One direction of somebody's connection.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct LinkPlan {
    /// Delay, in microseconds.
    pub latency_micros: u64,
    /// By how much it varies, in microseconds, up and down.
    pub jitter_micros: u32,
    /// Losses in ten thousand.
    pub loss: u32,
    /// Second copies in ten thousand; on datagrams alone.
    pub duplication: u32,
    /// Stragglers in ten thousand.
    pub straggling: u32,
    /// By how much a straggler is late, in microseconds.
    pub straggle_micros: u64,
    /// What a loss costs where messages are sent again, in microseconds.
    pub resend_micros: u64,
}

/// One participant.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct ActorPlan {
    /// Its number, which events name and which its draws follow from.
    pub number: u32,
    /// What it is.
    pub role: Role,
    /// When it comes.
    pub arrives_millis: u64,
    /// The link to the room.
    pub up: LinkPlan,
    /// The link from the room.
    pub down: LinkPlan,
    /// Whether inputs go as datagrams.
    pub datagrams: bool,
    /// By how many millionths its clock is fast.
    pub clock_ppm: i32,
    /// Turns in a second of its clock.
    pub turns_per_second: u32,
    /// Ticks that it predicts at most.
    pub window_ticks: u16,
    /// Whether it predicts at all.
    pub predicts: bool,
    /// Whether it guesses neutral inputs, not the last ones.
    pub guesses_neutral: bool,
    /// Least and most ticks of input delay; equal for a fixed one.
    pub delay_ticks: (u16, u16),
    /// Newly predicted ticks in one turn.
    pub steps_per_turn: u16,
    /// Confirmed frames in one turn; 0 for no bound.
    pub frames_per_turn: u32,
    /// Whether it keeps all checkpoints.
    pub keeps_all: bool,
    /// How long it waits before it connects again.
    pub retry_millis: u64,
    /// Its input changes about every so many ticks.
    pub holds_ticks: u32,
}

/// Something that happens.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Planned {
    /// When, in milliseconds.
    pub at_millis: u64,
    /// What.
    pub event: Happening,
}

/// What can happen. `actor` is an [`ActorPlan::number`]; what names nobody does nothing.
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

impl Schedule {
    /// When everything is healthy, in milliseconds.
    pub fn heal_millis(&self) -> u64 {
        self.safety_millis
    }

    /// When the match is over, in milliseconds.
    pub fn end_millis(&self) -> u64 {
        self.safety_millis.saturating_add(self.liveness_millis)
    }

    /// Whether anybody lies.
    pub fn has_liar(&self) -> bool {
        self.actors.iter().any(|actor| actor.role == Role::Liar)
    }
}
