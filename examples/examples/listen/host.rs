//! The host: one loop that is the room's driver and the host's own player at once.

use std::collections::BTreeMap;
use std::io::ErrorKind;
use std::net::TcpListener;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::time::{Duration, Instant};

use retick_authority::room::{
    ConnectionId, DEFAULT_CHECKSUM_CADENCE_TICKS, Output, Room, RoomConfig, RoomSecret, Verification,
};
use retick_core::digest::Digest;
use retick_core::frame::FrameChain;
use retick_core::identity::MatchDescriptor;
use retick_core::tick::{Moment, Tick};
use retick_core::wire::MAX_CLIENT_MESSAGE_BYTES;

use super::Failure;
use super::link::{Arrival, Link};
use super::pilot::{MATCH_TICKS, Pilot, Seen};

/// Most messages that wait for a loop; whoever sends more waits, and not the loop.
pub const MAX_ARRIVALS: usize = 1024;

/// The host's own connection to its room: no socket, only a number.
const OWN: ConnectionId = ConnectionId(0);
/// How often the loop looks for new players, at least.
const MAX_PAUSE: Duration = Duration::from_millis(10);
/// How long all of it may take.
const PATIENCE_NANOS: u64 = 30_000_000_000;
/// The last state of the match that everyone reports the checksum of.
const LAST_REPORT: Tick =
    Tick::new((MATCH_TICKS - 1) / DEFAULT_CHECKSUM_CADENCE_TICKS as u64 * DEFAULT_CHECKSUM_CADENCE_TICKS as u64 + 1);

/// Time since a start, as the machines want it.
pub struct Watch(Instant);

impl Watch {
    pub fn start() -> Watch {
        Watch(Instant::now())
    }

    pub fn now(&self) -> Moment {
        Moment::from_nanos(u64::try_from(self.0.elapsed().as_nanos()).unwrap_or(u64::MAX))
    }

    /// How long to wait for a moment.
    pub fn until(&self, due: Moment) -> Duration {
        Duration::from_nanos(due.as_nanos().saturating_sub(self.now().as_nanos()))
    }
}

/// A hosted match that is over.
pub struct Hosted {
    /// What the host's own player saw.
    pub own: Seen,
    /// The room's chain over the same ticks.
    pub room_chain_head: Digest,
}

/// The room, the host's player, and the links to the others.
pub struct Host {
    watch: Watch,
    room: Room,
    pilot: Pilot,
    listener: TcpListener,
    links: BTreeMap<u64, Link>,
    next_link: u64,
    arrived: SyncSender<Arrival>,
    arrivals: Receiver<Arrival>,
}

impl Host {
    /// Hosts a match, and connects its own player to it.
    pub fn new(descriptor: MatchDescriptor, pilot: Pilot, listener: TcpListener) -> Result<Host, Failure> {
        // A real room draws its secret from the operating system.
        let room = Room::new(RoomConfig::new(descriptor), RoomSecret([7; 32]))?;
        listener.set_nonblocking(true)?;
        let (arrived, arrivals) = sync_channel(MAX_ARRIVALS);
        let (watch, links) = (Watch::start(), BTreeMap::new());
        let mut host = Host { watch, room, pilot, listener, links, next_link: OWN.0 + 1, arrived, arrivals };
        let now = host.watch.now();
        host.room.handle_connected(OWN, now);
        host.pilot.client.handle_connected(now);
        Ok(host)
    }

    /// The game's loop: what arrived, the room's time, what the room wants, the own turn. A game draws where it waits here.
    pub fn play(mut self) -> Result<Hosted, Failure> {
        while !self.room.is_closed() {
            self.accept()?;
            self.take_arrivals();
            self.room.handle_timeout(self.watch.now());
            self.do_what_the_room_wants();
            self.play_own_turn();
            self.do_what_the_room_wants();
            if self.pilot.is_done() && self.room.verification(LAST_REPORT) == Verification::Agreed {
                // The host has seen enough; the others get all that was confirmed, and then are told.
                self.room.close(self.watch.now());
                self.do_what_the_room_wants();
            } else if self.watch.until(Moment::from_nanos(PATIENCE_NANOS)).is_zero() {
                return Err("the match did not come to its end in time".into());
            }
        }
        self.play_own_turn();
        let room_chain_head = self.chain_of_the_match()?;
        Ok(Hosted { own: self.pilot.seen().ok_or("the host has no seat")?, room_chain_head })
    }

    /// Takes in everyone who knocked.
    fn accept(&mut self) -> Result<(), Failure> {
        loop {
            let stream = match self.listener.accept() {
                Ok((stream, _)) => stream,
                Err(error) if error.kind() == ErrorKind::WouldBlock => return Ok(()),
                Err(error) => return Err(error.into()),
            };
            let number = self.next_link;
            self.next_link += 1;
            // A number of its own for each connection: the room never sees one twice.
            self.room.handle_connected(ConnectionId(number), self.watch.now());
            let link = Link::start(stream, number, MAX_CLIENT_MESSAGE_BYTES, self.arrived.clone())?;
            self.links.insert(number, link);
        }
    }

    /// Waits until something is due, and takes in what arrived until then.
    fn take_arrivals(&mut self) {
        let due = [self.room.next_timeout(), self.pilot.client.next_timeout()].into_iter().flatten().min();
        let pause = due.map_or(MAX_PAUSE, |due| self.watch.until(due).min(MAX_PAUSE));
        let Ok(first) = self.arrivals.recv_timeout(pause) else { return };
        self.take(first);
        for _ in 1..MAX_ARRIVALS {
            let Ok(arrival) = self.arrivals.try_recv() else { return };
            self.take(arrival);
        }
    }

    fn take(&mut self, arrival: Arrival) {
        let now = self.watch.now();
        match arrival {
            Arrival::Message { link, bytes } => self.room.handle_message(ConnectionId(link), &bytes, now),
            Arrival::Lost { link } => self.lose(link),
        }
    }

    fn lose(&mut self, link: u64) {
        // The room may have closed it itself, and then knows it no more.
        if self.links.remove(&link).is_some() {
            self.room.handle_disconnected(ConnectionId(link), self.watch.now());
        }
    }

    /// Carries out what the room says, in its order.
    fn do_what_the_room_wants(&mut self) {
        let mut lost = Vec::new();
        while let Some(output) = self.room.poll_output() {
            match output {
                Output::Transmit { to, bytes } => {
                    for connection in to {
                        if *connection == OWN {
                            // Its end, if this is one, shows in its next turn.
                            let _ = self.pilot.client.handle_message(bytes, self.watch.now());
                        } else if self.links.get(&connection.0).is_some_and(|link| link.send(bytes).is_err()) {
                            lost.push(connection.0);
                        }
                    }
                }
                Output::Close { connection, .. } => {
                    self.links.remove(&connection.0);
                }
                // A host that wants to go on after a crash keeps the records in a log.
                Output::Persist { .. } => {}
                Output::Event(event) => println!("the room: {event:?}"),
            }
        }
        lost.into_iter().for_each(|link| self.lose(link));
    }

    fn play_own_turn(&mut self) {
        let Host { room, pilot, watch, .. } = self;
        let now = watch.now();
        // Its end is the room's, which the loop knows.
        let _ = pilot.turn(now, |bytes| room.handle_message(OWN, bytes, now));
    }

    fn chain_of_the_match(&self) -> Result<Digest, Failure> {
        let mut chain = FrameChain::new(self.room.descriptor());
        for tick in 0..MATCH_TICKS {
            chain.extend(&self.room.frame(Tick::new(tick)).ok_or("the room has all of its frames")?);
        }
        Ok(chain.head())
    }
}
