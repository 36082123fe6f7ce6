//! Checksum reports (A8): any two that differ for one state are a desync; silence is not agreement.

use alloc::collections::VecDeque;
use alloc::vec::Vec;

use retick_core::digest::Checksum;
use retick_core::seat::{Seat, SeatSet};
use retick_core::tick::Tick;
use retick_core::wire::Witness;

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
    /// What the room's referee says of it (A13).
    referee: Option<Checksum>,
    /// The seats that were named wrong.
    wrong: SeatSet,
}

impl State {
    /// What the referee says, where nobody has spoken, somebody says the same, or whoever differs was named wrong.
    fn trusted(&self) -> Option<Checksum> {
        let right = self.referee?;
        let is_supported = self.values.is_empty() || self.values.iter().any(|(_, value)| *value == right);
        (is_supported || !self.wrong.is_empty()).then_some(right)
    }
}

/// What the referee's word comes to, for one state (A13).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Judgement {
    /// It has not spoken, or nobody differs.
    Nothing,
    /// Nobody has said the same as the referee yet, and not everyone has spoken: others are waited for.
    Waits,
    /// These seats are wrong, and were not named before.
    Wrong(SeatSet),
    /// Several seats, and no other, contradict the referee: whose machine is at fault can't be told from here.
    Undecided,
}

#[derive(Clone, Debug)]
pub(super) struct Reports {
    cadence_ticks: u64,
    states: VecDeque<State>,
    /// Whether any two reports have ever differed, in this run or an earlier one.
    has_desync: bool,
    /// Desyncs about which nobody knows who is wrong.
    undecided: u64,
    /// Every seat that was ever named wrong.
    wrong: SeatSet,
}

impl Reports {
    pub(super) fn new(cadence_ticks: u32) -> Reports {
        let states = VecDeque::with_capacity(MAX_REPORT_TICKS);
        let (cadence_ticks, wrong) = (u64::from(cadence_ticks), SeatSet::EMPTY);
        Reports { cadence_ticks, states, has_desync: false, undecided: 0, wrong }
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
        let (reported, wrong) = (SeatSet::EMPTY, SeatSet::EMPTY);
        self.states.push_back(State { tick, humans, reported, values, desync: false, referee: None, wrong });
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
        let differs = state.values.iter().any(|(_, other)| *other != checksum);
        let first_desync = !state.desync && (differs || state.referee.is_some_and(|right| right != checksum));
        state.desync |= first_desync;
        self.has_desync |= first_desync;
        self.undecided += u64::from(first_desync);
        if first_desync { Reported::Desync } else { Reported::Kept }
    }

    /// The referee says what is right.
    pub(super) fn report_of_referee(&mut self, tick: Tick, checksum: Checksum) -> Reported {
        let Some(state) = self.states.iter_mut().find(|state| state.tick == tick) else {
            return Reported::Refused;
        };
        match state.referee {
            Some(before) if before == checksum => return Reported::Duplicate,
            Some(_) => return Reported::Refused,
            None => state.referee = Some(checksum),
        }
        let first_desync = !state.desync && state.values.iter().any(|(_, other)| *other != checksum);
        state.desync |= first_desync;
        self.has_desync |= first_desync;
        self.undecided += u64::from(first_desync);
        if first_desync { Reported::Desync } else { Reported::Kept }
    }

    /// Who is wrong about a state, as far as that is known; `over` when nobody is waited for any more.
    ///
    /// A seat that differs from the referee is wrong once another one says what the referee says, or once nobody else can: a match has
    /// several machines, and the referee's is one of them.
    pub(super) fn judge(&mut self, tick: Tick, over: bool) -> Judgement {
        let Some(state) = self.states.iter_mut().find(|state| state.tick == tick) else { return Judgement::Nothing };
        let Some(right) = state.referee else { return Judgement::Nothing };
        let differing: SeatSet =
            state.values.iter().filter(|(_, value)| *value != right).map(|(seat, _)| *seat).collect();
        if differing.is_empty() {
            return Judgement::Nothing;
        }
        let is_supported = differing.len() < state.values.len();
        let all_spoke = over || state.humans.iter().all(|seat| state.reported.contains(seat));
        if !is_supported && !all_spoke {
            return Judgement::Waits;
        }
        if !is_supported && differing.len() > 1 {
            return Judgement::Undecided;
        }
        let new: SeatSet = differing.iter().filter(|seat| !state.wrong.contains(*seat)).collect();
        if new.is_empty() {
            return Judgement::Nothing;
        }
        if state.wrong.is_empty() {
            self.undecided -= 1;
        }
        new.iter().for_each(|seat| {
            state.wrong.insert(seat);
            self.wrong.insert(seat);
        });
        Judgement::Wrong(new)
    }

    /// Every seat that the referee has ever contradicted.
    pub(super) fn wrong(&self) -> SeatSet {
        self.wrong
    }

