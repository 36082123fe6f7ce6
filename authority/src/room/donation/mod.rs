//! Snapshots of checksum-report states, from a client that has one to whoever needs one (A7).
//!
//! The room can't make a snapshot: it plays nothing. It asks a client (`donor`), checks what comes as far as that needs no game,
//! holds it against what other seats reported, keeps it (`kept`), and gives it to newcomers, each in a transfer of its own
//! (`delivery`). History before the newest snapshot is forgotten.
//!
//! Nothing of a transfer survives it: its chunks lie in one [`Assembly`](retick_core::wire::Assembly), which ends with it. No more
//! than one donation runs at a time, and no more than [`MAX_DELIVERIES`] newcomers are sent chunks; all together the room holds at
//! most [`MAX_TRANSFER_BYTES`] for them.

mod config;
mod delivery;
mod donor;
mod kept;
mod repair;

pub use config::{
    DEFAULT_HISTORY_MILLIS, DEFAULT_HYDRATION_MILLIS, DEFAULT_MAX_HISTORY_BYTES, DEFAULT_MAX_SNAPSHOT_BYTES,
    DEFAULT_REPLAY_MILLIS, DEFAULT_SNAPSHOT_INTERVAL_MILLIS, DEFAULT_TRANSFER_TIMEOUT_MILLIS, DonationConfig,
};
pub use delivery::{
    DELIVERY_WINDOW_CHUNKS, MAX_DELIVERIES, MAX_OBSERVER_DELIVERIES, MAX_SNAPSHOT_ATTEMPTS,
    MAX_SNAPSHOT_CHUNKS_PER_CALL,
};
pub use donor::{CHECKED_BLOCKS_PER_CALL, DONATION_RETRY_MILLIS, DonationStatus, MAX_DONATION_MILLIS};
pub use kept::MAX_KEPT_SNAPSHOTS;
pub use repair::MAX_REPAIRS_PER_SEAT;

pub(super) use delivery::Hydration;

use alloc::vec::Vec;

use retick_core::digest::Digest;
use retick_core::seat::{Generation, Seat, SeatSet};
use retick_core::snapshot::{MAX_SNAPSHOT_BYTES, Snapshot, SnapshotError, StateCheck};
use retick_core::tick::Tick;
use retick_core::wire::{
    ClientMessage, CloseReason, History, NoSnapshot, SNAPSHOT_CHUNK_BYTES, SnapshotHeader, TransferId,
};

use super::clock::RoomTime;
use super::connections::Feed;
use super::event::ConnectionId;
use super::{Phase, Room};
use donor::Incoming;
use kept::{Shelf, Verdict};
use repair::Repair;

/// Most bytes that a room holds for transfers: the snapshots that it keeps, the one that it takes and once more while that is
/// checked, and the chunks that wait to be sent.
pub const MAX_TRANSFER_BYTES: usize = (MAX_KEPT_SNAPSHOTS + 2) * MAX_SNAPSHOT_BYTES
    + MAX_DELIVERIES * DELIVERY_WINDOW_CHUNKS as usize * SNAPSHOT_CHUNK_BYTES;

/// A snapshot that the room keeps.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct KeptSnapshot<'a> {
    /// The state: `n` for `S(n)`.
    pub tick: Tick,
    /// [`Snapshot::to_bytes`].
    pub bytes: &'a [u8],
    /// Whether another seat than the donor's has reported this checksum.
    pub verified: bool,
}

/// One search for a snapshot: from donor to donor, until one's is good or none is left.
#[derive(Clone, Copy, Debug, Default)]
struct Round {
    tried: SeatSet,
    referee_tried: bool,
    /// The weightiest reason so far.
    cause: Option<NoSnapshot>,
}

/// A search that found nothing.
#[derive(Clone, Copy, Debug)]
struct Failure {
    cause: NoSnapshot,
    at: RoomTime,
}

/// All that a room knows of snapshots.
#[derive(Debug, Default)]
pub(super) struct Donation {
    next_transfer: u64,
    shelf: Shelf,
    incoming: Option<Incoming>,
    round: Option<Round>,
    /// Somebody waits for a snapshot, and none that is kept will do.
    wanted: bool,
    /// Seats whose snapshot a newcomer could not use.
    distrusted: SeatSet,
    last_donor: Option<Seat>,
    repairs: Vec<Repair>,
    /// How often each seat was to be put right in this generation.
    repaired: Vec<(Seat, u8)>,
    /// Newcomers that were being sent chunks when the last call ended, and those of them that only watch.
    deliveries: usize,
    observer_deliveries: usize,
    failure: Option<Failure>,
    /// When the next one is asked for, if nobody needs one before; `None` before tick 0.
    next_due: Option<RoomTime>,
    /// No search begins before.
    retry_at: RoomTime,
}

impl Donation {
    fn next_transfer(&mut self) -> TransferId {
        let transfer = TransferId(self.next_transfer);
        self.next_transfer += 1;
        transfer
    }

    /// Whether a transfer of this number was ever begun.
    fn is_known(&self, transfer: TransferId) -> bool {
        transfer.0 < self.next_transfer
    }
}

/// The weightier of two reasons: what a donor said of its snapshot tells more than that there is no donor.
fn weightier(one: Option<NoSnapshot>, other: NoSnapshot) -> NoSnapshot {
    let weight = |cause| match cause {
        NoSnapshot::NoDonor => 0,
        NoSnapshot::NoState => 1,
        NoSnapshot::Mismatch => 2,
        NoSnapshot::TooLarge => 3,
    };
    one.filter(|one| weight(*one) >= weight(other)).unwrap_or(other)
}

