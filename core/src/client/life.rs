//! What a match's life asks of a client, and what a client may ask of it: when its seat takes part, votes and starts, pauses, new
//! generations, and how it ended (A5, A10, A15).

use alloc::vec::Vec;

use super::donation::Transfers;
use super::inquiry::Inquiries;
use super::{Client, ClientEvent, ClientRole, EndReason, Preparation, RequestError, check_length};
use crate::config::SessionConfig;
use crate::frame::Frame;
use crate::identity::MatchDescriptor;
use crate::seat::Generation;
use crate::tick::{Moment, Tick};
use crate::wire::{ClientMessage, MAX_RESULT_BYTES, RoomClock, RoomRules, Settlement};

/// How a match was settled (A15).
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum MatchResult {
    /// Everyone said this.
    Agreed {
        /// The state that says so: `n` for `S(n)`.
        tick: Tick,
        /// The game's bytes.
        result: Vec<u8>,
    },
    /// Two seats contradicted each other, in their results or in a checksum before.
    Disputed,
}

/// What the room's greeting said that holds for everyone, players and observers.
#[derive(Clone, Copy, Debug)]
pub(super) struct Terms {
    pub(super) rules: RoomRules,
    pub(super) generation: Generation,
}

/// Where a client stands in its match's life.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Life {
    /// The client is ready once it has applied the frames before this tick; `None` once it has said so.
    pub(super) ready_at: Option<Tick>,
    /// The first tick whose input of this seat counts, as far as it is known.
    pub(super) active_from: Option<Tick>,
    /// The first tick that is not confirmed before the clock goes on.
    pub(super) paused_at: Option<Tick>,
}

impl Life {
    /// A position on the room's clock that a pause has not let it reach is not reached.
    pub(super) fn clamp(&self, tick: Tick) -> Tick {
        self.paused_at.map_or(tick, |paused| tick.min(paused))
    }
}

impl Client {
    /// Votes for the match to begin, which counts from the moment at which this client is ready anyway (A15).
    ///
    /// # Errors
    /// [`RequestError::NotConnected`].
    pub fn vote_to_start(&mut self) -> Result<(), RequestError> {
        self.request(&ClientMessage::Vote { ready: true })
    }

    /// Votes for the match to wait (A15).
    ///
    /// # Errors
    /// [`RequestError::NotConnected`].
    pub fn vote_to_wait(&mut self) -> Result<(), RequestError> {
        self.request(&ClientMessage::Vote { ready: false })
    }

    /// Asks for the match to begin. The room does it for the creator, where its policy says so (A15).
    ///
    /// # Errors
    /// [`RequestError::NotConnected`].
    pub fn request_start(&mut self) -> Result<(), RequestError> {
        self.request(&ClientMessage::Start)
    }

    /// Asks for the clock to stand still, which the room does where its policy lets this seat (A15).
    ///
    /// # Errors
    /// [`RequestError::NotConnected`].
    pub fn request_pause(&mut self) -> Result<(), RequestError> {
        let generation = self.live_claim()?.generation;
        self.request(&ClientMessage::Pause { generation, paused: true })
    }

    /// Asks for the clock to go on (A15).
    ///
    /// # Errors
    /// [`RequestError::NotConnected`].
    pub fn request_unpause(&mut self) -> Result<(), RequestError> {
        let generation = self.live_claim()?.generation;
        self.request(&ClientMessage::Pause { generation, paused: false })
    }

    /// Asks for another session config, which the room swaps in where its policy lets this seat (A10). The room knows no schema: a config
    /// that is not the game's would end the match of everyone, so that one is refused here. A seat that the policy lets, and whose
    /// program is another, can still send it.
    ///
    /// # Errors
    /// [`RequestError::NotConnected`] or [`RequestError::Config`]; nothing was sent then.
    pub fn request_reconfigure(&mut self, config: &SessionConfig) -> Result<(), RequestError> {
        let generation = self.live_claim()?.generation;
        let checked = self.session.as_ref().map_or(Ok(()), |session| session.check_config(config));
        checked.map_err(RequestError::Config)?;
        self.request(&ClientMessage::Reconfigure { generation, config: config.bytes() })
    }

    /// Says how the match ended, by the confirmed state `S(tick)` (A15). The first result of a seat stands.
    ///
    /// # Errors
    /// [`RequestError`]; nothing was sent then.
    pub fn report_result(&mut self, tick: Tick, result: &[u8]) -> Result<(), RequestError> {
        let generation = match self.config.role {
            ClientRole::Referee => self.live_terms()?.generation,
            _ => self.live_claim()?.generation,
        };
        check_length(result, MAX_RESULT_BYTES)?;
        let message = ClientMessage::Result { generation, tick, result };
        self.outbox.push_message(|out| message.encode_into(out));
        Ok(())
    }

