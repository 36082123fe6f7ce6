//! A game whose state has no canonical form after an input that it can't bear: capturing it fails.

use std::sync::Arc;

use retick_core::config::ConfigSchema;
use retick_core::runtime::{
    Capabilities, GameDescription, InitContext, NativeFactory, NoCommand, Simulation, StepContext,
};
use retick_core::tick::TickRate;
use retick_testing::fixtures::TallyInput;
use serde::ser::Error as _;
use serde::{Deserialize, Serialize, Serializer};

/// The input after which the state has no form, until the next step.
pub const POISON: i32 = 77;
/// With so many seats not even `S(0)` has a form.
pub const UNCAPTURABLE_SEATS: u8 = 8;

thread_local! {
    static LIVING: Arc<()> = Arc::new(());
}

/// How many states this thread's runtimes hold now, in the present and behind checkpoints.
pub fn living_states() -> usize {
    LIVING.with(Arc::strong_count) - 1
}

fn count_one_more() -> Arc<()> {
    LIVING.with(Arc::clone)
}

/// Inputs in order, as a mix; and whether the state is whole.
#[derive(Clone, Serialize, Deserialize)]
pub struct Brittle {
    #[serde(skip, default = "count_one_more")]
    _counted: Arc<()>,
    mix: u64,
    #[serde(serialize_with = "whole")]
    broken: bool,
}

fn whole<S: Serializer>(broken: &bool, serializer: S) -> Result<S::Ok, S::Error> {
    if *broken { Err(S::Error::custom("broken")) } else { serializer.serialize_bool(false) }
}

impl Simulation for Brittle {
    type Input = TallyInput;
    type Command = NoCommand;

    fn describe() -> GameDescription {
        GameDescription {
            tick_rate: TickRate::Hz60,
            state_schema: "brittle/state/v1",
            config_schema: ConfigSchema::empty(),
            seats: 1..=8,
            capabilities: Capabilities { commands: false, projection: true },
        }
    }

    fn init(context: &InitContext<'_>) -> Result<Brittle, u32> {
        Ok(Brittle {
            _counted: count_one_more(),
            mix: 1,
            broken: context.seats.count() == usize::from(UNCAPTURABLE_SEATS),
        })
    }

    fn step(&mut self, context: &StepContext<'_, Brittle>) {
        let inputs = || context.seats().map(|seat| context.input(seat).0);
        inputs().for_each(|input| self.mix = self.mix.wrapping_mul(31).wrapping_add(u64::from(input.cast_unsigned())));
        self.broken = inputs().any(|input| input == POISON);
    }

    fn project(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(&self.mix.to_le_bytes());
    }
}

pub fn brittle_factory() -> NativeFactory<Brittle> {
    NativeFactory::new(|sources| sources.module("brittle.rs", include_bytes!("brittle.rs"))).expect("a valid manifest")
}
