//! One player's WebSocket: a reader that fills the room's mailbox, and a writer that empties the connection's queue.

use std::time::Duration;

use axum::extract::ws::{CloseFrame, Message, WebSocket, close_code};
use bytes::Bytes;
use futures_util::stream::SplitStream;
use futures_util::{SinkExt, StreamExt};
use retick_core::wire::{MAX_CLIENT_MESSAGE_BYTES, Refusal, RoomMessage};
use tokio::time::{Instant, timeout};
use tracing::debug;

use super::alarm::Alarm;
use super::door::{Turned, Visit, Welcomed};
use super::entrance::encoded;
use super::hub::{RoomEntry, stopped};
use super::mailbox::Mail;
use super::metrics::refusal_name;
use super::outbound::{MessageSink, outbound};
use crate::room::ConnectionId;

/// Most bytes of a WebSocket message, and of a frame of it.
pub(super) const MAX_MESSAGE_BYTES: usize = MAX_CLIENT_MESSAGE_BYTES;
/// Size of a WebSocket's read buffer, in bytes. It is allocated for every connection, and written over for every read.
pub(super) const READ_BUFFER_BYTES: usize = 1024;
/// Bytes that a WebSocket collects before it writes; it is flushed as soon as nothing more waits.
pub(super) const WRITE_BUFFER_BYTES: usize = 16 * 1024;

/// Pings and pongs that a WebSocket may send in a second, and at once; a client of ours sends none (A11).
const CONTROL_FRAMES_PER_SECOND: u32 = 16;

/// Why a reader ended.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum ReadEnd {
    /// The peer closed, or the network did.
    Gone,
    /// Nothing came for too long.
    Idle,
    /// A text message came.
    NotBinary,
    /// What came is not WebSocket, or is too long.
    Malformed,
    /// More came than its budget allows.
    Budget,
    /// It said nothing for so long that it had to make place.
    GaveWay,
    /// The room has ended.
    RoomOver,
}

impl ReadEnd {
    /// What the peer is told, if it is told anything.
    fn close_frame(self) -> Option<CloseFrame> {
        let (code, reason) = match self {
            ReadEnd::Gone | ReadEnd::RoomOver => return None,
            ReadEnd::Idle => (close_code::POLICY, "nothing was received for too long"),
            ReadEnd::Budget => (close_code::POLICY, "more than a connection may send"),
            ReadEnd::GaveWay => (close_code::AGAIN, "nothing was received, and others wait"),
            ReadEnd::NotBinary => (close_code::UNSUPPORTED, "binary messages only"),
            ReadEnd::Malformed => (close_code::POLICY, "malformed, or longer than a message may be"),
        };
        Some(CloseFrame { code, reason: reason.into() })
    }
}

/// Serves a connection until either side ends it: at the door first, and then in the room.
pub(super) async fn serve(socket: WebSocket, connection: ConnectionId, visit: Visit<'_>) {
    let (hub, room, limits) = (visit.hub, visit.room, &visit.hub.config);
    let (metrics, bytes_per_second) = (&visit.hub.metrics, limits.inbound_bytes_per_second);
    let linger = limits.linger();
    let (sink, mut stream) = socket.split();
    let (queue, writer) = outbound(limits.outbound_bytes, Box::pin(sink), room.traffic.clone());
    let idle = limits.idle();
    let mut stop = visit.hub.hold();
    let welcomed = tokio::select! {
        welcomed = visit.welcome(&mut stream) => welcomed,
        // Where rooms outlive the service nobody is turned away for good: it comes again, as all others do.
        () = stopped(&mut stop) => Err(match hub.keeps_rooms() {
            true => Turned::Ended(ReadEnd::RoomOver),
            false => Turned::Refused(Refusal::Closing),
        }),
    };
    let read_end = match welcomed {
        Err(Turned::Ended(end)) => Some(end),
        Err(Turned::Refused(refusal)) => {
            metrics.refused(refusal_name(&refusal));
            let _ = queue.push(encoded(&RoomMessage::Refused(refusal)));
            drop(queue);
            writer.write(linger).await;
            None
        }
        Ok(Welcomed { entrant, early }) => {
            room.traffic.received(entrant.greeting.len());
            // If the room is over already, the queue ends with the mail, and the writer closes.
            let _ = room.mailbox.send(Mail::Entered { connection, outbound: queue, entrant: Box::new(entrant) }).await;
            let (budget, controls) = (ByteBudget::new(bytes_per_second), ByteBudget::new(CONTROL_FRAMES_PER_SECOND));
            let mut reader = Reader { room, connection, idle, budget, controls };
            let end = tokio::select! {
                biased;
                end = reader.read(&mut stream, early) => Some(end),
                () = writer.write(linger) => None,
            };
            match end {
                // The room closed it, and has forgotten it.
                None => {}
                // The room's last words are on their way; there is no mailbox any more.
                Some(ReadEnd::RoomOver) => writer.write(linger).await,
                Some(_) => {
                    let _ = room.mailbox.send(Mail::Disconnected { connection }).await;
                }
            }
            end
        }
    };
    debug!(connection = connection.0, ?read_end, "a connection ends");
    if read_end == Some(ReadEnd::Budget) {
        metrics.over_budget.increment(1);
    }
    if let Some(sink) = writer.into_sink() {
        let goodbye = part(sink, &mut stream, read_end.and_then(ReadEnd::close_frame));
        let _ = timeout(linger, goodbye).await;
    }
}

