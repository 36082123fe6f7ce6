//! The client's side of each message: what it sends, and what it makes of what the room sends.

use alloc::vec::Vec;
use core::mem;

use super::event::DesyncFinding;
use super::life::Terms;
use super::{
    Claimed, Client, ClientEvent, ClientRole, EndReason, MAX_PENDING_REPORTS, Preparation, SLOWEST_ROUND_TRIP_MILLIS,
};
use crate::digest::Checksum;
use crate::frame::{FrameChain, FrameError, FrameKey, FrameRunReader};
use crate::identity::MatchDescriptor;
use crate::seat::{Generation, Seat, SeatSet};
use crate::session::{Budget, ConfirmError, Session, SessionEvent, SessionPolicy};
use crate::tick::{Moment, Tick};
use crate::wire::{
    Claim, ClientMessage, Entry, Frames, Hello, History, PROTOCOL_VERSION, RoomMessage, RoomRules, Welcome,
};

impl Client {
    /// Takes one message of the room's.
    ///
    /// # Errors
    /// [`EndReason`], when the client is over because of it, or was before.
    pub fn handle_message(&mut self, bytes: &[u8], now: Moment) -> Result<(), EndReason> {
        if let Some(end) = &self.end {
            return Err(end.clone());
        }
        self.now = now;
        self.stats.received_bytes += bytes.len() as u64;
        let message = RoomMessage::decode(bytes).map_err(EndReason::Message);
        let taken = message.and_then(|message| match self.holds_back(&message) {
            true => self.hold(bytes),
            false => self.take(message, now),
        });
        taken.map_err(|reason| self.finish(reason))
    }

    pub(super) fn take(&mut self, message: RoomMessage<'_>, now: Moment) -> Result<(), EndReason> {
        match message {
            RoomMessage::Welcome(welcome) => return self.take_welcome(&welcome),
            RoomMessage::Refused(refusal) => return Err(EndReason::Refused(refusal)),
            RoomMessage::Closing(reason) => {
                self.apply_received();
                return Err(EndReason::Closed(reason));
            }
            RoomMessage::Started { generation, clock } => {
                self.check_generation(generation)?;
                if mem::take(&mut self.recovering) {
                    // The clock stood still, and may have gone back.
                    self.pace.restart(clock, now);
                } else {
                    self.pace.handle_clock(clock, now);
                }
                if !mem::replace(&mut self.started, true) && self.held.is_none() {
                    self.outbox.push_event(ClientEvent::Started);
                }
            }
            RoomMessage::Frames(frames) => return self.take_frames(&frames),
            RoomMessage::Pong { sent_micros, clock, counters } => {
                (self.answered_at, self.gathering) = (now, false);
                // A clock that stands still can't be measured.
                let clock = clock.filter(|_| self.life.paused_at.is_none());
                self.pace.handle_pong(Moment::from_micros(sent_micros), clock, now);
                self.stats.room = counters;
            }
            RoomMessage::Desync { generation, tick, values } => {
                self.check_generation(generation)?;
                self.stats.desyncs += 1;
                self.outbox.push_event(ClientEvent::Desync { tick, values: values.0 });
            }
            RoomMessage::Inquiry { inquiry, generation, question } => {
                return self.take_inquiry(inquiry, generation, question);
            }
            RoomMessage::Found { generation, finding } => {
                self.check_generation(generation)?;
                self.outbox.push_event(ClientEvent::Found(DesyncFinding::of(&finding)));
            }
            RoomMessage::Verdict { generation, tick, checksum, wrong } => {
                self.check_generation(generation)?;
                self.outbox.push_event(ClientEvent::Verdict { tick, checksum, wrong: wrong.0 });
            }
            RoomMessage::Ephemeral { seat, payload } => {
                self.outbox.push_event(ClientEvent::Ephemeral { seat, payload: payload.to_vec() });
            }
            RoomMessage::TailWanted { generation, next } => {
                self.check_generation(generation)?;
                self.send_tail(generation, next);
            }
            RoomMessage::Draining { millis } => self.outbox.push_event(ClientEvent::Draining { millis }),
            RoomMessage::Roster { locked, seats } => {
                self.outbox.push_event(ClientEvent::Roster { locked, seats: seats.0 });
            }
            RoomMessage::Activated { generation, tick } => {
                self.check_generation(generation)?;
                return self.take_activated(tick);
            }
            RoomMessage::Paused { generation, tick } => {
                self.check_generation(generation)?;
                self.take_paused(tick);
            }
            RoomMessage::Resumed { generation, clock } => {
                self.check_generation(generation)?;
                self.take_resumed(clock, now);
            }
            RoomMessage::Reconfigured { descriptor } => return self.take_reconfigured(descriptor),
            RoomMessage::Settled { generation, settlement } => {
                self.check_generation(generation)?;
                self.take_settled(settlement);
            }
            other => return self.take_transfer(&other),
        }
        Ok(())
    }

