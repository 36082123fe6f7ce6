//! The reading half of the text form: a serde deserializer over text from anywhere.
//!
//! Nothing is reserved but what was read: sequences and maps give serde no size hint, and strings without escapes are
//! borrowed. Time is bounded by the text, because every element takes some of it, and the stack by [`MAX_DEPTH`].

use alloc::borrow::Cow;

use serde::Deserialize;
use serde::de::{self, Visitor};

use super::TextError;
use super::access::{Content, Elements, Entries};
use super::error::{Expected, Failure, TextReason};
use super::input::Input;
use super::ser::needs_some;
use super::tag::Tag;
use crate::codec::canonical::{MAX_DEPTH, canonical_set};

/// Reads one value from all of `text`.
pub(super) fn from_text<'de, T: Deserialize<'de>>(text: &'de str) -> Result<T, TextError> {
    let mut input = Input { text, position: 0 };
    let read = T::deserialize(Decoder { input: &mut input, depth: 0 });
    read.and_then(|value| match input.rest() {
        "" => Ok(value),
        _ => Err(Failure(TextReason::TrailingText)),
    })
    .map_err(|Failure(reason)| TextError { offset: input.position, reason })
}

/// The deserializer, at one place in the value.
pub(super) struct Decoder<'a, 'de> {
    pub(super) input: &'a mut Input<'de>,
    depth: u32,
}

impl<'a, 'de> Decoder<'a, 'de> {
    pub(super) fn reborrow(&mut self) -> Decoder<'_, 'de> {
        Decoder { input: self.input, depth: self.depth }
    }

    pub(super) fn nested(self) -> Result<Decoder<'a, 'de>, Failure> {
        if self.depth == MAX_DEPTH {
            return Err(Failure(TextReason::TooDeep));
        }
        Ok(Decoder { depth: self.depth + 1, ..self })
    }

    /// An array, of as many elements as the type says, if it does. Its level is counted already.
    pub(super) fn read_array<V: Visitor<'de>>(self, expected: Option<usize>, visitor: V) -> Result<V::Value, Failure> {
        if self.input.peek() != Some(b'[') {
            return self.input.unexpected(Expected::Array);
        }
        self.input.punctuation('[')?;
        let mut elements = Elements::new(self, expected);
        let value = visitor.visit_seq(&mut elements)?;
        elements.finish()?;
        Ok(value)
    }

    /// An object that holds these fields and no others. Its level is counted already.
    pub(super) fn read_structure<V: Visitor<'de>>(
        self,
        fields: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Failure> {
        if self.input.peek() != Some(b'{') || self.input.peek_tag()?.is_some() {
            return self.input.unexpected(Expected::Object);
        }
        self.input.punctuation('{')?;
        let mut entries = Entries::of_struct(self, fields);
        let value = visitor.visit_map(&mut entries)?;
        entries.finish()?;
        Ok(value)
    }

    /// What stands behind the tag `some`, which is read: only a form that would be taken for another one without it.
    pub(super) fn tagged_some<V: Visitor<'de>>(mut self, tag_start: usize, visitor: V) -> Result<V::Value, Failure> {
        let start = self.input.position;
        let value = visitor.visit_some(self.reborrow().nested()?)?;
        if !needs_some(self.input.since(start)) {
            return self.input.refuse(tag_start, TextReason::NeedlessTag);
        }
        self.input.end_tag()?;
        Ok(value)
    }
}

fn visit_text<'de, V: Visitor<'de>>(text: Cow<'de, str>, visitor: V) -> Result<V::Value, Failure> {
    match text {
        Cow::Borrowed(text) => visitor.visit_borrowed_str(text),
        Cow::Owned(text) => visitor.visit_string(text),
    }
}

