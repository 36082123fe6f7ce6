//! Everything on its way out: one flat buffer for each lane, and the gate that holds back what is not durable yet (A12).

use alloc::collections::VecDeque;
use alloc::vec::Vec;

use retick_core::wire::RoomMessage;

use super::config::Durability;
use super::event::{CloseCause, ConnectionId, Output, RoomEvent};
use super::fifo::Fifo;
use crate::log::{FIRST_SEQUENCE, Record};

/// Most records that may wait for [`Room::handle_persisted`](super::Room::handle_persisted) before the match's clock stands still; with
/// [`Durability::Interval`], where frames don't wait for their records, behind one that something waits for. It stands still earlier
/// where a seat may not buffer inputs for so many ticks (A4): nobody has inputs for ticks beyond, while nothing is heard of the room.
pub const MAX_UNPERSISTED_RECORDS: u64 = 1024;
/// Once so many bytes wait for a record, ephemerals are dropped, and no history is sent.
pub const MAX_HELD_BYTES: usize = 1 << 20;

/// Number of "no record": lies before the first.
const NOTHING: u64 = FIRST_SEQUENCE - 1;

#[derive(Clone, Copy, Debug)]
enum Kind {
    Transmit,
    Persist(u64),
    Close(ConnectionId, CloseCause),
    Event(RoomEvent),
}

#[derive(Clone, Copy, Debug)]
struct Entry {
    kind: Kind,
    /// The record that must be durable first.
    after: u64,
    byte_count: usize,
    receiver_count: usize,
}

/// Outputs in order, with their bytes and receivers in buffers that are reused.
#[derive(Clone, Debug, Default)]
struct Lane {
    entries: VecDeque<Entry>,
    bytes: Fifo<u8>,
    receivers: Fifo<ConnectionId>,
}

impl Lane {
    fn push(&mut self, kind: Kind, after: u64) {
        self.entries.push_back(Entry { kind, after, byte_count: 0, receiver_count: 0 });
    }

    /// Adds an output with bytes. One without a receiver is not added.
    fn transmit(&mut self, after: u64, to: impl IntoIterator<Item = ConnectionId>, message: &RoomMessage<'_>) {
        let receivers = self.receivers.end();
        let before = receivers.len();
        receivers.extend(to);
        let receiver_count = receivers.len() - before;
        if receiver_count > 0 {
            let byte_count = self.append(|bytes| message.encode_into(bytes));
            self.entries.push_back(Entry { kind: Kind::Transmit, after, byte_count, receiver_count });
        }
    }

    fn append(&mut self, write: impl FnOnce(&mut Vec<u8>)) -> usize {
        let bytes = self.bytes.end();
        let before = bytes.len();
        write(bytes);
        bytes.len() - before
    }

    /// Bytes of the outputs that were not taken.
    fn waiting_bytes(&self) -> usize {
        self.bytes.waiting()
    }

    fn is_open(&self, persisted: u64) -> bool {
        self.entries.front().is_some_and(|entry| entry.after <= persisted)
    }

    fn pop(&mut self) -> Option<Output<'_>> {
        let entry = self.entries.pop_front()?;
        let bytes = self.bytes.take(entry.byte_count);
        let to = self.receivers.take(entry.receiver_count);
        Some(match entry.kind {
            Kind::Transmit => Output::Transmit { to, bytes },
            Kind::Persist(sequence) => Output::Persist { sequence, record: bytes },
            Kind::Close(connection, cause) => Output::Close { connection, cause },
            Kind::Event(event) => Output::Event(event),
        })
    }
}

/// The room's outputs. Records come first; then what depends on none; then all else in order, each once its record is durable.
#[derive(Clone, Debug)]
pub(super) struct Outbox {
    durability: Durability,
    /// Most records that may wait.
    max_unpersisted: u64,
    recorded: u64,
    /// The last record that is not a frame.
    recorded_beside_frames: u64,
    persisted: u64,
    records: Lane,
    urgent: Lane,
    ordered: Lane,
}

