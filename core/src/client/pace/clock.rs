//! Where the room's clock is and how fast it runs, as far as pings can tell: a line through the last measurements.
//!
//! A ping's answer says where the room's clock was somewhere within the round trip. The quicker the answer, the more it says, so
//! that each counts by how much slower it was than the quickest. Clocks of two machines do not run equally fast: the line has a
//! slope, the drift, which is zero unless the measurements show one beyond their own scatter.

use alloc::collections::VecDeque;

use crate::tick::Moment;
use crate::wire::RoomClock;

/// Measurements that are remembered.
const SAMPLES: usize = 16;
/// So many in a row that are all slower, or all quicker, than most before them are of another path.
const PATH_SAMPLES: usize = 6;
/// Most by which honest clocks drift apart: 5 %. What a clock does beyond is no drift.
const MAX_DRIFT_PPB: i64 = 50_000_000;
/// By how much a clock may stand elsewhere than foretold, beyond what round trips and drift explain, before it is another clock.
const OTHER_CLOCK_NANOS: i64 = 2_000_000;
/// A drift is measured over no less time and no fewer samples than this.
const MIN_DRIFT_MICROS: i64 = 1_000_000;
const MIN_DRIFT_SAMPLES: usize = 6;
/// What a drift must amount to over the measured time, beyond four times the mean scatter, to be believed.
const MIN_DRIFT_RISE_MICROS: i64 = 500;
/// Beyond these, measurements are cut, so that no sum overflows.
const MAX_AGE_MICROS: i64 = 30_000_000;
const MAX_RISE_MICROS: i64 = 4_000_000;
/// Most that one late answer counts as jitter: what is later than this was a stall, and no margin makes up for stalls.
const MAX_DEVIATION_NANOS: i64 = 50_000_000;

/// One answer.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Sample {
    /// The middle of the round trip, on this machine's clock.
    middle_nanos: i64,
    round_trip_nanos: i64,
    /// The room's clock minus this machine's, if the room's runs.
    offset_nanos: Option<i64>,
}

/// The room's clock over this machine's.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
struct Line {
    at_nanos: i64,
    offset_nanos: i64,
    drift_ppb: i64,
}

impl Line {
    fn offset_at(&self, nanos: i64) -> i64 {
        let since = nanos.saturating_sub(self.at_nanos);
        self.offset_nanos.saturating_add(scale(since, self.drift_ppb, 1_000_000_000))
    }
}

/// What a measurement told, besides its figures.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Surprise {
    /// Nothing that was not known.
    None,
    /// The path or the clock may be another one: worth more measurements.
    Changed,
}

/// Follows the room's clock.
#[derive(Debug)]
pub(super) struct ClockEstimate {
    /// The oldest first.
    samples: VecDeque<Sample>,
    line: Option<Line>,
    announced_offset_nanos: Option<i64>,
}

impl ClockEstimate {
    pub(super) fn new() -> ClockEstimate {
        ClockEstimate { samples: VecDeque::with_capacity(SAMPLES), line: None, announced_offset_nanos: None }
    }

    /// A new transport has a round trip of its own.
    pub(super) fn restart(&mut self) {
        self.samples.clear();
        self.announced_offset_nanos = self.line.map(|line| line.offset_nanos);
        self.line = None;
    }

    /// The clock that was measured does not run any more; its round trips stay.
    pub(super) fn forget_offsets(&mut self) {
        self.samples.iter_mut().for_each(|sample| sample.offset_nanos = None);
        (self.line, self.announced_offset_nanos) = (None, None);
    }

    /// The answer to a ping that was sent at `sent`.
    pub(super) fn measure(&mut self, sent: Moment, clock: Option<RoomClock>, now: Moment) -> Surprise {
        let round_trip_nanos = signed_nanos(now.nanos_since(sent));
        let middle_nanos = signed(now).saturating_sub(round_trip_nanos / 2);
        let offset_nanos = clock.map(|clock| signed(clock.moment()).saturating_sub(middle_nanos));
        let sample = Sample { middle_nanos, round_trip_nanos, offset_nanos };
        let changed = self.is_another_path(&sample) | self.forget_another_clock(&sample);
        if self.samples.len() >= SAMPLES {
            self.samples.pop_front();
        }
        self.samples.push_back(sample);
        self.forget_another_path();
        self.line = self.fit();
        if changed { Surprise::Changed } else { Surprise::None }
    }

