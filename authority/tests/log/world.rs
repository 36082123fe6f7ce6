//! A room on a disk that forgets, and real clients that come back to it: what a machine is killed in the middle of.
//!
//! The network is a queue for each client. A kill cuts it anywhere, loses what the disk was not made to keep, and ends the room.
//! Clients live on, with every frame that reached them.

use std::collections::{BTreeMap, VecDeque};

use retick_authority::log::file::{Durability as LogDurability, FileLog, FileLogConfig, FileLogError, StoredSnapshot};
use retick_authority::log::{FIRST_SEQUENCE, FrameLog, Record};
use retick_authority::room::{ConnectionId, Durability, Output, RestoreError, Room, RoomConfig, RoomEvent, RoomSecret};
use retick_core::client::{Client, ClientConfig, EndReason, Output as ClientOutput};
use retick_core::config::{ConfigSchema, SessionConfig};
use retick_core::digest::Digest;
use retick_core::frame::{Frame, FrameChain, FrameKey, FrameRunReader};
use retick_core::identity::MatchDescriptor;
use retick_core::input::{GameInput, InputSchema, Packer, Unpacker};
use retick_core::rng::SessionSeed;
use retick_core::runtime::{
    Capabilities, GameDescription, InitContext, NativeFactory, NoCommand, RuntimeFactory, Simulation, StepContext,
};
use retick_core::seat::SeatCount;
use retick_core::tick::{Moment, Tick, TickRate};
use retick_core::wire::{CloseReason, Frames, Refusal, ResumeToken, RoomMessage};
use serde::{Deserialize, Serialize};

use crate::disk::{Dice, Disk};

pub const SEATS: u8 = 4;
const TURN_NANOS: u64 = 16_666_667;

#[derive(Clone)]
struct Push(i64);

impl GameInput for Push {
    fn schema() -> InputSchema {
        InputSchema::builder("sum/input/v1").integer("push", 0..=255).build().unwrap()
    }

    fn pack(&self, packer: &mut Packer<'_>) {
        packer.integer(self.0);
    }

    fn unpack(unpacker: &mut Unpacker<'_>) -> Push {
        Push(unpacker.integer())
    }
}

#[derive(Clone, Serialize, Deserialize)]
struct Sum(u64);

impl Simulation for Sum {
    type Input = Push;
    type Command = NoCommand;

    fn describe() -> GameDescription {
        GameDescription {
            tick_rate: TickRate::Hz60,
            state_schema: "sum/state/v1",
            config_schema: ConfigSchema::empty(),
            seats: 1..=8,
            capabilities: Capabilities::default(),
        }
    }

    fn init(_: &InitContext<'_>) -> Result<Self, u32> {
        Ok(Sum(1))
    }

    fn step(&mut self, context: &StepContext<'_, Self>) {
        for seat in context.seats() {
            self.0 = self.0.wrapping_mul(31).wrapping_add(context.input(seat).0.cast_unsigned());
        }
    }
}

fn factory() -> NativeFactory<Sum> {
    NativeFactory::<Sum>::new(|manifest| manifest.module("sum.rs", b"sum")).unwrap()
}

fn descriptor() -> MatchDescriptor {
    let factory = factory();
    let config = SessionConfig::from_bytes(factory.manifest().config_schema().encode(&[]).unwrap().bytes()).unwrap();
    MatchDescriptor::new(factory.manifest(), config, SessionSeed::from_u64(5), SeatCount::new(SEATS).unwrap())
}

/// The machine died.
#[derive(Debug)]
pub struct Killed;

/// What became of snapshots, so that a run without any is seen.
#[derive(Clone, Copy, Default, Debug)]
pub struct Snapshots {
    pub kept: u64,
    pub killed_while_keeping: u64,
    /// Rooms that were restored from a log which had forgotten its first records.
    pub restored_without_the_first: u64,
}

/// One player's machine.
pub struct Machine {
    pub client: Client,
    connection: Option<ConnectionId>,
    /// What is on its way to it.
    inbox: VecDeque<Vec<u8>>,
    /// Turns until it comes back.
    returns_in: Option<u64>,
    pub token: Option<ResumeToken>,
    /// The room's run in which it received frames last.
    pub last_run: u64,
}

impl Machine {
    fn new() -> Machine {
        let client = Client::new(ClientConfig::default(), Box::new(factory()));
        Machine { client, connection: None, inbox: VecDeque::new(), returns_in: Some(0), token: None, last_run: 0 }
    }

