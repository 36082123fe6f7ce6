//! The canonical text form of states and configs (K13): JSON that people can read and other languages can parse, from which
//! the exact value comes back.
//!
//! A value has one text, as it has one [binary form](super::canonical), and shows itself to both in the same way: what one
//! form is made of can be made from the other. There is no white space, and:
//!
//! | value | text |
//! |---|---|
//! | boolean, unit, `None` | `true`, `null`, `null` |
//! | integer up to 2^53 in magnitude | `-7` |
//! | integer beyond 2^53, of any width | `{"$rdm":"bigint","value":"9007199254740993"}` |
//! | float | the shortest decimal of its own width that reads back, as `{:?}` writes it: `0.1`, `1.0`, `1e16`, `5e-324` |
//! | -0.0, NaN, infinities | `{"$rdm":"negative-zero"}`, `nan`, `infinity`, `negative-infinity` |
//! | text, `char` | a string; only `"`, `\` and control characters are escaped, the short way if there is one |
//! | bytes (serde's, not a list of `u8`) | `{"$rdm":"bytes","value":"00ff"}`, in lower-case hexadecimal digits |
//! | list, tuple | `[1,2]` |
//! | set marked as a [`canonical_set`] | `{"$rdm":"set","value":[1,2]}`, in the order of the canonical bytes |
//! | struct | an object |
//! | map whose keys are all written as strings | an object |
//! | map with another key | `{"$rdm":"map","value":[[1,"a"],[2,"b"]]}` |
//! | `Some` | its content; `{"$rdm":"some","value":null}` around what is itself `null` or tagged so |
//! | newtype | its content |
//! | variant | `"Unit"`, `{"Newtype":1}`, `{"Tuple":[1,2]}`, `{"Struct":{"field":1}}` |
//!
//! A float always has a fraction or an exponent, and an integer never does. The keys of an object ascend by their
//! characters' code points, the keys of a tagged map by the bytes of their own text, so that the order can be checked without
//! the type. No key, field or variant with content may be named `$rdm`. Values nest at most
//! [`MAX_DEPTH`](super::canonical::MAX_DEPTH) levels deep, counted as in the binary form.
//!
//! The reader takes what the writer writes and nothing else, as far as it can see from the text and the questions that the
//! type asks. It can't see through a type that reads several forms as one value, such as an unmarked `BTreeSet`, whose
//! list may stand in any order, or a variant with an alias; [`from_text_canonical`] compares.
//!
//! Types that ask the text what it holds (untagged and internally tagged enums, flattened fields, values of any type) get
//! what JSON shows: `null` as a unit, integers as 64 bits if they fit, floats as `f64`, strings, lists and maps. A `char`
//! comes as a string, and an `f32` by way of `f64`. Read those with [`from_text_canonical`] too. Enums that are adjacently
//! tagged are read if no variant is without content. Strings with escapes, and bytes, can't be borrowed.
//!
//! ```
//! use retick_core::codec::text::{from_text, from_text_canonical, to_text};
//!
//! let state = (u64::MAX, 0.1f32, f64::NAN, Some(()));
//! let text = to_text(&state)?;
//! assert!(text.starts_with(r#"[{"$rdm":"bigint","value":"18446744073709551615"},0.1,{"$rdm":"nan"},"#));
//! let back: (u64, f32, f64, Option<()>) = from_text(&text)?;
//! assert_eq!((back.0, back.1, back.2.is_nan(), back.3), (u64::MAX, 0.1, true, Some(())));
//! // There is one text for a value: white space is none of it.
//! assert!(from_text_canonical::<(u8, u8)>("[1, 2]").is_err());
//! # Ok::<(), Box<dyn core::error::Error>>(())
//! ```

mod access;
mod any;
mod de;
mod error;
mod input;
mod number;
mod object;
mod ser;
mod string;
mod tag;
#[cfg(test)]
#[expect(clippy::disallowed_types, reason = "sets without an order are part of what is tested")]
mod tests;

use alloc::string::String;

