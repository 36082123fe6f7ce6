//! The recovery window: what a restored room takes back from clients before it goes on (A12).
//!
//! A log that is not forced to the disk with every frame may lack the newest ones, which clients have. For a while the restored room
//! confirms nothing, and asks whoever returns for the frames behind its log. A release's tag, which only the room can make, proves
//! them, whoever brings them. Of what was proved the room takes the longest of the latest run, and then goes on. Who has something
//! else is told that its history has forked.
//!
//! Every run marks its frames with a fence of its own, and wrote that down before it confirmed one. So the tick and the fence of a
//! client's newest frame say whether its history is the room's.

use alloc::vec;
use alloc::vec::Vec;

use retick_core::codec::wire::Cursor;
use retick_core::seat::{Generation, Seat, SeatCount, SeatSet};
use retick_core::tick::{Moment, Tick};
use retick_core::wire::{CloseReason, Frames, Refusal, RoomClock, RoomMessage};

use super::clock::RoomTime;
use super::connections::Feed;
use super::event::{ConnectionId, RoomEvent};
use super::line::{Offered, ProvedLine, Prover};
use super::seats::SeatSlot;
use super::{Phase, Room};

/// Longest recovery window, in milliseconds of the room's clock. It ends when everyone who held a seat is back.
pub const RECOVERY_WINDOW_MILLIS: u64 = 5_000;

/// A history, by two numbers: the first tick that it lacks, and the fence of the frame before.
#[derive(Clone, Copy, Debug, Default)]
struct Claimed {
    next: Tick,
    fence: Option<u32>,
}

/// A window that is open.
#[derive(Debug)]
pub(super) struct Recovery {
    end: RoomTime,
    proved: ProvedLine,
    /// What each seat's client says that it has.
    claimed: Vec<Claimed>,
    /// Seats whose client brought frames that prove nothing.
    unproved: SeatSet,
    /// The same of those who watch; nobody waits for them.
    observers: Vec<(ConnectionId, Claimed)>,
    /// Where the match's clock stands still, if it was stopped.
    paused: Option<Moment>,
}

impl Recovery {
    fn new(end: RoomTime, proved: ProvedLine, seats: SeatCount, paused: Option<Moment>) -> Recovery {
        let claimed = vec![Claimed::default(); seats.count()];
        Recovery { end, proved, claimed, unproved: SeatSet::EMPTY, observers: Vec::new(), paused }
    }

    /// When the window ends at the latest.
    pub(super) fn end(&self) -> RoomTime {
        self.end
    }

    /// Whether nothing more is to be had from the client of `seat`, which is back.
    fn has_answered(&self, seat: Seat) -> bool {
        let claimed = self.claimed.get(seat.index()).copied().unwrap_or_default();
        claimed.next <= self.proved.end() || self.unproved.contains(seat)
    }
}

impl Room {
    /// The first tick that nobody who is known to have frames has one of.
    pub(super) fn expected_frontier(&self) -> Tick {
        self.recovery.as_ref().map_or(self.frontier(), |recovery| recovery.proved.end())
    }

    /// Whether a returner's frames can be of this room's history, as far as two numbers say it: the first tick that it does not have,
    /// and the fence of the frame before (A7, A10).
    pub(super) fn check_history(&self, generation: Generation, next: Tick, fence: Option<u32>) -> Result<(), Refusal> {
        let (current, frontier) = (self.config.descriptor.generation(), self.frontier());
        let is_known = if generation != current {
            // What it has is over, and it starts anew.
            generation < current
        } else if next > frontier {
            // It has to prove them.
            self.phase == Phase::Recovering && fence >= self.fences.newest() && fence < Some(self.fences.current())
        } else {
            fence.is_none() || fence == self.fences.before(next)
        };
        if is_known { Ok(()) } else { Err(Refusal::HistoryForked { room: frontier, client: next }) }
    }

    /// Opens the window, in a room that was restored. The match's clock stood at `paused`, if it was stopped.
    pub(super) fn open_recovery(&mut self, paused: Option<Moment>) {
        let end = self.clock.time().plus_millis(RECOVERY_WINDOW_MILLIS);
        let (seats, proved) = (self.config.descriptor.seats(), ProvedLine::new(self.frontier(), self.chain.head()));
        self.phase = Phase::Recovering;
        self.recovery = Some(Recovery::new(end, proved, seats, paused));
    }

    /// The client of `seat` is back, and says that it has every frame of `generation` before `next`.
    pub(super) fn await_tail(&mut self, seat: Seat, generation: Generation, next: Tick, fence: Option<u32>) {
        let is_current = generation == self.config.descriptor.generation();
        let Some(recovery) = self.recovery.as_mut().filter(|_| is_current) else { return };
        recovery.unproved.remove(seat);
        if let Some(claimed) = recovery.claimed.get_mut(seat.index()) {
            *claimed = Claimed { next, fence };
        }
    }

    /// The same of one who watches.
    pub(super) fn await_observer_tail(
        &mut self,
        connection: ConnectionId,
        (generation, next, fence): (Generation, Tick, Option<u32>),
    ) {
        let is_current = generation == self.config.descriptor.generation();
        if let Some(recovery) = self.recovery.as_mut().filter(|_| is_current) {
            // As many as watch at once, and each that has gone.
            recovery.observers.retain(|(observer, _)| self.connections.contains(*observer));
            recovery.observers.push((connection, Claimed { next, fence }));
        }
    }