    pub(super) fn check_generation(&self, generation: Generation) -> Result<Terms, EndReason> {
        self.terms.filter(|terms| terms.generation == generation && self.greeted).ok_or(EndReason::Protocol)
    }

    fn take_welcome(&mut self, welcome: &Welcome<'_>) -> Result<(), EndReason> {
        if self.greeted {
            return Err(EndReason::Protocol);
        }
        if welcome.claim.is_none() != self.is_observer() {
            return Err(EndReason::Protocol);
        }
        let descriptor = MatchDescriptor::from_bytes(welcome.descriptor).map_err(EndReason::Descriptor)?;
        let (resumed, seat) = (self.session.is_some(), welcome.claim.map(|claim| claim.seat));
        match self.session.as_ref().map(|session| session.descriptor().digest()) {
            None if self.config.preparation == Preparation::Awaited => self.hold_match(&descriptor, seat)?,
            None => self.build_session(&descriptor, welcome.rules, seat)?,
            Some(_) if self.claimed.is_some() && self.seat() != seat => return Err(EndReason::Protocol),
            Some(before) if before == descriptor.digest() => {}
            Some(_) if self.follows(&descriptor) => self.start_over(&descriptor, welcome.rules)?,
            Some(before) => return Err(EndReason::MatchChanged { before, after: descriptor.digest() }),
        }
        self.take_claim(welcome, descriptor.generation());
        self.terms = Some(Terms { rules: welcome.rules, generation: descriptor.generation() });
        self.greeted = true;
        (self.answered_at, self.gathering) = (self.now, false);
        self.greeted_at = welcome.frontier;
        // A new connection has carried none of the unconfirmed inputs yet, and says again if the clock stands still.
        self.unsent = Tick::ZERO;
        self.life.paused_at = None;
        self.transfers.handle_welcome(welcome.history == History::Snapshot);
        self.life.ready_at = self.claimed.map(|_| welcome.frontier);
        if self.held.is_some() {
            return Ok(());
        }
        self.send_ready_if_caught_up();
        self.outbox.push_event(match welcome.claim {
            Some(Claim { seat, .. }) => ClientEvent::Joined { seat, resumed },
            None => ClientEvent::Watching { resumed },
        });
        Ok(())
    }

    /// Keeps what the greeting says of the seat. Where it is another control epoch, the seat takes part from another tick on.
    fn take_claim(&mut self, welcome: &Welcome<'_>, generation: Generation) {
        let Some(Claim { seat, id, epoch, token }) = welcome.claim else { return };
        match self.claimed {
            Some(before) if before.epoch == epoch => {}
            // Before the first frame everyone who is ready takes part; later the room says from when on.
            _ => self.life.active_from = (welcome.frontier == Tick::ZERO).then_some(Tick::ZERO),
        }
        self.claimed = Some(Claimed { seat, claim: id, epoch, token, rules: welcome.rules, generation });
    }

    /// What a turn does for others that need a snapshot (A7).
    pub(super) fn give_snapshots(&mut self) {
        if let (Some(session), true, true) = (&mut self.session, self.connected, self.greeted) {
            self.transfers.give(session, &mut self.outbox);
        }
    }

    /// Whether the match is of the loaded game, and the seat, if there is one, one of its seats.
    pub(super) fn check_match(&self, descriptor: &MatchDescriptor, seat: Option<Seat>) -> Result<(), EndReason> {
        let loaded = self.factory.manifest().identity();
        if descriptor.identity() != loaded {
            return Err(EndReason::Identity { room: descriptor.identity(), loaded });
        }
        let local: SeatSet = seat.into_iter().collect();
        if local.fits(descriptor.seats()) { Ok(()) } else { Err(EndReason::Protocol) }
    }

