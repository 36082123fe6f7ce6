//! What a runner refuses and what ends its match, with stable codes for whoever branches on them (N7).

use alloc::boxed::Box;
use alloc::string::String;

#[cfg(doc)]
use super::{MAX_CONFIRMED_FRAME_QUEUE, MAX_TRANSPORT_ERROR_BYTES, MAX_WAITING_MESSAGE_BYTES};
use crate::asset::{AssetError, AssetPinError};
use crate::client::{EndReason, RequestError};
use crate::config::ConfigError;
use crate::input::InputError;
use crate::runtime::CreateError;
use crate::seat::Seat;
use crate::session::{CommandError, LocalError, LocalSetupError, MAX_STEPS_PER_UPDATE, SubmitError};
use crate::tick::Tick;

/// A config that no runner takes.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
pub enum RunnerConfigError {
    /// Steps per update are 1 to [`MAX_STEPS_PER_UPDATE`].
    #[error("{found} offline steps per update, where 1 to {MAX_STEPS_PER_UPDATE} are allowed")]
    OfflineSteps {
        /// What the config asks for.
        found: u16,
    },
    /// A networked update may apply no confirmed frame, or predict no tick, so that it never gets anywhere.
    #[error("max_confirmed_frames_per_turn and max_steps_per_turn must be at least 1")]
    NoTurn,
    /// The queue of confirmed frames is longer than [`MAX_CONFIRMED_FRAME_QUEUE`].
    #[error("a queue of {found} confirmed frames, of which {most} are allowed")]
    FrameQueue {
        /// What the config asks for.
        found: u32,
        /// Most frames.
        most: u32,
    },
    /// The checkpoint window does not hold a checksum cadence of offline play.
    #[error(
        "checkpoint_window_ticks is {window}, and an offline checksum cadence is {cadence}: the window must be longer"
    )]
    Cadence {
        /// The checkpoint window, in ticks.
        window: u32,
        /// The cadence, in ticks.
        cadence: u32,
    },
}

