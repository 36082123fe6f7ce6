//! Messages over a TCP stream: each behind its length, four bytes, little-endian.

use std::io::{self, ErrorKind, Read, Write};
use std::net::{Shutdown, TcpStream};
use std::sync::mpsc::{Receiver, SyncSender, TrySendError, sync_channel};
use std::thread;
use std::time::Duration;

/// Most messages that wait to be written. Who reads so slowly is given up, and nobody else waits for it.
const MAX_UNSENT_MESSAGES: usize = 256;
/// How long one write may take.
const WRITE_TIMEOUT: Duration = Duration::from_secs(2);

/// Something that comes from a link.
pub enum Arrival {
    /// A message.
    Message { link: u64, bytes: Vec<u8> },
    /// Its end.
    Lost { link: u64 },
}

/// One stream, read and written by two threads. Dropping it writes what waits, and closes it.
pub struct Link {
    unsent: SyncSender<Vec<u8>>,
}

impl Link {
    /// Reads messages of at most `longest` bytes into `arrivals`, under this number.
    pub fn start(stream: TcpStream, number: u64, longest: usize, arrivals: SyncSender<Arrival>) -> io::Result<Link> {
        stream.set_nonblocking(false)?;
        stream.set_nodelay(true)?;
        stream.set_write_timeout(Some(WRITE_TIMEOUT))?;
        let reader = stream.try_clone()?;
        let (unsent, queue) = sync_channel(MAX_UNSENT_MESSAGES);
        thread::spawn(move || read(reader, number, longest, &arrivals));
        thread::spawn(move || write(stream, &queue));
        Ok(Link { unsent })
    }

    /// Queues a message, without waiting for anything. An error is the end of the link.
    pub fn send(&self, message: &[u8]) -> Result<(), TrySendError<Vec<u8>>> {
        self.unsent.try_send(message.to_vec())
    }
}

fn read(mut stream: TcpStream, link: u64, longest: usize, arrivals: &SyncSender<Arrival>) {
    while let Ok(bytes) = read_message(&mut stream, longest) {
        if arrivals.send(Arrival::Message { link, bytes }).is_err() {
            return;
        }
    }
    // Who does not listen any more knows that it is over.
    let _ = arrivals.send(Arrival::Lost { link });
}

fn read_message(stream: &mut impl Read, longest: usize) -> io::Result<Vec<u8>> {
    let mut length = [0; 4];
    stream.read_exact(&mut length)?;
    let length = u32::from_le_bytes(length);
    if usize::try_from(length).map_or(true, |length| length > longest) {
        return Err(ErrorKind::InvalidData.into());
    }
    // The buffer grows with what arrives, and not with what was announced.
    let mut message = Vec::new();
    stream.take(u64::from(length)).read_to_end(&mut message)?;
    let whole = u32::try_from(message.len()) == Ok(length);
    if whole { Ok(message) } else { Err(ErrorKind::UnexpectedEof.into()) }
}

fn write(mut stream: TcpStream, queue: &Receiver<Vec<u8>>) {
    for message in queue {
        let Ok(length) = u32::try_from(message.len()) else { break };
        let framed = [&length.to_le_bytes(), message.as_slice()].concat();
        if stream.write_all(&framed).is_err() {
            break;
        }
    }
    // It may be closed from the other side already.
    let _ = stream.shutdown(Shutdown::Both);
}
