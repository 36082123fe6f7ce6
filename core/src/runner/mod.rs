//! One runner for a game's whole life: matches at this machine and in rooms, one after another, behind one loop (N7, N8).
//!
//! ```text
//!  game loop ── update(delta, inputs) ──▶ ┌────────┐ ── Transmit, Hangup ──▶ transport
//!  UI        ◀── snapshot ─────────────── │ Runner │ ◀─ Connected, Message,
//!  renderer  ◀── render_state, events ─── └────────┘    Reconnecting, Disconnected, Error
//!  loader    ◀── Prepare ── complete_preparation ──▶ Client or LocalSession ▶ Session ▶ Runtime
//! ```
//!
//! Sans-IO: [`Runner::update`] moves its clock on, [`Runner::handle_transport`] takes what a transport has to say, and
//! [`Runner::poll_output`] gives what is to be done. Whoever owns the transport also replaces a lost one; the runner never dials.
//! Starting any match tears down the one before, and what still comes of that one's link or preparation is ignored and counted.
//!
//! | transport | runner |
//! |---|---|
//! | [`TransportEvent::Reconnecting`] | not terminal: `Syncing`, and silent until the client has caught up and is further than before |
//! | [`TransportEvent::Disconnected`] | terminal: torn down, [`RunnerError::TransportDisconnected`] |
//! | [`TransportEvent::Error`] | terminal: torn down, [`RunnerError::Transport`] with what the transport says |
//!
//! The game here is that of the [crate's page](crate). [`match_ui_state`] and [`controls_active`] say what a match's screen shows.
//!
//! ```
//! # mod race {
//! #     include!(concat!(env!("CARGO_MANIFEST_DIR"), "/doc/race.rs"));
//! # }
//! use std::sync::Arc;
//!
//! use race::{descriptor, factory, packed};
//! use retick_core::runner::{
//!     NetworkedOptions, OfflineOptions, Output, Runner, RunnerConfig, RunnerError, Status, TransportEvent,
//! };
//! use retick_core::seat::Seat;
//! use retick_core::tick::Tick;
//! use retick_core::wire::ClientMessage;
//!
//! let mut runner = Runner::new(RunnerConfig::default(), Arc::new(factory()))?;
//! assert_eq!(runner.render_state(), Err(RunnerError::NoRenderState));
//!
//! // A match at this machine: the player holds the throttle, a bot has the other seat.
//! runner.start_offline(&OfflineOptions::new(descriptor()).fill_with_bots())?;
//! runner.apply_input(&packed(10))?;
//! let mut bots = |_: Seat, _: Tick, input: &mut Vec<u8>| *input = packed(20);
//! runner.update(40.0, &mut bots)?;
//! let picture = runner.render_state()?;
//! assert_eq!((picture.tick, &picture.current[..8]), (Tick::new(2), &20i64.to_le_bytes()[..]));
//! assert!((0.39..0.41).contains(&picture.alpha));
//! assert!(runner.snapshot().controls_active());
//!
//! // Then one in a room: the other one is gone, and what comes out is for the new transport.
//! let link = runner.start_networked(NetworkedOptions::default())?;
//! runner.handle_transport(link, TransportEvent::Connected);
//! runner.update(16.0, &mut bots)?;
//! let mut greeted = false;
//! while let Some(output) = runner.poll_output() {
//!     match output {
//!         Output::Transmit { bytes, .. } => greeted |= matches!(ClientMessage::decode(bytes)?, ClientMessage::Hello(_)),
//!         Output::Hangup { .. } | Output::Prepare(_) | Output::Event(_) => {}
//!     }
//! }
//! assert!(greeted && runner.snapshot().status == Status::Connecting);
//!
//! // The player gives up waiting.
//! runner.stop()?;
//! assert_eq!(runner.snapshot().status, Status::Stopped);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod config;
mod error;
mod networked;
mod outbox;
mod presentation;
mod snapshot;
mod start;
mod status;

use alloc::boxed::Box;
use alloc::sync::Arc;
use alloc::vec::Vec;
use core::time::Duration;