    /// The room says, without having been asked, where its clock is: at the start of a generation, or after a resume.
    pub(super) fn announce(&mut self, clock: RoomClock, now: Moment) {
        let back = self.one_way_nanos();
        let offset = signed(clock.moment()).saturating_add(back).saturating_sub(signed(now));
        let middle_nanos = signed(now).saturating_sub(back);
        let announced = Sample { middle_nanos, round_trip_nanos: back.saturating_mul(2), offset_nanos: Some(offset) };
        self.forget_another_clock(&announced);
        self.line = self.fit();
        self.announced_offset_nanos = Some(offset);
    }

    /// The room's clock, in nanoseconds, when this machine's shows `now`.
    pub(super) fn room_nanos(&self, now: Moment) -> i64 {
        let offset = self.line.map(|line| line.offset_at(signed(now))).or(self.announced_offset_nanos);
        signed(now).saturating_add(offset.unwrap_or(0))
    }

    /// By how much of a stretch of time the room's clock moves further than this machine's.
    pub(super) fn drift_of(&self, elapsed_nanos: i64) -> i64 {
        scale(elapsed_nanos, self.line.map_or(0, |line| line.drift_ppb), 1_000_000_000)
    }

    /// The quickest round trip, if there was one.
    pub(super) fn round_trip_nanos(&self) -> Option<i64> {
        self.samples.iter().map(|sample| sample.round_trip_nanos).min()
    }

    /// Half of the quickest round trip.
    pub(super) fn one_way_nanos(&self) -> i64 {
        self.round_trip_nanos().unwrap_or(0) / 2
    }

    /// By how much a round trip is longer than the quickest, on the mean.
    pub(super) fn jitter_nanos(&self) -> i64 {
        let Some(least) = self.round_trip_nanos() else { return 0 };
        let late = |sample: &Sample| sample.round_trip_nanos.saturating_sub(least).min(MAX_DEVIATION_NANOS);
        self.samples.iter().map(late).sum::<i64>() / signed_count(self.samples.len())
    }

    /// Whether a round trip lies outside of all that were measured before.
    fn is_another_path(&self, sample: &Sample) -> bool {
        let trips = || self.samples.iter().map(|sample| sample.round_trip_nanos);
        let (Some(least), Some(most)) = (trips().min(), trips().max()) else { return false };
        sample.round_trip_nanos > most.saturating_add(OTHER_CLOCK_NANOS)
            || sample.round_trip_nanos < least.saturating_sub(OTHER_CLOCK_NANOS)
    }

    /// Drops what was measured before the last few, when those are all slower than three quarters of it, or all quicker.
    fn forget_another_path(&mut self) {
        let Some(older) = self.samples.len().checked_sub(PATH_SAMPLES).filter(|older| *older >= PATH_SAMPLES / 2)
        else {
            return;
        };
        let recent = || self.samples.iter().skip(older).map(|sample| sample.round_trip_nanos);
        let (Some(least), Some(most)) = (recent().min(), recent().max()) else { return };
        let trips = || self.samples.iter().take(older).map(|sample| sample.round_trip_nanos);
        let quicker = trips().filter(|trip| trip.saturating_add(OTHER_CLOCK_NANOS) < least).count();
        let slower = trips().filter(|trip| trip.saturating_sub(OTHER_CLOCK_NANOS) > most).count();
        if 4 * quicker.max(slower) >= 3 * older {
            self.samples.drain(..older);
        }
    }

