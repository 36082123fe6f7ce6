//! All that a log's records say of a room, in one record, so that those before it can be forgotten (A7, A12).
//!
//! A summary says what the records before it say, no more and no less. A room that is made of them would write down the same bytes,
//! which is checked wherever a log has both; so a room that is made of a summary alone is the same room.

use alloc::vec::Vec;

use bincode::{BorrowDecode, Encode};
use retick_core::codec::wire::{self, Cursor, List};
use retick_core::digest::Digest;
use retick_core::frame::{Frame, FrameChain};
use retick_core::identity::{MAX_DESCRIPTOR_BYTES, MatchDescriptor};
use retick_core::input::MAX_INPUT_BYTES;
use retick_core::seat::{ControlEpoch, Generation, MAX_SEATS, Seat};
use retick_core::tick::{Moment, Tick};
use retick_core::wire::{ClaimId, MAX_RESULT_BYTES, PlayerId, Settlement};

use super::clock::RoomTime;
use super::commands::MAX_COMMAND_BYTES_PER_FRAME;
use super::config::{Durability, RoomSettings};
use super::fences::{Fences, MAX_RUNS};
use super::history::History;
use super::replay::require;
use super::restore::RecordError;
use super::seats::{Driver, Hold, Holder, SeatSlot};
use super::secrets::RoomSecret;
use super::{Phase, Room};
use crate::log::{MAX_RECORD_BYTES, Record};

const SEATS: usize = MAX_SEATS as usize;

const _: () = assert!(
    MAX_DESCRIPTOR_BYTES
        + SEATS * (MAX_INPUT_BYTES + MAX_RESULT_BYTES + 512)
        + SEATS * (MAX_INPUT_BYTES + 16)
        + 2 * MAX_COMMAND_BYTES_PER_FRAME
        + MAX_RUNS * 16
        + 1024
        < MAX_RECORD_BYTES,
    "every summary fits its record"
);

/// A room behind a record, without its frames.
#[derive(Clone, PartialEq, Eq, Debug, Encode, BorrowDecode)]
pub(crate) struct RoomSummary<'a> {
    descriptor: &'a [u8],
    secret: RoomSecret,
    /// With the durability of the run that wrote it.
    settings: RoomSettings,
    phase: SummedPhase,
    is_locked: bool,
    next_claim: u64,
    next_lease: u64,
    has_leased: bool,
    seats: List<SummedSeat<'a>, SEATS>,
    results: List<SummedResult<'a>, SEATS>,
    settled: Option<Settlement<'a>>,
    /// Whether two reports of a state have differed.
    has_desync: bool,
    fence: u32,
    /// The first tick and the fence of each run that confirmed one.
    runs: List<(Tick, u32), MAX_RUNS>,
    /// The frame before the frontier; nothing where that is tick 0.
    last_frame: &'a [u8],
}

/// Where the match stands. How long it has run follows from the frontier.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Encode, BorrowDecode)]
enum SummedPhase {
    Lobby,
    Restarting,
    Running,
    /// Nanoseconds of the match's clock.
    Paused(u64),
}

#[derive(Clone, Copy, PartialEq, Eq, Debug, Encode, BorrowDecode)]
struct SummedSeat<'a> {
    driver: Driver,
    epoch: ControlEpoch,
    issued_epoch: ControlEpoch,
    holder: Option<SummedHolder>,
    former: Option<SummedHolder>,
    last: Option<&'a [u8]>,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug, Encode, BorrowDecode)]
struct SummedHolder {
    claim: ClaimId,
    player: Option<PlayerId>,
    epoch: ControlEpoch,
    hold: SummedHold,
    rotation: u32,
    proven: u32,
    has_played: bool,
}

/// How far a claim has come, as far as that outlives its transport.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Encode, BorrowDecode)]
enum SummedHold {
    Joining,
    Active(Tick),
    Retained,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug, Encode, BorrowDecode)]
struct SummedResult<'a> {
    seat: Seat,
    tick: Tick,
    result: &'a [u8],
}

impl SummedHolder {
    fn of(holder: &Holder) -> SummedHolder {
        let Holder { claim, player, epoch, hold, rotation, proven, has_played, .. } = *holder;
        let hold = match hold {
            // Whoever was ready has to say so again.
            Hold::Joining | Hold::Ready | Hold::Scheduled(_) => SummedHold::Joining,
            Hold::Active(tick) => SummedHold::Active(tick),
            Hold::Retained => SummedHold::Retained,
        };
        SummedHolder { claim, player, epoch, hold, rotation, proven, has_played }
    }

    fn restore(self) -> Holder {
        let SummedHolder { claim, player, epoch, hold, rotation, proven, has_played } = self;
        let hold = match hold {
            SummedHold::Joining => Hold::Joining,
            SummedHold::Active(tick) => Hold::Active(tick),
            SummedHold::Retained => Hold::Retained,
        };
        Holder { claim, player, epoch, hold, rotation, proven, wants_start: true, awaited: false, has_played }
    }
}

impl<'a> SummedSeat<'a> {
    fn of(slot: &'a SeatSlot) -> SummedSeat<'a> {
        SummedSeat {
            driver: slot.driver,
            epoch: slot.epoch,
            issued_epoch: slot.issued_epoch(),
            holder: slot.holder.as_ref().map(SummedHolder::of),
            former: slot.former.as_deref().map(SummedHolder::of),
            last: slot.last_input(),
        }
    }

    fn restore(&self, slot: &mut SeatSlot) {
        slot.restore_epoch(self.issued_epoch);
        (slot.driver, slot.epoch) = (self.driver, self.epoch);
        slot.holder = self.holder.map(SummedHolder::restore);
        slot.former = self.former.map(|former| former.restore().into());
        slot.restore_last(self.last);
    }
}

impl RoomSummary<'_> {
    /// What is played, encoded.
    pub(crate) fn descriptor(&self) -> &[u8] {
        self.descriptor
    }

