//! The variable-length form (K13): messages, frames, records, snapshot headers.
//!
//! Decoding borrows from the input. A list's count is checked against its own limit and against the bytes that remain before
//! anything is reserved. What was decoded is encoded again against the input, byte by byte and without allocating, so trailing
//! bytes, over-long integers and every other form that the encoder would not have written are refused.
//!
//! ```
//! use retick_core::codec::wire::{WireError, decode, encode};
//! use retick_core::tick::Tick;
//!
//! let bytes = encode(&(Tick::new(300), true));
//! assert_eq!(bytes, [251, 44, 1, 1]);
//! assert_eq!(decode::<(Tick, bool)>(&bytes, 16), Ok((Tick::new(300), true)));
//! // Cut off, over-long, and more than is allowed: none of it panics, and none of it is taken.
//! assert_eq!(decode::<(Tick, bool)>(&bytes[..3], 16), Err(WireError::Malformed));
//! assert_eq!(decode::<Tick>(&[251, 7, 0], 16), Err(WireError::NotCanonical { offset: 0 }));
//! assert_eq!(decode::<Tick>(&[7; 17], 16), Err(WireError::TooLong { actual: 17, limit: 16 }));
//! ```

use alloc::string::String;
use alloc::vec::Vec;

use bincode::de::read::Reader;
use bincode::de::{BorrowDecode, BorrowDecoder};
use bincode::enc::write::Writer;
use bincode::enc::{Encode, Encoder};
use bincode::error::{DecodeError, EncodeError};

/// The one configuration of the variable-length form.
const CONFIG: bincode::config::Configuration = bincode::config::standard();

/// Why bytes are not the variable-length form of a value.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
pub enum WireError {
    /// More bytes than this kind of value may have.
    #[error("{actual} bytes, of which {limit} are allowed")]
    TooLong {
        /// Bytes received.
        actual: usize,
        /// Most bytes allowed.
        limit: usize,
    },
    /// The bytes end early, or hold a value or count that does not exist.
    #[error("malformed")]
    Malformed,
    /// The bytes decode, but the encoder would have written them otherwise from this offset on, or stopped there.
    #[error("not the canonical form at byte {offset}")]
    NotCanonical {
        /// First byte that differs.
        offset: usize,
    },
}

/// Appends the encoding of `value` to `out`.
///
/// Wire types have no shape that fails to encode: the writer grows, and no type here is refused by bincode.
pub fn encode_into<T: Encode>(value: &T, out: &mut Vec<u8>) {
    let done = bincode::encode_into_writer(value, AppendWriter(out), CONFIG);
    debug_assert!(done.is_ok(), "a wire type refused to encode");
}

/// The encoding of `value` in a buffer of its own.
#[must_use]
pub fn encode<T: Encode>(value: &T) -> Vec<u8> {
    let mut out = Vec::new();
    encode_into(value, &mut out);
    out
}

/// The value that all of `bytes` encode.
///
/// # Errors
/// [`WireError`] when `bytes` are longer than `limit` (bytes), malformed, or not what [`encode`] would have written.
pub fn decode<'de, T: BorrowDecode<'de, ()> + Encode>(bytes: &'de [u8], limit: usize) -> Result<T, WireError> {
    if bytes.len() > limit {
        return Err(WireError::TooLong { actual: bytes.len(), limit });
    }
    let (value, _) = bincode::borrow_decode_from_slice::<T, _>(bytes, CONFIG).map_err(|_| WireError::Malformed)?;
    let mut comparison = Comparison { expected: bytes, offset: 0 };
    let written = bincode::encode_into_writer(&value, &mut comparison, CONFIG);
    if written.is_err() || comparison.offset != bytes.len() {
        return Err(WireError::NotCanonical { offset: comparison.offset });
    }
    Ok(value)
}

struct AppendWriter<'a>(&'a mut Vec<u8>);

impl Writer for AppendWriter<'_> {
    fn write(&mut self, bytes: &[u8]) -> Result<(), EncodeError> {
        self.0.extend_from_slice(bytes);
        Ok(())
    }
}

/// Compares what is written with what was received, and stops at the first difference.
struct Comparison<'a> {
    expected: &'a [u8],
    offset: usize,
}

