//! The authority of Retick: who orders the inputs of a match.
//!
//! ```text
//!  bytes ──▶ handle_message ─┐            ┌─▶ Transmit   to the sockets
//!  lost  ──▶ handle_disconnected ─▶ Room ─┼─▶ Persist    to the FrameLog
//!  time  ──▶ handle_timeout ─┘            └─▶ Close, Event
//! ```
//!
//! [`room::Room`] is a machine without input or output of its own (sans-IO): it never decodes a game's input and links no
//! simulation, so it is the same for every game. [`log`] keeps what it confirmed. Both are `no_std` with `alloc`; logs in files
//! stand behind the feature `files`, the service that owns sockets and clocks behind the feature `service`.
//!
//! # A room of two seats, in memory
//!
//! ```
//! use retick_authority::log::{FrameLog, MemoryLog};
//! use retick_authority::room::{ConnectionId, Output, Room, RoomConfig, RoomSecret};
//! use retick_core::config::SessionConfig;
//! use retick_core::identity::{IdentityManifest, MatchDescriptor};
//! use retick_core::input::InputSchema;
//! use retick_core::rng::SessionSeed;
//! use retick_core::seat::{ControlEpoch, Generation, Seat, SeatCount};
//! use retick_core::tick::{Moment, Tick, TickRate};
//! use retick_core::wire::{ClientMessage, Entry, Hello, InputRun, Inputs, PROTOCOL_VERSION, RoomMessage};
//!
//! // What is played. The room needs its descriptor alone.
//! let schema = InputSchema::builder("drive/v1").integer("steer", 0..=255).build()?;
//! let manifest = IdentityManifest::builder("native", 1, TickRate::Hz60).input_schema(schema).build()?;
//! let seats = SeatCount::new(2).ok_or("two seats")?;
//! let descriptor = MatchDescriptor::new(&manifest, SessionConfig::empty(), SessionSeed::from_u64(1), seats);
//! // A real room takes its secret from the operating system's randomness.
//! let mut room = Room::new(RoomConfig::new(descriptor), RoomSecret([7; 32]))?;
//!
//! // Two clients join, and are ready. That starts the room's clock.
//! let bytes_of = |message: &ClientMessage<'_>| {
//!     let mut bytes = Vec::new();
//!     message.encode_into(&mut bytes);
//!     bytes
//! };
//! let now = Moment::ZERO;
//! for client in [ConnectionId(0), ConnectionId(1)] {
//!     let entry = Entry::Join { ticket: b"" };
//!     let hello = Hello { protocol: PROTOCOL_VERSION, identity: manifest.identity(), entry };
//!     room.handle_connected(client, now);
//!     room.handle_message(client, &bytes_of(&ClientMessage::Hello(hello)), now);
//!     room.handle_message(client, &bytes_of(&ClientMessage::Ready { generation: Generation(0) }), now);
//! }
//!
//! // Both send their input for tick 0, and the room confirms it.
//! for (client, input) in [(ConnectionId(0), [5]), (ConnectionId(1), [9])] {
//!     let inputs = InputRun::new(1, &input).expect("one input");
//!     let inputs = Inputs { generation: Generation(0), epoch: ControlEpoch(1), first: Tick::ZERO, inputs };
//!     room.handle_message(client, &bytes_of(&ClientMessage::Inputs(inputs)), now);
//! }
//! room.handle_timeout(now);
//!
//! // Everything that the room wants done, in order.
//! let (mut log, mut releases) = (MemoryLog::new(), 0);
//! while let Some(output) = room.poll_output() {
//!     match output {
//!         Output::Persist { sequence, record } => log.append(sequence, record)?,
//!         Output::Transmit { to, bytes } => {
//!             if let Ok(RoomMessage::Frames(frames)) = RoomMessage::decode(bytes) {
//!                 assert_eq!((to.len(), frames.first, frames.count), (2, Tick::ZERO, 1));
//!                 releases += 1;
//!             }
//!         }
//!         Output::Close { .. } | Output::Event(_) => {}
//!     }
//! }
//! let frame = log.frames()?.next().ok_or("a frame was logged")??;
//! assert_eq!((releases, frame.input(Seat::new(1).ok_or("seat 1")?)), (1, Some(&[9][..])));
//! assert_eq!(room.frame(Tick::ZERO), Some(frame));
//! # Ok::<(), Box<dyn core::error::Error>>(())
//! ```
#![cfg_attr(not(feature = "files"), no_std)]

extern crate alloc;
#[cfg(test)]
extern crate std;

pub mod log;
pub mod referee;
pub mod room;
#[cfg(feature = "service")]
pub mod service;
