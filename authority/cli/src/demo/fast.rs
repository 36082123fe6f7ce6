//! The demo on a virtual clock: the same machines in one process, reproducible by seed.

use std::ops::Range;
use std::sync::{Arc, Mutex};

use retick_authority::room::{ConnectionId, Output as RoomOutput, Room, RoomSecret};
use retick_client::Player;
use retick_core::client::{Client, Output};
use retick_core::rng::{RngStream, SessionSeed};
use retick_core::seat::Seat;
use retick_core::tick::{Moment, Tick};
use retick_core::wire::PlayerId;
use retick_testing::net::{Jitter, Link, LinkProfile, Mailbox};

use super::cast::{Happening, Part, Role};
use super::report::{Carried, Results};
use super::{Plan, STALL_EVERY_MILLIS, STALL_MILLIS};
use crate::failure::Failure;
use crate::observer::Observer;
use crate::scripted::{ScriptedPlayer, lock};

/// Ticks between two who come in before tick 0, and before tick 0 itself.
const LOBBY_TICKS: u64 = 60;
/// Ticks that the match may take beyond its length.
const PATIENCE_TICKS: u64 = 1_800;
/// The room's secret. Nothing here is guarded by it, and the same seed is to give the same match.
const SECRET: RoomSecret = RoomSecret([7; 32]);

/// Plays the match and gives what was seen of it.
pub fn play(plan: &Plan) -> Result<Results, Failure> {
    let mut stage = Stage::new(plan)?;
    stage.fill_lobby()?;
    let started = stage.room.start(stage.now);
    started.map_err(|error| Failure::Run(format!("starting the room: {error}")))?;
    let mut acts = plan.acts();
    for tick in (0..plan.ticks.index() + PATIENCE_TICKS).map(Tick::new) {
        while let Some(act) = acts.pop_front_if(|act| act.at <= tick) {
            stage.perform(act.what);
        }
        if stage.has_ended_early() || acts.is_empty() && stage.is_done() || stage.has_found() {
            return stage.finish();
        }
        stage.turn();
    }
    Err(Failure::Run("the match did not come to its end".into()))
}

/// Something under way on a connection.
struct Parcel {
    connection: ConnectionId,
    what: Content,
}

enum Content {
    ToRoom(Vec<u8>),
    ToClient(Vec<u8>),
    /// The room closed the connection.
    Hangup,
}

/// The room, everyone who plays, and what is under way between them.
struct Stage<'a> {
    plan: &'a Plan,
    room: Room,
    people: Vec<Person>,
    mailbox: Mailbox<Parcel>,
    /// Turns since the lobby opened.
    turns: Tick,
    now: Moment,
    next_connection: u64,
}

