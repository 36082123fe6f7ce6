//! The seats: who drives them, who holds them, what they delivered, and what they put into a frame (A2, A5, A6).
//!
//! A seat's *driver* is what its frames say. Its *holder* is who claimed it, and may still be on the way: a claim takes effect
//! when the driver changes, which is for `transitions` to do.

use alloc::boxed::Box;
use alloc::vec::Vec;

use bincode::{BorrowDecode, Encode};
use retick_core::frame::SeatFrame;
use retick_core::seat::{ControlEpoch, Presence};
use retick_core::tick::{Moment, Tick};
use retick_core::wire::{ClaimId, PlayerId, SeatView};

use super::budget::TokenBucket;
use super::clock::RoomTime;
use super::commands::{COMMANDS_PER_SECOND, EPHEMERALS_PER_SECOND, REQUESTS_PER_SECOND};
use super::event::ConnectionId;
use super::inputs::InputBuffer;
use super::stats::SeatStats;
use super::transitions::BotLeaseId;

/// Where a seat stands in its life (A5).
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum SeatState {
    /// Nobody claimed it yet.
    Free,
    /// It is claimed, and its client has not said that it is ready, or its first tick has not come. Never waited for (A3).
    Joining,
    /// Its client plays, or will from tick 0 on.
    Playing,
    /// Its transport is lost and its grace runs.
    Disconnected,
    /// It was given up. Claimed again only where seats are recycled.
    Vacated,
    /// A bot plays, and nobody is on the way. Its last player may still have the right to come back.
    Bot,
}

/// Who drives a seat: what its frames say.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Encode, BorrowDecode)]
pub(super) enum Driver {
    Nobody,
    Bot(BotLeaseId),
    Human,
}

/// How far a claim has come.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Hold {
    /// Its client is not ready.
    Joining,
    /// Its client is ready, and takes part from tick 0 of the generation that is about to begin.
    Ready,
    /// Its client is ready, and takes part from that tick on.
    Scheduled(Tick),
    /// It drives the seat since that tick.
    Active(Tick),
    /// A bot has taken the seat over, and its owner may come back.
    Retained,
}

/// What becomes of a claim when its seat is given up.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum ClaimEnd {
    /// Its owner has no right to the seat any more.
    Over,
    /// Its owner may come back, and take the seat from the bot that plays.
    Retained,
}

/// Who has claimed a seat.
#[derive(Clone, Copy, Debug)]
pub(super) struct Holder {
    pub(super) claim: ClaimId,
    pub(super) player: Option<PlayerId>,
    /// The control epoch that the seat has while this claim drives it.
    pub(super) epoch: ControlEpoch,
    pub(super) hold: Hold,
    /// Number of the newest token, and of the oldest that is still valid (A6).
    pub(super) rotation: u32,
    pub(super) proven: u32,
    /// Whether it wants the match to begin (A15).
    pub(super) wants_start: bool,
    /// Whether a new generation waits for its client (A10).
    pub(super) awaited: bool,
    /// Whether this claim has driven the seat.
    pub(super) has_played: bool,
}

/// One seat.
#[derive(Clone, Debug)]
pub(super) struct SeatSlot {
    pub(super) driver: Driver,
    pub(super) holder: Option<Holder>,
    /// Whose claim has ended; its token is known, and refused.
    pub(super) former: Option<Box<Holder>>,
    /// The control epoch of the driver.
    pub(super) epoch: ControlEpoch,
    /// The last epoch that any driver or claim was given.
    issued_epoch: ControlEpoch,
    pub(super) connection: Option<ConnectionId>,
    /// When the grace of a lost transport is over.
    pub(super) grace_end: Option<RoomTime>,
    pub(super) inputs: InputBuffer,
    /// The last input that was delivered and confirmed in this control epoch.
    last: Vec<u8>,
    has_last: bool,
    pub(super) last_command: Option<u32>,
    pub(super) command_budget: TokenBucket,
    pub(super) ephemeral_budget: TokenBucket,
    pub(super) request_budget: TokenBucket,
    pub(super) stats: SeatStats,
    /// How many rollbacks the seat's client had reported last.
    last_rollbacks: u32,
}

impl SeatSlot {
    pub(super) fn new(inputs: InputBuffer) -> SeatSlot {
        SeatSlot {
            driver: Driver::Nobody,
            holder: None,
            former: None,
            epoch: ControlEpoch::default(),
            issued_epoch: ControlEpoch::default(),
            connection: None,
            grace_end: None,
            inputs,
            last: Vec::new(),
            has_last: false,
            last_command: None,
            command_budget: TokenBucket::full(COMMANDS_PER_SECOND, Moment::ZERO),
            ephemeral_budget: TokenBucket::full(EPHEMERALS_PER_SECOND, Moment::ZERO),
            request_budget: TokenBucket::full(REQUESTS_PER_SECOND, Moment::ZERO),
            stats: SeatStats::default(),
            last_rollbacks: 0,
        }
    }

