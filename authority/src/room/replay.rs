//! Replaying a log's records (A12). Whatever contradicts the records before it is refused.

use retick_core::codec::wire::{self, Cursor};
use retick_core::digest::Digest;
use retick_core::identity::MatchDescriptor;
use retick_core::seat::{ControlEpoch, Generation, Seat};
use retick_core::tick::Tick;
use retick_core::wire::ClaimId;

use super::clock::RoomTime;
use super::config::Durability;
use super::event::ClosedCause;
use super::restore::RecordError;
use super::seats::{ClaimEnd, Driver, Hold, SeatSlot};
use super::summary::RoomSummary;
use super::transitions::{BotLeaseId, NewDriver, SeatTransition};
use super::{Phase, Room};
use crate::log::{MAX_RECORD_BYTES, Record};

/// A room on its way out of its log.
pub(super) struct Replay {
    pub(super) room: Room,
    /// What waited for the log in the run that the last record belongs to.
    pub(super) durability: Durability,
    pub(super) ended: Option<ClosedCause>,
}

impl Replay {
    pub(super) fn new(first: &Record<'_>) -> Result<Replay, RecordError> {
        let (room, durability) = match *first {
            Record::Created { descriptor, secret, settings } => {
                let config = settings.with(MatchDescriptor::from_bytes(descriptor)?);
                (Room::assemble(config, secret)?, settings.durability)
            }
            Record::Summary { generation, frontier, head, room } => {
                let summary: RoomSummary<'_> = wire::decode(room, MAX_RECORD_BYTES)?;
                (Room::of_summary(&summary, (generation, frontier, head))?, summary.durability())
            }
            _ => return Err(RecordError::NotCreated),
        };
        Ok(Replay { room, durability, ended: None })
    }

    pub(super) fn apply(&mut self, record: &Record<'_>) -> Result<(), RecordError> {
        require(self.ended.is_none())?;
        match *record {
            Record::Created { .. } => return Err(RecordError::Contradiction),
            Record::Summary { generation, frontier, head, room } => {
                // It says what the records before it say.
                require((generation, frontier, head) == self.room.place())?;
                require(room == self.room.summary(self.durability))?;
            }
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
            Record::Paused { generation, tick, clock } => {
                self.check_generation(generation)?;
                require(matches!(self.room.phase, Phase::Running { .. }))?;
                // The position was cut to microseconds, which may have cost it the tick that it had just reached.
                let reached = self.room.config.descriptor.tick_rate().moment_of(tick.saturating_sub(1));
                self.room.phase = Phase::Paused { position: clock.moment().max(reached) };
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
                self.room.skip_numbers(fence);
                self.durability = durability;
            }
            Record::Closed { cause } => self.ended = Some(cause),
            Record::Desync { generation, tick } => {
                self.check_generation(generation)?;
                require(tick <= self.room.frontier())?;
                self.room.reports.restore_desync();
            }
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
            self.room.has_leased = true;
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
        // A log holds the whole match, and a room no more than it may.
        room.forget_history(None);
        Ok(())
    }
}

pub(super) fn require(holds: bool) -> Result<(), RecordError> {
    if holds { Ok(()) } else { Err(RecordError::Contradiction) }
}
