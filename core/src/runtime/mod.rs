//! The seam between the kernel and game logic (K2, K4): one trait, batched, with opaque checkpoint handles.
//!
//! A value is authoritative if, and only if, the step wrote it into the state whose canonical bytes a runtime hashes (K5).
//! State changes in three calls: [`Runtime::advance`], [`Runtime::restore`] and [`Runtime::hydrate`]. Everything else is
//! observably pure, though a backend may need `&mut` for it.
//!
//! The game here is that of the [crate's page](crate).
//!
//! ```
//! # mod race {
//! #     include!(concat!(env!("CARGO_MANIFEST_DIR"), "/doc/race.rs"));
//! # }
//! use race::{descriptor, factory, frame};
//! use retick_core::runtime::{Keep, Output, Runtime, RuntimeFactory, StepBatch};
//! use retick_core::tick::Tick;
//!
//! let factory = factory();
//! let mut runtime = factory.create(&descriptor())?;
//! let (mut batch, mut output) = (StepBatch::default(), Output::default());
//! batch.reset(Tick::ZERO);
//! for tick in 0..3 {
//!     let keep = if tick == 0 { Keep::CHECKPOINT } else { Keep::CHECKSUM };
//!     batch.push_frame(&frame(tick, [10, 20]), factory.manifest().input_schema(), keep);
//! }
//! runtime.advance(&batch, &mut output)?;
//! let first = output.kept[0].checkpoint.ok_or("asked for")?;
//! let last = output.kept[2].checksum;
//!
//! // Back to S(1), and the same two ticks again: the same state.
//! runtime.restore(first)?;
//! assert_eq!(runtime.tick(), Tick::new(1));
//! batch.reset(Tick::new(1));
//! (1..3).for_each(|tick| batch.push_frame(&frame(tick, [10, 20]), factory.manifest().input_schema(), Keep::CHECKSUM));
//! output.clear();
//! runtime.advance(&batch, &mut output)?;
//! assert!(last.is_some() && output.kept[1].checksum == last);
//! # Ok::<(), Box<dyn core::error::Error>>(())
//! ```

pub mod abi;
mod batch;
mod checkpoint;
mod native;
mod spare;

use alloc::boxed::Box;
use alloc::string::String;
use alloc::vec::Vec;
use core::ops::Range;

pub use batch::{SeatStep, StepBatch, StepView};
pub use checkpoint::{Checkpoint, CheckpointError, CheckpointTable};
pub use native::{
    GameDescription, InitContext, NativeFactory, NativeRuntime, NoCommand, SerdeState, Simulation, StateCodec,
    StepContext,
};
pub use spare::MAX_SPARE_STATES;

use crate::codec::canonical::EncodeError;
use crate::config::ConfigError;
use crate::digest::{Checksum, Digest, Identity};
use crate::event::EventBatch;
use crate::identity::{IdentityManifest, MatchDescriptor};
use crate::tick::Tick;

/// What to keep of a state while it is current (K2). Combine with `|`.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Keep(u8);

impl Keep {
    /// Nothing.
    pub const NOTHING: Keep = Keep(0);
    /// A checkpoint that [`Runtime::restore`] can return to.
    pub const CHECKPOINT: Keep = Keep(1);
    /// The checksum.
    pub const CHECKSUM: Keep = Keep(2);
    /// The projection, as bytes.
    pub const PROJECTION: Keep = Keep(4);

    /// The same without `less`.
    #[must_use]
    pub const fn without(self, less: Keep) -> Keep {
        Keep(self.0 & !less.0)
    }

    /// Whether all of `other` is asked for.
    pub const fn contains(self, other: Keep) -> bool {
        self.0 & other.0 == other.0
    }
}

impl core::ops::BitOr for Keep {
    type Output = Keep;

    fn bitor(self, other: Keep) -> Keep {
        Keep(self.0 | other.0)
    }
}

