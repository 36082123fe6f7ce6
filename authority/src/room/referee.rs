//! The room's own referee (A13): an observer with a word of its own.
//!
//! The room still links no simulation. Whoever drives it runs one beside it, as an observer's client whose connection was announced by
//! [`Room::handle_referee_connected`], and which needs no socket. What it reports is what is right: seats that differ are named, and put
//! right by its snapshots, which no seat can hold up. Without one, nothing here ever happens.

use retick_core::codec::wire::List;
use retick_core::digest::Checksum;
use retick_core::seat::{Generation, SeatSet};
use retick_core::tick::{Moment, Tick};
use retick_core::wire::{ClientMessage, CloseReason, RoomMessage};

use super::Room;
use super::clock::RoomTime;
use super::connections::{Feed, Stage};
use super::event::{ConnectionId, RoomEvent};
use super::reports::{Judgement, Reported};

/// How long other seats are waited for that may agree with the referee or contradict it, in milliseconds of the room's clock.
pub const VERDICT_MILLIS: u64 = 500;

/// What a room knows of its referee.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Refereeing {
    connection: Option<ConnectionId>,
    /// The oldest state for whose reports it waits, and how long.
    waits: Option<(Tick, RoomTime)>,
}

impl Room {
    /// The transport of the room's own referee was opened. It greets like an observer, and its word counts more than a seat's. Only the
    /// driver can say so; a referee that there was before is an observer from now on.
    pub fn handle_referee_connected(&mut self, connection: ConnectionId, now: Moment) {
        self.handle_connected(connection, now);
        if let Some(before) = self.refereeing.connection.take()
            && let Some(peer) = self.connections.get_mut(before)
        {
            peer.is_referee = false;
        }
        if let Some(peer) = self.connections.get_mut(connection) {
            peer.is_referee = true;
            self.refereeing.connection = Some(connection);
        }
    }

    /// Seats that the referee has contradicted in this generation.
    pub fn wrong_seats(&self) -> SeatSet {
        self.reports.wrong()
    }

    pub(super) fn is_referee(&self, connection: ConnectionId) -> bool {
        self.connections.get(connection).is_some_and(|peer| peer.is_referee)
    }

    /// The referee's connection, if it has every frame.
    pub(super) fn live_referee(&self) -> Option<ConnectionId> {
        let connection = self.refereeing.connection?;
        let stage = self.connections.get(connection)?.stage;
        matches!(stage, Stage::Watching { feed: Feed::Live, .. }).then_some(connection)
    }

    /// Takes what only a referee may say. Whether it was that.
    pub(super) fn takes_of_referee(&mut self, from: ConnectionId, message: &ClientMessage<'_>) -> bool {
        match *message {
            ClientMessage::Report { generation, tick, checksum } => {
                self.handle_referee_report(generation, tick, checksum)
            }
            ClientMessage::Result { generation, tick, result } => self.handle_referee_result(generation, tick, result),
            ClientMessage::Answer { inquiry, ref answer } => self.handle_answer(from, inquiry, answer),
            ClientMessage::SnapshotOffer(_)
            | ClientMessage::SnapshotChunk { .. }
            | ClientMessage::SnapshotRefused { .. } => {
                if self.handle_transfer(from, message).is_err() {
                    self.eject(from, CloseReason::Malformed);
                }
            }
            _ => return false,
        }
        true
    }

    fn handle_referee_report(&mut self, generation: Generation, tick: Tick, checksum: Checksum) {
        let reported = if generation == self.config.descriptor.generation() {
            self.reports.report_of_referee(tick, checksum)
        } else {
            Reported::Refused
        };
        match reported {
            Reported::Kept | Reported::Desync => {
                self.judge_snapshots(tick);
                if reported == Reported::Desync {
                    self.announce_desync(generation, tick);
                }
                self.judge_reports(tick);
            }
            Reported::Duplicate => {}
            Reported::Refused => self.stats.refused_referee_words += 1,
        }
    }

    /// Names the seats that are known to be wrong about a state, and has them put right.
    pub(super) fn judge_reports(&mut self, tick: Tick) {
        self.judge_state(tick, false);
    }

    fn judge_state(&mut self, tick: Tick, over: bool) {
        match self.reports.judge(tick, over) {
            Judgement::Nothing => {}
            Judgement::Waits => {
                let due = self.clock.present().plus_millis(VERDICT_MILLIS);
                self.refereeing.waits = Some(self.refereeing.waits.unwrap_or((tick, due)));
            }
            Judgement::Undecided => self.stats.undecided_verdicts += 1,
            Judgement::Wrong(seats) => self.announce_verdict(tick, seats),
        }
    }

    /// Waits no longer than it should for seats that say nothing.
    pub(super) fn check_verdict(&mut self) {
        if let Some((tick, due)) = self.refereeing.waits
            && due <= self.clock.time()
        {
            self.refereeing.waits = None;
            self.judge_state(tick, true);
        }
    }

    fn announce_verdict(&mut self, tick: Tick, seats: SeatSet) {
        let Some(checksum) = self.reports.of_referee(tick) else { return };
        let (generation, wrong) = (self.config.descriptor.generation(), List(seats.iter().collect()));
        self.stats.verdicts += 1;
        self.outbox.transmit(self.connections.greeted(), &RoomMessage::Verdict { generation, tick, checksum, wrong });
        for seat in seats.iter() {
            self.outbox.event(RoomEvent::SeatWrong { seat, tick });
        }
        // What the referee has is trusted from now on.
        self.judge_snapshots(tick);
        self.repair_seats(seats, tick);
        self.settle_if_due();
    }
}
