//! Strings of the text form: one escape for each character that needs one, everything else as it is.

use alloc::string::String;
use core::fmt::Write as _;

use super::TextReason;

/// Appends `text` as a literal with its quotes.
pub(super) fn push_quoted(out: &mut String, text: &str) {
    out.push('"');
    let mut rest = text;
    while let Some(at) = rest.find(|character: char| short_escape(character).is_some() || character < ' ') {
        let (plain, after) = rest.split_at(at);
        out.push_str(plain);
        let mut characters = after.chars();
        if let Some(character) = characters.next() {
            push_escape(out, character);
        }
        rest = characters.as_str();
    }
    out.push_str(rest);
    out.push('"');
}

fn push_escape(out: &mut String, character: char) {
    out.push('\\');
    match short_escape(character) {
        Some(letter) => out.push(letter),
        // A `String` takes whatever is written to it.
        None => drop(write!(out, "u{:04x}", u32::from(character))),
    }
}

/// The letter after the backslash, for characters that have one.
fn short_escape(character: char) -> Option<char> {
    Some(match character {
        '"' | '\\' => character,
        '\u{8}' => 'b',
        '\t' => 't',
        '\n' => 'n',
        '\u{C}' => 'f',
        '\r' => 'r',
        _ => return None,
    })
}

/// The content of a literal that [`push_quoted`] wrote or [`check`] passed, without its quotes.
pub(super) fn content(literal: &str) -> impl Iterator<Item = char> + '_ {
    let mut characters = literal.chars();
    core::iter::from_fn(move || match characters.next()? {
        '\\' => Some(match characters.next()? {
            'b' => '\u{8}',
            't' => '\t',
            'n' => '\n',
            'f' => '\u{C}',
            'r' => '\r',
            'u' => characters.by_ref().take(4).fold(0, hex_digit).try_into().unwrap_or(char::REPLACEMENT_CHARACTER),
            itself => itself,
        }),
        plain => Some(plain),
    })
}

fn hex_digit(number: u32, digit: char) -> u32 {
    number * 16 + digit.to_digit(16).unwrap_or(0)
}

/// How many bytes a literal takes up to its closing quote, read from behind the opening one; or where it is refused.
pub(super) fn check(rest: &str) -> Result<usize, (usize, TextReason)> {
    let bytes = rest.as_bytes();
    let mut at = 0;
    loop {
        match bytes.get(at) {
            None => return Err((at, TextReason::EndOfInput)),
            Some(b'"') => return Ok(at),
            Some(b'\\') => match escape(&bytes[at + 1..]) {
                Ok(length) => at += length,
                Err(TextReason::EndOfInput) => return Err((bytes.len(), TextReason::EndOfInput)),
                Err(reason) => return Err((at, reason)),
            },
            Some(0..b' ') => return Err((at, TextReason::ControlCharacter)),
            Some(_) => at += 1,
        }
    }
}

/// How many bytes an escape takes, read from behind its backslash.
fn escape(after: &[u8]) -> Result<usize, TextReason> {
    match after.first() {
        None => Err(TextReason::EndOfInput),
        Some(b'"' | b'\\' | b'b' | b't' | b'n' | b'f' | b'r') => Ok(2),
        Some(b'/') => Err(TextReason::NonCanonicalEscape),
        Some(b'u') => {
            let unit = code_unit(&after[1..])?;
            match unit {
                0xD800..0xDC00 if is_low_surrogate(&after[5..]) => Err(TextReason::NonCanonicalEscape),
                0xD800..0xE000 => Err(TextReason::LoneSurrogate),
                0..0x20 if is_written_so(unit, &after[1..5]) => Ok(6),
                _ => Err(TextReason::NonCanonicalEscape),
            }
        }
        Some(_) => Err(TextReason::InvalidEscape),
    }
}

fn is_low_surrogate(after: &[u8]) -> bool {
    after.starts_with(b"\\u") && code_unit(&after[2..]).is_ok_and(|unit| (0xDC00..0xE000).contains(&unit))
}

/// Whether these are the digits that [`push_escape`] writes for the control character.
fn is_written_so(unit: u32, digits: &[u8]) -> bool {
    char::from_u32(unit).is_some_and(|character| short_escape(character).is_none())
        && !digits.iter().any(u8::is_ascii_uppercase)
}

/// The number that four hexadecimal digits say.
fn code_unit(digits: &[u8]) -> Result<u32, TextReason> {
    let mut unit = 0;
    for at in 0..4 {
        let digit = char::from(*digits.get(at).ok_or(TextReason::EndOfInput)?);
        unit = unit * 16 + digit.to_digit(16).ok_or(TextReason::InvalidEscape)?;
    }
    Ok(unit)
}
