//! The writing half of the text form: a serde serializer onto a string.

use alloc::string::String;
use core::fmt::{self, Write as _};

use serde::{Serialize, ser};

use super::number::Integer;
use super::object::Object;
use super::string::push_quoted;
use super::tag::{OPENING, RESERVED_KEY, Tag, VALUE};
use crate::codec::canonical::{EncodeFailure as Failure, EncodeReason, MAX_DEPTH, Segment, canonical_set};

/// The serializer, at one place in the value.
pub(super) struct Encoder<'a> {
    pub(super) out: &'a mut String,
    depth: u32,
}

impl<'a> Encoder<'a> {
    /// The serializer of a whole value.
    pub(super) fn new(out: &'a mut String) -> Encoder<'a> {
        Encoder { out, depth: 0 }
    }

    pub(super) fn reborrow(&mut self) -> Encoder<'_> {
        Encoder { out: self.out, depth: self.depth }
    }

    fn nested(self) -> Result<Encoder<'a>, Failure> {
        if self.depth == MAX_DEPTH {
            return Err(Failure::new(EncodeReason::TooDeep));
        }
        Ok(Encoder { depth: self.depth + 1, ..self })
    }

    fn put(self, text: &str) -> Result<(), Failure> {
        self.out.push_str(text);
        Ok(())
    }

    fn put_shown(self, shown: fmt::Arguments<'_>) -> Result<(), Failure> {
        self.out.write_fmt(shown).map_err(ser::Error::custom)
    }

    fn put_tag(self, tag: Tag) -> Result<(), Failure> {
        self.put_shown(format_args!("{OPENING}\"{}\"}}", tag.name()))
    }

    fn put_tagged(self, tag: Tag, value: fmt::Arguments<'_>) -> Result<(), Failure> {
        self.put_shown(format_args!("{OPENING}\"{}\"{VALUE}{value}}}", tag.name()))
    }

    fn put_integer(self, value: Integer, shown: fmt::Arguments<'_>) -> Result<(), Failure> {
        if value.is_plain() { self.put_shown(shown) } else { self.put_tagged(Tag::Bigint, format_args!("\"{shown}\"")) }
    }

    /// Begins what a variant holds.
    fn variant(self, name: &'static str) -> Result<Encoder<'a>, Failure> {
        if name == RESERVED_KEY {
            return Err(Failure::new(EncodeReason::ReservedKey).inside(Segment::Name(name)));
        }
        self.out.push('{');
        push_quoted(self.out, name);
        self.out.push(':');
        self.nested().map_err(|failure| failure.inside(Segment::Name(name)))
    }

    fn array(self, variant: Option<&'static str>) -> Array<'a> {
        self.out.push('[');
        Array { encoder: self, variant, next: 0 }
    }
}

macro_rules! integers {
    ($($method:ident: $type:ty),* $(,)?) => {
        $(fn $method(self, value: $type) -> Result<(), Failure> {
            self.put_integer(value.into(), format_args!("{value}"))
        })*
    };
}

impl<'a> ser::Serializer for Encoder<'a> {
    type Ok = ();
    type Error = Failure;
    type SerializeSeq = Array<'a>;
    type SerializeTuple = Array<'a>;
    type SerializeTupleStruct = Array<'a>;
    type SerializeTupleVariant = Array<'a>;
    type SerializeMap = Object<'a>;
    type SerializeStruct = Object<'a>;
    type SerializeStructVariant = Object<'a>;

    integers! {
        serialize_i8: i8, serialize_i16: i16, serialize_i32: i32, serialize_i64: i64, serialize_i128: i128,
        serialize_u8: u8, serialize_u16: u16, serialize_u32: u32, serialize_u64: u64, serialize_u128: u128,
    }

    // Values show themselves as they do in the binary form, so that each form can be made from the other.
    fn is_human_readable(&self) -> bool {
        false
    }

    fn serialize_bool(self, value: bool) -> Result<(), Failure> {
        self.put(if value { "true" } else { "false" })
    }

    fn serialize_f32(self, value: f32) -> Result<(), Failure> {
        match Tag::of_float(value.into()) {
            Some(tag) => self.put_tag(tag),
            None => self.put_shown(format_args!("{value:?}")),
        }
    }

    fn serialize_f64(self, value: f64) -> Result<(), Failure> {
        match Tag::of_float(value) {
            Some(tag) => self.put_tag(tag),
            None => self.put_shown(format_args!("{value:?}")),
        }
    }

    fn serialize_char(self, value: char) -> Result<(), Failure> {
        self.serialize_str(value.encode_utf8(&mut [0; 4]))
    }

    fn serialize_str(self, value: &str) -> Result<(), Failure> {
        push_quoted(self.out, value);
        Ok(())
    }

    fn serialize_bytes(self, value: &[u8]) -> Result<(), Failure> {
        struct Hex<'a>(&'a [u8]);
        impl fmt::Display for Hex<'_> {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
            }
        }
        self.put_tagged(Tag::Bytes, format_args!("\"{}\"", Hex(value)))
    }

    // serde's own panics if the value can't be shown.
    fn collect_str<T: fmt::Display + ?Sized>(self, value: &T) -> Result<(), Failure> {
        let mut text = String::new();
        write!(text, "{value}").map_err(ser::Error::custom)?;
        self.serialize_str(&text)
    }

    fn serialize_none(self) -> Result<(), Failure> {
        self.put("null")
    }

    fn serialize_some<T: Serialize + ?Sized>(mut self, value: &T) -> Result<(), Failure> {
        let start = self.out.len();
        value.serialize(self.reborrow().nested()?)?;
        if needs_some(&self.out[start..]) {
            let inner = self.out.split_off(start);
            self.put_tagged(Tag::Some, format_args!("{inner}"))?;
        }
        Ok(())
    }

    fn serialize_unit(self) -> Result<(), Failure> {
        self.put("null")
    }

    fn serialize_unit_struct(self, _name: &'static str) -> Result<(), Failure> {
        self.put("null")
    }

    fn serialize_unit_variant(self, _name: &'static str, _number: u32, variant: &'static str) -> Result<(), Failure> {
        self.serialize_str(variant)
    }

    fn serialize_newtype_struct<T: Serialize + ?Sized>(self, name: &'static str, value: &T) -> Result<(), Failure> {
        let mut encoder = self.nested()?;
        if name != canonical_set::NEWTYPE {
            return value.serialize(encoder);
        }
        encoder.reborrow().put_shown(format_args!("{OPENING}\"{}\"{VALUE}", Tag::Set.name()))?;
        value.serialize(encoder.reborrow())?;
        encoder.put("}")
    }

    fn serialize_newtype_variant<T: Serialize + ?Sized>(
        mut self,
        _name: &'static str,
        _number: u32,
        variant: &'static str,
        value: &T,
    ) -> Result<(), Failure> {
        let encoder = self.reborrow().variant(variant)?;
        value.serialize(encoder).map_err(|failure| failure.inside(Segment::Name(variant)))?;
        self.put("}")
    }

    fn serialize_seq(self, _claimed: Option<usize>) -> Result<Array<'a>, Failure> {
        Ok(self.nested()?.array(None))
    }

    fn serialize_tuple(self, _length: usize) -> Result<Array<'a>, Failure> {
        Ok(self.nested()?.array(None))
    }

    fn serialize_tuple_struct(self, _name: &'static str, _length: usize) -> Result<Array<'a>, Failure> {
        Ok(self.nested()?.array(None))
    }

    fn serialize_tuple_variant(
        self,
        _name: &'static str,
        _number: u32,
        variant: &'static str,
        _length: usize,
    ) -> Result<Array<'a>, Failure> {
        Ok(self.variant(variant)?.array(Some(variant)))
    }

    fn serialize_map(self, _claimed: Option<usize>) -> Result<Object<'a>, Failure> {
        Ok(Object::new(self.nested()?, None))
    }

    fn serialize_struct(self, _name: &'static str, _length: usize) -> Result<Object<'a>, Failure> {
        Ok(Object::new(self.nested()?, None))
    }

    fn serialize_struct_variant(
        self,
        _name: &'static str,
        _number: u32,
        variant: &'static str,
        _length: usize,
    ) -> Result<Object<'a>, Failure> {
        Ok(Object::new(self.variant(variant)?, Some(variant)))
    }
}

