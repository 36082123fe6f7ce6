//! What a module's exports do, over byte slices. No pointer and nothing of WebAssembly lives here.

use alloc::vec::Vec;

use retick_core::config::ConfigError;
use retick_core::event::EventSink;
use retick_core::frame::CommandSource;
use retick_core::input::{GameInput, InputSchema};
use retick_core::runtime::abi::{self, AbiError};
use retick_core::runtime::{GameDescription, InitContext, Simulation, StepBatch, StepContext};

use crate::HostEvents;

/// A game behind the blocks of the guest ABI: the logic of a module. Its buffers are reused, so that a step allocates no more
/// than the game does.
pub struct Guest<S: Simulation> {
    description: GameDescription,
    schema: InputSchema,
    game: Option<S>,
    batch: StepBatch,
    commands: Vec<(CommandSource, S::Command)>,
    /// The block that was answered last: the description or a projection.
    answer: Vec<u8>,
}

/// Why a call could not be answered. In a module, each of these logs and traps; but for a game's refusal, which is an answer.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum GuestError {
    /// The bytes are not a block of the ABI.
    Block(AbiError),
    /// The config is not one of the game's schema; the host checks that first.
    Config(ConfigError),
    /// The game's init refuses the match.
    Refused {
        /// The game's code.
        code: u32,
    },
    /// There is no state yet: init comes first.
    NoGame,
}

impl core::fmt::Display for GuestError {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        match self {
            GuestError::Block(error) => write!(f, "{error}"),
            GuestError::Config(error) => write!(f, "the session config: {error}"),
            GuestError::Refused { code } => write!(f, "the game refuses the match with code {code}"),
            GuestError::NoGame => f.write_str("init was not called"),
        }
    }
}

impl core::error::Error for GuestError {}

impl From<AbiError> for GuestError {
    fn from(error: AbiError) -> Self {
        GuestError::Block(error)
    }
}

impl<S: Simulation> Default for Guest<S> {
    fn default() -> Self {
        Guest::new()
    }
}

impl<S: Simulation> Guest<S> {
    /// A module that was just loaded.
    #[must_use]
    pub fn new() -> Guest<S> {
        Guest {
            description: S::describe(),
            schema: S::Input::schema(),
            game: None,
            batch: StepBatch::default(),
            commands: Vec::new(),
            answer: Vec::new(),
        }
    }

    /// The description block.
    pub fn describe(&mut self) -> &[u8] {
        self.answer.clear();
        abi::encode_description(&self.description, &self.schema, &mut self.answer);
        &self.answer
    }

    /// Takes the init block and makes `S(0)`.
    ///
    /// # Errors
    /// [`GuestError::Block`], [`GuestError::Config`], or [`GuestError::Refused`] with the game's own code.
    pub fn init(&mut self, block: &[u8]) -> Result<(), GuestError> {
        let init = abi::decode_init(block)?;
        let config = self.description.config_schema.decode(init.config).map_err(GuestError::Config)?;
        let (seats, tick_rate, seed) = (init.seats, init.tick_rate, &init.session_seed());
        let game = S::init(&InitContext { seats, tick_rate, config: &config, seed });
        self.game = Some(game.map_err(|code| GuestError::Refused { code })?);
        Ok(())
    }

    /// Takes a step block: `S(t)` becomes `S(t+1)`. Says how many malformed commands were skipped (K7). What the step emits goes to
    /// `events` (K10).
    ///
    /// # Errors
    /// [`GuestError::NoGame`] before init, [`GuestError::Block`]; the state is as before.
    pub fn step_emitting(&mut self, block: &[u8], events: &dyn EventSink) -> Result<u32, GuestError> {
        let game = self.game.as_mut().ok_or(GuestError::NoGame)?;
        abi::decode_step(block, &mut self.batch)?;
        let mut malformed = 0;
        // A decoded block is exactly one step.
        for view in self.batch.steps() {
            self.commands.clear();
            for (source, payload) in view.commands() {
                match S::decode_command(payload) {
                    Some(command) => self.commands.push((source, command)),
                    None => malformed += 1,
                }
            }
            let context = StepContext::new(view, &self.schema, &self.commands, self.description.tick_rate);
            game.step(&context.with_events(events));
        }
        Ok(malformed)
    }

    /// As [`Guest::step_emitting`], with events that go to the host.
    ///
    /// # Errors
    /// As [`Guest::step_emitting`].
    pub fn step(&mut self, block: &[u8]) -> Result<u32, GuestError> {
        self.step_emitting(block, &HostEvents)
    }

    /// The projection of the current state.
    ///
    /// # Errors
    /// [`GuestError::NoGame`] before init.
    pub fn project(&mut self) -> Result<&[u8], GuestError> {
        let game = self.game.as_ref().ok_or(GuestError::NoGame)?;
        self.answer.clear();
        game.project(&mut self.answer);
        Ok(&self.answer)
    }

    /// The game, once there is one.
    pub fn game(&self) -> Option<&S> {
        self.game.as_ref()
    }
}

#[cfg(test)]
mod tests;
