//! What the measurements share: one small game, as a Retick simulation and as a GGRS state.
//!
//! Both step by [`Counters::step`], so that what is compared is the session around it.

use retick_core::config::{ConfigSchema, SessionConfig};
use retick_core::identity::{ManifestError, MatchDescriptor};
use retick_core::input::{GameInput, InputSchema, Packer, Unpacker};
use retick_core::rng::SessionSeed;
use retick_core::runtime::{
    Capabilities, GameDescription, InitContext, NativeFactory, NoCommand, RuntimeFactory, Simulation, StepContext,
};
use retick_core::seat::SeatCount;
use retick_core::tick::TickRate;
use serde::{Deserialize, Serialize};

/// A state of 16 bytes.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct Counters {
    /// Sum of all inputs.
    pub sum: u64,
    /// A running mix of their order.
    pub mix: u64,
}

impl Counters {
    /// One tick with each seat's input.
    pub fn step(&mut self, inputs: impl Iterator<Item = u8>) {
        for input in inputs {
            self.sum = self.sum.wrapping_add(u64::from(input));
            self.mix = self.mix.wrapping_mul(31).wrapping_add(u64::from(input));
        }
    }
}

/// An input of one byte.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct ByteInput(pub u8);

impl GameInput for ByteInput {
    fn schema() -> InputSchema {
        InputSchema::builder("byte/v1").integer("value", 0..=255).build().expect("one field of one byte is a schema")
    }

    fn pack(&self, packer: &mut Packer<'_>) {
        packer.integer(i64::from(self.0));
    }

    fn unpack(unpacker: &mut Unpacker<'_>) -> Self {
        ByteInput(u8::try_from(unpacker.integer()).unwrap_or(0))
    }
}

impl Simulation for Counters {
    type Input = ByteInput;
    type Command = NoCommand;

    fn describe() -> GameDescription {
        GameDescription {
            tick_rate: TickRate::Hz60,
            state_schema: "counters/v1",
            config_schema: ConfigSchema::empty(),
            seats: 1..=128,
            capabilities: Capabilities::default(),
        }
    }

    fn init(_: &InitContext<'_>) -> Result<Self, u32> {
        Ok(Counters::default())
    }

    fn step(&mut self, context: &StepContext<'_, Self>) {
        let inputs = context.seats().map(|seat| context.input(seat).0);
        Counters::step(self, inputs);
    }
}

/// The game's factory.
///
/// # Errors
/// Never, unless the manifest's limits change.
pub fn counters_factory() -> Result<NativeFactory<Counters>, ManifestError> {
    NativeFactory::new(|manifest| manifest.module("benches/src/lib.rs", include_bytes!("lib.rs")))
}

/// A match of the game.
#[must_use]
pub fn counters_match(factory: &NativeFactory<Counters>, seats: SeatCount) -> MatchDescriptor {
    MatchDescriptor::new(factory.manifest(), SessionConfig::empty(), SessionSeed::from_u64(1), seats)
}