pub use self::config::{
    AssetPreparation, DEFAULT_MAX_CONFIRMED_FRAMES_PER_UPDATE, MAX_CONFIRMED_FRAME_QUEUE,
    MOBILE_CHECKSUM_CADENCE_TICKS, NetworkedOptions, OfflineOptions, RunnerConfig,
};
pub use self::error::{PreparationFault, RunnerConfigError, RunnerError};
use self::networked::{MatchEnd, Networked, Outlets};
use self::outbox::Outbox;
pub use self::outbox::{MAX_WAITING_EVENTS, MAX_WAITING_MESSAGE_BYTES};
use self::presentation::FrameQueue;
pub use self::presentation::{Presentation, RenderState, ViewContext};
pub use self::snapshot::{NetStats, Occupancy, RecoveryPhase, RunnerSnapshot, RunnerStats};
pub use self::status::{Connection, Lifecycle, MatchUiState, Mode, Status, controls_active, match_ui_state};
use crate::asset::AssetPins;
use crate::client::{Client, ClientEvent};
use crate::event::PresentationEvent;
use crate::frame::Frame;
use crate::identity::MatchDescriptor;
use crate::runtime::RuntimeFactory;
use crate::seat::{Presence, Seat, SeatSet};
use crate::session::{LocalError, LocalSession, Session, SessionEvent, TickInputs};
use crate::tick::{Moment, Tick};

/// Most bytes of what a transport says in [`TransportEvent::Error`]; the rest is cut off.
pub const MAX_TRANSPORT_ERROR_BYTES: usize = 256;

/// One start of a networked match, and the transport that serves it. Later ones are greater.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct LinkId(u64);

/// One preparation. Whoever completes it shows its ticket, so that a late one is told apart.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct PreparationTicket(u64);

/// What a transport has to say.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum TransportEvent<'a> {
    /// It is open, for the first time or anew.
    Connected,
    /// A message of the room's.
    Message(&'a [u8]),
    /// It was lost and is being replaced. Not terminal.
    Reconnecting,
    /// It is lost for good. Terminal.
    Disconnected,
    /// It failed, with this for a person to read. Terminal.
    Error(&'a str),
    /// How full the room is.
    Occupancy(Occupancy),
}

/// Asks the game to prepare a match before tick 0: to find its assets by their names, and to verify them (K12).
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct PreparationRequest {
    /// What [`Runner::complete_preparation`] is called with.
    pub ticket: PreparationTicket,
    /// The room's match, which the loaded game plays.
    pub descriptor: MatchDescriptor,
    /// The assets that its config pins.
    pub assets: AssetPins,
}

/// What happened, for the game.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum RunnerEvent {
    /// What is to be shown has changed.
    Status(Status),
    /// What the runner is doing has changed.
    Lifecycle(Lifecycle),
    /// A preparation is of no use any more: stop loading.
    PreparationAborted {
        /// Its ticket.
        ticket: PreparationTicket,
    },
    /// Something in the match, as the client told it; offline, the session's events alone. Confirmed frames come out by
    /// [`Runner::pop_confirmed_frame`], and rollbacks are counted.
    Match(ClientEvent),
}

/// What comes out of a runner.
#[must_use]
#[derive(Debug)]
pub enum Output<'a> {
    /// Send these bytes as one message, if the link is still the transport's.
    Transmit {
        /// The link.
        link: LinkId,
        /// The message.
        bytes: &'a [u8],
    },
    /// Close this link's transport, and that of every older link, once what was to be transmitted before is sent.
    Hangup {
        /// The link.
        link: LinkId,
    },
    /// Prepare a match.
    Prepare(Box<PreparationRequest>),
    /// Tell the game.
    Event(RunnerEvent),
}

/// What runs.
enum Play {
    Nothing(Rest),
    Offline(Box<LocalSession>),
    Networked(Box<Networked>),
}

/// Why nothing runs.
#[derive(Clone, Debug)]
enum Rest {
    Idle,
    Stopped,
    Failed(RunnerError),
    Disposed,
}

