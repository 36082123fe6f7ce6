//! DUEL: two shoot in one tick, and the first one that is processed wins (D06). Clean by the order of seats; faulty when a machine
//! takes its own player first.

use std::marker::PhantomData;

use retick_core::input::{GameInput, InputSchema, Packer, Unpacker};
use retick_core::runtime::{GameDescription, InitContext, NativeFactory, NoCommand, Simulation, StepContext};
use retick_core::seat::Seat;
use serde::{Deserialize, Serialize};

use super::description;

/// In which order a step processes the seats.
pub trait ShotOrder: Clone + Send + 'static {
    /// The first of them to be processed, if any order but that of the seats is meant.
    const FIRST: Option<u8>;
}

/// Clean: every machine goes by the seats.
#[derive(Clone, Debug)]
pub enum BySeat {}

impl ShotOrder for BySeat {
    const FIRST: Option<u8> = None;
}

/// Faulty: a machine whose player is `SEAT` takes that one first.
#[derive(Clone, Debug)]
pub enum LocalFirst<const SEAT: u8> {}

impl<const SEAT: u8> ShotOrder for LocalFirst<SEAT> {
    const FIRST: Option<u8> = Some(SEAT);
}

/// The state of DUEL: who has won.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(bound = "")]
pub struct Duel<O> {
    winner: Option<Seat>,
    #[serde(skip)]
    order: PhantomData<fn() -> O>,
}

/// The input of DUEL: whether the seat shoots.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Shot(pub bool);

impl GameInput for Shot {
    fn schema() -> InputSchema {
        let schema = InputSchema::builder("duel-input/v1").boolean("shoot").build();
        schema.unwrap_or_else(|error| panic!("the schema of DUEL: {error}"))
    }

    fn pack(&self, packer: &mut Packer<'_>) {
        packer.boolean(self.0);
    }

    fn unpack(unpacker: &mut Unpacker<'_>) -> Shot {
        Shot(unpacker.boolean())
    }
}

impl<O: ShotOrder> Simulation for Duel<O> {
    type Input = Shot;
    type Command = NoCommand;

    fn describe() -> GameDescription {
        description("twin/duel/v1", true)
    }

    fn init(_: &InitContext<'_>) -> Result<Self, u32> {
        Ok(Duel { winner: None, order: PhantomData })
    }

    fn step(&mut self, context: &StepContext<'_, Self>) {
        let first = O::FIRST.and_then(Seat::new);
        let shooter = first.into_iter().chain(context.seats()).find(|seat| context.input(*seat).0);
        self.winner = self.winner.or(shooter);
    }

    /// The winner's number, if there is one.
    fn project(&self, out: &mut Vec<u8>) {
        out.extend(self.winner.map(Seat::number));
    }
}

/// Makes runtimes of DUEL.
///
/// # Panics
/// When the manifest can't be, which would be a mistake in this file.
pub fn duel_factory<O: ShotOrder>() -> NativeFactory<Duel<O>> {
    let factory = NativeFactory::new(|builder| builder.module("duel.rs", include_bytes!("duel.rs")));
    factory.unwrap_or_else(|error| panic!("the manifest of DUEL: {error}"))
}
