//! The whole of a simulated match: the room's machine, everybody's, and what is under way between them, in the order of one clock.

use std::collections::BTreeMap;
use std::sync::Arc;

use retick_authority::room::ConnectionId;
use retick_core::runtime::RuntimeFactory;
use retick_core::tick::Moment;
use retick_core::wire::ClientMessage;

use super::actor::Actor;
use super::checks::{Rule, breach};
use super::host::{Host, Wanted};
use super::pipe::{Pipe, Trouble};
use super::schedule::{Role, Schedule, Waits};
use super::trace::Seen;
use super::watch::Watch;
use crate::net::{Delivery, Mailbox};

/// Most steps of one match. A match that takes more goes round in circles.
const MAX_STEPS: u64 = 4_000_000;

/// One thing that waits for its moment.
#[derive(Clone, Debug)]
pub(super) enum Due {
    /// A connection's opening reaches the room.
    Opens(ConnectionId),
    /// A message reaches the room.
    ToRoom(ConnectionId, Vec<u8>),
    /// A message reaches a participant.
    ToActor(ConnectionId, Vec<u8>),
    /// A participant hears that its connection is gone.
    ActorHears(ConnectionId),
    /// The room hears the same.
    RoomHears(ConnectionId),
    /// A participant connects, if it is not connected.
    Connects { actor: usize, life: u32 },
    Turn { actor: usize, life: u32 },
    /// A sync of the storage is done.
    Synced { run: u32, sequence: u64 },
    /// The storage syncs what nothing waits for.
    SyncTimer { run: u32 },
    /// Something planned.
    Happens(usize),
    /// The room's machine comes back.
    RoomRestarts,
    /// A player lets the clock go on.
    Unpauses(usize),
    Unlocks,
    Starts,
    Arrives(usize),
    Heals,
}

/// A connection, from a participant's side and the room's.
pub(super) struct Connection {
    pub(super) actor: usize,
    up: Pipe,
    /// Carries what is no input, where inputs are datagrams.
    up_control: Option<Pipe>,
    down: Pipe,
    /// Whether the room has it.
    pub(super) is_open: bool,
    /// Whether nothing gets through any more.
    pub(super) is_dead: bool,
    under_way: u64,
}

pub(super) struct World<'a> {
    pub(super) schedule: &'a Schedule,
    pub(super) factory: Arc<dyn RuntimeFactory>,
    pub(super) host: Host,
    pub(super) actors: Vec<Actor>,
    pub(super) connections: BTreeMap<ConnectionId, Connection>,
    next_connection: u64,
    pub(super) mailbox: Mailbox<Due>,
    pub(super) now: Moment,
    pub(super) healed: bool,
    pub(super) watch: Watch,
}

