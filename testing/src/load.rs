//! Load: many rooms with a client in every seat, on a virtual clock, driven by real wire bytes. What a room costs is what is left
//! of a host's time when there is no network.
//!
//! The driver does what a service does: it hands in every client's message, calls the timeout, drains the outputs, and says when
//! records are kept. All rooms play the same inputs, so what the clients send is encoded once a tick for all of them, and a
//! measurement around [`RoomLoad::turn`] holds hardly anything but the rooms. Nothing here reads a clock: who times, does.
//!
//! ```
//! use retick_core::seat::SeatCount;
//! use retick_testing::load::{LoadSetup, RoomLoad};
//!
//! let seats = SeatCount::new(2).expect("two seats");
//! let mut load = RoomLoad::new(LoadSetup { rooms: 3, seats, ..LoadSetup::default() }).expect("the default rules");
//! (0..60).for_each(|_| load.turn());
//! assert_eq!(load.check(), Ok(()));
//! // Three rooms gave each of their two seats a frame for every tick.
//! let traffic = load.traffic();
//! assert_eq!((traffic.room_ticks, traffic.seat_ticks(seats)), (3 * 60, 2 * 3 * 60));
//! assert!(traffic.down.messages >= traffic.seat_ticks(seats) && traffic.records.bytes > 0);
//! ```

use std::collections::VecDeque;

use retick_authority::room::{
    ConnectionId, DEFAULT_CHECKSUM_CADENCE_TICKS, Durability, Output, Room, RoomConfig, RoomConfigError, RoomSecret,
};
use retick_core::config::SessionConfig;
use retick_core::digest::{Checksum, Identity};
use retick_core::identity::{IdentityManifest, MatchDescriptor};
use retick_core::input::InputSchema;
use retick_core::rng::SessionSeed;
use retick_core::seat::{ControlEpoch, Generation, SeatCount};
use retick_core::tick::{Tick, TickRate};
use retick_core::wire::{ClientMessage, Entry, Hello, InputRun, Inputs, PROTOCOL_VERSION};

/// Bytes of every input.
pub const LOAD_INPUT_BYTES: usize = 8;
/// Every how many ticks a client asks for the room's clock: twice a second, as clients do.
pub const LOAD_PING_TICKS: u64 = 30;
/// The rate of every room.
pub const LOAD_TICK_RATE: TickRate = TickRate::Hz60;

/// How often an input changes.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum InputChange {
    /// Every seat's in every tick: sticks and mice.
    #[default]
    EveryTick,
    /// Every seat's once in so many ticks, not all at once: buttons that are held.
    Every {
        /// Ticks, at least one.
        ticks: u64,
    },
}

/// When a room hears that its records are kept.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Persistence {
    /// The room does not wait for it.
    #[default]
    NotAwaited,
    /// As soon as it has emitted them; only then it sends.
    AtOnce,
    /// So many ticks later; so long it holds back what it sends.
    AfterTicks(u16),
}

/// What is driven.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct LoadSetup {
    /// How many rooms.
    pub rooms: usize,
    /// The seats of each, all taken.
    pub seats: SeatCount,
    /// How often inputs change.
    pub inputs: InputChange,
    /// When records are kept.
    pub persistence: Persistence,
}

impl Default for LoadSetup {
    /// One room with one seat, inputs that change in every tick, no waiting for records.
    fn default() -> LoadSetup {
        let seats = SeatCount::new(1).expect("one seat is a count");
        LoadSetup { rooms: 1, seats, inputs: InputChange::default(), persistence: Persistence::default() }
    }
}

/// Messages or records, and their bytes.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Volume {
    /// How many; a message to two receivers counts twice.
    pub messages: u64,
    /// Their bytes, without what a transport puts around them.
    pub bytes: u64,
}

impl Volume {
    fn add(&mut self, messages: usize, bytes_each: usize) {
        self.messages += messages as u64;
        self.bytes += (messages * bytes_each) as u64;
    }
}

/// What went through all rooms together, greetings aside.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Traffic {
    /// Ticks confirmed, summed over the rooms.
    pub room_ticks: u64,
    /// From clients to rooms.
    pub up: Volume,
    /// From rooms to clients.
    pub down: Volume,
    /// From rooms to their logs.
    pub records: Volume,
}

impl Traffic {
    /// Ticks, summed over all seats of all rooms: what to divide by for a seat's share.
    #[must_use]
    pub fn seat_ticks(&self, seats: SeatCount) -> u64 {
        self.room_ticks * seats.count() as u64
    }
}

