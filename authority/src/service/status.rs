//! What the service tells about a room: what is fixed, and where it stands.

use std::sync::Arc;

use retick_core::digest::{Digest, Identity};
use retick_core::identity::MatchDescriptor;
use retick_core::seat::SeatCount;
use retick_core::tick::{Tick, TickRate};
use retick_core::wire::{PROTOCOL_VERSION, RoomRules};

use crate::room::{MatchSettlement, Room, RoomSettings, RoomStats, SeatState, SeatStats};

use super::code::RoomCode;

/// What kind of room a code names. Other kinds share the hub, the mailboxes and the sockets (V2).
#[non_exhaustive]
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum RoomKind {
    /// A match of Retick's own protocol.
    Match,
}

impl RoomKind {
    /// The name that stands in answers.
    pub fn name(self) -> &'static str {
        match self {
            RoomKind::Match => "match",
        }
    }
}

/// Where a room stands.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum RoomPhase {
    /// Tick 0 has not begun.
    Waiting,
    /// It confirms ticks.
    Running,
    /// It is over.
    Closed,
}

impl RoomPhase {
    /// The name that stands in answers.
    pub fn name(self) -> &'static str {
        match self {
            RoomPhase::Waiting => "waiting",
            RoomPhase::Running => "running",
            RoomPhase::Closed => "closed",
        }
    }
}

/// What a joiner by code needs to know, and never changes (V1).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct RoomInfo {
    /// The code.
    pub code: RoomCode,
    /// The kind of room.
    pub kind: RoomKind,
    /// The protocol that the room speaks.
    pub protocol: u16,
    /// The identity that every machine of the match must have.
    pub identity: Identity,
    /// Digest of the session config.
    pub config_digest: Digest,
    /// Digest of the match.
    pub descriptor_digest: Digest,
    /// How many seats the match has.
    pub seats: SeatCount,
    /// Ticks per second.
    pub tick_rate: TickRate,
    /// The rules that stand in the greeting.
    pub rules: RoomRules,
    /// Everything else that the room was made with.
    pub settings: RoomSettings,
}

impl RoomInfo {
    pub(super) fn new(code: RoomCode, descriptor: &MatchDescriptor, settings: RoomSettings) -> RoomInfo {
        RoomInfo {
            code,
            kind: RoomKind::Match,
            protocol: PROTOCOL_VERSION,
            identity: descriptor.identity(),
            config_digest: descriptor.config().digest(),
            descriptor_digest: descriptor.digest(),
            seats: descriptor.seats(),
            tick_rate: descriptor.tick_rate(),
            rules: settings.rules,
            settings,
        }
    }
}

/// How a room's match ended, as far as its players agree (A15).
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub enum RoomSettlement {
    /// Not everyone in the match has said how it ended.
    #[default]
    Open,
    /// All of them said this.
    Agreed {
        /// The state that says so: `n` for `S(n)`.
        tick: Tick,
        /// The game's bytes.
        result: Arc<[u8]>,
    },
    /// Two of them said different things, or their checksums differ.
    Disputed,
}

impl RoomSettlement {
    /// Follows the room. Once it is settled it stays so until the next generation, so nothing is copied again.
    fn update(&mut self, room: &Room) {
        match (room.settlement(), &*self) {
            (MatchSettlement::Incomplete { .. }, _) => *self = RoomSettlement::Open,
            (MatchSettlement::Disputed, _) => *self = RoomSettlement::Disputed,
            (MatchSettlement::Agreed { tick, result }, RoomSettlement::Agreed { tick: known, result: same })
                if tick == *known && result == &**same => {}
            (MatchSettlement::Agreed { tick, result }, _) => {
                *self = RoomSettlement::Agreed { tick, result: result.into() };
            }
        }
    }
}

/// Where a room stood at the end of a turn. Whatever happens beside ticks and inputs is published with its turn; counts of those are at
/// most 0.1 s old.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct RoomStatus {
    /// Where it stands.
    pub phase: RoomPhase,
    /// The first tick without a confirmed frame.
    pub frontier: Tick,
    /// Each seat, in order.
    pub seats: Vec<SeatState>,
    /// What was counted about each seat, in order.
    pub seat_stats: Vec<SeatStats>,
    /// Seats that a newcomer may claim.
    pub open_seats: usize,
    /// Whether only who has a seat gets in (V1).
    pub locked: bool,
    /// Connections that are open.
    pub connections: usize,
    /// Connections that were closed because they read too slowly (A11).
    pub slow_consumers: u64,
    /// How much later than due the room took its turns of the last seconds, at worst, in microseconds.
    pub lag_micros: u64,
    /// What the room counted.
    pub stats: RoomStats,
    /// How its match ended.
    pub settlement: RoomSettlement,
}

impl RoomStatus {
    pub(super) fn new(room: &Room) -> RoomStatus {
        let mut status = RoomStatus {
            phase: RoomPhase::Waiting,
            frontier: Tick::ZERO,
            seats: vec![SeatState::Free; room.descriptor().seats().count()],
            seat_stats: vec![SeatStats::default(); room.descriptor().seats().count()],
            open_seats: 0,
            locked: false,
            connections: 0,
            slow_consumers: 0,
            lag_micros: 0,
            stats: RoomStats::default(),
            settlement: RoomSettlement::Open,
        };
        status.update(room);
        status
    }

    /// Reads everything that the room itself knows.
    pub(super) fn update(&mut self, room: &Room) {
        self.phase = match room.clock_tick() {
            _ if room.is_closed() => RoomPhase::Closed,
            Some(_) => RoomPhase::Running,
            // It waits for who has frames that its log lacks; the match has begun.
            None if room.is_recovering() => RoomPhase::Running,
            None => RoomPhase::Waiting,
        };
        self.frontier = room.frontier();
        self.open_seats = room.open_seats();
        self.locked = room.is_locked();
        self.stats = room.stats();
        self.settlement.update(room);
        let places = self.seats.iter_mut().zip(&mut self.seat_stats);
        for ((state, stats), seat) in places.zip(room.descriptor().seats().seats()) {
            *state = room.seat_state(seat).unwrap_or(*state);
            *stats = room.seat_stats(seat).unwrap_or(*stats);
        }
    }

    /// Seats that nobody has claimed.
    pub fn free_seats(&self) -> usize {
        self.seats.iter().filter(|seat| **seat == SeatState::Free).count()
    }
}
