//! Letting connections in: greetings, claims, resumes, and the start of the match (A5, A6, A7).

use retick_core::seat::{Generation, Seat};
use retick_core::tick::{Moment, Tick};
use retick_core::wire::{
    Claim, ClaimId, ClientMessage, CloseReason, Entry, Hello, History, MessageError, PROTOCOL_VERSION, Refusal,
    ResumeToken, RoomClock, RoomMessage, Welcome,
};

use super::connections::{Feed, Stage};
use super::event::{CloseCause, ConnectionId, RoomEvent};
use super::policy::StartPolicy;
use super::seats::SeatState;
use super::{Phase, Room};
use crate::log::Record;

/// Why a room can't be started by hand.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
pub enum StartError {
    /// The room starts when it is full.
    #[error("the room starts by itself, when it is full")]
    NotManual,
    /// It has started, or has ended.
    #[error("the room is not waiting to be started")]
    NotWaiting,
    /// Nobody holds a seat.
    #[error("nobody holds a seat")]
    NoSeats,
}

/// A claim of a seat that was taken up again, and what is missing there.
struct Returned<'a> {
    seat: Seat,
    token: &'a ResumeToken,
    generation: Generation,
    next: Tick,
    fence: Option<u32>,
}

/// How many tokens a claim has had: one, since tokens are not rotated yet.
const ROTATION: u32 = 0;

impl Room {
    /// Starts a room of [`StartPolicy::Manual`] with the seats that are claimed by now. A seat whose client is not ready yet
    /// is not waited for, and takes part from its `Ready` on (A3).
    ///
    /// # Errors
    /// [`StartError`] when the room starts by itself, is not waiting, or has no player.
    pub fn start(&mut self, now: Moment) -> Result<(), StartError> {
        self.clock.observe(now);
        if self.config.start != StartPolicy::Manual {
            return Err(StartError::NotManual);
        }
        if self.phase != Phase::Lobby {
            return Err(StartError::NotWaiting);
        }
        if !self.seats.iter().any(|slot| slot.is_held()) {
            return Err(StartError::NoSeats);
        }
        self.begin(now);
        Ok(())
    }

    /// Takes a connection's first message.
    pub(super) fn greet(&mut self, connection: ConnectionId, bytes: &[u8], now: Moment) {
        let admitted = match ClientMessage::decode(bytes) {
            Ok(ClientMessage::Hello(hello)) => self.admit(connection, &hello),
            Err(MessageError::Protocol { theirs }) => Err(Refusal::Protocol { room: PROTOCOL_VERSION, client: theirs }),
            Ok(_) | Err(_) => Err(Refusal::Malformed),
        };
        match admitted {
            Ok((seat, next)) => self.welcome(connection, seat, next, now),
            Err(refusal) => self.refuse(connection, refusal),
        }
    }

    /// The seat that a greeting gets, and the first tick that its client has no frame of.
    fn admit(&mut self, connection: ConnectionId, hello: &Hello<'_>) -> Result<(Seat, Tick), Refusal> {
        let room = self.config.descriptor.identity();
        if hello.identity != room {
            return Err(Refusal::Identity { room, client: hello.identity });
        }
        match &hello.entry {
            // The ticket is for whoever stands before the room (V1); what it says comes by `handle_admitted`.
            Entry::Join { .. } => self.claim(connection).map(|seat| (seat, Tick::ZERO)),
            Entry::Resume { seat, token, generation, next, fence } => {
                let returned = Returned { seat: *seat, token, generation: *generation, next: *next, fence: *fence };
                self.resume(connection, &returned).map(|()| (*seat, *next))
            }
            Entry::Observe { .. } => Err(Refusal::Observers),
        }
    }

    /// Claims the lowest seat that nobody had. Seats are fixed: one that was given up is not claimed again, and none is free
    /// once the match has begun.
    fn claim(&mut self, connection: ConnectionId) -> Result<Seat, Refusal> {
        let full = Refusal::Full { seats: self.seat_count() };
        let mut numbered = self.config.descriptor.seats().seats().zip(&mut self.seats);
        let free = numbered.find(|(_, slot)| slot.state() == SeatState::Free && self.phase == Phase::Lobby);
        let (seat, slot) = free.ok_or(full)?;
        let claim = ClaimId(self.next_claim);
        self.next_claim += 1;
        slot.claim(claim, connection);
        self.outbox.persist(&Record::Claimed { seat, claim, epoch: slot.epoch, player: None });
        self.outbox.event(RoomEvent::SeatClaimed { seat, claim, connection });
        Ok(seat)
    }

