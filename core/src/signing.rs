//! Signed identities (K11): a studio states with Ed25519 that an identity is one of its builds.
//!
//! The signed message is the text `retick 2026 signed identity v1`, a zero byte and the identity's 32 bytes, so that no
//! signature made for anything else passes as one of an identity. Verification is strict: of the signatures that some
//! verifiers accept and others refuse, none passes. Keys come from the caller; nothing here makes randomness.
//!
//! ```
//! use retick_core::digest::Identity;
//! use retick_core::signing::{IdentityPublicKey, IdentitySigningKey, SignedIdentity};
//!
//! // In the studio's build, with 32 secret bytes of its own:
//! let key = IdentitySigningKey::from_secret_bytes(&[7; 32]);
//! let identity = Identity::from_bytes([1; 32]);
//! let text = key.sign(identity).to_string();
//!
//! // In the game, which knows the studio's public key:
//! let trusted: IdentityPublicKey = key.public_key().to_string().parse()?;
//! let signed: SignedIdentity = text.parse()?;
//! assert_eq!(signed.verify(&trusted)?, identity);
//! # Ok::<(), Box<dyn core::error::Error>>(())
//! ```

use core::fmt;
use core::str::FromStr;

use ed25519_dalek::{PUBLIC_KEY_LENGTH, SECRET_KEY_LENGTH, SIGNATURE_LENGTH};
use ed25519_dalek::{Signature, Signer, SigningKey, VerifyingKey};

use crate::digest::{DIGEST_BYTES, Identity, parse_hex};

/// Bytes of a secret and of a public key (K11).
pub const IDENTITY_KEY_BYTES: usize = 32;

/// Bytes of a signature (K11).
pub const IDENTITY_SIGNATURE_BYTES: usize = 64;

/// Bytes of a [`SignedIdentity`]: identity, key, signature (K11).
pub const SIGNED_IDENTITY_BYTES: usize = DIGEST_BYTES + IDENTITY_KEY_BYTES + IDENTITY_SIGNATURE_BYTES;

const _: () = assert!(IDENTITY_KEY_BYTES == SECRET_KEY_LENGTH && IDENTITY_KEY_BYTES == PUBLIC_KEY_LENGTH);
const _: () = assert!(IDENTITY_SIGNATURE_BYTES == SIGNATURE_LENGTH);

const DOMAIN: &[u8; 31] = b"retick 2026 signed identity v1\0";

/// What is signed for an identity.
fn message(identity: Identity) -> [u8; DOMAIN.len() + DIGEST_BYTES] {
    let mut message = [0; DOMAIN.len() + DIGEST_BYTES];
    let (domain, rest) = message.split_at_mut(DOMAIN.len());
    domain.copy_from_slice(DOMAIN);
    rest.copy_from_slice(identity.as_bytes());
    message
}

/// A secret key that signs identities (K11). It is wiped from memory when dropped, and never shown.
pub struct IdentitySigningKey(SigningKey);

impl IdentitySigningKey {
    /// The key with these secret bytes, which must come from a source of randomness fit for keys.
    #[must_use]
    pub fn from_secret_bytes(secret: &[u8; IDENTITY_KEY_BYTES]) -> IdentitySigningKey {
        IdentitySigningKey(SigningKey::from_bytes(secret))
    }

    /// The key that verifies what this one signs.
    #[must_use]
    pub fn public_key(&self) -> IdentityPublicKey {
        IdentityPublicKey::of_signing_key(&self.0)
    }

    /// Signs an identity. The same key and identity always give the same signature.
    #[must_use]
    pub fn sign(&self, identity: Identity) -> SignedIdentity {
        let signature = self.0.sign(&message(identity)).to_bytes();
        SignedIdentity { identity, key: self.public_key(), signature }
    }
}

impl fmt::Debug for IdentitySigningKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "IdentitySigningKey(of {})", self.public_key())
    }
}

