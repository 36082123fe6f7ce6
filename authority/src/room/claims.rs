//! Who gets which seat: claims, resumes, and the tokens that prove them (A5, A6). Each is one step: nobody is in between.

use retick_core::seat::{Generation, Seat};
use retick_core::tick::Tick;
use retick_core::wire::{Claim, ClaimId, CloseReason, PlayerId, Refusal, ResumeToken};

use super::event::{ConnectionId, RoomEvent};
use super::seats::{Hold, Holder, SeatSlot, SeatState};
use super::{Phase, Room};
use crate::log::Record;

/// A claim of a seat that was taken up again, and what is missing there.
pub(super) struct Returned<'a> {
    pub(super) seat: Seat,
    pub(super) token: &'a ResumeToken,
    pub(super) generation: Generation,
    pub(super) next: Tick,
    pub(super) fence: Option<u32>,
}

impl Room {
    /// Lets a connection join: a player who has a seat gets it again, everyone else the best seat that may be claimed.
    pub(super) fn join(&mut self, connection: ConnectionId) -> Result<Seat, Refusal> {
        let player = self.connections.player(connection);
        match player.and_then(|player| self.seat_of(player)) {
            Some(seat) => self.take_again(seat, connection).map(|()| seat),
            None if self.is_locked => Err(Refusal::Locked),
            None => self.claim(connection, player),
        }
    }

    /// Gives a seat back to whoever has its token (A6).
    pub(super) fn resume(&mut self, connection: ConnectionId, returned: &Returned<'_>) -> Result<(), Refusal> {
        let Returned { seat, token, generation, next, fence } = *returned;
        let slot = self.seats.get(seat.index()).ok_or(Refusal::Token)?;
        let (holder, former) = (slot.holder, slot.former.as_deref().copied());
        let proof = self.proof(seat, holder.or(former), token)?;
        let Some(holder) = holder else { return Err(Refusal::GraceOver) };
        let player = self.connections.player(connection);
        if player.is_some_and(|player| holder.player.is_some_and(|owner| owner != player)) {
            return Err(Refusal::Token);
        }
        self.check_history(generation, next, fence)?;
        self.await_tail(seat, generation, next, fence);
        if proof == Proof::Newest {
            self.prove_token(seat);
        }
        self.take_again(seat, connection)
    }

    /// What the greeting of a seat's connection says of its claim.
    pub(super) fn claim_of(&self, seat: Seat) -> Option<Claim> {
        let Holder { claim: id, epoch, rotation, .. } = self.seats[seat.index()].holder?;
        Some(Claim { seat, id, epoch, token: self.keys.token(seat, id, rotation) })
    }

    /// The owner of a seat has the newest token: older ones are not valid any more (A6).
    pub(super) fn prove_token(&mut self, seat: Seat) {
        let Some(holder) = &mut self.seats[seat.index()].holder else { return };
        if holder.proven != holder.rotation {
            holder.proven = holder.rotation;
            self.outbox.persist(&Record::TokenProven { seat, rotation: holder.rotation });
        }
    }

    /// The seat of whoever holds the oldest claim (A10, A15).
    pub fn creator(&self) -> Option<Seat> {
        let held =
            |(seat, slot): (Seat, &SeatSlot)| slot.holder.filter(|_| slot.is_held()).map(|holder| (holder.claim, seat));
        self.numbered().filter_map(held).min().map(|(_, seat)| seat)
    }

    /// How many seats a newcomer may claim right now, as far as the policy lets it (A5). The lock is not asked.
    pub fn open_seats(&self) -> usize {
        if self.phase == Phase::Closed { 0 } else { self.seats.iter().filter(|slot| self.is_claimable(slot)).count() }
    }

    fn is_claimable(&self, slot: &SeatSlot) -> bool {
        match slot.state() {
            SeatState::Free => true,
            SeatState::Vacated => self.config.seats.recycle_vacated,
            SeatState::Bot => self.config.seats.humans_claim_bots,
            SeatState::Joining | SeatState::Playing | SeatState::Disconnected => false,
        }
    }

