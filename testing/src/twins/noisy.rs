//! Games whose states are right and whose presentation events are not: what they emit depends on more than the step (K10).

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use retick_core::event::EventId;
use retick_core::runtime::{GameDescription, InitContext, NativeFactory, NoCommand, Simulation, StepContext};
use retick_core::tick::Tick;
use serde::{Deserialize, Serialize};

use crate::fixtures::{Tally, TallyInput};

/// What a twin emits in a tick.
pub trait Noise: Clone + Send + Default + 'static {
    /// The payload of this execution's event, or `None` for silence.
    fn of(&mut self, tick: Tick) -> Option<u64>;
}

/// Emits its tick: the clean twin.
#[derive(Clone, Debug, Default)]
pub struct Steady {}

impl Noise for Steady {
    fn of(&mut self, tick: Tick) -> Option<u64> {
        Some(tick.index())
    }
}

/// Emits in the first execution of each tick alone, as games do that silence their resimulation.
#[derive(Clone, Debug, Default)]
pub struct FirstExecution {
    /// How many ticks were heard, shared by all clones of a state.
    heard: Arc<AtomicU64>,
}

impl Noise for FirstExecution {
    fn of(&mut self, tick: Tick) -> Option<u64> {
        (self.heard.fetch_max(tick.index() + 1, Ordering::Relaxed) <= tick.index()).then_some(tick.index())
    }
}

/// Emits a number that no other execution of the process has.
#[derive(Clone, Debug, Default)]
pub struct Numbered {}

static EXECUTIONS: AtomicU64 = AtomicU64::new(0);

impl Noise for Numbered {
    fn of(&mut self, _: Tick) -> Option<u64> {
        Some(EXECUTIONS.fetch_add(1, Ordering::Relaxed))
    }
}

/// Emits the steps that its instance ran, which it does not encode: a hydrated instance counts anew.
#[derive(Clone, Debug, Default)]
pub struct Unencoded {
    steps: u64,
}

impl Noise for Unencoded {
    fn of(&mut self, _: Tick) -> Option<u64> {
        self.steps += 1;
        Some(self.steps)
    }
}

/// TALLY, whose only fault is its noise.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(bound = "N: Noise")]
pub struct Noisy<N> {
    tally: Tally,
    #[serde(skip)]
    noise: N,
}

impl<N: Noise> Simulation for Noisy<N> {
    type Input = TallyInput;
    type Command = NoCommand;

    fn describe() -> GameDescription {
        Tally::describe()
    }

    fn init(context: &InitContext<'_>) -> Result<Self, u32> {
        Ok(Noisy { tally: Tally::init(context)?, noise: N::default() })
    }

    fn step(&mut self, context: &StepContext<'_, Self>) {
        self.tally.play(context);
        if let Some(noise) = self.noise.of(context.tick()) {
            context.emit(EventId::default(), &noise.to_le_bytes());
        }
    }

    fn project(&self, out: &mut Vec<u8>) {
        self.tally.project(out);
    }
}

/// Makes runtimes of a noisy twin.
///
/// # Panics
/// When the manifest can't be, which would be a mistake in this file.
pub fn noisy_factory<N: Noise>() -> NativeFactory<Noisy<N>> {
    let factory = NativeFactory::new(|builder| builder.module("noisy.rs", include_bytes!("noisy.rs")));
    factory.unwrap_or_else(|error| panic!("the manifest of a noisy TALLY: {error}"))
}
