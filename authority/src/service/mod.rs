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
//! The HTTP side is `POST /rooms`, `GET /rooms/{code}`, `GET /health` and the WebSocket at `/rooms/{code}/play`: one for each
//! player, binary messages only. Every refusal is JSON with a stable `code` and a `message` for people.
//!
//! ```no_run
//! use retick_authority::service::{Service, ServiceConfig, shutdown_signal};
//!
//! # async fn serve() -> Result<(), Box<dyn std::error::Error>> {
//! let service = Service::bind(ServiceConfig::default())?;
//! println!("listening on {}", service.local_address());
//! let handle = service.handle();
//! service.run_until(shutdown_signal()).await?;
//! assert_eq!(handle.room_count(), 0);
//! # Ok(())
//! # }
//! ```

mod alarm;
mod code;
mod config;
mod connection;
mod create;
mod error;
mod handle;
mod http;
mod hub;
mod listener;
mod outbound;
mod room_task;
mod status;

pub use code::{ParseCodeError, RoomCode};
pub use config::{
    DEFAULT_ADDRESS, DEFAULT_GREETING_MILLIS, DEFAULT_IDLE_MILLIS, DEFAULT_LINGER_MILLIS, DEFAULT_MAX_CONNECTIONS,
    DEFAULT_MAX_ROOMS, DEFAULT_OUTBOUND_BYTES, DEFAULT_SOCKET_SEND_BUFFER_BYTES, DEFAULT_STOP_MILLIS,
    DEFAULT_UNUSED_ROOM_MILLIS, ServiceConfig,
};
pub use create::MAX_CREATE_BODY_BYTES;
pub use error::{CreateRoomError, ServiceError, UnknownRoom};
pub use handle::ServiceHandle;
pub use listener::{Service, shutdown_signal};
pub use outbound::MESSAGE_OVERHEAD_BYTES;
pub use room_task::{MAX_WAITING_MAIL, MAX_WAITING_ROOM_EVENTS, RoomLog};
pub use status::{RoomInfo, RoomKind, RoomPhase, RoomStatus};
