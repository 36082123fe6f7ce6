//! The door of a room: a WebSocket's greeting is awaited and checked here, before the room knows of the connection (V1, L02).
//!
//! Whoever says nothing, says it slowly, or is never found to be anybody costs the room nothing: it holds no seat, keeps none
//! from others, and is not among the room's connections.

use std::net::IpAddr;

use axum::extract::ws::{Message, WebSocket};
use bytes::Bytes;
use futures_util::StreamExt;
use futures_util::stream::SplitStream;
use retick_core::ticket::Access;
use retick_core::wire::{ClientMessage, Entry, PlayerId, Refusal};
use tokio::time::{Instant, timeout_at};
use tracing::Span;

use super::admission::JoinRequest;
use super::connection::ReadEnd;
use super::entrance::{Entrant, Intent};
use super::handshakes::{Place, Stage};
use super::hub::{Hub, RoomEntry};
use super::listing::{Held, ReservationId};

/// Most messages that a client may send behind its greeting before that is checked.
pub(super) const MAX_EARLY_MESSAGES: usize = 32;
/// Most bytes of them.
pub(super) const MAX_EARLY_BYTES: usize = 16 * 1024;
/// Most pings and pongs before each message at the door.
const MAX_EARLY_CONTROLS: usize = 16;

/// Somebody at the door.
pub(super) struct Visit<'a> {
    pub(super) hub: &'a Hub,
    pub(super) room: &'a RoomEntry,
    pub(super) address: IpAddr,
    pub(super) reservation: Option<ReservationId>,
    pub(super) place: Place,
}

/// Who came in, and what it said meanwhile.
pub(super) struct Welcomed {
    pub(super) entrant: Entrant,
    pub(super) early: Vec<Bytes>,
}

/// Why nobody came in.
pub(super) enum Turned {
    /// It is told why.
    Refused(Refusal),
    /// There is nobody to tell, or nothing that it would understand.
    Ended(ReadEnd),
}

impl Visit<'_> {
    /// Waits for the greeting, and checks it.
    pub(super) async fn welcome(self, stream: &mut SplitStream<WebSocket>) -> Result<Welcomed, Turned> {
        let deadline = Instant::now() + self.hub.config.greeting();
        let reservation = self.reservation.and_then(|id| self.room.listing.hold(id, Instant::now()));
        let Visit { hub, room, address, place, .. } = self;
        let greeting = tokio::select! {
            greeting = timeout_at(deadline, first_message(stream)) => match greeting {
                Ok(greeting) => greeting.map_err(Turned::Ended)?,
                // Its network may have stalled, and its seat waits for it: who is refused does not come again.
                Err(_) => return Err(Turned::Ended(ReadEnd::Idle)),
            },
            () = place.evicted() => return Err(give_way(hub)),
        };
        drop(place);
        let asked = ask(room, &greeting);
        let intent = asked.as_ref().map_or(Intent::Other, |request| intent_of(request.access));
        let (mut early, mut player) = (Vec::new(), None);
        if let Some(request) = asked {
            if hub.is_draining() {
                return Err(Turned::Refused(Refusal::Closing));
            }
            let place = hub.handshakes.enter(Stage::Check, address);
            player = tokio::select! {
                checked = timeout_at(deadline, hub.config.admission.check(request)) => match checked {
                    Ok(checked) => checked.map_err(Turned::Refused)?,
                    Err(_) => return Err(Turned::Refused(Refusal::Ticket)),
                },
                end = read_early(stream, &mut early) => return Err(end),
                () = place.evicted() => return Err(give_way(hub)),
            };
        }
        let entrant = entrant(greeting, intent, player, reservation);
        Ok(Welcomed { entrant, early })
    }
}

fn entrant(greeting: Bytes, intent: Intent, player: Option<PlayerId>, reservation: Option<Held>) -> Entrant {
    Entrant { greeting, intent, player, reservation, span: Span::current() }
}

fn give_way(hub: &Hub) -> Turned {
    hub.metrics.handshakes_evicted.increment(1);
    Turned::Ended(ReadEnd::GaveWay)
}

fn intent_of(access: Access) -> Intent {
    match access {
        Access::Play => Intent::Join,
        Access::Watch => Intent::Watch,
    }
}

/// What a greeting has to be asked about. Everything else is the room's to answer: it knows tokens, protocols and identities.
fn ask(room: &RoomEntry, greeting: &[u8]) -> Option<JoinRequest> {
    let Ok(ClientMessage::Hello(hello)) = ClientMessage::decode(greeting) else { return None };
    let (ticket, access) = match hello.entry {
        Entry::Join { ticket } => (ticket, Access::Play),
        Entry::Observe { ticket, .. } => (ticket, Access::Watch),
        Entry::Resume { .. } => return None,
    };
    Some(JoinRequest { room: room.info.code, ticket: ticket.to_vec(), access })
}

async fn first_message(stream: &mut SplitStream<WebSocket>) -> Result<Bytes, ReadEnd> {
    let mut controls = 0;
    loop {
        match stream.next().await {
            Some(Ok(Message::Binary(bytes))) => return Ok(bytes),
            // The library answers pings.
            Some(Ok(Message::Ping(_) | Message::Pong(_))) if controls < MAX_EARLY_CONTROLS => controls += 1,
            Some(Ok(Message::Ping(_) | Message::Pong(_))) => return Err(ReadEnd::Budget),
            Some(Ok(Message::Text(_))) => return Err(ReadEnd::NotBinary),
            Some(Err(_)) => return Err(ReadEnd::Malformed),
            Some(Ok(Message::Close(_))) | None => return Err(ReadEnd::Gone),
        }
    }
}

/// Reads on beside the check, so that whoever leaves meanwhile is noticed; keeps what comes, and ends what is too much.
async fn read_early(stream: &mut SplitStream<WebSocket>, early: &mut Vec<Bytes>) -> Turned {
    loop {
        match first_message(stream).await {
            Ok(bytes) => {
                early.push(bytes);
                if early.len() > MAX_EARLY_MESSAGES || early.iter().map(Bytes::len).sum::<usize>() > MAX_EARLY_BYTES {
                    return Turned::Ended(ReadEnd::Budget);
                }
            }
            Err(end) => return Turned::Ended(end),
        }
    }
}
