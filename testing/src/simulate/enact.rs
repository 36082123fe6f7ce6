//! What the schedule does to a match, and how everything is healed.

use retick_authority::room::ConnectionId;
use retick_core::client::{Client, EndReason};
use retick_core::seat::Seat;
use retick_core::tick::{Moment, Tick};
use retick_core::wire::{CloseReason, Refusal};

use super::happening::Happening;
use super::schedule::Role;
use super::trace::Seen;
use super::world::{Due, World};

/// Most times that a participant who is over begins anew.
const MAX_LIVES: u32 = 6;

impl World<'_> {
    pub(super) fn happen(&mut self, index: usize) {
        let Some(planned) = self.schedule.events.get(index) else { return };
        let happening = planned.event.clone();
        let target = happening.actor().and_then(|number| self.actors.iter().position(|it| it.plan.number == number));
        if happening.actor().is_some() && target.is_none_or(|index| self.actors[index].client.is_none()) {
            return;
        }
        self.see(Seen::Happened(happening.clone()));
        match target {
            Some(index) => self.happen_to(index, &happening),
            None => self.happen_to_room(&happening),
        }
    }

    /// The end of something that lasts so long, at most until everything is healed.
    fn until(&self, millis: u64) -> Moment {
        self.now.plus_nanos(millis.saturating_mul(1_000_000)).min(Moment::from_millis(self.schedule.heal_millis()))
    }

    fn happen_to_room(&mut self, happening: &Happening) {
        match *happening {
            Happening::Kill { down_millis, keeps_percent } if self.host.run.is_some() => {
                self.kill_room(keeps_percent);
                self.post_in(down_millis, Due::RoomRestarts);
            }
            Happening::RoomFreeze { millis } => self.host.frozen_until = self.until(millis),
            Happening::StorageStall { millis } => self.host.stalled_until = self.until(millis),
            Happening::RoomJump { millis } => self.host.run.iter_mut().for_each(|run| run.clock.jump(millis)),
            // A seat that somebody holds is not given to a bot, and where there is none, none is removed.
            Happening::SeatBot { seat } => self.with_room(|room, _| {
                let _ = Seat::new(seat).map(|seat| room.seat_bot(seat));
            }),
            Happening::RemoveBot { seat } => self.with_room(|room, _| {
                let _ = Seat::new(seat).map(|seat| room.remove_bot(seat));
            }),
            Happening::Lock { millis } => {
                self.with_room(|room, _| room.set_locked(true));
                self.post_in(millis, Due::Unlocks);
            }
            _ => {}
        }
    }

    fn happen_to(&mut self, index: usize, happening: &Happening) {
        let connection = self.actors[index].connection;
        match *happening {
            Happening::Cut { millis, .. } => self.actors[index].trouble.cut_until = self.until(millis),
            Happening::Freeze { millis, .. } => self.actors[index].frozen_until = self.until(millis),
            Happening::Slow { millis, bytes_per_second, .. } => {
                self.actors[index].trouble.slow = Some((bytes_per_second, self.until(millis)));
            }
            Happening::Lossy { millis, loss, .. } => {
                self.actors[index].trouble.lossy = Some((loss, self.until(millis)));
            }
            Happening::Jump { millis, .. } => self.actors[index].jump(millis),
            Happening::HalfOpen { client_notices_millis, room_notices_millis, .. } => {
                let Some(connection) = connection else { return };
                self.connections.get_mut(&connection).into_iter().for_each(|open| open.is_dead = true);
                self.post_in(client_notices_millis, Due::ActorHears(connection));
                self.post_in(room_notices_millis, Due::RoomHears(connection));
            }
            Happening::Drop { .. } => {
                let Some(connection) = connection else { return };
                self.connections.get_mut(&connection).into_iter().for_each(|open| open.is_dead = true);
                self.lose_at_room(connection);
                self.lose_at_actor(connection);
            }
            Happening::Supersede { room_notices_millis, .. } => {
                let Some(connection) = connection else { return };
                self.post_in(room_notices_millis, Due::RoomHears(connection));
                self.let_go(connection);
                self.actors[index].disconnected(self.now);
                self.drain(index);
                self.connect(index);
            }
            Happening::Restart { .. } => {
                if let Some(connection) = connection {
                    self.let_go(connection);
                    self.post_in(1, Due::RoomHears(connection));
                }
                if self.actors[index].is_live() {
                    self.begin_life(index);
                    self.connect_later(index);
                }
            }
            _ => self.act(index, happening),
        }
    }

    /// A participant lets a connection go: what is left of it greets nobody, or it would take the seat from the next one.
    pub(super) fn let_go(&mut self, connection: ConnectionId) {
        self.connections.get_mut(&connection).into_iter().for_each(|open| open.is_let_go = true);
    }

    /// What a participant does of its own will.
    fn act(&mut self, index: usize, happening: &Happening) {
        let who = self.actors[index].who();
        match *happening {
            Happening::Leave { .. } => {
                let left = self.client(index).is_some_and(|client| client.leave().is_ok());
                self.actors[index].has_left |= left && who.role == Role::Player;
            }
            Happening::Pause { millis, .. } => {
                // A request that can't be sent is none.
                let _ = self.client(index).map(Client::request_pause);
                self.post_in(millis, Due::Unpauses(index));
            }
            Happening::Reconfigure { stride, .. } => {
                let config = self.schedule.game.config(stride);
                let _ = self.client(index).map(|client| client.request_reconfigure(&config));
            }
            Happening::Command { count, .. } => {
                for _ in 0..count {
                    let payload = self.actors[index].next_mark();
                    if self.client(index).is_some_and(|client| client.request_command(&payload).is_ok()) {
                        self.see(Seen::Requested { who, payload });
                    }
                }
            }
            Happening::Ephemeral { count, .. } => {
                for _ in 0..count {
                    let mark = self.actors[index].next_mark();
                    // Some of them are long.
                    let payload = if count > 6 { mark.repeat(60) } else { mark.clone() };
                    if self.client(index).is_some_and(|client| client.send_ephemeral(&payload).is_ok()) {
                        self.see(Seen::Marked { who, mark });
                    }
                }
            }
            Happening::Result { .. } => {
                let confirmed = |client: &Client| client.session().map_or(Tick::ZERO, |session| session.confirmed());
                let _ = self.client(index).map(|client| client.report_result(confirmed(client), b"over"));
            }
            Happening::Forge { count, .. } => self.forge(index, count),
            Happening::Mutate { chance, .. } => self.actors[index].malice.chance = chance,
            Happening::Lie { .. } => self.actors[index].malice.lies = true,
            Happening::SpoilDonations { .. } => self.actors[index].malice.spoils = true,
            _ => {}
        }
        self.drain(index);
    }

    fn client(&mut self, index: usize) -> Option<&mut Client> {
        self.actors[index].client.as_mut()
    }

    fn forge(&mut self, index: usize, count: u16) {
        if self.actors[index].plan.role != Role::Liar {
            return;
        }
        for number in 0..count {
            if number % 8 == 7 {
                // With somebody else's seat, on a connection of its own.
                let (identity, seats) = (self.factory.manifest().identity(), self.schedule.seats);
                let connection = self.open_connection(index);
                let hello = self.actors[index].malice.forged_hello(identity, seats);
                self.post_up(connection, Some(hello));
                self.post_in(3_000, Due::RoomHears(connection));
            } else if let Some(connection) = self.actors[index].connection {
                let bytes = self.actors[index].malice.forge();
                self.post_up(connection, Some(bytes));
            }
        }
    }

    pub(super) fn unpause(&mut self, index: usize) {
        if self.healed {
            return;
        }
        let _ = self.client(index).map(Client::request_unpause);
        self.drain(index);
    }

    fn kill_room(&mut self, keeps_percent: u8) {
        self.host.run = None;
        self.host.storage.crash(keeps_percent);
        self.see(Seen::RoomDown);
        let open: Vec<_> = self.connections.iter().filter(|(_, open)| open.is_open).map(|(id, _)| *id).collect();
        for connection in open {
            let Some(open) = self.connections.get_mut(&connection) else { continue };
            open.is_open = false;
            let latency = self.actors[open.actor].plan.down.latency_micros / 1_000;
            self.post_in(latency + 1, Due::ActorHears(connection));
        }
    }

    /// A client that is over closes its transport. Whoever may come again does so, as somebody who knows nothing.
    pub(super) fn bury(&mut self, index: usize) {
        let actor = &mut self.actors[index];
        let Some(reason) = actor.client.as_ref().and_then(|client| client.end().cloned()) else { return };
        if std::mem::replace(&mut actor.end_is_seen, true) {
            return;
        }
        if let Some(connection) = actor.connection.take() {
            self.let_go(connection);
            self.post_in(1, Due::RoomHears(connection));
        }
        let returns = match reason {
            EndReason::Closed(CloseReason::Left | CloseReason::RoomEnded) | EndReason::Refused(Refusal::Closing) => {
                false
            }
            _ => self.actors[index].life < MAX_LIVES,
        };
        if returns && !self.actors[index].has_left {
            self.begin_life(index);
            self.connect_later(index);
        }
    }

    /// Everything that was wrong ends, and everyone comes back.
    pub(super) fn heal(&mut self) {
        self.healed = true;
        self.see(Seen::Healed);
        (self.host.frozen_until, self.host.stalled_until) = (self.now, self.now);
        if self.host.run.is_none() && !self.host.is_over {
            self.start_room();
        }
        let dead: Vec<_> = self.connections.iter().filter(|(_, open)| open.is_dead).map(|(id, _)| *id).collect();
        for index in 0..self.actors.len() {
            let actor = &mut self.actors[index];
            actor.malice.repent();
            (actor.frozen_until, actor.trouble.healed) = (self.now, true);
            actor.trouble.cut_until = Moment::ZERO;
        }
        for connection in dead {
            self.lose_at_room(connection);
            self.lose_at_actor(connection);
        }
        self.with_room(|room, now| {
            room.set_locked(false);
            // One that runs, or is full of players who wait, needs neither.
            let _ = (room.unpause(now), room.start(now));
        });
        for index in 0..self.actors.len() {
            self.connect(index);
        }
    }
}
