//! What the reader refuses, where and why.

use alloc::boxed::Box;
use alloc::collections::{BTreeMap, BTreeSet};
use alloc::string::{String, ToString};
use alloc::vec;
use alloc::vec::Vec;
use core::fmt::{self, Debug};
use std::collections::HashSet;

use serde::de::{Deserializer, IgnoredAny, SeqAccess, Visitor};
use serde::{Deserialize, Serialize};

use super::super::{Expected, TextError, TextReason, from_text, from_text_canonical, to_text};
use super::{Blob, Key, Renamed, Wrapped};
use crate::codec::canonical::{EncodeReason, canonical_set};

fn check<'de, T: Deserialize<'de> + Debug>(text: &'de str, offset: usize, reason: TextReason) {
    match from_text::<T>(text) {
        Err(error) => assert_eq!(error, TextError { offset, reason }, "{text:.80}"),
        Ok(value) => panic!("{text:.80} is {value:?}"),
    }
}

fn unexpected(expected: Expected) -> TextReason {
    TextReason::Unexpected { expected }
}

fn words(error: &TextError) -> &str {
    match &error.reason {
        TextReason::Custom(words) => words,
        reason => panic!("{reason:?}"),
    }
}

#[derive(PartialEq, Debug, Serialize, Deserialize)]
struct Point {
    x: u8,
    y: Option<u8>,
}

type Names = BTreeMap<String, u8>;
type Numbers = BTreeMap<u8, u8>;

