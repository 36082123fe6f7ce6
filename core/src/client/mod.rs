//! The networked client: a sans-IO machine above the session (N1).
//!
//! Bytes and the caller's monotonic time go in; bytes, events and deadlines come out. Each turn:
//!
//! 1. [`Client::handle_message`] for what arrived, [`Client::handle_connected`] and [`Client::handle_disconnected`] for the
//!    transport;
//! 2. [`Client::handle_turn`] with the time;
//! 3. [`Client::submit_input`] while [`Client::wanted_input`] names a tick: each tick is sampled once and never changes (N2);
//! 4. [`Client::step`]: confirmed frames, at most one rollback, a bounded number of predictions (N6);
//! 5. [`Client::poll_output`] until it gives nothing, and [`Client::poll_presentation_event`] for sounds and effects.
//!
//! The game here is that of the [crate's page](crate), and the room is played by hand; a real one is in `retick-authority`.
//!
//! ```
//! # mod race {
//! #     include!(concat!(env!("CARGO_MANIFEST_DIR"), "/doc/race.rs"));
//! # }
//! use race::{descriptor, factory, frame, packed};
//! use retick_core::client::{Client, ClientConfig, Output};
//! use retick_core::frame::FrameRunWriter;
//! use retick_core::seat::{ControlEpoch, Generation, Seat};
//! use retick_core::tick::{Moment, Tick};
//! use retick_core::wire::{
//!     Claim, ClaimId, ClientMessage, Frames, History, ReleaseTag, ResumeToken, RoomClock, RoomMessage, RoomRules, Welcome,
//! };
//!
//! let now = Moment::ZERO;
//! let mut client = Client::new(ClientConfig::default(), Box::new(factory()));
//! client.handle_connected(now);
//! let Some(Output::Transmit(bytes)) = client.poll_output() else { panic!("it says hello") };
//! assert!(matches!(ClientMessage::decode(bytes)?, ClientMessage::Hello(_)));
//!
//! // The room greets it, starts, and confirms tick 0.
//! let (generation, descriptor, mut run) = (Generation(0), descriptor().to_bytes(), FrameRunWriter::default());
//! run.push(&frame(0, [10, 20]), None);
//! let (seat, id, epoch, token) = (Seat::new(0).ok_or("seat 0")?, ClaimId(1), ControlEpoch(1), ResumeToken([7; 32]));
//! let (claim, history) = (Claim { seat, id, epoch, token }, History::Frames { next: Tick::ZERO });
//! let rules = RoomRules { hard_tolerance_ticks: 6, checksum_cadence_ticks: 120 };
//! let (first, tag) = (Tick::ZERO, ReleaseTag::default());
//! for message in [
//!     RoomMessage::Welcome(Welcome { claim: Some(claim), descriptor: &descriptor, rules, frontier: Tick::ZERO, history }),
//!     RoomMessage::Started { generation, clock: RoomClock::default() },
//!     RoomMessage::Frames(Frames { generation, first, count: 1, complete: true, tag, body: run.body() }),
//! ] {
//!     let mut bytes = Vec::new();
//!     message.encode_into(&mut bytes);
//!     client.handle_message(&bytes, now)?;
//! }
//!
//! // One turn.
//! client.handle_turn(now);
//! while client.wanted_input().is_some() {
//!     client.submit_input(&packed(10))?;
//! }
//! client.step()?;
//! let (mut messages, mut events) = (0, 0);
//! while let Some(output) = client.poll_output() {
//!     match output {
//!         Output::Transmit(_) => messages += 1,
//!         Output::Event(_) => events += 1,
//!     }
//! }
//! assert!(messages > 0 && events > 0);
//! assert_eq!(client.session().map(|session| session.confirmed()), Some(Tick::new(1)));
//! # Ok::<(), Box<dyn core::error::Error>>(())
//! ```

mod config;
mod delay;
mod donation;
mod inputs;
mod life;
mod messages;
mod outbox;
mod pace;
mod preparation;
mod tail;
mod turn;

use alloc::boxed::Box;
use alloc::vec::Vec;