impl<'a> Stage<'a> {
    fn new(plan: &'a Plan) -> Result<Stage<'a>, Failure> {
        let room = Room::new(plan.room_config(), SECRET);
        let room = room.map_err(|error| Failure::Run(format!("the room: {error}")))?;
        let (people, mailbox) = (Vec::new(), Mailbox::default());
        Ok(Stage { plan, room, people, mailbox, turns: Tick::ZERO, now: Moment::ZERO, next_connection: 0 })
    }

    /// Lets everyone in who is there from the start, one by one, so that seats are given out in their order. Then they wait for a
    /// while, and measure their round trips.
    fn fill_lobby(&mut self) -> Result<(), Failure> {
        for part in self.plan.first_parts() {
            self.enter(part);
            for _ in 0..LOBBY_TICKS {
                self.turn();
            }
            let last = self.people.last().map(|person| person.client.seat());
            if last != Some(Some(part.seat)) {
                return Err(Failure::Run(format!("seat {} was not given out", part.seat)));
            }
        }
        Ok(())
    }

    fn perform(&mut self, what: Happening) {
        let moving = self.people.iter().position(|person| person.part.role == Role::FirstDevice);
        match (what, moving) {
            (Happening::Enter(part), _) => self.enter(part),
            (Happening::Cut, Some(moving)) => self.cut(moving),
            (Happening::Mend, Some(moving)) => self.connect(moving),
            (Happening::Cut | Happening::Mend, None) => {}
        }
    }

    fn enter(&mut self, part: Part) {
        self.people.push(Person::new(self.plan, part));
        self.connect(self.people.len() - 1);
    }

    fn connect(&mut self, person: usize) {
        let connection = ConnectionId(self.next_connection);
        self.next_connection += 1;
        let person = &mut self.people[person];
        person.connection = Some(connection);
        person.client.handle_connected(self.now);
        self.room.handle_connected(connection, self.now);
        // As a service does with a join ticket: both devices are one player's.
        self.room.handle_admitted(connection, PlayerId([person.part.seat.number(); 32]));
    }

    /// The network of this person drops its connection, with everything that is under way on it.
    fn cut(&mut self, person: usize) {
        if let Some(connection) = self.lose(person) {
            self.people[person].cut_off += 1;
            self.room.handle_disconnected(connection, self.now);
        }
    }

    fn lose(&mut self, person: usize) -> Option<ConnectionId> {
        let person = &mut self.people[person];
        let connection = person.connection.take()?;
        self.mailbox.drop_if(|parcel| parcel.connection == connection);
        person.client.handle_disconnected(self.now);
        Some(connection)
    }

    /// Deliver, confirm, play: one tick's time.
    fn turn(&mut self) {
        while let Some(parcel) = self.mailbox.pop_due(self.now) {
            self.deliver(parcel);
        }
        self.room.handle_timeout(self.now);
        self.post_what_the_room_says();
        for person in &mut self.people {
            let (now, mailbox) = (self.now, &mut self.mailbox);
            person.turn(now, |connection, due, bytes| {
                mailbox.post(due, Parcel { connection, what: Content::ToRoom(bytes) });
            });
        }
        self.turns = self.turns.saturating_add(1);
        self.now = self.plan.descriptor.tick_rate().moment_of(self.turns);
    }

    fn deliver(&mut self, Parcel { connection, what }: Parcel) {
        let receiver = self.people.iter().position(|person| person.connection == Some(connection));
        match (what, receiver) {
            (Content::ToRoom(bytes), _) => self.room.handle_message(connection, &bytes, self.now),
            (Content::ToClient(bytes), Some(person)) => {
                // A client that is over says so by itself.
                let _ = self.people[person].client.handle_message(&bytes, self.now);
            }
            (Content::Hangup, Some(person)) => drop(self.lose(person)),
            (Content::ToClient(_) | Content::Hangup, None) => {}
        }
    }

    fn post_what_the_room_says(&mut self) {
        loop {
            let persisted = match self.room.poll_output() {
                None => return,
                Some(RoomOutput::Transmit { to, bytes }) => {
                    let (now, mailbox) = (self.now, &mut self.mailbox);
                    for connection in to {
                        post_down(&mut self.people, mailbox, now, *connection, || Content::ToClient(bytes.to_vec()));
                    }
                    continue;
                }
                Some(RoomOutput::Close { connection, .. }) => {
                    post_down(&mut self.people, &mut self.mailbox, self.now, connection, || Content::Hangup);
                    continue;
                }
                Some(RoomOutput::Event(_)) => continue,
                Some(RoomOutput::Persist { sequence, .. }) => sequence,
            };
            self.room.handle_persisted(persisted);
        }
    }

    /// Whether somebody who stays is over. Why, the proof will tell.
    fn has_ended_early(&self) -> bool {
        self.people.iter().any(|person| person.part.role.stays() && person.client.end().is_some())
    }

    /// Whether what was planted was found.
    fn has_found(&self) -> bool {
        self.plan.planted.is_some() && self.people.iter().any(|person| lock(&person.observer).seen.finding.is_some())
    }

    /// Whether everyone who stays has confirmed every tick that is compared.
    fn is_done(&self) -> bool {
        self.people.iter().all(|person| !person.part.role.stays() || lock(&person.observer).is_done())
    }

    fn finish(self) -> Result<Results, Failure> {
        let mut results = Results::default();
        for person in self.people {
            let (stats, end) = (person.client.stats(), person.client.end().cloned());
            let (sent_bytes, received_bytes) = (stats.sent_bytes, stats.received_bytes);
            let cut_off = person.cut_off;
            let examined = person.client.examined_state().map(|(tick, state)| (tick, state.to_vec()));
            results.add(
                &mut lock(&person.observer),
                Carried { part: person.part, sent_bytes, received_bytes, cut_off, end, examined },
            )?;
        }
        Ok(results)
    }
}

/// Sends something of the room's down a connection, if it is still somebody's.
fn post_down(
    people: &mut [Person],
    mailbox: &mut Mailbox<Parcel>,
    now: Moment,
    connection: ConnectionId,
    what: impl FnOnce() -> Content,
) {
    let receiver = people.iter_mut().find(|person| person.connection == Some(connection));
    if let Some(due) = receiver.and_then(|person| person.down.send(now).next()) {
        mailbox.post(due, Parcel { connection, what: what() });
    }
}

/// A player's client, and the network before it.
struct Person {
    part: Part,
    client: Client,
    player: ScriptedPlayer,
    observer: Arc<Mutex<Observer>>,
    connection: Option<ConnectionId>,
    up: Link,
    down: Link,
    cut_off: u64,
}

impl Person {
    fn new(plan: &Plan, part: Part) -> Person {
        let (observer, player) = plan.player(part);
        let link = |direction: &str| {
            let name = format!("demo {direction} {} {}", part.seat, part.role);
            Link::new(link_profile(plan, part.seat, &name), plan.seed, &name)
        };
        let client = Client::new(plan.client, Box::new(plan.factory(part)));
        let (up, down) = (link("up"), link("down"));
        Person { part, client, player, observer, connection: None, up, down, cut_off: 0 }
    }

