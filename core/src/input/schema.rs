//! The input schema: fields, ranges, policies, and the pure functions that the identity binds (S2).

#[cfg(test)]
mod refusals;

use alloc::string::String;
use alloc::vec::Vec;
use core::mem;
use core::ops::RangeInclusive;

use bincode::{BorrowDecode, Encode};

use super::GameInput;
use super::bits::{BitReader, BitWriter, Packer, Unpacker};
use crate::codec::wire::{self, List, Text, WireError};
use crate::digest::Digest;

/// Most bytes of one packed input.
pub const MAX_INPUT_BYTES: usize = 256;
/// Most fields of a schema.
pub const MAX_INPUT_FIELDS: usize = 64;
/// Most bytes of a schema's or a field's name.
const MAX_NAME_BYTES: usize = 64;
/// Most bytes of an encoded schema.
const MAX_SCHEMA_BYTES: usize = 16_384;

const _: () = assert!(MAX_INPUT_FIELDS * 64 / 8 > MAX_INPUT_BYTES, "the byte limit is the one that binds");

/// What a field holds.
#[derive(Clone, PartialEq, Eq, Debug, Encode, BorrowDecode)]
pub enum FieldKind {
    /// An integer from `min` to `max`.
    Integer {
        /// Least value.
        min: i64,
        /// Greatest value.
        max: i64,
    },
    /// A button.
    Boolean,
    /// One of `choices` alternatives.
    Choice {
        /// How many alternatives there are.
        choices: u32,
    },
    /// A set of `count` flags.
    Flags {
        /// How many flags there are: 1 to 64.
        count: u8,
    },
    /// A fixed-point axis: `min` to `max` in units of 2^-`fraction_bits`.
    Axis {
        /// Least value, in units.
        min: i64,
        /// Greatest value, in units.
        max: i64,
        /// Binary digits after the point.
        fraction_bits: u8,
    },
}

impl FieldKind {
    /// The greatest packed value: how far the field's greatest value lies above its least.
    #[inline]
    pub fn greatest_raw(&self) -> u64 {
        match self {
            FieldKind::Integer { min, max } | FieldKind::Axis { min, max, .. } => max.abs_diff(*min),
            FieldKind::Boolean => 1,
            FieldKind::Choice { choices } => u64::from(choices.saturating_sub(1)),
            FieldKind::Flags { count } => u64::MAX >> (64 - u32::from(*count).clamp(1, 64)),
        }
    }

    /// Bits of the packed value.
    #[inline]
    pub(super) fn bits(&self) -> u32 {
        u64::BITS - self.greatest_raw().leading_zeros()
    }

    /// The packed neutral value: zero where the range holds it, otherwise the least value.
    fn neutral_raw(&self) -> u64 {
        match self {
            FieldKind::Integer { min, max } | FieldKind::Axis { min, max, .. } if *min <= 0 && 0 <= *max => {
                min.abs_diff(0)
            }
            _ => 0,
        }
    }

    fn is_valid(&self) -> bool {
        match self {
            FieldKind::Integer { min, max } => min <= max,
            FieldKind::Axis { min, max, fraction_bits } => min <= max && *fraction_bits < 64,
            FieldKind::Boolean => true,
            FieldKind::Choice { choices } => *choices >= 1,
            FieldKind::Flags { count } => (1..=64).contains(count),
        }
    }
}

/// What a prediction or a substitute does with a field of the last confirmed input (S2).
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Encode, BorrowDecode)]
pub enum FieldPolicy {
    /// Repeats it: a held control. The default.
    #[default]
    Repeat,
    /// Makes it neutral: a control that must not act for an absent player.
    Neutral,
    /// Makes it neutral, since it is a pulse that a player gave once.
    Once,
}

/// One field of an input.
#[derive(Clone, PartialEq, Eq, Debug, Encode, BorrowDecode)]
pub struct InputField {
    name: Text<MAX_NAME_BYTES>,
    kind: FieldKind,
    policy: FieldPolicy,
}

impl InputField {
    /// The field's name, unique in its schema.
    pub fn name(&self) -> &str {
        self.name.as_str()
    }

    /// What it holds.
    #[inline]
    pub fn kind(&self) -> &FieldKind {
        &self.kind
    }