pub use self::config::{
    ClientConfig, ClientRole, DEFAULT_MAX_ROLLBACK_TICKS, DEFAULT_MAX_ROLLBACKS_PER_SECOND, DEFAULT_MAX_STEPS_PER_TURN,
    DelayBudget, InputDelay, MOBILE_CHECKSUM_CADENCE_TICKS, PredictionMode, Transport,
};
use self::delay::{DelayTuner, Measured};
use self::donation::Transfers;
pub use self::donation::{DONATION_WINDOW_CHUNKS, HydrationError, MAX_QUEUED_DONATIONS};
pub use self::inputs::{MAX_LOSSY_MESSAGE_BYTES, MAX_REDUNDANT_INPUTS};
pub use self::life::MatchResult;
use self::life::{Life, Terms};
use self::outbox::Outbox;
use self::pace::{Goals, Pace};
use self::preparation::HeldMatch;
pub use self::preparation::{MAX_HELD_BYTES, MAX_HELD_MESSAGES, Preparation};
use self::tail::Tail;
use self::turn::{Backlog, TurnBudget};
use crate::digest::{Checksum, Digest, Identity};
use crate::event::PresentationEvent;
use crate::frame::{Frame, FrameChain, FrameError, MAX_COMMAND_BYTES};
use crate::identity::{DescriptorError, IdentityManifest, MatchDescriptor};
use crate::runtime::{CreateError, RuntimeFactory};
use crate::seat::{ControlEpoch, Generation, Seat};
use crate::session::{Budget, ConfirmError, Progress, Session, SessionError, SessionEvent, SessionFault, Standing};
use crate::tick::{Moment, Tick};
use crate::wire::{
    ClaimId, CloseReason, MAX_EPHEMERAL_BYTES, MessageError, NoSnapshot, Refusal, ResumeToken, RoomRules, SeatCounters,
    SeatView,
};

/// The slowest round trip, in milliseconds, after which a room may still ask for a state that was reported: the window of checkpoints
/// must hold it behind one checksum cadence (A7).
pub const SLOWEST_ROUND_TRIP_MILLIS: u64 = 1_000;
/// Most checksum reports that wait for a transport.
const MAX_PENDING_REPORTS: usize = 64;
/// Where a client stands.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ClientStatus {
    /// It has no transport; its session, if it has one, waits.
    Disconnected,
    /// It has greeted the room and waits for the answer.
    Greeting,
    /// It was let in, and the match has not begun.
    Waiting,
    /// It applies frames that it missed.
    CatchingUp,
    /// It plays.
    Live,
    /// It is over, for the reason that [`Client::end`] gives.
    Ended,
}

/// What happened, for the game.
#[must_use]
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum ClientEvent {
    /// The room gave it a seat, and the match is the one that it has loaded.
    Joined {
        /// The seat.
        seat: Seat,
        /// Whether it held the seat before.
        resumed: bool,
    },
    /// The room lets it watch, and the match is the one that it has loaded (A14).
    Watching {
        /// Whether it watched before.
        resumed: bool,
    },
    /// Tick 0 of the generation has begun.
    Started,
    /// Who is there has changed, or whether the room is locked (A15).
    Roster {
        /// Whether only who has a seat gets in.
        locked: bool,
        /// Every seat, in order.
        seats: Vec<SeatView>,
    },
    /// The match's clock stands still (A15).
    Paused {
        /// The first tick that is not confirmed before it goes on.
        tick: Tick,
    },
    /// The match's clock goes on (A15).
    Unpaused,
    /// The room has another session config, and the match starts over at tick 0 (A10).
    Reconfigured {
        /// The generation that is played now.
        generation: Generation,
    },
    /// The match has a result (A15).
    Settled(MatchResult),
    /// Something on the confirmed timeline.
    Session(SessionEvent),
    /// Machines disagree about a state (A8).
    Desync {
        /// The state: `n` for `S(n)`.
        tick: Tick,
        /// Every seat's report.
        values: Vec<(Seat, Checksum)>,
    },
    /// Another seat's ephemeral (A9).
    Ephemeral {
        /// Whose.
        seat: Seat,
        /// Its bytes.
        payload: Vec<u8>,
    },
    /// A part of the snapshot arrived from which the session is going to be built (A7).
    Hydrating {
        /// Bytes that are there.
        received_bytes: u32,
        /// Bytes of the encoded snapshot.
        total_bytes: u32,
    },
    /// The session was built from a snapshot, and goes on from there (A7).
    Hydrated {
        /// The state: `n` for `S(n)`.
        tick: Tick,
        /// Whether the room knew of a report of this state by another seat than the donor's.
        verified: bool,
    },
    /// A snapshot was not taken; the session is as before, and the room sends another one, or gives up.
    HydrationFailed {
        /// Why.
        error: HydrationError,
    },
    /// The room has no snapshot just now. It goes on looking for one, sends frames instead, or gives up.
    NoSnapshot {
        /// Why.
        cause: NoSnapshot,
    },
    /// The service is about to stop (V1). The match goes on until the room says that it ended.
    Draining {
        /// How long the room still lives, in milliseconds.
        millis: u32,
    },
    /// It is over; close the transport.
    Ended(EndReason),
}

