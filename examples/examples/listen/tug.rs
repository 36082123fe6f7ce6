//! The game: a tug of war. Whoever pulls against the rhythm of the rope pulls in vain.

use retick_core::config::ConfigSchema;
use retick_core::input::GameInput;
use retick_core::rng::RngStream;
use retick_core::runtime::{Capabilities, GameDescription, InitContext, NoCommand, Simulation, StepContext};
use retick_core::tick::TickRate;
use serde::{Deserialize, Serialize};

/// The rope, and who pulled how much of it.
#[derive(Clone, Serialize, Deserialize)]
pub struct Tug {
    rope: i64,
    pulled: Vec<u32>,
    gusts: RngStream,
}

/// What a player does in a tick.
#[derive(Clone, GameInput)]
#[input(id = "tug-input/v1")]
pub struct Grip {
    /// How hard it pulls.
    #[input(range = 0..=10)]
    pub strength: u8,
}

impl Simulation for Tug {
    type Input = Grip;
    type Command = NoCommand;

    fn describe() -> GameDescription {
        GameDescription {
            tick_rate: TickRate::Hz60,
            state_schema: "tug-state/v1",
            config_schema: ConfigSchema::empty(),
            seats: 2..=8,
            capabilities: Capabilities::default(),
        }
    }

    fn init(context: &InitContext<'_>) -> Result<Self, u32> {
        Ok(Tug { rope: 0, pulled: vec![0; context.seats.count()], gusts: context.rng("gusts") })
    }

    fn step(&mut self, context: &StepContext<'_, Self>) {
        let gust = self.gusts.range(0..=3u32);
        for (seat, grip) in context.inputs() {
            let pull = u32::from(grip.strength).saturating_sub(gust);
            self.pulled[seat.index()] = self.pulled[seat.index()].wrapping_add(pull);
            let side = if seat.number().is_multiple_of(2) { 1 } else { -1 };
            self.rope = self.rope.wrapping_add(side * i64::from(pull));
        }
    }
}
