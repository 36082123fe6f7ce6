//! The snapshots that the room keeps: the newest, and the one before it while somebody still downloads it (A7).

use alloc::collections::VecDeque;
use alloc::vec::Vec;

use retick_core::digest::Checksum;
use retick_core::seat::Seat;
use retick_core::tick::Tick;
use retick_core::wire::{SNAPSHOT_CHUNK_BYTES, SnapshotHeader, Witness};

/// Most snapshots that a room keeps.
pub const MAX_KEPT_SNAPSHOTS: usize = 2;

/// What the reports of other seats than the donor's say of a snapshot (A7).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Verdict {
    /// Nobody else has reported the state.
    Unverified,
    /// Somebody else has, and nobody differs.
    Verified,
    /// Somebody differs.
    Disputed,
}

impl Verdict {
    /// What the reports of one state say of the checksum of `donor`'s snapshot. Where the referee has said what is right, nobody else
    /// is asked (A13).
    pub(super) fn of(
        checksum: Checksum,
        donor: Option<Witness>,
        reports: &[(Seat, Checksum)],
        right: Option<Checksum>,
    ) -> Verdict {
        if let Some(right) = right {
            return if right == checksum { Verdict::Verified } else { Verdict::Disputed };
        }
        let mut others =
            reports.iter().filter(|(seat, _)| Some(Witness::Seat(*seat)) != donor).map(|(_, other)| *other);
        match others.next() {
            None => Verdict::Unverified,
            Some(first) if first == checksum && others.all(|other| other == checksum) => Verdict::Verified,
            Some(_) => Verdict::Disputed,
        }
    }
}

/// One snapshot, checked.
#[derive(Clone, Debug)]
pub(super) struct Kept {
    /// Numbers the snapshots of a room.
    pub(super) serial: u64,
    /// The transfer's number is that of its donation.
    pub(super) header: SnapshotHeader,
    pub(super) bytes: Vec<u8>,
    /// Who donated it; `None` for one that was restored.
    pub(super) donor: Option<Witness>,
    pub(super) verdict: Verdict,
}

impl Kept {
    pub(super) fn chunk(&self, index: u32) -> &[u8] {
        let start = (index as usize).saturating_mul(SNAPSHOT_CHUNK_BYTES).min(self.bytes.len());
        let end = start.saturating_add(SNAPSHOT_CHUNK_BYTES).min(self.bytes.len());
        &self.bytes[start..end]
    }
}

/// The snapshots, the newest last.
#[derive(Clone, Debug, Default)]
pub(super) struct Shelf {
    kept: VecDeque<Kept>,
    next_serial: u64,
}

impl Shelf {
    /// Puts a new one in. The oldest gives way, whoever uses it.
    pub(super) fn add(&mut self, header: SnapshotHeader, bytes: Vec<u8>, donor: Option<Witness>, verdict: Verdict) {
        if self.kept.len() >= MAX_KEPT_SNAPSHOTS {
            self.kept.pop_front();
        }
        let serial = self.next_serial;
        self.next_serial += 1;
        self.kept.push_back(Kept { serial, header, bytes, donor, verdict });
    }

    /// The newest that nobody disputes.
    pub(super) fn newest(&self) -> Option<&Kept> {
        self.kept.iter().rev().find(|kept| kept.verdict != Verdict::Disputed)
    }

    pub(super) fn get(&self, serial: u64) -> Option<&Kept> {
        self.kept.iter().find(|kept| kept.serial == serial)
    }

    /// Drops all that nobody could be given any more: those behind the newest that are not the one with serial `used` or later.
    pub(super) fn drop_unused(&mut self, used: Option<u64>) {
        let Some(newest) = self.newest().map(|kept| kept.serial) else { return };
        let oldest = used.map_or(newest, |used| used.min(newest));
        while self.kept.front().is_some_and(|kept| kept.serial < oldest) {
            self.kept.pop_front();
        }
    }

    /// The first tick whose frame someone needs who is given one of these.
    pub(super) fn oldest_tick(&self) -> Option<Tick> {
        self.kept.iter().map(|kept| kept.header.tick).min()
    }