    /// Forgets where the clock was when this measurement can't be of the same clock: the room stood still meanwhile, or this
    /// machine did. Says whether it was so.
    fn forget_another_clock(&mut self, sample: &Sample) -> bool {
        let (Some(line), Some(offset)) = (self.line, sample.offset_nanos) else { return false };
        let newest = self.samples.back().map_or(sample.middle_nanos, |newest| newest.middle_nanos);
        let unseen = sample.middle_nanos.saturating_sub(newest).saturating_abs();
        // Each of the two is right to within half of its round trip.
        let possible = (sample.round_trip_nanos / 2)
            .saturating_add(self.one_way_nanos())
            .saturating_add(scale(unseen, MAX_DRIFT_PPB, 1_000_000_000))
            .saturating_add(OTHER_CLOCK_NANOS);
        let is_other = line.offset_at(sample.middle_nanos).saturating_sub(offset).saturating_abs() > possible;
        if is_other {
            self.samples.iter_mut().for_each(|sample| sample.offset_nanos = None);
        }
        is_other
    }

    /// The weighted least squares of all samples that know the clock.
    fn fit(&self) -> Option<Line> {
        let knowing = self.samples.iter().filter(|sample| sample.offset_nanos.is_some());
        let quickest = knowing.min_by_key(|sample| sample.round_trip_nanos)?;
        let (at_nanos, base_nanos) = (quickest.middle_nanos, quickest.offset_nanos?);
        let points = || {
            self.samples.iter().filter_map(move |sample| {
                let x = sample.middle_nanos.saturating_sub(at_nanos) / 1000;
                let y = sample.offset_nanos?.saturating_sub(base_nanos) / 1000;
                let slower = sample.round_trip_nanos.saturating_sub(quickest.round_trip_nanos) / 1000;
                Some(Point {
                    x: i128::from(x.clamp(-MAX_AGE_MICROS, MAX_AGE_MICROS)),
                    y: i128::from(y.clamp(-MAX_RISE_MICROS, MAX_RISE_MICROS)),
                    slower: i128::from(slower),
                })
            })
        };
        let sums = points().fold(Sums::default(), Sums::with);
        let drift_ppb = sums.drift_ppb(points()).unwrap_or(0);
        let (x, y) = sums.mean();
        Some(Line {
            at_nanos: at_nanos.saturating_add(x.saturating_mul(1000)),
            offset_nanos: base_nanos.saturating_add(y.saturating_mul(1000)),
            drift_ppb,
        })
    }
}

/// A measurement relative to the quickest one, in microseconds.
#[derive(Clone, Copy, Debug)]
struct Point {
    x: i128,
    y: i128,
    slower: i128,
}

impl Point {
    /// What it counts: a millisecond makes it a quarter.
    fn weight(&self) -> i128 {
        let scatter = self.slower + 1000;
        (1_000_000_000_000 / (scatter * scatter)).max(1)
    }
}

#[derive(Clone, Copy, Debug, Default)]
struct Sums {
    count: usize,
    weights: i128,
    x: i128,
    y: i128,
    xx: i128,
    xy: i128,
}

impl Sums {
    fn with(self, point: Point) -> Sums {
        let (Point { x, y, .. }, weight) = (point, point.weight());
        Sums {
            count: self.count + 1,
            weights: self.weights + weight,
            x: self.x + weight * x,
            y: self.y + weight * y,
            xx: self.xx + weight * x * x,
            xy: self.xy + weight * x * y,
        }
    }

    fn mean(&self) -> (i64, i64) {
        let mean = |sum: i128| i64::try_from(sum / self.weights.max(1)).unwrap_or(0);
        (mean(self.x), mean(self.y))
    }

    /// The slope, if there are enough points for one and they show it beyond their scatter.
    fn drift_ppb(&self, points: impl Iterator<Item = Point> + Clone) -> Option<i64> {
        let ages = || points.clone().map(|point| point.x);
        let span = i64::try_from(ages().max()? - ages().min()?).unwrap_or(i64::MAX);
        let spread = self.weights * self.xx - self.x * self.x;
        if self.count < MIN_DRIFT_SAMPLES || span < MIN_DRIFT_MICROS || spread <= 0 {
            return None;
        }
        let slope = (self.weights * self.xy - self.x * self.y).saturating_mul(1_000_000_000) / spread;
        let drift = i64::try_from(slope).ok()?.clamp(-MAX_DRIFT_PPB, MAX_DRIFT_PPB);
        let (mean_x, mean_y) = self.mean();
        let scatter: i128 = points
            .map(|point| {
                let since = i64::try_from(point.x).unwrap_or(0).saturating_sub(mean_x);
                let expected = i128::from(mean_y) + i128::from(scale(since, drift, 1_000_000_000));
                // Near the line by chance is no nearer than it can be known to be.
                point.weight() * (point.y - expected).abs().max(point.slower / 2)
            })
            .sum();
        let scatter = i64::try_from(scatter / self.weights.max(1)).unwrap_or(i64::MAX);
        let rise = scale(span, drift, 1_000_000_000).saturating_abs();
        (rise > scatter.saturating_mul(4).saturating_add(MIN_DRIFT_RISE_MICROS)).then_some(drift)
    }
}

