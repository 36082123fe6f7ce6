//! What a match is made of: schemas, configs, manifests, descriptors and asset pins, each with one form.

use retick_core::asset::{AssetPin, AssetPins};
use retick_core::config::{ConfigSchema, ConfigValue, SessionConfig};
use retick_core::identity::{IdentityManifest, MatchDescriptor};
use retick_core::input::InputSchema;
use retick_core::runtime::RuntimeFactory;
use retick_core::tick::TickRate;

use super::{Seed, Verdict};
use crate::fixtures::{tally_descriptor, tally_factory};

const PARTS: u8 = 6;

pub(super) fn check(input: &[u8]) -> Verdict {
    let Some((part, bytes)) = input.split_first() else { return Verdict::Refused };
    match part % PARTS {
        0 => same(bytes, ConfigSchema::from_bytes(bytes).map(|it| it.to_bytes())),
        1 => config(bytes),
        2 => same(bytes, IdentityManifest::from_bytes(bytes).map(|it| it.to_bytes())),
        3 => same(bytes, MatchDescriptor::from_bytes(bytes).map(|it| it.to_bytes())),
        4 => same(bytes, AssetPins::from_bytes(bytes).map(|it| it.to_bytes())),
        _ => same(bytes, InputSchema::from_bytes(bytes).map(|it| it.to_bytes())),
    }
}

/// Whatever is taken is written as the same bytes.
fn same<E>(bytes: &[u8], written: Result<Vec<u8>, E>) -> Verdict {
    if let Ok(written) = &written {
        assert_eq!(written, bytes, "what was decoded encodes to the same bytes");
    }
    Verdict::of(&written)
}

/// A schema, with its length before it, and the bytes of a config of it.
fn config(bytes: &[u8]) -> Verdict {
    let Some((length, rest)) = bytes.split_first_chunk() else { return Verdict::Refused };
    let Some((schema, config)) = rest.split_at_checked(usize::from(u16::from_le_bytes(*length))) else {
        return Verdict::Refused;
    };
    let Ok(schema) = ConfigSchema::from_bytes(schema) else { return Verdict::Refused };
    let values = schema.decode(config);
    if let Ok(values) = &values {
        let list: Vec<(&str, ConfigValue)> = values.iter().map(|(name, value)| (name, value.clone())).collect();
        let again = schema.encode(&list).map(|config| config.bytes().to_vec());
        assert_eq!(again.as_deref(), Ok(config), "what was decoded encodes to the same bytes");
        assert!(config.len() <= schema.max_bytes());
        let session = SessionConfig::from_bytes(config);
        assert_eq!(session.as_ref().map(SessionConfig::bytes), Ok(config));
    }
    Verdict::of(&values)
}

fn schema() -> Option<ConfigSchema> {
    let builder = ConfigSchema::builder("arena/v1").integer("players", 1..=8).text("map", 32);
    builder.boolean("night").bytes("mask", 16).build().ok()
}

pub(super) fn seeds() -> Vec<Seed> {
    let factory = tally_factory();
    let mut seeds = vec![
        Seed::tagged("schema-empty", 0, &ConfigSchema::empty().to_bytes()),
        Seed::tagged("manifest", 2, &factory.manifest().to_bytes()),
        Seed::tagged("descriptor", 3, &tally_descriptor(&factory, 2, 1).to_bytes()),
        Seed::tagged("input-schema", 5, &factory.manifest().input_schema().to_bytes()),
    ];
    if let Some(schema) = schema() {
        let bytes = schema.to_bytes();
        seeds.push(Seed::tagged("schema", 0, &bytes));
        let values = [
            ("players", ConfigValue::Integer(4)),
            ("map", ConfigValue::from("forest")),
            ("night", ConfigValue::Boolean(true)),
            ("mask", ConfigValue::Bytes(vec![1, 2, 3])),
        ];
        if let (Ok(config), Ok(length)) = (schema.encode(&values), u16::try_from(bytes.len())) {
            let both = [&length.to_le_bytes()[..], &bytes, config.bytes()].concat();
            seeds.push(Seed::tagged("config", 1, &both));
        }
        let builder = IdentityManifest::builder("native", 3, TickRate::Hz30).config_schema(schema);
        let builder = builder.module("game.rs", b"game").setting("mode", 2).dependency("libm", "0.2.16");
        let manifest = match builder.input_schema(factory.manifest().input_schema().clone()).build() {
            Ok(manifest) => manifest,
            Err(error) => panic!("a manifest with settings: {error}"),
        };
        seeds.push(Seed::tagged("manifest-settings", 2, &manifest.to_bytes()));
    }
    let pins = ["music", "terrain"].into_iter().filter_map(|name| AssetPin::of(name, name.as_bytes()).ok());
    if let Ok(pins) = AssetPins::new(pins) {
        seeds.push(Seed::tagged("asset-pins", 4, &pins.to_bytes()));
    }
    seeds
}
