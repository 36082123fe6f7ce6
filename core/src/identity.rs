//! What is played: the identity of the code and settings (K11), and the descriptor of one match (K12).
//!
//! ```
//! use retick_core::config::SessionConfig;
//! use retick_core::identity::{IdentityManifest, IdentityPart, MatchDescriptor};
//! use retick_core::input::InputSchema;
//! use retick_core::rng::SessionSeed;
//! use retick_core::seat::SeatCount;
//! use retick_core::tick::TickRate;
//!
//! let schema = InputSchema::builder("drive/v1").integer("steer", 0..=255).build()?;
//! let builder = || IdentityManifest::builder("native", 1, TickRate::Hz60).input_schema(schema.clone());
//! let manifest = |rules: &[u8]| builder().module("rules.rs", rules).build();
//! let (mine, other) = (manifest(b"fn step() {}")?, manifest(b"fn step() { /* faster */ }")?);
//! // One byte of the sources makes another game, and the manifests say where.
//! assert_ne!(mine.identity(), other.identity());
//! assert_eq!(mine.difference(&other), Some(IdentityPart::Module { path: "rules.rs".into() }));
//!
//! let seats = SeatCount::new(2).expect("two seats");
//! let descriptor = MatchDescriptor::new(&mine, SessionConfig::empty(), SessionSeed::from_u64(1), seats);
//! let travelled = MatchDescriptor::from_bytes(&descriptor.to_bytes())?;
//! assert_eq!((travelled.identity(), travelled.digest()), (mine.identity(), descriptor.digest()));
//! # Ok::<(), Box<dyn core::error::Error>>(())
//! ```

mod descriptor;
#[cfg(test)]
mod refusals;
mod values;

use alloc::string::String;
use alloc::vec::Vec;

use bincode::{BorrowDecode, Encode};

pub use self::descriptor::{
    DEFAULT_MAX_INPUT_DELAY_TICKS, DescriptorError, InputLimits, MAX_DESCRIPTOR_BYTES, MatchDescriptor,
};
use crate::codec::wire::{self, Blob, List, Text, WireError};
use crate::config::ConfigSchema;
use crate::digest::{Digest, Identity};
use crate::input::InputSchema;
use crate::runtime::Capabilities;
use crate::tick::TickRate;

/// Most bytes of a name or version in a manifest.
const MAX_NAME_BYTES: usize = 256;
/// Most modules, dependencies or settings in a manifest.
const MAX_ENTRIES: usize = 4096;
/// Most bytes of an encoded schema inside a manifest.
const MAX_SCHEMA_BYTES: usize = 65_536;
/// Most bytes of an encoded manifest.
pub const MAX_MANIFEST_BYTES: usize = 4 << 20;

type Name = Text<MAX_NAME_BYTES>;

/// A source file or module whose bytes can change a bit of state.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug, Encode, BorrowDecode)]
pub struct ModuleEntry {
    path: Name,
    digest: Digest,
}

impl ModuleEntry {
    /// Path of the file, relative to the game's sources.
    pub fn path(&self) -> &str {
        self.path.as_str()
    }

    /// BLAKE3 of its bytes.
    pub fn digest(&self) -> Digest {
        self.digest
    }
}

/// Everything that can change a bit of state, by name (K11). Its digest is the [`Identity`]; the parts themselves travel in
/// replays, so that a refusal can say which part differs.
///
/// ```
/// use retick_core::config::ConfigSchema;
/// use retick_core::identity::{IdentityManifest, IdentityPart};
/// use retick_core::input::InputSchema;
/// use retick_core::tick::TickRate;
///
/// let manifest = |source: &[u8]| {
///     IdentityManifest::builder("native", 1, TickRate::Hz60)
///         .input_schema(InputSchema::builder("input/v1").boolean("jump").build().unwrap())
///         .state_schema("state/v1")
///         .module("src/step.rs", source)
///         .build()
///         .unwrap()
/// };
/// let (one, other) = (manifest(b"fn step() {}"), manifest(b"fn step() { jump() }"));
/// assert_ne!(one.identity(), other.identity());
/// assert_eq!(one.difference(&other), Some(IdentityPart::Module { path: "src/step.rs".into() }));
/// ```
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct IdentityManifest {
    parts: ManifestParts,
    input_schema: InputSchema,
    config_schema: ConfigSchema,
    identity: Identity,
}

