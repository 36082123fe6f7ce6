//! Join tickets (V1): a game's own backend states with Ed25519 who may enter which room, and until when.
//!
//! A ticket holds no secret of the service's, and the service asks nobody: it knows the backend's public key, and compares the
//! ticket with its own clock. The signed message is the text `retick 2026 join ticket v1`, a zero byte and the ticket's bytes,
//! so that no signature made for anything else passes as one of a ticket. Verification is strict, as that of
//! [identities](crate::signing). Keys and time come from the caller; nothing here makes randomness or reads a clock.
//!
//! ```
//! use retick_core::ticket::{Access, Ticket, TicketPublicKey, TicketSigningKey, SignedTicket, TicketTerms};
//!
//! // In the game's backend, with 32 secret bytes of its own:
//! let key = TicketSigningKey::from_secret_bytes(&[7; 32]);
//! let bytes = key.sign(&Ticket::new("ada", "K3XW-9FZM", 1_900_000_000, Access::Play)?).to_bytes();
//!
//! // In the service, which knows the backend's public key:
//! let trusted: [TicketPublicKey; 1] = [key.public_key().to_string().parse()?];
//! let terms = TicketTerms { trusted: &trusted, room: "K3XW-9FZM", now_unix_seconds: 1_800_000_000 };
//! let signed = SignedTicket::from_bytes(&bytes)?;
//! assert_eq!(signed.verify(&terms)?.player(), "ada");
//! // A moment later than it says, or at another door, it admits nobody.
//! assert!(signed.verify(&TicketTerms { now_unix_seconds: 1_900_000_000, ..terms }).is_err());
//! assert!(signed.verify(&TicketTerms { room: "AAAA-AAAA", ..terms }).is_err());
//! # Ok::<(), Box<dyn core::error::Error>>(())
//! ```

use alloc::vec::Vec;
use core::fmt;
use core::str::FromStr;

use bincode::{BorrowDecode, Decode, Encode};
use ed25519_dalek::{Signature, Signer, SigningKey, VerifyingKey};

use crate::codec::wire::{self, Text, WireError};
use crate::digest::Digest;
use crate::signing::{IDENTITY_KEY_BYTES, IDENTITY_SIGNATURE_BYTES, IdentityPublicKey, PublicKeyError};
use crate::wire::{MAX_TICKET_BYTES, PlayerId};

/// Most bytes of a player's name.
pub const MAX_PLAYER_NAME_BYTES: usize = 64;
/// Most bytes of a room's code.
pub const MAX_TICKET_ROOM_BYTES: usize = 64;

const DOMAIN: &[u8] = b"retick 2026 join ticket v1\0";
/// The form that is signed and decoded. Another one has another number, and another domain.
const VERSION: u8 = 1;
/// The most that a ticket can take: its form, two texts with their lengths, a number, the access, a key and a signature.
const LARGEST_BYTES: usize = 1
    + (3 + MAX_PLAYER_NAME_BYTES)
    + (3 + MAX_TICKET_ROOM_BYTES)
    + 9
    + 1
    + IDENTITY_KEY_BYTES
    + IDENTITY_SIGNATURE_BYTES;

const _: () = assert!(LARGEST_BYTES <= MAX_TICKET_BYTES, "every ticket fits a greeting");

/// What a ticket admits to.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Encode, Decode)]
pub enum Access {
    /// Taking a seat, and watching.
    Play,
    /// Watching, without a seat (A14).
    Watch,
}

/// Who may enter which room, and until when (V1).
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Ticket {
    body: Body,
}

/// A ticket as it is signed.
#[derive(Clone, PartialEq, Eq, Debug, Encode, BorrowDecode)]
struct Body {
    version: u8,
    player: Text<MAX_PLAYER_NAME_BYTES>,
    room: Text<MAX_TICKET_ROOM_BYTES>,
    expires_unix_seconds: u64,
    access: Access,
}

