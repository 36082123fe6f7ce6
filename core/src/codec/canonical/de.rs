//! The reading half of the canonical form: a serde deserializer over bytes from anywhere.
//!
//! Nothing is reserved for what a length claims: sequences and maps give serde no size hint, because the size of an element
//! in memory isn't known here, and texts and bytes are borrowed from the input. Time is bounded by the input as well: an
//! element takes at least one of its bytes or one of [`MAX_EMPTY_ELEMENTS`].

use alloc::string::{String, ToString};
use core::fmt;

use serde::Deserialize;
use serde::de::{self, DeserializeSeed, IntoDeserializer, Visitor};

use super::{EncodeError, MAX_DEPTH, MAX_EMPTY_ELEMENTS};

/// The quiet NaNs that stand for every NaN.
const CANONICAL_NAN_32: u32 = 0x7FC0_0000;
const CANONICAL_NAN_64: u64 = 0x7FF8_0000_0000_0000;

/// Bytes are not the canonical form of a value of the wanted type (K13).
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("at byte {offset}: {reason}")]
pub struct DecodeError {
    /// Where reading stopped: at the refused part, or after it where the type itself refused the value.
    pub offset: usize,
    /// Why.
    pub reason: DecodeReason,
}

/// Why bytes are not the canonical form of a value of the wanted type (K13).
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum DecodeReason {
    /// The bytes end within a value.
    #[error("the bytes end within a value")]
    EndOfInput,
    /// A length claims more than the bytes that remain can hold.
    #[error("a length of {claimed} with {remaining} bytes left")]
    LengthBeyondInput {
        /// The length.
        claimed: u64,
        /// Bytes after it.
        remaining: u64,
    },
    /// More than [`MAX_EMPTY_ELEMENTS`] elements take no bytes.
    #[error("more than {MAX_EMPTY_ELEMENTS} elements that take no bytes")]
    TooManyEmptyElements,
    /// A boolean is neither 0 nor 1.
    #[error("{byte} for a boolean")]
    InvalidBool {
        /// What stands there.
        byte: u8,
    },
    /// The tag of an `Option` is neither 0 nor 1.
    #[error("{byte} for the tag of an option")]
    InvalidOptionTag {
        /// What stands there.
        byte: u8,
    },
    /// A text or a `char` is not UTF-8.
    #[error("invalid UTF-8")]
    InvalidUtf8,
    /// A NaN has a sign or a payload.
    #[error("a NaN with a sign or a payload")]
    NonCanonicalNan,
    /// The keys of a map are not in ascending order of their bytes, or one stands twice.
    #[error("a map key that is not above the one before it")]
    KeysNotAscending,
    /// The type took fewer elements than the bytes hold.
    #[error("{count} elements that the type does not take")]
    UnreadElements {
        /// Elements left over.
        count: u64,
    },
    /// The value nests deeper than [`MAX_DEPTH`].
    #[error("nested deeper than {MAX_DEPTH} levels")]
    TooDeep,
    /// The type asks the bytes what they are (an untagged enum, a flattened field, a value of any type).
    #[error("the form does not say what it holds, and the type asks")]
    NotSelfDescribing,
    /// Bytes follow the value.
    #[error("{count} bytes after the value")]
    TrailingBytes {
        /// How many.
        count: u64,
    },
    /// The value has another form than these bytes.
    #[error("not the canonical form of the value")]
    NotCanonical,
    /// The value was read but can't be written, so it has no canonical form.
    #[error("not a value that can be written: {0}")]
    Unencodable(#[from] EncodeError),
    /// The type's own `Deserialize` refused the value, with these words.
    #[error("{0}")]
    Custom(String),
}

/// Reads one value from all of `bytes`.
pub(super) fn decode<'de, T: Deserialize<'de>>(bytes: &'de [u8]) -> Result<T, DecodeError> {
    let mut input = Input { bytes, position: 0, empty_elements: 0 };
    let decoded = T::deserialize(Decoder { input: &mut input, depth: 0 });
    decoded
        .and_then(|value| match input.remaining() {
            0 => Ok(value),
            count => Err(Failure(DecodeReason::TrailingBytes { count: count as u64 })),
        })
        .map_err(|Failure(reason)| DecodeError { offset: input.position, reason })
}

/// The error that serde hands outwards. [`decode`] adds the offset: reading stops at the first one.
#[derive(Debug)]
struct Failure(DecodeReason);

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl core::error::Error for Failure {}

impl de::Error for Failure {
    fn custom<T: fmt::Display>(message: T) -> Failure {
        Failure(DecodeReason::Custom(message.to_string()))
    }
}

/// The bytes and how far they are read. A part that is refused is not passed over.
struct Input<'de> {
    bytes: &'de [u8],
    position: usize,
    /// Elements so far that took no bytes.
    empty_elements: u32,
}

