//! The room's own simulation beside it (A13): an observer's client in the same process, whose word the room takes.
//!
//! A [`Referee`] is a machine without a clock or a socket. Whoever drives a [`Room`](crate::room::Room) runs one beside it: opens a
//! connection with [`Room::handle_referee_connected`](crate::room::Room::handle_referee_connected) when it asks for one, carries
//! messages both ways, and lets it take turns. The room never links a simulation; which game is played, the factory says.
//!
//! In [`full`](RefereeMode::Full) mode it plays every tick: it names seats that are wrong, has them put right, and donates snapshots that
//! no seat can hold up. In [`sampled`](RefereeMode::Sampled) mode it rests most of the time and costs nothing then: it comes for a while
//! now and then, and whenever two reports differ. It begins with `S(0)`, or with a state that two seats agree on; from any other it
//! would blame the honest for the lie of a donor, so that it says nothing and goes.
//!
//! ```
//! use std::sync::Arc;
//!
//! use retick_authority::referee::{Referee, RefereeMode, RefereeOutput, Sampling};
//! use retick_core::tick::Moment;
//! # use retick_core::{config::*, identity::*, input::*, runtime::*, tick::*};
//! # #[derive(Clone, serde::Serialize, serde::Deserialize)]
//! # struct Count(u64);
//! # #[derive(Clone)]
//! # struct Add(bool);
//! # impl GameInput for Add {
//! #     fn schema() -> InputSchema { InputSchema::builder("add/v1").boolean("add").build().expect("valid") }
//! #     fn pack(&self, packer: &mut Packer<'_>) { packer.boolean(self.0) }
//! #     fn unpack(unpacker: &mut Unpacker<'_>) -> Self { Add(unpacker.boolean()) }
//! # }
//! # impl Simulation for Count {
//! #     type Input = Add;
//! #     type Command = NoCommand;
//! #     fn describe() -> GameDescription {
//! #         let (config_schema, capabilities) = (ConfigSchema::empty(), Capabilities::default());
//! #         GameDescription { tick_rate: TickRate::Hz60, state_schema: "count/v1", config_schema, seats: 1..=2, capabilities }
//! #     }
//! #     fn init(_: &InitContext<'_>) -> Result<Self, u32> { Ok(Count(0)) }
//! #     fn step(&mut self, _: &StepContext<'_, Self>) { self.0 += 1 }
//! # }
//!
//! let factory = Arc::new(NativeFactory::<Count>::new(|sources| sources.module("count.rs", b"its source"))?);
//! let mut referee = Referee::new(RefereeMode::Full, factory.clone(), 0);
//! referee.handle_turn(Moment::ZERO);
//! assert_eq!(referee.poll_output(), Some(RefereeOutput::Connect));
//!
//! // One that samples rests until its time has come.
//! let mut sampler = Referee::new(RefereeMode::Sampled(Sampling::default()), factory, 20_000);
//! sampler.handle_turn(Moment::ZERO);
//! assert_eq!((sampler.poll_output(), sampler.next_timeout()), (None, Some(Moment::from_millis(20_000))));
//! # Ok::<(), Box<dyn core::error::Error>>(())
//! ```

use alloc::boxed::Box;
use alloc::collections::VecDeque;
use alloc::sync::Arc;
use alloc::vec::Vec;

use retick_core::client::{Client, ClientConfig, ClientEvent, ClientRole, Output, PredictionMode};
use retick_core::runtime::RuntimeFactory;
use retick_core::tick::Moment;

use crate::room::RoomEvent;

/// Default of [`Sampling::every_millis`].
pub const DEFAULT_SAMPLE_EVERY_MILLIS: u64 = 60_000;
/// Default of [`Sampling::window_millis`]: two reports and more, at the default cadence.
pub const DEFAULT_SAMPLE_WINDOW_MILLIS: u64 = 10_000;
/// How long a referee stays away that found no state to begin with, or lost its connection.
pub const REFEREE_RETRY_MILLIS: u64 = 2_000;
/// Most confirmed frames that a referee applies in a turn, so that catching up does not hold up its driver.
pub const MAX_REFEREE_FRAMES_PER_TURN: u32 = 120;

/// How much of a match a referee plays (A13).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum RefereeMode {
    /// Every tick.
    Full,
    /// Some of it, and whatever reports differ about.
    Sampled(Sampling),
}

/// When a referee comes that plays a part of the match.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Sampling {
    /// From one visit to the next, in milliseconds.
    pub every_millis: u64,
    /// How long it stays, in milliseconds. A visit that a desync was the reason of lasts as long.
    pub window_millis: u64,
}

impl Default for Sampling {
    fn default() -> Sampling {
        Sampling { every_millis: DEFAULT_SAMPLE_EVERY_MILLIS, window_millis: DEFAULT_SAMPLE_WINDOW_MILLIS }
    }
}

/// What a referee wants of its driver.
#[must_use]
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum RefereeOutput {
    /// A connection, announced to the room as the referee's; then [`Referee::handle_connected`].
    Connect,
    /// Hand this message to the room, on that connection.
    Transmit(Vec<u8>),
    /// End the connection.
    Disconnect,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Stand {
    /// It is away until then.
    Away { until: Moment },
    /// It has asked for a connection.
    Coming,
    /// It follows the match, until then if it is a visit.
    There { until: Option<Moment> },
}

/// A referee, sans-IO. See the module's page.
pub struct Referee {
    mode: RefereeMode,
    factory: Arc<dyn RuntimeFactory>,
    stand: Stand,
    client: Option<Client>,
    /// A visit is due as soon as it can be, for two reports differ.
    is_called: bool,
    /// When the next visit of a sampler is due.
    next_visit: Moment,
    out: VecDeque<RefereeOutput>,
}

impl core::fmt::Debug for Referee {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("Referee").field("mode", &self.mode).field("stand", &self.stand).finish_non_exhaustive()
    }
}

