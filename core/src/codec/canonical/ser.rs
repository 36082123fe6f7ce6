//! The writing half of the canonical form: a serde serializer onto a byte vector.
//!
//! The path of a refused value is put together while its error travels outwards, so that naming it costs the values that
//! are accepted nothing.

use alloc::boxed::Box;
use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec::Vec;
use core::fmt::{self, Write as _};

use serde::{Serialize, ser};

use super::{MAX_DEPTH, MAX_EMPTY_ELEMENTS};

/// Bytes of a length.
const LENGTH_BYTES: usize = 8;

/// Most bytes of a map key that a path shows.
const SHOWN_KEY_BYTES: usize = 32;

/// The quiet NaNs that stand for every NaN.
const CANONICAL_NAN_32: u32 = 0x7FC0_0000;
const CANONICAL_NAN_64: u64 = 0x7FF8_0000_0000_0000;

/// A value has no canonical form (K13).
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("{} is refused: {reason}", shown(.path))]
pub struct EncodeError {
    /// Where it stands in the encoded value, such as `players[3].name`: `.0` is a tuple's field, `["north"]` or `[0x0100]`
    /// an entry of a map under this key, `{key 3}` the key of the fourth entry itself. Empty for the whole value.
    pub path: String,
    /// Why.
    pub reason: EncodeReason,
}

/// Why a value has no canonical form (K13).
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum EncodeReason {
    /// Two entries of a map have keys with the same bytes.
    #[error("a key that stands twice")]
    DuplicateKey,
    /// The value holds more than [`MAX_EMPTY_ELEMENTS`] elements that take no bytes.
    #[error("more than {MAX_EMPTY_ELEMENTS} elements that take no bytes")]
    TooLong,
    /// The value nests deeper than [`MAX_DEPTH`].
    #[error("nested deeper than {MAX_DEPTH} levels")]
    TooDeep,
    /// A field is left out now and then (`skip_serializing_if`). Nothing in the form would tell a reader that it is missing.
    #[error("a field that is left out on a condition")]
    OmittedField,
    /// A map key, a field or a variant with content has the name `$rdm`, by which the text form knows its own tags. The
    /// binary form has no such names.
    #[error("the name $rdm, which marks the tags of the text form")]
    ReservedKey,
    /// The value's own `Serialize` refused it, with these words.
    #[error("{0}")]
    Custom(String),
}

fn shown(path: &str) -> &str {
    if path.is_empty() { "the value" } else { path }
}

/// One step of a path.
#[derive(Debug)]
pub(in crate::codec) enum Segment {
    Name(&'static str),
    Position(usize),
    Index(usize),
    Entry(String),
    Key(usize),
}

/// The error that serde hands outwards. Boxed, because the results of every scalar carry room for it.
#[derive(Debug)]
pub(in crate::codec) struct Failure(Box<Refusal>);

#[derive(Debug)]
struct Refusal {
    reason: EncodeReason,
    /// Innermost first.
    segments: Vec<Segment>,
}

impl Failure {
    #[cold]
    pub(in crate::codec) fn new(reason: EncodeReason) -> Failure {
        Failure(Box::new(Refusal { reason, segments: Vec::new() }))
    }

    #[cold]
    pub(in crate::codec) fn inside(mut self, segment: Segment) -> Failure {
        self.0.segments.push(segment);
        self
    }

    /// The failure of a variant's content, or of a value that is no variant.
    pub(in crate::codec) fn in_variant(self, variant: Option<&'static str>) -> Failure {
        match variant {
            Some(name) => self.inside(Segment::Name(name)),
            None => self,
        }
    }
}

impl From<Failure> for EncodeError {
    fn from(failure: Failure) -> EncodeError {
        let Refusal { reason, segments } = *failure.0;
        let mut path = String::new();
        for segment in segments.iter().rev() {
            let dot = if path.is_empty() { "" } else { "." };
            path += &match segment {
                Segment::Name(name) => format!("{dot}{name}"),
                Segment::Position(position) => format!("{dot}{position}"),
                Segment::Index(index) => format!("[{index}]"),
                Segment::Entry(key) => format!("[{key}]"),
                Segment::Key(index) => format!("{{key {index}}}"),
            };
        }
        EncodeError { path, reason }
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.reason.fmt(f)
    }
}

impl core::error::Error for Failure {}

impl ser::Error for Failure {
    fn custom<T: fmt::Display>(message: T) -> Failure {
        Failure::new(EncodeReason::Custom(message.to_string()))
    }
}

/// The serializer, at one place in the value.
pub(super) struct Encoder<'a> {
    out: &'a mut Vec<u8>,
    /// Elements so far that took no bytes, in the whole value.
    empty_elements: &'a mut u32,
    depth: u32,
}

