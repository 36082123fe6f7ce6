//! What an honest peer does: it greets, plays, reports, and comes back with what it has.

use retick_authority::room::ConnectionId;
use retick_core::digest::Checksum;
use retick_core::tick::Tick;
use retick_core::wire::{ClientMessage, Entry, Hello, InputRun, Inputs, PROTOCOL_VERSION, PlayerId, ResumeToken};

use super::table::Table;

pub(super) fn say(table: &mut Table, connection: ConnectionId, message: &ClientMessage<'_>) {
    let mut bytes = Vec::new();
    message.encode_into(&mut bytes);
    table.send(connection, &bytes);
}

fn greet(table: &mut Table, connection: ConnectionId, entry: Entry<'_>) {
    let identity = table.room.descriptor().identity();
    say(table, connection, &ClientMessage::Hello(Hello { protocol: PROTOCOL_VERSION, identity, entry }));
}

pub(super) fn join(table: &mut Table, connection: ConnectionId) {
    greet(table, connection, Entry::Join { ticket: b"ticket" });
}

pub(super) fn enter(table: &mut Table) {
    let connection = table.connect();
    if connection.0.is_multiple_of(3) {
        let player = PlayerId([u8::try_from(connection.0 % 4).unwrap_or_default(); 32]);
        table.room.handle_admitted(connection, player);
    }
    join(table, connection);
    let generation = table.room.descriptor().generation();
    say(table, connection, &ClientMessage::Ready { generation });
}

pub(super) fn observe(table: &mut Table, behind: u8) {
    let connection = table.connect();
    let generation = table.room.descriptor().generation();
    let next = table.room.frontier().saturating_sub(u64::from(behind));
    let fence = table.room.fence_before(next);
    greet(table, connection, Entry::Observe { ticket: b"", generation, next, fence });
}

/// The owner of the seat that `of` was given comes back on another transport, without the newest `behind` of its frames.
pub(super) fn greet_again(table: &mut Table, of: ConnectionId, behind: u64, forges: bool) -> Option<ConnectionId> {
    let peer = table.peers.get(&of)?;
    let (seat, generation) = (peer.seat?, peer.generation);
    let token = peer.token.filter(|_| !forges).unwrap_or(ResumeToken([7; 32]));
    let (mut kept, tags) = (peer.kept.clone(), peer.tags.clone());
    let next = peer.next.unwrap_or_default().saturating_sub(behind);
    kept.retain(|frame| frame.tick() < next);
    let newest = kept.last().filter(|frame| frame.tick().saturating_add(1) == next);
    let fence = newest.map(|frame| frame.fence());
    let connection = table.connect();
    if let Some(peer) = table.peers.get_mut(&connection) {
        // What it had, it still has.
        (peer.kept, peer.tags) = (kept, tags);
    }
    greet(table, connection, Entry::Resume { seat, token, generation, next, fence });
    Some(connection)
}

fn seated(table: &Table) -> Vec<ConnectionId> {
    let is_seated = table.peers.iter().filter(|(_, peer)| peer.is_open && peer.seat.is_some());
    is_seated.map(|(connection, _)| *connection).collect()
}

/// Whoever is seated says what it does in the next tick, and time passes.
pub(super) fn play(table: &mut Table) {
    let tick = table.room.frontier();
    let input = [u8::try_from(tick.index() % 5).unwrap_or_default() + 1; 4];
    seated(table).into_iter().for_each(|connection| send_inputs(table, connection, tick, &input, 1));
    table.step();
}

pub(super) fn send_inputs(table: &mut Table, connection: ConnectionId, first: Tick, bytes: &[u8], count: u32) {
    let Some(peer) = table.peers.get(&connection) else { return };
    let (generation, epoch) = (peer.generation, peer.epoch);
    let Some(inputs) = InputRun::new(count, bytes) else { return };
    say(table, connection, &ClientMessage::Inputs(Inputs { generation, epoch, first, inputs }));
}

pub(super) fn report(table: &mut Table, connection: ConnectionId, tick: Tick, odd: bool) {
    let generation = table.room.descriptor().generation();
    let checksum = Checksum::of(&[u8::from(odd)]);
    say(table, connection, &ClientMessage::Report { generation, tick, checksum });
}

/// Everyone reports the newest state that is due; the first of them something else, if it is `odd`.
pub(super) fn report_all(table: &mut Table, odd: bool) {
    let tick = Tick::new(table.room.frontier().index().saturating_sub(1) / 10 * 10 + 1);
    for (index, connection) in seated(table).into_iter().enumerate() {
        report(table, connection, tick, odd && index == 0);
    }
}
