//! The room: the machine that orders a match's inputs (requirements A). No clock, socket or simulation lives here.
//!
//! [`Room`] is the machine, [`Output`] what it wants done. One file has one purpose: `greeting` lets connections in, `claims`
//! says who gets a seat, `messages` takes what players send and `observers` what onlookers do, `confirm` makes frames, `catch_up`
//! replays them to who was away, `donation` takes snapshots from clients and gives them to newcomers, `transitions` changes who
//! drives a seat, `departures` ends connections, seats and the room, `restore` makes a room of its log and `recovery` takes back
//! what the log lacks, `summary` makes the log's older records unneeded, `inquiries` asks where the states of a desync differ,
//! `referee` is the word of the room's own simulation, `life`, `reconfigure`, `settlement` and `roster` are a match's life, `inspect`
//! says what there is; the other
//! files hold the parts that these work on.
//!
//! Who has another game loaded is not let in, and is told why. The [crate's page](crate) plays a whole match.
//!
//! ```
//! use retick_authority::room::{ConnectionId, Output, Room, RoomConfig, RoomSecret};
//! use retick_core::config::SessionConfig;
//! use retick_core::identity::{IdentityManifest, MatchDescriptor};
//! use retick_core::input::InputSchema;
//! use retick_core::rng::SessionSeed;
//! use retick_core::seat::SeatCount;
//! use retick_core::tick::{Moment, TickRate};
//! use retick_core::wire::{ClientMessage, Entry, Hello, PROTOCOL_VERSION, Refusal, RoomMessage};
//!
//! let schema = InputSchema::builder("drive/v1").integer("steer", 0..=255).build()?;
//! let builder = |revision| IdentityManifest::builder("native", revision, TickRate::Hz60);
//! let game = |revision| builder(revision).input_schema(schema.clone()).build();
//! let (manifest, other) = (game(1)?, game(2)?);
//! let seats = SeatCount::new(2).ok_or("two seats")?;
//! let descriptor = MatchDescriptor::new(&manifest, SessionConfig::empty(), SessionSeed::from_u64(1), seats);
//! let mut room = Room::new(RoomConfig::new(descriptor), RoomSecret([7; 32]))?;
//!
//! let (stranger, now) = (ConnectionId(0), Moment::ZERO);
//! let hello = Hello { protocol: PROTOCOL_VERSION, identity: other.identity(), entry: Entry::Join { ticket: b"" } };
//! let mut bytes = Vec::new();
//! ClientMessage::Hello(hello).encode_into(&mut bytes);
//! room.handle_connected(stranger, now);
//! room.handle_message(stranger, &bytes, now);
//!
//! let mut refused = false;
//! while let Some(output) = room.poll_output() {
//!     if let Output::Transmit { to, bytes } = output {
//!         let message = RoomMessage::decode(bytes)?;
//!         refused |= to == [stranger] && matches!(message, RoomMessage::Refused(Refusal::Identity { .. }));
//!     }
//! }
//! assert!(refused);
//! # Ok::<(), Box<dyn core::error::Error>>(())
//! ```

mod budget;
mod catch_up;
mod claims;
mod clock;
mod commands;
mod config;
mod confirm;
mod connections;
mod departures;
mod donation;
mod event;
mod fences;
mod fifo;
mod greeting;
mod history;
mod inputs;
mod inquiries;
mod inspect;
mod life;
mod line;
mod messages;
mod observers;
mod outbox;
mod policy;
mod reconfigure;
mod recovery;
mod referee;
mod release;
mod replay;
mod reports;
mod restore;
mod roster;
mod seats;
mod secrets;
mod settlement;
mod stats;
#[cfg(test)]
mod steady_state;
mod summary;
mod transitions;

