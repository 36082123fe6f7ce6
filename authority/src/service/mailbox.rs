//! A room's mailbox: what reaches its task, and what wakes it.
//!
//! Most mail is inputs, and most of them are for ticks that the room's clock has not reached. They change nothing before that tick,
//! at which the room wakes anyway; so while it waits for nothing else, they lie in the mailbox and wake nobody.

use std::sync::Arc;

use bytes::Bytes;
use retick_core::wire::ClientMessage;
use tokio::sync::mpsc::error::TrySendError;
use tokio::sync::{Notify, mpsc};

use super::entrance::Entrant;
use super::outbound::Outbound;
use crate::room::ConnectionId;

/// Most mail that waits for a room. A reader waits when it is full, and its socket with it.
pub const MAX_WAITING_MAIL: usize = 512;

/// What reaches a room's task.
#[derive(Debug)]
pub(super) enum Mail {
    /// A transport was opened and has greeted, and this is the way to it.
    Entered { connection: ConnectionId, outbound: Outbound, entrant: Box<Entrant> },
    /// The room's referee comes (A13).
    Referee { connection: ConnectionId, outbound: Outbound },
    /// A binary message arrived.
    Message { connection: ConnectionId, bytes: Bytes },
    /// The transport is gone.
    Disconnected { connection: ConnectionId },
    /// The owner starts the match.
    Start,
    /// The owner locks the room, or opens it again.
    SetLocked(bool),
    /// The owner ends the room.
    Close,
}

impl Mail {
    /// Whether it is inputs alone, which count when their tick is due.
    pub(super) fn is_inputs(&self) -> bool {
        matches!(self, Mail::Message { bytes, .. } if ClientMessage::are_inputs(bytes))
    }
}

/// The room's task has ended.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct RoomOver;

/// Which mail a room waits for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Awaited {
    /// All of it.
    Anything,
    /// All but inputs.
    Urgent,
}

/// The way into a room's mailbox.
#[derive(Clone, Debug)]
pub(super) struct MailSender {
    mail: mpsc::Sender<Mail>,
    urgent: Arc<Notify>,
}

/// The mailbox of a room's task.
pub(super) struct Mailbox {
    mail: mpsc::Receiver<Mail>,
    urgent: Arc<Notify>,
}

/// An empty mailbox, and the way into it.
pub(super) fn mailbox() -> (MailSender, Mailbox) {
    let ((sender, mail), urgent) = (mpsc::channel(MAX_WAITING_MAIL), Arc::new(Notify::new()));
    (MailSender { mail: sender, urgent: urgent.clone() }, Mailbox { mail, urgent })
}

impl MailSender {
    /// Sends mail, and waits while the mailbox is full.
    pub(super) async fn send(&self, mail: Mail) -> Result<(), RoomOver> {
        let Err(mail) = self.try_send(mail) else { return Ok(()) };
        // It is full of inputs, perhaps, for which nobody wakes.
        self.urgent.notify_one();
        self.mail.send(mail).await.map_err(|_| RoomOver)?;
        self.urgent.notify_one();
        Ok(())
    }

    /// Sends mail, or gives it back: the mailbox is full, or there is none any more.
    pub(super) fn try_send(&self, mail: Mail) -> Result<(), Mail> {
        let is_urgent = !mail.is_inputs();
        self.mail.try_send(mail).map_err(TrySendError::into_inner)?;
        if is_urgent {
            self.urgent.notify_one();
        }
        Ok(())
    }
}

impl Mailbox {
    /// Waits for mail and takes it out; false when nobody can send any.
    pub(super) async fn receive(&mut self, awaited: Awaited, into: &mut Vec<Mail>) -> bool {
        match awaited {
            Awaited::Anything => self.mail.recv_many(into, MAX_WAITING_MAIL).await > 0,
            Awaited::Urgent => {
                self.urgent.notified().await;
                self.take(into)
            }
        }
    }

    /// Takes out what is there; false when nobody can send any.
    pub(super) fn take(&mut self, into: &mut Vec<Mail>) -> bool {
        while into.len() < MAX_WAITING_MAIL {
            match self.mail.try_recv() {
                Ok(mail) => into.push(mail),
                Err(error) => return error == mpsc::error::TryRecvError::Empty,
            }
        }
        true
    }
}

#[cfg(test)]
mod tests {
    use std::pin::pin;
    use std::task::{Context, Poll, Waker};

    use retick_core::seat::{ControlEpoch, Generation};
    use retick_core::tick::Tick;
    use retick_core::wire::{InputRun, Inputs};

    use super::*;

    fn message(message: &ClientMessage<'_>) -> Mail {
        let mut bytes = Vec::new();
        message.encode_into(&mut bytes);
        Mail::Message { connection: ConnectionId(1), bytes: bytes.into() }
    }

    fn inputs() -> Mail {
        let inputs = InputRun::new(1, b"a").expect("a run");
        let (generation, epoch, first) = (Generation(0), ControlEpoch(0), Tick::ZERO);
        message(&ClientMessage::Inputs(Inputs { generation, epoch, first, inputs }))
    }

    fn poll(mailbox: &mut Mailbox, awaited: Awaited) -> Option<usize> {
        let mut mail = Vec::new();
        let poll = pin!(mailbox.receive(awaited, &mut mail)).poll(&mut Context::from_waker(Waker::noop()));
        (poll == Poll::Ready(true)).then_some(mail.len())
    }

    #[test]
    fn a1_inputs_lie_until_they_are_awaited_or_something_else_comes() {
        let (sender, mut mailbox) = mailbox();
        assert!(sender.try_send(inputs()).is_ok());
        assert_eq!(poll(&mut mailbox, Awaited::Urgent), None);
        assert_eq!(poll(&mut mailbox, Awaited::Anything), Some(1));
        assert!(sender.try_send(inputs()).is_ok() && sender.try_send(message(&ClientMessage::Leave)).is_ok());
        assert_eq!(poll(&mut mailbox, Awaited::Urgent), Some(2));
        assert_eq!(poll(&mut mailbox, Awaited::Urgent), None);
        assert!(sender.try_send(inputs()).is_ok());
        let mut mail = Vec::new();
        assert!(mailbox.take(&mut mail), "a turn takes everything");
        assert_eq!(mail.len(), 1);
    }

    #[tokio::test]
    async fn a11_a_full_mailbox_wakes_its_room_whatever_fills_it() {
        let (sender, mut mailbox) = mailbox();
        (0..MAX_WAITING_MAIL).for_each(|_| assert!(sender.try_send(inputs()).is_ok()));
        assert!(sender.try_send(inputs()).is_err());
        let sending = sender.send(inputs());
        let mut sending = pin!(sending);
        assert!(sending.as_mut().poll(&mut Context::from_waker(Waker::noop())).is_pending());
        assert_eq!(poll(&mut mailbox, Awaited::Urgent), Some(MAX_WAITING_MAIL));
        assert_eq!(sending.await, Ok(()));
        drop(mailbox);
        assert_eq!(sender.send(inputs()).await, Err(RoomOver));
    }
}