/// Why a client is over. Only [`EndReason::Closed`] with [`CloseReason::Left`] was asked for.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum EndReason {
    /// The room refused it.
    #[error("the room refused: {0}")]
    Refused(Refusal),
    /// The room ended the connection.
    #[error("the room closed the connection: {0}")]
    Closed(CloseReason),
    /// The room's match is not the loaded game's.
    #[error("the room plays identity {room}, but {loaded} is loaded")]
    Identity {
        /// The room's identity.
        room: Identity,
        /// The loaded game's.
        loaded: Identity,
    },
    /// The room's descriptor is malformed.
    #[error("the room's descriptor: {0}")]
    Descriptor(DescriptorError),
    /// The descriptor changed, and not into a later generation of the same game.
    #[error("the match changed from {before} to {after}")]
    MatchChanged {
        /// Digest of the descriptor before.
        before: Digest,
        /// Digest of the descriptor now.
        after: Digest,
    },
    /// There is no runtime for the room's match.
    #[error("{0}")]
    Create(CreateError),
    /// There is no session for the room's match.
    #[error("{0}")]
    Session(SessionError),
    /// The window of checkpoints can't hold one checksum cadence and the slowest round trip, so this client could never donate a
    /// state that it reported (A7).
    #[error("a checkpoint window of {window_ticks} ticks, where cadence and slowest round trip take {needed_ticks}")]
    CheckpointWindow {
        /// Ticks that the window holds.
        window_ticks: u32,
        /// Ticks that it must hold.
        needed_ticks: u64,
    },
    /// The session faulted.
    #[error("{0}")]
    Fault(SessionFault),
    /// More came than is held while the game prepares the match: [`MAX_HELD_MESSAGES`], or [`MAX_HELD_BYTES`].
    #[error("the preparation took too long: more came than is held")]
    PreparationOverflow,
    /// The room sent bytes that are no message.
    #[error("the room sent a malformed message: {0}")]
    Message(MessageError),
    /// The room sent frames that do not decode.
    #[error("the room sent a malformed frame: {0}")]
    Frame(FrameError),
    /// The room sent a frame that does not follow on the last one.
    #[error("the room sent a frame out of order: {0}")]
    Order(ConfirmError),
    /// The room sent a message that has no place here.
    #[error("the room broke the protocol")]
    Protocol,
}

/// Why a request was not sent.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
pub enum RequestError {
    /// There is no seat, or no transport.
    #[error("the client is not connected to a match")]
    NotConnected,
    /// The bytes are beyond their limit.
    #[error("{actual} bytes, of which {limit} are allowed")]
    TooLong {
        /// Bytes given.
        actual: usize,
        /// Most bytes allowed.
        limit: usize,
    },
    /// The game takes no commands (K7).
    #[error("the game takes no commands")]
    CommandsUnsupported,
}

/// What comes out of a client.
#[must_use]
#[derive(Debug)]
pub enum Output<'a> {
    /// Send these bytes as one message.
    Transmit(&'a [u8]),
    /// Tell the game.
    Event(ClientEvent),
}

