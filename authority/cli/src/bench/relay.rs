//! A bare relay: what the service's sockets alone cost. Each tick of a room, the messages of its clients go to all of them as one;
//! nothing is checked, ordered, substituted, kept or timed.

use std::net::Ipv4Addr;
use std::sync::{Arc, Mutex, PoisonError};

use futures_util::{SinkExt, StreamExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::mpsc::{UnboundedSender, unbounded_channel};
use tokio_tungstenite::accept_hdr_async_with_config;
use tokio_tungstenite::tungstenite::handshake::server::{ErrorResponse, Request, Response};
use tokio_tungstenite::tungstenite::protocol::WebSocketConfig;
use tokio_tungstenite::tungstenite::{Bytes, Message};

use super::trial::{Opening, say, seats};
use crate::failure::Failure;
use crate::serve::runtime;

/// Size of a read buffer, in bytes: as large as the service's.
const READ_BUFFER_BYTES: usize = 1024;

#[derive(Default)]
struct RelayRoom {
    merged: Vec<u8>,
    messages: usize,
    receivers: Vec<UnboundedSender<Bytes>>,
}

type Rooms = Arc<Vec<Mutex<RelayRoom>>>;

/// Relays in so many rooms, until it is killed.
pub(super) fn run(rooms: u32) -> Result<(), Failure> {
    runtime()?.block_on(relay(rooms))
}

async fn relay(rooms: u32) -> Result<(), Failure> {
    let failed = |error: std::io::Error| Failure::Run(error.to_string());
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.map_err(failed)?;
    let paths = (0..rooms).flat_map(|room| seats().seats().map(move |_| format!("/{room}"))).collect();
    say(&Opening { address: listener.local_addr().map_err(failed)?, paths }.to_json())?;
    let rooms: Rooms = Arc::new((0..rooms).map(|_| Mutex::default()).collect());
    loop {
        let (stream, _) = listener.accept().await.map_err(failed)?;
        tokio::spawn(connection(stream, rooms.clone()));
    }
}

async fn connection(stream: TcpStream, rooms: Rooms) -> Option<()> {
    stream.set_nodelay(true).ok()?;
    let mut room = None;
    #[expect(clippy::result_large_err, reason = "the library's signature")]
    let opened = |request: &Request, response: Response| -> Result<Response, ErrorResponse> {
        room = request.uri().path().strip_prefix('/').and_then(|number| number.parse::<usize>().ok());
        Ok(response)
    };
    let config = WebSocketConfig::default().read_buffer_size(READ_BUFFER_BYTES);
    let mut socket = accept_hdr_async_with_config(stream, opened, Some(config)).await.ok()?;
    let room = rooms.get(room?)?;
    let (sender, mut merged) = unbounded_channel();
    room.lock().unwrap_or_else(PoisonError::into_inner).receivers.push(sender);
    loop {
        tokio::select! {
            message = socket.next() => match message?.ok()? {
                Message::Binary(message) => room.lock().unwrap_or_else(PoisonError::into_inner).forward(&message),
                Message::Close(_) => return None,
                _ => {}
            },
            message = merged.recv() => socket.send(Message::Binary(message?)).await.ok()?,
        }
    }
}

impl RelayRoom {
    fn forward(&mut self, message: &[u8]) {
        self.merged.extend_from_slice(message);
        self.messages += 1;
        if self.messages == seats().count() {
            let merged = Bytes::copy_from_slice(&self.merged);
            self.receivers.retain(|receiver| receiver.send(merged.clone()).is_ok());
            self.merged.clear();
            self.messages = 0;
        }
    }
}
