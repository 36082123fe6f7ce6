//! Skirmish: a top-down arena for two to eight seats, at 60 ticks a second. Retick's example of a whole game.
//!
//! Players run, aim, dash and shoot bullets that bounce off walls and blocks; pickups heal, shield and speed up the trigger.
//! Whoever first reaches the score limit wins a round. A seat that the authority substitutes stands still, an empty one is not
//! in the arena, and a disconnected one can be neither hit nor scored on until its player is back. Bots are played by the game
//! itself.
//!
//! [`Skirmish`] implements [`Simulation`](retick_core::runtime::Simulation) once. [`native_factory`] runs it natively; the same
//! implementation, compiled to WebAssembly, is `MODULE`, with the feature `module`. The two are two identities with two
//! layouts: what they agree on, bit for bit, is the projection, which [`Scene`] decodes.
//!
//! ```
//! use retick_core::identity::MatchDescriptor;
//! use retick_core::rng::SessionSeed;
//! use retick_core::runtime::{Keep, Output, Runtime, RuntimeFactory, SeatStep, StepBatch};
//! use retick_core::seat::{ControlEpoch, Presence, SeatCount};
//! use skirmish::{Rules, Scene, scripted_input};
//!
//! let factory = skirmish::native_factory()?;
//! let (config, seats) = (Rules::default().to_config()?, SeatCount::new(2).expect("two seats"));
//! let descriptor = MatchDescriptor::new(factory.manifest(), config, SessionSeed::from_u64(7), seats);
//! let mut runtime = factory.create(&descriptor)?;
//!
//! let (mut batch, mut output) = (StepBatch::default(), Output::default());
//! batch.reset(runtime.tick());
//! batch.push_step(Keep::PROJECTION);
//! for seat in seats.seats() {
//!     let input = factory.manifest().input_schema().pack(&scripted_input(seat, runtime.tick(), 7))?;
//!     let (presence, epoch) = (Presence::Human, ControlEpoch(1));
//!     batch.push_seat(SeatStep { input: &input, substituted: false, malformed: false, presence, epoch });
//! }
//! runtime.advance(&batch, &mut output)?;
//! let scene = Scene::decode(output.projection(&output.kept[0]).expect("asked for"))?;
//! assert_eq!(scene.players.len(), 2);
//! assert_eq!(scene.render_text(60, 20).lines().count(), 20);
//! # Ok::<(), Box<dyn core::error::Error>>(())
//! ```
#![no_std]

extern crate alloc;
#[cfg(test)]
extern crate std;

mod arena;
mod bot;
mod command;
mod config;
mod input;
mod manifest;
mod numbers;
mod pickups;
mod player;
mod projectiles;
mod projection;
mod render;
mod rounds;
mod scene;
mod seats;
mod world;

pub use arena::Block;
pub use bot::scripted_input;
pub use command::{COLOURS, Command, EMOTES};
pub use config::Rules;
pub use input::{STICK, SkirmishInput};
pub use manifest::native_factory;
pub use numbers::{AIM_STEPS, Vec2};
pub use pickups::PickupKind;
pub use player::{FULL_HEALTH, Standing};
pub use rounds::Phase;
pub use scene::{Scene, SceneBullet, SceneError, ScenePickup, ScenePlayer};
pub use world::Skirmish;

/// The game as a WebAssembly module, built from these sources by `rebuild.sh`.
#[cfg(feature = "module")]
pub const MODULE: &[u8] = include_bytes!("../skirmish.wasm");

#[cfg(test)]
mod tests {
    mod determinism;
    mod rules;
    mod scenes;
    mod table;
}