impl<'a> Encoder<'a> {
    /// The serializer of a whole value, with a count that starts at 0.
    pub(super) fn new(out: &'a mut Vec<u8>, empty_elements: &'a mut u32) -> Encoder<'a> {
        Encoder { out, empty_elements, depth: 0 }
    }

    fn reborrow(&mut self) -> Encoder<'_> {
        Encoder { out: self.out, empty_elements: self.empty_elements, depth: self.depth }
    }

    fn nested(self) -> Result<Encoder<'a>, Failure> {
        if self.depth == MAX_DEPTH {
            return Err(Failure::new(EncodeReason::TooDeep));
        }
        Ok(Encoder { depth: self.depth + 1, ..self })
    }

    #[inline]
    fn put(self, bytes: &[u8]) -> Result<(), Failure> {
        self.out.extend_from_slice(bytes);
        Ok(())
    }

    fn put_counted(self, bytes: &[u8]) -> Result<(), Failure> {
        self.out.extend_from_slice(&length(bytes.len()));
        self.put(bytes)
    }

    /// Leaves room for a length and says where.
    fn reserve_length(&mut self) -> usize {
        self.out.extend_from_slice(&[0; LENGTH_BYTES]);
        self.out.len() - LENGTH_BYTES
    }

    fn patch_length(&mut self, at: usize, count: usize) {
        self.out[at..at + LENGTH_BYTES].copy_from_slice(&length(count));
    }

    /// Counts an element that begins at `start` and took no bytes.
    #[inline]
    fn count_element(&mut self, start: usize) -> Result<(), Failure> {
        if self.out.len() > start {
            return Ok(());
        }
        if *self.empty_elements == MAX_EMPTY_ELEMENTS {
            return Err(Failure::new(EncodeReason::TooLong));
        }
        *self.empty_elements += 1;
        Ok(())
    }

    fn fields(self, variant: Option<&'static str>) -> Result<Fields<'a>, Failure> {
        let encoder = self.nested().map_err(|failure| failure.in_variant(variant))?;
        Ok(Fields { encoder, variant, next: 0 })
    }

    fn variant(self, number: u32) -> Encoder<'a> {
        self.out.extend_from_slice(&number.to_le_bytes());
        self
    }
}

fn length(count: usize) -> [u8; LENGTH_BYTES] {
    (count as u64).to_le_bytes()
}

macro_rules! scalars {
    ($($method:ident: $type:ty),* $(,)?) => {
        $(#[inline]
        fn $method(self, value: $type) -> Result<(), Failure> {
            self.put(&value.to_le_bytes())
        })*
    };
}

impl<'a> ser::Serializer for Encoder<'a> {
    type Ok = ();
    type Error = Failure;
    type SerializeSeq = Sequence<'a>;
    type SerializeTuple = Fields<'a>;
    type SerializeTupleStruct = Fields<'a>;
    type SerializeTupleVariant = Fields<'a>;
    type SerializeMap = Entries<'a>;
    type SerializeStruct = Fields<'a>;
    type SerializeStructVariant = Fields<'a>;

    scalars! {
        serialize_i8: i8, serialize_i16: i16, serialize_i32: i32, serialize_i64: i64, serialize_i128: i128,
        serialize_u8: u8, serialize_u16: u16, serialize_u32: u32, serialize_u64: u64, serialize_u128: u128,
    }

    fn is_human_readable(&self) -> bool {
        false
    }

    fn serialize_bool(self, value: bool) -> Result<(), Failure> {
        self.put(&[u8::from(value)])
    }

    fn serialize_f32(self, value: f32) -> Result<(), Failure> {
        let bits = if value.is_nan() { CANONICAL_NAN_32 } else { value.to_bits() };
        self.put(&bits.to_le_bytes())
    }

    fn serialize_f64(self, value: f64) -> Result<(), Failure> {
        let bits = if value.is_nan() { CANONICAL_NAN_64 } else { value.to_bits() };
        self.put(&bits.to_le_bytes())
    }

    fn serialize_char(self, value: char) -> Result<(), Failure> {
        self.put(value.encode_utf8(&mut [0; 4]).as_bytes())
    }

    fn serialize_str(self, value: &str) -> Result<(), Failure> {
        self.put_counted(value.as_bytes())
    }

    fn serialize_bytes(self, value: &[u8]) -> Result<(), Failure> {
        self.put_counted(value)
    }

