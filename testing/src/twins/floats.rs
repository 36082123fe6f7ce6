//! Floats whose bits a machine leaves open (D01). From frame 10 on each machine has its own bits of one value. The clean twin has
//! the kernel's canonical form, the faulty one writes floats as they are.

use std::marker::PhantomData;

use retick_core::codec::canonical;
use retick_core::runtime::{
    GameDescription, InitContext, NativeFactory, NoCommand, Simulation, StateCodec, StepContext,
};
use serde::{Deserialize, Serialize};

use super::description;
use crate::environment;
use crate::fixtures::TallyInput;

/// The first state that holds the bits.
const FRAME: u64 = 10;

/// What a machine leaves open.
pub trait FloatLeft: Clone + Send + 'static {
    /// The bits on the two machines.
    const BITS: [(u64, u32); 2];
}

/// Sign and payload of a NaN: one value, with one canonical form.
#[derive(Clone, Debug)]
pub enum NanBits {}

impl FloatLeft for NanBits {
    const BITS: [(u64, u32); 2] = [(0x7FF8_0000_0000_0000, 0x7FC0_0000), (0xFFF8_0000_0000_0001, 0xFFC0_0001)];
}

/// The sign of a zero: two values, and a game that depends on it is not deterministic.
#[derive(Clone, Debug)]
pub enum ZeroSign {}

impl FloatLeft for ZeroSign {
    const BITS: [(u64, u32); 2] = [(0, 0), (1 << 63, 1 << 31)];
}

/// The last bit of a function that platforms round in two ways, as the standard library's sine: two values, and a game that calls it
/// is not deterministic.
#[derive(Clone, Debug)]
pub enum LastBit {}

impl FloatLeft for LastBit {
    const BITS: [(u64, u32); 2] = [(0x3FD3_3333_3333_3333, 0x3E99_999A), (0x3FD3_3333_3333_3334, 0x3E99_999B)];
}

/// One float of each width, and a count that moves.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(bound = "")]
pub struct Floats<L> {
    wide: f64,
    narrow: f32,
    sum: i64,
    #[serde(skip)]
    left: PhantomData<fn() -> L>,
}

impl<L: FloatLeft> Simulation for Floats<L> {
    type Input = TallyInput;
    type Command = NoCommand;

    fn describe() -> GameDescription {
        description("twin/floats/v1", true)
    }

    fn init(_: &InitContext<'_>) -> Result<Self, u32> {
        Ok(Floats { wide: 1.0, narrow: 1.0, sum: 0, left: PhantomData })
    }

    fn step(&mut self, context: &StepContext<'_, Self>) {
        for seat in context.seats() {
            self.sum = self.sum.wrapping_mul(31).wrapping_add(i64::from(context.input(seat).0));
        }
        if context.tick().index() + 1 == FRAME {
            let (wide, narrow) = L::BITS[usize::from(environment::current().machine) % 2];
            (self.wide, self.narrow) = (f64::from_bits(wide), f32::from_bits(narrow));
        }
    }

    /// The bits as they are: what native code observes, and what the case reads back.
    fn project(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(&self.wide.to_bits().to_le_bytes());
        out.extend_from_slice(&self.narrow.to_bits().to_le_bytes());
    }
}

/// Faulty: writes the bits of floats as they are.
#[derive(Clone, Copy, Debug)]
pub enum RawFloats {}

impl<L: FloatLeft> StateCodec<Floats<L>> for RawFloats {
    fn encode(state: &Floats<L>, out: &mut Vec<u8>) -> Result<(), canonical::EncodeError> {
        canonical::encode_into(&(state.wide.to_bits(), state.narrow.to_bits(), state.sum), out)
    }

    fn decode(bytes: &[u8]) -> Option<Floats<L>> {
        let (wide, narrow, sum) = canonical::decode(bytes).ok()?;
        Some(Floats { wide: f64::from_bits(wide), narrow: f32::from_bits(narrow), sum, left: PhantomData })
    }
}

/// Makes runtimes of the floats in one codec.
///
/// # Panics
/// When the manifest can't be, which would be a mistake in this file.
pub fn floats_factory<L: FloatLeft, C>() -> NativeFactory<Floats<L>, C> {
    let factory = NativeFactory::with_codec(|builder| builder.module("floats.rs", include_bytes!("floats.rs")));
    factory.unwrap_or_else(|error| panic!("the manifest of the floats: {error}"))
}