    fn live_terms(&self) -> Result<Terms, RequestError> {
        let live = self.connected && self.greeted && self.end.is_none();
        self.terms.filter(|_| live).ok_or(RequestError::NotConnected)
    }

    /// The first tick that the room does not confirm before its clock goes on, while it stands still (A15).
    pub fn paused_at(&self) -> Option<Tick> {
        self.life.paused_at
    }

    /// The first tick from which this seat takes part, as far as it is known (A5).
    pub fn active_from(&self) -> Option<Tick> {
        self.life.active_from
    }

    fn request(&mut self, message: &ClientMessage<'_>) -> Result<(), RequestError> {
        self.live_claim()?;
        self.outbox.push_message(|out| message.encode_into(out));
        Ok(())
    }

    /// Says that it is ready, once it has caught up with its greeting.
    pub(super) fn send_ready_if_caught_up(&mut self) {
        let confirmed = self.session.as_ref().map_or(Tick::ZERO, crate::session::Session::confirmed);
        let (Some(at), Some(terms), true) = (self.life.ready_at, self.terms, self.connected && self.greeted) else {
            return;
        };
        if confirmed >= at && !self.transfers.is_awaiting() && self.held.is_none() {
            self.life.ready_at = None;
            let generation = terms.generation;
            self.outbox.push_message(|out| ClientMessage::Ready { generation }.encode_into(out));
        }
    }

    pub(super) fn take_activated(&mut self, tick: Tick) -> Result<(), EndReason> {
        if self.claimed.is_none() {
            return Err(EndReason::Protocol);
        }
        self.life.active_from = Some(tick);
        Ok(())
    }

    pub(super) fn take_paused(&mut self, tick: Tick) {
        self.life.paused_at = Some(tick);
        self.outbox.push_event(ClientEvent::Paused { tick });
    }

    pub(super) fn take_resumed(&mut self, clock: RoomClock, now: Moment) {
        self.pace.restart(clock, now);
        if self.life.paused_at.take().is_some() {
            self.outbox.push_event(ClientEvent::Unpaused);
        }
    }

    pub(super) fn take_settled(&mut self, settlement: Settlement<'_>) {
        let result = match settlement {
            Settlement::Agreed { tick, result } => MatchResult::Agreed { tick, result: result.to_vec() },
            Settlement::Disputed => MatchResult::Disputed,
        };
        self.outbox.push_event(ClientEvent::Settled(result));
    }

    /// The room has begun a new generation.
    pub(super) fn take_reconfigured(&mut self, descriptor: &[u8]) -> Result<(), EndReason> {
        let (Some(terms), true) = (self.terms, self.greeted) else { return Err(EndReason::Protocol) };
        let descriptor = MatchDescriptor::from_bytes(descriptor).map_err(EndReason::Descriptor)?;
        if !self.follows(&descriptor) {
            let before = self.descriptor().map_or(descriptor.digest(), MatchDescriptor::digest);
            return Err(EndReason::MatchChanged { before, after: descriptor.digest() });
        }
        self.start_over(&descriptor, terms.rules)?;
        self.life.ready_at = self.claimed.map(|_| Tick::ZERO);
        self.send_ready_if_caught_up();
        Ok(())
    }

    /// Whether this is a later generation of the match that is played.
    pub(super) fn follows(&self, descriptor: &MatchDescriptor) -> bool {
        self.descriptor().or(self.preparing()).is_some_and(|before| {
            before.identity() == descriptor.identity()
                && before.seats() == descriptor.seats()
                && before.generation() < descriptor.generation()
        })
    }

    /// Builds the session anew for another generation. What was confirmed of the last one is applied before.
    pub(super) fn start_over(&mut self, descriptor: &MatchDescriptor, rules: RoomRules) -> Result<(), EndReason> {
        self.apply_received();
        let generation = descriptor.generation();
        match self.config.preparation {
            Preparation::None => self.build_session(descriptor, rules, self.seat())?,
            Preparation::Awaited => self.hold_generation(descriptor)?,
        }
        self.terms = Some(Terms { rules, generation });
        if let Some(claimed) = &mut self.claimed {
            claimed.generation = generation;
        }
        let active_from = self.life.active_from.map(|_| Tick::ZERO);
        self.life = Life { active_from, ..Life::default() };
        self.started = false;
        self.base = Frame::new(generation, Tick::ZERO);
        self.base_is_known = false;
        self.incoming = Frame::new(generation, Tick::ZERO);
        self.unsent = Tick::ZERO;
        // Nothing of this generation had been released when the connection was greeted.
        self.greeted_at = Tick::ZERO;
        self.pending_reports.clear();
        self.tail.clear();
        self.recovering = false;
        self.transfers = Transfers::default();
        self.inquiries = Inquiries::default();
        self.pace.forget_clock();
        self.outbox.push_event(ClientEvent::Reconfigured { generation });
        Ok(())
    }

    pub(super) fn is_observer(&self) -> bool {
        self.config.role != ClientRole::Player
    }
}
