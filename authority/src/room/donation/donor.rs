//! The room's side towards a donor: whom it asks, what it takes, and when it turns to another (A7).

use core::cmp::Reverse;

use alloc::boxed::Box;
use alloc::vec::Vec;

use retick_core::digest::Checksum;
use retick_core::seat::{Seat, SeatSet};
use retick_core::session::DEFAULT_CHECKPOINT_WINDOW_TICKS;
use retick_core::snapshot::{STATE_BLOCK_BYTES, Snapshot, SnapshotError, StateCheck};
use retick_core::tick::Tick;
use retick_core::wire::{Assembly, Chunk, CloseReason, NoSnapshot, RoomMessage, SnapshotHeader, TransferId, Witness};

use super::kept::Verdict;
use super::{Donation, Failure, Round, weightier};
use crate::room::Room;
use crate::room::clock::RoomTime;
use crate::room::connections::{Feed, Stage};
use crate::room::event::{ConnectionId, RoomEvent};

/// How long after a search that found nothing the next one begins, in milliseconds of the room's clock.
pub const DONATION_RETRY_MILLIS: u64 = 5_000;
/// Most time that one donor may take, however steadily its chunks come, in milliseconds of the room's clock.
pub const MAX_DONATION_MILLIS: u64 = 60_000;
/// Blocks of a snapshot's state that one call checks: 1 MiB once decoded, so that no state holds a tick back.
pub const CHECKED_BLOCKS_PER_CALL: usize = (1 << 20) / STATE_BLOCK_BYTES;

/// A donation on its way to the room.
#[derive(Debug)]
pub(super) struct Incoming {
    transfer: TransferId,
    donor: ConnectionId,
    witness: Witness,
    tick: Tick,
    /// What the donor reported of the state.
    checksum: Checksum,
    begun: RoomTime,
    progressed: RoomTime,
    part: Part,
}

/// How far a donation is, for whoever watches the room.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct DonationStatus {
    /// Who donates: a seat's client, or the room's own referee.
    pub donor: Witness,
    /// The state: `n` for `S(n)`.
    pub tick: Tick,
    /// Chunks that are there, from the first one on.
    pub received_chunks: u32,
    /// Chunks in all; `None` while the donor has not answered.
    pub chunks: Option<u32>,
}

#[derive(Debug)]
enum Part {
    /// The donor was asked, and has not answered.
    Asked,
    /// Its chunks arrive.
    Arriving(Assembly),
    /// All are there, and the state is being checked.
    Checking { header: SnapshotHeader, bytes: Vec<u8>, check: Box<StateCheck> },
}

impl Incoming {
    pub(super) fn status(&self) -> DonationStatus {
        let (received_chunks, chunks) = match &self.part {
            Part::Asked => (0, None),
            Part::Arriving(assembly) => (assembly.next(), Some(assembly.header().chunk_count())),
            Part::Checking { header, .. } => (header.chunk_count(), Some(header.chunk_count())),
        };
        DonationStatus { donor: self.witness, tick: self.tick, received_chunks, chunks }
    }
}

/// Who can be asked for what.
#[derive(Clone, Copy, Debug)]
pub(super) struct Candidate {
    connection: ConnectionId,
    witness: Witness,
    tick: Tick,
    checksum: Checksum,
}

impl Room {
    /// Who is asked next: the referee, if there is one and it has not failed; else a seat. With a referee nobody can hold snapshots up by
    /// what it reports (A13).
    pub(super) fn pick_donor(&self, round: Round) -> Option<Candidate> {
        let referee = self.live_referee().filter(|_| !round.referee_tried);
        let refereed = referee.and_then(|connection| {
            let (tick, checksum) = self.reports.refereed().next()?;
            Some(Candidate { connection, witness: Witness::Referee, tick, checksum })
        });
        refereed.filter(|candidate| candidate.tick >= self.oldest_donated()).or_else(|| self.pick_seat(round.tried))
    }

