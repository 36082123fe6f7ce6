//! A game with much state, of which a tick touches little: 1 KiB in one piece, at another place in every tick.
//!
//! The bytes lie in a [`Store`], so that the same rules run on a plain vector and on a container that shares what did not
//! change between checkpoints. Both encode to the same bytes.

use std::ops::Range;

use retick_core::chunked::{CheckpointClone, Chunked};
use retick_core::codec::canonical::EncodeError;
use retick_core::config::{ConfigSchema, ConfigValue};
use retick_core::identity::{ManifestError, MatchDescriptor};
use retick_core::rng::SessionSeed;
use retick_core::runtime::{
    Capabilities, GameDescription, InitContext, NativeFactory, NoCommand, RuntimeFactory, Simulation, StateCodec,
    StepContext,
};
use retick_core::seat::SeatCount;
use retick_core::tick::TickRate;

use crate::game::{ByteInput, Game};

/// Bytes that one tick touches, or the whole state if it is smaller.
pub const TOUCHED_BYTES: usize = 1024;
/// Least bytes of a state.
pub const MIN_STATE_BYTES: u32 = 64;
/// Most bytes of a state.
pub const MAX_STATE_BYTES: u32 = 16 << 20;
/// How far the touched piece moves from tick to tick: odd, so that it meets every alignment.
const STRIDE: u64 = 40_503;

/// Where the bytes lie.
pub trait Store: Clone + Send + Sync + 'static {
    /// So many zeros.
    fn zeroed(bytes: usize) -> Self;

    /// How many bytes there are.
    fn count(&self) -> usize;

    /// Gives every run of bytes in `range` to `change`, with its offset in the range, in order.
    fn change(&mut self, range: Range<usize>, change: impl FnMut(usize, &mut [u8]));

    /// Appends all bytes.
    fn copy_to(&self, out: &mut Vec<u8>);

    /// A store with these bytes.
    fn from_bytes(bytes: &[u8]) -> Self;
}

impl Store for Vec<u8> {
    fn zeroed(bytes: usize) -> Self {
        vec![0; bytes]
    }

    fn count(&self) -> usize {
        self.len()
    }

    fn change(&mut self, range: Range<usize>, mut change: impl FnMut(usize, &mut [u8])) {
        change(0, &mut self[range]);
    }

    fn copy_to(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(self);
    }

    fn from_bytes(bytes: &[u8]) -> Self {
        bytes.to_vec()
    }
}

impl Store for Chunked<u8> {
    fn zeroed(bytes: usize) -> Self {
        let mut store = Chunked::new();
        store.resize(bytes, 0);
        store
    }

    fn count(&self) -> usize {
        self.len()
    }

    fn change(&mut self, range: Range<usize>, mut change: impl FnMut(usize, &mut [u8])) {
        let first = range.start;
        self.for_each_chunk_mut(range, |start, run| change(start - first, run));
    }

    fn copy_to(&self, out: &mut Vec<u8>) {
        self.for_each_chunk(.., |_, run| out.extend_from_slice(run));
    }

    fn from_bytes(bytes: &[u8]) -> Self {
        bytes.iter().copied().collect()
    }
}

/// The state: bytes, and the number of ticks played.
#[derive(CheckpointClone, PartialEq, Eq, Debug)]
pub struct Bulk<B> {
    played: u64,
    bytes: B,
}

impl<B: Store> Bulk<B> {
    /// A state of so many bytes before the first tick.
    #[must_use]
    pub fn new(bytes: u32) -> Self {
        Bulk { played: 0, bytes: B::zeroed(bytes as usize) }
    }
}

impl<B: Store> Game for Bulk<B> {
    type Codec = BulkCodec;

    fn play(&mut self, inputs: impl Iterator<Item = u8>) {
        let salt = inputs.fold(self.played.to_le_bytes()[0], |salt, input| salt.wrapping_mul(31).wrapping_add(input));
        let touched = TOUCHED_BYTES.min(self.bytes.count());
        let places = (self.bytes.count() - touched + 1) as u64;
        let start = usize::try_from(self.played.wrapping_mul(STRIDE) % places).expect("below the state's length");
        self.bytes.change(start..start + touched, |offset, run| {
            for (byte, place) in run.iter_mut().zip(offset..) {
                *byte = byte.wrapping_mul(31).wrapping_add(salt ^ place.to_le_bytes()[0]);
            }
        });
        self.played += 1;
    }
}

