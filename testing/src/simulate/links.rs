//! Connections between participants and the room: how they begin and end, and what goes over them.

use retick_authority::room::{ConnectionId, Room};
use retick_core::wire::ClientMessage;

use super::actor::Actor;
use super::pipe::{Pipe, Trouble};
use super::schedule::Role;
use super::trace::Seen;
use super::world::{Due, World};
use crate::net::Delivery;

/// A connection, from a participant's side and the room's.
pub(super) struct Connection {
    pub(super) actor: usize,
    pub(super) up: Pipe,
    /// Carries what is no input, where inputs are datagrams.
    pub(super) up_control: Option<Pipe>,
    pub(super) down: Pipe,
    /// Whether the room has it.
    pub(super) is_open: bool,
    /// Whether nothing gets through any more.
    pub(super) is_dead: bool,
    /// Whether its participant has let it go: then it does not open any more, and greets nobody.
    pub(super) is_let_go: bool,
    under_way: u64,
}

impl World<'_> {
    /// A message leaves the room for a connection.
    pub(super) fn send_down(&mut self, connection: ConnectionId, bytes: &[u8]) {
        let Some(open) = self.connections.get_mut(&connection) else { return };
        let trouble = self.actors[open.actor].trouble;
        if open.is_dead {
            return;
        }
        open.under_way += bytes.len() as u64;
        let (under_way, cap) = (open.under_way, self.schedule.outbound_cap_bytes(self.healed));
        let due = open.down.send(self.now, bytes.len(), &trouble);
        for due in due {
            self.mailbox.post(due, Due::ToActor(connection, bytes.to_vec()));
        }
        if under_way > cap && open.is_open {
            // Whoever does not read is let go (A11).
            open.is_dead = true;
            self.watch.coverage.add("slow readers let go", 1);
            self.mailbox.post(self.now, Due::RoomHears(connection));
            self.mailbox.post(self.now, Due::ActorHears(connection));
        } else {
            self.see(Seen::UnderWay { connection, bytes: under_way });
        }
    }

    pub(super) fn hand_to_actor(&mut self, connection: ConnectionId, bytes: &[u8]) {
        let Some(open) = self.connections.get_mut(&connection) else { return };
        let index = open.actor;
        open.under_way = open.under_way.saturating_sub(bytes.len() as u64);
        if self.actors[index].connection == Some(connection) {
            self.actors[index].receive(bytes, self.now);
            self.drain(index);
        }
    }

    pub(super) fn lose_at_actor(&mut self, connection: ConnectionId) {
        let Some(open) = self.connections.get(&connection) else { return };
        let index = open.actor;
        self.let_go(connection);
        if self.actors[index].connection == Some(connection) {
            self.actors[index].disconnected(self.now);
            self.drain(index);
            self.connect_later(index);
        }
    }

    pub(super) fn connect_later(&mut self, index: usize) {
        let Actor { life, ref plan, .. } = self.actors[index];
        self.post_in(plan.retry_millis.max(1), Due::Connects { actor: index, life });
    }

    pub(super) fn lose_at_room(&mut self, connection: ConnectionId) {
        let Some(open) = self.connections.get_mut(&connection).filter(|open| open.is_open) else { return };
        open.is_open = false;
        if self.host.run.is_some() {
            self.see(Seen::Lost { connection });
        }
        self.with_room(|room, now| room.handle_disconnected(connection, now));
    }

    /// Begins a process of a participant, with its turns.
    pub(super) fn begin_life(&mut self, index: usize) {
        self.actors[index].begin(self.now);
        let who = self.actors[index].who();
        self.see(Seen::Began { who });
        self.mailbox.post(self.now, Due::Turn { actor: index, life: who.life });
    }

    /// Opens a connection for a participant that has none.
    pub(super) fn connect(&mut self, index: usize) {
        let actor = &self.actors[index];
        if actor.connection.is_some() || !actor.is_live() {
            return;
        }
        if self.host.run.is_none() {
            // Nobody listens there.
            if !self.host.is_over {
                self.connect_later(index);
            }
            return;
        }
        let connection = self.open_connection(index);
        self.actors[index].connected(connection, self.now);
        self.drain(index);
    }

    /// A new connection, whose opening is on its way to the room.
    pub(super) fn open_connection(&mut self, index: usize) -> ConnectionId {
        let connection = ConnectionId(self.next_connection);
        self.next_connection += 1;
        let (plan, seed) = (&self.actors[index].plan, self.schedule.seed);
        let pipe = |link, delivery, name: &str| {
            Pipe::new(link, delivery, seed, format!("{name} {} {}", plan.number, connection.0))
        };
        let up_control = plan.datagrams.then(|| pipe(&plan.up, Delivery::Stream, "control"));
        let inputs = if plan.datagrams { Delivery::Datagrams } else { Delivery::Stream };
        let (up, down) = (pipe(&plan.up, inputs, "up"), pipe(&plan.down, Delivery::Stream, "down"));
        let opened = Connection {
            actor: index,
            up,
            up_control,
            down,
            is_open: false,
            is_dead: false,
            is_let_go: false,
            under_way: 0,
        };
        self.connections.insert(connection, opened);
        self.post_up(connection, None);
        connection
    }

    /// Posts a message to the room, or the opening of the connection.
    pub(super) fn post_up(&mut self, connection: ConnectionId, bytes: Option<Vec<u8>>) {
        let Some(open) = self.connections.get_mut(&connection) else { return };
        // A slow reader sends as ever.
        let trouble = Trouble { slow: None, ..self.actors[open.actor].trouble };
        if open.is_dead {
            return;
        }
        let is_input =
            bytes.as_ref().is_some_and(|bytes| matches!(ClientMessage::decode(bytes), Ok(ClientMessage::Inputs(_))));
        let pipe = match &mut open.up_control {
            Some(control) if !is_input => control,
            _ => &mut open.up,
        };
        let arrivals = pipe.send(self.now, bytes.as_ref().map_or(0, Vec::len), &trouble);
        for due in arrivals {
            self.mailbox.post(
                due,
                match &bytes {
                    Some(bytes) => Due::ToRoom(connection, bytes.clone()),
                    None => Due::Opens(connection),
                },
            );
        }
    }

    pub(super) fn open_at_room(&mut self, connection: ConnectionId) {
        let Some(open) = self.connections.get_mut(&connection) else { return };
        let index = open.actor;
        if self.host.run.is_none() {
            self.mailbox.post(self.now, Due::ActorHears(connection));
            return;
        }
        if open.is_let_go {
            return;
        }
        open.is_open = true;
        let (who, player) = (self.actors[index].who(), self.actors[index].player_id());
        let tickets = self.schedule.room.tickets && self.actors[index].plan.role != Role::Observer;
        self.see(Seen::Opened { connection, who });
        self.with_room(|room, now| {
            room.handle_connected(connection, now);
            if tickets {
                room.handle_admitted(connection, player);
            }
        });
    }

    pub(super) fn hand_to_room(&mut self, connection: ConnectionId, bytes: &[u8]) {
        let Some(open) = self.connections.get(&connection).filter(|open| open.is_open) else { return };
        let greets = || matches!(ClientMessage::decode(bytes), Ok(ClientMessage::Hello(_)));
        if self.host.run.is_none() || (open.is_let_go && greets()) {
            return;
        }
        let (now, mut read) = (self.now, false);
        if let Some(run) = &mut self.host.run {
            let unread = |room: &Room| room.stats().stray_messages + room.stats().over_budget_connections;
            let before = unread(&run.room);
            run.room.handle_message(connection, bytes, run.clock.read(now));
            read = unread(&run.room) == before;
        }
        // What follows from it is seen behind it.
        self.see(Seen::Handed { connection, bytes: bytes.to_vec(), read });
        self.carry_out();
    }

    /// Sends what a participant's client wants sent, and looks whether it is over.
    pub(super) fn drain(&mut self, index: usize) {
        let (watch, now) = (&mut self.watch, self.now);
        let sent = self.actors[index].drain(&mut |seen| watch.see(now, seen));
        if let Some(connection) = self.actors[index].connection {
            sent.into_iter().for_each(|bytes| self.post_up(connection, Some(bytes)));
        }
        self.bury(index);
    }

    pub(super) fn take_turn(&mut self, index: usize, life: u32) {
        let actor = &mut self.actors[index];
        if actor.life != life || !actor.is_live() {
            return;
        }
        if actor.frozen_until > self.now && !self.healed {
            self.mailbox.post(actor.frozen_until, Due::Turn { actor: index, life });
            return;
        }
        let (watch, now) = (&mut self.watch, self.now);
        actor.turn(now, self.schedule, &mut |seen| watch.see(now, seen));
        let period = 1_000_000_000 / u64::from(actor.plan.turns_per_second.max(1));
        self.mailbox.post(now.plus_nanos(period), Due::Turn { actor: index, life });
        self.drain(index);
    }
}