impl Referee {
    /// A referee of whatever match of this game its room plays. A sampler makes its first visit `phase_millis` after the start, so that
    /// those of many rooms don't all come at once.
    #[must_use]
    pub fn new(mode: RefereeMode, factory: Arc<dyn RuntimeFactory>, phase_millis: u64) -> Referee {
        let first = match mode {
            RefereeMode::Full => Moment::ZERO,
            RefereeMode::Sampled(sampling) => Moment::from_millis(phase_millis % sampling.every_millis.max(1)),
        };
        let (stand, out) = (Stand::Away { until: first }, VecDeque::new());
        Referee { mode, factory, stand, client: None, is_called: false, next_visit: first, out }
    }

    /// Something happened in the room.
    pub fn handle_event(&mut self, event: &RoomEvent, now: Moment) {
        if let (RoomEvent::Desync { .. }, RefereeMode::Sampled(sampling)) = (event, self.mode) {
            match &mut self.stand {
                Stand::There { until: Some(until) } => *until = (*until).max(later(now, sampling.window_millis)),
                Stand::There { until: None } => {}
                Stand::Away { .. } | Stand::Coming => self.is_called = true,
            }
        }
        self.come_if_due(now);
    }

    /// Its connection is open.
    pub fn handle_connected(&mut self, now: Moment) {
        let until = match self.mode {
            RefereeMode::Full => None,
            RefereeMode::Sampled(sampling) => {
                self.next_visit = later(now, sampling.every_millis);
                Some(later(now, sampling.window_millis))
            }
        };
        self.is_called = false;
        let config = ClientConfig {
            role: ClientRole::Referee,
            mode: PredictionMode::ConfirmedOnly,
            max_confirmed_frames_per_turn: Some(MAX_REFEREE_FRAMES_PER_TURN),
            ..ClientConfig::default()
        };
        let mut client = Client::new(config, Box::new(self.factory.clone()));
        client.handle_connected(now);
        self.client = Some(client);
        self.stand = Stand::There { until };
        self.drain(now);
    }

    /// Its connection is gone.
    pub fn handle_disconnected(&mut self, now: Moment) {
        self.client = None;
        self.stand = Stand::Away { until: self.next_return(now) };
    }

    /// A message of the room's arrived.
    pub fn handle_message(&mut self, bytes: &[u8], now: Moment) {
        let Some(client) = &mut self.client else { return };
        if client.handle_message(bytes, now).is_err() {
            self.leave(now);
        }
        self.drain(now);
    }

    /// Plays what has arrived, and comes or goes when it is time; to be called at [`Referee::next_timeout`].
    pub fn handle_turn(&mut self, now: Moment) {
        if let Stand::There { until: Some(until) } = self.stand
            && until <= now
        {
            self.leave(now);
        }
        self.come_if_due(now);
        let Some(client) = &mut self.client else { return };
        client.handle_turn(now);
        if client.step().is_err() {
            self.leave(now);
        }
        self.drain(now);
    }

    /// The next thing that it wants.
    pub fn poll_output(&mut self) -> Option<RefereeOutput> {
        self.out.pop_front()
    }

    /// When [`Referee::handle_turn`] is due next; `None` while it waits for its connection or the room's answer.
    pub fn next_timeout(&self) -> Option<Moment> {
        match self.stand {
            Stand::Away { until } => Some(until),
            Stand::Coming => None,
            Stand::There { until } => {
                let turn = self.client.as_ref().and_then(Client::next_timeout);
                [turn, until].into_iter().flatten().min()
            }
        }
    }

    /// The client that follows the match, while it does.
    pub fn client(&self) -> Option<&Client> {
        self.client.as_ref()
    }

    /// The same, for a driver that knows how its game ends: it says so by [`Client::report_result`].
    pub fn client_mut(&mut self) -> Option<&mut Client> {
        self.client.as_mut()
    }

    fn come_if_due(&mut self, now: Moment) {
        if let Stand::Away { until } = self.stand
            && (until <= now || self.is_called)
        {
            self.stand = Stand::Coming;
            self.out.push_back(RefereeOutput::Connect);
        }
    }

    fn leave(&mut self, now: Moment) {
        if self.client.take().is_some() {
            self.stand = Stand::Away { until: self.next_return(now) };
            self.out.push_back(RefereeOutput::Disconnect);
        }
    }

    fn next_return(&self, now: Moment) -> Moment {
        match self.mode {
            RefereeMode::Full => later(now, REFEREE_RETRY_MILLIS),
            RefereeMode::Sampled(_) => self.next_visit.max(now),
        }
    }

    /// Takes what the client says. Who has begun with a state that nobody vouches for says nothing of it.
    fn drain(&mut self, now: Moment) {
        let Some(client) = &mut self.client else { return };
        let mut is_unsure = false;
        while let Some(output) = client.poll_output() {
            match output {
                Output::Transmit(bytes) => self.out.push_back(RefereeOutput::Transmit(bytes.to_vec())),
                Output::Event(ClientEvent::Hydrated { verified: false, .. }) => is_unsure = true,
                Output::Event(_) => {}
            }
        }
        while client.poll_presentation_event().is_some() {}
        if is_unsure {
            self.leave(now);
            self.stand = Stand::Away { until: later(now, REFEREE_RETRY_MILLIS) };
        }
    }
}

fn later(now: Moment, millis: u64) -> Moment {
    now.plus_nanos(millis.saturating_mul(1_000_000))
}
