//! The canonical binary form of states and configs (K13): equal values have equal bytes, everywhere.
//!
//! The bytes are those of bincode 2's fixed-width little-endian configuration (`bincode::config::legacy()`): integers and
//! floats at their own width, `u64` lengths, `u32` variant numbers, one byte for a boolean and for the tag of an `Option`,
//! a `char` as its UTF-8 bytes. Writer and reader are our own, because bincode's serde layer keeps the payload of a NaN,
//! writes a hash map in iteration order, and reserves whatever a length claims. What they add to the format:
//!
//! - a NaN of either width is written as the quiet NaN without payload or sign; -0.0 stays -0.0;
//! - map entries are in ascending order of their keys' encoded bytes, and a key stands once;
//! - lengths are those of what was written, whether or not the value announced them;
//! - values nest at most [`MAX_DEPTH`] deep, and elements that take no bytes number at most [`MAX_EMPTY_ELEMENTS`].
//!
//! The reader refuses every form that the writer can't have produced, as far as it can see. serde shows a set as a plain
//! sequence, so the order of a hash set can't be seen from here: mark such fields with
//! `#[serde(with = "retick_core::codec::canonical::canonical_set")]`. Values that merely pass [`decode`] may still have
//! another canonical form (a sorted set read from unsorted bytes); [`decode_canonical`] compares.
//!
//! ```
//! use std::collections::BTreeMap;
//!
//! use retick_core::codec::canonical::{decode, decode_canonical, encode};
//!
//! let scores = BTreeMap::from([("ann", 3u32), ("bo", 5)]);
//! let bytes = encode(&scores)?;
//! assert_eq!(decode::<BTreeMap<&str, u32>>(&bytes)?, scores);
//! // Two NaNs are one value; so they have one form.
//! assert_eq!(encode(&f64::NAN)?, encode(&-f64::from_bits(0x7FF8_0000_0000_0001))?);
//! // What the writer would not have written is refused where it begins.
//! let longer = [bytes.as_slice(), &[0]].concat();
//! assert_eq!(decode_canonical::<BTreeMap<&str, u32>>(&longer).map_err(|error| error.offset), Err(bytes.len()));
//! # Ok::<(), Box<dyn core::error::Error>>(())
//! ```

mod de;
mod ser;

use alloc::vec::Vec;

use serde::{Deserialize, Serialize};

pub use de::{DecodeError, DecodeReason};
pub use ser::{EncodeError, EncodeReason};
pub(in crate::codec) use ser::{Failure as EncodeFailure, Segment};

/// Most levels that values nest: a sequence, map, tuple, struct, newtype, `Some` or variant with content is one (K13). It
/// keeps recursive types from exhausting the stack, in both directions.
pub const MAX_DEPTH: u32 = 128;

/// Most elements of sequences and entries of maps that take no bytes, in one value (K13). All others are paid for by bytes
/// of the input; these aren't, so that a reader needs a bound of its own, and the writer keeps to it.
pub const MAX_EMPTY_ELEMENTS: u32 = 65_536;

/// The canonical bytes of `value` (K13).
///
/// # Errors
///
/// [`EncodeError`], with the path of the value that has no canonical form.
pub fn encode<T: Serialize + ?Sized>(value: &T) -> Result<Vec<u8>, EncodeError> {
    let mut bytes = Vec::new();
    encode_into(value, &mut bytes)?;
    Ok(bytes)
}

/// Appends the canonical bytes of `value` to `out` (K13). Only maps and [`canonical_set`]s allocate when `out` has room.
///
/// # Errors
///
/// [`EncodeError`], with the path of the value that has no canonical form; `out` is as before.
pub fn encode_into<T: Serialize + ?Sized>(value: &T, out: &mut Vec<u8>) -> Result<(), EncodeError> {
    let length_before = out.len();
    let mut empty_elements = 0;
    value.serialize(ser::Encoder::new(out, &mut empty_elements)).map_err(|failure| {
        out.truncate(length_before);
        failure.into()
    })
}

/// The value with these canonical bytes, all of them (K13). Strings and byte slices may borrow from `bytes`, and nothing is
/// reserved for what a length merely claims.
///
/// # Errors
///
/// [`DecodeError`], with the offset at which reading stopped.
pub fn decode<'de, T: Deserialize<'de>>(bytes: &'de [u8]) -> Result<T, DecodeError> {
    de::decode(bytes)
}

