//! What the writer refuses, with its path and why.

use alloc::collections::BTreeMap;
use alloc::string::String;
use alloc::vec;
use alloc::vec::Vec;

use serde::Serialize;
use serde::ser::Serializer;

use super::super::{EncodeError, TextError, TextReason, from_text, from_text_canonical, to_text};
use super::{Refused, Renamed};
use crate::codec::canonical::EncodeReason;

/// A map in whichever order the list has, as a hash map would show it.
struct AnyOrder<K, V>(Vec<(K, V)>);

impl<K: Serialize, V: Serialize> Serialize for AnyOrder<K, V> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(self.0.iter().map(|(key, value)| (key, value)))
    }
}

#[test]
fn k13_a_key_of_a_tag_in_a_value_is_refused_with_its_path() {
    #[derive(Serialize)]
    struct Player<T> {
        tags: T,
    }
    #[derive(Serialize)]
    struct Field {
        #[serde(rename = "$rdm")]
        field: u8,
    }
    #[derive(Serialize)]
    enum Variant {
        #[serde(rename = "$rdm")]
        Newtype(u8),
        #[serde(rename = "$rdm")]
        Tuple(u8, u8),
        #[serde(rename = "$rdm")]
        Struct {
            field: u8,
        },
        Inner {
            field: Field,
        },
    }
    let refused = |path: &str| Err(EncodeError { path: path.into(), reason: EncodeReason::ReservedKey });
    let players = vec![Player { tags: BTreeMap::<String, u8>::new() }, Player { tags: [("$rdm".into(), 1)].into() }];
    assert_eq!(to_text(&players), refused(r#"[1].tags["$rdm"]"#));
    assert_eq!(to_text(&Player { tags: Field { field: 1 } }), refused("tags.$rdm"));
    assert_eq!(to_text(&(1, Variant::Newtype(1))), refused("1.$rdm"));
    assert_eq!(to_text(&Variant::Tuple(1, 2)), refused("$rdm"));
    assert_eq!(to_text(&Variant::Struct { field: 1 }), refused("$rdm"));
    assert_eq!(to_text(&Variant::Inner { field: Field { field: 1 } }), refused("Inner.field.$rdm"));
    let mixed = BTreeMap::from([(Renamed::Reserved, 1), (Renamed::Content(1), 2)]);
    assert_eq!(to_text(&mixed), refused(r#"["$rdm"]"#));
    // As a value it is a string like any other.
    assert_eq!(to_text(&("$rdm", Renamed::Reserved)).unwrap(), r#"["$rdm","$rdm"]"#);
    assert_eq!(from_text(r#"["$rdm","$rdm"]"#), Ok((String::from("$rdm"), Renamed::Reserved)));
}

#[test]
fn k13_a_value_without_a_text_is_named_by_its_path() {
    let custom = |path: &str| Err(EncodeError { path: path.into(), reason: EncodeReason::Custom("not today".into()) });
    assert_eq!(to_text(&Refused), custom(""));
    assert_eq!(to_text(&(1, [Some(Refused)])), custom("1.0"));
    assert_eq!(to_text(&vec![Ok::<_, u8>(Refused)]), custom("[0].Ok"));
    assert_eq!(to_text(&AnyOrder(vec![("north", Refused)])), custom(r#"["north"]"#));
    assert_eq!(to_text(&AnyOrder(vec![(7, Refused)])), custom("[7]"));
    assert_eq!(to_text(&AnyOrder(vec![("x".repeat(33), Refused)])), custom(&["[\"", &"x".repeat(31), "…]"].concat()));
    assert_eq!(to_text(&AnyOrder(vec![(Refused, 1)])), custom("{key 0}"));

    let twice = |path: &str| Err(EncodeError { path: path.into(), reason: EncodeReason::DuplicateKey });
    assert_eq!(to_text(&AnyOrder(vec![("b", 1), ("a", 2), ("b", 3)])), twice(r#"["b"]"#));
    assert_eq!(to_text(&(AnyOrder(vec![(1, 1), (1, 1)]),)), twice("0[1]"));
    let nans = [0x7FF8_0000_0000_0001, 0xFFF8_0000_0000_0002].map(|bits| (f64::from_bits(bits), 1));
    assert_eq!(to_text(&AnyOrder(nans.into())), twice(r#"[{"$rdm":"nan"}]"#));

    #[derive(Serialize)]
    struct Sparse {
        #[serde(skip_serializing_if = "Option::is_none")]
        target: Option<u8>,
    }
    let refusal = EncodeError { path: "target".into(), reason: EncodeReason::OmittedField };
    assert_eq!(to_text(&Sparse { target: None }), Err(refusal));
}

#[test]
fn k13_what_was_read_but_has_no_text_is_refused() {
    let error = EncodeError { path: String::new(), reason: EncodeReason::Custom("not today".into()) };
    let reason = TextReason::Unencodable(error);
    assert_eq!(from_text_canonical::<Refused>("1").unwrap_err(), TextError { offset: 0, reason });
}