impl Writer for &mut Comparison<'_> {
    fn write(&mut self, bytes: &[u8]) -> Result<(), EncodeError> {
        let rest = self.expected.get(self.offset..).unwrap_or_default();
        let equal = rest.iter().zip(bytes).take_while(|(expected, written)| expected == written).count();
        self.offset += equal;
        if equal == bytes.len() { Ok(()) } else { Err(EncodeError::UnexpectedEnd) }
    }
}

/// A list of at most `MAX` elements. Every element takes at least one byte, so a count beyond the bytes that remain is refused
/// before anything is reserved.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct List<T, const MAX: usize>(pub Vec<T>);

impl<T, const MAX: usize> Default for List<T, MAX> {
    fn default() -> Self {
        List(Vec::new())
    }
}

impl<T, const MAX: usize> List<T, MAX> {
    /// The elements.
    pub fn iter(&self) -> core::slice::Iter<'_, T> {
        self.0.iter()
    }
}

impl<T: Encode, const MAX: usize> Encode for List<T, MAX> {
    fn encode<E: Encoder>(&self, encoder: &mut E) -> Result<(), EncodeError> {
        (self.0.len() as u64).encode(encoder)?;
        self.0.iter().try_for_each(|element| element.encode(encoder))
    }
}

impl<'de, T: BorrowDecode<'de, Context>, const MAX: usize, Context> BorrowDecode<'de, Context> for List<T, MAX> {
    fn borrow_decode<D: BorrowDecoder<'de, Context = Context>>(decoder: &mut D) -> Result<Self, DecodeError> {
        let count = u64::borrow_decode(decoder)?;
        let count = usize::try_from(count).ok().filter(|count| *count <= MAX).ok_or(DecodeError::Other("list"))?;
        if decoder.borrow_reader().peek_read(count).is_none() {
            return Err(DecodeError::UnexpectedEnd { additional: count });
        }
        let mut elements = Vec::new();
        for _ in 0..count {
            elements.push(T::borrow_decode(decoder)?);
        }
        Ok(List(elements))
    }
}

/// Text of at most `MAX` bytes, read from the input before it is copied.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub struct Text<const MAX: usize>(String);

impl<const MAX: usize> Text<MAX> {
    /// The text, or `None` when it is longer than `MAX` bytes.
    pub fn new(text: impl Into<String>) -> Option<Self> {
        let text = text.into();
        (text.len() <= MAX).then_some(Text(text))
    }

    /// The text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl<const MAX: usize> Encode for Text<MAX> {
    fn encode<E: Encoder>(&self, encoder: &mut E) -> Result<(), EncodeError> {
        self.0.as_str().encode(encoder)
    }
}

impl<'de, const MAX: usize, Context> BorrowDecode<'de, Context> for Text<MAX> {
    fn borrow_decode<D: BorrowDecoder<'de, Context = Context>>(decoder: &mut D) -> Result<Self, DecodeError> {
        let text = <&str>::borrow_decode(decoder)?;
        if text.len() > MAX { Err(DecodeError::Other("text")) } else { Ok(Text(String::from(text))) }
    }
}

/// Bytes of at most `MAX`, read from the input before they are copied.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub struct Blob<const MAX: usize>(Vec<u8>);

impl<const MAX: usize> Blob<MAX> {
    /// The bytes, or `None` when there are more than `MAX`.
    pub fn new(bytes: impl Into<Vec<u8>>) -> Option<Self> {
        let bytes = bytes.into();
        (bytes.len() <= MAX).then_some(Blob(bytes))
    }

    /// The bytes.
    pub fn as_slice(&self) -> &[u8] {
        &self.0
    }
}

impl<const MAX: usize> Encode for Blob<MAX> {
    fn encode<E: Encoder>(&self, encoder: &mut E) -> Result<(), EncodeError> {
        self.0.as_slice().encode(encoder)
    }
}

impl<'de, const MAX: usize, Context> BorrowDecode<'de, Context> for Blob<MAX> {
    fn borrow_decode<D: BorrowDecoder<'de, Context = Context>>(decoder: &mut D) -> Result<Self, DecodeError> {
        let bytes = <&[u8]>::borrow_decode(decoder)?;
        if bytes.len() > MAX { Err(DecodeError::Other("bytes")) } else { Ok(Blob(bytes.to_vec())) }
    }
}

/// Takes values off the front of a byte string one at a time, into buffers of the caller's; for what is decoded each tick.
#[derive(Clone, Copy, Debug)]
pub struct Cursor<'de> {
    bytes: &'de [u8],
    offset: usize,
}