/// Counts since the client was made.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct ClientStats {
    /// Mispredictions corrected.
    pub rollbacks: u64,
    /// Ticks resimulated by them.
    pub resimulated_ticks: u64,
    /// The deepest of them, in ticks.
    pub deepest_rollback_ticks: u64,
    /// Own ticks that the authority substituted.
    pub own_substitutions: u64,
    /// Checksums reported.
    pub reports: u64,
    /// Turns in which the prediction window was full.
    pub blocked_turns: u64,
    /// Desyncs announced by the room.
    pub desyncs: u64,
    /// Bytes of the messages sent.
    pub sent_bytes: u64,
    /// Bytes of the messages received.
    pub received_bytes: u64,
    /// The measured round trip, in microseconds; `None` before the first answer.
    pub round_trip_micros: Option<u64>,
    /// By how much a round trip is longer than the quickest, on the mean, in microseconds.
    pub jitter_micros: u64,
    /// The input delay in force, in ticks (N3).
    pub input_delay_ticks: u16,
    /// Confirmed frames that wait for their turn (N6).
    pub queued_frames: u64,
    /// Confirmed frames applied in the last second in which some waited; `None` when none wait, or not for long.
    pub backlog_frames_per_second: Option<u64>,
    /// Whether those are no more than the room confirms in a second: the frames that wait will never be fewer (N6).
    pub backlog_is_stuck: bool,
    /// What the room counted about this seat, as of its last answer.
    pub room: SeatCounters,
}

/// The seat that a client holds.
#[derive(Clone, Copy, Debug)]
struct Claimed {
    seat: Seat,
    claim: ClaimId,
    epoch: ControlEpoch,
    token: ResumeToken,
    rules: RoomRules,
    generation: Generation,
}

/// A player's end of the wire. See the module's page for the order of calls.
pub struct Client {
    config: ClientConfig,
    factory: Box<dyn RuntimeFactory>,
    /// What is handed in when it joins (V1).
    ticket: Vec<u8>,
    connected: bool,
    greeted: bool,
    started: bool,
    terms: Option<Terms>,
    claimed: Option<Claimed>,
    life: Life,
    session: Option<Session>,
    /// `None` also behind a snapshot: the chain over frames that the client never had can't be computed.
    chain: Option<FrameChain>,
    /// The newest frames, for a room that lost them.
    tail: Tail,
    /// The room was restarted, and its clock does not run yet.
    recovering: bool,
    transfers: Transfers,
    /// The match whose session waits for the game's preparation.
    held: Option<HeldMatch>,
    pace: Pace,
    delay: DelayTuner,
    /// Where samples and the present are wanted in this turn.
    goals: Goals,
    turn: TurnBudget,
    backlog: Backlog,
    /// The first tick that the room had not released when it greeted this connection. Until all before it has been received, no
    /// input that is sampled can count.
    greeted_at: Tick,
    now: Moment,
    /// Next tick whose input has not been sent on this connection.
    unsent: Tick,
    /// When unconfirmed inputs are sent again although there are no new ones; only on a lossy transport.
    next_resend: Moment,
    /// The last frame decoded on this connection, against which the next one is abbreviated.
    base: Frame,
    base_is_known: bool,
    incoming: Frame,
    command_sequence: u32,
    pending_reports: Vec<(Tick, Checksum)>,
    outbox: Outbox,
    end: Option<EndReason>,
    stats: ClientStats,
}

impl Client {
    /// A client without a transport, for whatever match of this game a room offers.
    #[must_use]
    pub fn new(config: ClientConfig, factory: Box<dyn RuntimeFactory>) -> Client {
        Client {
            pace: Pace::new(factory.manifest().tick_rate()),
            delay: DelayTuner::new(config.input_delay),
            turn: TurnBudget::new(&config),
            backlog: Backlog::default(),
            config,
            factory,
            ticket: Vec::new(),
            connected: false,
            greeted: false,
            started: false,
            terms: None,
            claimed: None,
            life: Life::default(),
            session: None,
            chain: None,
            tail: Tail::default(),
            recovering: false,
            held: None,
            transfers: Transfers::default(),
            goals: Goals::default(),
            greeted_at: Tick::ZERO,
            now: Moment::ZERO,
            unsent: Tick::ZERO,
            next_resend: Moment::ZERO,
            base: Frame::new(Generation::default(), Tick::ZERO),
            base_is_known: false,
            incoming: Frame::new(Generation::default(), Tick::ZERO),
            command_sequence: 0,
            pending_reports: Vec::new(),
            outbox: Outbox::default(),
            end: None,
            stats: ClientStats::default(),
        }
    }

    /// Joins with this ticket of the game's backend (V1); a returning client needs none. An open room reads none. One of more
    /// than [`MAX_TICKET_BYTES`](crate::wire::MAX_TICKET_BYTES) the room refuses as malformed.
    #[must_use]
    pub fn with_ticket(self, ticket: Vec<u8>) -> Client {
        Client { ticket, ..self }
    }

