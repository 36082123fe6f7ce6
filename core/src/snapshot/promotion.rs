//! A promoted world as bytes: the snapshot of a confirmed state, and the whole descriptor of the match that it is of (S7).

use alloc::vec::Vec;

use bincode::{BorrowDecode, Encode};

use super::{MAX_SNAPSHOT_BYTES, Origin, SNAPSHOT_VERSION, Snapshot, SnapshotError};
use crate::codec::wire::{self, Cursor, WireError};
use crate::digest::{Digest, Identity};
use crate::identity::{DescriptorError, MAX_DESCRIPTOR_BYTES, MatchDescriptor};
use crate::seat::SeatCount;
use crate::session::SessionError;
use crate::tick::Tick;

/// Most bytes of an encoded promotion.
pub const MAX_PROMOTION_BYTES: usize = MAX_SNAPSHOT_BYTES + MAX_DESCRIPTOR_BYTES + 64;

/// A solo session's world, ready to become another local session (S7).
///
/// It carries the descriptor of the match, so that whoever receives it can make the runtime. It grants no membership of a room:
/// a room begins its matches itself, and its clients build their sessions from its greeting alone. The mark that it carries keeps
/// honest machines from passing the world off as a match of its own; it is no proof against a forger, and needs to be none: what
/// is verified is a replay, and a replay begins at tick 0.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct PromotionSnapshot {
    descriptor: MatchDescriptor,
    snapshot: Snapshot,
}

#[derive(Encode, BorrowDecode)]
struct Parts<'a> {
    version: u16,
    descriptor: &'a [u8],
    snapshot: &'a [u8],
}

/// Why a promotion was not taken.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum PromotionError {
    /// The bytes are malformed.
    #[error("the encoded promotion: {0}")]
    Encoding(#[from] WireError),
    /// Another version than 2.
    #[error("promotion version {found}, where {SNAPSHOT_VERSION} is read")]
    Version {
        /// The version that it states.
        found: u16,
    },
    /// The descriptor is malformed.
    #[error("the promotion's descriptor: {0}")]
    Descriptor(#[from] DescriptorError),
    /// The snapshot inside is one of a match, and no promotion.
    #[error("the snapshot is not one of a promotion")]
    NotPromoted,
    /// A promotion never widens a match: size the solo session for everyone from the start.
    #[error("the promoted world has {found} seats, the session {expected}")]
    Seats {
        /// Seats of the session that is to be built.
        expected: SeatCount,
        /// Seats of the promoted world.
        found: SeatCount,
    },
    /// The game or the loaded runtime is another.
    #[error("the promoted world is of identity {found}, not {expected}")]
    Identity {
        /// The session's or the runtime's.
        expected: Identity,
        /// The promoted world's.
        found: Identity,
    },
    /// The session config is another.
    #[error("the promoted world has session config {found}, not {expected}")]
    Config {
        /// Digest of the session's.
        expected: Digest,
        /// Digest of the promoted world's.
        found: Digest,
    },
    /// Seed, generation or input limits differ: what the state was made from is part of it.
    #[error("the promoted world is of match {found}, not {expected}")]
    OtherMatch {
        /// Digest of the session's descriptor.
        expected: Digest,
        /// Digest of the promoted world's.
        found: Digest,
    },
    /// The policy asks for what the runtime or the match does not have.
    #[error("{0}")]
    Session(#[from] SessionError),
    /// The snapshot inside was not taken.
    #[error("{0}")]
    Snapshot(#[from] SnapshotError),
}

impl PromotionSnapshot {
    pub(crate) fn new(descriptor: &MatchDescriptor, snapshot: Snapshot) -> PromotionSnapshot {
        PromotionSnapshot { descriptor: descriptor.clone(), snapshot: snapshot.with_origin(Origin::Promotion) }
    }

    /// The promotion that `bytes` encode.
    ///
    /// # Errors
    /// [`PromotionError`] when they are malformed, damaged, of another version, or hold a snapshot that is none of a promotion or
    /// of another match than the descriptor beside it.
    pub fn from_bytes(bytes: &[u8]) -> Result<PromotionSnapshot, PromotionError> {
        let found = Cursor::new(bytes).take()?;
        if found != SNAPSHOT_VERSION {
            return Err(PromotionError::Version { found });
        }
        let parts: Parts<'_> = wire::decode(bytes, MAX_PROMOTION_BYTES)?;
        let descriptor = MatchDescriptor::from_bytes(parts.descriptor)?;
        let snapshot = Snapshot::from_bytes(parts.snapshot)?;
        if snapshot.origin() != Origin::Promotion {
            return Err(PromotionError::NotPromoted);
        }
        snapshot.check_match(&descriptor)?;
        Ok(PromotionSnapshot { descriptor, snapshot })
    }

    /// The promotion as bytes.
    #[must_use]
    pub fn to_bytes(&self) -> Vec<u8> {
        let (descriptor, snapshot) = (self.descriptor.to_bytes(), self.snapshot.to_bytes());
        wire::encode(&Parts { version: SNAPSHOT_VERSION, descriptor: &descriptor, snapshot: &snapshot })
    }

    /// The match that the world is of.
    pub fn descriptor(&self) -> &MatchDescriptor {
        &self.descriptor
    }

    /// The tick at which play goes on.
    pub fn tick(&self) -> Tick {
        self.snapshot.tick()
    }

    pub(crate) fn snapshot(&self) -> &Snapshot {
        &self.snapshot
    }

    /// Checks that a session of `expected`, on a runtime of `loaded`, is one of this world's match.
    pub(crate) fn check(&self, expected: &MatchDescriptor, loaded: Identity) -> Result<(), PromotionError> {
        let found = &self.descriptor;
        if found.seats() != expected.seats() {
            return Err(PromotionError::Seats { expected: expected.seats(), found: found.seats() });
        }
        for expected in [expected.identity(), loaded] {
            if found.identity() != expected {
                return Err(PromotionError::Identity { expected, found: found.identity() });
            }
        }
        let configs = (expected.config().digest(), found.config().digest());
        if configs.0 != configs.1 {
            return Err(PromotionError::Config { expected: configs.0, found: configs.1 });
        }
        if found.digest() != expected.digest() {
            return Err(PromotionError::OtherMatch { expected: expected.digest(), found: found.digest() });
        }
        Ok(())
    }
}
