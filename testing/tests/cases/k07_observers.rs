//! K07 with real observers (A14): one that stops reading, one that is slow, and one that was there before the match.
//!
//! The room, two players and the observers stand around one table: what is sent arrives at once, and each connection has its queue,
//! which is capped and closed as the service does it (A11). At authority tick A everything is delivered, the room confirms, and
//! then everyone takes a turn at A + 1.

use std::collections::{BTreeMap, VecDeque};

use retick_authority::room::{ConnectionId, EPHEMERALS_PER_SECOND, Output, Room, RoomConfig, RoomSecret, StartPolicy};
use retick_core::client::{Client, ClientConfig, ClientEvent, ClientRole, EndReason, Output as ClientOutput};
use retick_core::config::SessionConfig;
use retick_core::identity::MatchDescriptor;
use retick_core::rng::SessionSeed;
use retick_core::runtime::RuntimeFactory;
use retick_core::seat::SeatCount;
use retick_core::session::{Recording, SessionEvent};
use retick_core::tick::{Moment, Tick};
use retick_core::wire::{CloseReason, MAX_EPHEMERAL_BYTES, RoomMessage};
use retick_testing::fixtures::{TallyView, tally_factory, zig_packed};

use crate::support::{RATE, view};

const TICKS: u64 = 10_000;
/// Authority ticks before tick 0.
const LOBBY: u64 = 300;
/// Most bytes that wait for one connection (A11).
const OUTBOUND_CAP_BYTES: usize = 1 << 20;
/// The slow one runs freely from this authority tick on.
const RELEASE: u64 = 600;
/// Most confirmed frames of its turns.
const BUDGET: usize = 8;

/// One connection and who sits there.
struct Party {
    client: Client,
    inbox: VecDeque<Vec<u8>>,
    queued_bytes: usize,
    most_queued_bytes: usize,
    longest_message_bytes: usize,
    reads: bool,
    first_frame: Option<Tick>,
    end: Option<EndReason>,
}

impl Party {
    fn new(role: ClientRole, max_confirmed_frames_per_turn: Option<u32>) -> Party {
        let recording = Recording::Frames;
        let config = ClientConfig { role, recording, max_confirmed_frames_per_turn, ..ClientConfig::default() };
        Party {
            client: Client::new(config, Box::new(tally_factory())),
            inbox: VecDeque::new(),
            queued_bytes: 0,
            most_queued_bytes: 0,
            longest_message_bytes: 0,
            reads: true,
            first_frame: None,
            end: None,
        }
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

    fn read(&mut self, now: Moment) {
        while let Some(bytes) = self.inbox.pop_front() {
            self.queued_bytes -= bytes.len();
            self.end = self.client.handle_message(&bytes, now).err().or(self.end.take());
        }
    }

    fn backlog(&self) -> usize {
        self.client.session().map_or(0, |session| session.queued_frames())
    }

    fn confirmed(&self) -> Tick {
        self.client.session().map_or(Tick::ZERO, |session| session.confirmed())
    }
}

/// Everyone, and the room.
struct Table {
    room: Room,
    parties: BTreeMap<ConnectionId, Party>,
    slow_consumers: Vec<(ConnectionId, u64)>,
    /// When each tick was confirmed.
    when: Vec<u64>,
    a: u64,
    started: bool,
}

impl Table {
    fn new() -> Table {
        let (factory, seats) = (tally_factory(), SeatCount::new(2).expect("two"));
        let descriptor =
            MatchDescriptor::new(factory.manifest(), SessionConfig::empty(), SessionSeed::from_u64(1), seats);
        let config = RoomConfig { start: StartPolicy::Manual, ..RoomConfig::new(descriptor) };
        Table {
            room: Room::new(config, RoomSecret([7; 32])).expect("valid"),
            parties: BTreeMap::new(),
            slow_consumers: vec![],
            when: vec![],
            a: 0,
            started: false,
        }
    }

    fn now(&self) -> Moment {
        RATE.moment_of(Tick::new(self.a))
    }

    fn seat(&mut self, number: u64, mut party: Party) -> ConnectionId {
        let (id, now) = (ConnectionId(number), self.now());
        self.room.handle_connected(id, now);
        party.client.handle_connected(now);
        self.parties.insert(id, party);
        self.send_all(id);
        id
    }

    fn party(&mut self, id: ConnectionId) -> &mut Party {
        self.parties.get_mut(&id).expect("seated")
    }

    /// What a party has to say reaches the room.
    fn send_all(&mut self, id: ConnectionId) {
        let (now, party) = (self.now(), self.parties.get_mut(&id).expect("seated"));
        let mut said = vec![];
        while let Some(output) = party.client.poll_output() {
            match output {
                ClientOutput::Transmit(bytes) => said.push(bytes.to_vec()),
                ClientOutput::Event(ClientEvent::Session(SessionEvent::Confirmed(frame))) => {
                    party.first_frame.get_or_insert(frame.tick());
                }
                ClientOutput::Event(_) => {}
            }
        }
        said.iter().for_each(|bytes| self.room.handle_message(id, bytes, now));
        self.drain_room();
    }

