//! How a connection enters its room's task: greeted by the door, admitted by the lobby, and then handed to the room (V1).

use bytes::Bytes;
use retick_core::tick::Moment;
use retick_core::wire::{PlayerId, Refusal, RoomMessage};
use tokio::time::Instant;
use tracing::Span;

use super::listing::Held;
use super::outbound::Outbound;
use super::room_task::RoomTask;
use crate::room::ConnectionId;

/// What a connection comes in with.
#[derive(Debug)]
pub(super) struct Entrant {
    /// Its greeting, as it came.
    pub(super) greeting: Bytes,
    /// Whether it asks for a seat that it did not have.
    pub(super) intent: Intent,
    /// Who it is, if that was checked.
    pub(super) player: Option<PlayerId>,
    /// The seat that is kept for it, until it is settled.
    pub(super) reservation: Option<Held>,
    /// The connection's span, which learns the seat.
    pub(super) span: Span,
}

/// What a greeting asks for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Intent {
    /// A seat.
    Join,
    /// To watch.
    Watch,
    /// Its own seat again; or it is no greeting, which the room will say.
    Other,
}

impl RoomTask {
    /// Hands a connection to the room, unless the lobby keeps it out.
    pub(super) fn enter(&mut self, connection: ConnectionId, outbound: Outbound, entrant: Entrant, now: Moment) {
        let Entrant { greeting, intent, player, reservation, span } = entrant;
        if let Err(refusal) = self.admit(intent, player, reservation.as_ref()) {
            self.metrics.refused(super::metrics::refusal_name(&refusal));
            // Dropping the queue ends the connection once this is sent.
            let _ = outbound.push(encoded(&RoomMessage::Refused(refusal)));
            return;
        }
        self.outbounds.insert(connection, outbound);
        self.spans.insert(connection, span);
        self.room.handle_connected(connection, now);
        if let Some(player) = player {
            self.room.handle_admitted(connection, player);
        }
        let open_before = self.room.open_seats();
        self.room.handle_message(connection, &greeting, now);
        // Others may count on the seat only once the room's status says that it is taken. Without one there is nothing to keep.
        let has_claimed = self.room.open_seats() < open_before;
        self.settled.extend(reservation.filter(|_| has_claimed));
        self.tell_draining(connection);
    }

    /// Keeps seats for whom they were found. Everything else about a newcomer the room decides.
    fn admit(&self, intent: Intent, player: Option<PlayerId>, reservation: Option<&Held>) -> Result<(), Refusal> {
        let returns = player.is_some_and(|player| self.room.seat_of(player).is_some());
        if intent != Intent::Join || returns || self.room.is_locked() {
            return Ok(());
        }
        let seats = u8::try_from(self.room.descriptor().seats().count()).unwrap_or(u8::MAX);
        let has_seat =
            self.listing.has_seat_for(self.room.open_seats(), self.settled.len(), reservation, Instant::now());
        if has_seat { Ok(()) } else { Err(Refusal::Full { seats }) }
    }

    /// Tells a connection for how long the room still lives, if that is known.
    fn tell_draining(&self, connection: ConnectionId) {
        let (Some(deadline), Some(outbound)) = (*self.channels.drain.borrow(), self.outbounds.get(&connection)) else {
            return;
        };
        // What does not fit its queue makes it a slow consumer with the next message.
        let _ = outbound.push(draining(deadline));
    }

    /// Tells everyone.
    pub(super) fn tell_all_draining(&mut self) {
        let Some(deadline) = *self.channels.drain.borrow_and_update() else { return };
        let message = draining(deadline);
        for outbound in self.outbounds.values() {
            let _ = outbound.push(message.clone());
        }
    }
}

fn draining(deadline: Instant) -> Bytes {
    let millis = deadline.saturating_duration_since(Instant::now()).as_millis();
    encoded(&RoomMessage::Draining { millis: u32::try_from(millis).unwrap_or(u32::MAX) })
}

/// One message, for a queue.
pub(super) fn encoded(message: &RoomMessage<'_>) -> Bytes {
    let mut bytes = Vec::new();
    message.encode_into(&mut bytes);
    bytes.into()
}
