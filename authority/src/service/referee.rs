//! The referee of one room, in a task of its own (A13): messages go through the room's mailbox and an outbound queue like anybody's, and
//! never through a socket. The room's task does not simulate, and waits for nobody who does.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use axum::extract::ws::Message;
use bytes::Bytes;
use futures_util::sink;
use retick_core::digest::Identity;
use retick_core::runtime::RuntimeFactory;
use retick_core::tick::Moment;
use tokio::sync::{broadcast, mpsc};
use tokio::time::{Instant, sleep_until};
use tracing::{debug, info};

use super::hub::{Hub, RoomEntry, stopped};
use super::mailbox::{Mail, MailSender};
use super::outbound::outbound;
use super::status::RoomPhase;
use crate::referee::{Referee, RefereeMode, RefereeOutput};
use crate::room::ConnectionId;

/// Most messages of the room's that wait for a referee beside its queue, and that it takes in before it plays.
const MAX_WAITING_MESSAGES: usize = 256;

/// Which rooms have a referee, and how much it plays (A13). It is for whoever links the games: the service itself knows none.
#[derive(Clone)]
pub struct RefereeSettings {
    /// How much of a match it plays.
    pub mode: RefereeMode,
    /// The games. A room of any other identity has no referee.
    pub games: Vec<Arc<dyn RuntimeFactory>>,
}

impl RefereeSettings {
    fn game(&self, identity: Identity) -> Option<Arc<dyn RuntimeFactory>> {
        self.games.iter().find(|game| game.manifest().identity() == identity).cloned()
    }
}

impl fmt::Debug for RefereeSettings {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let games: Vec<_> = self.games.iter().map(|game| game.manifest().identity()).collect();
        f.debug_struct("RefereeSettings").field("mode", &self.mode).field("games", &games).finish()
    }
}

/// The connection between a room and its referee.
struct Link {
    connection: ConnectionId,
    inbox: mpsc::Receiver<Bytes>,
}

/// Follows a room until it ends, if the service has a referee for its game.
pub(super) async fn attend(hub: Arc<Hub>, room: RoomEntry) {
    let Some(settings) = &hub.config.referee else { return };
    let Some(game) = settings.game(room.info.identity) else {
        debug!(identity = %room.info.identity, "no referee knows this game");
        return;
    };
    let mut phase = [0; 8];
    // Without randomness the samplers of all rooms come at once, and that is all.
    let _ = getrandom::fill(&mut phase);
    let referee = Referee::new(settings.mode, game, u64::from_le_bytes(phase));
    let (events, mut hold) = (room.events.subscribe(), hub.hold());
    let RoomEntry { mailbox, mut status, traffic, .. } = room;
    let mut attendance = Attendance { hub: &hub, referee, mailbox, traffic, link: None, origin: Instant::now() };
    let over = async move {
        // Without a sender the room's task is gone.
        let _ = status.wait_for(|status| status.phase == RoomPhase::Closed).await;
    };
    tokio::select! {
        biased;
        () = stopped(&mut hold) => {}
        () = over => {}
        () = attendance.run(events) => {}
    }
}

struct Attendance<'a> {
    hub: &'a Hub,
    referee: Referee,
    mailbox: MailSender,
    traffic: Arc<super::metrics::Traffic>,
    link: Option<Link>,
    origin: Instant,
}

impl Attendance<'_> {
    async fn run(&mut self, mut events: broadcast::Receiver<crate::room::RoomEvent>) {
        loop {
            if !self.carry_out().await {
                return;
            }
            let due = self.referee.next_timeout().map(|due| self.origin + Duration::from_nanos(due.as_nanos()));
            tokio::select! {
                received = events.recv() => match received {
                    Ok(event) => {
                        let now = self.now();
                        self.referee.handle_event(&event, now);
                    }
                    // What it missed it would only have been called for.
                    Err(broadcast::error::RecvError::Lagged(_)) => {}
                    Err(broadcast::error::RecvError::Closed) => return,
                },
                received = next_message(&mut self.link) => self.take(received),
                () = until(due) => {
                    let now = self.now();
                    self.referee.handle_turn(now);
                }
            }
        }
    }

    /// Takes in a message and all that wait behind it; `None` is the end of the connection.
    fn take(&mut self, first: Option<Bytes>) {
        let now = self.now();
        let Some(bytes) = first else {
            self.link = None;
            self.referee.handle_disconnected(now);
            return;
        };
        self.referee.handle_message(&bytes, now);
        for _ in 0..MAX_WAITING_MESSAGES {
            let Some(bytes) = self.link.as_mut().and_then(|link| link.inbox.try_recv().ok()) else { return };
            self.referee.handle_message(&bytes, now);
        }
    }

    /// Does what the referee wants; says whether the room is still there.
    async fn carry_out(&mut self) -> bool {
        while let Some(output) = self.referee.poll_output() {
            let mail = match output {
                RefereeOutput::Connect => self.connect(),
                RefereeOutput::Transmit(bytes) => {
                    let Some(Link { connection, .. }) = self.link else { continue };
                    Mail::Message { connection, bytes: bytes.into() }
                }
                RefereeOutput::Disconnect => {
                    let Some(Link { connection, .. }) = self.link.take() else { continue };
                    Mail::Disconnected { connection }
                }
            };
            if self.mailbox.send(mail).await.is_err() {
                return false;
            }
        }
        true
    }

    fn connect(&mut self) -> Mail {
        let connection = self.hub.next_connection();
        let (sender, inbox) = mpsc::channel(MAX_WAITING_MESSAGES);
        let sink = sink::unfold(sender, |sender: mpsc::Sender<Bytes>, message| async move {
            if let Message::Binary(bytes) = message {
                sender.send(bytes).await.map_err(axum::Error::new)?;
            }
            Ok(sender)
        });
        let (queue, writer) = outbound(self.hub.config.outbound_bytes, Box::pin(sink), self.traffic.clone());
        let linger = self.hub.config.linger();
        tokio::spawn(async move { writer.write(linger).await });
        self.link = Some(Link { connection, inbox });
        let now = self.now();
        self.referee.handle_connected(now);
        info!(connection = connection.0, "the referee comes");
        Mail::Referee { connection, outbound: queue }
    }

    fn now(&self) -> Moment {
        Moment::from_nanos(u64::try_from(self.origin.elapsed().as_nanos()).unwrap_or(u64::MAX))
    }
}

async fn next_message(link: &mut Option<Link>) -> Option<Bytes> {
    match link {
        Some(link) => link.inbox.recv().await,
        None => std::future::pending().await,
    }
}

async fn until(due: Option<Instant>) {
    match due {
        Some(due) => sleep_until(due).await,
        None => std::future::pending().await,
    }
}