    pub(super) fn build_session(
        &mut self,
        descriptor: &MatchDescriptor,
        rules: RoomRules,
        seat: Option<Seat>,
    ) -> Result<(), EndReason> {
        self.check_match(descriptor, seat)?;
        let local: SeatSet = seat.into_iter().collect();
        let runtime = self.factory.create(descriptor).map_err(EndReason::Create)?;
        let policy = SessionPolicy {
            prediction_window_ticks: self.config.prediction_window_ticks,
            checkpoint_window_ticks: self.config.checkpoint_window_ticks,
            retention: self.config.retention,
            checksum_cadence_ticks: rules.checksum_cadence_ticks,
            remote_prediction: self.config.remote_prediction,
            requires: self.config.requires,
            recording: self.config.recording,
            input_retention: self.config.input_retention,
            presentation: self.config.presentation,
        };
        let session = Session::new(runtime, descriptor, policy, local).map_err(EndReason::Session)?;
        let window_ticks = self.config.checkpoint_window_ticks;
        let round_trip = descriptor.tick_rate().ticks_in_millis(SLOWEST_ROUND_TRIP_MILLIS);
        let needed_ticks = u64::from(rules.checksum_cadence_ticks).saturating_add(round_trip);
        if u64::from(window_ticks) < needed_ticks {
            return Err(EndReason::CheckpointWindow { window_ticks, needed_ticks });
        }
        self.session = Some(session);
        self.chain = Some(FrameChain::new(descriptor));
        Ok(())
    }

    fn take_frames(&mut self, frames: &Frames<'_>) -> Result<(), EndReason> {
        self.check_generation(frames.generation)?;
        let Some(seats) = self.descriptor().map(MatchDescriptor::seats) else { return Err(EndReason::Protocol) };
        if !frames.complete && (!self.base_is_known || self.base.tick().checked_add(1) != Some(frames.first)) {
            return Err(EndReason::Frame(FrameError::NoBase));
        }
        let mut run = FrameRunReader::new(frames.body);
        for index in 0..frames.count {
            let Some(tick) = frames.first.checked_add(u64::from(index)) else { return Err(EndReason::Protocol) };
            let abbreviated = index > 0 || !frames.complete;
            self.take_frame(&mut run, abbreviated, FrameKey { generation: frames.generation, tick, seats })?;
        }
        run.finish().map_err(EndReason::Frame)?;
        self.tail.release(frames.first.saturating_add(u64::from(frames.count)), frames.tag);
        Ok(())
    }

    fn take_frame(&mut self, run: &mut FrameRunReader<'_>, abbreviated: bool, key: FrameKey) -> Result<(), EndReason> {
        let base = abbreviated.then_some(&self.base);
        run.read(&mut self.incoming, base, key).map_err(EndReason::Frame)?;
        mem::swap(&mut self.base, &mut self.incoming);
        self.base_is_known = true;
        let Some(session) = &mut self.session else { return Err(EndReason::Protocol) };
        // After a reconnect the room may begin with frames that this client has.
        if key.tick < session.received() {
            return Ok(());
        }
        session.confirm(&self.base).map_err(|error: ConfirmError| EndReason::Order(error))?;
        self.transfers.handle_frames();
        let frame = self.tail.push(&self.base);
        if let Some(chain) = &mut self.chain {
            chain.extend_encoded(frame);
        }
        let own = self.claimed.is_some_and(|claimed| self.base.substituted().contains(claimed.seat));
        self.stats.own_substitutions += u64::from(own);
        Ok(())
    }

    /// Applies every frame that waits: what the room confirmed before it closed is part of the match.
    pub(super) fn apply_received(&mut self) {
        if let Some(session) = &mut self.session {
            // A fault here ends a client that is ending anyway; the session keeps it for whoever asks.
            let _ = session.advance(Budget { confirmed_frames: usize::MAX, target: Tick::ZERO });
            self.drain_session();
        }
    }

