//! Making frames: which ticks are ripe, and what stands in them (A1, A2, A3).

use core::mem;

use retick_core::seat::{Presence, Seat, SeatSet};
use retick_core::tick::Tick;

use super::Room;
use crate::log::Record;

impl Room {
    /// Confirms every tick that the clock has reached and that is ripe, in order, and releases the frames.
    pub(super) fn confirm_due(&mut self) {
        let Some(clock_tick) = self.clock_tick() else {
            return;
        };
        loop {
            self.activate_due();
            let tick = self.frontier();
            if !self.is_due(tick, clock_tick) || self.outbox.is_saturated() {
                break;
            }
            self.confirm(tick);
            if self.release.is_full() {
                self.send_release();
            }
        }
        self.send_release();
    }

    /// A1: the clock has reached `tick`, and everyone who takes part has delivered or the deadline is over.
    fn is_due(&self, tick: Tick, clock_tick: Tick) -> bool {
        let deadline = tick.saturating_add(u64::from(self.config.rules.hard_tolerance_ticks));
        let delivered = || self.seats.iter().all(|slot| !slot.is_active() || slot.inputs.has(tick));
        tick <= clock_tick && (clock_tick >= deadline || delivered())
    }

    fn confirm(&mut self, tick: Tick) {
        let generation = self.config.descriptor.generation();
        self.current.reset(generation, tick);
        self.current.set_fence(self.fences.current());
        for slot in &mut self.seats {
            self.current.push_seat(slot.confirm(tick));
        }
        self.commands.fill(&mut self.current);
        self.keep_current();
        let base = (tick > Tick::ZERO).then_some(&self.previous);
        self.release.add(&self.current, base);
        mem::swap(&mut self.current, &mut self.previous);
    }

    /// Makes the current frame part of the history, and writes it down.
    pub(super) fn keep_current(&mut self) {
        let tick = self.current.tick();
        self.extend_history();
        let Room { history, chain, outbox, .. } = self;
        outbox.persist(&Record::Frame { tick, frame: history.newest(), head: chain.head() });
    }

    /// Makes the current frame part of the history.
    pub(super) fn extend_history(&mut self) {
        let Room { current, history, chain, keys, fences, .. } = self;
        let (generation, tick) = (current.generation(), current.tick());
        fences.handle_frame(tick, current.fence());
        history.push(current, |frame| {
            chain.extend_encoded(frame);
            keys.release_tag(generation, tick.saturating_add(1), chain.head())
        });
        self.reports.handle_confirmed(tick, self.humans());
    }

    /// The human seats of the frame that is being made.
    fn humans(&self) -> SeatSet {
        let numbered = (0..).map_while(Seat::new).zip(self.current.seats());
        numbered.filter(|(_, view)| view.presence == Presence::Human).map(|(seat, _)| seat).collect()
    }

    /// Sends what was confirmed to everyone who has all frames before it.
    fn send_release(&mut self) {
        let last = self.frontier().index().checked_sub(1).map(Tick::new);
        if let Some(tag) = last.and_then(|tick| self.history.tag(tick)).filter(|_| !self.release.is_empty()) {
            let message = self.release.message(self.config.descriptor.generation(), tag);
            self.outbox.transmit(self.connections.live(), &message);
        }
        self.release.clear();
    }
}
