//! How a simulated match is set up: seats in order, each with a real client or a raw seat, and the rules of the room.

use std::num::NonZeroU32;
use std::ops::Range;
use std::sync::Arc;

use retick_authority::referee::RefereeMode;
use retick_authority::room::{DonationConfig, RoomConfig, StartPolicy};
use retick_core::client::{Client, ClientConfig};
use retick_core::config::SessionConfig;
use retick_core::identity::MatchDescriptor;
use retick_core::rng::SessionSeed;
use retick_core::runtime::RuntimeFactory;
use retick_core::seat::{Seat, SeatCount};
use retick_core::session::Retention;
use retick_core::tick::{Moment, Tick, TickRate};

use super::SimulatedMatch;
use super::own_clock::OwnClock;
use super::raw::RawSeat;
use crate::environment::Machine;
use crate::net::LinkProfile;

/// The packed input of a seat for a tick.
pub type Script = Arc<dyn Fn(Seat, Tick) -> Vec<u8> + Send + Sync>;

/// Default of [`MatchSetup::lobby_ticks`]: two seconds at 60 Hz, in which clients measure their round trips.
pub const DEFAULT_LOBBY_TICKS: u64 = 120;

/// A real client and its two links.
#[derive(Clone)]
pub struct ClientSetup {
    /// What the client is to do. Frames are always recorded.
    pub config: ClientConfig,
    /// The link to the room. Unless it is a stream, it carries inputs alone; everything else then takes a clean stream of the
    /// same latency beside it.
    pub up: LinkProfile,
    /// The link from the room; always a stream.
    pub down: LinkProfile,
    /// Its inputs.
    pub script: Script,
    /// A factory of its own, to plant a faulty twin; the match's if there is none.
    pub factory: Option<Arc<dyn RuntimeFactory>>,
    /// The machine that it runs on; that of its seat's number if there is none.
    pub machine: Option<Machine>,
    /// How fast its clock runs.
    pub clock: OwnClock,
    /// Whether it hears where the room's clock is, after the start.
    pub clock_news: ClockNews,
    /// The tick of the lobby in which it connects; the seats are taken in that order.
    pub enters_at: u64,
    /// While one of these lasts, it takes no turn.
    pub asleep: Vec<Range<Moment>>,
    /// How long a step takes, in nanoseconds: no turn begins before the steps of the last one are done.
    pub step_nanos: u64,
    /// Turns per second of its own clock; one in every authority tick if there is none.
    pub turns_per_second: Option<NonZeroU32>,
    /// What draws the game after each turn.
    pub render: Option<Render>,
    /// Whether its checksum reports reach the room.
    pub reporting: Reporting,
    /// The first time that a snapshot's chunk of this number is sent to it, one of its bits is flipped.
    pub damaged_chunk: Option<u32>,
}

/// Draws the game, from what a client shows of it.
pub type Render = Arc<dyn Fn(&Client) + Send + Sync>;

/// Whether a client hears where the room's clock is.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum ClockNews {
    /// Its pings are answered.
    #[default]
    Heard,
    /// The answers say nothing of it: it goes by its own clock from the start on.
    Withheld,
}

/// Whether a client's checksum reports reach the room.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Reporting {
    /// They do.
    #[default]
    Sent,
    /// It keeps silent.
    Withheld,
    /// The report of this state says something else than its simulation does.
    Forged(Tick),
    /// So does every one from this state on.
    ForgedFrom(Tick),
}

impl ClientSetup {
    /// A client with the default config on perfect links.
    pub fn new(script: impl Fn(Seat, Tick) -> Vec<u8> + Send + Sync + 'static) -> ClientSetup {
        ClientSetup {
            config: ClientConfig::default(),
            up: LinkProfile::default(),
            down: LinkProfile::default(),
            script: Arc::new(script),
            factory: None,
            machine: None,
            clock: OwnClock::default(),
            clock_news: ClockNews::default(),
            enters_at: 0,
            asleep: Vec::new(),
            step_nanos: 0,
            turns_per_second: None,
            render: None,
            reporting: Reporting::default(),
            damaged_chunk: None,
        }
    }

    /// The client plays on another factory's runtime than the room's: a faulty twin of the same identity.
    #[must_use]
    pub fn factory(mut self, factory: Arc<dyn RuntimeFactory>) -> ClientSetup {
        self.factory = Some(factory);
        self
    }

