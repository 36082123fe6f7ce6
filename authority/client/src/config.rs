//! What a networked client is made with.

use std::time::Duration;

use retick_core::client::ClientConfig;

use crate::code::RoomCode;
use crate::secret::Reservation;
use crate::tls::TlsClient;

/// Default of [`NetConfig::connect_millis`].
pub const DEFAULT_CONNECT_MILLIS: u64 = 5_000;
/// Default of [`NetConfig::silence_millis`]. The machine pings twice a second, so a live transport is never silent for so long.
pub const DEFAULT_SILENCE_MILLIS: u64 = 5_000;
/// Default of [`Reconnect::first_delay_millis`].
pub const DEFAULT_FIRST_DELAY_MILLIS: u64 = 100;
/// Default of [`Reconnect::max_delay_millis`].
pub const DEFAULT_MAX_DELAY_MILLIS: u64 = 2_000;
/// Default of [`Reconnect::give_up_millis`]: longer than the room's default grace (A6).
pub const DEFAULT_GIVE_UP_MILLIS: u64 = 20_000;

/// What a client is made with. [`NetConfig::new`] gives the defaults; change fields from there.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct NetConfig {
    /// The service, as `host:port`.
    pub address: String,
    /// How to speak TLS with it; `None` speaks plain WebSocket.
    pub tls: Option<TlsClient>,
    /// The room.
    pub code: RoomCode,
    /// The join ticket of the game's backend; empty in an open service (V1).
    pub ticket: Vec<u8>,
    /// The seat that a quick match keeps for this client, if one does.
    pub reservation: Option<Reservation>,
    /// What the machine is to do.
    pub client: ClientConfig,
    /// How a lost transport is replaced.
    pub reconnect: Reconnect,
    /// How long one attempt to connect may take, in milliseconds, the WebSocket's handshake included.
    pub connect_millis: u64,
    /// After how many milliseconds without a byte a transport counts as lost.
    pub silence_millis: u64,
}

/// How often, and for how long, a transport is tried.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Reconnect {
    /// Most milliseconds between the first failed attempt and the second, and half as many at least. Each later pause is twice as
    /// long.
    pub first_delay_millis: u64,
    /// The longest pause, in milliseconds.
    pub max_delay_millis: u64,
    /// How long attempts are made, in milliseconds, before the client gives up.
    pub give_up_millis: u64,
}

impl Default for Reconnect {
    fn default() -> Reconnect {
        Reconnect {
            first_delay_millis: DEFAULT_FIRST_DELAY_MILLIS,
            max_delay_millis: DEFAULT_MAX_DELAY_MILLIS,
            give_up_millis: DEFAULT_GIVE_UP_MILLIS,
        }
    }
}

impl NetConfig {
    /// The defaults for a room of the service at `address`, given as `host:port`.
    #[must_use]
    pub fn new(address: impl Into<String>, code: RoomCode) -> NetConfig {
        NetConfig {
            address: address.into(),
            tls: None,
            code,
            ticket: Vec::new(),
            reservation: None,
            client: ClientConfig::default(),
            reconnect: Reconnect::default(),
            connect_millis: DEFAULT_CONNECT_MILLIS,
            silence_millis: DEFAULT_SILENCE_MILLIS,
        }
    }

    pub(crate) fn connect_timeout(&self) -> Duration {
        Duration::from_millis(self.connect_millis)
    }

    pub(crate) fn silence(&self) -> Duration {
        Duration::from_millis(self.silence_millis)
    }
}
