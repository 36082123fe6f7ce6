//! The room's side towards a newcomer: the newest snapshot, in a transfer of its own, a bounded amount in each call (A7).

use retick_core::seat::Generation;
use retick_core::tick::Tick;
use retick_core::wire::{
    CloseReason, NoSnapshot, RoomMessage, SNAPSHOT_WINDOW_CHUNKS, SnapshotHeader, TransferId, Witness,
};

use super::kept::{Kept, Verdict};
use super::{Donation, DonationConfig};
use crate::room::Room;
use crate::room::clock::RoomTime;
use crate::room::connections::Feed;
use crate::room::event::ConnectionId;
use crate::room::history::History;
use crate::room::outbox::Outbox;

/// Most newcomers that are sent chunks at a time; the others wait for their turn.
pub const MAX_DELIVERIES: usize = 8;
/// Most of them that only watch: however slowly those read, places are left for players (A14).
pub const MAX_OBSERVER_DELIVERIES: usize = MAX_DELIVERIES / 2;
/// Chunks that are under way to one newcomer: half of what may be, so that the frames beside them never make a slow consumer of
/// somebody who reads (A11).
pub const DELIVERY_WINDOW_CHUNKS: u32 = SNAPSHOT_WINDOW_CHUNKS / 2;
/// Most chunks that one call sends to all newcomers together; at most one to each.
pub const MAX_SNAPSHOT_CHUNKS_PER_CALL: usize = 4;
/// How often a newcomer is given a snapshot before it is given up. The second time it is the same, for the way may have damaged it;
/// from the third time on another donor's.
pub const MAX_SNAPSHOT_ATTEMPTS: u8 = 3;

const _: () = assert!(DELIVERY_WINDOW_CHUNKS > 0);

/// Where a newcomer stands that gets a snapshot.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(in crate::room) struct Hydration {
    /// The first tick that it has no frame of.
    next: Tick,
    since: RoomTime,
    told: Option<NoSnapshot>,
    /// Snapshots that it could not use.
    failures: u8,
    /// The last snapshot that it could not use, once it had it twice.
    refused: Option<u64>,
    delivery: Option<Delivery>,
}

/// One transfer to a newcomer.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Delivery {
    pub(super) transfer: TransferId,
    /// Serial of the snapshot.
    pub(super) snapshot: u64,
    chunks: u32,
    /// Whether the newcomer has said where to begin.
    begun: bool,
    sent: u32,
    acknowledged: u32,
    progressed: RoomTime,
    /// The record that the last message of it waits for (A12).
    held_by: u64,
}

impl Delivery {
    /// Takes it that the receiver has all chunks before `next`; its first word of a transfer says where to begin, for it may have kept
    /// some of them. Says whether that can be.
    pub(super) fn progress(&mut self, next: u32, time: RoomTime) -> bool {
        let is_possible =
            if self.begun { (self.acknowledged..=self.sent).contains(&next) } else { next <= self.chunks };
        if !is_possible {
            return false;
        }
        if next > self.acknowledged || !self.begun {
            self.progressed = time;
        }
        (self.acknowledged, self.sent, self.begun) = (next, self.sent.max(next), true);
        true
    }

    /// Whether the receiver has everything.
    pub(super) fn is_complete(&self) -> bool {
        self.acknowledged == self.chunks
    }
}

impl Hydration {
    pub(in crate::room) fn new(next: Tick, since: RoomTime) -> Hydration {
        Hydration { next, since, told: None, failures: 0, refused: None, delivery: None }
    }

    fn may_get(&self, kept: &Kept) -> bool {
        self.refused.is_none_or(|refused| kept.serial > refused)
    }
}

/// Who is served.
#[derive(Clone, Copy, Debug)]
struct Newcomer {
    connection: ConnectionId,
    /// Whether it only watches.
    watches: bool,
}

/// What one call sends, and to whom no more.
pub(super) struct Call<'a> {
    pub(super) time: RoomTime,
    generation: Generation,
    config: DonationConfig,
    pub(super) donation: &'a mut Donation,
    history: &'a History,
    outbox: &'a mut Outbox,
    chunks_left: usize,
    deliveries: usize,
    observer_deliveries: usize,
    /// Serial of the oldest snapshot that somebody is being sent.
    oldest_used: Option<u64>,
    /// One newcomer that is given up; the next one in the next call.
    pub(super) given_up: Option<(ConnectionId, CloseReason)>,
}

