//! Putting a seat right that has come to another state than the match: the referee's snapshot, while the seat plays on (A13).
//!
//! Its frames and its inputs flow as before, so that nobody waits for it: it has every frame since the snapshot, and plays them again
//! when the snapshot is there.

use retick_core::seat::{Seat, SeatSet};
use retick_core::tick::Tick;
use retick_core::wire::{CloseReason, RoomMessage, TransferId, Witness};

use super::delivery::{Call, Delivery};
use crate::room::Room;
use crate::room::event::{ConnectionId, RoomEvent};

/// How often a seat is put right in one generation. One that is wrong again and again has a fault that no state mends, or lies.
pub const MAX_REPAIRS_PER_SEAT: u8 = 3;

/// One seat that is to be put right.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Repair {
    connection: ConnectionId,
    seat: Seat,
    /// The state that it was wrong about: no older one will do.
    tick: Tick,
    delivery: Option<Delivery>,
}

impl Room {
    /// These seats are wrong about `S(tick)`.
    pub(in crate::room) fn repair_seats(&mut self, wrong: SeatSet, tick: Tick) {
        self.turn_down_seats(wrong);
        for seat in wrong.iter() {
            let Some(connection) = self.live_player(seat) else { continue };
            let donation = &mut self.donation;
            let is_under_way = donation.repairs.iter().any(|repair| repair.seat == seat);
            if is_under_way || !donation.may_repair(seat) {
                continue;
            }
            donation.repairs.push(Repair { connection, seat, tick, delivery: None });
            // It needs a state of the referee's, and no search that failed before puts that off.
            donation.retry_at = self.clock.time();
            donation.wanted = true;
        }
    }

    /// Forgets repairs whose seat is away.
    pub(super) fn check_repairs(&mut self) {
        let mut at = 0;
        while let Some(repair) = self.donation.repairs.get(at) {
            if self.live_player(repair.seat) == Some(repair.connection) {
                at += 1;
            } else {
                self.donation.repairs.remove(at);
                self.stats.failed_repairs += 1;
            }
        }
    }

    /// Takes a word of progress, if it is about a repair.
    pub(super) fn progress_repair(
        &mut self,
        from: ConnectionId,
        transfer: TransferId,
        next: u32,
    ) -> Option<Result<(), CloseReason>> {
        let time = self.clock.time();
        let at = self.donation.repair_of(from, transfer)?;
        let repair = &mut self.donation.repairs[at];
        let Repair { seat, .. } = *repair;
        let delivery = repair.delivery.as_mut()?;
        if !delivery.progress(next, time) {
            return Some(Err(CloseReason::Malformed));
        }
        if delivery.is_complete() {
            let tick = self.donation.shelf.get(delivery.snapshot).map(|kept| kept.header.tick).unwrap_or_default();
            self.donation.repairs.remove(at);
            self.stats.repairs += 1;
            self.outbox.event(RoomEvent::SeatRepaired { seat, tick });
        }
        Some(Ok(()))
    }

    /// The seat could not use what it was sent, if that is about a repair.
    pub(super) fn fail_repair(&mut self, from: ConnectionId, transfer: TransferId) -> bool {
        let Some(at) = self.donation.repair_of(from, transfer) else { return false };
        self.donation.repairs.remove(at);
        self.stats.failed_repairs += 1;
        true
    }
}

impl super::Donation {
    fn repair_of(&self, from: ConnectionId, transfer: TransferId) -> Option<usize> {
        let is_it = |repair: &Repair| {
            repair.connection == from && repair.delivery.is_some_and(|delivery| delivery.transfer == transfer)
        };
        self.repairs.iter().position(is_it)
    }

    /// Counts one more repair of a seat, if it may have one.
    fn may_repair(&mut self, seat: Seat) -> bool {
        match self.repaired.iter_mut().find(|(repaired, _)| *repaired == seat) {
            Some((_, count)) if *count >= MAX_REPAIRS_PER_SEAT => false,
            Some((_, count)) => {
                *count += 1;
                true
            }
            None => {
                self.repaired.push((seat, 1));
                true
            }
        }
    }
}

impl Call<'_> {
    /// Sends every repair what is next of it.
    pub(super) fn repair(&mut self) {
        for at in 0..self.donation.repairs.len() {
            let mut repair = self.donation.repairs[at];
            let is_kept = |delivery: &Delivery| self.donation.shelf.get(delivery.snapshot).is_some();
            repair.delivery = match repair.delivery.filter(is_kept) {
                Some(delivery) => Some(self.send_chunk(repair.connection, delivery)),
                None => self.begin_repair(&repair),
            };
            self.donation.repairs[at] = repair;
        }
        // Whoever takes no repair plays on; it is only newcomers that are closed for that.
        let late = self
            .given_up
            .filter(|(connection, _)| self.donation.repairs.iter().any(|repair| repair.connection == *connection));
        if let Some((connection, _)) = late {
            self.given_up = None;
            self.donation.repairs.retain(|repair| repair.connection != connection);
        }
    }

    fn begin_repair(&mut self, repair: &Repair) -> Option<Delivery> {
        let newest = self.donation.shelf.newest();
        let fitting = newest.filter(|kept| kept.donor == Some(Witness::Referee) && kept.header.tick >= repair.tick);
        match fitting.map(|kept| (kept.header, kept.serial)) {
            Some((header, serial)) => {
                Some(self.announce(repair.connection, header, serial, |header| RoomMessage::Repair { header }))
            }
            None => {
                self.donation.wanted = true;
                None
            }
        }
    }
}
