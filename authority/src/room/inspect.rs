//! What a room says of itself. Nothing here changes anything.

use retick_core::digest::Digest;
use retick_core::frame::Frame;
use retick_core::identity::MatchDescriptor;
use retick_core::seat::{Presence, Seat};
use retick_core::tick::Tick;
use retick_core::wire::RoomRules;

use super::config::RoomSettings;
use super::reports::Verification;
use super::seats::{SeatSlot, SeatState};
use super::stats::{RoomStats, SeatStats};
use super::{Phase, Room};

impl Room {
    /// The first tick without a confirmed frame.
    pub fn frontier(&self) -> Tick {
        self.history.frontier()
    }

    /// The tick that the match's clock has reached, also while it is paused there; `None` before it runs, and after.
    pub fn clock_tick(&self) -> Option<Tick> {
        match self.phase {
            Phase::Running { origin } => {
                Some(self.config.descriptor.tick_rate().tick_at(self.clock.time().since(origin)))
            }
            Phase::Paused { position } => Some(self.config.descriptor.tick_rate().tick_at(position)),
            Phase::Lobby | Phase::Restarting { .. } | Phase::Recovering | Phase::Closed => None,
        }
    }

    /// Whether an input may count at once: the clock has reached a tick that is not confirmed, or does not run. Otherwise inputs change
    /// nothing before [`Room::next_timeout`], and may be handed in then (A1).
    pub fn awaits_inputs(&self) -> bool {
        match self.phase {
            Phase::Running { .. } => self.clock_tick() >= Some(self.frontier()),
            _ => true,
        }
    }

    /// The head of the chain over all confirmed frames (A12).
    pub fn chain_head(&self) -> Digest {
        self.chain.head()
    }

    /// How often the room was restored from its log: what the next frame carries as its fence (A12).
    pub fn fence(&self) -> u32 {
        self.fences.current()
    }

    /// The fence of the frame before `S(tick)`, which names its history; `None` for `S(0)`, and for states that are not reached (A12).
    pub fn fence_before(&self, tick: Tick) -> Option<u32> {
        self.fences.before(tick).filter(|_| tick <= self.frontier())
    }

    /// Whether the room was restored, and waits for frames that its log may lack; it confirms nothing meanwhile (A12).
    pub fn is_recovering(&self) -> bool {
        self.phase == Phase::Recovering
    }

    /// What is played.
    pub fn descriptor(&self) -> &MatchDescriptor {
        &self.config.descriptor
    }

    /// Everything that it was made with, but what is played.
    pub fn settings(&self) -> RoomSettings {
        self.config.settings()
    }

    /// The rules that stand in the greeting.
    pub fn rules(&self) -> RoomRules {
        self.config.rules
    }

    /// What the next frame says of who drives `seat`; empty beyond the match's seats, and while a seat is joining.
    pub fn seat_presence(&self, seat: Seat) -> Presence {
        self.seats.get(seat.index()).map(SeatSlot::next_presence).unwrap_or_default()
    }

    /// Where `seat` stands in its life; `None` beyond the match's seats.
    pub fn seat_state(&self, seat: Seat) -> Option<SeatState> {
        self.seats.get(seat.index()).map(SeatSlot::state)
    }

    /// What was counted about `seat`; `None` beyond the match's seats.
    pub fn seat_stats(&self, seat: Seat) -> Option<SeatStats> {
        self.seats.get(seat.index()).map(|slot| slot.stats)
    }

    /// What was counted about the room.
    pub fn stats(&self) -> RoomStats {
        let mut stats = self.stats;
        self.seats.iter().for_each(|slot| stats.seats.add(&slot.stats));
        stats
    }

    /// What the reports of `S(tick)` say so far (A8).
    pub fn verification(&self, tick: Tick) -> Verification {
        self.reports.verification(tick)
    }

    /// The first tick whose frame is kept; earlier ones were forgotten when there was a snapshot behind them (A7).
    pub fn history_start(&self) -> Tick {
        self.history.first()
    }

    /// The confirmed frame of `tick`, while it is kept.
    pub fn frame(&self, tick: Tick) -> Option<Frame> {
        let mut frame = Frame::new(self.config.descriptor.generation(), tick);
        self.history.read(tick, &mut frame).then_some(frame)
    }

    /// Whether anybody holds a seat.
    pub fn has_players(&self) -> bool {
        self.seats.iter().any(SeatSlot::is_held)
    }

    /// Whether the match's clock was stopped (A15).
    pub fn is_paused(&self) -> bool {
        matches!(self.phase, Phase::Paused { .. })
    }

    /// Connections that watch without a seat (A14).
    pub fn observer_count(&self) -> usize {
        self.connections.observer_count()
    }

    /// Whether the room has ended.
    pub fn is_closed(&self) -> bool {
        self.phase == Phase::Closed
    }
}
