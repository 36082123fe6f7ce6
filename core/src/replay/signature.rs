//! An authority's word for a replay (R1): an Ed25519 signature over which match it is, how long, and the head of its frame chain.
//!
//! The signed message is the text `retick 2026 replay signature v1`, a zero byte, the 32 bytes of the descriptor's digest, the
//! number of ticks as 8 bytes, little-endian, and the 32 bytes of the chain's head. The head covers every frame; checksums follow
//! from the frames by re-simulation, and need no word.

use alloc::vec::Vec;
use core::fmt;
use core::str::FromStr;

use ed25519_dalek::{Signature, Signer, SigningKey, VerifyingKey};

use super::section::SignatureSection;
use crate::digest::Digest;
use crate::signing::{IDENTITY_KEY_BYTES, IDENTITY_SIGNATURE_BYTES, IdentityPublicKey, PublicKeyError};
use crate::tick::Tick;

const DOMAIN: &[u8] = b"retick 2026 replay signature v1\0";

/// What a signature vouches for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Claim {
    pub descriptor: Digest,
    pub ticks: Tick,
    pub chain_head: Digest,
}

impl Claim {
    fn message(&self) -> Vec<u8> {
        let ticks = self.ticks.index().to_le_bytes();
        [DOMAIN, self.descriptor.as_bytes(), &ticks, self.chain_head.as_bytes()].concat()
    }
}

/// A secret key with which an authority signs replays (R1). It is wiped from memory when dropped, and never shown.
pub struct ReplaySigningKey(SigningKey);

impl ReplaySigningKey {
    /// The key with these secret bytes, which must come from a source of randomness fit for keys.
    #[must_use]
    pub fn from_secret_bytes(secret: &[u8; IDENTITY_KEY_BYTES]) -> ReplaySigningKey {
        ReplaySigningKey(SigningKey::from_bytes(secret))
    }

    /// The key that verifies what this one signs.
    #[must_use]
    pub fn public_key(&self) -> ReplayPublicKey {
        ReplayPublicKey(IdentityPublicKey::of_signing_key(&self.0))
    }

    pub(super) fn sign(&self, claim: &Claim) -> ReplaySignature {
        ReplaySignature { key: *self.public_key().as_bytes(), signature: self.0.sign(&claim.message()).to_bytes() }
    }
}

impl fmt::Debug for ReplaySigningKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "ReplaySigningKey(of {})", self.public_key())
    }
}

/// A public key that verifies signed replays, as printable and parseable as that of identities, and never mistaken for one.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ReplayPublicKey(IdentityPublicKey);

impl ReplayPublicKey {
    /// The key with these bytes.
    ///
    /// # Errors
    /// [`PublicKeyError`] for what is no key, or a weak one.
    pub fn from_bytes(bytes: &[u8; IDENTITY_KEY_BYTES]) -> Result<ReplayPublicKey, PublicKeyError> {
        IdentityPublicKey::from_bytes(bytes).map(ReplayPublicKey)
    }

    /// The bytes.
    pub const fn as_bytes(&self) -> &[u8; IDENTITY_KEY_BYTES] {
        self.0.as_bytes()
    }
}

impl fmt::Display for ReplayPublicKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl fmt::Debug for ReplayPublicKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "ReplayPublicKey({self})")
    }
}

impl FromStr for ReplayPublicKey {
    type Err = PublicKeyError;

    fn from_str(text: &str) -> Result<Self, PublicKeyError> {
        text.parse().map(ReplayPublicKey)
    }
}

/// The signature that stands in a file; it proves nothing until it was held against a key that the caller trusts.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct ReplaySignature {
    key: [u8; IDENTITY_KEY_BYTES],
    signature: [u8; IDENTITY_SIGNATURE_BYTES],
}

impl ReplaySignature {
    pub(super) fn to_section(self) -> SignatureSection {
        SignatureSection { key: self.key, signature: self.signature }
    }

    pub(super) fn from_section(section: SignatureSection) -> ReplaySignature {
        ReplaySignature { key: section.key, signature: section.signature }
    }

    /// The key that claims to have signed.
    pub(super) fn claimed_key(&self) -> Result<ReplayPublicKey, PublicKeyError> {
        ReplayPublicKey::from_bytes(&self.key)
    }

    /// Whether this key has signed this.
    pub(super) fn is_of(&self, trusted: &ReplayPublicKey, claim: &Claim) -> bool {
        self.key == *trusted.as_bytes()
            && VerifyingKey::from_bytes(trusted.as_bytes())
                .and_then(|key| key.verify_strict(&claim.message(), &Signature::from_bytes(&self.signature)))
                .is_ok()
    }
}