/// As [`decode`], and proves that `bytes` is the form that [`encode`] gives the value (K13).
///
/// # Errors
///
/// [`DecodeError`]; [`DecodeReason::NotCanonical`] stands at the first offset that differs.
pub fn decode_canonical<'de, T: Serialize + Deserialize<'de>>(bytes: &'de [u8]) -> Result<T, DecodeError> {
    let value = decode::<T>(bytes)?;
    let mut again = Vec::with_capacity(bytes.len());
    encode_into(&value, &mut again).map_err(|error| DecodeError { offset: 0, reason: error.into() })?;
    match first_difference(bytes, &again) {
        None => Ok(value),
        Some(offset) => Err(DecodeError { offset, reason: DecodeReason::NotCanonical }),
    }
}

pub(in crate::codec) fn first_difference(left: &[u8], right: &[u8]) -> Option<usize> {
    let common = left.iter().zip(right).take_while(|(left, right)| left == right).count();
    (common < left.len().max(right.len())).then_some(common)
}

/// For `#[serde(with = "retick_core::codec::canonical::canonical_set")]` on a field that holds a hash set (K13).
///
/// serde shows a set as a plain sequence, so no serializer can see that its order means nothing. This writes the elements in
/// ascending order of their canonical bytes, to whichever serializer, and refuses any other order when reading. A `BTreeSet`
/// is in order already and doesn't need it in the binary form; in the [text](super::text) form, the mark is what makes a
/// set of either kind a set, and not a list. To serde, a marked set is a newtype around a sequence.
pub mod canonical_set {
    use alloc::vec::Vec;
    use core::fmt;
    use core::marker::PhantomData;

    use serde::de::{Deserialize, Deserializer, Error as _, SeqAccess, Visitor};
    use serde::ser::{Error as _, Serialize, Serializer};

    use super::{encode, encode_into};

    /// The name of the newtype, by which the text form knows a set.
    pub(in crate::codec) const NEWTYPE: &str = "retick canonical set";

    /// Writes the elements of `set` in the order of their canonical bytes.
    ///
    /// # Errors
    ///
    /// The serializer's own error; also for an element that has no canonical form, and for two elements with one form.
    pub fn serialize<'set, S, C>(set: &'set C, serializer: S) -> Result<S::Ok, S::Error>
    where
        S: Serializer,
        &'set C: IntoIterator<Item: Serialize>,
    {
        let mut bytes = Vec::new();
        let mut elements = Vec::new();
        for element in set {
            let start = bytes.len();
            encode_into(&element, &mut bytes).map_err(S::Error::custom)?;
            elements.push((start, bytes.len(), element));
        }
        elements.sort_unstable_by(|left, right| bytes[left.0..left.1].cmp(&bytes[right.0..right.1]));
        if elements.windows(2).any(|pair| bytes[pair[0].0..pair[0].1] == bytes[pair[1].0..pair[1].1]) {
            return Err(S::Error::custom("two elements of a set have the same canonical form"));
        }
        serializer.serialize_newtype_struct(NEWTYPE, &Sorted(elements))
    }

    /// Elements in order, after where their bytes begin and end.
    struct Sorted<T>(Vec<(usize, usize, T)>);

    impl<T: Serialize> Serialize for Sorted<T> {
        fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
            serializer.collect_seq(self.0.iter().map(|(_, _, element)| element))
        }
    }

    /// Reads a set whose elements stand in the order of their canonical bytes.
    ///
    /// # Errors
    ///
    /// The deserializer's own error; also for elements in another order, and for one that stands twice.
    pub fn deserialize<'de, D, C>(deserializer: D) -> Result<C, D::Error>
    where
        D: Deserializer<'de>,
        C: IntoIterator + FromIterator<<C as IntoIterator>::Item>,
        C::Item: Serialize + Deserialize<'de>,
    {
        deserializer.deserialize_newtype_struct(NEWTYPE, Ascending(PhantomData))
    }

    struct Ascending<C>(PhantomData<C>);

    impl<'de, C> Visitor<'de> for Ascending<C>
    where
        C: IntoIterator + FromIterator<<C as IntoIterator>::Item>,
        C::Item: Serialize + Deserialize<'de>,
    {
        type Value = C;

        fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str("a set in canonical order")
        }

        fn visit_newtype_struct<D: Deserializer<'de>>(self, deserializer: D) -> Result<C, D::Error> {
            deserializer.deserialize_seq(self)
        }

        fn visit_seq<A: SeqAccess<'de>>(self, mut elements: A) -> Result<C, A::Error> {
            let mut previous: Option<Vec<u8>> = None;
            let mut check = |element: C::Item| {
                let bytes = encode(&element).map_err(A::Error::custom)?;
                if previous.as_ref().is_some_and(|previous| *previous >= bytes) {
                    return Err(A::Error::custom("the elements of a set are not in canonical order"));
                }
                previous = Some(bytes);
                Ok(element)
            };
            core::iter::from_fn(|| match elements.next_element() {
                Ok(element) => element.map(&mut check),
                Err(error) => Some(Err(error)),
            })
            .collect()
        }
    }
}