    // The text goes straight to its place, so that it needs no string of its own.
    fn collect_str<T: fmt::Display + ?Sized>(mut self, value: &T) -> Result<(), Failure> {
        struct Text<'a>(&'a mut Vec<u8>);
        impl fmt::Write for Text<'_> {
            fn write_str(&mut self, text: &str) -> fmt::Result {
                self.0.extend_from_slice(text.as_bytes());
                Ok(())
            }
        }
        let length_at = self.reserve_length();
        write!(Text(self.out), "{value}").map_err(ser::Error::custom)?;
        let count = self.out.len() - length_at - LENGTH_BYTES;
        self.patch_length(length_at, count);
        Ok(())
    }

    fn serialize_none(self) -> Result<(), Failure> {
        self.put(&[0])
    }

    fn serialize_some<T: Serialize + ?Sized>(self, value: &T) -> Result<(), Failure> {
        self.out.push(1);
        value.serialize(self.nested()?)
    }

    fn serialize_unit(self) -> Result<(), Failure> {
        Ok(())
    }

    fn serialize_unit_struct(self, _name: &'static str) -> Result<(), Failure> {
        Ok(())
    }

    fn serialize_unit_variant(self, _name: &'static str, number: u32, _variant: &'static str) -> Result<(), Failure> {
        self.serialize_u32(number)
    }

    fn serialize_newtype_struct<T: Serialize + ?Sized>(self, _name: &'static str, value: &T) -> Result<(), Failure> {
        value.serialize(self.nested()?)
    }

    fn serialize_newtype_variant<T: Serialize + ?Sized>(
        self,
        _name: &'static str,
        number: u32,
        variant: &'static str,
        value: &T,
    ) -> Result<(), Failure> {
        let nested = self.variant(number).nested();
        nested.and_then(|encoder| value.serialize(encoder)).map_err(|failure| failure.in_variant(Some(variant)))
    }

    fn serialize_seq(self, _claimed: Option<usize>) -> Result<Sequence<'a>, Failure> {
        let mut encoder = self.nested()?;
        let length_at = encoder.reserve_length();
        Ok(Sequence { encoder, length_at, count: 0 })
    }

    fn serialize_tuple(self, _length: usize) -> Result<Fields<'a>, Failure> {
        self.fields(None)
    }

    fn serialize_tuple_struct(self, _name: &'static str, _length: usize) -> Result<Fields<'a>, Failure> {
        self.fields(None)
    }

    fn serialize_tuple_variant(
        self,
        _name: &'static str,
        number: u32,
        variant: &'static str,
        _length: usize,
    ) -> Result<Fields<'a>, Failure> {
        self.variant(number).fields(Some(variant))
    }

    fn serialize_map(self, _claimed: Option<usize>) -> Result<Entries<'a>, Failure> {
        let mut encoder = self.nested()?;
        let length_at = encoder.reserve_length();
        Ok(Entries { encoder, length_at, entries: Vec::new(), key: None })
    }

    fn serialize_struct(self, _name: &'static str, _length: usize) -> Result<Fields<'a>, Failure> {
        self.fields(None)
    }

    fn serialize_struct_variant(
        self,
        _name: &'static str,
        number: u32,
        variant: &'static str,
        _length: usize,
    ) -> Result<Fields<'a>, Failure> {
        self.variant(number).fields(Some(variant))
    }
}

/// A sequence that is being written. Its length is what was written, and patched in afterwards.
pub(super) struct Sequence<'a> {
    encoder: Encoder<'a>,
    length_at: usize,
    count: usize,
}

impl ser::SerializeSeq for Sequence<'_> {
    type Ok = ();
    type Error = Failure;

    #[inline]
    fn serialize_element<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<(), Failure> {
        let start = self.encoder.out.len();
        value
            .serialize(self.encoder.reborrow())
            .and_then(|()| self.encoder.count_element(start))
            .map_err(|failure| failure.inside(Segment::Index(self.count)))?;
        self.count += 1;
        Ok(())
    }

    fn end(mut self) -> Result<(), Failure> {
        self.encoder.patch_length(self.length_at, self.count);
        Ok(())
    }
}

/// A tuple, struct or variant that is being written; their types say how many fields there are.
pub(super) struct Fields<'a> {
    encoder: Encoder<'a>,
    variant: Option<&'static str>,
    next: usize,
}

impl Fields<'_> {
    #[inline]
    fn put<T: Serialize + ?Sized>(&mut self, segment: Segment, value: &T) -> Result<(), Failure> {
        self.next += 1;
        let written = value.serialize(self.encoder.reborrow());
        written.map_err(|failure| failure.inside(segment).in_variant(self.variant))
    }

    fn refuse_omission(&self, name: &'static str) -> Result<(), Failure> {
        Err(Failure::new(EncodeReason::OmittedField).inside(Segment::Name(name)).in_variant(self.variant))
    }
}

macro_rules! positional_fields {
    ($($trait:ident: $method:ident),* $(,)?) => {
        $(impl ser::$trait for Fields<'_> {
            type Ok = ();
            type Error = Failure;

            #[inline]
            fn $method<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<(), Failure> {
                self.put(Segment::Position(self.next), value)
            }

            fn end(self) -> Result<(), Failure> {
                Ok(())
            }
        })*
    };
}

