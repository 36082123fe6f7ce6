//! A player's machine for one match: runs one runtime, predicts, rolls back, keeps what can still be read (S1–S8).
//!
//! The session is the one place that owns "confirmed": its frontier. It knows nothing of the network; frames come in through
//! [`Session::confirm`], and nothing that it predicted comes out but the projection.
//!
//! The game here is that of the [crate's page](crate).
//!
//! ```
//! # mod race {
//! #     include!(concat!(env!("CARGO_MANIFEST_DIR"), "/doc/race.rs"));
//! # }
//! use race::{descriptor, factory, frame, packed};
//! use retick_core::runtime::RuntimeFactory;
//! use retick_core::seat::Seat;
//! use retick_core::session::{Budget, Held, Session, SessionEvent, SessionPolicy};
//! use retick_core::tick::Tick;
//!
//! let me = Seat::new(0).ok_or("seat 0")?;
//! let policy = SessionPolicy { prediction_window_ticks: 4, checksum_cadence_ticks: 1, ..SessionPolicy::default() };
//! let mut session = Session::new(factory().create(&descriptor())?, &descriptor(), policy, [me].into_iter().collect())?;
//! for tick in 0..6 {
//!     session.submit(me, Tick::new(tick), &packed(10))?;
//! }
//! // Nothing is confirmed yet: the window is as far as it goes.
//! let progress = session.advance(Budget { confirmed_frames: usize::MAX, target: Tick::new(6) })?;
//! assert_eq!((progress.predicted, progress.held), (4, Some(Held::WindowFull)));
//!
//! // Seat 1 stood still in tick 0, as was guessed, and not in tick 1: that one is played again, with all after it.
//! session.confirm(&frame(0, [10, 0]))?;
//! session.confirm(&frame(1, [10, 70]))?;
//! let progress = session.advance(Budget { confirmed_frames: usize::MAX, target: Tick::new(6) })?;
//! assert_eq!((session.confirmed(), session.head(), progress.resimulated), (Tick::new(2), Tick::new(6), 3));
//! let events: Vec<_> = core::iter::from_fn(|| session.poll_event()).collect();
//! assert!(events.contains(&SessionEvent::RolledBack { from: Tick::new(1), to: Tick::new(4) }));
//! // What is reported to the room is confirmed, and nothing else.
//! let reported = events.iter().filter(|event| matches!(event, SessionEvent::Checksum { .. }));
//! assert_eq!(reported.count(), 2);
//! # Ok::<(), Box<dyn core::error::Error>>(())
//! ```

mod advance;
mod error;
mod input_log;
mod local;
mod policy;
mod prediction;
mod presentation;
mod promotion;
mod repair;
mod replay_export;
mod resimulation;
mod retention;
mod timeline;

use alloc::boxed::Box;
use alloc::collections::VecDeque;
use alloc::vec::Vec;

pub use self::error::{ConfirmError, SessionError, SessionFault, SubmitError};
use self::input_log::InputLog;
pub use self::input_log::{FrameReadError, InputRetention, MAX_RETAINED_INPUT_BYTES};
pub use self::local::{
    CommandError, DEFAULT_MAX_STEPS_PER_UPDATE, HeldInputs, LocalConfig, LocalError, LocalProgress, LocalSession,
    LocalSetupError, LocalStats, MAX_PENDING_COMMANDS, MAX_STEPS_PER_UPDATE, TickInputs,
};
pub use self::policy::{
    Budget, DEFAULT_CHECKPOINT_WINDOW_TICKS, DEFAULT_CHECKSUM_CADENCE_TICKS, DEFAULT_PREDICTION_WINDOW_TICKS, Held,
    Progress, Recording, SessionEvent, SessionPolicy,
};
use self::prediction::LocalInputs;
pub use self::prediction::RemotePrediction;
use self::presentation::Presentation;
pub use self::presentation::{
    CatchUpEvents, DEFAULT_CATCH_UP_AFTER_TICKS, DroppedEvents, MAX_WAITING_PRESENTATION_BYTES,
    MAX_WAITING_PRESENTATION_EVENTS, PresentationPolicy, Silence, SpeculativeEvents,
};
pub use self::replay_export::ReplayExportError;
pub use self::resimulation::{Resimulation, ResimulationError};
use self::retention::Readers;
pub use self::retention::{Retention, Standing, StateReadError};
use self::timeline::Timeline;
use crate::config::{ConfigError, SessionConfig};
use crate::digest::Checksum;
use crate::event::PresentationEvent;
use crate::frame::Frame;
use crate::identity::MatchDescriptor;
use crate::input::InputSchema;
use crate::runtime::{AdvanceError, Capabilities, HydrateError, Keep, Output, Runtime, StepBatch, StepFault};
use crate::seat::{Presence, Seat, SeatSet};
use crate::snapshot::{Origin, Snapshot, SnapshotError};
use crate::tick::Tick;

