//! Bit packing along a schema: least significant bit first, each field as its distance from its least value.

use alloc::vec::Vec;

use super::schema::{FieldKind, FieldLayout, FieldShape, InputError, InputField, InputSchema};

/// Writes the fields of one input, in the schema's order. Keeps the first mistake and reports it at the end.
#[derive(Debug)]
pub struct Packer<'a> {
    fields: core::slice::Iter<'a, InputField>,
    written: u16,
    bits: BitWriter,
    error: Option<InputError>,
}

impl<'a> Packer<'a> {
    /// Writes into `buffer`, whose content it drops.
    pub(super) fn new(schema: &'a InputSchema, mut buffer: Vec<u8>) -> Self {
        buffer.clear();
        let bits = BitWriter { bytes: buffer, used: 0 };
        Packer { fields: schema.fields().iter(), written: 0, bits, error: None }
    }

    /// Writes an integer or fixed-point field; a fixed-point one counts in its own units.
    pub fn integer(&mut self, value: i64) {
        self.put(|kind| match kind {
            FieldKind::Integer { min, max } | FieldKind::Axis { min, max, .. } => {
                (*min <= value && value <= *max).then(|| value.abs_diff(*min))
            }
            _ => None,
        });
    }

    /// Writes a boolean field.
    pub fn boolean(&mut self, value: bool) {
        self.put(|kind| matches!(kind, FieldKind::Boolean).then_some(u64::from(value)));
    }

    /// Writes an enum field as the index of its choice.
    pub fn choice(&mut self, index: u32) {
        self.put(|kind| match kind {
            FieldKind::Choice { choices } if index < *choices => Some(u64::from(index)),
            _ => None,
        });
    }

    /// Writes a bit set field; bit 0 is the first flag.
    pub fn flags(&mut self, flags: u64) {
        self.put(|kind| match kind {
            FieldKind::Flags { .. } => (flags <= kind.greatest_raw()).then_some(flags),
            _ => None,
        });
    }

    fn put(&mut self, raw_of: impl FnOnce(&FieldKind) -> Option<u64>) {
        let index = self.written;
        self.written = self.written.saturating_add(1);
        match self.fields.next().map(|field| (raw_of(field.kind()), field.kind().bits())) {
            Some((Some(raw), bits)) => self.bits.put(raw, bits),
            Some((None, _)) => {
                self.error.get_or_insert(InputError::OutOfRange { field: index });
            }
            None => {
                self.error.get_or_insert(InputError::FieldCount { written: self.written });
            }
        }
    }

    pub(super) fn finish(self) -> Result<Vec<u8>, InputError> {
        match self.error {
            Some(error) => Err(error),
            None if self.fields.len() > 0 => Err(InputError::FieldCount { written: self.written }),
            None => Ok(self.bits.bytes),
        }
    }
}

/// Reads the fields of one validated input, in the schema's order. Beyond the last field, or for a field of another kind than
/// was asked for, it gives the kind's zero: a mistake of the game's that is the same on every machine.
#[derive(Debug)]
pub struct Unpacker<'a> {
    layout: core::slice::Iter<'a, FieldLayout>,
    bits: BitReader<'a>,
}

impl<'a> Unpacker<'a> {
    #[inline]
    pub(super) fn new(schema: &'a InputSchema, packed: &'a [u8]) -> Self {
        Unpacker { layout: schema.layout().iter(), bits: BitReader::new(packed) }
    }

    /// Reads an integer or fixed-point field.
    #[inline]
    pub fn integer(&mut self) -> i64 {
        match self.next() {
            Some((field, raw)) if field.shape == FieldShape::Number => field.min.wrapping_add_unsigned(raw),
            _ => 0,
        }
    }

    /// Reads a boolean field.
    #[inline]
    pub fn boolean(&mut self) -> bool {
        matches!(self.next(), Some((field, 1)) if field.shape == FieldShape::Boolean)
    }

    /// Reads an enum field: the index of the choice.
    #[inline]
    pub fn choice(&mut self) -> u32 {
        match self.next() {
            Some((field, raw)) if field.shape == FieldShape::Choice => u32::try_from(raw).unwrap_or(0),
            _ => 0,
        }
    }

    /// Reads a bit set field.
    #[inline]
    pub fn flags(&mut self) -> u64 {
        match self.next() {
            Some((field, raw)) if field.shape == FieldShape::Flags => raw,
            _ => 0,
        }
    }

    #[inline]
    fn next(&mut self) -> Option<(&'a FieldLayout, u64)> {
        let field = self.layout.next()?;
        Some((field, self.bits.take(field.bits)))
    }
}

#[derive(Debug, Default)]
pub(super) struct BitWriter {
    pub(super) bytes: Vec<u8>,
    used: u32,
}

impl BitWriter {
    pub(super) fn put(&mut self, value: u64, bits: u32) {
        let mut left = bits;
        while left > 0 {
            let within = self.used % 8;
            if within == 0 {
                self.bytes.push(0);
            }
            let taken = left.min(8 - within);
            let part = value >> (bits - left) & low_bits(taken);
            if let Some(last) = self.bytes.last_mut() {
                *last |= (part << within).to_le_bytes()[0];
            }
            self.used += taken;
            left -= taken;
        }
    }
}

/// Reads bits from the least significant one on; bits beyond the end are zero.
#[derive(Debug)]
pub(super) struct BitReader<'a> {
    bytes: &'a [u8],
    used: u32,
}

impl<'a> BitReader<'a> {
    #[inline]
    pub(super) const fn new(bytes: &'a [u8]) -> Self {
        BitReader { bytes, used: 0 }
    }

    /// The next `bits` bits, at most 64.
    #[inline]
    pub(super) fn take(&mut self, bits: u32) -> u64 {
        let (first, within) = ((self.used / 8) as usize, self.used % 8);
        let used = self.used;
        self.used += bits;
        if within + bits <= 8 {
            let byte = self.bytes.get(first).copied().unwrap_or(0);
            return u64::from(byte >> within) & low_bits(bits);
        }
        take_across(self.bytes, used, bits)
    }
}

/// The `bits` bits that follow the first `used` ones, when they stand in several bytes. It takes no reader, so that a reader of
/// small fields can stay in registers.
fn take_across(bytes: &[u8], mut used: u32, bits: u32) -> u64 {
    let (mut value, mut filled) = (0, 0);
    while filled < bits {
        let byte = bytes.get((used / 8) as usize).copied().unwrap_or(0);
        let within = used % 8;
        let taken = (bits - filled).min(8 - within);
        value |= (u64::from(byte >> within) & low_bits(taken)) << filled;
        used += taken;
        filled += taken;
    }
    value
}

/// The lowest `bits` bits, at most 8.
const fn low_bits(bits: u32) -> u64 {
    (1 << bits) - 1
}
