//! Between the exports and [`Guest`]: 32-bit places in, spans out. The one static of a module is a [`Bridge`].

use core::cell::RefCell;

use retick_core::runtime::Simulation;
use retick_core::runtime::abi::{ABI_VERSION, pack_span};

use crate::{Buffer, Guest, GuestError};

/// A module's game and its buffer, made at the first call.
pub struct Bridge<S: Simulation>(RefCell<Option<Module<S>>>);

struct Module<S: Simulation> {
    guest: Guest<S>,
    buffer: Buffer,
}

#[cfg(target_feature = "atomics")]
compile_error!("a Retick game is single-threaded: build it without the target feature `atomics`");

// SAFETY: without atomics, which the line above refuses, a wasm32 module has one thread, so no reference is ever shared
// between two. A call from within a call would be refused by the cell.
#[allow(unsafe_code)]
unsafe impl<S: Simulation> Sync for Bridge<S> {}

impl<S: Simulation> Default for Bridge<S> {
    fn default() -> Self {
        Bridge::new()
    }
}

impl<S: Simulation> Bridge<S> {
    /// The answer of `retick_abi`.
    pub const ABI: i32 = ABI_VERSION.cast_signed();

    /// Nothing yet.
    pub const fn new() -> Self {
        Bridge(RefCell::new(None))
    }

    /// `retick_buffer`.
    pub fn buffer(&self, length: u32) -> u32 {
        self.with(|module| word(module.buffer.reserve(index(length))))
    }

    /// `retick_describe`.
    pub fn describe(&self) -> i64 {
        self.with(|module| span(module.guest.describe()))
    }

    /// `retick_init`.
    pub fn init(&self, pointer: u32, length: u32) -> i32 {
        let result = self.with(|module| module.guest.init(module.buffer.at(pointer, length)));
        match result {
            Ok(()) => 0,
            // The code 0 says that all is well, so a refusal can't have it.
            Err(GuestError::Refused { code }) if code != 0 => code.cast_signed(),
            Err(error) => fail(error),
        }
    }

    /// `retick_step`.
    pub fn step(&self, pointer: u32, length: u32) -> u32 {
        self.with(|module| module.guest.step(module.buffer.at(pointer, length)).unwrap_or_else(fail))
    }

    /// `retick_project`.
    pub fn project(&self) -> i64 {
        self.with(|module| module.guest.project().map(span).unwrap_or_else(fail))
    }

    fn with<R>(&self, call: impl FnOnce(&mut Module<S>) -> R) -> R {
        let new = || Module { guest: Guest::new(), buffer: Buffer::new() };
        call(self.0.borrow_mut().get_or_insert_with(new))
    }
}

impl Buffer {
    /// The host's block; traps when it is not where the host was told to write it.
    fn at(&self, pointer: u32, length: u32) -> &[u8] {
        match self.block(index(pointer), index(length)) {
            Some(block) => block,
            None => panic!("a block of {length} bytes at {pointer}, where no buffer is"),
        }
    }
}

fn fail<R>(error: GuestError) -> R {
    panic!("{error}")
}

fn span(bytes: &[u8]) -> i64 {
    // Exposed, because the host reads through this address.
    pack_span(word(bytes.as_ptr().expose_provenance()), word(bytes.len()))
}

#[expect(clippy::cast_possible_truncation, reason = "a usize has 32 bits on wasm32")]
const fn word(value: usize) -> u32 {
    value as u32
}

const fn index(value: u32) -> usize {
    value as usize
}
