//! The scanner: text from anywhere, and how far it is read.

use alloc::borrow::Cow;
use alloc::vec::Vec;
use core::fmt::Debug;
use core::str::FromStr;

use super::error::{Expected, Failure, TextReason};
use super::number::{self, Integer, IntegerRefusal};
use super::string;
use super::tag::{OPENING, Tag, VALUE};

/// A text and how far it is read: always up to the end of an ASCII character, so that slicing there is sound. A part that is
/// refused is not passed over.
pub(super) struct Input<'de> {
    pub(super) text: &'de str,
    pub(super) position: usize,
}

impl<'de> Input<'de> {
    pub(super) fn rest(&self) -> &'de str {
        self.text.get(self.position..).unwrap_or("")
    }

    pub(super) fn peek(&self) -> Option<u8> {
        self.text.as_bytes().get(self.position).copied()
    }

    /// What was read since `start`.
    pub(super) fn since(&self, start: usize) -> &'de str {
        self.text.get(start..self.position).unwrap_or("")
    }

    /// Refuses what stands at `at`.
    pub(super) fn refuse<T>(&mut self, at: usize, reason: TextReason) -> Result<T, Failure> {
        self.position = at;
        Err(Failure(reason))
    }

    /// Refuses what stands here.
    pub(super) fn unexpected<T>(&mut self, expected: Expected) -> Result<T, Failure> {
        Err(Failure(match self.peek() {
            None => TextReason::EndOfInput,
            Some(b' ' | b'\t' | b'\n' | b'\r') => TextReason::Whitespace,
            Some(_) => TextReason::Unexpected { expected },
        }))
    }

    /// Reads these words of the form itself, or refuses.
    fn words(&mut self, words: &str, expected: Expected) -> Result<(), Failure> {
        let rest = self.rest();
        if rest.starts_with(words) {
            self.position += words.len();
            return Ok(());
        }
        if words.starts_with(rest) {
            return self.refuse(self.text.len(), TextReason::EndOfInput);
        }
        self.unexpected(expected)
    }

    pub(super) fn punctuation(&mut self, character: char) -> Result<(), Failure> {
        self.words(character.encode_utf8(&mut [0; 4]), Expected::Punctuation(character))
    }

    pub(super) fn null(&mut self) -> Result<(), Failure> {
        self.words("null", Expected::Null)
    }

    pub(super) fn boolean(&mut self) -> Result<bool, Failure> {
        let value = self.peek() == Some(b't');
        self.words(if value { "true" } else { "false" }, Expected::Boolean)?;
        Ok(value)
    }

    /// A string, borrowed if it holds no escape.
    pub(super) fn string(&mut self, expected: Expected) -> Result<Cow<'de, str>, Failure> {
        let start = self.position;
        let Some(rest) = self.rest().strip_prefix('"') else { return self.unexpected(expected) };
        match string::check(rest) {
            Err((at, reason)) => self.refuse(start + 1 + at, reason),
            Ok(length) => {
                self.position = start + 1 + length + 1;
                let literal = &rest[..length];
                if literal.contains('\\') {
                    return Ok(Cow::Owned(string::content(literal).collect()));
                }
                Ok(Cow::Borrowed(literal))
            }
        }
    }

    pub(super) fn letter(&mut self) -> Result<char, Failure> {
        let start = self.position;
        let text = self.string(Expected::Char)?;
        let mut characters = text.chars();
        match (characters.next(), characters.next()) {
            (Some(letter), None) => Ok(letter),
            _ => self.refuse(start, TextReason::Unexpected { expected: Expected::Char }),
        }
    }

    /// The characters of a number that begins here, whatever they say, or `None`.
    fn number_literal(&self) -> Option<&'de str> {
        let rest = self.rest();
        let is_in_number = |character: char| character.is_ascii_digit() || "+-.eE".contains(character);
        let end = rest.find(|character| !is_in_number(character)).unwrap_or(rest.len());
        rest.starts_with(|first: char| first == '-' || first.is_ascii_digit()).then(|| &rest[..end])
    }

    pub(super) fn is_at_float(&self) -> bool {
        self.number_literal().is_some_and(number::is_float_form)
    }

    pub(super) fn integer(&mut self) -> Result<Integer, Failure> {
        let start = self.position;
        if self.tag()? == Some(Tag::Bigint) {
            return self.bigint(start);
        }
        self.position = start;
        let literal = match self.number_literal() {
            Some(literal) if !number::is_float_form(literal) => literal,
            _ => return self.unexpected(Expected::Integer),
        };
        self.position += literal.len();
        match number::integer(literal) {
            Ok(value) if value.is_plain() => Ok(value),
            _ => self.refuse(start, TextReason::NonCanonicalNumber),
        }
    }

    /// The integer behind its tag, which begins at `start`.
    fn bigint(&mut self, start: usize) -> Result<Integer, Failure> {
        let value_start = self.position;
        let digits = self.tag_string()?;
        match number::integer(&digits) {
            Err(IntegerRefusal::Range) => self.refuse(value_start, TextReason::IntegerOutOfRange),
            Err(IntegerRefusal::Form) => self.refuse(value_start, TextReason::MalformedTag),
            Ok(value) if value.is_plain() => self.refuse(start, TextReason::NeedlessTag),
            Ok(value) => self.end_tag().map(|()| value),
        }
    }

    /// A float in the form of its own width. The tags' floats are exact in either one.
    pub(super) fn float<T: FromStr + Debug>(&mut self, tagged: fn(f64) -> T) -> Result<T, Failure> {
        let start = self.position;
        if let Some(value) = self.tag()?.and_then(Tag::float) {
            return Ok(tagged(value));
        }
        self.position = start;
        let literal = match self.number_literal() {
            Some(literal) if number::is_float_form(literal) => literal,
            _ => return self.unexpected(Expected::Float),
        };
        let Some(value) = number::float(literal) else { return self.refuse(start, TextReason::NonCanonicalNumber) };
        self.position += literal.len();
        Ok(value)
    }

    pub(super) fn bytes(&mut self) -> Result<Vec<u8>, Failure> {
        let start = self.position;
        if self.tag()? != Some(Tag::Bytes) {
            self.position = start;
            return self.unexpected(Expected::Bytes);
        }
        let value_start = self.position;
        let digits = self.tag_string()?;
        let Some(bytes) = hex(&digits) else { return self.refuse(value_start, TextReason::MalformedTag) };
        self.end_tag()?;
        Ok(bytes)
    }

    /// The tag that begins here, up to its value, if it has one; or `None`, and nothing is read.
    pub(super) fn tag(&mut self) -> Result<Option<Tag>, Failure> {
        let rest = self.rest();
        if !rest.starts_with(OPENING) {
            let is_cut = !rest.is_empty() && OPENING.starts_with(rest);
            return if is_cut { self.refuse(self.text.len(), TextReason::EndOfInput) } else { Ok(None) };
        }
        self.position += OPENING.len();
        let name_start = self.position;
        if self.peek().is_some_and(|byte| byte != b'"') {
            return self.malformed();
        }
        let name = self.string(Expected::Text)?;
        let Some(tag) = Tag::from_name(&name) else { return self.refuse(name_start, TextReason::UnknownTag) };
        let words = if tag.has_value() { VALUE } else { "}" };
        match self.words(words, Expected::Value) {
            Err(Failure(TextReason::Unexpected { .. })) => self.malformed(),
            done => done.map(|()| Some(tag)),
        }
    }

    /// The tag that stands here, of which nothing is read.
    pub(super) fn peek_tag(&mut self) -> Result<Option<Tag>, Failure> {
        let start = self.position;
        let tag = self.tag()?;
        self.position = start;
        Ok(tag)
    }

    /// Ends a tagged form after its value.
    pub(super) fn end_tag(&mut self) -> Result<(), Failure> {
        match self.peek() {
            Some(b'}') => self.punctuation('}'),
            _ => self.malformed(),
        }
    }

    fn tag_string(&mut self) -> Result<Cow<'de, str>, Failure> {
        match self.peek() {
            Some(b'"') => self.string(Expected::Text),
            _ => self.malformed(),
        }
    }

    /// Refuses what stands here instead of the rest of a tagged form.
    pub(super) fn malformed<T>(&mut self) -> Result<T, Failure> {
        match self.unexpected(Expected::Value) {
            Err(Failure(TextReason::Unexpected { .. })) => Err(Failure(TextReason::MalformedTag)),
            other => other,
        }
    }
}

/// The bytes that lower-case hexadecimal digits say.
fn hex(digits: &str) -> Option<Vec<u8>> {
    let digit = |byte: u8| match byte {
        b'0'..=b'9' => Some(byte - b'0'),
        b'a'..=b'f' => Some(byte - b'a' + 10),
        _ => None,
    };
    let (pairs, []) = digits.as_bytes().as_chunks::<2>() else { return None };
    pairs.iter().map(|&[high, low]| Some(digit(high)? << 4 | digit(low)?)).collect()
}
