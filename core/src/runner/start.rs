//! Starts and ends of matches. Starting any of them tears down the one before.

use alloc::boxed::Box;

use super::networked::Networked;
use super::presentation::FrameQueue;
use super::{
    LinkId, NetworkedOptions, OfflineOptions, Play, PreparationFault, PreparationTicket, Rest, Runner, RunnerError,
};
use crate::asset::VerifiedAsset;
use crate::client::Client;
use crate::session::LocalSession;

impl Runner {
    /// Starts a match at this machine, and tears down whatever ran.
    ///
    /// # Errors
    /// [`RunnerError::Disposed`], where nothing happened; [`RunnerError::StartRefused`] and [`RunnerError::OfflineOptions`], which leave
    /// the runner failed.
    pub fn start_offline(&mut self, options: &OfflineOptions) -> Result<(), RunnerError> {
        self.check_disposed()?;
        self.tear_down(Rest::Stopped);
        let config = self.config.offline(options);
        let created = self.factory.create(&options.descriptor).map_err(RunnerError::StartRefused);
        let local = created.and_then(|runtime| {
            LocalSession::new(runtime, &options.descriptor, config).map_err(RunnerError::OfflineOptions)
        });
        let started = match local {
            Ok(local) => {
                self.play = Play::Offline(Box::new(local));
                Ok(())
            }
            Err(error) => {
                self.play = Play::Nothing(Rest::Failed(error.clone()));
                Err(error)
            }
        };
        self.publish();
        started
    }

    /// Starts a match in a room, and tears down whatever ran. The caller opens a transport, and says of it what it says with the
    /// link that is given back.
    ///
    /// # Errors
    /// [`RunnerError::Disposed`].
    pub fn start_networked(&mut self, options: NetworkedOptions) -> Result<LinkId, RunnerError> {
        self.check_disposed()?;
        self.tear_down(Rest::Stopped);
        let link = self.next_link;
        self.next_link = LinkId(link.0 + 1);
        let client = Client::new(self.config.networked(), Box::new(self.factory.clone())).with_ticket(options.ticket);
        let neutral = self.factory.manifest().input_schema().neutral();
        self.play = Play::Networked(Box::new(Networked::new(link, client, neutral, options.room_code)));
        self.publish();
        Ok(link)
    }

    /// The game has prepared the match of this ticket, with every asset that its config pins; or it has not, which is terminal.
    ///
    /// # Errors
    /// [`RunnerError::StalePreparation`] for a ticket that is over or aborted: nothing happened then. [`RunnerError::Preparation`] when
    /// an asset is missing or wrong, and [`RunnerError::Ended`] when there is no session for the match; both leave the runner failed.
    pub fn complete_preparation(
        &mut self,
        ticket: PreparationTicket,
        result: Result<&[VerifiedAsset<'_>], PreparationFault>,
    ) -> Result<(), RunnerError> {
        let completed = match &mut self.play {
            Play::Networked(networked) if networked.ticket() == Some(ticket) => networked.complete(result, self.now),
            _ => {
                self.stats.stale_preparations += 1;
                return Err(RunnerError::StalePreparation);
            }
        };
        // What the client says of its end comes first.
        self.absorb();
        if let (Err(error), Play::Networked(_)) = (&completed, &self.play) {
            self.fail(error.clone());
        }
        self.publish();
        completed
    }

    /// Leaves a room for good: the match stops when the room has answered. An offline match, and one without a seat, stops now.
    ///
    /// # Errors
    /// [`RunnerError::Disposed`].
    pub fn leave(&mut self) -> Result<(), RunnerError> {
        self.check_disposed()?;
        let asked = match &mut self.play {
            Play::Networked(networked) => networked.client.leave().is_ok(),
            _ => false,
        };
        if !asked {
            return self.stop();
        }
        self.absorb();
        self.publish();
        Ok(())
    }

    /// Ends whatever runs. A room keeps the seat for the length of its grace.
    ///
    /// # Errors
    /// [`RunnerError::Disposed`].
    pub fn stop(&mut self) -> Result<(), RunnerError> {
        self.check_disposed()?;
        self.tear_down(Rest::Stopped);
        self.publish();
        Ok(())
    }

    /// Ends the runner for good: nothing can be started any more. What waits can still be taken out.
    pub fn dispose(&mut self) {
        self.tear_down(Rest::Disposed);
        self.publish();
    }

    /// Ends the match with an error.
    pub(super) fn fail(&mut self, error: RunnerError) {
        self.tear_down(Rest::Failed(error));
    }

    /// Ends whatever runs, and leaves nothing of it behind but what waits to be taken out.
    pub(super) fn tear_down(&mut self, rest: Rest) {
        let ended = core::mem::replace(&mut self.play, Play::Nothing(rest));
        self.frames = FrameQueue::default();
        self.presence.clear();
        let Play::Networked(networked) = ended else { return };
        if let Some(ticket) = networked.ticket() {
            self.outbox.abort(ticket);
        }
        self.outbox.push_hangup(networked.link);
    }
}
