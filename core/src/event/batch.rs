//! The events of a run of steps, in flat buffers that are reused.

use alloc::vec::Vec;
use core::ops::Range;

use super::{
    EventId, EventKey, MAX_EVENT_BYTES, MAX_EVENT_BYTES_PER_BATCH, MAX_EVENT_BYTES_PER_TICK, MAX_EVENTS_PER_BATCH,
    MAX_EVENTS_PER_TICK,
};
use crate::tick::Tick;

/// An event as a step emitted it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Emitted<'a> {
    /// Its identity.
    pub key: EventKey,
    /// The game's own bytes.
    pub payload: &'a [u8],
}

#[derive(Clone, PartialEq, Eq, Debug)]
struct Record {
    key: EventKey,
    payload: Range<usize>,
}

/// The events of consecutive steps, in the order of ticks and, within a tick, of emission. [`EventBatch::clear`] keeps the
/// buffers.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct EventBatch {
    records: Vec<Record>,
    bytes: Vec<u8>,
    dropped: u64,
    tick: Tick,
    /// Where the events of `tick` begin.
    tick_start: usize,
}

/// How far a batch was filled, to return to by [`EventBatch::truncate`].
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct EventMark {
    records: usize,
    bytes: usize,
    dropped: u64,
    tick: Tick,
    tick_start: usize,
}

impl EventBatch {
    /// Empties it and keeps its buffers.
    pub fn clear(&mut self) {
        self.records.clear();
        self.bytes.clear();
        (self.dropped, self.tick, self.tick_start) = (0, Tick::ZERO, 0);
    }

    /// What is pushed from now on is of the step of `tick`. Runtimes call it before each step.
    pub fn begin_tick(&mut self, tick: Tick) {
        (self.tick, self.tick_start) = (tick, self.records.len());
    }

    /// Adds an event of the current tick and counts its ordinal; beyond a limit the event is dropped and counted.
    pub fn push(&mut self, id: EventId, payload: &[u8]) {
        if !self.takes(payload.len()) {
            self.dropped += 1;
            return;
        }
        let same = self.records[self.tick_start..].iter().rev().find(|record| record.key.id() == id);
        let ordinal = same.map_or(0, |record| record.key.ordinal + 1);
        let EventId { module, source, event } = id;
        let key = EventKey { module, source, event, tick: self.tick, ordinal };
        let start = self.bytes.len();
        self.bytes.extend_from_slice(payload);
        self.records.push(Record { key, payload: start..self.bytes.len() });
    }

    fn takes(&self, payload_bytes: usize) -> bool {
        let of_tick = &self.records[self.tick_start..];
        let bytes_of_tick = of_tick.first().map_or(0, |first| self.bytes.len() - first.payload.start);
        payload_bytes <= MAX_EVENT_BYTES
            && of_tick.len() < MAX_EVENTS_PER_TICK
            && bytes_of_tick + payload_bytes <= MAX_EVENT_BYTES_PER_TICK
            && self.records.len() < MAX_EVENTS_PER_BATCH
            && self.bytes.len() + payload_bytes <= MAX_EVENT_BYTES_PER_BATCH
    }

    /// Adds every event of another batch, as it is, and what that one dropped.
    pub fn append(&mut self, other: &EventBatch) {
        let offset = self.bytes.len();
        self.bytes.extend_from_slice(&other.bytes);
        self.tick_start = self.records.len() + other.tick_start;
        self.records.extend(other.records.iter().map(|record| Record {
            key: record.key,
            payload: record.payload.start + offset..record.payload.end + offset,
        }));
        (self.dropped, self.tick) = (self.dropped + other.dropped, other.tick);
    }

    /// How far it is filled.
    pub fn mark(&self) -> EventMark {
        let EventBatch { dropped, tick, tick_start, .. } = *self;
        EventMark { records: self.records.len(), bytes: self.bytes.len(), dropped, tick, tick_start }
    }

    /// Returns to an earlier mark of this batch: for a batch of steps that failed.
    pub fn truncate(&mut self, mark: EventMark) {
        self.records.truncate(mark.records);
        self.bytes.truncate(mark.bytes);
        (self.dropped, self.tick, self.tick_start) = (mark.dropped, mark.tick, mark.tick_start);
    }

    /// How many events there are.
    pub fn len(&self) -> usize {
        self.records.len()
    }

    /// Whether there is no event.
    pub fn is_empty(&self) -> bool {
        self.records.is_empty()
    }

    /// Events that were dropped for a limit.
    pub fn dropped(&self) -> u64 {
        self.dropped
    }

    /// The events, in order.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = Emitted<'_>> {
        let emitted = |record: &Record| Emitted { key: record.key, payload: &self.bytes[record.payload.clone()] };
        self.records.iter().map(emitted)
    }
}