impl Room {
    /// Sends newcomers the next chunks of their snapshots, and gives up who can't have one.
    pub(in crate::room) fn send_snapshots(&mut self) {
        let (time, generation, config) = (self.clock.time(), self.config.descriptor.generation(), self.config.donation);
        let Room { connections, donation, history, outbox, .. } = self;
        // Said anew by whoever waits.
        donation.wanted = false;
        // As many as the last call left, at most: they begin here alone.
        let (deliveries, observer_deliveries) = (donation.deliveries, donation.observer_deliveries);
        let (chunks_left, oldest_used, given_up) = (MAX_SNAPSHOT_CHUNKS_PER_CALL, None, None);
        let mut call = Call {
            time,
            generation,
            config,
            donation,
            history,
            outbox,
            chunks_left,
            deliveries,
            observer_deliveries,
            oldest_used,
            given_up,
        };
        let (mut oldest_catching_up, mut left, mut left_watching) = (None, 0, 0);
        for (connection, watches, feed) in connections.watched_feeds_mut() {
            call.serve(Newcomer { connection, watches }, feed);
            match *feed {
                Feed::CatchUp { next } => {
                    oldest_catching_up = Some(oldest_catching_up.map_or(next, |oldest: Tick| oldest.min(next)));
                }
                Feed::Hydrate(Hydration { delivery: Some(_), .. }) => {
                    left += 1;
                    left_watching += usize::from(watches);
                }
                Feed::Hydrate(_) | Feed::Live => {}
            }
        }
        call.repair();
        let Call { oldest_used, given_up, .. } = call;
        (self.donation.deliveries, self.donation.observer_deliveries) = (left, left_watching);
        self.donation.shelf.drop_unused(oldest_used);
        self.forget_history(oldest_catching_up);
        if let Some((connection, reason)) = given_up {
            self.give_up_newcomer(connection, reason);
        }
    }

    fn give_up_newcomer(&mut self, connection: ConnectionId, reason: CloseReason) {
        self.stats.unhydrated_connections += 1;
        self.eject(connection, reason);
    }

    /// A newcomer has all chunks before `next`.
    pub(super) fn handle_progress(
        &mut self,
        from: ConnectionId,
        transfer: TransferId,
        next: u32,
    ) -> Result<(), CloseReason> {
        let time = self.clock.time();
        if let Some(progressed) = self.progress_repair(from, transfer, next) {
            return progressed;
        }
        let Some((feed, hydration, mut delivery)) = self.delivery_of(from, transfer) else {
            self.stats.stray_transfers += 1;
            return Ok(());
        };
        if !delivery.progress(next, time) {
            return Err(CloseReason::Malformed);
        }
        *feed = Feed::Hydrate(Hydration { delivery: Some(delivery), ..hydration });
        if next == delivery.chunks {
            self.go_on_behind(from, delivery.snapshot);
        }
        Ok(())
    }

    /// The newcomer has its state; the frames since come next.
    fn go_on_behind(&mut self, connection: ConnectionId, snapshot: u64) {
        let tick = self.donation.shelf.get(snapshot).map(|kept| kept.header.tick);
        if let (Some(next), Some(feed)) = (tick, self.connections.feed_mut(connection)) {
            *feed = Feed::CatchUp { next };
        }
    }

    /// A newcomer could not use what it was sent.
    pub(super) fn handle_hydration_failed(
        &mut self,
        from: ConnectionId,
        transfer: TransferId,
    ) -> Result<(), CloseReason> {
        let (time, watches) = (self.clock.time(), self.connections.watches(from));
        if self.fail_repair(from, transfer) {
            return Ok(());
        }
        let Some((feed, hydration, delivery)) = self.delivery_of(from, transfer) else {
            self.stats.stray_transfers += 1;
            return Ok(());
        };
        let failures = hydration.failures + 1;
        if failures >= MAX_SNAPSHOT_ATTEMPTS {
            return Err(CloseReason::NoHistory(NoSnapshot::Mismatch));
        }
        let refused = if failures > 1 { Some(delivery.snapshot) } else { None };
        *feed = Feed::Hydrate(Hydration { since: time, told: None, failures, refused, delivery: None, ..hydration });
        self.stats.failed_deliveries += 1;
        if watches {
            return Ok(());
        }
        let donor = refused.and_then(|serial| self.donation.shelf.get(serial)).and_then(|kept| kept.donor);
        if let Some(Witness::Seat(donor)) = donor {
            self.donation.distrusted.insert(donor);
        }
        Ok(())
    }

    fn delivery_of(&mut self, from: ConnectionId, transfer: TransferId) -> Option<(&mut Feed, Hydration, Delivery)> {
        let feed = self.connections.feed_mut(from)?;
        let Feed::Hydrate(hydration) = *feed else { return None };
        let delivery = hydration.delivery.filter(|delivery| delivery.transfer == transfer)?;
        Some((feed, hydration, delivery))
    }
}