/// The bytes of the state: the ticks played, then the store's, whatever it is made of.
#[derive(Clone, Copy, Debug)]
pub enum BulkCodec {}

impl<B: Store> StateCodec<Bulk<B>> for BulkCodec {
    fn encode(state: &Bulk<B>, out: &mut Vec<u8>) -> Result<(), EncodeError> {
        out.extend_from_slice(&state.played.to_le_bytes());
        state.bytes.copy_to(out);
        Ok(())
    }

    fn decode(bytes: &[u8]) -> Option<Bulk<B>> {
        let (played, bytes) = bytes.split_first_chunk()?;
        Some(Bulk { played: u64::from_le_bytes(*played), bytes: B::from_bytes(bytes) })
    }
}

impl<B: Store> Simulation for Bulk<B> {
    type Input = ByteInput;
    type Command = NoCommand;

    fn describe() -> GameDescription {
        let range = i64::from(MIN_STATE_BYTES)..=i64::from(MAX_STATE_BYTES);
        GameDescription {
            tick_rate: TickRate::Hz60,
            state_schema: "bulk/v1",
            config_schema: ConfigSchema::builder("bulk/v1").integer("bytes", range).build().expect("one field"),
            seats: 1..=128,
            capabilities: Capabilities::default(),
        }
    }

    fn init(context: &InitContext<'_>) -> Result<Self, u32> {
        let bytes = context.config.integer("bytes").and_then(|bytes| u32::try_from(bytes).ok()).ok_or(0u32)?;
        Ok(Bulk::new(bytes))
    }

    fn step(&mut self, context: &StepContext<'_, Self>) {
        self.play(context.seats().map(|seat| context.input(seat).0));
    }
}

/// The game's factory, for one kind of store.
pub type BulkFactory<B> = NativeFactory<Bulk<B>, BulkCodec>;

/// The factory.
///
/// # Errors
/// Never, unless the manifest's limits change.
pub fn bulk_factory<B: Store>() -> Result<BulkFactory<B>, ManifestError> {
    NativeFactory::with_codec(|manifest| manifest.module("benches/src/bulk.rs", include_bytes!("bulk.rs")))
}

/// A match of the game with a state of `bytes` bytes.
///
/// # Panics
/// Below [`MIN_STATE_BYTES`] and beyond [`MAX_STATE_BYTES`].
#[must_use]
pub fn bulk_match<B: Store>(factory: &BulkFactory<B>, seats: SeatCount, bytes: u32) -> MatchDescriptor {
    let schema = factory.manifest().config_schema();
    let config = schema.encode(&[("bytes", ConfigValue::Integer(i64::from(bytes)))]).expect("a size within the limits");
    MatchDescriptor::new(factory.manifest(), config, SessionSeed::from_u64(1), seats)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_stores_hold_the_same_bytes_after_the_same_ticks() {
        // Long enough for the touched piece to lie across chunks, and to meet both ends.
        for size in [64, 1024, 5000, 65_536] {
            let (mut plain, mut chunked) = (Bulk::<Vec<u8>>::new(size), Bulk::<Chunked<u8>>::new(size));
            for tick in 0..300u16 {
                let inputs = [tick.to_le_bytes()[0], 7];
                plain.play(inputs.into_iter());
                chunked.play(inputs.into_iter());
            }
            let (mut expected, mut found) = (Vec::new(), Vec::new());
            BulkCodec::encode(&plain, &mut expected).expect("bytes");
            BulkCodec::encode(&chunked, &mut found).expect("bytes");
            assert!(expected == found && expected.len() == 8 + size as usize, "{size} bytes");
            let back: Option<Bulk<Chunked<u8>>> = BulkCodec::decode(&expected);
            assert!(back == Some(chunked), "{size} bytes come back");
        }
    }
}
