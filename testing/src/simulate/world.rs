//! The whole of a simulated match: the room's machine, everybody's, and what is under way between them, in the order of one clock.

use std::collections::BTreeMap;
use std::sync::Arc;

use retick_authority::room::ConnectionId;
use retick_core::runtime::RuntimeFactory;
use retick_core::tick::Moment;

use super::actor::Actor;
use super::checks::{Rule, breach};
use super::host::Host;
use super::links::Connection;
use super::schedule::{ActorPlan, Schedule, StartPlan};
use super::trace::Seen;
use super::watch::Watch;
use crate::net::Mailbox;

/// Most steps of one match. A match that takes more goes round in circles.
const MAX_STEPS: u64 = 500_000;

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
    Connects {
        actor: usize,
        life: u32,
    },
    Turn {
        actor: usize,
        life: u32,
    },
    /// A sync of the storage is done.
    Synced {
        run: u32,
        sequence: u64,
    },
    /// The storage syncs what nothing waits for.
    SyncTimer {
        run: u32,
    },
    /// A process goes on, with what arrived meanwhile.
    RoomThaws,
    ActorThaws(usize),
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

pub(super) struct World<'a> {
    pub(super) schedule: &'a Schedule,
    pub(super) factory: Arc<dyn RuntimeFactory>,
    pub(super) host: Host,
    pub(super) actors: Vec<Actor>,
    pub(super) connections: BTreeMap<ConnectionId, Connection>,
    pub(super) next_connection: u64,
    pub(super) mailbox: Mailbox<Due>,
    pub(super) now: Moment,
    pub(super) healed: bool,
    pub(super) watch: Watch,
}

impl<'a> World<'a> {
    pub(super) fn new(schedule: &'a Schedule, factory: Arc<dyn RuntimeFactory>, watch: Watch) -> World<'a> {
        let actor = |plan: &ActorPlan| Actor::new(plan.clone(), schedule.seed, factory.clone());
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
        if let Some(due) = self.keep_for_later(due) {
            self.handle_now(due);
        }
    }

    pub(super) fn handle_now(&mut self, due: Due) {
        match due {
            Due::RoomThaws => self.thaw_room(),
            Due::ActorThaws(index) => self.thaw_actor(index),
            Due::Opens(connection) => self.open_at_room(connection),
            Due::ToRoom(connection, bytes) => self.hand_to_room(connection, &bytes),
            Due::RoomHears(connection) => self.lose_at_room(connection),
            Due::ToActor(connection, bytes) => self.hand_to_actor(connection, &bytes),
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
}
