//! What arrives at a process that stands still waits for it, in the order in which it came.

use super::world::{Due, World};

impl World<'_> {
    /// Keeps what arrives at a process that stands still, in the order in which it came, and lets all else through.
    pub(super) fn keep_for_later(&mut self, due: Due) -> Option<Due> {
        match due {
            Due::Opens(_) | Due::ToRoom(..) | Due::RoomHears(_) => {
                let host = &mut self.host;
                if host.frozen_until <= self.now && host.inbox.is_empty() {
                    return Some(due);
                }
                if host.inbox.is_empty() {
                    self.mailbox.post(host.frozen_until, Due::RoomThaws);
                }
                host.inbox.push_back(due);
            }
            Due::ToActor(connection, _) | Due::ActorHears(connection) => {
                let index = self.connections.get(&connection)?.actor;
                let actor = &mut self.actors[index];
                if actor.frozen_until <= self.now && actor.inbox.is_empty() {
                    return Some(due);
                }
                if actor.inbox.is_empty() {
                    self.mailbox.post(actor.frozen_until, Due::ActorThaws(index));
                }
                actor.inbox.push_back(due);
            }
            other => return Some(other),
        }
        None
    }

    pub(super) fn thaw_room(&mut self) {
        if self.host.frozen_until > self.now {
            self.mailbox.post(self.host.frozen_until, Due::RoomThaws);
            return;
        }
        while let Some(due) = self.host.inbox.pop_front() {
            self.handle_now(due);
        }
    }

    pub(super) fn thaw_actor(&mut self, index: usize) {
        if self.actors[index].frozen_until > self.now {
            self.mailbox.post(self.actors[index].frozen_until, Due::ActorThaws(index));
            return;
        }
        while let Some(due) = self.actors[index].inbox.pop_front() {
            self.handle_now(due);
        }
    }
}
