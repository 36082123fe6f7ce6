//! What is kept of each tick: the frontier, the steps played beyond it, checkpoints and checksums (S5).

use alloc::collections::VecDeque;
use alloc::vec::Vec;

use super::prediction;
use super::retention::RetentionRule;
use crate::digest::Checksum;
use crate::runtime::{Checkpoint, Kept, StepBatch, StepView};
use crate::snapshot::LastInput;
use crate::tick::Tick;

/// What is kept of one state.
#[derive(Clone, Copy, Debug)]
struct StateRecord {
    tick: Tick,
    checkpoint: Option<Checkpoint>,
    checksum: Option<Checksum>,
}

/// Spent steps that are tolerated in front of the played ones, unless those are more, before the rest is moved there.
const MAX_SPENT_STEPS: usize = 64;

/// The ticks of one session: `confirmed <= head`, a played step for each tick between them, and records of kept states.
///
/// All steps stand in one batch: spent ones (at least the one that led to the frontier), then those between frontier and head,
/// then, during a turn, those that it is about to play. So nothing is copied to remember what was played.
#[derive(Debug)]
pub(super) struct Timeline {
    confirmed: Tick,
    steps: StepBatch,
    spent: usize,
    played: usize,
    /// States at and beyond the frontier.
    states: VecDeque<StateRecord>,
    /// Earlier states that can still be read.
    past: VecDeque<StateRecord>,
    /// Whether they were kept for more than their reports.
    past_is_whole: bool,
    last_inputs: VecDeque<(Tick, StepBatch)>,
    spare_inputs: Vec<StepBatch>,
}

impl Timeline {
    /// A timeline that starts at `S(tick)`; `steps` holds the step that led there, and nothing else.
    pub(super) fn new(tick: Tick, steps: StepBatch) -> Timeline {
        Timeline {
            confirmed: tick,
            spent: steps.len_all(),
            steps,
            played: 0,
            states: VecDeque::new(),
            past: VecDeque::new(),
            past_is_whole: false,
            last_inputs: VecDeque::new(),
            spare_inputs: Vec::new(),
        }
    }

    pub(super) fn confirmed(&self) -> Tick {
        self.confirmed
    }

    pub(super) fn head(&self) -> Tick {
        self.confirmed.saturating_add(self.played as u64)
    }

