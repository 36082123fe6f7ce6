//! A room with real clients around one table, for cases in which connections are what matters: what is sent arrives at once, and
//! each connection has its queue, which is capped and closed as the service does it (A11).
//!
//! At authority tick A everything has been delivered, the room confirms, and then everyone takes a turn at A + 1.

use std::collections::{BTreeMap, VecDeque};

use retick_authority::room::{ConnectionId, Output, Room, RoomConfig, RoomEvent, RoomSecret};
use retick_core::client::{Client, ClientConfig, ClientEvent, EndReason, Output as ClientOutput};
use retick_core::config::SessionConfig;
use retick_core::digest::Checksum;
use retick_core::frame::Frame;
use retick_core::identity::MatchDescriptor;
use retick_core::rng::SessionSeed;
use retick_core::runtime::RuntimeFactory;
use retick_core::seat::SeatCount;
use retick_core::session::{Recording, SessionEvent};
use retick_core::tick::{Moment, Tick};
use retick_core::wire::{CloseReason, RoomMessage};
use retick_testing::fixtures::{TallyView, tally_factory, zig_packed};

use crate::support::RATE;

/// Most bytes that wait for one connection (A11).
pub const OUTBOUND_CAP_BYTES: usize = 1 << 20;

/// One connection and who sits there.
pub struct Party {
    pub client: Client,
    inbox: VecDeque<Vec<u8>>,
    queued_bytes: usize,
    pub most_queued_bytes: usize,
    pub longest_message_bytes: usize,
    /// Whether it takes what arrives.
    pub reads: bool,
    /// No input is given from this tick on.
    last_tick: Tick,
    pub frames: Vec<Frame>,
    pub checksums: Vec<(Tick, Checksum)>,
    pub end: Option<EndReason>,
}

impl Party {
    pub fn new(config: ClientConfig) -> Party {
        let config = ClientConfig { recording: Recording::Frames, ..config };
        Party {
            client: Client::new(config, Box::new(tally_factory())),
            inbox: VecDeque::new(),
            queued_bytes: 0,
            most_queued_bytes: 0,
            longest_message_bytes: 0,
            reads: true,
            last_tick: Tick::MAX,
            frames: vec![],
            checksums: vec![],
            end: None,
        }
    }

    /// The same, without input from this tick on.
    pub fn until(self, tick: u64) -> Party {
        Party { last_tick: Tick::new(tick), ..self }
    }

    /// Whether the message had a place. One that had none closes the connection.
    fn queue(&mut self, bytes: &[u8]) -> bool {
        self.longest_message_bytes = self.longest_message_bytes.max(bytes.len());
        if self.queued_bytes + bytes.len() > OUTBOUND_CAP_BYTES {
            return false;
        }
        self.inbox.push_back(bytes.to_vec());
        self.queued_bytes += bytes.len();
        self.most_queued_bytes = self.most_queued_bytes.max(self.queued_bytes);
        true
    }

    pub fn read(&mut self, now: Moment) {
        while let Some(bytes) = self.inbox.pop_front() {
            self.queued_bytes -= bytes.len();
            self.end = self.client.handle_message(&bytes, now).err().or(self.end.take());
        }
    }

    fn take_turn(&mut self, now: Moment) {
        self.client.handle_turn(now);
        while let Some(tick) = self.client.wanted_input().filter(|tick| *tick < self.last_tick) {
            let seat = self.client.seat().expect("a player");
            self.client.submit_input(&zig_packed(seat, tick)).expect("wanted");
        }
        self.client.step().expect("TALLY does not fault");
    }

    fn note(&mut self, event: ClientEvent) {
        match event {
            ClientEvent::Session(SessionEvent::Confirmed(frame)) => self.frames.push(*frame),
            ClientEvent::Session(SessionEvent::Checksum { tick, checksum }) => self.checksums.push((tick, checksum)),
            // Ticks begin anew.
            ClientEvent::Reconfigured { .. } => (self.frames, self.checksums) = (vec![], vec![]),
            _ => {}
        }
    }

    pub fn backlog(&self) -> usize {
        self.client.session().map_or(0, |session| session.queued_frames())
    }

    pub fn confirmed(&self) -> Tick {
        self.client.session().map_or(Tick::ZERO, |session| session.confirmed())
    }

