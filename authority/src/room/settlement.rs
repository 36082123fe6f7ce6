//! How a match ended, as its players' simulations say (A15). The room compares their bytes; it can't know what they mean.

use alloc::vec::Vec;

use retick_core::seat::{Generation, Seat, SeatSet};
use retick_core::tick::Tick;
use retick_core::wire::{RoomMessage, Settlement};

use super::Room;
use super::event::RoomEvent;
use crate::log::Record;

/// What is known of how the match ended (A15).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum MatchSettlement<'a> {
    /// Not every seat whose player is still in the match has said how it ended: nothing is agreed.
    Incomplete {
        /// The seats that have.
        reported: SeatSet,
    },
    /// All of them said the same.
    Agreed {
        /// The state that says so: `n` for `S(n)`.
        tick: Tick,
        /// The game's bytes.
        result: &'a [u8],
    },
    /// Two of them said different things, or their checksums differ.
    Disputed,
}

#[derive(Clone, Debug)]
struct Said {
    seat: Seat,
    tick: Tick,
    result: Vec<u8>,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Verdict {
    /// What the entry of this number says.
    Agreed(usize),
    Disputed,
}

/// What the seats of a generation have said. Final once it is settled.
#[derive(Clone, Debug, Default)]
pub(super) struct Results {
    said: Vec<Said>,
    /// What the room's referee says (A13).
    referee: Option<(Tick, Vec<u8>)>,
    verdict: Option<Verdict>,
}

impl Results {
    /// Takes over from the log how the match was settled, which must be what the seats have said.
    pub(super) fn restore(&mut self, settlement: &Settlement<'_>) -> bool {
        let said = |said: &Said| *settlement == Settlement::Agreed { tick: said.tick, result: &said.result };
        self.verdict = match settlement {
            Settlement::Agreed { .. } => self.said.iter().position(said).map(Verdict::Agreed),
            Settlement::Disputed => Some(Verdict::Disputed),
        };
        self.settled() == Some(*settlement)
    }

    /// Takes what the referee says, once.
    fn take_of_referee(&mut self, tick: Tick, result: &[u8]) -> bool {
        let free = self.verdict.is_none() && self.referee.is_none();
        if free {
            self.referee = Some((tick, result.to_vec()));
        }
        free
    }

    /// How the match ended, when those seats are not heard that are wrong; `None` while that is not known. With a referee's word, seats
    /// that say something else are wrong too.
    fn judge(&self, silent: bool, wrong: SeatSet, undecided: bool) -> Option<Verdict> {
        let mut heard = self.said.iter().enumerate().filter(|(_, said)| !wrong.contains(said.seat));
        if let Some((tick, result)) = &self.referee {
            if silent {
                return None;
            }
            let agreed = heard.find(|(_, said)| (said.tick, &said.result) == (*tick, result));
            return Some(agreed.map_or(Verdict::Disputed, |(index, _)| Verdict::Agreed(index)));
        }
        let first = heard.next();
        let contradicts = |(_, said): (usize, &Said)| {
            first.is_some_and(|(_, first)| (first.tick, &first.result) != (said.tick, &said.result))
        };
        match (heard.any(contradicts), silent) {
            (true, _) => Some(Verdict::Disputed),
            (false, true) => None,
            (false, false) if undecided => Some(Verdict::Disputed),
            (false, false) => Some(first.map_or(Verdict::Disputed, |(index, _)| Verdict::Agreed(index))),
        }
    }

    /// Takes what a seat says, unless it has spoken or the match is settled.
    pub(super) fn take(&mut self, seat: Seat, tick: Tick, result: &[u8]) -> bool {
        let free = self.verdict.is_none() && self.said.iter().all(|said| said.seat != seat);
        if free {
            self.said.push(Said { seat, tick, result: result.to_vec() });
        }
        free
    }

    /// What each seat has said, in the order in which they spoke.
    pub(super) fn said(&self) -> impl Iterator<Item = (Seat, Tick, &[u8])> {
        self.said.iter().map(|said| (said.seat, said.tick, said.result.as_slice()))
    }

    fn reported(&self) -> SeatSet {
        self.said.iter().map(|said| said.seat).collect()
    }

    /// Forgets what a seat said whose claim has ended.
    pub(super) fn forget(&mut self, seat: Seat) {
        if self.verdict.is_none() {
            self.said.retain(|said| said.seat != seat);
        }
    }

    /// How the match was settled, if it was.
    pub(super) fn settled(&self) -> Option<Settlement<'_>> {
        Some(match self.verdict? {
            Verdict::Disputed => Settlement::Disputed,
            Verdict::Agreed(index) => {
                let Said { tick, result, .. } = self.said.get(index)?;
                Settlement::Agreed { tick: *tick, result }
            }
        })
    }
}

impl Room {
    /// How the match ended, as far as its players have said so (A15).
    pub fn settlement(&self) -> MatchSettlement<'_> {
        match self.results.settled() {
            None => MatchSettlement::Incomplete { reported: self.results.reported() },
            Some(Settlement::Agreed { tick, result }) => MatchSettlement::Agreed { tick, result },
            Some(Settlement::Disputed) => MatchSettlement::Disputed,
        }
    }

    /// A player says how the match ended. Too early, too late, of another generation or a second time, it is refused and counted.
    pub(super) fn handle_result(&mut self, seat: Seat, generation: Generation, tick: Tick, result: &[u8]) {
        let current = generation == self.config.descriptor.generation() && tick <= self.frontier();
        let active = self.seats[seat.index()].is_active();
        if !current || !active || !self.results.take(seat, tick, result) {
            self.seats[seat.index()].stats.refused_results += 1;
            return;
        }
        self.outbox.persist(&Record::Result { seat, tick, result });
        self.settle_if_due();
    }

    /// The referee says how the match ended (A13).
    pub(super) fn handle_referee_result(&mut self, generation: Generation, tick: Tick, result: &[u8]) {
        let current = generation == self.config.descriptor.generation() && tick <= self.frontier();
        if current && self.results.take_of_referee(tick, result) {
            self.settle_if_due();
        } else {
            self.stats.refused_referee_words += 1;
        }
    }

    /// Settles the match, once everyone whose player is still in it has spoken, or two have contradicted each other.
    pub(super) fn settle_if_due(&mut self) {
        if self.results.verdict.is_some() || self.results.said.is_empty() {
            return;
        }
        let (reported, wrong) = (self.results.reported(), self.reports.wrong());
        let is_awaited = |seat| !reported.contains(seat) && !wrong.contains(seat);
        let silent = self.numbered().any(|(seat, slot)| slot.is_active() && is_awaited(seat));
        let undecided = self.reports.has_undecided_desync();
        let Some(verdict) = self.results.judge(silent, wrong, undecided) else { return };
        self.results.verdict = Some(verdict);
        let Room { results, outbox, connections, config, .. } = self;
        let Some(settlement) = results.settled() else { return };
        let generation = config.descriptor.generation();
        outbox.persist(&Record::Settled { generation, settlement });
        outbox.transmit(connections.greeted(), &RoomMessage::Settled { generation, settlement });
        outbox.event(match settlement {
            Settlement::Agreed { tick, .. } => RoomEvent::Agreed { tick },
            Settlement::Disputed => RoomEvent::Disputed,
        });
    }
}
