//! Who watches without a seat (A14): gets what everyone gets, and can hold up nobody.

use retick_core::seat::Generation;
use retick_core::tick::Tick;
use retick_core::wire::{ClientMessage, CloseReason, Refusal, RoomMessage, SeatCounters};

use super::Room;
use super::event::ConnectionId;

impl Room {
    /// Whether one more observer may come, who has frames of this generation before `next`, the last of them behind
    /// this fence.
    pub(super) fn admit_observer(
        &mut self,
        connection: ConnectionId,
        (generation, next, fence): (Generation, Tick, Option<u32>),
    ) -> Result<(), Refusal> {
        if self.is_referee(connection) {
            self.check_history(generation, next, fence)?;
            return Ok(());
        }
        if self.is_locked {
            return Err(Refusal::Locked);
        }
        if self.connections.observer_count() >= usize::from(self.config.max_observers) {
            return Err(Refusal::Observers);
        }
        self.check_history(generation, next, fence)?;
        self.await_observer_tail(connection, (generation, next, fence));
        Ok(())
    }

    /// What an observer sends. It may ask for the clock and go; it says that it is ready, which nobody waits for. Whatever else is
    /// for players is counted and ignored.
    pub(super) fn handle_observer_message(&mut self, connection: ConnectionId, greeted_after: u64, bytes: &[u8]) {
        match ClientMessage::decode(bytes) {
            Ok(ClientMessage::Ping { sent_micros, .. }) => {
                let (clock, counters) = (self.room_clock(), SeatCounters::default());
                let pong = RoomMessage::Pong { sent_micros, clock, counters };
                self.outbox.transmit_urgent(connection, greeted_after, &pong);
            }
            Ok(ClientMessage::Ready { .. }) => {}
            Ok(ClientMessage::Tail(frames)) => self.handle_tail(connection, None, &frames),
            Ok(ref message) if self.is_referee(connection) && self.takes_of_referee(connection, message) => {}
            Ok(ref message) if is_download(message) => {
                if let Err(reason) = self.handle_transfer(connection, message) {
                    self.stats.malformed_messages += u64::from(reason == CloseReason::Malformed);
                    self.eject(connection, reason);
                }
            }
            Ok(ClientMessage::Leave) => {
                self.connections.remove(connection);
                self.dismiss(connection, CloseReason::Left);
            }
            Ok(ClientMessage::Hello(_)) | Err(_) => {
                self.stats.malformed_messages += 1;
                self.eject(connection, CloseReason::Malformed);
            }
            Ok(_) => self.stats.ignored_observer_messages += 1,
        }
    }
}

/// Whether a message is of somebody who is given a snapshot (A7). Observers give none: they report nothing.
const fn is_download(message: &ClientMessage<'_>) -> bool {
    matches!(message, ClientMessage::SnapshotProgress { .. } | ClientMessage::SnapshotFailed { .. })
}
