//! A game with a sum, a random stream and commands that add to it.

use retick_core::config::{ConfigSchema, SessionConfig};
use retick_core::frame::{CommandSource, Frame, SeatFrame};
use retick_core::identity::MatchDescriptor;
use retick_core::input::{GameInput, InputSchema, Packer, Unpacker};
use retick_core::rng::{RngStream, SessionSeed};
use retick_core::runtime::{
    Capabilities, GameDescription, InitContext, NativeFactory, Runtime, RuntimeFactory, Simulation, StepContext,
};
use retick_core::seat::{ControlEpoch, Generation, Presence, Seat, SeatCount};
use retick_core::tick::{Tick, TickRate};
use serde::{Deserialize, Serialize};

#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Counter {
    pub sum: i64,
    pub rolls: u64,
    pub ratio: f64,
    rng: RngStream,
}

#[derive(Clone, Copy)]
pub struct Add(pub i64);

impl GameInput for Add {
    fn schema() -> InputSchema {
        InputSchema::builder("add/v1").integer("value", -100..=100).build().unwrap()
    }

    fn pack(&self, packer: &mut Packer<'_>) {
        packer.integer(self.0);
    }

    fn unpack(unpacker: &mut Unpacker<'_>) -> Self {
        Add(unpacker.integer())
    }
}

impl Simulation for Counter {
    type Input = Add;
    type Command = u8;

    fn describe() -> GameDescription {
        GameDescription {
            tick_rate: TickRate::Hz60,
            state_schema: "counter/v1",
            config_schema: ConfigSchema::empty(),
            seats: 1..=4,
            capabilities: Capabilities { commands: true, projection: true },
        }
    }

    fn init(context: &InitContext<'_>) -> Result<Self, u32> {
        if context.seats.count() == 3 {
            return Err(33);
        }
        Ok(Counter { sum: 0, rolls: 0, ratio: 0.0, rng: context.rng("rolls") })
    }

    fn step(&mut self, context: &StepContext<'_, Self>) {
        for seat in context.seats() {
            self.sum += context.input(seat).0;
        }
        for (_, command) in context.commands() {
            self.sum += i64::from(*command) * 1000;
        }
        self.rolls = self.rolls.wrapping_mul(31).wrapping_add(u64::from(self.rng.next_u32()));
        self.ratio = self.sum as f64 / self.rolls as f64;
    }

    fn project(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(&self.sum.to_le_bytes());
    }

    fn decode_command(payload: &[u8]) -> Option<u8> {
        match payload {
            [value] => Some(*value),
            _ => None,
        }
    }
}

pub fn factory() -> NativeFactory<Counter> {
    NativeFactory::new(|manifest| manifest.module("counter.rs", include_bytes!("counter.rs"))).unwrap()
}

pub fn seats(count: u8) -> SeatCount {
    SeatCount::new(count).unwrap()
}

pub fn descriptor(count: u8) -> MatchDescriptor {
    MatchDescriptor::new(factory().manifest(), SessionConfig::empty(), SessionSeed::from_u64(9), seats(count))
}

pub fn runtime(count: u8) -> Box<dyn Runtime> {
    factory().create(&descriptor(count)).unwrap()
}

/// The frame of a tick in which both seats play something of their own, and each seventh orders a command.
pub fn frame(tick: u64) -> Frame {
    let mut frame = Frame::new(Generation(0), Tick::new(tick));
    for number in 0..2u64 {
        let value = i64::try_from((tick * 7 + number * 3) % 11).unwrap() - 5;
        let packed = Add::schema().pack(&Add(value)).unwrap();
        let (presence, epoch) = (Presence::Human, ControlEpoch(1));
        frame.push_seat(SeatFrame { input: Some(&packed), substituted: tick % 13 == number, presence, epoch });
    }
    if tick.is_multiple_of(7) {
        frame.push_command(CommandSource::Game(Seat::new(1).unwrap()), &[3]);
    }
    frame
}
