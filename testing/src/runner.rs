//! Runners and their rooms on one virtual clock: what a game's loop does, with nothing moving outside of it (T1).
//!
//! A [`RunnerHarness`] drives real [`Runner`]s against a real room and writes down every change of status. Runners outlive rooms:
//! [`RunnerHarness::open_room`] gives them another one, and what is still under way of the last one arrives all the same.
//!
//! ```
//! use std::sync::Arc;
//!
//! use retick_core::runner::{OfflineOptions, Status};
//! use retick_testing::fixtures::{tally_descriptor, tally_factory, zig_packed};
//! use retick_testing::runner::{HarnessSetup, RunnerHarness};
//!
//! let factory = Arc::new(tally_factory());
//! let descriptor = tally_descriptor(factory.as_ref(), 2, 1);
//! let mut harness = RunnerHarness::new(HarnessSetup::new(factory, 2, zig_packed));
//! harness.runner_mut(0).start_offline(&OfflineOptions::new(descriptor.clone()).fill_with_bots())?;
//! harness.run_ticks(10);
//! harness.open_room(descriptor);
//! harness.join_all();
//! harness.run_until(300, |harness| harness.runner(0).snapshot().applied_through.is_some_and(|tick| tick.index() > 60));
//! let seen = harness.statuses(0);
//! assert_eq!(seen, [Status::Offline, Status::Connecting, Status::Syncing, Status::Live]);
//! # Ok::<(), retick_core::runner::RunnerError>(())
//! ```

mod record;
mod setup;
mod shown;

use std::time::Duration;

use retick_authority::log::{FrameLog, MemoryLog};
use retick_authority::room::{ConnectionId, Output as RoomOutput, Room, RoomConfig, RoomSecret, StartPolicy};
use retick_core::event::{EventLife, PresentationEvent};
use retick_core::frame::Frame;
use retick_core::identity::MatchDescriptor;
use retick_core::runner::{LinkId, NetworkedOptions, Output, Runner, RunnerError, RunnerEvent, TransportEvent};
use retick_core::tick::{Moment, Tick, TickRate};

pub use self::record::Picture;
use self::record::{Record, Scripted};
pub use self::setup::{HarnessSetup, Script};
pub use self::shown::{Pictures, Shown};
use crate::assert::Emitted;
use crate::environment::{self, Machine};
use crate::net::{Link, LinkProfile, Mailbox};

/// How long [`RunnerHarness::run_until_confirmed`] waits beyond the ticks that it waits for.
const SLACK_TICKS: u64 = 600;

/// Whether an app stands still.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Frozen {
    /// It does.
    Yes,
    /// It runs.
    No,
}

/// Something under way.
enum Parcel {
    ToRoom { connection: ConnectionId, bytes: Vec<u8> },
    ToRunner { player: usize, link: LinkId, connection: ConnectionId, bytes: Vec<u8> },
    Hangup { player: usize, link: LinkId, connection: ConnectionId },
}

/// A runner and everything that was seen of it.
struct Player {
    runner: Runner,
    link: Option<LinkId>,
    connection: Option<ConnectionId>,
    up: Link,
    down: Link,
    frozen: bool,
    /// What has passed while it was frozen, in milliseconds.
    owed_millis: f64,
    record: Record,
}

/// A room and its log.
struct Table {
    room: Room,
    log: MemoryLog,
}

/// Runners, and the room that they play in (T1).
///
/// It proves nothing by itself: it drives, on a clock that nothing else moves, and keeps each status, picture and event for whoever
/// judges, as the proofs in [`crate::assert`] do. Its network loses nothing and has one latency; for faults there is
/// [`SimulatedMatch`](crate::sim::SimulatedMatch).
pub struct RunnerHarness {
    setup: HarnessSetup,
    rate: TickRate,
    players: Vec<Player>,
    table: Option<Table>,
    mailbox: Mailbox<Parcel>,
    next_connection: u64,
    tick: Tick,
}

