//! Numbers of the text form. A literal is the form of a number if writing the number gives the literal.

use alloc::format;
use core::fmt::Debug;
use core::str::FromStr;

/// The greatest magnitude of an integer that stands as a plain number (K13): up to it, every reader of JSON is exact.
pub(super) const MAX_PLAIN_INTEGER: u64 = 1 << 53;

/// An integer of any width.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Integer {
    /// From zero on.
    Natural(u128),
    /// Below zero.
    Negative(i128),
}

impl Integer {
    pub(super) fn is_plain(self) -> bool {
        let magnitude = match self {
            Integer::Natural(value) => value,
            Integer::Negative(value) => value.unsigned_abs(),
        };
        magnitude <= u128::from(MAX_PLAIN_INTEGER)
    }

    /// The value in a type that holds it.
    pub(super) fn narrow<T: TryFrom<u128> + TryFrom<i128>>(self) -> Option<T> {
        match self {
            Integer::Natural(value) => T::try_from(value).ok(),
            Integer::Negative(value) => T::try_from(value).ok(),
        }
    }
}

macro_rules! from_integers {
    ($($type:ty),*) => {
        $(impl From<$type> for Integer {
            fn from(value: $type) -> Integer {
                match u128::try_from(value) {
                    Ok(value) => Integer::Natural(value),
                    Err(_) => Integer::Negative(i128::try_from(value).unwrap_or(i128::MIN)),
                }
            }
        })*
    };
}

from_integers!(i8, i16, i32, i64, i128, u8, u16, u32, u64);

impl From<u128> for Integer {
    fn from(value: u128) -> Integer {
        Integer::Natural(value)
    }
}

/// Why digits are no integer.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum IntegerRefusal {
    /// A sign of zero, a leading zero, or no digits.
    Form,
    /// More than 128 bits.
    Range,
}

/// The integer that a literal of digits, perhaps after a minus sign, says.
pub(super) fn integer(literal: &str) -> Result<Integer, IntegerRefusal> {
    let digits = literal.strip_prefix('-').unwrap_or(literal);
    let is_canonical = match digits.as_bytes() {
        [b'0'] => digits.len() == literal.len(),
        [b'1'..=b'9', rest @ ..] => rest.iter().all(u8::is_ascii_digit),
        _ => false,
    };
    if !is_canonical {
        return Err(IntegerRefusal::Form);
    }
    let parsed = if digits.len() == literal.len() {
        literal.parse().map(Integer::Natural)
    } else {
        literal.parse().map(Integer::Negative)
    };
    parsed.map_err(|_| IntegerRefusal::Range)
}

/// Whether a literal has the fraction or the exponent that every float is written with.
pub(super) fn is_float_form(literal: &str) -> bool {
    literal.contains(['.', 'e', 'E'])
}

/// The float of type `T` that is written as `literal`. Zero with a sign isn't: it has a tag.
pub(super) fn float<T: FromStr + Debug>(literal: &str) -> Option<T> {
    let value = literal.parse::<T>().ok()?;
    (is_float_form(literal) && literal != "-0.0" && format!("{value:?}") == literal).then_some(value)
}

#[cfg(test)]
mod tests {
    use alloc::string::ToString as _;

    use super::*;

    #[test]
    fn k13_integers_keep_their_value_in_any_width() {
        assert_eq!(integer("-128").ok().and_then(Integer::narrow::<i8>), Some(i8::MIN));
        assert_eq!(integer("-129").ok().and_then(Integer::narrow::<i8>), None);
        assert_eq!(integer(&u128::MAX.to_string()), Ok(Integer::Natural(u128::MAX)));
        assert_eq!(integer(&i128::MIN.to_string()), Ok(Integer::from(i128::MIN)));
        assert_eq!(integer("340282366920938463463374607431768211456"), Err(IntegerRefusal::Range));
        for form in ["", "-", "-0", "00", "01", "+1", "1.", "1_0", " 1"] {
            assert_eq!(integer(form), Err(IntegerRefusal::Form), "{form}");
        }
    }

    #[test]
    fn k13_only_the_shortest_form_of_a_float_is_one() {
        for form in ["0.0", "1.0", "-1.5", "0.1", "1e16", "1e-7", "5e-324", "1.7976931348623157e308"] {
            assert!(float::<f64>(form).is_some(), "{form}");
        }
        for form in
            ["-0.0", "1", "1.", ".5", "1.00", "1e0", "1E16", "1e+16", "0.10000000000000001", "1e999", "inf", "NaN"]
        {
            assert_eq!(float::<f64>(form), None, "{form}");
        }
        // One decimal is the shortest for one width only.
        assert_eq!(float::<f32>("0.33333334"), Some(1.0 / 3.0));
        assert_eq!(float::<f32>("0.3333333333333333"), None);
        assert_eq!(float::<f32>("3e38").map(f32::to_bits), Some(3e38_f32.to_bits()));
        assert_eq!(float::<f32>("1e39"), None);
    }
}
