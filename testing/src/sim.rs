//! Whole matches on one virtual clock: the real room, real clients and raw seats, joined by seeded links (T1, T2).
//!
//! ```text
//!  authority tick A:  what is scheduled ─▶ everything due, in send order ─▶ room confirms ─▶ A := A+1 ─▶ each client's turn
//! ```
//!
//! Nothing moves outside [`SimulatedMatch::advance`]. Tick 0 of the clock is the moment at which the room starts. The driver
//! observes and judges nothing: what it saw is a [`MatchReport`], and [`crate::checkers`] say whether it holds.
//!
//! ```
//! use std::sync::Arc;
//!
//! use retick_core::tick::TickRate;
//! use retick_testing::fixtures::{tally_factory, tally_reference, zig_packed};
//! use retick_testing::sim::{ClientSetup, MatchSetup};
//!
//! let player = ClientSetup::new(zig_packed).latency_ticks(TickRate::Hz60, 3);
//! let setup = MatchSetup::new(Arc::new(tally_factory())).seed(7).hard_tolerance_ticks(30);
//! let mut sim = setup.client(player.clone()).client(player).last_tick(60).build();
//! sim.run_until_confirmed(60);
//! assert_eq!(tally_reference(2, &sim.frames()).sub, [0, 0], "nobody's input was too late");
//! let report = sim.check().expect("every invariant holds");
//! assert!(report.rollbacks() > 0);
//! ```

mod client;
mod drive;
mod frames;
mod observed;
mod own_clock;
mod peek;
mod players;
mod raw;
mod referee;
mod setup;

pub use observed::{ClientRecord, EventSeen, MatchReport, RawRecord, ReportSent, RollbackSeen, TurnSample};
pub use own_clock::OwnClock;
pub use raw::{RawSeat, RawSend};
pub use setup::{ClientSetup, ClockNews, DEFAULT_LOBBY_TICKS, MatchSetup, Render, Reporting, Script};

use std::sync::Arc;

use retick_authority::log::MemoryLog;
use retick_authority::room::{Room, RoomEvent, RoomSecret};
use retick_core::client::Client;
use retick_core::digest::Identity;
use retick_core::frame::Frame;
use retick_core::runtime::{Capabilities, RuntimeFactory};
use retick_core::seat::{Seat, SeatCount};
use retick_core::tick::{Moment, Tick, TickRate};
use retick_core::wire::RoomRules;

use client::ClientPlayer;
use players::{Kind, Parcel, Player, Players};
use raw::RawPlayer;
use referee::RefereeHost;
use setup::{Happening, PlayerSetup};

use crate::checkers::{self, Breach};
use crate::net::LinkProfile;

/// A match that runs as far as it is told to (T1).
///
/// It proves, by [`SimulatedMatch::check`], that I1 to I8 hold of everything observed, on the network and schedule that were set up, and
/// that one seed reproduces it. It can't say in which byte two states differ, which the proofs in [`crate::assert`] do, and knows
/// nothing of a match that its setup does not bring about.
pub struct SimulatedMatch {
    factory: Arc<dyn RuntimeFactory>,
    rate: TickRate,
    rules: RoomRules,
    room: Room,
    log: MemoryLog,
    players: Players,
    referee: Option<RefereeHost>,
    happenings: Vec<(Tick, Happening)>,
    last_tick: Option<Tick>,
    seed: u64,
    /// The moment at which tick 0 began.
    origin: Moment,
    tick: Tick,
    confirm_times: Vec<Tick>,
    delivered_inputs: Vec<u64>,
    room_events: Vec<(Tick, RoomEvent)>,
}

impl SimulatedMatch {
    fn new(setup: MatchSetup) -> SimulatedMatch {
        let config = setup.room_config();
        let (rate, rules, seats) = (config.descriptor.tick_rate(), config.rules, config.descriptor.seats());
        let room = Room::new(config, RoomSecret([7; 32])).unwrap_or_else(|error| panic!("no room: {error}"));
        let mut sim = SimulatedMatch {
            rate,
            rules,
            room,
            log: MemoryLog::new(),
            players: Players::default(),
            referee: setup.referee.clone().map(|(mode, factory)| RefereeHost::new(mode, factory)),
            happenings: setup.happenings.clone(),
            last_tick: setup.last_tick,
            seed: setup.seed,
            origin: rate.moment_of(Tick::new(setup.lobby_ticks)),
            tick: Tick::ZERO,
            confirm_times: Vec::new(),
            delivered_inputs: vec![0; seats.count()],
            room_events: Vec::new(),
            factory: setup.factory.clone(),
        };
        for (player, seat) in setup.players.iter().zip(seats.seats()) {
            sim.players.list.push(new_player(player, &setup, seat, sim.factory.manifest().identity(), seats));
        }
        sim.wait_in_lobby(setup.lobby_ticks);
        sim.start();
        sim
    }