pub use catch_up::{CATCH_UP_INTERVAL_NANOS, MAX_CATCH_UP_CHUNKS_PER_CALL, MAX_CATCH_UP_CHUNKS_PER_CONNECTION};
pub use clock::{CLOCK_CLAMP_NANOS, MAX_TIMEOUT_INTERVAL_NANOS};
pub use commands::{
    COMMANDS_PER_SECOND, EPHEMERALS_PER_SECOND, MAX_COMMAND_BYTES_PER_FRAME, MAX_QUEUED_COMMAND_BYTES,
    MAX_QUEUED_COMMANDS, REQUESTS_PER_SECOND,
};
pub use config::{
    DEFAULT_CHECKSUM_CADENCE_TICKS, DEFAULT_GRACE_MILLIS, DEFAULT_GREETING_MILLIS, DEFAULT_HARD_TOLERANCE_TICKS,
    DEFAULT_MAX_OBSERVERS, DEFAULT_MESSAGES_PER_SECOND, Durability, MAX_CHECKSUM_CADENCE_TICKS, RoomConfig,
    RoomConfigError, RoomSettings,
};
pub use connections::{MAX_CONNECTIONS, MAX_TAIL_MESSAGES};
pub use donation::{
    CHECKED_BLOCKS_PER_CALL, DEFAULT_HISTORY_MILLIS, DEFAULT_HYDRATION_MILLIS, DEFAULT_MAX_HISTORY_BYTES,
    DEFAULT_MAX_SNAPSHOT_BYTES, DEFAULT_REPLAY_MILLIS, DEFAULT_SNAPSHOT_INTERVAL_MILLIS,
    DEFAULT_TRANSFER_TIMEOUT_MILLIS, DELIVERY_WINDOW_CHUNKS, DONATION_RETRY_MILLIS, DonationConfig, DonationStatus,
    KeptSnapshot, MAX_DELIVERIES, MAX_DONATION_MILLIS, MAX_KEPT_SNAPSHOTS, MAX_OBSERVER_DELIVERIES,
    MAX_REPAIRS_PER_SEAT, MAX_SNAPSHOT_ATTEMPTS, MAX_SNAPSHOT_CHUNKS_PER_CALL, MAX_TRANSFER_BYTES,
};
pub use event::{CloseCause, ClosedCause, ConnectionId, Output, RoomEvent, VacancyCause};
pub use history::SEGMENT_FRAMES;
pub use inquiries::{INQUIRY_INTERVAL_MILLIS, INQUIRY_TIMEOUT_MILLIS};
pub use life::{PauseError, StartError};
pub use outbox::{MAX_HELD_BYTES, MAX_UNPERSISTED_RECORDS};
pub use policy::{MAX_COUNTDOWN_MILLIS, OnLeave, PausePolicy, ReconfigurePolicy, SeatPolicy, StartPolicy};
pub use reconfigure::{RECONFIGURE_INTERVAL_MILLIS, RECONFIGURE_WAIT_MILLIS, ReconfigureError};
pub use recovery::RECOVERY_WINDOW_MILLIS;
pub use referee::VERDICT_MILLIS;
pub use release::{MAX_FRAMES_PER_RELEASE, RELEASE_BYTES};
pub use reports::{MAX_REPORT_TICKS, Verification};
pub use restore::{RecordError, RestoreError};
pub use seats::SeatState;
pub use secrets::RoomSecret;
pub use settlement::MatchSettlement;
pub use stats::{RoomStats, SeatStats};
pub(crate) use summary::RoomSummary;
pub use transitions::{ACTIVATION_LEAD_MILLIS, BotLease, BotLeaseId, SeatError, SeatTransition};

use alloc::vec::Vec;

use retick_core::frame::{Frame, FrameChain};
use retick_core::tick::{Moment, Tick};
use retick_core::wire::{CloseReason, PlayerId, Refusal, RoomClock, RoomMessage, look_ahead_ticks};

use crate::log::Record;
use clock::{Clock, RoomTime};
use commands::CommandQueue;
use connections::{Connections, Stage};
use donation::Donation;
use fences::Fences;
use history::History;
use inputs::InputBuffer;
use inquiries::Inquiries;
use outbox::Outbox;
use recovery::Recovery;
use referee::Refereeing;
use release::Release;
use reports::Reports;
use seats::SeatSlot;
use secrets::Keys;
use settlement::Results;

