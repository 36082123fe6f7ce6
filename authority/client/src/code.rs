//! The code under which a room is joined.

use std::fmt;
use std::str::FromStr;

/// Most bytes of a room code.
pub const MAX_CODE_BYTES: usize = 32;

/// A room's code, as the service gave it or as a player typed it: letters, digits and hyphens, so it can stand in a path. Whether
/// such a room exists only the service knows.
///
/// ```
/// use retick_client::{ParseCodeError, RoomCode};
///
/// assert_eq!("K3XW-9FZM".parse::<RoomCode>()?.as_str(), "K3XW-9FZM");
/// assert_eq!("../health".parse::<RoomCode>(), Err(ParseCodeError));
/// # Ok::<(), ParseCodeError>(())
/// ```
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct RoomCode(String);

/// Text that can't be a room's code.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
#[error("a room code is 1 to {MAX_CODE_BYTES} letters, digits and hyphens")]
pub struct ParseCodeError;

impl RoomCode {
    /// The code as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for RoomCode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl FromStr for RoomCode {
    type Err = ParseCodeError;

    fn from_str(text: &str) -> Result<RoomCode, ParseCodeError> {
        let fits = (1..=MAX_CODE_BYTES).contains(&text.len());
        let plain = text.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-');
        if fits && plain { Ok(RoomCode(text.to_owned())) } else { Err(ParseCodeError) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn v1_a_code_ends_at_its_limit_and_can_stand_in_a_path() {
        let parse = |text: &str| text.parse::<RoomCode>().map(|code| code.to_string());
        assert_eq!(parse(&"a".repeat(MAX_CODE_BYTES)), Ok("a".repeat(MAX_CODE_BYTES)));
        for text in ["", &"a".repeat(MAX_CODE_BYTES + 1), "a/b", "a b", "a?b", "a%20b", "ä"] {
            assert_eq!(parse(text), Err(ParseCodeError), "{text}");
        }
    }
}