/// What was kept of one state, `S(tick)`.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Kept {
    /// The state's tick: the number of steps that led to it.
    pub tick: Tick,
    /// The checkpoint, if asked for.
    pub checkpoint: Option<Checkpoint>,
    /// The checksum, if asked for.
    pub checksum: Option<Checksum>,
    /// Where the projection stands in [`Output::projections`], if asked for; missing when it faulted.
    pub projection: Option<Range<usize>>,
}

/// What a call kept, in the order of ticks. One is reused for all calls, so that steady state allocates nothing.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Output {
    /// What was kept, oldest first; states of which nothing was asked are not listed.
    pub kept: Vec<Kept>,
    /// The bytes of the projections.
    pub projections: Vec<u8>,
    /// Confirmed or predicted commands that did not decode and were skipped (K7).
    pub malformed_commands: u64,
    /// Projections that faulted, and are missing therefore. Presentation never ends a match (K9).
    pub failed_projections: u64,
    /// What the steps emitted for presentation, in the order of ticks (K10).
    pub events: EventBatch,
}

impl Output {
    /// Empties it and keeps its buffers.
    pub fn clear(&mut self) {
        self.kept.clear();
        self.projections.clear();
        self.malformed_commands = 0;
        self.failed_projections = 0;
        self.events.clear();
    }

    /// The projection of one kept state.
    pub fn projection(&self, kept: &Kept) -> Option<&[u8]> {
        self.projections.get(kept.projection.clone()?)
    }
}

/// Optional abilities of a runtime, checked when a session is built (S1).
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Capabilities {
    /// It decodes commands. Without it, commands are refused at the door.
    pub commands: bool,
    /// It projects.
    pub projection: bool,
}

/// Game logic, of whatever kind, holding one state `S(tick)` (K2, K4).
///
/// # Contract
/// - `advance` steps a run of consecutive ticks that starts at [`Runtime::tick`] and keeps, after each, what its step asks for.
///   A batch that fails is atomic: state, tick and checkpoints are as before, and the error names the failing tick.
/// - History is linear: `restore` releases every younger checkpoint and keeps the one restored, which can be restored again
///   any number of times. A handle that was released is refused with a typed error, never taken for another state.
/// - `checkpoint`, checksum and projection are of the current state only; nothing reads an older one but `export`.
/// - Equal states of one identity have equal checksums everywhere (K5).
/// - Every step emits its events, whether it is predicted or not; equal steps of equal states emit equal ones (K10).
///
/// `retick-testing`'s `StrictRuntime` enforces this contract around any runtime.
pub trait Runtime: Send {
    /// What the runtime is made of; its digest is the identity.
    fn manifest(&self) -> &IdentityManifest;

    /// Digest of the descriptor of the match that it was made for; a session takes no runtime of another one.
    fn descriptor_digest(&self) -> Digest;

    /// Its optional abilities.
    fn capabilities(&self) -> Capabilities;

    /// The current state's tick: `n` for `S(n)`.
    fn tick(&self) -> Tick;

    /// Steps through `batch`, and appends to `output` what its steps ask to keep.
    ///
    /// # Errors
    /// [`AdvanceError`]; state, tick and checkpoints are then as before, and nothing was appended.
    fn advance(&mut self, batch: &StepBatch, output: &mut Output) -> Result<(), AdvanceError>;

    /// Keeps something of the current state without stepping, for `S(0)` and after a restore.
    ///
    /// # Errors
    /// [`AdvanceError`] when the state can't be captured, or this machine fails; nothing was appended then.
    fn keep(&mut self, keep: Keep, output: &mut Output) -> Result<(), AdvanceError>;

    /// Returns to the state of `checkpoint` and releases every younger checkpoint.
    ///
    /// # Errors
    /// [`CheckpointError::Stale`]; nothing changed then.
    fn restore(&mut self, checkpoint: Checkpoint) -> Result<(), CheckpointError>;

