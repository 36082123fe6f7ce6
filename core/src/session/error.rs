//! What a session refuses, and what ends one.

use super::MAX_LOCAL_INPUTS_AHEAD;
#[cfg(doc)]
use super::{LocalSession, MAX_QUEUED_FRAME_BYTES, MAX_QUEUED_FRAMES, TickInputs};
use crate::digest::Digest;
use crate::input::InputError;
use crate::runtime::{AdvanceError, Capabilities, StepFault};
use crate::seat::{Seat, SeatCount};
use crate::tick::Tick;

/// Why there is no session.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
pub enum SessionError {
    /// The runtime lacks what the policy requires.
    #[error("the game requires {required:?}, the runtime has {available:?}")]
    Capabilities {
        /// What the policy requires.
        required: Capabilities,
        /// What the runtime has.
        available: Capabilities,
    },
    /// The cadence is zero, or the checkpoint window does not hold one cadence.
    #[error("checkpoint_window_ticks is {window}, and the checksum cadence is {cadence}: the window must be longer")]
    Cadence {
        /// The checkpoint window, in ticks.
        window: u32,
        /// The cadence, in ticks.
        cadence: u32,
    },
    /// The runtime was made for another match: another seed, config or number of seats, or another game.
    #[error("the runtime is of match {found}, not {expected}")]
    OtherMatch {
        /// Digest of the descriptor that was given.
        expected: Digest,
        /// Digest of the descriptor that the runtime was made for.
        found: Digest,
    },
    /// A local seat is not one of the match's.
    #[error("local seat {seat} is not one of the match's {seats}")]
    LocalSeat {
        /// The seat.
        seat: Seat,
        /// How many seats the match has.
        seats: SeatCount,
    },
    /// The runtime is not at `S(0)`.
    #[error("the runtime is at tick {tick}, not 0")]
    NotAtStart {
        /// The runtime's tick.
        tick: Tick,
    },
    /// The runtime could not keep `S(0)`.
    #[error("the runtime could not keep S(0)")]
    Runtime,
}

/// Why a local input was not taken.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
pub enum SubmitError {
    /// The seat is not a local one.
    #[error("seat {seat} is not local")]
    SeatNotLocal {
        /// The seat.
        seat: Seat,
    },
    /// The seat is a bot's, whose inputs come from [`TickInputs::bot`]. Only a [`LocalSession`] has such seats.
    #[error("seat {seat} is a bot's: its inputs come from the provider")]
    BotSeat {
        /// The seat.
        seat: Seat,
    },
    /// The seat's inputs are submitted tick by tick, and this is not the next one.
    #[error("the next tick to submit is {expected}, not {found}")]
    NotNext {
        /// The tick that is next.
        expected: Tick,
        /// The tick that was given.
        found: Tick,
    },
    /// Too far ahead of the confirmed frontier.
    #[error("tick {tick} is more than {MAX_LOCAL_INPUTS_AHEAD} ahead of the confirmed frontier")]
    TooFarAhead {
        /// The tick that was given.
        tick: Tick,
    },
    /// [`Tick::MAX`] has no state after it, so it has no step and no input.
    #[error("the tick range ends here")]
    TickRange,
    /// The bytes are not an input of the game's schema.
    #[error("{0}")]
    Input(#[from] InputError),
}

/// Why a frame was not taken.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
pub enum ConfirmError {
    /// Frames come in order, without gap or repeat (I1).
    #[error("the next frame is of tick {expected}, not {found}")]
    NotNext {
        /// The tick that is next.
        expected: Tick,
        /// The frame's tick.
        found: Tick,
    },
    /// [`Tick::MAX`] has no state after it, so nothing can confirm it.
    #[error("the tick range ends here")]
    TickRange,
    /// The frame is of another generation or seat count.
    #[error("the frame is of another generation or number of seats")]
    OtherMatch,
    /// More than [`MAX_QUEUED_FRAMES`], or more than [`MAX_QUEUED_FRAME_BYTES`] of them, wait.
    #[error("too many frames wait to be applied")]
    QueueFull,
}

/// What ended a session for good. The state stays readable at its tick.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum SessionFault {
    /// The game faulted in a confirmed tick, as it does on every machine (W5).
    #[error("runtime fault at tick {tick}: {fault}")]
    Runtime {
        /// The tick; `S(tick)` is readable.
        tick: Tick,
        /// What happened.
        fault: StepFault,
    },
    /// The runtime refused what its contract allows; a fault of its implementation or of this machine.
    #[error("the runtime broke its contract at tick {tick}")]
    Contract {
        /// The present at that moment.
        tick: Tick,
    },
    /// The state has no canonical form, so there is no checksum to report.
    #[error("{0}")]
    Capture(AdvanceError),
    /// An earlier turn never returned: the game panicked in it, and whoever called went on. What it left half done is of no use.
    #[error("a panic unwound through the turn that began at tick {tick}")]
    Unwound {
        /// The first tick that the turn was to step.
        tick: Tick,
    },
}
