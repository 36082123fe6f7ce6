//! The client's task: turns, transports, and the requests of the handle.

use std::ops::ControlFlow;
use std::time::Duration;

use bytes::Bytes;
use retick_core::client::{Client, ClientEvent, EndReason, Output};
use retick_core::session::SubmitError;
use retick_core::tick::{Moment, Tick};
use retick_core::wire::CloseReason;
use tokio::sync::{mpsc, watch};
use tokio::time::{Instant, sleep, sleep_until};
use tracing::{debug, info};

use crate::backoff::Backoff;
use crate::config::NetConfig;
use crate::end::{ConnectError, LostTransport, NetEnd, Outcome};
use crate::net_client::{Link, NetStats, Player};
use crate::socket::Socket;

/// Most messages of the room's that one turn takes in; the others wait for the next.
const MAX_MESSAGES_PER_TURN: usize = 64;
/// Least pause between two turns that only time asks for: the machine's next ping is overdue while a greeting is unanswered.
const MIN_PAUSE: Duration = Duration::from_millis(1);

/// What the handle asks for.
#[derive(Debug)]
pub(crate) enum Request {
    Command(Vec<u8>),
    Ephemeral(Vec<u8>),
    Reconnect,
    Leave,
    Stop,
}

/// Why a transport is given up.
enum Parting {
    Lost(LostTransport),
    End(NetEnd),
}

impl From<LostTransport> for Parting {
    fn from(lost: LostTransport) -> Parting {
        Parting::Lost(lost)
    }
}

/// Owns the machine, its player and its socket.
pub(crate) struct Driver<P> {
    config: NetConfig,
    client: Client,
    player: P,
    origin: Instant,
    requests: mpsc::Receiver<Request>,
    events: mpsc::Sender<ClientEvent>,
    stats_sender: watch::Sender<NetStats>,
    stats: NetStats,
    leaving: bool,
}

impl<P: Player> Driver<P> {
    pub(crate) fn new(
        config: NetConfig,
        client: Client,
        player: P,
        requests: mpsc::Receiver<Request>,
        events: mpsc::Sender<ClientEvent>,
        stats_sender: watch::Sender<NetStats>,
    ) -> Driver<P> {
        Driver {
            config,
            client,
            player,
            origin: Instant::now(),
            requests,
            events,
            stats_sender,
            stats: NetStats::default(),
            leaving: false,
        }
    }

    pub(crate) async fn run(mut self) -> Outcome {
        let end = self.play().await;
        info!(room = %self.config.code, %end, "the client is over");
        self.stats.link = Link::Closed;
        self.publish();
        Outcome { end, client: self.client, lost_transports: self.stats.lost_transports }
    }

    async fn play(&mut self) -> NetEnd {
        let (mut began, mut backoff) = (Instant::now(), Backoff::new(self.config.reconnect));
        loop {
            let mut socket = match self.connect(began, &mut backoff).await {
                Ok(socket) => socket,
                Err(end) => return end,
            };
            self.stats.link = Link::Open;
            self.client.handle_connected(self.now());
            let parting = self.drive(&mut socket).await;
            // Only a room that answered has ended the attempts; an open socket proves nothing.
            let was_greeted = self.client.is_greeted();
            match parting {
                Parting::End(end) => {
                    socket.close().await;
                    return end;
                }
                // The room forgot the seat, or will: nothing is left to wait for.
                Parting::Lost(_) if self.leaving => return NetEnd::Left,
                Parting::Lost(lost) => self.lose(lost),
            }
            if was_greeted {
                (began, backoff) = (Instant::now(), Backoff::new(self.config.reconnect));
            } else if let Err(end) = self.pause(began, &mut backoff, ConnectError::NoGreeting).await {
                return end;
            }
        }
    }

    fn lose(&mut self, lost: LostTransport) {
        debug!(room = %self.config.code, %lost, "the transport is lost");
        self.client.handle_disconnected(self.now());
        self.stats.lost_transports += 1;
        self.stats.link = Link::Reconnecting { lost };
        while let Some(output) = self.client.poll_output() {
            if let Output::Event(event) = output {
                tell(&mut self.player, &self.events, &mut self.stats, event);
            }
        }
        self.publish();
    }

    /// A new socket, however many attempts that takes.
    async fn connect(&mut self, began: Instant, backoff: &mut Backoff) -> Result<Socket, NetEnd> {
        loop {
            let attempt = tokio::select! {
                attempt = Socket::connect(&self.config) => attempt,
                end = wait_for_stop(&mut self.requests, &mut self.stats) => return Err(end),
            };
            let last = match attempt {
                Ok(socket) => return Ok(socket),
                Err(error) => error,
            };
            self.pause(began, backoff, last).await?;
        }
    }

    /// Waits before the next attempt, or says that there is none.
    async fn pause(&mut self, began: Instant, backoff: &mut Backoff, last: ConnectError) -> Result<(), NetEnd> {
        debug!(room = %self.config.code, error = %last, "an attempt to connect failed");
        let pause = backoff.pause(began.elapsed()).filter(|_| !last.is_final());
        let Some(pause) = pause else { return Err(NetEnd::Unreachable { attempts: backoff.failed, last }) };
        tokio::select! {
            () = sleep(pause) => Ok(()),
            end = wait_for_stop(&mut self.requests, &mut self.stats) => Err(end),
        }
    }

