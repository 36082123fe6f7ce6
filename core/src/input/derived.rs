//! What `#[derive(GameInput)]` expands to calls: the checks that run while a game compiles, and the schema (S2).

use super::{FieldKind, FieldPolicy, InputSchema, MAX_INPUT_BYTES, MAX_INPUT_FIELDS};

/// A field as the macro writes it down.
#[derive(Clone, Debug)]
pub struct DerivedField {
    /// Its name.
    pub name: &'static str,
    /// What it holds.
    pub kind: FieldKind,
    /// What a prediction or a substitute does with it.
    pub policy: FieldPolicy,
}

/// Stops the compiler at a field that can't be.
///
/// # Panics
/// Where the schema's builder would refuse the field; in a constant, that is a compile error.
pub const fn check_field(kind: &FieldKind) {
    match kind {
        FieldKind::Integer { min, max } => {
            assert!(*min <= *max, "the range is empty, or an end is beyond the field's type")
        }
        FieldKind::Axis { min, max, fraction_bits } => {
            assert!(*min <= *max, "the range is empty, or an end is beyond the field's type");
            assert!(*fraction_bits < 64, "an axis has at most 63 fraction bits");
        }
        FieldKind::Boolean => {}
        FieldKind::Choice { choices } => assert!(*choices >= 1, "there is nothing to choose from"),
        FieldKind::Flags { count } => assert!(1 <= *count && *count <= 64, "a set has 1 to 64 flags"),
    }
}

/// Stops the compiler at more flags than the field's type holds.
///
/// # Panics
/// When `count` is beyond `capacity`; in a constant, that is a compile error.
pub const fn check_flags(count: u8, capacity: u8) {
    assert!(count <= capacity, "the field's type does not hold this many flags");
}

/// Stops the compiler at an input that is too large.
///
/// # Panics
/// Beyond [`MAX_INPUT_FIELDS`] or [`MAX_INPUT_BYTES`]; in a constant, that is a compile error.
pub const fn check_size(fields: &[DerivedField]) {
    assert!(fields.len() <= MAX_INPUT_FIELDS, "an input has at most 64 fields");
    let mut bits = 0;
    let mut index = 0;
    while index < fields.len() {
        bits += packed_bits(&fields[index].kind);
        index += 1;
    }
    assert!(bits.div_ceil(8) as usize <= MAX_INPUT_BYTES, "an input packs into at most 256 bytes");
}

const _: () = assert!(MAX_INPUT_FIELDS == 64 && MAX_INPUT_BYTES == 256, "the messages above name the limits");

/// [`FieldKind::bits`] for a constant.
const fn packed_bits(kind: &FieldKind) -> u32 {
    let greatest = match kind {
        FieldKind::Integer { min, max } | FieldKind::Axis { min, max, .. } => max.abs_diff(*min),
        FieldKind::Boolean => 1,
        FieldKind::Choice { choices } => choices.saturating_sub(1) as u64,
        FieldKind::Flags { count } => return *count as u32,
    };
    u64::BITS - greatest.leading_zeros()
}

/// The schema of checked fields.
///
/// # Panics
/// Never for what the macro writes: it checked the names, and the functions here the rest, while the game compiled.
#[must_use]
pub fn schema(id: &str, fields: &[DerivedField]) -> InputSchema {
    let builder = InputSchema::builder(id);
    let add = |builder: super::InputSchemaBuilder, field: &DerivedField| {
        builder.field(field.name, field.kind.clone()).policy(field.policy)
    };
    fields.iter().fold(builder, add).build().expect("names, ranges and size were checked while the game compiled")
}

#[cfg(test)]
mod tests {
    use super::*;

    const KINDS: [FieldKind; 9] = [
        FieldKind::Boolean,
        FieldKind::Integer { min: 3, max: 3 },
        FieldKind::Integer { min: i64::MIN, max: i64::MAX },
        FieldKind::Axis { min: -512, max: 511, fraction_bits: 8 },
        FieldKind::Choice { choices: 1 },
        FieldKind::Choice { choices: 5 },
        FieldKind::Choice { choices: u32::MAX },
        FieldKind::Flags { count: 1 },
        FieldKind::Flags { count: 64 },
    ];

    #[test]
    fn s2_the_size_checked_while_compiling_is_the_size_packed() {
        for kind in KINDS {
            check_field(&kind);
            assert_eq!(packed_bits(&kind), kind.bits(), "{kind:?}");
        }
    }

    fn wide(count: usize) -> alloc::vec::Vec<DerivedField> {
        let kind = FieldKind::Flags { count: 64 };
        alloc::vec![DerivedField { name: "x", kind, policy: FieldPolicy::Repeat }; count]
    }

    #[test]
    fn s2_an_input_of_256_bytes_passes() {
        check_size(&wide(32));
    }

    #[test]
    #[should_panic(expected = "at most 256 bytes")]
    fn s2_an_input_of_more_than_256_bytes_stops_the_compiler() {
        check_size(&wide(33));
    }

    #[test]
    #[should_panic(expected = "at most 64 fields")]
    fn s2_an_input_of_65_fields_stops_the_compiler() {
        check_size(&wide(65));
    }

    #[test]
    #[should_panic(expected = "at most 63 fraction bits")]
    fn s2_an_axis_of_64_fraction_bits_stops_the_compiler() {
        check_field(&FieldKind::Axis { min: 0, max: 1, fraction_bits: 64 });
    }
}
