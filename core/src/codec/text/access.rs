//! What serde asks step by step: the elements of arrays, the entries of objects and tagged maps, the content of variants.

use alloc::borrow::Cow;
use alloc::vec::Vec;
use core::cmp::Ordering;

use serde::de::value::CowStrDeserializer;
use serde::de::{self, DeserializeSeed, IntoDeserializer as _, Visitor};

use super::de::Decoder;
use super::error::{Expected, Failure, TextReason};
use super::object::{compare_keys, is_string};
use super::tag::RESERVED_KEY_FORM;

/// The elements of an array.
pub(super) struct Elements<'a, 'de> {
    decoder: Decoder<'a, 'de>,
    /// How many the type has, if it says so.
    expected: Option<usize>,
    count: usize,
}

impl<'a, 'de> Elements<'a, 'de> {
    pub(super) fn new(decoder: Decoder<'a, 'de>, expected: Option<usize>) -> Elements<'a, 'de> {
        Elements { decoder, expected, count: 0 }
    }

    /// Ends the array, which must be at its end.
    pub(super) fn finish(mut self) -> Result<(), Failure> {
        end(self.decoder.reborrow(), self.count == 0, ']')?;
        self.check_count()
    }

    fn check_count(&self) -> Result<(), Failure> {
        match self.expected {
            Some(expected) if self.count < expected => {
                Err(Failure(TextReason::TooFewElements { expected: expected as u64 }))
            }
            _ => Ok(()),
        }
    }
}

/// Ends an array or object, which must be at its end.
fn end(mut decoder: Decoder<'_, '_>, is_first: bool, closing: char) -> Result<(), Failure> {
    let start = decoder.input.position;
    if is_at_next(&mut decoder, is_first, closing)? && decoder.input.peek().is_some() {
        return decoder.input.refuse(start, TextReason::UnreadElements);
    }
    decoder.input.punctuation(closing)
}

/// Whether another element stands here, behind its comma if it isn't the first.
fn is_at_next(decoder: &mut Decoder<'_, '_>, is_first: bool, closing: char) -> Result<bool, Failure> {
    match decoder.input.peek() {
        Some(byte) if char::from(byte) == closing => Ok(false),
        _ if is_first => Ok(true),
        Some(b',') => decoder.input.punctuation(',').map(|()| true),
        _ => decoder.input.unexpected(Expected::CommaOr(closing)),
    }
}

impl<'de> de::SeqAccess<'de> for Elements<'_, 'de> {
    type Error = Failure;

    fn next_element_seed<T: DeserializeSeed<'de>>(&mut self, seed: T) -> Result<Option<T::Value>, Failure> {
        if is_at_next(&mut self.decoder, self.count == 0, ']')? {
            self.count += 1;
            return seed.deserialize(self.decoder.reborrow()).map(Some);
        }
        self.check_count().map(|()| None)
    }
}

/// The entries of an object or of a tagged map, in ascending order of their keys.
pub(super) struct Entries<'a, 'de> {
    decoder: Decoder<'a, 'de>,
    form: Form,
    /// The form of the key read last.
    previous: Option<&'de str>,
}

enum Form {
    Object,
    /// An object with these fields, of which those that were not read yet are left.
    Struct {
        missing: Vec<&'static str>,
    },
    /// A tagged map that begins at `start`.
    Pairs {
        start: usize,
        has_other_keys: bool,
    },
}

impl<'a, 'de> Entries<'a, 'de> {
    pub(super) fn of_object(decoder: Decoder<'a, 'de>) -> Entries<'a, 'de> {
        Entries { decoder, form: Form::Object, previous: None }
    }

