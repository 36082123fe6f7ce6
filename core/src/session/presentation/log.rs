//! Events in the order of ticks, in flat buffers: what was played beyond the frontier.

use alloc::vec::Vec;
use core::ops::Range;

use crate::event::{Emitted, EventKey, MAX_EVENT_BYTES_PER_BATCH, MAX_EVENTS_PER_BATCH};
use crate::tick::Tick;

/// One event of a log.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Entry<'a> {
    pub key: EventKey,
    pub payload: &'a [u8],
    /// Whether it was told as predicted, and its end is still to be told.
    pub told: bool,
}

#[derive(Debug)]
struct Record {
    key: EventKey,
    payload: Range<usize>,
    told: bool,
}

/// Bounded as a batch of events is. Nothing is allocated once the buffers have grown.
#[derive(Debug, Default)]
pub(super) struct Log {
    records: Vec<Record>,
    bytes: Vec<u8>,
    /// Where the next equal event is looked for first: two executions of a tick emit in nearly the same order.
    hint: usize,
}

impl Log {
    pub(super) fn is_empty(&self) -> bool {
        self.records.is_empty()
    }

    pub(super) fn clear(&mut self) {
        self.records.clear();
        self.bytes.clear();
        self.hint = 0;
    }

    /// Whether there is room for one more event.
    pub(super) fn takes(&self, payload_bytes: usize) -> bool {
        self.records.len() < MAX_EVENTS_PER_BATCH && self.bytes.len() + payload_bytes <= MAX_EVENT_BYTES_PER_BATCH
    }

    pub(super) fn push(&mut self, entry: Entry<'_>) {
        let Entry { key, payload, told } = entry;
        let start = self.bytes.len();
        self.bytes.extend_from_slice(payload);
        self.records.push(Record { key, payload: start..self.bytes.len(), told });
    }

    fn entry(&self, record: &Record) -> Entry<'_> {
        Entry { key: record.key, payload: &self.bytes[record.payload.clone()], told: record.told }
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = Entry<'_>> {
        self.records.iter().map(|record| self.entry(record))
    }

    /// How many events are of ticks before `tick`.
    pub(super) fn count_before(&self, tick: Tick) -> usize {
        self.records.partition_point(|record| record.key.tick < tick)
    }

    /// Moves the events from `tick` on to the end of `other`.
    pub(super) fn move_from(&mut self, tick: Tick, other: &mut Log) {
        let first = self.count_before(tick);
        let Some(start) = self.records.get(first).map(|record| record.payload.start) else { return };
        self.records[first..].iter().for_each(|record| other.push(self.entry(record)));
        self.records.truncate(first);
        self.bytes.truncate(start);
    }

    /// Takes out what equals an emitted event, its key and its payload; says whether that was told.
    pub(super) fn take_equal(&mut self, event: &Emitted<'_>) -> bool {
        let equals = |record: &Record| record.key == event.key && self.bytes[record.payload.clone()] == *event.payload;
        let hinted = self.records.get(self.hint).is_some_and(equals).then_some(self.hint);
        let of_tick = || {
            let (start, end) = (self.count_before(event.key.tick), self.count_before(event.key.tick.saturating_add(1)));
            (start..end).find(|index| equals(&self.records[*index]))
        };
        let Some(index) = hinted.or_else(of_tick) else { return false };
        self.hint = index + 1;
        // It stays in its place, with nothing left to tell.
        core::mem::take(&mut self.records[index].told)
    }

    /// Offers every event from `tick` on that was not told.
    pub(super) fn tell_from(&mut self, tick: Tick, mut tell: impl FnMut(Entry<'_>) -> bool) {
        let (first, bytes) = (self.count_before(tick), &self.bytes);
        for record in self.records[first..].iter_mut().filter(|record| !record.told) {
            let payload = &bytes[record.payload.clone()];
            record.told = tell(Entry { key: record.key, payload, told: false });
        }
    }

    /// Forgets the oldest `count` events.
    pub(super) fn drop_front(&mut self, count: usize) {
        let Some(last) = count.checked_sub(1).and_then(|last| self.records.get(last)) else { return };
        let bytes = last.payload.end;
        self.records.drain(..count);
        self.bytes.drain(..bytes);
        for record in &mut self.records {
            record.payload = record.payload.start - bytes..record.payload.end - bytes;
        }
    }
}
