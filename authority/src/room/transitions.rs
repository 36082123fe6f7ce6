//! How seats change hands: the six transitions, the leases of bots, and when a newcomer takes part (A5).

use bincode::{BorrowDecode, Encode};
use retick_core::seat::{ControlEpoch, Seat};
use retick_core::wire::RoomMessage;

use super::event::{RoomEvent, VacancyCause};
use super::seats::{ClaimEnd, Driver, Hold, SeatState};
use super::{Phase, Room};
use crate::log::Record;

/// How far ahead of the room's clock a newcomer is told to take part, in milliseconds: long enough for the news to reach it and
/// for its first input to come back in time (A5).
pub const ACTIVATION_LEAD_MILLIS: u32 = 250;

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

/// Why a seat can't be given to a bot, or taken from one.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
pub enum SeatError {
    /// The match has no such seat.
    #[error("the match has no such seat")]
    NoSuchSeat,
    /// A connected player has the seat, or somebody is on the way to it.
    #[error("a player has the seat")]
    Held,
    /// It is a bot's already.
    #[error("a bot plays the seat already")]
    Bot,
    /// It is not a bot's.
    #[error("no bot plays the seat")]
    NoBot,
    /// The room has ended.
    #[error("the room has ended")]
    Closed,
}

/// Who is to drive a seat.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum NewDriver {
    Nobody,
    Bot,
    Human,
}

impl SeatTransition {
    /// Who drives the seat before, and who after.
    pub(super) const fn ends(self) -> (NewDriver, NewDriver) {
        match self {
            SeatTransition::EmptyToBot => (NewDriver::Nobody, NewDriver::Bot),
            SeatTransition::EmptyToHuman => (NewDriver::Nobody, NewDriver::Human),
            SeatTransition::BotToHuman => (NewDriver::Bot, NewDriver::Human),
            SeatTransition::BotToEmpty => (NewDriver::Bot, NewDriver::Nobody),
            SeatTransition::HumanToBot => (NewDriver::Human, NewDriver::Bot),
            SeatTransition::HumanToEmpty => (NewDriver::Human, NewDriver::Nobody),
        }
    }

    fn between(before: Driver, after: NewDriver) -> Option<SeatTransition> {
        match (before, after) {
            (Driver::Nobody, NewDriver::Bot) => Some(SeatTransition::EmptyToBot),
            (Driver::Nobody, NewDriver::Human) => Some(SeatTransition::EmptyToHuman),
            (Driver::Bot(_), NewDriver::Human) => Some(SeatTransition::BotToHuman),
            (Driver::Bot(_), NewDriver::Nobody) => Some(SeatTransition::BotToEmpty),
            (Driver::Human, NewDriver::Bot) => Some(SeatTransition::HumanToBot),
            (Driver::Human, NewDriver::Nobody) => Some(SeatTransition::HumanToEmpty),
            (Driver::Nobody, NewDriver::Nobody)
            | (Driver::Bot(_), NewDriver::Bot)
            | (Driver::Human, NewDriver::Human) => None,
        }
    }
}

impl Room {
    /// Lets a bot play a seat from the next tick on: one that is empty (S1), or whose player's transport is lost (S5). That player
    /// can still come back, and takes the seat from the bot then (S3).
    ///
    /// # Errors
    /// [`SeatError`] when a player has the seat or is on the way to it, and when a bot plays there already.
    pub fn seat_bot(&mut self, seat: Seat) -> Result<BotLease, SeatError> {
        match self.changeable(seat)? {
            SeatState::Free | SeatState::Vacated => {}
            SeatState::Disconnected if self.seats[seat.index()].is_active() => {
                self.end_claim(seat, VacancyCause::BotSeated, ClaimEnd::Retained);
            }
            SeatState::Bot => return Err(SeatError::Bot),
            SeatState::Disconnected | SeatState::Joining | SeatState::Playing => return Err(SeatError::Held),
        }
        self.change_driver(seat, NewDriver::Bot);
        self.handle_vacancy();
        self.send_roster_if_changed();
        self.bot_lease(seat).ok_or(SeatError::Closed)
    }

    /// Takes a bot off its seat from the next tick on (S4). A player for whom it played has no claim any more.
    ///
    /// # Errors
    /// [`SeatError`] when no bot plays there, or somebody is on the way to the seat.
    pub fn remove_bot(&mut self, seat: Seat) -> Result<(), SeatError> {
        let state = self.changeable(seat)?;
        let slot = &self.seats[seat.index()];
        if !slot.is_bot() {
            return Err(SeatError::NoBot);
        }
        if state != SeatState::Bot {
            return Err(SeatError::Held);
        }
        if slot.holder.is_some() {
            self.end_claim(seat, VacancyCause::BotRemoved, ClaimEnd::Over);
        }
        self.change_driver(seat, NewDriver::Nobody);
        self.handle_vacancy();
        self.send_roster_if_changed();
        Ok(())
    }

