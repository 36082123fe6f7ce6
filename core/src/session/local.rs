//! Local play: a session with an authority of its own, for several players at one machine and bots, without a network (S6).
//!
//! Each tick is ordered as a confirmed frame, so events, checksums, recordings and replays are those of networked play.

mod clock;
mod config;
mod error;

use alloc::boxed::Box;
use alloc::collections::VecDeque;
use alloc::vec::Vec;
use core::mem;
use core::time::Duration;

use self::clock::Clock;
pub use self::config::{
    DEFAULT_MAX_STEPS_PER_UPDATE, HeldInputs, LocalConfig, LocalProgress, LocalStats, MAX_PENDING_COMMANDS,
    MAX_STEPS_PER_UPDATE, TickInputs,
};
pub use self::error::{CommandError, LocalError, LocalSetupError};
use super::retention::Readers;
use super::{Budget, DroppedEvents, ReplayExportError, Session, SessionEvent, StateReadError, SubmitError};
use crate::digest::Checksum;
use crate::event::PresentationEvent;
use crate::frame::{CommandSource, Frame, MAX_COMMANDS_PER_FRAME, SeatFrame};
use crate::identity::MatchDescriptor;
use crate::input::GameInput;
use crate::runtime::Runtime;
use crate::seat::{ControlEpoch, Presence, Seat};
use crate::snapshot::{LastInput, PromotionSnapshot, Snapshot, SnapshotError};
use crate::tick::Tick;

/// Who drives a seat, and what it holds.
#[derive(Debug)]
struct Driver {
    presence: Presence,
    epoch: ControlEpoch,
    held: Vec<u8>,
}

/// A match without a network: sans-IO, time is an argument (S6).
///
/// Call [`LocalSession::set_input`] when an input changes, [`LocalSession::update`] with the time that has passed, then draw
/// [`LocalSession::projections`] at [`LocalSession::alpha`], and drain [`LocalSession::poll_event`] and
/// [`LocalSession::poll_presentation_event`].
///
/// ```
/// # use retick_core::{config::*, frame::*, identity::*, input::*, rng::SessionSeed, runtime::*, seat::*, tick::*};
/// # #[derive(Clone, serde::Serialize, serde::Deserialize)]
/// # struct Race(Vec<u64>);
/// # #[derive(Clone)]
/// # struct Go(bool);
/// # impl GameInput for Go {
/// #     fn schema() -> InputSchema { InputSchema::builder("go/v1").boolean("go").build().expect("valid") }
/// #     fn pack(&self, packer: &mut Packer<'_>) { packer.boolean(self.0) }
/// #     fn unpack(unpacker: &mut Unpacker<'_>) -> Self { Go(unpacker.boolean()) }
/// # }
/// # impl Simulation for Race {
/// #     type Input = Go;
/// #     type Command = NoCommand;
/// #     fn describe() -> GameDescription {
/// #         let (config_schema, capabilities) = (ConfigSchema::empty(), Capabilities { commands: false, projection: true });
/// #         let state_schema = "race/v1";
/// #         GameDescription { tick_rate: TickRate::Hz60, state_schema, config_schema, seats: 3..=3, capabilities }
/// #     }
/// #     fn init(context: &InitContext<'_>) -> Result<Self, u32> { Ok(Race(vec![0; context.seats.count()])) }
/// #     fn step(&mut self, context: &StepContext<'_, Self>) {
/// #         context.seats().for_each(|seat| self.0[seat.index()] += u64::from(context.input(seat).0));
/// #     }
/// #     fn project(&self, out: &mut Vec<u8>) { out.extend(self.0.iter().map(|position| *position as u8)) }
/// # }
/// # let factory = NativeFactory::<Race>::new(|sources| sources.module("race.rs", b"its source"))?;
/// # let seats = SeatCount::new(3).expect("three seats");
/// # let descriptor = MatchDescriptor::new(factory.manifest(), SessionConfig::empty(), SessionSeed::from_u64(1), seats);
/// use core::time::Duration;
/// use retick_core::session::{InputRetention, LocalConfig, LocalSession, SessionPolicy};
///
/// let [left, right, bot] = [0, 1, 2].map(|seat| Seat::new(seat).expect("below the limit"));
/// let config = LocalConfig {
///     local_seats: [left, right].into_iter().collect(),
///     bot_seats: [bot].into_iter().collect(),
///     policy: SessionPolicy { input_retention: InputRetention::All, ..SessionPolicy::default() },
///     ..LocalConfig::default()
/// };
/// let mut local = LocalSession::new(factory.create(&descriptor)?, &descriptor, config)?;
/// local.set_input(left, &[1])?;
///
/// // The bot goes in every second tick. A frame of the display takes 40 ms: two ticks of 60 Hz and a part of a third.
/// let mut bots = |_: Seat, tick: Tick, packed: &mut Vec<u8>| packed[0] = u8::from(tick.index() % 2 == 0);
/// assert_eq!(local.update(Duration::from_millis(40), &mut bots)?.steps, 2);
/// assert_eq!(local.projections().0, [2, 0, 1]);
/// assert!((0.39..0.41).contains(&local.alpha()));
///
/// // A tab that slept for a minute steps eight ticks, not 3,600.
/// let progress = local.update(Duration::from_secs(60), &mut bots)?;
/// assert_eq!((progress.steps, progress.dropped_ticks), (8, 3592));
///
/// let replay = local.export_replay()?;
/// # use retick_core::replay::{Verdict, verify};
/// assert!(matches!(verify(&replay, &factory), Verdict::Verified { .. }));
/// # Ok::<(), Box<dyn core::error::Error>>(())
/// ```
pub struct LocalSession {
    session: Session,
    config: LocalConfig,
    drivers: Vec<Driver>,
    clock: Clock,
    commands: VecDeque<(Seat, Vec<u8>)>,
    spare_commands: Vec<Vec<u8>>,
    frame: Frame,
    packed: Vec<u8>,
    stats: LocalStats,
}

