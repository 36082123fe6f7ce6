//! The queue in front of one connection's writer: bounded in bytes, never waiting (A11).

use std::collections::VecDeque;
use std::future::poll_fn;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Waker};

use bytes::Bytes;
use tokio::sync::Notify;

/// What each waiting message counts beside its own bytes, so that the number of messages is bounded too.
pub const MESSAGE_OVERHEAD_BYTES: usize = 64;

/// The queue holds as much as it may; the message was not added.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Overflow;

/// The room's end. Dropping it ends the queue: what waits is still sent.
#[derive(Debug)]
pub(super) struct Outbound(Arc<Shared>);

/// The writer's end.
#[derive(Debug)]
pub(super) struct OutboundReader(Arc<Shared>);

#[derive(Debug)]
struct Shared {
    limit_bytes: usize,
    state: Mutex<State>,
    ended: Notify,
}

#[derive(Debug, Default)]
struct State {
    waiting: VecDeque<Bytes>,
    waiting_bytes: usize,
    ended: bool,
    /// The reader, when it waits.
    reader: Option<Waker>,
}

/// A queue that holds at most `limit_bytes`.
pub(super) fn outbound(limit_bytes: usize) -> (Outbound, OutboundReader) {
    let shared = Arc::new(Shared { limit_bytes, state: Mutex::default(), ended: Notify::new() });
    (Outbound(shared.clone()), OutboundReader(shared))
}

impl Shared {
    fn state(&self) -> MutexGuard<'_, State> {
        // Nothing in here panics while it holds the lock; a poisoned state would still be whole.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    /// Wakes the reader, if it waits.
    fn wake(&mut self) {
        if let Some(reader) = self.reader.take() {
            reader.wake();
        }
    }
}

fn cost(message: &Bytes) -> usize {
    message.len().saturating_add(MESSAGE_OVERHEAD_BYTES)
}

impl Outbound {
    /// Adds a message.
    pub(super) fn push(&self, message: Bytes) -> Result<(), Overflow> {
        let mut state = self.0.state();
        let bytes = state.waiting_bytes.saturating_add(cost(&message));
        if bytes > self.0.limit_bytes {
            return Err(Overflow);
        }
        state.waiting_bytes = bytes;
        state.waiting.push_back(message);
        state.wake();
        Ok(())
    }

    /// Drops what waits, and ends the queue with this message alone.
    pub(super) fn replace_all(self, last: Bytes) {
        let mut state = self.0.state();
        state.waiting.clear();
        state.waiting_bytes = cost(&last);
        state.waiting.push_back(last);
    }
}

impl Drop for Outbound {
    fn drop(&mut self) {
        let mut state = self.0.state();
        state.ended = true;
        state.wake();
        self.0.ended.notify_one();
    }
}

impl OutboundReader {
    /// The next message; `None` once the queue has ended and is empty.
    pub(super) async fn next(&self) -> Option<Bytes> {
        poll_fn(|context| self.poll_next(context)).await
    }

    fn poll_next(&self, context: &mut Context<'_>) -> Poll<Option<Bytes>> {
        let mut state = self.0.state();
        if let Some(message) = state.waiting.pop_front() {
            state.waiting_bytes -= cost(&message);
            return Poll::Ready(Some(message));
        }
        if state.ended {
            return Poll::Ready(None);
        }
        state.reader = Some(context.waker().clone());
        Poll::Pending
    }

    /// Whether nothing waits right now.
    pub(super) fn is_empty(&self) -> bool {
        self.0.state().waiting.is_empty()
    }

    /// Waits until the room has ended the queue.
    pub(super) async fn ended(&self) {
        while !self.0.state().ended {
            self.0.ended.notified().await;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn message(bytes: usize) -> Bytes {
        Bytes::from(vec![0; bytes])
    }

    #[tokio::test]
    async fn a11_a_queue_ends_exactly_at_its_limit_and_gives_room_as_it_is_read() {
        let (queue, reader) = outbound(2 * MESSAGE_OVERHEAD_BYTES + 10);
        assert_eq!(queue.push(message(4)), Ok(()));
        assert_eq!(queue.push(message(7)), Err(Overflow));
        assert_eq!(queue.push(message(6)), Ok(()));
        assert_eq!(queue.push(message(0)), Err(Overflow));
        assert_eq!(reader.next().await.map(|read| read.len()), Some(4));
        assert_eq!(queue.push(message(4)), Ok(()));
        drop(queue);
        assert_eq!(reader.next().await.map(|read| read.len()), Some(6));
        assert!(!reader.is_empty());
        assert_eq!(reader.next().await.map(|read| read.len()), Some(4));
        assert_eq!(reader.next().await, None);
        reader.ended().await;
    }

    #[tokio::test]
    async fn a11_a_slow_consumer_gets_the_reason_instead_of_what_waited() {
        let (queue, reader) = outbound(1000);
        assert_eq!(queue.push(message(500)), Ok(()));
        queue.replace_all(message(3));
        reader.ended().await;
        assert_eq!(reader.next().await.map(|read| read.len()), Some(3));
        assert_eq!(reader.next().await, None);
    }

    #[tokio::test]
    async fn a_waiting_reader_wakes_for_a_message_and_for_the_end() {
        let (queue, reader) = outbound(1000);
        let reading = tokio::spawn(async move { (reader.next().await, reader.next().await) });
        tokio::task::yield_now().await;
        assert_eq!(queue.push(message(1)), Ok(()));
        tokio::task::yield_now().await;
        drop(queue);
        let (first, second) = reading.await.expect("the task ended");
        assert_eq!((first.map(|read| read.len()), second), (Some(1), None));
    }
}
