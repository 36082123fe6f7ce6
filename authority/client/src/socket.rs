//! One WebSocket to a room: opens it, and sends what waits while the next message is awaited.

use std::collections::VecDeque;
use std::future::poll_fn;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use bytes::Bytes;
use futures_util::{SinkExt, StreamExt};
use retick_core::wire::MAX_ROOM_MESSAGE_BYTES;
use tokio::time::timeout;
use tokio_tungstenite::tungstenite::protocol::{Message, WebSocketConfig};
use tokio_tungstenite::{WebSocketStream, client_async_with_config, tungstenite};

use crate::config::NetConfig;
use crate::end::{ConnectError, LostTransport};
use crate::transport::Transport;

/// Most bytes that wait to be sent; beyond, the transport counts as lost.
pub const MAX_UNSENT_BYTES: usize = 1024 * 1024;
/// Size of the socket's read and write buffers, in bytes.
const BUFFER_BYTES: usize = 16 * 1024;
/// How long a goodbye may take.
const GOODBYE: Duration = Duration::from_millis(500);

const _: () = assert!(MAX_UNSENT_BYTES > retick_core::wire::MAX_CLIENT_MESSAGE_BYTES, "a message fits the queue");

/// An open WebSocket with a bounded queue in front of it.
pub(crate) struct Socket {
    stream: WebSocketStream<Transport>,
    unsent: VecDeque<Bytes>,
    unsent_bytes: usize,
    unflushed: bool,
}

impl Socket {
    pub(crate) async fn connect(config: &NetConfig) -> Result<Socket, ConnectError> {
        timeout(config.connect_timeout(), Socket::open(config)).await.map_err(|_| ConnectError::Timeout)?
    }

    async fn open(config: &NetConfig) -> Result<Socket, ConnectError> {
        let stream = Transport::connect(&config.address, config.tls.as_ref()).await?;
        let limits = WebSocketConfig::default()
            .read_buffer_size(BUFFER_BYTES)
            .write_buffer_size(BUFFER_BYTES)
            .max_message_size(Some(MAX_ROOM_MESSAGE_BYTES))
            .max_frame_size(Some(MAX_ROOM_MESSAGE_BYTES));
        // The scheme says nothing here: the transport is open already.
        let mut url = format!("ws://{}/rooms/{}/play", config.address, config.code);
        if let Some(reservation) = &config.reservation {
            url.push_str("?reservation=");
            url.push_str(reservation.as_str());
        }
        match client_async_with_config(url, stream, Some(limits)).await {
            Ok((stream, _)) => Ok(Socket { stream, unsent: VecDeque::new(), unsent_bytes: 0, unflushed: false }),
            Err(error) => Err(connect_error(&error)),
        }
    }

    /// Queues a message. It goes out while [`Socket::next`] waits.
    pub(crate) fn push(&mut self, message: &[u8]) -> Result<(), LostTransport> {
        self.unsent_bytes += message.len();
        if self.unsent_bytes > MAX_UNSENT_BYTES {
            return Err(LostTransport::Congested);
        }
        self.unsent.push_back(Bytes::copy_from_slice(message));
        Ok(())
    }

    /// The next message of the room's. Dropping the future loses nothing.
    pub(crate) async fn next(&mut self) -> Result<Bytes, LostTransport> {
        poll_fn(|context| self.poll_next(context)).await
    }

    /// The next message, if one is here already.
    pub(crate) async fn next_ready(&mut self) -> Option<Result<Bytes, LostTransport>> {
        poll_fn(|context| match self.poll_next(context) {
            Poll::Ready(received) => Poll::Ready(Some(received)),
            Poll::Pending => Poll::Ready(None),
        })
        .await
    }

    fn poll_next(&mut self, context: &mut Context<'_>) -> Poll<Result<Bytes, LostTransport>> {
        if let Poll::Ready(Err(lost)) = self.poll_send(context) {
            return Poll::Ready(Err(lost));
        }
        loop {
            match ready!(self.stream.poll_next_unpin(context)) {
                Some(Ok(Message::Binary(bytes))) => return Poll::Ready(Ok(bytes)),
                // The library answers pings; its answer leaves with the next flush.
                Some(Ok(Message::Ping(_))) => self.unflushed = true,
                Some(Ok(Message::Pong(_) | Message::Frame(_))) => {}
                Some(Ok(Message::Text(_)) | Err(tungstenite::Error::Capacity(_) | tungstenite::Error::Protocol(_))) => {
                    return Poll::Ready(Err(LostTransport::Protocol));
                }
                Some(Ok(Message::Close(_)) | Err(_)) | None => return Poll::Ready(Err(LostTransport::Closed)),
            }
        }
    }

    fn poll_send(&mut self, context: &mut Context<'_>) -> Poll<Result<(), LostTransport>> {
        let closed = |_| LostTransport::Closed;
        while !self.unsent.is_empty() {
            ready!(self.stream.poll_ready_unpin(context)).map_err(closed)?;
            if let Some(message) = self.unsent.pop_front() {
                self.unsent_bytes -= message.len();
                self.stream.start_send_unpin(Message::Binary(message)).map_err(closed)?;
                self.unflushed = true;
            }
        }
        if self.unflushed {
            ready!(self.stream.poll_flush_unpin(context)).map_err(closed)?;
            self.unflushed = false;
        }
        Poll::Ready(Ok(()))
    }

    /// Sends what waits and closes, for as long as that may take.
    pub(crate) async fn close(mut self) {
        // The other side may be gone already: there is nothing to do about it then.
        let goodbye = async {
            let _ = poll_fn(|context| self.poll_send(context)).await;
            let _ = self.stream.close(None).await;
        };
        let _ = timeout(GOODBYE, goodbye).await;
    }
}

fn connect_error(error: &tungstenite::Error) -> ConnectError {
    match error {
        tungstenite::Error::Io(error) => ConnectError::Io(error.kind()),
        tungstenite::Error::Http(response) if response.status() == 404 => ConnectError::NoSuchRoom,
        tungstenite::Error::Http(response) => ConnectError::Refused { status: response.status().as_u16() },
        _ => ConnectError::Handshake,
    }
}
