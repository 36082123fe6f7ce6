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
//! ```
//! use retick_core::config::{ConfigSchema, SessionConfig};
//! use retick_core::identity::MatchDescriptor;
//! use retick_core::input::InputSchema;
//! use retick_core::rng::SessionSeed;
//! use retick_core::runtime::abi::{encode_description, pack_span};
//! use retick_core::runtime::{
//!     Capabilities, GameDescription, Keep, Output, Runtime, RuntimeFactory, SeatStep, StepBatch,
//! };
//! use retick_core::seat::{ControlEpoch, Presence, SeatCount};
//! use retick_core::tick::{Tick, TickRate};
//! use retick_wasm::{Limits, WasmFactory};
//!
//! // A module that counts its steps in the first word of its memory. A game's own is read from a file.
//! let schema = InputSchema::builder("press/v1").boolean("press").build()?;
//! let (config_schema, capabilities) = (ConfigSchema::empty(), Capabilities::default());
//! let (tick_rate, state_schema, seats) = (TickRate::Hz60, "steps/v1", 1..=2);
//! let game = GameDescription { tick_rate, state_schema, config_schema, seats, capabilities };
//! let mut block = Vec::new();
//! encode_description(&game, &schema, &mut block);
//! let span = pack_span(4096, u32::try_from(block.len())?);
//! let data: String = block.iter().map(|byte| format!("\\{byte:02x}")).collect();
//! let module = wat::parse_str(format!(
//!     r#"(module
//!         (memory (export "memory") 1 1)
//!         (data (i32.const 4096) "{data}")
//!         (func (export "retick_abi") (result i32) (i32.const 1))
//!         (func (export "retick_buffer") (param i32) (result i32) (i32.const 32768))
//!         (func (export "retick_describe") (result i64) (i64.const {span}))
//!         (func (export "retick_init") (param i32 i32) (result i32) (i32.const 0))
//!         (func (export "retick_step") (param i32 i32) (result i32)
//!             (i32.store (i32.const 0) (i32.add (i32.load (i32.const 0)) (i32.const 1)))
//!             (i32.const 0)))"#
//! ))?;
//!
//! let factory = WasmFactory::load(&module, Limits::default())?;
//! let seats = SeatCount::new(1).ok_or("one seat")?;
//! let descriptor = MatchDescriptor::new(factory.manifest(), SessionConfig::empty(), SessionSeed::from_u64(7), seats);
//! let mut runtime = factory.create(&descriptor)?;
//! let (mut batch, mut output) = (StepBatch::default(), Output::default());
//! batch.reset(Tick::ZERO);
//! for _ in 0..3 {
//!     batch.push_step(Keep::CHECKPOINT | Keep::CHECKSUM);
//!     let (presence, epoch) = (Presence::Human, ControlEpoch(1));
//!     batch.push_seat(SeatStep { input: schema.neutral(), substituted: false, malformed: false, presence, epoch });
//! }
//! runtime.advance(&batch, &mut output)?;
//!
//! // The state is the memory: its first word counted three steps.
//! let last = output.kept[2].checkpoint.ok_or("asked for")?;
//! let mut state = Vec::new();
//! runtime.export(last, 0, 4, &mut state)?;
//! assert_eq!((runtime.tick(), state), (Tick::new(3), vec![3, 0, 0, 0]));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! Without the feature `engine` a module is admitted and rewritten, and there is nothing that compiles or runs it: for whoever looks
//! at modules alone.
//!
//! # What is the same everywhere
//!
//! NaN bits, gas, the depth of calls and the memory's size are in the module itself, by a [rewrite](mod@normalise) before it is
//! compiled, so that any engine computes the same bits and ends at the same instruction (W4, W5, W7); V8 is held against it. Every
//! fault but [`StepFault::Host`](retick_core::runtime::StepFault::Host) is the same on every machine.

#![cfg_attr(not(feature = "engine"), allow(dead_code, unused_imports, reason = "much is for the engine alone"))]

mod admit;
#[cfg(feature = "engine")]
mod cache;
#[cfg(feature = "engine")]
mod checkpoint;
mod contents;
#[cfg(feature = "engine")]
mod engine;
mod error;
#[cfg(feature = "engine")]
mod factory;
#[cfg(feature = "engine")]
mod fault;
#[cfg(feature = "engine")]
mod guest;
#[cfg(feature = "engine")]
mod hash;
#[cfg(feature = "engine")]
mod host;
pub mod limits;
#[cfg(feature = "engine")]
mod memory;
pub mod normalise;
pub mod pages;
#[cfg(feature = "engine")]
mod runtime;
mod tracking;

#[cfg(feature = "engine")]
pub use cache::{DirectoryRefusal, ModuleCache};
pub use contents::{Contents, Export, ExportKind};
pub use error::{ExportRefusal, ImportRefusal, LoadError, Quantity};
#[cfg(feature = "engine")]
pub use factory::WasmFactory;
pub use limits::Limits;
pub use normalise::{Normalised, normalise, normalise_for};
#[cfg(feature = "engine")]
pub use runtime::WasmRuntime;
pub use tracking::Tracking;