/// Words that make no ticket (V1).
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
pub enum TicketError {
    /// A player without a name.
    #[error("a player has a name")]
    NoPlayer,
    /// The name is too long.
    #[error("a player's name of {actual} bytes, where {MAX_PLAYER_NAME_BYTES} are allowed")]
    PlayerTooLong {
        /// Its length in bytes.
        actual: usize,
    },
    /// The room's code is too long.
    #[error("a room's code of {actual} bytes, where {MAX_TICKET_ROOM_BYTES} are allowed")]
    RoomTooLong {
        /// Its length in bytes.
        actual: usize,
    },
}

impl Ticket {
    /// A ticket for `player`, by the name under which the game's backend knows it, to the room with this code, written as the
    /// service writes it. It admits before `expires_unix_seconds`, in seconds since 1970.
    ///
    /// # Errors
    /// [`TicketError`] for a name that is empty, and for one or a code that is too long.
    pub fn new(player: &str, room: &str, expires_unix_seconds: u64, access: Access) -> Result<Ticket, TicketError> {
        if player.is_empty() {
            return Err(TicketError::NoPlayer);
        }
        let player = Text::new(player).ok_or(TicketError::PlayerTooLong { actual: player.len() })?;
        let room = Text::new(room).ok_or(TicketError::RoomTooLong { actual: room.len() })?;
        Ok(Ticket { body: Body { version: VERSION, player, room, expires_unix_seconds, access } })
    }

    /// The player's name, as the game's backend knows it.
    pub fn player(&self) -> &str {
        self.body.player.as_str()
    }

    /// Who the room takes the player for: the digest of its name. Two tickets of one player are one player (A6).
    #[must_use]
    pub fn player_id(&self) -> PlayerId {
        PlayerId(*Digest::derived("retick 2026 player id v1", &[self.player().as_bytes()]).as_bytes())
    }

    /// The room's code.
    pub fn room(&self) -> &str {
        self.body.room.as_str()
    }

    /// When it admits no more, in seconds since 1970.
    pub fn expires_unix_seconds(&self) -> u64 {
        self.body.expires_unix_seconds
    }

    /// What it admits to.
    pub fn access(&self) -> Access {
        self.body.access
    }

    fn message(&self) -> Vec<u8> {
        let mut message = Vec::from(DOMAIN);
        wire::encode_into(&self.body, &mut message);
        message
    }
}

/// A secret key that signs tickets. It is wiped from memory when dropped, and never shown.
pub struct TicketSigningKey(SigningKey);

impl TicketSigningKey {
    /// The key with these secret bytes, which must come from a source of randomness fit for keys.
    #[must_use]
    pub fn from_secret_bytes(secret: &[u8; IDENTITY_KEY_BYTES]) -> TicketSigningKey {
        TicketSigningKey(SigningKey::from_bytes(secret))
    }

    /// The key that verifies what this one signs.
    #[must_use]
    pub fn public_key(&self) -> TicketPublicKey {
        TicketPublicKey(IdentityPublicKey::of_signing_key(&self.0))
    }

    /// Signs a ticket. The same key and ticket always give the same signature.
    #[must_use]
    pub fn sign(&self, ticket: &Ticket) -> SignedTicket {
        let signature = self.0.sign(&ticket.message()).to_bytes();
        SignedTicket { ticket: ticket.clone(), key: self.public_key(), signature }
    }
}

impl fmt::Debug for TicketSigningKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "TicketSigningKey(of {})", self.public_key())
    }
}

/// A public key that verifies tickets, as printable and parseable as that of identities, and never mistaken for one.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct TicketPublicKey(IdentityPublicKey);

impl TicketPublicKey {
    /// The key with these bytes.
    ///
    /// # Errors
    /// [`PublicKeyError`] for what is no key, or a weak one.
    pub fn from_bytes(bytes: &[u8; IDENTITY_KEY_BYTES]) -> Result<TicketPublicKey, PublicKeyError> {
        IdentityPublicKey::from_bytes(bytes).map(TicketPublicKey)
    }

