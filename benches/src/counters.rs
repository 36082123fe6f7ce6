//! A game that costs nothing: 16 bytes of state. What is measured around it is the session.

use retick_core::config::{ConfigSchema, SessionConfig};
use retick_core::identity::{ManifestError, MatchDescriptor};
use retick_core::rng::SessionSeed;
use retick_core::runtime::{
    Capabilities, GameDescription, InitContext, NativeFactory, NoCommand, RuntimeFactory, SerdeState, Simulation,
    StepContext,
};
use retick_core::seat::SeatCount;
use retick_core::tick::TickRate;
use serde::{Deserialize, Serialize};

use crate::game::{ByteInput, Game};

/// A state of 16 bytes.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct Counters {
    /// Sum of all inputs.
    pub sum: u64,
    /// A running mix of their order.
    pub mix: u64,
}

impl Game for Counters {
    type Codec = SerdeState;

    fn play(&mut self, inputs: impl Iterator<Item = u8>) {
        for input in inputs {
            self.sum = self.sum.wrapping_add(u64::from(input));
            self.mix = self.mix.wrapping_mul(31).wrapping_add(u64::from(input));
        }
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
        self.play(context.seats().map(|seat| context.input(seat).0));
    }
}

/// The game's factory.
///
/// # Errors
/// Never, unless the manifest's limits change.
pub fn counters_factory() -> Result<NativeFactory<Counters>, ManifestError> {
    NativeFactory::new(|manifest| manifest.module("benches/src/counters.rs", include_bytes!("counters.rs")))
}

/// A match of the game.
#[must_use]
pub fn counters_match(factory: &NativeFactory<Counters>, seats: SeatCount) -> MatchDescriptor {
    MatchDescriptor::new(factory.manifest(), SessionConfig::empty(), SessionSeed::from_u64(1), seats)
}