impl LocalSession {
    /// Local play from `S(0)` of a match.
    ///
    /// # Errors
    /// [`LocalSetupError`].
    pub fn new(
        runtime: Box<dyn Runtime>,
        descriptor: &MatchDescriptor,
        config: LocalConfig,
    ) -> Result<LocalSession, LocalSetupError> {
        config.check(descriptor)?;
        let session = Session::new(runtime, descriptor, config.policy, config.local_seats)?;
        Ok(LocalSession::around(session, config, &[]))
    }

    /// Local play that goes on with a promoted world, perhaps with other drivers: a friend takes over a bot's seat (S7). The number
    /// of seats stays, a room can't take the world, and the session exports no replay: see [`Session::from_promotion`]. `runtime`
    /// is a fresh one of [`PromotionSnapshot::descriptor`].
    ///
    /// # Errors
    /// [`LocalSetupError`].
    pub fn from_promotion(
        runtime: Box<dyn Runtime>,
        promotion: &PromotionSnapshot,
        config: LocalConfig,
    ) -> Result<LocalSession, LocalSetupError> {
        let descriptor = promotion.descriptor();
        config.check(descriptor)?;
        let session = Session::from_promotion(runtime, descriptor, config.policy, config.local_seats, promotion)?;
        // Before tick 0 nobody has driven a seat yet.
        let before = if promotion.tick() == Tick::ZERO { &[] } else { promotion.snapshot().last_inputs() };
        Ok(LocalSession::around(session, config, before))
    }

    fn around(mut session: Session, config: LocalConfig, before: &[LastInput]) -> LocalSession {
        session.readers = Readers::Nobody;
        let neutral = session.schema.neutral();
        let driver = |seat: Seat| {
            let presence = config.presence(seat);
            // As in a room, where nobody drives a seat before its first driver takes it.
            let nobody = (Presence::Empty, ControlEpoch(0));
            let last = before.get(seat.index()).map_or(nobody, |last| (last.presence, last.epoch));
            let epoch = if last.0 == presence { last.1 } else { last.1.next() };
            Driver { presence, epoch, held: neutral.to_vec() }
        };
        let drivers = session.descriptor.seats().seats().map(driver).collect();
        LocalSession {
            frame: Frame::new(session.descriptor.generation(), Tick::ZERO),
            session,
            config,
            drivers,
            clock: Clock::default(),
            commands: VecDeque::new(),
            spare_commands: Vec::new(),
            packed: Vec::new(),
            stats: LocalStats::default(),
        }
    }

