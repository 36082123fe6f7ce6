//! The task that owns one room: takes in its mail, lets its clock move on, and does what it wants done.

use std::collections::BTreeMap;
use std::sync::Arc;

use bytes::Bytes;
use retick_core::tick::{Moment, Tick};
use retick_core::wire::{CloseReason, RoomMessage};
use tokio::sync::{broadcast, watch};
use tokio::time::{Duration, Instant};
use tracing::{Span, info, warn};

use super::alarm::Alarm;
use super::config::ServiceConfig;
use super::hub::stopped;
use super::listing::{Held, Listing};
use super::log_writer::{LogSource, LogWriter};
use super::mailbox::{Awaited, Mail, Mailbox};
use super::meter::Meter;
use super::metrics::{Metrics, Traffic};
use super::outbound::Outbound;
use super::room_log::RoomLogError;
use super::status_feed::StatusFeed;
use crate::room::{ConnectionId, Room, RoomEvent};

/// Most events that wait for each of a room's followers; the oldest give way, and the follower is told how many.
pub const MAX_WAITING_ROOM_EVENTS: usize = 256;

/// The ends of the channels that the task keeps.
pub(super) struct Channels {
    pub(super) mailbox: Mailbox,
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
    pub(super) log: Option<LogWriter>,
    pub(super) log_failed: bool,
    /// The service stops, and the room goes on when it is restored.
    pub(super) suspended: bool,
    pub(super) channels: Channels,
    pub(super) status: StatusFeed,
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
    pub(super) unused_at: Option<Instant>,
    unused_room: Duration,
    pub(super) slow_consumers: u64,
    /// Connections whose queue is full, until they are closed.
    pub(super) overflowed: Vec<ConnectionId>,
    pub(super) slow_consumer_message: Bytes,
}

impl RoomTask {
    pub(super) fn new(
        room: Room,
        log: Option<LogSource>,
        channels: Channels,
        status: StatusFeed,
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
            status,
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
        let mut mail = Vec::new();
        self.carry_out(self.now());
        while !self.room.is_closed() && !self.suspended {
            self.watch_use();
            let due = self.wait(&mut mail).await;
            self.turn(&mut mail, due);
        }
        self.settle_log().await;
        self.publish();
        info!(frontier = %self.room.frontier(), suspended = self.suspended, "the room is over");
    }

    /// Takes in the mail, lets the room's clock move on, and does what the room wants done.
    fn turn(&mut self, mail: &mut Vec<Mail>, due: Option<Instant>) {
        let at = Instant::now();
        let now = self.moment(at);
        self.meter.turn(due, at);
        for item in mail.drain(..) {
            if !item.is_inputs() {
                self.status.mark_news();
            }
            self.deliver(item, now);
        }
        self.room.handle_timeout(now);
        self.carry_out(now);
        self.meter.add_if_due(&self.room, self.slow_consumers, at);
        if self.status.is_due(at) && !self.room.is_closed() {
            self.publish();
        }
        self.settled.clear();
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

    /// Waits for mail, for the room's next timeout, or for an end from outside; says when the timeout is due.
    async fn wait(&mut self, mail: &mut Vec<Mail>) -> Option<Instant> {
        let origin = self.origin;
        let at = |moment: Moment| origin + Duration::from_nanos(moment.as_nanos());
        let due = self.room.next_timeout().map(at);
        let log_due = self.log.as_ref().and_then(LogWriter::due).map(at);
        // A room whose clock moves publishes by itself.
        let status_due = self.status.due().filter(|_| due.is_none());
        let next = [due, self.unused_at, log_due, status_due].into_iter().flatten().min();
        let inputs_wait = due.is_some() && !self.room.awaits_inputs();
        let awaited = if inputs_wait { Awaited::Urgent } else { Awaited::Anything };
        let log = self.log.as_mut();
        let Channels { mailbox, stop, drain, .. } = &mut self.channels;
        let (mut draining, mut written) = (false, None);
        let is_over = tokio::select! {
            biased;
            () = stopped(stop) => true,
            Ok(()) = drain.changed() => {
                draining = true;
                false
            }
            // Timeouts go first, so that mail can't put them off; each turn takes in all mail anyway.
            () = self.alarm.until(next) => {
                let has_senders = mailbox.take(mail);
                !has_senders || self.unused_at.is_some_and(|unused| unused <= Instant::now())
            }
            kept = written_some(log) => {
                written = Some(kept);
                false
            }
            has_senders = mailbox.receive(awaited, mail) => !has_senders,
        };
        if let Some(written) = written {
            self.handle_written(written);
        }
        if is_over {
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

    fn publish(&mut self) {
        let RoomTask { room, status, outbounds, slow_consumers, meter, .. } = self;
        status.publish(Instant::now(), |status| {
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

    pub(super) fn now(&self) -> Moment {
        self.moment(Instant::now())
    }

    fn moment(&self, at: Instant) -> Moment {
        let since = at.saturating_duration_since(self.origin);
        Moment::from_nanos(u64::try_from(since.as_nanos()).unwrap_or(u64::MAX))
    }
}

async fn written_some(log: Option<&mut LogWriter>) -> Result<Option<u64>, RoomLogError> {
    match log {
        Some(log) => log.written().await,
        None => std::future::pending().await,
    }
}