    fn drain_room(&mut self) {
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
                Output::Close { .. } | Output::Persist { .. } | Output::Event(_) => {}
            }
        }
        for id in slow {
            let mut reason = vec![];
            RoomMessage::Closing(CloseReason::SlowConsumer).encode_into(&mut reason);
            let (now, at) = (self.now(), self.a);
            let party = self.party(id);
            party.inbox = [reason].into();
            party.queued_bytes = party.inbox[0].len();
            self.slow_consumers.push((id, at));
            self.room.handle_disconnected(id, now);
        }
    }

    /// One authority tick: the room confirms, and everyone takes a turn who does.
    fn advance(&mut self, takes_turn: impl Fn(ConnectionId, u64) -> bool) {
        let now = self.now();
        self.room.handle_timeout(now);
        self.drain_room();
        let frontier = usize::try_from(self.room.frontier().index()).expect("small");
        self.when.resize(frontier, self.a);
        self.a += 1;
        let (now, ids): (_, Vec<_>) = (self.now(), self.parties.keys().copied().collect());
        for id in ids {
            let (takes_turn, a) = (takes_turn(id, self.a), self.a);
            let chatty = self.started && id.0 < 2 && a % (2 * 60 / u64::from(EPHEMERALS_PER_SECOND)) == id.0;
            let party = self.party(id);
            if !party.reads || party.end.is_some() {
                continue;
            }
            party.read(now);
            if takes_turn && party.end.is_none() {
                party.client.handle_turn(now);
                while let Some(tick) = party.client.wanted_input().filter(|tick| *tick < Tick::new(TICKS)) {
                    let seat = party.client.seat().expect("a player");
                    party.client.submit_input(&zig_packed(seat, tick)).expect("wanted");
                }
                if chatty {
                    party.client.send_ephemeral(&[7; MAX_EPHEMERAL_BYTES]).expect("a player");
                }
                let before = party.confirmed();
                party.client.step().expect("TALLY does not fault");
                let applied = usize::try_from(party.confirmed().since(before)).expect("small");
                assert!(id != SLOW || applied <= BUDGET);
            }
            self.send_all(id);
        }
    }

    fn start(&mut self) {
        self.started = true;
        let now = self.now();
        self.room.start(now).expect("two are there");
        self.drain_room();
    }
}

const DEAF: ConnectionId = ConnectionId(2);
const SLOW: ConnectionId = ConnectionId(3);
const EARLY: ConnectionId = ConnectionId(4);

fn everyone(_: ConnectionId, _: u64) -> bool {
    true
}

/// The players' match alone, with the same chatter: when each tick was confirmed.
fn control() -> Vec<u64> {
    let mut table = Table::new();
    (0..2).for_each(|number| drop(table.seat(number, Party::new(ClientRole::Player, None))));
    (0..LOBBY).for_each(|_| table.advance(everyone));
    table.start();
    while (table.when.len() as u64) < TICKS {
        table.advance(everyone);
    }
    table.when
}

#[test]
fn k07_observers_that_are_deaf_slow_or_early_change_nothing_for_the_players() {
    let mut table = Table::new();
    let players = [0, 1].map(|number| table.seat(number, Party::new(ClientRole::Player, None)));
    let early = table.seat(EARLY.0, Party::new(ClientRole::Observer, None));
    (0..LOBBY).for_each(|_| table.advance(everyone));
    let deaf = table.seat(DEAF.0, Party::new(ClientRole::Observer, None));
    let slow = table.seat(SLOW.0, Party::new(ClientRole::Observer, Some(8)));
    table.start();
    let free_at = LOBBY + RELEASE;
    let (mut peak, mut reached) = (0, None);
    while (table.when.len() as u64) < TICKS {
        if table.a == LOBBY + 100 {
            table.party(deaf).reads = false;
        }
        // Eight frames in every sixteenth tick are one in two.
        table.advance(|id, a| id != SLOW || a >= free_at || a % 16 == 0);
        let (a, backlog) = (table.a, table.party(slow).backlog());
        if a < free_at {
            peak = peak.max(backlog);
        } else if backlog == 0 && reached.is_none() {
            reached = Some(a - free_at);
        } else if reached.is_some() {
            assert_eq!(backlog, 0, "it stays at the frontier");
        }
    }
    // (a) The deaf one was closed by the cap, for its reason, and the players' times are those without observers.
    assert_eq!(table.when, control());
    let closed = table.slow_consumers.clone();
    assert!(closed.len() == 1 && closed[0].0 == deaf, "guard: {closed:?}");
    let party = table.party(deaf);
    assert!(party.most_queued_bytes <= OUTBOUND_CAP_BYTES + party.longest_message_bytes);
    party.read(Moment::ZERO);
    assert_eq!(party.end, Some(EndReason::Closed(CloseReason::SlowConsumer)));
    assert_eq!(table.room.observer_count(), 2);
    // (b) The slow one had a backlog, and made up for it.
    assert!(peak >= 250, "guard: {peak}");
    assert!(reached.is_some_and(|turns| turns <= 45), "{reached:?}");
    // (c) The early one saw tick 0 first.
    assert_eq!(table.party(early).first_frame, Some(Tick::ZERO));
    assert_eq!(table.party(slow).first_frame, Some(Tick::ZERO));
    // Everyone who is there has seen the same match. The room still waits for the input of the tick behind the last.
    (0..4).for_each(|_| table.advance(everyone));
    let expected = view(&[-5, -2], &[0, 0], 0xF52D_4D94);
    for id in [players[0], players[1], early, slow] {
        let session = table.party(id).client.session().expect("a match");
        assert_eq!(session.confirmed(), Tick::new(TICKS));
        assert_eq!(TallyView::read(session.projections().0), Some(expected.clone()), "{id:?}");
    }
}
