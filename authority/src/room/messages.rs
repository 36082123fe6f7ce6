//! What greeted connections send. Everything here records; nothing confirms a tick.

use retick_core::codec::wire::List;
use retick_core::digest::Checksum;
use retick_core::seat::{Generation, Seat};
use retick_core::tick::{Moment, Tick};
use retick_core::wire::{ClientMessage, CloseReason, Inputs, RoomMessage};

use super::Room;
use super::event::{ConnectionId, RoomEvent};
use super::inputs::Delivery;
use super::reports::Reported;
use crate::log::Record;

/// Who sent a message.
#[derive(Clone, Copy, Debug)]
pub(super) struct Sender {
    pub(super) connection: ConnectionId,
    pub(super) seat: Seat,
    pub(super) greeted_after: u64,
}

/// A request for a command (A9).
struct CommandRequest<'a> {
    generation: Generation,
    sequence: u32,
    payload: &'a [u8],
}

impl Room {
    pub(super) fn handle_seated_message(&mut self, from: Sender, bytes: &[u8], now: Moment) {
        let seat = from.seat;
        // Whatever it is, its sender has received the greeting, and the token in it.
        self.prove_token(seat);
        match ClientMessage::decode(bytes) {
            Ok(ref message) if is_request(message) && !self.seats[seat.index()].request_budget.take(now) => {
                self.stats.refused_requests += 1;
            }
            Ok(ClientMessage::Inputs(inputs)) => self.handle_inputs(seat, &inputs),
            Ok(ClientMessage::Ping { sent_micros, rollbacks }) => {
                self.seats[seat.index()].report_rollbacks(rollbacks);
                self.handle_ping(from, sent_micros);
            }
            Ok(ClientMessage::Report { generation, tick, checksum }) => {
                self.handle_report(seat, generation, tick, checksum);
            }
            Ok(ClientMessage::Command { generation, sequence, payload }) => {
                self.handle_command(seat, &CommandRequest { generation, sequence, payload }, now);
            }
            Ok(ClientMessage::Ephemeral { payload }) => self.handle_ephemeral(from, payload, now),
            Ok(ClientMessage::Ready { generation }) => self.handle_ready(seat, generation),
            Ok(ClientMessage::Leave) => self.leave(from.connection, seat),
            Ok(ClientMessage::Vote { ready }) => self.handle_vote(seat, ready),
            Ok(ClientMessage::Start) => self.handle_start(seat),
            Ok(ClientMessage::Pause { generation, paused }) => self.handle_pause(seat, generation, paused, now),
            Ok(ClientMessage::Reconfigure { generation, config }) => {
                self.handle_reconfigure(seat, generation, config, now);
            }
            Ok(ClientMessage::Result { generation, tick, result }) => {
                self.handle_result(seat, generation, tick, result);
            }
            Ok(ClientMessage::Tail(frames)) => self.handle_tail(from.connection, Some(seat), &frames),
            Ok(ClientMessage::Answer { inquiry, ref answer }) => self.handle_answer(from.connection, inquiry, answer),
            Ok(ref message) if is_transfer(message) => {
                if let Err(reason) = self.handle_transfer(from.connection, message) {
                    self.stats.malformed_messages += u64::from(reason == CloseReason::Malformed);
                    self.eject(from.connection, reason);
                }
            }
            // A second greeting breaks the order of messages.
            Ok(_) | Err(_) => {
                self.stats.malformed_messages += 1;
                self.eject(from.connection, CloseReason::Malformed);
            }
        }
    }

    /// A1, A4, A5: inputs of another generation or epoch, or of a seat that is not ready, are refused whole. Those for ticks before
    /// a newcomer's first don't count.
    fn handle_inputs(&mut self, seat: Seat, message: &Inputs<'_>) {
        let frontier = self.expected_frontier();
        let slot = &mut self.seats[seat.index()];
        let epoch = slot.holder.map(|holder| holder.epoch);
        let current = message.generation == self.config.descriptor.generation() && epoch == Some(message.epoch);
        let counts_from = slot.counts_from().filter(|_| current);
        for (input, offset) in message.inputs.iter().zip(0..) {
            let delivery = match (message.first.checked_add(offset), counts_from) {
                (Some(tick), Some(from)) if tick < from => Delivery::Early,
                (Some(tick), Some(_)) => slot.inputs.deliver(frontier, tick, input),
                (None, _) | (_, None) => Delivery::Refused,
            };
            match delivery {
                Delivery::Kept => {}
                Delivery::Early => slot.stats.early_inputs += 1,
                Delivery::Duplicate => slot.stats.duplicate_inputs += 1,
                Delivery::Conflict => slot.stats.counters.conflicting_inputs += 1,
                Delivery::Late => slot.stats.counters.late_inputs += 1,
                Delivery::Refused => slot.stats.counters.refused_inputs += 1,
            }
        }
    }

