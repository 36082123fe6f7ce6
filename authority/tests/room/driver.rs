//! A match of raw seats: at authority tick A deliver, then confirm, then A + 1 (section 0 of the case file).

use std::collections::BTreeMap;

use retick_authority::log::{FrameLog, MemoryLog, Record};
use retick_authority::room::{
    CloseCause, ConnectionId, Durability, Output, Room, RoomConfig, RoomEvent, RoomSecret, Verification,
};
use retick_core::config::SessionConfig;
use retick_core::digest::{Checksum, Identity};
use retick_core::frame::{Frame, FrameKey, FrameRunReader, FrameRunWriter};
use retick_core::identity::{IdentityManifest, MatchDescriptor};
use retick_core::input::InputSchema;
use retick_core::rng::SessionSeed;
use retick_core::runtime::Capabilities;
use retick_core::seat::{ControlEpoch, Generation, Seat, SeatCount};
use retick_core::tick::{Moment, Tick, TickRate};
use retick_core::wire::{
    ClaimId, ClientMessage, CloseReason, Entry, Frames, Hello, History, InputRun, Inputs, InquiryId, NoSnapshot,
    PROTOCOL_VERSION, PlayerId, Question, Refusal, ReleaseTag, ResumeToken, RoomClock, RoomMessage, SeatCounters,
    SeatView, Settlement, SnapshotHeader, TransferId, Welcome,
};

pub const GENERATION: Generation = Generation(0);
pub const SECRET: RoomSecret = RoomSecret([0x5e; 32]);

pub fn seat(index: usize) -> Seat {
    Seat::new(u8::try_from(index).expect("small")).expect("a seat")
}

pub fn descriptor(seats: usize, rate: TickRate) -> MatchDescriptor {
    descriptor_of(seats, rate, Capabilities { commands: true, projection: false })
}

pub fn descriptor_of(seats: usize, rate: TickRate, capabilities: Capabilities) -> MatchDescriptor {
    let range = i64::from(i32::MIN)..=i64::from(i32::MAX);
    let schema = InputSchema::builder("tally/v1").integer("value", range).build().expect("a valid schema");
    let builder = IdentityManifest::builder("native", 1, rate).capabilities(capabilities);
    let manifest = builder.input_schema(schema).build().expect("a valid manifest");
    let seats = SeatCount::new(u8::try_from(seats).expect("small")).expect("a count");
    MatchDescriptor::new(&manifest, SessionConfig::empty(), SessionSeed::from_u64(1), seats)
}

/// A config at 60 Hz with this tolerance.
pub fn config(seats: usize, hard_tolerance_ticks: u16) -> RoomConfig {
    let mut config = RoomConfig::new(descriptor(seats, TickRate::Hz60));
    config.rules.hard_tolerance_ticks = hard_tolerance_ticks;
    config
}

/// The script of the fixture TALLY.
pub fn zig(seat: u64, tick: u64) -> i32 {
    i32::try_from((7 * tick + 3 * seat) % 11).expect("small") - 5
}

pub fn bytes_of(message: &ClientMessage<'_>) -> Vec<u8> {
    let mut bytes = Vec::new();
    message.encode_into(&mut bytes);
    bytes
}

pub fn hello(identity: Identity, entry: Entry<'_>) -> Vec<u8> {
    bytes_of(&ClientMessage::Hello(Hello { protocol: PROTOCOL_VERSION, identity, entry }))
}

/// What a client was told, frames aside.
#[derive(Clone, PartialEq, Debug)]
pub enum Notice {
    Welcome {
        seat: Seat,
        frontier: Tick,
    },
    Watching {
        frontier: Tick,
    },
    Activated(Tick),
    Paused(Tick),
    Resumed(RoomClock),
    Reconfigured(Generation),
    Agreed {
        tick: Tick,
        result: Vec<u8>,
    },
    Disputed,
    Refused(Refusal),
    Started(RoomClock),
    Pong {
        sent_micros: u64,
        clock: Option<RoomClock>,
        counters: SeatCounters,
    },
    Desync {
        tick: Tick,
        values: Vec<(Seat, Checksum)>,
    },
    Verdict {
        tick: Tick,
        checksum: Checksum,
        wrong: Vec<Seat>,
    },
    Asked(InquiryId, Question),
    Ephemeral {
        seat: Seat,
        payload: Vec<u8>,
    },
    Closing(CloseReason),
    TailWanted(u64),
    /// A part of a snapshot's way.
    Transfer(Transfer),
}