    /// What a prediction or a substitute does with it.
    pub fn policy(&self) -> FieldPolicy {
        self.policy
    }
}

/// The fields of a game's input, in the order of their bits. Part of the identity (K11).
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct InputSchema {
    parts: SchemaParts,
    neutral: Vec<u8>,
    /// What follows from the fields and is asked for every seat of every tick.
    layout: Vec<FieldLayout>,
    facts: SchemaFacts,
}

/// A field as an input is read by it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct FieldLayout {
    pub(super) shape: FieldShape,
    /// Bits of the packed value.
    pub(super) bits: u32,
    /// What a packed value of 0 means.
    pub(super) min: i64,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum FieldShape {
    Number,
    Boolean,
    Choice,
    Flags,
}

impl FieldLayout {
    fn of(field: &InputField) -> FieldLayout {
        let (shape, min) = match field.kind {
            FieldKind::Integer { min, .. } | FieldKind::Axis { min, .. } => (FieldShape::Number, min),
            FieldKind::Boolean => (FieldShape::Boolean, 0),
            FieldKind::Choice { .. } => (FieldShape::Choice, 0),
            FieldKind::Flags { .. } => (FieldShape::Flags, 0),
        };
        FieldLayout { shape, bits: field.kind.bits(), min }
    }
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct SchemaFacts {
    /// Whether all bytes of the right length are an input: no field leaves out a value of its bits, and there is no padding.
    takes_all_bytes: bool,
    /// Whether every field's policy is to repeat.
    holds_all: bool,
}

impl SchemaFacts {
    fn of(fields: &[InputField]) -> SchemaFacts {
        let bits: u32 = fields.iter().map(|field| field.kind.bits()).sum();
        let full = |field: &InputField| field.kind.greatest_raw().count_ones() == field.kind.bits();
        SchemaFacts {
            takes_all_bytes: bits.is_multiple_of(8) && fields.iter().all(full),
            holds_all: fields.iter().all(|field| field.policy == FieldPolicy::Repeat),
        }
    }
}

#[derive(Clone, PartialEq, Eq, Debug, Encode, BorrowDecode)]
struct SchemaParts {
    id: Text<MAX_NAME_BYTES>,
    fields: List<InputField, MAX_INPUT_FIELDS>,
}

/// A schema that can't be.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum InputSchemaError {
    /// A name is empty, longer than 64 bytes or there twice.
    #[error("the name {name:?} is empty, too long or not unique")]
    Name {
        /// The name.
        name: String,
    },
    /// A field's range is empty or its size does not exist.
    #[error("the range of field {name:?} is empty or too large")]
    Range {
        /// The field's name.
        name: String,
    },
    /// More than [`MAX_INPUT_FIELDS`] fields.
    #[error("{count} fields, of which {MAX_INPUT_FIELDS} are allowed")]
    TooManyFields {
        /// Fields given.
        count: usize,
    },
    /// A packed input would be longer than [`MAX_INPUT_BYTES`].
    #[error("a packed input of {bytes} bytes, of which {MAX_INPUT_BYTES} are allowed")]
    TooLong {
        /// Bytes of a packed input.
        bytes: usize,
    },
    /// The encoded schema is malformed.
    #[error("the encoded schema: {0}")]
    Encoding(#[from] WireError),
}

/// Bytes or values that are not an input of this schema.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
pub enum InputError {
    /// A packed input has exactly as many bytes as the schema says.
    #[error("{actual} bytes where a packed input has {expected}")]
    Length {
        /// Bytes given.
        actual: usize,
        /// Bytes of every packed input of this schema.
        expected: usize,
    },
    /// A field's value is out of its range, or of another kind. [`InputSchema::describe`] names the field and its range.
    #[error("field {field} is out of range")]
    OutOfRange {
        /// Position of the field, from 0.
        field: u16,
    },
    /// The bits after the last field are not zero.
    #[error("the padding is not zero")]
    Padding,
    /// The type packed more or fewer fields than the schema has.
    #[error("{written} fields were packed")]
    FieldCount {
        /// Fields packed.
        written: u16,
    },
}

impl InputSchema {
    /// Starts a schema with this id, for example `"my-game-input/v1"`.
    pub fn builder(id: &str) -> InputSchemaBuilder {
        InputSchemaBuilder { id: String::from(id), fields: Vec::new() }
    }

