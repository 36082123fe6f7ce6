//! What is no manifest and no descriptor, by name, at each limit and one past it (K11, K12).

use alloc::format;
use alloc::vec;

use super::descriptor::DescriptorParts;
use super::*;
use crate::config::{MAX_CONFIG_BYTES, SessionConfig};
use crate::input::InputSchemaError;
use crate::rng::SessionSeed;
use crate::seat::SeatCount;

fn schema() -> InputSchema {
    InputSchema::builder("input").boolean("a").build().expect("valid")
}

fn builder() -> ManifestBuilder {
    IdentityManifest::builder("native", 1, TickRate::Hz60).input_schema(schema())
}

fn manifest() -> IdentityManifest {
    let builder = builder().module("a.rs", b"a").module("b.rs", b"b").setting("gas", 5).setting("memory", 1);
    builder.dependency("rand", "1").dependency("serde", "1").build().expect("valid")
}

/// The manifest with this change, as bytes from elsewhere.
fn read(change: impl FnOnce(&mut ManifestParts)) -> Result<IdentityManifest, ManifestError> {
    let mut parts = manifest().parts;
    change(&mut parts);
    IdentityManifest::from_bytes(&wire::encode(&parts))
}

fn descriptor() -> MatchDescriptor {
    let (config, seats) = (SessionConfig::from_bytes(b"config"), SeatCount::new(2));
    MatchDescriptor::new(&manifest(), config.expect("short"), SessionSeed::from_u64(7), seats.expect("valid"))
}

/// The descriptor with this change, as bytes from elsewhere.
fn travelled(change: impl FnOnce(&mut DescriptorParts)) -> Result<(), DescriptorError> {
    let mut parts = descriptor().parts;
    change(&mut parts);
    MatchDescriptor::from_bytes(&wire::encode(&parts)).map(|_| ())
}

/// What reading says of `bytes` cut at each place, with a byte behind them, with an over-long number at `number`, and longer
/// than `limit`.
fn check_encoding<T: core::fmt::Debug, E: PartialEq + core::fmt::Debug + From<WireError>>(
    bytes: &[u8],
    number: usize,
    limit: usize,
    read: impl Fn(&[u8]) -> Result<T, E>,
) {
    let check = |bytes: &[u8], error: WireError| assert_eq!(read(bytes).expect_err("malformed"), E::from(error));
    (0..bytes.len()).for_each(|end| check(&bytes[..end], WireError::Malformed));
    check(&[bytes, &[0]].concat(), WireError::NotCanonical { offset: bytes.len() });
    let long = [&bytes[..number], &[251, bytes[number], 0], &bytes[number + 1..]].concat();
    check(&long, WireError::NotCanonical { offset: number });
    check(&vec![0; limit + 1], WireError::TooLong { actual: limit + 1, limit });
}

#[test]
fn k11_a_manifest_without_an_input_schema_is_refused() {
    let builder = IdentityManifest::builder("native", 1, TickRate::Hz60);
    assert_eq!(builder.build(), Err(ManifestError::NoInputSchema));
}

#[test]
fn k11_each_list_of_a_manifest_ends_at_its_limit() {
    type Add = fn(ManifestBuilder, &str) -> ManifestBuilder;
    let adds: [Add; 3] = [
        |builder, name| builder.setting(name, 1),
        |builder, name| builder.module(name, b""),
        |builder, name| builder.dependency(name, "1"),
    ];
    for add in adds {
        let build =
            |count: usize| (0..count).fold(builder(), |builder, index| add(builder, &format!("{index}"))).build();
        let full = build(MAX_ENTRIES).expect("at the limit");
        assert_eq!(IdentityManifest::from_bytes(&full.to_bytes()), Ok(full));
        assert_eq!(build(MAX_ENTRIES + 1), Err(ManifestError::TooMany { count: MAX_ENTRIES + 1 }));
    }
    let crowded =
        read(|parts| parts.settings = List((0..=4096).map(|index| (label(&format!("{index:04}")), 1)).collect()));
    assert_eq!(crowded, Err(ManifestError::Encoding(WireError::Malformed)));
}

fn label(text: &str) -> Name {
    Name::new(text).expect("short")
}

#[test]
fn k11_a_malformed_manifest_is_refused() {
    // The kernel's revision stands first.
    check_encoding(&manifest().to_bytes(), 0, MAX_MANIFEST_BYTES, IdentityManifest::from_bytes);
}

