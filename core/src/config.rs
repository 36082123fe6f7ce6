//! Session configs (K12): what a match is played with, as canonical bytes under a schema.
//!
//! A [`ConfigSchema`] names the fields with their types and limits, and is part of a game's identity. A [`SessionConfig`] is
//! bytes that are short enough to travel, with their digest; whoever has no schema, such as the room, carries it unread.
//! [`ConfigSchema::decode`] makes [`ConfigValues`] of it, or refuses it before tick 0. The bytes are the values in the
//! schema's order, in the form of [`canonical`]: integers as eight little-endian bytes, a boolean
//! as one byte, texts and bytes after their length. Nothing else decodes, so equal configs have equal bytes and digests.
//!
//! ```
//! use retick_core::config::{ConfigSchema, ConfigValue, SessionConfig};
//!
//! let schema = ConfigSchema::builder("arena/v1").integer("rounds", 1..=9).text("map", 32).build()?;
//! let config = schema.encode(&[("rounds", ConfigValue::Integer(3)), ("map", ConfigValue::Text("canyon".into()))])?;
//! // What travels is bytes; every machine reads them with its own game's schema.
//! let travelled = SessionConfig::from_bytes(config.bytes())?;
//! assert_eq!(travelled.digest(), config.digest());
//! let values = schema.decode(travelled.bytes())?;
//! assert_eq!((values.integer("rounds"), values.text("map")), (Some(3), Some("canyon")));
//! // Beyond a limit there is no config.
//! let endless = schema.encode(&[("rounds", ConfigValue::Integer(10)), ("map", ConfigValue::Text("canyon".into()))]);
//! assert!(endless.is_err());
//! # Ok::<(), Box<dyn core::error::Error>>(())
//! ```

mod error;
#[cfg(test)]
mod tests;

use alloc::borrow::ToOwned;
use alloc::boxed::Box;
use alloc::string::String;
use alloc::vec::Vec;
use core::fmt;
use core::ops::RangeInclusive;

use serde::{Deserialize, Serialize};

pub use self::error::{ConfigError, ConfigSchemaError, ParseConfigSchemaError};
use crate::codec::canonical;
use crate::codec::wire::Blob;
use crate::digest::Digest;

/// Most bytes of a session config (K12).
pub const MAX_CONFIG_BYTES: usize = 65_536;

/// Most fields of a config schema (K12).
pub const MAX_CONFIG_FIELDS: usize = 256;

/// Most bytes of a schema's id and of a field's name (K12).
pub const MAX_CONFIG_NAME_BYTES: usize = 64;

/// Most bytes of an encoded schema (K12): the id, version, limit and count, and for each field a name and the longest kind.
pub const MAX_CONFIG_SCHEMA_BYTES: usize =
    (8 + MAX_CONFIG_NAME_BYTES) + 4 + 8 + 8 + MAX_CONFIG_FIELDS * ((8 + MAX_CONFIG_NAME_BYTES) + 4 + 16);

const _: () =
    assert!(MAX_CONFIG_SCHEMA_BYTES <= MAX_CONFIG_BYTES, "an identity manifest holds schemas up to this size");

const CONFIG_CONTEXT: &str = "retick 2026 session config v1";
const SCHEMA_CONTEXT: &str = "retick 2026 config schema v1";

/// The type of a config field, with its limits (K12).
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub enum ConfigKind {
    /// An integer from `low` to `high`, both included.
    Integer {
        /// The lowest value.
        low: i64,
        /// The highest value.
        high: i64,
    },
    /// A boolean.
    Boolean,
    /// UTF-8 text of at most `max_bytes` bytes.
    Text {
        /// Most bytes.
        max_bytes: u32,
    },
    /// At most `max_bytes` bytes.
    Bytes {
        /// Most bytes.
        max_bytes: u32,
    },
}

impl ConfigKind {
    /// The type without the limits.
    pub const fn config_type(&self) -> ConfigType {
        match self {
            ConfigKind::Integer { .. } => ConfigType::Integer,
            ConfigKind::Boolean => ConfigType::Boolean,
            ConfigKind::Text { .. } => ConfigType::Text,
            ConfigKind::Bytes { .. } => ConfigType::Bytes,
        }
    }

