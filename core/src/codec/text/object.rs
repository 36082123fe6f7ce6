//! Objects that are being written: entries in the order in which they come, put into the order of their keys at the end.

use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;
use core::cmp::Ordering;

use serde::{Serialize, ser};

use super::ser::Encoder;
use super::string::{content, push_quoted};
use super::tag::{OPENING, RESERVED_KEY, RESERVED_KEY_FORM, Tag, VALUE};
use crate::codec::canonical::{EncodeFailure as Failure, EncodeReason, Segment};

/// Most characters of a map key that a path shows.
const SHOWN_KEY_CHARACTERS: usize = 32;

/// A map, struct or struct variant that is being written.
pub(super) struct Object<'a> {
    encoder: Encoder<'a>,
    variant: Option<&'static str>,
    /// Where the forms of the entries begin. Nothing stands between them.
    start: usize,
    entries: Vec<Entry>,
    /// Where the key begins and ends whose value comes next.
    key: Option<(usize, usize)>,
}

/// Where an entry stands, from the first one on.
#[derive(Clone, Copy)]
struct Entry {
    key: usize,
    value: usize,
    end: usize,
}

impl Entry {
    fn key(self, forms: &str) -> &str {
        &forms[self.key..self.value]
    }
}

impl<'a> Object<'a> {
    pub(super) fn new(encoder: Encoder<'a>, variant: Option<&'static str>) -> Object<'a> {
        let start = encoder.out.len();
        Object { encoder, variant, start, entries: Vec::new(), key: None }
    }

    fn written(&self) -> usize {
        self.encoder.out.len() - self.start
    }

    fn put_field<T: Serialize + ?Sized>(&mut self, name: &'static str, value: &T) -> Result<(), Failure> {
        let key = self.written();
        push_quoted(self.encoder.out, name);
        let start = self.written();
        let written = if name == RESERVED_KEY {
            Err(Failure::new(EncodeReason::ReservedKey))
        } else {
            value.serialize(self.encoder.reborrow())
        };
        written.map_err(|failure| failure.inside(Segment::Name(name)).in_variant(self.variant))?;
        self.entries.push(Entry { key, value: start, end: self.written() });
        Ok(())
    }

    fn close(self) -> Result<(), Failure> {
        let Object { encoder, variant, start, mut entries, .. } = self;
        let forms = encoder.out.split_off(start);
        let is_plain = entries.iter().all(|entry| is_string(entry.key(&forms)));
        let order = |left: &Entry, right: &Entry| compare_keys(left.key(&forms), right.key(&forms), is_plain);
        entries.sort_by(order);
        if let Some(pair) = entries.windows(2).find(|pair| order(&pair[0], &pair[1]).is_eq()) {
            let failure = Failure::new(EncodeReason::DuplicateKey).inside(shown(pair[0].key(&forms)));
            return Err(failure.in_variant(variant));
        }
        if is_plain {
            put_object(encoder.out, &entries, &forms);
        } else {
            put_pairs(encoder.out, &entries, &forms);
        }
        if variant.is_some() {
            encoder.out.push('}');
        }
        Ok(())
    }
}

fn put_object(out: &mut String, entries: &[Entry], forms: &str) {
    out.push('{');
    for (index, entry) in entries.iter().enumerate() {
        let comma = if index > 0 { "," } else { "" };
        out.extend([comma, entry.key(forms), ":", &forms[entry.value..entry.end]]);
    }
    out.push('}');
}

fn put_pairs(out: &mut String, entries: &[Entry], forms: &str) {
    out.extend([OPENING, "\"", Tag::Map.name(), "\"", VALUE, "["]);
    for (index, entry) in entries.iter().enumerate() {
        let opening = if index > 0 { ",[" } else { "[" };
        out.extend([opening, entry.key(forms), ",", &forms[entry.value..entry.end], "]"]);
    }
    out.push_str("]}");
}

/// Whether the form of a key is that of a string.
pub(super) fn is_string(form: &str) -> bool {
    form.starts_with('"')
}

/// The order of two keys by their forms: of an object by the strings themselves, of a tagged map by the forms' bytes.
pub(super) fn compare_keys(left: &str, right: &str, are_strings: bool) -> Ordering {
    if are_strings { content(unquoted(left)).cmp(content(unquoted(right))) } else { left.cmp(right) }
}

fn unquoted(form: &str) -> &str {
    form.strip_prefix('"').and_then(|form| form.strip_suffix('"')).unwrap_or(form)
}

fn shown(form: &str) -> Segment {
    let ellipsis = if form.chars().nth(SHOWN_KEY_CHARACTERS).is_some() { "…" } else { "" };
    Segment::Entry(format!("{}{ellipsis}", form.chars().take(SHOWN_KEY_CHARACTERS).collect::<String>()))
}

impl ser::SerializeMap for Object<'_> {
    type Ok = ();
    type Error = Failure;

    fn serialize_key<T: Serialize + ?Sized>(&mut self, key: &T) -> Result<(), Failure> {
        let start = self.written();
        let written = key.serialize(self.encoder.reborrow());
        written.map_err(|failure| failure.inside(Segment::Key(self.entries.len())))?;
        self.key = Some((start, self.written()));
        Ok(())
    }

    fn serialize_value<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<(), Failure> {
        let (key, start) = self.key.take().ok_or_else(|| ser::Error::custom("a map value without its key"))?;
        let place = self.start + key..self.start + start;
        let written = if &self.encoder.out[place.clone()] == RESERVED_KEY_FORM {
            Err(Failure::new(EncodeReason::ReservedKey))
        } else {
            value.serialize(self.encoder.reborrow())
        };
        written.map_err(|failure| failure.inside(shown(&self.encoder.out[place])))?;
        self.entries.push(Entry { key, value: start, end: self.written() });
        Ok(())
    }

    fn end(self) -> Result<(), Failure> {
        self.close()
    }
}

macro_rules! structs {
    ($($trait:ident),* $(,)?) => {
        $(impl ser::$trait for Object<'_> {
            type Ok = ();
            type Error = Failure;

            fn serialize_field<T: Serialize + ?Sized>(&mut self, name: &'static str, value: &T) -> Result<(), Failure> {
                self.put_field(name, value)
            }

            fn skip_field(&mut self, name: &'static str) -> Result<(), Failure> {
                let failure = Failure::new(EncodeReason::OmittedField).inside(Segment::Name(name));
                Err(failure.in_variant(self.variant))
            }

            fn end(self) -> Result<(), Failure> {
                self.close()
            }
        })*
    };
}

structs!(SerializeStruct, SerializeStructVariant);