    /// Plays on one socket for as long as it lives.
    async fn drive(&mut self, socket: &mut Socket) -> Parting {
        let mut last_received = Instant::now();
        loop {
            if let Err(parting) = self.turn(socket) {
                return parting;
            }
            let silent_at = last_received + self.config.silence();
            let due = self.client.next_timeout().map_or(silent_at, |due| self.instant(due).min(silent_at));
            let due = due.max(Instant::now() + MIN_PAUSE);
            tokio::select! {
                received = socket.next() => {
                    last_received = Instant::now();
                    if let Err(lost) = self.receive(received, socket).await {
                        return Parting::Lost(lost);
                    }
                }
                request = self.requests.recv() => {
                    if let ControlFlow::Break(parting) = self.obey(request) {
                        return parting;
                    }
                }
                () = sleep_until(due) => {
                    if silent_at <= Instant::now() {
                        return Parting::Lost(LostTransport::Silent);
                    }
                }
            }
        }
    }

    /// Takes in a message and those that are here with it. An end shows in the next turn.
    async fn receive(&mut self, first: Result<Bytes, LostTransport>, socket: &mut Socket) -> Result<(), LostTransport> {
        let mut message = first?;
        for _ in 1..MAX_MESSAGES_PER_TURN {
            if self.client.handle_message(&message, self.now()).is_err() {
                return Ok(());
            }
            match socket.next_ready().await {
                Some(next) => message = next?,
                None => return Ok(()),
            }
        }
        let _ = self.client.handle_message(&message, self.now());
        Ok(())
    }

    fn obey(&mut self, request: Option<Request>) -> ControlFlow<Parting> {
        let sent = match request {
            Some(Request::Command(payload)) => self.client.request_command(&payload),
            Some(Request::Ephemeral(payload)) => self.client.send_ephemeral(&payload),
            Some(Request::Reconnect) => return ControlFlow::Break(Parting::Lost(LostTransport::Requested)),
            Some(Request::Leave) if self.client.leave().is_ok() => {
                self.leaving = true;
                Ok(())
            }
            // Without a seat there is nothing to leave; without a handle nobody waits.
            Some(Request::Leave | Request::Stop) | None => return ControlFlow::Break(Parting::End(NetEnd::Stopped)),
        };
        self.stats.refused_requests += u64::from(sent.is_err());
        ControlFlow::Continue(())
    }

    /// One turn of the machine, in the order of its contract (N1).
    fn turn(&mut self, socket: &mut Socket) -> Result<(), Parting> {
        self.client.handle_turn(self.now());
        let supplied = self.supply_inputs();
        let stepped = self.client.step();
        self.player.turn(&mut self.client);
        let mut queued = Ok(());
        while let Some(output) = self.client.poll_output() {
            match output {
                Output::Transmit(bytes) => queued = queued.and_then(|()| socket.push(bytes)),
                Output::Event(event) => tell(&mut self.player, &self.events, &mut self.stats, event),
            }
        }
        self.publish();
        supplied.map_err(Parting::End)?;
        stepped.map_err(|reason| Parting::End(end_of(reason)))?;
        Ok(queued?)
    }

    fn supply_inputs(&mut self) -> Result<(), NetEnd> {
        while let Some(tick) = self.client.wanted_input() {
            let packed = self.player.input(tick);
            match self.client.submit_input(&packed) {
                Ok(_) => {}
                Err(error @ SubmitError::Input(_)) => return Err(NetEnd::Input { tick, error }),
                // Too far ahead for now: the tick is wanted again in a later turn.
                Err(_) => break,
            }
        }
        Ok(())
    }

    fn publish(&mut self) {
        let session = self.client.session();
        self.stats.status = self.client.status();
        self.stats.client = self.client.stats();
        self.stats.confirmed = session.map_or(Tick::ZERO, |session| session.confirmed());
        self.stats.head = session.map_or(Tick::ZERO, |session| session.head());
        self.stats.room_tick = self.client.room_tick();
        self.stats_sender.send_replace(self.stats);
    }

    fn now(&self) -> Moment {
        Moment::from_nanos(u64::try_from(self.origin.elapsed().as_nanos()).unwrap_or(u64::MAX))
    }

    fn instant(&self, moment: Moment) -> Instant {
        self.origin + Duration::from_nanos(moment.as_nanos())
    }
}

fn end_of(reason: EndReason) -> NetEnd {
    match reason {
        EndReason::Closed(CloseReason::Left) => NetEnd::Left,
        reason => NetEnd::Machine(reason),
    }
}

fn tell<P: Player>(player: &mut P, events: &mpsc::Sender<ClientEvent>, stats: &mut NetStats, event: ClientEvent) {
    if let Some(event) = player.event(event) {
        stats.dropped_events += u64::from(events.try_send(event).is_err());
    }
}

/// Without a transport only an end is granted; all else is refused and counted.
async fn wait_for_stop(requests: &mut mpsc::Receiver<Request>, stats: &mut NetStats) -> NetEnd {
    loop {
        match requests.recv().await {
            Some(Request::Command(_) | Request::Ephemeral(_)) => stats.refused_requests += 1,
            Some(Request::Reconnect) => {}
            Some(Request::Leave | Request::Stop) | None => return NetEnd::Stopped,
        }
    }
}
