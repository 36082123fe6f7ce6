//! What a game and its UI read of a runner.

use super::networked::Networked;
use super::{
    Lifecycle, Mode, Play, Presentation, RenderState, Rest, Runner, RunnerConfig, RunnerError, RunnerSnapshot,
    RunnerStats, Status, ViewContext,
};
use crate::client::Client;
use crate::seat::{Seat, SeatSet};
use crate::session::{LocalSession, Session};
use crate::tick::Tick;

impl Runner {
    /// Where the runner stands.
    pub fn status(&self) -> Status {
        match &self.play {
            Play::Nothing(Rest::Failed(_)) => Status::Error,
            Play::Nothing(_) => Status::Stopped,
            Play::Offline(_) => Status::Offline,
            Play::Networked(networked) => networked.status(),
        }
    }

    /// What the runner is doing.
    pub fn lifecycle(&self) -> Lifecycle {
        match &self.play {
            Play::Nothing(Rest::Idle) => Lifecycle::Idle,
            Play::Nothing(Rest::Stopped) => Lifecycle::Stopped,
            Play::Nothing(Rest::Disposed) => Lifecycle::Disposed,
            Play::Nothing(Rest::Failed(error)) => Lifecycle::Failed { error: error.clone() },
            Play::Offline(_) => {
                Lifecycle::Running { mode: Mode::Offline, local_seats: self.local_seats(), connection: None }
            }
            Play::Networked(networked) if networked.client.session().is_none() => {
                Lifecycle::Starting { mode: Mode::Networked }
            }
            Play::Networked(networked) => {
                let (mode, connection) = (Mode::Networked, networked.connection);
                Lifecycle::Running { mode, local_seats: self.local_seats(), connection }
            }
        }
    }

    /// The runner at this moment, for a UI.
    pub fn snapshot(&self) -> RunnerSnapshot<'_> {
        let (session, networked) = (self.session(), self.networked());
        let net = networked.map(|networked| networked.net_stats(&self.frames));
        let (lifecycle, status) = (self.lifecycle(), self.status());
        let error = match &lifecycle {
            Lifecycle::Failed { error } => Some(error.clone()),
            _ => None,
        };
        let last_before = |end: Tick| end.index().checked_sub(1).map(Tick::new);
        RunnerSnapshot {
            status,
            lifecycle,
            render: self.render_state().ok(),
            alpha: self.alpha(),
            local_seat: self.local_seat(),
            rollbacks: net.map_or(0, |net| net.client.rollbacks),
            ready: networked.map_or(session.is_some(), Networked::ready),
            applied_through: session.and_then(|session| last_before(session.confirmed())),
            predicted_through: session.and_then(|session| last_before(session.head())),
            error,
            connection: networked.and_then(|networked| networked.connection),
            room_code: networked.and_then(|networked| networked.room_code.as_deref()),
            occupancy: networked.and_then(|networked| networked.occupancy),
            presence: &self.presence,
            net,
        }
    }

    /// What is to be drawn now.
    ///
    /// # Errors
    /// [`RunnerError::NoRenderState`] before the first projection, and for a game that projects nothing.
    pub fn render_state(&self) -> Result<RenderState<'_>, RunnerError> {
        let session = self.session().filter(|session| session.projects()).ok_or(RunnerError::NoRenderState)?;
        let (current, previous) = session.projections();
        Ok(RenderState { current, previous, alpha: self.alpha(), tick: session.head() })
    }

    /// The picture that a presentation makes of it, between the tick before and the present one.
    ///
    /// # Errors
    /// [`RunnerError::NoRenderState`].
    pub fn view<P: Presentation>(&self, presentation: &P) -> Result<P::View, RunnerError> {
        let RenderState { current, previous, alpha, .. } = self.render_state()?;
        let context = ViewContext { local_seat: self.local_seat(), status: self.status() };
        let (previous, current) = (presentation.project(previous, context), presentation.project(current, context));
        Ok(presentation.interpolate(previous, current, alpha))
    }

    /// The first seat that is driven at this machine, once it is known.
    pub fn local_seat(&self) -> Option<Seat> {
        self.local_seats().iter().next()
    }

    /// The session that runs, to read.
    pub fn session(&self) -> Option<&Session> {
        match &self.play {
            Play::Nothing(_) => None,
            Play::Offline(local) => Some(local.session()),
            Play::Networked(networked) => networked.client.session(),
        }
    }

    /// The client of a networked match, to read.
    pub fn client(&self) -> Option<&Client> {
        self.networked().map(|networked| &networked.client)
    }

    /// The client of a networked match, for what a game asks of its room: votes, pauses, another config, a result. Time, messages and
    /// inputs are the runner's; what is asked leaves with the next update.
    pub fn client_mut(&mut self) -> Option<&mut Client> {
        match &mut self.play {
            Play::Networked(networked) => Some(&mut networked.client),
            _ => None,
        }
    }

    /// The session of a networked match, for what a game reads with `&mut`: checksums and snapshots.
    pub fn session_mut(&mut self) -> Option<&mut Session> {
        match &mut self.play {
            Play::Networked(networked) => networked.client.session_mut(),
            _ => None,
        }
    }

    /// The offline match, for what a game reads with `&mut`: checksums, snapshots, promotions, replays. Time is the runner's.
    pub fn local_mut(&mut self) -> Option<&mut LocalSession> {
        match &mut self.play {
            Play::Offline(local) => Some(local),
            _ => None,
        }
    }

    /// What the runner was made with.
    pub fn config(&self) -> &RunnerConfig {
        &self.config
    }

    /// Counts over all matches.
    pub fn stats(&self) -> RunnerStats {
        RunnerStats { dropped_events: self.outbox.dropped_events, ..self.stats }
    }

    pub(super) fn networked(&self) -> Option<&Networked> {
        match &self.play {
            Play::Networked(networked) => Some(networked),
            _ => None,
        }
    }

    pub(super) fn local_seats(&self) -> SeatSet {
        match &self.play {
            Play::Nothing(_) => SeatSet::EMPTY,
            Play::Offline(local) => local.config().local_seats,
            Play::Networked(networked) => networked.client.session().map_or(SeatSet::EMPTY, Session::local_seats),
        }
    }

    fn alpha(&self) -> f64 {
        match &self.play {
            Play::Nothing(_) => 0.0,
            Play::Offline(local) => local.alpha(),
            Play::Networked(networked) => networked.alpha(self.now, self.config.client.mode),
        }
    }
}
