//! Letting connections in: greetings, and where the frames of a newcomer begin (A7). Who gets a seat is for `claims` to say.

use retick_core::seat::{Generation, Seat};
use retick_core::tick::Tick;
use retick_core::wire::{ClientMessage, Entry, Hello, MessageError, PROTOCOL_VERSION, Refusal, RoomMessage, Welcome};

use super::claims::Returned;
use super::connections::Stage;
use super::event::{ConnectionId, RoomEvent};
use super::seats::Hold;
use super::{Phase, Room};

/// Who was let in, and which frames it has.
struct Admitted {
    /// `None` for an observer.
    seat: Option<Seat>,
    generation: Generation,
    /// The first tick whose frame it does not have.
    next: Tick,
}

impl Room {
    /// Takes a connection's first message.
    pub(super) fn greet(&mut self, connection: ConnectionId, bytes: &[u8]) {
        let admitted = match ClientMessage::decode(bytes) {
            Ok(ClientMessage::Hello(hello)) => self.admit(connection, &hello),
            Err(MessageError::Protocol { theirs }) => Err(Refusal::Protocol { room: PROTOCOL_VERSION, client: theirs }),
            Ok(_) | Err(_) => Err(Refusal::Malformed),
        };
        match admitted {
            Ok(admitted) => self.welcome(connection, &admitted),
            Err(refusal) => self.refuse(connection, refusal),
        }
    }

    fn admit(&mut self, connection: ConnectionId, hello: &Hello<'_>) -> Result<Admitted, Refusal> {
        let room = self.config.descriptor.identity();
        if hello.identity != room {
            return Err(Refusal::Identity { room, client: hello.identity });
        }
        match &hello.entry {
            // The ticket is for whoever stands before the room (V1); what it says comes by `handle_admitted`.
            Entry::Join { .. } => {
                let seat = Some(self.join(connection)?);
                Ok(Admitted { seat, generation: self.config.descriptor.generation(), next: Tick::ZERO })
            }
            Entry::Resume { seat, token, generation, next, fence } => {
                let (seat, generation, next, fence) = (*seat, *generation, *next, *fence);
                self.resume(connection, &Returned { seat, token, generation, next, fence })?;
                Ok(Admitted { seat: Some(seat), generation, next })
            }
            Entry::Observe { generation, next, fence, .. } => {
                self.admit_observer(connection, (*generation, *next, *fence))?;
                Ok(Admitted { seat: None, generation: *generation, next: *next })
            }
        }
    }

    fn welcome(&mut self, connection: ConnectionId, admitted: &Admitted) {
        let (feed, history) = self.first_feed(admitted.generation, admitted.next);
        let greeted_after = self.outbox.barrier();
        if let Some(peer) = self.connections.get_mut(connection) {
            peer.stage = match admitted.seat {
                Some(seat) => Stage::Seated { seat, feed, greeted_after },
                None => Stage::Watching { feed, greeted_after },
            };
        }
        let welcome = Welcome {
            claim: admitted.seat.and_then(|seat| self.claim_of(seat)),
            descriptor: &self.descriptor_bytes,
            rules: self.config.rules,
            frontier: self.frontier(),
            history,
        };
        self.outbox.transmit([connection], &RoomMessage::Welcome(welcome));
        if admitted.seat.is_none() {
            self.outbox.event(RoomEvent::ObserverJoined { connection });
        }
        self.tell_life(connection);
        self.ask_for_tail(connection);
        self.send_roster_to(connection);
    }

    /// The seat's client has verified the greeting, and caught up with it.
    pub(super) fn handle_ready(&mut self, seat: Seat, generation: Generation) {
        if generation != self.config.descriptor.generation() {
            self.stats.stale_readies += 1;
            return;
        }
        let Some(holder) = &mut self.seats[seat.index()].holder else { return };
        holder.awaited = false;
        let joins = holder.hold == Hold::Joining;
        if joins {
            self.outbox.event(RoomEvent::SeatReady { seat });
            self.roster_changed = true;
        }
        let runs = matches!(self.phase, Phase::Running { .. } | Phase::Paused { .. } | Phase::Recovering);
        match (joins, runs) {
            (true, true) => self.schedule(seat),
            (true, false) => self.seats[seat.index()].set_hold(Hold::Ready),
            (false, _) => {}
        }
        self.tell_activation(seat);
        self.start_if_due();
    }

    /// Refuses every connection that has not greeted in time.
    pub(super) fn expire_greetings(&mut self) {
        while let Some(connection) = self.connections.overdue(self.clock.time()) {
            self.refuse(connection, Refusal::Malformed);
        }
    }

    /// Passes on what whoever is greeted now must know of the match's life (A15).
    fn tell_life(&mut self, connection: ConnectionId) {
        let generation = self.config.descriptor.generation();
        if let Some(clock) = self.room_clock() {
            self.outbox.transmit([connection], &RoomMessage::Started { generation, clock });
        }
        if let Phase::Paused { .. } = self.phase {
            self.tell_pause(connection);
        }
        if let Some(settlement) = self.results.settled() {
            self.outbox.transmit([connection], &RoomMessage::Settled { generation, settlement });
        }
    }
}
