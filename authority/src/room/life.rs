//! A match's life: when it begins, when it stands still, and who is told (A15).

use retick_core::seat::{Generation, Seat};
use retick_core::tick::{Moment, Tick};
use retick_core::wire::{RoomClock, RoomMessage};

use super::event::{ConnectionId, RoomEvent};
use super::policy::{PausePolicy, StartPolicy};
use super::seats::{SeatSlot, SeatState};
use super::{Phase, Room};
use crate::log::Record;

/// Why a room can't be started by hand.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
pub enum StartError {
    /// The room starts when enough players are ready.
    #[error("the room starts by itself, when enough players are ready")]
    NotManual,
    /// It has started, or has ended.
    #[error("the room is not waiting to be started")]
    NotWaiting,
    /// Nobody holds a seat.
    #[error("nobody holds a seat")]
    NoSeats,
}

/// Why the clock can't be stopped, or let go on.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
pub enum PauseError {
    /// The clock does not run.
    #[error("the clock does not run")]
    NotRunning,
    /// The clock was not stopped.
    #[error("the clock was not stopped")]
    NotPaused,
}

impl Room {
    /// Starts a room of [`StartPolicy::Manual`] or [`StartPolicy::Creator`] with the seats that are claimed by now. A seat whose
    /// client is not ready yet is not waited for, and takes part from a tick soon after its `Ready` on (A3, A5).
    ///
    /// # Errors
    /// [`StartError`] when the room starts by itself, is not waiting, or has no player.
    pub fn start(&mut self, now: Moment) -> Result<(), StartError> {
        self.clock.observe(now);
        if !matches!(self.config.start, StartPolicy::Manual | StartPolicy::Creator) {
            return Err(StartError::NotManual);
        }
        if self.phase != Phase::Lobby {
            return Err(StartError::NotWaiting);
        }
        if !self.seats.iter().any(|slot| slot.is_held()) {
            return Err(StartError::NoSeats);
        }
        self.begin();
        self.send_roster_if_changed();
        Ok(())
    }

    /// Stops the match's clock: no tick that it has not reached is confirmed, and nobody is substituted for the time until
    /// [`Room::unpause`]. Graces run on.
    ///
    /// # Errors
    /// [`PauseError::NotRunning`] when it does not run.
    pub fn pause(&mut self, now: Moment) -> Result<(), PauseError> {
        self.clock.observe(now);
        let Phase::Running { origin } = self.phase else { return Err(PauseError::NotRunning) };
        // In whole microseconds, as records and messages say it; up, so that no tick is taken back.
        let position = Moment::from_micros(self.clock.present().since(origin).as_nanos().div_ceil(1_000));
        self.phase = Phase::Paused { position };
        let (generation, tick) = (self.config.descriptor.generation(), self.paused_tick(position));
        let clock = RoomClock { micros: position.as_micros() };
        self.outbox.persist(&Record::Paused { generation, tick, clock });
        self.outbox.transmit(self.connections.greeted(), &RoomMessage::Paused { generation, tick });
        self.outbox.event(RoomEvent::Paused { tick });
        Ok(())
    }

    /// Lets the match's clock go on from where it stood.
    ///
    /// # Errors
    /// [`PauseError::NotPaused`] when it was not stopped.
    pub fn unpause(&mut self, now: Moment) -> Result<(), PauseError> {
        self.clock.observe(now);
        let Phase::Paused { position } = self.phase else { return Err(PauseError::NotPaused) };
        // The time until now is part of the pause, so that the match's clock never shows less than it did.
        self.clock.advance(now);
        self.phase = Phase::Running { origin: self.clock.time().minus(position) };
        let (generation, clock) = (self.config.descriptor.generation(), RoomClock { micros: position.as_micros() });
        self.outbox.persist(&Record::Unpaused { generation });
        self.outbox.transmit(self.connections.greeted(), &RoomMessage::Resumed { generation, clock });
        self.outbox.event(RoomEvent::Unpaused);
        Ok(())
    }