    /// Bytes of the shortest value.
    const fn min_encoded_bytes(&self) -> usize {
        match self {
            ConfigKind::Boolean => 1,
            // An integer, or the length of a text or bytes.
            _ => 8,
        }
    }
}

/// The type of a config value (K12).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ConfigType {
    /// A signed integer.
    Integer,
    /// A boolean.
    Boolean,
    /// UTF-8 text.
    Text,
    /// Bytes.
    Bytes,
}

impl fmt::Display for ConfigType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            ConfigType::Integer => "an integer",
            ConfigType::Boolean => "a boolean",
            ConfigType::Text => "a text",
            ConfigType::Bytes => "bytes",
        })
    }
}

/// A value of a config field (K12).
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum ConfigValue {
    /// A signed integer.
    Integer(i64),
    /// A boolean.
    Boolean(bool),
    /// UTF-8 text.
    Text(String),
    /// Bytes.
    Bytes(Vec<u8>),
}

impl ConfigValue {
    /// The value's type.
    pub const fn config_type(&self) -> ConfigType {
        match self {
            ConfigValue::Integer(_) => ConfigType::Integer,
            ConfigValue::Boolean(_) => ConfigType::Boolean,
            ConfigValue::Text(_) => ConfigType::Text,
            ConfigValue::Bytes(_) => ConfigType::Bytes,
        }
    }

    fn encoded_bytes(&self) -> usize {
        match self {
            ConfigValue::Integer(_) => 8,
            ConfigValue::Boolean(_) => 1,
            ConfigValue::Text(text) => 8 + text.len(),
            ConfigValue::Bytes(bytes) => 8 + bytes.len(),
        }
    }

    fn put(&self, out: &mut Vec<u8>) {
        match self {
            ConfigValue::Integer(value) => out.extend_from_slice(&value.to_le_bytes()),
            ConfigValue::Boolean(value) => out.push(u8::from(*value)),
            ConfigValue::Text(text) => put_counted(text.as_bytes(), out),
            ConfigValue::Bytes(bytes) => put_counted(bytes, out),
        }
    }
}

fn put_counted(bytes: &[u8], out: &mut Vec<u8>) {
    out.extend_from_slice(&(bytes.len() as u64).to_le_bytes());
    out.extend_from_slice(bytes);
}

impl From<i64> for ConfigValue {
    fn from(value: i64) -> ConfigValue {
        ConfigValue::Integer(value)
    }
}

impl From<bool> for ConfigValue {
    fn from(value: bool) -> ConfigValue {
        ConfigValue::Boolean(value)
    }
}

impl From<&str> for ConfigValue {
    fn from(text: &str) -> ConfigValue {
        ConfigValue::Text(text.to_owned())
    }
}

impl From<&[u8]> for ConfigValue {
    fn from(bytes: &[u8]) -> ConfigValue {
        ConfigValue::Bytes(bytes.to_owned())
    }
}

/// A field of a config schema (K12).
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct ConfigField {
    name: String,
    kind: ConfigKind,
}

impl ConfigField {
    /// The name, unique in its schema.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The type and its limits.
    pub fn kind(&self) -> &ConfigKind {
        &self.kind
    }

    /// Refuses a value that is not one of this field's.
    fn check(&self, value: &ConfigValue) -> Result<(), ConfigError> {
        match (&self.kind, value) {
            (ConfigKind::Integer { .. }, ConfigValue::Integer(value)) => self.check_integer(*value),
            (ConfigKind::Boolean, ConfigValue::Boolean(_)) => Ok(()),
            (ConfigKind::Text { max_bytes }, ConfigValue::Text(text)) => {
                self.check_length(text.len() as u64, *max_bytes)
            }
            (ConfigKind::Bytes { max_bytes }, ConfigValue::Bytes(bytes)) => {
                self.check_length(bytes.len() as u64, *max_bytes)
            }
            (kind, value) => {
                let (expected, found) = (kind.config_type(), value.config_type());
                Err(ConfigError::WrongType { field: self.name.clone(), expected, found })
            }
        }
    }