/// What a peer was told of snapshots (A7).
#[derive(Clone, PartialEq, Debug)]
pub enum Transfer {
    Wanted { transfer: TransferId, tick: u64 },
    Progress { transfer: TransferId, next: u32 },
    Canceled { transfer: TransferId },
    Snapshot { header: SnapshotHeader, verified: bool },
    Chunk { transfer: TransferId, index: u32, bytes: Vec<u8> },
    None { cause: NoSnapshot },
}

/// One connection's side.
#[derive(Debug, Default)]
pub struct Peer {
    pub seat: Option<Seat>,
    pub claim: ClaimId,
    pub epoch: ControlEpoch,
    pub token: Option<ResumeToken>,
    pub history: Option<History>,
    pub generation: Generation,
    /// What it was told last of who is there.
    pub roster: Option<(bool, Vec<SeatView>)>,
    /// How often it was told.
    pub rosters: usize,
    /// Every byte that was sent to it.
    pub stream: Vec<u8>,
    pub notices: Vec<Notice>,
    pub closed: Option<CloseCause>,
    /// The frames that came, from `first` on.
    pub frames: Vec<Frame>,
    pub first: u64,
    /// The messages that brought them: first tick, count, complete.
    pub releases: Vec<(u64, u32, bool)>,
    /// The tag of each release point.
    pub tags: BTreeMap<u64, ReleaseTag>,
}

impl Peer {
    pub fn next(&self) -> u64 {
        self.first + self.frames.len() as u64
    }

    pub fn token(&self) -> ResumeToken {
        self.token.expect("a greeted peer")
    }

    pub fn refusal(&self) -> Option<Refusal> {
        self.notices.iter().find_map(|notice| if let Notice::Refused(refusal) = notice { Some(*refusal) } else { None })
    }

    fn receive_welcome(&mut self, welcome: &Welcome<'_>) {
        let descriptor = MatchDescriptor::from_bytes(welcome.descriptor).expect("the greeting holds the descriptor");
        self.generation = descriptor.generation();
        self.history = Some(welcome.history);
        if let History::Frames { next } = welcome.history {
            self.first = next.index();
        }
        let Some(claim) = welcome.claim else { return };
        self.seat = Some(claim.seat);
        (self.claim, self.epoch, self.token) = (claim.id, claim.epoch, Some(claim.token));
    }

    fn start_over(&mut self, generation: Generation) {
        self.generation = generation;
        self.first = 0;
        self.frames.clear();
        self.releases.clear();
        self.tags.clear();
    }

    /// Whether these bytes occur in anything that it was sent.
    pub fn was_sent(&self, bytes: &[u8]) -> bool {
        self.stream.windows(bytes.len()).any(|window| window == bytes)
    }

    fn receive_frames(&mut self, frames: &Frames<'_>, seats: SeatCount) {
        let generation = self.generation;
        assert_eq!((frames.generation, frames.first.index()), (generation, self.next()), "frames are gapless");
        self.releases.push((frames.first.index(), frames.count, frames.complete));
        self.tags.insert(frames.first.index() + u64::from(frames.count), frames.tag);
        let mut run = FrameRunReader::new(frames.body);
        for offset in 0..u64::from(frames.count) {
            let tick = frames.first.checked_add(offset).expect("a tick");
            let base = if frames.complete && offset == 0 { None } else { self.frames.last() };
            let mut frame = Frame::new(generation, tick);
            let key = FrameKey { generation, tick, seats };
            run.read(&mut frame, base, key).expect("a well-formed frame");
            self.frames.push(frame);
        }
        run.finish().expect("nothing behind the frames");
    }
}