    fn handle_ping(&mut self, from: Sender, sent_micros: u64) {
        let counters = self.seats[from.seat.index()].stats.counters;
        let pong = RoomMessage::Pong { sent_micros, clock: self.room_clock(), counters };
        self.outbox.transmit_urgent(from.connection, from.greeted_after, &pong);
    }

    /// A8.
    fn handle_report(&mut self, seat: Seat, generation: Generation, tick: Tick, checksum: Checksum) {
        let reported = if generation == self.config.descriptor.generation() {
            self.reports.report(seat, tick, checksum)
        } else {
            Reported::Refused
        };
        match reported {
            Reported::Kept => {
                self.judge_snapshots(tick);
                self.judge_reports(tick);
            }
            Reported::Duplicate => {}
            Reported::Refused => self.seats[seat.index()].stats.refused_reports += 1,
            Reported::Desync => {
                self.judge_snapshots(tick);
                self.announce_desync(generation, tick);
                self.judge_reports(tick);
            }
        }
    }

    pub(super) fn announce_desync(&mut self, generation: Generation, tick: Tick) {
        self.stats.desyncs += 1;
        self.outbox.persist(&Record::Desync { generation, tick });
        let values = List(self.reports.values(tick).to_vec());
        self.outbox.transmit(self.connections.greeted(), &RoomMessage::Desync { generation, tick, values });
        self.outbox.event(RoomEvent::Desync { tick });
        self.look_into(tick);
    }

    /// A9: rejected commands are counted, never answered one by one.
    fn handle_command(&mut self, seat: Seat, request: &CommandRequest<'_>, now: Moment) {
        let most = usize::from(self.config.descriptor.limits().max_command_bytes);
        let slot = &mut self.seats[seat.index()];
        let in_order = slot.last_command.is_none_or(|last| request.sequence > last);
        let valid = request.generation == self.config.descriptor.generation()
            && most > 0
            && request.payload.len() <= most
            && in_order
            && slot.takes_part();
        if !valid || self.commands.is_full(seat, request.payload.len()) || !slot.command_budget.take(now) {
            slot.stats.counters.rejected_commands += 1;
            return;
        }
        slot.last_command = Some(request.sequence);
        self.commands.push(seat, request.payload);
    }

    /// A9: to everyone else who was greeted; never in a frame.
    fn handle_ephemeral(&mut self, from: Sender, payload: &[u8], now: Moment) {
        let slot = &mut self.seats[from.seat.index()];
        if !slot.ephemeral_budget.take(now) || self.outbox.is_held_up() {
            slot.stats.dropped_ephemerals += 1;
            return;
        }
        let others = self.connections.greeted().filter(|id| *id != from.connection);
        self.outbox.transmit(others, &RoomMessage::Ephemeral { seat: from.seat, payload });
    }
}

/// Whether a message asks for what everyone is told of, so that it has a rate of its own (A11).
const fn is_request(message: &ClientMessage<'_>) -> bool {
    matches!(
        message,
        ClientMessage::Vote { .. }
            | ClientMessage::Start
            | ClientMessage::Pause { .. }
            | ClientMessage::Reconfigure { .. }
            | ClientMessage::Result { .. }
    )
}

/// Whether a message is part of a snapshot's way (A7).
const fn is_transfer(message: &ClientMessage<'_>) -> bool {
    matches!(
        message,
        ClientMessage::SnapshotOffer(_)
            | ClientMessage::SnapshotChunk { .. }
            | ClientMessage::SnapshotRefused { .. }
            | ClientMessage::SnapshotProgress { .. }
            | ClientMessage::SnapshotFailed { .. }
    )
}