/// A room under load did something else than confirming the inputs it got.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
pub enum LoadFault {
    /// It did not confirm every tick, or not with everyone's own input, or it counted a message as wrong.
    #[error("room {room} confirmed {confirmed} of {played} ticks and counted {complaints} faults of its clients")]
    Room {
        /// Which room.
        room: usize,
        /// Ticks that it confirmed.
        confirmed: u64,
        /// Ticks that were played.
        played: u64,
        /// Inputs that were substituted, late, refused, doubled or in conflict, and messages that were refused.
        complaints: u64,
    },
}

/// The rooms, and what their clients send.
#[derive(Debug)]
pub struct RoomLoad {
    setup: LoadSetup,
    rooms: Vec<LoadedRoom>,
    clients: Clients,
    played: u64,
    traffic: Traffic,
}

#[derive(Debug)]
struct LoadedRoom {
    room: Room,
    /// The last record of each of the latest ticks, for whoever keeps records late.
    recorded: VecDeque<u64>,
    last_record: u64,
}

impl RoomLoad {
    /// Rooms whose seats are all taken and ready, before tick 0.
    ///
    /// # Errors
    /// [`RoomConfigError`] when the default rules contradict each other.
    pub fn new(setup: LoadSetup) -> Result<RoomLoad, RoomConfigError> {
        let descriptor = load_descriptor(setup.seats);
        let mut clients = Clients { identity: descriptor.identity(), ..Clients::default() };
        let mut rooms = Vec::with_capacity(setup.rooms);
        for number in 0..setup.rooms {
            let mut secret = [0; 32];
            secret[..8].copy_from_slice(&(number as u64).to_le_bytes());
            let mut config = RoomConfig::new(descriptor.clone());
            if setup.persistence != Persistence::NotAwaited {
                config.durability = Durability::EveryFrame;
            }
            let room = Room::new(config, RoomSecret(secret))?;
            let mut loaded = LoadedRoom { room, recorded: VecDeque::new(), last_record: 0 };
            loaded.greet(&mut clients, setup.seats);
            rooms.push(loaded);
        }
        Ok(RoomLoad { setup, rooms, clients, played: 0, traffic: Traffic::default() })
    }

    /// One tick of every room: everyone's messages arrive, the tick is confirmed, and what the room has for its clients and its
    /// log is taken and counted.
    pub fn turn(&mut self) {
        let (tick, now) = (Tick::new(self.played), LOAD_TICK_RATE.moment_of(Tick::new(self.played)));
        self.clients.encode(tick, &self.setup);
        for loaded in &mut self.rooms {
            for (client, message) in self.clients.messages() {
                self.traffic.up.add(1, message.len());
                loaded.room.handle_message(client, message, now);
            }
            loaded.room.handle_timeout(now);
            loaded.drain(self.setup.persistence, &mut self.traffic);
        }
        self.played += 1;
        self.traffic.room_ticks += self.rooms.len() as u64;
    }

    /// The ticks played.
    #[must_use]
    pub fn played(&self) -> u64 {
        self.played
    }

    /// What went through the rooms since they were made.
    #[must_use]
    pub fn traffic(&self) -> Traffic {
        self.traffic
    }

    /// Whether every room did all of its work: each tick is confirmed, with everyone's own input, and nothing was refused.
    ///
    /// # Errors
    /// [`LoadFault`] for the first room of which that is not so.
    pub fn check(&self) -> Result<(), LoadFault> {
        for (loaded, number) in self.rooms.iter().zip(0..) {
            let (confirmed, complaints) = (loaded.room.frontier().index(), complaints(&loaded.room));
            if confirmed != self.played || complaints > 0 {
                return Err(LoadFault::Room { room: number, confirmed, played: self.played, complaints });
            }
        }
        Ok(())
    }
}

impl LoadedRoom {
    fn greet(&mut self, clients: &mut Clients, seats: SeatCount) {
        let (identity, now) = (clients.identity, LOAD_TICK_RATE.moment_of(Tick::ZERO));
        let hello = Hello { protocol: PROTOCOL_VERSION, identity, entry: Entry::Join { ticket: b"" } };
        for client in connections(seats) {
            self.room.handle_connected(client, now);
            for message in [ClientMessage::Hello(hello), ClientMessage::Ready { generation: Generation(0) }] {
                clients.clear();
                clients.push(client, &message);
                clients.messages().for_each(|(client, bytes)| self.room.handle_message(client, bytes, now));
            }
        }
        self.drain(Persistence::AtOnce, &mut Traffic::default());
    }

