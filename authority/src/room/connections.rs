//! The connections that the room knows, greeted or not.

use alloc::collections::BTreeMap;

use retick_core::seat::Seat;
use retick_core::tick::{Moment, Tick};
use retick_core::wire::PlayerId;

use super::budget::TokenBucket;
use super::clock::RoomTime;
use super::donation::Hydration;
use super::event::ConnectionId;

/// Most connections at once; each further one is refused. Seats and as many again for newcomers and returners.
pub const MAX_CONNECTIONS: usize = 1024;

/// Most messages in which one connection may give frames back (A12): twice as many as a client's longest tail takes. Each may cost as
/// much as a mebibyte of hashing.
pub const MAX_TAIL_MESSAGES: u8 = 64;

/// How far a connection has come.
#[derive(Clone, Copy, Debug)]
pub(super) enum Stage {
    /// Its first message is awaited until then.
    Greeting { deadline: RoomTime },
    /// It holds a seat.
    Seated {
        seat: Seat,
        feed: Feed,
        /// The record that its greeting depends on.
        greeted_after: u64,
    },
    /// It watches, without a seat (A14).
    Watching {
        feed: Feed,
        /// The record that its greeting depends on.
        greeted_after: u64,
    },
}

impl Stage {
    fn feed(&self) -> Option<&Feed> {
        match self {
            Stage::Greeting { .. } => None,
            Stage::Seated { feed, .. } | Stage::Watching { feed, .. } => Some(feed),
        }
    }
}

/// Which frames a greeted connection gets.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Feed {
    /// Each release, as it is confirmed.
    Live,
    /// History from this tick on, until it reaches the frontier with at least one frame that stands alone (A7).
    CatchUp { next: Tick },
    /// A snapshot, and the frames behind it then (A7).
    Hydrate(Hydration),
}

#[derive(Clone, Copy, Debug)]
pub(super) struct Connection {
    pub(super) stage: Stage,
    pub(super) budget: TokenBucket,
    /// Who it is, when whoever stands before the room knows (V1).
    pub(super) player: Option<PlayerId>,
    /// Whether it is the room's own referee (A13).
    pub(super) is_referee: bool,
    /// How often it may still give frames back (A12).
    pub(super) tails_left: u8,
}

#[derive(Clone, Debug)]
pub(super) struct Connections {
    messages_per_second: u32,
    by_id: BTreeMap<ConnectionId, Connection>,
}

impl Connections {
    pub(super) fn new(messages_per_second: u32) -> Connections {
        Connections { messages_per_second, by_id: BTreeMap::new() }
    }

    pub(super) fn is_full(&self) -> bool {
        self.by_id.len() >= MAX_CONNECTIONS
    }

    pub(super) fn contains(&self, id: ConnectionId) -> bool {
        self.by_id.contains_key(&id)
    }

    pub(super) fn insert(&mut self, id: ConnectionId, deadline: RoomTime, now: Moment) {
        let (stage, tails_left) = (Stage::Greeting { deadline }, MAX_TAIL_MESSAGES);
        let budget = TokenBucket::full(self.messages_per_second, now);
        self.by_id.insert(id, Connection { stage, budget, player: None, is_referee: false, tails_left });
    }

    pub(super) fn get(&self, id: ConnectionId) -> Option<&Connection> {
        self.by_id.get(&id)
    }

    /// The feed of a connection that was let in.
    pub(super) fn feed_mut(&mut self, id: ConnectionId) -> Option<&mut Feed> {
        match &mut self.by_id.get_mut(&id)?.stage {
            Stage::Seated { feed, .. } | Stage::Watching { feed, .. } => Some(feed),
            Stage::Greeting { .. } => None,
        }
    }

    pub(super) fn get_mut(&mut self, id: ConnectionId) -> Option<&mut Connection> {
        self.by_id.get_mut(&id)
    }

    /// Forgets a connection, and says which stage it had reached.
    pub(super) fn remove(&mut self, id: ConnectionId) -> Option<Stage> {
        self.by_id.remove(&id).map(|connection| connection.stage)
    }

    pub(super) fn pop_first(&mut self) -> Option<(ConnectionId, Stage)> {
        self.by_id.pop_first().map(|(id, connection)| (id, connection.stage))
    }

    /// Who this is, when whoever stands before the room knows.
    pub(super) fn player(&self, id: ConnectionId) -> Option<PlayerId> {
        self.by_id.get(&id)?.player
    }

    /// Everyone who was let in: players and observers.
    pub(super) fn greeted(&self) -> impl Iterator<Item = ConnectionId> {
        self.by_id.iter().filter(|(_, connection)| connection.stage.feed().is_some()).map(|(id, _)| *id)
    }

    pub(super) fn live(&self) -> impl Iterator<Item = ConnectionId> {
        let live = |connection: &Connection| connection.stage.feed() == Some(&Feed::Live);
        self.by_id.iter().filter(move |(_, connection)| live(connection)).map(|(id, _)| *id)
    }

    /// Whether this one was let in without a seat.
    pub(super) fn watches(&self, id: ConnectionId) -> bool {
        self.by_id.get(&id).is_some_and(|connection| matches!(connection.stage, Stage::Watching { .. }))
    }

    /// How many watch without a seat, but for the referee.
    pub(super) fn observer_count(&self) -> usize {
        let watches =
            |connection: &&Connection| matches!(connection.stage, Stage::Watching { .. }) && !connection.is_referee;
        self.by_id.values().filter(watches).count()
    }

    /// The feeds of everyone who was let in, and whether each only watches.
    pub(super) fn watched_feeds_mut(&mut self) -> impl Iterator<Item = (ConnectionId, bool, &mut Feed)> {
        self.by_id.iter_mut().filter_map(|(id, connection)| match &mut connection.stage {
            Stage::Seated { feed, .. } => Some((*id, false, feed)),
            Stage::Watching { feed, .. } => Some((*id, true, feed)),
            Stage::Greeting { .. } => None,
        })
    }

    /// The feeds of everyone who was let in.
    pub(super) fn feeds_mut(&mut self) -> impl Iterator<Item = (ConnectionId, &mut Feed)> {
        self.by_id.iter_mut().filter_map(|(id, connection)| match &mut connection.stage {
            Stage::Seated { feed, .. } | Stage::Watching { feed, .. } => Some((*id, feed)),
            Stage::Greeting { .. } => None,
        })
    }

    /// A connection whose greeting is overdue at `time`.
    pub(super) fn overdue(&self, time: RoomTime) -> Option<ConnectionId> {
        let overdue =
            |connection: &Connection| matches!(connection.stage, Stage::Greeting { deadline } if deadline <= time);
        self.by_id.iter().find(|(_, connection)| overdue(connection)).map(|(id, _)| *id)
    }

    /// The first moment at which a greeting is overdue.
    pub(super) fn next_deadline(&self) -> Option<RoomTime> {
        let deadline = |connection: &Connection| match connection.stage {
            Stage::Greeting { deadline } => Some(deadline),
            Stage::Seated { .. } | Stage::Watching { .. } => None,
        };
        self.by_id.values().filter_map(deadline).min()
    }
}
