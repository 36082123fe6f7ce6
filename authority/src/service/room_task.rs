//! The task that owns one room: takes in its mail, lets its clock move on, and does what it wants done.

use std::collections::BTreeMap;
use std::sync::Arc;

use bytes::Bytes;
use retick_core::seat::Generation;
use retick_core::tick::{Moment, Tick};
use retick_core::wire::{CloseReason, RoomMessage};
use tokio::sync::{broadcast, mpsc, watch};
use tokio::time::{Duration, Instant};
use tracing::{Span, debug, error, info, warn};

use super::alarm::Alarm;
use super::config::ServiceConfig;
use super::entrance::Entrant;
use super::hub::stopped;
use super::listing::{Held, Listing};
use super::log_writer::{LogSource, LogWriter};
use super::meter::Meter;
use super::metrics::{Metrics, Traffic, refusal_name};
use super::outbound::{Outbound, Overflow};
use super::room_log::{LogEnd, RoomLogError};
use super::status::{RoomPhase, RoomStatus};
use crate::log::file::StoredSnapshot;
use crate::room::{CloseCause, ConnectionId, KeptSnapshot, Output, Room, RoomEvent};

/// Most mail that waits for a room. A reader waits when it is full, and its socket with it.
pub const MAX_WAITING_MAIL: usize = 512;
/// Most events that wait for each of a room's followers; the oldest give way, and the follower is told how many.
pub const MAX_WAITING_ROOM_EVENTS: usize = 256;

/// What reaches a room's task.
#[derive(Debug)]
pub(super) enum Mail {
    /// A transport was opened and has greeted, and this is the way to it.
    Entered { connection: ConnectionId, outbound: Outbound, entrant: Box<Entrant> },
    /// The room's referee comes (A13).
    Referee { connection: ConnectionId, outbound: Outbound },
    /// A binary message arrived.
    Message { connection: ConnectionId, bytes: Bytes },
    /// The transport is gone.
    Disconnected { connection: ConnectionId },
    /// The owner starts the match.
    Start,
    /// The owner locks the room, or opens it again.
    SetLocked(bool),
    /// The owner ends the room.
    Close,
}

/// The ends of the channels that the task keeps.
pub(super) struct Channels {
    pub(super) mailbox: mpsc::Receiver<Mail>,
    pub(super) status: watch::Sender<RoomStatus>,
    pub(super) events: broadcast::Sender<RoomEvent>,
    pub(super) stop: watch::Receiver<bool>,
    /// When the service ends its rooms, once it is known.
    pub(super) drain: watch::Receiver<Option<Instant>>,
}

/// What the lobby and the metrics share with the task.
pub(super) struct Surroundings {
    pub(super) listing: Arc<Listing>,
    pub(super) metrics: Arc<Metrics>,
    pub(super) traffic: Arc<Traffic>,
}

/// A room with its surroundings.
pub(super) struct RoomTask {
    pub(super) room: Room,
    log: Option<LogWriter>,
    log_failed: bool,
    /// The service stops, and the room goes on when it is restored.
    suspended: bool,
    pub(super) channels: Channels,
    pub(super) outbounds: BTreeMap<ConnectionId, Outbound>,
    /// The spans of connections that came in and hold no seat yet.
    pub(super) spans: BTreeMap<ConnectionId, Span>,
    pub(super) listing: Arc<Listing>,
    /// Reservations that were used in this turn.
    pub(super) settled: Vec<Held>,
    pub(super) metrics: Arc<Metrics>,
    meter: Meter,
    origin: Instant,
    alarm: Alarm,
    /// When the room is closed, if its match has not begun by then and nobody has a seat.
    unused_at: Option<Instant>,
    unused_room: Duration,
    slow_consumers: u64,
    /// Connections whose queue is full, until they are closed.
    overflowed: Vec<ConnectionId>,
    slow_consumer_message: Bytes,
}

impl RoomTask {
    pub(super) fn new(
        room: Room,
        log: Option<LogSource>,
        channels: Channels,
        surroundings: Surroundings,
        config: &ServiceConfig,
    ) -> RoomTask {
        let origin = Instant::now();
        let Surroundings { listing, metrics, traffic } = surroundings;
        let mut message = Vec::new();
        RoomMessage::Closing(CloseReason::SlowConsumer).encode_into(&mut message);
        RoomTask {
            room,
            log: log.map(LogWriter::new),
            log_failed: false,
            suspended: false,
            channels,
            outbounds: BTreeMap::new(),
            spans: BTreeMap::new(),
            listing,
            settled: Vec::new(),
            meter: Meter::new(metrics.clone(), traffic, origin),
            metrics,
            origin,
            alarm: Alarm::new(),
            unused_at: None,
            unused_room: config.unused_room(),
            slow_consumers: 0,
            overflowed: Vec::new(),
            slow_consumer_message: message.into(),
        }
    }

