//! Retick's kernel: deterministic ticks, checkpoints, checksums and rollback, and the client above them. `no_std` with `alloc`.
//!
//! ```text
//!   Client     handle_* / poll_output         what the wire says, what a player sees
//!     │ confirm(frame)      ▲ checksum
//!   Session    predict, roll back             the one place that owns "confirmed"
//!     │ advance(batch)      ▲ kept
//!   Runtime    native Rust or WebAssembly     the game, behind opaque checkpoint handles
//! ```
//!
//! **What is authoritative:** a value is authoritative if, and only if, the game's step wrote it into the state whose canonical
//! bytes are hashed (K5). No call makes a value authoritative, and nothing outside the step can change one.
//!
//! Tick `t` turns state `S(t)` into `S(t+1)`. A *frame* is what the authority confirms for one tick: every seat's input, the
//! ordered commands, who was substituted and who drives each seat. Until a frame is there the session predicts it; when the
//! prediction was wrong, it restores the checkpoint of the first wrong tick and resimulates to the present in one batch.
//!
//! A whole game, and a rollback:
//!
//! ```
//! use retick_core::config::{ConfigSchema, SessionConfig};
//! use retick_core::frame::{Frame, SeatFrame};
//! use retick_core::identity::MatchDescriptor;
//! use retick_core::input::{GameInput, InputSchema, Packer, Unpacker};
//! use retick_core::rng::SessionSeed;
//! use retick_core::runtime::*;
//! use retick_core::seat::{Generation, Presence, Seat, SeatCount};
//! use retick_core::session::{Budget, Session, SessionEvent, SessionPolicy};
//! use retick_core::tick::{Tick, TickRate};
//! use serde::{Deserialize, Serialize};
//!
//! #[derive(Clone, Serialize, Deserialize)]
//! struct Race {
//!     positions: Vec<i64>,
//! }
//!
//! #[derive(Clone)]
//! struct Throttle(i64);
//!
//! impl GameInput for Throttle {
//!     fn schema() -> InputSchema {
//!         InputSchema::builder("race-input/v1").integer("throttle", 0..=100).build().expect("a valid schema")
//!     }
//!     fn pack(&self, packer: &mut Packer<'_>) {
//!         packer.integer(self.0);
//!     }
//!     fn unpack(unpacker: &mut Unpacker<'_>) -> Self {
//!         Throttle(unpacker.integer())
//!     }
//! }
//!
//! impl Simulation for Race {
//!     type Input = Throttle;
//!     type Command = NoCommand;
//!
//!     fn describe() -> GameDescription {
//!         GameDescription {
//!             tick_rate: TickRate::Hz60,
//!             state_schema: "race-state/v1",
//!             config_schema: ConfigSchema::empty(),
//!             seats: 2..=4,
//!             capabilities: Capabilities { commands: false, projection: true },
//!         }
//!     }
//!     fn init(context: &InitContext<'_>) -> Result<Self, u32> {
//!         Ok(Race { positions: vec![0; context.seats.count()] })
//!     }
//!     fn step(&mut self, context: &StepContext<'_, Self>) {
//!         for seat in context.seats() {
//!             self.positions[seat.index()] += context.input(seat).0;
//!         }
//!     }
//!     fn project(&self, out: &mut Vec<u8>) {
//!         self.positions.iter().for_each(|position| out.extend_from_slice(&position.to_le_bytes()));
//!     }
//! }
//!
//! // The game's identity covers its sources: list every file that can change a bit.
//! let factory = NativeFactory::<Race>::new(|sources| sources.module("race.rs", b"the bytes of race.rs"))?;
//! let seats = SeatCount::new(2).expect("two seats");
//! let descriptor = MatchDescriptor::new(factory.manifest(), SessionConfig::empty(), SessionSeed::from_u64(1), seats);
//!
//! // This machine plays seat 0. Seat 1 is guessed until the authority's frame is there.
//! let [me, other] = [0, 1].map(|seat| Seat::new(seat).expect("below the limit"));
//! let runtime = factory.create(&descriptor)?;
//! let mut session = Session::new(runtime, &descriptor, SessionPolicy::default(), [me].into_iter().collect())?;
//! let throttle = factory.manifest().input_schema().pack(&Throttle(10))?;
//! for tick in 0..3 {
//!     session.submit(me, Tick::new(tick), &throttle)?;
//! }
//! session.advance(Budget { confirmed_frames: 8, target: Tick::new(3) })?;
//! assert_eq!((session.confirmed(), session.head()), (Tick::ZERO, Tick::new(3)));
//!
//! // Seat 1 went at full speed in tick 0, which nobody guessed: one call rolls back, confirms and predicts again.
//! let mut frame = Frame::new(Generation(0), Tick::ZERO);
//! for input in [10, 100] {
//!     let packed = factory.manifest().input_schema().pack(&Throttle(input))?;
//!     frame.push_seat(SeatFrame { input: Some(&packed), presence: Presence::Human, ..SeatFrame::default() });
//! }
//! session.confirm(&frame)?;
//! let progress = session.advance(Budget { confirmed_frames: 8, target: Tick::new(3) })?;
//! assert_eq!((progress.confirmed_frames, progress.resimulated), (1, 3));
//! let (shown, _) = session.projections();
//! assert_eq!(shown[8..16], 300i64.to_le_bytes());
//! # let _ = (other, SessionEvent::RolledBack { from: Tick::ZERO, to: Tick::ZERO });
//! # Ok::<(), Box<dyn core::error::Error>>(())
//! ```
//!
//! What is in here:
//!
//! | module | what for |
//! |---|---|
//! | [`runtime`] | the game: `Simulation`, `NativeFactory`, and the `Runtime` trait under any of them |
//! | [`session`] | a player's machine: `Session` predicts and rolls back; `LocalSession` is play without a network, with bots |
//! | [`client`] | the networked client above a session, for a transport of your own: bytes and time in, bytes and events out |
//! | [`runner`] | a game's matches one after another, offline and networked, with status and statistics for its UI |
//! | [`input`] | a game's input: schema, packing, `#[derive(GameInput)]`, what a prediction does with a field |
//! | [`event`] | presentation events: sounds and effects that survive rollbacks |
//! | [`chunked`] | `Chunked` and `#[derive(CheckpointClone)]`: large states whose checkpoints cost what was touched |
//! | [`rng`] | random streams out of the session's seed, kept in the state |
//! | [`config`] | a match's settings under a schema |
//! | [`asset`] | content too large for a config, pinned there by digest |
//! | [`identity`] | what is played: the manifest of code and settings, and the descriptor of one match |
//! | `signing`, `ticket` | identities signed by a studio, join tickets signed by a game's backend (feature `signing`) |
//! | [`replay`] | confirmed matches as files, recorded and verified |
//! | [`snapshot`] | states as files, and worlds promoted from one local session to another |
//! | [`frame`] | what the authority confirms for a tick, and the hash chain over all of it |
//! | [`seat`], [`tick`], [`digest`] | input positions, time, and digests as types |
//! | [`tree`] | the checksum as a tree over 4 KiB pages, and the search for the first difference of two states |
//! | [`fields`] | which field of a state stands at a byte: from serde, or from a list of symbols |
//! | [`codec`] | canonical bytes and text of values |
//! | [`wire`] | the messages between clients and the room |
//!
//! Below the service there is no clock, thread, socket, file, environment, global or OS randomness: time and randomness are
//! arguments. Bytes from outside never panic, and what they make us allocate is bounded by how many were received, or, for the
//! zero blocks of a snapshot's state, by a limit of its own.
#![no_std]
#![forbid(unsafe_code)]

extern crate alloc;
#[cfg(test)]
extern crate std;

pub mod asset;
pub mod chunked;
pub mod client;
pub mod codec;
pub mod config;
pub mod digest;
pub mod event;
pub mod fields;
pub mod frame;
pub mod identity;
pub mod input;
mod record;
pub mod replay;
pub mod rng;
pub mod runner;
pub mod runtime;
pub mod seat;
pub mod session;
#[cfg(feature = "signing")]
pub mod signing;
pub mod snapshot;
pub mod tick;
#[cfg(feature = "signing")]
pub mod ticket;
pub mod tree;
pub mod wire;