    /// Sets what a local seat holds from the next tick on, until it is set again.
    ///
    /// # Errors
    /// [`SubmitError::SeatNotLocal`], [`SubmitError::BotSeat`] or [`SubmitError::Input`]; what was held stays then.
    pub fn set_input(&mut self, seat: Seat, packed: &[u8]) -> Result<(), SubmitError> {
        let driver = match self.drivers.get_mut(seat.index()) {
            Some(driver) if driver.presence == Presence::Human => driver,
            Some(driver) if driver.presence == Presence::Bot => return Err(SubmitError::BotSeat { seat }),
            _ => return Err(SubmitError::SeatNotLocal { seat }),
        };
        self.session.schema.validate(packed)?;
        driver.held.clear();
        driver.held.extend_from_slice(packed);
        Ok(())
    }

    /// [`LocalSession::set_input`] with the game's own type.
    ///
    /// # Errors
    /// As there; [`SubmitError::Input`] also when a field is out of its range.
    pub fn set_input_of<I: GameInput>(&mut self, seat: Seat, input: &I) -> Result<(), SubmitError> {
        let mut packed = mem::take(&mut self.packed);
        let done = self.session.schema.pack_into(input, &mut packed).map_err(SubmitError::Input);
        let done = done.and_then(|()| self.set_input(seat, &packed));
        self.packed = packed;
        done
    }

    /// Queues a command of a local or bot seat for the next frame, which takes [`MAX_COMMANDS_PER_FRAME`] of them in the order in
    /// which they came (K7).
    ///
    /// # Errors
    /// [`CommandError`]; nothing was taken then.
    pub fn submit_command(&mut self, seat: Seat, payload: &[u8]) -> Result<(), CommandError> {
        if !self.session.takes_commands() {
            return Err(CommandError::Unsupported);
        }
        if !self.config.local_seats.contains(seat) && !self.config.bot_seats.contains(seat) {
            return Err(CommandError::SeatNotDriven { seat });
        }
        let limit = usize::from(self.session.descriptor.limits().max_command_bytes);
        if payload.len() > limit {
            return Err(CommandError::TooLong { actual: payload.len(), limit });
        }
        if self.commands.len() >= MAX_PENDING_COMMANDS {
            return Err(CommandError::QueueFull);
        }
        let mut bytes = self.spare_commands.pop().unwrap_or_default();
        bytes.clear();
        bytes.extend_from_slice(payload);
        self.commands.push_back((seat, bytes));
        Ok(())
    }

    /// Lets time pass: steps the ticks that are due, in one batch, and carries the remainder on. Whole ticks beyond
    /// [`LocalConfig::max_steps_per_update`] are dropped and counted, so that one long pause is not followed by another.
    ///
    /// # Errors
    /// [`LocalError`]; the ticks before the one it names were stepped.
    pub fn update(&mut self, delta: Duration, inputs: &mut impl TickInputs) -> Result<LocalProgress, LocalError> {
        if let Some(fault) = self.session.fault() {
            return Err(LocalError::Fault(fault.clone()));
        }
        let (rate, most) = (self.session.descriptor.tick_rate(), self.config.max_steps_per_update);
        let dropped_ticks = self.clock.pass(delta, rate, most);
        self.stats.dropped_ticks = self.stats.dropped_ticks.saturating_add(dropped_ticks);
        let mut ordered = Ok(());
        while ordered.is_ok() && self.clock.is_due() {
            ordered = self.order(inputs);
        }
        let budget = Budget { confirmed_frames: usize::MAX, target: Tick::ZERO };
        let stepped = self.session.advance(budget).map_err(LocalError::Fault)?;
        self.stats.steps += stepped.steps as u64;
        let steps = u16::try_from(stepped.steps).unwrap_or(u16::MAX);
        ordered.map(|()| LocalProgress { steps, dropped_ticks })
    }

