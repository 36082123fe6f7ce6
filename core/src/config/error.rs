//! What can be wrong with a config, a schema, or the bytes of either (K12).

use alloc::string::String;

use super::{ConfigType, MAX_CONFIG_BYTES, MAX_CONFIG_FIELDS, MAX_CONFIG_NAME_BYTES, MAX_CONFIG_SCHEMA_BYTES};
use crate::codec::canonical;

/// A config doesn't fit its schema, or the limit of all configs (K12).
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum ConfigError {
    /// The schema has no such field.
    #[error("the schema has no field {field:?}")]
    UnknownField {
        /// The name that was given.
        field: String,
    },
    /// A field was given twice.
    #[error("the field {field:?} is given twice")]
    DuplicateField {
        /// Its name.
        field: String,
    },
    /// A field was not given.
    #[error("the field {field:?} is missing")]
    MissingField {
        /// Its name.
        field: String,
    },
    /// A value of another type than the field's.
    #[error("the field {field:?} is {expected}, not {found}")]
    WrongType {
        /// The field's name.
        field: String,
        /// The field's type.
        expected: ConfigType,
        /// The value's type.
        found: ConfigType,
    },
    /// An integer outside the field's range.
    #[error("the field {field:?} is {value}, and its range {low} to {high}")]
    OutOfRange {
        /// The field's name.
        field: String,
        /// The value.
        value: i64,
        /// The lowest value allowed.
        low: i64,
        /// The highest value allowed.
        high: i64,
    },
    /// A text or bytes beyond the field's limit.
    #[error("the field {field:?} takes {length} bytes, and at most {max_bytes} are allowed")]
    FieldTooLong {
        /// The field's name.
        field: String,
        /// Bytes given or claimed.
        length: u64,
        /// Most bytes allowed.
        max_bytes: u32,
    },
    /// The whole config is beyond the limit.
    #[error("the config takes {length} bytes, and at most {max_bytes} are allowed")]
    TooLong {
        /// Bytes of the config.
        length: usize,
        /// Most bytes allowed.
        max_bytes: usize,
    },
    /// The bytes end within a field.
    #[error("the config ends within the field {field:?}")]
    Truncated {
        /// The field's name.
        field: String,
    },
    /// A boolean that is neither 0 nor 1.
    #[error("the field {field:?} is {byte}, not 0 or 1")]
    InvalidBoolean {
        /// The field's name.
        field: String,
        /// The byte.
        byte: u8,
    },
    /// A text that is not UTF-8.
    #[error("the field {field:?} is not UTF-8")]
    InvalidUtf8 {
        /// The field's name.
        field: String,
    },
    /// Bytes after the last field.
    #[error("{count} bytes after the last field")]
    TrailingBytes {
        /// How many.
        count: usize,
    },
}

/// A schema that no config could follow, or whose configs would be out of bounds (K12).
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum ConfigSchemaError {
    /// An id or a field's name is empty, or longer than [`MAX_CONFIG_NAME_BYTES`].
    #[error("the name {name:?} is not of 1 to {MAX_CONFIG_NAME_BYTES} bytes")]
    NameLength {
        /// The name.
        name: String,
    },
    /// The schema allows more than [`MAX_CONFIG_BYTES`].
    #[error("a limit of {max_bytes} bytes, beyond {MAX_CONFIG_BYTES}")]
    LimitTooHigh {
        /// The schema's limit.
        max_bytes: usize,
    },
    /// Not even the shortest values fit into the schema's limit.
    #[error("a limit of {max_bytes} bytes, and the shortest config takes {shortest}")]
    LimitTooLow {
        /// The schema's limit.
        max_bytes: usize,
        /// Bytes of the shortest config.
        shortest: usize,
    },
    /// The schema has more than [`MAX_CONFIG_FIELDS`] fields.
    #[error("{count} fields, beyond {MAX_CONFIG_FIELDS}")]
    TooManyFields {
        /// How many.
        count: usize,
    },
    /// Two fields have one name.
    #[error("two fields have the name {field:?}")]
    DuplicateField {
        /// The name.
        field: String,
    },
    /// An integer has no values.
    #[error("the field {field:?} has no values: {low} to {high}")]
    EmptyRange {
        /// The field's name.
        field: String,
        /// The lowest value.
        low: i64,
        /// The highest value.
        high: i64,
    },
    /// A text or bytes are allowed more bytes than the whole config.
    #[error("the field {field:?} is allowed {max_bytes} bytes, and the whole config {schema_max_bytes}")]
    FieldLimitTooHigh {
        /// The field's name.
        field: String,
        /// The field's limit.
        max_bytes: u32,
        /// The schema's limit.
        schema_max_bytes: usize,
    },
}

/// Bytes are not a config schema (K12).
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum ParseConfigSchemaError {
    /// More than [`MAX_CONFIG_SCHEMA_BYTES`].
    #[error("{length} bytes, beyond {MAX_CONFIG_SCHEMA_BYTES}")]
    TooLong {
        /// How many.
        length: usize,
    },
    /// The bytes are not the canonical form of a schema.
    #[error("malformed: {0}")]
    Malformed(#[from] canonical::DecodeError),
    /// The schema itself is refused.
    #[error(transparent)]
    Refused(#[from] ConfigSchemaError),
}