/// Whether `Some` of what has this form would be taken for something else without its tag: for `None`, or for this form.
pub(super) fn needs_some(form: &str) -> bool {
    let after_name = form.strip_prefix(OPENING).and_then(|rest| rest.strip_prefix("\"some\""));
    form == "null" || after_name.is_some()
}

/// A sequence, tuple or tuple variant that is being written.
pub(super) struct Array<'a> {
    encoder: Encoder<'a>,
    variant: Option<&'static str>,
    next: usize,
}

impl Array<'_> {
    fn put<T: Serialize + ?Sized>(&mut self, segment: Segment, value: &T) -> Result<(), Failure> {
        if self.next > 0 {
            self.encoder.out.push(',');
        }
        self.next += 1;
        let written = value.serialize(self.encoder.reborrow());
        written.map_err(|failure| failure.inside(segment).in_variant(self.variant))
    }

    fn close(self) -> Result<(), Failure> {
        self.encoder.put(if self.variant.is_some() { "]}" } else { "]" })
    }
}

macro_rules! arrays {
    ($($trait:ident: $method:ident: $segment:ident),* $(,)?) => {
        $(impl ser::$trait for Array<'_> {
            type Ok = ();
            type Error = Failure;

            fn $method<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<(), Failure> {
                self.put(Segment::$segment(self.next), value)
            }

            fn end(self) -> Result<(), Failure> {
                self.close()
            }
        })*
    };
}

arrays! {
    SerializeSeq: serialize_element: Index,
    SerializeTuple: serialize_element: Position,
    SerializeTupleStruct: serialize_field: Position,
    SerializeTupleVariant: serialize_field: Position,
}