    /// What it shows.
    pub fn shown(&self) -> TallyView {
        TallyView::read(self.client.session().expect("a match").projections().0).expect("TALLY projects")
    }
}

/// Everyone, and the room.
pub struct Table {
    pub room: Room,
    pub parties: BTreeMap<ConnectionId, Party>,
    pub slow_consumers: Vec<ConnectionId>,
    pub events: Vec<RoomEvent>,
    /// When each tick was confirmed.
    pub when: Vec<u64>,
    /// The authority tick A.
    pub a: u64,
}

impl Table {
    pub fn new(seats: u8, configure: impl FnOnce(&mut RoomConfig)) -> Table {
        let (factory, seats) = (tally_factory(), SeatCount::new(seats).expect("seats"));
        let (game, seed) = (SessionConfig::empty(), SessionSeed::from_u64(1));
        let mut config = RoomConfig::new(MatchDescriptor::new(factory.manifest(), game, seed, seats));
        configure(&mut config);
        let room = Room::new(config, RoomSecret([7; 32])).expect("valid");
        let (parties, slow_consumers, events, when) = (BTreeMap::new(), vec![], vec![], vec![]);
        Table { room, parties, slow_consumers, events, when, a: 0 }
    }

    pub fn now(&self) -> Moment {
        RATE.moment_of(Tick::new(self.a))
    }

    pub fn seat(&mut self, number: u64, mut party: Party) -> ConnectionId {
        let (id, now) = (ConnectionId(number), self.now());
        self.room.handle_connected(id, now);
        party.client.handle_connected(now);
        self.parties.insert(id, party);
        self.send_all(id);
        id
    }

    pub fn party(&mut self, id: ConnectionId) -> &mut Party {
        self.parties.get_mut(&id).expect("seated")
    }

    /// What a party has to say reaches the room.
    pub fn send_all(&mut self, id: ConnectionId) {
        let (now, party) = (self.now(), self.parties.get_mut(&id).expect("seated"));
        let mut said = vec![];
        loop {
            let event = match party.client.poll_output() {
                None => break,
                Some(ClientOutput::Transmit(bytes)) => {
                    said.push(bytes.to_vec());
                    continue;
                }
                Some(ClientOutput::Event(event)) => event,
            };
            party.note(event);
        }
        said.iter().for_each(|bytes| self.room.handle_message(id, bytes, now));
        self.drain_room();
    }

    pub fn drain_room(&mut self) {
        let mut slow = vec![];
        while let Some(output) = self.room.poll_output() {
            match output {
                Output::Transmit { to, bytes } => {
                    for id in to {
                        let Some(party) = self.parties.get_mut(id).filter(|_| !slow.contains(id)) else { continue };
                        if !party.queue(bytes) {
                            slow.push(*id);
                        }
                    }
                }
                Output::Event(event) => self.events.push(event),
                Output::Close { .. } | Output::Persist { .. } => {}
            }
        }
        for id in slow {
            let mut reason = vec![];
            RoomMessage::Closing(CloseReason::SlowConsumer).encode_into(&mut reason);
            let now = self.now();
            let party = self.party(id);
            party.queued_bytes = reason.len();
            party.inbox = [reason].into();
            self.slow_consumers.push(id);
            self.room.handle_disconnected(id, now);
        }
    }

    /// One authority tick: the room confirms, and everyone reads, and takes a turn if it `does`.
    pub fn advance(&mut self, does: impl Fn(ConnectionId, u64) -> bool) {
        let now = self.now();
        self.room.handle_timeout(now);
        self.drain_room();
        self.when.resize(usize::try_from(self.room.frontier().index()).expect("small"), self.a);
        self.a += 1;
        let (now, ids): (_, Vec<_>) = (self.now(), self.parties.keys().copied().collect());
        for id in ids {
            let takes_turn = does(id, self.a);
            let party = self.party(id);
            if !party.reads || party.end.is_some() {
                continue;
            }
            party.read(now);
            if takes_turn && party.end.is_none() {
                party.take_turn(now);
            }
            self.send_all(id);
        }
    }

    /// Everyone takes every turn until A is so far.
    pub fn advance_to(&mut self, a: u64) {
        while self.a < a {
            self.advance(|_, _| true);
        }
    }
}
