//! What a game imports: `use retick_guest::prelude::*;`. With the standard library or natively these are the same types.

pub use alloc::vec::Vec;

pub use retick_core::config::{ConfigSchema, ConfigValues};
pub use retick_core::event::EventId;
pub use retick_core::frame::CommandSource;
pub use retick_core::input::{FieldPolicy, GameInput, InputSchema, Packer, Unpacker};
pub use retick_core::rng::RngStream;
pub use retick_core::runtime::{Capabilities, GameDescription, InitContext, NoCommand, Simulation, StepContext};
pub use retick_core::seat::{ControlEpoch, Presence, Seat, SeatCount};
pub use retick_core::tick::{Tick, TickRate};
