//! The room on its virtual clock, its log, and its peers; and the rules that whatever comes out is held to.

use std::collections::{BTreeMap, BTreeSet};

use retick_authority::log::{FIRST_SEQUENCE, FrameLog, MAX_RECORD_BYTES, MemoryLog, Record};
use retick_authority::room::{
    ConnectionId, Durability, OnLeave, Output, PausePolicy, ReconfigurePolicy, RestoreError, Room, RoomConfig,
    RoomEvent, RoomSecret, SeatPolicy, SeatState, StartPolicy,
};
use retick_core::codec::wire::Cursor;
use retick_core::config::SessionConfig;
use retick_core::frame::Frame;
use retick_core::identity::{IdentityManifest, MatchDescriptor};
use retick_core::input::InputSchema;
use retick_core::rng::SessionSeed;
use retick_core::runtime::Capabilities;
use retick_core::seat::{Generation, Seat, SeatCount};
use retick_core::tick::{Moment, Tick, TickRate};
use retick_core::wire::{ClientMessage, MAX_ROOM_MESSAGE_BYTES, RoomMessage};

use super::super::Seed;
use super::peer::Peer;
use super::script::Script;

/// Most connections that a script opens at a time.
pub(super) const MAX_PEERS: usize = 12;
/// Most outputs that one call makes: a few for each connection, and a record and a release for each tick that a call confirms.
const MAX_OUTPUTS_PER_CALL: usize = 400;
/// Most bytes that one call sends and writes down.
const MAX_BYTES_PER_CALL: usize = 2 << 20;

/// What a script led to.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Seen {
    /// Ticks that were confirmed, of every generation.
    pub ticks: u64,
    /// Frames that peers received.
    pub received_frames: u64,
    /// Seats that were claimed, and resumed.
    pub claims: u64,
    /// Seats that were resumed.
    pub resumes: u64,
    /// Drivers that changed.
    pub changes: u64,
    /// Generations that were begun.
    pub reconfigurations: u64,
    /// Snapshots that were kept.
    pub snapshots: u64,
    /// Restarts of the room.
    pub restarts: u64,
    /// Restarts from a log that begins with a summary.
    pub restarts_from_summaries: u64,
    /// Ticks that clients gave back after one.
    pub returned_ticks: u64,
}

/// Everything.
pub(super) struct Table {
    pub(super) room: Room,
    pub(super) log: MemoryLog,
    pub(super) peers: BTreeMap<ConnectionId, Peer>,
    /// The caller's clock, in nanoseconds.
    pub(super) nanos: u64,
    seats: SeatCount,
    /// Whether records are durable as soon as they are written.
    persists: bool,
    next_connection: u64,
    /// Every frame that was written down and not lost, by generation and tick.
    frames: BTreeMap<(Generation, Tick), Frame>,
    seen: Seen,
    captured: Option<Captured>,
}

fn config(script: &mut Script<'_>) -> (RoomConfig, bool) {
    let Some(seats) = SeatCount::new(1 + script.below(4)) else { panic!("one to four") };
    let range = i64::from(i32::MIN)..=i64::from(i32::MAX);
    let schema = InputSchema::builder("tally/v1").integer("value", range).build();
    let builder = IdentityManifest::builder("native", 1, TickRate::Hz60);
    let builder = builder.capabilities(Capabilities { commands: true, projection: false });
    let manifest = match schema.map(|schema| builder.input_schema(schema).build()) {
        Ok(Ok(manifest)) => manifest,
        other => panic!("a manifest: {other:?}"),
    };
    let descriptor = MatchDescriptor::new(&manifest, SessionConfig::empty(), SessionSeed::from_u64(1), seats);
    let mut config = RoomConfig { grace_millis: 1_500, greeting_millis: 900, ..RoomConfig::new(descriptor) };
    config.start = match script.below(5) {
        0 | 1 => StartPolicy::WhenFull,
        2 => StartPolicy::Manual,
        3 => StartPolicy::Creator,
        _ => StartPolicy::Minimum { seats: 1, countdown_millis: 200 },
    };
    let policy = script.byte();
    config.seats = SeatPolicy {
        recycle_vacated: policy & 1 == 1,
        humans_claim_bots: policy & 2 == 2,
        on_leave: if policy & 4 == 4 { OnLeave::Bot } else { OnLeave::Empty },
        initial_bots: Seat::new(0).filter(|_| policy & 24 == 24).into_iter().collect(),
    };
    let durability = script.byte();
    config.durability = match durability % 3 {
        0 => Durability::EveryFrame,
        1 => Durability::Interval,
        _ => Durability::None,
    };
    (config.pause, config.reconfigure) = (PausePolicy::Anyone, ReconfigurePolicy::Anyone);
    config.rules.checksum_cadence_ticks = 10;
    config.donation.snapshot_interval_millis = 500;
    config.donation.transfer_timeout_millis = 2_000;
    config.donation.replay_millis = 500;
    (config, durability & 128 == 0)
}