impl Outbox {
    /// An outbox of a room whose seats may buffer inputs for so many ticks.
    pub(super) fn new(durability: Durability, look_ahead_ticks: u64) -> Outbox {
        let lane = Lane::default;
        Outbox {
            durability,
            max_unpersisted: look_ahead_ticks.clamp(1, MAX_UNPERSISTED_RECORDS),
            recorded: NOTHING,
            recorded_beside_frames: NOTHING,
            persisted: NOTHING,
            records: lane(),
            urgent: lane(),
            ordered: lane(),
        }
    }

    /// The log holds every record up to this one, from earlier runs; in this one it is waited for like this.
    pub(super) fn continue_behind(&mut self, sequence: u64, durability: Durability) {
        self.durability = durability;
        (self.recorded, self.recorded_beside_frames, self.persisted) = (sequence, sequence, sequence);
    }

    /// Emits a record. What is added from now on depends on it.
    pub(super) fn persist(&mut self, record: &Record<'_>) {
        self.recorded += 1;
        if !matches!(record, Record::Frame { .. }) {
            self.recorded_beside_frames = self.recorded;
        }
        let byte_count = self.records.append(|bytes| record.encode_into(bytes));
        let kind = Kind::Persist(self.recorded);
        self.records.entries.push_back(Entry { kind, after: NOTHING, byte_count, receiver_count: 0 });
    }

    /// The record that what is added now depends on.
    pub(super) fn barrier(&self) -> u64 {
        match self.durability {
            Durability::None => NOTHING,
            Durability::EveryFrame => self.recorded,
            Durability::Interval => self.recorded_beside_frames,
        }
    }

    /// Whether what depends on this record has left.
    pub(super) fn has_released(&self, barrier: u64) -> bool {
        barrier <= self.persisted || self.durability == Durability::None
    }

    pub(super) fn transmit(&mut self, to: impl IntoIterator<Item = ConnectionId>, message: &RoomMessage<'_>) {
        self.ordered.transmit(self.barrier(), to, message);
    }

    /// Sends a message that depends on no record, to a connection whose greeting was added behind record `greeted_after`. Only
    /// a greeting that is still held holds it too.
    pub(super) fn transmit_urgent(&mut self, to: ConnectionId, greeted_after: u64, message: &RoomMessage<'_>) {
        if greeted_after <= self.persisted {
            self.urgent.transmit(NOTHING, [to], message);
        } else {
            self.ordered.transmit(greeted_after, [to], message);
        }
    }

    pub(super) fn close(&mut self, connection: ConnectionId, cause: CloseCause) {
        self.ordered.push(Kind::Close(connection, cause), self.barrier());
    }

    pub(super) fn event(&mut self, event: RoomEvent) {
        self.ordered.push(Kind::Event(event), self.barrier());
    }

    pub(super) fn handle_persisted(&mut self, sequence: u64) {
        self.persisted = self.persisted.max(sequence.min(self.recorded));
    }

    /// Whether so many records wait, or so many were added since the one that holds everything up, that no further tick may be
    /// confirmed.
    pub(super) fn is_saturated(&self) -> bool {
        let waited_for = match self.durability {
            Durability::None => None,
            Durability::EveryFrame => Some(self.persisted),
            Durability::Interval => {
                self.ordered.entries.front().map(|first| first.after).filter(|after| *after > self.persisted)
            }
        };
        waited_for.is_some_and(|waited_for| self.recorded - waited_for >= self.max_unpersisted)
    }

    /// Whether so much waits for a record that nothing is added which can be spared.
    pub(super) fn is_held_up(&self) -> bool {
        !self.ordered.entries.is_empty()
            && !self.ordered.is_open(self.persisted)
            && self.ordered.waiting_bytes() >= MAX_HELD_BYTES
    }

    pub(super) fn poll(&mut self) -> Option<Output<'_>> {
        if self.records.is_open(NOTHING) {
            self.records.pop()
        } else if self.urgent.is_open(NOTHING) {
            self.urgent.pop()
        } else if self.ordered.is_open(self.persisted) {
            self.ordered.pop()
        } else {
            None
        }
    }
}

#[cfg(test)]
impl Outbox {
    /// What every lane has reserved.
    pub(super) fn capacities(&self) -> [[usize; 3]; 3] {
        [&self.records, &self.urgent, &self.ordered]
            .map(|lane| [lane.entries.capacity(), lane.bytes.capacity(), lane.receivers.capacity()])
    }
}

