//! What is no schema from bytes, and a type that does not pack what its schema says (S2).

use alloc::format;
use alloc::vec;

use super::*;

fn schema() -> InputSchema {
    let builder = InputSchema::builder("pad/v1").integer("steer", -100..=100).boolean("fire");
    builder.choice("weapon", 5).policy(FieldPolicy::Once).build().expect("valid")
}

/// The schema with this change, as bytes from elsewhere.
fn read(change: impl FnOnce(&mut SchemaParts)) -> InputSchemaError {
    let mut parts = schema().parts;
    change(&mut parts);
    InputSchema::from_bytes(&wire::encode(&parts)).expect_err("no schema")
}

#[test]
fn s2_a_malformed_schema_is_refused() {
    let bytes = schema().to_bytes();
    let check =
        |bytes: &[u8], error| assert_eq!(InputSchema::from_bytes(bytes), Err(InputSchemaError::Encoding(error)));
    (0..bytes.len()).for_each(|end| check(&bytes[..end], WireError::Malformed));
    check(&[&bytes[..], &[0]].concat(), WireError::NotCanonical { offset: bytes.len() });
    check(&[&[251, bytes[0], 0], &bytes[1..]].concat(), WireError::NotCanonical { offset: 0 });
    check(&[0; MAX_SCHEMA_BYTES + 1], WireError::TooLong { actual: MAX_SCHEMA_BYTES + 1, limit: MAX_SCHEMA_BYTES });
}

#[test]
fn s2_a_schema_that_no_builder_gives_is_refused_from_bytes_too() {
    let name = |name: &str| InputSchemaError::Name { name: String::from(name) };
    let text = |text: &str| Text::new(text).expect("short");
    assert_eq!(read(|parts| parts.id = text("")), name(""));
    assert_eq!(read(|parts| parts.fields.0[1].name = text("")), name(""));
    assert_eq!(read(|parts| parts.fields.0[1].name = text("steer")), name("steer"));
    let range = |name: &str| InputSchemaError::Range { name: String::from(name) };
    assert_eq!(read(|parts| parts.fields.0[0].kind = FieldKind::Integer { min: 1, max: 0 }), range("steer"));
    let deep = FieldKind::Axis { min: 0, max: 1, fraction_bits: 64 };
    assert_eq!(read(|parts| parts.fields.0[0].kind = deep), range("steer"));
    assert_eq!(read(|parts| parts.fields.0[2].kind = FieldKind::Choice { choices: 0 }), range("weapon"));
    assert_eq!(read(|parts| parts.fields.0[2].kind = FieldKind::Flags { count: 65 }), range("weapon"));

    let fields = |count: usize, kind: FieldKind| {
        let field =
            |index| InputField { name: text(&format!("{index}")), kind: kind.clone(), policy: FieldPolicy::Repeat };
        List((0..count).map(field).collect())
    };
    let wide = FieldKind::Integer { min: i64::MIN, max: i64::MAX };
    assert_eq!(read(|parts| parts.fields = fields(33, wide)), InputSchemaError::TooLong { bytes: 264 });
    let crowded = read(|parts| parts.fields = fields(MAX_INPUT_FIELDS + 1, FieldKind::Boolean));
    assert_eq!(crowded, InputSchemaError::Encoding(WireError::Malformed));
}

/// Packs this many booleans, whatever its schema.
#[derive(Clone)]
struct Packs(u16);

impl GameInput for Packs {
    fn schema() -> InputSchema {
        InputSchema::builder("packs/v1").boolean("a").boolean("b").build().expect("valid")
    }

    fn pack(&self, packer: &mut Packer<'_>) {
        (0..self.0).for_each(|_| packer.boolean(true));
    }

    fn unpack(unpacker: &mut Unpacker<'_>) -> Self {
        Packs((0..2).map(|_| u16::from(unpacker.boolean())).sum())
    }
}

#[test]
fn s2_a_type_that_packs_other_fields_than_its_schema_is_refused() {
    let schema = Packs::schema();
    assert_eq!(schema.pack(&Packs(2)), Ok(vec![0b11]));
    for (packs, written) in [(0, 0), (1, 1), (3, 3)] {
        assert_eq!(schema.pack(&Packs(packs)), Err(InputError::FieldCount { written }), "{packs} fields");
    }
    // The first mistake is the one that is named.
    assert_eq!(schema.pack(&Packs(9)), Err(InputError::FieldCount { written: 3 }));
}