impl<'de> Cursor<'de> {
    /// A cursor at the start of `bytes`.
    pub const fn new(bytes: &'de [u8]) -> Self {
        Cursor { bytes, offset: 0 }
    }

    /// The next value.
    ///
    /// # Errors
    /// [`WireError`] when the bytes end early, are malformed or not canonical.
    pub fn take<T: BorrowDecode<'de, ()> + Encode>(&mut self) -> Result<T, WireError> {
        let rest = self.bytes.get(self.offset..).unwrap_or_default();
        let (value, used) =
            bincode::borrow_decode_from_slice::<T, _>(rest, CONFIG).map_err(|_| WireError::Malformed)?;
        let mut comparison = Comparison { expected: rest, offset: 0 };
        let written = bincode::encode_into_writer(&value, &mut comparison, CONFIG);
        if written.is_err() || comparison.offset != used {
            return Err(WireError::NotCanonical { offset: self.offset + comparison.offset });
        }
        self.offset += used;
        Ok(value)
    }

    /// The next `count` bytes as they are.
    ///
    /// # Errors
    /// [`WireError::Malformed`] when there are fewer.
    pub fn take_bytes(&mut self, count: usize) -> Result<&'de [u8], WireError> {
        let taken = self.rest().get(..count).ok_or(WireError::Malformed)?;
        self.offset += count;
        Ok(taken)
    }

    /// The bytes that were not taken yet.
    #[must_use]
    pub fn rest(&self) -> &'de [u8] {
        self.bytes.get(self.offset..).unwrap_or_default()
    }

    /// Checks that nothing is left.
    ///
    /// # Errors
    /// [`WireError::NotCanonical`] at the first byte that is left.
    pub fn finish(self) -> Result<(), WireError> {
        if self.offset == self.bytes.len() { Ok(()) } else { Err(WireError::NotCanonical { offset: self.offset }) }
    }
}

#[cfg(test)]
mod tests {
    use alloc::vec;

    use bincode::{BorrowDecode, Encode};

    use super::*;

    #[derive(Debug, PartialEq, Encode, BorrowDecode)]
    struct Sample<'a> {
        number: u64,
        bytes: &'a [u8],
        list: List<u32, 4>,
        maybe: Option<bool>,
    }

    fn sample() -> Sample<'static> {
        Sample { number: 300, bytes: b"retick", list: List(vec![1, 2, 70_000]), maybe: Some(true) }
    }

    #[test]
    fn k13_what_was_encoded_decodes_and_no_prefix_or_extension_does() {
        let bytes = encode(&sample());
        assert_eq!(decode::<Sample>(&bytes, 64), Ok(sample()));
        for length in 0..bytes.len() {
            assert_eq!(decode::<Sample>(&bytes[..length], 64), Err(WireError::Malformed), "{length}");
        }
        let longer = [bytes.as_slice(), &[0]].concat();
        assert_eq!(decode::<Sample>(&longer, 64), Err(WireError::NotCanonical { offset: bytes.len() }));
        let limit = bytes.len() - 1;
        assert_eq!(decode::<Sample>(&bytes, limit), Err(WireError::TooLong { actual: bytes.len(), limit }));
    }

    #[test]
    fn k13_an_over_long_integer_is_refused() {
        // 251 announces a u16; 5 fits into one byte and must be written so.
        assert_eq!(decode::<u64>(&[251, 5, 0], 64), Err(WireError::NotCanonical { offset: 0 }));
        assert_eq!(decode::<u64>(&[5], 64), Ok(5));
    }

    #[test]
    fn k13_a_count_beyond_the_limit_or_the_bytes_is_refused() {
        assert!(decode::<List<u8, 4>>(&[4, 1, 2, 3, 4], 64).is_ok());
        assert_eq!(decode::<List<u8, 4>>(&[5, 1, 2, 3, 4, 5], 64), Err(WireError::Malformed));
        // 253 announces a u64 count, here of 2^40 elements.
        let claim = [253, 0, 0, 0, 0, 0, 1, 0, 0];
        assert_eq!(decode::<List<u8, { usize::MAX }>>(&claim, 64), Err(WireError::Malformed));
    }

    #[test]
    fn k13_flags_are_strict() {
        assert_eq!(decode::<bool>(&[2], 64), Err(WireError::Malformed));
        assert_eq!(decode::<Option<u8>>(&[2, 0], 64), Err(WireError::Malformed));
    }
}