/// Bytes or text that are no public key (K11).
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
pub enum PublicKeyError {
    /// The text is not 64 hexadecimal digits.
    #[error("a public key is 64 hexadecimal digits")]
    Text,
    /// The bytes are no point of the curve, or not in the form in which the point is written.
    #[error("not an Ed25519 public key")]
    NotAKey,
    /// A key of small order, for which anybody can make signatures.
    #[error("a weak Ed25519 public key")]
    Weak,
}

/// A public key that verifies signed identities (K11): a point of the curve in its one form, and not a weak one. Printable and
/// parseable as 64 hexadecimal digits.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct IdentityPublicKey([u8; IDENTITY_KEY_BYTES]);

impl IdentityPublicKey {
    /// The key with these bytes.
    ///
    /// # Errors
    /// [`PublicKeyError::NotAKey`] and [`PublicKeyError::Weak`].
    pub fn from_bytes(bytes: &[u8; IDENTITY_KEY_BYTES]) -> Result<IdentityPublicKey, PublicKeyError> {
        let key = VerifyingKey::from_bytes(bytes).map_err(|_| PublicKeyError::NotAKey)?;
        if key.is_weak() {
            return Err(PublicKeyError::Weak);
        }
        // Decoding reduces a coordinate beyond the field's prime; with two forms of one key, comparing keys would mean little.
        match key.to_edwards().compress().to_bytes() == *bytes {
            true => Ok(IdentityPublicKey(*bytes)),
            false => Err(PublicKeyError::NotAKey),
        }
    }

    /// The public half of a secret key, which is never weak.
    pub(crate) fn of_signing_key(key: &SigningKey) -> IdentityPublicKey {
        IdentityPublicKey(key.verifying_key().to_bytes())
    }

    /// The bytes.
    pub const fn as_bytes(&self) -> &[u8; IDENTITY_KEY_BYTES] {
        &self.0
    }
}

impl fmt::Display for IdentityPublicKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write_hex(self.as_bytes(), f)
    }
}

impl fmt::Debug for IdentityPublicKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "IdentityPublicKey({self})")
    }
}

impl FromStr for IdentityPublicKey {
    type Err = PublicKeyError;

    fn from_str(text: &str) -> Result<Self, PublicKeyError> {
        IdentityPublicKey::from_bytes(&parse_hex(text).ok_or(PublicKeyError::Text)?)
    }
}

/// An identity, the key that claims to have signed it, and the signature (K11). It proves nothing until
/// [`SignedIdentity::verify`] has compared it with a key that the caller trusts.
///
/// As text it is three groups of hexadecimal digits, 64, 64 and 128 of them, with a dot between.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct SignedIdentity {
    identity: Identity,
    key: IdentityPublicKey,
    signature: [u8; IDENTITY_SIGNATURE_BYTES],
}

/// Bytes or text that are no signed identity, true or not (K11).
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
pub enum ParseSignedIdentityError {
    /// The text is not three groups of hexadecimal digits.
    #[error("a signed identity is 64, 64 and 128 hexadecimal digits with dots between")]
    Text,
    /// The key is none.
    #[error("the key of a signed identity: {0}")]
    Key(#[from] PublicKeyError),
}

/// A signed identity that must not be believed (K11).
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
pub enum VerifyIdentityError {
    /// Another key than the trusted one claims to have signed it.
    #[error("signed by {found}, not by {expected}")]
    WrongKey {
        /// The trusted key.
        expected: IdentityPublicKey,
        /// The key that stands in the signed identity.
        found: IdentityPublicKey,
    },
    /// The signature is not one of this key for this identity.
    #[error("the signature of identity {identity} is not valid")]
    Signature {
        /// The identity it claims to sign.
        identity: Identity,
    },
}

impl SignedIdentity {
    /// The identity with a signature that was made elsewhere.
    pub fn from_parts(
        identity: Identity,
        key: IdentityPublicKey,
        signature: [u8; IDENTITY_SIGNATURE_BYTES],
    ) -> SignedIdentity {
        SignedIdentity { identity, key, signature }
    }