    /// The lease under which a bot plays `seat`, if one does.
    pub fn bot_lease(&self, seat: Seat) -> Option<BotLease> {
        let slot = self.seats.get(seat.index())?;
        let Driver::Bot(id) = slot.driver else { return None };
        Some(BotLease { id, epoch: slot.epoch })
    }

    fn changeable(&self, seat: Seat) -> Result<SeatState, SeatError> {
        let state = self.seat_state(seat).ok_or(SeatError::NoSuchSeat)?;
        if self.phase == Phase::Closed { Err(SeatError::Closed) } else { Ok(state) }
    }

    /// Changes who drives a seat, from the next tick on. Nothing happens where nothing changes.
    pub(super) fn change_driver(&mut self, seat: Seat, after: NewDriver) {
        let tick = self.frontier();
        let slot = &mut self.seats[seat.index()];
        let Some(transition) = SeatTransition::between(slot.driver, after) else { return };
        let driver = match after {
            NewDriver::Nobody => Driver::Nobody,
            NewDriver::Human => Driver::Human,
            NewDriver::Bot => {
                self.next_lease += 1;
                self.has_leased = true;
                Driver::Bot(BotLeaseId(self.next_lease - 1))
            }
        };
        slot.set_driver(driver);
        if driver == Driver::Human {
            slot.set_hold(Hold::Active(tick));
        } else {
            self.commands.discard(seat);
        }
        let epoch = slot.epoch;
        let lease = if let Driver::Bot(id) = driver { Some(id) } else { None };
        self.outbox.persist(&Record::SeatChanged { seat, transition, tick, epoch, lease });
        let lease = lease.map(|id| BotLease { id, epoch });
        self.outbox.event(RoomEvent::SeatChanged { seat, transition, tick, epoch, lease });
        self.roster_changed = true;
    }

    /// Lets the bots of the policy take their seats, before tick 0.
    pub(super) fn seat_initial_bots(&mut self) {
        self.config.seats.initial_bots.iter().for_each(|seat| self.change_driver(seat, NewDriver::Bot));
    }

    /// The seat's client is ready while the clock runs: it takes part from a coming tick on.
    pub(super) fn schedule(&mut self, seat: Seat) {
        let lead = u64::from(self.config.descriptor.tick_rate().hz() * ACTIVATION_LEAD_MILLIS / 1000);
        let now = self.clock_tick().unwrap_or_default().max(self.frontier());
        self.seats[seat.index()].set_hold(Hold::Scheduled(now.saturating_add(lead)));
        self.update_next_activation();
    }

    /// Tells a seat's client from which tick on it takes part, if that is known.
    pub(super) fn tell_activation(&mut self, seat: Seat) {
        let slot = &self.seats[seat.index()];
        let (Some(Hold::Scheduled(tick) | Hold::Active(tick)), Some(connection)) = (slot.hold(), slot.connection)
        else {
            return;
        };
        let generation = self.config.descriptor.generation();
        self.outbox.transmit([connection], &RoomMessage::Activated { generation, tick });
    }

    /// Lets those take part whose tick is the next to be confirmed.
    pub(super) fn activate_due(&mut self) {
        let frontier = self.frontier();
        if self.next_activation.is_none_or(|tick| tick > frontier) {
            return;
        }
        for seat in self.config.descriptor.seats().seats() {
            if matches!(self.seats[seat.index()].hold(), Some(Hold::Scheduled(tick)) if tick <= frontier) {
                self.change_driver(seat, NewDriver::Human);
            }
        }
        self.update_next_activation();
    }

    /// Lets everyone who is ready take part, before tick 0.
    pub(super) fn activate_ready(&mut self) {
        for seat in self.config.descriptor.seats().seats() {
            if self.seats[seat.index()].hold() == Some(Hold::Ready) {
                self.change_driver(seat, NewDriver::Human);
                self.tell_activation(seat);
            }
        }
    }

    pub(super) fn update_next_activation(&mut self) {
        let scheduled = |hold| if let Some(Hold::Scheduled(tick)) = hold { Some(tick) } else { None };
        self.next_activation = self.seats.iter().filter_map(|slot| scheduled(slot.hold())).min();
    }
}
