//! What a game imports: `use retick_guest::prelude::*;`. With the standard library or natively these are the same types.
//!
//! ```
//! use retick_guest::prelude::*;
//!
//! let schema = InputSchema::builder("press/v1").boolean("press").build().expect("one field");
//! assert_eq!((schema.packed_bytes(), schema.neutral()), (1, &[0][..]));
//! let description = GameDescription {
//!     tick_rate: TickRate::Hz20,
//!     state_schema: "press/state/v1",
//!     config_schema: ConfigSchema::empty(),
//!     seats: 1..=8,
//!     capabilities: Capabilities::default(),
//! };
//! assert!(SeatCount::new(*description.seats.end()).is_some());
//! ```

pub use alloc::vec::Vec;

pub use retick_core::config::{ConfigSchema, ConfigValues};
pub use retick_core::event::EventId;
pub use retick_core::frame::CommandSource;
pub use retick_core::input::{FieldPolicy, GameInput, InputSchema, Packer, Unpacker};
pub use retick_core::rng::RngStream;
pub use retick_core::runtime::{Capabilities, GameDescription, InitContext, NoCommand, Simulation, StepContext};
pub use retick_core::seat::{ControlEpoch, Presence, Seat, SeatCount};
pub use retick_core::tick::{Tick, TickRate};

pub use crate::math;