    /// A transport to the room is open: greets it, with a claim to the same seat if there was one (A6).
    pub fn handle_connected(&mut self, now: Moment) {
        if self.end.is_some() {
            return;
        }
        self.now = now;
        self.connected = true;
        self.greeted = false;
        self.base_is_known = false;
        self.recovering = false;
        self.pace.handle_connected(now);
        self.send_hello();
    }

    /// The transport is lost. Not terminal: the session waits for the next [`Client::handle_connected`].
    pub fn handle_disconnected(&mut self, now: Moment) {
        self.now = now;
        self.connected = false;
        self.greeted = false;
        self.base_is_known = false;
        self.transfers.handle_disconnected();
        self.outbox.drop_messages();
        if let Some(held) = &mut self.held {
            held.forget_messages();
        }
    }

    /// Begins a turn at this time: moves the pace on, and decides how far samples and the present are to go. The budget of a turn
    /// (N6) is given here: whatever is stepped until the next call shares it.
    pub fn handle_turn(&mut self, now: Moment) {
        self.now = now;
        self.send_ping_if_due();
        self.turn = TurnBudget::new(&self.config);
        self.transfers.begin_turn();
        self.goals = Goals::default();
        if self.session.is_some()
            && self.started
            && !self.recovering
            && self.end.is_none()
            && !self.transfers.is_awaiting()
        {
            self.judge_delay();
            let Goals { sample, present } = self.pace.turn(now, self.delay.delays(self.delay_limit_ticks()));
            self.goals = Goals { sample: self.life.clamp(sample), present: self.life.clamp(present) };
        }
    }

    fn judge_delay(&mut self) {
        let ClientStats { rollbacks, resimulated_ticks, own_substitutions, .. } = self.stats;
        let lead_ticks = self.pace.lead_ticks(self.now);
        if self.status() == ClientStatus::Live && self.life.paused_at.is_none() {
            self.delay.turn(self.now, Measured { rollbacks, resimulated_ticks, own_substitutions, lead_ticks });
        } else {
            self.delay.pause();
        }
    }

    fn delay_limit_ticks(&self) -> u16 {
        self.descriptor().map_or(0, |descriptor| descriptor.limits().max_input_delay_ticks)
    }

    /// Sends the new inputs, applies confirmed frames, rolls back at most once, predicts, and reports checksums: all within what is
    /// left of the turn's budget (N6).
    ///
    /// # Errors
    /// [`EndReason`], when the client is over, now or before.
    pub fn step(&mut self) -> Result<Progress, EndReason> {
        if let Some(end) = &self.end {
            return Err(end.clone());
        }
        self.send_inputs();
        let (standing, budget, rate) = (self.standing(), self.budget(), self.factory.manifest().tick_rate());
        let Some(session) = &mut self.session else { return Ok(Progress::default()) };
        session.set_standing(standing);
        let stepped = session.advance(budget);
        if let Ok(progress) = &stepped {
            self.backlog.step(self.now, progress.confirmed_frames, session.queued_frames(), rate);
            self.stats.blocked_turns += u64::from(self.turn.spend(progress));
        }
        self.drain_session();
        self.send_reports();
        if stepped.is_ok() {
            self.send_ready_if_caught_up();
            self.give_snapshots();
        }
        stepped.map_err(|fault| self.finish(EndReason::Fault(fault)))
    }

    /// What the session may do now. Who is further behind than the room waits for predicts nothing: it would all be rolled back.
    fn budget(&self) -> Budget {
        let nothing = Budget { confirmed_frames: 0, target: Tick::ZERO };
        let Some(session) = &self.session else { return nothing };
        let confirmed_frames = self.turn.confirmed_frames();
        let applied = confirmed_frames.min(session.queued_frames());
        let confirmed = session.confirmed().saturating_add(applied as u64);
        let predicts = !self.is_observer()
            && self.config.mode == PredictionMode::Always
            && self.known_behind(confirmed) <= self.tolerance_ticks();
        let reachable = session.head().max(confirmed).saturating_add(self.turn.steps());
        // The session itself stops at its window, and says so.
        let target = if predicts { self.goals.present.min(reachable) } else { Tick::ZERO };
        Budget { confirmed_frames, target }
    }

    /// How many ticks the room is known to have confirmed beyond `confirmed`: they wait here, or are the history of a greeting.
    fn known_behind(&self, confirmed: Tick) -> u64 {
        let received = self.session.as_ref().map_or(Tick::ZERO, Session::received);
        received.max(self.greeted_at).since(confirmed)
    }

