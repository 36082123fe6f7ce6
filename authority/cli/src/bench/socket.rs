//! A client's WebSocket, as light as one can be: the opening, and frames of a few bytes. It believes the server everything.

use std::io::{self, ErrorKind, Read, Write};
use std::net::SocketAddr;
use std::time::Duration;

use mio::net::TcpStream;

/// How long an opening may take.
const OPENING: Duration = Duration::from_secs(10);
/// Most bytes of an answer's header.
const MAX_HEADER_BYTES: usize = 8 * 1024;
/// Most bytes of a message that is sent: those whose length takes one byte.
const MAX_SENT_BYTES: usize = 125;
/// Bytes before a sent message: kind, length, and the mask, which is zero and changes nothing.
const SENT_HEADER_BYTES: usize = 6;

/// The frames that matter here.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Kind {
    Binary = 2,
    Close = 8,
    Ping = 9,
    Pong = 10,
}

/// One open WebSocket that doesn't block.
pub(super) struct Socket {
    pub(super) stream: TcpStream,
    /// The beginning of a frame whose end has not come yet.
    unread: Vec<u8>,
}

impl Socket {
    /// Opens one, and waits for it.
    pub(super) fn open(address: SocketAddr, path: &str) -> io::Result<Socket> {
        let mut stream = std::net::TcpStream::connect(address)?;
        stream.set_nodelay(true)?;
        stream.set_read_timeout(Some(OPENING))?;
        let head = format!(
            "GET {path} HTTP/1.1\r\nHost: {address}\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\
             Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: cmV0aWNrIGxvYWQgdGVzdA==\r\n\r\n"
        );
        stream.write_all(head.as_bytes())?;
        // A byte at a time: what follows the header belongs to the frames.
        let (mut answer, mut byte) = (Vec::new(), [0]);
        while !answer.ends_with(b"\r\n\r\n") && answer.len() < MAX_HEADER_BYTES {
            stream.read_exact(&mut byte)?;
            answer.extend_from_slice(&byte);
        }
        if !answer.starts_with(b"HTTP/1.1 101") {
            let line = String::from_utf8_lossy(&answer).lines().next().unwrap_or_default().to_owned();
            return Err(io::Error::other(format!("{path}: {line}")));
        }
        stream.set_nonblocking(true)?;
        Ok(Socket { stream: TcpStream::from_std(stream), unread: Vec::new() })
    }

    /// Sends one message, or says that it could not be sent whole.
    pub(super) fn send(&mut self, kind: Kind, message: &[u8]) -> io::Result<()> {
        let mut frame = [0; SENT_HEADER_BYTES + MAX_SENT_BYTES];
        let length = u8::try_from(message.len()).ok().filter(|length| usize::from(*length) <= MAX_SENT_BYTES);
        let length = length.ok_or(ErrorKind::InvalidInput)?;
        (frame[0], frame[1]) = (0x80 | kind as u8, 0x80 | length);
        let end = SENT_HEADER_BYTES + message.len();
        frame[SENT_HEADER_BYTES..end].copy_from_slice(message);
        if self.stream.write(&frame[..end])? == end { Ok(()) } else { Err(ErrorKind::WriteZero.into()) }
    }

    /// Reads what has come, and gives each whole message to `each`.
    pub(super) fn receive(&mut self, buffer: &mut [u8], mut each: impl FnMut(Kind, &[u8])) -> io::Result<()> {
        loop {
            let read = match self.stream.read(buffer) {
                Ok(0) => return Err(ErrorKind::UnexpectedEof.into()),
                Ok(read) => read,
                Err(error) if error.kind() == ErrorKind::WouldBlock => return Ok(()),
                Err(error) => return Err(error),
            };
            let all_was_read = read < buffer.len();
            if self.unread.is_empty() {
                let used = parse(&buffer[..read], &mut each)?;
                self.unread.extend_from_slice(&buffer[used..read]);
            } else {
                self.unread.extend_from_slice(&buffer[..read]);
                let used = parse(&self.unread, &mut each)?;
                self.unread.drain(..used);
            }
            if all_was_read {
                return Ok(());
            }
        }
    }
}

/// Gives each whole frame to `each`, and how many bytes they took.
fn parse(bytes: &[u8], each: &mut impl FnMut(Kind, &[u8])) -> io::Result<usize> {
    let mut used = 0;
    while let Some((kind, start, end)) = next_frame(&bytes[used..]) {
        let Some(message) = bytes.get(used + start..used + end) else { break };
        each(kind.ok_or(ErrorKind::InvalidData)?, message);
        used += end;
    }
    Ok(used)
}

/// What the header at the front says: the kind, unless it is another, and where the message begins and ends.
fn next_frame(bytes: &[u8]) -> Option<(Option<Kind>, usize, usize)> {
    let (first, length) = (*bytes.first()?, *bytes.get(1)?);
    let (start, length) = match length {
        126 => (4, usize::from(u16::from_be_bytes(*bytes.get(2..)?.first_chunk()?))),
        127 => (10, usize::try_from(u64::from_be_bytes(*bytes.get(2..)?.first_chunk()?)).ok()?),
        length => (2, usize::from(length)),
    };
    let kinds = [Kind::Binary, Kind::Close, Kind::Ping, Kind::Pong];
    let kind = kinds.into_iter().find(|kind| 0x80 | *kind as u8 == first);
    Some((kind, start, start.checked_add(length)?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn frames_are_taken_apart_wherever_reads_cut_them() {
        let long = [&[0x82, 126, 1, 0][..], &[7; 256]].concat();
        let bytes = [&[0x82, 2, b'a', b'b'][..], &long, &[0x89, 0], &[0x82, 1]].concat();
        let (mut seen, mut each) = (Vec::new(), Vec::new());
        for end in 0..=bytes.len() {
            each.clear();
            let used =
                parse(&bytes[..end], &mut |kind, message: &[u8]| each.push((kind, message.len()))).expect("frames");
            assert!(used <= end && each.starts_with(&seen), "{end}: {each:?} after {seen:?}");
            seen.clone_from(&each);
        }
        assert_eq!(seen, [(Kind::Binary, 2), (Kind::Binary, 256), (Kind::Ping, 0)]);
        assert!(parse(&[0x81, 1, b'a'], &mut |_, _: &[u8]| ()).is_err(), "a text");
    }
}
