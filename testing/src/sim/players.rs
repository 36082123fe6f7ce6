//! The players of a match and the links between them and the room: everything but the room itself.

use retick_authority::room::ConnectionId;
use retick_core::client::Client;
use retick_core::seat::Seat;
use retick_core::tick::{Moment, Tick};
use retick_core::wire::{ClientMessage, RoomMessage};

use super::client::ClientPlayer;
use super::observed::{ClientRecord, RawRecord};
use super::raw::{RawPlayer, RawSend};
use crate::net::{Delivery, Link, LinkProfile, Mailbox};

/// Something under way.
#[derive(Clone, Debug)]
pub(super) enum Parcel {
    /// A message to the room.
    ToRoom { connection: ConnectionId, player: usize, bytes: Vec<u8> },
    /// A message to a player.
    ToPlayer { connection: ConnectionId, player: usize, bytes: Vec<u8> },
    /// The end of a connection that the room closed.
    Hangup { connection: ConnectionId, player: usize },
    /// What a raw seat's script says, encoded when it is due.
    Scripted { player: usize, send: RawSend },
}

impl Parcel {
    fn connection(&self) -> Option<ConnectionId> {
        match self {
            Parcel::ToRoom { connection, .. }
            | Parcel::ToPlayer { connection, .. }
            | Parcel::Hangup { connection, .. } => Some(*connection),
            Parcel::Scripted { .. } => None,
        }
    }
}

/// Who plays a seat.
pub(super) enum Kind {
    Client(Box<ClientPlayer>),
    Raw(RawPlayer),
}

/// One player with its links.
pub(super) struct Player {
    pub(super) kind: Kind,
    pub(super) connection: Option<ConnectionId>,
    /// The tick of the lobby in which it connects; `None` for who comes while the match runs.
    pub(super) enters_at: Option<u64>,
    up: Link,
    /// Carries what is no input where the link may lose or reorder messages.
    up_control: Link,
    down: Link,
    /// The chunk of a snapshot that is damaged on its way to it, once.
    pub(super) damaged_chunk: Option<u32>,
    bytes_under_way: usize,
    most_bytes_under_way: usize,
}

impl Player {
    pub(super) fn new(kind: Kind, up: LinkProfile, down: LinkProfile, seed: u64, seat: usize) -> Player {
        assert_eq!(down.delivery, Delivery::Stream, "seat {seat}: what the room sends must arrive in order");
        let link = |profile, name: &str| Link::new(profile, seed, &format!("{name} {seat}"));
        let up_control = link(up.without_faults(), "control");
        let (up, down) = (link(up, "up"), link(down, "down"));
        Player {
            kind,
            connection: None,
            enters_at: Some(0),
            up,
            up_control,
            down,
            damaged_chunk: None,
            bytes_under_way: 0,
            most_bytes_under_way: 0,
        }
    }

    /// What arrives of a message.
    fn damage(&mut self, bytes: &[u8]) -> Vec<u8> {
        let mut arrived = bytes.to_vec();
        let is_hit =
            |index| matches!(RoomMessage::decode(bytes), Ok(RoomMessage::SnapshotChunk { index: i, .. }) if i == index);
        if self.damaged_chunk.is_some_and(is_hit) {
            self.damaged_chunk = None;
            // The chunk's own bytes are the last ones.
            let place = arrived.len() / 2;
            arrived[place] ^= 1;
        }
        arrived
    }

    fn link_for(&mut self, bytes: &[u8]) -> &mut Link {
        let stream = self.up.delivery() == Delivery::Stream;
        let input = matches!(ClientMessage::decode(bytes), Ok(ClientMessage::Inputs(_)));
        if stream || input { &mut self.up } else { &mut self.up_control }
    }
}

/// All players, and everything that is under way.
#[derive(Default)]
pub(super) struct Players {
    pub(super) list: Vec<Player>,
    pub(super) mailbox: Mailbox<Parcel>,
    next_connection: u64,
    /// In the lobby greetings take no time, so that seats are taken in order.
    pub(super) links_bypassed: bool,
}

impl Players {
    /// Opens a new connection for a player, and gives its number. The greeting is under way when this returns.
    pub(super) fn connect(&mut self, player: usize, now: Moment, at: Tick) -> ConnectionId {
        let connection = ConnectionId(self.next_connection);
        self.next_connection += 1;
        self.list[player].connection = Some(connection);
        match &mut self.list[player].kind {
            Kind::Client(client) => client.connected(now),
            Kind::Raw(raw) => {
                let hello = raw.hello();
                self.post_to_room(player, now, hello);
            }
        }
        self.drain(player, now, at);
        connection
    }