/// `value · numerator / denominator`, without overflow on the way.
pub(super) fn scale(value: i64, numerator: i64, denominator: i64) -> i64 {
    let scaled = i128::from(value) * i128::from(numerator) / i128::from(denominator.max(1));
    i64::try_from(scaled).unwrap_or(if scaled < 0 { i64::MIN } else { i64::MAX })
}

pub(super) fn signed(moment: Moment) -> i64 {
    signed_nanos(moment.as_nanos())
}

pub(super) fn signed_nanos(nanos: u64) -> i64 {
    i64::try_from(nanos).unwrap_or(i64::MAX)
}

fn signed_count(count: usize) -> i64 {
    i64::try_from(count).unwrap_or(i64::MAX).max(1)
}

#[cfg(test)]
mod tests {
    use super::*;

    const MILLI: i64 = 1_000_000;

    /// What is measured over a path of `there` and `back` milliseconds at `at`, of a clock that runs at `ppm` from `ahead` on.
    #[derive(Clone, Copy)]
    struct Path {
        there: u64,
        back: u64,
        ahead_millis: u64,
        ppm: u64,
    }

    impl Path {
        const EVEN: Path = Path { there: 20, back: 20, ahead_millis: 0, ppm: 1_000_000 };

        fn room_micros(&self, millis: u64) -> u64 {
            (self.ahead_millis + millis) * 1000 * self.ppm / 1_000_000
        }

        fn measure(&self, estimate: &mut ClockEstimate, at_millis: u64) -> Surprise {
            let clock = RoomClock { micros: self.room_micros(at_millis + self.there) };
            let now = Moment::from_millis(at_millis + self.there + self.back);
            estimate.measure(Moment::from_millis(at_millis), Some(clock), now)
        }

        /// By how much the estimate is wrong at `at`.
        fn error(&self, estimate: &ClockEstimate, at_millis: u64) -> i64 {
            let right = i64::try_from(self.room_micros(at_millis)).expect("small") * 1000;
            estimate.room_nanos(Moment::from_millis(at_millis)) - right
        }
    }

    #[test]
    fn n4_a_clock_that_runs_as_fast_is_known_to_the_microsecond_and_has_no_drift() {
        let (mut estimate, path) = (ClockEstimate::new(), Path { ahead_millis: 5000, ..Path::EVEN });
        for second in 0..20 {
            assert_eq!(path.measure(&mut estimate, 500 * second), Surprise::None);
            assert!(path.error(&estimate, 500 * second + 300).abs() <= 1000);
            assert_eq!(estimate.drift_of(1_000_000_000), 0);
        }
        assert_eq!((estimate.one_way_nanos(), estimate.jitter_nanos()), (20 * MILLI, 0));
    }

    #[test]
    fn n4_a_clock_that_drifts_is_followed_both_ways() {
        for ppm in [980_000, 1_020_000, 999_000] {
            let (mut estimate, path) = (ClockEstimate::new(), Path { ppm, ..Path::EVEN });
            (0..40).for_each(|half| _ = path.measure(&mut estimate, 500 * half));
            // A second after the last answer it still is where it was foretold.
            let error = path.error(&estimate, 20_500);
            assert!(error.abs() < MILLI / 5, "{ppm}: {error}");
            let drift = estimate.drift_of(1_000_000_000);
            let right = (i64::try_from(ppm).expect("small") - 1_000_000) * 1000;
            assert!((drift - right).abs() < 20_000, "{ppm}: {drift}");
        }
    }