    fn wait_in_lobby(&mut self, lobby_ticks: u64) {
        self.enter_lobby(0, Moment::ZERO);
        for tick in 0..lobby_ticks {
            let now = self.rate.moment_of(Tick::new(tick));
            if tick > 0 {
                self.enter_lobby(tick, now);
            }
            self.deliver_due(now);
            self.room.handle_timeout(now);
            self.drain_room(now);
            self.run_referee(now);
            self.take_turns(self.rate.moment_of(Tick::new(tick + 1)), None);
        }
    }

    /// Connects everyone whose lobby tick this is. Greetings take no time there.
    fn enter_lobby(&mut self, tick: u64, now: Moment) {
        self.players.links_bypassed = true;
        for player in 0..self.players.list.len() {
            if self.players.list[player].enters_at == Some(tick) {
                self.connect(player, now);
                self.deliver_due(now);
            }
        }
        self.players.links_bypassed = false;
    }

    fn start(&mut self) {
        let now = self.origin;
        self.room.start(now).unwrap_or_else(|error| panic!("seed {}: no start: {error}", self.seed));
        self.drain_room(now);
        for player in 0..self.players.list.len() {
            let Kind::Raw(raw) = &mut self.players.list[player].kind else { continue };
            for (at, send) in raw.take_script() {
                let due = self.moment_of(at);
                self.players.mailbox.post(due, Parcel::Scripted { player, send });
            }
        }
    }

    /// Plays one authority tick, and lets every client take its turn.
    pub fn advance(&mut self) {
        let now = self.moment_of(self.tick);
        self.run_happenings(now);
        self.deliver_due(now);
        self.room.handle_timeout(now);
        self.drain_room(now);
        let confirmed = self.room.frontier();
        while Tick::new(self.confirm_times.len() as u64) < confirmed {
            self.confirm_times.push(self.tick);
        }
        self.run_referee(now);
        // What takes no time is there before the clients' turns.
        self.deliver_due(now);
        self.tick = self.tick.saturating_add(1);
        self.take_turns(self.moment_of(self.tick), Some(self.tick));
    }

    /// Plays so many authority ticks.
    pub fn run_ticks(&mut self, ticks: u64) {
        (0..ticks).for_each(|_| self.advance());
    }

    /// Plays until `done` says so.
    ///
    /// # Panics
    /// When it has not after `limit_ticks` more ticks: liveness is part of what a match must have.
    pub fn run_until(&mut self, limit_ticks: u64, mut done: impl FnMut(&SimulatedMatch) -> bool) {
        for _ in 0..limit_ticks {
            if done(self) {
                return;
            }
            self.advance();
        }
        let done = done(self);
        assert!(done, "seed {}: not done after {limit_ticks} ticks, {}", self.seed, self.standing());
    }

    /// Plays until the room and every client that is not over have confirmed and applied `ticks` ticks.
    ///
    /// # Panics
    /// When they have not after that many ticks, the tolerance, and ten seconds more.
    pub fn run_until_confirmed(&mut self, ticks: u64) {
        let slack = u64::from(self.rules.hard_tolerance_ticks) + 10 * u64::from(self.rate.hz());
        let target = Tick::new(ticks);
        self.run_until(ticks + slack, |sim| {
            let applied = |client: &Client| client.session().is_some_and(|session| session.confirmed() >= target);
            let mut clients = (0..sim.players.list.len()).filter_map(|player| sim.client(player));
            sim.room.frontier() >= target && clients.all(|client| client.end().is_some() || applied(client))
        });
    }

    fn standing(&self) -> String {
        let client = |player: usize| {
            let client = self.client(player)?;
            let session = client.session()?;
            Some(format!("{player}: confirmed {} of {:?}", session.confirmed(), client.status()))
        };
        let clients: Vec<_> = (0..self.players.list.len()).filter_map(client).collect();
        format!("authority tick {}, frontier {}, clients {clients:?}", self.tick, self.room.frontier())
    }