    /// Both links delay by so many whole ticks.
    #[must_use]
    pub fn latency_ticks(mut self, rate: TickRate, ticks: u64) -> ClientSetup {
        (self.up, self.down) = (LinkProfile::ticks(rate, ticks), LinkProfile::ticks(rate, ticks));
        self
    }

    /// The client's process stands still for so long: no turn is taken, and what arrives waits for the end.
    #[must_use]
    pub fn frozen(mut self, during: Range<Moment>) -> ClientSetup {
        self.down.stalls.push(during.clone());
        self.asleep.push(during);
        self
    }

    /// The client predicts at most so many ticks.
    #[must_use]
    pub fn window_ticks(mut self, ticks: u16) -> ClientSetup {
        self.config.prediction_window_ticks = ticks;
        self
    }
}

/// Who plays a seat.
#[derive(Clone)]
pub(crate) enum PlayerSetup {
    Client(Box<ClientSetup>),
    Raw(RawSeat),
}

/// Something that happens to a connection at the beginning of an authority tick, before its deliveries.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Happening {
    Disconnect(usize),
    Reconnect(usize),
    Leave(usize),
}

/// Sets up a [`SimulatedMatch`]: players take seats in the order in which they are added.
#[derive(Clone)]
pub struct MatchSetup {
    pub(crate) factory: Arc<dyn RuntimeFactory>,
    pub(crate) players: Vec<PlayerSetup>,
    pub(super) happenings: Vec<(Tick, Happening)>,
    pub(super) last_tick: Option<Tick>,
    pub(super) strict: bool,
    /// Players that are not there when the match begins.
    pub(super) late: Vec<usize>,
    /// The room's own simulation, if it has one.
    pub(super) referee: Option<(RefereeMode, Arc<dyn RuntimeFactory>)>,
    config: SessionConfig,
    match_seed: SessionSeed,
    seats: Option<u8>,
    /// Seed of everything that the network does.
    pub seed: u64,
    /// Ticks that the room waits before it substitutes (A1).
    pub hard_tolerance_ticks: u16,
    /// Every how many confirmed ticks a checksum is reported (A8).
    pub checksum_cadence_ticks: u32,
    /// How long a lost seat is kept (A6), in milliseconds.
    pub grace_millis: u64,
    /// Ticks before tick 0 in which everyone is connected.
    pub lobby_ticks: u64,
    /// How the room takes snapshots, and how long it keeps history (A7).
    pub donation: DonationConfig,
}

impl MatchSetup {
    /// A match of `factory`'s game with an empty config, the room's default rules and no players yet.
    pub fn new(factory: Arc<dyn RuntimeFactory>) -> MatchSetup {
        use retick_authority::room as defaults;
        MatchSetup {
            factory,
            players: Vec::new(),
            happenings: Vec::new(),
            last_tick: None,
            strict: false,
            config: SessionConfig::empty(),
            match_seed: SessionSeed::from_u64(1),
            seats: None,
            seed: 1,
            hard_tolerance_ticks: defaults::DEFAULT_HARD_TOLERANCE_TICKS,
            checksum_cadence_ticks: defaults::DEFAULT_CHECKSUM_CADENCE_TICKS,
            grace_millis: defaults::DEFAULT_GRACE_MILLIS,
            lobby_ticks: DEFAULT_LOBBY_TICKS,
            donation: DonationConfig::default(),
            late: Vec::new(),
            referee: None,
        }
    }

    /// A match like this one: its config, its seed and its seats.
    #[must_use]
    pub fn of(factory: Arc<dyn RuntimeFactory>, descriptor: &MatchDescriptor) -> MatchSetup {
        let seats = u8::try_from(descriptor.seats().count()).ok();
        let setup = MatchSetup::new(factory).game(descriptor.config().clone(), *descriptor.seed());
        MatchSetup { seats, ..setup }
    }

    /// The session config and the seed of the game's own randomness.
    #[must_use]
    pub fn game(mut self, config: SessionConfig, seed: SessionSeed) -> MatchSetup {
        (self.config, self.match_seed) = (config, seed);
        self
    }

    /// The seed of everything that the network does.
    #[must_use]
    pub fn seed(mut self, seed: u64) -> MatchSetup {
        self.seed = seed;
        self
    }

