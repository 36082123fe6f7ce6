use alloc::format;
use alloc::string::ToString;
use alloc::vec;

use super::*;
use crate::codec::canonical::DecodeReason;

fn schema() -> ConfigSchema {
    let builder = ConfigSchema::builder("my-game/v1").version(3).max_bytes(64);
    let builder = builder.integer("players", 1..=8).boolean("friendly_fire");
    builder.text("map", 12).bytes("blob", 25).build().unwrap()
}

fn values(players: i64, map: &str, blob: &[u8]) -> [(&'static str, ConfigValue); 4] {
    [("blob", blob.into()), ("players", players.into()), ("map", map.into()), ("friendly_fire", true.into())]
}

fn field(name: &str) -> String {
    name.to_owned()
}

#[test]
fn k12_a_config_is_the_canonical_form_of_its_values() {
    let mut values = values(8, "forest\0", &[1, 2]);
    let config = schema().encode(&values).unwrap();
    let form = canonical::encode(&(8_i64, true, "forest\0", &[1_u8, 2][..])).unwrap();
    assert_eq!(config.bytes(), form);
    values.reverse();
    assert_eq!(schema().encode(&values), Ok(config.clone()), "the order in which values are given has no say");
    assert_eq!(SessionConfig::from_bytes(config.bytes()), Ok(config.clone()));
    let decoded = schema().decode(config.bytes()).unwrap();
    assert_eq!((decoded.integer("players"), decoded.boolean("friendly_fire")), (Some(8), Some(true)));
    assert_eq!((decoded.text("map"), decoded.bytes("blob")), (Some("forest\0"), Some(&[1, 2][..])));
    assert_eq!((decoded.integer("map"), decoded.boolean("none"), decoded.text("blob")), (None, None, None));
    let names: Vec<&str> = decoded.iter().map(|(name, _)| name).collect();
    assert_eq!(names, ["players", "friendly_fire", "map", "blob"]);
}

#[test]
fn k12_encode_takes_every_field_once() {
    let all = values(1, "", &[]);
    let check = |values: &[(&str, ConfigValue)], error| assert_eq!(schema().encode(values), Err(error));
    check(&all[1..], ConfigError::MissingField { field: field("blob") });
    check(&[], ConfigError::MissingField { field: field("players") });
    check(&[&all[..], &[("map", "b".into())]].concat(), ConfigError::DuplicateField { field: field("map") });
    check(&[&all[..], &[("mop", "b".into())]].concat(), ConfigError::UnknownField { field: field("mop") });
    let mut wrong = all;
    wrong[1].1 = "1".into();
    let (expected, found) = (ConfigType::Integer, ConfigType::Text);
    check(&wrong, ConfigError::WrongType { field: field("players"), expected, found });
}

#[test]
fn k12_values_reach_their_limits_and_no_further() {
    let check = |players, map: &str, blob: &[u8], expected: Result<(), ConfigError>| {
        let written = schema().encode(&values(players, map, blob)).map(|_| ());
        assert_eq!(written, expected);
        // The same values as bytes from elsewhere.
        let bytes = canonical::encode(&(players, true, map, blob)).unwrap();
        assert_eq!(schema().decode(&bytes).map(|_| ()), expected);
    };
    let out_of_range = |value| Err(ConfigError::OutOfRange { field: field("players"), value, low: 1, high: 8 });
    let too_long = |name, length, max_bytes| Err(ConfigError::FieldTooLong { field: field(name), length, max_bytes });
    check(1, "", &[], Ok(()));
    check(8, "twelve bytes", &[0; 25], Ok(()));
    check(0, "", &[], out_of_range(0));
    check(9, "", &[], out_of_range(9));
    check(i64::MIN, "", &[], out_of_range(i64::MIN));
    check(1, "thirteen byte", &[], too_long("map", 13, 12));
    check(1, "äöüäöüä", &[], too_long("map", 14, 12));
    check(1, "", &[0; 26], too_long("blob", 26, 25));
}

#[test]
fn k12_the_whole_config_reaches_its_limit_and_no_further() {
    let schema = ConfigSchema::builder("b").max_bytes(20).text("a", 20).build().unwrap();
    assert_eq!(schema.encode(&[("a", "x".repeat(12).as_str().into())]).unwrap().bytes().len(), 20);
    let refusal = ConfigError::TooLong { length: 21, max_bytes: 20 };
    assert_eq!(schema.encode(&[("a", "x".repeat(13).as_str().into())]), Err(refusal.clone()));
    // Refused before parsing: these bytes aren't even text.
    assert_eq!(schema.decode(&[0xFF; 21]), Err(refusal));
    assert!(matches!(schema.decode(&[0xFF; 20]), Err(ConfigError::FieldTooLong { .. })));

    assert_eq!(SessionConfig::from_bytes(&[7; 65_536]).unwrap().bytes(), [7; 65_536]);
    let refusal = ConfigError::TooLong { length: 65_537, max_bytes: 65_536 };
    assert_eq!(SessionConfig::from_bytes(&[7; 65_537]), Err(refusal));
}

#[test]
fn k12_bytes_of_another_form_are_refused() {
    let bytes = schema().encode(&values(2, "map", &[9])).unwrap().bytes().to_vec();
    for end in 0..bytes.len() {
        let error = schema().decode(&bytes[..end]).unwrap_err();
        assert!(matches!(error, ConfigError::Truncated { .. }), "cut at {end}: {error}");
    }
    let longer = [&bytes[..], &[0, 0]].concat();
    assert_eq!(schema().decode(&longer), Err(ConfigError::TrailingBytes { count: 2 }));
    let check = |place: usize, byte, error| {
        let mut changed = bytes.clone();
        changed[place] = byte;
        assert_eq!(schema().decode(&changed), Err(error));
    };
    check(8, 2, ConfigError::InvalidBoolean { field: field("friendly_fire"), byte: 2 });
    check(17, 0xFF, ConfigError::InvalidUtf8 { field: field("map") });
    let claimed = 0xFF00_0000_0000_0003;
    check(16, 0xFF, ConfigError::FieldTooLong { field: field("map"), length: claimed, max_bytes: 12 });
}

#[test]
fn k12_digests_tell_configs_and_schemas_apart() {
    let config = |players| schema().encode(&values(players, "", &[])).unwrap();
    assert_ne!(config(1).digest(), config(2).digest());
    assert_ne!(config(1).digest(), Digest::of(config(1).bytes()));
    assert_ne!(SessionConfig::from_bytes(&schema().to_bytes()).unwrap().digest(), schema().digest());
    // Every part of a schema is in its digest.
    let base = || ConfigSchema::builder("a");
    let schemas = [
        base(),
        ConfigSchema::builder("b"),
        base().version(2),
        base().max_bytes(100),
        base().boolean("x"),
        base().boolean("y"),
        base().boolean("x").boolean("y"),
        base().boolean("y").boolean("x"),
        base().integer("x", 0..=1),
        base().integer("x", -1..=1),
        base().integer("x", 0..=2),
        base().text("x", 1),
        base().bytes("x", 1),
        base().bytes("x", 2),
    ];
    let mut digests = schemas.map(|schema| *schema.build().unwrap().digest().as_bytes()).to_vec();
    digests.sort_unstable();
    digests.dedup();
    assert_eq!(digests.len(), 14);
}

#[test]
fn k12_schemas_out_of_bounds_are_refused() {
    let base = || ConfigSchema::builder("a");
    let check = |builder: ConfigSchemaBuilder, error| assert_eq!(builder.build(), Err(error));
    let most = "n".repeat(64);
    let beyond = "n".repeat(65);
    assert!(ConfigSchema::builder(&most).boolean(&most).build().is_ok());
    check(ConfigSchema::builder(""), ConfigSchemaError::NameLength { name: field("") });
    check(ConfigSchema::builder(&beyond), ConfigSchemaError::NameLength { name: beyond.clone() });
    check(base().boolean(""), ConfigSchemaError::NameLength { name: field("") });
    check(base().boolean(&beyond), ConfigSchemaError::NameLength { name: beyond.clone() });
    assert!(base().max_bytes(65_536).build().is_ok());
    check(base().max_bytes(65_537), ConfigSchemaError::LimitTooHigh { max_bytes: 65_537 });
    assert!(base().max_bytes(25).boolean("a").integer("b", 0..=1).text("c", 1).bytes("d", 1).build().is_ok());
    let short = base().max_bytes(24).boolean("a").integer("b", 0..=1).text("c", 1).bytes("d", 1);
    check(short, ConfigSchemaError::LimitTooLow { max_bytes: 24, shortest: 25 });
    check(base().boolean("x").text("x", 1), ConfigSchemaError::DuplicateField { field: field("x") });
    assert!(base().integer("x", 3..=3).build().is_ok());
    let (low, high) = (4, 3);
    check(base().integer("x", low..=high), ConfigSchemaError::EmptyRange { field: field("x"), low, high });
    assert!(base().text("x", 65_536).build().is_ok());
    for builder in [base().text("x", 65_537), base().bytes("x", 65_537)] {
        let (max_bytes, schema_max_bytes) = (65_537, 65_536);
        check(builder, ConfigSchemaError::FieldLimitTooHigh { field: field("x"), max_bytes, schema_max_bytes });
    }
}

#[test]
fn k12_the_largest_schema_fits_its_limit() {
    let largest = |count: usize| {
        let name = |index: usize| format!("{index:064}");
        let builder = ConfigSchema::builder(&name(0)).version(u32::MAX);
        (0..count).fold(builder, |builder, index| builder.integer(&name(index), i64::MIN..=i64::MAX)).build()
    };
    let schema = largest(256).unwrap();
    assert_eq!(schema.to_bytes().len(), MAX_CONFIG_SCHEMA_BYTES);
    assert_eq!(ConfigSchema::from_bytes(&schema.to_bytes()), Ok(schema.clone()));
    assert_eq!(largest(257), Err(ConfigSchemaError::TooManyFields { count: 257 }));
    let longer = [&schema.to_bytes()[..], &[0]].concat();
    let refusal = ParseConfigSchemaError::TooLong { length: longer.len() };
    assert_eq!(ConfigSchema::from_bytes(&longer), Err(refusal));
}

#[test]
fn k12_a_schema_comes_back_from_its_bytes_and_from_nothing_else() {
    for schema in [schema(), ConfigSchema::empty()] {
        assert_eq!(ConfigSchema::from_bytes(&schema.to_bytes()), Ok(schema));
    }
    let bytes = schema().to_bytes();
    for end in 0..bytes.len() {
        let error = ConfigSchema::from_bytes(&bytes[..end]).unwrap_err();
        assert!(matches!(error, ParseConfigSchemaError::Malformed(_)), "cut at {end}: {error}");
    }
    let trailing = canonical::DecodeError { offset: bytes.len(), reason: DecodeReason::TrailingBytes { count: 1 } };
    assert_eq!(ConfigSchema::from_bytes(&[&bytes[..], &[0]].concat()), Err(trailing.into()));
    // A schema that the builder refuses is refused here.
    let fields = vec![FieldForm { name: "x", kind: ConfigKind::Integer { low: 1, high: 0 } }];
    let form = SchemaForm { id: "a", version: 1, max_bytes: 100, fields };
    let refusal = ConfigSchemaError::EmptyRange { field: field("x"), low: 1, high: 0 };
    let parsed = ConfigSchema::from_bytes(&canonical::encode(&form).unwrap());
    assert_eq!(parsed, Err(refusal.into()));
    let form = SchemaForm { id: "a", version: 1, max_bytes: u64::MAX, fields: vec![] };
    let parsed = ConfigSchema::from_bytes(&canonical::encode(&form).unwrap());
    assert!(matches!(parsed, Err(ParseConfigSchemaError::Refused(ConfigSchemaError::LimitTooHigh { .. }))));
}

#[test]
fn k12_an_empty_schema_has_the_empty_config() {
    let empty = ConfigSchema::empty();
    assert_eq!(empty.encode(&[]), Ok(SessionConfig::empty()));
    assert_eq!(empty.decode(&[]), Ok(ConfigValues::default()));
    assert_eq!(empty.decode(&[0]), Err(ConfigError::TooLong { length: 1, max_bytes: 0 }));
}

#[test]
fn k12_errors_name_field_value_and_range() {
    let error = schema().encode(&values(9, "", &[])).unwrap_err();
    assert_eq!(error.to_string(), r#"the field "players" is 9, and its range 1 to 8"#);
}
