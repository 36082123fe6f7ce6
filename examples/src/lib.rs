//! Embeddings of Retick, on its public API alone.
//!
//! - `examples/in_memory.rs`: a room and two clients in one process, without a socket: the machines by themselves.
//! - `examples/local.rs`: play without a network: players and a bot at one machine, sounds, a replay, a promotion.
//! - `examples/listen/`: a listen server: the host's loop drives the room, its own seat has no socket, the others come over TCP.
//! - `examples/editor/`: three people edit one map: commands, confirmed states alone, cursors as ephemerals, sizes as generations.
//! - `skirmish/`: a whole game, native and as a WebAssembly module.

/// The program in the README compiles, and keeps compiling.
#[cfg(doctest)]
#[doc = include_str!("../../README.md")]
pub struct Readme;

/// So does the CI in the testing kit's guide.
#[cfg(doctest)]
#[doc = include_str!("../../docs/testing.md")]
pub struct Testing;