    /// More seats than players: the others stay empty.
    #[must_use]
    pub fn seats(mut self, seats: u8) -> MatchSetup {
        self.seats = Some(seats);
        self
    }

    /// Ticks that the room waits before it substitutes.
    #[must_use]
    pub fn hard_tolerance_ticks(mut self, ticks: u16) -> MatchSetup {
        self.hard_tolerance_ticks = ticks;
        self
    }

    /// Every how many confirmed ticks a checksum is reported.
    #[must_use]
    pub fn checksum_cadence_ticks(mut self, ticks: u32) -> MatchSetup {
        self.checksum_cadence_ticks = ticks;
        self
    }

    /// The next seat is a real client's.
    #[must_use]
    pub fn client(mut self, setup: ClientSetup) -> MatchSetup {
        self.players.push(PlayerSetup::Client(Box::new(setup)));
        self
    }

    /// The next seat is a real client's that joins at authority tick `at`, when the match runs. Only others that join later may follow.
    #[must_use]
    pub fn late_client(mut self, at: u64, setup: ClientSetup) -> MatchSetup {
        let player = self.players.len();
        self.late.push(player);
        self.client(setup).happening(at, Happening::Reconnect(player))
    }

    /// The next seat is a raw one.
    #[must_use]
    pub fn raw(mut self, seat: RawSeat) -> MatchSetup {
        self.players.push(PlayerSetup::Raw(seat));
        self
    }

    /// Real clients sample no tick from this one on, so that their present ends at exactly this state.
    #[must_use]
    pub fn last_tick(mut self, tick: u64) -> MatchSetup {
        self.last_tick = Some(Tick::new(tick));
        self
    }

    /// Wraps every client's runtime in a [`StrictRuntime`](crate::strict::StrictRuntime).
    #[must_use]
    pub fn strict(mut self) -> MatchSetup {
        self.strict = true;
        self
    }

    /// The room has a referee, which plays on this factory's runtime (A13).
    #[must_use]
    pub fn referee(mut self, mode: RefereeMode, factory: Arc<dyn RuntimeFactory>) -> MatchSetup {
        self.referee = Some((mode, factory));
        self
    }

    /// The transport of `seat` is lost at authority tick `at`, with everything that is under way on it.
    #[must_use]
    pub fn disconnect(self, at: u64, seat: usize) -> MatchSetup {
        self.happening(at, Happening::Disconnect(seat))
    }

    /// `seat` connects again at authority tick `at`.
    #[must_use]
    pub fn reconnect(self, at: u64, seat: usize) -> MatchSetup {
        self.happening(at, Happening::Reconnect(seat))
    }

    /// The client of `seat` leaves at authority tick `at`; its message takes the link.
    #[must_use]
    pub fn leave(self, at: u64, seat: usize) -> MatchSetup {
        self.happening(at, Happening::Leave(seat))
    }

    /// What every real client so far keeps of its states.
    pub(crate) fn keep_states(&mut self, retention: Retention) {
        for player in &mut self.players {
            if let PlayerSetup::Client(client) = player {
                client.config.retention = retention;
            }
        }
    }

    fn happening(mut self, at: u64, happening: Happening) -> MatchSetup {
        self.happenings.push((Tick::new(at), happening));
        self
    }

    /// The match, at the moment at which tick 0 begins.
    ///
    /// # Panics
    /// When the setup contradicts itself: no players, more players than seats, rules that no room takes.
    pub fn build(self) -> SimulatedMatch {
        SimulatedMatch::new(self)
    }

    pub(super) fn room_config(&self) -> RoomConfig {
        let players = u8::try_from(self.players.len()).unwrap_or(u8::MAX);
        let seats = self.seats.unwrap_or(players);
        assert!(players <= seats && players > 0, "{players} players for {seats} seats");
        let seats = SeatCount::new(seats).unwrap_or_else(|| panic!("a match of {seats} seats"));
        let descriptor = MatchDescriptor::new(self.factory.manifest(), self.config.clone(), self.match_seed, seats);
        let mut config = RoomConfig::new(descriptor);
        config.rules.hard_tolerance_ticks = self.hard_tolerance_ticks;
        config.rules.checksum_cadence_ticks = self.checksum_cadence_ticks;
        config.grace_millis = self.grace_millis;
        config.start = StartPolicy::Manual;
        config.donation = self.donation;
        config
    }
}
