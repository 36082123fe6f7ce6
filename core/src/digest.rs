//! 32-byte BLAKE3 digests, one newtype for each meaning, and the contexts under which they are computed.
//!
//! ```
//! use retick_core::digest::{Checksum, Digest};
//!
//! // A checksum is the plain BLAKE3 of a state's bytes, and is written in hexadecimal digits.
//! let checksum = Checksum::of(b"abc");
//! assert_eq!(checksum.to_string(), "6437b3ac38465133ffb63b75273a8db548c558465d79db03fd359c6cd5bd9d85");
//! assert_eq!(checksum.to_string().parse(), Ok(checksum));
//! // Under another context the same parts have another digest.
//! let contexts = ["my game 2026 save v1", "my game 2026 score v1"];
//! let [save, score] = contexts.map(|context| Digest::derived(context, &[b"abc"]));
//! assert_ne!(save, score);
//! ```

use core::fmt;
use core::str::FromStr;

use bincode::{Decode, Encode};
use blake3::hazmat::{ContextKey, HasherExt, hash_derive_key_context};
use serde::{Deserialize, Serialize};

/// Bytes of every digest here.
pub const DIGEST_BYTES: usize = 32;

/// Text that is not 64 hexadecimal digits.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
#[error("a digest is 64 hexadecimal digits")]
pub struct ParseDigestError;

/// The bytes that exactly twice as many hexadecimal digits stand for.
pub(crate) fn parse_hex<const N: usize>(text: &str) -> Option<[u8; N]> {
    let text = text.as_bytes();
    if text.len() != 2 * N {
        return None;
    }
    let nibble = |digit: u8| char::from(digit).to_digit(16).and_then(|value| u8::try_from(value).ok());
    let mut bytes = [0; N];
    for (byte, pair) in bytes.iter_mut().zip(text.chunks_exact(2)) {
        *byte = nibble(pair[0])? << 4 | nibble(pair[1])?;
    }
    Some(bytes)
}

macro_rules! digest {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        #[derive(
            Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, Encode, Decode,
        )]
        pub struct $name([u8; DIGEST_BYTES]);

        impl $name {
            /// The digest with these bytes.
            pub const fn from_bytes(bytes: [u8; DIGEST_BYTES]) -> Self {
                $name(bytes)
            }

            /// The bytes.
            pub const fn as_bytes(&self) -> &[u8; DIGEST_BYTES] {
                &self.0
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
            }
        }

        impl fmt::Debug for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, concat!(stringify!($name), "({})"), self)
            }
        }

        impl FromStr for $name {
            type Err = ParseDigestError;

            fn from_str(text: &str) -> Result<Self, ParseDigestError> {
                parse_hex(text).map($name).ok_or(ParseDigestError)
            }
        }
    };
}

digest! {
    /// Digest of a state (K5): plain BLAKE3 of its canonical bytes, so that anyone can recompute it with standard tools.
    #[doc(alias = "hash")]
    #[doc(alias = "crc")]
    Checksum
}

digest! {
    /// Digest of all code and settings that can change a bit of state (K11). Printable and parseable as 64 hexadecimal
    /// digits; two peers simulate together only with equal ones.
    Identity
}

digest! {
    /// Digest of anything else: a config, a descriptor, a module, an asset, a link of the frame chain.
    Digest
}

impl Checksum {
    /// The checksum of a state with these canonical bytes.
    #[must_use]
    pub fn of(canonical_state: &[u8]) -> Checksum {
        Checksum(*blake3::hash(canonical_state).as_bytes())
    }
}

impl Digest {
    /// Plain BLAKE3 of `bytes`.
    #[must_use]
    pub fn of(bytes: &[u8]) -> Digest {
        Digest(*blake3::hash(bytes).as_bytes())
    }

    /// BLAKE3 of `parts`, one after another, in derive-key mode under `context`, so that a digest of one kind can never be
    /// passed off as one of another kind.
    #[must_use]
    pub fn derived(context: &str, parts: &[&[u8]]) -> Digest {
        let mut hasher = blake3::Hasher::new_derive_key(context);
        parts.iter().for_each(|part| {
            hasher.update(part);
        });
        Digest(*hasher.finalize().as_bytes())
    }
}

/// A context of derived digests, hashed once, for whoever derives many under it.
#[derive(Clone, Debug)]
pub(crate) struct Context(ContextKey);

impl Context {
    pub(crate) fn new(context: &str) -> Context {
        Context(hash_derive_key_context(context))
    }

    /// What [`Digest::derived`] gives under this context.
    pub(crate) fn digest(&self, parts: &[&[u8]]) -> Digest {
        let mut hasher = blake3::Hasher::new_from_context_key(&self.0);
        parts.iter().for_each(|part| {
            hasher.update(part);
        });
        Digest(*hasher.finalize().as_bytes())
    }
}

#[cfg(test)]
mod tests {
    use alloc::string::ToString;

    use super::*;

    #[test]
    fn k11_a_digest_parses_back_from_its_text_and_from_nothing_else() {
        let digest = Digest::of(b"retick");
        let text = digest.to_string();
        assert_eq!(text.parse::<Digest>(), Ok(digest));
        for bad in ["", &text[1..], &text.replace(&text[..1], "g"), &(text.clone() + "0")] {
            assert_eq!(bad.parse::<Digest>(), Err(ParseDigestError), "{bad}");
        }
    }

    #[test]
    fn a12_a_context_that_was_hashed_before_derives_the_same_digests() {
        let context = Context::new("retick 2026 test v1");
        for parts in [&[][..], &[b"abc".as_slice()], &[b"a", b"bc"], &[&[7; 200], b"x"]] {
            assert_eq!(context.digest(parts), Digest::derived("retick 2026 test v1", parts));
        }
    }

    #[test]
    fn k5_a_checksum_is_plain_blake3() {
        // The published digest of the empty input.
        let empty = "af1349b9f5f9a1a6a0404dea36dcc9499bcb25c9adc112b7cc9a93cae41f3262";
        assert_eq!(Checksum::of(b"").to_string(), empty);
    }
}
