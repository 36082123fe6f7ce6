//! The commands of a seat: rare requests that the authority orders, unlike inputs.

/// How many emotes there are.
pub const EMOTES: u8 = 8;
/// How many colours there are.
pub const COLOURS: u8 = 8;

const EMOTE_TAG: u8 = 0;
const COLOUR_TAG: u8 = 1;

/// What a seat can ask for. Two bytes: a tag and an index.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Command {
    /// Shows an emote for a while.
    Emote(u8),
    /// Changes the seat's colour.
    Colour(u8),
}

impl Command {
    /// The command as bytes.
    #[must_use]
    pub fn encode(self) -> [u8; 2] {
        match self {
            Command::Emote(index) => [EMOTE_TAG, index],
            Command::Colour(index) => [COLOUR_TAG, index],
        }
    }

    /// The command with these bytes; `None` for all others.
    #[must_use]
    pub fn decode(payload: &[u8]) -> Option<Command> {
        match *payload {
            [EMOTE_TAG, index] if index < EMOTES => Some(Command::Emote(index)),
            [COLOUR_TAG, index] if index < COLOURS => Some(Command::Colour(index)),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_encodes_decodes() {
        for command in [Command::Emote(0), Command::Emote(EMOTES - 1), Command::Colour(3)] {
            assert_eq!(Command::decode(&command.encode()), Some(command));
        }
        let malformed: [&[u8]; 6] = [&[], &[0], &[EMOTE_TAG, EMOTES], &[COLOUR_TAG, COLOURS], &[2, 0], &[0, 0, 0]];
        for payload in malformed {
            assert_eq!(Command::decode(payload), None, "{payload:?}");
        }
    }
}