    /// The seat's client has rolled back so often in all. A smaller number than before is another client's.
    pub(super) fn report_rollbacks(&mut self, total: u32) {
        let more = total.checked_sub(self.last_rollbacks).unwrap_or(total);
        self.last_rollbacks = total;
        self.stats.reported_rollbacks = self.stats.reported_rollbacks.saturating_add(u64::from(more));
    }

    pub(super) fn state(&self) -> SeatState {
        match (self.hold(), self.connection) {
            (None | Some(Hold::Retained), _) if self.is_bot() => SeatState::Bot,
            (None | Some(Hold::Retained), _) if self.former.is_some() => SeatState::Vacated,
            (None | Some(Hold::Retained), _) => SeatState::Free,
            (Some(_), None) => SeatState::Disconnected,
            (Some(Hold::Joining | Hold::Scheduled(_)), Some(_)) => SeatState::Joining,
            (Some(Hold::Ready | Hold::Active(_)), Some(_)) => SeatState::Playing,
        }
    }

    /// What a frame says of who drives the seat now.
    fn presence(&self) -> Presence {
        match (self.driver, self.connection) {
            (Driver::Human, Some(_)) => Presence::Human,
            (Driver::Human, None) => Presence::Disconnected,
            (Driver::Bot(_), _) => Presence::Bot,
            (Driver::Nobody, _) => Presence::Empty,
        }
    }

    /// The same for the next frame: whoever is ready before tick 0 drives it.
    pub(super) fn next_presence(&self) -> Presence {
        match (self.hold(), self.connection) {
            (Some(Hold::Ready), Some(_)) => Presence::Human,
            _ => self.presence(),
        }
    }

    /// What a lobby shows of the seat (A15).
    pub(super) fn view(&self) -> SeatView {
        let joining = matches!(self.hold(), Some(Hold::Joining | Hold::Scheduled(_)));
        let (presence, epoch) = (self.next_presence(), self.holder_epoch());
        SeatView { presence, joining, ready: self.wants_start(), epoch }
    }

    /// The control epoch that the seat's holder has been told, or its driver's.
    fn holder_epoch(&self) -> ControlEpoch {
        self.holder.filter(|holder| holder.hold != Hold::Retained).map_or(self.epoch, |holder| holder.epoch)
    }

    pub(super) fn hold(&self) -> Option<Hold> {
        self.holder.map(|holder| holder.hold)
    }

    /// Whether a player has the seat, or is on the way to it. An owner for whom a bot plays does not count.
    pub(super) fn is_held(&self) -> bool {
        self.hold().is_some_and(|hold| hold != Hold::Retained)
    }

    pub(super) fn is_bot(&self) -> bool {
        matches!(self.driver, Driver::Bot(_))
    }

    /// Whether a player drives the seat, so that it is waited for (A3).
    pub(super) fn is_active(&self) -> bool {
        self.driver == Driver::Human
    }

    /// Whether its player drives it, or will from tick 0 on.
    pub(super) fn takes_part(&self) -> bool {
        matches!(self.hold(), Some(Hold::Ready | Hold::Active(_)))
    }

    /// Whether its player is there, ready, and wants the match to begin (A15).
    pub(super) fn wants_start(&self) -> bool {
        self.state() == SeatState::Playing && self.holder.is_some_and(|holder| holder.wants_start)
    }

    /// The first tick whose input counts, if any does (A5).
    pub(super) fn counts_from(&self) -> Option<Tick> {
        match self.hold()? {
            Hold::Ready | Hold::Active(_) => Some(Tick::ZERO),
            Hold::Scheduled(tick) => Some(tick),
            Hold::Joining | Hold::Retained => None,
        }
    }

    /// The next control epoch, which no driver and no claim has had.
    pub(super) fn issue_epoch(&mut self) -> ControlEpoch {
        self.issued_epoch = self.issued_epoch.next();
        self.issued_epoch
    }

    /// Gives the seat to a new holder, who is joining (A5). Nothing of the one before it is left but what was counted, which is
    /// the result.
    pub(super) fn claim(&mut self, claim: ClaimId, player: Option<PlayerId>, connection: ConnectionId) -> SeatStats {
        let epoch = self.issue_epoch();
        let (hold, rotation, proven) = (Hold::Joining, 0, 0);
        let (wants_start, awaited, has_played) = (true, false, false);
        self.holder = Some(Holder { claim, player, epoch, hold, rotation, proven, wants_start, awaited, has_played });
        self.former = None;
        self.connection = Some(connection);
        self.grace_end = None;
        self.forget_deliveries();
        core::mem::take(&mut self.stats)
    }

