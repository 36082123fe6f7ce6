//! Who may join, and who may make rooms (V1).

use std::fmt;
use std::pin::Pin;
use std::sync::Arc;
use std::time::{SystemTime, UNIX_EPOCH};

use retick_core::digest::Digest;
use retick_core::ticket::{Access, SignedTicket, Ticket, TicketPublicKey, TicketTerms};
use retick_core::wire::{PlayerId, Refusal};

use super::code::RoomCode;

/// Most keys of a game's backend that a service trusts.
pub const MAX_TICKET_KEYS: usize = 16;
/// Least bytes of a token that authorises creation.
pub const MIN_CREATE_TOKEN_BYTES: usize = 16;

/// Who may join the rooms of a service (V1). Returning to a seat takes its resume token and no ticket (A6).
#[derive(Clone)]
pub enum Admission {
    /// Anyone who knows a room's code, under no name: for development and for private networks.
    Open,
    /// Who shows a ticket of the game's own backend.
    Tickets(TicketKeys),
    /// Whoever the embedding program lets in.
    Checked(Arc<dyn JoinCheck>),
}

impl fmt::Debug for Admission {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Admission::Open => f.write_str("Open"),
            Admission::Tickets(keys) => f.debug_tuple("Tickets").field(keys).finish(),
            Admission::Checked(_) => f.write_str("Checked(..)"),
        }
    }
}

/// The keys whose tickets admit.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct TicketKeys(Arc<[TicketPublicKey]>);

impl TicketKeys {
    /// At least one key and at most [`MAX_TICKET_KEYS`]: a new one is added before an old one is taken away. Otherwise `None`.
    #[must_use]
    pub fn new(keys: &[TicketPublicKey]) -> Option<TicketKeys> {
        (1..=MAX_TICKET_KEYS).contains(&keys.len()).then(|| TicketKeys(keys.into()))
    }
}

/// Somebody who stands at a room's door.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct JoinRequest {
    /// The room.
    pub room: RoomCode,
    /// What the client handed in.
    pub ticket: Vec<u8>,
    /// What it wants.
    pub access: Access,
}

/// The outcome of a check, as soon as it is known.
pub type JoinOutcome = Pin<Box<dyn Future<Output = Result<Option<PlayerId>, Refusal>> + Send>>;

/// An embedding program's own check of who joins: it may ask others, and take its time.
///
/// No seat is taken or kept while it does; the seat is claimed, or found to be taken, once the check is over. Where it takes
/// longer than [`ServiceConfig::greeting_millis`](super::ServiceConfig::greeting_millis) from the opening of the WebSocket, it
/// is dropped, and the connection refused.
pub trait JoinCheck: Send + Sync {
    /// Who it is, if it has a name; or why it is refused.
    fn check(&self, request: JoinRequest) -> JoinOutcome;
}

impl Admission {
    /// Says who stands at the door, or why it stays closed.
    pub(super) async fn check(&self, request: JoinRequest) -> Result<Option<PlayerId>, Refusal> {
        match self {
            Admission::Open => Ok(None),
            Admission::Tickets(keys) => {
                let ticket = keys.verify(&request, unix_seconds()).ok_or(Refusal::Ticket)?;
                Ok(Some(ticket.player_id()))
            }
            Admission::Checked(check) => check.check(request).await,
        }
    }

    /// Whether anybody may join.
    pub(super) fn is_open(&self) -> bool {
        matches!(self, Admission::Open)
    }
}

impl TicketKeys {
    fn verify(&self, request: &JoinRequest, now_unix_seconds: u64) -> Option<Ticket> {
        let room = request.room.to_string();
        let terms = TicketTerms { trusted: &self.0, room: &room, now_unix_seconds };
        let signed = SignedTicket::from_bytes(&request.ticket).ok()?;
        let ticket = signed.verify(&terms).ok()?;
        let enough = ticket.access() == Access::Play || request.access == Access::Watch;
        enough.then(|| ticket.clone())
    }
}

/// Before 1970 every ticket has expired: a clock that is so wrong lets nobody in by mistake.
#[expect(clippy::disallowed_methods, reason = "a ticket expires by the wall clock, and nothing else here goes by it")]
fn unix_seconds() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(u64::MAX, |since| since.as_secs())
}

/// Who may create rooms and match players over HTTP (V1). The owner of a service, in its process, always may.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Creation {
    /// Anyone where anyone may join, nobody elsewhere.
    #[default]
    AsAdmission,
    /// Who shows the token of the game's backend. It is not held to the limits per address.
    Token(CreateToken),
}

/// The digest of the token that authorises creation. The token itself is not kept.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct CreateToken(Digest);

impl CreateToken {
    /// The token with this text; `None` for one shorter than [`MIN_CREATE_TOKEN_BYTES`], which could be guessed.
    #[must_use]
    pub fn new(text: &str) -> Option<CreateToken> {
        (text.len() >= MIN_CREATE_TOKEN_BYTES).then(|| CreateToken(token_digest(text)))
    }

    /// Whether this is the token. Digests are compared, so the time tells nothing of the text.
    pub(super) fn matches(&self, text: &str) -> bool {
        token_digest(text) == self.0
    }
}

impl fmt::Debug for CreateToken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("CreateToken(secret)")
    }
}

fn token_digest(text: &str) -> Digest {
    Digest::derived("retick 2026 create token v1", &[text.as_bytes()])
}

#[cfg(test)]
mod tests {
    use retick_core::ticket::TicketSigningKey;

    use super::*;

    #[test]
    fn v1_a_ticket_to_watch_takes_no_seat_and_one_to_play_does_both() {
        let key = TicketSigningKey::from_secret_bytes(&[3; 32]);
        let keys = TicketKeys::new(&[key.public_key()]).expect("one key");
        let room: RoomCode = "2Z2Z-2Z9A".parse().expect("a code");
        let admits = |has, wants, at: &str, now| {
            let ticket = key.sign(&Ticket::new("ada", at, 100, has).expect("short")).to_bytes();
            keys.verify(&JoinRequest { room, ticket, access: wants }, now).is_some()
        };
        for (has, wants, admitted) in [
            (Access::Play, Access::Play, true),
            (Access::Play, Access::Watch, true),
            (Access::Watch, Access::Watch, true),
            (Access::Watch, Access::Play, false),
        ] {
            assert_eq!(admits(has, wants, "2Z2Z-2Z9A", 99), admitted, "{has:?} {wants:?}");
            assert!(!admits(has, wants, "2Z2Z-2Z9A", 100) && !admits(has, wants, "2Z2Z-2Z9B", 99));
        }
    }

    #[test]
    fn v1_keys_and_tokens_have_their_limits() {
        let key = TicketSigningKey::from_secret_bytes(&[3; 32]).public_key();
        assert!(TicketKeys::new(&[]).is_none() && TicketKeys::new(&[key; MAX_TICKET_KEYS + 1]).is_none());
        assert!(TicketKeys::new(&[key; MAX_TICKET_KEYS]).is_some());
        assert!(CreateToken::new(&"x".repeat(MIN_CREATE_TOKEN_BYTES - 1)).is_none());
        let token = CreateToken::new("a token of the backend").expect("long enough");
        assert!(token.matches("a token of the backend") && !token.matches("a token of the backenD"));
        assert_eq!(format!("{token:?}"), "CreateToken(secret)");
    }
}
