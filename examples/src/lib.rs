//! Embeddings of Retick, on its public API alone.
//!
//! - `examples/in_memory.rs`: a room and two clients in one process, without a socket: the machines by themselves.
//! - `skirmish/`: a whole game, native and as a WebAssembly module.

/// The program in the README compiles, and keeps compiling.
#[cfg(doctest)]
#[doc = include_str!("../../README.md")]
pub struct Readme;
