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
//! let (generation, descriptor, mut body) = (Generation(0), descriptor().to_bytes(), Vec::new());
//! frame(0, [10, 20]).encode_after(None, &mut body);
//! let (seat, id, epoch, token) = (Seat::new(0).ok_or("seat 0")?, ClaimId(1), ControlEpoch(1), ResumeToken([7; 32]));
//! let (claim, history) = (Claim { seat, id, epoch, token }, History::Frames { next: Tick::ZERO });
//! let rules = RoomRules { hard_tolerance_ticks: 6, checksum_cadence_ticks: 120 };
//! let (first, tag) = (Tick::ZERO, ReleaseTag::default());
//! for message in [
//!     RoomMessage::Welcome(Welcome { claim: Some(claim), descriptor: &descriptor, rules, frontier: Tick::ZERO, history }),
//!     RoomMessage::Started { generation, clock: RoomClock::default() },
//!     RoomMessage::Frames(Frames { generation, first, count: 1, complete: true, tag, body: &body }),
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

mod life;
mod messages;
mod outbox;
mod pace;
mod tail;

use alloc::boxed::Box;
use alloc::vec::Vec;

pub use self::life::MatchResult;
use self::life::{Life, Terms};
use self::outbox::Outbox;
use self::pace::Pace;
use self::tail::Tail;
use crate::digest::{Checksum, Digest, Identity};
use crate::event::PresentationEvent;
use crate::frame::{Frame, FrameChain, FrameError, MAX_COMMAND_BYTES};
use crate::identity::{DescriptorError, MatchDescriptor};
use crate::runtime::{Capabilities, CreateError, RuntimeFactory};
use crate::seat::{ControlEpoch, Generation, Seat};
use crate::session::{
    Budget, ConfirmError, Held, InputRetention, PresentationPolicy, Progress, Recording, RemotePrediction, Retention,
    Session, SessionError, SessionEvent, SessionFault, SessionPolicy, Standing, SubmitError,
};
use crate::tick::{Moment, Tick};
use crate::wire::{
    ClaimId, CloseReason, MAX_EPHEMERAL_BYTES, MessageError, Refusal, ResumeToken, RoomRules, SeatCounters, SeatView,
    look_ahead_ticks,
};

/// Default of [`ClientConfig::max_steps_per_turn`] (N4).
pub const DEFAULT_MAX_STEPS_PER_TURN: u16 = 4;
/// Most checksum reports that wait for a transport.
const MAX_PENDING_REPORTS: usize = 64;
/// Most ticks of unconfirmed input that are sent again on a lossy transport, the oldest first.
const MAX_REDUNDANT_INPUTS: u64 = 128;

/// Whether the client predicts (N5).
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum PredictionMode {
    /// It shows a predicted present and rolls back.
    #[default]
    Always,
    /// It shows confirmed states alone; input still flows.
    ConfirmedOnly,
}

/// What a client is to the match.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum ClientRole {
    /// It holds a seat.
    #[default]
    Player,
    /// It watches: holds no seat, sends no input, shows confirmed states alone, and reports nothing (A14).
    Observer,
}

/// What the transport below loses (N2).
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Transport {
    /// Nothing while it lives, and it keeps the order: each input is sent once.
    #[default]
    Reliable,
    /// Messages to the room may be lost or reordered: each message repeats every unconfirmed input.
    Lossy,
}

