//! Making a room of its log (A12): the records are replayed, and then another run begins.

use alloc::vec::Vec;

use retick_core::codec::wire::WireError;
use retick_core::digest::Digest;
use retick_core::frame::FrameError;
use retick_core::identity::DescriptorError;
use retick_core::wire::MAX_TAIL_TICKS;

use super::clock::Clock;
use super::config::{Durability, RoomConfigError};
use super::event::ClosedCause;
use super::policy::OnLeave;
use super::reconfigure::RECONFIGURE_WAIT_MILLIS;
use super::replay::Replay;
use super::seats::SeatSlot;
use super::transitions::NewDriver;
use super::{Phase, Room};
use crate::log::{FrameLog, Record};

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
    /// It is the first, and neither a room's creation nor its summary.
    #[error("the log does not begin with a room's creation or summary")]
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
        let (first, end) = (log.first_sequence(), log.next_sequence());
        for sequence in first..end {
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

impl Replay {
    /// Begins another run behind the log's last record.
    fn finish(self, last: u64, durability: Durability) -> Room {
        let Replay { mut room, durability: before, .. } = self;
        room.config.durability = durability;
        room.outbox.continue_behind(last, durability);
        let fence = room.fences.current().saturating_add(1);
        room.fences.raise(fence);
        room.outbox.persist(&Record::Fence { fence, durability });
        let bots_were_seated = room.has_leased;
        room.skip_numbers(fence);
        // Ticks that clients give back still have their place on the clock, and so has where it stood still.
        let (rate, frontier) = (room.config.descriptor.tick_rate(), room.frontier());
        let mut beginning = rate.moment_of(frontier.saturating_add(MAX_TAIL_TICKS as u64));
        if let Phase::Paused { position } = room.phase {
            beginning = beginning.max(position);
        }
        room.clock = Clock::starting_at(beginning);
        let grace_end = room.clock.time().plus_millis(room.config.grace_millis);
        room.seats.iter_mut().filter(|slot| slot.is_held()).for_each(|slot| slot.grace_end = Some(grace_end));
        room.go_on(before, bots_were_seated);
        room
    }
}

impl Room {
    /// Claims and leases of this run have numbers of their own: those that an earlier one gave out and did not get written down are not
    /// given out again, and neither are the tokens that follow from a claim's number (A6).
    pub(super) fn skip_numbers(&mut self, fence: u32) {
        let first = u64::from(fence) << u32::BITS;
        (self.next_claim, self.next_lease) = (self.next_claim.max(first), self.next_lease.max(first));
    }

    /// Takes the match up where it was, after a run with this durability.
    fn go_on(&mut self, before: Durability, bots_were_seated: bool) {
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
        if self.phase == Phase::Lobby && !bots_were_seated {
            self.seat_initial_bots();
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
        let on_leave = match self.config.seats.on_leave {
            OnLeave::Empty => NewDriver::Nobody,
            OnLeave::Bot => NewDriver::Bot,
        };
        for seat in self.config.descriptor.seats().seats() {
            let slot = &self.seats[seat.index()];
            let (is_left, after) = (!slot.is_held(), if slot.holder.is_some() { NewDriver::Bot } else { on_leave });
            if is_left && slot.is_active() {
                self.change_driver(seat, after);
            }
        }
        self.settle_if_due();
    }
}