#[cfg(test)]
#[expect(clippy::disallowed_types, reason = "sets without an order are what is tested")]
mod tests {
    use alloc::collections::{BTreeMap, BTreeSet};
    use alloc::string::{String, ToString};
    use alloc::vec;
    use std::collections::HashSet;

    use super::*;

    #[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
    struct Unit;

    #[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
    struct Wrapped(u16);

    #[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
    enum Shape {
        Nothing,
        One(Option<Wrapped>),
        Two(i8, char),
        Named { left: i128, right: u128 },
    }

    #[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
    struct Varied {
        flags: (bool, bool, Unit, ()),
        small: (u8, i8, u16, i16, u32, i32),
        exact: Vec<u64>,
        lowest: i64,
        floats: Vec<f64>,
        singles: [f32; 4],
        texts: Vec<String>,
        letters: Vec<char>,
        empty: Vec<u32>,
        none: Option<u32>,
        shapes: Vec<Shape>,
        place: usize,
    }

    fn varied() -> Varied {
        Varied {
            flags: (true, false, Unit, ()),
            small: (200, -100, 60_000, -30_000, 4_000_000_000, -2_000_000_000),
            exact: vec![9_007_199_254_740_993, u64::MAX, 0],
            lowest: i64::MIN,
            floats: vec![0.1, -0.0, 1.0 / 3.0, f64::MIN_POSITIVE / 2.0, f64::INFINITY, f64::NEG_INFINITY, f64::MAX],
            singles: [0.1, -0.0, f32::MIN_POSITIVE / 2.0, f32::NEG_INFINITY],
            texts: vec!["a\0b".into(), String::new(), "x".repeat(65_536), "\u{10ffff}é".into()],
            letters: vec!['a', 'é', '€', '\u{10ffff}', '\0'],
            empty: vec![],
            none: None,
            shapes: vec![
                Shape::Nothing,
                Shape::One(None),
                Shape::One(Some(Wrapped(7))),
                Shape::Two(-1, 'z'),
                Shape::Named { left: i128::MIN, right: u128::MAX },
            ],
            place: 3,
        }
    }

    #[test]
    fn k13_the_bytes_are_those_of_bincode_fixed_width() {
        let theirs = bincode::serde::encode_to_vec(varied(), bincode::config::legacy()).unwrap();
        assert_eq!(encode(&varied()).unwrap(), theirs);
        let form = (Some(1_u16), "ab", -0.0_f32, 'é', Shape::Two(-1, 'z'));
        let golden = b"\x01\x01\0\x02\0\0\0\0\0\0\0ab\0\0\0\x80\xc3\xa9\x02\0\0\0\xffz";
        assert_eq!(encode(&form).unwrap(), golden);
    }

    #[test]
    fn k13_a_value_comes_back_a_thousand_times_with_the_same_bytes() {
        let first = encode(&varied()).unwrap();
        let mut bytes = first.clone();
        for _ in 0..1_000 {
            let value: Varied = decode_canonical(&bytes).unwrap();
            bytes = encode(&value).unwrap();
            assert!(bytes == first);
        }
        let value: Varied = decode(&bytes).unwrap();
        assert_eq!(value, varied());
        assert!(value.floats[1].is_sign_negative() && value.singles[1].is_sign_negative());
    }

    #[test]
    fn k13_encode_into_appends_and_leaves_no_trace_of_a_refusal() {
        let mut out = vec![1, 2, 3];
        encode_into(&0x0504_u16, &mut out).unwrap();
        assert_eq!(out, [1, 2, 3, 4, 5]);
        let endless = vec![(); 65_537];
        assert!(encode_into(&(9_u8, endless), &mut out).is_err());
        assert_eq!(out, [1, 2, 3, 4, 5]);
    }

    #[test]
    fn k13_another_form_of_a_set_is_refused_where_it_first_differs() {
        let sorted: BTreeSet<u16> = [1, 2].into();
        let bytes = encode(&sorted).unwrap();
        assert_eq!(decode_canonical(&bytes), Ok(sorted));
        let swapped = encode(&[2_u16, 1][..]).unwrap();
        let refusal = DecodeError { offset: 8, reason: DecodeReason::NotCanonical };
        assert_eq!(decode_canonical::<BTreeSet<u16>>(&swapped), Err(refusal));
        // The set is then one element shorter, and the length is what differs.
        let twice = encode(&[1_u16, 1][..]).unwrap();
        assert_eq!(decode_canonical::<BTreeSet<u16>>(&twice).unwrap_err().offset, 0);
    }