#[derive(Clone, PartialEq, Eq, Debug, Encode, BorrowDecode)]
struct ManifestParts {
    kernel_revision: u32,
    engine: Name,
    engine_revision: u32,
    abi_version: u32,
    settings: List<(Name, u64), MAX_ENTRIES>,
    tick_rate: TickRate,
    takes_commands: bool,
    projects: bool,
    input_schema: Blob<MAX_SCHEMA_BYTES>,
    state_schema: Name,
    config_schema: Blob<MAX_SCHEMA_BYTES>,
    modules: List<ModuleEntry, MAX_ENTRIES>,
    dependencies: List<(Name, Name), MAX_ENTRIES>,
}

impl ManifestParts {
    /// Every name, path and version.
    fn names(&self) -> impl Iterator<Item = &Name> {
        let pairs = self.dependencies.iter().flat_map(|(name, version)| [name, version]);
        let keys = self.settings.iter().map(|entry| &entry.0).chain(self.modules.iter().map(|module| &module.path));
        [&self.engine, &self.state_schema].into_iter().chain(keys).chain(pairs)
    }
}

/// Raised only when the kernel itself computes other bits for the same game.
const KERNEL_REVISION: u32 = 1;

/// The part of two manifests that differs, the first in the order of their fields.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum IdentityPart {
    /// The engine, its determinism revision, or the kernel's.
    Engine,
    /// The version of the interface between kernel and game.
    AbiVersion,
    /// A determinism setting or limit.
    Setting {
        /// The setting's name.
        name: String,
    },
    /// The tick rate.
    TickRate,
    /// Whether the game takes commands, or projects.
    Capabilities,
    /// The input schema or one of its policies.
    InputSchema,
    /// The id of the state's schema.
    StateSchema,
    /// The schema of the session config.
    ConfigSchema,
    /// A module's bytes, or a module that only one side has.
    Module {
        /// Its path.
        path: String,
    },
    /// A dependency's version, or a dependency that only one side has.
    Dependency {
        /// Its name.
        name: String,
    },
}

/// A manifest that can't be.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum ManifestError {
    /// A name, path or version is empty, longer than 256 bytes, or there twice.
    #[error("the name {name:?} is empty, too long or not unique")]
    Name {
        /// The name.
        name: String,
    },
    /// More entries than a manifest may list.
    #[error("{count} entries, of which {MAX_ENTRIES} are allowed")]
    TooMany {
        /// Entries given.
        count: usize,
    },
    /// No input schema was given.
    #[error("the input schema is missing")]
    NoInputSchema,
    /// The encoded manifest is malformed.
    #[error("the encoded manifest: {0}")]
    Encoding(#[from] WireError),
    /// The entries of the encoded manifest are not in order, or one is there twice.
    #[error("the entries of the encoded manifest are not in order")]
    Order,
    /// A schema inside the encoded manifest is malformed.
    #[error("a schema in the encoded manifest is malformed")]
    Schema,
}

impl IdentityManifest {
    /// Starts a manifest for an engine, its determinism revision (raised only when bits change) and a tick rate.
    pub fn builder(engine: &str, engine_revision: u32, tick_rate: TickRate) -> ManifestBuilder {
        ManifestBuilder {
            engine: String::from(engine),
            engine_revision,
            abi_version: 1,
            settings: Vec::new(),
            tick_rate,
            capabilities: Capabilities::default(),
            input_schema: None,
            state_schema: String::from("state/v1"),
            config_schema: ConfigSchema::empty(),
            modules: Vec::new(),
            dependencies: Vec::new(),
        }
    }

    /// The manifest that `bytes` encode.
    ///
    /// # Errors
    /// [`ManifestError`] when they are malformed.
    pub fn from_bytes(bytes: &[u8]) -> Result<IdentityManifest, ManifestError> {
        let parts: ManifestParts = wire::decode(bytes, MAX_MANIFEST_BYTES)?;
        if parts.names().any(|name| name.as_str().is_empty()) {
            return Err(ManifestError::Name { name: String::new() });
        }
        let ordered = parts.settings.0.windows(2).all(|pair| pair[0].0 < pair[1].0)
            && parts.modules.0.windows(2).all(|pair| pair[0].path < pair[1].path)
            && parts.dependencies.0.windows(2).all(|pair| pair[0].0 < pair[1].0);
        if !ordered {
            return Err(ManifestError::Order);
        }
        let input_schema = InputSchema::from_bytes(parts.input_schema.as_slice()).map_err(|_| ManifestError::Schema)?;
        let config_schema =
            ConfigSchema::from_bytes(parts.config_schema.as_slice()).map_err(|_| ManifestError::Schema)?;
        Ok(IdentityManifest::assemble(parts, input_schema, config_schema))
    }

