//! What a UI reads of a runner: one immutable view of status, lifecycle, picture and statistics.

use super::{Connection, Lifecycle, MatchUiState, RenderState, RunnerError, Status, controls_active, match_ui_state};
use crate::client::ClientStats;
use crate::seat::{Presence, Seat};
use crate::session::DroppedEvents;
use crate::tick::Tick;

/// How full a room is.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Occupancy {
    /// Players in the room.
    pub occupied: u16,
    /// Most players.
    pub max_players: u16,
    /// Whether nobody else is let in, because it is full or for another reason.
    pub locked: bool,
}

impl Occupancy {
    /// Whether every place is taken.
    pub fn is_full(&self) -> bool {
        self.occupied >= self.max_players
    }
}

/// What a networked match recovers from.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub enum RecoveryPhase {
    /// Nothing.
    #[default]
    None,
    /// Its transport is being replaced.
    Reconnecting,
    /// It has a transport, and is behind.
    CatchingUp,
}

/// Counts of a networked match, from its start.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct NetStats {
    /// What the client counted: round trip, rollbacks and their depth, substitutions, bytes, and what the room says of the seat.
    pub client: ClientStats,
    /// Confirmed frames that wait for a turn.
    pub queued_frames: usize,
    /// Commands that the room rejected, as of its last answer (A9).
    pub rejected_commands: u64,
    /// What it recovers from.
    pub recovery: RecoveryPhase,
    /// Confirmed frames that made room for newer ones, because nobody drained them.
    pub dropped_confirmed_frames: u64,
    /// Confirmed frames that a reconnect brought again, and that were not queued.
    pub silenced_confirmed_frames: u64,
    /// Presentation events that did not come out.
    pub dropped_events: DroppedEvents,
    /// Messages that came while no transport was open.
    pub stray_messages: u64,
}

/// Counts of a runner, over all its matches.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct RunnerStats {
    /// Transport events of links that are no longer the runner's; they were ignored.
    pub stale_transport_events: u64,
    /// Completions of preparations that were over or aborted; they were refused.
    pub stale_preparations: u64,
    /// Events that nobody took in time.
    pub dropped_events: u64,
}

/// A runner at one moment (N7). It borrows from the runner, so it can't change while it is looked at.
#[derive(Clone, PartialEq, Debug)]
pub struct RunnerSnapshot<'a> {
    /// What is to be shown.
    pub status: Status,
    /// What the runner is doing.
    pub lifecycle: Lifecycle,
    /// The picture; `None` before the first projection.
    pub render: Option<RenderState<'a>>,
    /// How far the next tick is under way; 0 without a session.
    pub alpha: f64,
    /// The first seat that is driven at this machine, once it is known.
    pub local_seat: Option<Seat>,
    /// Mispredictions corrected in this match; 0 offline and with confirmed frames alone.
    pub rollbacks: u64,
    /// Whether there is a session whose match has begun: whoever drives a seat is asked for inputs.
    pub ready: bool,
    /// The last tick that is confirmed and applied; `None` before the first.
    pub applied_through: Option<Tick>,
    /// The last tick that was played, predicted or not; `None` before the first.
    pub predicted_through: Option<Tick>,
    /// What failed; with [`Status::Error`] alone.
    pub error: Option<RunnerError>,
    /// The transport's phase; `None` before the first word of a transport, and offline.
    pub connection: Option<Connection>,
    /// The room's code, if the transport has one.
    pub room_code: Option<&'a str>,
    /// How full the room is, as the room or the transport says.
    pub occupancy: Option<Occupancy>,
    /// Who drives each seat, as the last confirmed tick says; empty before the first.
    pub presence: &'a [Presence],
    /// Counts of a networked match.
    pub net: Option<NetStats>,
}

impl RunnerSnapshot<'_> {
    /// What the match's screen shows.
    pub fn ui_state(&self) -> MatchUiState {
        match_ui_state(self.status, self.ready, self.connection)
    }

    /// Whether play controls stay, and keep what is held. An observer has none.
    pub fn controls_active(&self) -> bool {
        self.local_seat.is_some() && controls_active(self.status, self.ready, self.connection)
    }
}
