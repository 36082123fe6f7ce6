//! A player of another process: a client, one link to the host, and a loop.

use std::net::{SocketAddr, TcpStream};
use std::sync::mpsc::{RecvTimeoutError, sync_channel};
use std::time::Duration;

use retick_core::client::EndReason;
use retick_core::wire::{CloseReason, MAX_ROOM_MESSAGE_BYTES};

use super::Failure;
use super::host::{MAX_ARRIVALS, Watch};
use super::link::{Arrival, Link};
use super::pilot::{Pilot, Seen};

/// How long the host may say nothing: it answers pings twice a second.
const SILENCE: Duration = Duration::from_secs(10);

/// Plays until the host ends the match.
pub fn play(host: SocketAddr, mut pilot: Pilot) -> Result<Seen, Failure> {
    let (watch, (arrived, arrivals)) = (Watch::start(), sync_channel(MAX_ARRIVALS));
    let link = Link::start(TcpStream::connect(host)?, 0, MAX_ROOM_MESSAGE_BYTES, arrived)?;
    pilot.client.handle_connected(watch.now());
    loop {
        let mut sent = Ok(());
        let end = pilot.turn(watch.now(), |bytes| {
            if sent.is_ok() {
                sent = link.send(bytes);
            }
        });
        match end {
            // What was confirmed before the end was sent before it, and is played.
            Some(EndReason::Closed(CloseReason::RoomEnded)) => break,
            Some(end) => return Err(end.into()),
            None => sent?,
        }
        let wait = pilot.client.next_timeout().map_or(SILENCE, |due| watch.until(due));
        match arrivals.recv_timeout(wait) {
            Ok(Arrival::Message { bytes, .. }) => {
                // Its end, if this is one, shows in the next turn.
                let _ = pilot.client.handle_message(&bytes, watch.now());
            }
            Ok(Arrival::Lost { .. }) | Err(RecvTimeoutError::Disconnected) => return Err("the host is gone".into()),
            Err(RecvTimeoutError::Timeout) => {}
        }
    }
    pilot.seen().ok_or_else(|| "no seat".into())
}
