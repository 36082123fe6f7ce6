//! One networked match of a runner: its client, its link, what it prepares and what it recovers from.

use alloc::string::String;
use alloc::vec::Vec;

use super::outbox::Outbox;
use super::presentation::FrameQueue;
use super::{
    AssetPreparation, Connection, LinkId, NetStats, Occupancy, PreparationFault, PreparationRequest, PreparationTicket,
    RecoveryPhase, RunnerConfig, RunnerError, RunnerEvent, Status,
};
use crate::asset::{AssetError, AssetPins, VerifiedAsset};
use crate::client::{Client, ClientEvent, ClientStatus, EndReason, Output, PredictionMode};
use crate::config::ConfigSchema;
use crate::digest::Digest;
use crate::identity::MatchDescriptor;
use crate::seat::{Generation, Presence};
use crate::session::{Session, SessionEvent, Silence, SubmitError, TickInputs};
use crate::tick::{Moment, Tick};
use crate::wire::{CloseReason, SeatView};

/// How a match ended.
#[derive(Debug)]
pub(super) enum MatchEnd {
    /// It was left.
    Left,
    /// It failed.
    Failed(RunnerError),
}

/// Where the machines below put what they have to say.
pub(super) struct Outlets<'a> {
    pub(super) outbox: &'a mut Outbox,
    pub(super) frames: &'a mut FrameQueue,
    pub(super) next_ticket: &'a mut u64,
    pub(super) config: &'a RunnerConfig,
}

/// A preparation that is under way.
#[derive(Debug)]
struct Preparing {
    ticket: PreparationTicket,
    /// Digest of the match that is prepared.
    digest: Digest,
    pins: AssetPins,
}

/// A networked match.
pub(super) struct Networked {
    pub(super) link: LinkId,
    pub(super) client: Client,
    pub(super) connection: Option<Connection>,
    pub(super) room_code: Option<String>,
    pub(super) occupancy: Option<Occupancy>,
    /// What the local seat holds, from the next sampled tick on.
    pub(super) held: Vec<u8>,
    started: bool,
    preparing: Option<Preparing>,
    /// What was confirmed when the transport was lost, of which generation; until there is more, and the client has caught up, all is
    /// silent.
    recovering_from: Option<(Generation, Tick)>,
    sampled: Vec<u8>,
    /// The present, and when it was reached; for pictures of confirmed states alone.
    shown: (Tick, Moment),
    stray_messages: u64,
}

impl Networked {
    pub(super) fn new(link: LinkId, client: Client, neutral: &[u8], room_code: Option<String>) -> Networked {
        Networked {
            link,
            client,
            connection: None,
            room_code,
            occupancy: None,
            held: neutral.to_vec(),
            started: false,
            preparing: None,
            recovering_from: None,
            sampled: Vec::new(),
            shown: (Tick::ZERO, Moment::ZERO),
            stray_messages: 0,
        }
    }

    /// A transport is open.
    pub(super) fn connect(&mut self, now: Moment, outbox: &mut Outbox) {
        if self.connection == Some(Connection::Connected) {
            self.lose(now, outbox);
        }
        self.connection = Some(Connection::Connected);
        self.client.handle_connected(now);
    }

    /// The transport is being replaced: not terminal. What comes until the client has caught up is history, and silent.
    pub(super) fn lose(&mut self, now: Moment, outbox: &mut Outbox) {
        self.connection = Some(Connection::Reconnecting);
        self.client.handle_disconnected(now);
        outbox.drop_messages(self.link);
        let Some(session) = self.client.session_mut() else { return };
        session.set_silence(Silence::On);
        let before = (session.descriptor().generation(), session.confirmed());
        self.recovering_from.get_or_insert(before);
    }

    pub(super) fn receive(&mut self, bytes: &[u8], now: Moment) {
        if self.connection == Some(Connection::Connected) {
            // A client that is over says so in its events.
            let _ = self.client.handle_message(bytes, now);
        } else {
            self.stray_messages += 1;
        }
    }