#[test]
fn k11_entries_out_of_order_are_refused() {
    let order = Err(ManifestError::Order);
    assert_eq!(read(|parts| parts.settings.0.swap(0, 1)), order);
    assert_eq!(read(|parts| parts.modules.0.swap(0, 1)), order);
    assert_eq!(read(|parts| parts.dependencies.0.swap(0, 1)), order);
    // One that is there twice stands in no order either.
    assert_eq!(read(|parts| parts.settings.0[1].0 = label("gas")), order);
    assert_eq!(read(|parts| parts.modules.0[1].path = label("a.rs")), order);
    assert_eq!(read(|parts| parts.dependencies.0[1].0 = label("rand")), order);
    assert_eq!(read(|_| {}), Ok(manifest()));
}

#[test]
fn k11_a_name_that_no_builder_takes_is_refused_from_bytes_too() {
    let empty = ManifestError::Name { name: String::new() };
    let built = |builder: ManifestBuilder| builder.build().expect_err("an empty name");
    for builder in [
        IdentityManifest::builder("", 1, TickRate::Hz60).input_schema(schema()),
        builder().state_schema(""),
        builder().setting("", 1),
        builder().module("", b""),
        builder().dependency("", "1"),
        builder().dependency("rand", ""),
    ] {
        assert_eq!(built(builder), empty);
    }
    type Change = fn(&mut ManifestParts);
    let changes: [Change; 6] = [
        |parts| parts.engine = Name::default(),
        |parts| parts.state_schema = Name::default(),
        |parts| parts.settings.0[0].0 = Name::default(),
        |parts| parts.modules.0[0].path = Name::default(),
        |parts| parts.dependencies.0[0].0 = Name::default(),
        |parts| parts.dependencies.0[1].1 = Name::default(),
    ];
    for change in changes {
        assert_eq!(read(change), Err(empty.clone()));
    }
    let longest = "n".repeat(MAX_NAME_BYTES);
    assert!(builder().setting(&longest, 1).build().is_ok());
    let name = longest + "n";
    assert_eq!(builder().setting(&name, 1).build(), Err(ManifestError::Name { name }));
}

#[test]
fn k11_a_schema_that_is_none_is_refused_inside_a_manifest() {
    let blob = || Blob::new(*b"junk").expect("short");
    assert!(matches!(InputSchema::from_bytes(b"junk"), Err(InputSchemaError::Encoding(_))));
    assert_eq!(read(|parts| parts.input_schema = blob()), Err(ManifestError::Schema));
    assert_eq!(read(|parts| parts.config_schema = blob()), Err(ManifestError::Schema));
}

#[test]
fn k12_a_malformed_descriptor_is_refused() {
    // The config's length stands behind the identity.
    check_encoding(&descriptor().to_bytes(), 32, MAX_DESCRIPTOR_BYTES, MatchDescriptor::from_bytes);
}

#[test]
fn k12_a_config_ends_at_its_limit() {
    let with_config = |config: &[u8]| {
        let parts = descriptor().parts;
        let DescriptorParts { identity, seed, tick_rate, seats, generation, limits, .. } = parts;
        let digest = SessionConfig::from_bytes(config).map_or(parts.config_digest, |config| config.digest());
        let bytes = wire::encode(&(identity, config, digest, seed, tick_rate, seats, generation, limits));
        MatchDescriptor::from_bytes(&bytes).map(|descriptor| descriptor.config().bytes().to_vec())
    };
    assert_eq!(with_config(&[7; MAX_CONFIG_BYTES]), Ok(vec![7; MAX_CONFIG_BYTES]));
    assert_eq!(with_config(&[7; MAX_CONFIG_BYTES + 1]), Err(DescriptorError::Encoding(WireError::Malformed)));
}

#[test]
fn k12_inputs_and_commands_end_at_their_limits() {
    let inputs = |max_input_bytes| travelled(|parts| parts.limits.max_input_bytes = max_input_bytes);
    assert_eq!((inputs(0), inputs(256)), (Ok(()), Ok(())));
    for max_input_bytes in [257, u16::MAX] {
        assert_eq!(inputs(max_input_bytes), Err(DescriptorError::InputBytes { max_input_bytes }));
    }
    let commands = |max_command_bytes| travelled(|parts| parts.limits.max_command_bytes = max_command_bytes);
    assert_eq!((commands(0), commands(4096)), (Ok(()), Ok(())));
    for max_command_bytes in [4097, u16::MAX] {
        assert_eq!(commands(max_command_bytes), Err(DescriptorError::CommandBytes { max_command_bytes }));
    }
}
