//! The path of the value that stands at an offset of a value's canonical form (K13).
//!
//! A serializer that writes nothing and counts the bytes that [`canonical`] would write, until it stands at the offset. What it finds
//! becomes a path while it travels outwards. The entries of a map stand in the order of their keys' bytes and not in that in
//! which they come: the first time a map is passed, only its entry is found, and the value is gone through once more to get there.

use alloc::boxed::Box;
use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec::Vec;
use core::fmt;

use serde::{Serialize, ser};

use crate::codec::canonical::{self, MAX_DEPTH};
use crate::codec::text;

/// Bytes of a length.
const LENGTH_BYTES: u64 = 8;
/// Bytes of a variant's number.
const VARIANT_BYTES: u64 = 4;

/// The path of the value whose bytes stand at `offset` of `value`'s canonical form, such as `players[3].name`, in the notation of
/// [`EncodeError::path`](crate::codec::canonical::EncodeError): `.0` is a tuple's field, `["north"]` or `[7]` an entry of a map under this
/// key, `{key 3}` the key of its fourth entry. `players.len` is the length of a list, a text or a map. Empty for a value without
/// parts. `None` beyond the form's end, and for a value that has none.
pub fn path_at<T: Serialize + ?Sized>(value: &T, offset: u64) -> Option<String> {
    let mut known = Vec::new();
    // Each time, one more map on the way is known.
    for _ in 0..=MAX_DEPTH {
        let mut locator = Locator { position: 0, target: offset, known: &known, depth: 0 };
        match *value.serialize(&mut locator).err()?.0 {
            Stop::Found(segments) => return Some(joined(&segments)),
            Stop::InMap(entry) => known.push(entry),
            Stop::Failed => return None,
        }
    }
    None
}

fn joined(segments: &[String]) -> String {
    let path: String = segments.iter().rev().map(String::as_str).collect();
    path.strip_prefix('.').map_or(path.clone(), str::to_string)
}

/// The entry of a map in which the offset lies.
#[derive(Clone, Copy, Debug)]
struct MapEntry {
    /// Where the map's first entry stands, which names the map.
    map: u64,
    /// Which entry it is, in the order in which they come.
    index: usize,
    /// Where it stands.
    start: u64,
}

/// Why the serializer goes no further.
#[derive(Debug)]
struct Stopped(Box<Stop>);

#[derive(Debug)]
enum Stop {
    /// It is there. The steps of the path, innermost first.
    Found(Vec<String>),
    InMap(MapEntry),
    Failed,
}

impl Stopped {
    fn inside(mut self, segment: impl FnOnce() -> String) -> Stopped {
        if let Stop::Found(segments) = &mut *self.0 {
            segments.push(segment());
        }
        self
    }

    fn failed() -> Stopped {
        Stopped(Box::new(Stop::Failed))
    }
}

impl fmt::Display for Stopped {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(self, f)
    }
}

impl core::error::Error for Stopped {}

impl ser::Error for Stopped {
    fn custom<T: fmt::Display>(_: T) -> Stopped {
        Stopped::failed()
    }
}

struct Locator<'a> {
    position: u64,
    target: u64,
    known: &'a [MapEntry],
    depth: u32,
}

impl Locator<'_> {
    fn take(&mut self, bytes: u64) -> Result<(), Stopped> {
        let end = self.position.saturating_add(bytes);
        if (self.position..end).contains(&self.target) {
            return Err(Stopped(Box::new(Stop::Found(Vec::new()))));
        }
        self.position = end;
        Ok(())
    }

    fn take_length(&mut self) -> Result<(), Stopped> {
        self.take(LENGTH_BYTES).map_err(|stopped| stopped.inside(|| ".len".to_string()))
    }

    fn take_counted(&mut self, bytes: usize) -> Result<(), Stopped> {
        self.take_length()?;
        self.take(bytes as u64)
    }

    fn nested<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<(), Stopped> {
        if self.depth == MAX_DEPTH {
            return Err(Stopped::failed());
        }
        self.depth += 1;
        value.serialize(&mut *self)?;
        self.depth -= 1;
        Ok(())
    }
}

macro_rules! scalars {
    ($($method:ident: $type:ty),* $(,)?) => {
        $(fn $method(self, _: $type) -> Result<(), Stopped> {
            self.take(size_of::<$type>() as u64)
        })*
    };
}