    fn check_integer(&self, value: i64) -> Result<(), ConfigError> {
        match self.kind {
            ConfigKind::Integer { low, high } if !(low..=high).contains(&value) => {
                Err(ConfigError::OutOfRange { field: self.name.clone(), value, low, high })
            }
            _ => Ok(()),
        }
    }

    fn check_length(&self, length: u64, max_bytes: u32) -> Result<(), ConfigError> {
        if length > u64::from(max_bytes) {
            return Err(ConfigError::FieldTooLong { field: self.name.clone(), length, max_bytes });
        }
        Ok(())
    }
}

/// What a session config of a game holds (K12): fields with types and limits, in the order of their bytes. Part of the
/// game's identity.
///
/// ```
/// # use retick_core::config::{ConfigSchema, ConfigValue};
/// let schema = ConfigSchema::builder("skirmish/v1").integer("players", 1..=8).text("map", 32).build()?;
/// let config = schema.encode(&[("map", "forest".into()), ("players", ConfigValue::Integer(4))])?;
/// let values = schema.decode(config.bytes())?;
/// assert_eq!((values.integer("players"), values.text("map")), (Some(4), Some("forest")));
/// # Ok::<(), Box<dyn core::error::Error>>(())
/// ```
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ConfigSchema {
    id: String,
    version: u32,
    max_bytes: usize,
    fields: Vec<ConfigField>,
}

impl ConfigSchema {
    /// Starts a schema. The version is 1 and the limit [`MAX_CONFIG_BYTES`] unless given.
    pub fn builder(id: &str) -> ConfigSchemaBuilder {
        let (id, fields) = (id.to_owned(), Vec::new());
        ConfigSchemaBuilder { schema: ConfigSchema { id, version: 1, max_bytes: MAX_CONFIG_BYTES, fields } }
    }

    /// The schema of games that have nothing to configure: its only config is [`SessionConfig::empty`].
    #[must_use]
    pub fn empty() -> ConfigSchema {
        ConfigSchema { id: "empty".to_owned(), version: 1, max_bytes: 0, fields: Vec::new() }
    }

    /// The id, such as `skirmish/v1`.
    pub fn id(&self) -> &str {
        &self.id
    }

    /// The version.
    pub fn version(&self) -> u32 {
        self.version
    }

    /// Most bytes of a config, at most [`MAX_CONFIG_BYTES`].
    pub fn max_bytes(&self) -> usize {
        self.max_bytes
    }

    /// The fields, in the order of their bytes.
    pub fn fields(&self) -> &[ConfigField] {
        &self.fields
    }

    /// The config with these values: every field of the schema exactly once, in any order.
    ///
    /// # Errors
    ///
    /// [`ConfigError`], naming the field; [`ConfigError::TooLong`] when all of them together exceed the schema's limit.
    pub fn encode(&self, values: &[(&str, ConfigValue)]) -> Result<SessionConfig, ConfigError> {
        self.check_names(values)?;
        let mut in_order = Vec::with_capacity(self.fields.len());
        for field in &self.fields {
            let value = values.iter().find(|(name, _)| *name == field.name).map(|(_, value)| value);
            let value = value.ok_or_else(|| ConfigError::MissingField { field: field.name.clone() })?;
            field.check(value)?;
            in_order.push(value);
        }
        let length = in_order.iter().map(|value| value.encoded_bytes()).sum();
        check_total(length, self.max_bytes)?;
        let mut bytes = Vec::with_capacity(length);
        in_order.iter().for_each(|value| value.put(&mut bytes));
        Ok(SessionConfig::new(bytes.into_boxed_slice()))
    }

    fn check_names(&self, values: &[(&str, ConfigValue)]) -> Result<(), ConfigError> {
        for (index, (name, _)) in values.iter().enumerate() {
            let field = || (*name).to_owned();
            if !self.fields.iter().any(|field| field.name == *name) {
                return Err(ConfigError::UnknownField { field: field() });
            }
            if values[..index].iter().any(|(earlier, _)| earlier == name) {
                return Err(ConfigError::DuplicateField { field: field() });
            }
        }
        Ok(())
    }

