//! TALLY with one bit of its state flipped in one frame: a machine whose memory failed, or a cheat (K10). The clean twin is
//! [`Tally`] itself, whose identity it has.

use std::marker::PhantomData;

use retick_core::runtime::{GameDescription, InitContext, NativeFactory, NoCommand, Simulation, StepContext};
use retick_core::seat::Seat;
use serde::{Deserialize, Serialize};

use crate::fixtures::{Tally, TallyField, TallyInput};

/// Which bit flips: the lowest one of a field.
pub trait Flip: Clone + Send + 'static {
    /// The field, as of the seat whose machine it is.
    fn field(seat: Seat) -> TallyField;
}

/// It flips in the seat's sum.
#[derive(Clone, Debug)]
pub enum FlippedSum {}

impl Flip for FlippedSum {
    fn field(seat: Seat) -> TallyField {
        TallyField::Sum(seat)
    }
}

/// It flips in the seat's substitutions.
#[derive(Clone, Debug)]
pub enum FlippedSub {}

impl Flip for FlippedSub {
    fn field(seat: Seat) -> TallyField {
        TallyField::Sub(seat)
    }
}

/// It flips in the mix.
#[derive(Clone, Debug)]
pub enum FlippedMix {}

impl Flip for FlippedMix {
    fn field(_: Seat) -> TallyField {
        TallyField::Mix
    }
}

/// It flips in the count of frames.
#[derive(Clone, Debug)]
pub enum FlippedFrame {}

impl Flip for FlippedFrame {
    fn field(_: Seat) -> TallyField {
        TallyField::Frame
    }
}

/// TALLY as the machine of `SEAT` plays it: the bit flips in `S(FRAME)`.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(bound = "", transparent)]
pub struct FlippedTally<F, const SEAT: u8, const FRAME: u64> {
    tally: Tally,
    #[serde(skip)]
    flip: PhantomData<fn() -> F>,
}

impl<F: Flip, const SEAT: u8, const FRAME: u64> Simulation for FlippedTally<F, SEAT, FRAME> {
    type Input = TallyInput;
    type Command = NoCommand;

    fn describe() -> GameDescription {
        Tally::describe()
    }

    fn init(context: &InitContext<'_>) -> Result<Self, u32> {
        Ok(FlippedTally { tally: Tally::init(context)?, flip: PhantomData })
    }

    fn step(&mut self, context: &StepContext<'_, Self>) {
        self.tally.play(context);
        if let (Some(seat), true) = (Seat::new(SEAT), context.tick().index() + 1 == FRAME) {
            self.tally.flip(F::field(seat));
        }
    }

    fn project(&self, out: &mut Vec<u8>) {
        self.tally.project(out);
    }
}

/// Makes runtimes of TALLY whose bit flips.
///
/// # Panics
/// When the manifest can't be, which would be a mistake in this file.
pub fn flipped_factory<F: Flip, const SEAT: u8, const FRAME: u64>() -> NativeFactory<FlippedTally<F, SEAT, FRAME>> {
    let factory = NativeFactory::new(|builder| builder.module("tally.rs", include_bytes!("../fixtures/tally.rs")));
    factory.unwrap_or_else(|error| panic!("the manifest of a flipped TALLY: {error}"))
}
