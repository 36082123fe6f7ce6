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
mod event;
mod networked;
mod outbox;
mod presentation;
mod read;
mod snapshot;
mod start;
mod status;
mod submit;

use alloc::boxed::Box;
use alloc::sync::Arc;
use alloc::vec::Vec;
use core::time::Duration;

pub use self::config::{
    AssetPreparation, DEFAULT_MAX_CONFIRMED_FRAMES_PER_UPDATE, MAX_CONFIRMED_FRAME_QUEUE, NetworkedOptions,
    OfflineOptions, RunnerConfig,
};
pub use self::error::{PreparationFault, RunnerConfigError, RunnerError};
pub use self::event::{LinkId, Output, PreparationRequest, PreparationTicket, RunnerEvent, TransportEvent};
use self::networked::{MatchEnd, Networked, Outlets};
use self::outbox::Outbox;
pub use self::outbox::{MAX_WAITING_EVENTS, MAX_WAITING_MESSAGE_BYTES};
use self::presentation::FrameQueue;
pub use self::presentation::{Presentation, RenderState, ViewContext};
pub use self::snapshot::{NetStats, Occupancy, RecoveryPhase, RunnerSnapshot, RunnerStats};
pub use self::status::{Connection, Lifecycle, MatchUiState, Mode, Status, controls_active, match_ui_state};
use crate::client::ClientEvent;
use crate::event::PresentationEvent;
use crate::frame::Frame;
use crate::runtime::RuntimeFactory;
use crate::seat::Presence;
use crate::session::{LocalError, LocalSession, SessionEvent, TickInputs};
use crate::tick::Moment;

/// Most bytes of what a transport says in [`TransportEvent::Error`]; the rest is cut off.
pub const MAX_TRANSPORT_ERROR_BYTES: usize = 256;

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
    next_link: LinkId,
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
            next_link: LinkId::FIRST,
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
        let done = self.play_turn(delta, inputs);
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

    /// One turn of whatever runs.
    fn play_turn(&mut self, delta: Duration, inputs: &mut impl TickInputs) -> Result<(), RunnerError> {
        match &mut self.play {
            Play::Nothing(_) => Ok(()),
            Play::Networked(networked) => networked.turn(self.now, inputs),
            Play::Offline(local) => {
                let updated = local.update(delta, inputs).map(drop).map_err(offline_error);
                self.absorb_local();
                if let Err(error @ RunnerError::Offline(_)) = &updated {
                    self.fail(error.clone());
                }
                updated
            }
        }
    }

    fn absorb_local(&mut self) {
        let Play::Offline(local) = &mut self.play else { return };
        while let Some(event) = local.poll_event() {
            match event {
                SessionEvent::Confirmed(frame) => self.frames.push(frame, self.config.confirmed_frame_queue),
                event => self.outbox.push_event(RunnerEvent::Match(ClientEvent::Session(event))),
            }
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
    // The smallest negative number would be zero after the division.
    let millis = Some(delta_millis).filter(|millis| *millis >= 0.0).ok_or(RunnerError::Delta)?;
    Duration::try_from_secs_f64(millis / 1000.0).map_err(|_| RunnerError::Delta)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn n8_only_what_time_can_be_is_a_delta() {
        for delta in [-1.0, -1e-300, -5e-324, f64::NAN, f64::INFINITY, f64::NEG_INFINITY, f64::MAX, 1e23] {
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