    pub(super) fn drain_session(&mut self) {
        let Some(session) = &mut self.session else { return };
        while let Some(event) = session.poll_event() {
            match &event {
                SessionEvent::Checksum { tick, checksum } => {
                    push_bounded(&mut self.pending_reports, (*tick, *checksum))
                }
                SessionEvent::RolledBack { from, to } => {
                    self.stats.rollbacks += 1;
                    self.stats.resimulated_ticks += to.since(*from);
                    self.stats.deepest_rollback_ticks = self.stats.deepest_rollback_ticks.max(to.since(*from));
                }
                SessionEvent::Confirmed(_) => {}
            }
            self.outbox.push_event(ClientEvent::Session(event));
        }
    }

    pub(super) fn send_hello(&mut self) {
        let next = self.session.as_ref().map_or(Tick::ZERO, Session::received);
        let entry = match self.claimed {
            Some(Claimed { seat, token, generation, .. }) => {
                Entry::Resume { seat, token, generation, next, fence: self.tail.fence() }
            }
            None if self.is_observer() => {
                let generation = self.terms.map_or(Generation::default(), |terms| terms.generation);
                Entry::Observe { ticket: &self.ticket, generation, next, fence: self.tail.fence() }
            }
            None => Entry::Join { ticket: &self.ticket },
        };
        let hello = Hello { protocol: PROTOCOL_VERSION, identity: self.factory.manifest().identity(), entry };
        self.outbox.push_message(|out| ClientMessage::Hello(hello).encode_into(out));
    }

    pub(super) fn send_ping_if_due(&mut self) {
        let live = self.connected && self.greeted && self.end.is_none() && !self.gathering;
        if live && self.pace.take_ping(self.now) {
            let rollbacks = u32::try_from(self.stats.rollbacks).unwrap_or(u32::MAX);
            let ping = ClientMessage::Ping { sent_micros: self.now.as_micros(), rollbacks };
            self.outbox.push_message(|out| ping.encode_into(out));
        }
    }

    /// Reports what is confirmed, as soon as there is a transport for it (A8).
    pub(super) fn send_reports(&mut self) {
        if self.config.role == ClientRole::Observer {
            self.pending_reports.clear();
        }
        // A referee holds no seat, and is on the generation that it was greeted with.
        let referee = self.terms.filter(|_| self.config.role == ClientRole::Referee).map(|terms| terms.generation);
        let generation = self.claimed.map(|claimed| claimed.generation).or(referee);
        let (Some(generation), true, true) = (generation, self.connected, self.greeted && !self.gathering) else {
            return;
        };
        for (tick, checksum) in self.pending_reports.drain(..) {
            let report = ClientMessage::Report { generation, tick, checksum };
            self.outbox.push_message(|out| report.encode_into(out));
            self.stats.reports += 1;
        }
    }

    pub(super) fn send_command(&mut self, generation: Generation, sequence: u32, payload: &[u8]) {
        let command = ClientMessage::Command { generation, sequence, payload };
        self.outbox.push_message(|out| command.encode_into(out));
    }

    pub(super) fn send_ephemeral_message(&mut self, payload: &[u8]) {
        self.outbox.push_message(|out| ClientMessage::Ephemeral { payload }.encode_into(out));
    }

    /// Gives the room back what it lost (A12). Nothing is sampled until its clock runs again, and what was sent before may have
    /// been too far ahead of it.
    fn send_tail(&mut self, generation: Generation, next: Tick) {
        let Some(seats) = self.descriptor().map(MatchDescriptor::seats) else { return };
        let outbox = &mut self.outbox;
        self.tail.answer(generation, seats, next, |frames| {
            outbox.push_message(|out| ClientMessage::Tail(frames).encode_into(out));
        });
        self.recovering = true;
        self.unsent = Tick::ZERO;
    }

    pub(super) fn send_leave(&mut self) {
        self.outbox.push_message(|out| ClientMessage::Leave.encode_into(out));
    }
}

/// Keeps the newest reports when no transport takes them.
fn push_bounded(reports: &mut Vec<(Tick, Checksum)>, report: (Tick, Checksum)) {
    if reports.len() >= MAX_PENDING_REPORTS {
        reports.remove(0);
    }
    reports.push(report);
}