    fn tolerance_ticks(&self) -> u64 {
        self.terms.map_or(0, |terms| u64::from(terms.rules.hard_tolerance_ticks))
    }

    /// The next thing to send or to tell. Drain it after every call that takes input.
    pub fn poll_output(&mut self) -> Option<Output<'_>> {
        if let Some(bytes) = self.outbox.next_message_bytes() {
            self.stats.sent_bytes += bytes;
        }
        self.outbox.pop()
    }

    /// The game's next presentation event, as [`Session::poll_presentation_event`] gives it (K10). Drain it every turn.
    pub fn poll_presentation_event(&mut self) -> Option<PresentationEvent<'_>> {
        self.session.as_mut()?.poll_presentation_event()
    }

    /// When [`Client::handle_turn`] is due next: the next tick of the pace, or the next ping. `None` without a transport, and
    /// while the room has not answered the greeting: then nothing is due but its answer.
    pub fn next_timeout(&self) -> Option<Moment> {
        (self.connected && self.greeted && self.end.is_none()).then(|| self.pace.next_timeout(self.started))
    }

    /// Requests a command; the authority orders it into a coming frame, or drops it when the seat's budget is used up (A9).
    ///
    /// # Errors
    /// [`RequestError`]; nothing was sent then.
    pub fn request_command(&mut self, payload: &[u8]) -> Result<(), RequestError> {
        let claimed = self.live_claim()?;
        let takes = self.session.as_ref().is_some_and(Session::takes_commands);
        if !takes {
            return Err(RequestError::CommandsUnsupported);
        }
        check_length(payload, MAX_COMMAND_BYTES)?;
        self.command_sequence = self.command_sequence.saturating_add(1);
        self.send_command(claimed.generation, self.command_sequence, payload);
        Ok(())
    }

    /// Sends bytes to all others, outside the match (A9).
    ///
    /// # Errors
    /// [`RequestError`]; nothing was sent then.
    pub fn send_ephemeral(&mut self, payload: &[u8]) -> Result<(), RequestError> {
        self.live_claim()?;
        check_length(payload, MAX_EPHEMERAL_BYTES)?;
        self.send_ephemeral_message(payload);
        Ok(())
    }

    /// Leaves the match for good (A1).
    ///
    /// # Errors
    /// [`RequestError::NotConnected`].
    pub fn leave(&mut self) -> Result<(), RequestError> {
        if !self.connected || !self.greeted || self.end.is_some() {
            return Err(RequestError::NotConnected);
        }
        self.send_leave();
        Ok(())
    }

    fn live_claim(&self) -> Result<Claimed, RequestError> {
        let claimed = self.claimed.filter(|_| self.connected && self.greeted && self.end.is_none());
        claimed.ok_or(RequestError::NotConnected)
    }

    /// Whether the room has answered the greeting on this connection.
    pub fn is_greeted(&self) -> bool {
        self.greeted
    }

    /// Where it stands.
    pub fn status(&self) -> ClientStatus {
        if self.end.is_some() {
            return ClientStatus::Ended;
        }
        if !self.connected {
            return ClientStatus::Disconnected;
        }
        let (Some(session), true) = (&self.session, self.terms.is_some() && self.greeted) else {
            return ClientStatus::Greeting;
        };
        if !self.started {
            return ClientStatus::Waiting;
        }
        let applicable = self.turn.confirmed_frames().min(session.queued_frames());
        let after_turn = session.confirmed().saturating_add(applicable as u64);
        let missing = self.heard_tick().since(session.confirmed());
        let is_behind =
            missing > self.allowed_missing_ticks() || self.known_behind(after_turn) > self.tolerance_ticks();
        if is_behind || !self.base_is_known || self.transfers.is_awaiting() {
            ClientStatus::CatchingUp
        } else {
            ClientStatus::Live
        }
    }

    /// Where the room's clock was when it sent what can be here: no further than a pause has let it.
    fn heard_tick(&self) -> Tick {
        self.life.clamp(self.pace.heard_tick(self.now))
    }

    /// How many ticks may be missing of what the room's clock had reached when it sent what can be here: it waits up to its
    /// tolerance for an input, and as much more as is predicted is nothing to see.
    fn allowed_missing_ticks(&self) -> u64 {
        self.tolerance_ticks() + u64::from(self.config.prediction_window_ticks)
    }

    /// How the session stands to the room: it catches up while frames that the room has confirmed have not arrived. Those that
    /// arrived and wait for their turn don't count (S5).
    fn standing(&self) -> Standing {
        let (Some(session), true) = (&self.session, self.terms.is_some() && self.started && self.greeted) else {
            return Standing::Live;
        };
        if self.transfers.is_awaiting() {
            return Standing::AwaitingHydration;
        }
        let missing = self.heard_tick().since(session.received());
        let is_behind = missing > self.allowed_missing_ticks() || session.received() < self.greeted_at;
        if is_behind { Standing::CatchingUp } else { Standing::Live }
    }

    /// How far the present is on its way to the next tick, from 0 up to, but not including, 1: 0 shows the projection before the
    /// present one, and nearly 1 the present one. Follows the pace; what can't keep up with it stays at the end (N7).
    #[doc(alias = "render alpha")]
    pub fn alpha(&self) -> f64 {
        let (Some(session), Some(present)) = (&self.session, self.pace.present_nanos().filter(|_| self.started)) else {
            return 0.0;
        };
        let shown_from = session.descriptor().tick_rate().moment_of(session.head().saturating_sub(1));
        let under_way = u64::try_from(present).unwrap_or(0).saturating_sub(shown_from.as_nanos());
        let length = self.pace.tick_length_nanos();
        let part = |nanos: u64| f64::from(u32::try_from(nanos).unwrap_or(u32::MAX));
        part(under_way.min(length.saturating_sub(1))) / part(length)
    }

    /// Why it is over, if it is.
    pub fn end(&self) -> Option<&EndReason> {
        self.end.as_ref()
    }

    /// The session, once there is one.
    pub fn session(&self) -> Option<&Session> {
        self.session.as_ref()
    }

    /// The session, for what a game reads with `&mut`: checksums and snapshots. Inputs and frames go through the client.
    pub fn session_mut(&mut self) -> Option<&mut Session> {
        self.session.as_mut()
    }

    /// What the loaded game is made of.
    pub fn manifest(&self) -> &IdentityManifest {
        self.factory.manifest()
    }

    /// The match, once greeted.
    pub fn descriptor(&self) -> Option<&MatchDescriptor> {
        self.session.as_ref().map(Session::descriptor)
    }

    /// The seat, once greeted.
    #[doc(alias = "slot")]
    pub fn seat(&self) -> Option<Seat> {
        self.claimed.map(|claimed| claimed.seat)
    }

    /// The claim under which the seat is held.
    pub fn claim(&self) -> Option<ClaimId> {
        self.claimed.map(|claimed| claimed.claim)
    }

    /// The room's rules, once greeted.
    pub fn rules(&self) -> Option<RoomRules> {
        self.terms.map(|terms| terms.rules)
    }

    /// The head of the hash chain over every frame received (A12). `None` once the session was built from a snapshot: the chain covers
    /// every frame from tick 0 on, and the client never had those before it.
    pub fn chain_head(&self) -> Option<Digest> {
        self.chain.as_ref().map(FrameChain::head)
    }

    /// The room's tick right now, as well as it is known.
    pub fn room_tick(&self) -> Tick {
        self.life.clamp(self.pace.room_tick(self.now))
    }

    /// Counts since the client was made.
    pub fn stats(&self) -> ClientStats {
        ClientStats {
            round_trip_micros: self.pace.round_trip_micros(),
            jitter_micros: self.pace.jitter_micros(),
            input_delay_ticks: self.delay.delays(self.delay_limit_ticks()).present_ticks,
            queued_frames: self.session.as_ref().map_or(0, |session| session.queued_frames() as u64),
            backlog_frames_per_second: self.backlog.frames_per_second,
            backlog_is_stuck: self.backlog.is_stuck,
            ..self.stats
        }
    }

    /// Ends the client, once.
    fn finish(&mut self, reason: EndReason) -> EndReason {
        if self.end.is_none() {
            self.end = Some(reason.clone());
            self.outbox.push_event(ClientEvent::Ended(reason.clone()));
        }
        reason
    }
}

fn check_length(payload: &[u8], limit: usize) -> Result<(), RequestError> {
    if payload.len() > limit { Err(RequestError::TooLong { actual: payload.len(), limit }) } else { Ok(()) }
}
