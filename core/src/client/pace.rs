//! How far the present is to be: so that an input reaches the room when the room's clock reaches its tick (N4).
//!
//! The client measures the round trip and the offset of the room's clock with pings, and lets its own position follow. Within a
//! few ticks it corrects by at most two percent of the rate; beyond, it jumps. The present never steps back with it: a session
//! keeps what it has stepped and sampled, and waits. A tick's length never changes.

use crate::tick::{Moment, Tick, TickRate};
use crate::wire::RoomClock;

/// Largest correction of the rate, in percent.
const MAX_CORRECTION_PERCENT: i64 = 2;
/// An error beyond this many ticks is not paced away but jumped over.
const JUMP_TICKS: i64 = 4;
/// Most that one late answer counts as jitter: what is later than this was a stall, and no margin makes up for stalls.
const MAX_DEVIATION_NANOS: u64 = 50_000_000;
/// Measurements that are remembered; the one with the shortest round trip gives the offset.
const SAMPLES: usize = 16;
/// Between two pings while the first measurements are made, and afterwards.
const PING_NANOS: [u64; 2] = [100_000_000, 500_000_000];
/// How many measurements are made quickly after a connect.
const QUICK_PINGS: u32 = 8;

#[derive(Clone, Copy, Debug)]
struct Sample {
    round_trip_nanos: u64,
    /// The room's clock minus the client's, in nanoseconds.
    offset_nanos: Option<i64>,
}

/// Follows the room's clock.
#[derive(Debug)]
pub(super) struct Pace {
    rate: TickRate,
    samples: [Option<Sample>; SAMPLES],
    taken: usize,
    jitter_nanos: u64,
    announced_offset_nanos: Option<i64>,
    position_nanos: Option<i64>,
    last_turn: Moment,
    next_ping: Moment,
    pings: u32,
}

impl Pace {
    pub(super) fn new(rate: TickRate) -> Pace {
        Pace {
            rate,
            samples: [None; SAMPLES],
            taken: 0,
            jitter_nanos: 0,
            announced_offset_nanos: None,
            position_nanos: None,
            last_turn: Moment::ZERO,
            next_ping: Moment::ZERO,
            pings: 0,
        }
    }

    /// A new transport has a round trip of its own.
    pub(super) fn handle_connected(&mut self, now: Moment) {
        self.samples = [None; SAMPLES];
        self.jitter_nanos = 0;
        self.pings = 0;
        self.next_ping = now;
    }

    /// Whether a ping is due; if so, schedules the next.
    pub(super) fn take_ping(&mut self, now: Moment) -> bool {
        if now < self.next_ping {
            return false;
        }
        let interval = PING_NANOS[usize::from(self.pings >= QUICK_PINGS)];
        self.pings = self.pings.saturating_add(1);
        self.next_ping = now.plus_nanos(interval);
        true
    }

    /// The room's answer to a ping that was sent at `sent`.
    pub(super) fn handle_pong(&mut self, sent: Moment, clock: Option<RoomClock>, now: Moment) {
        let round_trip_nanos = now.nanos_since(sent);
        if let Some(least) = self.best().map(|best| best.round_trip_nanos) {
            let deviation = round_trip_nanos.saturating_sub(least).min(MAX_DEVIATION_NANOS);
            self.jitter_nanos = self.jitter_nanos.saturating_mul(7).saturating_add(deviation) / 8;
        }
        let offset_nanos = clock.map(|clock| offset(clock, round_trip_nanos, now));
        if let Some(newest) = offset_nanos {
            self.forget_other_clocks(newest, round_trip_nanos);
        }
        self.samples[self.taken % SAMPLES] = Some(Sample { round_trip_nanos, offset_nanos });
        self.taken = self.taken.wrapping_add(1);
    }

    /// Drops measurements that can't be of the clock that was measured now: the room stood still meanwhile, or this machine did.
    fn forget_other_clocks(&mut self, newest: i64, round_trip_nanos: u64) {
        let possible = self.jump_nanos().saturating_add(i64::try_from(round_trip_nanos).unwrap_or(i64::MAX));
        let is_other = |sample: &Sample| {
            sample
                .offset_nanos
                .is_some_and(|offset| offset.saturating_sub(newest).unsigned_abs() > possible.unsigned_abs())
        };
        for sample in &mut self.samples {
            if sample.as_ref().is_some_and(is_other) {
                *sample = None;
            }
        }
    }

    /// The room says, without having been asked, where its clock is.
    pub(super) fn handle_clock(&mut self, clock: RoomClock, now: Moment) {
        let round_trip_nanos = self.best().map_or(0, |best| best.round_trip_nanos);
        self.announced_offset_nanos = Some(offset(clock, round_trip_nanos, now));
    }

