//! The games that the command line can play: the built-in one, and modules from files.

use std::path::Path;
use std::sync::Arc;

use retick_core::config::{ConfigKind, ConfigSchema, ConfigValue, SessionConfig};
use retick_core::runtime::RuntimeFactory;
use retick_wasm::{Limits, WasmFactory};

use crate::failure::Failure;
use crate::files::read_bounded;

/// The built-in game, as the module that is committed beside its sources.
pub fn skirmish() -> Result<Arc<WasmFactory>, Failure> {
    load("skirmish (built in)", skirmish::MODULE)
}

/// A game from a module file.
pub fn from_file(path: &Path) -> Result<Arc<WasmFactory>, Failure> {
    let bytes = read_bounded(path, Limits::default().module_bytes)?;
    load(&path.display().to_string(), &bytes)
}

fn load(name: &str, bytes: &[u8]) -> Result<Arc<WasmFactory>, Failure> {
    let factory = WasmFactory::load(bytes, Limits::default());
    factory.map(Arc::new).map_err(|error| Failure::Module { name: name.into(), error })
}

/// A session config from `name=value` settings; fields that are not set take the value nearest to zero.
pub fn config_from(schema: &ConfigSchema, settings: &[String]) -> Result<SessionConfig, Failure> {
    let mut values = Vec::new();
    for field in schema.fields() {
        let given =
            settings.iter().find_map(|setting| setting.split_once('=').filter(|(name, _)| *name == field.name()));
        let value = match given {
            Some((_, text)) => parse(field.kind(), text).ok_or(Failure::Setting {
                argument: format!("{}={text}", field.name()),
                reason: "the value is not of the field's type",
            })?,
            None => nearest_to_zero(field.kind()),
        };
        values.push((field.name(), value));
    }
    let unknown = settings.iter().find(|setting| {
        let name = setting.split_once('=').map(|(name, _)| name);
        !schema.fields().iter().any(|field| Some(field.name()) == name)
    });
    match unknown {
        Some(setting) => Err(Failure::Setting {
            argument: setting.clone(),
            reason: "expected NAME=VALUE, and NAME one of the game's config fields",
        }),
        None => Ok(schema.encode(&values)?),
    }
}

fn parse(kind: &ConfigKind, text: &str) -> Option<ConfigValue> {
    match kind {
        ConfigKind::Integer { .. } => text.parse::<i64>().ok().map(ConfigValue::from),
        ConfigKind::Boolean => text.parse::<bool>().ok().map(ConfigValue::from),
        ConfigKind::Text { .. } => Some(ConfigValue::from(text)),
        ConfigKind::Bytes { .. } => Some(ConfigValue::from(text.as_bytes())),
    }
}

fn nearest_to_zero(kind: &ConfigKind) -> ConfigValue {
    match kind {
        ConfigKind::Integer { low, high } => ConfigValue::from(0.clamp(*low, *high)),
        ConfigKind::Boolean => ConfigValue::from(false),
        ConfigKind::Text { .. } => ConfigValue::from(""),
        ConfigKind::Bytes { .. } => ConfigValue::from(&[][..]),
    }
}

/// A name of the game, for people.
pub fn describe(factory: &dyn RuntimeFactory) -> String {
    let manifest = factory.manifest();
    format!("{} on {}, identity {}", manifest.input_schema().id(), manifest.engine(), manifest.identity())
}

/// The seed that was given, or else one that the operating system draws.
pub fn seed_or_drawn(given: Option<u64>) -> Result<u64, Failure> {
    match given {
        Some(seed) => Ok(seed),
        // Short enough to be typed again.
        None => Ok(u64::from(getrandom::u32().map_err(|error| Failure::Run(format!("no seed: {error}")))?)),
    }
}