    #[test]
    fn n4_jitter_is_measured_and_shows_no_drift_where_there_is_none() {
        let mut estimate = ClockEstimate::new();
        for half in 0..200_u64 {
            // Up to 24 ms more, on one side or on the other.
            let (up, down) = ((7 * half) % 13, (11 * half) % 13);
            let path = Path { there: 20 + up, back: 20 + down, ..Path::EVEN };
            path.measure(&mut estimate, 500 * half);
            if half >= 16 {
                assert_eq!(estimate.drift_of(1_000_000_000), 0, "after {half}");
                let error = path.error(&estimate, 500 * half + 100);
                assert!(error.abs() < 6 * MILLI, "after {half}: {error}");
            }
        }
        let jitter = estimate.jitter_nanos();
        assert!((5 * MILLI..15 * MILLI).contains(&jitter), "{jitter}");
    }

    #[test]
    fn n4_a_path_that_changes_is_another_path_after_six_measurements() {
        for (before, after) in [(20, 60), (60, 20)] {
            let mut estimate = ClockEstimate::new();
            let path = |each| Path { there: each, back: each, ..Path::EVEN };
            (0..16).for_each(|half| _ = path(before).measure(&mut estimate, 500 * half));
            assert_eq!(path(after).measure(&mut estimate, 8000), Surprise::Changed);
            (1..6).for_each(|tenth| _ = path(after).measure(&mut estimate, 8000 + 100 * tenth));
            assert_eq!(estimate.one_way_nanos(), signed_nanos(after) * MILLI, "from {before}");
            assert_eq!(estimate.jitter_nanos(), 0, "from {before}");
            assert!(path(after).error(&estimate, 8700).abs() <= 1000, "from {before}");
        }
    }

    /// The room stood still for five seconds: all before was measured of another clock, however quick it was.
    #[test]
    fn n4_a_clock_that_stood_still_is_measured_anew() {
        let mut estimate = ClockEstimate::new();
        (0..16).for_each(|half| _ = Path { ahead_millis: 9000, ..Path::EVEN }.measure(&mut estimate, 500 * half));
        let later = Path { there: 30, back: 30, ahead_millis: 4000, ..Path::EVEN };
        assert_eq!(later.measure(&mut estimate, 9000), Surprise::Changed);
        assert!(later.error(&estimate, 9100).abs() <= 1000);
        // What it announces itself counts the same.
        let now = Moment::from_millis(9200);
        estimate.announce(RoomClock { micros: 0 }, now);
        assert_eq!(estimate.room_nanos(now), 20 * MILLI);
        // An announcement of the same clock, late by a few milliseconds, changes nothing.
        let mut known = ClockEstimate::new();
        (0..16).for_each(|half| _ = Path::EVEN.measure(&mut known, 500 * half));
        let before = known.room_nanos(now);
        known.announce(RoomClock { micros: 9_175_000 }, now);
        assert_eq!(known.room_nanos(now), before);
    }

    #[test]
    fn n4_one_answer_that_a_stall_held_back_moves_nothing() {
        let mut estimate = ClockEstimate::new();
        (0..16).for_each(|half| _ = Path::EVEN.measure(&mut estimate, 500 * half));
        Path { back: 9_000, ..Path::EVEN }.measure(&mut estimate, 8000);
        assert!(Path::EVEN.error(&estimate, 17_100).abs() < MILLI);
        assert_eq!(estimate.one_way_nanos(), 20 * MILLI);
    }

    #[test]
    fn n4_no_clock_of_the_room_overflows_anything() {
        let mut estimate = ClockEstimate::new();
        let (first, far) = (Moment::ZERO, Moment::from_nanos(u64::MAX));
        for (sent, micros, now) in [(first, u64::MAX, first), (first, 0, far), (far, u64::MAX, far), (far, 0, first)] {
            for _ in 0..20 {
                estimate.measure(sent, Some(RoomClock { micros }), now);
                estimate.announce(RoomClock { micros }, now);
                let _ = (estimate.room_nanos(far), estimate.drift_of(i64::MAX), estimate.jitter_nanos());
            }
        }
    }
}
