//! A run of steps in flat, reusable buffers: inputs validated, policy-applied and packed (K2).

use alloc::vec::Vec;
use core::ops::Range;

use super::Keep;
use crate::frame::{CommandSource, Frame};
use crate::input::InputSchema;
use crate::seat::{ControlEpoch, Presence, Seat};
use crate::tick::Tick;

/// What a step sees of one seat (K8). Nothing says whether it is predicted, local or well connected.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct SeatStep<'a> {
    /// The input: valid, packed by the game's schema.
    pub input: &'a [u8],
    /// Whether the authority substituted it.
    pub substituted: bool,
    /// Whether the confirmed bytes were malformed, and `input` is neutral therefore.
    pub malformed: bool,
    /// Who drives the seat.
    pub presence: Presence,
    /// Since which change of drivers.
    pub epoch: ControlEpoch,
}

#[derive(Clone, PartialEq, Eq, Debug)]
struct SeatRecord {
    input: Range<usize>,
    substituted: bool,
    malformed: bool,
    presence: Presence,
    epoch: ControlEpoch,
}

#[derive(Clone, PartialEq, Eq, Debug)]
struct Step {
    seats: Range<usize>,
    commands: Range<usize>,
    keep: Keep,
}

/// Consecutive steps from one tick on, with what to keep after each. Reused: [`StepBatch::reset`] keeps the buffers.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct StepBatch {
    first: Tick,
    steps: Vec<Step>,
    seats: Vec<SeatRecord>,
    commands: Vec<(CommandSource, Range<usize>)>,
    bytes: Vec<u8>,
}

impl StepBatch {
    /// Empties the batch; its first step will be `first`.
    pub fn reset(&mut self, first: Tick) {
        self.first = first;
        self.steps.clear();
        self.seats.clear();
        self.commands.clear();
        self.bytes.clear();
    }

    /// Begins the next step; its seats and commands are pushed next.
    pub fn push_step(&mut self, keep: Keep) {
        let (seats, commands) = (self.seats.len(), self.commands.len());
        self.steps.push(Step { seats: seats..seats, commands: commands..commands, keep });
    }

    /// Adds the next seat to the step that was begun last.
    pub fn push_seat(&mut self, seat: SeatStep<'_>) {
        let input = self.append(seat.input);
        let SeatStep { substituted, malformed, presence, epoch, .. } = seat;
        self.seats.push(SeatRecord { input, substituted, malformed, presence, epoch });
        self.close_step();
    }

    /// Adds a command to the step that was begun last.
    pub fn push_command(&mut self, source: CommandSource, payload: &[u8]) {
        let payload = self.append(payload);
        self.commands.push((source, payload));
        self.close_step();
    }

    /// Adds a step with everything that a confirmed frame says, the schema's policy applied (S2, K7).
    pub fn push_frame(&mut self, frame: &Frame, schema: &InputSchema, keep: Keep) {
        self.push_step(keep);
        for view in frame.seats() {
            let start = self.bytes.len();
            let malformed = schema.apply(view.input, view.substituted, &mut self.bytes);
            let (input, substituted) = (start..self.bytes.len(), view.substituted);
            let (presence, epoch) = (view.presence, view.epoch);
            self.seats.push(SeatRecord { input, substituted, malformed, presence, epoch });
        }
        frame.commands().for_each(|(source, payload)| self.push_command(source, payload));
        self.close_step();
    }

    /// Appends step `index` of `other`, keeping something else after it.
    pub fn push_from(&mut self, other: &StepBatch, index: usize, keep: Keep) {
        let Some(view) = other.step(index) else { return };
        self.push_step(keep);
        view.seats().for_each(|seat| self.push_seat(seat));
        view.commands().for_each(|(source, payload)| self.push_command(source, payload));
    }

    fn append(&mut self, bytes: &[u8]) -> Range<usize> {
        let start = self.bytes.len();
        self.bytes.extend_from_slice(bytes);
        start..self.bytes.len()
    }

    fn close_step(&mut self) {
        if let Some(step) = self.steps.last_mut() {
            step.seats.end = self.seats.len();
            step.commands.end = self.commands.len();
        }
    }

    /// Drops every step from position `length` on.
    pub fn truncate(&mut self, length: usize) {
        self.steps.truncate(length);
    }

    /// Tick of the first step.
    pub fn first(&self) -> Tick {
        self.first
    }

    /// How many steps there are.
    pub fn len(&self) -> usize {
        self.steps.len()
    }

    /// Whether there is no step.
    pub fn is_empty(&self) -> bool {
        self.steps.is_empty()
    }

    /// The step at this position.
    pub fn step(&self, index: usize) -> Option<StepView<'_>> {
        let step = self.steps.get(index)?;
        Some(StepView { batch: self, tick: self.first.saturating_add(index as u64), step })
    }

    /// The steps, in order.
    pub fn steps(&self) -> impl ExactSizeIterator<Item = StepView<'_>> {
        self.steps.iter().enumerate().map(|(index, step)| StepView {
            batch: self,
            tick: self.first.saturating_add(index as u64),
            step,
        })
    }
}

/// One step of a batch: what the game's step may see (K8).
#[derive(Clone, Copy, Debug)]
pub struct StepView<'a> {
    batch: &'a StepBatch,
    tick: Tick,
    step: &'a Step,
}

impl<'a> StepView<'a> {
    /// The tick to step: from `S(tick)` to `S(tick+1)`.
    pub fn tick(&self) -> Tick {
        self.tick
    }

    /// What to keep of `S(tick+1)`.
    pub fn keep(&self) -> Keep {
        self.step.keep
    }

    /// How many seats there are.
    pub fn seat_count(&self) -> usize {
        self.step.seats.len()
    }

    /// What the step sees of `seat`, or `None` beyond the match's seats.
    pub fn seat(&self, seat: Seat) -> Option<SeatStep<'a>> {
        let record = self.batch.seats[self.step.seats.clone()].get(seat.index())?;
        Some(self.view(record))
    }

    /// What the step sees of each seat, in order.
    pub fn seats(&self) -> impl ExactSizeIterator<Item = SeatStep<'a>> + use<'a> {
        let view = *self;
        self.batch.seats[self.step.seats.clone()].iter().map(move |record| view.view(record))
    }

    fn view(&self, record: &SeatRecord) -> SeatStep<'a> {
        let SeatRecord { substituted, malformed, presence, epoch, .. } = *record;
        SeatStep { input: &self.batch.bytes[record.input.clone()], substituted, malformed, presence, epoch }
    }

    /// The ordered commands, not decoded yet.
    pub fn commands(&self) -> impl ExactSizeIterator<Item = (CommandSource, &'a [u8])> + use<'a> {
        let batch = self.batch;
        batch.commands[self.step.commands.clone()].iter().map(|(source, range)| (*source, &batch.bytes[range.clone()]))
    }

    /// Whether two steps would do the same: everything but the tick and what to keep is equal.
    pub fn same_play(&self, other: &StepView<'_>) -> bool {
        self.seats().eq(other.seats()) && self.commands().eq(other.commands())
    }
}
