//! The order in which a machine happens to have things (D06): where its allocator put them, and which of its threads is done first.
//! Both are modelled by the [machine](crate::environment), because a test of real ones would fail by chance, or pass.

use std::marker::PhantomData;

use retick_core::runtime::{GameDescription, InitContext, NativeFactory, NoCommand, Simulation, StepContext};
use serde::{Deserialize, Serialize};

use super::description;
use crate::environment;
use crate::fixtures::TallyInput;

/// Entities at all times.
const ENTITIES: u32 = 16;

/// By what a step orders its entities.
pub trait EntityOrder: Clone + Send + 'static {
    /// What stands for the place of an entity in the order.
    fn place(entity: u32) -> u64;
}

/// Clean: by number.
#[derive(Clone, Debug)]
pub enum ByNumber {}

impl EntityOrder for ByNumber {
    fn place(entity: u32) -> u64 {
        u64::from(entity)
    }
}

/// Faulty: by address. The machine's allocator hands out addresses from below or from above.
#[derive(Clone, Debug)]
pub enum ByAddress {}

impl EntityOrder for ByAddress {
    fn place(entity: u32) -> u64 {
        let (heap, distance) = (0x7F00_0000_0000_u64, u64::from(entity) * 48);
        if environment::current().machine.is_multiple_of(2) { heap + distance } else { heap - distance }
    }
}

/// Faulty: by which worker is done first. The machine's scheduler rotates them.
#[derive(Clone, Debug)]
pub enum ByCompletion {}

impl EntityOrder for ByCompletion {
    fn place(entity: u32) -> u64 {
        u64::from((entity + u32::from(environment::current().machine)) % ENTITIES)
    }
}

/// Entities whose order goes into the state.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(bound = "")]
pub struct Ordered<O> {
    mix: u32,
    entities: Vec<u32>,
    #[serde(skip)]
    order: PhantomData<fn() -> O>,
}

impl<O: EntityOrder> Simulation for Ordered<O> {
    type Input = TallyInput;
    type Command = NoCommand;

    fn describe() -> GameDescription {
        description("twin/ordered/v1", true)
    }

    fn init(_: &InitContext<'_>) -> Result<Self, u32> {
        Ok(Ordered { mix: 1, entities: (0..ENTITIES).collect(), order: PhantomData })
    }

    fn step(&mut self, context: &StepContext<'_, Self>) {
        let mut order = self.entities.clone();
        order.sort_unstable_by_key(|entity| O::place(*entity));
        self.mix = order.into_iter().fold(self.mix, |mix, entity| mix.wrapping_mul(31).wrapping_add(entity));
        for (seat, input) in context.inputs() {
            let entity = &mut self.entities[seat.index()];
            *entity = entity.wrapping_add_signed(input.0) % ENTITIES;
        }
    }

    fn project(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(&self.mix.to_le_bytes());
    }
}

/// Makes runtimes of the entities.
///
/// # Panics
/// When the manifest can't be, which would be a mistake in this file.
pub fn ordered_factory<O: EntityOrder>() -> NativeFactory<Ordered<O>> {
    let factory = NativeFactory::new(|builder| builder.module("ordered.rs", include_bytes!("ordered.rs")));
    factory.unwrap_or_else(|error| panic!("the manifest of the ordered entities: {error}"))
}