/// One match's authority, sans-IO.
///
/// # In
///
/// The driver calls [`handle_connected`](Room::handle_connected), [`handle_message`](Room::handle_message) and
/// [`handle_disconnected`](Room::handle_disconnected) as things happen, and [`handle_timeout`](Room::handle_timeout) at
/// [`next_timeout`](Room::next_timeout). *Deliver, then confirm, then the clock moves on*: everything that is due is handed in
/// before `handle_timeout` is called, for a message only records what it says, and a tick is confirmed in `handle_timeout`
/// alone. An input that was handed in before the call counts, even if the call is the one at which its tick's deadline ends.
///
/// # Out
///
/// After each call the driver drains [`poll_output`](Room::poll_output) until it gives `None`, and does what it is told, in
/// that order. A driver that drains later loses nothing, but the room's memory grows by what waits.
///
/// # Time
///
/// Every moment is the caller's monotonic time; one before the last counts as the last. The room's own clock runs from the
/// caller's moments, but moves in `handle_timeout` alone, and where a pause ends, and by at most [`CLOCK_CLAMP_NANOS`] a call
/// (A1). Ticks, graces and greetings are measured on it; ticks stand still in a pause, and while
/// [too many records](MAX_UNPERSISTED_RECORDS) wait. A driver that sleeps longer than `next_timeout` says slows the room down.
///
/// # Errors of peers
///
/// No bytes panic, and what a peer does wrong touches that peer alone: it is counted in [`RoomStats`], or its connection is
/// refused or closed with a typed cause.
///
/// # Memory
///
/// Once the first ticks have run, nothing here allocates for a tick, except that the [history](Room::frame) grows by its frame until
/// it is as long as it may be. What snapshots take is bounded by [`MAX_TRANSFER_BYTES`].
#[doc(alias = "lobby")]
#[doc(alias = "server")]
#[derive(Debug)]
pub struct Room {
    config: RoomConfig,
    descriptor_bytes: Vec<u8>,
    keys: Keys,
    clock: Clock,
    /// When the next piece of history may be sent.
    next_catch_up: RoomTime,
    phase: Phase,
    /// There is one while the phase says so.
    recovery: Option<Recovery>,
    seats: Vec<SeatSlot>,
    next_claim: u64,
    next_lease: u64,
    /// Whether any bot was ever given a lease.
    has_leased: bool,
    /// The first tick from which a newcomer takes part.
    next_activation: Option<Tick>,
    /// When the lobby's countdown is over.
    countdown_end: Option<RoomTime>,
    /// Before then the config is not swapped again.
    next_reconfigure: RoomTime,
    is_locked: bool,
    /// Whether everyone is to be told who is there.
    roster_changed: bool,
    connections: Connections,
    commands: CommandQueue,
    reports: Reports,
    results: Results,
    history: History,
    donation: Donation,
    inquiries: Inquiries,
    refereeing: Refereeing,
    chain: FrameChain,
    fences: Fences,
    /// The frame being made, and the one before it.
    current: Frame,
    previous: Frame,
    release: Release,
    /// Two more frames, for reading history.
    replayed: [Frame; 2],
    outbox: Outbox,
    stats: RoomStats,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Phase {
    Lobby,
    /// A new generation waits for its players, until then at most.
    Restarting {
        deadline: RoomTime,
    },
    /// Tick 0 began at `origin`.
    Running {
        origin: RoomTime,
    },
    /// The room was restored, and waits for frames that its log lacks.
    Recovering,
    /// The match's clock stands still there.
    Paused {
        position: Moment,
    },
    Closed,
}

impl Room {
    /// A room that waits for its players. The secret comes from the caller's source of randomness: tokens (A6) and release
    /// tags (A12) are derived from it.
    ///
    /// # Errors
    /// [`RoomConfigError`] when the config contradicts itself.
    pub fn new(config: RoomConfig, secret: RoomSecret) -> Result<Room, RoomConfigError> {
        let mut room = Room::assemble(config, secret)?;
        let (descriptor, settings) = (&room.descriptor_bytes, room.config.settings());
        room.outbox.persist(&Record::Created { descriptor, secret, settings });
        room.seat_initial_bots();
        Ok(room)
    }

