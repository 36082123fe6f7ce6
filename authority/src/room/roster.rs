//! Who is there, for a lobby's screen, and the lock of the door (A15, V1).

use alloc::vec::Vec;

use retick_core::codec::wire::List;
use retick_core::seat::MAX_SEATS;
use retick_core::wire::{RoomMessage, SeatView};

use super::event::{ConnectionId, RoomEvent};
use super::seats::SeatSlot;
use super::{Phase, Room};
use crate::log::Record;

impl Room {
    /// Locks the room, so that only who has a seat gets in, or opens it again (V1).
    pub fn set_locked(&mut self, locked: bool) {
        if self.is_locked == locked || self.phase == Phase::Closed {
            return;
        }
        self.is_locked = locked;
        self.roster_changed = true;
        self.outbox.persist(&Record::Locked { locked });
        self.outbox.event(RoomEvent::Locked { locked });
        self.send_roster_if_changed();
    }

    /// Whether only who has a seat gets in.
    pub fn is_locked(&self) -> bool {
        self.is_locked
    }

    /// Tells everyone who is there, if that has changed.
    pub(super) fn send_roster_if_changed(&mut self) {
        if core::mem::take(&mut self.roster_changed) && self.phase != Phase::Closed {
            let roster = self.roster();
            self.outbox.transmit(self.connections.greeted(), &roster);
        }
    }

    /// Tells one newcomer, unless everyone will be told anyway.
    pub(super) fn send_roster_to(&mut self, connection: ConnectionId) {
        if !self.roster_changed {
            let roster = self.roster();
            self.outbox.transmit([connection], &roster);
        }
    }

    fn roster(&self) -> RoomMessage<'static> {
        let seats: Vec<SeatView> = self.seats.iter().map(SeatSlot::view).collect();
        RoomMessage::Roster { locked: self.is_locked, seats: List::<_, { MAX_SEATS as usize }>(seats) }
    }
}