    /// The room's clock stood still until now, and goes on from here: where it was measured before is of no use.
    pub(super) fn restart(&mut self, clock: RoomClock, now: Moment) {
        self.forget_clock();
        self.handle_clock(clock, now);
    }

    /// What was measured is of a clock that does not run any more; round trips stay.
    pub(super) fn forget_clock(&mut self) {
        self.samples.iter_mut().flatten().for_each(|sample| sample.offset_nanos = None);
        self.announced_offset_nanos = None;
        self.position_nanos = None;
    }

    fn best(&self) -> Option<&Sample> {
        self.samples.iter().flatten().min_by_key(|sample| sample.round_trip_nanos)
    }

    fn offset_nanos(&self) -> i64 {
        let measured = self.samples.iter().flatten().filter(|sample| sample.offset_nanos.is_some());
        let best = measured.min_by_key(|sample| sample.round_trip_nanos).and_then(|sample| sample.offset_nanos);
        best.or(self.announced_offset_nanos).unwrap_or(0)
    }

    /// Length of a tick, in nanoseconds.
    pub(super) fn tick_length_nanos(&self) -> u64 {
        self.rate.moment_of(Tick::new(1)).as_nanos()
    }

    fn jump_nanos(&self) -> i64 {
        JUMP_TICKS * self.tick_nanos()
    }

    fn tick_nanos(&self) -> i64 {
        1_000_000_000 / i64::from(self.rate.hz())
    }

    /// The room's tick right now.
    pub(super) fn room_tick(&self, now: Moment) -> Tick {
        self.tick_at(signed(now).saturating_add(self.offset_nanos()))
    }

    pub(super) fn round_trip_micros(&self) -> Option<u64> {
        self.best().map(|best| best.round_trip_nanos / 1000)
    }

    /// Moves the position on to `now`, and gives the tick that the present should reach when inputs are delayed by
    /// `delay_ticks`: the number of ticks that should have been stepped.
    pub(super) fn target(&mut self, now: Moment, delay_ticks: u64) -> Tick {
        let elapsed = i64::try_from(now.nanos_since(self.last_turn)).unwrap_or(i64::MAX);
        self.last_turn = now;
        let desired = self.desired_nanos(now);
        let position = match self.position_nanos {
            None => desired,
            Some(position) => self.follow(position, desired, elapsed),
        };
        self.position_nanos = Some(position);
        let delay = i64::try_from(delay_ticks).unwrap_or(i64::MAX).saturating_mul(self.tick_nanos());
        let presented = position.saturating_sub(delay);
        if presented < 0 { Tick::ZERO } else { self.tick_at(presented).saturating_add(1) }
    }

    /// Where the room's clock will be when something sent now arrives, with a margin for jitter.
    fn desired_nanos(&self, now: Moment) -> i64 {
        let one_way = self.best().map_or(0, |best| best.round_trip_nanos / 2);
        let margin = self.jitter_nanos.saturating_mul(2);
        let ahead = i64::try_from(one_way.saturating_add(margin)).unwrap_or(i64::MAX);
        signed(now).saturating_add(self.offset_nanos()).saturating_add(ahead).saturating_add(self.tick_nanos() / 4)
    }

    fn follow(&self, position: i64, desired: i64, elapsed: i64) -> i64 {
        let even = position.saturating_add(elapsed);
        let error = desired.saturating_sub(even);
        if error.saturating_abs() > self.jump_nanos() {
            return desired;
        }
        // The whole error within a second, but never more than the largest correction.
        let most = elapsed / 100 * MAX_CORRECTION_PERCENT;
        let correction = (error / 1000).saturating_mul(elapsed / 1_000_000).clamp(-most, most);
        even.saturating_add(correction)
    }

    fn tick_at(&self, nanos: i64) -> Tick {
        u64::try_from(nanos).map_or(Tick::ZERO, |nanos| self.rate.tick_at(Moment::from_nanos(nanos)))
    }

    /// The next tick of the position, or the next ping, whichever is earlier.
    pub(super) fn next_timeout(&self, started: bool) -> Moment {
        let Some(position) = self.position_nanos.filter(|_| started) else { return self.next_ping };
        let next_tick = self.rate.moment_of(self.tick_at(position).saturating_add(1));
        let wait = signed(next_tick).saturating_sub(position).max(0);
        self.next_ping.min(self.last_turn.plus_nanos(u64::try_from(wait).unwrap_or(0)))
    }
}

fn offset(clock: RoomClock, round_trip_nanos: u64, now: Moment) -> i64 {
    let there = signed(clock.moment()).saturating_add(i64::try_from(round_trip_nanos / 2).unwrap_or(i64::MAX));
    there.saturating_sub(signed(now))
}