    /// One turn of the client, in the order of its contract (N1).
    ///
    /// # Errors
    /// [`RunnerError::Input`]: the tick is asked for again in the next turn. Everything else was done.
    pub(super) fn turn(&mut self, now: Moment, inputs: &mut impl TickInputs) -> Result<(), RunnerError> {
        self.client.handle_turn(now);
        let sampled = self.sample(inputs);
        // A client that is over says so in its events.
        let _ = self.client.step();
        if let Some(session) = self.client.session().filter(|session| session.head() != self.shown.0) {
            self.shown = (session.head(), now);
        }
        sampled
    }

    fn sample(&mut self, inputs: &mut impl TickInputs) -> Result<(), RunnerError> {
        let Some(seat) = self.client.seat() else { return Ok(()) };
        while let Some(tick) = self.client.wanted_input() {
            self.sampled.clear();
            self.sampled.extend_from_slice(&self.held);
            inputs.local(seat, tick, &mut self.sampled);
            match self.client.submit_input(&self.sampled) {
                Ok(_) => {}
                Err(error @ SubmitError::Input(_)) => return Err(RunnerError::submit(Some(seat), Some(tick), error)),
                // Too far ahead for now: the tick is wanted again in a later turn.
                Err(_) => break,
            }
        }
        Ok(())
    }

    /// Ends a recovery, once the client has caught up and is further than before. What led there is history still, and was taken.
    pub(super) fn recover(&mut self) {
        let Some((generation, tick)) = self.recovering_from else { return };
        let caught_up = self.client.status() == ClientStatus::Live;
        let Some(session) = self.client.session_mut().filter(|_| caught_up) else { return };
        if session.descriptor().generation() != generation || session.confirmed() > tick {
            session.set_silence(Silence::Off);
            self.recovering_from = None;
        }
    }

    /// Takes what the client has to say, and says whether the match is over.
    pub(super) fn absorb(&mut self, outlets: &mut Outlets<'_>) -> Result<(), MatchEnd> {
        let mut end = Ok(());
        while let Some(output) = self.client.poll_output() {
            match output {
                Output::Transmit(bytes) => {
                    if !outlets.outbox.push_message(self.link, bytes) {
                        end = Err(MatchEnd::Failed(RunnerError::OutputOverflow));
                    }
                }
                Output::Event(ClientEvent::Session(SessionEvent::Confirmed(frame))) => {
                    if self.recovering_from.is_some() {
                        outlets.frames.silenced += 1;
                    } else {
                        outlets.frames.push(frame, outlets.config.confirmed_frame_queue);
                    }
                }
                // The statistics count them.
                Output::Event(ClientEvent::Session(SessionEvent::RolledBack { .. })) => {}
                Output::Event(event) => {
                    match &event {
                        ClientEvent::Started => self.started = true,
                        ClientEvent::Reconfigured { .. } => self.started = false,
                        ClientEvent::Roster { locked, seats } => self.occupancy = Some(occupancy(*locked, seats)),
                        _ => {}
                    }
                    if let ClientEvent::Ended(reason) = &event {
                        end = Err(match_end(reason));
                    }
                    outlets.outbox.push_event(RunnerEvent::Match(event));
                }
            }
        }
        end?;
        self.ask_for_preparation(outlets).map_err(|fault| MatchEnd::Failed(RunnerError::Preparation(fault)))
    }

    fn ask_for_preparation(&mut self, outlets: &mut Outlets<'_>) -> Result<(), PreparationFault> {
        let Some(descriptor) = self.client.preparing() else { return Ok(()) };
        let digest = descriptor.digest();
        if self.preparing.as_ref().is_some_and(|preparing| preparing.digest == digest) {
            return Ok(());
        }
        // A later generation came before the one that was being prepared was there.
        if let Some(older) = self.preparing.take() {
            outlets.outbox.abort(older.ticket);
        }
        let AssetPreparation::Awaited { pins_field } = outlets.config.preparation else { return Ok(()) };
        let assets = match pins_field {
            Some(field) => read_pins(self.client.manifest().config_schema(), descriptor, field)?,
            None => AssetPins::default(),
        };
        let ticket = PreparationTicket(*outlets.next_ticket);
        *outlets.next_ticket += 1;
        self.preparing = Some(Preparing { ticket, digest, pins: assets.clone() });
        let descriptor = descriptor.clone();
        outlets.outbox.push_prepare(PreparationRequest { ticket, descriptor, assets });
        Ok(())
    }