#[test]
fn k13_white_space_and_what_follows_is_refused() {
    for (text, offset) in [(" [1,2]", 0), ("[ 1,2]", 1), ("[1 ,2]", 2), ("[1,\t2]", 3), ("[1,2\n]", 4), ("\r[1,2]", 0)]
    {
        check::<(u8, u8)>(text, offset, TextReason::Whitespace);
        check::<Vec<u8>>(text, offset, TextReason::Whitespace);
        check::<IgnoredAny>(text, offset, TextReason::Whitespace);
    }
    check::<Names>(r#"{ "a":1}"#, 1, TextReason::Whitespace);
    check::<Names>(r#"{"a" :1}"#, 4, TextReason::Whitespace);
    check::<Names>(r#"{"a": 1}"#, 5, TextReason::Whitespace);
    check::<Names>(r#"{"a":1 }"#, 6, TextReason::Whitespace);
    check::<f64>(r#"{"$rdm":"nan" }"#, 13, TextReason::Whitespace);
    for after in [" ", "\n", "1", "]", ",", "é"] {
        check::<Vec<u8>>(&["[1]", after].concat(), 3, TextReason::TrailingText);
    }
}

#[test]
fn k13_numbers_of_another_form_are_refused() {
    for text in ["01", "-0", "-", "--1", "1-2", "1+", "9007199254740993", "-9007199254740993"] {
        check::<i64>(text, 0, TextReason::NonCanonicalNumber);
        check::<IgnoredAny>(text, 0, TextReason::NonCanonicalNumber);
    }
    for text in ["1.", "1.00", "01.5", "-0.0", "1e2", "1E16", "1e+16", "1e016", "0.10000000000000001", "1e999", "1.5.5"]
    {
        check::<f64>(text, 0, TextReason::NonCanonicalNumber);
        check::<f32>(text, 0, TextReason::NonCanonicalNumber);
        check::<IgnoredAny>(text, 0, TextReason::NonCanonicalNumber);
    }
    check::<f32>("0.3333333333333333", 0, TextReason::NonCanonicalNumber);
    check::<(u8, u8)>("[1,256]", 3, TextReason::IntegerOutOfRange);
    check::<u64>("-1", 0, TextReason::IntegerOutOfRange);
    check::<u64>(r#"{"$rdm":"bigint","value":"18446744073709551616"}"#, 0, TextReason::IntegerOutOfRange);
    let beyond = r#"{"$rdm":"bigint","value":"340282366920938463463374607431768211456"}"#;
    check::<u128>(beyond, 25, TextReason::IntegerOutOfRange);
    check::<u8>("1.0", 0, unexpected(Expected::Integer));
    check::<u8>("+1", 0, unexpected(Expected::Integer));
    check::<f64>("1", 0, unexpected(Expected::Float));
    check::<f64>(".5", 0, unexpected(Expected::Float));
    check::<f64>("NaN", 0, unexpected(Expected::Float));
}

#[test]
fn k13_strings_of_another_form_are_refused() {
    for (text, at, reason) in [
        (r"a\/", 2, TextReason::NonCanonicalEscape),
        (r"\u0041", 1, TextReason::NonCanonicalEscape),
        (r"\u000a", 1, TextReason::NonCanonicalEscape),
        (r"\u001F", 1, TextReason::NonCanonicalEscape),
        (r"\u0022", 1, TextReason::NonCanonicalEscape),
        (r"\ud83d\ude00", 1, TextReason::NonCanonicalEscape),
        (r"é\ud83d", 3, TextReason::LoneSurrogate),
        (r"\ud83dx", 1, TextReason::LoneSurrogate),
        (r"\ud83d\u0041", 1, TextReason::LoneSurrogate),
        (r"\ud83d\ud83d", 1, TextReason::LoneSurrogate),
        (r"\uDE00", 1, TextReason::LoneSurrogate),
        (r"\x41", 1, TextReason::InvalidEscape),
        (r"\u00g0", 1, TextReason::InvalidEscape),
        (r"\u+001", 1, TextReason::InvalidEscape),
        ("a\nb", 2, TextReason::ControlCharacter),
        ("\0", 1, TextReason::ControlCharacter),
    ] {
        let literal = ["\"", text, "\""].concat();
        check::<String>(&literal, at, reason.clone());
        check::<Names>(&["{", &literal, ":1}"].concat(), at + 1, reason);
    }
    check::<String>("\"abc", 4, TextReason::EndOfInput);
    check::<String>(r#""\"#, 2, TextReason::EndOfInput);
    check::<String>(r#""\u00"#, 5, TextReason::EndOfInput);
    check::<char>(r#""ab""#, 0, unexpected(Expected::Char));
    check::<char>(r#""""#, 0, unexpected(Expected::Char));
    assert!(words(&from_text::<&str>(r#""\n""#).unwrap_err()).contains("borrowed string"));
    assert_eq!(from_text::<&str>(r#""é""#), Ok("é"));
}

#[test]
fn k13_keys_ascend_and_stand_once() {
    check::<Names>(r#"{"b":1,"a":2}"#, 7, TextReason::KeysNotAscending);
    check::<Names>(r#"{"a":1,"a":2}"#, 7, TextReason::DuplicateKey);
    check::<Names>(r#"{"!":1,"\n":2}"#, 7, TextReason::KeysNotAscending);
    check::<Names>(r#"{"a!":1,"a":2}"#, 8, TextReason::KeysNotAscending);
    check::<Point>(r#"{"y":1,"x":2}"#, 7, TextReason::KeysNotAscending);
    check::<Point>(r#"{"x":1,"x":2}"#, 7, TextReason::DuplicateKey);
    check::<IgnoredAny>(r#"{"x":1,"x":2}"#, 7, TextReason::DuplicateKey);
    check::<Numbers>(r#"{"$rdm":"map","value":[[2,1],[10,1]]}"#, 30, TextReason::KeysNotAscending);
    check::<Numbers>(r#"{"$rdm":"map","value":[[2,1],[2,1]]}"#, 30, TextReason::DuplicateKey);
    check::<Names>(r#"{1:1}"#, 1, unexpected(Expected::Key));
    check::<Numbers>(r#"{"1":1}"#, 1, unexpected(Expected::Integer));
}

#[test]
fn k13_tags_are_strict() {
    check::<f64>(r#"{"$rdm":"negative"}"#, 8, TextReason::UnknownTag);
    check::<Names>(r#"{"$rdm":"frob"}"#, 8, TextReason::UnknownTag);
    check::<IgnoredAny>(r#"{"$rdm":"","value":1}"#, 8, TextReason::UnknownTag);
    check::<f64>(r#"{"$rdm":1}"#, 8, TextReason::MalformedTag);
    check::<f64>(r#"{"$rdm":"nan","value":1}"#, 13, TextReason::MalformedTag);
    check::<u64>(r#"{"$rdm":"bigint"}"#, 16, TextReason::MalformedTag);
    check::<u64>(r#"{"$rdm":"bigint","value":1}"#, 25, TextReason::MalformedTag);
    check::<u64>(r#"{"$rdm":"bigint","value":"09007199254740993"}"#, 25, TextReason::MalformedTag);
    check::<u64>(r#"{"$rdm":"bigint","value":"9007199254740993","x":1}"#, 43, TextReason::MalformedTag);
    for digits in ["0", "0g", "0A", "0é"] {
        check::<Blob>(&[r#"{"$rdm":"bytes","value":""#, digits, "\"}"].concat(), 24, TextReason::MalformedTag);
    }
    check::<Numbers>(r#"{"$rdm":"map","value":{}}"#, 22, TextReason::MalformedTag);
    check::<Numbers>(r#"{"$rdm":"map","value":[1]}"#, 23, unexpected(Expected::Punctuation('[')));
    check::<Numbers>(r#"{"$rdm":"map","value":[[1,2,3]]}"#, 27, unexpected(Expected::Punctuation(']')));
    // A tag that belongs to another type.
    check::<f64>(r#"{"$rdm":"bytes","value":"00"}"#, 0, unexpected(Expected::Float));
    check::<u8>(r#"{"$rdm":"nan"}"#, 0, unexpected(Expected::Integer));
    check::<Names>(r#"{"$rdm":"nan"}"#, 0, unexpected(Expected::Map));
    check::<Point>(r#"{"$rdm":"nan"}"#, 0, unexpected(Expected::Object));
    check::<Key>(r#"{"$rdm":"nan"}"#, 0, unexpected(Expected::Variant));
    // A tag where none is needed.
    check::<u64>(r#"{"$rdm":"bigint","value":"9007199254740992"}"#, 0, TextReason::NeedlessTag);
    check::<(Names,)>(r#"[{"$rdm":"map","value":[["a",1]]}]"#, 1, TextReason::NeedlessTag);
    check::<Numbers>(r#"{"$rdm":"map","value":[]}"#, 0, TextReason::NeedlessTag);
    check::<Option<u8>>(r#"{"$rdm":"some","value":1}"#, 0, TextReason::NeedlessTag);
    check::<IgnoredAny>(r#"{"$rdm":"some","value":1}"#, 0, TextReason::NeedlessTag);
    // The key of a tag anywhere else.
    check::<Names>(r#"{"!":1,"$rdm":2}"#, 7, TextReason::ReservedKey);
    let pairs = r#"{"$rdm":"map","value":[["$rdm",1],[{"At":1},1]]}"#;
    check::<BTreeMap<Renamed, u8>>(pairs, 24, TextReason::ReservedKey);
}

#[test]
fn k13_the_type_says_what_stands_where() {
    check::<bool>("1", 0, unexpected(Expected::Boolean));
    check::<()>("false", 0, unexpected(Expected::Null));
    check::<String>("1", 0, unexpected(Expected::Text));
    check::<Blob>("[1]", 0, unexpected(Expected::Bytes));
    check::<Vec<u8>>("{}", 0, unexpected(Expected::Array));
    check::<Point>("[1,2]", 0, unexpected(Expected::Object));
    check::<Names>("[]", 0, unexpected(Expected::Map));
    check::<IgnoredAny>("x", 0, unexpected(Expected::Value));
    check::<Vec<u8>>("[1;2]", 2, unexpected(Expected::CommaOr(']')));
    check::<Vec<u8>>("[1,]", 3, unexpected(Expected::Integer));
    check::<Vec<u8>>("[,1]", 1, unexpected(Expected::Integer));
    check::<Names>(r#"{"a",1}"#, 4, unexpected(Expected::Punctuation(':')));
    check::<(u8, u8)>("[1]", 2, TextReason::TooFewElements { expected: 2 });
    check::<(u8, u8)>("[1,2,3]", 4, TextReason::UnreadElements);
    check::<[u8; 0]>("[1]", 1, TextReason::UnreadElements);
    check::<Point>(r#"{"x":1}"#, 6, TextReason::MissingField { name: "y" });
    check::<Point>("{}", 1, TextReason::MissingField { name: "x" });
    check::<Point>(r#"{"x":1,"y":2,"z":3}"#, 13, TextReason::UnknownField);
    check::<Key>(r#""South""#, 0, TextReason::UnknownVariant);
    check::<Key>(r#"{"South":1}"#, 1, TextReason::UnknownVariant);
    check::<(Key,)>(r#"["At"]"#, 1, unexpected(Expected::ContentVariant));
    check::<(Key,)>(r#"[{"North":null}]"#, 1, unexpected(Expected::UnitVariant));
    check::<Key>(r#"{"At":1,"Pair":1}"#, 7, unexpected(Expected::Punctuation('}')));
    check::<Key>(r#"{"Pair":["a"]}"#, 12, TextReason::TooFewElements { expected: 2 });
    check::<Key>(r#"{"Named":{"left":null}}"#, 21, TextReason::MissingField { name: "right" });

    #[derive(Debug, Deserialize)]
    struct Lenient {
        #[serde(default, alias = "other")]
        _name: u8,
    }
    // A second name and a default would make two texts of one value.
    check::<Lenient>(r#"{"other":1}"#, 10, TextReason::MissingField { name: "_name" });
    check::<Lenient>("{}", 1, TextReason::MissingField { name: "_name" });
}

#[derive(Debug, Serialize, Deserialize)]
struct Marked {
    #[serde(with = "canonical_set")]
    set: HashSet<u16>,
}

#[test]
fn k13_sets_keep_their_tag_and_order() {
    check::<Marked>(r#"{"set":[1,2]}"#, 7, unexpected(Expected::Set));
    check::<Marked>(r#"{"set":{"$rdm":"map","value":[1,2]}}"#, 7, unexpected(Expected::Set));
    check::<Vec<u16>>(r#"{"$rdm":"set","value":[1]}"#, 0, unexpected(Expected::Array));
    for text in [r#"{"set":{"$rdm":"set","value":[1,256]}}"#, r#"{"set":{"$rdm":"set","value":[1,1]}}"#] {
        assert!(words(&from_text::<Marked>(text).unwrap_err()).contains("canonical order"));
    }
    check::<Marked>(r#"{"set":{"$rdm":"set","value":[1],"x":1}}"#, 32, TextReason::MalformedTag);
    let refusal = TextError { offset: 1, reason: TextReason::NotCanonical };
    assert_eq!(from_text_canonical::<BTreeSet<u8>>("[2,1]"), Err(refusal));
}

#[derive(PartialEq, Debug, Serialize, Deserialize)]
struct Chain(Vec<Chain>);

#[test]
fn k13_nesting_ends_where_it_does_in_the_binary_form() {
    use crate::codec::canonical::encode;
    let chain = |links: usize| (0..links).fold(Chain(vec![]), |inner, _| Chain(vec![inner]));
    // A link is a newtype and a sequence.
    let text = to_text(&chain(63)).unwrap();
    assert_eq!(from_text(&text), Ok(chain(63)));
    assert_eq!(encode(&chain(64)).unwrap_err(), to_text(&chain(64)).unwrap_err());
    check::<Chain>(&["[", &text, "]"].concat(), 64, TextReason::TooDeep);
    check::<Chain>(&"[".repeat(100_000), 64, TextReason::TooDeep);
    check::<IgnoredAny>(&"[".repeat(100_000), 128, TextReason::TooDeep);
    check::<IgnoredAny>(&r#"{"a":"#.repeat(100_000), 128 * 5, TextReason::TooDeep);
    check::<IgnoredAny>(&r#"{"$rdm":"some","value":"#.repeat(100_000), 129 * 23, TextReason::TooDeep);
    check::<IgnoredAny>(&r#"{"$rdm":"map","value":[["#.repeat(100_000), 128 * 24, TextReason::TooDeep);

    #[derive(PartialEq, Debug, Serialize, Deserialize)]
    enum Level {
        Leaf,
        New(Box<Level>),
        Tuple(Box<Level>, u8),
        Named { inner: Box<Level> },
        Map(BTreeMap<u8, Level>),
        Some(Option<Box<Level>>),
        Point(Pair),
    }
    #[derive(PartialEq, Debug, Serialize, Deserialize)]
    struct Pair(Box<Level>, u8);
    type Wrap = fn(Level) -> Level;
    let kinds: [(Wrap, usize); 6] = [
        (|inner| Level::New(Box::new(inner)), 1),
        (|inner| Level::Tuple(Box::new(inner), 9), 1),
        (|inner| Level::Named { inner: Box::new(inner) }, 1),
        (|inner| Level::Map([(7, inner)].into()), 2),
        (|inner| Level::Some(Some(Box::new(inner))), 2),
        (|inner| Level::Point(Pair(Box::new(inner), 9)), 2),
    ];
    for (wrap, levels) in kinds {
        let deepest = || (0..128 / levels).fold(Level::Leaf, |inner, _| wrap(inner));
        let text = to_text(&deepest()).unwrap();
        assert_eq!(from_text(&text), Ok(deepest()));
        assert_eq!(encode(&wrap(deepest())).unwrap_err().reason, EncodeReason::TooDeep);
        assert_eq!(to_text(&wrap(deepest())).unwrap_err().reason, EncodeReason::TooDeep);
        let around = to_text(&wrap(Level::Leaf)).unwrap().replace("\"Leaf\"", &text);
        assert_eq!(from_text::<Level>(&around).unwrap_err().reason, TextReason::TooDeep, "{around}");
    }
}

#[test]
fn k13_a_type_that_reads_too_little_is_no_way_around_the_form() {
    #[derive(Debug)]
    struct Nothing;
    impl<'de> Deserialize<'de> for Nothing {
        fn deserialize<D: Deserializer<'de>>(_: D) -> Result<Nothing, D::Error> {
            Ok(Nothing)
        }
    }
    #[derive(Debug)]
    struct OneOfTwo;
    impl<'de> Deserialize<'de> for OneOfTwo {
        fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<OneOfTwo, D::Error> {
            struct One;
            impl<'de> Visitor<'de> for One {
                type Value = OneOfTwo;
                fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                    f.write_str("one element")
                }
                fn visit_seq<A: SeqAccess<'de>>(self, mut elements: A) -> Result<OneOfTwo, A::Error> {
                    elements.next_element::<u8>().map(|_| OneOfTwo)
                }
            }
            deserializer.deserialize_tuple(2, One)
        }
    }
    check::<OneOfTwo>("[1]", 3, TextReason::TooFewElements { expected: 2 });
    check::<OneOfTwo>("[1,2]", 2, TextReason::UnreadElements);
    check::<Nothing>("1", 0, TextReason::TrailingText);
    check::<Vec<Nothing>>("[1]", 1, unexpected(Expected::CommaOr(']')));
    check::<BTreeMap<Wrapped, Nothing>>(
        r#"{"$rdm":"map","value":[[1,2]]}"#,
        26,
        unexpected(Expected::Punctuation(']')),
    );
    check::<Option<Nothing>>("1", 0, TextReason::TrailingText);
    check::<Option<Nothing>>(r#"{"$rdm":"some","value":null}"#, 0, TextReason::NeedlessTag);
}

#[test]
fn k13_errors_of_text_say_where_and_why() {
    let shown = |text: &str| from_text::<(u8, bool)>(text).unwrap_err().to_string();
    assert_eq!(shown("[1"), "at byte 2: the text ends within a value");
    assert_eq!(shown("[1,2]"), "at byte 3: a boolean should stand here");
    assert_eq!(shown("[1:true]"), "at byte 2: a comma or ] should stand here");
    assert_eq!(shown("[1,true]]"), "at byte 8: text after the value");
}