/// A game's matches, one after another. See the module's page for the order of calls.
pub struct Runner {
    config: RunnerConfig,
    factory: Arc<dyn RuntimeFactory>,
    now: Moment,
    play: Play,
    next_link: u64,
    next_ticket: u64,
    outbox: Outbox,
    frames: FrameQueue,
    presence: Vec<Presence>,
    told: (Status, Lifecycle),
    stats: RunnerStats,
}

impl Runner {
    /// A runner that waits for its first match. `factory` makes the runtimes of all of them, offline and networked alike.
    ///
    /// # Errors
    /// [`RunnerError::Config`].
    pub fn new(config: RunnerConfig, factory: Arc<dyn RuntimeFactory>) -> Result<Runner, RunnerError> {
        config.check()?;
        Ok(Runner {
            config,
            factory,
            now: Moment::ZERO,
            play: Play::Nothing(Rest::Idle),
            next_link: 0,
            next_ticket: 0,
            outbox: Outbox::default(),
            frames: FrameQueue::default(),
            presence: Vec::new(),
            told: (Status::Stopped, Lifecycle::Idle),
            stats: RunnerStats::default(),
        })
    }

    /// Lets time pass, in milliseconds: samples inputs, steps, sends. Work is bounded by the config's budgets, however much time it
    /// was (N8): offline, time beyond is dropped; networked, the client follows its room's clock by so much in each update.
    ///
    /// `inputs` is asked for every sampled tick of the local seats, with the last applied value already in place, and for bots.
    ///
    /// # Errors
    /// [`RunnerError::Delta`] and [`RunnerError::Disposed`], where nothing happened; [`RunnerError::Input`], where the tick is asked for
    /// again; and whatever ended the match, from then until the next start.
    pub fn update(&mut self, delta_millis: f64, inputs: &mut impl TickInputs) -> Result<(), RunnerError> {
        self.check_disposed()?;
        let delta = checked_delta(delta_millis)?;
        self.now = self.now.plus_nanos(u64::try_from(delta.as_nanos()).unwrap_or(u64::MAX));
        let done = match &mut self.play {
            Play::Nothing(_) => Ok(()),
            Play::Offline(local) => {
                let updated = local.update(delta, inputs).map(drop);
                while let Some(event) = local.poll_event() {
                    match event {
                        SessionEvent::Confirmed(frame) => self.frames.push(frame, self.config.confirmed_frame_queue),
                        event => self.outbox.push_event(RunnerEvent::Match(ClientEvent::Session(event))),
                    }
                }
                updated.map_err(offline_error)
            }
            Play::Networked(networked) => networked.turn(self.now, inputs),
        };
        if let Err(error @ RunnerError::Offline(_)) = &done {
            self.fail(error.clone());
        }
        self.absorb();
        if let Play::Networked(networked) = &mut self.play {
            networked.recover();
        }
        self.refresh_presence();
        self.publish();
        match &self.play {
            Play::Nothing(Rest::Failed(error)) => Err(error.clone()),
            _ => done,
        }
    }

    /// Takes what a transport has to say. What comes of a link that is not the current one is ignored and counted.
    pub fn handle_transport(&mut self, link: LinkId, event: TransportEvent<'_>) {
        let Play::Networked(networked) = &mut self.play else {
            self.stats.stale_transport_events += 1;
            return;
        };
        if networked.link != link {
            self.stats.stale_transport_events += 1;
            return;
        }
        match event {
            TransportEvent::Connected => networked.connect(self.now, &mut self.outbox),
            TransportEvent::Message(bytes) => networked.receive(bytes, self.now),
            TransportEvent::Reconnecting => networked.lose(self.now, &mut self.outbox),
            TransportEvent::Occupancy(occupancy) => networked.occupancy = Some(occupancy),
            TransportEvent::Disconnected => self.fail(RunnerError::TransportDisconnected),
            TransportEvent::Error(text) => self.fail(RunnerError::transport(text, MAX_TRANSPORT_ERROR_BYTES)),
        }
        self.absorb();
        self.publish();
    }

