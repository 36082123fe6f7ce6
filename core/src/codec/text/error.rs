//! Why a text is refused.

use alloc::string::{String, ToString};
use core::fmt;

use serde::de;

use crate::codec::canonical::{EncodeError, MAX_DEPTH};

/// A text is not the canonical text of a value of the wanted type (K13).
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("at byte {offset}: {reason}")]
pub struct TextError {
    /// Where reading stopped, in bytes: at the refused part, or after it where the type itself refused the value.
    pub offset: usize,
    /// Why.
    pub reason: TextReason,
}

/// Why a text is not the canonical text of a value of the wanted type (K13).
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum TextReason {
    /// The text ends within a value.
    #[error("the text ends within a value")]
    EndOfInput,
    /// Something else stands where the form or the type needs this.
    #[error("{expected} should stand here")]
    Unexpected {
        /// What is needed.
        expected: Expected,
    },
    /// White space outside a string.
    #[error("white space outside a string")]
    Whitespace,
    /// A number is written in another way than the one in which it is written here: not the shortest, with a leading zero,
    /// an exponent of another kind, a sign of zero, or an integer beyond 2^53 that has no tag.
    #[error("not the canonical form of a number")]
    NonCanonicalNumber,
    /// An integer is beyond the type's width.
    #[error("an integer that is out of the type's range")]
    IntegerOutOfRange,
    /// A string holds a control character that isn't escaped.
    #[error("a control character that is not escaped")]
    ControlCharacter,
    /// A backslash is followed by what JSON doesn't know.
    #[error("an escape that does not exist")]
    InvalidEscape,
    /// A character is escaped that stands for itself, or in another way than its own.
    #[error("not the canonical form of a character")]
    NonCanonicalEscape,
    /// An escape is one half of a surrogate pair.
    #[error("half of a surrogate pair")]
    LoneSurrogate,
    /// A key stands twice.
    #[error("a key that stands twice")]
    DuplicateKey,
    /// A key is below the one before it.
    #[error("a key that is below the one before it")]
    KeysNotAscending,
    /// The key `$rdm` stands where it begins no tag.
    #[error("the key $rdm where it begins no tag")]
    ReservedKey,
    /// A tag has a name that doesn't exist.
    #[error("a tag that does not exist")]
    UnknownTag,
    /// A tagged form isn't as the tag demands.
    #[error("not the form of this tag")]
    MalformedTag,
    /// A tagged form holds what is written without the tag.
    #[error("a tag around what is written without it")]
    NeedlessTag,
    /// The type has no field of this name, or the name is a second one of the field.
    #[error("a field that the type does not have")]
    UnknownField,
    /// A field of the type isn't there.
    #[error("field {name} is missing")]
    MissingField {
        /// Its name.
        name: &'static str,
    },
    /// The type has no variant of this name.
    #[error("a variant that the type does not have")]
    UnknownVariant,
    /// A tuple or array has fewer elements than the type.
    #[error("fewer elements than the {expected} of the type")]
    TooFewElements {
        /// Elements of the type.
        expected: u64,
    },
    /// The type took fewer elements or entries than there are.
    #[error("an element that the type does not take")]
    UnreadElements,
    /// The value nests deeper than [`MAX_DEPTH`].
    #[error("nested deeper than {MAX_DEPTH} levels")]
    TooDeep,
    /// Something follows the value.
    #[error("text after the value")]
    TrailingText,
    /// The value has another form than this text.
    #[error("not the canonical form of the value")]
    NotCanonical,
    /// The value was read but can't be written, so it has no canonical form.
    #[error("not a value that can be written: {0}")]
    Unencodable(#[from] EncodeError),
    /// The type's own `Deserialize` refused the value, with these words.
    #[error("{0}")]
    Custom(String),
}

/// What a text should hold at some place (K13).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Expected {
    /// Any value.
    Value,
    /// `null`, for a unit.
    Null,
    /// `true` or `false`.
    Boolean,
    /// An integer: digits, or the tag `bigint`.
    Integer,
    /// A float: a number with a fraction or an exponent, or one of the four tags.
    Float,
    /// A string.
    Text,
    /// A string of one character.
    Char,
    /// The tag `bytes`.
    Bytes,
    /// An array, for a sequence or a tuple.
    Array,
    /// An object, for a struct.
    Object,
    /// An object or the tag `map`.
    Map,
    /// The tag `set`.
    Set,
    /// An enum's variant: a string, or an object with one key.
    Variant,
    /// A variant without content: a string.
    UnitVariant,
    /// A variant with content: an object with one key.
    ContentVariant,
    /// The string that is a key.
    Key,
    /// This character of the form itself.
    Punctuation(char),
    /// A comma, or this closing bracket.
    CommaOr(char),
}

impl fmt::Display for Expected {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Expected::Value => "a value",
            Expected::Null => "null",
            Expected::Boolean => "a boolean",
            Expected::Integer => "an integer",
            Expected::Float => "a float",
            Expected::Text => "a string",
            Expected::Char => "a string of one character",
            Expected::Bytes => "tagged bytes",
            Expected::Array => "an array",
            Expected::Object => "an object",
            Expected::Map => "a map",
            Expected::Set => "a tagged set",
            Expected::Variant => "a variant",
            Expected::UnitVariant => "a variant without content",
            Expected::ContentVariant => "a variant with content",
            Expected::Key => "a key",
            Expected::Punctuation(character) => return write!(f, "{character}"),
            Expected::CommaOr(closing) => return write!(f, "a comma or {closing}"),
        })
    }
}

/// The error that serde hands outwards. The reader adds the offset: reading stops at the first one.
#[derive(Debug)]
pub(super) struct Failure(pub(super) TextReason);

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl core::error::Error for Failure {}

impl de::Error for Failure {
    fn custom<T: fmt::Display>(message: T) -> Failure {
        Failure(TextReason::Custom(message.to_string()))
    }
}