/// What a client is to do. The defaults are those of the spec.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ClientConfig {
    /// Whether it plays or watches.
    pub role: ClientRole,
    /// Most ticks that are predicted ahead of the confirmed frontier (S3).
    pub prediction_window_ticks: u16,
    /// Most ticks for which a checkpoint is kept (S1).
    pub checkpoint_window_ticks: u32,
    /// Which of those are kept (S5).
    pub retention: Retention,
    /// How the inputs of other seats are guessed (S4).
    pub remote_prediction: RemotePrediction,
    /// Whether it predicts at all (N5).
    pub mode: PredictionMode,
    /// Ticks between sampling an input and the tick that it is for (N3).
    pub input_delay_ticks: u16,
    /// Most newly predicted ticks in one turn (N4).
    pub max_steps_per_turn: u16,
    /// Most confirmed frames applied in one turn; `None` for no bound (N6).
    pub max_confirmed_frames_per_turn: Option<u32>,
    /// What the transport loses.
    pub transport: Transport,
    /// What the game needs of its runtime.
    pub requires: Capabilities,
    /// Whether confirmed frames come out as events, for a recorder.
    pub recording: Recording,
    /// Which confirmed frames the session keeps itself (S5).
    pub input_retention: InputRetention,
    /// What becomes of the game's presentation events (K10).
    pub presentation: PresentationPolicy,
}