    /// The authority tick that is played next.
    pub fn authority_tick(&self) -> Tick {
        self.tick
    }

    /// The room.
    pub fn room(&self) -> &Room {
        &self.room
    }

    /// The real client in this seat.
    pub fn client(&self, seat: usize) -> Option<&Client> {
        self.players.client(seat)
    }

    /// The real client in this seat, for what a game reads or requests. Time and messages are the driver's.
    pub fn client_mut(&mut self, seat: usize) -> Option<&mut Client> {
        self.players.client_mut(seat)
    }

    /// The authority's frames so far, from its log, each checked against the frame chain.
    ///
    /// # Panics
    /// When the log does not hold what the room wrote.
    pub fn frames(&self) -> Vec<Frame> {
        let frames = self.log.frames().unwrap_or_else(|error| panic!("seed {}: the log: {error}", self.seed));
        frames.map(|frame| frame.unwrap_or_else(|error| panic!("seed {}: the log: {error}", self.seed))).collect()
    }

    /// Cuts the transport of a seat now, with everything that is under way on it.
    pub fn disconnect(&mut self, seat: usize) {
        let now = self.moment_of(self.tick);
        self.run_happening(Happening::Disconnect(seat), now);
    }

    /// Lets a raw seat say something that arrives in the coming authority tick.
    pub fn say(&mut self, seat: usize, send: RawSend) {
        let now = self.moment_of(self.tick);
        self.players.mailbox.post(now, Parcel::Scripted { player: seat, send });
    }

    /// Everything observed so far.
    pub fn report(&mut self) -> MatchReport {
        let frames = self.frames();
        let (clients, raw_seats) = self.players.records();
        let descriptor = self.room.descriptor().clone();
        let seat_stats = descriptor.seats().seats().filter_map(|seat| self.room.seat_stats(seat)).collect();
        MatchReport {
            seed: self.seed,
            capabilities: self.capabilities(),
            descriptor,
            rules: self.rules,
            authority_ticks: self.tick,
            frames,
            confirm_times: self.confirm_times.clone(),
            clients,
            raw_seats,
            room: self.room.stats(),
            seat_stats,
            delivered_inputs: self.delivered_inputs.clone(),
            room_events: self.room_events.clone(),
            chain_head: self.room.chain_head(),
        }
    }

    fn capabilities(&self) -> Capabilities {
        let runtime = self.factory.create(self.room.descriptor());
        runtime.map(|runtime| runtime.capabilities()).unwrap_or_default()
    }

    /// Ends the match and holds everything observed against I1 to I8.
    ///
    /// # Errors
    /// The first [`Breach`] of each checker that found one.
    pub fn check(mut self) -> Result<MatchReport, Vec<Breach>> {
        let report = self.report();
        let breaches = checkers::check_all(&report, self.factory.as_ref());
        if breaches.is_empty() { Ok(report) } else { Err(breaches) }
    }

    /// As [`SimulatedMatch::check`], for tests.
    ///
    /// # Panics
    /// When an invariant does not hold, naming the seed and every breach.
    pub fn finish(self) -> MatchReport {
        let seed = self.seed;
        match self.check() {
            Ok(report) => report,
            Err(breaches) => panic!("seed {seed}: {breaches:#?}"),
        }
    }
}

fn new_player(player: &PlayerSetup, setup: &MatchSetup, seat: Seat, identity: Identity, seats: SeatCount) -> Player {
    let (kind, up, down) = match player {
        PlayerSetup::Client(client) => {
            let kind = ClientPlayer::new(client, &setup.factory, setup.strict, seat);
            (Kind::Client(Box::new(kind)), client.up.clone(), client.down.clone())
        }
        PlayerSetup::Raw(script) => {
            let kind = Kind::Raw(RawPlayer::new(script.clone(), identity, seats));
            (kind, LinkProfile::default(), LinkProfile::default())
        }
    };
    let mut player_at = Player::new(kind, up, down, setup.seed, seat.index());
    if let PlayerSetup::Client(client) = player {
        (player_at.damaged_chunk, player_at.enters_at) = (client.damaged_chunk, Some(client.enters_at));
    }
    if setup.late.contains(&seat.index()) {
        player_at.enters_at = None;
    }
    player_at
}
