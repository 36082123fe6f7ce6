// The game of the examples in the docs of the modules: whoever holds the throttle goes. The crate page shows it whole.

use retick_core::config::{ConfigSchema, SessionConfig};
use retick_core::frame::{Frame, SeatFrame};
use retick_core::identity::MatchDescriptor;
use retick_core::input::{GameInput, InputSchema, Packer, Unpacker};
use retick_core::rng::SessionSeed;
use retick_core::runtime::{
    Capabilities, GameDescription, InitContext, NativeFactory, NoCommand, RuntimeFactory, Simulation, StepContext,
};
use retick_core::seat::{Generation, Presence, SeatCount};
use retick_core::tick::{Tick, TickRate};
use serde::{Deserialize, Serialize};

#[derive(Clone, Serialize, Deserialize)]
pub struct Race {
    positions: Vec<i64>,
}

#[derive(Clone)]
pub struct Throttle(pub i64);

impl GameInput for Throttle {
    fn schema() -> InputSchema {
        InputSchema::builder("race-input/v1").integer("throttle", 0..=100).build().expect("a valid schema")
    }

    fn pack(&self, packer: &mut Packer<'_>) {
        packer.integer(self.0);
    }

    fn unpack(unpacker: &mut Unpacker<'_>) -> Self {
        Throttle(unpacker.integer())
    }
}

impl Simulation for Race {
    type Input = Throttle;
    type Command = NoCommand;

    fn describe() -> GameDescription {
        GameDescription {
            tick_rate: TickRate::Hz60,
            state_schema: "race-state/v1",
            config_schema: ConfigSchema::empty(),
            seats: 2..=4,
            capabilities: Capabilities { commands: false, projection: true },
        }
    }

    fn init(context: &InitContext<'_>) -> Result<Self, u32> {
        Ok(Race { positions: vec![0; context.seats.count()] })
    }

    fn step(&mut self, context: &StepContext<'_, Self>) {
        for seat in context.seats() {
            self.positions[seat.index()] += context.input(seat).0;
        }
    }

    fn project(&self, out: &mut Vec<u8>) {
        self.positions.iter().for_each(|position| out.extend_from_slice(&position.to_le_bytes()));
    }
}

pub fn factory() -> NativeFactory<Race> {
    NativeFactory::new(|sources| sources.module("race.rs", include_bytes!("race.rs"))).expect("a valid manifest")
}

/// A match of two seats.
pub fn descriptor() -> MatchDescriptor {
    let seats = SeatCount::new(2).expect("two seats");
    MatchDescriptor::new(factory().manifest(), SessionConfig::empty(), SessionSeed::from_u64(1), seats)
}

/// A throttle as the schema packs it.
pub fn packed(throttle: i64) -> Vec<u8> {
    Throttle::schema().pack(&Throttle(throttle)).expect("from 0 to 100")
}

/// The frame of a tick in which both seats hold the throttle so far.
pub fn frame(tick: u64, throttles: [i64; 2]) -> Frame {
    let mut frame = Frame::new(Generation(0), Tick::new(tick));
    for input in throttles.map(packed) {
        frame.push_seat(SeatFrame { input: Some(&input), presence: Presence::Human, ..SeatFrame::default() });
    }
    frame
}