    /// The bytes.
    pub const fn as_bytes(&self) -> &[u8; IDENTITY_KEY_BYTES] {
        self.0.as_bytes()
    }
}

impl fmt::Display for TicketPublicKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl fmt::Debug for TicketPublicKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "TicketPublicKey({self})")
    }
}

impl FromStr for TicketPublicKey {
    type Err = PublicKeyError;

    fn from_str(text: &str) -> Result<Self, PublicKeyError> {
        text.parse().map(TicketPublicKey)
    }
}

/// What a ticket is held against.
#[derive(Clone, Copy, Debug)]
pub struct TicketTerms<'a> {
    /// The keys that are trusted.
    pub trusted: &'a [TicketPublicKey],
    /// The room at whose door it is shown, as the service writes its code.
    pub room: &'a str,
    /// The wall clock, in seconds since 1970.
    pub now_unix_seconds: u64,
}

/// Bytes or text that are no signed ticket, true or not (V1).
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
pub enum ParseTicketError {
    /// The text is not in pairs of hexadecimal digits.
    #[error("a ticket is written in pairs of hexadecimal digits")]
    Text,
    /// The bytes are malformed.
    #[error("the ticket is malformed: {0}")]
    Encoding(#[from] WireError),
    /// It is of a form that this build does not know.
    #[error("a ticket of version {found}, where {VERSION} is known")]
    Version {
        /// The version that stands in it.
        found: u8,
    },
    /// It names no player.
    #[error("the ticket names no player")]
    NoPlayer,
    /// Its key is none.
    #[error("the key of a ticket: {0}")]
    Key(#[from] PublicKeyError),
}

/// A ticket that admits nobody here (V1).
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
pub enum VerifyTicketError {
    /// None of the trusted keys claims to have signed it.
    #[error("the ticket is signed by {found}, which is not trusted here")]
    UntrustedKey {
        /// The key that stands in it.
        found: TicketPublicKey,
    },
    /// The signature is not one of this key for this ticket.
    #[error("the signature of the ticket is not valid")]
    Signature,
    /// It is for another room.
    #[error("the ticket is for another room")]
    OtherRoom,
    /// It has expired.
    #[error("the ticket expired at {expired}, and it is {now}")]
    Expired {
        /// When, in seconds since 1970.
        expired: u64,
        /// The wall clock it was held against.
        now: u64,
    },
}

/// A ticket, the key that claims to have signed it, and the signature (V1). It proves nothing until [`SignedTicket::verify`].
///
/// As text it is its bytes in hexadecimal digits.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct SignedTicket {
    ticket: Ticket,
    key: TicketPublicKey,
    signature: [u8; IDENTITY_SIGNATURE_BYTES],
}

/// What travels.
#[derive(Encode, BorrowDecode)]
struct Signed {
    body: Body,
    key: [u8; IDENTITY_KEY_BYTES],
    signature: [u8; IDENTITY_SIGNATURE_BYTES],
}

impl SignedTicket {
    /// The ticket, which nothing has proved yet.
    pub fn claimed_ticket(&self) -> &Ticket {
        &self.ticket
    }

    /// The key that claims to have signed it.
    pub fn claimed_key(&self) -> TicketPublicKey {
        self.key
    }

    /// The ticket, once a trusted key is proved to have signed it, for this room, and it has not expired.
    ///
    /// # Errors
    /// [`VerifyTicketError`], the first of its cases that is so.
    pub fn verify(&self, terms: &TicketTerms<'_>) -> Result<&Ticket, VerifyTicketError> {
        if !terms.trusted.contains(&self.key) {
            return Err(VerifyTicketError::UntrustedKey { found: self.key });
        }
        let signature = Signature::from_bytes(&self.signature);
        VerifyingKey::from_bytes(self.key.as_bytes())
            .and_then(|key| key.verify_strict(&self.ticket.message(), &signature))
            .map_err(|_| VerifyTicketError::Signature)?;
        if self.ticket.room() != terms.room {
            return Err(VerifyTicketError::OtherRoom);
        }
        let (expired, now) = (self.ticket.expires_unix_seconds(), terms.now_unix_seconds);
        if expired <= now { Err(VerifyTicketError::Expired { expired, now }) } else { Ok(&self.ticket) }
    }