fn signed(moment: Moment) -> i64 {
    i64::try_from(moment.as_nanos()).unwrap_or(i64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    const RATE: TickRate = TickRate::Hz60;

    fn pace_with_clock_at(clock_millis: u64, now_millis: u64) -> Pace {
        let mut pace = Pace::new(RATE);
        pace.handle_connected(Moment::ZERO);
        let now = Moment::from_millis(now_millis);
        let clock = RoomClock { micros: clock_millis * 1000 };
        // A round trip of 40 ms, half of it on the way back.
        pace.handle_pong(Moment::from_millis(now_millis - 40), Some(clock), now);
        pace
    }

    #[test]
    fn n4_the_target_is_where_the_room_will_be_when_an_input_arrives() {
        let mut pace = pace_with_clock_at(1000, 100);
        assert_eq!(pace.room_tick(Moment::from_millis(100)), Tick::new(61));
        // 1000 ms, 20 ms on the way back, 20 ms on the way there, a quarter of a tick: 1044 ms are tick 62, so 63 are stepped.
        assert_eq!(pace.target(Moment::from_millis(100), 0), Tick::new(63));
        assert_eq!(pace_with_clock_at(1000, 100).target(Moment::from_millis(100), 3), Tick::new(60));
    }

    #[test]
    fn n4_at_zero_error_the_rate_is_exactly_one() {
        let mut pace = pace_with_clock_at(1000, 100);
        let start = pace.target(Moment::from_millis(100), 0);
        for second in 1..=60 {
            assert_eq!(pace.target(Moment::from_millis(100 + 1000 * second), 0), start.saturating_add(60 * second));
        }
    }

    #[test]
    fn n4_an_error_is_corrected_by_at_most_two_percent_and_never_backwards() {
        let mut pace = pace_with_clock_at(1000, 100);
        let mut now = Moment::from_millis(100);
        pace.target(now, 0);
        // The clock turns out to be two ticks further.
        pace.announced_offset_nanos = None;
        pace.samples = [None; SAMPLES];
        let clock = RoomClock { micros: 1_000_000 + 2 * 16_667 };
        pace.handle_pong(Moment::from_millis(60), Some(clock), now);
        let before = pace.position_nanos.expect("a turn was taken");
        let mut steps = std::vec![];
        for _ in 0..600 {
            now = now.plus_nanos(16_666_667);
            let last = pace.position_nanos.expect("a turn was taken");
            pace.target(now, 0);
            steps.push(pace.position_nanos.expect("a turn was taken") - last);
        }
        let most = 16_666_667 + 16_666_667 / 50;
        assert!(steps.iter().all(|step| *step >= 0 && *step <= most), "{:?}", steps.iter().max());
        let gained = pace.position_nanos.expect("a turn was taken") - before - 600 * 16_666_667;
        assert!((gained - 2 * 16_667_000).abs() < 2_000_000, "{gained}");
    }

    #[test]
    fn n4_a_large_error_is_jumped_over_both_ways() {
        let mut pace = pace_with_clock_at(1000, 100);
        let first = pace.target(Moment::from_millis(100), 0);
        pace.samples = [None; SAMPLES];
        pace.handle_pong(Moment::from_millis(60), Some(RoomClock { micros: 3_000_000 }), Moment::from_millis(100));
        assert_eq!(pace.target(Moment::from_millis(100), 0), first.saturating_add(120));
        pace.samples = [None; SAMPLES];
        pace.handle_pong(Moment::from_millis(60), Some(RoomClock { micros: 1_000_000 }), Moment::from_millis(100));
        assert_eq!(pace.target(Moment::from_millis(100), 0), first);
    }

    /// The room stood still for five seconds: the best round trip was measured before, but of another clock.
    #[test]
    fn n4_a_clock_that_stood_still_is_measured_anew() {
        let mut pace = pace_with_clock_at(1000, 100);
        let later = Moment::from_millis(6000);
        let clock = RoomClock { micros: 1_900_000 };
        pace.handle_pong(Moment::from_millis(5950), Some(clock), later);
        // 25 ms on the way back.
        assert_eq!(pace.room_tick(later), RATE.tick_at(Moment::from_millis(1925)));
    }

    #[test]
    fn n4_no_clock_of_the_room_stops_the_pace() {
        let mut pace = Pace::new(RATE);
        pace.handle_connected(Moment::ZERO);
        pace.handle_clock(RoomClock { micros: u64::MAX }, Moment::ZERO);
        pace.target(Moment::from_millis(10), 0);
        let now = Moment::from_millis(500);
        pace.handle_pong(Moment::from_millis(460), Some(RoomClock { micros: 400_000 }), now);
        assert!(pace.target(now, 0) < Tick::new(40));
        assert!(pace.next_timeout(true) > now || pace.next_ping <= now);
        let far = Moment::from_nanos(u64::MAX);
        pace.handle_pong(Moment::ZERO, Some(RoomClock { micros: u64::MAX }), far);
        pace.handle_pong(Moment::ZERO, Some(RoomClock { micros: 0 }), far);
        pace.target(far, u64::MAX);
    }
}