impl Room {
    /// What a newcomer is fed with first, who has the frames of `generation` before `next` (A7). Whoever has a state of the match, and whoever
    /// misses little, gets frames as long as there are all of them; everyone else a snapshot, if one can be had.
    pub(super) fn first_feed(&self, generation: Generation, next: Tick) -> (Feed, History) {
        // The ticks of another generation are not those of this one (A10).
        let next = if generation == self.config.descriptor.generation() { next } else { Tick::ZERO };
        let feed = self.feed_from(next);
        let history = if let Feed::Hydrate(_) = feed { History::Snapshot } else { History::Frames { next } };
        (feed, history)
    }

    fn feed_from(&self, next: Tick) -> Feed {
        if self.frontier() == Tick::ZERO {
            // Tick 0 stands alone. Before any other tick a client may have lost the frame that the next one abbreviates against.
            return Feed::Live;
        }
        let rate = self.config.descriptor.tick_rate();
        let is_there = next >= self.history.first();
        let is_short = self.frontier().since(next) <= self.config.donation.replay_ticks(rate);
        let has_state = next > Tick::ZERO;
        if is_there && (has_state || is_short || !self.can_have_snapshot()) {
            Feed::CatchUp { next }
        } else {
            Feed::Hydrate(Hydration::new(next, self.clock.time()))
        }
    }

    fn can_have_snapshot(&self) -> bool {
        self.donation.shelf.newest().is_some()
            || self.donation.incoming.is_some()
            || self.pick_donor(Round::default()).is_some()
    }

    /// Takes a message of a donor's or a newcomer's.
    ///
    /// # Errors
    /// Why the connection ends.
    pub(super) fn handle_transfer(
        &mut self,
        from: ConnectionId,
        message: &ClientMessage<'_>,
    ) -> Result<(), CloseReason> {
        match *message {
            ClientMessage::SnapshotOffer(ref header) => self.handle_offer(from, header),
            ClientMessage::SnapshotChunk { transfer, index, bytes } => {
                return self.handle_chunk(from, transfer, index, bytes);
            }
            ClientMessage::SnapshotRefused { transfer, cause } => self.handle_donor_refused(from, transfer, cause),
            ClientMessage::SnapshotProgress { transfer, next } => return self.handle_progress(from, transfer, next),
            ClientMessage::SnapshotFailed { transfer } => return self.handle_hydration_failed(from, transfer),
            _ => {}
        }
        Ok(())
    }

    /// Looks after the donation that runs, and begins one when it is time.
    pub(super) fn run_donation(&mut self) {
        if matches!(self.phase, Phase::Running { .. } | Phase::Paused { .. }) {
            self.check_donor();
            self.check_piece();
            self.begin_donation();
            self.check_repairs();
        }
    }

    /// Forgets the history that nobody will be sent any more, and bounds the rest.
    pub(super) fn forget_history(&mut self, still_sent: Option<Tick>) {
        let rate = self.config.descriptor.tick_rate();
        let window = self.frontier().saturating_sub(self.config.donation.history_ticks(rate));
        let needed = self.donation.shelf.oldest_tick().unwrap_or(Tick::ZERO);
        let needed = still_sent.map_or(needed, |tick| tick.min(needed));
        self.history.forget_before(needed.max(window));
        self.history.forget_beyond(self.config.donation.max_history_bytes);
    }

    /// A report of `S(tick)` came in, which may speak for or against a snapshot that is kept.
    pub(super) fn judge_snapshots(&mut self, tick: Tick) {
        self.donation.shelf.judge(tick, self.reports.values(tick), self.reports.trusted(tick));
    }

    /// The newest snapshot that nobody disputes, and from which the history is whole.
    /// [`RoomEvent::SnapshotKept`](super::RoomEvent::SnapshotKept) tells when there is another.
    pub fn newest_snapshot(&self) -> Option<KeptSnapshot<'_>> {
        let kept = self.donation.shelf.newest().filter(|kept| kept.header.tick >= self.history.first())?;
        Some(KeptSnapshot { tick: kept.header.tick, bytes: &kept.bytes, verified: kept.verdict == Verdict::Verified })
    }

    /// How far the donation is that runs, if one does.
    pub fn donation(&self) -> Option<DonationStatus> {
        self.donation.incoming.as_ref().map(Incoming::status)
    }

    /// Gives the room a snapshot that it kept before it was restored (A12). Whether other seats had reported the state is not known
    /// any more, so it counts as unverified.
    ///
    /// # Errors
    /// [`SnapshotError`] when it is not a snapshot of this match, or [`SnapshotError::Frame`] when the history does not go on from it;
    /// nothing was kept then.
    pub fn restore_snapshot(&mut self, bytes: Vec<u8>) -> Result<(), SnapshotError> {
        let mut check = StateCheck::new(Snapshot::from_bytes(&bytes)?, &self.config.descriptor)?;
        check.step(usize::MAX)?;
        let (tick, checksum) = (check.snapshot().tick(), check.snapshot().checksum());
        if tick < self.history.first() || tick > self.frontier() {
            let error = retick_core::snapshot::SnapshotFrameError::NotNext { found: self.history.first() };
            return Err(SnapshotError::Frame { tick, error });
        }
        let header = SnapshotHeader {
            transfer: self.donation.next_transfer(),
            generation: self.config.descriptor.generation(),
            tick,
            checksum,
            byte_count: u32::try_from(bytes.len()).unwrap_or(u32::MAX),
            digest: Digest::of(&bytes),
        };
        self.donation.shelf.add(header, bytes, None, Verdict::Unverified);
        Ok(())
    }

    /// A new generation begins: no state of the old one is of any use, and no transfer of one goes on (A10).
    pub(super) fn reset_donation(&mut self) {
        self.cancel_donation();
        let Donation { next_transfer, .. } = self.donation;
        self.donation = Donation { next_transfer, ..Donation::default() };
    }
}