impl Table {
    pub(super) fn new(script: &mut Script<'_>) -> Table {
        let (config, persists) = config(script);
        let seats = config.descriptor.seats();
        let room = match Room::new(config, RoomSecret([0x5e; 32])) {
            Ok(room) => room,
            Err(error) => panic!("a config that can be: {error}"),
        };
        let (log, peers, frames) = (MemoryLog::new(), BTreeMap::new(), BTreeMap::new());
        let (nanos, next_connection, seen, captured) = (0, 0, Seen::default(), None);
        Table { room, log, peers, nanos, seats, persists, next_connection, frames, seen, captured }
    }

    /// One that keeps a message and a record of each kind.
    pub(super) fn capturing(script: &mut Script<'_>) -> Table {
        Table { captured: Some(Captured::default()), ..Table::new(script) }
    }

    pub(super) fn captured(self) -> Captured {
        self.captured.unwrap_or_default()
    }

    pub(super) fn now(&self) -> Moment {
        Moment::from_nanos(self.nanos)
    }

    /// The connection that a script means by this number.
    pub(super) fn connection(&self, number: u8) -> Option<ConnectionId> {
        let open: Vec<_> = self.peers.keys().collect();
        open.get(usize::from(number) % open.len().max(1)).map(|connection| **connection)
    }

    /// Opens a transport.
    pub(super) fn connect(&mut self) -> ConnectionId {
        let connection = ConnectionId(self.next_connection);
        self.next_connection += 1;
        if self.peers.len() >= MAX_PEERS {
            // The oldest that is gone is forgotten, or else the oldest is cut off.
            let gone = self.peers.iter().find(|(_, peer)| !peer.is_open).map(|(connection, _)| *connection);
            let oldest = gone.or_else(|| self.peers.keys().next().copied());
            oldest.into_iter().for_each(|connection| self.disconnect(connection, true));
        }
        self.peers.insert(connection, Peer { is_open: true, ..Peer::default() });
        let now = self.now();
        self.room.handle_connected(connection, now);
        self.drain();
        connection
    }

    pub(super) fn disconnect(&mut self, connection: ConnectionId, forget: bool) {
        let now = self.now();
        self.room.handle_disconnected(connection, now);
        if forget {
            self.peers.remove(&connection);
        } else if let Some(peer) = self.peers.get_mut(&connection) {
            peer.is_open = false;
        }
        self.drain();
    }

    pub(super) fn send(&mut self, connection: ConnectionId, bytes: &[u8]) {
        if let Some(captured) = &mut self.captured {
            captured.client_message(bytes);
        }
        let now = self.now();
        self.room.handle_message(connection, bytes, now);
        self.drain();
    }

    /// Confirms what is due, and lets a tick pass.
    pub(super) fn step(&mut self) {
        let now = self.now();
        self.room.handle_timeout(now);
        self.drain();
        self.nanos += 16_666_667;
    }

    /// Every record so far is durable.
    pub(super) fn persist(&mut self) {
        self.room.handle_persisted(u64::MAX);
        self.drain();
    }

    /// Does what the room wants done, and holds it against the rules.
    pub(super) fn drain(&mut self) {
        let (mut outputs, mut bytes_out, mut persisted) = (0, 0, None);
        loop {
            let is_recovering = self.room.is_recovering();
            let Table { room, log, peers, frames, seats, seen, captured, .. } = self;
            match room.poll_output() {
                None => match persisted.take().filter(|_| self.persists) {
                    Some(sequence) => room.handle_persisted(sequence),
                    None => break,
                },
                Some(Output::Persist { sequence, record }) => {
                    assert!(record.len() <= MAX_RECORD_BYTES);
                    assert_eq!(log.append(sequence, record), Ok(()), "records are gapless");
                    note_record(record, *seats, frames, seen);
                    captured.iter_mut().for_each(|captured| captured.record(record));
                    bytes_out += record.len();
                    persisted = Some(sequence);
                }
                Some(Output::Transmit { to, bytes }) => {
                    assert!(!to.is_empty() && bytes.len() <= MAX_ROOM_MESSAGE_BYTES);
                    assert_eq!(to.iter().collect::<BTreeSet<_>>().len(), to.len(), "one message for each receiver");
                    bytes_out += bytes.len() * to.len();
                    let message = match RoomMessage::decode(bytes) {
                        Ok(message) => message,
                        Err(error) => panic!("the room's messages are well-formed: {error}"),
                    };
                    captured.iter_mut().for_each(|captured| captured.room_message(bytes));
                    for connection in to {
                        let Some(peer) = peers.get_mut(connection) else { continue };
                        assert!(!peer.is_closed, "nothing comes after a close");
                        if !peer.is_open {
                            // It was on its way when the transport was lost.
                            continue;
                        }
                        for frame in peer.receive(&message, is_recovering, *seats) {
                            let known = frames.get(&(frame.generation(), frame.tick()));
                            assert_eq!(known, Some(&frame), "the same frame for everyone, and for the log");
                            seen.received_frames += 1;
                        }
                    }
                }
                Some(Output::Close { connection, .. }) => {
                    if let Some(peer) = peers.get_mut(&connection) {
                        assert!(!peer.is_closed, "closed once");
                        (peer.is_open, peer.is_closed) = (false, true);
                    }
                }
                Some(Output::Event(event)) => note_event(&event, seen),
            }
            outputs += 1;
        }
        // Where nothing is durable by itself, what waited for records leaves all together.
        let is_bounded = outputs <= MAX_OUTPUTS_PER_CALL && bytes_out <= MAX_BYTES_PER_CALL;
        assert!(is_bounded || !self.persists, "{outputs} outputs, {bytes_out} bytes");
    }

