//! One small game in Rust, C and AssemblyScript, the same to the byte in what it shows: how a module is made of each.
//!
//! | | |
//! |---|---|
//! | [`Forage`] | the game in Rust, native here and a module in `rust/` |
//! | `c/` `assemblyscript/` | the same game, on `retick.h` and `retick.ts` |
//! | `c/fields.c` `assemblyscript/fields.ts` | modules with a field of every kind, which hold these two to the kernel |
//! | [`Goldens`] | a game that shows the bits of every function of `retick_guest::math`, to be compared between native and module |
//!
//! `rebuild.sh` builds the modules; they are committed, each with the list of what it was built from.
//!
//! ```
//! use retick_core::config::SessionConfig;
//! use retick_core::identity::MatchDescriptor;
//! use retick_core::rng::SessionSeed;
//! use retick_core::runtime::{NativeFactory, Runtime, RuntimeFactory};
//! use retick_core::seat::SeatCount;
//! use retick_example_guests::Forage;
//!
//! let factory = NativeFactory::<Forage>::new(|sources| sources.module("forage.rs", b"the bytes of forage.rs"))?;
//! let seats = SeatCount::new(2).expect("two seats");
//! let descriptor = MatchDescriptor::new(factory.manifest(), SessionConfig::empty(), SessionSeed::from_u64(7), seats);
//! assert_eq!(factory.create(&descriptor)?.tick().index(), 0);
//! # Ok::<(), Box<dyn core::error::Error>>(())
//! ```
#![no_std]

mod forage;
mod goldens;

pub use forage::{Forage, Push, RESET};
pub use goldens::Goldens;
