//! Auxiliary assets (K12): content that is too large for the session config, pinned there by name, digest and length.
//!
//! A game puts its [`AssetPins`] into a config field of the kind bytes. Before tick 0 every player finds the content by its name
//! and verifies it; what does not match ends the attempt with an [`AssetError`] and is never replaced by something else.
//!
//! ```
//! use retick_core::asset::{AssetError, AssetPin, AssetPins, verify_asset};
//! use retick_core::config::ConfigSchema;
//!
//! // Whoever makes the config pins the map.
//! let map = b"a large map";
//! let pins = AssetPins::new([AssetPin::of("maps/forest", map)?])?;
//! let schema = ConfigSchema::builder("hunt/v1").bytes("assets", AssetPins::MAX_CONFIG_BYTES).build()?;
//! let config = schema.encode(&[("assets", pins.to_config_value())])?;
//!
//! // Whoever plays with it verifies what is in the game's folder.
//! let values = schema.decode(config.bytes())?;
//! let pins = AssetPins::from_bytes(values.bytes("assets").unwrap_or_default())?;
//! let pin = pins.pin("maps/forest").expect("pinned above");
//! assert_eq!(verify_asset(pin, map)?.bytes(), map);
//! assert!(matches!(verify_asset(pin, b"another map"), Err(AssetError::Digest { .. })));
//! # Ok::<(), Box<dyn core::error::Error>>(())
//! ```

use alloc::borrow::ToOwned;
use alloc::string::String;
use alloc::vec::Vec;

use serde::{Deserialize, Serialize};

use crate::codec::canonical;
use crate::config::{ConfigValue, MAX_CONFIG_BYTES};
use crate::digest::{DIGEST_BYTES, Digest};

/// Most bytes of an asset's name (K12).
pub const MAX_ASSET_NAME_BYTES: usize = 128;

/// Most assets that a config pins (K12).
pub const MAX_ASSET_PINS: usize = 256;

/// Most bytes of encoded pins: the count, and for each a name with its length, a digest and a length.
const MAX_PINS_BYTES: usize = 8 + MAX_ASSET_PINS * (8 + MAX_ASSET_NAME_BYTES + DIGEST_BYTES + 8);

const _: () = assert!(MAX_PINS_BYTES <= MAX_CONFIG_BYTES, "every list of pins fits into a config");

/// One asset, by name, digest and length (K12).
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct AssetPin {
    name: String,
    digest: Digest,
    bytes: u64,
}

/// A pin or a list of pins that can't be.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum AssetPinError {
    /// A name is empty or longer than [`MAX_ASSET_NAME_BYTES`].
    #[error("the name {name:?} is not of 1 to {MAX_ASSET_NAME_BYTES} bytes")]
    NameLength {
        /// The name.
        name: String,
    },
    /// Two pins have one name.
    #[error("the asset {name:?} is pinned twice")]
    Duplicate {
        /// The name.
        name: String,
    },
    /// More than [`MAX_ASSET_PINS`] pins.
    #[error("{count} pins, of which {MAX_ASSET_PINS} are allowed")]
    TooMany {
        /// Pins given.
        count: usize,
    },
    /// The encoded pins are longer than any list of pins.
    #[error("pins of {length} bytes, of which {MAX_PINS_BYTES} are allowed")]
    TooLong {
        /// Bytes given.
        length: usize,
    },
    /// The encoded pins are malformed, or not in the order of their names.
    #[error("the encoded pins are malformed at byte {offset}")]
    Malformed {
        /// Where reading stopped.
        offset: u64,
    },
}

/// An asset that is not what the config pins. It ends the attempt to play: there is no fallback (K12).
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum AssetError {
    /// Nobody has content of this name.
    #[error("the asset {name:?} is missing")]
    Missing {
        /// The asset's name.
        name: String,
    },
    /// The content has another length.
    #[error("the asset {name:?} has {found} bytes, and {expected} are pinned")]
    Length {
        /// The asset's name.
        name: String,
        /// Bytes pinned.
        expected: u64,
        /// Bytes found.
        found: u64,
    },
    /// The content has the length, and another digest.
    #[error("the asset {name:?} has the digest {found}, and {expected} is pinned")]
    Digest {
        /// The asset's name.
        name: String,
        /// Digest pinned.
        expected: Digest,
        /// Digest found.
        found: Digest,
    },
}

impl AssetPin {
    /// A pin of content that has this digest ([`Digest::of`]) and this many bytes.
    ///
    /// # Errors
    /// [`AssetPinError::NameLength`].
    pub fn new(name: &str, digest: Digest, bytes: u64) -> Result<AssetPin, AssetPinError> {
        match name.len() {
            1..=MAX_ASSET_NAME_BYTES => Ok(AssetPin { name: name.to_owned(), digest, bytes }),
            _ => Err(AssetPinError::NameLength { name: name.to_owned() }),
        }
    }

    /// A pin of this content.
    ///
    /// # Errors
    /// [`AssetPinError::NameLength`].
    pub fn of(name: &str, content: &[u8]) -> Result<AssetPin, AssetPinError> {
        AssetPin::new(name, Digest::of(content), content.len() as u64)
    }

    /// The name by which every player finds the content: 1 to [`MAX_ASSET_NAME_BYTES`] bytes.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Plain BLAKE3 of the content, as standard tools print it.
    pub fn digest(&self) -> Digest {
        self.digest
    }

    /// Bytes of the content.
    pub fn bytes(&self) -> u64 {
        self.bytes
    }
}