/// Most frames that may wait to be applied: ten minutes at 120 Hz. More is a fault of whoever feeds the session.
pub const MAX_QUEUED_FRAMES: usize = 72_000;
/// Most bytes of memory that those frames may take.
pub const MAX_QUEUED_FRAME_BYTES: usize = 64 << 20;
/// Most ticks ahead of the confirmed frontier for which a local input may be submitted.
pub const MAX_LOCAL_INPUTS_AHEAD: u64 = 1024;

/// Most events that may wait to be polled, and most bytes of recorded frames among them ([`MAX_QUEUED_FRAME_BYTES`]): a session
/// that nobody polls applies no more frames.
pub const MAX_WAITING_EVENTS: usize = 65_536;
/// Most events of one applied frame: itself, its checksum, and the rollback that it caused.
const EVENTS_OF_A_FRAME: usize = 3;

/// A player's machine for one match.
///
/// Call [`Session::submit`] for each tick of each local seat, [`Session::confirm`] for each frame of the authority's, and
/// [`Session::advance`] once a turn; then drain [`Session::poll_event`] and [`Session::poll_presentation_event`]. One `advance`
/// runs at most one rollback, in one batch.
pub struct Session {
    runtime: Box<dyn Runtime>,
    descriptor: MatchDescriptor,
    policy: SessionPolicy,
    schema: InputSchema,
    standing: Standing,
    readers: Readers,
    origin: Origin,
    hydrated_at: Option<Tick>,
    /// The frames before it were told as confirmed, and the states up to it as reports, before a repair.
    told: Tick,
    input_log: InputLog,
    local_seats: SeatSet,
    local: LocalInputs,
    queue: VecDeque<Frame>,
    queued_bytes: usize,
    spare_frames: Vec<Frame>,
    timeline: Timeline,
    events: VecDeque<SessionEvent>,
    waiting_bytes: usize,
    fault: Option<SessionFault>,
    /// What the report of a confirmed state came upon in this turn.
    report_fault: Option<SessionFault>,
    held_fault: Option<(Tick, StepFault)>,
    projections: Projections,
    presentation: Presentation,
    output: Output,
    kept_late: Output,
    scratch: Vec<u8>,
    malformed_commands: u64,
}

/// The projections of the present and of the tick before it, for deltas and interpolation (K9).
#[derive(Debug, Default)]
struct Projections {
    current: Vec<u8>,
    previous: Vec<u8>,
    tick: Option<Tick>,
}

