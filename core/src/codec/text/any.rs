//! Values for types that ask the text what it holds.

use serde::de::{Deserializer as _, Visitor};

use super::de::Decoder;
use super::error::Failure;
use super::number::Integer;
use super::tag::Tag;

impl<'de> Decoder<'_, 'de> {
    /// A visit with the integer, in the narrowest of the four widths that hold any value.
    pub(super) fn any_integer<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Failure> {
        match self.input.integer()? {
            Integer::Natural(value) => match u64::try_from(value) {
                Ok(value) => visitor.visit_u64(value),
                Err(_) => visitor.visit_u128(value),
            },
            Integer::Negative(value) => match i64::try_from(value) {
                Ok(value) => visitor.visit_i64(value),
                Err(_) => visitor.visit_i128(value),
            },
        }
    }

    pub(super) fn any_tagged<V: Visitor<'de>>(mut self, tag: Tag, visitor: V) -> Result<V::Value, Failure> {
        let start = self.input.position;
        match tag {
            Tag::NegativeZero | Tag::Nan | Tag::Infinity | Tag::NegativeInfinity => self.deserialize_f64(visitor),
            Tag::Bigint => self.any_integer(visitor),
            Tag::Bytes => self.deserialize_bytes(visitor),
            Tag::Map => self.deserialize_map(visitor),
            Tag::Set => {
                self.input.tag()?;
                let value = self.reborrow().nested()?.read_array(None, visitor)?;
                self.input.end_tag()?;
                Ok(value)
            }
            Tag::Some => {
                self.input.tag()?;
                self.tagged_some(start, visitor)
            }
        }
    }
}
