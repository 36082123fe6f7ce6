//! A client made of bytes, for what a well-behaved one never sends, and plain HTTP requests.

use std::net::{IpAddr, SocketAddr};

use futures_util::{SinkExt, StreamExt};
use retick_authority::service::{RoomCode, ServiceHandle};
use retick_core::digest::Identity;
use retick_core::seat::Generation;
use retick_core::wire::{ClientMessage, CloseReason, Entry, Hello, PROTOCOL_VERSION, Refusal, RoomMessage};
use serde_json::Value;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt, DuplexStream, duplex};
use tokio::net::{TcpSocket, TcpStream};
use tokio_tungstenite::tungstenite::Message;
use tokio_tungstenite::{WebSocketStream, client_async};

use crate::server::soon;

/// What a pipe holds unread.
const PIPE_BYTES: usize = 64 * 1024;

pub struct Raw<S = TcpStream>(pub WebSocketStream<S>);

/// How a connection ended.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum RawEnd {
    Refused(Refusal),
    Closing(CloseReason),
    /// A WebSocket close with this code, and no word of the room.
    Code(u16),
    Dropped,
}

impl Raw {
    pub async fn open(address: SocketAddr, code: RoomCode) -> Raw {
        Raw::upgrade(TcpStream::connect(address).await.expect("it listens"), address, code).await
    }

    /// A client that can hold hardly anything unread.
    pub async fn open_narrow(address: SocketAddr, code: RoomCode) -> Raw {
        let socket = TcpSocket::new_v4().expect("a socket");
        socket.set_recv_buffer_size(2048).expect("a small buffer");
        Raw::upgrade(socket.connect(address).await.expect("it listens"), address, code).await
    }

    async fn upgrade(stream: TcpStream, address: SocketAddr, code: RoomCode) -> Raw {
        let url = format!("ws://{address}/rooms/{code}/play");
        Raw(client_async(url, stream).await.expect("a WebSocket").0)
    }
}

impl Raw<DuplexStream> {
    /// A client at the other end of a pipe, which the service takes for one of `peer`'s; `query` stands behind the path.
    pub async fn pipe(handle: &ServiceHandle, peer: IpAddr, code: RoomCode, query: &str) -> Option<Raw<DuplexStream>> {
        let stream = open_pipe(handle, peer);
        let url = format!("ws://pipe/rooms/{code}/play{query}");
        client_async(url, stream).await.ok().map(|(socket, _)| Raw(socket))
    }
}

/// Bytes that the service takes for a connection of `peer`'s.
pub fn open_pipe(handle: &ServiceHandle, peer: IpAddr) -> DuplexStream {
    let (ours, theirs) = duplex(PIPE_BYTES);
    let handle = handle.clone();
    tokio::spawn(async move { handle.serve_stream(theirs, peer).await });
    ours
}

impl<S: AsyncRead + AsyncWrite + Unpin> Raw<S> {
    pub async fn send(&mut self, message: &ClientMessage<'_>) {
        let mut bytes = Vec::new();
        message.encode_into(&mut bytes);
        self.0.send(Message::Binary(bytes.into())).await.expect("the service reads");
    }

    pub async fn hello(&mut self, identity: Identity) {
        self.hello_with(identity, b"").await;
    }

    pub async fn hello_with(&mut self, identity: Identity, ticket: &[u8]) {
        let hello = Hello { protocol: PROTOCOL_VERSION, identity, entry: Entry::Join { ticket } };
        self.send(&ClientMessage::Hello(hello)).await;
    }

    /// Reads on until it is greeted, or until the connection is over.
    pub async fn welcomed(&mut self) -> Result<(), RawEnd> {
        while let Some(Ok(message)) = soon("an answer", self.0.next()).await {
            match message {
                Message::Binary(bytes) => match RoomMessage::decode(&bytes).expect("the room sends messages") {
                    RoomMessage::Welcome(_) => return Ok(()),
                    RoomMessage::Refused(refusal) => return Err(RawEnd::Refused(refusal)),
                    _ => {}
                },
                Message::Close(Some(frame)) => return Err(RawEnd::Code(frame.code.into())),
                _ => {}
            }
        }
        Err(RawEnd::Dropped)
    }

    /// The next message that `wanted` gives something for.
    pub async fn until<T>(&mut self, mut wanted: impl FnMut(&RoomMessage<'_>) -> Option<T>) -> T {
        loop {
            let message = soon("a message", self.0.next()).await.expect("it is open").expect("it is open");
            if let Message::Binary(bytes) = message
                && let Some(found) = wanted(&RoomMessage::decode(&bytes).expect("the room sends messages"))
            {
                return found;
            }
        }
    }

    /// Takes a seat, and is ready.
    pub async fn join(&mut self, identity: Identity) {
        self.hello(identity).await;
        self.send(&ClientMessage::Ready { generation: Generation(0) }).await;
    }

    /// Reads on until the connection is over, and gives the last word.
    pub async fn end(mut self) -> RawEnd {
        let mut end = RawEnd::Dropped;
        while let Some(Ok(message)) = soon("the connection ends", self.0.next()).await {
            match message {
                Message::Binary(bytes) => match RoomMessage::decode(&bytes).expect("the room sends messages") {
                    RoomMessage::Refused(refusal) => end = RawEnd::Refused(refusal),
                    RoomMessage::Closing(reason) => end = RawEnd::Closing(reason),
                    _ => {}
                },
                Message::Close(Some(frame)) if end == RawEnd::Dropped => end = RawEnd::Code(frame.code.into()),
                _ => {}
            }
        }
        end
    }
}

/// Sends one request, and gives the answer's status and JSON.
pub async fn request(address: SocketAddr, method: &str, path: &str, body: &[u8]) -> (u16, Value) {
    let stream = TcpStream::connect(address).await.expect("it listens");
    let answer = exchange(stream, &format!("{method} {path}"), "", body).await;
    (answer.status, answer.json())
}

/// An answer, as it came.
pub struct Answer {
    pub status: u16,
    pub head: String,
    pub body: String,
}

impl Answer {
    pub fn json(&self) -> Value {
        serde_json::from_str(&self.body).unwrap_or_else(|_| panic!("not JSON: {}", self.body))
    }

    pub fn code(&self) -> String {
        self.json()["code"].as_str().unwrap_or_default().to_owned()
    }

    /// A header's value, by its name in lower case.
    pub fn header(&self, name: &str) -> Option<&str> {
        self.head.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(": "))
    }
}

/// One request over any stream: `line` is method and path, `headers` whole lines.
pub async fn exchange<S: AsyncRead + AsyncWrite + Unpin>(
    mut stream: S,
    line: &str,
    headers: &str,
    body: &[u8],
) -> Answer {
    let length = body.len();
    let head =
        format!("{line} HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n{headers}content-length: {length}\r\n\r\n");
    // It may answer, and close, before it has read everything.
    let _ = stream.write_all(&[head.as_bytes(), body].concat()).await;
    let mut answer = Vec::new();
    let _ = soon("an answer", stream.read_to_end(&mut answer)).await;
    let answer = String::from_utf8(answer).expect("text");
    let (head, body) = answer.split_once("\r\n\r\n").unwrap_or_else(|| panic!("no answer: {answer:?}"));
    let status = head.split(' ').nth(1).and_then(|status| status.parse().ok()).expect("a status");
    Answer { status, head: head.to_owned(), body: body.to_owned() }
}