use serde::{Deserialize, Serialize};

use super::canonical::first_difference;
#[cfg(doc)]
use super::canonical::{EncodeReason, canonical_set};

pub use super::canonical::EncodeError;
pub use error::{Expected, TextError, TextReason};

/// The canonical text of `value` (K13).
///
/// ```
/// use std::collections::BTreeMap;
/// use retick_core::codec::text::to_text;
///
/// #[derive(serde::Serialize)]
/// struct State {
///     tick: u64,
///     drift: f64,
///     owners: BTreeMap<u8, &'static str>,
/// }
///
/// let state = State { tick: 9_007_199_254_740_993, drift: -0.0, owners: [(2, "b"), (1, "a")].into() };
/// let text = [
///     r#"{"drift":{"$rdm":"negative-zero"},"#,
///     r#""owners":{"$rdm":"map","value":[[1,"a"],[2,"b"]]},"#,
///     r#""tick":{"$rdm":"bigint","value":"9007199254740993"}}"#,
/// ];
/// assert_eq!(to_text(&state)?, text.concat());
///
/// // The key by which tags are known is refused, with its path.
/// let error = to_text(&[BTreeMap::from([("$rdm", 1)])]).unwrap_err();
/// assert_eq!(error.path, r#"0["$rdm"]"#);
/// # Ok::<(), Box<dyn core::error::Error>>(())
/// ```
///
/// # Errors
///
/// [`EncodeError`], with the path of the value that has no canonical text: all that has no binary form, save that elements
/// without bytes aren't counted; and [`EncodeReason::ReservedKey`].
pub fn to_text<T: Serialize + ?Sized>(value: &T) -> Result<String, EncodeError> {
    let mut text = String::new();
    value.serialize(ser::Encoder::new(&mut text))?;
    Ok(text)
}

/// The value with this canonical text, all of it (K13). Strings without escapes may borrow from `text`.
///
/// ```
/// use retick_core::codec::text::{TextReason, from_text};
///
/// let value: (f32, Option<u64>) = from_text(r#"[0.33333334,{"$rdm":"bigint","value":"9007199254740993"}]"#)?;
/// assert_eq!(value, (1.0 / 3.0, Some(9_007_199_254_740_993)));
///
/// // What would be another form of the same value is refused where it differs.
/// let error = from_text::<(f32, Option<u64>)>("[0.50,null]").unwrap_err();
/// assert_eq!((error.offset, error.reason), (1, TextReason::NonCanonicalNumber));
/// # Ok::<(), Box<dyn core::error::Error>>(())
/// ```
///
/// # Errors
///
/// [`TextError`], with the offset at which reading stopped.
pub fn from_text<'de, T: Deserialize<'de>>(text: &'de str) -> Result<T, TextError> {
    de::from_text(text)
}

/// As [`from_text`], and proves that `text` is the form that [`to_text`] gives the value (K13).
///
/// ```
/// use std::collections::BTreeSet;
/// use retick_core::codec::text::{TextReason, from_text, from_text_canonical};
///
/// // serde doesn't say that this list is a set, so only writing it again shows that it is out of order.
/// assert!(from_text::<BTreeSet<u8>>("[2,1]").is_ok());
/// let error = from_text_canonical::<BTreeSet<u8>>("[2,1]").unwrap_err();
/// assert_eq!((error.offset, error.reason), (1, TextReason::NotCanonical));
/// ```
///
/// # Errors
///
/// [`TextError`]; [`TextReason::NotCanonical`] stands at the first offset that differs.
pub fn from_text_canonical<'de, T: Serialize + Deserialize<'de>>(text: &'de str) -> Result<T, TextError> {
    let value = from_text::<T>(text)?;
    let again = to_text(&value).map_err(|error| TextError { offset: 0, reason: error.into() })?;
    match first_difference(text.as_bytes(), again.as_bytes()) {
        None => Ok(value),
        Some(offset) => Err(TextError { offset, reason: TextReason::NotCanonical }),
    }
}
