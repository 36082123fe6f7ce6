//! The game's side of the socket: drives Retick's sans-IO [`Client`](retick_core::client::Client) over a WebSocket.
//!
//! ```text
//!  game ── input(tick) ──▶ ┌───────────┐ ── bytes ──▶ ┌────────┐
//!  game ◀── events, turn ─ │ NetClient │              │ room   │
//!  UI   ◀── NetStats ───── └───────────┘ ◀── frames ─ └────────┘
//!           task, timers, reconnects       one WebSocket, binary messages only
//! ```
//!
//! [`NetClient`] is one tokio task that owns the machine and the socket: it reads, takes a turn whenever the machine asks for one
//! (N1), writes, and opens a new socket when the old one is lost; the machine resumes its seat on it (A6). It ends with an
//! [`Outcome`], which holds the machine, so that the last states can be read. [`Lobby`] makes, finds and locks
//! rooms over the service's HTTP side (V1), and [`create_room`] is its short form.
//!
//! # A match, from the room to its end
//!
//! ```no_run
//! use retick_client::{CreateOptions, NetClient, NetConfig, create_room};
//! use retick_core::identity::MatchDescriptor;
//! use retick_core::runtime::RuntimeFactory;
//!
//! # async fn play(game: Box<dyn RuntimeFactory>, descriptor: MatchDescriptor) -> Result<(), Box<dyn std::error::Error>> {
//! let address = "127.0.0.1:7777";
//! let code = create_room(address, &descriptor, &CreateOptions::default()).await?;
//! println!("the others join with {code}");
//!
//! let neutral = game.manifest().input_schema().neutral().to_vec();
//! let mut client = NetClient::spawn(NetConfig::new(address, code), game, move |_tick| neutral.clone());
//! while let Some(event) = client.next_event().await {
//!     println!("{event:?}");
//! }
//! let outcome = client.join().await?;
//! println!("over: {}", outcome.end);
//! # Ok(())
//! # }
//! ```

//! # A plain game loop, without async
//!
//! ```no_run
//! use std::sync::Arc;
//! use std::time::Instant;
//!
//! use retick_client::{BlockingConfig, BlockingRunner, RoomCode};
//! use retick_core::runner::{MatchUiState, RunnerError};
//! use retick_core::runtime::RuntimeFactory;
//! use retick_core::session::HeldInputs;
//!
//! fn play(game: Arc<dyn RuntimeFactory>, code: RoomCode, sample: impl Fn() -> Vec<u8>) -> Result<(), RunnerError> {
//!     let mut matches = BlockingRunner::new(BlockingConfig::default(), game)?;
//!     matches.connect("127.0.0.1:7777", code)?;
//!     let mut last = Instant::now();
//!     loop {
//!         matches.runner_mut().apply_input(&sample())?;
//!         let delta = last.elapsed();
//!         last += delta;
//!         matches.update(delta.as_secs_f64() * 1000.0, &mut HeldInputs)?;
//!         if let Ok(picture) = matches.runner().render_state() {
//!             println!("{} bytes at {}, {:.2} of the way", picture.current.len(), picture.tick, picture.alpha);
//!         }
//!         if matches.snapshot().ui_state() == MatchUiState::Stopped {
//!             return Ok(());
//!         }
//!     }
//! }
//! ```

mod backoff;
mod blocking;
mod code;
mod config;
mod driver;
mod end;
mod http;
mod lobby;
mod net_client;
mod policies;
mod replay_file;
mod replay_list;
mod room;
mod secret;
mod socket;
mod tls;
mod transport;

pub use blocking::{
    BlockingConfig, BlockingRunner, LoopEvent, MAX_INBOUND_BYTES, MAX_OUTBOUND_MESSAGES, MAX_WAITING_LOOP_EVENTS,
};
pub use code::{MAX_CODE_BYTES, ParseCodeError, RoomCode};
pub use config::{
    DEFAULT_CONNECT_MILLIS, DEFAULT_FIRST_DELAY_MILLIS, DEFAULT_GIVE_UP_MILLIS, DEFAULT_MAX_DELAY_MILLIS,
    DEFAULT_SILENCE_MILLIS, NetConfig, Reconnect,
};
pub use end::{ConnectError, LostTransport, NetEnd, Outcome, TaskLost};
pub use http::{HttpError, MAX_RESPONSE_BYTES};
pub use lobby::{
    CreateOptions, CreatedRoom, ListRequest, Lobby, MatchWish, QuickMatch, RoomPage, create_room, room_info,
};
pub use net_client::{Link, MAX_WAITING_EVENTS, MAX_WAITING_REQUESTS, NetClient, NetStats, Player, RequestRefused};
pub use policies::{OnLeave, Permission, RoomPolicies, SeatPolicy, StartPolicy};
pub use replay_file::{ReplayFile, ReplaySync};
pub use replay_list::{InvalidReplay, MAX_REPLAY_FILE_BYTES, ReplaySummary, list_replays, read_replay_file};
pub use room::{RoomInfo, RoomLock, RoomPhase, RoomSettlement, Visibility};
pub use secret::{ParseSecretError, Reservation, RoomKey, SECRET_DIGITS};
pub use socket::MAX_UNSENT_BYTES;
pub use tls::{Roots, TlsClient, TlsError};