impl<'de> Input<'de> {
    fn remaining(&self) -> usize {
        self.bytes.len() - self.position
    }

    fn take(&mut self, count: usize) -> Result<&'de [u8], Failure> {
        let taken = self.bytes[self.position..].get(..count).ok_or(Failure(DecodeReason::EndOfInput))?;
        self.position += count;
        Ok(taken)
    }

    #[inline]
    fn array<const N: usize>(&mut self) -> Result<[u8; N], Failure> {
        let rest = &self.bytes[self.position..];
        let taken = rest.first_chunk().ok_or(Failure(DecodeReason::EndOfInput))?;
        self.position += N;
        Ok(*taken)
    }

    /// Refuses what was read from `start` on.
    fn refuse<T>(&mut self, start: usize, reason: DecodeReason) -> Result<T, Failure> {
        self.position = start;
        Err(Failure(reason))
    }

    /// A byte that is 0 or 1.
    fn tag(&mut self, refusal: impl FnOnce(u8) -> DecodeReason) -> Result<bool, Failure> {
        let start = self.position;
        match self.array()? {
            [0] => Ok(false),
            [1] => Ok(true),
            [byte] => self.refuse(start, refusal(byte)),
        }
    }

    /// A length, at most `most` or the bytes that remain, whichever is more.
    fn length(&mut self, most: usize) -> Result<usize, Failure> {
        let start = self.position;
        let claimed = u64::from_le_bytes(self.array()?);
        let remaining = self.remaining();
        match usize::try_from(claimed) {
            Ok(length) if length <= remaining.max(most) => Ok(length),
            _ => self.refuse(start, DecodeReason::LengthBeyondInput { claimed, remaining: remaining as u64 }),
        }
    }

    /// How many elements follow. Those that take no bytes may be more than the bytes that remain.
    fn count(&mut self) -> Result<usize, Failure> {
        self.length(MAX_EMPTY_ELEMENTS as usize)
    }

    fn counted_bytes(&mut self) -> Result<&'de [u8], Failure> {
        let length = self.length(0)?;
        self.take(length)
    }

    fn text(&mut self) -> Result<&'de str, Failure> {
        let start = self.position;
        let bytes = self.counted_bytes()?;
        core::str::from_utf8(bytes).or_else(|_| self.refuse(start, DecodeReason::InvalidUtf8))
    }

    fn letter(&mut self) -> Result<char, Failure> {
        let start = self.position;
        let width = match self.array()? {
            [0x00..=0x7F] => 1,
            [0xC0..=0xDF] => 2,
            [0xE0..=0xEF] => 3,
            [0xF0..=0xF7] => 4,
            [_] => return self.refuse(start, DecodeReason::InvalidUtf8),
        };
        self.position = start;
        let bytes = self.take(width)?;
        match core::str::from_utf8(bytes).ok().and_then(|text| text.chars().next()) {
            Some(letter) => Ok(letter),
            None => self.refuse(start, DecodeReason::InvalidUtf8),
        }
    }

    fn single(&mut self) -> Result<f32, Failure> {
        let start = self.position;
        let value = f32::from_le_bytes(self.array()?);
        if value.is_nan() && value.to_bits() != CANONICAL_NAN_32 {
            return self.refuse(start, DecodeReason::NonCanonicalNan);
        }
        Ok(value)
    }

    fn double(&mut self) -> Result<f64, Failure> {
        let start = self.position;
        let value = f64::from_le_bytes(self.array()?);
        if value.is_nan() && value.to_bits() != CANONICAL_NAN_64 {
            return self.refuse(start, DecodeReason::NonCanonicalNan);
        }
        Ok(value)
    }

    /// Counts an element that begins at `start` and took no bytes.
    #[inline]
    fn count_element(&mut self, start: usize) -> Result<(), Failure> {
        if self.position > start {
            return Ok(());
        }
        if self.empty_elements == MAX_EMPTY_ELEMENTS {
            return Err(Failure(DecodeReason::TooManyEmptyElements));
        }
        self.empty_elements += 1;
        Ok(())
    }
}

/// The deserializer, at one place in the value.
struct Decoder<'a, 'de> {
    input: &'a mut Input<'de>,
    depth: u32,
}