    /// A player wants the match to begin, or not yet.
    pub(super) fn handle_vote(&mut self, seat: Seat, ready: bool) {
        let Some(holder) = &mut self.seats[seat.index()].holder else { return };
        if holder.wants_start != ready {
            holder.wants_start = ready;
            self.roster_changed = true;
            self.start_if_due();
        }
    }

    /// A player starts the match, which the creator may where the policy says so.
    pub(super) fn handle_start(&mut self, seat: Seat) {
        let may = self.config.start == StartPolicy::Creator && self.creator() == Some(seat);
        if may && self.phase == Phase::Lobby {
            self.begin();
        } else {
            self.stats.refused_requests += 1;
        }
    }

    /// A player stops the clock, or lets it go on.
    pub(super) fn handle_pause(&mut self, seat: Seat, generation: Generation, paused: bool, now: Moment) {
        let may = match self.config.pause {
            PausePolicy::Nobody => false,
            PausePolicy::Creator => self.creator() == Some(seat),
            PausePolicy::Anyone => true,
        };
        let current = generation == self.config.descriptor.generation();
        let done = may && current && if paused { self.pause(now).is_ok() } else { self.unpause(now).is_ok() };
        self.stats.refused_requests += u64::from(!done);
    }

    /// Tells a newcomer that the clock stands still.
    pub(super) fn tell_pause(&mut self, connection: ConnectionId) {
        let Phase::Paused { position } = self.phase else { return };
        let (generation, tick) = (self.config.descriptor.generation(), self.paused_tick(position));
        self.outbox.transmit([connection], &RoomMessage::Paused { generation, tick });
    }

    /// The first tick that a clock which stands there has not reached.
    fn paused_tick(&self, position: Moment) -> Tick {
        self.config.descriptor.tick_rate().tick_at(position).saturating_add(1)
    }

    /// Begins what waits for players, once enough of them are there; starts or ends the countdown.
    pub(super) fn start_if_due(&mut self) {
        match (self.phase, self.config.start) {
            (Phase::Lobby, StartPolicy::WhenFull) if self.is_full_and_wanted() => self.begin(),
            (Phase::Lobby, StartPolicy::Minimum { seats, countdown_millis }) => {
                let wanting = self.seats.iter().filter(|slot| slot.wants_start()).count();
                if self.is_full_and_wanted() {
                    self.begin();
                } else if wanting < usize::from(seats) {
                    self.countdown_end = None;
                } else if self.countdown_end.is_none() {
                    self.countdown_end = Some(self.clock.present().plus_millis(u64::from(countdown_millis)));
                }
            }
            (Phase::Restarting { .. }, _) if !self.is_anyone_awaited() => self.begin(),
            _ => {}
        }
    }

    /// Begins what has waited long enough.
    pub(super) fn begin_overdue(&mut self) {
        let due = match self.phase {
            Phase::Lobby => self.countdown_end,
            Phase::Restarting { deadline } => Some(deadline),
            Phase::Running { .. } | Phase::Paused { .. } | Phase::Recovering | Phase::Closed => None,
        };
        if due.is_some_and(|due| due <= self.clock.time()) {
            self.begin();
        }
    }

    /// Whether nobody else can come, and everyone who is there is ready and wants the match to begin.
    fn is_full_and_wanted(&self) -> bool {
        let recycles = self.config.seats.recycle_vacated;
        let settled = |slot: &SeatSlot| match slot.state() {
            SeatState::Bot => true,
            SeatState::Vacated => !recycles,
            SeatState::Playing => slot.wants_start(),
            SeatState::Free | SeatState::Joining | SeatState::Disconnected => false,
        };
        self.seats.iter().all(settled) && self.seats.iter().any(|slot| slot.is_held())
    }

    /// Tick 0 of the generation begins now.
    fn begin(&mut self) {
        self.phase = Phase::Running { origin: self.clock.present() };
        self.countdown_end = None;
        let generation = self.config.descriptor.generation();
        self.outbox.persist(&Record::Started { generation });
        self.activate_ready();
        let started = RoomMessage::Started { generation, clock: RoomClock::default() };
        self.outbox.transmit(self.connections.greeted(), &started);
        self.outbox.event(RoomEvent::Started { generation });
    }
}