    /// Runs until the room has ended. Connections are closed once what was sent to them has arrived.
    pub(super) async fn run(mut self) {
        let mut mail = Vec::with_capacity(MAX_WAITING_MAIL);
        self.carry_out();
        while !self.room.is_closed() && !self.suspended {
            self.watch_use();
            let due = self.wait(&mut mail).await;
            self.meter.turn(due, Instant::now());
            let now = self.now();
            mail.drain(..).for_each(|item| self.deliver(item, now));
            self.room.handle_timeout(now);
            self.carry_out();
            if !self.room.is_closed() {
                self.publish();
            }
            self.settled.clear();
        }
        self.settle_log().await;
        self.publish();
        info!(frontier = %self.room.frontier(), suspended = self.suspended, "the room is over");
    }

    /// A room that nobody came to, or that everyone left before it began, has its time; it is over as soon as somebody has a seat.
    fn watch_use(&mut self) {
        let is_unused = self.room.frontier() == Tick::ZERO && !self.room.has_players();
        self.unused_at = match self.unused_at {
            _ if !is_unused => None,
            None => Some(Instant::now() + self.unused_room),
            since => since,
        };
    }

    /// Everything that the room wanted written down is, and what waited for it has left.
    async fn settle_log(&mut self) {
        if let Some(log) = &mut self.log {
            log.hurry();
        }
        loop {
            self.carry_out();
            let Some(log) = self.log.as_mut().filter(|log| log.is_writing()) else { break };
            let written = log.written().await;
            self.handle_written(written);
        }
        if let Some(log) = self.log.take() {
            let has_begun = self.room.frontier() > Tick::ZERO || self.room.descriptor().generation() > Generation(0);
            log.end(match (self.suspended, has_begun) {
                (true, _) => LogEnd::Suspended,
                (false, true) => LogEnd::RoomEnded,
                (false, false) => LogEnd::NeverBegan,
            })
            .await;
        }
    }

    fn handle_written(&mut self, written: Result<Option<u64>, RoomLogError>) {
        match written {
            Ok(kept) => self.room.handle_persisted(kept.unwrap_or_default()),
            Err(error) => {
                error!(%error, "a record was not kept: the room ends");
                self.log_failed = true;
            }
        }
    }

    /// Waits for mail, for the room's next timeout, or for an end from outside; says when the timeout is due.
    async fn wait(&mut self, mail: &mut Vec<Mail>) -> Option<Instant> {
        let due = self.room.next_timeout().map(|due| self.origin + std::time::Duration::from_nanos(due.as_nanos()));
        let origin = self.origin;
        let at = |moment: Moment| origin + std::time::Duration::from_nanos(moment.as_nanos());
        let log_due = self.log.as_ref().and_then(LogWriter::due).map(at);
        let next = [due, self.unused_at, log_due].into_iter().flatten().min();
        let log = self.log.as_mut();
        let Channels { mailbox, stop, drain, .. } = &mut self.channels;
        let (mut draining, mut written) = (false, None);
        let ended = tokio::select! {
            biased;
            () = stopped(stop) => true,
            Ok(()) = drain.changed() => {
                draining = true;
                false
            }
            // Timeouts go first, so that mail can't put them off; each turn takes in all mail anyway.
            () = self.alarm.until(next) => {
                while let Ok(item) = mailbox.try_recv() {
                    mail.push(item);
                    if mail.len() >= MAX_WAITING_MAIL {
                        break;
                    }
                }
                self.unused_at.is_some_and(|unused| unused <= Instant::now())
            }
            kept = written_some(log) => {
                written = Some(kept);
                false
            }
            received = mailbox.recv_many(mail, MAX_WAITING_MAIL) => received == 0,
        };
        if let Some(written) = written {
            self.handle_written(written);
        }
        if ended {
            self.end();
        }
        if draining {
            self.tell_all_draining();
        }
        due
    }

    /// The service stops, or nobody ever came. A room that can be restored is left as it is.
    fn end(&mut self) {
        self.suspended = *self.channels.stop.borrow() && self.log.as_ref().is_some_and(LogWriter::outlives_service);
        if !self.suspended {
            self.room.close(self.now());
        }
    }

    fn deliver(&mut self, mail: Mail, now: Moment) {
        match mail {
            Mail::Entered { connection, outbound, entrant } => self.enter(connection, outbound, *entrant, now),
            Mail::Referee { connection, outbound } => {
                self.outbounds.insert(connection, outbound);
                self.room.handle_referee_connected(connection, now);
            }
            Mail::Message { connection, bytes } => self.room.handle_message(connection, &bytes, now),
            Mail::Disconnected { connection } => {
                self.forget(connection);
                self.room.handle_disconnected(connection, now);
            }
            Mail::Start => {
                if let Err(error) = self.room.start(now) {
                    warn!(%error, "the room was not started");
                }
            }
            Mail::SetLocked(locked) => self.room.set_locked(locked),
            Mail::Close => self.room.close(now),
        }
    }