    /// Cuts a player's connection: what is under way on it is lost.
    pub(super) fn disconnect(&mut self, player: usize, now: Moment, at: Tick) -> Option<ConnectionId> {
        let connection = self.list[player].connection.take()?;
        self.mailbox.drop_if(|parcel| parcel.connection() == Some(connection));
        self.list[player].bytes_under_way = 0;
        if let Kind::Client(client) = &mut self.list[player].kind {
            client.disconnected(now);
        }
        self.drain(player, now, at);
        Some(connection)
    }

    pub(super) fn client_mut(&mut self, player: usize) -> Option<&mut Client> {
        match &mut self.list.get_mut(player)?.kind {
            Kind::Client(client) => Some(&mut client.client),
            Kind::Raw(_) => None,
        }
    }

    pub(super) fn client(&self, player: usize) -> Option<&Client> {
        match &self.list.get(player)?.kind {
            Kind::Client(client) => Some(&client.client),
            Kind::Raw(_) => None,
        }
    }

    /// Sends whatever a player has to say.
    pub(super) fn drain(&mut self, player: usize, now: Moment, at: Tick) {
        let mut messages = Vec::new();
        if let Kind::Client(client) = &mut self.list[player].kind {
            client.drain(at, |bytes| messages.push(bytes.to_vec()));
        }
        messages.into_iter().for_each(|bytes| self.post_to_room(player, now, bytes));
    }

    fn post_to_room(&mut self, player: usize, now: Moment, bytes: Vec<u8>) {
        let sender = &mut self.list[player];
        let Some(connection) = sender.connection else { return };
        if self.links_bypassed {
            return self.mailbox.post(now, Parcel::ToRoom { connection, player, bytes });
        }
        for due in sender.link_for(&bytes).send(now) {
            self.mailbox.post(due, Parcel::ToRoom { connection, player, bytes: bytes.clone() });
        }
    }

    /// Sends one message of the room's to a connection, if it is still somebody's.
    pub(super) fn post_to_connection(&mut self, connection: ConnectionId, now: Moment, bytes: &[u8]) {
        let Some(player) = self.list.iter().position(|player| player.connection == Some(connection)) else { return };
        let receiver = &mut self.list[player];
        receiver.bytes_under_way += bytes.len();
        receiver.most_bytes_under_way = receiver.most_bytes_under_way.max(receiver.bytes_under_way);
        let due = if self.links_bypassed { Some(now) } else { receiver.down.send(now).next() };
        if let Some(due) = due {
            let bytes = self.list[player].damage(bytes);
            self.mailbox.post(due, Parcel::ToPlayer { connection, player, bytes });
        }
    }

    /// The room closed a connection: its player learns of it behind everything that was sent to it.
    pub(super) fn post_hangup(&mut self, connection: ConnectionId, now: Moment) {
        let Some(player) = self.list.iter().position(|player| player.connection == Some(connection)) else { return };
        let due = if self.links_bypassed { Some(now) } else { self.list[player].down.send(now).next() };
        if let Some(due) = due {
            self.mailbox.post(due, Parcel::Hangup { connection, player });
        }
    }

    /// A message of the room's arrives at a player.
    pub(super) fn deliver(&mut self, player: usize, bytes: &[u8], now: Moment, at: Tick) {
        let receiver = &mut self.list[player];
        receiver.bytes_under_way = receiver.bytes_under_way.saturating_sub(bytes.len());
        match &mut receiver.kind {
            Kind::Client(client) => client.receive(bytes, now),
            Kind::Raw(raw) => {
                if let Some(answer) = raw.receive(bytes) {
                    self.post_to_room(player, now, answer);
                }
            }
        }
        self.drain(player, now, at);
    }

    /// What a raw seat says, as bytes on its connection.
    pub(super) fn encode(&self, player: usize, send: &RawSend) -> Option<(ConnectionId, Vec<u8>)> {
        let sender = self.list.get(player)?;
        match &sender.kind {
            Kind::Raw(raw) => Some((sender.connection?, raw.encode(send))),
            Kind::Client(_) => None,
        }
    }

    /// Everything observed so far of the players.
    pub(super) fn records(&mut self) -> (Vec<ClientRecord>, Vec<RawRecord>) {
        let (mut clients, mut raw_seats) = (Vec::new(), Vec::new());
        for (player, seat) in self.list.iter_mut().zip((0..).map_while(Seat::new)) {
            let (up, down) = (player.up.stats(), player.down.stats());
            match &mut player.kind {
                Kind::Client(client) => clients.push(client.record(up, down, player.most_bytes_under_way)),
                Kind::Raw(raw) => raw_seats.push(raw.record(seat)),
            }
        }
        (clients, raw_seats)
    }
}
