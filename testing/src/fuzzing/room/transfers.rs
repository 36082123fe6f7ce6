//! Snapshots of a made-up state, whose only byte is 0, and frames that a room's log lacks.

use retick_authority::room::ConnectionId;
use retick_core::digest::{Checksum, Digest};
use retick_core::frame::FrameRunWriter;
use retick_core::seat::{ControlEpoch, Generation, Presence};
use retick_core::snapshot::{LastInput, Snapshot};
use retick_core::tick::Tick;
use retick_core::wire::{ClientMessage, Frames, NoSnapshot, ReleaseTag, SnapshotHeader, TransferId};

use super::honest::say;
use super::script::Script;
use super::table::Table;

/// Whoever was asked last gives what it was asked for, this one first.
pub(super) fn donate(table: &mut Table, connection: ConnectionId, fault: u8) {
    let wanted = |it: &ConnectionId| table.peers.get(it).filter(|peer| peer.is_open)?.wanted;
    let others = table.peers.keys().rev().copied();
    let asked = std::iter::once(connection).chain(others).find_map(|it| Some((it, wanted(&it)?)));
    let Some((connection, (transfer, tick))) = asked else { return };
    let descriptor = table.room.descriptor();
    let last = LastInput::new(&[0; 4], Presence::Human, ControlEpoch(1));
    let mut bytes = Snapshot::new(descriptor, tick, vec![last; descriptor.seats().count()], &[0]).to_bytes();
    let header = header(transfer, descriptor.generation(), tick, &bytes);
    say(table, connection, &ClientMessage::SnapshotOffer(header));
    match fault {
        1 => bytes.iter_mut().skip(60).take(1).for_each(|byte| *byte ^= 1),
        2 => bytes.truncate(20),
        3 => return,
        _ => {}
    }
    say(table, connection, &ClientMessage::SnapshotChunk { transfer, index: 0, bytes: &bytes });
}

fn header(transfer: TransferId, generation: Generation, tick: Tick, bytes: &[u8]) -> SnapshotHeader {
    let byte_count = u32::try_from(bytes.len()).unwrap_or(u32::MAX);
    SnapshotHeader { transfer, generation, tick, checksum: Checksum::of(&[0]), byte_count, digest: Digest::of(bytes) }
}

/// Answers the snapshot that was offered last.
pub(super) fn download(table: &mut Table, connection: ConnectionId, fault: u8) {
    let Some(header) = table.peers.get(&connection).and_then(|peer| peer.offered) else { return };
    let transfer = header.transfer;
    let next = match fault {
        1 => return say(table, connection, &ClientMessage::SnapshotFailed { transfer }),
        2 => 0,
        3 => 9,
        _ => header.chunk_count(),
    };
    say(table, connection, &ClientMessage::SnapshotProgress { transfer, next });
}

pub(super) fn transfer(table: &mut Table, connection: ConnectionId, script: &mut Script<'_>) {
    let (kind, number) = (script.below(5), u32::from(script.below(20)));
    let transfer = TransferId(u64::from(script.below(8)));
    let generation = table.room.descriptor().generation();
    let message = match kind {
        0 => ClientMessage::SnapshotRefused { transfer, cause: NoSnapshot::TooLarge },
        1 => ClientMessage::SnapshotProgress { transfer, next: number },
        2 => ClientMessage::SnapshotFailed { transfer },
        3 => ClientMessage::SnapshotChunk { transfer, index: number, bytes: &[1, 2, 3] },
        _ => ClientMessage::SnapshotOffer(header(transfer, generation, Tick::new(u64::from(number)), &[7])),
    };
    say(table, connection, &message);
}

/// Gives the room the frames back that its log lacks, as far as the peer has them.
pub(super) fn give_back(table: &mut Table, connection: ConnectionId, forges: bool) {
    let first = table.room.frontier();
    let Some(peer) = table.peers.get(&connection) else { return };
    let behind: Vec<_> = peer.kept.iter().skip_while(|frame| frame.tick() < first).collect();
    let starts_there = behind.first().is_some_and(|frame| frame.tick() == first);
    let Some(last) = behind.last().filter(|_| starts_there) else { return };
    let (end, generation) = (last.tick().saturating_add(1), last.generation());
    let mut tag = peer.tags.iter().find(|(tick, _)| *tick == end).map_or(ReleaseTag::default(), |(_, tag)| *tag);
    if forges {
        tag.0[0] ^= 1;
    }
    let mut run = FrameRunWriter::default();
    for (index, frame) in behind.iter().enumerate() {
        run.push(frame, index.checked_sub(1).map(|before| behind[before]));
    }
    let frames = Frames { generation, first, count: run.count(), complete: true, tag, body: run.body() };
    let mut bytes = Vec::new();
    ClientMessage::Tail(frames).encode_into(&mut bytes);
    table.send(connection, &bytes);
}
