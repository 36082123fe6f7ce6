//! TALLY that reads its machine's clock in the step (D05). The clean twin is [`Tally`] itself, whose identity it has.

use retick_core::runtime::{GameDescription, InitContext, NativeFactory, NoCommand, Simulation, StepContext};
use serde::{Deserialize, Serialize};

use crate::environment;
use crate::fixtures::{Tally, TallyInput};

/// Faulty: adds the parity of the wall clock's milliseconds to the first seat's sum.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(transparent)]
pub struct WallClocked {
    tally: Tally,
}

impl Simulation for WallClocked {
    type Input = TallyInput;
    type Command = NoCommand;

    fn describe() -> GameDescription {
        Tally::describe()
    }

    fn init(context: &InitContext<'_>) -> Result<Self, u32> {
        Ok(WallClocked { tally: Tally::init(context)? })
    }

    fn step(&mut self, context: &StepContext<'_, Self>) {
        self.tally.play(context);
        self.tally.leak(i64::from(!environment::current().now_millis.is_multiple_of(2)));
    }

    fn project(&self, out: &mut Vec<u8>) {
        self.tally.project(out);
    }
}

/// Makes runtimes of TALLY that read the clock.
///
/// # Panics
/// When the manifest can't be, which would be a mistake in this file.
pub fn wall_clocked_factory() -> NativeFactory<WallClocked> {
    let factory = NativeFactory::new(|builder| builder.module("tally.rs", include_bytes!("../fixtures/tally.rs")));
    factory.unwrap_or_else(|error| panic!("the manifest of a clocked TALLY: {error}"))
}