    pub(super) fn of_struct(decoder: Decoder<'a, 'de>, fields: &'static [&'static str]) -> Entries<'a, 'de> {
        Entries { decoder, form: Form::Struct { missing: fields.to_vec() }, previous: None }
    }

    pub(super) fn of_pairs(decoder: Decoder<'a, 'de>, start: usize) -> Entries<'a, 'de> {
        Entries { decoder, form: Form::Pairs { start, has_other_keys: false }, previous: None }
    }

    /// Ends the object or map, which must be at its end.
    pub(super) fn finish(mut self) -> Result<(), Failure> {
        let Form::Pairs { start, has_other_keys } = self.form else {
            self.check_missing()?;
            return end(self.decoder, self.previous.is_none(), '}');
        };
        end(self.decoder.reborrow(), self.previous.is_none(), ']')?;
        self.decoder.input.end_tag()?;
        if !has_other_keys {
            return self.decoder.input.refuse(start, TextReason::NeedlessTag);
        }
        Ok(())
    }

    fn check_missing(&self) -> Result<(), Failure> {
        match &self.form {
            Form::Struct { missing } if !missing.is_empty() => {
                Err(Failure(TextReason::MissingField { name: missing[0] }))
            }
            _ => Ok(()),
        }
    }

    /// Reads the key of an object ahead, so that its place is refused and not its content.
    fn check_object_key(&mut self) -> Result<(), Failure> {
        let start = self.decoder.input.position;
        let name = self.decoder.input.string(Expected::Key)?;
        self.check_order(start)?;
        if let Form::Struct { missing } = &mut self.form {
            match missing.iter().position(|field| *field == name) {
                Some(index) => drop(missing.remove(index)),
                None => return self.decoder.input.refuse(start, TextReason::UnknownField),
            }
        }
        self.decoder.input.position = start;
        Ok(())
    }

    /// Compares the key that was read from `start` on with the one before it.
    fn check_order(&mut self, start: usize) -> Result<(), Failure> {
        let key = self.decoder.input.since(start);
        if key == RESERVED_KEY_FORM {
            return self.decoder.input.refuse(start, TextReason::ReservedKey);
        }
        let are_strings = !matches!(self.form, Form::Pairs { .. });
        match self.previous.map_or(Ordering::Less, |previous| compare_keys(previous, key, are_strings)) {
            Ordering::Less => {}
            Ordering::Equal => return self.decoder.input.refuse(start, TextReason::DuplicateKey),
            Ordering::Greater => return self.decoder.input.refuse(start, TextReason::KeysNotAscending),
        }
        self.previous = Some(key);
        Ok(())
    }
}

impl<'de> de::MapAccess<'de> for Entries<'_, 'de> {
    type Error = Failure;

    fn next_key_seed<K: DeserializeSeed<'de>>(&mut self, seed: K) -> Result<Option<K::Value>, Failure> {
        let is_pairs = matches!(self.form, Form::Pairs { .. });
        if !is_at_next(&mut self.decoder, self.previous.is_none(), if is_pairs { ']' } else { '}' })? {
            self.check_missing()?;
            return Ok(None);
        }
        if is_pairs {
            self.decoder.input.punctuation('[')?;
        } else {
            self.check_object_key()?;
        }
        let start = self.decoder.input.position;
        let key = seed.deserialize(self.decoder.reborrow())?;
        if let Form::Pairs { has_other_keys, .. } = &mut self.form {
            *has_other_keys |= !is_string(self.decoder.input.since(start));
            self.check_order(start)?;
        }
        Ok(Some(key))
    }

    fn next_value_seed<V: DeserializeSeed<'de>>(&mut self, seed: V) -> Result<V::Value, Failure> {
        let is_pairs = matches!(self.form, Form::Pairs { .. });
        self.decoder.input.punctuation(if is_pairs { ',' } else { ':' })?;
        let value = seed.deserialize(self.decoder.reborrow())?;
        if is_pairs {
            self.decoder.input.punctuation(']')?;
        }
        Ok(value)
    }
}

/// The variant of an enum that stands from `start` on, read up to its content.
pub(super) struct Content<'a, 'de> {
    pub(super) decoder: Decoder<'a, 'de>,
    pub(super) start: usize,
    pub(super) name: Cow<'de, str>,
    pub(super) has_content: bool,
}

impl<'a, 'de> Content<'a, 'de> {
    /// The deserializer of the content, which must be there.
    fn content(self) -> Result<Decoder<'a, 'de>, Failure> {
        if !self.has_content {
            return self.refuse(Expected::ContentVariant);
        }
        self.decoder.nested()
    }

    fn refuse<T>(self, expected: Expected) -> Result<T, Failure> {
        self.decoder.input.refuse(self.start, TextReason::Unexpected { expected })
    }
}

impl<'de> de::EnumAccess<'de> for Content<'_, 'de> {
    type Error = Failure;
    type Variant = Self;

    fn variant_seed<V: DeserializeSeed<'de>>(self, seed: V) -> Result<(V::Value, Self), Failure> {
        let name: CowStrDeserializer<'_, Failure> = self.name.clone().into_deserializer();
        Ok((seed.deserialize(name)?, self))
    }
}

impl<'de> de::VariantAccess<'de> for Content<'_, 'de> {
    type Error = Failure;

    fn unit_variant(self) -> Result<(), Failure> {
        if self.has_content {
            return self.refuse(Expected::UnitVariant);
        }
        Ok(())
    }

    fn newtype_variant_seed<T: DeserializeSeed<'de>>(self, seed: T) -> Result<T::Value, Failure> {
        seed.deserialize(self.content()?)
    }

    fn tuple_variant<V: Visitor<'de>>(self, count: usize, visitor: V) -> Result<V::Value, Failure> {
        self.content()?.read_array(Some(count), visitor)
    }

    fn struct_variant<V: Visitor<'de>>(self, fields: &'static [&'static str], visitor: V) -> Result<V::Value, Failure> {
        self.content()?.read_structure(fields, visitor)
    }
}