    /// The next thing to do or to tell. Drain it after every call that takes something in.
    pub fn poll_output(&mut self) -> Option<Output<'_>> {
        self.outbox.pop()
    }

    /// The game's next presentation event (K10). Drain it every update.
    pub fn poll_presentation_event(&mut self) -> Option<PresentationEvent<'_>> {
        match &mut self.play {
            Play::Nothing(_) => None,
            Play::Offline(local) => local.poll_presentation_event(),
            Play::Networked(networked) => networked.client.poll_presentation_event(),
        }
    }

    /// The oldest confirmed frame that waits, with [`RunnerConfig::confirmed_frame_queue`] above 0.
    pub fn pop_confirmed_frame(&mut self) -> Option<Box<Frame>> {
        self.frames.pop()
    }

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

    fn networked(&self) -> Option<&Networked> {
        match &self.play {
            Play::Networked(networked) => Some(networked),
            _ => None,
        }
    }

    fn local_seats(&self) -> SeatSet {
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

    fn check_disposed(&self) -> Result<(), RunnerError> {
        match self.play {
            Play::Nothing(Rest::Disposed) => Err(RunnerError::Disposed),
            _ => Ok(()),
        }
    }

    /// Takes what the client has to say, and ends the match if it is over.
    fn absorb(&mut self) {
        let Play::Networked(networked) = &mut self.play else { return };
        let Runner { outbox, frames, next_ticket, config, .. } = self;
        let absorbed = networked.absorb(&mut Outlets { outbox, frames, next_ticket, config });
        match absorbed {
            Ok(()) => {}
            Err(MatchEnd::Left) => self.tear_down(Rest::Stopped),
            Err(MatchEnd::Failed(error)) => self.fail(error),
        }
    }

    fn refresh_presence(&mut self) {
        let mut presence = core::mem::take(&mut self.presence);
        presence.clear();
        if let Some(session) = self.session() {
            presence.extend(session.descriptor().seats().seats().map_while(|seat| session.presence(seat)));
        }
        self.presence = presence;
    }

    /// Tells what has changed since it was told last.
    fn publish(&mut self) {
        let (status, lifecycle) = (self.status(), self.lifecycle());
        if self.told.1 != lifecycle {
            self.told.1 = lifecycle.clone();
            self.outbox.push_event(RunnerEvent::Lifecycle(lifecycle));
        }
        if self.told.0 != status {
            self.told.0 = status;
            self.outbox.push_event(RunnerEvent::Status(status));
        }
    }
}

fn offline_error(error: LocalError) -> RunnerError {
    match error {
        LocalError::Input { seat, tick, error } => RunnerError::Input { seat: Some(seat), tick: Some(tick), error },
        error => RunnerError::Offline(error),
    }
}

/// The delta as a duration. Only what a machine can count is one (N8).
fn checked_delta(delta_millis: f64) -> Result<Duration, RunnerError> {
    Duration::try_from_secs_f64(delta_millis / 1000.0).map_err(|_| RunnerError::Delta)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn n8_only_what_time_can_be_is_a_delta() {
        for delta in [-1.0, -1e-300, f64::NAN, f64::INFINITY, f64::NEG_INFINITY, f64::MAX, 1e23] {
            assert_eq!(checked_delta(delta), Err(RunnerError::Delta), "{delta}");
        }
        for (delta, nanos) in [(0.0, 0), (-0.0, 0), (1e-300, 0), (16.5, 16_500_000), (60_000.0, 60_000_000_000)] {
            assert_eq!(checked_delta(delta).map(|delta| delta.as_nanos()), Ok(nanos), "{delta}");
        }
    }

    #[test]
    fn n7_what_a_transport_says_is_kept_up_to_its_limit_and_in_whole_characters() {
        let long = alloc::format!("{}ä", "x".repeat(MAX_TRANSPORT_ERROR_BYTES - 1));
        let RunnerError::Transport(kept) = RunnerError::transport(&long, MAX_TRANSPORT_ERROR_BYTES) else {
            panic!("a transport's error")
        };
        assert_eq!(kept.len(), MAX_TRANSPORT_ERROR_BYTES - 1);
        assert_eq!(RunnerError::transport("ä", 2), RunnerError::Transport("ä".into()));
    }
}