    /// The ticket of the preparation that is under way.
    pub(super) fn ticket(&self) -> Option<PreparationTicket> {
        self.preparing.as_ref().map(|preparing| preparing.ticket)
    }

    /// Ends the preparation that is under way: every pinned asset must be among the verified ones.
    pub(super) fn complete(
        &mut self,
        result: Result<&[VerifiedAsset<'_>], PreparationFault>,
        now: Moment,
    ) -> Result<(), RunnerError> {
        let Some(Preparing { pins, .. }) = self.preparing.take() else { return Err(RunnerError::StalePreparation) };
        let verified = result.map_err(RunnerError::Preparation)?;
        let is_missing = |pin: &&crate::asset::AssetPin| !verified.iter().any(|asset| asset.pin() == *pin);
        if let Some(pin) = pins.iter().find(is_missing) {
            let missing = AssetError::Missing { name: pin.name().into() };
            return Err(RunnerError::Preparation(PreparationFault::Asset(missing)));
        }
        self.client.complete_preparation(now).map_err(RunnerError::Ended)
    }

    /// Whether the match has begun here.
    pub(super) fn ready(&self) -> bool {
        self.started && self.client.session().is_some()
    }

    pub(super) fn status(&self) -> Status {
        if !self.ready() {
            return Status::Connecting;
        }
        match self.client.status() {
            ClientStatus::Live if self.recovering_from.is_none() => Status::Live,
            _ => Status::Syncing,
        }
    }

    fn recovery(&self) -> RecoveryPhase {
        match (self.status(), self.connection) {
            (Status::Syncing, Some(Connection::Reconnecting)) => RecoveryPhase::Reconnecting,
            (Status::Syncing, _) => RecoveryPhase::CatchingUp,
            _ => RecoveryPhase::None,
        }
    }

    pub(super) fn alpha(&self, now: Moment, mode: PredictionMode) -> f64 {
        let Some(session) = self.client.session().filter(|_| self.started && mode == PredictionMode::ConfirmedOnly)
        else {
            return self.client.alpha();
        };
        // Confirmed states come when they come: the picture moves on for a tick's length from there.
        let length = session.descriptor().tick_rate().moment_of(Tick::new(1)).as_nanos();
        let part = |nanos: u64| f64::from(u32::try_from(nanos).unwrap_or(u32::MAX));
        part(now.nanos_since(self.shown.1).min(length.saturating_sub(1))) / part(length)
    }

    pub(super) fn net_stats(&self, frames: &FrameQueue) -> NetStats {
        let client = self.client.stats();
        NetStats {
            client,
            queued_frames: self.client.session().map_or(0, Session::queued_frames),
            rejected_commands: client.room.rejected_commands,
            recovery: self.recovery(),
            dropped_confirmed_frames: frames.dropped,
            silenced_confirmed_frames: frames.silenced,
            dropped_events: self.client.session().map(Session::dropped_events).unwrap_or_default(),
            stray_messages: self.stray_messages,
        }
    }
}

fn occupancy(locked: bool, seats: &[SeatView]) -> Occupancy {
    let is_taken = |seat: &&SeatView| seat.joining || matches!(seat.presence, Presence::Human | Presence::Disconnected);
    let count = |seats: usize| u16::try_from(seats).unwrap_or(u16::MAX);
    Occupancy { occupied: count(seats.iter().filter(is_taken).count()), max_players: count(seats.len()), locked }
}

fn match_end(reason: &EndReason) -> MatchEnd {
    match reason {
        EndReason::Closed(CloseReason::Left) => MatchEnd::Left,
        reason => MatchEnd::Failed(RunnerError::Ended(reason.clone())),
    }
}

fn read_pins(schema: &ConfigSchema, descriptor: &MatchDescriptor, field: &str) -> Result<AssetPins, PreparationFault> {
    let values = schema.decode(descriptor.config().bytes()).map_err(PreparationFault::Config)?;
    AssetPins::from_bytes(values.bytes(field).unwrap_or_default()).map_err(PreparationFault::Pins)
}
