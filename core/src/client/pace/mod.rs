//! How far samples and the present are to be: so that an input reaches the room when the room's clock reaches its tick (N4).
//!
//! `clock` measures where the room's clock is, `pings` decides when to measure, and `controller` lets the position follow. The
//! present never steps back with it: a session keeps what it has stepped and sampled, and waits. A tick's length never changes,
//! and none is skipped or repeated, since what comes out is how many ticks should have been sampled and stepped by now.

mod clock;
mod controller;
mod pings;

use self::clock::{ClockEstimate, Surprise, signed, signed_nanos};
use self::controller::{Aim, Controller};
use self::pings::PingSchedule;
use crate::tick::{Moment, Tick, TickRate};
use crate::wire::RoomClock;

/// How many mean deviations of the round trip an input is early.
const JITTER_MARGIN: i64 = 2;
/// Longest time between turns that is counted on: a pause beyond is a stall, and no margin makes up for stalls.
const MAX_TURN_NANOS: i64 = 100_000_000;
/// The time between turns until it was measured.
const FIRST_TURN_NANOS: i64 = 1_000_000_000 / 60;
/// What part of a change the mean time between turns takes over in one turn.
const TURN_MEAN: i64 = 8;

/// How many ticks should have been sampled and stepped by now.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(super) struct Goals {
    /// Ticks of input.
    pub(super) sample: Tick,
    /// Ticks of the present.
    pub(super) present: Tick,
}

/// By how many ticks inputs are sent early, and the present lags behind them (N3).
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(super) struct Delays {
    /// The present behind the samples.
    pub(super) present_ticks: u16,
    /// The samples ahead of where they would be.
    pub(super) early_ticks: u16,
}

/// Follows the room's clock.
#[derive(Debug)]
pub(super) struct Pace {
    rate: TickRate,
    clock: ClockEstimate,
    pings: PingSchedule,
    controller: Controller,
    last_turn: Option<Moment>,
    /// The last time between turns, and the mean one.
    last_turn_nanos: Option<i64>,
    turn_nanos: i64,
}

impl Pace {
    pub(super) fn new(rate: TickRate) -> Pace {
        Pace {
            rate,
            clock: ClockEstimate::new(),
            pings: PingSchedule::new(),
            controller: Controller::new(1_000_000_000 / i64::from(rate.hz())),
            last_turn: None,
            last_turn_nanos: None,
            turn_nanos: FIRST_TURN_NANOS,
        }
    }

    /// A new transport has a round trip of its own.
    pub(super) fn handle_connected(&mut self, now: Moment) {
        self.clock.restart();
        self.pings.restart(now);
    }

    /// Whether a ping is due; if so, schedules the next.
    pub(super) fn take_ping(&mut self, now: Moment) -> bool {
        self.pings.take(now)
    }

    /// The room's answer to a ping that was sent at `sent`.
    pub(super) fn handle_pong(&mut self, sent: Moment, clock: Option<RoomClock>, now: Moment) {
        if self.clock.measure(sent, clock, now) == Surprise::Changed {
            self.pings.hurry(now);
        }
    }

    /// The room says, without having been asked, where its clock is.
    pub(super) fn handle_clock(&mut self, clock: RoomClock, now: Moment) {
        self.clock.announce(clock, now);
        self.pings.hurry(now);
    }

    /// The room's clock stood still until now, and goes on from here: where it was measured before is of no use.
    pub(super) fn restart(&mut self, clock: RoomClock, now: Moment) {
        self.forget_clock();
        self.handle_clock(clock, now);
    }

    /// What was measured is of a clock that does not run any more; round trips stay.
    pub(super) fn forget_clock(&mut self) {
        self.clock.forget_offsets();
        self.controller.forget();
    }

    /// Moves the position on to `now`, and gives how far it is.
    pub(super) fn turn(&mut self, now: Moment, delays: Delays) -> Goals {
        let elapsed = signed_nanos(now.nanos_since(self.last_turn.unwrap_or(now)));
        self.measure_turn(elapsed);
        self.last_turn = Some(now);
        let desired = self.desired_nanos(now).saturating_add(self.ticks_nanos(delays.early_ticks));
        let elapsed = elapsed.saturating_add(self.clock.drift_of(elapsed));
        let lag = self.ticks_nanos(delays.present_ticks);
        let positions = self.controller.turn(Aim { desired, elapsed, lag });
        Goals { sample: self.ticks_due(positions.sample), present: self.ticks_due(positions.present) }
    }