impl<'a, 'de> Decoder<'a, 'de> {
    fn reborrow(&mut self) -> Decoder<'_, 'de> {
        Decoder { input: self.input, depth: self.depth }
    }

    fn nested(self) -> Result<Decoder<'a, 'de>, Failure> {
        if self.depth == MAX_DEPTH {
            return Err(Failure(DecodeReason::TooDeep));
        }
        Ok(Decoder { depth: self.depth + 1, ..self })
    }

    /// Fields, whose number the type says.
    fn fields<V: Visitor<'de>>(self, count: usize, visitor: V) -> Result<V::Value, Failure> {
        let mut fields = Fields { decoder: self.nested()?, left: count };
        let value = visitor.visit_seq(&mut fields)?;
        all_read(fields.left, value)
    }
}

fn all_read<T>(left: usize, value: T) -> Result<T, Failure> {
    if left > 0 {
        return Err(Failure(DecodeReason::UnreadElements { count: left as u64 }));
    }
    Ok(value)
}

macro_rules! integers {
    ($($method:ident: $type:ty: $visit:ident),* $(,)?) => {
        $(#[inline]
        fn $method<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Failure> {
            visitor.$visit(<$type>::from_le_bytes(self.input.array()?))
        })*
    };
}

impl<'de> de::Deserializer<'de> for Decoder<'_, 'de> {
    type Error = Failure;

    integers! {
        deserialize_i8: i8: visit_i8, deserialize_i16: i16: visit_i16, deserialize_i32: i32: visit_i32,
        deserialize_i64: i64: visit_i64, deserialize_i128: i128: visit_i128,
        deserialize_u8: u8: visit_u8, deserialize_u16: u16: visit_u16, deserialize_u32: u32: visit_u32,
        deserialize_u64: u64: visit_u64, deserialize_u128: u128: visit_u128,
    }

    fn is_human_readable(&self) -> bool {
        false
    }

    fn deserialize_any<V: Visitor<'de>>(self, _visitor: V) -> Result<V::Value, Failure> {
        Err(Failure(DecodeReason::NotSelfDescribing))
    }

    fn deserialize_identifier<V: Visitor<'de>>(self, _visitor: V) -> Result<V::Value, Failure> {
        Err(Failure(DecodeReason::NotSelfDescribing))
    }

    fn deserialize_ignored_any<V: Visitor<'de>>(self, _visitor: V) -> Result<V::Value, Failure> {
        Err(Failure(DecodeReason::NotSelfDescribing))
    }

    fn deserialize_bool<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Failure> {
        visitor.visit_bool(self.input.tag(|byte| DecodeReason::InvalidBool { byte })?)
    }

    fn deserialize_f32<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Failure> {
        visitor.visit_f32(self.input.single()?)
    }

    fn deserialize_f64<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Failure> {
        visitor.visit_f64(self.input.double()?)
    }

    fn deserialize_char<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Failure> {
        visitor.visit_char(self.input.letter()?)
    }

    fn deserialize_str<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Failure> {
        visitor.visit_borrowed_str(self.input.text()?)
    }

    fn deserialize_string<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Failure> {
        self.deserialize_str(visitor)
    }

    fn deserialize_bytes<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Failure> {
        visitor.visit_borrowed_bytes(self.input.counted_bytes()?)
    }

    fn deserialize_byte_buf<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Failure> {
        self.deserialize_bytes(visitor)
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Failure> {
        if self.input.tag(|byte| DecodeReason::InvalidOptionTag { byte })? {
            visitor.visit_some(self.nested()?)
        } else {
            visitor.visit_none()
        }
    }

    fn deserialize_unit<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Failure> {
        visitor.visit_unit()
    }

    fn deserialize_unit_struct<V: Visitor<'de>>(self, _name: &'static str, visitor: V) -> Result<V::Value, Failure> {
        visitor.visit_unit()
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(self, _name: &'static str, visitor: V) -> Result<V::Value, Failure> {
        visitor.visit_newtype_struct(self.nested()?)
    }

    fn deserialize_seq<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Failure> {
        let decoder = self.nested()?;
        let left = decoder.input.count()?;
        let mut elements = Elements(Fields { decoder, left });
        let value = visitor.visit_seq(&mut elements)?;
        all_read(elements.0.left, value)
    }

    fn deserialize_tuple<V: Visitor<'de>>(self, count: usize, visitor: V) -> Result<V::Value, Failure> {
        self.fields(count, visitor)
    }

    fn deserialize_tuple_struct<V: Visitor<'de>>(
        self,
        _name: &'static str,
        count: usize,
        visitor: V,
    ) -> Result<V::Value, Failure> {
        self.fields(count, visitor)
    }

    fn deserialize_map<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Failure> {
        let decoder = self.nested()?;
        let left = decoder.input.count()?;
        let mut entries = Entries { decoder, left, key: None, entry_start: 0 };
        let value = visitor.visit_map(&mut entries)?;
        all_read(entries.left, value)
    }

    fn deserialize_struct<V: Visitor<'de>>(
        self,
        _name: &'static str,
        fields: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Failure> {
        self.fields(fields.len(), visitor)
    }

    fn deserialize_enum<V: Visitor<'de>>(
        self,
        _name: &'static str,
        _variants: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Failure> {
        visitor.visit_enum(self)
    }
}

