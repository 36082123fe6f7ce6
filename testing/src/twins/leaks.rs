//! State that hides outside the canonical state: process-wide, shared by clones, or not encoded. [`HonestCounter`] is clean.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use retick_core::config::ConfigSchema;
use retick_core::runtime::{
    Capabilities, GameDescription, InitContext, NativeFactory, NoCommand, Simulation, StepContext,
};
use retick_core::tick::TickRate;
use serde::{Deserialize, Serialize};

use crate::fixtures::TallyInput;

/// What a twin hides outside its canonical state, and lets into it.
pub trait Leak: Clone + Send + Default + Serialize + for<'de> Deserialize<'de> + 'static {
    /// The id of the twin's state schema.
    const SCHEMA: &'static str;
    /// What the next step adds to the state.
    fn next(&mut self) -> u64;
    /// What a projection shows beside the state, and does when it looks.
    fn look(&self) -> u64 {
        0
    }
}

/// A game whose only fault is its leak.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(bound = "L: Leak")]
pub struct Leaky<L> {
    sum: i64,
    leaked: u64,
    leak: L,
}

impl<L: Leak> Simulation for Leaky<L> {
    type Input = TallyInput;
    type Command = NoCommand;

    fn describe() -> GameDescription {
        GameDescription {
            tick_rate: TickRate::Hz60,
            state_schema: L::SCHEMA,
            config_schema: ConfigSchema::empty(),
            seats: 1..=8,
            capabilities: Capabilities { commands: false, projection: true },
        }
    }

    fn init(_: &InitContext<'_>) -> Result<Self, u32> {
        Ok(Leaky { sum: 0, leaked: 0, leak: L::default() })
    }

    fn step(&mut self, context: &StepContext<'_, Self>) {
        for seat in context.seats() {
            self.sum = self.sum.wrapping_mul(31).wrapping_add(i64::from(context.input(seat).0));
        }
        self.leaked = self.leaked.wrapping_mul(31).wrapping_add(self.leak.next());
    }

    fn project(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(&self.sum.to_le_bytes());
        out.extend_from_slice(&self.leaked.to_le_bytes());
        out.extend_from_slice(&self.leak.look().to_le_bytes());
    }
}

/// Counts the steps of all instances of the process: each instance sees other numbers.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct StaticCounter {}

static STEPS: AtomicU64 = AtomicU64::new(0);

impl Leak for StaticCounter {
    const SCHEMA: &'static str = "twin/static-counter/v1";

    fn next(&mut self) -> u64 {
        STEPS.fetch_add(1, Ordering::Relaxed)
    }
}

/// Counts steps in a cell that all clones of a state share: a rollback does not take it back.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct SharedCell {
    #[serde(skip)]
    steps: Arc<AtomicU64>,
}

impl Leak for SharedCell {
    const SCHEMA: &'static str = "twin/shared-cell/v1";

    fn next(&mut self) -> u64 {
        self.steps.fetch_add(1, Ordering::Relaxed)
    }
}

/// Counts steps in a field that is cloned but not encoded: a joiner starts without it.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct SkippedField {
    #[serde(skip)]
    steps: u64,
}

impl Leak for SkippedField {
    const SCHEMA: &'static str = "twin/skipped-field/v1";

    fn next(&mut self) -> u64 {
        self.steps += 1;
        self.steps
    }
}

/// Hides nothing: the clean twin of the leaks.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct HonestCounter {
    steps: u64,
}

impl Leak for HonestCounter {
    const SCHEMA: &'static str = "twin/honest-counter/v1";

    fn next(&mut self) -> u64 {
        self.steps += 1;
        self.steps
    }
}

/// Makes runtimes of a twin.
///
/// # Panics
/// When the manifest can't be, which would be a mistake in this file.
pub fn twin_factory<L: Leak>() -> NativeFactory<Leaky<L>> {
    let factory = NativeFactory::new(|builder| builder.module("leaks.rs", include_bytes!("leaks.rs")));
    factory.unwrap_or_else(|error| panic!("the manifest of {}: {error}", L::SCHEMA))
}
