//! Room codes: short, unguessable enough for a private match, and easy to read out (V1).

use std::fmt;
use std::str::FromStr;

/// No `0`, `1`, `I` or `O`, which are mistaken for each other.
const ALPHABET: &[u8; 32] = b"23456789ABCDEFGHJKLMNPQRSTUVWXYZ";
/// Letters of a code, without the hyphen: 40 bits.
const LENGTH: usize = 8;

/// A room's code. Shown in two groups of four; read in any case, with or without hyphens.
///
/// ```
/// use retick_authority::service::RoomCode;
///
/// let code: RoomCode = "k3xw9fzm".parse()?;
/// assert_eq!(code.to_string(), "K3XW-9FZM");
/// assert!("K3XW-9FZ0".parse::<RoomCode>().is_err());
/// # Ok::<(), retick_authority::service::ParseCodeError>(())
/// ```
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct RoomCode([u8; LENGTH]);

/// Text that is not a room's code.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
#[error("a room code is {LENGTH} letters and digits, without 0, 1, I and O")]
pub struct ParseCodeError;

impl RoomCode {
    /// The code that these random bytes give. Each letter takes five bits of its byte, so every code is equally likely.
    pub(super) fn from_random(bytes: [u8; LENGTH]) -> RoomCode {
        RoomCode(bytes.map(|byte| ALPHABET[usize::from(byte) % ALPHABET.len()]))
    }

    /// A code from the operating system's randomness.
    pub(super) fn random() -> Result<RoomCode, getrandom::Error> {
        let mut bytes = [0; LENGTH];
        getrandom::fill(&mut bytes)?;
        Ok(RoomCode::from_random(bytes))
    }
}

impl fmt::Display for RoomCode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, letter) in self.0.iter().enumerate() {
            if index == LENGTH / 2 {
                f.write_str("-")?;
            }
            write!(f, "{}", char::from(*letter))?;
        }
        Ok(())
    }
}

impl fmt::Debug for RoomCode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "RoomCode({self})")
    }
}

impl FromStr for RoomCode {
    type Err = ParseCodeError;

    fn from_str(text: &str) -> Result<RoomCode, ParseCodeError> {
        let mut letters = text.bytes().filter(|byte| *byte != b'-').map(|byte| byte.to_ascii_uppercase());
        let mut code = [0; LENGTH];
        for place in &mut code {
            *place = letters.next().filter(|letter| ALPHABET.contains(letter)).ok_or(ParseCodeError)?;
        }
        if letters.next().is_none() { Ok(RoomCode(code)) } else { Err(ParseCodeError) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn v1_a_code_survives_its_text_in_any_case_and_nothing_else_is_a_code() {
        let code = RoomCode::from_random([0, 31, 32, 63, 64, 255, 7, 200]);
        assert_eq!(code.to_string(), "2Z2Z-2Z9A");
        for text in ["2Z2Z-2Z9A", "2z2z2z9a", "2z-2z-2z-9a"] {
            assert_eq!(text.parse(), Ok(code), "{text}");
        }
        for text in ["", "2Z2Z-2Z9", "2Z2Z-2Z9AA", "2Z2Z-2Z90", "2Z2Z 2Z9A", "2Z2Z-2Z9ä"] {
            assert_eq!(text.parse::<RoomCode>(), Err(ParseCodeError), "{text}");
        }
    }

    #[test]
    fn v1_codes_are_random() {
        let codes = [(); 64].map(|()| RoomCode::random().expect("the system has randomness"));
        assert!(codes.iter().enumerate().all(|(index, code)| !codes[index + 1..].contains(code)));
    }
}
