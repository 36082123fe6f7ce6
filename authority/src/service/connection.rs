//! One player's WebSocket: a reader that fills the room's mailbox, and a writer that empties the connection's queue.

use std::time::Duration;

use axum::extract::ws::{CloseFrame, Message, WebSocket, close_code};
use futures_util::stream::{SplitSink, SplitStream};
use futures_util::{SinkExt, StreamExt};
use retick_core::wire::MAX_CLIENT_MESSAGE_BYTES;
use tokio::sync::mpsc;
use tokio::time::{Instant, sleep, timeout};
use tracing::debug;

use super::alarm::Alarm;
use super::config::ServiceConfig;
use super::outbound::{OutboundReader, outbound};
use super::room_task::Mail;
use crate::room::ConnectionId;

/// Most bytes of a WebSocket message, and of a frame of it.
pub(super) const MAX_MESSAGE_BYTES: usize = MAX_CLIENT_MESSAGE_BYTES;
/// Size of a WebSocket's read buffer, in bytes. It is allocated for every connection.
pub(super) const READ_BUFFER_BYTES: usize = 4 * 1024;
/// Bytes that a WebSocket collects before it writes; it is flushed as soon as nothing more waits.
pub(super) const WRITE_BUFFER_BYTES: usize = 16 * 1024;

/// Why a reader ended.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum ReadEnd {
    /// The peer closed, or the network did.
    Gone,
    /// Nothing came for too long.
    Idle,
    /// A text message came.
    NotBinary,
    /// What came is not WebSocket, or is too long.
    Malformed,
    /// The room has ended.
    RoomOver,
}

impl ReadEnd {
    /// What the peer is told, if it is told anything.
    fn close_frame(self) -> Option<CloseFrame> {
        let (code, reason) = match self {
            ReadEnd::Gone | ReadEnd::RoomOver => return None,
            ReadEnd::Idle => (close_code::POLICY, "nothing was received for too long"),
            ReadEnd::NotBinary => (close_code::UNSUPPORTED, "binary messages only"),
            ReadEnd::Malformed => (close_code::POLICY, "malformed, or longer than a message may be"),
        };
        Some(CloseFrame { code, reason: reason.into() })
    }
}

/// Serves a connection until either side ends it.
pub(super) async fn serve(
    socket: WebSocket,
    room: mpsc::Sender<Mail>,
    connection: ConnectionId,
    limits: ServiceConfig,
) {
    let (queue, waiting) = outbound(limits.outbound_bytes);
    let (mut sink, mut stream) = socket.split();
    // If the room is over already, the queue ends with the mail, and the writer closes.
    let _ = room.send(Mail::Connected { connection, outbound: queue }).await;
    let read_end = tokio::select! {
        end = read(&mut stream, &room, connection, limits.idle()) => Some(end),
        () = write(&mut sink, &waiting, limits.linger()) => None,
    };
    debug!(connection = connection.0, ?read_end, "a connection ends");
    match read_end {
        // The room closed it, and has forgotten it.
        None => {}
        // The room's last words are on their way; there is no mailbox any more.
        Some(ReadEnd::RoomOver) => write(&mut sink, &waiting, limits.linger()).await,
        Some(_) => {
            let _ = room.send(Mail::Disconnected { connection }).await;
        }
    }
    let goodbye = part(&mut sink, &mut stream, read_end.and_then(ReadEnd::close_frame));
    let _ = timeout(limits.linger(), goodbye).await;
}

async fn read(
    stream: &mut SplitStream<WebSocket>,
    room: &mpsc::Sender<Mail>,
    connection: ConnectionId,
    idle: Duration,
) -> ReadEnd {
    let (mut alarm, mut quiet_at, mut heard_at) = (Alarm::new(), Instant::now() + idle, Instant::now());
    loop {
        let received = tokio::select! {
            biased;
            received = stream.next() => received,
            // A message does not move the alarm; what was heard since it was set does, when it goes off.
            () = alarm.until(Some(quiet_at)) => {
                quiet_at = heard_at + idle;
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
            Some(Ok(Message::Ping(_) | Message::Pong(_))) => continue,
            Some(Ok(Message::Text(_))) => return ReadEnd::NotBinary,
            Some(Err(_)) => return ReadEnd::Malformed,
            Some(Ok(Message::Close(_))) | None => return ReadEnd::Gone,
        };
        if room.send(Mail::Message { connection, bytes }).await.is_err() {
            return ReadEnd::RoomOver;
        }
    }
}

/// Writes until the queue has ended and everything is sent, or until that takes too long.
async fn write(sink: &mut SplitSink<WebSocket, Message>, waiting: &OutboundReader, linger: Duration) {
    let overdue = async {
        waiting.ended().await;
        sleep(linger).await;
    };
    tokio::select! {
        () = write_all(sink, waiting) => {}
        () = overdue => {}
    }
}

async fn write_all(sink: &mut SplitSink<WebSocket, Message>, waiting: &OutboundReader) {
    while let Some(bytes) = waiting.next().await {
        let mut sent = sink.feed(Message::Binary(bytes)).await;
        if sent.is_ok() && waiting.is_empty() {
            sent = sink.flush().await;
        }
        if sent.is_err() {
            return;
        }
    }
    // A failure shows in the reader too.
    let _ = sink.flush().await;
}

/// Closes, and reads on until the peer has closed too: a socket that is dropped with unread bytes takes what was sent with it.
async fn part(
    sink: &mut SplitSink<WebSocket, Message>,
    stream: &mut SplitStream<WebSocket>,
    frame: Option<CloseFrame>,
) {
    if sink.send(Message::Close(frame)).await.is_ok() {
        while let Some(Ok(_)) = stream.next().await {}
    }
}