    fn from_parts(parts: SchemaParts) -> Result<InputSchema, InputSchemaError> {
        if parts.id.as_str().is_empty() {
            return Err(InputSchemaError::Name { name: String::new() });
        }
        let fields = &parts.fields.0;
        for (index, field) in fields.iter().enumerate() {
            let name = field.name();
            if name.is_empty() || fields[..index].iter().any(|earlier| earlier.name() == name) {
                return Err(InputSchemaError::Name { name: String::from(name) });
            }
            if !field.kind.is_valid() {
                return Err(InputSchemaError::Range { name: String::from(name) });
            }
        }
        let mut neutral = BitWriter::default();
        fields.iter().for_each(|field| neutral.put(field.kind.neutral_raw(), field.kind.bits()));
        if neutral.bytes.len() > MAX_INPUT_BYTES {
            return Err(InputSchemaError::TooLong { bytes: neutral.bytes.len() });
        }
        let (layout, facts) = (fields.iter().map(FieldLayout::of).collect(), SchemaFacts::of(fields));
        Ok(InputSchema { parts, neutral: neutral.bytes, layout, facts })
    }

    /// The schema that `bytes` encode, as [`InputSchema::to_bytes`] wrote them.
    ///
    /// # Errors
    /// [`InputSchemaError`] when they are malformed or the schema can't be.
    pub fn from_bytes(bytes: &[u8]) -> Result<InputSchema, InputSchemaError> {
        InputSchema::from_parts(wire::decode(bytes, MAX_SCHEMA_BYTES)?)
    }

    /// The schema as bytes, for a module that carries its own.
    #[must_use]
    pub fn to_bytes(&self) -> Vec<u8> {
        wire::encode(&self.parts)
    }

    /// The schema's id.
    pub fn id(&self) -> &str {
        self.parts.id.as_str()
    }

    /// The fields, in the order of their bits.
    #[inline]
    pub fn fields(&self) -> &[InputField] {
        &self.parts.fields.0
    }

    #[inline]
    pub(super) fn layout(&self) -> &[FieldLayout] {
        &self.layout
    }

    /// Digest of everything here, for the identity.
    #[must_use]
    pub fn digest(&self) -> Digest {
        Digest::derived("retick 2026 input schema v1", &[&self.to_bytes()])
    }

    /// Bytes of every packed input.
    pub fn packed_bytes(&self) -> usize {
        self.neutral.len()
    }

    /// The packed neutral input, which the authority's null stands for.
    #[inline]
    pub fn neutral(&self) -> &[u8] {
        &self.neutral
    }

    /// Packs an input.
    ///
    /// # Errors
    /// [`InputError`] when a field is out of its range or the type does not follow this schema.
    pub fn pack<I: GameInput>(&self, input: &I) -> Result<Vec<u8>, InputError> {
        let mut packed = Vec::new();
        self.pack_into(input, &mut packed)?;
        Ok(packed)
    }

    /// Packs an input into a buffer that is used again: afterwards `packed` holds the input and nothing else.
    ///
    /// # Errors
    /// As [`InputSchema::pack`]; `packed` is empty then.
    pub fn pack_into<I: GameInput>(&self, input: &I, packed: &mut Vec<u8>) -> Result<(), InputError> {
        let mut packer = Packer::new(self, mem::take(packed));
        input.pack(&mut packer);
        *packed = packer.finish()?;
        Ok(())
    }

    /// Packs an input from each field's packed value, for tools that know no more of a game than its schema. A value beyond
    /// [`FieldKind::greatest_raw`] counts as that.
    #[must_use]
    pub fn pack_raw(&self, mut raw_of: impl FnMut(&InputField) -> u64) -> Vec<u8> {
        let mut writer = BitWriter::default();
        for field in self.fields() {
            writer.put(raw_of(field).min(field.kind.greatest_raw()), field.kind.bits());
        }
        writer.bytes
    }

    /// Unpacks a packed input after validating it.
    ///
    /// # Errors
    /// [`InputError`] when the bytes are not a packed input of this schema.
    pub fn unpack<I: GameInput>(&self, packed: &[u8]) -> Result<I, InputError> {
        self.validate(packed)?;
        Ok(self.unpack_validated(packed))
    }