    /// The oldest state that a client can still have.
    fn oldest_donated(&self) -> Tick {
        self.frontier().saturating_sub(u64::from(DEFAULT_CHECKPOINT_WINDOW_TICKS))
    }

    /// Of the newest state that can still be there, somebody who reported it, takes part, and has every frame.
    /// Nobody that is hydrating or catching up does. Seats take turns.
    fn pick_seat(&self, tried: SeatSet) -> Option<Candidate> {
        let last = self.donation.last_donor;
        let oldest = self.oldest_donated();
        let states = self.reports.undisputed().filter(|(tick, _)| *tick >= oldest);
        for (tick, reports) in states {
            let untried = reports.iter().filter(|(seat, _)| !tried.contains(*seat));
            let able = untried.filter_map(|(seat, checksum)| {
                let connection = self.live_player(*seat)?;
                Some((*seat, Candidate { connection, witness: Witness::Seat(*seat), tick, checksum: *checksum }))
            });
            // The first behind the last donor, around the table.
            let next = able.min_by_key(|(seat, _)| (Reverse(Some(*seat) > last), *seat));
            if let Some((_, candidate)) = next {
                return Some(candidate);
            }
        }
        None
    }

    /// The connection of a seat that takes part and has every frame.
    pub(in crate::room) fn live_player(&self, seat: Seat) -> Option<ConnectionId> {
        let slot = self.seats.get(seat.index()).filter(|slot| slot.takes_part())?;
        let connection = slot.connection?;
        let stage = self.connections.get(connection)?.stage;
        matches!(stage, Stage::Seated { feed: Feed::Live, .. }).then_some(connection)
    }

    /// The connection through which this donor is reached, if it takes part and has every frame.
    pub(in crate::room) fn live_witness(&self, witness: Witness) -> Option<ConnectionId> {
        match witness {
            Witness::Seat(seat) => self.live_player(seat),
            Witness::Referee => self.live_referee(),
        }
    }

    /// Begins a search when one is due, and asks the next donor of one that runs.
    pub(super) fn begin_donation(&mut self) {
        let time = self.clock.time();
        if self.donation.incoming.is_some() {
            return;
        }
        if self.donation.round.is_none() {
            let first_due = time.plus_millis(self.config.donation.snapshot_interval_millis);
            let is_due = self.donation.wanted || time >= *self.donation.next_due.get_or_insert(first_due);
            if !is_due || time < self.donation.retry_at {
                return;
            }
            self.donation.round = Some(Round { tried: self.donation.distrusted, ..Round::default() });
        }
        let round = self.donation.round.unwrap_or_default();
        match self.pick_donor(round) {
            Some(candidate) => self.ask(candidate, time),
            None => self.end_round(round, time),
        }
    }

    fn ask(&mut self, candidate: Candidate, time: RoomTime) {
        let Candidate { connection: donor, witness, tick, checksum } = candidate;
        let transfer = self.donation.next_transfer();
        if let Witness::Seat(seat) = witness {
            self.donation.last_donor = Some(seat);
        }
        let (begun, progressed, part) = (time, time, Part::Asked);
        self.donation.incoming = Some(Incoming { transfer, donor, witness, tick, checksum, begun, progressed, part });
        let generation = self.config.descriptor.generation();
        self.tell(donor, &RoomMessage::SnapshotWanted { transfer, generation, tick });
    }

    /// Nobody is left. Whoever waits is told why, and the search begins again later.
    fn end_round(&mut self, round: Round, time: RoomTime) {
        let Donation { distrusted, failure, retry_at, .. } = &mut self.donation;
        let cause = round.cause.unwrap_or(NoSnapshot::NoDonor);
        self.stats.failed_donations += 1;
        *failure = Some(Failure { cause, at: time });
        // Next time their states are others.
        *distrusted = SeatSet::EMPTY;
        *retry_at = time.plus_millis(DONATION_RETRY_MILLIS);
        self.donation.round = None;
    }

