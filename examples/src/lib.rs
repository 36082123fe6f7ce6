//! Embeddings of Retick, on its public API alone.
//!
//! - `examples/in_memory.rs`: a room and two clients in one process, without a socket: the machines by themselves.
//! - `examples/local.rs`: play without a network: players and a bot at one machine, sounds, a replay, a promotion.
//! - `skirmish/`: a whole game, native and as a WebAssembly module.

/// The program in the README compiles, and keeps compiling.
#[cfg(doctest)]
#[doc = include_str!("../../README.md")]
pub struct Readme;
