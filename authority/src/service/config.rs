//! What a service is made with: its limits, each with a documented default.

use std::net::{Ipv4Addr, SocketAddr};
use std::time::Duration;

use retick_core::wire::MAX_ROOM_MESSAGE_BYTES;

use crate::room::MAX_QUEUED_COMMAND_BYTES;

/// Default of [`ServiceConfig::address`].
pub const DEFAULT_ADDRESS: SocketAddr = SocketAddr::new(std::net::IpAddr::V4(Ipv4Addr::LOCALHOST), 7777);
/// Default of [`ServiceConfig::max_rooms`].
pub const DEFAULT_MAX_ROOMS: usize = 1024;
/// Default of [`ServiceConfig::max_connections`].
pub const DEFAULT_MAX_CONNECTIONS: usize = 4096;
/// Default of [`ServiceConfig::outbound_bytes`]: 1 MiB (A11).
pub const DEFAULT_OUTBOUND_BYTES: usize = 1024 * 1024;
/// Default of [`ServiceConfig::socket_send_buffer_bytes`].
pub const DEFAULT_SOCKET_SEND_BUFFER_BYTES: u32 = 256 * 1024;
/// Default of [`ServiceConfig::greeting_millis`].
pub const DEFAULT_GREETING_MILLIS: u64 = 5_000;
/// Default of [`ServiceConfig::idle_millis`]. A client pings twice a second, so a live one is never silent for so long.
pub const DEFAULT_IDLE_MILLIS: u64 = 30_000;
/// Default of [`ServiceConfig::linger_millis`].
pub const DEFAULT_LINGER_MILLIS: u64 = 2_000;
/// Default of [`ServiceConfig::stop_millis`].
pub const DEFAULT_STOP_MILLIS: u64 = 5_000;
/// Default of [`ServiceConfig::unused_room_millis`]: five minutes.
pub const DEFAULT_UNUSED_ROOM_MILLIS: u64 = 300_000;

const _: () = assert!(DEFAULT_OUTBOUND_BYTES > MAX_ROOM_MESSAGE_BYTES, "the largest message fits an empty queue");
const _: () = assert!(DEFAULT_OUTBOUND_BYTES >= 4 * MAX_QUEUED_COMMAND_BYTES, "a burst of commands fits a queue");
const _: () = assert!(DEFAULT_STOP_MILLIS > 2 * DEFAULT_LINGER_MILLIS, "goodbyes fit into a stop");

/// What a service is made with. All limits are its own; those of a room are in [`RoomConfig`](crate::room::RoomConfig).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ServiceConfig {
    /// Where it listens. Port 0 takes a free one.
    pub address: SocketAddr,
    /// Most rooms at once; a further one is refused.
    pub max_rooms: usize,
    /// Most connections at once, of HTTP and WebSocket together; a further one is answered with status 503 at best.
    pub max_connections: usize,
    /// Most bytes that wait for one connection, each message with an overhead of
    /// [`MESSAGE_OVERHEAD_BYTES`](super::MESSAGE_OVERHEAD_BYTES); beyond, it is closed as a slow consumer (A11).
    pub outbound_bytes: usize,
    /// What the operating system may hold for one connection on top of that, in bytes.
    pub socket_send_buffer_bytes: u32,
    /// How long a connection may take for a request's header and again for its body, and a WebSocket for its greeting, in
    /// milliseconds.
    pub greeting_millis: u64,
    /// After how many milliseconds without a message a WebSocket counts as lost.
    pub idle_millis: u64,
    /// How long what was sent last may take to leave when a connection ends, and again how long the peer may take to close too,
    /// in milliseconds.
    pub linger_millis: u64,
    /// How long a stop may take in all, in milliseconds.
    pub stop_millis: u64,
    /// After how many milliseconds a room that nobody ever joined is closed.
    pub unused_room_millis: u64,
}

impl Default for ServiceConfig {
    fn default() -> ServiceConfig {
        ServiceConfig {
            address: DEFAULT_ADDRESS,
            max_rooms: DEFAULT_MAX_ROOMS,
            max_connections: DEFAULT_MAX_CONNECTIONS,
            outbound_bytes: DEFAULT_OUTBOUND_BYTES,
            socket_send_buffer_bytes: DEFAULT_SOCKET_SEND_BUFFER_BYTES,
            greeting_millis: DEFAULT_GREETING_MILLIS,
            idle_millis: DEFAULT_IDLE_MILLIS,
            linger_millis: DEFAULT_LINGER_MILLIS,
            stop_millis: DEFAULT_STOP_MILLIS,
            unused_room_millis: DEFAULT_UNUSED_ROOM_MILLIS,
        }
    }
}

impl ServiceConfig {
    pub(super) fn greeting(&self) -> Duration {
        Duration::from_millis(self.greeting_millis)
    }

    pub(super) fn idle(&self) -> Duration {
        Duration::from_millis(self.idle_millis)
    }

    pub(super) fn linger(&self) -> Duration {
        Duration::from_millis(self.linger_millis)
    }

    pub(super) fn stop(&self) -> Duration {
        Duration::from_millis(self.stop_millis)
    }

    pub(super) fn unused_room(&self) -> Duration {
        Duration::from_millis(self.unused_room_millis)
    }
}