    /// Releases one checkpoint; others are untouched.
    ///
    /// # Errors
    /// [`CheckpointError::Stale`]; nothing changed then.
    fn release(&mut self, checkpoint: Checkpoint) -> Result<(), CheckpointError>;

    /// Appends to `out` the canonical bytes of `checkpoint` from `offset` on, at most `max_bytes` of them, and says how many
    /// bytes the state has. The live state is not disturbed, so a donor can predict on while it donates (K4).
    ///
    /// # Errors
    /// [`CheckpointError::Stale`]; nothing was appended then.
    fn export(
        &mut self,
        checkpoint: Checkpoint,
        offset: u64,
        max_bytes: usize,
        out: &mut Vec<u8>,
    ) -> Result<u64, CheckpointError>;

    /// Replaces the state by `S(tick)` with these canonical bytes. All checkpoints are released.
    ///
    /// # Errors
    /// [`HydrateError`] when the bytes are not exactly the canonical form of a state of this game at that tick; nothing changed
    /// then.
    fn hydrate(&mut self, tick: Tick, canonical_state: &[u8]) -> Result<(), HydrateError>;

    /// The last lines that the game logged, oldest first; what a fault report attaches (W5). Never part of the state.
    fn last_log(&self) -> Vec<String> {
        Vec::new()
    }
}

/// Why a batch did not run.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum AdvanceError {
    /// The batch does not start at the current tick.
    #[error("the batch starts at tick {first}, but the state is at tick {current}")]
    NotCurrent {
        /// First tick of the batch.
        first: Tick,
        /// The state's tick.
        current: Tick,
    },
    /// The batch was made for another number of seats.
    #[error("the batch has {found} seats, the match {expected}")]
    Seats {
        /// Seats of the batch.
        found: usize,
        /// Seats of the match.
        expected: usize,
    },
    /// There is no tick after [`Tick::MAX`].
    #[error("the tick range ends here")]
    TickRange,
    /// The state holds a value that has no canonical form, so it has no checksum (K13).
    #[error("the state of tick {tick} can't be captured: {error}")]
    Capture {
        /// The tick of the state.
        tick: Tick,
        /// The value, by its path.
        error: EncodeError,
    },
    /// The game faulted in the step of this tick.
    #[error("runtime fault at tick {tick}: {fault}")]
    Fault {
        /// The tick whose step faulted.
        tick: Tick,
        /// What happened.
        fault: StepFault,
    },
}

/// What ended a step (W5). The same on every machine, except [`StepFault::Host`].
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
pub enum StepFault {
    /// The step used up its gas.
    #[error("out of gas")]
    OutOfGas,
    /// An access outside the memory or a table.
    #[error("an access out of bounds")]
    OutOfBounds,
    /// The call depth limit.
    #[error("the call stack is exhausted")]
    StackExhausted,
    /// A division by zero, an overflow, or a conversion that has no result.
    #[error("an arithmetic fault")]
    Arithmetic,
    /// The game gave up: `unreachable`, a panic, an abort. Of WASM games alone: a panic of a native game unwinds through its caller.
    #[error("the game aborted")]
    Aborted,
    /// An indirect call of a wrong type or through an empty entry.
    #[error("a bad indirect call")]
    BadCall,
    /// The interface between kernel and game was broken, for example by a buffer outside the memory.
    #[error("the game broke the interface")]
    Interface,
    /// This machine failed, not the game: it may differ elsewhere.
    #[error("this machine failed to run the step")]
    Host,
}

/// Why a state was not taken.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum HydrateError {
    /// The bytes are not the canonical form of a state of this game.
    #[error("the bytes are not a state of this game")]
    Malformed,
    /// The state decodes, but encodes to other bytes from this offset on.
    #[error("not the canonical form at byte {offset}")]
    NotCanonical {
        /// First byte that differs.
        offset: u64,
    },
    /// The state is of another tick.
    #[error("the state is of tick {found}, not {expected}")]
    Tick {
        /// The tick that was announced.
        expected: Tick,
        /// The tick in the state.
        found: Tick,
    },
    /// The state is larger than this game's states can be.
    #[error("{bytes} bytes, of which {limit} are allowed")]
    TooLong {
        /// Bytes given.
        bytes: u64,
        /// Most bytes of a state.
        limit: u64,
    },
    /// This machine failed to build the state.
    #[error("this machine failed to build the state")]
    Host,
}