impl Session {
    /// A session at `S(0)` of a match, with these seats driven locally.
    ///
    /// # Errors
    /// [`SessionError`] when the policy asks for what the runtime or the match does not have.
    pub fn new(
        mut runtime: Box<dyn Runtime>,
        descriptor: &MatchDescriptor,
        policy: SessionPolicy,
        local_seats: SeatSet,
    ) -> Result<Session, SessionError> {
        check_policy(runtime.as_ref(), descriptor, &policy, local_seats)?;
        let mut output = Output::default();
        runtime.keep(start_keep(runtime.capabilities()), &mut output).map_err(|_| SessionError::Runtime)?;
        let schema = runtime.manifest().input_schema().clone();
        let mut start = StepBatch::default();
        prediction::push_start(&mut start, descriptor.seats(), &schema);
        let mut timeline = Timeline::new(Tick::ZERO, start);
        timeline.record_kept(&output.kept);
        let mut session = Session {
            descriptor: descriptor.clone(),
            policy,
            standing: Standing::default(),
            readers: Readers::default(),
            origin: Origin::default(),
            hydrated_at: None,
            told: Tick::ZERO,
            input_log: InputLog::new(policy.input_retention),
            local_seats,
            local: LocalInputs::new(local_seats, Tick::ZERO, &schema),
            schema,
            queue: VecDeque::new(),
            queued_bytes: 0,
            spare_frames: Vec::new(),
            timeline,
            events: VecDeque::new(),
            waiting_bytes: 0,
            fault: None,
            report_fault: None,
            held_fault: None,
            projections: Projections::default(),
            presentation: Presentation::new(policy.presentation),
            output,
            kept_late: Output::default(),
            scratch: Vec::new(),
            malformed_commands: 0,
            runtime,
        };
        session.timeline.keep_last_inputs();
        session.take_projections();
        Ok(session)
    }

    /// Hands over the input of a local seat for its next tick. It can't be changed afterwards.
    ///
    /// # Errors
    /// [`SubmitError`]; nothing was taken then.
    pub fn submit(&mut self, seat: Seat, tick: Tick, packed: &[u8]) -> Result<(), SubmitError> {
        if !self.local_seats.contains(seat) {
            return Err(SubmitError::SeatNotLocal { seat });
        }
        let expected = self.local.next(seat);
        if tick != expected {
            return Err(SubmitError::NotNext { expected, found: tick });
        }
        if tick.since(self.confirmed()) > MAX_LOCAL_INPUTS_AHEAD {
            return Err(SubmitError::TooFarAhead { tick });
        }
        if tick == Tick::MAX {
            return Err(SubmitError::TickRange);
        }
        self.schema.validate(packed)?;
        self.local.push(seat, packed);
        Ok(())
    }

    /// The next tick for which [`Session::submit`] takes an input of `seat`.
    pub fn next_input(&self, seat: Seat) -> Tick {
        self.local.next(seat)
    }

    /// Skips the ticks of a local seat before `tick`, whose frames have been received: their inputs can't count any more. Only
    /// ticks that were never submitted are skipped.
    pub fn skip_inputs_before(&mut self, seat: Seat, tick: Tick) {
        let received = self.received();
        self.local.skip_before(seat, tick.min(received));
    }

    /// A local seat takes part from `tick` on (A5): before it there is no input of the seat's to submit, and until it is confirmed
    /// that far the session predicts nothing. A tick beyond what can be submitted is brought back to that.
    pub fn take_part_from(&mut self, seat: Seat, tick: Tick) {
        let most = self.confirmed().saturating_add(MAX_LOCAL_INPUTS_AHEAD);
        self.local.skip_before(seat, tick.min(most));
    }

    /// The input that a local seat submitted for a tick that is not applied as confirmed yet.
    pub fn local_input(&self, seat: Seat, tick: Tick) -> Option<&[u8]> {
        self.local.get(seat, tick)
    }

    /// Whether the game decodes commands (K7).
    pub fn takes_commands(&self) -> bool {
        self.runtime.capabilities().commands
    }

    /// Whether a session config is one of this game's (K12).
    ///
    /// # Errors
    /// [`ConfigError`], with the field.
    pub fn check_config(&self, config: &SessionConfig) -> Result<(), ConfigError> {
        self.runtime.manifest().config_schema().decode(config.bytes()).map(drop)
    }