/// Why a match could not be prepared. It ends the attempt: there is no fallback (K12).
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum PreparationFault {
    /// An asset is missing, or is not what the config pins.
    #[error("{0}")]
    Asset(#[from] AssetError),
    /// The config does not decode under the game's schema, so nobody knows what it pins.
    #[error("the session config: {0}")]
    Config(ConfigError),
    /// The pins in the config are malformed.
    #[error("the pinned assets: {0}")]
    Pins(AssetPinError),
    /// The game gave up, for a reason of its own.
    #[error("the game could not prepare the match: code {code}")]
    Game {
        /// The game's own code.
        code: u32,
    },
}

/// What a runner refuses, or why it failed. [`RunnerError::code`] never changes for a variant.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum RunnerError {
    /// The config contradicts itself.
    #[error("{0}")]
    Config(#[from] RunnerConfigError),
    /// The delta is negative, not a number or infinite, or more than a machine can count (N8). Nothing happened.
    #[error("the delta is not a number of milliseconds from 0 on")]
    Delta,
    /// Nothing has been projected: no session is there, or its game projects nothing.
    #[error("there is no render state yet")]
    NoRenderState,
    /// The runner was disposed of.
    #[error("the runner was disposed of")]
    Disposed,
    /// Nothing runs that could take this.
    #[error("nothing runs")]
    NotRunning,
    /// The seat is not driven here: with a network one seat is, the one that the room gave.
    #[error("seat {seat} is not driven here")]
    SeatNotLocal {
        /// The seat.
        seat: Seat,
    },
    /// The offline options contradict each other, or the match.
    #[error("{0}")]
    OfflineOptions(LocalSetupError),
    /// The loaded game does not play this match.
    #[error("the start was refused: {0}")]
    StartRefused(CreateError),
    /// An input is none of the game's. The tick, if one is named, is asked for again.
    #[error("an input{}{}: {error}", of_seat(seat), for_tick(tick))]
    Input {
        /// The seat, if it is known.
        seat: Option<Seat>,
        /// The tick, for a sampled input.
        tick: Option<Tick>,
        /// What is wrong with it.
        error: InputError,
    },
    /// An offline command was not taken.
    #[error("{0}")]
    Command(CommandError),
    /// A request to the room was not sent.
    #[error("{0}")]
    Request(RequestError),
    /// The ticket is of a preparation that is over or was aborted. Nothing was replaced.
    #[error("the preparation is over, or was aborted")]
    StalePreparation,
    /// The match could not be prepared. Terminal.
    #[error("{0}")]
    Preparation(PreparationFault),
    /// The transport is lost for good. Terminal; offer the player to join again.
    #[error("the transport is disconnected")]
    TransportDisconnected,
    /// The transport failed, with what it says, at most [`MAX_TRANSPORT_ERROR_BYTES`]. Terminal.
    #[error("the transport failed: {0}")]
    Transport(Box<str>),
    /// Nobody took the messages out: more than [`MAX_WAITING_MESSAGE_BYTES`] wait. Terminal.
    #[error("too many messages wait to be taken out")]
    OutputOverflow,
    /// The networked client is over. Terminal.
    #[error("{0}")]
    Ended(EndReason),
    /// Offline play is over. Terminal.
    #[error("{0}")]
    Offline(LocalError),
}

impl RunnerError {
    /// The stable code, for logs and for whoever branches on it.
    pub fn code(&self) -> &'static str {
        match self {
            RunnerError::Config(_) => "runner.config-invalid",
            RunnerError::Delta => "runner.delta-invalid",
            RunnerError::NoRenderState => "runner.no-render-state",
            RunnerError::Disposed => "runner.disposed",
            RunnerError::NotRunning => "runner.not-running",
            RunnerError::SeatNotLocal { .. } => "runner.seat-not-local",
            RunnerError::OfflineOptions(_) => "runner.offline-options-invalid",
            RunnerError::StartRefused(_) => "runner.start-refused",
            RunnerError::Input { .. } => "runner.input-invalid",
            RunnerError::Command(_) => "runner.command-refused",
            RunnerError::Request(_) => "runner.request-refused",
            RunnerError::StalePreparation => "runner.preparation-stale",
            RunnerError::Preparation(PreparationFault::Asset(_)) => "runner.asset-mismatch",
            RunnerError::Preparation(_) => "runner.preparation-failed",
            RunnerError::TransportDisconnected => "runner.transport-disconnected",
            RunnerError::Transport(_) => "runner.transport-failed",
            RunnerError::OutputOverflow => "runner.output-overflow",
            RunnerError::Ended(reason) => end_code(reason),
            RunnerError::Offline(_) => "runner.runtime-fault",
        }
    }

    /// The text that a transport gave, as far as it is kept.
    pub(super) fn transport(text: &str, most_bytes: usize) -> RunnerError {
        let mut kept = String::new();
        for character in text.chars() {
            if kept.len() + character.len_utf8() > most_bytes {
                break;
            }
            kept.push(character);
        }
        RunnerError::Transport(kept.into_boxed_str())
    }

    /// What a local seat's input was refused with.
    pub(super) fn submit(seat: Option<Seat>, tick: Option<Tick>, error: SubmitError) -> RunnerError {
        match (error, seat) {
            (SubmitError::Input(error), _) => RunnerError::Input { seat, tick, error },
            (SubmitError::SeatNotLocal { seat } | SubmitError::BotSeat { seat }, _) | (_, Some(seat)) => {
                RunnerError::SeatNotLocal { seat }
            }
            (_, None) => RunnerError::NotRunning,
        }
    }
}

fn end_code(reason: &EndReason) -> &'static str {
    match reason {
        EndReason::Refused(_) => "client.refused",
        EndReason::Closed(_) => "client.closed",
        EndReason::Identity { .. } => "client.identity-mismatch",
        EndReason::MatchChanged { .. } => "client.match-changed",
        EndReason::Create(_) => "client.start-refused",
        EndReason::Session(_) => "client.session-refused",
        EndReason::Fault(_) => "client.runtime-fault",
        EndReason::CheckpointWindow { .. } => "client.checkpoint-window",
        EndReason::PreparationOverflow => "client.preparation-overflow",
        // What the room sent has no place here.
        _ => "client.protocol",
    }
}

fn of_seat(seat: &Option<Seat>) -> String {
    seat.map_or_else(String::new, |seat| format!(" of seat {seat}"))
}

fn for_tick(tick: &Option<Tick>) -> String {
    tick.map_or_else(String::new, |tick| format!(" for tick {tick}"))
}
