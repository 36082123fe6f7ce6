//! One link of a runner: a thread with the sockets of one match, and the queues between it and the game's thread.

#[cfg(test)]
mod tests;

use std::io;
use std::sync::Arc;
use std::sync::mpsc as sync;
use std::thread::{Builder, JoinHandle};
use std::time::Duration;

use bytes::Bytes;
use retick_core::runner::LinkId;
use tokio::sync::{Semaphore, mpsc, watch};
use tokio::time::{Instant, sleep, sleep_until};
use tracing::debug;

use crate::backoff::Backoff;
use crate::config::NetConfig;
use crate::end::{ConnectError, LostTransport};
use crate::socket::Socket;

/// Most bytes that wait for the game's thread, each message with 64 more; beyond, the socket is not read.
pub const MAX_INBOUND_BYTES: usize = 8 << 20;
/// Most messages that wait for the link's thread; beyond, the transport counts as lost, and all inputs are sent again on the next.
pub const MAX_OUTBOUND_MESSAGES: usize = 1024;
/// What a waiting message costs beside its bytes, so that small ones are bounded too.
const MESSAGE_COST: usize = 64;
/// Most links that may still say goodbye while the game goes on.
const MAX_CLOSING_LINKS: usize = 4;

const _: () = assert!(
    MAX_INBOUND_BYTES > retick_core::wire::MAX_ROOM_MESSAGE_BYTES + MESSAGE_COST,
    "the longest message fits the queue"
);

/// What the thread has to say.
#[derive(Debug)]
pub(super) enum LinkEvent {
    /// A socket is open: the one of this number.
    Connected {
        number: u64,
    },
    Message(Bytes),
    Reconnecting,
    Disconnected,
    Failed(String),
}

/// A message for the socket of one number. Whatever is open by then, it goes to no other.
struct Parcel {
    number: u64,
    bytes: Vec<u8>,
}

/// The game's end of a link.
pub(super) struct Link {
    id: LinkId,
    /// The socket that the runner knows to be open; 0 for none.
    number: u64,
    outbound: mpsc::Sender<Parcel>,
    inbound: sync::Receiver<LinkEvent>,
    /// The event that [`Link::wait`] came upon.
    waiting: Option<LinkEvent>,
    room: Arc<Semaphore>,
    given_up: watch::Sender<u64>,
    thread: JoinHandle<()>,
}

impl Link {
    /// Starts the thread.
    pub(super) fn open(id: LinkId, config: NetConfig) -> io::Result<Link> {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        let (outbound, parcels) = mpsc::channel(MAX_OUTBOUND_MESSAGES);
        let (events, inbound) = sync::channel();
        let (given_up, gives_up) = watch::channel(0);
        let room = Arc::new(Semaphore::new(MAX_INBOUND_BYTES));
        let inlet = Inlet { events, room: room.clone() };
        let carrier = Carrier { config, parcels, inlet, gives_up };
        let thread = Builder::new().name("retick link".to_owned()).spawn(move || runtime.block_on(carrier.run()))?;
        Ok(Link { id, number: 0, outbound, inbound, waiting: None, room, given_up, thread })
    }

    pub(super) fn id(&self) -> LinkId {
        self.id
    }

    /// The next event, if one is here. Tell [`Link::handled`] when it was handled.
    pub(super) fn next_event(&mut self) -> Option<LinkEvent> {
        self.waiting.take().or_else(|| self.inbound.try_recv().ok())
    }

    /// Makes room for more.
    pub(super) fn handled(&mut self, event: &LinkEvent) {
        match event {
            LinkEvent::Connected { number } => self.number = *number,
            LinkEvent::Message(bytes) => self.room.add_permits(cost(bytes)),
            LinkEvent::Reconnecting | LinkEvent::Disconnected | LinkEvent::Failed(_) => self.number = 0,
        }
    }

    pub(super) fn wait(&mut self, most: Duration) {
        if self.waiting.is_none() {
            self.waiting = self.inbound.recv_timeout(most).ok();
        }
    }

    /// Hands a message on to the socket that the runner knows. If too many wait, that socket is given up.
    pub(super) fn send(&mut self, bytes: &[u8]) {
        let number = self.number;
        if number != 0 && self.outbound.try_send(Parcel { number, bytes: bytes.to_vec() }).is_err() {
            self.give_up_connection();
        }
    }

    /// The socket that is open is replaced.
    pub(super) fn give_up_connection(&mut self) {
        self.given_up.send_modify(|given_up| *given_up = self.number.max(*given_up));
        self.number = 0;
    }
}

/// Links that say goodbye.
#[derive(Default)]
pub(super) struct Closing {
    threads: Vec<JoinHandle<()>>,
}

impl Closing {
    /// Lets a link send what waits, and end.
    pub(super) fn close(&mut self, link: Link) {
        let Link { thread, room, outbound, inbound, given_up, .. } = link;
        // With its queues gone the thread has nothing left to do but to say goodbye.
        room.close();
        drop((outbound, inbound, given_up));
        self.threads.push(thread);
        let (ended, running) = self.threads.drain(..).partition(|thread| thread.is_finished());
        self.threads = running;
        join(ended);
        while self.threads.len() > MAX_CLOSING_LINKS {
            join(vec![self.threads.remove(0)]);
        }
    }
}

