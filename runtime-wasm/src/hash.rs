//! The canonical bytes of a state, and their checksum (K5).
//!
//! ```text
//! ┌──────────────────────────────┬───────────────────────────────────────────────┐
//! │ memory: its pages, whole     │ trailer: tick u64 │ pages u32 │ every mutable │
//! │ (a multiple of 64 KiB)       │                   │           │ global, raw   │
//! └──────────────────────────────┴───────────────────────────────────────────────┘
//! ```
//!
//! All little-endian; globals in the order of their indices, 4, 8 or 16 bytes each. Memory comes first, so that every page
//! stands aligned. Any bytes of this shape are the one form of one state. Gas, depth, the log and the engine's own data are not
//! part of it.
//!
//! The memory counts with its whole limit, and the trailer says how much of it the game knows (W7).

use retick_core::tick::Tick;
use wasmtime::{V128, Val};

use crate::admit::GlobalKind;

impl GlobalKind {
    /// The value with these bits; the low ones, for the smaller kinds.
    fn value(self, bits: u128) -> Val {
        let [low, high] = [bits & u128::from(u32::MAX), bits & u128::from(u64::MAX)];
        let (word, double) = (u32::try_from(low).unwrap_or_default(), u64::try_from(high).unwrap_or_default());
        match self {
            GlobalKind::I32 => Val::I32(word.cast_signed()),
            GlobalKind::I64 => Val::I64(double.cast_signed()),
            GlobalKind::F32 => Val::F32(word),
            GlobalKind::F64 => Val::F64(double),
            GlobalKind::V128 => Val::V128(V128::from(bits)),
        }
    }
}

/// Bytes of the trailer before its globals.
const TRAILER_HEADER_BYTES: usize = 12;

/// Bytes of the trailer of a game with these globals.
pub(crate) fn trailer_bytes(globals: impl Iterator<Item = GlobalKind>) -> usize {
    TRAILER_HEADER_BYTES + globals.map(GlobalKind::bytes).sum::<usize>()
}

/// Appends the fixed part of the trailer; the globals come next.
pub(crate) fn begin_trailer(tick: Tick, pages: u32, out: &mut Vec<u8>) {
    out.extend_from_slice(&tick.index().to_le_bytes());
    out.extend_from_slice(&pages.to_le_bytes());
}

/// Appends one global. References never get here: admission refuses them.
pub(crate) fn append_global(value: &Val, out: &mut Vec<u8>) {
    match value {
        Val::I32(value) => out.extend_from_slice(&value.to_le_bytes()),
        Val::I64(value) => out.extend_from_slice(&value.to_le_bytes()),
        Val::F32(bits) => out.extend_from_slice(&bits.to_le_bytes()),
        Val::F64(bits) => out.extend_from_slice(&bits.to_le_bytes()),
        Val::V128(value) => out.extend_from_slice(&value.as_u128().to_le_bytes()),
        _ => {}
    }
}

/// A trailer, taken apart.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Trailer<'a> {
    pub tick: Tick,
    pub pages: u32,
    globals: &'a [u8],
}

impl<'a> Trailer<'a> {
    /// Takes a trailer apart; `None` if these are not the bytes of one with so many.
    pub fn split(trailer: &'a [u8], trailer_bytes: usize) -> Option<Trailer<'a>> {
        let (tick, rest) = trailer.split_first_chunk()?;
        let (pages, globals) = rest.split_first_chunk()?;
        let (tick, pages) = (Tick::new(u64::from_le_bytes(*tick)), u32::from_le_bytes(*pages));
        (trailer.len() == trailer_bytes).then_some(Trailer { tick, pages, globals })
    }

    /// The globals' values.
    pub fn values(&self, kinds: impl Iterator<Item = GlobalKind>) -> impl Iterator<Item = Val> {
        let mut rest = self.globals;
        kinds.map(move |kind| {
            let (bytes, tail) = rest.split_at_checked(kind.bytes()).unwrap_or_default();
            rest = tail;
            kind.value(bytes.iter().rev().fold(0, |bits, byte| (bits << 8) | u128::from(*byte)))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const KINDS: [GlobalKind; 5] =
        [GlobalKind::I32, GlobalKind::I64, GlobalKind::F32, GlobalKind::F64, GlobalKind::V128];

    /// K5: raw bits, a NaN's payload included, come back; bytes of another shape do not.
    #[test]
    fn k5_a_trailer_comes_apart_as_it_was_put_together() {
        let bits = (0x0123_4567_89AB_CDEF_u128 << 64) | 0xFFF8_0000_0000_1234;
        let mut bytes = vec![];
        begin_trailer(Tick::new(1 << 33), 3, &mut bytes);
        KINDS.into_iter().for_each(|kind| append_global(&kind.value(bits), &mut bytes));
        let length = trailer_bytes(KINDS.into_iter());
        assert_eq!(bytes.len(), length);
        let trailer = Trailer::split(&bytes, length).expect("the shape");
        assert_eq!((trailer.tick, trailer.pages), (Tick::new(1 << 33), 3));
        let mut again = bytes[..TRAILER_HEADER_BYTES].to_vec();
        trailer.values(KINDS.into_iter()).for_each(|value| append_global(&value, &mut again));
        assert_eq!(again, bytes);
        assert!(Trailer::split(&bytes[1..], length).is_none());
        assert!(Trailer::split(&[], length).is_none());
    }
}
