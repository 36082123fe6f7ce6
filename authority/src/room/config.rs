//! What a room is made with, and what makes it refuse to be.

use bincode::{BorrowDecode, Encode};
use retick_core::identity::MatchDescriptor;
use retick_core::session::DEFAULT_CHECKPOINT_WINDOW_TICKS;
use retick_core::wire::RoomRules;

/// Default of [`RoomRules::hard_tolerance_ticks`] (A1).
pub const DEFAULT_HARD_TOLERANCE_TICKS: u16 = 6;
/// Default of [`RoomRules::checksum_cadence_ticks`] (A8).
pub const DEFAULT_CHECKSUM_CADENCE_TICKS: u32 = 120;
/// Default of [`RoomConfig::grace_millis`] (A6).
pub const DEFAULT_GRACE_MILLIS: u64 = 15_000;
/// Default of [`RoomConfig::greeting_millis`].
pub const DEFAULT_GREETING_MILLIS: u64 = 5_000;
/// Default of [`RoomConfig::messages_per_second`] (A11).
pub const DEFAULT_MESSAGES_PER_SECOND: u32 = 120;

/// Most of [`RoomRules::checksum_cadence_ticks`]: what a client's default window of checkpoints holds (A7).
pub const MAX_CHECKSUM_CADENCE_TICKS: u32 = DEFAULT_CHECKPOINT_WINDOW_TICKS;

/// When tick 0 begins (A15).
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default, Encode, BorrowDecode)]
pub enum StartPolicy {
    /// Once every seat was claimed, and everyone who still holds one is ready.
    #[default]
    WhenFull,
    /// When [`Room::start`](super::Room::start) is called, with the seats that are claimed by then.
    Manual,
}

/// What is waited for before something is transmitted (A12). What a restarted room may lack follows from it.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default, Encode, BorrowDecode)]
pub enum Durability {
    /// Nothing: records are emitted, and what depends on them goes out at once.
    #[default]
    None,
    /// Everything that depends on a record waits for
    /// [`Room::handle_persisted`](super::Room::handle_persisted) with that record's number.
    EveryFrame,
    /// Everything but frames waits for it: who holds which seat is never lost, and frames are if no client that has them returns.
    Interval,
}

/// What a room is made with. [`RoomConfig::new`] gives the defaults; change fields from there.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct RoomConfig {
    /// What is played.
    pub descriptor: MatchDescriptor,
    /// The rules that stand in the greeting.
    pub rules: RoomRules,
    /// How long a seat whose transport was lost is kept for its owner, in milliseconds of the room's clock (A6).
    pub grace_millis: u64,
    /// How long a connection may stay without a greeting, in milliseconds of the room's clock.
    pub greeting_millis: u64,
    /// When tick 0 begins.
    pub start: StartPolicy,
    /// What is waited for before something is transmitted.
    pub durability: Durability,
    /// Messages that a connection may send per second (A11). The budget is never below
    /// [`RoomConfig::message_budget`]'s floor.
    pub messages_per_second: u32,
}

impl RoomConfig {
    /// The defaults for a match: tolerance 6 ticks, a report every 120, grace 15 s, greeting 5 s, start when full, no
    /// durability, 120 messages per second.
    #[must_use]
    pub fn new(descriptor: MatchDescriptor) -> RoomConfig {
        RoomConfig {
            descriptor,
            rules: RoomRules {
                hard_tolerance_ticks: DEFAULT_HARD_TOLERANCE_TICKS,
                checksum_cadence_ticks: DEFAULT_CHECKSUM_CADENCE_TICKS,
            },
            grace_millis: DEFAULT_GRACE_MILLIS,
            greeting_millis: DEFAULT_GREETING_MILLIS,
            start: StartPolicy::default(),
            durability: Durability::default(),
            messages_per_second: DEFAULT_MESSAGES_PER_SECOND,
        }
    }

    /// Messages per second that a connection may send (A11): the configured number, but at least four a tick and 30.
    pub fn message_budget(&self) -> u32 {
        self.messages_per_second.max(4 * self.descriptor.tick_rate().hz() + 30)
    }

    /// Messages that an honest client may send within one second: one a tick, and all that its transport held back for as
    /// long as the tolerance and its input delay last.
    pub fn honest_burst(&self) -> u32 {
        let held_back =
            u32::from(self.rules.hard_tolerance_ticks) + u32::from(self.descriptor.limits().max_input_delay_ticks);
        self.descriptor.tick_rate().hz() + held_back
    }

    pub(super) fn check(&self) -> Result<(), RoomConfigError> {
        let (burst, budget) = (self.honest_burst(), self.message_budget());
        if burst > budget {
            return Err(RoomConfigError::Budget { burst, budget });
        }
        if self.rules.checksum_cadence_ticks == 0 {
            return Err(RoomConfigError::NoCadence);
        }
        let (cadence, most) = (self.rules.checksum_cadence_ticks, MAX_CHECKSUM_CADENCE_TICKS);
        if cadence > most {
            return Err(RoomConfigError::Cadence { cadence, most });
        }
        Ok(())
    }
}

/// A room that can't be.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
pub enum RoomConfigError {
    /// An honest client could exceed its own budget (A11).
    #[error("an honest client may send {burst} messages in a second, but its budget is {budget}")]
    Budget {
        /// Messages of the honest burst.
        burst: u32,
        /// Messages per second allowed.
        budget: u32,
    },
    /// No client's default window of checkpoints would hold a cadence.
    #[error("a checksum cadence of {cadence} ticks, where at most {most} fit a client's checkpoints")]
    Cadence {
        /// Ticks configured.
        cadence: u32,
        /// Most ticks allowed.
        most: u32,
    },
    /// The checksum cadence is zero.
    #[error("the checksum cadence is zero")]
    NoCadence,
}