    /// What the referee says of a state.
    pub(super) fn of_referee(&self, tick: Tick) -> Option<Checksum> {
        self.state(tick)?.referee
    }

    /// The same, unless seats and no other contradict it.
    pub(super) fn trusted(&self, tick: Tick) -> Option<Checksum> {
        self.state(tick)?.trusted()
    }

    /// The states of which the referee has said something that is trusted, the newest first.
    pub(super) fn refereed(&self) -> impl Iterator<Item = (Tick, Checksum)> {
        self.states.iter().rev().filter_map(|state| Some((state.tick, state.trusted()?)))
    }

    /// The newest state before `S(tick)` of which both of these have said the same.
    pub(super) fn last_agreed(&self, tick: Tick, one: Witness, other: Witness) -> Option<Tick> {
        let said = |state: &State, witness| match witness {
            Witness::Referee => state.referee,
            Witness::Seat(seat) => state.values.iter().find(|(by, _)| *by == seat).map(|(_, value)| *value),
        };
        let agreed = |state: &&State| said(state, one).is_some() && said(state, one) == said(state, other);
        self.states.iter().rev().filter(|state| state.tick < tick).find(agreed).map(|state| state.tick)
    }

    /// The states of which there are reports of seats that do not differ, with these reports, the newest first.
    pub(super) fn undisputed(&self) -> impl Iterator<Item = (Tick, &[(Seat, Checksum)])> {
        let agree = |state: &&State| state.values.windows(2).all(|pair| pair[0].1 == pair[1].1);
        let reported = self.states.iter().rev().filter(|state| !state.values.is_empty()).filter(agree);
        reported.map(|state| (state.tick, state.values.as_slice()))
    }

    /// Whether any two reports have ever differed, and nobody knows who was wrong.
    pub(super) fn has_undecided_desync(&self) -> bool {
        self.undecided > 0
    }

    /// Whether any two reports have ever differed.
    pub(super) fn has_desync(&self) -> bool {
        self.has_desync
    }

    /// Two reports of a state that was confirmed in an earlier run differed (A12). Who was wrong is not known any more.
    pub(super) fn restore_desync(&mut self) {
        self.has_desync = true;
        self.undecided = self.undecided.max(1);
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
    fn a13_the_referee_names_who_is_wrong_once_another_agrees_or_nobody_else_can() {
        let decided = |humans: u8, said: &[(u8, &[u8])], over: bool| {
            let mut reports = Reports::new(60);
            reports.handle_confirmed(Tick::ZERO, (0..humans).map(seat).collect());
            let right = reports.report_of_referee(Tick::new(1), Checksum::of(b"right"));
            assert_eq!(right, Reported::Kept);
            for (index, value) in said {
                report(&mut reports, *index, 1, value);
            }
            let judged = reports.judge(Tick::new(1), over);
            (judged, reports.has_undecided_desync(), reports.wrong())
        };
        let (one, two) = ([seat(1)].into_iter().collect::<SeatSet>(), two_humans());
        let (right, other) = (b"right".as_slice(), b"other".as_slice());
        assert_eq!(decided(2, &[(0, right), (1, right)], true), (Judgement::Nothing, false, SeatSet::EMPTY));
        // One against one: the referee's word.
        assert_eq!(decided(2, &[(0, right), (1, other)], false), (Judgement::Wrong(one), false, one));
        // Somebody may still contradict the referee, or agree with it.
        assert_eq!(decided(2, &[(1, other)], false), (Judgement::Waits, true, SeatSet::EMPTY));
        assert_eq!(decided(2, &[(1, other)], true), (Judgement::Wrong(one), false, one));
        // All seats agree, and the referee alone differs.
        assert_eq!(decided(2, &[(0, other), (1, other)], true), (Judgement::Undecided, true, SeatSet::EMPTY));
        assert_eq!(decided(3, &[(2, right), (0, other), (1, b"x")], false), (Judgement::Wrong(two), false, two));
        let mut reports = Reports::new(60);
        reports.handle_confirmed(Tick::ZERO, two_humans());
        assert_eq!(report(&mut reports, 1, 1, b"other"), Reported::Kept);
        let mut refereed = |value: &[u8]| reports.report_of_referee(Tick::new(1), Checksum::of(value));
        assert_eq!(
            [right, right, other].map(&mut refereed),
            [Reported::Desync, Reported::Duplicate, Reported::Refused]
        );
        assert_eq!(reports.report_of_referee(Tick::new(61), Checksum::of(right)), Reported::Refused);
        // Nobody is named twice.
        assert_eq!(report(&mut reports, 0, 1, b"right"), Reported::Kept);
        assert_eq!([(); 2].map(|()| reports.judge(Tick::new(1), false)), [Judgement::Wrong(one), Judgement::Nothing]);
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
