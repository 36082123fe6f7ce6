use alloc::boxed::Box;
use alloc::collections::BTreeMap;
use alloc::vec;
use alloc::vec::Vec;
use core::fmt::Debug;

use serde::{Deserializer, Serialize};

use super::super::{EncodeReason, decode, encode};
use super::*;

fn check<'de, T: Deserialize<'de> + Debug>(bytes: &'de [u8], offset: usize, reason: DecodeReason) {
    match decode::<T>(bytes) {
        Err(error) => assert_eq!(error, DecodeError { offset, reason }, "{bytes:?}"),
        Ok(value) => panic!("{bytes:?} is {value:?}"),
    }
}

fn counted(length: u64, rest: &[u8]) -> Vec<u8> {
    [&length.to_le_bytes(), rest].concat()
}

#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
enum Order {
    Wait,
    Go { to: (i32, i32), with: Option<String> },
    Say(char),
}

type Everything<'a> = (Vec<Order>, BTreeMap<&'a str, f64>, [bool; 2], Box<u128>);

fn everything() -> Everything<'static> {
    let orders = vec![Order::Wait, Order::Go { to: (-1, 1), with: Some("é".into()) }, Order::Say('€')];
    (orders, [("b", 1.5), ("a", f64::NAN)].into(), [true, false], Box::new(9))
}

#[test]
fn k13_bytes_cut_anywhere_are_refused() {
    let bytes = encode(&everything()).unwrap();
    assert!(decode::<Everything>(&bytes).is_ok());
    for end in 0..bytes.len() {
        let error = decode::<Everything>(&bytes[..end]).unwrap_err();
        let expected = matches!(error.reason, DecodeReason::EndOfInput | DecodeReason::LengthBeyondInput { .. });
        assert!(expected && error.offset <= end, "cut at {end}: {error}");
    }
    let longer = [&bytes[..], &[0]].concat();
    check::<Everything>(&longer, bytes.len(), DecodeReason::TrailingBytes { count: 1 });
}

#[test]
fn k13_changed_bytes_never_panic_and_never_pass_for_another_form() {
    let bytes = encode(&everything()).unwrap();
    for place in 0..bytes.len() {
        for value in [0, 1, 2, 0x7F, 0x80, 0xC2, 0xFF] {
            let mut changed = bytes.clone();
            changed[place] = value;
            if let Ok(other) = decode::<Everything>(&changed) {
                assert!(encode(&other).unwrap() == changed, "byte {place} as {value}");
            }
        }
    }
}

#[test]
fn k13_a_claimed_length_is_checked_before_anything_is_reserved() {
    let refusal = |claimed, remaining| DecodeReason::LengthBeyondInput { claimed, remaining };
    let bytes = counted(u64::MAX, &[1, 2, 3]);
    check::<Vec<u8>>(&bytes, 0, refusal(u64::MAX, 3));
    check::<Vec<u64>>(&bytes, 0, refusal(u64::MAX, 3));
    check::<Vec<()>>(&bytes, 0, refusal(u64::MAX, 3));
    check::<String>(&bytes, 0, refusal(u64::MAX, 3));
    check::<&[u8]>(&bytes, 0, refusal(u64::MAX, 3));
    check::<BTreeMap<u8, u8>>(&bytes, 0, refusal(u64::MAX, 3));
    check::<&str>(&counted(4, b"abc"), 0, refusal(4, 3));
    assert_eq!(decode::<&str>(&counted(3, b"abc")), Ok("abc"));
    // Small enough for elements without bytes, so that the elements themselves are what is missing.
    check::<Vec<u16>>(&counted(65_536, &[1, 2, 3]), 10, DecodeReason::EndOfInput);
    check::<Vec<u16>>(&counted(65_537, &[1, 2, 3]), 0, refusal(65_537, 3));
}

