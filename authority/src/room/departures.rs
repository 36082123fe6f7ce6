//! How connections, seats and the room end (A1, A5, A6).

use retick_core::seat::Seat;
use retick_core::tick::Moment;
use retick_core::wire::{CloseReason, Refusal, RoomMessage};

use super::connections::Stage;
use super::event::{CloseCause, ClosedCause, ConnectionId, RoomEvent, VacancyCause};
use super::seats::SeatState;
use super::{Phase, Room};
use crate::log::Record;

impl Room {
    /// An explicit leave: the seat is empty at once, and what it had buffered is discarded (A1).
    pub(super) fn leave(&mut self, connection: ConnectionId, seat: Seat, now: Moment) {
        self.connections.remove(connection);
        self.vacate(seat, VacancyCause::Left);
        self.dismiss(connection, CloseReason::Left);
        self.handle_vacancy(now);
    }

    /// Ends a greeted connection for what it did. Its seat is treated as if the transport was lost.
    pub(super) fn eject(&mut self, connection: ConnectionId, reason: CloseReason, now: Moment) {
        if let Some(Stage::Seated { seat, .. }) = self.connections.remove(connection) {
            self.lose(seat, now);
            self.dismiss(connection, reason);
        }
    }

    fn dismiss(&mut self, connection: ConnectionId, reason: CloseReason) {
        self.outbox.transmit([connection], &RoomMessage::Closing(reason));
        self.outbox.close(connection, CloseCause::Ended(reason));
    }

    /// A seat's transport is lost: its grace begins, and what it had delivered stays (A3, A6).
    pub(super) fn lose(&mut self, seat: Seat, now: Moment) {
        let grace_end = self.clock.at(now).plus_millis(self.config.grace_millis);
        let slot = &mut self.seats[seat.index()];
        slot.connection = None;
        slot.grace_end = Some(grace_end);
        if self.phase == Phase::Lobby {
            // Whoever returns before tick 0 verifies the greeting again, and says so.
            slot.set_active(false);
        }
        self.outbox.persist(&Record::Disconnected { seat });
        self.outbox.event(RoomEvent::SeatDisconnected { seat });
    }

    /// Gives up every seat whose grace is over, once the clock has reached its end and what is due was delivered.
    pub(super) fn expire_graces(&mut self, now: Moment) {
        let time = self.clock.time();
        let mut expired = false;
        if self.phase == Phase::Recovering {
            return;
        }
        for seat in self.config.descriptor.seats().seats() {
            if self.seats[seat.index()].grace_end.is_some_and(|end| end <= time) {
                self.vacate(seat, VacancyCause::GraceOver);
                expired = true;
            }
        }
        if expired {
            self.handle_vacancy(now);
        }
    }

    fn vacate(&mut self, seat: Seat, cause: VacancyCause) {
        let slot = &mut self.seats[seat.index()];
        slot.vacate();
        self.commands.discard(seat);
        self.outbox.persist(&Record::Vacated { seat, cause, retained: false });
        self.outbox.event(RoomEvent::SeatVacated { seat, cause });
    }

    /// A seat was given up: that ends a room without players, and may be what the start waited for.
    fn handle_vacancy(&mut self, now: Moment) {
        let may_fill = |state| state == SeatState::Free && self.phase == Phase::Lobby;
        let deserted = !self.seats.iter().any(|slot| slot.is_held() || may_fill(slot.state()));
        if deserted {
            self.end(ClosedCause::Deserted);
        } else {
            self.start_if_full(now);
        }
    }

    /// The room ends, once.
    pub(super) fn end(&mut self, cause: ClosedCause) {
        if self.phase == Phase::Closed {
            return;
        }
        self.adopt_tail();
        self.phase = Phase::Closed;
        self.outbox.persist(&Record::Closed { cause });
        while let Some((connection, stage)) = self.connections.pop_first() {
            match stage {
                Stage::Greeting { .. } => self.refuse(connection, Refusal::Closing),
                Stage::Seated { .. } => self.dismiss(connection, CloseReason::RoomEnded),
            }
        }
        for slot in &mut self.seats {
            slot.connection = None;
        }
        self.outbox.event(RoomEvent::Closed { cause });
    }
}