/// The assets that a config pins: at most [`MAX_ASSET_PINS`], in the order of their names, each name once (K12).
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct AssetPins {
    pins: Vec<AssetPin>,
}

impl AssetPins {
    /// Most bytes of encoded pins, as the limit of a config field.
    #[expect(clippy::cast_possible_truncation, reason = "at most MAX_CONFIG_BYTES, by the assertion above")]
    pub const MAX_CONFIG_BYTES: u32 = MAX_PINS_BYTES as u32;

    /// These pins, in the order of their names.
    ///
    /// # Errors
    /// [`AssetPinError::Duplicate`] and [`AssetPinError::TooMany`].
    pub fn new(pins: impl IntoIterator<Item = AssetPin>) -> Result<AssetPins, AssetPinError> {
        let mut pins: Vec<AssetPin> = pins.into_iter().collect();
        if pins.len() > MAX_ASSET_PINS {
            return Err(AssetPinError::TooMany { count: pins.len() });
        }
        pins.sort_unstable_by(|left, right| left.name.cmp(&right.name));
        match pins.windows(2).find(|pair| pair[0].name == pair[1].name) {
            Some(pair) => Err(AssetPinError::Duplicate { name: pair[0].name.clone() }),
            None => Ok(AssetPins { pins }),
        }
    }

    /// The pins that `bytes` encode, as [`AssetPins::to_bytes`] wrote them.
    ///
    /// # Errors
    /// [`AssetPinError`]: bytes of any other form are refused, pins out of order included.
    pub fn from_bytes(bytes: &[u8]) -> Result<AssetPins, AssetPinError> {
        if bytes.len() > MAX_PINS_BYTES {
            return Err(AssetPinError::TooLong { length: bytes.len() });
        }
        let malformed = |error: canonical::DecodeError| AssetPinError::Malformed { offset: error.offset as u64 };
        let pins: Vec<AssetPin> = canonical::decode_canonical(bytes).map_err(malformed)?;
        let checked = pins.iter().map(|pin| AssetPin::new(&pin.name, pin.digest, pin.bytes));
        let sorted = AssetPins::new(checked.collect::<Result<Vec<_>, _>>()?)?;
        match sorted.pins == pins {
            true => Ok(sorted),
            false => Err(AssetPinError::Malformed { offset: 8 }),
        }
    }

    /// The pins as canonical bytes (K13), for a config field of the kind bytes.
    ///
    /// # Panics
    /// Never: texts and numbers, a few levels deep, always have a canonical form.
    #[must_use]
    pub fn to_bytes(&self) -> Vec<u8> {
        canonical::encode(&self.pins).expect("texts and numbers, a few levels deep, always have a canonical form")
    }

    /// [`AssetPins::to_bytes`], as the value of a config field.
    #[must_use]
    pub fn to_config_value(&self) -> ConfigValue {
        ConfigValue::Bytes(self.to_bytes())
    }

    /// The pin of this name.
    pub fn pin(&self, name: &str) -> Option<&AssetPin> {
        let index = self.pins.binary_search_by(|pin| pin.name.as_str().cmp(name)).ok()?;
        self.pins.get(index)
    }

    /// All pins, in the order of their names.
    pub fn iter(&self) -> core::slice::Iter<'_, AssetPin> {
        self.pins.iter()
    }

    /// Verifies every pinned asset, with `find` giving the content of a name, and returns them in the order of their names.
    ///
    /// # Errors
    /// [`AssetError`] of the first asset that is missing or is not what is pinned.
    pub fn verify<'a>(
        &'a self,
        mut find: impl FnMut(&str) -> Option<&'a [u8]>,
    ) -> Result<Vec<VerifiedAsset<'a>>, AssetError> {
        let verify = |pin: &'a AssetPin| match find(&pin.name) {
            Some(content) => verify_asset(pin, content),
            None => Err(AssetError::Missing { name: pin.name.clone() }),
        };
        self.pins.iter().map(verify).collect()
    }
}

impl<'a> IntoIterator for &'a AssetPins {
    type Item = &'a AssetPin;
    type IntoIter = core::slice::Iter<'a, AssetPin>;

    fn into_iter(self) -> Self::IntoIter {
        self.iter()
    }
}

/// Content that is what its pin says. Only [`verify_asset`] makes one (K12).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct VerifiedAsset<'a> {
    pin: &'a AssetPin,
    content: &'a [u8],
}

impl<'a> VerifiedAsset<'a> {
    /// What it was verified against.
    pub fn pin(self) -> &'a AssetPin {
        self.pin
    }

    /// The content.
    pub fn bytes(self) -> &'a [u8] {
        self.content
    }
}

/// Verifies content against its pin (K12): the length first, then the digest.
///
/// # Errors
/// [`AssetError::Length`] or [`AssetError::Digest`], with what is pinned and what was found.
pub fn verify_asset<'a>(pin: &'a AssetPin, content: &'a [u8]) -> Result<VerifiedAsset<'a>, AssetError> {
    let (expected, found) = (pin.bytes, content.len() as u64);
    if expected != found {
        return Err(AssetError::Length { name: pin.name.clone(), expected, found });
    }
    let (expected, found) = (pin.digest, Digest::of(content));
    if expected != found {
        return Err(AssetError::Digest { name: pin.name.clone(), expected, found });
    }
    Ok(VerifiedAsset { pin, content })
}

#[cfg(test)]
mod tests;