    /// What must hold of the room at any time.
    pub(super) fn check_room(&self) {
        let room = &self.room;
        let (generation, frontier) = (room.descriptor().generation(), room.frontier());
        let last = self.frames.range((generation, Tick::ZERO)..).next_back();
        let confirmed = last.map_or(Tick::ZERO, |((_, tick), _)| tick.saturating_add(1));
        assert_eq!(confirmed, frontier, "a frame for each tick, and a tick for each frame");
        if let Some(clock) = room.clock_tick() {
            assert!(frontier.index() <= clock.index() + 1, "no tick before its time");
        }
        let seats = room.descriptor().seats().seats();
        let is_held = |seat: &Seat| {
            matches!(room.seat_state(*seat), Some(SeatState::Joining | SeatState::Playing | SeatState::Disconnected))
        };
        assert!(seats.filter(is_held).count() + room.open_seats() <= self.seats.count());
        let open = self.peers.values().filter(|peer| peer.is_open);
        let seated: Vec<_> = open.filter_map(|peer| peer.seat).collect();
        assert_eq!(seated.iter().collect::<BTreeSet<_>>().len(), seated.len(), "one connection for each seat");
        assert!(room.history_start() <= frontier && room.observer_count() <= MAX_PEERS);
    }

    /// The room is gone with the newest `lost` frames of its log, and another one is made of the rest; of a summary, if the log is to
    /// forget what is before it.
    pub(super) fn restart(&mut self, lost: usize, forget: bool) {
        self.persist();
        if self.room.is_closed() {
            return;
        }
        let durability = self.room.settings().durability;
        self.room.summarize();
        self.drain();
        self.lose(if durability == Durability::EveryFrame { 0 } else { lost });
        let summary = self.log.records().filter(|(_, record)| Record::is_summary(record)).last();
        if let Some(sequence) = summary.map(|(sequence, _)| sequence).filter(|_| forget) {
            assert_eq!(self.log.forget_before(sequence), Ok(()));
            self.seen.restarts_from_summaries += 1;
        }
        self.room = match Room::restore(&mut self.log, durability) {
            Ok(room) => room,
            Err(error) => panic!("the room's own log: {error}"),
        };
        self.peers.values_mut().for_each(|peer| peer.is_open = false);
        self.seen.restarts += 1;
        self.drain();
    }

    /// Forgets up to so many records at the log's end, as far as they are frames and not needed by what follows.
    fn lose(&mut self, lost: usize) {
        if lost == 0 || self.log.first_sequence() != FIRST_SEQUENCE {
            return;
        }
        let mut kept: Vec<Vec<u8>> = self.log.records().map(|(_, record)| record.to_vec()).collect();
        if kept.last().is_some_and(|record| Record::is_summary(record)) {
            kept.pop();
        }
        for _ in 0..lost {
            match kept.last().map(|record| Record::decode(record)) {
                Some(Ok(Record::Frame { tick, .. })) => {
                    self.frames.remove(&(self.room.descriptor().generation(), tick));
                    kept.pop();
                }
                _ => break,
            }
        }
        self.log = MemoryLog::new();
        for (sequence, record) in (FIRST_SEQUENCE..).zip(&kept) {
            assert_eq!(self.log.append(sequence, record), Ok(()));
        }
    }

