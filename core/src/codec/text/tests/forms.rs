//! The texts themselves. They are part of the format: a change here is another format.

use alloc::collections::{BTreeMap, BTreeSet};
use alloc::string::{String, ToString};
use alloc::vec;
use alloc::vec::Vec;
use core::fmt::Debug;
use std::collections::HashSet;

use serde::de::{DeserializeOwned, IgnoredAny};
use serde::{Deserialize, Serialize};

use super::super::{from_text, from_text_canonical, to_text};
use super::{Blob, Key, Unit, Wrapped, varied};
use crate::codec::canonical::canonical_set;

fn check<T: Serialize + DeserializeOwned + PartialEq + Debug>(value: T, text: &str) {
    assert_eq!(to_text(&value).unwrap(), text);
    assert_eq!(from_text_canonical::<T>(text), Ok(value));
    assert!(from_text::<IgnoredAny>(text).is_ok(), "{text}");
}

#[test]
fn k13_numbers_have_these_texts() {
    check((0_u8, -7_i8, 255_u8), "[0,-7,255]");
    check((1_u64 << 53, -(1_i64 << 53)), "[9007199254740992,-9007199254740992]");
    check((1_u64 << 53) + 1, r#"{"$rdm":"bigint","value":"9007199254740993"}"#);
    check(i64::MIN, r#"{"$rdm":"bigint","value":"-9223372036854775808"}"#);
    check(u128::MAX, r#"{"$rdm":"bigint","value":"340282366920938463463374607431768211455"}"#);
    check(i128::MIN, r#"{"$rdm":"bigint","value":"-170141183460469231731687303715884105728"}"#);
    check((5_i128, 5_u128), "[5,5]");
    check((0.1_f64, 0.1_f32, 1.0_f64, -2.5_f32), "[0.1,0.1,1.0,-2.5]");
    check((1.0_f64 / 3.0, 1.0_f32 / 3.0), "[0.3333333333333333,0.33333334]");
    check((1e15_f64, 1e16_f64, 1e-5_f64, 1e-4_f64), "[1000000000000000.0,1e16,1e-5,0.0001]");
    check((5e-324_f64, f64::MAX, f32::MAX), "[5e-324,1.7976931348623157e308,3.4028235e38]");
    check((f64::INFINITY, f32::NEG_INFINITY), r#"[{"$rdm":"infinity"},{"$rdm":"negative-infinity"}]"#);
    check((0.0_f64, 0.0_f32), "[0.0,0.0]");
    let zeros: (f64, f32) = from_text(r#"[{"$rdm":"negative-zero"},{"$rdm":"negative-zero"}]"#).unwrap();
    assert_eq!((zeros.0.to_bits(), zeros.1.to_bits()), (1 << 63, 1 << 31));
    for bits in [0x7FF8_0000_0000_0000, 0xFFF8_0000_0000_0000, 0x7FF0_0000_0000_0001, u64::MAX] {
        assert_eq!(to_text(&f64::from_bits(bits)).unwrap(), r#"{"$rdm":"nan"}"#);
    }
    let nans: (f64, f32) = from_text(r#"[{"$rdm":"nan"},{"$rdm":"nan"}]"#).unwrap();
    assert_eq!((nans.0.to_bits(), nans.1.to_bits()), (0x7FF8_0000_0000_0000, 0x7FC0_0000));
}

#[test]
fn k13_strings_have_these_texts() {
    check(String::from("plain é €\u{7f}\u{2028}/"), "\"plain é €\u{7f}\u{2028}/\"");
    check(String::from("\"\\\u{8}\t\n\u{c}\r\0\u{1f}"), r#""\"\\\b\t\n\f\r\u0000\u001f""#);
    check(('a', '\n', '"'), r#"["a","\n","\""]"#);
    check(Blob(vec![0, 0xFF, 0x0A]), r#"{"$rdm":"bytes","value":"00ff0a"}"#);
    check(Blob(vec![]), r#"{"$rdm":"bytes","value":""}"#);
    check(vec![0_u8, 255], "[0,255]");
}

#[test]
fn k13_units_and_options_have_these_texts() {
    check(((), Unit, true, false), "[null,null,true,false]");
    check((None::<u8>, Some(1_u8), Some(Wrapped(2))), "[null,1,2]");
    check((None::<()>, Some(())), r#"[null,{"$rdm":"some","value":null}]"#);
    let levels: [Option<Option<Option<u8>>>; 4] = [None, Some(None), Some(Some(None)), Some(Some(Some(1)))];
    let text = r#"[null,{"$rdm":"some","value":null},{"$rdm":"some","value":{"$rdm":"some","value":null}},1]"#;
    check(levels, text);
    check(Some(f64::INFINITY), r#"{"$rdm":"infinity"}"#);
    check(Some(BTreeMap::from([(1, None::<u8>)])), r#"{"$rdm":"map","value":[[1,null]]}"#);
    // An empty list is no absent field.
    #[derive(PartialEq, Debug, Serialize, Deserialize)]
    struct Beside {
        list: Vec<u8>,
        absent: Option<Vec<u8>>,
        empty: Option<Vec<u8>>,
    }
    let beside = Beside { list: vec![], absent: None, empty: Some(vec![]) };
    check(beside, r#"{"absent":null,"empty":[],"list":[]}"#);
}

#[test]
fn k13_variants_and_structs_have_these_texts() {
    check(Key::North, r#""North""#);
    check(Key::At(-3), r#"{"At":-3}"#);
    check(Key::Pair('x', true), r#"{"Pair":["x",true]}"#);
    check(Key::Named { right: 1, left: None }, r#"{"Named":{"left":null,"right":1}}"#);
    check(Err::<u8, String>("no".into()), r#"{"Err":"no"}"#);
    #[derive(PartialEq, Debug, Serialize, Deserialize)]
    struct Nothing {}
    check(Nothing {}, "{}");
    #[derive(PartialEq, Debug, Serialize, Deserialize)]
    struct Renamed {
        #[serde(rename = "\n")]
        newline: u8,
        #[serde(rename = "!")]
        mark: u8,
        #[serde(rename = "a!")]
        longer: u8,
        a: u8,
        #[serde(rename = "é")]
        accent: u8,
    }
    // By characters, and not by escapes or quotes.
    let text = r#"{"\n":1,"!":2,"a":3,"a!":4,"é":5}"#;
    check(Renamed { newline: 1, mark: 2, longer: 4, a: 3, accent: 5 }, text);
}

#[test]
fn k13_maps_have_these_texts() {
    check(BTreeMap::<u8, u8>::new(), "{}");
    check(BTreeMap::from([("b".to_string(), 1), ("a".to_string(), 2)]), r#"{"a":2,"b":1}"#);
    check(BTreeMap::from([('b', 1), ('a', 2)]), r#"{"a":2,"b":1}"#);
    check(BTreeMap::from([(Some('b'), 1)]), r#"{"b":1}"#);
    // By the text of the key: 10 is before 2.
    check(BTreeMap::from([(2, 'b'), (10, 'a')]), r#"{"$rdm":"map","value":[[10,"a"],[2,"b"]]}"#);
    check(BTreeMap::from([(true, ()), (false, ())]), r#"{"$rdm":"map","value":[[false,null],[true,null]]}"#);
    // A map of variants is an object while all of them are strings.
    check(BTreeMap::from([(Key::North, 1)]), r#"{"North":1}"#);
    let mixed = BTreeMap::from([(Key::At(1), 2), (Key::North, 1)]);
    check(mixed, r#"{"$rdm":"map","value":[["North",1],[{"At":1},2]]}"#);
    check(
        BTreeMap::from([(BTreeMap::from([(1, 2)]), 3)]),
        r#"{"$rdm":"map","value":[[{"$rdm":"map","value":[[1,2]]},3]]}"#,
    );
}

#[test]
fn k13_marked_sets_have_a_tag() {
    #[derive(PartialEq, Debug, Serialize, Deserialize)]
    struct Sets {
        #[serde(with = "canonical_set")]
        hash: HashSet<u16>,
        #[serde(with = "canonical_set")]
        tree: BTreeSet<char>,
        plain: BTreeSet<u16>,
    }
    let sets = || Sets { hash: [1, 2, 0x0100].into(), tree: ['b', 'a'].into(), plain: [0x0100, 1].into() };
    // In the order of the canonical bytes, in which 256 is 00 01.
    let hash = r#"{"hash":{"$rdm":"set","value":[256,1,2]}"#;
    let tree = r#""tree":{"$rdm":"set","value":["a","b"]}}"#;
    for _ in 0..32 {
        check(sets(), &[hash, r#","plain":[1,256],"#, tree].concat());
    }
}

#[test]
fn k13_types_that_ask_the_text_get_what_it_shows() {
    #[derive(PartialEq, Debug, Serialize, Deserialize)]
    #[serde(untagged)]
    enum Untagged {
        Number(u64),
        Signed(i64),
        Float(f64),
        // Before the text, for which serde takes bytes too.
        Bytes(Blob),
        Text(String),
        List(Vec<Untagged>),
        Map(BTreeMap<String, Untagged>),
        Pairs(BTreeMap<u8, bool>),
    }
    check(Untagged::Number(u64::MAX), r#"{"$rdm":"bigint","value":"18446744073709551615"}"#);
    check(Untagged::Signed(-1), "-1");
    check(Untagged::List(vec![Untagged::Float(1.0), Untagged::Number(1)]), "[1.0,1]");
    check(Untagged::Float(f64::INFINITY), r#"{"$rdm":"infinity"}"#);
    check(Untagged::Bytes(Blob(vec![1])), r#"{"$rdm":"bytes","value":"01"}"#);
    check(Untagged::Map([("a".into(), Untagged::Text("\n".into()))].into()), r#"{"a":"\n"}"#);
    check(Untagged::Pairs([(1, true)].into()), r#"{"$rdm":"map","value":[[1,true]]}"#);

    #[derive(PartialEq, Debug, Serialize, Deserialize)]
    struct Outer {
        zone: u8,
        #[serde(flatten)]
        inner: Inner,
    }
    #[derive(PartialEq, Debug, Serialize, Deserialize)]
    #[serde(tag = "kind")]
    enum Inner {
        Point { x: f32, absent: Option<u8> },
    }
    let outer = Outer { zone: 1, inner: Inner::Point { x: 0.1, absent: None } };
    check(outer, r#"{"absent":null,"kind":"Point","x":0.1,"zone":1}"#);

    #[derive(PartialEq, Debug, Serialize, Deserialize)]
    #[serde(tag = "t", content = "c")]
    enum Adjacent {
        One(u8),
    }
    check(Adjacent::One(1), r#"{"c":1,"t":"One"}"#);
}

#[test]
fn k13_a_value_of_every_shape_has_this_text() {
    let text = concat!(
        r#"{"blob":{"$rdm":"bytes","value":"0001abff"},"#,
        r#""by_key":{"$rdm":"map","value":[["North",{"$rdm":"bytes","value":""}],"#,
        r#"[{"At":10},{"$rdm":"bytes","value":"01"}],"#,
        r#"[{"Named":{"left":"$rdm","right":7}},{"$rdm":"bytes","value":"02"}]]},"#,
        r#""by_name":{"":9,"\n":9,"\"":9,"a":9,"a ":9,"aa":9,"b":9,"é":9},"#,
        r#""by_number":{"$rdm":"map","value":[[1,[1,2]],[10,[0]],[2,[]],[256,[255]]]},"#,
        r#""doubles":[0.0,{"$rdm":"negative-zero"},0.1,1.0,0.3333333333333333,5e-324,1e16,-1e300,"#,
        r#"{"$rdm":"infinity"},{"$rdm":"negative-infinity"}],"empty":[],"#,
        r#""exact":[9007199254740991,9007199254740992,{"$rdm":"bigint","value":"9007199254740993"},"#,
        r#"{"$rdm":"bigint","value":"18446744073709551615"},0],"#,
        r#""keys":["North",{"At":-1},{"Pair":["€",true]},{"Named":{"left":"x","right":7}}],"#,
        "\"letters\":[\"a\",\"\\\"\",\"\\u0000\",\"\u{10ffff}\"],",
        r#""lowest":{"$rdm":"bigint","value":"-9223372036854775808"},"none":null,"#,
        r#""options":[null,{"$rdm":"some","value":null},{"$rdm":"some","value":{"$rdm":"some","value":null}},"#,
        r#"{"$rdm":"some","value":{"$rdm":"some","value":{"$rdm":"some","value":null}}}],"#,
        r#""singles":[0.33333334,{"$rdm":"negative-zero"},5.877472e-39,{"$rdm":"negative-infinity"},"#,
        r#"3.4028235e38,16777216.0],"small":[200,-100,60000,-30000,4000000000,-2000000000],"#,
        "\"texts\":[\"a\\u0000b\",\"\",\"\u{301}é\u{10ffff}\",",
        "\"\\\"\\\\/\\b\\t\\n\\f\\r\\u001f\u{7f}\"],",
        r#""visited":{"$rdm":"set","value":[256,1,513,2]},"#,
        r#""widest":[{"$rdm":"bigint","value":"-170141183460469231731687303715884105728"},"#,
        r#"{"$rdm":"bigint","value":"340282366920938463463374607431768211455"}],"#,
        r#""zebra":[true,false,null,null]}"#,
    );
    assert_eq!(to_text(&varied()).unwrap(), text);
}