    /// The values of the config with these bytes, all within the schema's limits.
    ///
    /// # Errors
    ///
    /// [`ConfigError`]: bytes beyond the schema's limit are refused unread, and all others that [`encode`](Self::encode)
    /// wouldn't give are refused at their field.
    pub fn decode(&self, bytes: &[u8]) -> Result<ConfigValues, ConfigError> {
        check_total(bytes.len(), self.max_bytes)?;
        let mut rest = bytes;
        let mut values = Vec::with_capacity(self.fields.len());
        for field in &self.fields {
            values.push((field.name.clone(), read(field, &mut rest)?));
        }
        match rest.len() {
            0 => Ok(ConfigValues { values }),
            count => Err(ConfigError::TrailingBytes { count }),
        }
    }

    /// The schema as canonical bytes, at most [`MAX_CONFIG_SCHEMA_BYTES`].
    ///
    /// # Panics
    ///
    /// Never: texts and numbers, a few levels deep, always have a canonical form.
    #[must_use]
    pub fn to_bytes(&self) -> Vec<u8> {
        let fields = self.fields.iter().map(|field| FieldForm { name: &field.name, kind: field.kind.clone() });
        let fields = fields.collect();
        let form = SchemaForm { id: &self.id, version: self.version, max_bytes: self.max_bytes as u64, fields };
        canonical::encode(&form).expect("texts and numbers, a few levels deep, always have a canonical form")
    }

    /// The schema with these canonical bytes.
    ///
    /// # Errors
    ///
    /// [`ParseConfigSchemaError`] for more than [`MAX_CONFIG_SCHEMA_BYTES`], for bytes that [`to_bytes`](Self::to_bytes)
    /// wouldn't give, and for a schema that the builder would refuse.
    pub fn from_bytes(bytes: &[u8]) -> Result<ConfigSchema, ParseConfigSchemaError> {
        if bytes.len() > MAX_CONFIG_SCHEMA_BYTES {
            return Err(ParseConfigSchemaError::TooLong { length: bytes.len() });
        }
        let form: SchemaForm<'_> = canonical::decode_canonical(bytes)?;
        let fields = form.fields.into_iter().map(|field| ConfigField { name: field.name.to_owned(), kind: field.kind });
        let schema = ConfigSchema {
            id: form.id.to_owned(),
            version: form.version,
            max_bytes: usize::try_from(form.max_bytes).unwrap_or(usize::MAX),
            fields: fields.collect(),
        };
        Ok(schema.checked()?)
    }

    /// Digest of the schema, for the identity (K11).
    #[must_use]
    pub fn digest(&self) -> Digest {
        derived(SCHEMA_CONTEXT, &self.to_bytes())
    }

    fn checked(self) -> Result<ConfigSchema, ConfigSchemaError> {
        check_name(&self.id)?;
        if self.max_bytes > MAX_CONFIG_BYTES {
            return Err(ConfigSchemaError::LimitTooHigh { max_bytes: self.max_bytes });
        }
        if self.fields.len() > MAX_CONFIG_FIELDS {
            return Err(ConfigSchemaError::TooManyFields { count: self.fields.len() });
        }
        for (index, field) in self.fields.iter().enumerate() {
            self.check_field(field)?;
            if self.fields[..index].iter().any(|earlier| earlier.name == field.name) {
                return Err(ConfigSchemaError::DuplicateField { field: field.name.clone() });
            }
        }
        let shortest = self.fields.iter().map(|field| field.kind.min_encoded_bytes()).sum();
        if shortest > self.max_bytes {
            return Err(ConfigSchemaError::LimitTooLow { max_bytes: self.max_bytes, shortest });
        }
        Ok(self)
    }

    fn check_field(&self, field: &ConfigField) -> Result<(), ConfigSchemaError> {
        check_name(&field.name)?;
        let name = || field.name.clone();
        match field.kind {
            ConfigKind::Integer { low, high } if low > high => {
                Err(ConfigSchemaError::EmptyRange { field: name(), low, high })
            }
            ConfigKind::Text { max_bytes } | ConfigKind::Bytes { max_bytes }
                if u64::from(max_bytes) > self.max_bytes as u64 =>
            {
                Err(ConfigSchemaError::FieldLimitTooHigh { field: name(), max_bytes, schema_max_bytes: self.max_bytes })
            }
            _ => Ok(()),
        }
    }
}

