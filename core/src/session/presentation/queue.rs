//! The events that wait to be polled. What was told as predicted has room reserved for its end, so no end is ever lost.

use alloc::vec::Vec;
use core::ops::Range;

use super::{MAX_WAITING_PRESENTATION_BYTES, MAX_WAITING_PRESENTATION_EVENTS};
use crate::event::{EventKey, EventLife, PresentationEvent};

#[derive(Debug)]
struct Record {
    life: EventLife,
    key: EventKey,
    payload: Range<usize>,
}

/// How many events, with how many bytes of payload.
#[derive(Clone, Copy, Debug, Default)]
struct Load {
    events: usize,
    bytes: usize,
}

/// A queue in flat buffers that are emptied when the last event was polled.
#[derive(Debug, Default)]
pub(super) struct Queue {
    records: Vec<Record>,
    bytes: Vec<u8>,
    /// How many records were polled.
    polled: usize,
    /// Ends that are still to be told.
    reserved: Load,
}

impl Queue {
    /// Tells a prediction and reserves room for its end; while half of the queue is taken it is not told.
    #[must_use]
    pub(super) fn push_predicted(&mut self, event: PresentationEvent<'_>) -> bool {
        let bytes = event.payload.len();
        let fits = self.has_room(
            Load { events: 2, bytes: 2 * bytes },
            Load { events: MAX_WAITING_PRESENTATION_EVENTS / 2, bytes: MAX_WAITING_PRESENTATION_BYTES / 2 },
        );
        if fits {
            self.reserved.events += 1;
            self.reserved.bytes += bytes;
            self.push(event);
        }
        fits
    }

    /// Tells how a prediction ended, which always finds its room.
    pub(super) fn push_end(&mut self, event: PresentationEvent<'_>) {
        self.reserved.events -= 1;
        self.reserved.bytes -= event.payload.len();
        self.push(event);
    }

    /// Tells what was never predicted, if there is room.
    #[must_use]
    pub(super) fn push_confirmed(&mut self, event: PresentationEvent<'_>) -> bool {
        let fits = self.has_room(
            Load { events: 1, bytes: event.payload.len() },
            Load { events: MAX_WAITING_PRESENTATION_EVENTS, bytes: MAX_WAITING_PRESENTATION_BYTES },
        );
        if fits {
            self.push(event);
        }
        fits
    }

    fn has_room(&self, wanted: Load, most: Load) -> bool {
        let waiting_bytes = self.records.get(self.polled).map_or(0, |next| self.bytes.len() - next.payload.start);
        self.records.len() - self.polled + self.reserved.events + wanted.events <= most.events
            && waiting_bytes + self.reserved.bytes + wanted.bytes <= most.bytes
    }

    fn push(&mut self, event: PresentationEvent<'_>) {
        self.forget_polled();
        let PresentationEvent { life, key, payload } = event;
        let start = self.bytes.len();
        self.bytes.extend_from_slice(payload);
        self.records.push(Record { life, key, payload: start..self.bytes.len() });
    }

    /// Forgets what was polled, once that is no less than what waits: each record moves once on average.
    fn forget_polled(&mut self) {
        if self.polled == 0 || self.polled < self.records.len() - self.polled {
            return;
        }
        let bytes = self.records[self.polled - 1].payload.end;
        self.records.drain(..self.polled);
        self.bytes.drain(..bytes);
        for record in &mut self.records {
            record.payload = record.payload.start - bytes..record.payload.end - bytes;
        }
        self.polled = 0;
    }

    pub(super) fn pop(&mut self) -> Option<PresentationEvent<'_>> {
        let Record { life, key, payload } = self.records.get(self.polled)?;
        self.polled += 1;
        Some(PresentationEvent { life: *life, key: *key, payload: &self.bytes[payload.clone()] })
    }
}
