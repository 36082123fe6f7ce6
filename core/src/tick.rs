//! Ticks and tick rates: the only notion of time that a simulation has (K1).
//!
//! No clock lives here. [`Moment`], the time that a caller measures, stops at the client and the room.
//!
//! ```
//! use retick_core::tick::{Moment, Tick, TickRate};
//!
//! let rate = TickRate::from_hz(60)?;
//! let tick = Tick::ZERO.saturating_add(90);
//! assert_eq!(rate.moment_of(tick), Moment::from_millis(1500));
//! assert_eq!((rate.tick_at(Moment::from_millis(1500)), tick.since(Tick::new(80))), (tick, 10));
//! // No tick wraps, and no other rate exists.
//! assert_eq!(Tick::MAX.checked_add(1), None);
//! assert!(TickRate::from_hz(50).is_err());
//! # Ok::<(), retick_core::tick::TickRateError>(())
//! ```

use core::fmt;

use bincode::{Decode, Encode};
use serde::{Deserialize, Serialize};

/// Index of a simulation step (K1): tick `t` takes `S(t)` to `S(t+1)`. Never wraps and has no sentinel.
#[doc(alias = "frame number")]
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default, Serialize, Deserialize, Encode, Decode)]
pub struct Tick(u64);

impl Tick {
    /// The first tick of a generation.
    pub const ZERO: Tick = Tick(0);
    /// The last tick that exists; advancing past it is a typed error wherever it can happen.
    pub const MAX: Tick = Tick(u64::MAX);

    /// The tick with this index.
    pub const fn new(index: u64) -> Self {
        Tick(index)
    }

    /// The index.
    pub const fn index(self) -> u64 {
        self.0
    }

    /// The tick `ticks` later, or `None` beyond [`Tick::MAX`].
    pub const fn checked_add(self, ticks: u64) -> Option<Tick> {
        match self.0.checked_add(ticks) {
            Some(index) => Some(Tick(index)),
            None => None,
        }
    }

    /// The tick `ticks` later, stopping at [`Tick::MAX`]; for deadlines and bounds, never for stepping.
    pub const fn saturating_add(self, ticks: u64) -> Tick {
        Tick(self.0.saturating_add(ticks))
    }

    /// The tick `ticks` earlier, stopping at [`Tick::ZERO`].
    pub const fn saturating_sub(self, ticks: u64) -> Tick {
        Tick(self.0.saturating_sub(ticks))
    }

    /// How many ticks lie between `earlier` and `self`, zero when `earlier` is not earlier.
    pub const fn since(self, earlier: Tick) -> u64 {
        self.0.saturating_sub(earlier.0)
    }
}

impl fmt::Display for Tick {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.0)
    }
}

/// Ticks per second (K1). Only these five exist, since every timing window is derived from them.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize, Encode, Decode)]
pub enum TickRate {
    /// 10 ticks per second.
    Hz10,
    /// 20 ticks per second.
    Hz20,
    /// 30 ticks per second.
    Hz30,
    /// 60 ticks per second.
    Hz60,
    /// 120 ticks per second.
    Hz120,
}

/// Nanoseconds in a second.
const NANOS: u128 = 1_000_000_000;

impl TickRate {
    /// Every rate there is, slowest first.
    pub const ALL: [TickRate; 5] = [TickRate::Hz10, TickRate::Hz20, TickRate::Hz30, TickRate::Hz60, TickRate::Hz120];

    /// Ticks per second.
    pub const fn hz(self) -> u32 {
        match self {
            TickRate::Hz10 => 10,
            TickRate::Hz20 => 20,
            TickRate::Hz30 => 30,
            TickRate::Hz60 => 60,
            TickRate::Hz120 => 120,
        }
    }

    /// The rate of this many ticks per second.
    ///
    /// # Errors
    /// [`TickRateError`] for any other number than 10, 20, 30, 60 and 120.
    pub fn from_hz(hz: u32) -> Result<TickRate, TickRateError> {
        TickRate::ALL.into_iter().find(|rate| rate.hz() == hz).ok_or(TickRateError { hz })
    }

