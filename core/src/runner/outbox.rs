//! What waits to be taken out of a runner: messages in one arena, requests and events, in order and within bounds.

use alloc::boxed::Box;
use alloc::collections::VecDeque;
use alloc::vec::Vec;
use core::ops::Range;

use super::{LinkId, Output, PreparationRequest, PreparationTicket, RunnerEvent};

/// Most events that wait for [`Runner::poll_output`](super::Runner::poll_output); further ones are dropped and counted.
pub const MAX_WAITING_EVENTS: usize = 1024;
/// Most bytes of messages that wait; one beyond fails the match, for no input may be lost silently.
pub const MAX_WAITING_MESSAGE_BYTES: usize = 4 << 20;

#[derive(Debug)]
enum Entry {
    Message(LinkId, Range<usize>),
    Hangup(LinkId),
    Prepare(Box<PreparationRequest>),
    Event(RunnerEvent),
}

/// A queue that reuses its buffer: it is emptied when everything was polled.
#[derive(Debug, Default)]
pub(super) struct Outbox {
    entries: VecDeque<Entry>,
    arena: Vec<u8>,
    events: usize,
    pub(super) dropped_events: u64,
}

impl Outbox {
    /// Adds a message; says whether there was room.
    #[must_use]
    pub(super) fn push_message(&mut self, link: LinkId, bytes: &[u8]) -> bool {
        if self.entries.is_empty() {
            self.arena.clear();
        }
        if self.arena.len() + bytes.len() > MAX_WAITING_MESSAGE_BYTES {
            return false;
        }
        let start = self.arena.len();
        self.arena.extend_from_slice(bytes);
        self.entries.push_back(Entry::Message(link, start..self.arena.len()));
        true
    }

    /// Asks for the end of a link. An older link whose end waits is closed by the same word.
    pub(super) fn push_hangup(&mut self, link: LinkId) {
        self.entries.retain(|entry| !matches!(entry, Entry::Hangup(_)));
        self.entries.push_back(Entry::Hangup(link));
    }

    pub(super) fn push_prepare(&mut self, request: PreparationRequest) {
        self.entries.push_back(Entry::Prepare(Box::new(request)));
    }

    /// Says that the preparation of this ticket is of no use any more, or takes its request back while nobody has it.
    pub(super) fn abort(&mut self, ticket: PreparationTicket) {
        let before = self.entries.len();
        self.entries.retain(|entry| !matches!(entry, Entry::Prepare(request) if request.ticket == ticket));
        if self.entries.len() == before {
            self.push_event(RunnerEvent::PreparationAborted { ticket });
        }
    }

    pub(super) fn push_event(&mut self, event: RunnerEvent) {
        if self.events >= MAX_WAITING_EVENTS {
            self.dropped_events += 1;
            return;
        }
        self.events += 1;
        self.entries.push_back(Entry::Event(event));
    }

    /// Drops the messages of a link whose transport is gone.
    pub(super) fn drop_messages(&mut self, gone: LinkId) {
        self.entries.retain(|entry| !matches!(entry, Entry::Message(link, _) if *link == gone));
    }

    pub(super) fn pop(&mut self) -> Option<Output<'_>> {
        Some(match self.entries.pop_front()? {
            Entry::Message(link, range) => Output::Transmit { link, bytes: &self.arena[range] },
            Entry::Hangup(link) => Output::Hangup { link },
            Entry::Prepare(request) => Output::Prepare(request),
            Entry::Event(event) => {
                self.events -= 1;
                Output::Event(event)
            }
        })
    }
}

#[cfg(test)]
mod tests {
    use alloc::vec;

    use super::*;
    use crate::runner::Status;

    const LINK: LinkId = LinkId(1);

    #[test]
    fn n7_messages_end_at_their_limit_and_begin_anew_when_they_were_taken() {
        let mut outbox = Outbox::default();
        let whole = vec![7; MAX_WAITING_MESSAGE_BYTES];
        assert!(outbox.push_message(LINK, &whole) && !outbox.push_message(LINK, &[1]));
        assert!(matches!(outbox.pop(), Some(Output::Transmit { bytes, .. }) if bytes.len() == whole.len()));
        assert!(outbox.push_message(LINK, &[1]) && matches!(outbox.pop(), Some(Output::Transmit { bytes: [1], .. })));
    }

    #[test]
    fn n7_events_end_at_their_limit_and_are_counted_beyond() {
        let mut outbox = Outbox::default();
        (0..MAX_WAITING_EVENTS).for_each(|_| outbox.push_event(RunnerEvent::Status(Status::Live)));
        assert_eq!(outbox.dropped_events, 0);
        outbox.push_event(RunnerEvent::Status(Status::Live));
        assert_eq!(outbox.dropped_events, 1);
        // What must be done is never dropped.
        outbox.push_hangup(LINK);
        assert_eq!(core::iter::from_fn(|| outbox.pop().map(|_| ())).count(), MAX_WAITING_EVENTS + 1);
    }

    #[test]
    fn n7_the_messages_of_a_lost_transport_are_dropped_and_no_others() {
        let mut outbox = Outbox::default();
        assert!(outbox.push_message(LINK, &[1]) && outbox.push_message(LinkId(2), &[2]));
        outbox.push_hangup(LINK);
        outbox.push_hangup(LinkId(2));
        outbox.drop_messages(LinkId(2));
        assert!(matches!(outbox.pop(), Some(Output::Transmit { link: LINK, bytes: [1] })));
        assert!(matches!(outbox.pop(), Some(Output::Hangup { link: LinkId(2) })) && outbox.pop().is_none());
    }
}