impl RunnerHarness {
    /// Runners that wait for their first match.
    ///
    /// # Panics
    /// When no runner takes the config.
    pub fn new(setup: HarnessSetup) -> RunnerHarness {
        let rate = setup.factory.manifest().tick_rate();
        let link = |player: usize, name: &str| {
            let profile = LinkProfile::ticks(rate, setup.latency_ticks);
            Link::new(profile, setup.seed, &format!("{name} {player}"))
        };
        let player = |player: usize| {
            let runner = Runner::new(setup.config, setup.factory.clone());
            Player {
                runner: runner.unwrap_or_else(|error| panic!("no runner: {error}")),
                link: None,
                connection: None,
                up: link(player, "up"),
                down: link(player, "down"),
                frozen: false,
                owed_millis: 0.0,
                record: Record::default(),
            }
        };
        RunnerHarness {
            players: (0..setup.runners).map(player).collect(),
            rate,
            table: None,
            mailbox: Mailbox::default(),
            next_connection: 0,
            tick: Tick::ZERO,
            setup,
        }
    }

    /// Opens a room in place of the last one, which is gone without a word. Whoever joins it takes the next seat; it starts when all
    /// are taken and ready.
    ///
    /// # Panics
    /// When no room takes the match.
    pub fn open_room(&mut self, descriptor: MatchDescriptor) {
        let mut config = RoomConfig::new(descriptor);
        config.rules.hard_tolerance_ticks = self.setup.hard_tolerance_ticks;
        config.rules.checksum_cadence_ticks = self.setup.checksum_cadence_ticks;
        config.start = StartPolicy::WhenFull;
        let room = Room::new(config, RoomSecret([7; 32])).unwrap_or_else(|error| panic!("no room: {error}"));
        self.table = Some(Table { room, log: MemoryLog::new() });
        self.players.iter_mut().for_each(|player| player.connection = None);
    }

    /// Closes the room for good.
    pub fn forget_room(&mut self) {
        self.table = None;
        self.mailbox = Mailbox::default();
        self.players.iter_mut().for_each(|player| player.connection = None);
    }

    /// Starts a networked match of a runner, and opens its transport.
    ///
    /// # Panics
    /// When the runner was disposed of.
    pub fn join(&mut self, player: usize) {
        self.enter(player);
        let options = NetworkedOptions { room_code: Some("ROOM".to_owned()), ..NetworkedOptions::default() };
        let link = self.players[player].runner.start_networked(options);
        self.players[player].link = Some(link.unwrap_or_else(|error| panic!("no start: {error}")));
        self.connect(player);
    }

    /// Lets every runner join.
    pub fn join_all(&mut self) {
        (0..self.players.len()).for_each(|player| self.join(player));
    }

    /// Opens a transport for the match that a runner started last.
    pub fn connect(&mut self, player: usize) {
        let (now, connection) = (self.now(), ConnectionId(self.next_connection));
        self.next_connection += 1;
        self.players[player].connection = Some(connection);
        if let Some(table) = &mut self.table {
            table.room.handle_connected(connection, now);
        }
        self.tell(player, TransportEvent::Connected);
    }

    /// A runner's transport is lost, with everything that is under way on it.
    pub fn lose(&mut self, player: usize) {
        let now = self.now();
        let Some(lost) = self.players[player].connection.take() else { return };
        self.mailbox.drop_if(|parcel| parcel.connection() == lost);
        if let Some(table) = &mut self.table {
            table.room.handle_disconnected(lost, now);
        }
        self.tell(player, TransportEvent::Reconnecting);
        self.drain_room();
    }

    /// Tells a runner something of its last link.
    pub fn tell(&mut self, player: usize, event: TransportEvent<'_>) {
        self.enter(player);
        if let Some(link) = self.players[player].link {
            self.players[player].runner.handle_transport(link, event);
        }
        self.drain(player);
    }

    /// Plays one tick: what is due arrives, the room confirms, the clock moves on, and every runner is updated.
    pub fn advance(&mut self) {
        let before = self.now();
        self.deliver_due();
        if let Some(table) = &mut self.table {
            table.room.handle_timeout(before);
        }
        self.drain_room();
        self.deliver_due();
        self.tick = self.tick.saturating_add(1);
        let nanos = self.now().nanos_since(before);
        let updates = self.setup.updates_per_tick;
        let delta = Duration::from_nanos(nanos).as_secs_f64() * 1000.0 / f64::from(updates);
        for _ in 0..updates {
            for player in 0..self.players.len() {
                if self.players[player].frozen {
                    self.players[player].owed_millis += delta;
                } else {
                    let owed = std::mem::take(&mut self.players[player].owed_millis);
                    // What ended a match shows in the status.
                    let _ = self.update(player, owed + delta);
                }
            }
        }
    }