    /// Turns to another donor when this one is gone, or took too long.
    pub(super) fn check_donor(&mut self) {
        let Some(Incoming { witness, donor, begun, progressed, part, .. }) = &self.donation.incoming else { return };
        if matches!(part, Part::Checking { .. }) {
            return;
        }
        let time = self.clock.time();
        let timeout_millis = self.config.donation.transfer_timeout_millis;
        let is_late = time >= progressed.plus_millis(timeout_millis) || time >= begun.plus_millis(MAX_DONATION_MILLIS);
        if is_late || self.live_witness(*witness) != Some(*donor) {
            self.turn_down(NoSnapshot::NoDonor);
        }
    }

    /// Checks the next piece of a snapshot that has arrived.
    pub(super) fn check_piece(&mut self) {
        let Some(Incoming { part: Part::Checking { check, .. }, .. }) = &mut self.donation.incoming else { return };
        match check.step(CHECKED_BLOCKS_PER_CALL) {
            Ok(false) => {}
            Ok(true) => self.finish_donation(),
            Err(_) => self.turn_down(NoSnapshot::Mismatch),
        }
    }

    /// The state is the one that its checksum names; now it is held against what the other seats reported.
    fn finish_donation(&mut self) {
        let Some(Incoming { witness, tick, part: Part::Checking { header, bytes, .. }, .. }) =
            self.donation.incoming.take()
        else {
            return;
        };
        let (values, right) = (self.reports.values(tick), self.reports.trusted(tick));
        let verdict = Verdict::of(header.checksum, Some(witness), values, right);
        if verdict == Verdict::Disputed {
            self.note_failure(witness, NoSnapshot::Mismatch);
            return;
        }
        let Donation { shelf, round, wanted, distrusted, failure, next_due, .. } = &mut self.donation;
        shelf.add(header, bytes, Some(witness), verdict);
        (*round, *wanted, *failure, *distrusted) = (None, false, None, SeatSet::EMPTY);
        *next_due = Some(self.clock.time().plus_millis(self.config.donation.snapshot_interval_millis));
        self.stats.snapshots += 1;
        let (generation, verified) = (header.generation, verdict == Verdict::Verified);
        self.outbox.event(RoomEvent::SnapshotKept { generation, tick, verified });
    }

    /// Ends the donation that runs, for this reason: another donor is asked next.
    fn turn_down(&mut self, cause: NoSnapshot) {
        let Some(Incoming { witness, .. }) = self.donation.incoming else { return };
        self.cancel_donation();
        self.note_failure(witness, cause);
    }

    /// Gives up the donation that runs, if one of these seats makes it: they are wrong about the state.
    pub(in crate::room) fn turn_down_seats(&mut self, wrong: SeatSet) {
        let witness = self.donation.incoming.as_ref().map(|incoming| incoming.witness);
        if matches!(witness, Some(Witness::Seat(seat)) if wrong.contains(seat)) {
            self.turn_down(NoSnapshot::Mismatch);
        }
    }

    fn note_failure(&mut self, witness: Witness, cause: NoSnapshot) {
        self.stats.refused_snapshots += 1;
        if let Some(round) = &mut self.donation.round {
            match witness {
                Witness::Seat(seat) => round.tried.insert(seat),
                Witness::Referee => round.referee_tried = true,
            }
            round.cause = Some(weightier(round.cause, cause));
        }
    }

    /// Forgets the donation that runs, with everything that came of it, and tells the donor if it is there.
    pub(super) fn cancel_donation(&mut self) {
        if let Some(Incoming { donor, transfer, .. }) = self.donation.incoming.take() {
            self.tell(donor, &RoomMessage::SnapshotCanceled { transfer });
        }
    }

