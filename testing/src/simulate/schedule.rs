//! A whole match as data: everything that happens in it and is not the machines' own doing. It is drawn from a seed, can be saved,
//! edited and played again, and is made smaller where it fails.

use serde::{Deserialize, Serialize};

use super::happening::Planned;

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

impl Schedule {
    /// When everything is healthy, in milliseconds.
    pub fn heal_millis(&self) -> u64 {
        self.safety_millis
    }

    /// When the match is over, in milliseconds.
    pub fn end_millis(&self) -> u64 {
        self.safety_millis.saturating_add(self.liveness_millis)
    }

    /// Most bytes under way to a connection: once all is healthy, what a service allows (A11).
    pub(super) fn outbound_cap_bytes(&self, healed: bool) -> u64 {
        if healed { 1 << 20 } else { self.room.outbound_cap_bytes }
    }

    /// Whether anybody lies.
    pub fn has_liar(&self) -> bool {
        self.actors.iter().any(|actor| actor.role == Role::Liar)
    }
}