    /// The first tick that it does not have, and the head of its chain.
    pub fn history(&self) -> Option<(Tick, Digest)> {
        Some((self.client.session()?.received(), self.client.chain_head()?))
    }

    pub fn is_forked(&self) -> bool {
        matches!(
            self.client.end(),
            Some(
                EndReason::Refused(Refusal::HistoryForked { .. })
                    | EndReason::Closed(CloseReason::HistoryForked { .. })
            )
        )
    }

    pub fn is_connected(&self) -> bool {
        self.connection.is_some() && self.client.is_greeted()
    }

    fn receive(&mut self, bytes: &[u8], now: Moment) {
        if let Ok(RoomMessage::Welcome(welcome)) = RoomMessage::decode(bytes) {
            self.token = welcome.claim.map(|claim| claim.token);
        }
        // An end is looked for later.
        let _ = self.client.handle_message(bytes, now);
    }
}

/// A room's run, as long as its machine lives.
struct Run {
    room: Room,
    log: FileLog<Disk>,
}

pub struct World {
    pub disk: Disk,
    config: FileLogConfig,
    run: Option<Run>,
    pub machines: Vec<Machine>,
    pub now: Moment,
    connections: u64,
    runs: u64,
    /// Every frame that has left the room in any run, by tick: the latest.
    pub released: BTreeMap<u64, Frame>,
    last_read: BTreeMap<ConnectionId, Frame>,
    pub events: Vec<RoomEvent>,
    /// The chain's heads before each tick and behind the last, also of frames that the room has forgotten.
    heads: Vec<Digest>,
    pub snapshots: Snapshots,
}

impl World {
    pub fn new(config: FileLogConfig) -> World {
        World {
            disk: Disk::new(),
            config,
            run: None,
            machines: (0..SEATS).map(|_| Machine::new()).collect(),
            now: Moment::ZERO,
            connections: 0,
            runs: 0,
            released: BTreeMap::new(),
            last_read: BTreeMap::new(),
            events: Vec::new(),
            heads: vec![FrameChain::new(&descriptor()).head()],
            snapshots: Snapshots::default(),
        }
    }

    fn durability(&self) -> Durability {
        match self.config.durability {
            LogDurability::EveryFrame => Durability::EveryFrame,
            LogDurability::Interval(_) => Durability::Interval,
            LogDurability::None => Durability::None,
        }
    }

    pub fn room(&self) -> &Room {
        &self.run.as_ref().expect("it runs").room
    }

    /// Starts the machine, with a new room on an empty disk or the one in the log.
    ///
    /// # Errors
    /// [`Killed`] when it died again before it could serve.
    pub fn start(&mut self) -> Result<(), Killed> {
        let opened = FileLog::open(self.disk.clone(), self.config);
        let mut log = match opened {
            Ok(log) => log,
            Err(FileLogError::Storage { .. }) => return Err(Killed),
            Err(error) => panic!("a crash is no damage: {error}"),
        };
        let room = match Room::restore(&mut log, self.durability()) {
            Ok(mut room) => {
                self.restore_snapshot(&mut log, &mut room)?;
                room
            }
            Err(RestoreError::Empty) => {
                assert!(self.machines.iter().all(|machine| machine.token.is_none()), "nobody was greeted by no room");
                let mut config = RoomConfig { durability: self.durability(), ..RoomConfig::new(descriptor()) };
                // Several snapshots in a life.
                config.rules.checksum_cadence_ticks = 5;
                config.donation.snapshot_interval_millis = 150;
                Room::new(config, RoomSecret([9; 32])).unwrap()
            }
            Err(RestoreError::Log(FileLogError::Storage { .. })) => return Err(Killed),
            Err(error) => panic!("{error}"),
        };
        // What the log lost was never known, or comes back, or is done otherwise.
        self.heads.truncate(usize::try_from(room.frontier().index()).unwrap() + 1);
        let head = room.chain_head();
        self.runs += 1;
        self.run = Some(Run { room, log });
        self.note_heads();
        assert_eq!(self.heads.last(), Some(&head), "what is left is as it was");
        // What a run begins with is on the disk before anyone is served.
        self.persist(true)
    }

