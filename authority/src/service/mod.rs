//! The room service: sockets, clocks and tasks around [`Room`](crate::room::Room) (V1). Only here is anything asynchronous.
//!
//! ```text
//!  socket ─ reader ─▶ mailbox ─▶ ┌───────────┐ ─ bytes once for all ─▶ byte-bounded queue ─ writer ─▶ socket
//!  socket ─ reader ─▶ (bounded)  │ room task │ ─────────────────────▶ byte-bounded queue ─ writer ─▶ socket
//!                                │ owns Room │ ─▶ status, events      to the owner's [`ServiceHandle`]
//!                                └───────────┘
//! ```
//!
//! One task owns each room, so nothing locks around it. It takes in all that arrived, lets the room's clock move on, and does
//! what the room wants done. A peer can fill its own queue only: then its connection ends as a slow consumer (A11).
//!
//! Before a room knows of a connection, that has come through three doors: `serving` speaks TLS and HTTP with it, `door` awaits
//! its greeting and has it checked ([`Admission`]), and the lobby's `listing` of the room says whether its seats are kept for
//! others. Whoever says nothing is in none of a room's counts, and gives way to newcomers (`handshakes`).
//!
//! The HTTP side is written down in `docs/service.md`. Every refusal is JSON with a stable `code` and a `message` for people.
//! Operators have a listener of their own, for metrics and the monitor ([`ServiceConfig::admin_address`]).
//!
//! ```no_run
//! use retick_authority::service::{Service, ServiceConfig, ShutdownSignals};
//!
//! # async fn serve() -> Result<(), Box<dyn std::error::Error>> {
//! let service = Service::bind(ServiceConfig::default())?;
//! println!("listening on {}", service.local_address());
//! let handle = service.handle();
//! // The first signal asks for a drain, and the second to stop at once.
//! let (mut signals, (stop, second)) = (ShutdownSignals::new(), tokio::sync::oneshot::channel());
//! let first = async {
//!     signals.next().await;
//!     tokio::spawn(async move {
//!         signals.next().await;
//!         let _ = stop.send(());
//!     });
//! };
//! service.run(first, async { drop(second.await) }).await?;
//! assert_eq!(handle.room_count(), 0);
//! # Ok(())
//! # }
//! ```

mod address;
mod admin;
mod admission;
mod alarm;
mod code;
mod config;
mod connection;
mod desync_log;
mod door;
mod entrance;
mod error;
mod handle;
mod handshakes;
mod http;
mod hub;
mod listener;
mod listing;
mod lobby_file;
mod log_store;
mod log_writer;
mod mailbox;
mod matching;
mod meter;
mod metrics;
mod monitor;
mod origin;
mod outbound;
mod places;
mod referee;
mod room_log;
mod room_outputs;
mod room_task;
mod serving;
mod signals;
mod status;
mod status_feed;
mod tls;

pub use admission::{
    Admission, CreateToken, Creation, JoinCheck, JoinOutcome, JoinRequest, MAX_TICKET_KEYS, MIN_CREATE_TOKEN_BYTES,
    TicketKeys,
};
pub use code::{ParseCodeError, RoomCode};
pub use config::{
    DEFAULT_ADDRESS, DEFAULT_DRAIN_MILLIS, DEFAULT_GREETING_MILLIS, DEFAULT_IDLE_MILLIS,
    DEFAULT_INBOUND_BYTES_PER_SECOND, DEFAULT_LINGER_MILLIS, DEFAULT_LOBBY_REQUESTS_PER_MINUTE,
    DEFAULT_LOBBY_REQUESTS_PER_MINUTE_PER_ADDRESS, DEFAULT_MAX_CONNECTIONS, DEFAULT_MAX_CONNECTIONS_PER_ADDRESS,
    DEFAULT_MAX_HANDSHAKES, DEFAULT_MAX_HANDSHAKES_PER_ADDRESS, DEFAULT_MAX_ROOMS, DEFAULT_MAX_ROOMS_PER_ADDRESS,
    DEFAULT_OUTBOUND_BYTES, DEFAULT_RESERVATION_MILLIS, DEFAULT_SOCKET_SEND_BUFFER_BYTES, DEFAULT_STOP_MILLIS,
    DEFAULT_UNUSED_ROOM_MILLIS, ServiceConfig,
};
pub use error::{CreateRoomError, LogStoreError, ServiceError, UnknownRoom};
pub use handle::{Locked, RoomLobby, ServiceHandle};
pub use handshakes::Stage;
pub use http::MAX_CREATE_BODY_BYTES;
pub use listener::Service;
pub use listing::{ParseKeyError, RoomKey, Visibility};
pub use log_store::{DEFAULT_MAX_ENDED_ROOMS, DEFAULT_SYNC_MILLIS, LogSettings, MAX_SYNC_MILLIS, open_room_folder};
pub use mailbox::MAX_WAITING_MAIL;
pub use origin::Origins;
pub use outbound::MESSAGE_OVERHEAD_BYTES;
pub use referee::RefereeSettings;
pub use room_log::{LogEnd, RoomLog, RoomLogError, Urgency};
pub use room_task::MAX_WAITING_ROOM_EVENTS;
pub use signals::{ShutdownSignals, shutdown_signal};
pub use status::{RoomInfo, RoomKind, RoomPhase, RoomSettlement, RoomStatus};
pub use tls::{MAX_CERTIFICATE_CHAIN, TlsError, TlsIdentity};