    /// Looks at the reports of `S(tick)` again: one came in.
    pub(super) fn judge(&mut self, tick: Tick, reports: &[(Seat, Checksum)], right: Option<Checksum>) {
        for kept in self.kept.iter_mut().filter(|kept| kept.header.tick == tick) {
            // Reports are forgotten, what they said of a snapshot is not.
            match Verdict::of(kept.header.checksum, kept.donor, reports, right) {
                Verdict::Unverified => {}
                verdict => kept.verdict = verdict,
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use retick_core::digest::Digest;
    use retick_core::seat::Generation;
    use retick_core::wire::TransferId;

    use super::*;

    fn seat(number: u8) -> Seat {
        Seat::new(number).expect("a seat")
    }

    fn header(tick: u64, state: &[u8]) -> SnapshotHeader {
        let (generation, digest, transfer) = (Generation(0), Digest::of(state), TransferId(tick));
        let (tick, checksum) = (Tick::new(tick), Checksum::of(state));
        SnapshotHeader { transfer, generation, tick, checksum, byte_count: 1, digest }
    }

    #[test]
    fn a7_other_seats_verify_a_snapshot_and_any_that_differs_disputes_it() {
        let (good, bad) = (Checksum::of(b"good"), Checksum::of(b"bad"));
        let verdict = |reports: &[(u8, Checksum)]| {
            let reports: Vec<_> = reports.iter().map(|(number, sum)| (seat(*number), *sum)).collect();
            Verdict::of(good, Some(Witness::Seat(seat(1))), &reports, None)
        };
        assert_eq!(verdict(&[]), Verdict::Unverified);
        assert_eq!(verdict(&[(1, good)]), Verdict::Unverified, "a donor does not vouch for itself");
        assert_eq!(verdict(&[(1, good), (2, good)]), Verdict::Verified);
        assert_eq!(verdict(&[(0, good), (1, good), (2, bad)]), Verdict::Disputed);
        assert_eq!(verdict(&[(0, bad)]), Verdict::Disputed);
        let restored = Verdict::of(good, None, &[(seat(1), good)], None);
        assert_eq!(restored, Verdict::Verified);
        // A13: with a referee, what seats say speaks neither for a snapshot nor against it.
        let refereed = |right| Verdict::of(good, Some(Witness::Referee), &[(seat(0), bad)], Some(right));
        assert_eq!((refereed(good), refereed(bad)), (Verdict::Verified, Verdict::Disputed));
    }

    #[test]
    fn a7_at_most_two_snapshots_are_kept_and_a_disputed_one_is_given_to_nobody() {
        let mut shelf = Shelf::default();
        for tick in [1, 121, 241] {
            shelf.add(header(tick, b"s"), Vec::new(), Some(Witness::Seat(seat(0))), Verdict::Unverified);
        }
        assert_eq!((shelf.kept.len(), shelf.get(0).is_none()), (MAX_KEPT_SNAPSHOTS, true));
        assert_eq!((shelf.newest().map(|kept| kept.serial), shelf.oldest_tick()), (Some(2), Some(Tick::new(121))));
        shelf.judge(Tick::new(241), &[(seat(1), Checksum::of(b"another"))], None);
        assert_eq!(shelf.newest().map(|kept| kept.serial), Some(1));
        shelf.judge(Tick::new(121), &[(seat(1), Checksum::of(b"s"))], None);
        shelf.judge(Tick::new(121), &[], None);
        assert_eq!(shelf.newest().map(|kept| kept.verdict), Some(Verdict::Verified));
        shelf.drop_unused(Some(1));
        assert!(shelf.get(1).is_some());
        shelf.add(header(361, b"s"), Vec::new(), Some(Witness::Seat(seat(0))), Verdict::Unverified);
        shelf.drop_unused(None);
        assert_eq!((shelf.kept.len(), shelf.newest().map(|kept| kept.serial)), (1, Some(3)));
    }
}
