//! What a game asks of the room beside its inputs: commands, ephemerals, and to leave (A1, A9).

use super::{Claimed, Client, ClientRole};
use crate::config::ConfigError;
use crate::frame::MAX_COMMAND_BYTES;
use crate::session::Session;
use crate::wire::MAX_EPHEMERAL_BYTES;

/// Why a request was not sent.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum RequestError {
    /// There is no seat, or no transport.
    #[error("the client is not connected to a match")]
    NotConnected,
    /// An observer or a referee holds no seat, and asks for nothing (A14).
    #[error("an observer has no seat, and sends nothing")]
    NoSeat,
    /// The bytes are beyond their limit.
    #[error("{actual} bytes, of which {limit} are allowed")]
    TooLong {
        /// Bytes given.
        actual: usize,
        /// Most bytes allowed.
        limit: usize,
    },
    /// The game takes no commands (K7).
    #[error("the game takes no commands")]
    CommandsUnsupported,
    /// A session config is not one of the game's: every machine would refuse to start it (K12).
    #[error("this session config is not one of the game's: {0}; nothing was sent")]
    Config(ConfigError),
}

impl Client {
    /// Requests a command; the authority orders it into a coming frame, or drops it when the seat's budget is used up (A9).
    ///
    /// # Errors
    /// [`RequestError`]; nothing was sent then.
    pub fn request_command(&mut self, payload: &[u8]) -> Result<(), RequestError> {
        let claimed = self.live_claim()?;
        let takes = self.session.as_ref().is_some_and(Session::takes_commands);
        if !takes {
            return Err(RequestError::CommandsUnsupported);
        }
        check_length(payload, MAX_COMMAND_BYTES)?;
        self.command_sequence = self.command_sequence.saturating_add(1);
        self.send_command(claimed.generation, self.command_sequence, payload);
        Ok(())
    }

    /// Sends bytes to all others, outside the match (A9).
    ///
    /// # Errors
    /// [`RequestError`]; nothing was sent then.
    pub fn send_ephemeral(&mut self, payload: &[u8]) -> Result<(), RequestError> {
        self.live_claim()?;
        check_length(payload, MAX_EPHEMERAL_BYTES)?;
        self.send_ephemeral_message(payload);
        Ok(())
    }

    /// Leaves the match for good (A1).
    ///
    /// # Errors
    /// [`RequestError::NotConnected`].
    pub fn leave(&mut self) -> Result<(), RequestError> {
        if !self.connected || !self.greeted || self.end.is_some() {
            return Err(RequestError::NotConnected);
        }
        self.send_leave();
        Ok(())
    }

    pub(super) fn live_claim(&self) -> Result<Claimed, RequestError> {
        if self.config.role != ClientRole::Player {
            return Err(RequestError::NoSeat);
        }
        let claimed = self.claimed.filter(|_| self.connected && self.greeted && self.end.is_none());
        claimed.ok_or(RequestError::NotConnected)
    }
}

pub(super) fn check_length(payload: &[u8], limit: usize) -> Result<(), RequestError> {
    if payload.len() > limit { Err(RequestError::TooLong { actual: payload.len(), limit }) } else { Ok(()) }
}
