//! Checkpoints by pages against whole copies, under every tracker.

mod map;
mod rig;
mod scripts;
mod store;