    /// The identity, which nothing has proved yet.
    #[doc(alias = "identity")]
    pub fn claimed_identity(&self) -> Identity {
        self.identity
    }

    /// The key that claims to have signed it.
    #[doc(alias = "key")]
    pub fn claimed_key(&self) -> IdentityPublicKey {
        self.key
    }

    /// The signature.
    pub fn signature(&self) -> &[u8; IDENTITY_SIGNATURE_BYTES] {
        &self.signature
    }

    /// The identity, once the trusted key is proved to have signed it.
    ///
    /// # Errors
    /// [`VerifyIdentityError::WrongKey`] for any key but the trusted one, [`VerifyIdentityError::Signature`] for a signature that
    /// is not valid under strict rules.
    pub fn verify(&self, trusted: &IdentityPublicKey) -> Result<Identity, VerifyIdentityError> {
        if self.key != *trusted {
            return Err(VerifyIdentityError::WrongKey { expected: *trusted, found: self.key });
        }
        let signature = Signature::from_bytes(&self.signature);
        VerifyingKey::from_bytes(&trusted.0)
            .and_then(|key| key.verify_strict(&message(self.identity), &signature))
            .map(|()| self.identity)
            .map_err(|_| VerifyIdentityError::Signature { identity: self.identity })
    }

    /// Identity, key and signature, one after another.
    #[must_use]
    pub fn to_bytes(&self) -> [u8; SIGNED_IDENTITY_BYTES] {
        let mut bytes = [0; SIGNED_IDENTITY_BYTES];
        let (identity, rest) = bytes.split_at_mut(DIGEST_BYTES);
        let (key, signature) = rest.split_at_mut(IDENTITY_KEY_BYTES);
        identity.copy_from_slice(self.identity.as_bytes());
        key.copy_from_slice(self.key.as_bytes());
        signature.copy_from_slice(&self.signature);
        bytes
    }

    /// What [`SignedIdentity::to_bytes`] wrote; it still has to be verified.
    ///
    /// # Errors
    /// [`PublicKeyError`] when the key is none.
    pub fn from_bytes(bytes: &[u8; SIGNED_IDENTITY_BYTES]) -> Result<SignedIdentity, PublicKeyError> {
        let (mut identity, mut key) = ([0; DIGEST_BYTES], [0; IDENTITY_KEY_BYTES]);
        let mut signature = [0; IDENTITY_SIGNATURE_BYTES];
        let (first, rest) = bytes.split_at(DIGEST_BYTES);
        let (second, third) = rest.split_at(IDENTITY_KEY_BYTES);
        identity.copy_from_slice(first);
        key.copy_from_slice(second);
        signature.copy_from_slice(third);
        let key = IdentityPublicKey::from_bytes(&key)?;
        Ok(SignedIdentity { identity: Identity::from_bytes(identity), key, signature })
    }
}

impl fmt::Display for SignedIdentity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}.", self.identity, self.key)?;
        write_hex(&self.signature, f)
    }
}

impl FromStr for SignedIdentity {
    type Err = ParseSignedIdentityError;

    fn from_str(text: &str) -> Result<Self, ParseSignedIdentityError> {
        let mut groups = text.split('.');
        let (Some(identity), Some(key), Some(signature), None) =
            (groups.next(), groups.next(), groups.next(), groups.next())
        else {
            return Err(ParseSignedIdentityError::Text);
        };
        let identity = parse_hex(identity).ok_or(ParseSignedIdentityError::Text)?;
        let key = parse_hex(key).ok_or(ParseSignedIdentityError::Text)?;
        let signature = parse_hex(signature).ok_or(ParseSignedIdentityError::Text)?;
        let key = IdentityPublicKey::from_bytes(&key)?;
        Ok(SignedIdentity { identity: Identity::from_bytes(identity), key, signature })
    }
}

fn write_hex(bytes: &[u8], f: &mut fmt::Formatter<'_>) -> fmt::Result {
    bytes.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
}

#[cfg(test)]
mod tests;
