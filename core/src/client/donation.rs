//! Snapshots: giving one to the room, and being built from one (A7).
//!
//! A client gives one at a time, and at most one chunk in a turn, so that its play goes on beside it. It is built from one when
//! its greeting says so: then it has no frame and no input before the snapshot is there, verified and taken.

use alloc::collections::VecDeque;
use alloc::vec::Vec;

use super::outbox::Outbox;
use super::{Client, ClientEvent, EndReason};
use crate::codec::wire::Cursor;
use crate::digest::{Checksum, Digest};
use crate::frame::Frame;
use crate::seat::Seat;
use crate::session::Session;
use crate::snapshot::{Snapshot, SnapshotError};
use crate::tick::Tick;
use crate::wire::{
    Assembly, Chunk, ChunkError, ClientMessage, NoSnapshot, RoomMessage, SNAPSHOT_CHUNK_BYTES, SNAPSHOT_WINDOW_CHUNKS,
    SnapshotHeader, TransferId,
};

/// Most requests for a snapshot that wait for their turn; one beyond is refused.
pub const MAX_QUEUED_DONATIONS: usize = 2;
/// Chunks of a donation that are under way: half of what may be, for the client's inputs stand behind them.
pub const DONATION_WINDOW_CHUNKS: u32 = SNAPSHOT_WINDOW_CHUNKS / 2;

/// Why a snapshot was not taken. The session was not touched.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum HydrationError {
    /// What arrived is not what was announced.
    #[error("{0}")]
    Chunk(#[from] ChunkError),
    /// It is not a snapshot of this match, or its state has another checksum.
    #[error("{0}")]
    Snapshot(#[from] SnapshotError),
    /// It is of another state than was announced.
    #[error("a snapshot of S({found}), where S({expected}) was announced")]
    Other {
        /// The announced state.
        expected: Tick,
        /// The snapshot's.
        found: Tick,
    },
}

/// A snapshot on its way to the room.
#[derive(Debug)]
struct Giving {
    header: SnapshotHeader,
    bytes: Vec<u8>,
    sent: u32,
    acknowledged: u32,
}

/// A snapshot on its way from the room.
#[derive(Debug)]
struct Taking {
    assembly: Assembly,
    purpose: Purpose,
}

/// What a snapshot is for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Purpose {
    /// The session is built from it. Whether the room knew of another seat's report of the state.
    Hydration { verified: bool },
    /// The session has gone wrong, and plays on meanwhile (A13).
    Repair,
}

/// Inputs that were sampled and not confirmed. A tick is sampled once (N2), also where the session is built from an older state.
struct Sampled {
    seat: Seat,
    first: Tick,
    inputs: Vec<Vec<u8>>,
}

impl Sampled {
    /// Those of `seat` that are still of use at `S(tick)`.
    fn beyond(session: &Session, seat: Seat, tick: Tick) -> Sampled {
        let next = session.next_input(seat).max(tick);
        let first = session.received().max(tick).min(next);
        let ticks = (0..next.since(first)).map(|offset| first.saturating_add(offset));
        let inputs = ticks.map_while(|tick| session.local_input(seat, tick).map(<[u8]>::to_vec)).collect();
        Sampled { seat, first, inputs }
    }

    fn give_back(self, session: &mut Session) {
        session.take_part_from(self.seat, self.first);
        for (input, offset) in self.inputs.iter().zip(0..) {
            // Beyond what may be submitted nothing was sent either.
            if session.submit(self.seat, self.first.saturating_add(offset), input).is_err() {
                break;
            }
        }
    }
}

/// What a client has to do with snapshots.
#[derive(Debug, Default)]
pub(super) struct Transfers {
    wanted: VecDeque<(TransferId, Tick)>,
    giving: Option<Giving>,
    /// Whether this turn has sent its chunk.
    has_sent: bool,
    /// The greeting told to wait for a snapshot.
    awaiting: bool,
    /// Kept across a lost transport, for the room may go on with the same one.
    taking: Option<Taking>,
}

