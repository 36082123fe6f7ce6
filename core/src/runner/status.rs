//! Where a runner stands, in the two vocabularies of its UI: what to show, and what the runner is doing (N7).

use super::RunnerError;
use crate::seat::SeatSet;

/// What is to be shown.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Status {
    /// A local match runs.
    Offline,
    /// A networked match is on its way: no session yet, or the room still waits for its players.
    Connecting,
    /// The client is behind: it catches up, or its transport is being replaced.
    Syncing,
    /// The client has caught up.
    Live,
    /// Nothing runs, and nothing went wrong.
    Stopped,
    /// A match failed. The snapshot says why.
    Error,
}

/// Which kind of match a runner plays.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Mode {
    /// At this machine alone.
    Offline,
    /// In a room.
    Networked,
}

/// The transport's phase.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Connection {
    /// A transport is open.
    Connected,
    /// It was lost, or never opened, and is being tried again.
    Reconnecting,
}

/// What the runner is doing.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Lifecycle {
    /// Nothing was started yet.
    Idle,
    /// A match is being joined: no session yet.
    Starting {
        /// Its kind.
        mode: Mode,
    },
    /// There is a session.
    Running {
        /// Its kind.
        mode: Mode,
        /// The seats that are driven at this machine.
        local_seats: SeatSet,
        /// The transport's phase; `None` offline.
        connection: Option<Connection>,
    },
    /// The match was stopped or left.
    Stopped,
    /// The match failed.
    Failed {
        /// Why.
        error: RunnerError,
    },
    /// The runner was disposed of, which is final.
    Disposed,
}

/// What a match's screen shows (the seed's `matchUiState`): a client that is connected and behind is not disconnected.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum MatchUiState {
    /// A local match.
    Offline,
    /// No session yet, or the room waits for its players.
    Connecting,
    /// Connected and behind. A small sign of it; the controls stay.
    CatchingUp,
    /// The transport is being replaced.
    Reconnecting,
    /// Play.
    Live,
    /// Nothing runs.
    Stopped,
    /// A failure, and a way to join again.
    Error,
}

/// What is to be shown in this situation.
///
/// ```
/// use retick_core::runner::{Connection, MatchUiState, Status, match_ui_state};
///
/// let (syncing, connected) = (Status::Syncing, Some(Connection::Connected));
/// assert_eq!(match_ui_state(syncing, true, connected), MatchUiState::CatchingUp);
/// assert_eq!(match_ui_state(syncing, true, Some(Connection::Reconnecting)), MatchUiState::Reconnecting);
/// assert_eq!(match_ui_state(syncing, false, connected), MatchUiState::Connecting);
/// ```
pub fn match_ui_state(status: Status, ready: bool, connection: Option<Connection>) -> MatchUiState {
    match (status, connection) {
        (Status::Offline, _) => MatchUiState::Offline,
        (Status::Connecting, _) => MatchUiState::Connecting,
        (Status::Live, _) => MatchUiState::Live,
        (Status::Stopped, _) => MatchUiState::Stopped,
        (Status::Error, _) => MatchUiState::Error,
        (Status::Syncing, Some(Connection::Reconnecting)) => MatchUiState::Reconnecting,
        (Status::Syncing, Some(Connection::Connected)) if ready => MatchUiState::CatchingUp,
        (Status::Syncing, _) => MatchUiState::Connecting,
    }
}

/// Whether play controls stay, and keep what is held: while a player who is ready plays, also while catching up.
pub fn controls_active(status: Status, ready: bool, connection: Option<Connection>) -> bool {
    let state = match_ui_state(status, ready, connection);
    ready && matches!(state, MatchUiState::Live | MatchUiState::CatchingUp | MatchUiState::Offline)
}