pub struct Match {
    pub room: Room,
    pub rate: TickRate,
    seats: SeatCount,
    /// The authority tick A.
    pub tick: u64,
    pub log: MemoryLog,
    pub peers: BTreeMap<ConnectionId, Peer>,
    pub events: Vec<RoomEvent>,
    /// At which authority tick each tick was confirmed.
    pub when: Vec<u64>,
    /// Whether records are durable as soon as they are emitted.
    pub persists: bool,
    /// Frames that the log has forgotten.
    forgotten: Vec<Frame>,
    tags: BTreeMap<(Generation, u64), ReleaseTag>,
    next_connection: u64,
    /// Caller's time by which the clock is ahead of the authority ticks.
    pub skew_nanos: u64,
}

impl Match {
    pub fn new(config: RoomConfig) -> Match {
        let (rate, seats) = (config.descriptor.tick_rate(), config.descriptor.seats());
        Match {
            room: Room::new(config, SECRET).expect("a valid config"),
            rate,
            seats,
            tick: 0,
            log: MemoryLog::new(),
            peers: BTreeMap::new(),
            events: Vec::new(),
            when: Vec::new(),
            persists: true,
            forgotten: Vec::new(),
            tags: BTreeMap::new(),
            next_connection: 0,
            skew_nanos: 0,
        }
    }

    /// A started match: everyone joined and is ready.
    pub fn started(config: RoomConfig) -> (Match, Vec<ConnectionId>) {
        let seats = config.descriptor.seats().count();
        let mut game = Match::new(config);
        let clients = (0..seats).map(|_| game.join_ready()).collect();
        assert!(game.room.clock_tick().is_some(), "a full room has started");
        (game, clients)
    }

    pub fn now(&self) -> Moment {
        self.rate.moment_of(Tick::new(self.tick)).plus_nanos(self.skew_nanos)
    }

    pub fn connect(&mut self) -> ConnectionId {
        let client = ConnectionId(self.next_connection);
        self.next_connection += 1;
        self.peers.insert(client, Peer::default());
        self.room.handle_connected(client, self.now());
        self.drain();
        client
    }

    pub fn join(&mut self) -> ConnectionId {
        let client = self.connect();
        let bytes = hello(self.room.descriptor().identity(), Entry::Join { ticket: b"" });
        self.send_bytes(client, &bytes);
        client
    }

    pub fn join_ready(&mut self) -> ConnectionId {
        let client = self.join();
        self.ready(client);
        client
    }

    /// Somebody who watches, and has the frames before `next`.
    pub fn observe(&mut self, next: u64) -> ConnectionId {
        self.observe_in(GENERATION, next)
    }

    pub fn observe_in(&mut self, generation: Generation, next: u64) -> ConnectionId {
        let client = self.connect();
        self.peer_mut(client).first = next;
        let before = next.checked_sub(1).and_then(|tick| self.room.frame(Tick::new(tick)));
        let fence = before.map(|frame| frame.fence());
        let entry = Entry::Observe { ticket: b"", generation, next: Tick::new(next), fence };
        let bytes = hello(self.room.descriptor().identity(), entry);
        self.send_bytes(client, &bytes);
        client
    }

    /// The room's own referee, as its driver announces it.
    pub fn observe_as_referee(&mut self) -> ConnectionId {
        let client = ConnectionId(self.next_connection);
        self.next_connection += 1;
        self.peers.insert(client, Peer::default());
        self.room.handle_referee_connected(client, self.now());
        self.drain();
        let entry = Entry::Observe { ticket: b"", generation: GENERATION, next: Tick::ZERO, fence: None };
        let bytes = hello(self.room.descriptor().identity(), entry);
        self.send_bytes(client, &bytes);
        client
    }

    /// A player whom the backend knows joins.
    pub fn join_as(&mut self, player: PlayerId) -> ConnectionId {
        let client = self.connect();
        self.room.handle_admitted(client, player);
        let bytes = hello(self.room.descriptor().identity(), Entry::Join { ticket: b"" });
        self.send_bytes(client, &bytes);
        client
    }

