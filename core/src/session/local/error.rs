//! Why local play does not begin, go on, or take a command.

use crate::input::InputError;
use crate::seat::{Seat, SeatCount};
use crate::session::{ConfirmError, MAX_PENDING_COMMANDS, MAX_STEPS_PER_UPDATE, SessionError, SessionFault};
use crate::snapshot::PromotionError;
use crate::tick::Tick;

/// Why there is no local session.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum LocalSetupError {
    /// A seat can't be driven by a player and by a bot.
    #[error("seat {seat} is both a local and a bot seat")]
    SeatTwice {
        /// The seat.
        seat: Seat,
    },
    /// A bot seat is not one of the match's.
    #[error("bot seat {seat} is not one of the match's {seats}")]
    BotSeat {
        /// The seat.
        seat: Seat,
        /// How many seats the match has.
        seats: SeatCount,
    },
    /// Steps per update are 1 to [`MAX_STEPS_PER_UPDATE`].
    #[error("{found} steps per update, where 1 to {MAX_STEPS_PER_UPDATE} are allowed")]
    StepsPerUpdate {
        /// What the config asks for.
        found: u16,
    },
    /// The policy asks for what the runtime or the match does not have.
    #[error("{0}")]
    Session(#[from] SessionError),
    /// The promoted world was not taken.
    #[error("{0}")]
    Promotion(#[from] PromotionError),
}

/// Why an update stopped. The ticks before it were stepped.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum LocalError {
    /// A provider's bytes are not an input of the game's schema. The tick is due again in the next update.
    #[error("the input of seat {seat} for tick {tick}: {error}")]
    Input {
        /// The seat.
        seat: Seat,
        /// The tick.
        tick: Tick,
        /// What is wrong with the bytes.
        error: InputError,
    },
    /// [`Tick::MAX`] has no state after it.
    #[error("the tick range ends here")]
    TickRange,
    /// The session refused the frame, which it does with none that is ordered here.
    #[error("{0}")]
    Order(ConfirmError),
    /// The session faulted, now or before. The last good state stays readable.
    #[error("{0}")]
    Fault(SessionFault),
}

/// Why a command was not taken.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
pub enum CommandError {
    /// The game takes no commands (K7).
    #[error("the game takes no commands")]
    Unsupported,
    /// Nobody here drives the seat.
    #[error("seat {seat} is neither a local nor a bot seat")]
    SeatNotDriven {
        /// The seat.
        seat: Seat,
    },
    /// The bytes are beyond the match's limit.
    #[error("{actual} bytes, of which {limit} are allowed")]
    TooLong {
        /// Bytes given.
        actual: usize,
        /// Most bytes of one command.
        limit: usize,
    },
    /// [`MAX_PENDING_COMMANDS`] commands wait for a frame.
    #[error("{MAX_PENDING_COMMANDS} commands wait for a frame")]
    QueueFull,
}