impl Transfers {
    /// Whether the session is to be built from a snapshot that is not there yet.
    pub(super) fn is_awaiting(&self) -> bool {
        self.awaiting
    }

    /// A turn begins, and with it another chunk's worth of the transport.
    pub(super) fn begin_turn(&mut self) {
        self.has_sent = false;
    }

    /// A connection was greeted.
    pub(super) fn handle_welcome(&mut self, awaiting: bool) {
        self.awaiting = awaiting;
        self.taking = self.taking.take().filter(|taking| awaiting && taking.purpose != Purpose::Repair);
    }

    /// The transport is gone: the room has given up what was under way to it.
    pub(super) fn handle_disconnected(&mut self) {
        self.wanted.clear();
        self.giving = None;
    }

    /// The room sends all frames that are missing instead.
    pub(super) fn handle_frames(&mut self) {
        self.awaiting = false;
        self.taking = self.taking.take().filter(|taking| taking.purpose == Purpose::Repair);
    }

    fn want(&mut self, transfer: TransferId, tick: Tick, outbox: &mut Outbox) {
        if self.wanted.len() < MAX_QUEUED_DONATIONS {
            self.wanted.push_back((transfer, tick));
        } else {
            refuse(transfer, NoSnapshot::NoDonor, outbox);
        }
    }

    fn cancel(&mut self, transfer: TransferId) {
        self.wanted.retain(|(wanted, _)| *wanted != transfer);
        self.giving = self.giving.take().filter(|giving| giving.header.transfer != transfer);
    }

    fn acknowledge(&mut self, transfer: TransferId, next: u32) {
        let Some(giving) = self.giving.as_mut().filter(|giving| giving.header.transfer == transfer) else { return };
        giving.acknowledged = giving.acknowledged.max(next).min(giving.sent);
        if giving.acknowledged >= giving.header.chunk_count() {
            self.giving = None;
        }
    }

    /// Does a turn's share for the room: begins what it wants, and sends at most one chunk.
    pub(super) fn give(&mut self, session: &mut Session, outbox: &mut Outbox) {
        if self.giving.is_none()
            && let Some((transfer, tick)) = self.wanted.pop_front()
        {
            self.giving = begin(session, transfer, tick, outbox);
        }
        let Some(giving) = &mut self.giving else { return };
        let window = giving.acknowledged.saturating_add(DONATION_WINDOW_CHUNKS).min(giving.header.chunk_count());
        if giving.sent < window && !self.has_sent {
            self.has_sent = true;
            let (transfer, index) = (giving.header.transfer, giving.sent);
            let start = index as usize * SNAPSHOT_CHUNK_BYTES;
            let bytes = &giving.bytes[start..start + giving.header.chunk_bytes(index) as usize];
            outbox.push_message(|out| ClientMessage::SnapshotChunk { transfer, index, bytes }.encode_into(out));
            giving.sent += 1;
        }
    }
}

fn refuse(transfer: TransferId, cause: NoSnapshot, outbox: &mut Outbox) {
    outbox.push_message(|out| ClientMessage::SnapshotRefused { transfer, cause }.encode_into(out));
}

/// Makes the snapshot and offers it; or says why not.
fn begin(session: &mut Session, transfer: TransferId, tick: Tick, outbox: &mut Outbox) -> Option<Giving> {
    let exported = session.export_snapshot(tick).map(Snapshot::without_frames);
    let (checksum, bytes) = match exported {
        Ok(snapshot) => (snapshot.checksum(), snapshot.to_bytes()),
        Err(error) => {
            let too_large = matches!(error, SnapshotError::TooLarge { .. });
            refuse(transfer, if too_large { NoSnapshot::TooLarge } else { NoSnapshot::NoState }, outbox);
            return None;
        }
    };
    let (generation, digest) = (session.descriptor().generation(), Digest::of(&bytes));
    let byte_count = u32::try_from(bytes.len()).unwrap_or(u32::MAX);
    let header = SnapshotHeader { transfer, generation, tick, checksum, byte_count, digest };
    outbox.push_message(|out| ClientMessage::SnapshotOffer(header).encode_into(out));
    Some(Giving { header, bytes, sent: 0, acknowledged: 0 })
}