    pub fn ready(&mut self, client: ConnectionId) {
        let generation = self.peer(client).generation;
        self.send(client, &ClientMessage::Ready { generation });
    }

    /// Plays this input for every tick until A is `until`, on every connection, as far as the room lets it.
    pub fn play(&mut self, clients: &[ConnectionId], until: u64) {
        while self.tick < until {
            let tick = self.tick;
            clients.iter().for_each(|client| self.input(*client, tick, 1));
            self.step();
        }
    }

    /// A new transport that resumes a seat from `next` on.
    pub fn resume(&mut self, seat: Seat, token: ResumeToken, next: u64) -> ConnectionId {
        self.resume_in(GENERATION, seat, token, next)
    }

    pub fn resume_in(&mut self, generation: Generation, seat: Seat, token: ResumeToken, next: u64) -> ConnectionId {
        let before = next.checked_sub(1).and_then(|tick| self.room.frame(Tick::new(tick)));
        self.resume_with(seat, token, (generation, next, before.map(|frame| frame.fence())))
    }

    /// A new transport that resumes a seat with this generation, first missing tick and fence.
    pub fn resume_with(
        &mut self,
        seat: Seat,
        token: ResumeToken,
        (generation, next, fence): (Generation, u64, Option<u32>),
    ) -> ConnectionId {
        let client = self.connect();
        self.peer_mut(client).first = next;
        let entry = Entry::Resume { seat, token, generation, next: Tick::new(next), fence };
        let bytes = hello(self.room.descriptor().identity(), entry);
        self.send_bytes(client, &bytes);
        client
    }

    /// The room is gone, and another one is made of the first `records` records of its log.
    pub fn restart(&mut self, records: u64, durability: Durability) {
        let mut log = MemoryLog::new();
        if records >= self.log.next_sequence() - 1 {
            log.clone_from(&self.log);
        } else {
            for (sequence, record) in self.log.records().take_while(|(sequence, _)| *sequence <= records) {
                log.append(sequence, record).expect("in order");
            }
        }
        self.room = Room::restore(&mut log, durability).expect("a room's log");
        self.log = log;
        self.tags.clear();
        self.drain();
    }

    /// The room says all in one record, and the log forgets those before it.
    pub fn forget(&mut self) {
        self.room.summarize();
        self.drain();
        let summary = self.log.records().filter(|(_, record)| Record::is_summary(record)).last();
        let Some((sequence, _)) = summary else { return };
        self.forgotten = self.logged();
        self.log.forget_before(sequence).expect("a summary");
        let kept = self.log.kept_frames().expect("a room's log").count();
        self.forgotten.truncate(self.forgotten.len() - kept);
    }

    /// Every frame that was ever confirmed, also those that the log has forgotten.
    pub fn logged(&self) -> Vec<Frame> {
        let kept = self.log.kept_frames().expect("a room's log").map(|frame| frame.expect("chained"));
        self.forgotten.iter().cloned().chain(kept).collect()
    }

    /// How many records there are up to the frame of the tick before `next`.
    pub fn records_before(&self, next: u64) -> u64 {
        let is_later =
            |record: &[u8]| matches!(Record::decode(record), Ok(Record::Frame { tick, .. }) if tick.index() >= next);
        let later = self.log.records().find(|(_, record)| is_later(record)).map(|(sequence, _)| sequence);
        later.unwrap_or(self.log.next_sequence()) - 1
    }

    /// A client gives back the frames from `first` up to `end` that `holder` received.
    pub fn give_back(&mut self, client: ConnectionId, holder: ConnectionId, first: u64, end: u64) {
        let peer = self.peer(holder);
        let tag = peer.tags.get(&end).copied().unwrap_or_default();
        let mut run = FrameRunWriter::default();
        for tick in first..end {
            let frame = |tick: u64| &peer.frames[usize::try_from(tick - peer.first).expect("small")];
            run.push(frame(tick), (tick > first).then(|| frame(tick - 1)));
        }
        let frames = Frames {
            generation: GENERATION,
            first: Tick::new(first),
            count: run.count(),
            complete: true,
            tag,
            body: run.body(),
        };
        let bytes = bytes_of(&ClientMessage::Tail(frames));
        self.send_bytes(client, &bytes);
    }