    /// Queues the authority's frame of the next tick. Nothing is stepped until [`Session::advance`].
    ///
    /// # Errors
    /// [`ConfirmError`]; nothing was taken then.
    pub fn confirm(&mut self, frame: &Frame) -> Result<(), ConfirmError> {
        let expected = self.received();
        if frame.generation() != self.descriptor.generation() || frame.seat_count() != self.descriptor.seats().count() {
            return Err(ConfirmError::OtherMatch);
        }
        if frame.tick() != expected {
            return Err(ConfirmError::NotNext { expected, found: frame.tick() });
        }
        if expected == Tick::MAX {
            return Err(ConfirmError::TickRange);
        }
        if self.queue.len() >= MAX_QUEUED_FRAMES || self.queued_bytes + frame.weight() > MAX_QUEUED_FRAME_BYTES {
            return Err(ConfirmError::QueueFull);
        }
        self.queued_bytes += frame.weight();
        let mut queued = self.spare_frames.pop().unwrap_or_else(|| Frame::new(frame.generation(), expected));
        queued.copy_from(frame);
        self.queue.push_back(queued);
        Ok(())
    }

    /// How many ticks are confirmed and applied: `S(confirmed)` is the last confirmed state.
    pub fn confirmed(&self) -> Tick {
        self.timeline.confirmed()
    }

    /// How many ticks' frames have been received, applied or queued.
    pub fn received(&self) -> Tick {
        self.confirmed().saturating_add(self.queue.len() as u64)
    }

    /// The present: the runtime holds `S(head)`, predicted beyond `S(confirmed)`.
    pub fn head(&self) -> Tick {
        self.timeline.head()
    }

    /// Frames that wait to be applied.
    pub fn queued_frames(&self) -> usize {
        self.queue.len()
    }

    /// Checkpoints that are kept now (I8).
    pub fn kept_checkpoints(&self) -> usize {
        self.timeline.kept_checkpoints()
    }

    /// The oldest tick that a rollback could return to.
    pub fn oldest_checkpoint(&self) -> Option<Tick> {
        self.timeline.oldest_checkpoint()
    }

    /// The checksum that was taken of the confirmed `S(tick)`, kept for the last report ticks (S5). [`Session::checksum_at`] also
    /// computes one, and says why there is none.
    pub fn confirmed_checksum(&self, tick: Tick) -> Option<Checksum> {
        if tick <= self.confirmed() { self.timeline.checksum(tick) } else { None }
    }

    /// The next event, in the order in which they happened.
    pub fn poll_event(&mut self) -> Option<SessionEvent> {
        let event = self.events.pop_front();
        if let Some(SessionEvent::Confirmed(frame)) = &event {
            self.waiting_bytes -= frame.weight();
        }
        event
    }