/// Hands on what a connection sends.
struct Reader<'a> {
    room: &'a RoomEntry,
    connection: ConnectionId,
    idle: Duration,
    budget: ByteBudget,
    /// Of frames, not of bytes.
    controls: ByteBudget,
}

impl Reader<'_> {
    async fn read(&mut self, stream: &mut SplitStream<WebSocket>, early: Vec<Bytes>) -> ReadEnd {
        for bytes in early {
            if let Err(end) = self.hand_on(bytes).await {
                return end;
            }
        }
        let (mut alarm, mut heard_at) = (Alarm::new(), Instant::now());
        let mut quiet_at = heard_at + self.idle;
        loop {
            let received = tokio::select! {
                biased;
                received = stream.next() => received,
                // A message does not move the alarm; what was heard since it was set does, when it goes off.
                () = alarm.until(Some(quiet_at)) => {
                    quiet_at = heard_at + self.idle;
                    if quiet_at <= Instant::now() {
                        return ReadEnd::Idle;
                    }
                    continue;
                }
            };
            heard_at = Instant::now();
            let bytes = match received {
                Some(Ok(Message::Binary(bytes))) => bytes,
                // The library answers pings.
                Some(Ok(Message::Ping(_) | Message::Pong(_))) if self.controls.take(1, heard_at) => continue,
                Some(Ok(Message::Ping(_) | Message::Pong(_))) => return ReadEnd::Budget,
                Some(Ok(Message::Text(_))) => return ReadEnd::NotBinary,
                Some(Err(_)) => return ReadEnd::Malformed,
                Some(Ok(Message::Close(_))) | None => return ReadEnd::Gone,
            };
            if let Err(end) = self.hand_on(bytes).await {
                return end;
            }
        }
    }

    async fn hand_on(&mut self, bytes: Bytes) -> Result<(), ReadEnd> {
        if !self.budget.take(bytes.len(), Instant::now()) {
            return Err(ReadEnd::Budget);
        }
        self.room.traffic.received(bytes.len());
        let mail = Mail::Message { connection: self.connection, bytes };
        self.room.mailbox.send(mail).await.map_err(|_| ReadEnd::RoomOver)
    }
}

/// So many bytes a second, and as many at once after a quiet one (A11).
#[derive(Clone, Copy, Debug)]
struct ByteBudget {
    per_second: u64,
    /// In bytes times microseconds of a second, so that no fraction is lost.
    credit: u64,
    filled: Instant,
}

const SECOND_MICROS: u64 = 1_000_000;

impl ByteBudget {
    fn new(per_second: u32) -> ByteBudget {
        let per_second = u64::from(per_second);
        ByteBudget { per_second, credit: per_second * SECOND_MICROS, filled: Instant::now() }
    }

    fn take(&mut self, bytes: usize, now: Instant) -> bool {
        let since = now.saturating_duration_since(self.filled).as_micros().min(u128::from(SECOND_MICROS));
        let gained = u64::try_from(since).unwrap_or(SECOND_MICROS) * self.per_second;
        self.credit = (self.credit + gained).min(self.per_second * SECOND_MICROS);
        self.filled = now;
        let cost = (bytes as u64).saturating_mul(SECOND_MICROS);
        let enough = self.credit >= cost;
        self.credit -= if enough { cost } else { 0 };
        enough
    }
}

/// Closes, and reads on until the peer has closed too: a socket that is dropped with unread bytes takes what was sent with it.
async fn part(mut sink: MessageSink, stream: &mut SplitStream<WebSocket>, frame: Option<CloseFrame>) {
    if sink.send(Message::Close(frame)).await.is_ok() {
        while let Some(Ok(_)) = stream.next().await {}
    }
}
