//! Presentation events (K10): one-shot sounds and effects that a step emits, with an identity that survives rollbacks.
//!
//! A step calls [`StepContext::emit`](crate::runtime::StepContext::emit) each time it runs: predicted, confirmed or resimulated.
//! The session gives each event a life, [`EventLife`], and hands it out by
//! [`Session::poll_presentation_event`](crate::session::Session::poll_presentation_event). An event is never state: nothing reads
//! it back, no checksum covers it, and a game steps the same whether anybody listens or not.
//!
//! ```
//! # use retick_core::config::{ConfigSchema, SessionConfig};
//! # use retick_core::frame::{Frame, SeatFrame};
//! # use retick_core::identity::MatchDescriptor;
//! # use retick_core::input::{GameInput, InputSchema, Packer, Unpacker};
//! # use retick_core::rng::SessionSeed;
//! # use retick_core::runtime::*;
//! # use retick_core::seat::{Generation, Presence, Seat, SeatCount};
//! # use retick_core::session::{Budget, Session, SessionPolicy};
//! # use retick_core::tick::{Tick, TickRate};
//! # use serde::{Deserialize, Serialize};
//! use retick_core::event::{EventId, EventLife};
//!
//! /// The game's own numbers: this module of the game, and this sound in it.
//! const DRUMS: u16 = 1;
//! const BEAT: u16 = 7;
//! # #[derive(Clone)]
//! # struct Hit(bool);
//! # impl GameInput for Hit {
//! #     fn schema() -> InputSchema {
//! #         InputSchema::builder("hit/v1").boolean("hit").build().expect("one field")
//! #     }
//! #     fn pack(&self, packer: &mut Packer<'_>) {
//! #         packer.boolean(self.0);
//! #     }
//! #     fn unpack(unpacker: &mut Unpacker<'_>) -> Self {
//! #         Hit(unpacker.boolean())
//! #     }
//! # }
//! # #[derive(Clone, Serialize, Deserialize)]
//! # struct Drums(u64);
//! # impl Simulation for Drums {
//! #     type Input = Hit;
//! #     type Command = NoCommand;
//! #     fn describe() -> GameDescription {
//! #         GameDescription {
//! #             tick_rate: TickRate::Hz60,
//! #             state_schema: "drums/v1",
//! #             config_schema: ConfigSchema::empty(),
//! #             seats: 2..=2,
//! #             capabilities: Capabilities::default(),
//! #         }
//! #     }
//! #     fn init(_: &InitContext<'_>) -> Result<Self, u32> {
//! #         Ok(Drums(0))
//! #     }
//!
//! // In the game's step:
//! fn step(&mut self, context: &StepContext<'_, Self>) {
//!     for seat in context.seats().filter(|seat| context.input(*seat).0) {
//!         self.0 += 1;
//!         let id = EventId { module: DRUMS, source: u32::from(seat.number()), event: BEAT };
//!         context.emit(id, b"loud");
//!     }
//! }
//! # }
//! # let factory = NativeFactory::<Drums>::new(|sources| sources.module("drums.rs", b"the bytes of drums.rs"))?;
//! # let seats = SeatCount::new(2).expect("two seats");
//! # let descriptor = MatchDescriptor::new(factory.manifest(), SessionConfig::empty(), SessionSeed::from_u64(1), seats);
//! # let me = Seat::new(0).expect("below the limit");
//! # let runtime = factory.create(&descriptor)?;
//! # let mut session = Session::new(runtime, &descriptor, SessionPolicy::default(), [me].into_iter().collect())?;
//! # let schema = factory.manifest().input_schema().clone();
//! # let (silence, hit) = (schema.pack(&Hit(false))?, schema.pack(&Hit(true))?);
//! # let mut frame = Frame::new(Generation(0), Tick::ZERO);
//! # for input in [&hit, &hit] {
//! #     frame.push_seat(SeatFrame { input: Some(input), presence: Presence::Human, ..SeatFrame::default() });
//! # }
//! # session.submit(me, Tick::ZERO, &hit)?;
//! # let mut lives = Vec::new();
//!
//! // In the game's loop, here with an own hit in tick 0 that is heard at once, and another seat's that comes with the frame:
//! for arrives in [None, Some(&frame)] {
//!     arrives.map_or(Ok(()), |frame| session.confirm(frame))?;
//!     session.advance(Budget { confirmed_frames: 8, target: Tick::new(1) })?;
//!     while let Some(event) = session.poll_presentation_event() {
//!         lives.push((event.key.source, event.life));
//!     }
//! }
//! assert_eq!(lives, [(0, EventLife::Predicted), (0, EventLife::Confirmed), (1, EventLife::Confirmed)]);
//! # let _ = silence;
//! # Ok::<(), Box<dyn core::error::Error>>(())
//! ```