    /// The moment at which tick `tick` begins, counted from the origin of its clock; saturates.
    pub fn moment_of(self, tick: Tick) -> Moment {
        let nanos = u128::from(tick.index()) * NANOS / u128::from(self.hz());
        Moment::from_nanos(u64::try_from(nanos).unwrap_or(u64::MAX))
    }

    /// The tick that is under way at `moment`: the last one whose [`TickRate::moment_of`] is not later.
    pub fn tick_at(self, moment: Moment) -> Tick {
        // tick n begins at floor(n·NANOS/hz); that is <= m exactly when n·NANOS < (m+1)·hz.
        let reached = (u128::from(moment.as_nanos()) + 1) * u128::from(self.hz());
        Tick::new(u64::try_from(reached.div_ceil(NANOS) - 1).unwrap_or(u64::MAX))
    }

    /// How many whole ticks fit into `milliseconds`.
    pub const fn ticks_in_millis(self, milliseconds: u64) -> u64 {
        milliseconds.saturating_mul(self.hz() as u64) / 1000
    }
}

impl fmt::Display for TickRate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} Hz", self.hz())
    }
}

/// A tick rate that does not exist.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
#[error("a tick rate is 10, 20, 30, 60 or 120 Hz, not {hz}")]
pub struct TickRateError {
    /// What was asked for, in ticks per second.
    pub hz: u32,
}

/// Time since an origin that the caller chose, in nanoseconds. Monotonic; the machines never read a clock themselves (N1).
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub struct Moment(u64);

impl Moment {
    /// The origin.
    pub const ZERO: Moment = Moment(0);

    /// `nanos` nanoseconds after the origin.
    pub const fn from_nanos(nanos: u64) -> Self {
        Moment(nanos)
    }

    /// `micros` microseconds after the origin; saturates.
    pub const fn from_micros(micros: u64) -> Self {
        Moment(micros.saturating_mul(1000))
    }

    /// `millis` milliseconds after the origin; saturates.
    pub const fn from_millis(millis: u64) -> Self {
        Moment(millis.saturating_mul(1_000_000))
    }

    /// Nanoseconds since the origin.
    pub const fn as_nanos(self) -> u64 {
        self.0
    }

    /// Whole microseconds since the origin.
    pub const fn as_micros(self) -> u64 {
        self.0 / 1000
    }

    /// The moment this many nanoseconds later; saturates.
    pub const fn plus_nanos(self, nanos: u64) -> Moment {
        Moment(self.0.saturating_add(nanos))
    }

    /// Nanoseconds between `earlier` and `self`, zero when `earlier` is not earlier.
    pub const fn nanos_since(self, earlier: Moment) -> u64 {
        self.0.saturating_sub(earlier.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn k1_only_the_five_rates_exist() {
        for hz in 0..=240 {
            let rate = TickRate::from_hz(hz);
            assert_eq!(rate.is_ok(), [10, 20, 30, 60, 120].contains(&hz), "{hz}");
            if rate.is_err() {
                assert_eq!(rate, Err(TickRateError { hz }));
            }
        }
    }

    #[test]
    fn k1_moments_and_ticks_are_inverse_at_every_rate() {
        for rate in TickRate::ALL {
            for index in (0..5000).chain([1 << 31, (1 << 32) + 7]) {
                let start = rate.moment_of(Tick::new(index));
                assert_eq!(rate.tick_at(start), Tick::new(index), "{rate}");
                if index > 0 {
                    let before = Moment::from_nanos(start.as_nanos() - 1);
                    assert_eq!(rate.tick_at(before), Tick::new(index - 1), "{rate}");
                }
            }
        }
    }

    #[test]
    fn k1_ticks_end_without_wrapping() {
        assert_eq!(Tick::MAX.checked_add(1), None);
        assert_eq!(Tick::ZERO.saturating_sub(1), Tick::ZERO);
        assert_eq!(Tick::ZERO.since(Tick::MAX), 0);
    }
}