    /// Unpacks what this schema validated before; total, so that a step needs no error path (K7).
    pub fn unpack_validated<I: GameInput>(&self, packed: &[u8]) -> I {
        I::unpack(&mut Unpacker::new(self, packed))
    }

    /// Checks that `packed` is exactly what packing some input of this schema gives.
    ///
    /// # Errors
    /// [`InputError`] naming the length, field or padding that is wrong.
    pub fn validate(&self, packed: &[u8]) -> Result<(), InputError> {
        if packed.len() != self.packed_bytes() {
            return Err(InputError::Length { actual: packed.len(), expected: self.packed_bytes() });
        }
        if self.facts.takes_all_bytes {
            return Ok(());
        }
        let mut reader = BitReader::new(packed);
        let mut used = 0;
        for ((field, layout), index) in self.fields().iter().zip(&self.layout).zip(0..) {
            let bits = layout.bits;
            if reader.take(bits) > field.kind.greatest_raw() {
                return Err(InputError::OutOfRange { field: index });
            }
            used += bits;
        }
        let padding = (8 - used % 8) % 8;
        if reader.take(padding) == 0 { Ok(()) } else { Err(InputError::Padding) }
    }

    /// What a step sees for the confirmed bytes of a seat: the pure function of bytes and flag that is part of the identity
    /// (S2, K7). Null and malformed bytes are neutral; a substitute keeps what each field's policy keeps. Appends exactly
    /// [`InputSchema::packed_bytes`] bytes to `out` and says whether the bytes were malformed.
    pub fn apply(&self, confirmed: Option<&[u8]>, substituted: bool, out: &mut Vec<u8>) -> bool {
        let (bytes, malformed) = match confirmed {
            None => (self.neutral(), false),
            Some(bytes) if self.validate(bytes).is_ok() => (bytes, false),
            Some(_) => (self.neutral(), true),
        };
        let start = out.len();
        out.extend_from_slice(bytes);
        if substituted {
            self.hold(&mut out[start..]);
        }
        malformed
    }

    /// Whether [`InputSchema::hold`] changes nothing.
    pub(crate) fn holds_all(&self) -> bool {
        self.facts.holds_all
    }

    /// Turns a seat's last input into what a prediction or a substitute makes of it, field by field.
    pub(crate) fn hold(&self, packed: &mut [u8]) {
        if self.facts.holds_all {
            return;
        }
        let mut offset = 0;
        for field in self.fields() {
            let bits = field.kind.bits();
            if field.policy != FieldPolicy::Repeat {
                copy_bits(&self.neutral, packed, offset, bits);
            }
            offset += bits as usize;
        }
    }
}

fn copy_bits(from: &[u8], to: &mut [u8], offset: usize, bits: u32) {
    for position in offset..offset + bits as usize {
        let mask = 1 << (position % 8);
        if let (Some(source), Some(target)) = (from.get(position / 8), to.get_mut(position / 8)) {
            *target = *target & !mask | source & mask;
        }
    }
}

/// Builds an [`InputSchema`] field by field.
#[derive(Clone, Debug)]
pub struct InputSchemaBuilder {
    id: String,
    fields: Vec<(String, FieldKind, FieldPolicy)>,
}

impl InputSchemaBuilder {
    /// Adds a field of any kind.
    #[must_use]
    pub fn field(mut self, name: &str, kind: FieldKind) -> Self {
        self.fields.push((String::from(name), kind, FieldPolicy::default()));
        self
    }

    /// Adds an integer.
    #[must_use]
    pub fn integer(self, name: &str, range: RangeInclusive<i64>) -> Self {
        self.field(name, FieldKind::Integer { min: *range.start(), max: *range.end() })
    }

    /// Adds a boolean.
    #[must_use]
    pub fn boolean(self, name: &str) -> Self {
        self.field(name, FieldKind::Boolean)
    }

    /// Adds an enum with this many choices.
    #[must_use]
    pub fn choice(self, name: &str, choices: u32) -> Self {
        self.field(name, FieldKind::Choice { choices })
    }

    /// Adds a set of `count` flags, at most 64.
    #[must_use]
    pub fn flags(self, name: &str, count: u8) -> Self {
        self.field(name, FieldKind::Flags { count })
    }