    /// Orders the frame of the next tick, as a room would, and takes its time.
    fn order(&mut self, inputs: &mut impl TickInputs) -> Result<(), LocalError> {
        let tick = self.session.received();
        if tick == Tick::MAX {
            return Err(LocalError::TickRange);
        }
        self.frame.reset(self.session.descriptor.generation(), tick);
        for (seat, driver) in (0..).map_while(Seat::new).zip(&self.drivers) {
            let Driver { presence, epoch, held } = driver;
            self.packed.clear();
            match presence {
                Presence::Human => {
                    self.packed.extend_from_slice(held);
                    inputs.local(seat, tick, &mut self.packed);
                }
                Presence::Bot => {
                    self.packed.extend_from_slice(held);
                    inputs.bot(seat, tick, &mut self.packed);
                }
                Presence::Empty | Presence::Disconnected => {}
            }
            let is_driven = matches!(presence, Presence::Human | Presence::Bot);
            let input = is_driven.then_some(self.packed.as_slice());
            if let Some(packed) = input {
                let checked = self.session.schema.validate(packed);
                checked.map_err(|error| LocalError::Input { seat, tick, error })?;
            }
            self.frame.push_seat(SeatFrame { input, substituted: false, presence: *presence, epoch: *epoch });
        }
        for (seat, payload) in self.commands.iter().take(MAX_COMMANDS_PER_FRAME) {
            self.frame.push_command(CommandSource::Game(*seat), payload);
        }
        self.session.confirm(&self.frame).map_err(LocalError::Order)?;
        let taken = self.commands.len().min(MAX_COMMANDS_PER_FRAME);
        self.spare_commands.extend(self.commands.drain(..taken).map(|(_, payload)| payload));
        self.stats.commands += taken as u64;
        self.clock.take_tick();
        Ok(())
    }

    /// How far the next tick is under way, from 0 up to, but not including, 1: between the projection before and the present one.
    #[doc(alias = "render alpha")]
    pub fn alpha(&self) -> f64 {
        self.clock.alpha()
    }

    /// The present: the session holds `S(tick)`, and all of it is confirmed.
    pub fn tick(&self) -> Tick {
        self.session.confirmed()
    }

    /// The projection of the present, and that of the tick before it.
    pub fn projections(&self) -> (&[u8], &[u8]) {
        self.session.projections()
    }

    /// The next event, in the order in which they happened.
    pub fn poll_event(&mut self) -> Option<SessionEvent> {
        self.session.poll_event()
    }

    /// The next presentation event (K10), for sounds and effects. Nothing is predicted here, so each comes out confirmed, once.
    pub fn poll_presentation_event(&mut self) -> Option<PresentationEvent<'_>> {
        self.session.poll_presentation_event()
    }

    /// Presentation events that did not come out, by reason.
    pub fn dropped_events(&self) -> DroppedEvents {
        self.session.dropped_events()
    }

    /// The session below, to read.
    pub fn session(&self) -> &Session {
        &self.session
    }

    /// Who plays, and how.
    pub fn config(&self) -> &LocalConfig {
        &self.config
    }

    /// Counts since the session was made.
    pub fn stats(&self) -> LocalStats {
        self.stats
    }

    /// The checksum of `S(tick)`.
    ///
    /// # Errors
    /// [`StateReadError`].
    pub fn checksum_at(&mut self, tick: Tick) -> Result<Checksum, StateReadError> {
        self.session.checksum_at(tick)
    }

    /// A snapshot of `S(tick)`, with the frames since, if they are retained.
    ///
    /// # Errors
    /// [`SnapshotError`].
    pub fn export_snapshot(&mut self, tick: Tick) -> Result<Snapshot, SnapshotError> {
        self.session.export_snapshot(tick)
    }

    /// The present as a world that another local session of as many seats goes on from, and no room (S7).
    ///
    /// # Errors
    /// [`SnapshotError`].
    pub fn export_promotion(&mut self) -> Result<PromotionSnapshot, SnapshotError> {
        self.session.export_promotion()
    }

    /// The match so far as a replay, with [`super::InputRetention::All`] in [`super::SessionPolicy::input_retention`]; none of a
    /// promoted world's.
    ///
    /// # Errors
    /// [`ReplayExportError`].
    pub fn export_replay(&mut self) -> Result<Vec<u8>, ReplayExportError> {
        self.session.export_replay()
    }
}