#[test]
fn k13_serde_gets_no_hint_to_reserve_by() {
    #[derive(Debug)]
    struct Hint;
    impl<'de> Deserialize<'de> for Hint {
        fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Hint, D::Error> {
            struct Probe;
            impl<'de> Visitor<'de> for Probe {
                type Value = Hint;
                fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                    f.write_str("anything")
                }
                fn visit_seq<A: de::SeqAccess<'de>>(self, elements: A) -> Result<Hint, A::Error> {
                    assert_eq!(elements.size_hint(), None);
                    Ok(Hint)
                }
                fn visit_map<A: de::MapAccess<'de>>(self, entries: A) -> Result<Hint, A::Error> {
                    assert_eq!(entries.size_hint(), None);
                    Ok(Hint)
                }
            }
            deserializer.deserialize_seq(Probe)
        }
    }
    // The probe takes nothing, which is refused too: the elements would be read as whatever follows.
    check::<Hint>(&counted(60_000, &[1]), 8, DecodeReason::UnreadElements { count: 60_000 });
}

#[test]
fn k13_elements_without_bytes_are_bounded_for_the_whole_value() {
    let bytes = counted(2, &[counted(40_000, &[]), counted(25_536, &[])].concat());
    assert!(decode::<Vec<Vec<()>>>(&bytes).is_ok());
    let bytes = counted(2, &[counted(40_000, &[]), counted(25_537, &[])].concat());
    check::<Vec<Vec<()>>>(&bytes, 24, DecodeReason::TooManyEmptyElements);
    // Enough bytes remain for the claim, but its elements don't use them.
    let bytes = counted(70_000, &[0; 70_000]);
    check::<Vec<()>>(&bytes, 8, DecodeReason::TooManyEmptyElements);
}

#[test]
fn k13_tags_text_and_nan_are_strict() {
    check::<bool>(&[2], 0, DecodeReason::InvalidBool { byte: 2 });
    check::<(u8, Option<u8>)>(&[0, 2, 0], 1, DecodeReason::InvalidOptionTag { byte: 2 });
    check::<(u8, String)>(&[&[9], &counted(1, &[0xFF])[..]].concat(), 1, DecodeReason::InvalidUtf8);
    check::<char>(&[0x80], 0, DecodeReason::InvalidUtf8);
    check::<char>(&[0xC0, 0x80], 0, DecodeReason::InvalidUtf8);
    check::<char>(&[0xED, 0xA0, 0x80], 0, DecodeReason::InvalidUtf8);
    check::<char>(&[0xE2, 0x82], 0, DecodeReason::EndOfInput);
    for bits in [0xFFF8_0000_0000_0000, 0x7FF8_0000_0000_0001, 0x7FF0_0000_0000_0001_u64] {
        check::<f64>(&bits.to_le_bytes(), 0, DecodeReason::NonCanonicalNan);
    }
    for bits in [0xFFC0_0000_u32, 0x7FC0_0001, 0x7F80_0001] {
        check::<f32>(&bits.to_le_bytes(), 0, DecodeReason::NonCanonicalNan);
    }
    assert!(decode::<f32>(&0x7FC0_0000_u32.to_le_bytes()).is_ok_and(f32::is_nan));
    let error = decode::<Order>(&[3, 0, 0, 0]).unwrap_err();
    assert!(matches!(&error.reason, DecodeReason::Custom(text) if text.contains("variant index")), "{error}");
}

#[test]
fn k13_map_keys_ascend() {
    let map = |first: u8, second: u8| counted(2, &[first, 0, second, 0]);
    assert!(decode::<BTreeMap<u8, u8>>(&map(1, 2)).is_ok());
    check::<BTreeMap<u8, u8>>(&map(2, 1), 10, DecodeReason::KeysNotAscending);
    check::<BTreeMap<u8, u8>>(&map(1, 1), 10, DecodeReason::KeysNotAscending);
}

#[derive(PartialEq, Debug, Serialize, Deserialize)]
struct Chain(Vec<Chain>);

fn chain(links: usize) -> Chain {
    (0..links).fold(Chain(vec![]), |inner, _| Chain(vec![inner]))
}