    /// Takes the room's outputs. Records come first; if they count as kept now, what waited for them follows.
    fn drain(&mut self, persistence: Persistence, traffic: &mut Traffic) {
        let before = self.last_record;
        self.take_outputs(traffic);
        match persistence {
            Persistence::NotAwaited => return,
            Persistence::AtOnce if self.last_record == before => return,
            Persistence::AtOnce => self.room.handle_persisted(self.last_record),
            Persistence::AfterTicks(ticks) => {
                self.recorded.push_back(self.last_record);
                if self.recorded.len() > usize::from(ticks) {
                    self.recorded.pop_front().into_iter().for_each(|kept| self.room.handle_persisted(kept));
                }
            }
        }
        self.take_outputs(traffic);
    }

    fn take_outputs(&mut self, traffic: &mut Traffic) {
        while let Some(output) = self.room.poll_output() {
            match output {
                Output::Transmit { to, bytes } => traffic.down.add(to.len(), bytes.len()),
                Output::Persist { sequence, record } => {
                    self.last_record = sequence;
                    traffic.records.add(1, record.len());
                }
                Output::Close { .. } | Output::Event(_) => {}
            }
        }
    }
}

/// What the clients of one room send in one tick; those of every other room send the same.
#[derive(Debug)]
struct Clients {
    identity: Identity,
    bytes: Vec<u8>,
    /// Who sends, and where the message ends in the bytes.
    ends: Vec<(ConnectionId, usize)>,
}

impl Default for Clients {
    fn default() -> Clients {
        Clients { identity: Identity::from_bytes([0; 32]), bytes: Vec::new(), ends: Vec::new() }
    }
}

impl Clients {
    /// One input of each seat; a report of each state on the cadence, and now and then a ping.
    fn encode(&mut self, tick: Tick, setup: &LoadSetup) {
        self.clear();
        let (generation, epoch) = (Generation(0), ControlEpoch(1));
        for (client, seat) in connections(setup.seats).zip(0..) {
            let packed = load_input(seat, tick, setup.inputs);
            let inputs = InputRun::new(1, &packed).expect("one input of a few bytes is a run");
            self.push(client, &ClientMessage::Inputs(Inputs { generation, epoch, first: tick, inputs }));
            if tick.index() % u64::from(DEFAULT_CHECKSUM_CADENCE_TICKS) == 1 {
                let checksum = Checksum::of(&tick.index().to_le_bytes());
                self.push(client, &ClientMessage::Report { generation, tick, checksum });
            }
            if (tick.index() + seat).is_multiple_of(LOAD_PING_TICKS) {
                let sent_micros = LOAD_TICK_RATE.moment_of(tick).as_micros();
                self.push(client, &ClientMessage::Ping { sent_micros, rollbacks: 0 });
            }
        }
    }

    fn clear(&mut self) {
        self.bytes.clear();
        self.ends.clear();
    }

    fn push(&mut self, client: ConnectionId, message: &ClientMessage<'_>) {
        message.encode_into(&mut self.bytes);
        self.ends.push((client, self.bytes.len()));
    }

    fn messages(&self) -> impl Iterator<Item = (ConnectionId, &[u8])> {
        let starts = [0].into_iter().chain(self.ends.iter().map(|(_, end)| *end));
        self.ends.iter().zip(starts).map(|((client, end), start)| (*client, &self.bytes[start..*end]))
    }
}

/// A match of inputs with eight bytes. No game plays it: a room needs none.
///
/// # Panics
/// Never: its schema and manifest are valid.
#[must_use]
pub fn load_descriptor(seats: SeatCount) -> MatchDescriptor {
    let names = ["a", "b", "c", "d", "e", "f", "g", "h"];
    const { assert!(LOAD_INPUT_BYTES == 8, "a field for each byte") };
    let schema = names.iter().fold(InputSchema::builder("load/v1"), |schema, name| schema.integer(name, 0..=255));
    let schema = schema.build().expect("eight fields are a schema");
    let manifest = IdentityManifest::builder("native", 1, LOAD_TICK_RATE).input_schema(schema).build();
    let manifest = manifest.expect("a manifest without parts is one");
    MatchDescriptor::new(&manifest, SessionConfig::empty(), SessionSeed::from_u64(1), seats)
}

fn connections(seats: SeatCount) -> impl Iterator<Item = ConnectionId> {
    (0..seats.count() as u64).map(ConnectionId)
}