#[cfg(test)]
mod tests {
    use retick_core::digest::Digest;
    use retick_core::seat::{Generation, Seat};
    use retick_core::tick::Tick;
    use retick_core::wire::CloseReason;

    use super::*;

    const ONE: ConnectionId = ConnectionId(1);
    const EVENT: RoomEvent = RoomEvent::Started { generation: Generation(0) };
    const RECORD: Record<'_> = Record::Started { generation: Generation(0) };

    fn closing() -> RoomMessage<'static> {
        RoomMessage::Closing(CloseReason::Left)
    }

    fn pong() -> RoomMessage<'static> {
        RoomMessage::Pong { sent_micros: 1, clock: None, counters: Default::default() }
    }

    fn is_pong(output: Option<Output<'_>>) -> bool {
        matches!(output, Some(Output::Transmit { bytes, .. }) if RoomMessage::decode(bytes) == Ok(pong()))
    }

    #[test]
    fn a12_what_depends_on_a_record_waits_for_it_and_nothing_else_does() {
        let mut outbox = Outbox::new(Durability::EveryFrame, 1024);
        outbox.transmit([ONE], &closing());
        outbox.persist(&RECORD);
        outbox.event(EVENT);
        outbox.transmit_urgent(ONE, NOTHING, &pong());
        outbox.transmit_urgent(ONE, 1, &pong());
        assert!(matches!(outbox.poll(), Some(Output::Persist { sequence: 1, .. })));
        assert!(is_pong(outbox.poll()));
        assert!(matches!(outbox.poll(), Some(Output::Transmit { to: &[ONE], .. })));
        assert_eq!(outbox.poll(), None);
        // A number that was never emitted confirms no more than what was.
        outbox.handle_persisted(u64::MAX);
        assert_eq!(outbox.poll(), Some(Output::Event(EVENT)));
        assert!(is_pong(outbox.poll()));
        outbox.persist(&RECORD);
        outbox.close(ONE, CloseCause::Ended(CloseReason::Left));
        assert!(matches!(outbox.poll(), Some(Output::Persist { sequence: 2, .. })));
        assert_eq!(outbox.poll(), None);
        outbox.handle_persisted(1);
        assert_eq!(outbox.poll(), None);
        outbox.handle_persisted(2);
        assert!(matches!(outbox.poll(), Some(Output::Close { .. })));
    }

    #[test]
    fn a12_without_durability_nothing_waits_and_records_come_first() {
        let mut outbox = Outbox::new(Durability::None, 1024);
        outbox.event(EVENT);
        let seat = Seat::new(0).expect("valid");
        outbox.persist(&Record::Disconnected { seat });
        outbox.transmit([], &closing());
        assert!(matches!(outbox.poll(), Some(Output::Persist { sequence: 1, .. })));
        assert_eq!(outbox.poll(), Some(Output::Event(EVENT)));
        assert_eq!(outbox.poll(), None);
        assert!(!outbox.is_saturated());
    }

    #[test]
    fn a12_with_an_interval_frames_wait_for_no_record_of_their_own() {
        let mut outbox = Outbox::new(Durability::Interval, 1024);
        let frame = Record::Frame { tick: Tick::ZERO, frame: b"frame", head: Digest::of(b"head") };
        outbox.persist(&frame);
        outbox.event(EVENT);
        assert!(matches!(outbox.poll(), Some(Output::Persist { sequence: 1, .. })));
        assert_eq!(outbox.poll(), Some(Output::Event(EVENT)));
        outbox.persist(&RECORD);
        outbox.persist(&frame);
        outbox.event(EVENT);
        (2..=3).for_each(|_| assert!(matches!(outbox.poll(), Some(Output::Persist { .. }))));
        assert_eq!(outbox.poll(), None);
        outbox.handle_persisted(2);
        assert_eq!(outbox.poll(), Some(Output::Event(EVENT)));
    }

    #[test]
    fn a12_the_room_waits_for_a_log_that_is_too_far_behind() {
        let mut outbox = Outbox::new(Durability::EveryFrame, 1024);
        for number in 1..=MAX_UNPERSISTED_RECORDS {
            assert!(!outbox.is_saturated(), "{number}");
            outbox.persist(&RECORD);
        }
        assert!(outbox.is_saturated());
        outbox.handle_persisted(1);
        assert!(!outbox.is_saturated());
    }
}