impl Client {
    /// Takes a message about snapshots.
    pub(super) fn take_transfer(&mut self, message: &RoomMessage<'_>) -> Result<(), EndReason> {
        match *message {
            RoomMessage::SnapshotWanted { transfer, generation, tick } => {
                self.check_generation(generation)?;
                self.transfers.want(transfer, tick, &mut self.outbox);
            }
            RoomMessage::SnapshotProgress { transfer, next } => self.transfers.acknowledge(transfer, next),
            RoomMessage::SnapshotCanceled { transfer } => self.transfers.cancel(transfer),
            RoomMessage::Snapshot { ref header, verified } => return self.take_header(header, verified),
            RoomMessage::Repair { ref header } => return self.take_repair(header),
            RoomMessage::SnapshotChunk { transfer, index, bytes } => return self.take_chunk(transfer, index, bytes),
            RoomMessage::NoSnapshot { cause } => self.outbox.push_event(ClientEvent::NoSnapshot { cause }),
            _ => return Err(EndReason::Protocol),
        }
        Ok(())
    }

    /// A snapshot is announced. If some of its chunks are there from a connection before, it goes on behind them.
    fn take_header(&mut self, header: &SnapshotHeader, verified: bool) -> Result<(), EndReason> {
        self.check_generation(header.generation)?;
        let received = self.session.as_ref().map_or(Tick::ZERO, Session::received);
        if header.tick < received {
            return Err(EndReason::Protocol);
        }
        self.transfers.awaiting = true;
        let kept = self.transfers.taking.take().and_then(|mut taking| {
            let same = taking.assembly.resume(header);
            same.then_some(taking.assembly)
        });
        let assembly = kept.unwrap_or_else(|| Assembly::new(*header));
        self.transfers.taking = Some(Taking { assembly, purpose: Purpose::Hydration { verified } });
        self.acknowledge_chunks();
        self.take_if_complete();
        Ok(())
    }

    /// A snapshot is announced that puts this client right. One that is built from another snapshot just now needs none.
    fn take_repair(&mut self, header: &SnapshotHeader) -> Result<(), EndReason> {
        self.check_generation(header.generation)?;
        if self.transfers.awaiting || self.session.is_none() {
            let transfer = header.transfer;
            self.outbox.push_message(|out| ClientMessage::SnapshotFailed { transfer }.encode_into(out));
            return Ok(());
        }
        self.transfers.taking = Some(Taking { assembly: Assembly::new(*header), purpose: Purpose::Repair });
        self.acknowledge_chunks();
        Ok(())
    }

    /// One that is part of no transfer, or that can't be part of this one, breaks the protocol: the room sends them in order.
    fn take_chunk(&mut self, transfer: TransferId, index: u32, bytes: &[u8]) -> Result<(), EndReason> {
        let Some(Taking { assembly, purpose }) = &mut self.transfers.taking else { return Ok(()) };
        let purpose = *purpose;
        match assembly.take(transfer, index, bytes) {
            Ok(Chunk::New) => {}
            // What is left of a transfer that ended may still be under way.
            Ok(Chunk::Duplicate) | Err(ChunkError::OtherTransfer) => return Ok(()),
            Err(_) => return Err(EndReason::Protocol),
        }
        let (received_bytes, total_bytes) = (assembly.received_bytes(), assembly.header().byte_count);
        let is_complete = assembly.is_complete();
        if purpose != Purpose::Repair {
            self.outbox.push_event(ClientEvent::Hydrating { received_bytes, total_bytes });
        }
        if !is_complete {
            self.acknowledge_chunks();
        }
        self.take_if_complete();
        Ok(())
    }