    /// What a client hands in when it joins; at most [`MAX_TICKET_BYTES`].
    #[must_use]
    pub fn to_bytes(&self) -> Vec<u8> {
        let signed = Signed { body: self.ticket.body.clone(), key: *self.key.as_bytes(), signature: self.signature };
        wire::encode(&signed)
    }

    /// What [`SignedTicket::to_bytes`] wrote; it still has to be verified.
    ///
    /// # Errors
    /// [`ParseTicketError`].
    pub fn from_bytes(bytes: &[u8]) -> Result<SignedTicket, ParseTicketError> {
        let Signed { body, key, signature } = wire::decode(bytes, MAX_TICKET_BYTES)?;
        if body.version != VERSION {
            return Err(ParseTicketError::Version { found: body.version });
        }
        if body.player.as_str().is_empty() {
            return Err(ParseTicketError::NoPlayer);
        }
        Ok(SignedTicket { ticket: Ticket { body }, key: TicketPublicKey::from_bytes(&key)?, signature })
    }
}

impl fmt::Display for SignedTicket {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.to_bytes().iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

impl FromStr for SignedTicket {
    type Err = ParseTicketError;

    fn from_str(text: &str) -> Result<Self, ParseTicketError> {
        SignedTicket::from_bytes(&decode_hex(text).ok_or(ParseTicketError::Text)?)
    }
}

fn decode_hex(text: &str) -> Option<Vec<u8>> {
    if text.len() > 2 * MAX_TICKET_BYTES {
        return None;
    }
    let digit = |byte: u8| char::from(byte).to_digit(16).and_then(|digit| u8::try_from(digit).ok());
    let pairs = text.as_bytes().chunks(2);
    pairs.map(|pair| Some(digit(*pair.first()?)? << 4 | digit(*pair.get(1)?)?)).collect()
}

#[cfg(test)]
mod tests {
    use alloc::string::ToString;
    use alloc::vec;

    use super::*;

    fn key(secret: u8) -> TicketSigningKey {
        TicketSigningKey::from_secret_bytes(&[secret; 32])
    }

    fn ticket() -> Ticket {
        Ticket::new("ada", "K3XW-9FZM", 1_000, Access::Play).expect("short")
    }

    #[test]
    fn v1_a_ticket_admits_its_player_to_its_room_before_it_expires() {
        let (signed, trusted) = (key(1).sign(&ticket()), [key(2).public_key(), key(1).public_key()]);
        let terms = |room, now_unix_seconds| TicketTerms { trusted: &trusted, room, now_unix_seconds };
        assert_eq!(signed.verify(&terms("K3XW-9FZM", 999)), Ok(&ticket()));
        let expired = Err(VerifyTicketError::Expired { expired: 1_000, now: 1_000 });
        assert_eq!(signed.verify(&terms("K3XW-9FZM", 1_000)), expired);
        assert_eq!(signed.verify(&terms("k3xw-9fzm", 999)), Err(VerifyTicketError::OtherRoom));
        let untrusted = TicketTerms { trusted: &trusted[..1], room: "K3XW-9FZM", now_unix_seconds: 999 };
        let found = key(1).public_key();
        assert_eq!(signed.verify(&untrusted), Err(VerifyTicketError::UntrustedKey { found }));
    }

