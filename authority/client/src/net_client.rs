//! The handle of a running client, and what its player supplies.

use retick_core::client::{Client, ClientEvent, ClientStats, ClientStatus};
use retick_core::runtime::RuntimeFactory;
use retick_core::tick::Tick;
use tokio::sync::{mpsc, watch};
use tokio::task::JoinHandle;

use crate::config::NetConfig;
use crate::driver::{Driver, Request};
use crate::end::{LostTransport, Outcome, TaskLost};

/// Most events that wait for [`NetClient::next_event`]; further ones are dropped, and counted in
/// [`NetStats::dropped_events`]. A recorder, which must lose none, takes them in [`Player::event`].
pub const MAX_WAITING_EVENTS: usize = 1024;
/// Most requests that wait for the client's next turn.
pub const MAX_WAITING_REQUESTS: usize = 256;

/// What a game supplies. Every closure `FnMut(Tick) -> Vec<u8>` that gives packed inputs is a player.
///
/// The methods run in the client's task, between two reads of the socket, so they must not block.
pub trait Player: Send + 'static {
    /// The packed input for `tick`. Asked once for each tick (N2).
    fn input(&mut self, tick: Tick) -> Vec<u8>;

    /// Takes an event. What is given back goes on to [`NetClient::next_event`].
    fn event(&mut self, event: ClientEvent) -> Option<ClientEvent> {
        Some(event)
    }

    /// Called at the end of each turn, to present the state, to play what [`Client::poll_presentation_event`] gives (K10), or to
    /// request commands.
    fn turn(&mut self, client: &mut Client) {
        let _ = client;
    }
}

impl<F: FnMut(Tick) -> Vec<u8> + Send + 'static> Player for F {
    fn input(&mut self, tick: Tick) -> Vec<u8> {
        self(tick)
    }
}

/// What carries the messages right now.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Link {
    /// A connection is being opened for the first time.
    #[default]
    Connecting,
    /// It is open.
    Open,
    /// It was lost, and is being opened anew.
    Reconnecting {
        /// Why it was lost.
        lost: LostTransport,
    },
    /// The client is over.
    Closed,
}

/// Where a client stood at the end of its last turn.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct NetStats {
    /// The transport.
    pub link: Link,
    /// The machine.
    pub status: ClientStatus,
    /// What the machine counted.
    pub client: ClientStats,
    /// The first tick that is not confirmed and applied: `n` for `S(n)`.
    pub confirmed: Tick,
    /// The present: `n` for `S(n)`.
    pub head: Tick,
    /// The room's tick, as well as it is known.
    pub room_tick: Tick,
    /// Transports that were lost.
    pub lost_transports: u64,
    /// Events that nobody took in time.
    pub dropped_events: u64,
    /// Commands and ephemerals that were not sent, without a seat or a transport, or because they are beyond a limit.
    pub refused_requests: u64,
}

impl Default for NetStats {
    fn default() -> NetStats {
        NetStats {
            link: Link::default(),
            status: ClientStatus::Disconnected,
            client: ClientStats::default(),
            confirmed: Tick::ZERO,
            head: Tick::ZERO,
            room_tick: Tick::ZERO,
            lost_transports: 0,
            dropped_events: 0,
            refused_requests: 0,
        }
    }
}

/// Why a request was not taken.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
pub enum RequestRefused {
    /// [`MAX_WAITING_REQUESTS`] wait already.
    #[error("{MAX_WAITING_REQUESTS} requests wait already")]
    Busy,
    /// The client is over.
    #[error("the client is over")]
    Over,
}

/// A client that plays in a task of its own. Dropping it stops the client.
pub struct NetClient {
    requests: mpsc::Sender<Request>,
    events: mpsc::Receiver<ClientEvent>,
    stats: watch::Receiver<NetStats>,
    task: JoinHandle<Outcome>,
}

impl NetClient {
    /// Starts a client for whatever match of this game the room plays. Must be called within a tokio runtime.
    #[must_use]
    pub fn spawn(config: NetConfig, factory: Box<dyn RuntimeFactory>, player: impl Player) -> NetClient {
        let (request_sender, requests) = mpsc::channel(MAX_WAITING_REQUESTS);
        let (event_sender, events) = mpsc::channel(MAX_WAITING_EVENTS);
        let (stats_sender, stats) = watch::channel(NetStats::default());
        let client = Client::new(config.client, factory).with_ticket(config.ticket.clone());
        let driver = Driver::new(config, client, player, requests, event_sender, stats_sender);
        NetClient { requests: request_sender, events, stats, task: tokio::spawn(driver.run()) }
    }

    /// The next event; `None` once the client is over and all were taken.
    pub async fn next_event(&mut self) -> Option<ClientEvent> {
        self.events.recv().await
    }

    /// Where the client stood at the end of its last turn.
    pub fn stats(&self) -> NetStats {
        *self.stats.borrow()
    }

    /// Follows [`NetClient::stats`]: the receiver changes with every turn.
    pub fn watch(&self) -> watch::Receiver<NetStats> {
        self.stats.clone()
    }

    /// Requests a command (A9). Whether it was sent shows in [`NetStats::refused_requests`].
    ///
    /// # Errors
    /// [`RequestRefused`].
    pub fn request_command(&self, payload: Vec<u8>) -> Result<(), RequestRefused> {
        self.request(Request::Command(payload))
    }

    /// Sends bytes to all others, outside the match (A9).
    ///
    /// # Errors
    /// [`RequestRefused`].
    pub fn send_ephemeral(&self, payload: Vec<u8>) -> Result<(), RequestRefused> {
        self.request(Request::Ephemeral(payload))
    }

    /// Drops the transport and opens another, as after a change of networks. The seat is resumed (A6).
    ///
    /// # Errors
    /// [`RequestRefused`].
    pub fn reconnect(&self) -> Result<(), RequestRefused> {
        self.request(Request::Reconnect)
    }

    /// Leaves the match for good (A1). Without a transport it only stops, and the room's grace decides.
    ///
    /// # Errors
    /// [`RequestRefused`].
    pub fn leave(&self) -> Result<(), RequestRefused> {
        self.request(Request::Leave)
    }

    /// Ends the client and keeps the seat for the length of the room's grace.
    ///
    /// # Errors
    /// [`RequestRefused`].
    pub fn stop(&self) -> Result<(), RequestRefused> {
        self.request(Request::Stop)
    }

    /// Waits until the client is over.
    ///
    /// # Errors
    /// [`TaskLost`], when a callback of the player panicked or the runtime was shut down.
    pub async fn join(self) -> Result<Outcome, TaskLost> {
        self.task.await.map_err(|_| TaskLost)
    }

    fn request(&self, request: Request) -> Result<(), RequestRefused> {
        self.requests.try_send(request).map_err(|error| match error {
            mpsc::error::TrySendError::Full(_) => RequestRefused::Busy,
            mpsc::error::TrySendError::Closed(_) => RequestRefused::Over,
        })
    }
}