/// A fixed number of values.
struct Fields<'a, 'de> {
    decoder: Decoder<'a, 'de>,
    left: usize,
}

impl<'de> de::SeqAccess<'de> for Fields<'_, 'de> {
    type Error = Failure;

    #[inline]
    fn next_element_seed<T: DeserializeSeed<'de>>(&mut self, seed: T) -> Result<Option<T::Value>, Failure> {
        if self.left == 0 {
            return Ok(None);
        }
        self.left -= 1;
        seed.deserialize(self.decoder.reborrow()).map(Some)
    }
}

/// The elements of a sequence: as many as its length claimed, each paid for.
struct Elements<'a, 'de>(Fields<'a, 'de>);

impl<'de> de::SeqAccess<'de> for Elements<'_, 'de> {
    type Error = Failure;

    #[inline]
    fn next_element_seed<T: DeserializeSeed<'de>>(&mut self, seed: T) -> Result<Option<T::Value>, Failure> {
        let start = self.0.decoder.input.position;
        let element = self.0.next_element_seed(seed)?;
        if element.is_some() {
            self.0.decoder.input.count_element(start)?;
        }
        Ok(element)
    }
}

/// The entries of a map, in ascending order of their keys' bytes.
struct Entries<'a, 'de> {
    decoder: Decoder<'a, 'de>,
    left: usize,
    /// The bytes of the key read last.
    key: Option<&'de [u8]>,
    entry_start: usize,
}

impl<'de> de::MapAccess<'de> for Entries<'_, 'de> {
    type Error = Failure;

    fn next_key_seed<K: DeserializeSeed<'de>>(&mut self, seed: K) -> Result<Option<K::Value>, Failure> {
        if self.left == 0 {
            return Ok(None);
        }
        self.left -= 1;
        let start = self.decoder.input.position;
        let value = seed.deserialize(self.decoder.reborrow())?;
        let input = &mut *self.decoder.input;
        let key = &input.bytes[start..input.position];
        if self.key.is_some_and(|previous| previous >= key) {
            return input.refuse(start, DecodeReason::KeysNotAscending);
        }
        (self.key, self.entry_start) = (Some(key), start);
        Ok(Some(value))
    }

    fn next_value_seed<V: DeserializeSeed<'de>>(&mut self, seed: V) -> Result<V::Value, Failure> {
        let value = seed.deserialize(self.decoder.reborrow())?;
        self.decoder.input.count_element(self.entry_start)?;
        Ok(value)
    }
}

impl<'de> de::EnumAccess<'de> for Decoder<'_, 'de> {
    type Error = Failure;
    type Variant = Self;

    fn variant_seed<V: DeserializeSeed<'de>>(self, seed: V) -> Result<(V::Value, Self), Failure> {
        let number = u32::from_le_bytes(self.input.array()?);
        let number: de::value::U32Deserializer<Failure> = number.into_deserializer();
        Ok((seed.deserialize(number)?, self))
    }
}

impl<'de> de::VariantAccess<'de> for Decoder<'_, 'de> {
    type Error = Failure;

    fn unit_variant(self) -> Result<(), Failure> {
        Ok(())
    }

    fn newtype_variant_seed<T: DeserializeSeed<'de>>(self, seed: T) -> Result<T::Value, Failure> {
        seed.deserialize(self.nested()?)
    }

    fn tuple_variant<V: Visitor<'de>>(self, count: usize, visitor: V) -> Result<V::Value, Failure> {
        self.fields(count, visitor)
    }

    fn struct_variant<V: Visitor<'de>>(self, fields: &'static [&'static str], visitor: V) -> Result<V::Value, Failure> {
        self.fields(fields.len(), visitor)
    }
}

#[cfg(test)]
mod tests;
