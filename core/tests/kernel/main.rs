//! The kernel from outside, with one small game: the native adapter, snapshots and replays.

#![expect(clippy::unwrap_used, clippy::cast_possible_truncation, reason = "a panic in a test is a red test")]

#[cfg(feature = "derive")]
mod checkpoint_clone;
mod chunked;
mod client;
mod client_life;
mod contract;
mod counter;
#[cfg(feature = "derive")]
mod derive;
mod donation;
mod edges;
mod events;
mod forged_replays;
mod lenient;
mod native;
mod replay;
mod replay_blocks;
mod replay_document;
mod replay_seek;
mod replay_signature;
mod runner;
mod runner_preparation;
mod snapshot;
mod witness;