    /// A runner's app is frozen, or goes on: while it is, what arrives waits, and nothing is updated.
    pub fn set_frozen(&mut self, player: usize, frozen: Frozen) {
        self.players[player].frozen = frozen == Frozen::Yes;
    }

    /// Updates one runner, and drains it.
    ///
    /// # Errors
    /// What the update gave.
    pub fn update(&mut self, player: usize, delta_millis: f64) -> Result<(), RunnerError> {
        self.enter(player);
        let Player { runner, record, .. } = &mut self.players[player];
        let mut inputs = Scripted { script: &self.setup.script, sampled: &mut record.sampled };
        let updated = runner.update(delta_millis, &mut inputs);
        while let Some(PresentationEvent { life, key, payload }) = runner.poll_presentation_event() {
            record.presented.push((life, key));
            if life == EventLife::Confirmed {
                record.heard.push(Emitted { key, payload: payload.to_vec() });
            }
        }
        record.pictures.extend(runner.render_state().map(|shown| Picture { tick: shown.tick, alpha: shown.alpha }));
        self.note_shown(player);
        self.drain(player);
        updated
    }

    /// Plays so many ticks.
    pub fn run_ticks(&mut self, ticks: u64) {
        (0..ticks).for_each(|_| self.advance());
    }

    /// Plays until `done` says so.
    ///
    /// # Panics
    /// When it has not after so many ticks.
    pub fn run_until(&mut self, limit_ticks: u64, mut done: impl FnMut(&RunnerHarness) -> bool) {
        for _ in 0..limit_ticks {
            if done(self) {
                return;
            }
            self.advance();
        }
        let snapshots: Vec<_> = self.players.iter().map(|player| player.runner.snapshot()).collect();
        assert!(done(self), "not done after {limit_ticks} ticks: {snapshots:#?}");
    }

    /// Plays until every runner has confirmed and applied so many ticks.
    ///
    /// # Panics
    /// When they have not after that many ticks and ten seconds.
    pub fn run_until_confirmed(&mut self, ticks: u64) {
        let applied =
            |player: &Player| player.runner.session().is_some_and(|session| session.confirmed().index() >= ticks);
        self.run_until(ticks + SLACK_TICKS, |harness| harness.players.iter().all(applied));
    }

    /// Delivers what is due by now, and nothing else: no update takes place.
    pub fn deliver_due(&mut self) {
        let now = self.now();
        while let Some(parcel) = self.mailbox.pop_due(now) {
            match parcel {
                Parcel::ToRoom { connection, bytes } => {
                    if let Some(table) = &mut self.table {
                        table.room.handle_message(connection, &bytes, now);
                    }
                    self.drain_room();
                }
                Parcel::ToRunner { player, link, bytes, .. } => {
                    self.enter(player);
                    self.players[player].runner.handle_transport(link, TransportEvent::Message(&bytes));
                    self.drain(player);
                }
                Parcel::Hangup { player, link, .. } => {
                    self.enter(player);
                    self.players[player].runner.handle_transport(link, TransportEvent::Disconnected);
                    self.drain(player);
                }
            }
        }
    }

    /// Does what a runner asks for.
    pub fn drain(&mut self, player: usize) {
        let now = self.now();
        let Player { runner, link, connection, up, record, .. } = &mut self.players[player];
        let (mut hung_up, mut sent) = (None, Vec::new());
        while let Some(output) = runner.poll_output() {
            match output {
                Output::Transmit { link: to, bytes } if Some(to) == *link => {
                    let Some(connection) = *connection else { continue };
                    sent.extend(up.send(now).map(|due| (due, connection, bytes.to_vec())));
                }
                // Its transport is gone already.
                Output::Transmit { .. } => {}
                Output::Hangup { link: ended } if Some(ended) == *link => hung_up = connection.take(),
                Output::Hangup { .. } => {}
                Output::Prepare(request) => record.requests.push(*request),
                Output::Event(RunnerEvent::Status(status)) => record.statuses.push(status),
                Output::Event(RunnerEvent::Lifecycle(lifecycle)) => record.lifecycles.push(lifecycle),
                Output::Event(event) => record.events.push(event),
            }
        }
        for (due, connection, bytes) in sent {
            self.mailbox.post(due, Parcel::ToRoom { connection, bytes });
        }
        if let (Some(ended), Some(table)) = (hung_up, &mut self.table) {
            table.room.handle_disconnected(ended, now);
        }
    }