mod batch;
mod sink;

pub use batch::{Emitted, EventBatch, EventMark};
pub use sink::{EventCollector, EventSink};

use crate::tick::Tick;

/// Most events that one tick emits; further ones are dropped and counted, the same on every machine.
pub const MAX_EVENTS_PER_TICK: usize = 256;
/// Most payload bytes of one event; a longer one is dropped whole and counted.
pub const MAX_EVENT_BYTES: usize = 1024;
/// Most payload bytes of all events of one tick; an event that does not fit any more is dropped and counted.
pub const MAX_EVENT_BYTES_PER_TICK: usize = 16 << 10;
/// Most events that one batch of steps holds: of 256 full ticks. What a longer batch emits after them is dropped and counted.
pub const MAX_EVENTS_PER_BATCH: usize = 256 * MAX_EVENTS_PER_TICK;
/// Most payload bytes of one batch of steps: of 256 full ticks.
pub const MAX_EVENT_BYTES_PER_BATCH: usize = 256 * MAX_EVENT_BYTES_PER_TICK;

const _: () = assert!(MAX_EVENT_BYTES <= MAX_EVENT_BYTES_PER_TICK, "the longest event fits a tick");

/// What an event is and where it comes from: the part of its identity that the game chooses.
///
/// ```
/// use retick_core::event::EventId;
///
/// // Explosions (event 3) of the weapons (module 2), one source for each rocket.
/// let boom = EventId { module: 2, source: 77, event: 3 };
/// ```
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub struct EventId {
    /// The part of the game that emits it, for whoever routes events: weapons, music.
    pub module: u16,
    /// Who or what it comes from: an entity's number, a seat's. It should be stable across rollbacks, as the state is.
    pub source: u32,
    /// Which sound or effect it is.
    pub event: u16,
}

/// The identity of one event (K10). Two executions of a tick that emit the same thing give it the same key.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct EventKey {
    /// [`EventId::module`].
    pub module: u16,
    /// [`EventId::source`].
    pub source: u32,
    /// [`EventId::event`].
    pub event: u16,
    /// The tick whose step emitted it.
    pub tick: Tick,
    /// How many events of the same [`EventId`] this tick had emitted before it. The kernel counts them.
    pub ordinal: u32,
}

impl EventKey {
    /// The part that the game chose.
    pub fn id(&self) -> EventId {
        EventId { module: self.module, source: self.source, event: self.event }
    }
}

/// Where an event stands (K10).
///
/// What was told as predicted is told once more, as confirmed or as canceled; only a match that ends leaves it open. What was
/// never told as predicted can come out confirmed, and never canceled.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum EventLife {
    /// A predicted step emitted it: play it now, and be ready to stop it.
    Predicted,
    /// Its tick is confirmed, and did emit it. Once for each event of the confirmed timeline, in the order of ticks and, within a
    /// tick, of emission; play it unless that was done when it was predicted.
    Confirmed,
    /// It was predicted, and did not happen, or not with this payload: stop it.
    Canceled,
}

/// One event on its way to presentation. It borrows from whom it was polled.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct PresentationEvent<'a> {
    /// Where it stands.
    pub life: EventLife,
    /// Its identity.
    pub key: EventKey,
    /// The game's own bytes, at most [`MAX_EVENT_BYTES`].
    pub payload: &'a [u8],
}

#[cfg(test)]
mod tests;