    fn assemble(parts: ManifestParts, input_schema: InputSchema, config_schema: ConfigSchema) -> IdentityManifest {
        let digest = Digest::derived("retick 2026 identity v1", &[&wire::encode(&parts)]);
        IdentityManifest { parts, input_schema, config_schema, identity: Identity::from_bytes(*digest.as_bytes()) }
    }

    /// The manifest as bytes.
    #[must_use]
    pub fn to_bytes(&self) -> Vec<u8> {
        wire::encode(&self.parts)
    }

    /// The digest of everything here.
    pub fn identity(&self) -> Identity {
        self.identity
    }

    /// The tick rate the game is made for.
    pub fn tick_rate(&self) -> TickRate {
        self.parts.tick_rate
    }

    /// Whether the game takes commands, and projects.
    pub fn capabilities(&self) -> Capabilities {
        Capabilities { commands: self.parts.takes_commands, projection: self.parts.projects }
    }

    /// The name of the engine that runs the game, for example `"native"`.
    pub fn engine(&self) -> &str {
        self.parts.engine.as_str()
    }

    /// The schema of the game's inputs.
    pub fn input_schema(&self) -> &InputSchema {
        &self.input_schema
    }

    /// The schema of the game's session config.
    pub fn config_schema(&self) -> &ConfigSchema {
        &self.config_schema
    }

    /// The modules, by path.
    pub fn modules(&self) -> &[ModuleEntry] {
        &self.parts.modules.0
    }

    /// The first part in which two manifests differ, or `None` when their identities are equal.
    pub fn difference(&self, other: &IdentityManifest) -> Option<IdentityPart> {
        let (a, b) = (&self.parts, &other.parts);
        let name = |name: &Name| String::from(name.as_str());
        if (a.kernel_revision, &a.engine, a.engine_revision) != (b.kernel_revision, &b.engine, b.engine_revision) {
            return Some(IdentityPart::Engine);
        }
        if a.abi_version != b.abi_version {
            return Some(IdentityPart::AbiVersion);
        }
        if let Some(entry) = first_difference(&a.settings.0, &b.settings.0) {
            return Some(IdentityPart::Setting { name: name(&entry.0) });
        }
        if a.tick_rate != b.tick_rate {
            return Some(IdentityPart::TickRate);
        }
        if (a.takes_commands, a.projects) != (b.takes_commands, b.projects) {
            return Some(IdentityPart::Capabilities);
        }
        if a.input_schema != b.input_schema {
            return Some(IdentityPart::InputSchema);
        }
        if a.state_schema != b.state_schema {
            return Some(IdentityPart::StateSchema);
        }
        if a.config_schema != b.config_schema {
            return Some(IdentityPart::ConfigSchema);
        }
        if let Some(entry) = first_difference(&a.modules.0, &b.modules.0) {
            return Some(IdentityPart::Module { path: name(&entry.path) });
        }
        first_difference(&a.dependencies.0, &b.dependencies.0)
            .map(|entry| IdentityPart::Dependency { name: name(&entry.0) })
    }
}

/// The first entry, in their order, that only one of two sorted lists has.
fn first_difference<'a, T: Ord>(a: &'a [T], b: &'a [T]) -> Option<&'a T> {
    let common = a.iter().zip(b).take_while(|(a, b)| a == b).count();
    match (a.get(common), b.get(common)) {
        (Some(a), Some(b)) => Some(a.min(b)),
        (a, b) => a.or(b),
    }
}

/// Builds an [`IdentityManifest`].
#[derive(Clone, Debug)]
pub struct ManifestBuilder {
    engine: String,
    engine_revision: u32,
    abi_version: u32,
    settings: Vec<(String, u64)>,
    tick_rate: TickRate,
    capabilities: Capabilities,
    input_schema: Option<InputSchema>,
    state_schema: String,
    config_schema: ConfigSchema,
    modules: Vec<(String, Digest)>,
    dependencies: Vec<(String, String)>,
}

