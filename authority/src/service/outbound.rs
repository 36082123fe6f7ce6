//! What is on its way to one connection: written at once while its socket takes it, and else a queue that is bounded in bytes and
//! never waits (A11).
//!
//! The room's task writes by itself, which spares a connection's task its turn for every message. Only when a socket is full does
//! the connection's task go on with what waits.

use std::collections::VecDeque;
use std::fmt;
use std::future::poll_fn;
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Waker, ready};
use std::time::Duration;

use axum::extract::ws::Message;
use bytes::Bytes;
use futures_util::Sink;
use tokio::time::sleep;

use super::metrics::Traffic;

/// What each waiting message counts beside its own bytes, so that the number of messages is bounded too.
pub const MESSAGE_OVERHEAD_BYTES: usize = 64;

/// A connection's way out.
pub(super) type MessageSink = Pin<Box<dyn Sink<Message, Error = axum::Error> + Send>>;

/// The queue holds as much as it may; the message was not added.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Overflow;

/// The room's end. Dropping it ends the queue: what waits is still sent.
pub(super) struct Outbound(Arc<Shared>);

/// The end of the connection's task.
pub(super) struct OutboundWriter(Arc<Shared>);

struct Shared {
    limit_bytes: usize,
    traffic: Arc<Traffic>,
    state: Mutex<State>,
}

struct State {
    waiting: VecDeque<Bytes>,
    waiting_bytes: usize,
    ended: bool,
    /// Where it goes; `None` once that has failed or was taken away.
    sink: Option<MessageSink>,
    /// Whether the sink holds bytes that its socket has not taken.
    is_blocked: bool,
    /// Wakes the connection's task, once that has come to write.
    task: Option<Waker>,
}

/// A queue into `sink` that holds at most `limit_bytes`.
pub(super) fn outbound(limit_bytes: usize, sink: MessageSink, traffic: Arc<Traffic>) -> (Outbound, OutboundWriter) {
    let (waiting, sink) = (VecDeque::new(), Some(sink));
    let state = State { waiting, waiting_bytes: 0, ended: false, sink, is_blocked: false, task: None };
    let shared = Arc::new(Shared { limit_bytes, traffic, state: Mutex::new(state) });
    (Outbound(shared.clone()), OutboundWriter(shared))
}

impl Shared {
    fn state(&self) -> MutexGuard<'_, State> {
        // If a sink panicked while it was locked, its connection is over; the state is still whole.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    fn wake(&self) {
        if let Some(task) = &self.task {
            task.wake_by_ref();
        }
    }

    fn enqueue(&mut self, message: Bytes) {
        self.waiting_bytes = self.waiting_bytes.saturating_add(cost(&message));
        self.waiting.push_back(message);
    }

    /// Hands what waits to the sink, and the sink's bytes to the socket, as far as they are taken; ready when nothing is left.
    /// `context` wakes the connection's task.
    fn poll_write(&mut self, context: &mut Context<'_>, traffic: &Traffic) -> Poll<()> {
        let Some(sink) = &mut self.sink else {
            return Poll::Ready(());
        };
        let mut taken = Ok(());
        while taken.is_ok() && !self.waiting.is_empty() {
            taken = ready!(sink.as_mut().poll_ready(context));
            if let Some(message) = self.waiting.pop_front() {
                self.waiting_bytes -= cost(&message);
                traffic.sent(message.len());
                taken = taken.and_then(|()| sink.as_mut().start_send(Message::Binary(message)));
                self.is_blocked = true;
            }
        }
        if taken.is_ok() && self.is_blocked {
            taken = ready!(sink.as_mut().poll_flush(context));
        }
        self.is_blocked = false;
        if taken.is_err() {
            // A failure shows in the reader too.
            self.sink = None;
        }
        Poll::Ready(())
    }

    /// Whether a message that comes now may be written at once: nothing is before it.
    fn is_free(&self) -> bool {
        self.waiting.is_empty() && !self.is_blocked
    }
}

fn cost(message: &Bytes) -> usize {
    message.len().saturating_add(MESSAGE_OVERHEAD_BYTES)
}

impl Outbound {
    /// Writes a message, or adds it to those that wait.
    pub(super) fn push(&self, message: Bytes) -> Result<(), Overflow> {
        let mut state = self.0.state();
        if state.waiting_bytes.saturating_add(cost(&message)) > self.0.limit_bytes {
            return Err(Overflow);
        }
        let is_free = state.is_free();
        state.enqueue(message);
        // Who goes on with it must be known.
        let Some(task) = state.task.take_if(|_| is_free) else {
            state.wake();
            return Ok(());
        };
        // What the socket does not take now is the connection's task's: it is woken when there is place.
        let _ = state.poll_write(&mut Context::from_waker(&task), &self.0.traffic);
        if state.sink.is_none() {
            task.wake_by_ref();
        }
        state.task = Some(task);
        Ok(())
    }

    /// Drops what waits, and ends the queue with this message alone.
    pub(super) fn replace_all(self, last: Bytes) {
        let mut state = self.0.state();
        state.waiting.clear();
        state.waiting_bytes = 0;
        state.enqueue(last);
    }
}

impl Drop for Outbound {
    fn drop(&mut self) {
        let mut state = self.0.state();
        state.ended = true;
        state.wake();
    }
}

impl fmt::Debug for Outbound {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Outbound").field("waiting_bytes", &self.0.state().waiting_bytes).finish_non_exhaustive()
    }
}

impl OutboundWriter {
    /// Writes what waits until the queue has ended and everything is sent, until that takes too long, or the socket has failed.
    pub(super) async fn write(&self, linger: Duration) {
        let overdue = async {
            self.ended().await;
            sleep(linger).await;
        };
        tokio::select! {
            // First, so that the task is known before anything else is waited for.
            biased;
            () = poll_fn(|context| self.poll_write_all(context)) => {}
            () = overdue => {}
        }
    }

    fn poll_write_all(&self, context: &mut Context<'_>) -> Poll<()> {
        let mut state = self.0.state();
        match &mut state.task {
            Some(task) => task.clone_from(context.waker()),
            None => state.task = Some(context.waker().clone()),
        }
        ready!(state.poll_write(context, &self.0.traffic));
        if state.ended || state.sink.is_none() { Poll::Ready(()) } else { Poll::Pending }
    }

    /// Waits until the room has ended the queue. Only while the same task writes, which is woken for it.
    async fn ended(&self) {
        poll_fn(|_| if self.0.state().ended { Poll::Ready(()) } else { Poll::Pending }).await;
    }

    /// The way out, for whoever has the last word, unless it has failed. Nothing of the queue is sent any more.
    pub(super) fn into_sink(self) -> Option<MessageSink> {
        self.0.state().sink.take()
    }
}

#[cfg(test)]
mod tests;