    /// Whatever the machine was killed in, the snapshot is one of the log's history, and newcomers need nothing before it.
    fn restore_snapshot(&mut self, log: &mut FileLog<Disk>, room: &mut Room) -> Result<(), Killed> {
        let stored = match log.snapshot() {
            Ok(stored) => stored,
            Err(FileLogError::Storage { .. }) => return Err(Killed),
            Err(error) => panic!("a crash is no damage: {error}"),
        };
        if log.first_sequence() > FIRST_SEQUENCE {
            assert!(stored.is_some(), "nothing is forgotten without a snapshot");
            self.snapshots.restored_without_the_first += 1;
        }
        let Some(StoredSnapshot { generation, tick, fence, bytes }) = stored else { return Ok(()) };
        assert_eq!(generation, room.descriptor().generation());
        assert!((room.history_start()..=room.frontier()).contains(&tick) && fence == room.fence_before(tick));
        room.restore_snapshot(bytes).expect("a state of this history");
        Ok(())
    }

    /// Everyone comes back after so many turns, or not in this run.
    pub fn plan_returns(&mut self, mut after: impl FnMut() -> Option<u64>) {
        for machine in &mut self.machines {
            machine.returns_in = after();
        }
    }

    /// One turn of everything.
    ///
    /// # Errors
    /// [`Killed`] when the machine died in it.
    pub fn turn(&mut self) -> Result<(), Killed> {
        self.now = self.now.plus_nanos(TURN_NANOS);
        for index in 0..self.machines.len() {
            self.connect_if_due(index)?;
            self.play(index)?;
        }
        let now = self.now;
        self.running().room.handle_timeout(now);
        self.carry_out()?;
        self.note_heads();
        Ok(())
    }

    fn note_heads(&mut self) {
        let Some(Run { room, .. }) = &self.run else { return };
        let mut chain = FrameChain::from_head(self.heads[self.heads.len() - 1]);
        for tick in self.heads.len() as u64 - 1..room.frontier().index() {
            chain.extend(&room.frame(Tick::new(tick)).unwrap());
            self.heads.push(chain.head());
        }
    }

    fn running(&mut self) -> &mut Run {
        self.run.as_mut().expect("it runs")
    }

    fn connect_if_due(&mut self, index: usize) -> Result<(), Killed> {
        let (now, connection) = (self.now, ConnectionId(self.connections));
        let machine = &mut self.machines[index];
        let Some(left) = machine.returns_in.filter(|_| machine.connection.is_none() && machine.client.end().is_none())
        else {
            return Ok(());
        };
        machine.returns_in = left.checked_sub(1);
        if left == 0 {
            machine.connection = Some(connection);
            machine.client.handle_connected(now);
            self.connections += 1;
            self.running().room.handle_connected(connection, now);
            self.carry_out()?;
        }
        Ok(())
    }

    fn play(&mut self, index: usize) -> Result<(), Killed> {
        let now = self.now;
        let machine = &mut self.machines[index];
        let before = machine.history();
        while let Some(bytes) = machine.inbox.pop_front() {
            machine.receive(&bytes, now);
        }
        if machine.history() != before {
            machine.last_run = self.runs;
        }
        machine.client.handle_turn(now);
        while let Some(tick) = machine.client.wanted_input() {
            let push = (tick.index() / 3 * 7 + index as u64) % 256;
            machine.client.submit_input(&[u8::try_from(push).unwrap()]).unwrap();
        }
        let _ = machine.client.step();
        let mut sent = Vec::new();
        while let Some(output) = machine.client.poll_output() {
            if let ClientOutput::Transmit(bytes) = output {
                sent.push(bytes.to_vec());
            }
        }
        let Some(connection) = machine.connection else { return Ok(()) };
        for bytes in sent {
            self.running().room.handle_message(connection, &bytes, now);
            self.carry_out()?;
        }
        Ok(())
    }

    /// Writes down what the room wants written down, and tells it what is on the disk.
    fn persist(&mut self, forced: bool) -> Result<(), Killed> {
        let (now, Some(Run { room, log })) = (self.now, &mut self.run) else { return Ok(()) };
        let mut urgent = forced;
        let mut waiting = Vec::new();
        while let Some(output) = room.poll_output() {
            match output {
                Output::Persist { sequence, record } => {
                    urgent |= !matches!(Record::decode(record), Ok(Record::Frame { .. }));
                    log.append(sequence, record).map_err(|_| Killed)?;
                }
                other => waiting.push(Kept::of(other)),
            }
        }
        let synced = if urgent { log.sync() } else { log.sync_due(now) };
        let synced = synced.map_err(|_| Killed)?;
        if let Some(sequence) = synced {
            room.handle_persisted(sequence);
        }
        waiting.into_iter().try_for_each(|kept| self.deliver(kept))
    }

