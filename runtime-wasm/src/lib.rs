//! Games as WebAssembly modules on Retick's [`Runtime`](retick_core::runtime::Runtime) trait.
//!
//! A value is authoritative if, and only if, the step wrote it into the state: the module's memory and its mutable globals
//! (K5). Nothing else can influence a later step, since nothing else is let in.
//!
//! ```text
//!  module bytes ──▶ admit ──────▶ normalise ──▶ compile once ──▶ WasmFactory ──▶ WasmRuntime
//!       │           allow-list    hidden        engine.rs        describe,        instance,
//!       │           by name       state shown   decides all      identity         checkpoints
//!       └─ hashed into the identity, with every limit and setting ──┘
//! ```
//!
//! The interface that a module exports is described in [`retick_core::runtime::abi`]; `retick-guest` writes it for games in
//! Rust.
//!
//! ```no_run
//! use retick_core::config::SessionConfig;
//! use retick_core::identity::MatchDescriptor;
//! use retick_core::rng::SessionSeed;
//! use retick_core::runtime::{Keep, Output, Runtime, RuntimeFactory};
//! use retick_core::seat::SeatCount;
//! use retick_wasm::{Limits, WasmFactory};
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let module = std::fs::read("game.wasm")?;
//! let factory = WasmFactory::load(&module, Limits::default())?;
//! println!("identity {}", factory.manifest().identity());
//! let seats = SeatCount::new(2).ok_or("two seats")?;
//! let config = SessionConfig::empty();
//! let descriptor = MatchDescriptor::new(factory.manifest(), config, SessionSeed::from_u64(7), seats);
//! let mut runtime = factory.create(&descriptor)?;
//! let mut output = Output::default();
//! runtime.keep(Keep::CHECKPOINT | Keep::CHECKSUM, &mut output)?;
//! # Ok(())
//! # }
//! ```
//!
//! # What is the same everywhere, and what is not yet
//!
//! NaN bits, integer results, memory growth, gas and every fault but [`StepFault::Host`](retick_core::runtime::StepFault::Host)
//! are the same on every machine that runs this engine. The depth at which recursion exhausts the native stack still depends
//! on the machine's code generator, so a game must not recurse without a bound of its own; a depth budget in the module is to
//! replace it, and the engine's gas and NaN handling likewise by passes over the module, so that other engines agree (W4).

mod admit;
mod checkpoint;
mod engine;
mod error;
mod factory;
mod fault;
mod guest;
mod hash;
mod host;
pub mod limits;
mod memory;
mod normalise;
mod runtime;

pub use error::{ExportRefusal, ImportRefusal, LoadError, Quantity};
pub use factory::WasmFactory;
pub use limits::Limits;
pub use runtime::WasmRuntime;
