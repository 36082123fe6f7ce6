//! What a room wants done: messages on their way, records to its log, connections closed, and who is told of it.

use bytes::Bytes;
use retick_core::seat::Generation;
use retick_core::tick::{Moment, Tick};
use tracing::{debug, error, info};

use super::metrics::refusal_name;
use super::outbound::Overflow;
use super::room_log::{LogEnd, RoomLogError};
use super::room_task::RoomTask;
use crate::log::file::StoredSnapshot;
use crate::room::{CloseCause, KeptSnapshot, Output, RoomEvent};

impl RoomTask {
    /// Everything that the room wanted written down is, and what waited for it has left.
    pub(super) async fn settle_log(&mut self) {
        if let Some(log) = &mut self.log {
            log.hurry();
        }
        loop {
            self.carry_out(self.now());
            let Some(log) = self.log.as_mut().filter(|log| log.is_writing()) else { break };
            let written = log.written().await;
            self.handle_written(written);
        }
        if let Some(log) = self.log.take() {
            let has_begun = self.room.frontier() > Tick::ZERO || self.room.descriptor().generation() > Generation(0);
            log.end(match (self.suspended, has_begun) {
                (true, _) => LogEnd::Suspended,
                (false, true) => LogEnd::RoomEnded,
                (false, false) => LogEnd::NeverBegan,
            })
            .await;
        }
    }

    pub(super) fn handle_written(&mut self, written: Result<Option<u64>, RoomLogError>) {
        match written {
            Ok(kept) => self.room.handle_persisted(kept.unwrap_or_default()),
            Err(error) => {
                error!(%error, "a record was not kept: the room ends");
                self.log_failed = true;
            }
        }
    }

    /// Does everything that the room wants done, and what follows from doing it.
    pub(super) fn carry_out(&mut self, now: Moment) {
        loop {
            let persisted = self.drain();
            let slow = !self.overflowed.is_empty();
            self.close_slow_consumers(now);
            let failed = self.log_failed && !self.room.is_closed();
            if failed {
                self.room.close(now);
            }
            match persisted {
                Some(sequence) => self.room.handle_persisted(sequence),
                None if !slow && !failed => break,
                None => {}
            }
        }
        if let Some(log) = &mut self.log {
            log.write(now);
        }
    }

    /// Drains the room's outputs, and gives the last record of a room that keeps none.
    fn drain(&mut self) -> Option<u64> {
        let (mut persisted, mut snapshot_kept) = (None, false);
        loop {
            let Some(output) = self.room.poll_output() else {
                if !std::mem::take(&mut snapshot_kept) {
                    return persisted;
                }
                self.keep_snapshot();
                continue;
            };
            match output {
                Output::Transmit { to, bytes } => {
                    let message = Bytes::copy_from_slice(bytes);
                    for connection in to {
                        let Some(outbound) = self.outbounds.get(connection) else { continue };
                        if outbound.push(message.clone()) == Err(Overflow) && !self.overflowed.contains(connection) {
                            self.overflowed.push(*connection);
                        }
                    }
                }
                Output::Persist { sequence, record } => match &mut self.log {
                    None => persisted = Some(sequence),
                    Some(log) => log.push(sequence, record),
                },
                Output::Close { connection, cause } => {
                    debug!(connection = connection.0, ?cause, "a connection is closed");
                    self.status.mark_news();
                    self.outbounds.remove(&connection);
                    self.spans.remove(&connection);
                    if let CloseCause::Refused(refusal) = cause {
                        self.metrics.refused(refusal_name(&refusal));
                    }
                }
                Output::Event(event) => {
                    debug!(?event, "room event");
                    self.status.mark_news();
                    super::desync_log::note(&self.room, &event);
                    snapshot_kept |= matches!(event, RoomEvent::SnapshotKept { .. });
                    if let RoomEvent::SeatClaimed { seat, connection, .. }
                    | RoomEvent::SeatResumed { seat, connection, .. } = event
                        && let Some(span) = self.spans.remove(&connection)
                    {
                        span.record("seat", seat.number());
                    }
                    // Nobody may be listening.
                    let _ = self.channels.events.send(event);
                }
            }
        }
    }

    /// Keeps the room's newest snapshot beside its log (A7), and lets the room say what the next one will make unneeded.
    fn keep_snapshot(&mut self) {
        let Some(log) = self.log.as_mut().filter(|log| log.outlives_service()) else { return };
        if let Some(KeptSnapshot { tick, bytes, .. }) = self.room.newest_snapshot() {
            let (generation, fence) = (self.room.descriptor().generation(), self.room.fence_before(tick));
            log.keep_snapshot(StoredSnapshot { generation, tick, fence, bytes: bytes.to_vec() });
            self.room.summarize();
        }
    }

    fn close_slow_consumers(&mut self, now: Moment) {
        for connection in self.overflowed.drain(..) {
            let Some(outbound) = self.outbounds.remove(&connection) else { continue };
            self.spans.remove(&connection);
            info!(connection = connection.0, "a connection reads too slowly");
            outbound.replace_all(self.slow_consumer_message.clone());
            self.slow_consumers += 1;
            self.status.mark_news();
            self.room.handle_disconnected(connection, now);
        }
    }
}