    /// The seat to which this player has a right: it holds it, or may come back to it (A6).
    pub fn seat_of(&self, player: PlayerId) -> Option<Seat> {
        let owns = |slot: &SeatSlot| slot.holder.is_some_and(|holder| holder.player == Some(player));
        self.numbered().find(|(_, slot)| owns(slot)).map(|(seat, _)| seat)
    }

    /// Claims the lowest seat that nobody had, else one that was given up, else a bot's, as far as the policy lets it. A bot that plays
    /// for somebody who may come back is the last to give way.
    fn claim(&mut self, connection: ConnectionId, player: Option<PlayerId>) -> Result<Seat, Refusal> {
        let full = Refusal::Full { seats: self.seat_count() };
        let rank = |slot: &SeatSlot| match slot.state() {
            SeatState::Free => 0,
            SeatState::Vacated => 1,
            _ if slot.holder.is_none() => 2,
            _ => 3,
        };
        let claimable = self.numbered().filter(|(_, slot)| self.is_claimable(slot));
        let best = claimable.min_by_key(|(seat, slot)| (rank(slot), *seat)).map(|(seat, _)| seat);
        let seat = best.ok_or(full)?;
        let claim = ClaimId(self.next_claim);
        self.next_claim += 1;
        let slot = &mut self.seats[seat.index()];
        let counted = slot.claim(claim, player, connection);
        self.stats.seats.add(&counted);
        let epoch = slot.holder.map(|holder| holder.epoch).unwrap_or_default();
        self.outbox.persist(&Record::Claimed { seat, claim, epoch, player });
        self.outbox.event(RoomEvent::SeatClaimed { seat, claim, connection });
        self.roster_changed = true;
        Ok(seat)
    }

    /// Gives a seat to its owner again. A connection that still has it is closed.
    fn take_again(&mut self, seat: Seat, connection: ConnectionId) -> Result<(), Refusal> {
        let restarting = matches!(self.phase, Phase::Restarting { .. });
        let slot = &mut self.seats[seat.index()];
        let epoch = match slot.hold() {
            // A bot has driven it since, so it is another epoch.
            Some(Hold::Retained) => Some(slot.issue_epoch()),
            _ => None,
        };
        let Some(holder) = &mut slot.holder else { return Err(Refusal::Token) };
        holder.epoch = epoch.unwrap_or(holder.epoch);
        if !matches!(holder.hold, Hold::Active(_)) {
            // Whoever did not take part yet verifies the greeting again, and says so. Its vote was the old transport's.
            (holder.hold, holder.wants_start) = (Hold::Joining, true);
        }
        holder.awaited = restarting;
        // A token that its owner may not have received is not counted as one: it is given out again.
        holder.rotation = holder.proven.saturating_add(1);
        let Holder { rotation, proven, epoch, .. } = *holder;
        let superseded = slot.connection.replace(connection);
        // Another machine of the same player numbers its commands anew.
        slot.last_command = None;
        slot.grace_end = None;
        self.update_next_activation();
        self.outbox.persist(&Record::Resumed { seat, rotation, proven, epoch });
        if let Some(older) = superseded {
            self.connections.remove(older);
            self.dismiss(older, CloseReason::Superseded);
        }
        self.outbox.event(RoomEvent::SeatResumed { seat, connection });
        self.roster_changed = true;
        Ok(())
    }

    /// Which of a claim's valid tokens this is.
    fn proof(&self, seat: Seat, holder: Option<Holder>, token: &ResumeToken) -> Result<Proof, Refusal> {
        let Holder { claim, rotation, proven, .. } = holder.ok_or(Refusal::Token)?;
        // Both are compared, whatever the first says.
        let newest = token.matches(&self.keys.token(seat, claim, rotation));
        let oldest = token.matches(&self.keys.token(seat, claim, proven));
        match (newest, oldest) {
            (true, _) => Ok(Proof::Newest),
            (false, true) => Ok(Proof::Older),
            (false, false) => Err(Refusal::Token),
        }
    }

    pub(super) fn numbered(&self) -> impl Iterator<Item = (Seat, &SeatSlot)> {
        self.config.descriptor.seats().seats().zip(&self.seats)
    }
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Proof {
    /// The newest token: whoever shows it has received it.
    Newest,
    /// The one before, whose successor may not have arrived.
    Older,
}
