//! What differs between two machines and must never reach a state (D01, D03, D05): the wall clock and its zone, what fresh memory
//! holds, the bits that floats leave open, where memory comes from and which thread is done first, and what its player looks at. The kit
//! plays each instance that it compares on a [`Machine`] of its own.
//!
//! No clock is read here either: a machine's clock starts where a test says and follows the virtual one. Games do not read any of
//! this; a twin reads [`current`] where a faulty game would ask its machine.
//!
//! ```
//! use retick_core::tick::Moment;
//! use retick_testing::environment::{MACHINES, current, enter};
//!
//! // A game that asked its machine for the time would hear two different answers.
//! let now = Moment::from_millis(500);
//! let heard = MACHINES.map(|machine| {
//!     enter(machine.at(now));
//!     current().now_millis
//! });
//! assert_ne!(heard[0], heard[1]);
//! ```

use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;

use retick_core::tick::Moment;

/// A clock's distance from UTC, in minutes, and what is done to it during the run.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Zone {
    /// None.
    #[default]
    Utc,
    /// It changes during the run, as where summer ends.
    Changing {
        /// When, in milliseconds after the clock's start.
        after_millis: u64,
        /// Minutes east of UTC before.
        before_minutes: i16,
        /// Minutes east of UTC from then on.
        after_minutes: i16,
    },
    /// None, and a second is shown twice: the clock waits for a leap second.
    LeapSecond {
        /// When it begins to be shown again, in milliseconds after the clock's start.
        after_millis: u64,
    },
}

/// A machine that plays a game.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Machine {
    /// Tells machines apart; what one leaves open follows from it.
    pub number: u8,
    /// Its wall clock at the origin of the virtual clock, in milliseconds since 1970.
    pub clock_start_millis: u64,
    /// Its time zone.
    pub zone: Zone,
}

/// By how much the clocks of two machines of successive numbers differ, in milliseconds. Odd, so that also a parity differs.
pub const CLOCK_DISTANCE_MILLIS: u64 = 946_684_800_001;

/// The two machines on which the kit plays the two instances that it compares (D05).
pub const MACHINES: [Machine; 2] = [Machine::numbered(0), Machine::numbered(1)];

const _: () = assert!(MACHINES[0].clock_start_millis.abs_diff(MACHINES[1].clock_start_millis) % 2 == 1);

impl Machine {
    /// The machine of this number, with a clock that agrees with no other's.
    pub const fn numbered(number: u8) -> Machine {
        Machine { number, clock_start_millis: number as u64 * CLOCK_DISTANCE_MILLIS, zone: Zone::Utc }
    }

    /// What a game would find on it when the virtual clock stands at `now`.
    pub const fn at(&self, now: Moment) -> Environment {
        let run_millis = now.as_nanos() / 1_000_000;
        let zone_minutes = match self.zone {
            Zone::Utc | Zone::LeapSecond { .. } => 0,
            Zone::Changing { after_millis, before_minutes, .. } if run_millis < after_millis => before_minutes,
            Zone::Changing { after_minutes, .. } => after_minutes,
        };
        let leap_millis = match self.zone {
            Zone::LeapSecond { after_millis } if run_millis >= after_millis => 1_000,
            _ => 0,
        };
        let now_millis = self.clock_start_millis.saturating_add(run_millis).saturating_sub(leap_millis);
        Environment { machine: self.number, now_millis, zone_minutes }
    }
}

/// A machine at one moment.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Environment {
    /// The machine's number.
    pub machine: u8,
    /// Its wall clock, in milliseconds since 1970.
    pub now_millis: u64,
    /// Its zone, in minutes east of UTC.
    pub zone_minutes: i16,
}

thread_local! {
    static CAMERAS: RefCell<BTreeMap<u8, u64>> = const { RefCell::new(BTreeMap::new()) };
    static CURRENT: Cell<Environment> = const { Cell::new(Environment { machine: 0, now_millis: 0, zone_minutes: 0 }) };
}

/// Where the running game runs.
pub fn current() -> Environment {
    CURRENT.get()
}

/// Where the camera of the running game's machine stands: at 0 until it is turned.
pub fn camera() -> u64 {
    CAMERAS.with_borrow(|cameras| cameras.get(&current().machine).copied().unwrap_or(0))
}

/// Turns the camera of the running game's machine by one, as drawing a picture does.
pub fn turn_camera() {
    CAMERAS.with_borrow_mut(|cameras| *cameras.entry(current().machine).or_insert(0) += 1);
}

/// Every machine of this thread is as if it had just been switched on.
pub fn reset_cameras() {
    CAMERAS.with_borrow_mut(BTreeMap::clear);
}

/// From now on this thread's games run here.
pub fn enter(environment: Environment) {
    CURRENT.set(environment);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn d05_the_clocks_of_the_kits_machines_differ_by_an_odd_number_of_milliseconds() {
        for moment in [0, 1, 59_999, 20_000_000].map(Moment::from_micros) {
            let [one, other] = MACHINES.map(|machine| machine.at(moment).now_millis);
            assert_eq!(one.abs_diff(other) % 2, 1);
        }
    }

    #[test]
    fn d05_each_machine_has_a_camera_of_its_own() {
        reset_cameras();
        for machine in [0, 1, 1] {
            enter(Machine::numbered(machine).at(Moment::ZERO));
            turn_camera();
        }
        let cameras = [0, 1, 2].map(|machine| {
            enter(Machine::numbered(machine).at(Moment::ZERO));
            camera()
        });
        assert_eq!(cameras, [1, 2, 0]);
    }

    #[test]
    fn d05_a_zone_changes_when_it_says() {
        let zone = Zone::Changing { after_millis: 10, before_minutes: 120, after_minutes: 60 };
        let machine = Machine { number: 3, clock_start_millis: 5, zone };
        let at = |micros| machine.at(Moment::from_micros(micros));
        assert_eq!(at(9_999), Environment { machine: 3, now_millis: 14, zone_minutes: 120 });
        assert_eq!(at(10_000), Environment { machine: 3, now_millis: 15, zone_minutes: 60 });
    }

    #[test]
    fn t03_a_leap_second_is_shown_twice() {
        let zone = Zone::LeapSecond { after_millis: 10 };
        let machine = Machine { number: 3, clock_start_millis: 5_000, zone };
        let at = |micros| machine.at(Moment::from_micros(micros));
        assert_eq!(at(9_999), Environment { machine: 3, now_millis: 5_009, zone_minutes: 0 });
        assert_eq!(at(10_000), Environment { machine: 3, now_millis: 4_010, zone_minutes: 0 });
        assert_eq!(at(1_010_000), Environment { machine: 3, now_millis: 5_010, zone_minutes: 0 });
    }
}