    /// What waited for the log in the run that wrote it.
    pub(super) fn durability(&self) -> Durability {
        self.settings.durability
    }
}

impl Room {
    /// Writes down everything that the log's records say of the room, in one [`Record::Summary`]. A log that has that record and
    /// those behind it makes the same room, with a history that begins at the [frontier](Room::frontier) of now: so the log may
    /// forget the records before it, once a snapshot of that state or a later one is kept, from which newcomers begin (A7, A12).
    ///
    /// A room that waits for frames which its log lacks, or has ended, writes down nothing.
    pub fn summarize(&mut self) {
        if matches!(self.phase, Phase::Recovering | Phase::Closed) {
            return;
        }
        let bytes = self.summary(self.config.durability);
        let (generation, frontier, head) = self.place();
        self.outbox.persist(&Record::Summary { generation, frontier, head, room: &bytes });
    }

    /// Which frames there were.
    pub(super) fn place(&self) -> (Generation, Tick, Digest) {
        (self.config.descriptor.generation(), self.frontier(), self.chain.head())
    }

    /// The summary's bytes, in a run with this durability.
    pub(super) fn summary(&self, durability: Durability) -> Vec<u8> {
        let mut last_frame = Vec::new();
        if self.frontier() > Tick::ZERO {
            self.previous.encode_full(&mut last_frame);
        }
        let said = self.results.said();
        wire::encode(&RoomSummary {
            descriptor: &self.descriptor_bytes,
            secret: self.keys.secret(),
            settings: RoomSettings { durability, ..self.config.settings() },
            phase: match self.phase {
                Phase::Lobby => SummedPhase::Lobby,
                Phase::Restarting { .. } => SummedPhase::Restarting,
                Phase::Paused { position } => SummedPhase::Paused(position.as_nanos()),
                Phase::Running { .. } | Phase::Recovering | Phase::Closed => SummedPhase::Running,
            },
            is_locked: self.is_locked,
            next_claim: self.next_claim,
            next_lease: self.next_lease,
            has_leased: self.has_leased,
            seats: List(self.seats.iter().map(SummedSeat::of).collect()),
            results: List(said.map(|(seat, tick, result)| SummedResult { seat, tick, result }).collect()),
            settled: self.results.settled(),
            has_desync: self.reports.has_desync(),
            fence: self.fences.current(),
            runs: List(self.fences.runs().to_vec()),
            last_frame: &last_frame,
        })
    }

    /// The room of which this is the summary.
    ///
    /// # Errors
    /// [`RecordError`] when no room wrote it.
    pub(super) fn of_summary(
        summary: &RoomSummary<'_>,
        (generation, frontier, head): (Generation, Tick, Digest),
    ) -> Result<Room, RecordError> {
        let descriptor = MatchDescriptor::from_bytes(summary.descriptor)?;
        require(descriptor.generation() == generation && summary.seats.0.len() == descriptor.seats().count())?;
        let mut room = Room::assemble(summary.settings.with(descriptor), summary.secret)?;
        room.phase = match summary.phase {
            SummedPhase::Lobby => Phase::Lobby,
            SummedPhase::Restarting => Phase::Restarting { deadline: RoomTime::default() },
            SummedPhase::Running => Phase::Running { origin: RoomTime::default() },
            SummedPhase::Paused(nanos) => Phase::Paused { position: Moment::from_nanos(nanos) },
        };
        (room.is_locked, room.next_claim) = (summary.is_locked, summary.next_claim);
        (room.next_lease, room.has_leased) = (summary.next_lease, summary.has_leased);
        let most = usize::from(room.config.descriptor.limits().max_input_bytes);
        for (slot, seat) in room.seats.iter_mut().zip(summary.seats.iter()) {
            require(seat.last.is_none_or(|last| last.len() <= most))?;
            seat.restore(slot);
        }
        for said in summary.results.iter() {
            require(said.seat.index() < room.seats.len() && room.results.take(said.seat, said.tick, said.result))?;
        }
        if let Some(settlement) = &summary.settled {
            require(room.results.restore(settlement))?;
        }
        if summary.has_desync {
            room.reports.restore_desync();
        }
        room.fences = Fences::restored(summary.fence, &summary.runs.0).ok_or(RecordError::Contradiction)?;
        room.chain = FrameChain::from_head(head);
        room.history = History::starting_at(room.config.descriptor.seats(), frontier);
        room.restore_last_frame(summary.last_frame)?;
        Ok(room)
    }

    /// The frame against which the next one is abbreviated.
    fn restore_last_frame(&mut self, bytes: &[u8]) -> Result<(), RecordError> {
        let Some(last) = self.frontier().index().checked_sub(1).map(Tick::new) else {
            return require(bytes.is_empty());
        };
        let mut cursor = Cursor::new(bytes);
        self.previous = Frame::new(self.config.descriptor.generation(), last);
        self.previous.decode_full(&mut cursor, self.config.descriptor.seats())?;
        cursor.finish().map_err(RecordError::Malformed)?;
        require(self.previous.tick() == last && self.previous.generation() == self.config.descriptor.generation())
    }
}
