//! What a room is made with, and what makes it refuse to be.

use bincode::{BorrowDecode, Encode};
use retick_core::client::SLOWEST_ROUND_TRIP_MILLIS;
use retick_core::identity::MatchDescriptor;
use retick_core::seat::Seat;
use retick_core::session::DEFAULT_CHECKPOINT_WINDOW_TICKS;
use retick_core::wire::RoomRules;

use super::donation::DonationConfig;
use super::policy::{MAX_COUNTDOWN_MILLIS, PausePolicy, ReconfigurePolicy, SeatPolicy, StartPolicy};

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
/// Default of [`RoomConfig::max_observers`] (A14).
pub const DEFAULT_MAX_OBSERVERS: u16 = 16;

/// What a client's default window of checkpoints holds: [`RoomRules::checksum_cadence_ticks`] and the slowest round trip must fit it
/// (A7); see [`RoomConfig::max_checksum_cadence_ticks`].
pub const MAX_CHECKSUM_CADENCE_TICKS: u32 = DEFAULT_CHECKPOINT_WINDOW_TICKS;

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
    /// How seats change hands (A5).
    pub seats: SeatPolicy,
    /// When tick 0 begins (A15).
    pub start: StartPolicy,
    /// Who may stop the clock (A15).
    pub pause: PausePolicy,
    /// Who may swap the session config (A10).
    pub reconfigure: ReconfigurePolicy,
    /// What is waited for before something is transmitted.
    pub durability: Durability,
    /// Messages that a connection may send per second (A11). The budget is never below
    /// [`RoomConfig::message_budget`]'s floor.
    pub messages_per_second: u32,
    /// Most connections that watch without a seat (A14).
    pub max_observers: u16,
    /// How snapshots are taken, and how long history is kept (A7).
    pub donation: DonationConfig,
}

/// Everything that a room is made with but what is played: what its first record holds beside the descriptor (A12).
#[derive(Clone, Copy, PartialEq, Eq, Debug, Encode, BorrowDecode)]
pub struct RoomSettings {
    /// [`RoomConfig::rules`].
    pub rules: RoomRules,
    /// [`RoomConfig::grace_millis`].
    pub grace_millis: u64,
    /// [`RoomConfig::greeting_millis`].
    pub greeting_millis: u64,
    /// [`RoomConfig::seats`].
    pub seats: SeatPolicy,
    /// [`RoomConfig::start`].
    pub start: StartPolicy,
    /// [`RoomConfig::pause`].
    pub pause: PausePolicy,
    /// [`RoomConfig::reconfigure`].
    pub reconfigure: ReconfigurePolicy,
    /// [`RoomConfig::durability`].
    pub durability: Durability,
    /// [`RoomConfig::messages_per_second`].
    pub messages_per_second: u32,
    /// [`RoomConfig::max_observers`].
    pub max_observers: u16,
    /// [`RoomConfig::donation`].
    pub donation: DonationConfig,
}

impl RoomSettings {
    /// The config of a room that plays `descriptor` with these settings.
    #[must_use]
    pub fn with(self, descriptor: MatchDescriptor) -> RoomConfig {
        RoomConfig {
            descriptor,
            rules: self.rules,
            grace_millis: self.grace_millis,
            greeting_millis: self.greeting_millis,
            seats: self.seats,
            start: self.start,
            pause: self.pause,
            reconfigure: self.reconfigure,
            durability: self.durability,
            messages_per_second: self.messages_per_second,
            max_observers: self.max_observers,
            donation: self.donation,
        }
    }
}

impl RoomConfig {
    /// The defaults for a match: tolerance 6 ticks, a report every 120, grace 15 s, greeting 5 s, fixed seats, start when full, no
    /// pauses, one config, no durability, 120 messages per second, 16 observers.
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
            seats: SeatPolicy::default(),
            start: StartPolicy::default(),
            pause: PausePolicy::default(),
            reconfigure: ReconfigurePolicy::default(),
            durability: Durability::default(),
            messages_per_second: DEFAULT_MESSAGES_PER_SECOND,
            donation: DonationConfig::default(),
            max_observers: DEFAULT_MAX_OBSERVERS,
        }
    }

    /// Everything but what is played.
    pub fn settings(&self) -> RoomSettings {
        RoomSettings {
            rules: self.rules,
            grace_millis: self.grace_millis,
            greeting_millis: self.greeting_millis,
            seats: self.seats,
            start: self.start,
            pause: self.pause,
            reconfigure: self.reconfigure,
            durability: self.durability,
            messages_per_second: self.messages_per_second,
            max_observers: self.max_observers,
            donation: self.donation,
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

    /// Most ticks between two checksum reports (A7): with the slowest round trip they fit a client's default window of checkpoints, so
    /// that a state which was reported is still there when the room asks for it.
    pub fn max_checksum_cadence_ticks(&self) -> u32 {
        let round_trip = self.descriptor.tick_rate().ticks_in_millis(SLOWEST_ROUND_TRIP_MILLIS);
        MAX_CHECKSUM_CADENCE_TICKS.saturating_sub(u32::try_from(round_trip).unwrap_or(u32::MAX))
    }

    pub(super) fn check(&self) -> Result<(), RoomConfigError> {
        let (burst, budget) = (self.honest_burst(), self.message_budget());
        if burst > budget {
            return Err(RoomConfigError::Budget { burst, budget });
        }
        if self.rules.checksum_cadence_ticks == 0 {
            return Err(RoomConfigError::NoCadence);
        }
        let (cadence, most) = (self.rules.checksum_cadence_ticks, self.max_checksum_cadence_ticks());
        if cadence > most {
            return Err(RoomConfigError::Cadence { cadence, most });
        }
        self.check_start()?;
        match self.seats.initial_bots.first_beyond(self.descriptor.seats()) {
            Some(seat) => Err(RoomConfigError::BotSeat { seat }),
            None => Ok(()),
        }
    }

    fn check_start(&self) -> Result<(), RoomConfigError> {
        let StartPolicy::Minimum { seats, countdown_millis } = self.start else { return Ok(()) };
        if !(1..=self.descriptor.seats().count()).contains(&usize::from(seats)) {
            return Err(RoomConfigError::Minimum { seats });
        }
        if countdown_millis > MAX_COUNTDOWN_MILLIS {
            return Err(RoomConfigError::Countdown { countdown_millis });
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
    /// A bot is to play a seat that the match does not have (A5).
    #[error("a bot on seat {seat}, which the match does not have")]
    BotSeat {
        /// The seat.
        seat: Seat,
    },
    /// The start waits for nobody, or for more players than there are seats (A15).
    #[error("a start with {seats} seats, which is none or more than the match has")]
    Minimum {
        /// Seats configured.
        seats: u8,
    },
    /// The start's countdown is too long (A15).
    #[error("a countdown of {countdown_millis} ms, of which {MAX_COUNTDOWN_MILLIS} are allowed")]
    Countdown {
        /// Milliseconds configured.
        countdown_millis: u32,
    },
}