impl Default for ClientConfig {
    fn default() -> Self {
        let SessionPolicy {
            prediction_window_ticks,
            checkpoint_window_ticks,
            retention,
            remote_prediction,
            requires,
            recording,
            input_retention,
            presentation,
            ..
        } = SessionPolicy::default();
        ClientConfig {
            role: ClientRole::default(),
            prediction_window_ticks,
            checkpoint_window_ticks,
            retention,
            remote_prediction,
            mode: PredictionMode::default(),
            input_delay_ticks: 0,
            max_steps_per_turn: DEFAULT_MAX_STEPS_PER_TURN,
            max_confirmed_frames_per_turn: None,
            transport: Transport::default(),
            requires,
            recording,
            input_retention,
            presentation,
        }
    }
}

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
    /// The session faulted.
    #[error("{0}")]
    Fault(SessionFault),
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
    chain: Option<FrameChain>,
    /// The newest frames, for a room that lost them.
    tail: Tail,
    /// The room was restarted, and its clock does not run yet.
    recovering: bool,
    pace: Pace,
    /// Where the present is wanted, within this turn's bounds.
    target: Tick,
    /// Where the samples are wanted.
    sample_target: Tick,
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
            target: Tick::ZERO,
            sample_target: Tick::ZERO,
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
        self.outbox.drop_messages();
    }

    /// Begins a turn at this time: moves the pace on, and decides how far the present is to go.
    pub fn handle_turn(&mut self, now: Moment) {
        self.now = now;
        self.send_ping_if_due();
        let Some(session) = &self.session else { return };
        if !self.started || self.recovering || self.end.is_some() {
            (self.target, self.sample_target) = (Tick::ZERO, Tick::ZERO);
            return;
        }
        let wanted = self.life.clamp(self.pace.target(now, u64::from(self.config.input_delay_ticks)));
        let ahead = session.head().max(session.received());
        let steps = ahead.saturating_add(u64::from(self.config.max_steps_per_turn));
        // The session itself stops at its window, and says so.
        self.target = wanted.min(steps);
        // Input keeps the pace where the present can't: waiting for the window would make it late, and the room wait for it.
        self.sample_target = if self.connected && self.greeted { wanted } else { self.target };
    }

    /// The next tick whose input the client needs, if it needs one now. Input flows with the present, with the confirmed
    /// frontier, and with what has been received, also while the client catches up (N4).
    pub fn wanted_input(&self) -> Option<Tick> {
        let (session, claimed) = (self.session.as_ref()?, self.claimed?);
        if !self.started || self.end.is_some() {
            return None;
        }
        let next = session.next_input(claimed.seat).max(session.received()).max(self.life.active_from?);
        let through = self.sample_target.max(session.head()).max(session.received().saturating_add(1));
        let through = through.saturating_add(u64::from(self.config.input_delay_ticks));
        // The room refuses what lies further ahead than this, and a refused input is not sent again.
        let descriptor = session.descriptor();
        let ahead = look_ahead_ticks(descriptor.tick_rate(), &claimed.rules, &descriptor.limits());
        let through = through.min(session.received().saturating_add(ahead));
        (next < through).then_some(next)
    }

    /// Hands over the input for the tick that [`Client::wanted_input`] names.
    ///
    /// # Errors
    /// [`SubmitError`]; the tick is still wanted then.
    pub fn submit_input(&mut self, packed: &[u8]) -> Result<Tick, SubmitError> {
        let (Some(tick), Some(session), Some(claimed)) = (self.wanted_input(), self.session.as_mut(), self.claimed)
        else {
            let seat = self.claimed.map(|claimed| claimed.seat).or(Seat::new(0));
            return Err(
                seat.map_or(SubmitError::TooFarAhead { tick: Tick::MAX }, |seat| SubmitError::SeatNotLocal { seat })
            );
        };
        session.skip_inputs_before(claimed.seat, session.received().max(self.life.active_from.unwrap_or_default()));
        session.submit(claimed.seat, tick, packed)?;
        Ok(tick)
    }

    /// Sends the new inputs, applies confirmed frames, rolls back at most once, predicts, and reports checksums (N6).
    ///
    /// # Errors
    /// [`EndReason`], when the client is over, now or before.
    pub fn step(&mut self) -> Result<Progress, EndReason> {
        if let Some(end) = &self.end {
            return Err(end.clone());
        }
        self.send_inputs();
        let standing = self.standing();
        let Some(session) = &mut self.session else { return Ok(Progress::default()) };
        let confirmed_frames = self.config.max_confirmed_frames_per_turn.map_or(usize::MAX, |most| most as usize);
        let left = session.queued_frames().saturating_sub(confirmed_frames);
        let tolerance = self.terms.map_or(0, |terms| usize::from(terms.rules.hard_tolerance_ticks));
        let predicts = !self.is_observer() && self.config.mode == PredictionMode::Always && left <= tolerance;
        let target = if predicts { self.target } else { Tick::ZERO };
        session.set_standing(standing);
        match session.advance(Budget { confirmed_frames, target }) {
            Ok(progress) => {
                if progress.held == Some(Held::WindowFull) {
                    self.stats.blocked_turns += 1;
                }
                self.drain_session();
                self.send_reports();
                self.send_ready_if_caught_up();
                Ok(progress)
            }
            Err(fault) => {
                self.drain_session();
                self.send_reports();
                Err(self.finish(EndReason::Fault(fault)))
            }
        }
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
        let (Some(session), Some(terms), true) = (&self.session, self.terms, self.greeted) else {
            return ClientStatus::Greeting;
        };
        if !self.started {
            return ClientStatus::Waiting;
        }
        let behind = self.room_tick().since(session.confirmed());
        let allowed = u64::from(terms.rules.hard_tolerance_ticks) + u64::from(self.config.prediction_window_ticks);
        if behind > allowed || !self.base_is_known { ClientStatus::CatchingUp } else { ClientStatus::Live }
    }

    /// How the session stands to the room: it catches up while frames that the room has confirmed have not arrived. Those that
    /// arrived and wait for their turn don't count (S5).
    fn standing(&self) -> Standing {
        let (Some(session), Some(terms), true) = (&self.session, self.terms, self.started && self.greeted) else {
            return Standing::Live;
        };
        let allowed = u64::from(terms.rules.hard_tolerance_ticks) + u64::from(self.config.prediction_window_ticks);
        let missing = self.room_tick().since(session.received());
        if missing > allowed { Standing::CatchingUp } else { Standing::Live }
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

    /// The head of the hash chain over every frame received (A12).
    pub fn chain_head(&self) -> Option<Digest> {
        self.chain.as_ref().map(FrameChain::head)
    }

    /// The room's tick right now, as well as it is known.
    pub fn room_tick(&self) -> Tick {
        self.life.clamp(self.pace.room_tick(self.now))
    }

    /// Counts since the client was made.
    pub fn stats(&self) -> ClientStats {
        ClientStats { round_trip_micros: self.pace.round_trip_micros(), ..self.stats }
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
