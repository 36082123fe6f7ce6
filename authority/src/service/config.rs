//! What a service is made with: its limits, each with a documented default.

use std::net::{Ipv4Addr, SocketAddr};
use std::time::Duration;

use retick_core::snapshot::MAX_SNAPSHOT_BYTES;
use retick_core::wire::MAX_ROOM_MESSAGE_BYTES;

use super::admission::{Admission, Creation};
use super::log_store::LogSettings;
use super::origin::Origins;
use super::referee::RefereeSettings;
use super::tls::TlsIdentity;
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
/// Default of [`ServiceConfig::max_connections_per_address`]: a household, a school's lab, not a city behind one address.
pub const DEFAULT_MAX_CONNECTIONS_PER_ADDRESS: usize = 128;
/// Default of [`ServiceConfig::max_handshakes`].
pub const DEFAULT_MAX_HANDSHAKES: usize = 512;
/// Default of [`ServiceConfig::max_handshakes_per_address`].
pub const DEFAULT_MAX_HANDSHAKES_PER_ADDRESS: usize = 32;
/// Default of [`ServiceConfig::max_rooms_per_address`].
pub const DEFAULT_MAX_ROOMS_PER_ADDRESS: usize = 32;
/// Default of [`ServiceConfig::lobby_requests_per_minute_per_address`].
pub const DEFAULT_LOBBY_REQUESTS_PER_MINUTE_PER_ADDRESS: u32 = 60;
/// Default of [`ServiceConfig::lobby_requests_per_minute`].
pub const DEFAULT_LOBBY_REQUESTS_PER_MINUTE: u32 = 6_000;
/// Default of [`ServiceConfig::reservation_millis`].
pub const DEFAULT_RESERVATION_MILLIS: u64 = 10_000;
/// Default of [`ServiceConfig::inbound_bytes_per_second`]. A donor of the largest snapshot needs a second's worth (A7).
pub const DEFAULT_INBOUND_BYTES_PER_SECOND: u32 = 8 * 1024 * 1024;
/// Default of [`ServiceConfig::drain_millis`]: half a minute.
pub const DEFAULT_DRAIN_MILLIS: u64 = 30_000;

const _: () = assert!(DEFAULT_OUTBOUND_BYTES > MAX_ROOM_MESSAGE_BYTES, "the largest message fits an empty queue");
const _: () = assert!(DEFAULT_OUTBOUND_BYTES >= 4 * MAX_QUEUED_COMMAND_BYTES, "a burst of commands fits a queue");
const _: () = assert!(3 * DEFAULT_MAX_HANDSHAKES < DEFAULT_MAX_CONNECTIONS, "handshakes leave place for players");
const _: () = assert!(DEFAULT_INBOUND_BYTES_PER_SECOND as usize >= MAX_SNAPSHOT_BYTES, "a donor may donate");
const _: () = assert!(DEFAULT_STOP_MILLIS > 2 * DEFAULT_LINGER_MILLIS, "goodbyes fit into a stop");

