//! Values come back with the same bits, through text alone and through both forms in turn.

use alloc::collections::BTreeMap;
use alloc::string::String;
use alloc::vec;
use alloc::vec::Vec;

use serde::{Deserialize, Serialize};

use super::super::{from_text, from_text_canonical, to_text};
use super::{Varied, varied};
use crate::codec::canonical::{decode_canonical, encode};
use crate::rng::{RngStream, SessionSeed};

/// The state of case R04, by the letter of its list. Entities are shared and in cycles by their ids.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
struct Saved {
    doubles: Vec<f64>,
    single: f32,
    counter: u64,
    lowest: i64,
    texts: Vec<String>,
    descending: Descending,
    entities: BTreeMap<u32, Entity>,
    inventory: Vec<u8>,
    target: Option<u32>,
}

#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
struct Entity {
    parent: Option<u32>,
    children: Vec<u32>,
    item: u32,
}

/// A map that hands out its entries in descending order.
#[derive(Clone, PartialEq, Debug, Deserialize)]
struct Descending(BTreeMap<String, i32>);

impl Serialize for Descending {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        struct Entries<'a>(&'a BTreeMap<String, i32>);
        impl Serialize for Entries<'_> {
            fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.collect_map(self.0.iter().rev())
            }
        }
        serializer.serialize_newtype_struct("Descending", &Entries(&self.0))
    }
}

const DOUBLES: [u64; 7] = [
    0x3FD3_3333_3333_3334,
    0x3FD5_5555_5555_5555,
    0x0000_0000_0000_0001,
    0x7FEF_FFFF_FFFF_FFFF,
    0x8000_0000_0000_0000,
    0x7FF0_0000_0000_0000,
    // A NaN with a sign and a payload, which comes back as the canonical one.
    0xFFF8_0000_0000_0BAD,
];

fn saved() -> Saved {
    let entity = |parent, children: &[u32]| Entity { parent, children: children.to_vec(), item: 77 };
    Saved {
        doubles: DOUBLES.map(f64::from_bits).to_vec(),
        single: 1.0 / 3.0,
        counter: 9_007_199_254_740_993,
        lowest: i64::MIN,
        texts: vec!["nul\0".into(), "\u{301}".into(), "x".repeat(65_536)],
        descending: Descending([("z".into(), 1), ("m".into(), 2), ("a".into(), 3)].into()),
        // Two parents share an item, and the second is its own child's child.
        entities: [(1, entity(None, &[2])), (2, entity(Some(3), &[3])), (3, entity(Some(2), &[2]))].into(),
        inventory: vec![],
        target: None,
    }
}

fn check_bits(saved: &Saved) {
    let bits: Vec<u64> = saved.doubles.iter().map(|value| value.to_bits()).collect();
    assert_eq!(bits[..6], DOUBLES[..6]);
    assert_eq!(bits[6], 0x7FF8_0000_0000_0000);
    assert_eq!(saved.single.to_bits(), 0x3EAA_AAAB);
    assert_eq!((saved.counter, saved.lowest), (9_007_199_254_740_993, i64::MIN));
    let original = self::saved();
    assert!(saved.texts == original.texts);
    assert_eq!((&saved.descending, &saved.entities), (&original.descending, &original.entities));
    assert_eq!((saved.inventory.len(), saved.target), (0, None));
}

/// Caught: floats with 15 digits, an f32 in the digits of an f64, an integer by way of an f64, entries in the map's order.
#[test]
fn r04_the_list_comes_back_bit_by_bit_a_thousand_times_through_text() {
    let first = to_text(&saved()).unwrap();
    let mut text = first.clone();
    for _ in 0..1_000 {
        let value: Saved = from_text(&text).unwrap();
        check_bits(&value);
        text = to_text(&value).unwrap();
        assert!(text == first);
    }
}

#[test]
fn r04_the_list_goes_from_bytes_to_text_and_back_a_thousand_times() {
    let (first_bytes, first_text) = (encode(&saved()).unwrap(), to_text(&saved()).unwrap());
    let mut bytes = first_bytes.clone();
    for _ in 0..1_000 {
        let value: Saved = decode_canonical(&bytes).unwrap();
        let text = to_text(&value).unwrap();
        assert!(text == first_text);
        let value: Saved = from_text(&text).unwrap();
        check_bits(&value);
        bytes = encode(&value).unwrap();
        assert!(bytes == first_bytes);
    }
}

#[test]
fn k13_values_of_every_shape_come_back_from_text() {
    let text = to_text(&varied()).unwrap();
    let value: Varied = from_text_canonical(&text).unwrap();
    assert_eq!(value, varied());
    assert_eq!(encode(&value).unwrap(), encode(&varied()).unwrap());
    assert!(value.doubles[1].is_sign_negative() && value.singles[1].is_sign_negative());
}

#[test]
fn k13_floats_of_any_bits_come_back_from_text() {
    let mut stream = RngStream::derive(&SessionSeed::from_u64(13), "floats");
    for _ in 0..20_000 {
        let (single, double) = (f32::from_bits(stream.next_u32()), f64::from_bits(stream.next_u64()));
        let text = to_text(&(single, double)).unwrap();
        let again: (f32, f64) = from_text(&text).unwrap();
        // The binary form makes one NaN of all.
        assert_eq!(encode(&again).unwrap(), encode(&(single, double)).unwrap(), "{text}");
        assert!(again.0.to_bits() == single.to_bits() || single.is_nan());
        assert!(again.1.to_bits() == double.to_bits() || double.is_nan());
    }
}

#[test]
fn k13_integers_of_any_width_come_back_from_text() {
    let mut stream = RngStream::derive(&SessionSeed::from_u64(13), "integers");
    for turn in 0..10_000_u32 {
        let wide = u128::from(stream.next_u64()) << 64 | u128::from(stream.next_u64());
        let value = (wide >> (turn % 128), wide.cast_signed() >> (turn % 128), stream.next_u64() >> (turn % 64));
        assert_eq!(from_text(&to_text(&value).unwrap()), Ok(value));
    }
}

#[test]
fn k13_every_character_comes_back_from_text() {
    let all: Vec<char> =
        (0..=0x2FF_u32).chain(0xD7F0..0xE010).chain(0x10_FFF0..0x11_0000).filter_map(char::from_u32).collect();
    let text: String = all.iter().collect();
    assert_eq!(from_text::<(Vec<char>, String)>(&to_text(&(&all, &text)).unwrap()), Ok((all, text)));
}
