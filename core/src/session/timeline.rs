//! What is kept of each tick: the frontier, the steps played beyond it, checkpoints and checksums (S5).

use alloc::collections::VecDeque;
use alloc::vec::Vec;

use super::prediction::LastInputs;
use super::retention::RetentionRule;
use crate::digest::Checksum;
use crate::runtime::{Checkpoint, Kept, StepBatch};
use crate::snapshot::LastInput;
use crate::tick::Tick;

/// What is kept of one state.
#[derive(Clone, Copy, Debug)]
struct StateRecord {
    tick: Tick,
    checkpoint: Option<Checkpoint>,
    checksum: Option<Checksum>,
}

/// The ticks of one session: `confirmed <= head`, a played step for each tick between them, and records of kept states.
#[derive(Debug)]
pub(super) struct Timeline {
    confirmed: Tick,
    played: VecDeque<StepBatch>,
    spare: Vec<StepBatch>,
    states: VecDeque<StateRecord>,
    last_inputs: VecDeque<(Tick, LastInputs)>,
    spare_inputs: Vec<LastInputs>,
}

impl Timeline {
    pub(super) fn new(tick: Tick) -> Timeline {
        Timeline {
            confirmed: tick,
            played: VecDeque::new(),
            spare: Vec::new(),
            states: VecDeque::new(),
            last_inputs: VecDeque::new(),
            spare_inputs: Vec::new(),
        }
    }

    pub(super) fn confirmed(&self) -> Tick {
        self.confirmed
    }

    pub(super) fn head(&self) -> Tick {
        self.confirmed.saturating_add(self.played.len() as u64)
    }

    /// The step played for the tick `offset` beyond the frontier.
    pub(super) fn played(&self, offset: usize) -> Option<&StepBatch> {
        self.played.get(offset)
    }

    pub(super) fn checkpoint(&self, tick: Tick) -> Option<Checkpoint> {
        self.record(tick)?.checkpoint
    }

    pub(super) fn checksum(&self, tick: Tick) -> Option<Checksum> {
        self.record(tick)?.checksum
    }

    fn record(&self, tick: Tick) -> Option<&StateRecord> {
        let index = self.states.binary_search_by_key(&tick, |record| record.tick).ok()?;
        self.states.get(index)
    }

    pub(super) fn kept_checkpoints(&self) -> usize {
        self.states.iter().filter(|record| record.checkpoint.is_some()).count()
    }

    pub(super) fn oldest_checkpoint(&self) -> Option<Tick> {
        self.states.iter().find(|record| record.checkpoint.is_some()).map(|record| record.tick)
    }

    /// Forgets the steps played from `tick` on and the states after it: they were rolled back.
    pub(super) fn roll_back_to(&mut self, tick: Tick) {
        let keep = usize::try_from(tick.since(self.confirmed)).unwrap_or(usize::MAX);
        while self.played.len() > keep {
            self.spare.extend(self.played.pop_back());
        }
        while self.states.back().is_some_and(|record| record.tick > tick) {
            self.states.pop_back();
        }
    }

    /// Adds what a batch kept; its ticks lie after every record that is there, except that the last may be kept again.
    pub(super) fn record_kept(&mut self, kept: &[Kept]) {
        for kept in kept.iter().filter(|kept| kept.checkpoint.is_some() || kept.checksum.is_some()) {
            let (tick, checkpoint, checksum) = (kept.tick, kept.checkpoint, kept.checksum);
            self.states.push_back(StateRecord { tick, checkpoint, checksum });
        }
    }

    /// Adds a step that was played at the head.
    pub(super) fn push_played(&mut self, batch: &StepBatch, index: usize) {
        let mut step = self.spare.pop().unwrap_or_default();
        step.reset(self.head());
        step.push_from(batch, index, crate::runtime::Keep::NOTHING);
        self.played.push_back(step);
    }

    /// Moves the frontier over the oldest played step.
    pub(super) fn confirm_one(&mut self) {
        if let Some(step) = self.played.pop_front() {
            self.spare.push(step);
            self.confirmed = self.confirmed.saturating_add(1);
        }
    }

    /// Keeps the seats' last inputs with the confirmed `S(tick)`, for a snapshot of it.
    pub(super) fn set_last_inputs(&mut self, tick: Tick, last: &LastInputs) {
        let kept = match self.spare_inputs.pop() {
            Some(mut kept) => {
                kept.copy_from(last);
                kept
            }
            None => last.clone(),
        };
        self.last_inputs.push_back((tick, kept));
    }

    pub(super) fn last_inputs_at(&self, tick: Tick) -> Option<Vec<LastInput>> {
        self.last_inputs.iter().find(|(at, _)| *at == tick).map(|(_, inputs)| inputs.to_snapshot())
    }

    /// Gives out the checkpoints that can no longer be read (S5).
    pub(super) fn release_unreadable(&mut self, rule: RetentionRule, mut release: impl FnMut(Checkpoint)) {
        let confirmed = self.confirmed;
        self.states.retain(|record| {
            let keep = rule.keeps(record.tick, confirmed);
            if !keep {
                record.checkpoint.into_iter().for_each(&mut release);
            }
            keep
        });
        while self.last_inputs.front().is_some_and(|(tick, _)| *tick < rule.oldest(confirmed)) {
            self.spare_inputs.extend(self.last_inputs.pop_front().map(|(_, inputs)| inputs));
        }
    }
}
