//! What the text form promises, from outside. The types here are what all of it is tested with.

mod changed;
mod forms;
mod refusals;
mod round_trips;
mod unwritable;

use alloc::boxed::Box;
use alloc::collections::BTreeMap;
use alloc::string::String;
use alloc::vec;
use alloc::vec::Vec;
use core::fmt;
use std::collections::HashSet;

use serde::de::{Deserialize, Deserializer, Visitor};
use serde::ser::{Serialize, Serializer};

use crate::codec::canonical::canonical_set;

/// Bytes that serde knows as bytes.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
struct Blob(Vec<u8>);

impl Serialize for Blob {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_bytes(&self.0)
    }
}

impl<'de> Deserialize<'de> for Blob {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Blob, D::Error> {
        struct Bytes;
        impl Visitor<'_> for Bytes {
            type Value = Blob;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("bytes")
            }
            fn visit_bytes<E>(self, bytes: &[u8]) -> Result<Blob, E> {
                Ok(Blob(bytes.to_vec()))
            }
            fn visit_byte_buf<E>(self, bytes: Vec<u8>) -> Result<Blob, E> {
                Ok(Blob(bytes))
            }
        }
        deserializer.deserialize_byte_buf(Bytes)
    }
}

#[derive(Clone, PartialEq, Debug, serde::Serialize, serde::Deserialize)]
struct Unit;

#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug, serde::Serialize, serde::Deserialize)]
struct Wrapped(u16);

#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug, serde::Serialize, serde::Deserialize)]
enum Key {
    North,
    At(i32),
    Pair(char, bool),
    Named { right: u8, left: Option<String> },
}

#[derive(Clone, PartialEq, Debug, serde::Serialize, serde::Deserialize)]
struct Varied {
    zebra: (bool, bool, Unit, ()),
    small: (u8, i8, u16, i16, u32, i32),
    exact: Vec<u64>,
    lowest: i64,
    widest: (i128, u128),
    doubles: Vec<f64>,
    singles: [f32; 6],
    texts: Vec<String>,
    letters: Vec<char>,
    empty: Vec<u32>,
    none: Option<u32>,
    options: Vec<Option<Option<Option<()>>>>,
    keys: Vec<Key>,
    blob: Blob,
    by_name: BTreeMap<String, Box<Wrapped>>,
    by_number: BTreeMap<u16, Vec<u8>>,
    by_key: BTreeMap<Key, Blob>,
    #[serde(with = "canonical_set")]
    visited: HashSet<u32>,
}

fn varied() -> Varied {
    let key = |left: &str| Key::Named { right: 7, left: Some(left.into()) };
    Varied {
        zebra: (true, false, Unit, ()),
        small: (200, -100, 60_000, -30_000, 4_000_000_000, -2_000_000_000),
        exact: vec![9_007_199_254_740_991, 9_007_199_254_740_992, 9_007_199_254_740_993, u64::MAX, 0],
        lowest: i64::MIN,
        widest: (i128::MIN, u128::MAX),
        doubles: vec![0.0, -0.0, 0.1, 1.0, 1.0 / 3.0, 5e-324, 1e16, -1e300, f64::INFINITY, f64::NEG_INFINITY],
        singles: [1.0 / 3.0, -0.0, f32::MIN_POSITIVE / 2.0, f32::NEG_INFINITY, f32::MAX, 16_777_216.0],
        texts: vec![
            "a\0b".into(),
            String::new(),
            "\u{301}é\u{10ffff}".into(),
            "\"\\/\u{8}\t\n\u{c}\r\u{1f}\u{7f}".into(),
        ],
        letters: vec!['a', '"', '\0', '\u{10ffff}'],
        empty: vec![],
        none: None,
        options: vec![None, Some(None), Some(Some(None)), Some(Some(Some(())))],
        keys: vec![Key::North, Key::At(-1), Key::Pair('€', true), key("x")],
        blob: Blob(vec![0, 1, 0xAB, 0xFF]),
        by_name: ["b", "a", "é", "\n", "", "\"", "aa", "a "].map(|name| (name.into(), Box::new(Wrapped(9)))).into(),
        by_number: [(1, vec![1, 2]), (2, vec![]), (10, vec![0]), (0x0100, vec![255])].into(),
        by_key: [(Key::North, Blob(vec![])), (Key::At(10), Blob(vec![1])), (key("$rdm"), Blob(vec![2]))].into(),
        visited: [0x0100, 1, 0x0201, 2].into(),
    }
}

/// A variant with the name that is a tag's.
#[derive(PartialEq, Eq, PartialOrd, Ord, Debug, serde::Serialize, serde::Deserialize)]
enum Renamed {
    #[serde(rename = "$rdm")]
    Reserved,
    #[serde(rename = "At")]
    Content(u8),
}

/// A value that refuses itself, both ways.
#[derive(Debug)]
struct Refused;

impl Serialize for Refused {
    fn serialize<S: Serializer>(&self, _: S) -> Result<S::Ok, S::Error> {
        Err(serde::ser::Error::custom("not today"))
    }
}

impl<'de> Deserialize<'de> for Refused {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Refused, D::Error> {
        u8::deserialize(deserializer).map(|_| Refused)
    }
}