    /// One turn of its client's. What it says goes to `send`, with the moment at which it arrives.
    fn turn(&mut self, now: Moment, mut send: impl FnMut(ConnectionId, Moment, Vec<u8>)) {
        let Person { client, player, connection, up, .. } = self;
        client.handle_turn(now);
        while let Some(tick) = client.wanted_input() {
            if client.submit_input(&player.input(tick)).is_err() {
                break;
            }
        }
        // A client that is over says so by itself.
        let _ = client.step();
        player.turn(client);
        while let Some(output) = client.poll_output() {
            match output {
                Output::Transmit(bytes) => {
                    if let (Some(connection), Some(due)) = (*connection, up.send(now).next()) {
                        send(connection, due, bytes.to_vec());
                    }
                }
                Output::Event(event) => drop(player.event(event)),
            }
        }
    }
}

/// One direction of one client's network.
fn link_profile(plan: &Plan, seat: Seat, name: &str) -> LinkProfile {
    let one_way_nanos = u64::from(plan.round_trip_millis(seat.number())) * 1_000_000 / 2;
    let mut chance = RngStream::derive(&SessionSeed::from_u64(plan.seed), &format!("{name} stalls"));
    LinkProfile {
        latency_nanos: one_way_nanos,
        jitter: Jitter { steps: 8, step_nanos: one_way_nanos / 32 },
        stalls: stalls(plan, &mut chance),
        ..LinkProfile::default()
    }
}

/// Stalls from the end of the lobby to the end of the match, with pauses between a half and one and a half of the mean.
fn stalls(plan: &Plan, chance: &mut RngStream) -> Vec<Range<Moment>> {
    let rate = plan.descriptor.tick_rate();
    let lobby = LOBBY_TICKS * plan.first_parts().iter().map(|_| 1).sum::<u64>();
    let end = rate.moment_of(plan.ticks.saturating_add(lobby));
    let mut stalls = Vec::new();
    let mut at = rate.moment_of(Tick::new(lobby));
    while at < end {
        let pause = chance.range(STALL_EVERY_MILLIS / 2..=STALL_EVERY_MILLIS * 3 / 2);
        let start = at.plus_nanos(u64::from(pause) * 1_000_000);
        at = start.plus_nanos(u64::from(STALL_MILLIS) * 1_000_000);
        stalls.push(start..at);
    }
    stalls
}