    #[test]
    fn k13_a_form_that_goes_on_or_ends_early_is_another_form() {
        #[derive(PartialEq, Debug, Serialize, Deserialize)]
        struct Doubled(#[serde(serialize_with = "twice")] u8);
        fn twice<S: serde::Serializer>(value: &u8, serializer: S) -> Result<S::Ok, S::Error> {
            (value, value).serialize(serializer)
        }
        #[derive(PartialEq, Debug, Serialize, Deserialize)]
        struct Halved(#[serde(deserialize_with = "half")] u8);
        fn half<'de, D: serde::Deserializer<'de>>(deserializer: D) -> Result<u8, D::Error> {
            <(u8, u8)>::deserialize(deserializer).map(|(first, _)| first)
        }
        let refusal = DecodeError { offset: 1, reason: DecodeReason::NotCanonical };
        assert_eq!(decode_canonical::<Doubled>(&[7]), Err(refusal.clone()));
        assert_eq!(decode_canonical::<Halved>(&[7, 7]), Err(refusal));
    }

    #[test]
    fn k13_what_was_read_but_has_no_form_is_refused() {
        #[derive(PartialEq, Debug, Serialize, Deserialize)]
        struct Silent(#[serde(serialize_with = "refuse")] u8);
        fn refuse<S: serde::Serializer>(_: &u8, _: S) -> Result<S::Ok, S::Error> {
            Err(serde::ser::Error::custom("not today"))
        }
        let error = EncodeError { path: String::from("1"), reason: EncodeReason::Custom("not today".into()) };
        let refusal = DecodeError { offset: 0, reason: DecodeReason::Unencodable(error) };
        assert_eq!(decode::<(u8, Silent)>(&[1, 7]), Ok((1, Silent(7))));
        assert_eq!(decode_canonical::<(u8, Silent)>(&[1, 7]), Err(refusal));
    }

    #[derive(PartialEq, Debug, Serialize, Deserialize)]
    struct Holder {
        #[serde(with = "canonical_set")]
        visited: HashSet<u32>,
    }

    #[test]
    fn k13_marked_hash_sets_are_sorted_whatever_their_order() {
        let sorted: Vec<u32> = vec![0x0100, 1, 0x0201, 2, 3];
        for turn in 0..32 {
            // Every set has hash keys of its own, so that the orders differ from turn to turn.
            let holder = Holder { visited: sorted.iter().copied().collect() };
            let bytes = encode(&holder).unwrap();
            assert_eq!(bytes, encode(&sorted).unwrap(), "turn {turn}");
            assert_eq!(decode_canonical(&bytes), Ok(holder));
        }
        for bad in [&[1_u32, 0x0100][..], &[1, 1]] {
            let error = decode::<Holder>(&encode(bad).unwrap()).unwrap_err();
            assert!(matches!(&error.reason, DecodeReason::Custom(text) if text.contains("canonical order")), "{error}");
        }
    }

    #[test]
    fn k13_a_set_whose_elements_share_a_form_is_refused() {
        #[derive(PartialEq, Eq, Hash)]
        struct Blurred(u8);
        impl Serialize for Blurred {
            fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.serialize_u8(0)
            }
        }
        #[derive(Serialize)]
        struct Set {
            #[serde(serialize_with = "canonical_set::serialize")]
            blurred: HashSet<Blurred>,
        }
        assert!(encode(&Set { blurred: [Blurred(1)].into() }).is_ok());
        let error = encode(&Set { blurred: [Blurred(1), Blurred(2)].into() }).unwrap_err();
        assert_eq!(error.path, "blurred");
    }

    #[test]
    fn k13_maps_of_every_origin_have_one_form() {
        let ascending: BTreeMap<u16, &str> = [(1, "one"), (0x0100, "256"), (2, "two")].into();
        let bytes = encode(&ascending).unwrap();
        // 0x0100 is the bytes 00 01, which come before 01 00.
        let entries: [(u16, &str); 3] = [(0x0100, "256"), (1, "one"), (2, "two")];
        let mut expected = 3_u64.to_le_bytes().to_vec();
        encode_into(&entries, &mut expected).unwrap();
        assert_eq!(bytes, expected);
        assert_eq!(decode_canonical(&bytes), Ok(ascending));
    }

    #[test]
    fn k13_errors_say_where_and_why() {
        let error = decode::<u32>(&[1, 2]).unwrap_err();
        assert_eq!(error.to_string(), "at byte 0: the bytes end within a value");
        let error = encode(&(vec![(); 65_537],)).unwrap_err();
        assert_eq!(error.to_string(), "0[65536] is refused: more than 65536 elements that take no bytes");
    }
}