#[test]
fn k13_nesting_ends_at_the_limit_on_both_sides() {
    // A link is a newtype and a sequence.
    let deepest = chain(63);
    let bytes = encode(&deepest).unwrap();
    assert_eq!(decode(&bytes), Ok(deepest));
    assert_eq!(encode(&chain(64)).unwrap_err().reason, EncodeReason::TooDeep);
    // A longer chain is one more length in front of a shorter one's.
    check::<Chain>(&counted(1, &bytes), 64 * 8, DecodeReason::TooDeep);
    let hostile = 1_u64.to_le_bytes().repeat(100_000);
    check::<Chain>(&hostile, 64 * 8, DecodeReason::TooDeep);

    #[derive(PartialEq, Debug, Serialize, Deserialize)]
    enum List {
        End,
        Link(Box<List>),
    }
    let list = |links: usize| (0..links).fold(List::End, |inner, _| List::Link(Box::new(inner)));
    let bytes = encode(&list(128)).unwrap();
    assert_eq!(decode(&bytes), Ok(list(128)));
    assert_eq!(encode(&list(129)).unwrap_err().reason, EncodeReason::TooDeep);
    check::<List>(&1_u32.to_le_bytes().repeat(100_000), 129 * 4, DecodeReason::TooDeep);
}

#[test]
fn k13_every_kind_of_container_is_a_level_on_both_sides() {
    #[derive(PartialEq, Debug, Serialize, Deserialize)]
    enum Level {
        Leaf,
        Tuple(Box<Level>, u8),
        Named { inner: Box<Level> },
        Struct(Struct),
        Pair(Pair),
        Map(BTreeMap<u8, Level>),
        Some(Option<Box<Level>>),
    }
    #[derive(PartialEq, Debug, Serialize, Deserialize)]
    struct Struct {
        inner: Box<Level>,
    }
    #[derive(PartialEq, Debug, Serialize, Deserialize)]
    struct Pair(Box<Level>, u8);

    type Wrap = fn(Level) -> Level;
    // How one level is wrapped around another, how many levels that makes, and the bytes before and after the inner one.
    let kinds: [(Wrap, usize, &[u8], &[u8]); 6] = [
        (|inner| Level::Tuple(Box::new(inner), 9), 1, &[1, 0, 0, 0], &[9]),
        (|inner| Level::Named { inner: Box::new(inner) }, 1, &[2, 0, 0, 0], &[]),
        (|inner| Level::Struct(Struct { inner: Box::new(inner) }), 2, &[3, 0, 0, 0], &[]),
        (|inner| Level::Pair(Pair(Box::new(inner), 9)), 2, &[4, 0, 0, 0], &[9]),
        (|inner| Level::Map([(7, inner)].into()), 2, &[5, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 7], &[]),
        (|inner| Level::Some(Some(Box::new(inner))), 2, &[6, 0, 0, 0, 1], &[]),
    ];
    for (wrap, levels, before, after) in kinds {
        let deepest = || (0..128 / levels).fold(Level::Leaf, |inner, _| wrap(inner));
        let bytes = encode(&deepest()).unwrap();
        assert_eq!(decode(&bytes), Ok(deepest()));
        let error = encode(&wrap(deepest())).unwrap_err();
        assert_eq!(error.reason, EncodeReason::TooDeep, "{before:?}");
        let error = decode::<Level>(&[before, &bytes, after].concat()).unwrap_err();
        assert_eq!(error.reason, DecodeReason::TooDeep, "{before:?}");
    }
}

#[test]
fn k13_types_that_ask_the_bytes_are_refused() {
    #[derive(Debug, Serialize, Deserialize)]
    struct Inner {
        value: u8,
    }
    #[derive(Debug, Serialize, Deserialize)]
    #[serde(untagged)]
    enum Untagged {
        Number(u8),
    }
    #[derive(Debug, Serialize, Deserialize)]
    struct Outer {
        #[serde(flatten)]
        inner: Inner,
    }
    let untagged = encode(&Untagged::Number(1)).unwrap();
    check::<Untagged>(&untagged, 0, DecodeReason::NotSelfDescribing);
    let flattened = encode(&Outer { inner: Inner { value: 1 } }).unwrap();
    check::<Outer>(&flattened, 8, DecodeReason::NotSelfDescribing);
    check::<de::IgnoredAny>(&[1], 0, DecodeReason::NotSelfDescribing);
}

#[test]
fn k13_texts_and_bytes_are_borrowed() {
    let bytes = counted(3, b"abc");
    let range = bytes.as_ptr_range();
    assert!(range.contains(&decode::<&str>(&bytes).unwrap().as_ptr()));
    assert!(range.contains(&decode::<&[u8]>(&bytes).unwrap().as_ptr()));
}