/// Makes runtimes for matches of one game: the one place where a runtime is constructed, offline and networked alike.
pub trait RuntimeFactory: Send + Sync {
    /// What the runtimes are made of.
    fn manifest(&self) -> &IdentityManifest;

    /// A runtime at `S(0)` of the match.
    ///
    /// # Errors
    /// [`CreateError`] when the match is not one of this game's, or the game's init refuses it.
    fn create(&self, descriptor: &MatchDescriptor) -> Result<Box<dyn Runtime>, CreateError>;
}

/// A shared factory is a factory: many clients in one process load a module once.
impl<F: RuntimeFactory + ?Sized> RuntimeFactory for alloc::sync::Arc<F> {
    fn manifest(&self) -> &IdentityManifest {
        (**self).manifest()
    }

    fn create(&self, descriptor: &MatchDescriptor) -> Result<Box<dyn Runtime>, CreateError> {
        (**self).create(descriptor)
    }
}

/// Why there is no runtime for a match.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum CreateError {
    /// The match is of another identity than the loaded game.
    #[error("the match is of identity {expected}, but {loaded} is loaded")]
    Identity {
        /// The match's.
        expected: Identity,
        /// The loaded game's.
        loaded: Identity,
    },
    /// The session config is not one of this game's.
    #[error("the session config {digest}: {error}")]
    Config {
        /// Digest of the config's bytes.
        digest: Digest,
        /// What is wrong with them.
        error: ConfigError,
    },
    /// The game can't be played by this many seats.
    #[error("{seats} seats, where the game takes {least} to {most}")]
    Seats {
        /// Seats of the match.
        seats: usize,
        /// Fewest that the game takes.
        least: usize,
        /// Most that the game takes.
        most: usize,
    },
    /// The game's init faulted.
    #[error("runtime fault in init: {fault}{}", Logged(.log))]
    Fault {
        /// What happened.
        fault: StepFault,
        /// The last lines that the game logged before it.
        log: Vec<String>,
    },
    /// The game's init refused the match with a code of its own.
    #[error("the game refused the match with code {code}{}", Logged(.log))]
    Refused {
        /// The game's code.
        code: u32,
        /// The last lines that the game logged before it.
        log: Vec<String>,
    },
}

/// The lines that a game logged, as the end of a message; nothing if there are none.
///
/// ```
/// use retick_core::runtime::Logged;
///
/// assert_eq!(Logged(&["no such map".into(), "giving up".into()]).to_string(), "; it logged: no such map | giving up");
/// assert_eq!(Logged(&[]).to_string(), "");
/// ```
#[derive(Clone, Copy, Debug)]
pub struct Logged<'a>(pub &'a [String]);

impl core::fmt::Display for Logged<'_> {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        let separators = core::iter::once("; it logged: ").chain(core::iter::repeat(" | "));
        separators.zip(self.0).try_for_each(|(separator, line)| write!(f, "{separator}{line}"))
    }
}

/// Checks what every factory checks before it builds anything (K11, K12).
///
/// # Errors
/// [`CreateError::Identity`] or [`CreateError::Config`].
pub fn check_descriptor(manifest: &IdentityManifest, descriptor: &MatchDescriptor) -> Result<(), CreateError> {
    if descriptor.identity() != manifest.identity() {
        return Err(CreateError::Identity { expected: descriptor.identity(), loaded: manifest.identity() });
    }
    let config = descriptor.config();
    match manifest.config_schema().decode(config.bytes()) {
        Ok(_) => Ok(()),
        Err(error) => Err(CreateError::Config { digest: config.digest(), error }),
    }
}
