//! How connections, seats and the room end (A1, A5, A6).

use retick_core::seat::Seat;
use retick_core::wire::{CloseReason, Refusal, RoomMessage};

use super::connections::Stage;
use super::event::{CloseCause, ClosedCause, ConnectionId, RoomEvent, VacancyCause};
use super::policy::OnLeave;
use super::seats::{ClaimEnd, Driver, Hold, SeatSlot};
use super::transitions::NewDriver;
use super::{Phase, Room};
use crate::log::Record;

impl Room {
    /// An explicit leave: the seat changes hands at once, and what it had buffered is discarded (A1).
    pub(super) fn leave(&mut self, connection: ConnectionId, seat: Seat) {
        self.connections.remove(connection);
        self.vacate(seat, VacancyCause::Left);
        self.dismiss(connection, CloseReason::Left);
        self.handle_vacancy();
    }

    /// Ends a greeted connection for what it did. Its seat is treated as if the transport was lost.
    pub(super) fn eject(&mut self, connection: ConnectionId, reason: CloseReason) {
        match self.connections.remove(connection) {
            Some(Stage::Seated { seat, .. }) => {
                self.lose(seat);
                self.dismiss(connection, reason);
            }
            Some(Stage::Watching { .. }) => self.dismiss(connection, reason),
            Some(Stage::Greeting { .. }) | None => {}
        }
    }

    pub(super) fn dismiss(&mut self, connection: ConnectionId, reason: CloseReason) {
        self.outbox.transmit([connection], &RoomMessage::Closing(reason));
        self.outbox.close(connection, CloseCause::Ended(reason));
    }

    /// A seat's transport is lost: its grace begins, and what it had delivered stays (A3, A6).
    pub(super) fn lose(&mut self, seat: Seat) {
        let grace_end = self.clock.present().plus_millis(self.config.grace_millis);
        let slot = &mut self.seats[seat.index()];
        slot.connection = None;
        slot.grace_end = Some(grace_end);
        if !slot.is_active() {
            // Whoever returns without having taken part verifies the greeting again, and says so.
            slot.set_hold(Hold::Joining);
            slot.forget_deliveries();
        }
        self.outbox.persist(&Record::Disconnected { seat });
        self.outbox.event(RoomEvent::SeatDisconnected { seat });
        self.roster_changed = true;
        self.update_next_activation();
        self.start_if_due();
    }

    /// Gives up every seat whose grace is over, once the clock has reached its end and what is due was delivered.
    pub(super) fn expire_graces(&mut self) {
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
            self.handle_vacancy();
        }
    }

    /// Gives a seat up, and lets the policy say who plays from the next tick on (S5, S6).
    fn vacate(&mut self, seat: Seat, cause: VacancyCause) {
        let on_leave = self.config.seats.on_leave;
        let slot = &self.seats[seat.index()];
        let (was_active, was_empty) = (slot.is_active(), slot.driver == Driver::Nobody);
        let played = slot.holder.is_some_and(|holder| holder.has_played);
        let bot_plays = on_leave == OnLeave::Bot || slot.is_bot();
        let retained = cause == VacancyCause::GraceOver && played && bot_plays;
        self.end_claim(seat, cause, if retained { ClaimEnd::Retained } else { ClaimEnd::Over });
        match on_leave {
            OnLeave::Empty if was_active => self.change_driver(seat, NewDriver::Nobody),
            OnLeave::Bot if was_active || (was_empty && self.phase == Phase::Lobby) => {
                self.change_driver(seat, NewDriver::Bot);
            }
            // Whoever was on the way has changed nothing yet.
            OnLeave::Empty | OnLeave::Bot => {}
        }
    }

    /// Ends a seat's claim, or keeps it for its owner while a bot plays. Who drives the seat is the caller's to say.
    pub(super) fn end_claim(&mut self, seat: Seat, cause: VacancyCause, end: ClaimEnd) {
        self.seats[seat.index()].release(end);
        let retained = end == ClaimEnd::Retained;
        self.commands.discard(seat);
        self.results.forget(seat);
        self.outbox.persist(&Record::Vacated { seat, cause, retained });
        self.outbox.event(RoomEvent::SeatVacated { seat, cause });
        self.roster_changed = true;
        self.update_next_activation();
    }

    /// A seat was given up: that ends a room without players, and may be what the start or the settlement waited for.
    pub(super) fn handle_vacancy(&mut self) {
        let may_fill = self.phase == Phase::Lobby && self.open_seats() > 0;
        let deserted = !may_fill && !self.seats.iter().any(SeatSlot::is_held);
        if deserted && self.next_claim > 0 {
            self.end(ClosedCause::Deserted);
        } else {
            self.start_if_due();
            self.settle_if_due();
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
                Stage::Seated { .. } | Stage::Watching { .. } => self.dismiss(connection, CloseReason::RoomEnded),
            }
        }
        for slot in &mut self.seats {
            slot.connection = None;
        }
        self.outbox.event(RoomEvent::Closed { cause });
    }
}