impl ManifestBuilder {
    /// The version of the interface between kernel and game (1 unless given).
    #[must_use]
    pub fn abi_version(mut self, version: u32) -> Self {
        self.abi_version = version;
        self
    }

    /// Adds a determinism setting or limit.
    #[must_use]
    pub fn setting(mut self, name: &str, value: u64) -> Self {
        self.settings.push((String::from(name), value));
        self
    }

    /// Whether the game takes commands, and projects (neither unless given).
    #[must_use]
    pub fn capabilities(mut self, capabilities: Capabilities) -> Self {
        self.capabilities = capabilities;
        self
    }

    /// The schema of the game's inputs; required.
    #[must_use]
    pub fn input_schema(mut self, schema: InputSchema) -> Self {
        self.input_schema = Some(schema);
        self
    }

    /// The id of the state's schema (`"state/v1"` unless given).
    #[must_use]
    pub fn state_schema(mut self, id: &str) -> Self {
        self.state_schema = String::from(id);
        self
    }

    /// The schema of the session config (the empty one unless given).
    #[must_use]
    pub fn config_schema(mut self, schema: ConfigSchema) -> Self {
        self.config_schema = schema;
        self
    }

    /// Adds a source file or module by its bytes. With `include_bytes!` a missing file fails the build.
    #[must_use]
    pub fn module(self, path: &str, bytes: &[u8]) -> Self {
        self.module_digest(path, Digest::of(bytes))
    }

    /// Adds a source file or module by the digest of its bytes, [`Digest::of`], as a generator wrote it down.
    #[must_use]
    pub fn module_digest(mut self, path: &str, digest: Digest) -> Self {
        self.modules.push((String::from(path), digest));
        self
    }

    /// Adds a dependency with its resolved version.
    #[must_use]
    pub fn dependency(mut self, name: &str, version: &str) -> Self {
        self.dependencies.push((String::from(name), String::from(version)));
        self
    }

    /// The manifest.
    ///
    /// # Errors
    /// [`ManifestError`] naming the entry that can't be.
    pub fn build(self) -> Result<IdentityManifest, ManifestError> {
        let input_schema = self.input_schema.ok_or(ManifestError::NoInputSchema)?;
        let schema_blob = |bytes: Vec<u8>| Blob::new(bytes).ok_or(ManifestError::Schema);
        let setting = |(key, value)| Ok((name(key)?, value));
        let module = |(path, digest)| Ok(ModuleEntry { path: name(path)?, digest });
        let dependency = |(key, version)| Ok((name(key)?, name(version)?));
        let parts = ManifestParts {
            kernel_revision: KERNEL_REVISION,
            engine: name(self.engine)?,
            engine_revision: self.engine_revision,
            abi_version: self.abi_version,
            settings: sorted(self.settings.into_iter().map(setting), |entry: &(Name, u64)| &entry.0)?,
            tick_rate: self.tick_rate,
            takes_commands: self.capabilities.commands,
            projects: self.capabilities.projection,
            input_schema: schema_blob(input_schema.to_bytes())?,
            state_schema: name(self.state_schema)?,
            config_schema: schema_blob(self.config_schema.to_bytes())?,
            modules: sorted(self.modules.into_iter().map(module), |entry: &ModuleEntry| &entry.path)?,
            dependencies: sorted(self.dependencies.into_iter().map(dependency), |entry: &(Name, Name)| &entry.0)?,
        };
        Ok(IdentityManifest::assemble(parts, input_schema, self.config_schema))
    }
}

fn name(text: String) -> Result<Name, ManifestError> {
    match Text::new(text.clone()) {
        Some(name) if !text.is_empty() => Ok(name),
        _ => Err(ManifestError::Name { name: text }),
    }
}

