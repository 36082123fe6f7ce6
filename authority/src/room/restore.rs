//! Making a room of its log (A12): every record is replayed, and what contradicts the ones before it is refused.

use alloc::vec::Vec;

use retick_core::codec::wire::{Cursor, WireError};
use retick_core::digest::Digest;
use retick_core::frame::FrameError;
use retick_core::identity::{DescriptorError, MatchDescriptor};
use retick_core::seat::{ControlEpoch, Generation, Seat};
use retick_core::tick::Tick;
use retick_core::wire::{ClaimId, MAX_TAIL_TICKS};

use super::clock::{Clock, RoomTime};
use super::config::{Durability, RoomConfigError};
use super::event::ClosedCause;
use super::policy::OnLeave;
use super::reconfigure::RECONFIGURE_WAIT_MILLIS;
use super::seats::{ClaimEnd, Driver, Hold, SeatSlot};
use super::transitions::{BotLeaseId, NewDriver, SeatTransition};
use super::{Phase, Room};
use crate::log::{FIRST_SEQUENCE, FrameLog, Record};

/// A log that no room can be made of.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum RestoreError<E> {
    /// The log can't be read.
    #[error("{0}")]
    Log(E),
    /// A record is not what a room wrote behind the ones before it.
    #[error("record {sequence}: {error}")]
    Record {
        /// Its number.
        sequence: u64,
        /// What is wrong.
        error: RecordError,
    },
    /// The log holds no record.
    #[error("the log is empty")]
    Empty,
    /// The room has ended.
    #[error("the room has ended: {cause:?}")]
    Ended {
        /// Why.
        cause: ClosedCause,
    },
}