    #[test]
    fn v1_no_byte_of_a_ticket_can_be_changed() {
        let trusted = [key(1).public_key()];
        let terms = TicketTerms { trusted: &trusted, room: "K3XW-9FZM", now_unix_seconds: 0 };
        let bytes = key(1).sign(&ticket()).to_bytes();
        for index in 0..bytes.len() {
            for bit in 0..8 {
                let mut changed = bytes.clone();
                changed[index] ^= 1 << bit;
                let believed = SignedTicket::from_bytes(&changed).is_ok_and(|signed| signed.verify(&terms).is_ok());
                assert!(!believed, "bit {bit} of byte {index}");
            }
        }
    }

    #[test]
    fn v1_a_signature_of_another_kind_is_none_of_a_ticket() {
        let signer = SigningKey::from_bytes(&[1; 32]);
        let trusted = [key(1).public_key()];
        let terms = TicketTerms { trusted: &trusted, room: "K3XW-9FZM", now_unix_seconds: 0 };
        let mut signed = key(1).sign(&ticket());
        signed.signature = signer.sign(&wire::encode(&ticket().body)).to_bytes();
        assert_eq!(signed.verify(&terms), Err(VerifyTicketError::Signature));
    }

    #[test]
    fn v1_a_ticket_has_one_form_in_bytes_and_text() {
        let signed = key(1).sign(&ticket());
        let (bytes, text) = (signed.to_bytes(), signed.to_string());
        assert_eq!(SignedTicket::from_bytes(&bytes).as_ref(), Ok(&signed));
        assert_eq!(text.parse().as_ref(), Ok(&signed));
        assert_eq!(text.to_uppercase().parse().as_ref(), Ok(&signed));
        for length in 0..bytes.len() {
            let cut = SignedTicket::from_bytes(&bytes[..length]);
            assert_eq!(cut, Err(ParseTicketError::Encoding(WireError::Malformed)), "{length}");
        }
        let trailing = Err(ParseTicketError::Encoding(WireError::NotCanonical { offset: bytes.len() }));
        assert_eq!(SignedTicket::from_bytes(&[&bytes[..], &[0]].concat()), trailing);
        let other = [&[VERSION + 1], &bytes[1..]].concat();
        assert_eq!(SignedTicket::from_bytes(&other), Err(ParseTicketError::Version { found: VERSION + 1 }));
        for text in [&text[1..], "zz", "ää"] {
            assert_eq!(text.parse::<SignedTicket>(), Err(ParseTicketError::Text), "{text}");
        }
        let (actual, limit) = (MAX_TICKET_BYTES + 1, MAX_TICKET_BYTES);
        let long = Err(ParseTicketError::Encoding(WireError::TooLong { actual, limit }));
        assert_eq!(SignedTicket::from_bytes(&vec![1; actual]), long);
        assert_eq!("00".repeat(actual).parse::<SignedTicket>(), Err(ParseTicketError::Text));
    }

    #[test]
    fn v1_names_end_at_their_limits_and_the_largest_ticket_fits_a_greeting() {
        let long = |bytes: usize| "x".repeat(bytes);
        let make = |player: &str, room: &str| Ticket::new(player, room, u64::MAX, Access::Watch);
        let (player, room) = (long(MAX_PLAYER_NAME_BYTES), long(MAX_TICKET_ROOM_BYTES));
        let largest = key(1).sign(&make(&player, &room).expect("at the limits")).to_bytes();
        assert!(largest.len() <= LARGEST_BYTES);
        assert_eq!(make("", "room"), Err(TicketError::NoPlayer));
        let actual = MAX_PLAYER_NAME_BYTES + 1;
        assert_eq!(make(&long(actual), "room"), Err(TicketError::PlayerTooLong { actual }));
        let actual = MAX_TICKET_ROOM_BYTES + 1;
        assert_eq!(make("ada", &long(actual)), Err(TicketError::RoomTooLong { actual }));
    }

    #[test]
    fn v1_a_player_is_its_name_whatever_the_ticket() {
        let of = |player, room| Ticket::new(player, room, 5, Access::Play).expect("short").player_id();
        assert_eq!(of("ada", "A"), of("ada", "B"));
        assert_ne!(of("ada", "A"), of("bob", "A"));
    }
}
