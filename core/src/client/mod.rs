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
mod event;
mod inputs;
mod inquiry;
mod life;
mod messages;
mod outbox;
mod pace;
mod preparation;
mod read;
mod requests;
mod stats;
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
pub use self::event::{ClientEvent, DesyncFinding, DesyncPlace, EndReason, Output};
pub use self::inputs::{MAX_LOSSY_MESSAGE_BYTES, MAX_REDUNDANT_INPUTS};
use self::inquiry::Inquiries;
pub use self::inquiry::{MAX_RESIMULATED_TICKS_PER_TURN, MAX_WAITING_INQUIRIES};
pub use self::life::MatchResult;
use self::life::{Life, Terms};
use self::outbox::Outbox;
use self::pace::{Goals, Pace};
use self::preparation::HeldMatch;
pub use self::preparation::{MAX_HELD_BYTES, MAX_HELD_MESSAGES, Preparation};
pub use self::read::ClientStatus;
pub use self::requests::RequestError;
use self::requests::check_length;
pub use self::stats::ClientStats;
use self::tail::Tail;
use self::turn::{Backlog, TurnBudget};
use crate::digest::Checksum;
use crate::event::PresentationEvent;
use crate::frame::{Frame, FrameChain};
use crate::runtime::RuntimeFactory;
use crate::seat::{ControlEpoch, Generation, Seat};
use crate::session::{Budget, Progress, Session};
use crate::tick::{Moment, Tick};
use crate::wire::{ClaimId, ResumeToken, RoomRules};

/// The slowest round trip, in milliseconds, after which a room may still ask for a state that was reported: the window of checkpoints
/// must hold it behind one checksum cadence (A7).
pub const SLOWEST_ROUND_TRIP_MILLIS: u64 = 1_000;
/// For how long no ping was answered, in nanoseconds, when a client on a reliable transport begins to gather what it sends: what such a
/// transport holds back arrives at once, and must fit a connection's budget (A11).
const SILENCE_NANOS: u64 = 1_500_000_000;
/// How often it sends what it gathered, in nanoseconds.
const GATHERED_NANOS: u64 = 2_000_000_000;
/// Most checksum reports that wait for a transport.
const MAX_PENDING_REPORTS: usize = 64;
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
    inquiries: Inquiries,
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
    /// When a ping was answered last, or the greeting.
    answered_at: Moment,
    /// When gathered messages are sent next, and whether this turn sends none.
    next_gathered: Moment,
    gathering: bool,
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
            inquiries: Inquiries::default(),
            goals: Goals::default(),
            greeted_at: Tick::ZERO,
            now: Moment::ZERO,
            unsent: Tick::ZERO,
            answered_at: Moment::ZERO,
            next_gathered: Moment::ZERO,
            gathering: false,
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
        (self.now, self.answered_at) = (now, now);
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
        self.inquiries.handle_disconnected();
        self.outbox.drop_messages();
        if let Some(held) = &mut self.held {
            held.forget_messages();
        }
    }

    /// Begins a turn at this time: moves the pace on, and decides how far samples and the present are to go. The budget of a turn
    /// (N6) is given here: whatever is stepped until the next call shares it.
    pub fn handle_turn(&mut self, now: Moment) {
        self.now = now;
        self.judge_silence();
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

    /// Whether this turn keeps what it has to send for a later one, because no ping is answered (A11).
    fn judge_silence(&mut self) {
        let is_silent = self.now.nanos_since(self.answered_at) >= SILENCE_NANOS;
        let gathers = is_silent && self.config.transport == Transport::Reliable;
        self.gathering = gathers && self.now < self.next_gathered;
        if !self.gathering {
            self.next_gathered = self.now.plus_nanos(GATHERED_NANOS);
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
            self.answer_inquiries();
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

    /// Ends the client, once.
    fn finish(&mut self, reason: EndReason) -> EndReason {
        if self.end.is_none() {
            self.end = Some(reason.clone());
            self.outbox.push_event(ClientEvent::Ended(reason.clone()));
        }
        reason
    }
}