impl<'l, 'a> ser::Serializer for &'l mut Locator<'a> {
    type Ok = ();
    type Error = Stopped;
    type SerializeSeq = Parts<'l, 'a>;
    type SerializeTuple = Parts<'l, 'a>;
    type SerializeTupleStruct = Parts<'l, 'a>;
    type SerializeTupleVariant = Parts<'l, 'a>;
    type SerializeMap = Entries<'l, 'a>;
    type SerializeStruct = Parts<'l, 'a>;
    type SerializeStructVariant = Parts<'l, 'a>;

    scalars! {
        serialize_i8: i8, serialize_i16: i16, serialize_i32: i32, serialize_i64: i64, serialize_i128: i128,
        serialize_u8: u8, serialize_u16: u16, serialize_u32: u32, serialize_u64: u64, serialize_u128: u128,
        serialize_f32: f32, serialize_f64: f64,
    }

    fn is_human_readable(&self) -> bool {
        false
    }

    fn serialize_bool(self, _: bool) -> Result<(), Stopped> {
        self.take(1)
    }

    fn serialize_char(self, value: char) -> Result<(), Stopped> {
        self.take(value.len_utf8() as u64)
    }

    fn serialize_str(self, value: &str) -> Result<(), Stopped> {
        self.take_counted(value.len())
    }

    fn serialize_bytes(self, value: &[u8]) -> Result<(), Stopped> {
        self.take_counted(value.len())
    }

    fn serialize_none(self) -> Result<(), Stopped> {
        self.take(1)
    }

    fn serialize_some<T: Serialize + ?Sized>(self, value: &T) -> Result<(), Stopped> {
        self.take(1)?;
        self.nested(value)
    }

    fn serialize_unit(self) -> Result<(), Stopped> {
        Ok(())
    }

    fn serialize_unit_struct(self, _: &'static str) -> Result<(), Stopped> {
        Ok(())
    }

    fn serialize_unit_variant(self, _: &'static str, _: u32, _: &'static str) -> Result<(), Stopped> {
        self.take(VARIANT_BYTES)
    }

    fn serialize_newtype_struct<T: Serialize + ?Sized>(self, _: &'static str, value: &T) -> Result<(), Stopped> {
        self.nested(value)
    }

    fn serialize_newtype_variant<T: Serialize + ?Sized>(
        self,
        _: &'static str,
        _: u32,
        variant: &'static str,
        value: &T,
    ) -> Result<(), Stopped> {
        self.take(VARIANT_BYTES)?;
        self.nested(value).map_err(|stopped| stopped.inside(|| format!(".{variant}")))
    }

    fn serialize_seq(self, _: Option<usize>) -> Result<Parts<'l, 'a>, Stopped> {
        self.take_length()?;
        Ok(Parts { locator: self, variant: None, next: 0 })
    }

    fn serialize_tuple(self, _: usize) -> Result<Parts<'l, 'a>, Stopped> {
        Ok(Parts { locator: self, variant: None, next: 0 })
    }

    fn serialize_tuple_struct(self, _: &'static str, _: usize) -> Result<Parts<'l, 'a>, Stopped> {
        Ok(Parts { locator: self, variant: None, next: 0 })
    }

    fn serialize_tuple_variant(
        self,
        _: &'static str,
        _: u32,
        variant: &'static str,
        _: usize,
    ) -> Result<Parts<'l, 'a>, Stopped> {
        self.take(VARIANT_BYTES)?;
        Ok(Parts { locator: self, variant: Some(variant), next: 0 })
    }

    fn serialize_map(self, _: Option<usize>) -> Result<Entries<'l, 'a>, Stopped> {
        self.take_length()?;
        let known = self.known.iter().find(|entry| entry.map == self.position).copied();
        Ok(Entries { start: self.position, locator: self, entries: Vec::new(), known, next: 0, key: None })
    }

    fn serialize_struct(self, _: &'static str, _: usize) -> Result<Parts<'l, 'a>, Stopped> {
        Ok(Parts { locator: self, variant: None, next: 0 })
    }

    fn serialize_struct_variant(
        self,
        _: &'static str,
        _: u32,
        variant: &'static str,
        _: usize,
    ) -> Result<Parts<'l, 'a>, Stopped> {
        self.take(VARIANT_BYTES)?;
        Ok(Parts { locator: self, variant: Some(variant), next: 0 })
    }
}

