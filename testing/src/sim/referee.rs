//! The room's own referee in a simulated match (A13): in the same process, so that messages take no time.

use std::collections::VecDeque;
use std::sync::Arc;

use retick_authority::referee::{Referee, RefereeMode, RefereeOutput};
use retick_authority::room::{ConnectionId, RoomEvent};
use retick_core::runtime::RuntimeFactory;
use retick_core::tick::Moment;

use super::SimulatedMatch;

/// Connections of referees are numbered from here on; those of players never get so far.
const FIRST_CONNECTION: u64 = 1 << 40;

/// A referee and what is on its way to it.
pub(super) struct RefereeHost {
    pub(super) referee: Referee,
    connection: Option<ConnectionId>,
    next_connection: u64,
    inbox: VecDeque<Vec<u8>>,
}

impl RefereeHost {
    pub(super) fn new(mode: RefereeMode, factory: Arc<dyn RuntimeFactory>) -> RefereeHost {
        let referee = Referee::new(mode, factory, 0);
        RefereeHost { referee, connection: None, next_connection: FIRST_CONNECTION, inbox: VecDeque::new() }
    }

    pub(super) fn post(&mut self, to: &[ConnectionId], bytes: &[u8]) {
        if self.connection.is_some_and(|connection| to.contains(&connection)) {
            self.inbox.push_back(bytes.to_vec());
        }
    }

    pub(super) fn hang_up(&mut self, connection: ConnectionId, now: Moment) {
        if self.connection == Some(connection) {
            self.connection = None;
            self.inbox.clear();
            self.referee.handle_disconnected(now);
        }
    }

    pub(super) fn note(&mut self, event: &RoomEvent, now: Moment) {
        self.referee.handle_event(event, now);
    }
}

impl SimulatedMatch {
    /// The referee, if there is one.
    pub fn referee(&self) -> Option<&Referee> {
        self.referee.as_ref().map(|host| &host.referee)
    }

    /// Lets the referee take its turn, with everything that follows from it.
    pub(super) fn run_referee(&mut self, now: Moment) {
        if let Some(host) = &mut self.referee {
            host.referee.handle_turn(now);
        }
        while self.serve_referee(now) {}
    }

    /// Carries one thing to the referee, or from it; says whether there was one.
    fn serve_referee(&mut self, now: Moment) -> bool {
        let Some(host) = &mut self.referee else { return false };
        if let Some(output) = host.referee.poll_output() {
            match output {
                RefereeOutput::Connect => {
                    let connection = ConnectionId(host.next_connection);
                    host.next_connection += 1;
                    host.connection = Some(connection);
                    self.room.handle_referee_connected(connection, now);
                    host.referee.handle_connected(now);
                }
                RefereeOutput::Transmit(bytes) => {
                    if let Some(connection) = host.connection {
                        self.room.handle_message(connection, &bytes, now);
                    }
                }
                RefereeOutput::Disconnect => {
                    if let Some(connection) = host.connection.take() {
                        host.inbox.clear();
                        self.room.handle_disconnected(connection, now);
                    }
                }
            }
            self.drain_room(now);
            return true;
        }
        let Some(bytes) = host.inbox.pop_front() else { return false };
        host.referee.handle_message(&bytes, now);
        true
    }
}