    /// The next presentation event (K10): each one that was predicted is told again as confirmed or canceled, and each one of the
    /// confirmed timeline comes out confirmed once. Drain it every turn: the queue is bounded, and what it has no room for is
    /// counted in [`Session::dropped_events`].
    pub fn poll_presentation_event(&mut self) -> Option<PresentationEvent<'_>> {
        self.presentation.poll()
    }

    /// Sets whether presentation events come out from the next turn on (N7).
    pub fn set_silence(&mut self, silence: Silence) {
        self.presentation.set_silence(silence);
    }

    /// Who drives a seat, as the last confirmed tick says; `None` before the first, and for a seat beyond the match's.
    pub fn presence(&self, seat: Seat) -> Option<Presence> {
        let step = self.timeline.last_step().filter(|_| self.confirmed() > Tick::ZERO)?;
        step.seat(seat).map(|seat| seat.presence)
    }

    /// Presentation events that did not come out, by reason.
    pub fn dropped_events(&self) -> DroppedEvents {
        self.presentation.dropped()
    }

    /// What ended the session, if anything did.
    pub fn fault(&self) -> Option<&SessionFault> {
        self.fault.as_ref()
    }

    /// The projection of the present, and that of the tick before it (equal at the start, and after a hydration).
    pub fn projections(&self) -> (&[u8], &[u8]) {
        (&self.projections.current, &self.projections.previous)
    }

    /// Whether the game projects (K9).
    pub fn projects(&self) -> bool {
        self.runtime.capabilities().projection
    }

    /// The match.
    pub fn descriptor(&self) -> &MatchDescriptor {
        &self.descriptor
    }

    /// The policy it was built with.
    pub fn policy(&self) -> &SessionPolicy {
        &self.policy
    }

    /// The seats that are driven locally.
    pub fn local_seats(&self) -> SeatSet {
        self.local_seats
    }

    /// Commands that did not decode and were skipped, in every step that was run (K7).
    pub fn malformed_commands(&self) -> u64 {
        self.malformed_commands
    }

    /// The last lines that the game logged (W5).
    pub fn last_log(&self) -> Vec<alloc::string::String> {
        self.runtime.last_log()
    }

    /// The checksum of the present, predicted or not; for tests and tools. What is reported is only ever confirmed.
    ///
    /// # Errors
    /// [`AdvanceError`] when the state can't be captured.
    pub fn head_checksum(&mut self) -> Result<Checksum, AdvanceError> {
        self.output.clear();
        self.runtime.keep(Keep::CHECKSUM, &mut self.output)?;
        let kept = self.output.kept.first().and_then(|kept| kept.checksum);
        kept.ok_or(AdvanceError::NotCurrent { first: self.head(), current: self.runtime.tick() })
    }

    /// A snapshot of the confirmed `S(tick)`, which must still be kept: the last confirmed state, or one that the policy's
    /// [`Retention`] keeps (S5, S8).
    ///
    /// # Errors
    /// [`SnapshotError::Read`] when the state is not confirmed, was released or can't be read, and [`SnapshotError::TooLarge`] when
    /// nobody could read the snapshot.
    pub fn export_snapshot(&mut self, tick: Tick) -> Result<Snapshot, SnapshotError> {
        let state = self.read_state(tick)?;
        let last_inputs = if tick == self.confirmed() { self.timeline.last_inputs() } else { None };
        let last_inputs = last_inputs.or_else(|| self.timeline.last_inputs_at(tick));
        let last_inputs = last_inputs.ok_or(StateReadError::Released { tick })?;
        let snapshot = Snapshot::new(&self.descriptor, tick, last_inputs, &state).check_size()?;
        let mut snapshot = snapshot.with_origin(self.origin);
        self.add_frames(&mut snapshot);
        Ok(snapshot)
    }

    /// Adds the retained frames from the snapshot's tick on, as many as there are and fit: a part from the front is a snapshot
    /// as good as the whole.
    fn add_frames(&mut self, snapshot: &mut Snapshot) {
        let mut frame = Frame::new(self.descriptor.generation(), snapshot.tick());
        while snapshot.frontier() < self.confirmed() {
            let read = self.read_frame(snapshot.frontier(), &mut frame).is_ok();
            if !read || snapshot.push_frame(&self.descriptor, &frame).is_err() {
                return;
            }
        }
    }

    /// Replaces everything by the state of a snapshot of this match, and takes none of its frames: those come from the authority
    /// alone. This is what a networked session does with a donor's snapshot. Everything is checked before anything changes (S8).
    ///
    /// # Errors
    /// [`SnapshotError`]; the session is as before then.
    pub fn hydrate(&mut self, snapshot: &Snapshot) -> Result<(), SnapshotError> {
        self.install(snapshot, Vec::new())
    }

    /// The same, and queues the snapshot's frames as confirmed, each checked before anything changes. Only for a snapshot whose
    /// maker is trusted like the authority: the session's own, or another local one's.
    ///
    /// # Errors
    /// [`SnapshotError`]; the session is as before then.
    pub fn hydrate_with_frames(&mut self, snapshot: &Snapshot) -> Result<(), SnapshotError> {
        let frames = snapshot.frames(&self.descriptor)?;
        self.install(snapshot, frames)
    }

    fn install(&mut self, snapshot: &Snapshot, frames: Vec<Frame>) -> Result<(), SnapshotError> {
        let state = snapshot.verify(&self.descriptor)?;
        if snapshot.origin() == Origin::Promotion && self.origin != Origin::Promotion {
            return Err(SnapshotError::Promoted);
        }
        let mut steps = StepBatch::default();
        prediction::push_last_inputs(&mut steps, snapshot.last_inputs(), self.descriptor.seats(), &self.schema)?;
        let tick = snapshot.tick();
        self.runtime.hydrate(tick, &state).map_err(|error: HydrateError| SnapshotError::State(error))?;
        self.output.clear();
        let kept = self.runtime.keep(start_keep(self.runtime.capabilities()), &mut self.output);
        self.timeline = Timeline::new(tick, steps);
        self.timeline.record_kept(&self.output.kept);
        self.timeline.keep_last_inputs();
        self.local = LocalInputs::new(self.local_seats, tick, &self.schema);
        self.queue.clear();
        self.hydrated_at = Some(tick);
        self.told = Tick::ZERO;
        self.input_log.restart(tick);
        // A snapshot's frames take less than the queue's bytes, by their own limits.
        self.queued_bytes = frames.iter().map(Frame::weight).sum();
        self.queue.extend(frames);
        self.events.clear();
        self.waiting_bytes = 0;
        self.fault = kept.err().map(SessionFault::Capture);
        self.report_fault = None;
        self.held_fault = None;
        self.projections = Projections::default();
        self.presentation.hydrated(tick);
        self.take_projections();
        Ok(())
    }

    fn take_projections(&mut self) {
        if !self.runtime.capabilities().projection {
            return;
        }
        let Projections { current, previous, tick } = &mut self.projections;
        for kept in &self.output.kept {
            let Some(bytes) = self.output.projection(kept) else { continue };
            let follows = tick.is_some_and(|shown| shown.checked_add(1) == Some(kept.tick));
            if follows {
                core::mem::swap(current, previous);
            } else if *tick != Some(kept.tick) {
                // What was shown last is not the tick before: there was none, it was rolled back, or passed over.
                previous.clear();
                previous.extend_from_slice(bytes);
            }
            current.clear();
            current.extend_from_slice(bytes);
            *tick = Some(kept.tick);
        }
    }
}