    /// Puts the room's newest snapshot beside its log, as the service does.
    fn keep_snapshot(&mut self) -> Result<(), Killed> {
        let Run { room, log } = self.running();
        let Some(kept) = room.newest_snapshot() else { return Ok(()) };
        let (generation, fence) = (room.descriptor().generation(), room.fence_before(kept.tick));
        let stored = StoredSnapshot { generation, tick: kept.tick, fence, bytes: kept.bytes.to_vec() };
        let done = log.keep_snapshot(&stored);
        room.summarize();
        self.snapshots.kept += 1;
        if done.is_err() {
            self.snapshots.killed_while_keeping += 1;
            return Err(Killed);
        }
        Ok(())
    }

    fn carry_out(&mut self) -> Result<(), Killed> {
        self.persist(false)?;
        // What waited for the records of this turn.
        self.persist(false)
    }

    fn deliver(&mut self, kept: Kept) -> Result<(), Killed> {
        match kept {
            Kept::Transmit(to, bytes) => {
                if let Ok(RoomMessage::Frames(frames)) = RoomMessage::decode(&bytes) {
                    self.note_released(&to, &frames);
                }
                for machine in &mut self.machines {
                    if machine.connection.is_some_and(|connection| to.contains(&connection)) {
                        machine.inbox.push_back(bytes.clone());
                    }
                }
            }
            Kept::Close(connection) => {
                let now = self.now;
                let closed = self.machines.iter_mut().find(|machine| machine.connection == Some(connection));
                if let Some(machine) = closed {
                    while let Some(bytes) = machine.inbox.pop_front() {
                        machine.receive(&bytes, now);
                    }
                    machine.connection = None;
                    machine.client.handle_disconnected(now);
                }
            }
            Kept::Event(event) => {
                self.events.push(event);
                if matches!(event, RoomEvent::SnapshotKept { .. }) {
                    self.keep_snapshot()?;
                }
            }
        }
        Ok(())
    }

    fn note_released(&mut self, to: &[ConnectionId], frames: &Frames<'_>) {
        let mut run = FrameRunReader::new(frames.body);
        let mut last = self.last_read.get(&to[0]).cloned();
        for offset in 0..u64::from(frames.count) {
            let tick = frames.first.saturating_add(offset);
            let base = if offset == 0 && frames.complete { None } else { last.as_ref() };
            let mut frame = Frame::new(frames.generation, tick);
            let key = FrameKey { generation: frames.generation, tick, seats: SeatCount::new(SEATS).unwrap() };
            run.read(&mut frame, base, key).expect("the room's frames");
            self.released.insert(tick.index(), frame.clone());
            last = Some(frame);
        }
        for connection in to {
            self.last_read.extend(last.clone().map(|frame| (*connection, frame)));
        }
    }

    /// The machine's end: of what is on its way, each client gets some.
    pub fn kill(&mut self, dice: &mut Dice, tear: crate::disk::Tear) {
        self.run = None;
        self.last_read.clear();
        let now = self.now;
        for machine in &mut self.machines {
            let (arrives, before) = (dice.index(machine.inbox.len() + 1), machine.history());
            for bytes in machine.inbox.drain(..).take(arrives).collect::<Vec<_>>() {
                machine.receive(&bytes, now);
            }
            if machine.history() != before {
                machine.last_run = self.runs;
            }
            let _ = machine.client.step();
            machine.connection = None;
            machine.client.handle_disconnected(now);
            while machine.client.poll_output().is_some() {}
        }
        self.disk.crash(dice, tear);
    }

    /// The chain's heads of the room, before each tick and behind the last.
    pub fn heads(&self) -> &[Digest] {
        let (room, heads) = (self.room(), &self.heads);
        let start = usize::try_from(room.history_start().index()).unwrap();
        let mut chain = FrameChain::from_head(heads[start]);
        for (tick, head) in (room.history_start().index()..room.frontier().index()).zip(&heads[start + 1..]) {
            chain.extend(&room.frame(Tick::new(tick)).unwrap());
            assert_eq!(chain.head(), *head);
        }
        assert_eq!(heads.last(), Some(&room.chain_head()));
        heads
    }
}

/// An output that waits until the records before it are handled.
enum Kept {
    Transmit(Vec<ConnectionId>, Vec<u8>),
    Close(ConnectionId),
    Event(RoomEvent),
}

impl Kept {
    fn of(output: Output<'_>) -> Kept {
        match output {
            Output::Transmit { to, bytes } => Kept::Transmit(to.to_vec(), bytes.to_vec()),
            Output::Close { connection, .. } => Kept::Close(connection),
            Output::Event(event) => Kept::Event(event),
            Output::Persist { .. } => unreachable!("records are kept at once"),
        }
    }
}
