//! What a game hands in: held inputs, commands and ephemerals.

use super::{Play, Runner, RunnerError};
use crate::seat::Seat;

impl Runner {
    /// Sets what the first local seat holds from its next sampled tick on, until it is set again. Each start begins neutral.
    ///
    /// # Errors
    /// [`RunnerError::Input`], [`RunnerError::NotRunning`] or [`RunnerError::SeatNotLocal`]; what was held stays then.
    pub fn apply_input(&mut self, packed: &[u8]) -> Result<(), RunnerError> {
        let checked = self.factory.manifest().input_schema().validate(packed);
        checked.map_err(|error| RunnerError::Input { seat: self.local_seat(), tick: None, error })?;
        match &mut self.play {
            Play::Nothing(_) => Err(RunnerError::NotRunning),
            Play::Networked(networked) => {
                networked.held.clear();
                networked.held.extend_from_slice(packed);
                Ok(())
            }
            Play::Offline(_) => {
                let seat = self.local_seat().ok_or(RunnerError::NotRunning)?;
                self.apply_seat_input(seat, packed)
            }
        }
    }

    /// The same for one of several local seats, which offline play alone has: a connection is one seat.
    ///
    /// # Errors
    /// As there.
    pub fn apply_seat_input(&mut self, seat: Seat, packed: &[u8]) -> Result<(), RunnerError> {
        match &mut self.play {
            Play::Offline(local) => {
                local.set_input(seat, packed).map_err(|error| RunnerError::submit(Some(seat), None, error))
            }
            Play::Networked(networked) if networked.client.seat() == Some(seat) => self.apply_input(packed),
            Play::Networked(_) => Err(RunnerError::SeatNotLocal { seat }),
            Play::Nothing(_) => Err(RunnerError::NotRunning),
        }
    }

    /// Requests a command of the first local seat (K7, A9).
    ///
    /// # Errors
    /// [`RunnerError::Command`], [`RunnerError::Request`] or [`RunnerError::NotRunning`]; nothing was sent then.
    pub fn request_command(&mut self, payload: &[u8]) -> Result<(), RunnerError> {
        let seat = self.local_seat();
        let done = match &mut self.play {
            Play::Nothing(_) => Err(RunnerError::NotRunning),
            Play::Networked(networked) => networked.client.request_command(payload).map_err(RunnerError::Request),
            Play::Offline(local) => {
                let seat = seat.ok_or(RunnerError::NotRunning)?;
                local.submit_command(seat, payload).map_err(RunnerError::Command)
            }
        };
        self.absorb();
        done
    }

    /// Sends bytes to everyone else in the room, outside the match (A9).
    ///
    /// # Errors
    /// [`RunnerError::Request`], or [`RunnerError::NotRunning`] outside a room.
    pub fn send_ephemeral(&mut self, payload: &[u8]) -> Result<(), RunnerError> {
        let Play::Networked(networked) = &mut self.play else { return Err(RunnerError::NotRunning) };
        let sent = networked.client.send_ephemeral(payload).map_err(RunnerError::Request);
        self.absorb();
        sent
    }
}