macro_rules! integers {
    ($($method:ident: $type:ty: $visit:ident),* $(,)?) => {
        $(fn $method<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Failure> {
            let start = self.input.position;
            match self.input.integer()?.narrow::<$type>() {
                Some(value) => visitor.$visit(value),
                None => self.input.refuse(start, TextReason::IntegerOutOfRange),
            }
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

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Failure> {
        match self.input.peek() {
            Some(b'n') => self.deserialize_unit(visitor),
            Some(b't' | b'f') => self.deserialize_bool(visitor),
            Some(b'"') => self.deserialize_str(visitor),
            Some(b'[') => self.deserialize_seq(visitor),
            Some(b'-' | b'0'..=b'9') if self.input.is_at_float() => self.deserialize_f64(visitor),
            Some(b'-' | b'0'..=b'9') => self.any_integer(visitor),
            Some(b'{') => match self.input.peek_tag()? {
                Some(tag) => self.any_tagged(tag, visitor),
                None => self.deserialize_map(visitor),
            },
            _ => self.input.unexpected(Expected::Value),
        }
    }

    fn deserialize_identifier<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Failure> {
        self.deserialize_str(visitor)
    }

    fn deserialize_ignored_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Failure> {
        self.deserialize_any(visitor)
    }

    fn deserialize_bool<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Failure> {
        visitor.visit_bool(self.input.boolean()?)
    }

    fn deserialize_f32<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Failure> {
        #[expect(clippy::cast_possible_truncation, reason = "the floats that have tags are the same in both widths")]
        visitor.visit_f32(self.input.float(|tagged| tagged as f32)?)
    }

    fn deserialize_f64<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Failure> {
        visitor.visit_f64(self.input.float(|tagged| tagged)?)
    }

    fn deserialize_char<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Failure> {
        visitor.visit_char(self.input.letter()?)
    }

    fn deserialize_str<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Failure> {
        visit_text(self.input.string(Expected::Text)?, visitor)
    }

    fn deserialize_string<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Failure> {
        self.deserialize_str(visitor)
    }

    fn deserialize_bytes<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Failure> {
        visitor.visit_byte_buf(self.input.bytes()?)
    }

    fn deserialize_byte_buf<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Failure> {
        self.deserialize_bytes(visitor)
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Failure> {
        let start = self.input.position;
        if self.input.peek() == Some(b'n') {
            self.input.null()?;
            return visitor.visit_none();
        }
        if self.input.tag()? == Some(Tag::Some) {
            return self.tagged_some(start, visitor);
        }
        self.input.position = start;
        visitor.visit_some(self.nested()?)
    }

    fn deserialize_unit<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Failure> {
        self.input.null()?;
        visitor.visit_unit()
    }

    fn deserialize_unit_struct<V: Visitor<'de>>(self, _name: &'static str, visitor: V) -> Result<V::Value, Failure> {
        self.deserialize_unit(visitor)
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(
        mut self,
        name: &'static str,
        visitor: V,
    ) -> Result<V::Value, Failure> {
        if name != canonical_set::NEWTYPE {
            return visitor.visit_newtype_struct(self.nested()?);
        }
        if self.input.peek_tag()? != Some(Tag::Set) {
            return self.input.unexpected(Expected::Set);
        }
        self.input.tag()?;
        let value = visitor.visit_newtype_struct(self.reborrow().nested()?)?;
        self.input.end_tag()?;
        Ok(value)
    }

    fn deserialize_seq<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Failure> {
        self.nested()?.read_array(None, visitor)
    }

    fn deserialize_tuple<V: Visitor<'de>>(self, count: usize, visitor: V) -> Result<V::Value, Failure> {
        self.nested()?.read_array(Some(count), visitor)
    }

    fn deserialize_tuple_struct<V: Visitor<'de>>(
        self,
        _name: &'static str,
        count: usize,
        visitor: V,
    ) -> Result<V::Value, Failure> {
        self.nested()?.read_array(Some(count), visitor)
    }

    fn deserialize_map<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Failure> {
        let decoder = self.nested()?;
        let start = decoder.input.position;
        let mut entries = match decoder.input.tag()? {
            Some(Tag::Map) if decoder.input.peek() == Some(b'[') => {
                decoder.input.punctuation('[')?;
                Entries::of_pairs(decoder, start)
            }
            Some(Tag::Map) => return decoder.input.malformed(),
            None if decoder.input.peek() == Some(b'{') => {
                decoder.input.punctuation('{')?;
                Entries::of_object(decoder)
            }
            _ => {
                decoder.input.position = start;
                return decoder.input.unexpected(Expected::Map);
            }
        };
        let value = visitor.visit_map(&mut entries)?;
        entries.finish()?;
        Ok(value)
    }

    fn deserialize_struct<V: Visitor<'de>>(
        self,
        _name: &'static str,
        fields: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Failure> {
        self.nested()?.read_structure(fields, visitor)
    }

    fn deserialize_enum<V: Visitor<'de>>(
        mut self,
        _name: &'static str,
        variants: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Failure> {
        let start = self.input.position;
        let has_content = self.input.peek() == Some(b'{') && self.input.peek_tag()?.is_none();
        if has_content {
            self.input.punctuation('{')?;
        }
        let name_start = self.input.position;
        let name = self.input.string(Expected::Variant)?;
        if !variants.contains(&&*name) {
            return self.input.refuse(name_start, TextReason::UnknownVariant);
        }
        if has_content {
            self.input.punctuation(':')?;
        }
        let value = visitor.visit_enum(Content { decoder: self.reborrow(), start, name, has_content })?;
        if has_content {
            self.input.punctuation('}')?;
        }
        Ok(value)
    }
}
