//! The task that owns one room: takes in its mail, lets its clock move on, and does what it wants done.

use std::collections::BTreeMap;

use bytes::Bytes;
use retick_core::tick::Moment;
use retick_core::wire::{CloseReason, RoomMessage};
use tokio::sync::{broadcast, mpsc, watch};
use tokio::time::Instant;
use tracing::{debug, error, info, warn};

use super::alarm::Alarm;
use super::config::ServiceConfig;
use super::hub::stopped;
use super::outbound::{Outbound, Overflow};
use super::status::{RoomPhase, RoomStatus};
use crate::log::{FrameLog, LogError};
use crate::room::{ConnectionId, Output, Room, RoomEvent};

/// Most mail that waits for a room. A reader waits when it is full, and its socket with it.
pub const MAX_WAITING_MAIL: usize = 512;
/// Most events that wait for each of a room's followers; the oldest give way, and the follower is told how many.
pub const MAX_WAITING_ROOM_EVENTS: usize = 256;

/// Where a room's records are kept (A12). Called in the room's task, so it must not block for long.
pub type RoomLog = Box<dyn FrameLog<Error = LogError> + Send>;

/// What reaches a room's task.
#[derive(Debug)]
pub(super) enum Mail {
    /// A transport was opened, and this is the way to it.
    Connected { connection: ConnectionId, outbound: Outbound },
    /// A binary message arrived.
    Message { connection: ConnectionId, bytes: Bytes },
    /// The transport is gone.
    Disconnected { connection: ConnectionId },
    /// The owner starts the match.
    Start,
    /// The owner ends the room.
    Close,
}

/// The ends of the channels that the task keeps.
pub(super) struct Channels {
    pub(super) mailbox: mpsc::Receiver<Mail>,
    pub(super) status: watch::Sender<RoomStatus>,
    pub(super) events: broadcast::Sender<RoomEvent>,
    pub(super) stop: watch::Receiver<bool>,
}

/// A room with its surroundings.
pub(super) struct RoomTask {
    room: Room,
    log: Option<RoomLog>,
    log_failed: bool,
    channels: Channels,
    outbounds: BTreeMap<ConnectionId, Outbound>,
    origin: Instant,
    alarm: Alarm,
    /// When the room is closed, if nobody ever joined.
    unused_at: Option<Instant>,
    slow_consumers: u64,
    /// Connections whose queue is full, until they are closed.
    overflowed: Vec<ConnectionId>,
    slow_consumer_message: Bytes,
}

impl RoomTask {
    pub(super) fn new(room: Room, log: Option<RoomLog>, channels: Channels, config: &ServiceConfig) -> RoomTask {
        let origin = Instant::now();
        let mut message = Vec::new();
        RoomMessage::Closing(CloseReason::SlowConsumer).encode_into(&mut message);
        RoomTask {
            room,
            log,
            log_failed: false,
            channels,
            outbounds: BTreeMap::new(),
            origin,
            alarm: Alarm::new(),
            unused_at: Some(origin + config.unused_room()),
            slow_consumers: 0,
            overflowed: Vec::new(),
            slow_consumer_message: message.into(),
        }
    }

    /// Runs until the room has ended. Connections are closed once what was sent to them has arrived.
    pub(super) async fn run(mut self) {
        let mut mail = Vec::with_capacity(MAX_WAITING_MAIL);
        self.carry_out();
        while !self.room.is_closed() {
            self.wait(&mut mail).await;
            let now = self.now();
            mail.drain(..).for_each(|item| self.deliver(item, now));
            self.room.handle_timeout(now);
            self.carry_out();
            self.publish();
        }
        info!(frontier = %self.room.frontier(), "the room is over");
    }

    /// Waits for mail, for the room's next timeout, or for an end from outside.
    async fn wait(&mut self, mail: &mut Vec<Mail>) {
        let due = self.room.next_timeout().map(|due| self.origin + std::time::Duration::from_nanos(due.as_nanos()));
        let next = [due, self.unused_at].into_iter().flatten().min();
        let Channels { mailbox, stop, .. } = &mut self.channels;
        let ended = tokio::select! {
            biased;
            () = stopped(stop) => true,
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
            received = mailbox.recv_many(mail, MAX_WAITING_MAIL) => received == 0,
        };
        if ended {
            self.room.close(self.now());
        }
    }

    fn deliver(&mut self, mail: Mail, now: Moment) {
        match mail {
            Mail::Connected { connection, outbound } => {
                self.outbounds.insert(connection, outbound);
                self.room.handle_connected(connection, now);
            }
            Mail::Message { connection, bytes } => self.room.handle_message(connection, &bytes, now),
            Mail::Disconnected { connection } => {
                self.outbounds.remove(&connection);
                self.room.handle_disconnected(connection, now);
            }
            Mail::Start => {
                if let Err(error) = self.room.start(now) {
                    warn!(%error, "the room was not started");
                }
            }
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
                None if !slow && !failed => return,
                None => {}
            }
        }
    }

    /// Drains the room's outputs, and gives the last record that was kept.
    fn drain(&mut self) -> Option<u64> {
        let mut persisted = None;
        while let Some(output) = self.room.poll_output() {
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
                // Nothing is kept behind a gap, and what depends on it never leaves.
                Output::Persist { .. } if self.log_failed => {}
                Output::Persist { sequence, record } => match self.log.as_mut().map(|log| log.append(sequence, record))
                {
                    None | Some(Ok(())) => persisted = Some(sequence),
                    Some(Err(error)) => {
                        error!(%error, sequence, "a record was not kept: the room ends");
                        self.log_failed = true;
                    }
                },
                Output::Close { connection, cause } => {
                    debug!(connection = connection.0, ?cause, "a connection is closed");
                    self.outbounds.remove(&connection);
                }
                Output::Event(event) => {
                    debug!(?event, "room event");
                    if matches!(event, RoomEvent::SeatClaimed { .. }) {
                        self.unused_at = None;
                    }
                    // Nobody may be listening.
                    let _ = self.channels.events.send(event);
                }
            }
        }
        persisted
    }

    fn close_slow_consumers(&mut self) {
        let now = self.now();
        for connection in self.overflowed.drain(..) {
            let Some(outbound) = self.outbounds.remove(&connection) else { continue };
            info!(connection = connection.0, "a connection reads too slowly");
            outbound.replace_all(self.slow_consumer_message.clone());
            self.slow_consumers += 1;
            self.room.handle_disconnected(connection, now);
        }
    }

    fn publish(&mut self) {
        let RoomTask { room, channels, outbounds, slow_consumers, .. } = self;
        channels.status.send_modify(|status| {
            status.update(room);
            status.connections = outbounds.len();
            status.slow_consumers = *slow_consumers;
        });
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