    /// The owner of `older` comes back on a new transport, and has all frames that `older` had.
    pub fn return_from(&mut self, older: ConnectionId) -> ConnectionId {
        let peer = self.peer(older);
        let (seat, token, next, generation) = (peer.seat.expect("seated"), peer.token(), peer.next(), peer.generation);
        let fence = peer.frames.last().map(|frame| frame.fence());
        self.resume_with(seat, token, (generation, next, fence))
    }

    pub fn send(&mut self, client: ConnectionId, message: &ClientMessage<'_>) {
        self.send_bytes(client, &bytes_of(message));
    }

    pub fn send_bytes(&mut self, client: ConnectionId, bytes: &[u8]) {
        self.room.handle_message(client, bytes, self.now());
        self.drain();
    }

    /// Delivers a run of inputs.
    pub fn inputs(&mut self, client: ConnectionId, first: u64, values: &[i32]) {
        let flat: Vec<u8> = values.iter().flat_map(|value| value.to_le_bytes()).collect();
        let inputs = InputRun::new(u32::try_from(values.len()).expect("small"), &flat).expect("even");
        let (epoch, generation, first) = (self.peer(client).epoch, self.peer(client).generation, Tick::new(first));
        self.send(client, &ClientMessage::Inputs(Inputs { generation, epoch, first, inputs }));
    }

    pub fn input(&mut self, client: ConnectionId, tick: u64, value: i32) {
        self.inputs(client, tick, &[value]);
    }

    pub fn report(&mut self, client: ConnectionId, tick: u64, state: &[u8]) {
        let (tick, checksum, generation) = (Tick::new(tick), Checksum::of(state), self.peer(client).generation);
        self.send(client, &ClientMessage::Report { generation, tick, checksum });
    }

    pub fn command(&mut self, client: ConnectionId, sequence: u32, payload: &[u8]) {
        let generation = self.peer(client).generation;
        self.send(client, &ClientMessage::Command { generation, sequence, payload });
    }

    pub fn disconnect(&mut self, client: ConnectionId) {
        self.room.handle_disconnected(client, self.now());
        self.drain();
    }

    /// Confirms at A, then moves on to A + 1.
    pub fn step(&mut self) {
        self.room.handle_timeout(self.now());
        self.when.resize(usize::try_from(self.room.frontier().index()).expect("small"), self.tick);
        self.drain();
        self.tick += 1;
    }

    /// Steps until A is `tick`.
    pub fn step_to(&mut self, tick: u64) {
        while self.tick < tick {
            self.step();
        }
    }

    pub fn persist_through(&mut self, sequence: u64) {
        self.room.handle_persisted(sequence);
        self.drain();
    }

    pub fn drain(&mut self) {
        loop {
            let mut persisted = None;
            match self.room.poll_output() {
                None => return,
                Some(Output::Persist { sequence, record }) => {
                    self.log.append(sequence, record).expect("records are gapless");
                    persisted = Some(sequence);
                }
                Some(Output::Transmit { to, bytes }) => {
                    assert!(!to.is_empty());
                    let message = RoomMessage::decode(bytes).expect("the room's messages are well-formed");
                    for id in to {
                        self.peers.get_mut(id).expect("known").stream.extend_from_slice(bytes);
                    }
                    receive(&mut self.peers, &mut self.tags, self.seats, to, &message);
                }
                Some(Output::Close { connection, cause }) => {
                    let peer = self.peers.get_mut(&connection).expect("known");
                    assert_eq!(peer.closed.replace(cause), None, "closed once");
                }
                Some(Output::Event(event)) => self.events.push(event),
            }
            if let Some(sequence) = persisted.filter(|_| self.persists) {
                self.room.handle_persisted(sequence);
            }
        }
    }