    /// Gives a seat back to its owner (A6). A connection that still holds it is closed.
    fn resume(&mut self, connection: ConnectionId, returned: &Returned<'_>) -> Result<(), Refusal> {
        let Returned { seat, token, .. } = *returned;
        let slot = self.seats.get(seat.index()).ok_or(Refusal::Token)?;
        if slot.state() == SeatState::Free || !token.matches(&self.keys.token(seat, slot.claim, ROTATION)) {
            return Err(Refusal::Token);
        }
        if slot.state() == SeatState::Vacated {
            return Err(Refusal::GraceOver);
        }
        self.check_history(returned.generation, returned.next, returned.fence)?;
        self.await_tail(seat, returned.next);
        let slot = &mut self.seats[seat.index()];
        let superseded = slot.connection.replace(connection);
        slot.grace_end = None;
        self.outbox.persist(&Record::Resumed { seat, rotation: ROTATION, proven: ROTATION, epoch: slot.epoch });
        if let Some(older) = superseded {
            self.connections.remove(older);
            self.outbox.transmit([older], &RoomMessage::Closing(CloseReason::Superseded));
            self.outbox.close(older, CloseCause::Ended(CloseReason::Superseded));
        }
        self.outbox.event(RoomEvent::SeatResumed { seat, connection });
        Ok(())
    }

    fn welcome(&mut self, connection: ConnectionId, seat: Seat, next: Tick, now: Moment) {
        let (frontier, clock) = (self.frontier(), self.room_clock(now));
        // Tick 0 stands alone. Before any other tick a client may have lost the frame that the next one abbreviates against.
        let feed = if frontier == Tick::ZERO { Feed::Live } else { Feed::CatchUp { next } };
        let greeted_after = self.outbox.barrier();
        if let Some(peer) = self.connections.get_mut(connection) {
            peer.stage = Stage::Seated { seat, feed, greeted_after };
        }
        let slot = &self.seats[seat.index()];
        let welcome = Welcome {
            claim: Some(Claim {
                seat,
                id: slot.claim,
                epoch: slot.epoch,
                token: self.keys.token(seat, slot.claim, ROTATION),
            }),
            descriptor: &self.descriptor_bytes,
            rules: self.config.rules,
            frontier,
            history: History::Frames { next },
        };
        self.outbox.transmit([connection], &RoomMessage::Welcome(welcome));
        if let Some(clock) = clock {
            let generation = self.config.descriptor.generation();
            self.outbox.transmit([connection], &RoomMessage::Started { generation, clock });
        }
        self.ask_for_tail(connection);
    }

    /// The seat's client has verified the greeting.
    pub(super) fn handle_ready(&mut self, seat: Seat, generation: Generation, now: Moment) {
        if generation != self.config.descriptor.generation() {
            self.stats.stale_readies += 1;
            return;
        }
        let slot = &mut self.seats[seat.index()];
        if !slot.is_active() {
            slot.set_active(true);
            self.outbox.event(RoomEvent::SeatReady { seat });
            self.start_if_full(now);
        }
    }

    /// Starts a room of [`StartPolicy::WhenFull`] once every seat was claimed and everyone who holds one is ready.
    pub(super) fn start_if_full(&mut self, now: Moment) {
        let settled = |state| matches!(state, SeatState::Playing | SeatState::Vacated);
        let full = self.seats.iter().all(|slot| settled(slot.state()));
        if self.phase == Phase::Lobby && self.config.start == StartPolicy::WhenFull && full {
            self.begin(now);
        }
    }

    /// Tick 0 begins now.
    fn begin(&mut self, now: Moment) {
        self.phase = Phase::Running { origin: self.clock.at(now) };
        let generation = self.config.descriptor.generation();
        self.outbox.persist(&Record::Started { generation });
        let started = RoomMessage::Started { generation, clock: RoomClock::default() };
        self.outbox.transmit(self.connections.seated(), &started);
        self.outbox.event(RoomEvent::Started { generation });
    }

    /// Refuses every connection that has not greeted in time.
    pub(super) fn expire_greetings(&mut self) {
        while let Some(connection) = self.connections.overdue(self.clock.time()) {
            self.refuse(connection, Refusal::Malformed);
        }
    }
}
