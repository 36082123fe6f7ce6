//! How one authority tick runs: what is scheduled, deliveries, the room's outputs, and turns.

use retick_authority::log::FrameLog;
use retick_authority::room::{ConnectionId, Output};
use retick_core::client::Client;
use retick_core::tick::{Moment, Tick};
use retick_core::wire::ClientMessage;

use super::SimulatedMatch;
use super::players::{Kind, Parcel};
use super::setup::Happening;

impl SimulatedMatch {
    pub(super) fn moment_of(&self, tick: Tick) -> Moment {
        self.origin.plus_nanos(self.rate.moment_of(tick).as_nanos())
    }

    pub(super) fn run_happenings(&mut self, now: Moment) {
        let (tick, happenings) = (self.tick, std::mem::take(&mut self.happenings));
        for (at, happening) in &happenings {
            if *at == tick {
                self.run_happening(*happening, now);
            }
        }
        self.happenings = happenings;
    }

    pub(super) fn run_happening(&mut self, happening: Happening, now: Moment) {
        match happening {
            Happening::Disconnect(player) => {
                if let Some(connection) = self.players.disconnect(player, now, self.tick) {
                    self.room.handle_disconnected(connection, now);
                    self.drain_room(now);
                }
            }
            Happening::Reconnect(player) => self.connect(player, now),
            Happening::Leave(player) => {
                let left = self.players.client_mut(player).map(Client::leave);
                assert!(left.as_ref().is_none_or(|left| left.is_ok()), "seat {player} can't leave: {left:?}");
                self.players.drain(player, now, self.tick);
            }
        }
    }

    pub(super) fn connect(&mut self, player: usize, now: Moment) {
        let connection = self.players.connect(player, now, self.tick);
        self.room.handle_connected(connection, now);
        self.drain_room(now);
    }

    /// Delivers everything that is due, in the order of sending, with all that follows from it without delay.
    pub(super) fn deliver_due(&mut self, now: Moment) {
        while let Some(parcel) = self.players.mailbox.pop_due(now) {
            match parcel {
                Parcel::ToRoom { connection, player, bytes } => self.deliver_to_room(connection, player, &bytes, now),
                Parcel::ToPlayer { player, bytes, .. } => self.players.deliver(player, &bytes, now, self.tick),
                Parcel::Hangup { player, .. } => drop(self.players.disconnect(player, now, self.tick)),
                Parcel::Scripted { player, send } => {
                    if let Some((connection, bytes)) = self.players.encode(player, &send) {
                        self.deliver_to_room(connection, player, &bytes, now);
                    }
                }
            }
        }
    }

    fn deliver_to_room(&mut self, connection: ConnectionId, player: usize, bytes: &[u8], now: Moment) {
        let unread = self.unread_messages();
        self.room.handle_message(connection, bytes, now);
        let was_read = self.unread_messages() == unread;
        if let (Ok(ClientMessage::Inputs(inputs)), Some(count), true) =
            (ClientMessage::decode(bytes), self.delivered_inputs.get_mut(player), was_read)
        {
            *count += inputs.inputs.len() as u64;
        }
        self.drain_room(now);
    }

    /// Messages whose content the room did not look at.
    fn unread_messages(&self) -> u64 {
        let stats = self.room.stats();
        stats.stray_messages + stats.over_budget_connections
    }

    pub(super) fn drain_room(&mut self, now: Moment) {
        loop {
            let persisted = match self.room.poll_output() {
                None => return,
                Some(Output::Persist { sequence, record }) => {
                    let kept = self.log.append(sequence, record);
                    assert!(kept.is_ok(), "seed {}: the log did not take record {sequence}: {kept:?}", self.seed);
                    sequence
                }
                Some(Output::Transmit { to, bytes }) => {
                    to.iter().for_each(|connection| self.players.post_to_connection(*connection, now, bytes));
                    if let Some(referee) = &mut self.referee {
                        referee.post(to, bytes);
                    }
                    continue;
                }
                Some(Output::Close { connection, .. }) => {
                    self.players.post_hangup(connection, now);
                    if let Some(referee) = &mut self.referee {
                        referee.hang_up(connection, now);
                    }
                    continue;
                }
                Some(Output::Event(event)) => {
                    self.room_events.push((self.tick, event));
                    if let Some(referee) = &mut self.referee {
                        referee.note(&event, now);
                    }
                    continue;
                }
            };
            self.room.handle_persisted(persisted);
        }
    }

    pub(super) fn take_turns(&mut self, now: Moment, at: Option<Tick>) {
        for player in 0..self.players.list.len() {
            let mut last = None;
            while let Some(due) = self.turn(player, now, last, at) {
                self.players.drain(player, due, self.tick);
                last = Some(due);
            }
        }
    }

    /// Lets a client take one turn that is due up to `now`, after `last`, and gives its moment.
    fn turn(&mut self, player: usize, now: Moment, last: Option<Moment>, at: Option<Tick>) -> Option<Moment> {
        let Kind::Client(client) = &mut self.players.list[player].kind else { return None };
        let due = client.next_turn(now, last)?;
        client.turn(due, at, self.last_tick);
        Some(due)
    }
}