    pub fn peer(&self, client: ConnectionId) -> &Peer {
        &self.peers[&client]
    }

    pub fn peer_mut(&mut self, client: ConnectionId) -> &mut Peer {
        self.peers.get_mut(&client).expect("known")
    }

    pub fn frame(&self, tick: u64) -> Frame {
        self.room.frame(Tick::new(tick)).expect("confirmed")
    }

    /// What the frame of `tick` says of a seat: its input, and whether it is flagged.
    pub fn value(&self, tick: u64, index: usize) -> (Option<i32>, bool) {
        let frame = self.frame(tick);
        let view = frame.seat(seat(index));
        (view.input.map(|input| i32::from_le_bytes(input.try_into().expect("four bytes"))), view.substituted)
    }

    /// How many bytes of input the frame of `tick` holds.
    pub fn value_bytes(&self, tick: u64) -> usize {
        self.frame(tick).seats().filter_map(|view| view.input).map(<[u8]>::len).sum()
    }

    /// The ticks in which a seat is flagged.
    pub fn flagged(&self, index: usize) -> Vec<u64> {
        (0..self.room.frontier().index()).filter(|tick| self.value(*tick, index).1).collect()
    }

    pub fn counters(&self, index: usize) -> SeatCounters {
        self.room.seat_stats(seat(index)).expect("a seat").counters
    }

    pub fn verification(&self, tick: u64) -> Verification {
        self.room.verification(Tick::new(tick))
    }

    /// The log's frames through N, folded by TALLY, after checking that everyone has the same frames.
    pub fn tally(&self, ticks: usize) -> Tally {
        self.check_everyone();
        let frames = self.log.frames().expect("a room's log").take(ticks);
        let mut tally = Tally::new(self.room.descriptor().seats().count());
        frames.for_each(|frame| tally.step(&frame.expect("the chain holds")));
        assert_eq!(tally.frame, ticks);
        tally
    }

    /// I1 and I2: the log, the room and every client have equal frames.
    pub fn check_everyone(&self) {
        let logged = self.logged();
        let of = |generation| logged.iter().filter(move |frame| frame.generation() == generation);
        let current = self.room.descriptor().generation();
        assert_eq!(of(current).count() as u64, self.room.frontier().index());
        for (frame, tick) in of(current).zip(0..) {
            if tick >= self.room.history_start().index() {
                assert_eq!(self.room.frame(Tick::new(tick)).as_ref(), Some(frame));
            }
        }
        for peer in self.peers.values() {
            let first = usize::try_from(peer.first).expect("small");
            assert!(of(peer.generation).skip(first).take(peer.frames.len()).eq(&peer.frames));
        }
    }
}