    fn measure_turn(&mut self, elapsed: i64) {
        if self.last_turn.is_none() {
            return;
        }
        // One long pause is a stall, two are the pace at which turns are taken.
        let passed = elapsed.min(MAX_TURN_NANOS);
        let passed = passed.min(self.last_turn_nanos.replace(passed).unwrap_or(passed));
        self.turn_nanos += (passed - self.turn_nanos) / TURN_MEAN;
    }

    /// Where the room's clock will be when something sent now arrives, with a margin for jitter, and for what can only be sent in
    /// the next turn. An eighth of a turn is left out of it: where turns are as long as ticks they then fall in step with them.
    fn desired_nanos(&self, now: Moment) -> i64 {
        let between = self.turn_nanos;
        self.clock
            .room_nanos(now)
            .saturating_add(self.clock.one_way_nanos())
            .saturating_add(self.clock.jitter_nanos() * JITTER_MARGIN)
            .saturating_add(between - between / 8)
    }

    /// The room's tick right now.
    pub(super) fn room_tick(&self, now: Moment) -> Tick {
        self.tick_at(self.clock.room_nanos(now))
    }

    /// The room's tick when it sent what can be here now.
    pub(super) fn heard_tick(&self, now: Moment) -> Tick {
        self.tick_at(self.clock.room_nanos(now).saturating_sub(self.clock.one_way_nanos()))
    }

    /// How many ticks the samples are ahead of what can have been heard of the room: so many must be predicted without a delay.
    pub(super) fn lead_ticks(&self, now: Moment) -> u64 {
        let heard = self.clock.room_nanos(now).saturating_sub(self.clock.one_way_nanos());
        let lead = u64::try_from(self.desired_nanos(now).saturating_sub(heard)).unwrap_or(0);
        lead.div_ceil(self.tick_length_nanos())
    }

    pub(super) fn round_trip_micros(&self) -> Option<u64> {
        self.clock.round_trip_nanos().and_then(|nanos| u64::try_from(nanos / 1000).ok())
    }

    pub(super) fn jitter_micros(&self) -> u64 {
        u64::try_from(self.clock.jitter_nanos() / 1000).unwrap_or(0)
    }

    /// How far the present should be, on the room's clock; `None` before the first turn of a match.
    pub(super) fn present_nanos(&self) -> Option<i64> {
        self.controller.present_nanos()
    }

    /// Length of a tick, in nanoseconds.
    pub(super) fn tick_length_nanos(&self) -> u64 {
        self.rate.moment_of(Tick::new(1)).as_nanos()
    }

    /// The next tick of the position, or the next ping, whichever is earlier.
    pub(super) fn next_timeout(&self, started: bool) -> Moment {
        let position = self.controller.position_nanos().filter(|_| started);
        let (Some(position), Some(last_turn)) = (position, self.last_turn) else { return self.pings.next() };
        let next_tick = self.rate.moment_of(self.tick_at(position).saturating_add(1));
        let wait = signed(next_tick).saturating_sub(position).max(0);
        self.pings.next().min(last_turn.plus_nanos(u64::try_from(wait).unwrap_or(0)))
    }

    fn ticks_nanos(&self, ticks: u16) -> i64 {
        signed(self.rate.moment_of(Tick::new(u64::from(ticks))))
    }

    /// How many ticks have begun at a position.
    fn ticks_due(&self, nanos: i64) -> Tick {
        if nanos < 0 { Tick::ZERO } else { self.tick_at(nanos).saturating_add(1) }
    }

    fn tick_at(&self, nanos: i64) -> Tick {
        u64::try_from(nanos).map_or(Tick::ZERO, |nanos| self.rate.tick_at(Moment::from_nanos(nanos)))
    }
}

#[cfg(test)]
mod tests;
