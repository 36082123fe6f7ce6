//! What the room's machine does: it runs the room, carries out what it wants, and keeps its records.

use retick_authority::log::Record;
use retick_authority::room::Room;
use retick_core::tick::Moment;

use super::host::Wanted;
use super::schedule::Waits;
use super::trace::Seen;
use super::world::{Due, World};

impl World<'_> {
    /// Does something to the room, if it runs, and carries out what follows.
    pub(super) fn with_room(&mut self, act: impl FnOnce(&mut Room, Moment)) {
        if let Some(run) = &mut self.host.run {
            act(&mut run.room, run.clock.read(self.now));
            self.carry_out();
        }
    }

    /// Starts the room's process. What its run begins with is on the disk before anything leaves it.
    pub(super) fn start_room(&mut self) {
        let kept = self.host.storage.last();
        let run = self.host.runs;
        let (schedule, factory) = (self.schedule, self.factory.clone());
        if !self.host.start(self.now, schedule, factory.as_ref()) {
            self.see(Seen::RoomOver);
            return;
        }
        self.see(Seen::RoomUp { run, kept });
        let wanted = self.host.poll();
        let (records, rest): (Vec<Wanted>, Vec<Wanted>) =
            wanted.into_iter().partition(|wanted| matches!(wanted, Wanted::Persist(..)));
        records.into_iter().for_each(|record| self.carry_out_one(record));
        self.sync_through(self.host.storage.last());
        rest.into_iter().for_each(|wanted| self.carry_out_one(wanted));
        self.carry_out();
        self.post_in(self.schedule.room.sync_interval_millis, Due::SyncTimer { run: self.host.runs });
    }

    pub(super) fn call_room(&mut self) {
        self.host.call(self.now);
        if self.healed {
            // Also one that was restored as it stood still.
            self.with_room(|room, now| {
                if room.is_paused() {
                    let _ = room.unpause(now);
                }
            });
        }
        self.carry_out();
        if let Some(seen) = self.host.seen(self.now) {
            self.see(Seen::RoomTurn(seen));
        }
    }

    /// Does everything that the room wants done.
    pub(super) fn carry_out(&mut self) {
        loop {
            let wanted = self.host.poll();
            if wanted.is_empty() {
                break;
            }
            wanted.into_iter().for_each(|wanted| self.carry_out_one(wanted));
        }
        if self.host.run.as_ref().is_some_and(|run| run.room.is_closed()) {
            self.host.run = None;
            self.host.is_over = true;
            self.see(Seen::RoomOver);
        }
    }

    pub(super) fn carry_out_one(&mut self, wanted: Wanted) {
        match wanted {
            Wanted::Transmit(to, bytes) => {
                to.iter().for_each(|connection| self.send_down(*connection, &bytes));
                self.see(Seen::Sent { to, bytes });
            }
            Wanted::Persist(sequence, bytes) => {
                self.host.storage.append(sequence, &bytes);
                let is_frame = Record::is_frame(&bytes);
                self.see(Seen::Record { sequence, bytes });
                match self.schedule.room.durability {
                    Waits::EveryFrame => self.begin_sync(),
                    Waits::Interval if !is_frame => self.begin_sync(),
                    Waits::Interval | Waits::None => {}
                }
            }
            Wanted::Close(connection) => {
                if let Some(open) = self.connections.get_mut(&connection) {
                    open.is_open = false;
                    let actor = &self.actors[open.actor];
                    let arrivals = open.down.send(self.now, 0, &actor.trouble);
                    let due = arrivals.first().copied().unwrap_or(self.now);
                    self.mailbox.post(due, Due::ActorHears(connection));
                }
            }
            Wanted::Event(event) => self.see(Seen::Event(event)),
        }
    }

    pub(super) fn begin_sync(&mut self) {
        let (sequence, run) = (self.host.storage.last(), self.host.runs);
        let begins = self.now.max(if self.healed { self.now } else { self.host.stalled_until });
        if let Some(running) = self.host.run.as_mut().filter(|running| !running.is_syncing) {
            running.is_syncing = true;
            let done = begins.plus_nanos(self.schedule.room.sync_micros * 1_000);
            self.mailbox.post(done, Due::Synced { run, sequence });
        }
    }

    pub(super) fn synced(&mut self, run: u32, sequence: u64) {
        if run != self.host.runs || self.host.run.is_none() {
            return;
        }
        self.host.run.iter_mut().for_each(|running| running.is_syncing = false);
        self.sync_through(sequence);
        if self.host.storage.last() > sequence && self.schedule.room.durability != Waits::None {
            self.begin_sync();
        }
        self.carry_out();
    }

    pub(super) fn sync_timer(&mut self, run: u32) {
        if run == self.host.runs && self.host.run.is_some() {
            if self.host.storage.last() > self.host.storage.synced() {
                self.begin_sync();
            }
            self.post_in(self.schedule.room.sync_interval_millis.max(1), Due::SyncTimer { run });
        }
    }

    pub(super) fn sync_through(&mut self, sequence: u64) {
        self.host.storage.sync(sequence);
        self.see(Seen::Synced { sequence });
        self.host.run.iter_mut().for_each(|run| run.room.handle_persisted(sequence));
    }
}