fn sorted<T: Ord>(
    entries: impl Iterator<Item = Result<T, ManifestError>>,
    key: impl Fn(&T) -> &Name,
) -> Result<List<T, MAX_ENTRIES>, ManifestError> {
    let mut entries = entries.collect::<Result<Vec<T>, ManifestError>>()?;
    if entries.len() > MAX_ENTRIES {
        return Err(ManifestError::TooMany { count: entries.len() });
    }
    entries.sort();
    match entries.windows(2).find(|pair| key(&pair[0]) == key(&pair[1])) {
        Some(pair) => Err(ManifestError::Name { name: String::from(key(&pair[0]).as_str()) }),
        None => Ok(List(entries)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::SessionConfig;
    use crate::rng::SessionSeed;
    use crate::seat::SeatCount;

    fn builder() -> ManifestBuilder {
        let schema = InputSchema::builder("input").boolean("a").build().expect("valid");
        IdentityManifest::builder("native", 1, TickRate::Hz60).input_schema(schema)
    }

    fn manifest(builder: ManifestBuilder) -> IdentityManifest {
        builder.build().expect("valid")
    }

    #[test]
    fn k11_every_part_changes_the_identity_and_is_named() {
        let base = manifest(builder().module("a.rs", b"a").dependency("rand", "1").setting("gas", 5));
        let check = |other: ManifestBuilder, part: IdentityPart| {
            let other = manifest(other);
            assert_ne!(base.identity(), other.identity(), "{part:?}");
            assert_eq!(base.difference(&other), Some(part));
        };
        let full = || builder().module("a.rs", b"a").dependency("rand", "1").setting("gas", 5);
        check(ManifestBuilder { engine_revision: 2, ..full() }, IdentityPart::Engine);
        check(full().abi_version(2), IdentityPart::AbiVersion);
        let projecting = Capabilities { commands: false, projection: true };
        check(full().capabilities(projecting), IdentityPart::Capabilities);
        check(ManifestBuilder { tick_rate: TickRate::Hz30, ..full() }, IdentityPart::TickRate);
        check(full().state_schema("other"), IdentityPart::StateSchema);
        check(full().setting("memory", 1), IdentityPart::Setting { name: "memory".into() });
        check(full().module("b.rs", b"b"), IdentityPart::Module { path: "b.rs".into() });
        check(full().dependency("serde", "1"), IdentityPart::Dependency { name: "serde".into() });
        let schema = InputSchema::builder("input").boolean("b").build().expect("valid");
        check(full().input_schema(schema), IdentityPart::InputSchema);
        assert_eq!(base.difference(&manifest(full())), None);
    }

    #[test]
    fn k11_a_manifest_survives_its_bytes_and_the_order_of_its_files_does_not_matter() {
        let one = manifest(builder().module("a.rs", b"a").module("b.rs", b"b"));
        let other = manifest(builder().module("b.rs", b"b").module("a.rs", b"a"));
        assert_eq!(one.identity(), other.identity());
        assert_eq!(IdentityManifest::from_bytes(&one.to_bytes()), Ok(one));
        let twice = builder().module("a.rs", b"a").module("a.rs", b"b").build();
        assert_eq!(twice, Err(ManifestError::Name { name: "a.rs".into() }));
    }

    #[test]
    fn k7_the_descriptor_of_a_game_without_commands_allows_none() {
        let allowed = |commands: bool| {
            let manifest = manifest(builder().capabilities(Capabilities { commands, projection: false }));
            let seats = SeatCount::new(2).expect("valid");
            MatchDescriptor::new(&manifest, SessionConfig::empty(), SessionSeed::from_u64(7), seats)
                .limits()
                .max_command_bytes
        };
        assert_eq!((allowed(false), allowed(true)), (0, 4096));
    }

    #[test]
    fn k12_a_descriptor_survives_its_bytes_and_refuses_a_false_config_digest() {
        let seats = SeatCount::new(4).expect("valid");
        let config = SessionConfig::from_bytes(b"config").expect("short");
        let descriptor = MatchDescriptor::new(&manifest(builder()), config, SessionSeed::from_u64(7), seats);
        let mut bytes = descriptor.to_bytes();
        assert_eq!(MatchDescriptor::from_bytes(&bytes), Ok(descriptor.clone()));
        let other = SessionConfig::from_bytes(b"c0nfig").expect("short");
        let at = bytes.windows(6).position(|window| window == b"config").expect("the config stands in clear");
        bytes[at..at + 6].copy_from_slice(b"c0nfig");
        let expected = descriptor.config().digest();
        assert_eq!(
            MatchDescriptor::from_bytes(&bytes),
            Err(DescriptorError::ConfigDigest { expected, found: other.digest() })
        );
    }
}