fn check_name(name: &str) -> Result<(), ConfigSchemaError> {
    if name.is_empty() || name.len() > MAX_CONFIG_NAME_BYTES {
        return Err(ConfigSchemaError::NameLength { name: name.to_owned() });
    }
    Ok(())
}

/// The canonical form of a schema.
#[derive(Serialize, Deserialize)]
struct SchemaForm<'a> {
    id: &'a str,
    version: u32,
    max_bytes: u64,
    #[serde(borrow)]
    fields: Vec<FieldForm<'a>>,
}

#[derive(Serialize, Deserialize)]
struct FieldForm<'a> {
    name: &'a str,
    kind: ConfigKind,
}

/// A digest of `bytes` that is none of anything else.
fn derived(context: &str, bytes: &[u8]) -> Digest {
    Digest::derived(context, &[&(bytes.len() as u64).to_le_bytes(), bytes])
}

fn check_total(length: usize, max_bytes: usize) -> Result<(), ConfigError> {
    if length > max_bytes {
        return Err(ConfigError::TooLong { length, max_bytes });
    }
    Ok(())
}

/// Takes the value of `field` from the front of `rest`.
fn read(field: &ConfigField, rest: &mut &[u8]) -> Result<ConfigValue, ConfigError> {
    match field.kind {
        ConfigKind::Integer { .. } => {
            let value = i64::from_le_bytes(take_array(field, rest)?);
            field.check_integer(value)?;
            Ok(ConfigValue::Integer(value))
        }
        ConfigKind::Boolean => match take_array(field, rest)? {
            [0] => Ok(ConfigValue::Boolean(false)),
            [1] => Ok(ConfigValue::Boolean(true)),
            [byte] => Err(ConfigError::InvalidBoolean { field: field.name.clone(), byte }),
        },
        ConfigKind::Text { max_bytes } => match core::str::from_utf8(take_counted(field, max_bytes, rest)?) {
            Ok(text) => Ok(ConfigValue::Text(text.to_owned())),
            Err(_) => Err(ConfigError::InvalidUtf8 { field: field.name.clone() }),
        },
        ConfigKind::Bytes { max_bytes } => Ok(ConfigValue::Bytes(take_counted(field, max_bytes, rest)?.to_owned())),
    }
}

fn truncated(field: &ConfigField) -> ConfigError {
    ConfigError::Truncated { field: field.name.clone() }
}

fn take_array<const N: usize>(field: &ConfigField, rest: &mut &[u8]) -> Result<[u8; N], ConfigError> {
    let (taken, after) = rest.split_first_chunk().ok_or_else(|| truncated(field))?;
    *rest = after;
    Ok(*taken)
}

fn take_counted<'a>(field: &ConfigField, max_bytes: u32, rest: &mut &'a [u8]) -> Result<&'a [u8], ConfigError> {
    let length = u64::from_le_bytes(take_array(field, rest)?);
    field.check_length(length, max_bytes)?;
    let length = usize::try_from(length).map_err(|_| truncated(field))?;
    let (taken, after) = rest.split_at_checked(length).ok_or_else(|| truncated(field))?;
    *rest = after;
    Ok(taken)
}

/// Puts a [`ConfigSchema`] together, field by field, in the order of their bytes.
#[must_use]
#[derive(Clone, Debug)]
pub struct ConfigSchemaBuilder {
    schema: ConfigSchema,
}

impl ConfigSchemaBuilder {
    /// Sets the version.
    pub fn version(mut self, version: u32) -> Self {
        self.schema.version = version;
        self
    }

    /// Sets the most bytes of a config, up to [`MAX_CONFIG_BYTES`].
    pub fn max_bytes(mut self, max_bytes: usize) -> Self {
        self.schema.max_bytes = max_bytes;
        self
    }

    /// Adds an integer with these values.
    pub fn integer(self, name: &str, range: RangeInclusive<i64>) -> Self {
        let (low, high) = range.into_inner();
        self.field(name, ConfigKind::Integer { low, high })
    }

