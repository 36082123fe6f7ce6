//! What waits to be polled: messages in one arena, and events, in order.

use alloc::collections::VecDeque;
use alloc::vec::Vec;
use core::ops::Range;

use super::{ClientEvent, Output};

#[derive(Debug)]
enum Entry {
    Message(Range<usize>),
    Event(ClientEvent),
}

/// A queue that reuses its buffer: it is emptied when everything was polled.
#[derive(Debug, Default)]
pub(super) struct Outbox {
    entries: VecDeque<Entry>,
    arena: Vec<u8>,
}

impl Outbox {
    /// Adds a message that `write` appends to the arena.
    pub(super) fn push_message(&mut self, write: impl FnOnce(&mut Vec<u8>)) {
        if self.entries.is_empty() {
            self.arena.clear();
        }
        let start = self.arena.len();
        write(&mut self.arena);
        self.entries.push_back(Entry::Message(start..self.arena.len()));
    }

    pub(super) fn push_event(&mut self, event: ClientEvent) {
        self.entries.push_back(Entry::Event(event));
    }

    /// Drops the messages, whose transport is gone; events stay.
    pub(super) fn drop_messages(&mut self) {
        self.entries.retain(|entry| matches!(entry, Entry::Event(_)));
    }

    /// Bytes of the next entry, if it is a message.
    pub(super) fn next_message_bytes(&self) -> Option<u64> {
        match self.entries.front()? {
            Entry::Message(range) => Some(range.len() as u64),
            Entry::Event(_) => None,
        }
    }

    pub(super) fn pop(&mut self) -> Option<Output<'_>> {
        match self.entries.pop_front()? {
            Entry::Message(range) => Some(Output::Transmit(&self.arena[range])),
            Entry::Event(event) => Some(Output::Event(event)),
        }
    }
}