    /// Does everything that the room wants done, and what follows from doing it.
    fn carry_out(&mut self) {
        loop {
            let persisted = self.drain();
            let slow = !self.overflowed.is_empty();
            self.close_slow_consumers();
            let failed = self.log_failed && !self.room.is_closed();
            if failed {
                self.room.close(self.now());
            }
            match persisted {
                Some(sequence) => self.room.handle_persisted(sequence),
                None if !slow && !failed => break,
                None => {}
            }
        }
        let now = self.now();
        if let Some(log) = &mut self.log {
            log.write(now);
        }
    }

    /// Drains the room's outputs, and gives the last record of a room that keeps none.
    fn drain(&mut self) -> Option<u64> {
        let (mut persisted, mut snapshot_kept) = (None, false);
        loop {
            let Some(output) = self.room.poll_output() else {
                if !std::mem::take(&mut snapshot_kept) {
                    return persisted;
                }
                self.keep_snapshot();
                continue;
            };
            match output {
                Output::Transmit { to, bytes } => {
                    let message = Bytes::copy_from_slice(bytes);
                    for connection in to {
                        let Some(outbound) = self.outbounds.get(connection) else { continue };
                        if outbound.push(message.clone()) == Err(Overflow) && !self.overflowed.contains(connection) {
                            self.overflowed.push(*connection);
                        }
                    }
                }
                Output::Persist { sequence, record } => match &mut self.log {
                    None => persisted = Some(sequence),
                    Some(log) => log.push(sequence, record),
                },
                Output::Close { connection, cause } => {
                    debug!(connection = connection.0, ?cause, "a connection is closed");
                    self.outbounds.remove(&connection);
                    self.spans.remove(&connection);
                    if let CloseCause::Refused(refusal) = cause {
                        self.metrics.refused(refusal_name(&refusal));
                    }
                }
                Output::Event(event) => {
                    debug!(?event, "room event");
                    super::desync_log::note(&self.room, &event);
                    snapshot_kept |= matches!(event, RoomEvent::SnapshotKept { .. });
                    if let RoomEvent::SeatClaimed { seat, connection, .. }
                    | RoomEvent::SeatResumed { seat, connection, .. } = event
                    {
                        if let Some(span) = self.spans.remove(&connection) {
                            span.record("seat", seat.number());
                        }
                    }
                    // Nobody may be listening.
                    let _ = self.channels.events.send(event);
                }
            }
        }
    }

    /// Keeps the room's newest snapshot beside its log (A7), and lets the room say what the next one will make unneeded.
    fn keep_snapshot(&mut self) {
        let Some(log) = self.log.as_mut().filter(|log| log.outlives_service()) else { return };
        if let Some(KeptSnapshot { tick, bytes, .. }) = self.room.newest_snapshot() {
            let (generation, fence) = (self.room.descriptor().generation(), self.room.fence_before(tick));
            log.keep_snapshot(StoredSnapshot { generation, tick, fence, bytes: bytes.to_vec() });
            self.room.summarize();
        }
    }

    fn close_slow_consumers(&mut self) {
        let now = self.now();
        for connection in self.overflowed.drain(..) {
            let Some(outbound) = self.outbounds.remove(&connection) else { continue };
            self.spans.remove(&connection);
            info!(connection = connection.0, "a connection reads too slowly");
            outbound.replace_all(self.slow_consumer_message.clone());
            self.slow_consumers += 1;
            self.room.handle_disconnected(connection, now);
        }
    }

    fn publish(&mut self) {
        let RoomTask { room, channels, outbounds, slow_consumers, meter, .. } = self;
        meter.add_if_due(room, *slow_consumers, Instant::now());
        channels.status.send_modify(|status| {
            status.update(room);
            status.connections = outbounds.len();
            status.slow_consumers = *slow_consumers;
            status.lag_micros = u64::try_from(meter.lag().as_micros()).unwrap_or(u64::MAX);
        });
    }

    fn forget(&mut self, connection: ConnectionId) {
        self.outbounds.remove(&connection);
        self.spans.remove(&connection);
    }

    fn now(&self) -> Moment {
        Moment::from_nanos(u64::try_from(self.origin.elapsed().as_nanos()).unwrap_or(u64::MAX))
    }
}

impl Drop for RoomTask {
    fn drop(&mut self) {
        // However the task ends, nobody may take the room for a living one.
        self.channels.status.send_modify(|status| {
            status.phase = RoomPhase::Closed;
            status.connections = 0;
        });
    }
}

async fn written_some(log: Option<&mut LogWriter>) -> Result<Option<u64>, RoomLogError> {
    match log {
        Some(log) => log.written().await,
        None => std::future::pending().await,
    }
}