    /// Adds a boolean.
    pub fn boolean(self, name: &str) -> Self {
        self.field(name, ConfigKind::Boolean)
    }

    /// Adds a text of at most this many bytes of UTF-8.
    pub fn text(self, name: &str, max_bytes: u32) -> Self {
        self.field(name, ConfigKind::Text { max_bytes })
    }

    /// Adds at most this many bytes.
    pub fn bytes(self, name: &str, max_bytes: u32) -> Self {
        self.field(name, ConfigKind::Bytes { max_bytes })
    }

    fn field(mut self, name: &str, kind: ConfigKind) -> Self {
        self.schema.fields.push(ConfigField { name: name.to_owned(), kind });
        self
    }

    /// The schema.
    ///
    /// # Errors
    ///
    /// [`ConfigSchemaError`] for a name or limit out of bounds, a name that stands twice, and an empty range.
    pub fn build(self) -> Result<ConfigSchema, ConfigSchemaError> {
        self.schema.checked()
    }
}

/// The config of a match: canonical bytes that can't change, and their digest (K12).
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct SessionConfig {
    bytes: Box<[u8]>,
    digest: Digest,
}

impl SessionConfig {
    fn new(bytes: Box<[u8]>) -> SessionConfig {
        let digest = derived(CONFIG_CONTEXT, &bytes);
        SessionConfig { bytes, digest }
    }

    /// The config of a game that has nothing to configure.
    #[must_use]
    pub fn empty() -> SessionConfig {
        SessionConfig::new(Box::default())
    }

    /// A config that arrived as bytes. Only its size is checked; [`ConfigSchema::decode`] checks the rest, before tick 0.
    ///
    /// # Errors
    ///
    /// [`ConfigError::TooLong`] for more than [`MAX_CONFIG_BYTES`].
    pub fn from_bytes(bytes: &[u8]) -> Result<SessionConfig, ConfigError> {
        check_total(bytes.len(), MAX_CONFIG_BYTES)?;
        Ok(SessionConfig::new(bytes.into()))
    }

    /// The same from bytes whose decoding held them to their limit.
    pub(crate) fn from_blob(bytes: &Blob<MAX_CONFIG_BYTES>) -> SessionConfig {
        SessionConfig::new(bytes.as_slice().into())
    }

    /// The bytes.
    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// The digest of the bytes: BLAKE3 in derive-key mode, over their length as a `u64` and the bytes.
    pub fn digest(&self) -> Digest {
        self.digest
    }
}

/// The values of a config, all within the limits of the schema that decoded them (K12).
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct ConfigValues {
    /// In the schema's order.
    values: Vec<(String, ConfigValue)>,
}

impl ConfigValues {
    /// The value of the field with this name, of whichever type.
    pub fn value(&self, name: &str) -> Option<&ConfigValue> {
        self.values.iter().find(|(field, _)| field == name).map(|(_, value)| value)
    }

    /// The integer with this name; `None` when the schema has none.
    pub fn integer(&self, name: &str) -> Option<i64> {
        match self.value(name) {
            Some(ConfigValue::Integer(value)) => Some(*value),
            _ => None,
        }
    }

    /// The boolean with this name; `None` when the schema has none.
    pub fn boolean(&self, name: &str) -> Option<bool> {
        match self.value(name) {
            Some(ConfigValue::Boolean(value)) => Some(*value),
            _ => None,
        }
    }

    /// The text with this name; `None` when the schema has none.
    pub fn text(&self, name: &str) -> Option<&str> {
        match self.value(name) {
            Some(ConfigValue::Text(text)) => Some(text),
            _ => None,
        }
    }

    /// The bytes with this name; `None` when the schema has none.
    pub fn bytes(&self, name: &str) -> Option<&[u8]> {
        match self.value(name) {
            Some(ConfigValue::Bytes(bytes)) => Some(bytes),
            _ => None,
        }
    }

    /// Names and values, in the schema's order.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = (&str, &ConfigValue)> {
        self.values.iter().map(|(name, value)| (name.as_str(), value))
    }
}