    /// The step played for the tick `offset` beyond the frontier.
    pub(super) fn played(&self, offset: usize) -> Option<StepView<'_>> {
        if offset < self.played { self.steps.played(self.spent + offset) } else { None }
    }

    /// The steps, of which those of the turn are in sight.
    pub(super) fn steps(&self) -> &StepBatch {
        &self.steps
    }

    /// The same, to push those of the turn; none of them counts as played until [`Timeline::set_played`].
    pub(super) fn steps_mut(&mut self) -> &mut StepBatch {
        &mut self.steps
    }

    /// Where in all steps the one stands that led to the state `offset` ticks beyond the frontier.
    pub(super) fn position_before(&self, offset: usize) -> usize {
        (self.spent + offset).saturating_sub(1)
    }

    /// Begins a turn at the head: the steps pushed from now on are in sight.
    pub(super) fn begin_turn(&mut self) {
        let head = self.head();
        self.steps.truncate_all(self.spent + self.played);
        self.steps.show_from(self.spent + self.played, head);
    }

    /// Takes the first `count` steps in sight as played, and drops the others.
    pub(super) fn set_played(&mut self, count: usize) {
        self.steps.truncate(count);
        self.played = self.steps.len_all() - self.spent;
    }

    pub(super) fn checkpoint(&self, tick: Tick) -> Option<Checkpoint> {
        self.record(tick)?.checkpoint
    }

    pub(super) fn checksum(&self, tick: Tick) -> Option<Checksum> {
        self.record(tick)?.checksum
    }

    fn record(&self, tick: Tick) -> Option<&StateRecord> {
        let first = self.states.front().map_or(Tick::MAX, |first| first.tick);
        if tick < first {
            return find(&self.past, tick);
        }
        // Beyond the frontier nothing is left out, so that the place follows from the tick.
        let place = usize::try_from(tick.since(first)).ok()?;
        self.states.get(place).filter(|record| record.tick == tick).or_else(|| find(&self.states, tick))
    }

    fn records(&self) -> impl Iterator<Item = &StateRecord> {
        self.past.iter().chain(&self.states)
    }

    pub(super) fn kept_checkpoints(&self) -> usize {
        self.records().filter(|record| record.checkpoint.is_some()).count()
    }

    pub(super) fn oldest_checkpoint(&self) -> Option<Tick> {
        self.records().find(|record| record.checkpoint.is_some()).map(|record| record.tick)
    }

    /// Forgets the steps played from `tick` on and the states after it: they were rolled back.
    pub(super) fn roll_back_to(&mut self, tick: Tick) {
        let keep = usize::try_from(tick.since(self.confirmed)).unwrap_or(usize::MAX);
        self.played = self.played.min(keep);
        self.steps.truncate_all(self.spent + self.played);
        while self.states.back().is_some_and(|record| record.tick > tick) {
            self.states.pop_back();
        }
    }

    /// Adds what a batch kept. Its ticks lie after every record that is there, except that more may be kept of the last state.
    pub(super) fn record_kept(&mut self, kept: &[Kept]) {
        for kept in kept.iter().filter(|kept| kept.checkpoint.is_some() || kept.checksum.is_some()) {
            let (tick, checkpoint, checksum) = (kept.tick, kept.checkpoint, kept.checksum);
            match self.states.back_mut().filter(|last| last.tick == tick) {
                Some(last) => {
                    last.checkpoint = last.checkpoint.or(checkpoint);
                    last.checksum = last.checksum.or(checksum);
                }
                None => self.states.push_back(StateRecord { tick, checkpoint, checksum }),
            }
        }
    }

    /// Moves the frontier over the oldest played step.
    pub(super) fn confirm_one(&mut self) {
        if self.played > 0 {
            self.played -= 1;
            self.spent += 1;
            self.confirmed = self.confirmed.saturating_add(1);
        }
        if self.spent > MAX_SPENT_STEPS.max(self.played) {
            let cut = self.spent - 1;
            self.steps.cut_front(cut);
            self.spent -= cut;
        }
    }

    /// The step that led to the frontier.
    pub(super) fn last_step(&self) -> Option<StepView<'_>> {
        self.steps.played(self.position_before(0))
    }

    /// What that step did.
    pub(super) fn last_inputs(&self) -> Option<Vec<LastInput>> {
        self.last_step().as_ref().map(prediction::last_inputs)
    }

    /// Keeps the seats' last inputs with the confirmed `S(confirmed)`, for a snapshot of it.
    pub(super) fn keep_last_inputs(&mut self) {
        if self.last_inputs.back().is_some_and(|(tick, _)| *tick == self.confirmed) {
            return;
        }
        let mut kept = self.spare_inputs.pop().unwrap_or_default();
        kept.reset(self.confirmed);
        kept.push_played(&self.steps, self.position_before(0));
        self.last_inputs.push_back((self.confirmed, kept));
    }

    pub(super) fn last_inputs_at(&self, tick: Tick) -> Option<Vec<LastInput>> {
        let (_, inputs) = self.last_inputs.iter().find(|(at, _)| *at == tick)?;
        inputs.step(0).as_ref().map(prediction::last_inputs)
    }

    /// Gives out the checkpoints that can no longer be read (S5).
    pub(super) fn release_unreadable(&mut self, rule: RetentionRule, mut release: impl FnMut(Checkpoint)) {
        let (confirmed, oldest) = (self.confirmed, rule.oldest(self.confirmed));
        while let Some(passed) = self.states.pop_front_if(|record| record.tick < confirmed) {
            if rule.keeps(passed.tick, confirmed) {
                self.past.push_back(passed);
            } else {
                passed.checkpoint.into_iter().for_each(&mut release);
            }
        }
        while let Some(passed) = self.past.pop_front_if(|record| record.tick < oldest) {
            passed.checkpoint.into_iter().for_each(&mut release);
        }
        if self.past_is_whole && !rule.keeps_all() {
            self.past.retain(|record| {
                let keep = rule.keeps(record.tick, confirmed);
                if !keep {
                    record.checkpoint.into_iter().for_each(&mut release);
                }
                keep
            });
        }
        self.past_is_whole = rule.keeps_all();
        while let Some((_, inputs)) = self.last_inputs.pop_front_if(|(tick, _)| *tick < oldest) {
            self.spare_inputs.push(inputs);
        }
    }
}

fn find(records: &VecDeque<StateRecord>, tick: Tick) -> Option<&StateRecord> {
    records.get(records.binary_search_by_key(&tick, |record| record.tick).ok()?)
}
