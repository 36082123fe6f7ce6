//! Checksum reports (A8): any two that differ for one state are a desync; silence is not agreement.

use alloc::collections::VecDeque;
use alloc::vec::Vec;

use retick_core::digest::Checksum;
use retick_core::seat::{Seat, SeatSet};
use retick_core::tick::Tick;

/// How many of the latest report states are kept. Reports of older ones are refused, and their verdict is forgotten.
pub const MAX_REPORT_TICKS: usize = 64;

/// What the reports of one state say (A8).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Verification {
    /// No two differ, but not every seat that was human when the state was confirmed has reported. Also said of every state
    /// that is not confirmed, not on the cadence, or no longer kept.
    Incomplete {
        /// The seats that did report.
        reported: SeatSet,
    },
    /// Every seat that was human when the state was confirmed has reported, and all say the same.
    Agreed,
    /// Two reports differ.
    Desync,
}

/// What became of a report.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Reported {
    Kept,
    Duplicate,
    Refused,
    /// It is the first that differs from another.
    Desync,
}

#[derive(Clone, Debug, Default)]
struct State {
    tick: Tick,
    humans: SeatSet,
    reported: SeatSet,
    /// By seat.
    values: Vec<(Seat, Checksum)>,
    desync: bool,
}

#[derive(Clone, Debug)]
pub(super) struct Reports {
    cadence_ticks: u64,
    states: VecDeque<State>,
    has_desync: bool,
}

impl Reports {
    pub(super) fn new(cadence_ticks: u32) -> Reports {
        let states = VecDeque::with_capacity(MAX_REPORT_TICKS);
        Reports { cadence_ticks: u64::from(cadence_ticks), states, has_desync: false }
    }

    /// Notes that `tick` is confirmed with these human seats. If it is on the cadence, its state can be reported from now on.
    pub(super) fn handle_confirmed(&mut self, tick: Tick, humans: SeatSet) {
        if !tick.index().is_multiple_of(self.cadence_ticks) {
            return;
        }
        let oldest = if self.states.len() < MAX_REPORT_TICKS { None } else { self.states.pop_front() };
        let mut values = oldest.unwrap_or_default().values;
        values.clear();
        let tick = tick.saturating_add(1);
        self.states.push_back(State { tick, humans, reported: SeatSet::EMPTY, values, desync: false });
    }

    pub(super) fn report(&mut self, seat: Seat, tick: Tick, checksum: Checksum) -> Reported {
        let Some(state) = self.states.iter_mut().find(|state| state.tick == tick) else {
            return Reported::Refused;
        };
        let place = match state.values.binary_search_by_key(&seat, |(seat, _)| *seat) {
            Ok(place) if state.values[place].1 == checksum => return Reported::Duplicate,
            Ok(_) => return Reported::Refused,
            Err(place) => place,
        };
        state.values.insert(place, (seat, checksum));
        state.reported.insert(seat);
        let first_desync = !state.desync && state.values.iter().any(|(_, other)| *other != checksum);
        state.desync |= first_desync;
        self.has_desync |= first_desync;
        if first_desync { Reported::Desync } else { Reported::Kept }
    }

    /// The states of which there are reports that do not differ, with these reports, the newest first.
    pub(super) fn undisputed(&self) -> impl Iterator<Item = (Tick, &[(Seat, Checksum)])> {
        let reported = self.states.iter().rev().filter(|state| !state.desync && !state.values.is_empty());
        reported.map(|state| (state.tick, state.values.as_slice()))
    }

    /// Whether any two reports have ever differed.
    pub(super) fn has_desync(&self) -> bool {
        self.has_desync
    }

    /// Two reports of a state that was confirmed in an earlier run differed (A12).
    pub(super) fn restore_desync(&mut self) {
        self.has_desync = true;
    }

    /// Every report of a state.
    pub(super) fn values(&self, tick: Tick) -> &[(Seat, Checksum)] {
        self.state(tick).map_or(&[], |state| &state.values)
    }

    pub(super) fn verification(&self, tick: Tick) -> Verification {
        let Some(state) = self.state(tick) else {
            return Verification::Incomplete { reported: SeatSet::EMPTY };
        };
        let silent = state.humans.iter().any(|seat| !state.reported.contains(seat));
        if state.desync {
            Verification::Desync
        } else if silent || state.reported.is_empty() {
            Verification::Incomplete { reported: state.reported }
        } else {
            Verification::Agreed
        }
    }

    fn state(&self, tick: Tick) -> Option<&State> {
        self.states.iter().find(|state| state.tick == tick)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn seat(index: u8) -> Seat {
        Seat::new(index).expect("valid")
    }

    fn report(reports: &mut Reports, index: u8, tick: u64, value: &[u8]) -> Reported {
        reports.report(seat(index), Tick::new(tick), Checksum::of(value))
    }

    fn two_humans() -> SeatSet {
        [seat(0), seat(1)].into_iter().collect()
    }

    #[test]
    fn a8_silence_is_incomplete_and_any_difference_is_a_desync() {
        let mut reports = Reports::new(60);
        (0..=120).for_each(|tick| reports.handle_confirmed(Tick::new(tick), two_humans()));
        let verification = |reports: &Reports, tick| reports.verification(Tick::new(tick));
        let nobody = Verification::Incomplete { reported: SeatSet::EMPTY };
        for unreported in [0, 1, 60, 61, 181] {
            assert_eq!(verification(&reports, unreported), nobody, "{unreported}");
        }
        assert_eq!(report(&mut reports, 0, 61, b"a"), Reported::Kept);
        let one = [seat(0)].into_iter().collect();
        assert_eq!(verification(&reports, 61), Verification::Incomplete { reported: one });
        assert_eq!(report(&mut reports, 0, 61, b"a"), Reported::Duplicate);
        assert_eq!(report(&mut reports, 0, 61, b"b"), Reported::Refused);
        assert_eq!(report(&mut reports, 1, 61, b"a"), Reported::Kept);
        assert_eq!(verification(&reports, 61), Verification::Agreed);
        // A seat that was not human then has nothing to prove, but what it says counts.
        assert_eq!(report(&mut reports, 2, 61, b"c"), Reported::Desync);
        assert_eq!(report(&mut reports, 3, 61, b"d"), Reported::Kept);
        assert_eq!(verification(&reports, 61), Verification::Desync);
        assert_eq!(reports.values(Tick::new(61)).len(), 4);
        for refused in [0, 2, 60, 181] {
            assert_eq!(report(&mut reports, 0, refused, b"a"), Reported::Refused, "{refused}");
        }
    }

    #[test]
    fn a8_the_latest_states_are_kept_and_older_ones_refused() {
        let mut reports = Reports::new(1);
        let count = MAX_REPORT_TICKS as u64;
        (0..count).for_each(|tick| reports.handle_confirmed(Tick::new(tick), two_humans()));
        assert_eq!(report(&mut reports, 0, 1, b"a"), Reported::Kept);
        reports.handle_confirmed(Tick::new(count), two_humans());
        assert_eq!(report(&mut reports, 1, 1, b"b"), Reported::Refused);
        assert_eq!(report(&mut reports, 1, 2, b"b"), Reported::Kept);
        assert!(reports.values(Tick::new(count + 1)).is_empty());
    }
}