    pub(in crate::room) fn tell(&mut self, donor: ConnectionId, message: &RoomMessage<'_>) {
        let stage = self.connections.get(donor).map(|connection| connection.stage);
        if let Some(Stage::Seated { greeted_after, .. } | Stage::Watching { greeted_after, .. }) = stage {
            self.outbox.transmit_urgent(donor, greeted_after, message);
        }
    }

    /// A donor has what it was asked for.
    pub(super) fn handle_offer(&mut self, from: ConnectionId, header: &SnapshotHeader) {
        let (time, generation) = (self.clock.time(), self.config.descriptor.generation());
        let Some(incoming) = self.incoming_of(from, header.transfer) else {
            self.stats.stray_transfers += 1;
            return;
        };
        if !matches!(incoming.part, Part::Asked) {
            return;
        }
        let is_asked = header.generation == generation && header.tick == incoming.tick;
        let is_reported = header.checksum == incoming.checksum;
        if !is_asked || !is_reported {
            self.turn_down(NoSnapshot::Mismatch);
        } else if header.byte_count > self.config.donation.max_snapshot_bytes {
            self.turn_down(NoSnapshot::TooLarge);
        } else if let Some(incoming) = &mut self.donation.incoming {
            (incoming.part, incoming.progressed) = (Part::Arriving(Assembly::new(*header)), time);
        }
    }

    /// A chunk of a donation. One of a transfer that never was ends the connection; one of a transfer that is over is dropped.
    pub(super) fn handle_chunk(
        &mut self,
        from: ConnectionId,
        transfer: TransferId,
        index: u32,
        bytes: &[u8],
    ) -> Result<(), CloseReason> {
        let time = self.clock.time();
        if !self.donation.is_known(transfer) {
            return Err(CloseReason::Malformed);
        }
        let Some(Incoming { part: Part::Arriving(assembly), progressed, .. }) = self.incoming_of(from, transfer) else {
            self.stats.stray_transfers += 1;
            return Ok(());
        };
        let before = assembly.next();
        match assembly.take(transfer, index, bytes) {
            Ok(Chunk::New) => {
                *progressed = time;
                let (next, is_complete) = (assembly.next(), assembly.is_complete());
                if next > before {
                    self.tell(from, &RoomMessage::SnapshotProgress { transfer, next });
                }
                if is_complete {
                    self.begin_check();
                }
            }
            Ok(Chunk::Duplicate) => {}
            Err(_) => self.turn_down(NoSnapshot::Mismatch),
        }
        Ok(())
    }

    fn begin_check(&mut self) {
        let Some(incoming) = &mut self.donation.incoming else { return };
        let Part::Arriving(assembly) = core::mem::replace(&mut incoming.part, Part::Asked) else { return };
        let header = *assembly.header();
        let checked = assembly.finish().ok().and_then(|bytes| {
            let snapshot = Snapshot::from_bytes(&bytes).ok()?;
            let is_announced = snapshot.tick() == header.tick && snapshot.checksum() == header.checksum;
            let check: Result<StateCheck, SnapshotError> = StateCheck::new(snapshot, &self.config.descriptor);
            check.ok().filter(|_| is_announced).map(|check| Part::Checking { header, bytes, check: Box::new(check) })
        });
        match checked {
            Some(part) => incoming.part = part,
            None => self.turn_down(NoSnapshot::Mismatch),
        }
    }

    /// A donor can't donate.
    pub(super) fn handle_donor_refused(&mut self, from: ConnectionId, transfer: TransferId, cause: NoSnapshot) {
        let Some(Incoming { witness, .. }) = self.incoming_of(from, transfer) else {
            self.stats.stray_transfers += 1;
            return;
        };
        let witness = *witness;
        self.donation.incoming = None;
        self.note_failure(witness, cause);
    }

    fn incoming_of(&mut self, from: ConnectionId, transfer: TransferId) -> Option<&mut Incoming> {
        self.donation.incoming.as_mut().filter(|incoming| incoming.donor == from && incoming.transfer == transfer)
    }
}