/// What stands one behind the other: elements, or fields.
struct Parts<'l, 'a> {
    locator: &'l mut Locator<'a>,
    variant: Option<&'static str>,
    next: usize,
}

impl Parts<'_, '_> {
    fn pass<T: Serialize + ?Sized>(&mut self, value: &T, segment: impl FnOnce(usize) -> String) -> Result<(), Stopped> {
        let (index, variant) = (self.next, self.variant);
        self.next += 1;
        self.locator.nested(value).map_err(|stopped| {
            let stopped = stopped.inside(|| segment(index));
            match variant {
                Some(name) => stopped.inside(|| format!(".{name}")),
                None => stopped,
            }
        })
    }
}

macro_rules! parts {
    ($($trait:ident: $method:ident => $format:literal),* $(,)?) => {
        $(impl ser::$trait for Parts<'_, '_> {
            type Ok = ();
            type Error = Stopped;

            fn $method<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<(), Stopped> {
                self.pass(value, |index| format!($format, index))
            }

            fn end(self) -> Result<(), Stopped> {
                Ok(())
            }
        })*
    };
}

parts! {
    SerializeSeq: serialize_element => "[{}]",
    SerializeTuple: serialize_element => ".{}",
    SerializeTupleStruct: serialize_field => ".{}",
    SerializeTupleVariant: serialize_field => ".{}",
}

macro_rules! named_parts {
    ($($trait:ident),* $(,)?) => {
        $(impl ser::$trait for Parts<'_, '_> {
            type Ok = ();
            type Error = Stopped;

            fn serialize_field<T: Serialize + ?Sized>(&mut self, name: &'static str, value: &T) -> Result<(), Stopped> {
                self.pass(value, |_| format!(".{name}"))
            }

            fn end(self) -> Result<(), Stopped> {
                Ok(())
            }
        })*
    };
}

named_parts!(SerializeStruct, SerializeStructVariant);

/// A map: either the way into one of its entries is known, or it is being found.
struct Entries<'l, 'a> {
    locator: &'l mut Locator<'a>,
    /// Where its first entry stands.
    start: u64,
    /// Key and bytes of each entry, as long as it is not known which one is meant.
    entries: Vec<(Vec<u8>, u64)>,
    known: Option<MapEntry>,
    next: usize,
    /// The key whose value comes next, and as text.
    key: Option<(Vec<u8>, String)>,
}

impl ser::SerializeMap for Entries<'_, '_> {
    type Ok = ();
    type Error = Stopped;

    fn serialize_key<T: Serialize + ?Sized>(&mut self, key: &T) -> Result<(), Stopped> {
        let bytes = canonical::encode(key).map_err(|_| Stopped::failed())?;
        let index = self.next;
        if let Some(entry) = self.known.filter(|entry| entry.index == index) {
            self.locator.position = entry.start;
            let inside = |stopped: Stopped| stopped.inside(|| format!("{{key {index}}}"));
            self.locator.take(bytes.len() as u64).map_err(inside)?;
        }
        let shown = text::to_text(key).unwrap_or_else(|_| index.to_string());
        self.key = Some((bytes, shown));
        Ok(())
    }

    fn serialize_value<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<(), Stopped> {
        let (key, shown) = self.key.take().ok_or_else(Stopped::failed)?;
        let index = self.next;
        self.next += 1;
        match self.known {
            Some(entry) if entry.index == index => {
                self.locator.nested(value).map_err(|stopped| stopped.inside(|| format!("[{shown}]")))
            }
            Some(_) => Ok(()),
            None => {
                let bytes = canonical::encode(value).map_err(|_| Stopped::failed())?.len() + key.len();
                self.entries.push((key, bytes as u64));
                Ok(())
            }
        }
    }

    fn end(self) -> Result<(), Stopped> {
        let Entries { locator, start, entries, known, .. } = self;
        if known.is_some() {
            // The offset lies in an entry that did not come this time.
            return Err(Stopped::failed());
        }
        let mut order: Vec<usize> = (0..entries.len()).collect();
        order.sort_by(|left, right| entries[*left].0.cmp(&entries[*right].0));
        for index in order {
            let at = locator.position;
            if locator.take(entries[index].1).is_err() {
                return Err(Stopped(Box::new(Stop::InMap(MapEntry { map: start, index, start: at }))));
            }
        }
        Ok(())
    }
}