fn start_keep(capabilities: Capabilities) -> Keep {
    let projection = if capabilities.projection { Keep::PROJECTION } else { Keep::NOTHING };
    Keep::CHECKPOINT | Keep::CHECKSUM | projection
}

fn check_policy(
    runtime: &dyn Runtime,
    descriptor: &MatchDescriptor,
    policy: &SessionPolicy,
    local_seats: SeatSet,
) -> Result<(), SessionError> {
    let (expected, found) = (descriptor.digest(), runtime.descriptor_digest());
    if expected != found {
        return Err(SessionError::OtherMatch { expected, found });
    }
    let (required, available) = (policy.requires, runtime.capabilities());
    if (required.commands && !available.commands) || (required.projection && !available.projection) {
        return Err(SessionError::Capabilities { required, available });
    }
    let (window, cadence) = (policy.checkpoint_window_ticks, policy.checksum_cadence_ticks);
    if cadence == 0 || window < cadence {
        return Err(SessionError::Cadence { window, cadence });
    }
    let seats = descriptor.seats();
    if let Some(seat) = local_seats.first_beyond(seats) {
        return Err(SessionError::LocalSeat { seat, seats });
    }
    if runtime.tick() != Tick::ZERO {
        return Err(SessionError::NotAtStart { tick: runtime.tick() });
    }
    Ok(())
}