    /// A room of which nothing is written down.
    fn assemble(config: RoomConfig, secret: RoomSecret) -> Result<Room, RoomConfigError> {
        config.check()?;
        let descriptor = &config.descriptor;
        let look_ahead = look_ahead_ticks(descriptor.tick_rate(), &config.rules, &descriptor.limits());
        let inputs = || InputBuffer::new(look_ahead, descriptor.limits().max_input_bytes);
        let frame = || Frame::new(descriptor.generation(), Tick::ZERO);
        Ok(Room {
            descriptor_bytes: descriptor.to_bytes(),
            keys: Keys::new(&secret),
            clock: Clock::default(),
            next_catch_up: RoomTime::default(),
            phase: Phase::Lobby,
            recovery: None,
            seats: descriptor.seats().seats().map(|_| SeatSlot::new(inputs())).collect(),
            next_claim: 0,
            next_lease: 0,
            has_leased: false,
            next_activation: None,
            countdown_end: None,
            next_reconfigure: RoomTime::default(),
            is_locked: false,
            roster_changed: false,
            connections: Connections::new(config.message_budget()),
            commands: CommandQueue::new(descriptor.seats()),
            reports: Reports::new(config.rules.checksum_cadence_ticks),
            results: Results::default(),
            history: History::new(descriptor.seats()),
            donation: Donation::default(),
            inquiries: Inquiries::default(),
            refereeing: Refereeing::default(),
            chain: FrameChain::new(descriptor),
            fences: Fences::default(),
            current: frame(),
            previous: frame(),
            release: Release::default(),
            replayed: [frame(), frame()],
            outbox: Outbox::new(config.durability, look_ahead),
            stats: RoomStats::default(),
            config,
        })
    }

    /// A transport was opened. Its first message must be a greeting, within [`RoomConfig::greeting_millis`].
    ///
    /// A connection beyond [`MAX_CONNECTIONS`], or to a closed room, is refused at once. One that is known already is ignored.
    pub fn handle_connected(&mut self, connection: ConnectionId, now: Moment) {
        self.clock.observe(now);
        if self.phase == Phase::Closed {
            self.refuse(connection, Refusal::Closing);
        } else if self.connections.contains(connection) {
            // The driver's numbers are unique; the first connection stands.
        } else if self.connections.is_full() {
            self.refuse(connection, Refusal::Full { seats: self.seat_count() });
        } else {
            let deadline = self.clock.present().plus_millis(self.config.greeting_millis);
            self.connections.insert(connection, deadline, now);
        }
    }

    /// Whoever stands before the room knows who this connection is: a join ticket said so (V1). Called before its greeting is
    /// handed in; later, and for connections that the room does not know, it does nothing.
    pub fn handle_admitted(&mut self, connection: ConnectionId, player: PlayerId) {
        if let Some(peer) = self.connections.get_mut(connection)
            && matches!(peer.stage, Stage::Greeting { .. })
        {
            peer.player = Some(player);
        }
    }

    /// A message arrived. Only recorded: no tick is confirmed before [`Room::handle_timeout`].
    ///
    /// Messages of connections that the room does not know, or has closed, are counted and dropped.
    pub fn handle_message(&mut self, connection: ConnectionId, bytes: &[u8], now: Moment) {
        self.clock.observe(now);
        let Some(peer) = self.connections.get_mut(connection) else {
            self.stats.stray_messages += 1;
            return;
        };
        self.stats.messages += 1;
        let (stage, within_budget) = (peer.stage, peer.budget.take(now));
        match stage {
            Stage::Greeting { .. } => self.greet(connection, bytes),
            Stage::Seated { .. } | Stage::Watching { .. } if !within_budget => {
                self.stats.over_budget_connections += 1;
                self.eject(connection, CloseReason::Budget);
            }
            Stage::Watching { greeted_after, .. } => self.handle_observer_message(connection, greeted_after, bytes),
            Stage::Seated { seat, greeted_after, .. } => {
                let from = messages::Sender { connection, seat, greeted_after };
                self.handle_seated_message(from, bytes, now);
            }
        }
        self.send_roster_if_changed();
    }

    /// A transport was lost or closed, for whatever reason. If it held a seat, the seat's grace begins (A6).
    pub fn handle_disconnected(&mut self, connection: ConnectionId, now: Moment) {
        self.clock.observe(now);
        if let Some(Stage::Seated { seat, .. }) = self.connections.remove(connection) {
            self.lose(seat);
            self.send_roster_if_changed();
        }
    }