positional_fields! {
    SerializeTuple: serialize_element,
    SerializeTupleStruct: serialize_field,
    SerializeTupleVariant: serialize_field,
}

macro_rules! named_fields {
    ($($trait:ident),* $(,)?) => {
        $(impl ser::$trait for Fields<'_> {
            type Ok = ();
            type Error = Failure;

            #[inline]
            fn serialize_field<T: Serialize + ?Sized>(&mut self, name: &'static str, value: &T) -> Result<(), Failure> {
                self.put(Segment::Name(name), value)
            }

            fn skip_field(&mut self, name: &'static str) -> Result<(), Failure> {
                self.refuse_omission(name)
            }

            fn end(self) -> Result<(), Failure> {
                Ok(())
            }
        })*
    };
}

named_fields!(SerializeStruct, SerializeStructVariant);

/// A map that is being written: entries in the order in which they come, then sorted in place.
pub(super) struct Entries<'a> {
    encoder: Encoder<'a>,
    length_at: usize,
    entries: Vec<Entry>,
    /// Where the key begins and ends whose value comes next.
    key: Option<(usize, usize)>,
}

/// Where an entry stands in the output.
#[derive(Clone, Copy)]
struct Entry {
    key: usize,
    value: usize,
    end: usize,
}

impl Entry {
    fn key(self, out: &[u8]) -> &[u8] {
        &out[self.key..self.value]
    }
}

impl ser::SerializeMap for Entries<'_> {
    type Ok = ();
    type Error = Failure;

    fn serialize_key<T: Serialize + ?Sized>(&mut self, key: &T) -> Result<(), Failure> {
        let start = self.encoder.out.len();
        let written = key.serialize(self.encoder.reborrow());
        written.map_err(|failure| failure.inside(Segment::Key(self.entries.len())))?;
        self.key = Some((start, self.encoder.out.len()));
        Ok(())
    }

    fn serialize_value<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<(), Failure> {
        let (key, start) = self.key.take().ok_or_else(|| ser::Error::custom("a map value without its key"))?;
        value
            .serialize(self.encoder.reborrow())
            .and_then(|()| self.encoder.count_element(key))
            .map_err(|failure| failure.inside(Segment::Entry(shown_key(&self.encoder.out[key..start]))))?;
        self.entries.push(Entry { key, value: start, end: self.encoder.out.len() });
        Ok(())
    }

    fn end(mut self) -> Result<(), Failure> {
        let out: &[u8] = self.encoder.out;
        if !self.entries.is_sorted_by(|left, right| left.key(out) < right.key(out)) {
            self.entries.sort_unstable_by(|left, right| left.key(out).cmp(right.key(out)));
            self.refuse_duplicates()?;
            self.rewrite();
        }
        self.encoder.patch_length(self.length_at, self.entries.len());
        Ok(())
    }
}

impl Entries<'_> {
    fn refuse_duplicates(&self) -> Result<(), Failure> {
        let out: &[u8] = self.encoder.out;
        match self.entries.windows(2).find(|pair| pair[0].key(out) == pair[1].key(out)) {
            None => Ok(()),
            Some(pair) => {
                Err(Failure::new(EncodeReason::DuplicateKey).inside(Segment::Entry(shown_key(pair[0].key(out)))))
            }
        }
    }

    /// Puts the entries' bytes into the order of the list.
    fn rewrite(&mut self) {
        let first = self.length_at + LENGTH_BYTES;
        let unsorted = self.encoder.out[first..].to_vec();
        self.encoder.out.truncate(first);
        for entry in &self.entries {
            self.encoder.out.extend_from_slice(&unsorted[entry.key - first..entry.end - first]);
        }
    }
}

/// A key as a path shows it: as text where its bytes are those of a text, else as hexadecimal digits.
fn shown_key(bytes: &[u8]) -> String {
    let text = bytes.split_first_chunk().filter(|(count, text)| length(text.len()) == **count);
    if let Some(Ok(text)) = text.map(|(_, text)| core::str::from_utf8(text)) {
        let ellipsis = if text.len() > SHOWN_KEY_BYTES { "…" } else { "" };
        return format!("{:?}{ellipsis}", text.chars().take(SHOWN_KEY_BYTES).collect::<String>());
    }
    let ellipsis = if bytes.len() > SHOWN_KEY_BYTES { "…" } else { "" };
    let digits: String = bytes.iter().take(SHOWN_KEY_BYTES).map(|byte| format!("{byte:02x}")).collect();
    format!("0x{digits}{ellipsis}")
}

#[cfg(test)]
mod tests;