/// A seat's input: its bytes differ from seat to seat, and from one change to the next.
#[must_use]
pub fn load_input(seat: u64, tick: Tick, change: InputChange) -> [u8; LOAD_INPUT_BYTES] {
    let change = match change {
        InputChange::EveryTick => tick.index(),
        InputChange::Every { ticks } => (tick.index() + seat) / ticks.max(1),
    };
    (change.wrapping_mul(0x9E37_79B9_7F4A_7C15) ^ seat).to_le_bytes()
}

fn complaints(room: &Room) -> u64 {
    let stats = room.stats();
    let (seats, counters) = (stats.seats, stats.seats.counters);
    let inputs = counters.late_inputs + counters.conflicting_inputs + counters.refused_inputs;
    let made_up = seats.duplicate_inputs + seats.substituted_inputs;
    let messages = stats.stray_messages + stats.malformed_messages + stats.over_budget_connections;
    inputs + made_up + messages + seats.refused_reports + stats.refused_connections + stats.desyncs
}

#[cfg(test)]
mod tests {
    use super::*;

    fn played(setup: LoadSetup, ticks: u64) -> RoomLoad {
        let mut load = RoomLoad::new(setup).expect("the default rules");
        (0..ticks).for_each(|_| load.turn());
        load
    }

    fn four(inputs: InputChange, persistence: Persistence) -> LoadSetup {
        LoadSetup { rooms: 2, seats: SeatCount::new(4).expect("four"), inputs, persistence }
    }

    #[test]
    fn a12_every_room_confirms_every_tick_whenever_its_records_are_kept() {
        for persistence in [Persistence::NotAwaited, Persistence::AtOnce, Persistence::AfterTicks(3)] {
            let setup = four(InputChange::EveryTick, persistence);
            let load = played(setup, 200);
            assert_eq!(load.check(), Ok(()), "{persistence:?}");
            let traffic = load.traffic();
            // An input in every tick, two reports, and a ping in every half second, of each of eight seats.
            assert_eq!(traffic.up.messages, 8 * (200 + 2) + pings(200));
            assert_eq!(traffic.records.messages, 2 * 200);
            let held = if let Persistence::AfterTicks(ticks) = persistence { u64::from(ticks) } else { 0 };
            assert_eq!(traffic.down.messages, 8 * (200 - held) + pings(200), "{persistence:?}");
        }
    }

    /// Pings of two rooms of four seats.
    fn pings(ticks: u64) -> u64 {
        let of_a_tick = |tick: u64| (0..4).filter(|seat| (tick + seat).is_multiple_of(LOAD_PING_TICKS)).count() as u64;
        2 * (0..ticks).map(of_a_tick).sum::<u64>()
    }

    #[test]
    fn a2_inputs_that_are_held_cost_fewer_bytes_down_and_as_many_up() {
        let [moving, held] = [InputChange::EveryTick, InputChange::Every { ticks: 30 }]
            .map(|inputs| played(four(inputs, Persistence::NotAwaited), 600).traffic());
        assert_eq!(moving.up, held.up);
        assert_eq!(moving.down.messages, held.down.messages);
        assert!(2 * held.down.bytes < moving.down.bytes, "{held:?} against {moving:?}");
    }

    /// With eight bytes of input, which is more than most games need, and ticks that take three bytes, as they do for hours.
    #[test]
    fn a2_a_seat_gets_less_than_a_thousand_bytes_a_second_while_inputs_are_held() {
        let mut load = played(four(InputChange::Every { ticks: 30 }, Persistence::NotAwaited), 1 << 14);
        let before = load.traffic();
        (0..600).for_each(|_| load.turn());
        let (bytes, seconds) = (load.traffic().down.bytes - before.down.bytes, 10);
        assert_eq!(load.check(), Ok(()));
        let a_seat = bytes / (2 * 4 * seconds);
        // What no form saves: a tag of eight bytes in each release, and what changes.
        assert!((480..=1_000).contains(&a_seat), "{a_seat} bytes a second");
    }

    #[test]
    fn t3_a_room_that_did_not_do_its_work_is_found() {
        let mut load = played(four(InputChange::EveryTick, Persistence::NotAwaited), 10);
        load.rooms[1].room.handle_message(ConnectionId(2), b"no message", LOAD_TICK_RATE.moment_of(Tick::new(10)));
        let fault = LoadFault::Room { room: 1, confirmed: 10, played: 10, complaints: 1 };
        assert_eq!(load.check(), Err(fault));
        load.turn();
        assert!(matches!(load.check(), Err(LoadFault::Room { room: 1, .. })));
    }
}