    /// Tells the room how far the download is. That of the last chunk says that the state was taken.
    fn acknowledge_chunks(&mut self) {
        let Some(Taking { assembly, .. }) = &self.transfers.taking else { return };
        let (transfer, next) = (assembly.header().transfer, assembly.next());
        if !assembly.is_complete() {
            self.outbox.push_message(|out| ClientMessage::SnapshotProgress { transfer, next }.encode_into(out));
        }
    }

    fn take_if_complete(&mut self) {
        if self.transfers.taking.as_ref().is_none_or(|taking| !taking.assembly.is_complete()) {
            return;
        }
        let Some(Taking { assembly, purpose }) = self.transfers.taking.take() else { return };
        let header = *assembly.header();
        let transfer = header.transfer;
        let taken = match purpose {
            Purpose::Hydration { .. } => self.hydrate(assembly),
            Purpose::Repair => self.repair(assembly),
        };
        match taken {
            Ok(()) => {
                let (tick, next) = (header.tick, header.chunk_count());
                let event = match purpose {
                    Purpose::Hydration { verified } => {
                        self.handle_hydrated();
                        ClientEvent::Hydrated { tick, verified }
                    }
                    Purpose::Repair => ClientEvent::Repaired { tick },
                };
                self.outbox.push_message(|out| ClientMessage::SnapshotProgress { transfer, next }.encode_into(out));
                self.outbox.push_event(event);
            }
            Err(error) => {
                self.outbox.push_message(|out| ClientMessage::SnapshotFailed { transfer }.encode_into(out));
                self.outbox.push_event(ClientEvent::HydrationFailed { error });
            }
        }
    }

    /// Checks everything before the session changes (S8).
    fn hydrate(&mut self, assembly: Assembly) -> Result<(), HydrationError> {
        let snapshot = announced(assembly)?;
        self.drain_session();
        if let Some(session) = &mut self.session {
            let sampled = self.claimed.map(|claimed| Sampled::beyond(session, claimed.seat, snapshot.tick()));
            session.hydrate(&snapshot)?;
            sampled.into_iter().for_each(|sampled| sampled.give_back(session));
        }
        Ok(())
    }

    /// Puts the session right, with the frames since, which it has. What it would still have said of the wrong states is not said.
    fn repair(&mut self, assembly: Assembly) -> Result<(), HydrationError> {
        let snapshot = announced(assembly)?;
        self.drain_session();
        let Some(session) = &mut self.session else { return Ok(()) };
        let (tick, frontier, seats) = (snapshot.tick(), session.confirmed(), session.descriptor().seats());
        let bytes = self.tail.frames_between(tick, frontier).unwrap_or_default();
        let (mut cursor, mut frames) = (Cursor::new(&bytes), Vec::new());
        while !cursor.rest().is_empty() {
            let mut frame = Frame::new(session.descriptor().generation(), tick);
            let read = frame.decode_full(&mut cursor, seats);
            read.map_err(|error| SnapshotError::Frame { tick, error: error.into() })?;
            frames.push(frame);
        }
        session.repair(&snapshot, frames)?;
        self.pending_reports.retain(|(reported, _)| *reported <= tick);
        Ok(())
    }

    /// The session is at the snapshot's state. What was known of the frames before it is of no use.
    fn handle_hydrated(&mut self) {
        self.transfers.awaiting = false;
        self.base_is_known = false;
        self.chain = None;
        self.tail.clear();
    }
}

/// The snapshot that was announced, and no other.
fn announced(assembly: Assembly) -> Result<Snapshot, HydrationError> {
    let header = *assembly.header();
    let snapshot = Snapshot::from_bytes(&assembly.finish()?)?;
    let (expected, found): (Checksum, Checksum) = (header.checksum, snapshot.checksum());
    if expected != found {
        return Err(SnapshotError::Checksum { expected, found }.into());
    }
    if snapshot.tick() != header.tick {
        return Err(HydrationError::Other { expected: header.tick, found: snapshot.tick() });
    }
    Ok(snapshot)
}