    fn drain_room(&mut self) {
        let now = self.now();
        let Some(Table { room, log }) = &mut self.table else { return };
        loop {
            let persisted = match room.poll_output() {
                None => return,
                Some(RoomOutput::Persist { sequence, record }) => {
                    let kept = log.append(sequence, record);
                    assert!(kept.is_ok(), "the log did not take record {sequence}: {kept:?}");
                    sequence
                }
                Some(RoomOutput::Transmit { to, bytes }) => {
                    for connection in to {
                        post(&mut self.players, &mut self.mailbox, *connection, now, |player, link, connection| {
                            Parcel::ToRunner { player, link, connection, bytes: bytes.to_vec() }
                        });
                    }
                    continue;
                }
                Some(RoomOutput::Close { connection, .. }) => {
                    post(&mut self.players, &mut self.mailbox, connection, now, |player, link, connection| {
                        Parcel::Hangup { player, link, connection }
                    });
                    continue;
                }
                Some(RoomOutput::Event(_)) => continue,
            };
            room.handle_persisted(persisted);
        }
    }

    /// From now on this runner's machine runs.
    fn enter(&self, player: usize) {
        let number = u8::try_from(player).unwrap_or(u8::MAX).wrapping_add(self.setup.first_machine);
        environment::enter(Machine::numbered(number).at(self.now()));
    }

    /// The moment of the clock.
    pub fn now(&self) -> Moment {
        self.rate.moment_of(self.tick)
    }

    /// A runner.
    pub fn runner(&self, player: usize) -> &Runner {
        &self.players[player].runner
    }

    /// A runner, for what a game asks of it. Time and messages are the harness's.
    pub fn runner_mut(&mut self, player: usize) -> &mut Runner {
        self.enter(player);
        &mut self.players[player].runner
    }

    /// The room.
    ///
    /// # Panics
    /// When there is none.
    pub fn room(&self) -> &Room {
        self.table.as_ref().map(|table| &table.room).unwrap_or_else(|| panic!("no room is open"))
    }

    /// The room's frames so far, from its log.
    ///
    /// # Panics
    /// When there is no room, or the log does not hold what it wrote.
    pub fn frames(&self) -> Vec<Frame> {
        let log = self.table.as_ref().map(|table| &table.log).unwrap_or_else(|| panic!("no room is open"));
        let frames = log.frames().unwrap_or_else(|error| panic!("the log: {error}"));
        frames.map(|frame| frame.unwrap_or_else(|error| panic!("the log: {error}"))).collect()
    }

    fn record(&self, player: usize) -> &Record {
        &self.players[player].record
    }

    /// Forgets what was seen so far.
    pub fn clear_records(&mut self) {
        self.players.iter_mut().for_each(|player| player.record = Record::default());
    }
}

impl Parcel {
    fn connection(&self) -> ConnectionId {
        match self {
            Parcel::ToRoom { connection, .. }
            | Parcel::ToRunner { connection, .. }
            | Parcel::Hangup { connection, .. } => *connection,
        }
    }
}

/// Sends something of the room's to whoever has this connection.
fn post(
    players: &mut [Player],
    mailbox: &mut Mailbox<Parcel>,
    connection: ConnectionId,
    now: Moment,
    parcel: impl FnOnce(usize, LinkId, ConnectionId) -> Parcel,
) {
    let Some(player) = players.iter().position(|player| player.connection == Some(connection)) else { return };
    let (link, due) = (players[player].link, players[player].down.send(now).next());
    if let (Some(link), Some(due)) = (link, due) {
        mailbox.post(due, parcel(player, link, connection));
    }
}