    /// What the log holds is what everyone was sent, its chain is whole, and the room is the same out of all of it and out of a
    /// summary.
    pub(super) fn finish(mut self) -> Seen {
        self.persist();
        self.check_room();
        if !self.room.is_closed() && !self.room.is_recovering() {
            self.room.summarize();
            self.drain();
            self.check_restored();
        }
        match self.log.kept_frames() {
            Ok(frames) => {
                for frame in frames {
                    let Ok(frame) = frame else { panic!("the chain is whole: {:?}", frame.err()) };
                    assert_eq!(self.frames.get(&(frame.generation(), frame.tick())), Some(&frame));
                }
            }
            Err(error) => panic!("a room's log: {error}"),
        }
        self.seen.ticks = self.frames.len() as u64;
        self.seen
    }

    fn check_restored(&self) {
        let durability = self.room.settings().durability;
        let (mut whole, mut short) = (self.log.clone(), self.log.clone());
        assert_eq!(short.forget_before(short.next_sequence() - 1), Ok(()), "it has just said all");
        let rooms = [&mut whole, &mut short].map(|log| Room::restore(log, durability));
        match &rooms {
            [Ok(whole), Ok(short)] => {
                assert_eq!(whole.chain_head(), short.chain_head());
                assert_eq!((whole.frontier(), whole.fence()), (short.frontier(), short.fence()));
                let states = |room: &Room| {
                    room.descriptor()
                        .seats()
                        .seats()
                        .map(|seat| (room.seat_state(seat), room.bot_lease(seat)))
                        .collect()
                };
                let (one, other): (Vec<_>, Vec<_>) = (states(whole), states(short));
                assert_eq!(one, other);
            }
            [Err(RestoreError::Ended { .. }), Err(RestoreError::Ended { .. })] => {}
            other => panic!("the room's own log: {:?}", other.iter().map(|it| it.as_ref().err()).collect::<Vec<_>>()),
        }
    }
}

fn note_record(record: &[u8], seats: SeatCount, frames: &mut BTreeMap<(Generation, Tick), Frame>, seen: &mut Seen) {
    let decoded = match Record::decode(record) {
        Ok(decoded) => decoded,
        Err(error) => panic!("the room's records are well-formed: {error}"),
    };
    match decoded {
        Record::Frame { tick, frame: bytes, .. } => {
            let (mut frame, mut cursor) = (Frame::new(Generation(0), tick), Cursor::new(bytes));
            assert_eq!(frame.decode_full(&mut cursor, seats), Ok(()), "the room's frames can be read");
            assert_eq!((frame.tick(), cursor.finish()), (tick, Ok(())));
            let before = tick.index().checked_sub(1).map(|before| (frame.generation(), Tick::new(before)));
            assert!(before.is_none_or(|before| frames.contains_key(&before)), "ticks are confirmed in order");
            assert!(frames.insert((frame.generation(), tick), frame).is_none(), "one frame for a tick");
        }
        Record::Reconfigured { .. } => seen.reconfigurations += 1,
        _ => {}
    }
}

fn note_event(event: &RoomEvent, seen: &mut Seen) {
    match event {
        RoomEvent::SeatClaimed { .. } => seen.claims += 1,
        RoomEvent::SeatResumed { .. } => seen.resumes += 1,
        RoomEvent::SeatChanged { .. } => seen.changes += 1,
        RoomEvent::SnapshotKept { .. } => seen.snapshots += 1,
        RoomEvent::Recovered { returned_ticks, .. } => seen.returned_ticks += returned_ticks,
        _ => {}
    }
}

/// One message and one record of each kind.
#[derive(Debug, Default)]
pub(super) struct Captured {
    kinds: BTreeMap<(u8, u8), Vec<u8>>,
}

impl Captured {
    fn keep(&mut self, tag: u8, bytes: &[u8]) {
        if let Some(kind) = bytes.first().filter(|_| bytes.len() < super::super::MAX_SEED_BYTES) {
            self.kinds.entry((tag, *kind)).or_insert_with(|| bytes.to_vec());
        }
    }

    fn client_message(&mut self, bytes: &[u8]) {
        if ClientMessage::decode(bytes).is_ok() {
            self.keep(0, bytes);
        }
    }

    fn room_message(&mut self, bytes: &[u8]) {
        self.keep(1, bytes);
    }

    fn record(&mut self, bytes: &[u8]) {
        self.keep(2, bytes);
        if let Ok(Record::Frame { frame, .. }) = Record::decode(bytes) {
            self.keep(3, frame);
        }
    }

    pub(super) fn add(&mut self, other: Captured) {
        for (kind, bytes) in other.kinds {
            self.kinds.entry(kind).or_insert(bytes);
        }
    }

    pub(super) fn seeds(self) -> Vec<Seed> {
        let names = ["client", "room", "record", "frame"];
        let seed = |((tag, kind), bytes): ((u8, u8), Vec<u8>)| {
            let name = format!("{}-{kind:02}", names[usize::from(tag)]);
            Seed::tagged(name.leak(), tag, &bytes)
        };
        self.kinds.into_iter().map(seed).collect()
    }
}