/// What about a record is not what a room wrote.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum RecordError {
    /// The log says that it is there, and does not give it.
    #[error("it is missing")]
    Missing,
    /// It is malformed.
    #[error("{0}")]
    Malformed(#[from] WireError),
    /// It is the first, and not a room's creation.
    #[error("the log does not begin with a room's creation")]
    NotCreated,
    /// The match that it holds is malformed.
    #[error("{0}")]
    Descriptor(#[from] DescriptorError),
    /// The room can't be made like this.
    #[error("{0}")]
    Config(#[from] RoomConfigError),
    /// The frame that it holds is malformed.
    #[error("{0}")]
    Frame(#[from] FrameError),
    /// The frames do not give the chain's head that stands in it.
    #[error("the frame chain breaks: {expected} was written, the frames give {found}")]
    Chain {
        /// The head in the record.
        expected: Digest,
        /// The head that the frames give.
        found: Digest,
    },
    /// It can't follow on the records before it.
    #[error("it contradicts the records before it")]
    Contradiction,
}

impl Room {
    /// The room that wrote `log`: the same seats, claims, tokens, epochs, generation and history. Everyone who held a seat has lost
    /// the connection, and a fresh grace. `durability` is that of the new run; what the log may lack follows from that of the last
    /// one, and where it may lack frames the room waits for those who have them, at most [`RECOVERY_WINDOW_MILLIS`].
    ///
    /// The room goes on with the log's next sequence number. Its first record raises the fence. A log that forgets on its own must be
    /// forced to the disk behind that one before anything is transmitted, whatever the durability: else two runs of the room might
    /// confirm different frames under one fence.
    ///
    /// [`RECOVERY_WINDOW_MILLIS`]: super::RECOVERY_WINDOW_MILLIS
    ///
    /// # Errors
    /// [`RestoreError`]; the log is as it was.
    pub fn restore<L: FrameLog + ?Sized>(log: &mut L, durability: Durability) -> Result<Room, RestoreError<L::Error>> {
        let (mut bytes, mut replay) = (Vec::new(), None);
        let end = log.next_sequence();
        for sequence in FIRST_SEQUENCE..end {
            let refused = |error| RestoreError::Record { sequence, error };
            if !log.read_into(sequence, &mut bytes).map_err(RestoreError::Log)? {
                return Err(refused(RecordError::Missing));
            }
            let record = Record::decode(&bytes).map_err(|error| refused(error.into()))?;
            match &mut replay {
                None => replay = Some(Replay::new(&record).map_err(refused)?),
                Some(replay) => replay.apply(&record).map_err(refused)?,
            }
        }
        let replay = replay.ok_or(RestoreError::Empty)?;
        match replay.ended {
            Some(cause) => Err(RestoreError::Ended { cause }),
            None => Ok(replay.finish(end.saturating_sub(1), durability)),
        }
    }
}

/// A room on its way out of its log.
struct Replay {
    room: Room,
    /// What waited for the log in the run that the last record belongs to.
    durability: Durability,
    ended: Option<ClosedCause>,
}

impl Replay {
    fn new(first: &Record<'_>) -> Result<Replay, RecordError> {
        let Record::Created { descriptor, secret, settings } = *first else {
            return Err(RecordError::NotCreated);
        };
        let config = settings.with(MatchDescriptor::from_bytes(descriptor)?);
        let durability = config.durability;
        Ok(Replay { room: Room::assemble(config, secret)?, durability, ended: None })
    }

    fn apply(&mut self, record: &Record<'_>) -> Result<(), RecordError> {
        require(self.ended.is_none())?;
        match *record {
            Record::Created { .. } => return Err(RecordError::Contradiction),
            Record::Claimed { seat, claim, epoch, player } => {
                self.take_claim(claim)?;
                let slot = self.slot(seat)?;
                require(epoch > slot.issued_epoch())?;
                slot.restore_claim(claim, player, epoch);
            }
            Record::SeatChanged { seat, transition, tick, epoch, lease } => {
                require(tick == self.room.frontier())?;
                self.change_driver(seat, transition, epoch, lease)?;
            }
            Record::Disconnected { seat } => {
                let slot = self.slot(seat)?;
                require(slot.is_held())?;
                if !slot.is_active() {
                    slot.set_hold(Hold::Joining);
                }
            }
            Record::Resumed { seat, rotation, proven, epoch } => {
                let slot = self.slot(seat)?;
                slot.restore_epoch(epoch);
                let holder = slot.holder.as_mut().ok_or(RecordError::Contradiction)?;
                require(proven <= rotation && proven >= holder.proven)?;
                (holder.rotation, holder.proven, holder.epoch) = (rotation, proven, epoch);
                if !matches!(holder.hold, Hold::Active(_)) {
                    holder.hold = Hold::Joining;
                }
            }
            Record::TokenProven { seat, rotation } => {
                let holder = self.slot(seat)?.holder.as_mut().ok_or(RecordError::Contradiction)?;
                require(rotation == holder.rotation)?;
                holder.proven = rotation;
            }
            Record::Vacated { seat, retained, .. } => {
                let slot = self.slot(seat)?;
                require(slot.holder.is_some())?;
                slot.release(if retained { ClaimEnd::Retained } else { ClaimEnd::Over });
                self.room.results.forget(seat);
            }
            Record::Started { generation } => {
                self.check_generation(generation)?;
                require(matches!(self.room.phase, Phase::Lobby | Phase::Restarting { .. }))?;
                self.room.phase = Phase::Running { origin: RoomTime::default() };
            }
            Record::Paused { generation, clock, .. } => {
                self.check_generation(generation)?;
                require(matches!(self.room.phase, Phase::Running { .. }))?;
                self.room.phase = Phase::Paused { position: clock.moment() };
            }
            Record::Unpaused { generation } => {
                self.check_generation(generation)?;
                require(matches!(self.room.phase, Phase::Paused { .. }))?;
                self.room.phase = Phase::Running { origin: RoomTime::default() };
            }
            Record::Locked { locked } => self.room.is_locked = locked,
            Record::Reconfigured { descriptor } => self.reconfigure(MatchDescriptor::from_bytes(descriptor)?)?,
            Record::Result { seat, tick, result } => {
                self.slot(seat)?;
                require(self.room.results.take(seat, tick, result))?;
            }
            Record::Settled { generation, settlement } => {
                self.check_generation(generation)?;
                require(self.room.results.restore(&settlement))?;
            }
            Record::Frame { tick, frame, head } => self.take_frame(tick, frame, head)?,
            Record::Fence { fence, durability } => {
                require(self.room.fences.current().checked_add(1) == Some(fence))?;
                self.room.fences.raise(fence);
                self.durability = durability;
            }
            Record::Closed { cause } => self.ended = Some(cause),
        }
        Ok(())
    }

    fn slot(&mut self, seat: Seat) -> Result<&mut SeatSlot, RecordError> {
        self.room.seats.get_mut(seat.index()).ok_or(RecordError::Contradiction)
    }

    /// Claims are numbered in order, none twice.
    fn take_claim(&mut self, claim: ClaimId) -> Result<(), RecordError> {
        require(claim.0 >= self.room.next_claim)?;
        self.room.next_claim = claim.0.checked_add(1).ok_or(RecordError::Contradiction)?;
        Ok(())
    }

    fn check_generation(&self, generation: Generation) -> Result<(), RecordError> {
        require(generation == self.room.config.descriptor.generation())
    }

    fn change_driver(
        &mut self,
        seat: Seat,
        transition: SeatTransition,
        epoch: ControlEpoch,
        lease: Option<BotLeaseId>,
    ) -> Result<(), RecordError> {
        let (tick, next_lease) = (self.room.frontier(), self.room.next_lease);
        let slot = self.slot(seat)?;
        let before = match slot.driver {
            Driver::Nobody => NewDriver::Nobody,
            Driver::Bot(_) => NewDriver::Bot,
            Driver::Human => NewDriver::Human,
        };
        let (from, to) = transition.ends();
        let driver = match (to, lease) {
            (NewDriver::Nobody, None) => Driver::Nobody,
            (NewDriver::Human, None) => Driver::Human,
            (NewDriver::Bot, Some(id)) => Driver::Bot(id),
            _ => return Err(RecordError::Contradiction),
        };
        let is_claimed = slot.holder.is_some_and(|holder| holder.epoch == epoch);
        require(from == before && if to == NewDriver::Human { is_claimed } else { epoch > slot.issued_epoch() })?;
        slot.restore_driver(driver, epoch, tick);
        if let Some(BotLeaseId(id)) = lease {
            require(id >= next_lease)?;
            self.room.next_lease = id.checked_add(1).ok_or(RecordError::Contradiction)?;
        }
        Ok(())
    }

    fn reconfigure(&mut self, descriptor: MatchDescriptor) -> Result<(), RecordError> {
        let before = &self.room.config.descriptor;
        let follows = descriptor.identity() == before.identity()
            && descriptor.seats() == before.seats()
            && before.generation().0.checked_add(1) == Some(descriptor.generation().0);
        require(follows)?;
        self.room.set_generation(descriptor);
        Ok(())
    }

    fn take_frame(&mut self, tick: Tick, bytes: &[u8], expected: Digest) -> Result<(), RecordError> {
        let room = &mut self.room;
        let (seats, generation) = (room.config.descriptor.seats(), room.config.descriptor.generation());
        let mut cursor = Cursor::new(bytes);
        room.current.decode_full(&mut cursor, seats)?;
        cursor.finish()?;
        let (frame, fences) = (&room.current, &room.fences);
        require(matches!(room.phase, Phase::Running { .. } | Phase::Paused { .. }))?;
        require(frame.generation() == generation)?;
        require(frame.tick() == tick && tick == room.history.frontier() && tick < Tick::MAX)?;
        require(frame.fence() <= fences.current() && Some(frame.fence()) >= fences.newest())?;
        room.adopt_current();
        room.extend_history();
        let found = room.chain.head();
        if found != expected {
            return Err(RecordError::Chain { expected, found });
        }
        core::mem::swap(&mut room.current, &mut room.previous);
        Ok(())
    }

    /// Begins another run behind the log's last record.
    fn finish(self, last: u64, durability: Durability) -> Room {
        let Replay { mut room, durability: before, .. } = self;
        room.config.durability = durability;
        room.outbox.continue_behind(last, durability);
        let fence = room.fences.current().saturating_add(1);
        room.fences.raise(fence);
        room.outbox.persist(&Record::Fence { fence, durability });
        // Ticks that clients give back still have their place on the clock, and so has where it stood still.
        let (rate, frontier) = (room.config.descriptor.tick_rate(), room.frontier());
        let mut beginning = rate.moment_of(frontier.saturating_add(MAX_TAIL_TICKS as u64));
        if let Phase::Paused { position } = room.phase {
            beginning = beginning.max(position);
        }
        room.clock = Clock::starting_at(beginning);
        let grace_end = room.clock.time().plus_millis(room.config.grace_millis);
        room.seats.iter_mut().filter(|slot| slot.is_held()).for_each(|slot| slot.grace_end = Some(grace_end));
        room.go_on(before);
        room
    }
}

impl Room {
    /// Takes the match up where it was, after a run with this durability.
    fn go_on(&mut self, before: Durability) {
        let paused = if let Phase::Paused { position } = self.phase { Some(position) } else { None };
        match self.phase {
            Phase::Restarting { .. } => {
                let deadline = self.clock.time().plus_millis(RECONFIGURE_WAIT_MILLIS);
                self.phase = Phase::Restarting { deadline };
            }
            Phase::Running { .. } if before == Durability::EveryFrame => {
                // Whatever was released is in the log.
                let reached = self.config.descriptor.tick_rate().moment_of(self.frontier());
                self.phase = Phase::Running { origin: self.clock.time().minus(reached) };
            }
            Phase::Running { .. } | Phase::Paused { .. } if before != Durability::EveryFrame => {
                self.open_recovery(paused)
            }
            _ => {}
        }
        self.finish_changes();
        let is_deserted = self.phase != Phase::Lobby && !self.seats.iter().any(SeatSlot::is_held);
        if is_deserted {
            self.end(ClosedCause::Deserted);
        }
    }
}

impl Room {
    /// A change is several records, and the machine may have stopped between them: what the first ones began is done.
    fn finish_changes(&mut self) {
        if self.phase == Phase::Lobby && self.next_lease == 0 {
            self.seat_initial_bots();
        }
        let on_leave = match self.config.seats.on_leave {
            OnLeave::Empty => NewDriver::Nobody,
            OnLeave::Bot => NewDriver::Bot,
        };
        for seat in self.config.descriptor.seats().seats() {
            let slot = &self.seats[seat.index()];
            if slot.is_active() && !slot.is_held() {
                self.change_driver(seat, if slot.holder.is_some() { NewDriver::Bot } else { on_leave });
            }
        }
        self.settle_if_due();
    }
}

fn require(holds: bool) -> Result<(), RecordError> {
    if holds { Ok(()) } else { Err(RecordError::Contradiction) }
}