fn receive(
    peers: &mut BTreeMap<ConnectionId, Peer>,
    tags: &mut BTreeMap<(Generation, u64), ReleaseTag>,
    seats: SeatCount,
    to: &[ConnectionId],
    message: &RoomMessage<'_>,
) {
    if let RoomMessage::Frames(frames) = message {
        let next = frames.first.index() + u64::from(frames.count);
        assert_eq!(
            *tags.entry((frames.generation, next)).or_insert(frames.tag),
            frames.tag,
            "one tag for each release point"
        );
    }
    for id in to {
        let peer = peers.get_mut(id).expect("known");
        assert_eq!(peer.closed, None, "nothing comes after a close");
        let notice = match message {
            RoomMessage::Frames(frames) => {
                peer.receive_frames(frames, seats);
                None
            }
            RoomMessage::Welcome(welcome) => {
                peer.receive_welcome(welcome);
                let frontier = welcome.frontier;
                Some(peer.seat.map_or(Notice::Watching { frontier }, |seat| Notice::Welcome { seat, frontier }))
            }
            RoomMessage::Roster { locked, seats } => {
                peer.roster = Some((*locked, seats.0.clone()));
                peer.rosters += 1;
                None
            }
            RoomMessage::Activated { tick, .. } => Some(Notice::Activated(*tick)),
            RoomMessage::Paused { tick, .. } => Some(Notice::Paused(*tick)),
            RoomMessage::Resumed { clock, .. } => Some(Notice::Resumed(*clock)),
            RoomMessage::Reconfigured { descriptor } => {
                let descriptor = MatchDescriptor::from_bytes(descriptor).expect("a descriptor");
                peer.start_over(descriptor.generation());
                Some(Notice::Reconfigured(descriptor.generation()))
            }
            RoomMessage::Settled { settlement: Settlement::Disputed, .. } => Some(Notice::Disputed),
            RoomMessage::Settled { settlement: Settlement::Agreed { tick, result }, .. } => {
                Some(Notice::Agreed { tick: *tick, result: result.to_vec() })
            }
            RoomMessage::Refused(refusal) => Some(Notice::Refused(*refusal)),
            RoomMessage::Started { clock, .. } => Some(Notice::Started(*clock)),
            RoomMessage::Pong { sent_micros, clock, counters } => {
                Some(Notice::Pong { sent_micros: *sent_micros, clock: *clock, counters: *counters })
            }
            RoomMessage::Desync { tick, values, .. } => Some(Notice::Desync { tick: *tick, values: values.0.clone() }),
            RoomMessage::Verdict { tick, checksum, wrong, .. } => {
                Some(Notice::Verdict { tick: *tick, checksum: *checksum, wrong: wrong.0.clone() })
            }
            RoomMessage::Inquiry { inquiry, question, .. } => Some(Notice::Asked(*inquiry, *question)),
            RoomMessage::Ephemeral { seat, payload } => {
                Some(Notice::Ephemeral { seat: *seat, payload: payload.to_vec() })
            }
            RoomMessage::Closing(reason) => Some(Notice::Closing(*reason)),
            RoomMessage::TailWanted { next, .. } => Some(Notice::TailWanted(next.index())),
            // Whoever tests the others reads their bytes.
            other => transfer(other).map(Notice::Transfer),
        };
        peer.notices.extend(notice);
    }
}

fn transfer(message: &RoomMessage<'_>) -> Option<Transfer> {
    Some(match *message {
        RoomMessage::SnapshotWanted { transfer, tick, .. } => Transfer::Wanted { transfer, tick: tick.index() },
        RoomMessage::SnapshotProgress { transfer, next } => Transfer::Progress { transfer, next },
        RoomMessage::SnapshotCanceled { transfer } => Transfer::Canceled { transfer },
        RoomMessage::Snapshot { header, verified } => Transfer::Snapshot { header, verified },
        RoomMessage::SnapshotChunk { transfer, index, bytes } => {
            Transfer::Chunk { transfer, index, bytes: bytes.to_vec() }
        }
        RoomMessage::NoSnapshot { cause } => Transfer::None { cause },
        _ => return None,
    })
}

/// The fixture TALLY.
#[derive(Debug, PartialEq)]
pub struct Tally {
    pub frame: usize,
    pub sum: Vec<i64>,
    pub sub: Vec<u32>,
    pub mix: u32,
}

impl Tally {
    fn new(seats: usize) -> Tally {
        Tally { frame: 0, sum: vec![0; seats], sub: vec![0; seats], mix: 1 }
    }

    fn step(&mut self, frame: &Frame) {
        for (view, k) in frame.seats().zip(0..) {
            let value = view.input.map_or(0, |input| i32::from_le_bytes(input.try_into().expect("four bytes")));
            let position = u32::try_from(k).expect("small");
            self.sum[k] += i64::from(value);
            self.sub[k] += u32::from(view.substituted);
            let added = value.cast_unsigned().wrapping_add(7 * position + 1);
            self.mix = self.mix.wrapping_mul(31).wrapping_add(added);
        }
        self.frame += 1;
    }
}

/// A config whose records must be durable first.
pub fn durable(seats: usize) -> RoomConfig {
    RoomConfig { durability: Durability::EveryFrame, ..config(seats, 6) }
}