    /// A claim of an earlier run: its holder is joining, without a transport (A12).
    pub(super) fn restore_claim(&mut self, claim: ClaimId, player: Option<PlayerId>, epoch: ControlEpoch) {
        self.restore_epoch(epoch);
        let (hold, rotation, proven) = (Hold::Joining, 0, 0);
        let (wants_start, awaited, has_played) = (true, false, false);
        self.holder = Some(Holder { claim, player, epoch, hold, rotation, proven, wants_start, awaited, has_played });
        self.former = None;
        self.forget_deliveries();
    }

    /// Who drove the seat in an earlier run, from `tick` on (A12).
    pub(super) fn restore_driver(&mut self, driver: Driver, epoch: ControlEpoch, tick: Tick) {
        self.restore_epoch(epoch);
        (self.driver, self.epoch) = (driver, epoch);
        self.forget_deliveries();
        if driver == Driver::Human {
            self.set_hold(Hold::Active(tick));
        }
    }

    /// An epoch that was given out in an earlier run is not given out again.
    pub(super) fn restore_epoch(&mut self, epoch: ControlEpoch) {
        self.issued_epoch = self.issued_epoch.max(epoch);
    }

    /// The last epoch that was given out.
    pub(super) fn issued_epoch(&self) -> ControlEpoch {
        self.issued_epoch
    }

    /// What a substitute repeats, if there is anything (A2).
    pub(super) fn last_input(&self) -> Option<&[u8]> {
        self.has_last.then_some(self.last.as_slice())
    }

    /// What a substitute repeated in an earlier run (A12).
    pub(super) fn restore_last(&mut self, last: Option<&[u8]>) {
        self.last.clear();
        self.last.extend_from_slice(last.unwrap_or_default());
        self.has_last = last.is_some();
    }

    /// Takes from a frame that an earlier run confirmed what follows from it: the last input (A2).
    pub(super) fn adopt(&mut self, tick: Tick, view: SeatFrame<'_>) {
        self.inputs.take(tick);
        let is_own = self.driver == Driver::Human && view.epoch == self.epoch && !view.substituted;
        if let Some(input) = view.input.filter(|_| is_own) {
            self.last.clear();
            self.last.extend_from_slice(input);
            self.has_last = true;
        }
    }

    pub(super) fn set_hold(&mut self, hold: Hold) {
        if let Some(holder) = &mut self.holder {
            holder.hold = hold;
            holder.has_played |= matches!(hold, Hold::Active(_));
        }
    }

    /// Ends the claim, or keeps it for its owner while a bot plays.
    pub(super) fn release(&mut self, end: ClaimEnd) {
        self.connection = None;
        self.grace_end = None;
        self.forget_deliveries();
        match end {
            ClaimEnd::Over => {
                if let Some(holder) = self.holder.take() {
                    self.former = Some(Box::new(holder));
                }
            }
            ClaimEnd::Retained => self.set_hold(Hold::Retained),
        }
    }

    /// Sets who drives the seat: a new control epoch, in which nothing has been delivered.
    pub(super) fn set_driver(&mut self, driver: Driver) {
        self.driver = driver;
        self.epoch = match self.holder {
            Some(holder) if driver == Driver::Human => holder.epoch,
            _ => self.issue_epoch(),
        };
        if driver == Driver::Human {
            self.has_last = false;
        } else {
            self.forget_deliveries();
        }
    }

    /// What was delivered and requested is of another epoch, or of another generation, now (A1, A2, A10).
    pub(super) fn forget_deliveries(&mut self) {
        self.inputs.clear();
        self.has_last = false;
        self.last_command = None;
    }

    /// What the seat puts into the frame of `tick`, now (A2).
    pub(super) fn confirm(&mut self, tick: Tick) -> SeatFrame<'_> {
        let (presence, epoch, active) = (self.presence(), self.epoch, self.is_active());
        // Taken also from a seat that doesn't take part: a confirmed tick leaves nothing behind in the buffer.
        let delivered = self.inputs.take(tick).filter(|_| active);
        if let Some(input) = delivered {
            self.last.clear();
            self.last.extend_from_slice(input);
            self.has_last = true;
            return SeatFrame { input: Some(&self.last), substituted: false, presence, epoch };
        }
        self.stats.substituted_inputs += u64::from(active);
        let repeats = self.has_last && presence == Presence::Human;
        SeatFrame { input: repeats.then_some(self.last.as_slice()), substituted: active, presence, epoch }
    }
}