    /// Asks a connection that was just greeted for what the log lacks. Also who has nothing learns that the clock stands still.
    pub(super) fn ask_for_tail(&mut self, connection: ConnectionId) {
        if self.phase == Phase::Recovering {
            let (generation, next) = (self.config.descriptor.generation(), self.frontier());
            self.outbox.transmit([connection], &RoomMessage::TailWanted { generation, next });
        }
    }

    /// Frames that a client gives back. Once the window is over they come too late, and it is told so otherwise.
    pub(super) fn handle_tail(&mut self, connection: ConnectionId, seat: Option<Seat>, frames: &Frames<'_>) {
        let Room { recovery: Some(recovery), keys, config, fences, connections, stats, .. } = self else { return };
        let Some(peer) = connections.get_mut(connection) else { return };
        let Some(left) = peer.tails_left.checked_sub(1) else {
            stats.unproved_tails += 1;
            return;
        };
        peer.tails_left = left;
        let (generation, seats) = (config.descriptor.generation(), config.descriptor.seats());
        let prover = Prover { generation, seats, fence: fences.current(), keys };
        match recovery.proved.offer(frames, &prover) {
            Ok(Offered::Proved) => {}
            Ok(Offered::Unproved) => {
                self.stats.unproved_tails += 1;
                seat.into_iter().for_each(|seat| recovery.unproved.insert(seat));
            }
            Err(_) => {
                self.stats.malformed_messages += 1;
                self.eject(connection, CloseReason::Malformed);
            }
        }
    }

    /// Ends the window when it is over, or when everyone is back and has answered.
    pub(super) fn end_recovery_if_due(&mut self) {
        let Some(recovery) = &self.recovery else { return };
        let is_back = |slot: &SeatSlot| slot.connection.is_some();
        let is_settled =
            |(seat, slot): (Seat, &SeatSlot)| !slot.is_held() || (is_back(slot) && recovery.has_answered(seat));
        let settled = self.numbered().all(is_settled);
        if settled || recovery.end <= self.clock.time() {
            self.end_recovery();
        }
    }

    fn end_recovery(&mut self) {
        let Some(recovery) = &self.recovery else { return };
        let (paused, reach, lost) = (recovery.paused, recovery.proved.reach(), self.frontier());
        let mut returned: Vec<(ConnectionId, Claimed)> = recovery.observers.clone();
        let claims = self.seats.iter().zip(&recovery.claimed);
        returned.extend(claims.filter_map(|(slot, claimed)| Some((slot.connection?, *claimed))));
        self.adopt_tail();
        let (frontier, rate) = (self.frontier(), self.config.descriptor.tick_rate());
        // Where clients have frames behind a pause, the clock had gone on since, and that it did was lost.
        let reached = rate.moment_of(frontier);
        let position = paused.map_or(reached, |paused| paused.max(reached));
        self.phase = match paused {
            Some(_) => Phase::Paused { position },
            None => Phase::Running { origin: self.clock.time().minus(position) },
        };
        if frontier < reach {
            // Inputs were taken in for ticks that lie further ahead than a seat may buffer.
            self.seats.iter_mut().for_each(|slot| slot.inputs.clear());
        }
        for (connection, Claimed { next: client, fence }) in returned {
            // A longer history of a later run may have taken the place of one that was shown to be another.
            let is_other = fence.is_some() && fence != self.fences.before(client);
            if client > frontier || is_other {
                self.eject(connection, CloseReason::HistoryForked { room: frontier, client });
            }
        }
        self.resume_feeds(lost);
        let (generation, clock) = (self.config.descriptor.generation(), RoomClock { micros: position.as_micros() });
        self.outbox.transmit(self.connections.greeted(), &RoomMessage::Started { generation, clock });
        let greeted: Vec<_> = self.connections.greeted().collect();
        greeted.into_iter().for_each(|connection| self.tell_pause(connection));
        self.outbox.event(RoomEvent::Recovered { frontier, returned_ticks: frontier.since(lost) });
    }

    /// Whoever had everything up to the log's end gets what was given back, too.
    fn resume_feeds(&mut self, lost: Tick) {
        for (_, feed) in self.connections.feeds_mut() {
            if *feed == Feed::Live {
                *feed = Feed::CatchUp { next: lost };
            }
        }
    }

    /// Makes what clients gave back part of the history, and closes the window.
    pub(super) fn adopt_tail(&mut self) {
        let Some(recovery) = self.recovery.take() else { return };
        for bytes in recovery.proved.frames() {
            let decoded = self.current.decode_full(&mut Cursor::new(bytes), self.config.descriptor.seats());
            debug_assert_eq!(decoded, Ok(()), "the line holds what a frame wrote");
            if decoded.is_err() {
                return;
            }
            self.adopt_current();
            self.keep_current();
            core::mem::swap(&mut self.current, &mut self.previous);
        }
    }

    /// Takes from the current frame, which an earlier run confirmed, what seats do with it.
    pub(super) fn adopt_current(&mut self) {
        let tick = self.current.tick();
        for (slot, view) in self.seats.iter_mut().zip(self.current.seats()) {
            slot.adopt(tick, view);
        }
    }
}
