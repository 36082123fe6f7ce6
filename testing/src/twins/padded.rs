//! A struct with padding (D03). Its memory is modelled byte by byte, as a C compiler lays it out, because safe code can't look at
//! the padding of a real one. Fresh memory holds what the machine left in it.

use std::marker::PhantomData;
use std::mem::{offset_of, size_of};

use retick_core::codec::canonical;
use retick_core::runtime::{
    GameDescription, InitContext, NativeFactory, NoCommand, Simulation, StateCodec, StepContext,
};

use super::description;
use crate::environment;
use crate::fixtures::TallyInput;

/// The layout that is modelled.
#[repr(C)]
struct Layout {
    a: u8,
    b: u32,
    c: u16,
}

/// Bytes of the memory of one state.
const MEMORY_BYTES: usize = size_of::<Layout>();
/// Bytes of its fields.
const FIELD_BYTES: usize = 7;

const _: () = assert!(MEMORY_BYTES > FIELD_BYTES, "the struct has padding");

/// How a checkpoint saves `b`.
pub trait Saving: Send + 'static {
    /// The most that it can hold.
    const MOST: u32;
}

/// Clean: in its own width.
#[derive(Debug)]
pub enum Wide {}

impl Saving for Wide {
    const MOST: u32 = u32::MAX;
}

/// Faulty: in one byte.
#[derive(Debug)]
pub enum Narrow {}

impl Saving for Narrow {
    const MOST: u32 = 0xFF;
}

/// The state: three fields, at their places in memory.
#[derive(Debug)]
pub struct Padded<W> {
    memory: [u8; MEMORY_BYTES],
    saving: PhantomData<fn() -> W>,
}

impl<W> Padded<W> {
    /// What the memory of machine 0, of machine 1, and of every other holds before it is used.
    pub const FRESH_MEMORY: [u8; 3] = [0xAA, 0x55, 0];

    /// Builds a state in fresh memory.
    fn build(a: u8, b: u32, c: u16) -> Padded<W> {
        let fresh = Self::FRESH_MEMORY[usize::from(environment::current().machine).min(2)];
        let mut padded = Padded { memory: [fresh; MEMORY_BYTES], saving: PhantomData };
        padded.put(offset_of!(Layout, a), &a.to_le_bytes());
        padded.put(offset_of!(Layout, b), &b.to_le_bytes());
        padded.put(offset_of!(Layout, c), &c.to_le_bytes());
        padded
    }

    fn put(&mut self, offset: usize, bytes: &[u8]) {
        self.memory[offset..offset + bytes.len()].copy_from_slice(bytes);
    }

    fn take<const N: usize>(&self, offset: usize) -> [u8; N] {
        std::array::from_fn(|index| self.memory[offset + index])
    }

    fn fields(&self) -> (u8, u32, u16) {
        let a = u8::from_le_bytes(self.take(offset_of!(Layout, a)));
        let b = u32::from_le_bytes(self.take(offset_of!(Layout, b)));
        (a, b, u16::from_le_bytes(self.take(offset_of!(Layout, c))))
    }
}

/// A checkpoint is a clone: here a save loses what it can't hold.
impl<W: Saving> Clone for Padded<W> {
    fn clone(&self) -> Padded<W> {
        let mut clone = Padded { memory: self.memory, saving: PhantomData };
        clone.put(offset_of!(Layout, b), &(self.fields().1 & W::MOST).to_le_bytes());
        clone
    }
}

impl<W: Saving> Simulation for Padded<W> {
    type Input = TallyInput;
    type Command = NoCommand;

    fn describe() -> GameDescription {
        description("twin/padded/v1", true)
    }

    fn init(_: &InitContext<'_>) -> Result<Self, u32> {
        Ok(Padded::build(7, 9, 3))
    }

    /// Inputs add to `b`.
    fn step(&mut self, context: &StepContext<'_, Self>) {
        let sum = |b: u32, seat| b.wrapping_add_signed(context.input(seat).0);
        let b = context.seats().fold(self.fields().1, sum);
        self.put(offset_of!(Layout, b), &b.to_le_bytes());
    }

    /// The memory as it is.
    fn project(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(&self.memory);
    }
}

/// Clean: the three values, whatever lies between them.
#[derive(Clone, Copy, Debug)]
pub enum LogicalForm {}

impl<W> StateCodec<Padded<W>> for LogicalForm {
    fn encode(state: &Padded<W>, out: &mut Vec<u8>) -> Result<(), canonical::EncodeError> {
        canonical::encode_into(&state.fields(), out)
    }

    fn decode(bytes: &[u8]) -> Option<Padded<W>> {
        canonical::decode(bytes).ok().map(|(a, b, c)| Padded::build(a, b, c))
    }
}

/// Faulty: the bytes of the memory.
#[derive(Clone, Copy, Debug)]
pub enum RawForm {}

impl<W> StateCodec<Padded<W>> for RawForm {
    fn encode(state: &Padded<W>, out: &mut Vec<u8>) -> Result<(), canonical::EncodeError> {
        out.extend_from_slice(&state.memory);
        Ok(())
    }

    fn decode(bytes: &[u8]) -> Option<Padded<W>> {
        Some(Padded { memory: bytes.try_into().ok()?, saving: PhantomData })
    }
}

/// Makes runtimes of the padded struct in one codec.
///
/// # Panics
/// When the manifest can't be, which would be a mistake in this file.
pub fn padded_factory<W: Saving, C>() -> NativeFactory<Padded<W>, C> {
    let factory = NativeFactory::with_codec(|builder| builder.module("padded.rs", include_bytes!("padded.rs")));
    factory.unwrap_or_else(|error| panic!("the manifest of the padded struct: {error}"))
}
