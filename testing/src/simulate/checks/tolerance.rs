//! A1: the match's clock keeps to its machine's, no tick is confirmed before it is reached, and none is open beyond its tolerance.

use retick_authority::log::Record;
use retick_core::seat::Generation;
use retick_core::tick::{Moment, Tick};

use super::super::schedule::{Schedule, Waits};
use super::super::trace::{RoomSeen, Seen};
use super::{Breach, Check, Rule, Terms, breach};

/// Most of a machine's time that one call counts.
const CLAMP_NANOS: u64 = 100_000_000;
/// Records of a few calls.
const A_FEW_RECORDS: u64 = 20;
/// Ticks by which two ways to count may differ.
const ROUNDING_TICKS: u64 = 1;

/// Where the match's clock was at the last call.
pub(super) struct Tolerance {
    schedule: std::sync::Arc<Schedule>,
    /// Ticks for which a seat may buffer inputs.
    look_ahead: u64,
    last: Option<RoomSeen>,
    /// Where the clock ran from, at which generation, and how much of the machine's time was counted since.
    since: Option<(Generation, Tick, u64)>,
}

impl Tolerance {
    pub(super) fn new(terms: &Terms) -> Tolerance {
        Tolerance { schedule: terms.schedule.clone(), look_ahead: terms.look_ahead_ticks(), last: None, since: None }
    }

    fn called(&mut self, at: Moment, room: &RoomSeen) -> Result<(), Breach> {
        let before = self.last.replace(*room);
        // A room that waits for its storage stands still before anyone would have to buffer more than may be (A4, A12).
        let waits = self.schedule.room.durability != Waits::None;
        let waits_for_storage = waits && room.loose_records + A_FEW_RECORDS >= self.look_ahead;
        let stands = room.paused || room.recovering || waits_for_storage;
        let (Some(clock_tick), false) = (room.clock_tick, stands) else {
            self.since = None;
            return Ok(());
        };
        self.check_clock(at, room, clock_tick, before)?;
        let (tolerance, frontier) = (u64::from(self.schedule.room.hard_tolerance_ticks), room.frontier);
        if frontier > clock_tick.saturating_add(1 + ROUNDING_TICKS) {
            return Err(breach(Rule::TooEarly, at).of(frontier).numbers(frontier.index(), clock_tick.index() + 1));
        }
        let open = clock_tick.saturating_add(1).since(frontier);
        if open > tolerance + ROUNDING_TICKS {
            return Err(breach(Rule::Stalled, at).of(frontier).numbers(open, tolerance));
        }
        Ok(())
    }

    fn check_clock(
        &mut self,
        at: Moment,
        room: &RoomSeen,
        clock_tick: Tick,
        before: Option<RoomSeen>,
    ) -> Result<(), Breach> {
        let passed = before.map_or(0, |before| room.clock.nanos_since(before.clock)).min(CLAMP_NANOS);
        let since = self.since.filter(|(generation, ..)| *generation == room.generation);
        let Some((generation, from, counted)) = since else {
            self.since = Some((room.generation, clock_tick, 0));
            return Ok(());
        };
        let counted = counted + passed;
        self.since = Some((generation, from, counted));
        let expected = from.index() + self.schedule.game.rate().tick_at(Moment::from_nanos(counted)).index();
        if clock_tick.index().abs_diff(expected) > ROUNDING_TICKS {
            return Err(breach(Rule::Clock, at).of(clock_tick).numbers(clock_tick.index(), expected));
        }
        Ok(())
    }
}

impl Check for Tolerance {
    fn see(&mut self, at: Moment, seen: &Seen) -> Result<(), Breach> {
        match seen {
            Seen::RoomTurn(room) => self.called(at, room)?,
            Seen::RoomUp { .. } | Seen::RoomDown => (self.last, self.since) = (None, None),
            // The clock stood, or began, since the last call.
            Seen::Record { bytes, .. } => {
                if let Ok(Record::Paused { .. } | Record::Unpaused { .. } | Record::Started { .. }) =
                    Record::decode(bytes)
                {
                    (self.last, self.since) = (None, None);
                }
            }
            _ => {}
        }
        Ok(())
    }
}
