//! Where a step's events go: what an adapter hands to the step, which itself only writes.

use core::cell::RefCell;
use core::fmt::Debug;

use super::{EventBatch, EventId};

/// Takes what a step emits. Nothing comes back, so that no step can depend on it.
pub trait EventSink: Debug {
    /// Takes one event of the step that runs, or drops it beyond a limit.
    fn emit(&self, id: EventId, payload: &[u8]);
}

/// Collects events into a batch, whose tick was begun.
#[derive(Debug)]
pub struct EventCollector<'a> {
    batch: RefCell<&'a mut EventBatch>,
}

impl<'a> EventCollector<'a> {
    /// A collector into `batch`.
    pub fn new(batch: &'a mut EventBatch) -> EventCollector<'a> {
        EventCollector { batch: RefCell::new(batch) }
    }
}

impl EventSink for EventCollector<'_> {
    fn emit(&self, id: EventId, payload: &[u8]) {
        // Pushing calls nothing of the game's, so nobody holds the batch.
        if let Ok(mut batch) = self.batch.try_borrow_mut() {
            batch.push(id, payload);
        }
    }
}