    /// Adds a fixed-point axis over `range` in units of 2^-`fraction_bits`.
    #[must_use]
    pub fn axis(self, name: &str, range: RangeInclusive<i64>, fraction_bits: u8) -> Self {
        self.field(name, FieldKind::Axis { min: *range.start(), max: *range.end(), fraction_bits })
    }

    /// Gives the last added field this policy instead of [`FieldPolicy::Repeat`].
    #[must_use]
    pub fn policy(mut self, policy: FieldPolicy) -> Self {
        if let Some(last) = self.fields.last_mut() {
            last.2 = policy;
        }
        self
    }

    /// The schema.
    ///
    /// # Errors
    /// [`InputSchemaError`] naming the field or size that can't be.
    pub fn build(self) -> Result<InputSchema, InputSchemaError> {
        if self.fields.len() > MAX_INPUT_FIELDS {
            return Err(InputSchemaError::TooManyFields { count: self.fields.len() });
        }
        let text = |name: String| Text::new(name.clone()).ok_or(InputSchemaError::Name { name });
        let id = text(self.id)?;
        let field = |(name, kind, policy)| Ok(InputField { name: text(name)?, kind, policy });
        let fields = self.fields.into_iter().map(field).collect::<Result<_, InputSchemaError>>()?;
        InputSchema::from_parts(SchemaParts { id, fields: List(fields) })
    }
}

#[cfg(test)]
mod tests {
    use alloc::vec;

    use super::*;

    #[derive(Clone, PartialEq, Debug)]
    struct Pad {
        steer: i64,
        fire: bool,
        weapon: u32,
        buttons: u64,
        aim: i64,
    }

    impl GameInput for Pad {
        fn schema() -> InputSchema {
            InputSchema::builder("pad/v1")
                .integer("steer", -100..=100)
                .boolean("fire")
                .policy(FieldPolicy::Once)
                .choice("weapon", 5)
                .flags("buttons", 9)
                .policy(FieldPolicy::Neutral)
                .axis("aim", -512..=511, 8)
                .build()
                .expect("valid")
        }
        fn pack(&self, packer: &mut Packer<'_>) {
            packer.integer(self.steer);
            packer.boolean(self.fire);
            packer.choice(self.weapon);
            packer.flags(self.buttons);
            packer.integer(self.aim);
        }
        fn unpack(unpacker: &mut Unpacker<'_>) -> Self {
            Pad {
                steer: unpacker.integer(),
                fire: unpacker.boolean(),
                weapon: unpacker.choice(),
                buttons: unpacker.flags(),
                aim: unpacker.integer(),
            }
        }
    }

    fn pad() -> Pad {
        Pad { steer: -100, fire: true, weapon: 4, buttons: 0x1FF, aim: 511 }
    }

    #[test]
    fn s2_an_input_takes_its_bits_and_comes_back() {
        let schema = Pad::schema();
        assert_eq!(schema.packed_bytes(), (8usize + 1 + 3 + 9 + 10).div_ceil(8));
        let packed = schema.pack(&pad()).expect("in range");
        assert_eq!(schema.unpack::<Pad>(&packed), Ok(pad()));
        let neutral = Pad { steer: 0, fire: false, weapon: 0, buttons: 0, aim: 0 };
        assert_eq!(schema.unpack::<Pad>(schema.neutral()), Ok(neutral));
    }

    #[test]
    fn s2_a_buffer_to_pack_into_is_used_again_and_empty_after_a_refusal() {
        let schema = Pad::schema();
        let (mut packed, expected) = (vec![0xFF; 9], schema.pack(&pad()).expect("in range"));
        let place = packed.as_ptr();
        assert_eq!((schema.pack_into(&pad(), &mut packed), &packed), (Ok(()), &expected));
        assert_eq!(packed.as_ptr(), place);
        let refused = schema.pack_into(&Pad { steer: 101, ..pad() }, &mut packed);
        assert_eq!((refused, packed.len()), (Err(InputError::OutOfRange { field: 0 }), 0));
    }

