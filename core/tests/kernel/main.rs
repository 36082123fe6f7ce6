//! The kernel from outside, with one small game: the native adapter, snapshots and replays.

mod counter;
mod native;
mod replay;
mod snapshot;
