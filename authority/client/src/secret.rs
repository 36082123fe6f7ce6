//! What a service hands out to one caller alone: room keys and reservations (V1).

use std::fmt;
use std::str::FromStr;

/// Hexadecimal digits of a room key, and of a reservation.
pub const SECRET_DIGITS: usize = 32;

/// Text that is no room key or reservation.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
#[error("{SECRET_DIGITS} hexadecimal digits are expected")]
pub struct ParseSecretError;

macro_rules! secret {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        #[derive(Clone, PartialEq, Eq)]
        pub struct $name(String);

        impl $name {
            /// The text, as it travels.
            pub fn as_str(&self) -> &str {
                &self.0
            }
        }

        impl FromStr for $name {
            type Err = ParseSecretError;

            fn from_str(text: &str) -> Result<$name, ParseSecretError> {
                let fits = text.len() == SECRET_DIGITS && text.bytes().all(|byte| byte.is_ascii_hexdigit());
                if fits { Ok($name(text.to_owned())) } else { Err(ParseSecretError) }
            }
        }

        impl fmt::Debug for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(concat!(stringify!($name), "(secret)"))
            }
        }
    };
}

secret! {
    /// What a room's creator locks and shows it with.
    RoomKey
}

secret! {
    /// A seat that is kept for whom a quick match sent to a room, for a short time.
    Reservation
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn v1_a_secret_is_its_digits_and_is_not_shown() {
        let text = "0123456789abcdefABCDEF0123456789";
        let key: RoomKey = text.parse().expect("digits");
        assert_eq!((key.as_str(), format!("{key:?}").as_str()), (text, "RoomKey(secret)"));
        for text in ["", &text[1..], &text.replace('a', "/"), &format!("{text}0")] {
            assert_eq!(text.parse::<Reservation>(), Err(ParseSecretError), "{text}");
        }
    }
}