    #[test]
    fn s2_values_out_of_range_are_refused_both_ways() {
        let schema = Pad::schema();
        let packed = |pad: Pad| schema.pack(&pad);
        assert_eq!(packed(Pad { steer: 101, ..pad() }), Err(InputError::OutOfRange { field: 0 }));
        assert_eq!(packed(Pad { weapon: 5, ..pad() }), Err(InputError::OutOfRange { field: 2 }));
        assert_eq!(packed(Pad { buttons: 0x200, ..pad() }), Err(InputError::OutOfRange { field: 3 }));
        assert_eq!(packed(Pad { aim: -513, ..pad() }), Err(InputError::OutOfRange { field: 4 }));
        let good = schema.pack(&pad()).expect("in range");
        assert_eq!(schema.validate(&good[1..]), Err(InputError::Length { actual: 3, expected: 4 }));
        let mut steer = good.clone();
        steer[0] = 201;
        assert_eq!(schema.validate(&steer), Err(InputError::OutOfRange { field: 0 }));
        let mut padding = good;
        padding[3] |= 0x80;
        assert_eq!(schema.validate(&padding), Err(InputError::Padding));
    }

    #[test]
    fn s2_a_substitute_keeps_what_its_fields_keep_and_malformed_is_neutral() {
        let schema = Pad::schema();
        let packed = schema.pack(&pad()).expect("in range");
        let mut out = vec![];
        assert!(!schema.apply(Some(&packed), true, &mut out));
        let held = Pad { fire: false, buttons: 0, ..pad() };
        assert_eq!(schema.unpack::<Pad>(&out), Ok(held));
        out.clear();
        assert!(schema.apply(Some(&[1, 2]), false, &mut out));
        assert_eq!(out, schema.neutral());
        out.clear();
        assert!(!schema.apply(None, true, &mut out));
        assert_eq!(out, schema.neutral());
    }

    #[test]
    fn s2_inputs_made_of_raw_values_are_inputs() {
        let schema = Pad::schema();
        let neutral = schema.pack_raw(|field| field.kind().neutral_raw());
        assert_eq!(neutral, schema.neutral());
        let greatest = schema.pack_raw(|_| u64::MAX);
        assert_eq!(schema.unpack::<Pad>(&greatest), Ok(Pad { steer: 100, ..pad() }));
    }

    #[test]
    fn s2_the_full_range_of_an_integer_packs() {
        let schema = InputSchema::builder("wide").integer("value", i64::MIN..=i64::MAX).build().expect("valid");
        assert_eq!(schema.packed_bytes(), 8);
        assert!(schema.validate(&[0xFF; 8]).is_ok());
    }

    #[test]
    fn k11_a_schema_survives_its_bytes_and_every_part_shows_in_the_digest() {
        let schema = Pad::schema();
        assert_eq!(InputSchema::from_bytes(&schema.to_bytes()), Ok(schema.clone()));
        let other = |build: fn(InputSchemaBuilder) -> InputSchemaBuilder| {
            build(InputSchema::builder("x").integer("a", 0..=3)).build().expect("valid").digest()
        };
        let digests = [other(|b| b), other(|b| b.policy(FieldPolicy::Once)), other(|b| b.boolean("c"))];
        assert!(digests[0] != digests[1] && digests[0] != digests[2] && digests[1] != digests[2]);
    }

    #[test]
    fn s2_impossible_schemas_are_refused_by_name() {
        let build = |builder: InputSchemaBuilder| builder.build().expect_err("must be refused");
        let name = |name: &str| InputSchemaError::Name { name: String::from(name) };
        let range = |name: &str| InputSchemaError::Range { name: String::from(name) };
        assert_eq!(build(InputSchema::builder("")), name(""));
        assert_eq!(build(InputSchema::builder("x").boolean("a").boolean("a")), name("a"));
        assert_eq!(build(InputSchema::builder("x").field("a", FieldKind::Integer { min: 2, max: 1 })), range("a"));
        assert_eq!(build(InputSchema::builder("x").choice("a", 0)), range("a"));
        assert_eq!(build(InputSchema::builder("x").flags("a", 65)), range("a"));
        let many = (0..65).fold(InputSchema::builder("x"), |b, i| b.boolean(&alloc::format!("f{i}")));
        assert_eq!(build(many), InputSchemaError::TooManyFields { count: 65 });
        let long =
            (0..33).fold(InputSchema::builder("x"), |b, i| b.integer(&alloc::format!("f{i}"), i64::MIN..=i64::MAX));
        assert_eq!(build(long), InputSchemaError::TooLong { bytes: 264 });
    }
}