impl<'a> World<'a> {
    pub(super) fn new(schedule: &'a Schedule, factory: Arc<dyn RuntimeFactory>, watch: Watch) -> World<'a> {
        let actor = |plan: &super::schedule::ActorPlan| Actor::new(plan.clone(), schedule.seed, factory.clone());
        let mut world = World {
            schedule,
            host: Host::new(),
            actors: schedule.actors.iter().map(actor).collect(),
            factory: factory.clone(),
            connections: BTreeMap::new(),
            next_connection: 0,
            mailbox: Mailbox::default(),
            now: Moment::ZERO,
            healed: false,
            watch,
        };
        for (index, plan) in schedule.actors.iter().enumerate() {
            world.post_millis(plan.arrives_millis.min(schedule.heal_millis()), Due::Arrives(index));
        }
        for (index, planned) in schedule.events.iter().enumerate() {
            if planned.at_millis < schedule.heal_millis() {
                world.post_millis(planned.at_millis, Due::Happens(index));
            }
        }
        world.post_start();
        world.post_millis(schedule.heal_millis(), Due::Heals);
        world.start_room();
        world
    }

    fn post_start(&mut self) {
        use super::schedule::StartPlan;
        if let StartPlan::Creator { at_millis } | StartPlan::Manual { at_millis } = self.schedule.room.start {
            self.post_millis(at_millis.min(self.schedule.heal_millis()), Due::Starts);
        }
    }

    fn post_millis(&mut self, millis: u64, due: Due) {
        self.mailbox.post(Moment::from_millis(millis), due);
    }

    /// Posts something that happens so long from now.
    pub(super) fn post_in(&mut self, millis: u64, due: Due) {
        self.mailbox.post(self.now.plus_nanos(millis.saturating_mul(1_000_000)), due);
    }

    pub(super) fn see(&mut self, seen: Seen) {
        self.watch.see(self.now, seen);
    }

    /// Runs the match to its end, or to the first thing that does not hold.
    pub(super) fn run(mut self) -> Watch {
        let end = Moment::from_millis(self.schedule.end_millis());
        let mut steps = 0;
        loop {
            steps += 1;
            if steps > MAX_STEPS {
                self.watch.breaches(breach(Rule::Steps, self.now).numbers(steps, MAX_STEPS));
            }
            if self.watch.is_breached() {
                return self.watch;
            }
            let mail = self.mailbox.next_due();
            let call = self.host.next_call();
            let next = [mail, call].into_iter().flatten().min();
            let Some(next) = next.filter(|next| *next <= end) else { break };
            self.now = next.max(self.now);
            if mail == Some(next) {
                if let Some(due) = self.mailbox.pop_due(next) {
                    self.handle(due);
                }
            } else {
                self.call_room();
            }
        }
        self.now = end;
        self.stand();
        self.watch.finish(end);
        self.watch
    }

    fn stand(&mut self) {
        for index in 0..self.actors.len() {
            let (who, stand) = (self.actors[index].who(), self.actors[index].stand(self.schedule));
            self.see(Seen::Stands { who, stand });
        }
        let (mut lost, mut twice, mut turned) = (0, 0, 0);
        for connection in self.connections.values() {
            for pipe in [&connection.up, &connection.down].into_iter().chain(&connection.up_control) {
                let stats = pipe.stats();
                (lost, twice) = (lost + stats.lost + stats.resent, twice + stats.duplicated);
                turned += stats.inversions;
            }
        }
        self.watch.coverage.add("messages lost or sent again", lost);
        self.watch.coverage.add("messages that arrived twice", twice);
        self.watch.coverage.add("messages that were overtaken", turned);
    }

    fn handle(&mut self, due: Due) {
        let thaws = self.host.frozen_until;
        match due {
            Due::Opens(_) | Due::ToRoom(..) | Due::RoomHears(_) if thaws > self.now && !self.healed => {
                self.mailbox.post(thaws, due);
            }
            Due::Opens(connection) => self.open_at_room(connection),
            Due::ToRoom(connection, bytes) => self.hand_to_room(connection, &bytes),
            Due::RoomHears(connection) => self.lose_at_room(connection),
            Due::ToActor(connection, bytes) => self.hand_to_actor(connection, bytes),
            Due::ActorHears(connection) => self.lose_at_actor(connection),
            Due::Connects { actor, life } => {
                if self.actors[actor].life == life {
                    self.connect(actor);
                }
            }
            Due::Turn { actor, life } => self.take_turn(actor, life),
            Due::Synced { run, sequence } => self.synced(run, sequence),
            Due::SyncTimer { run } => self.sync_timer(run),
            Due::Happens(index) => self.happen(index),
            Due::RoomRestarts => {
                if self.host.run.is_none() && !self.host.is_over {
                    self.start_room();
                }
            }
            Due::Unpauses(actor) => self.unpause(actor),
            Due::Unlocks => self.with_room(|room, _| room.set_locked(false)),
            Due::Starts => self.with_room(|room, now| {
                // One that runs already, or has nobody, does not start.
                let _ = room.start(now);
            }),
            Due::Arrives(actor) => {
                self.begin_life(actor);
                self.connect(actor);
            }
            Due::Heals => self.heal(),
        }
    }

    /// Does something to the room, if it runs, and carries out what follows.
    pub(super) fn with_room(&mut self, act: impl FnOnce(&mut retick_authority::room::Room, Moment)) {
        if let Some(run) = &mut self.host.run {
            act(&mut run.room, run.clock.read(self.now));
            self.carry_out();
        }
    }

    /// Starts the room's process. What its run begins with is on the disk before anything leaves it.
    pub(super) fn start_room(&mut self) {
        let kept = self.host.storage.last();
        let run = self.host.runs;
        let (schedule, factory) = (self.schedule, self.factory.clone());
        if !self.host.start(self.now, schedule, factory.as_ref()) {
            self.see(Seen::RoomOver);
            return;
        }
        self.see(Seen::RoomUp { run, kept });
        let wanted = self.host.poll();
        let (records, rest): (Vec<Wanted>, Vec<Wanted>) =
            wanted.into_iter().partition(|wanted| matches!(wanted, Wanted::Persist(..)));
        records.into_iter().for_each(|record| self.carry_out_one(record));
        self.sync_through(self.host.storage.last());
        rest.into_iter().for_each(|wanted| self.carry_out_one(wanted));
        self.carry_out();
        self.post_in(self.schedule.room.sync_interval_millis, Due::SyncTimer { run: self.host.runs });
    }

    pub(super) fn call_room(&mut self) {
        self.host.call(self.now);
        self.carry_out();
        if let Some(seen) = self.host.seen(self.now) {
            self.see(Seen::RoomTurn(seen));
        }
    }

    /// Does everything that the room wants done.
    pub(super) fn carry_out(&mut self) {
        loop {
            let wanted = self.host.poll();
            if wanted.is_empty() {
                break;
            }
            wanted.into_iter().for_each(|wanted| self.carry_out_one(wanted));
        }
        if self.host.run.as_ref().is_some_and(|run| run.room.is_closed()) {
            self.host.run = None;
            self.host.is_over = true;
            self.see(Seen::RoomOver);
        }
    }

    fn carry_out_one(&mut self, wanted: Wanted) {
        match wanted {
            Wanted::Transmit(to, bytes) => {
                to.iter().for_each(|connection| self.send_down(*connection, &bytes));
                self.see(Seen::Sent { to, bytes });
            }
            Wanted::Persist(sequence, bytes) => {
                self.host.storage.append(sequence, &bytes);
                let is_frame = retick_authority::log::Record::is_frame(&bytes);
                self.see(Seen::Record { sequence, bytes });
                match self.schedule.room.durability {
                    Waits::EveryFrame => self.begin_sync(),
                    Waits::Interval if !is_frame => self.begin_sync(),
                    Waits::Interval | Waits::None => {}
                }
            }
            Wanted::Close(connection) => {
                if let Some(open) = self.connections.get_mut(&connection) {
                    open.is_open = false;
                    let actor = &self.actors[open.actor];
                    let arrivals = open.down.send(self.now, 0, &actor.trouble);
                    let due = arrivals.first().copied().unwrap_or(self.now);
                    self.mailbox.post(due, Due::ActorHears(connection));
                }
            }
            Wanted::Event(event) => self.see(Seen::Event(event)),
        }
    }

    fn begin_sync(&mut self) {
        let (sequence, run) = (self.host.storage.last(), self.host.runs);
        let begins = self.now.max(if self.healed { self.now } else { self.host.stalled_until });
        if let Some(running) = self.host.run.as_mut().filter(|running| !running.is_syncing) {
            running.is_syncing = true;
            let done = begins.plus_nanos(self.schedule.room.sync_micros * 1_000);
            self.mailbox.post(done, Due::Synced { run, sequence });
        }
    }

    fn synced(&mut self, run: u32, sequence: u64) {
        if run != self.host.runs || self.host.run.is_none() {
            return;
        }
        self.host.run.iter_mut().for_each(|running| running.is_syncing = false);
        self.sync_through(sequence);
        if self.host.storage.last() > sequence && self.schedule.room.durability != Waits::None {
            self.begin_sync();
        }
        self.carry_out();
    }

    fn sync_timer(&mut self, run: u32) {
        if run == self.host.runs && self.host.run.is_some() {
            if self.host.storage.last() > self.host.storage.synced() {
                self.begin_sync();
            }
            self.post_in(self.schedule.room.sync_interval_millis.max(1), Due::SyncTimer { run });
        }
    }

    fn sync_through(&mut self, sequence: u64) {
        self.host.storage.sync(sequence);
        self.see(Seen::Synced { sequence });
        self.host.run.iter_mut().for_each(|run| run.room.handle_persisted(sequence));
    }

    /// A message leaves the room for a connection.
    fn send_down(&mut self, connection: ConnectionId, bytes: &[u8]) {
        let Some(open) = self.connections.get_mut(&connection) else { return };
        let trouble = self.actors[open.actor].trouble;
        if open.is_dead {
            return;
        }
        open.under_way += bytes.len() as u64;
        let (under_way, cap) = (open.under_way, self.schedule.room.outbound_cap_bytes);
        let due = open.down.send(self.now, bytes.len(), &trouble);
        for due in due {
            self.mailbox.post(due, Due::ToActor(connection, bytes.to_vec()));
        }
        if under_way > cap && open.is_open {
            // Whoever does not read is let go (A11).
            self.watch.coverage.add("slow readers let go", 1);
            self.mailbox.post(self.now, Due::RoomHears(connection));
            self.mailbox.post(self.now, Due::ActorHears(connection));
        } else {
            self.see(Seen::UnderWay { connection, bytes: under_way });
        }
    }

    fn hand_to_actor(&mut self, connection: ConnectionId, bytes: Vec<u8>) {
        let Some(open) = self.connections.get_mut(&connection) else { return };
        let index = open.actor;
        let frozen_until = self.actors[index].frozen_until;
        if frozen_until > self.now && !self.healed {
            self.mailbox.post(frozen_until, Due::ToActor(connection, bytes));
            return;
        }
        open.under_way = open.under_way.saturating_sub(bytes.len() as u64);
        if self.actors[index].connection == Some(connection) {
            self.actors[index].receive(&bytes, self.now);
            self.drain(index);
        }
    }

    pub(super) fn lose_at_actor(&mut self, connection: ConnectionId) {
        let Some(open) = self.connections.get(&connection) else { return };
        let index = open.actor;
        let frozen_until = self.actors[index].frozen_until;
        if frozen_until > self.now && !self.healed {
            self.mailbox.post(frozen_until, Due::ActorHears(connection));
            return;
        }
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
        let opened =
            Connection { actor: index, up, up_control, down, is_open: false, is_dead: false, under_way: 0 };
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
            self.mailbox.post(due, match &bytes {
                Some(bytes) => Due::ToRoom(connection, bytes.clone()),
                None => Due::Opens(connection),
            });
        }
    }

    fn open_at_room(&mut self, connection: ConnectionId) {
        let Some(open) = self.connections.get_mut(&connection) else { return };
        let index = open.actor;
        if self.host.run.is_none() {
            self.mailbox.post(self.now, Due::ActorHears(connection));
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

    fn hand_to_room(&mut self, connection: ConnectionId, bytes: &[u8]) {
        if self.host.run.is_none() || !self.connections.get(&connection).is_some_and(|open| open.is_open) {
            return;
        }
        let (now, mut read) = (self.now, false);
        if let Some(run) = &mut self.host.run {
            let unread = |room: &retick_authority::room::Room| {
                room.stats().stray_messages + room.stats().over_budget_connections
            };
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

    fn take_turn(&mut self, index: usize, life: u32) {
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
