//! What a client says of itself. Nothing here changes anything.

use super::{Client, ClientStats, EndReason};
use crate::digest::Digest;
use crate::frame::FrameChain;
use crate::identity::{IdentityManifest, MatchDescriptor};
use crate::seat::Seat;
use crate::session::{Session, Standing};
use crate::tick::Tick;
use crate::wire::{ClaimId, RoomRules};

/// Where a client stands.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ClientStatus {
    /// It has no transport; its session, if it has one, waits.
    Disconnected,
    /// It has greeted the room and waits for the answer.
    Greeting,
    /// It was let in, and the match has not begun.
    Waiting,
    /// It applies frames that it missed.
    CatchingUp,
    /// It plays.
    Live,
    /// It is over, for the reason that [`Client::end`] gives.
    Ended,
}

impl Client {
    /// Whether the room has answered the greeting on this connection.
    pub fn is_greeted(&self) -> bool {
        self.greeted
    }

    /// Where it stands.
    pub fn status(&self) -> ClientStatus {
        if self.end.is_some() {
            return ClientStatus::Ended;
        }
        if !self.connected {
            return ClientStatus::Disconnected;
        }
        let (Some(session), true) = (&self.session, self.terms.is_some() && self.greeted) else {
            return ClientStatus::Greeting;
        };
        if !self.started {
            return ClientStatus::Waiting;
        }
        let applicable = self.turn.confirmed_frames().min(session.queued_frames());
        let after_turn = session.confirmed().saturating_add(applicable as u64);
        let missing = self.heard_tick().since(session.confirmed());
        let is_behind =
            missing > self.allowed_missing_ticks() || self.known_behind(after_turn) > self.tolerance_ticks();
        if is_behind || !self.base_is_known || self.transfers.is_awaiting() {
            ClientStatus::CatchingUp
        } else {
            ClientStatus::Live
        }
    }

    /// Where the room's clock was when it sent what can be here: no further than a pause has let it.
    pub(super) fn heard_tick(&self) -> Tick {
        self.life.clamp(self.pace.heard_tick(self.now))
    }

    /// How many ticks may be missing of what the room's clock had reached when it sent what can be here: it waits up to its
    /// tolerance for an input, and as much more as is predicted is nothing to see.
    fn allowed_missing_ticks(&self) -> u64 {
        self.tolerance_ticks() + u64::from(self.config.prediction_window_ticks)
    }

    /// How the session stands to the room: it catches up while frames that the room has confirmed have not arrived. Those that
    /// arrived and wait for their turn don't count (S5).
    pub(super) fn standing(&self) -> Standing {
        let (Some(session), true) = (&self.session, self.terms.is_some() && self.started && self.greeted) else {
            return Standing::Live;
        };
        if self.transfers.is_awaiting() {
            return Standing::AwaitingHydration;
        }
        let missing = self.heard_tick().since(session.received());
        let is_behind = missing > self.allowed_missing_ticks() || session.received() < self.greeted_at;
        if is_behind { Standing::CatchingUp } else { Standing::Live }
    }

    /// How far the present is on its way to the next tick, from 0 up to, but not including, 1: 0 shows the projection before the
    /// present one, and nearly 1 the present one. Follows the pace; what can't keep up with it stays at the end (N7).
    #[doc(alias = "render alpha")]
    pub fn alpha(&self) -> f64 {
        let (Some(session), Some(present)) = (&self.session, self.pace.present_nanos().filter(|_| self.started)) else {
            return 0.0;
        };
        let shown_from = session.descriptor().tick_rate().moment_of(session.head().saturating_sub(1));
        let under_way = u64::try_from(present).unwrap_or(0).saturating_sub(shown_from.as_nanos());
        let length = self.pace.tick_length_nanos();
        let part = |nanos: u64| f64::from(u32::try_from(nanos).unwrap_or(u32::MAX));
        part(under_way.min(length.saturating_sub(1))) / part(length)
    }

    /// Why it is over, if it is.
    pub fn end(&self) -> Option<&EndReason> {
        self.end.as_ref()
    }

    /// The session, once there is one.
    pub fn session(&self) -> Option<&Session> {
        self.session.as_ref()
    }

    /// The session, for what a game reads with `&mut`: checksums and snapshots. Inputs and frames go through the client.
    pub fn session_mut(&mut self) -> Option<&mut Session> {
        self.session.as_mut()
    }

    /// What the loaded game is made of.
    pub fn manifest(&self) -> &IdentityManifest {
        self.factory.manifest()
    }

    /// The match, once greeted.
    pub fn descriptor(&self) -> Option<&MatchDescriptor> {
        self.session.as_ref().map(Session::descriptor)
    }

    /// The seat, once greeted.
    #[doc(alias = "slot")]
    pub fn seat(&self) -> Option<Seat> {
        self.claimed.map(|claimed| claimed.seat)
    }

    /// The claim under which the seat is held.
    pub fn claim(&self) -> Option<ClaimId> {
        self.claimed.map(|claimed| claimed.claim)
    }

    /// The room's rules, once greeted.
    pub fn rules(&self) -> Option<RoomRules> {
        self.terms.map(|terms| terms.rules)
    }

    /// The head of the hash chain over every frame received (A12). `None` once the session was built from a snapshot: the chain covers
    /// every frame from tick 0 on, and the client never had those before it.
    pub fn chain_head(&self) -> Option<Digest> {
        self.chain.as_ref().map(FrameChain::head)
    }

    /// The room's tick right now, as well as it is known.
    pub fn room_tick(&self) -> Tick {
        self.life.clamp(self.pace.room_tick(self.now))
    }

    /// Counts since the client was made.
    pub fn stats(&self) -> ClientStats {
        ClientStats {
            round_trip_micros: self.pace.round_trip_micros(),
            jitter_micros: self.pace.jitter_micros(),
            input_delay_ticks: self.delay.delays(self.delay_limit_ticks()).present_ticks,
            queued_frames: self.session.as_ref().map_or(0, |session| session.queued_frames() as u64),
            backlog_frames_per_second: self.backlog.frames_per_second,
            backlog_is_stuck: self.backlog.is_stuck,
            ..self.stats
        }
    }
}
