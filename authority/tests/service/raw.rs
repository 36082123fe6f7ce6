//! A client made of bytes, for what a well-behaved one never sends, and plain HTTP requests.

use std::net::SocketAddr;

use futures_util::{SinkExt, StreamExt};
use retick_authority::service::RoomCode;
use retick_core::digest::Identity;
use retick_core::seat::Generation;
use retick_core::wire::{ClientMessage, CloseReason, Entry, Hello, PROTOCOL_VERSION, Refusal, RoomMessage};
use serde_json::Value;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpSocket, TcpStream};
use tokio_tungstenite::tungstenite::Message;
use tokio_tungstenite::{WebSocketStream, client_async};

use crate::server::soon;

pub struct Raw(pub WebSocketStream<TcpStream>);

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

    pub async fn send(&mut self, message: &ClientMessage<'_>) {
        let mut bytes = Vec::new();
        message.encode_into(&mut bytes);
        self.0.send(Message::Binary(bytes.into())).await.expect("the service reads");
    }

    pub async fn hello(&mut self, identity: Identity) {
        let hello = Hello { protocol: PROTOCOL_VERSION, identity, entry: Entry::Join { ticket: b"" } };
        self.send(&ClientMessage::Hello(hello)).await;
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
    let mut stream = TcpStream::connect(address).await.expect("it listens");
    let length = body.len();
    let head = format!("{method} {path} HTTP/1.1\r\nhost: x\r\nconnection: close\r\ncontent-length: {length}\r\n\r\n");
    // It may answer, and close, before it has read everything.
    let _ = stream.write_all(&[head.as_bytes(), body].concat()).await;
    let mut answer = Vec::new();
    let _ = soon("an answer", stream.read_to_end(&mut answer)).await;
    let answer = String::from_utf8(answer).expect("text");
    let (head, body) = answer.split_once("\r\n\r\n").unwrap_or_else(|| panic!("no answer: {answer:?}"));
    let status = head.split(' ').nth(1).and_then(|status| status.parse().ok()).expect("a status");
    (status, serde_json::from_str(body).unwrap_or_else(|_| panic!("not JSON: {body}")))
}