    /// Moves the room's clock, ends what is overdue, confirms every tick that can be (A1), and sends history to who catches up.
    pub fn handle_timeout(&mut self, now: Moment) {
        if self.phase == Phase::Closed {
            return;
        }
        self.advance_clock(now);
        self.expire_greetings();
        self.end_recovery_if_due();
        self.expire_graces();
        self.begin_overdue();
        self.confirm_due();
        self.run_donation();
        self.check_verdict();
        self.check_inquiries();
        self.send_history();
        self.send_roster_if_changed();
    }

    /// Moves the room's clock. That of the match stands still while too many records wait: what nobody can be told of is not played
    /// either, by substitutes for everyone (A1).
    fn advance_clock(&mut self, now: Moment) {
        let before = self.clock.time();
        self.clock.advance(now);
        if let Phase::Running { origin } = &mut self.phase
            && self.outbox.is_saturated()
        {
            *origin = origin.plus_nanos(self.clock.time().since(before).as_nanos());
        }
    }

    /// The log has kept every record up to this number (A12).
    pub fn handle_persisted(&mut self, sequence: u64) {
        self.outbox.handle_persisted(sequence);
    }

    /// Ends the room: everyone is told, and no tick is confirmed any more. Does nothing the second time.
    pub fn close(&mut self, now: Moment) {
        self.clock.observe(now);
        self.end(ClosedCause::Requested);
    }

    /// The next thing to do. With [`Durability::EveryFrame`], `None` may also mean that everything else waits for
    /// [`Room::handle_persisted`].
    pub fn poll_output(&mut self) -> Option<Output<'_>> {
        self.outbox.poll()
    }

    /// When [`Room::handle_timeout`] is to be called next: at the next tick, at the end of a grace, greeting or wait, and at least
    /// every [`MAX_TIMEOUT_INTERVAL_NANOS`] while any of them is awaited. `None` while nothing is.
    pub fn next_timeout(&self) -> Option<Moment> {
        let due = match self.phase {
            Phase::Closed => return None,
            Phase::Lobby => self.countdown_end,
            Phase::Restarting { deadline } => Some(deadline),
            Phase::Recovering => self.recovery.as_ref().map(|recovery| recovery.end()),
            Phase::Running { origin } => Some(self.next_tick_time(origin)),
            // Whoever comes back gets its history meanwhile.
            Phase::Paused { .. } => Some(self.clock.time().plus_nanos(MAX_TIMEOUT_INTERVAL_NANOS)),
        };
        // While a restored room waits for its clients, no grace ends.
        let is_recovering = self.phase == Phase::Recovering;
        let grace = self.seats.iter().filter_map(|slot| slot.grace_end.filter(|_| !is_recovering)).min();
        let next = [due, grace, self.connections.next_deadline()].into_iter().flatten().min()?;
        let latest = self.clock.time().plus_nanos(MAX_TIMEOUT_INTERVAL_NANOS);
        Some(self.clock.moment_of(next.min(latest)))
    }

    fn next_tick_time(&self, origin: RoomTime) -> RoomTime {
        if self.clock.time() < origin {
            return origin;
        }
        let rate = self.config.descriptor.tick_rate();
        let tick = rate.tick_at(self.clock.time().since(origin));
        origin.plus_nanos(rate.moment_of(tick.saturating_add(1)).as_nanos())
    }

    fn seat_count(&self) -> u8 {
        u8::try_from(self.seats.len()).unwrap_or(u8::MAX)
    }

    /// Where the generation's clock would be now, if it runs.
    fn room_clock(&self) -> Option<RoomClock> {
        let position = match self.phase {
            Phase::Running { origin } if self.outbox.is_saturated() => self.clock.time().since(origin),
            Phase::Running { origin } => self.clock.present().since(origin),
            Phase::Paused { position } => position,
            Phase::Lobby | Phase::Restarting { .. } | Phase::Recovering | Phase::Closed => return None,
        };
        Some(RoomClock { micros: position.as_micros() })
    }

    fn refuse(&mut self, connection: ConnectionId, refusal: Refusal) {
        self.stats.refused_connections += 1;
        self.connections.remove(connection);
        self.outbox.transmit([connection], &RoomMessage::Refused(refusal));
        self.outbox.close(connection, CloseCause::Refused(refusal));
    }
}