/// What a service is made with. All limits are its own; those of a room are in [`RoomConfig`](crate::room::RoomConfig).
///
/// Limits per address count one IPv4 address, or one IPv6 network of 64 bits, as one. They leave loopback addresses alone:
/// those are this machine's own, and of a reverse proxy on it, which knows the addresses and must limit them itself.
#[derive(Clone, Debug)]
pub struct ServiceConfig {
    /// Where it listens. Port 0 takes a free one.
    pub address: SocketAddr,
    /// Who may join (V1). The default, [`Admission::Open`], is for development and for private networks.
    pub admission: Admission,
    /// Who may create rooms and match players over HTTP. By default anyone in an open service, and else nobody.
    pub creation: Creation,
    /// Which web pages may use the service; by default none. Programs that are no browser send no origin.
    pub origins: Origins,
    /// The certificate and the key with which it speaks TLS; `None` speaks plain HTTP and WebSocket.
    pub tls: Option<TlsIdentity>,
    /// Where metrics and the monitor are served, in plain HTTP, to whoever reaches it; `None` serves them nowhere.
    pub admin_address: Option<SocketAddr>,
    /// Where rooms are kept so that they outlive the service (A12); `None` keeps them in memory alone.
    pub logs: Option<LogSettings>,
    /// The referee that each room of a game that it knows has (A13); `None` for none.
    pub referee: Option<RefereeSettings>,
    /// Most rooms at once; a further one is refused.
    pub max_rooms: usize,
    /// Most connections at once, of HTTP and WebSocket together; a further one is answered with status 503 at best.
    pub max_connections: usize,
    /// Most connections of one address.
    pub max_connections_per_address: usize,
    /// Most connections in each stage of coming in: in HTTP, with a WebSocket but no greeting, with a greeting that is checked.
    /// One more is let in, and the oldest of the address with the most gives way: silence crowds out only silence.
    pub max_handshakes: usize,
    /// Most connections of one address in each of these stages; the oldest gives way.
    pub max_handshakes_per_address: usize,
    /// Most rooms that one address has created over HTTP and that still live.
    pub max_rooms_per_address: usize,
    /// Rooms to create, to list and to change, and matches to find, that one address may ask for in a minute, and at once.
    pub lobby_requests_per_minute_per_address: u32,
    /// The same for all addresses together.
    pub lobby_requests_per_minute: u32,
    /// How long a seat is kept for whom a quick match sent to it, in milliseconds.
    pub reservation_millis: u64,
    /// Bytes that one WebSocket may send in a second, and at once; beyond, it is closed.
    pub inbound_bytes_per_second: u32,
    /// Most bytes that wait for one connection, each message with an overhead of
    /// [`MESSAGE_OVERHEAD_BYTES`](super::MESSAGE_OVERHEAD_BYTES); beyond, it is closed as a slow consumer (A11).
    pub outbound_bytes: usize,
    /// What the operating system may hold for one connection on top of that, in bytes.
    pub socket_send_buffer_bytes: u32,
    /// How long a connection may take for TLS, for a request's header and again for its body, and a WebSocket for its greeting
    /// and what is checked about it, in milliseconds.
    pub greeting_millis: u64,
    /// After how many milliseconds without a message a WebSocket counts as lost.
    pub idle_millis: u64,
    /// How long what was sent last may take to leave when a connection ends, and again how long the peer may take to close too,
    /// in milliseconds.
    pub linger_millis: u64,
    /// How long a stop may take in all, in milliseconds.
    pub stop_millis: u64,
    /// After how many milliseconds a room is closed that nobody joined, or that everyone left before its match began.
    pub unused_room_millis: u64,
    /// How long rooms still live once a stop was asked for, in milliseconds.
    pub drain_millis: u64,
}

impl Default for ServiceConfig {
    fn default() -> ServiceConfig {
        ServiceConfig {
            address: DEFAULT_ADDRESS,
            admission: Admission::Open,
            creation: Creation::default(),
            origins: Origins::default(),
            tls: None,
            admin_address: None,
            logs: None,
            referee: None,
            max_rooms: DEFAULT_MAX_ROOMS,
            max_connections: DEFAULT_MAX_CONNECTIONS,
            max_connections_per_address: DEFAULT_MAX_CONNECTIONS_PER_ADDRESS,
            max_handshakes: DEFAULT_MAX_HANDSHAKES,
            max_handshakes_per_address: DEFAULT_MAX_HANDSHAKES_PER_ADDRESS,
            max_rooms_per_address: DEFAULT_MAX_ROOMS_PER_ADDRESS,
            lobby_requests_per_minute_per_address: DEFAULT_LOBBY_REQUESTS_PER_MINUTE_PER_ADDRESS,
            lobby_requests_per_minute: DEFAULT_LOBBY_REQUESTS_PER_MINUTE,
            reservation_millis: DEFAULT_RESERVATION_MILLIS,
            inbound_bytes_per_second: DEFAULT_INBOUND_BYTES_PER_SECOND,
            outbound_bytes: DEFAULT_OUTBOUND_BYTES,
            socket_send_buffer_bytes: DEFAULT_SOCKET_SEND_BUFFER_BYTES,
            greeting_millis: DEFAULT_GREETING_MILLIS,
            idle_millis: DEFAULT_IDLE_MILLIS,
            linger_millis: DEFAULT_LINGER_MILLIS,
            stop_millis: DEFAULT_STOP_MILLIS,
            unused_room_millis: DEFAULT_UNUSED_ROOM_MILLIS,
            drain_millis: DEFAULT_DRAIN_MILLIS,
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

    pub(super) fn reservation(&self) -> Duration {
        Duration::from_millis(self.reservation_millis)
    }

    pub(super) fn drain(&self) -> Duration {
        Duration::from_millis(self.drain_millis)
    }
}