impl Drop for Closing {
    fn drop(&mut self) {
        join(std::mem::take(&mut self.threads));
    }
}

fn join(threads: Vec<JoinHandle<()>>) {
    for thread in threads {
        // The thread runs nothing of the game's, so there is no panic to hand on.
        let _ = thread.join();
    }
}

fn cost(bytes: &Bytes) -> usize {
    bytes.len() + MESSAGE_COST
}

/// The game is gone, or wants no more of this link.
struct Gone;

/// The thread's way to the game.
struct Inlet {
    events: sync::Sender<LinkEvent>,
    room: Arc<Semaphore>,
}

impl Inlet {
    async fn message(&self, bytes: Bytes) -> Result<(), Gone> {
        let permits = u32::try_from(cost(&bytes)).map_err(|_| Gone)?;
        // Given back by the game's thread when the message was handled.
        self.room.acquire_many(permits).await.map_err(|_| Gone)?.forget();
        self.tell(LinkEvent::Message(bytes))
    }

    fn tell(&self, event: LinkEvent) -> Result<(), Gone> {
        self.events.send(event).map_err(|_| Gone)
    }
}

/// Why a socket is not read any more.
enum Parting {
    Gone,
    Lost { answered: bool, lost: LostTransport },
}

impl From<Gone> for Parting {
    fn from(_: Gone) -> Parting {
        Parting::Gone
    }
}

/// The thread's work.
struct Carrier {
    config: NetConfig,
    parcels: mpsc::Receiver<Parcel>,
    inlet: Inlet,
    gives_up: watch::Receiver<u64>,
}

impl Carrier {
    async fn run(mut self) {
        // Whoever is gone needs no word of it.
        let _ = self.carry().await;
    }

    async fn carry(&mut self) -> Result<(), Gone> {
        let (mut began, mut backoff) = (Instant::now(), Backoff::new(self.config.reconnect));
        for number in 1.. {
            let attempt = tokio::select! {
                attempt = Socket::connect(&self.config) => attempt,
                gone = wait_for_end(&mut self.parcels) => return Err(gone),
            };
            let last = match attempt {
                Err(error) => error,
                Ok(socket) => match self.drive(socket, number).await {
                    Parting::Gone => return Err(Gone),
                    Parting::Lost { answered, lost } => {
                        debug!(room = %self.config.code, %lost, "the transport is lost");
                        if answered {
                            (began, backoff) = (Instant::now(), Backoff::new(self.config.reconnect));
                        }
                        ConnectError::NoGreeting
                    }
                },
            };
            self.inlet.tell(LinkEvent::Reconnecting)?;
            debug!(room = %self.config.code, error = %last, "another transport is needed");
            let Some(pause) = backoff.pause(began.elapsed()).filter(|_| !last.is_final()) else {
                let end = if last.is_final() { LinkEvent::Failed(last.to_string()) } else { LinkEvent::Disconnected };
                return self.inlet.tell(end);
            };
            tokio::select! {
                () = sleep(pause) => {}
                gone = wait_for_end(&mut self.parcels) => return Err(gone),
            }
        }
        Ok(())
    }

    /// Carries messages on one socket for as long as it lives.
    async fn drive(&mut self, mut socket: Socket, number: u64) -> Parting {
        match self.exchange(&mut socket, number).await {
            Parting::Gone => {
                while let Ok(parcel) = self.parcels.try_recv() {
                    // What does not fit is lost with the socket.
                    let _ = if parcel.number == number { socket.push(&parcel.bytes) } else { Ok(()) };
                }
                socket.close().await;
                Parting::Gone
            }
            lost => lost,
        }
    }

    async fn exchange(&mut self, socket: &mut Socket, number: u64) -> Parting {
        if let Err(gone) = self.inlet.tell(LinkEvent::Connected { number }) {
            return gone.into();
        }
        let (mut last_received, mut answered) = (Instant::now(), false);
        loop {
            let lost = tokio::select! {
                received = socket.next() => match received {
                    Ok(bytes) => {
                        if let Err(gone) = self.inlet.message(bytes).await {
                            return gone.into();
                        }
                        (last_received, answered) = (Instant::now(), true);
                        continue;
                    }
                    Err(lost) => lost,
                },
                parcel = self.parcels.recv() => match parcel {
                    Some(parcel) if parcel.number != number => continue,
                    Some(parcel) => match socket.push(&parcel.bytes) {
                        Ok(()) => continue,
                        Err(lost) => lost,
                    },
                    None => return Parting::Gone,
                },
                Ok(_) = self.gives_up.wait_for(|given_up| *given_up >= number) => LostTransport::Requested,
                () = sleep_until(last_received + self.config.silence()) => LostTransport::Silent,
            };
            return Parting::Lost { answered, lost };
        }
    }
}

/// Until there is a socket, everything but the end is of an older one.
async fn wait_for_end(parcels: &mut mpsc::Receiver<Parcel>) -> Gone {
    while parcels.recv().await.is_some() {}
    Gone
}
