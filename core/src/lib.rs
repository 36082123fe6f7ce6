//! Retick's kernel.
#![no_std]

extern crate alloc;
#[cfg(test)]
extern crate std;

pub mod client;
pub mod codec;
pub mod config;
pub mod digest;
pub mod frame;
pub mod identity;
pub mod input;
pub mod replay;
pub mod rng;
pub mod runtime;
pub mod seat;
pub mod session;
pub mod snapshot;
pub mod tick;
pub mod wire;
