//! The only place that knows how values become bytes (K13).
//!
//! [`canonical`] is the form of states and configs: bincode 2 with fixed-width little-endian integers; [`text`] says the same
//! values as JSON. [`wire`] is the form of what travels or is stored in frames: bincode 2 with variable-length integers. All
//! refuse what they would not have written themselves, and none reserves memory on the word of a count.
//!
//! ```
//! use retick_core::codec::{canonical, text, wire};
//!
//! let state = (300u64, -0.0f32, Some("north"));
//! let bytes = canonical::encode(&state)?;
//! assert_eq!(bytes[..8], [44, 1, 0, 0, 0, 0, 0, 0]);
//! assert_eq!(text::to_text(&state)?, r#"[300,{"$rdm":"negative-zero"},"north"]"#);
//! assert_eq!(wire::encode(&300u64), [251, 44, 1]);
//! # Ok::<(), canonical::EncodeError>(())
//! ```

pub mod canonical;
pub mod text;
pub mod wire;

/// Decoding for a newtype whose constructor may refuse: a value out of range is a decode error, never a wrong type.
macro_rules! decode_checked {
    ($name:ident, $inner:ty, $make:expr, $what:literal) => {
        impl<Context> bincode::Decode<Context> for $name {
            fn decode<D: bincode::de::Decoder<Context = Context>>(
                decoder: &mut D,
            ) -> Result<Self, bincode::error::DecodeError> {
                let inner = <$inner as bincode::Decode<Context>>::decode(decoder)?;
                ($make)(inner).ok_or(bincode::error::DecodeError::Other($what))
            }
        }

        bincode::impl_borrow_decode!($name);

        impl<'de> serde::Deserialize<'de> for $name {
            fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                let inner = <$inner as serde::Deserialize>::deserialize(deserializer)?;
                ($make)(inner).ok_or_else(|| serde::de::Error::custom(concat!($what, " out of range")))
            }
        }
    };
}

pub(crate) use decode_checked;