impl Call<'_> {
    fn serve(&mut self, newcomer: Newcomer, feed: &mut Feed) {
        match *feed {
            Feed::Hydrate(hydration) => *feed = self.hydrate(newcomer, hydration),
            // What it was to get next is forgotten: it begins again behind a snapshot.
            Feed::CatchUp { next } if next < self.history.first() => {
                *feed = Feed::Hydrate(Hydration::new(next, self.time));
            }
            Feed::CatchUp { .. } | Feed::Live => {}
        }
    }

    fn hydrate(&mut self, newcomer: Newcomer, mut hydration: Hydration) -> Feed {
        let Newcomer { connection, watches } = newcomer;
        let is_kept = |delivery: &Delivery| self.donation.shelf.get(delivery.snapshot).is_some();
        hydration.delivery = hydration.delivery.filter(is_kept);
        if let Some(delivery) = hydration.delivery {
            hydration.delivery = Some(self.send_chunk(connection, delivery));
            return Feed::Hydrate(hydration);
        }
        let history = self.history;
        let newest = self.donation.shelf.newest().filter(|kept| kept.header.tick >= history.first());
        match newest.filter(|kept| hydration.may_get(kept)).map(|kept| (kept.header, kept.serial, kept.verdict)) {
            Some(_) if self.deliveries >= MAX_DELIVERIES => {}
            Some(_) if watches && self.observer_deliveries >= MAX_OBSERVER_DELIVERIES => {}
            Some((header, serial, verdict)) => {
                self.observer_deliveries += usize::from(watches);
                hydration.delivery = Some(self.offer(connection, header, serial, verdict));
            }
            None => return self.wait(newcomer, hydration),
        }
        Feed::Hydrate(hydration)
    }

    fn offer(&mut self, connection: ConnectionId, header: SnapshotHeader, snapshot: u64, verdict: Verdict) -> Delivery {
        let verified = verdict == Verdict::Verified;
        self.deliveries += 1;
        self.announce(connection, header, snapshot, |header| RoomMessage::Snapshot { header, verified })
    }

    /// Announces a transfer of a snapshot.
    pub(super) fn announce(
        &mut self,
        connection: ConnectionId,
        header: SnapshotHeader,
        snapshot: u64,
        message: impl FnOnce(SnapshotHeader) -> RoomMessage<'static>,
    ) -> Delivery {
        let transfer = self.donation.next_transfer();
        let header = SnapshotHeader { transfer, generation: self.generation, ..header };
        self.outbox.transmit([connection], &message(header));
        self.note_used(snapshot);
        let (chunks, progressed, held_by) = (header.chunk_count(), self.time, self.outbox.barrier());
        Delivery { transfer, snapshot, chunks, begun: false, sent: 0, acknowledged: 0, progressed, held_by }
    }

    pub(super) fn send_chunk(&mut self, connection: ConnectionId, mut delivery: Delivery) -> Delivery {
        self.note_used(delivery.snapshot);
        if !self.outbox.has_released(delivery.held_by) {
            // What has not left the room is no receiver's fault.
            delivery.progressed = self.time;
        }
        if self.time >= delivery.progressed.plus_millis(self.config.transfer_timeout_millis) {
            self.given_up = Some((connection, CloseReason::SlowConsumer));
            return delivery;
        }
        if !delivery.begun {
            return delivery;
        }
        if delivery.sent == delivery.acknowledged {
            // Whoever owes nothing is not slow.
            delivery.progressed = self.time;
        }
        let window = delivery.acknowledged.saturating_add(DELIVERY_WINDOW_CHUNKS).min(delivery.chunks);
        let kept = self.donation.shelf.get(delivery.snapshot);
        if let Some(kept) = kept.filter(|_| self.chunks_left > 0 && delivery.sent < window) {
            let (transfer, index, bytes) = (delivery.transfer, delivery.sent, kept.chunk(delivery.sent));
            self.outbox.transmit([connection], &RoomMessage::SnapshotChunk { transfer, index, bytes });
            (delivery.sent, delivery.held_by) = (delivery.sent + 1, self.outbox.barrier());
            self.chunks_left -= 1;
        }
        delivery
    }

    /// There is none for it. It is told why, and gets the frames instead when there are all of them. Who only watches, and could not use
    /// one that players can, waits for the next: nobody is asked for one on its account (A14).
    fn wait(&mut self, newcomer: Newcomer, mut hydration: Hydration) -> Feed {
        let Newcomer { connection, watches } = newcomer;
        if watches && hydration.refused.is_some() && self.donation.shelf.newest().is_some() {
            if self.time >= hydration.since.plus_millis(self.config.hydration_millis) {
                self.given_up = Some((connection, CloseReason::NoHistory(NoSnapshot::Mismatch)));
            }
            return Feed::Hydrate(hydration);
        }
        self.donation.wanted = true;
        let Some(failure) = self.donation.failure.filter(|failure| failure.at >= hydration.since) else {
            return Feed::Hydrate(hydration);
        };
        let cause = failure.cause;
        if hydration.told != Some(cause) {
            self.outbox.transmit([connection], &RoomMessage::NoSnapshot { cause });
            hydration.told = Some(cause);
        }
        if hydration.next >= self.history.first() {
            return Feed::CatchUp { next: hydration.next };
        }
        let is_over = self.time >= hydration.since.plus_millis(self.config.hydration_millis);
        // No other donor has a smaller state.
        if is_over || cause == NoSnapshot::TooLarge {
            self.given_up = Some((connection, CloseReason::NoHistory(cause)));
        }
        Feed::Hydrate(hydration)
    }

    fn note_used(&mut self, snapshot: u64) {
        self.oldest_used = Some(self.oldest_used.map_or(snapshot, |oldest| oldest.min(snapshot)));
    }
}
