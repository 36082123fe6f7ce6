//! A run of steps in flat, reusable buffers: inputs validated, policy-applied and packed (K2).

use alloc::vec::Vec;
use core::mem;

use super::Keep;
use crate::frame::{CommandSource, Frame, SeatFrame};
use crate::input::InputSchema;
use crate::record::{CommandRecord, SeatFlags, SeatRecord, position};
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

/// Where a step's commands and bytes begin in the flat buffers; they end where the next step's begin. Its seats are given in
/// full, since a step may share those of the step before: they say nothing of the bytes but where in the step they stand.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Step {
    seats_start: usize,
    seats_end: usize,
    commands: usize,
    bytes: usize,
    keep: Keep,
}

/// Consecutive steps from one tick on, with what to keep after each. Reused: [`StepBatch::reset`] keeps the buffers.
///
/// Whoever makes the steps of a whole match may leave played ones in front of those that a batch is about; they are out of
/// sight for everybody else.
#[derive(Clone, Debug, Default)]
pub struct StepBatch {
    /// Tick of the first step in sight.
    first: Tick,
    /// Steps out of sight.
    hidden: usize,
    steps: Vec<Step>,
    seats: Vec<SeatRecord>,
    commands: Vec<CommandRecord>,
    bytes: Vec<u8>,
}

impl PartialEq for StepBatch {
    fn eq(&self, other: &StepBatch) -> bool {
        let same = |(one, other): (StepView<'_>, StepView<'_>)| one.keep() == other.keep() && one.same_play(&other);
        self.first == other.first && self.len() == other.len() && self.steps().zip(other.steps()).all(same)
    }
}

impl Eq for StepBatch {}

impl StepBatch {
    /// Empties the batch; its first step will be `first`.
    pub fn reset(&mut self, first: Tick) {
        (self.first, self.hidden) = (first, 0);
        self.steps.clear();
        self.seats.clear();
        self.commands.clear();
        self.bytes.clear();
    }

    /// Begins the next step; its seats and commands are pushed next.
    pub fn push_step(&mut self, keep: Keep) {
        let (seats, commands, bytes) = (self.seats.len(), self.commands.len(), self.bytes.len());
        self.steps.push(Step { seats_start: seats, seats_end: seats, commands, bytes, keep });
    }

    fn push_record(&mut self, record: SeatRecord) {
        self.seats.push(record);
        self.end_seats();
    }

    fn end_seats(&mut self) {
        if let Some(step) = self.steps.last_mut() {
            step.seats_end = self.seats.len();
        }
    }

    /// Adds the next seat to the step that was begun last.
    pub fn push_seat(&mut self, seat: SeatStep<'_>) {
        let start = self.position();
        self.bytes.extend_from_slice(seat.input);
        let malformed = SeatFlags::MALFORMED.when(seat.malformed);
        let flags = SeatFlags::SUBSTITUTED.when(seat.substituted).with(malformed);
        let (epoch, presence) = (seat.epoch, seat.presence);
        self.push_record(SeatRecord { start, end: self.position(), epoch, presence, flags });
    }

    /// Adds a command to the step that was begun last.
    pub fn push_command(&mut self, source: CommandSource, payload: &[u8]) {
        let start = self.position();
        self.bytes.extend_from_slice(payload);
        self.commands.push(CommandRecord { start, end: self.position(), source });
    }

    /// Adds a step with everything that a confirmed frame says, the schema's policy applied (S2, K7).
    pub fn push_frame(&mut self, frame: &Frame, schema: &InputSchema, keep: Keep) {
        self.push_step(keep);
        let (seats, commands, bytes) = frame.records();
        let as_is = |seat: &SeatRecord| {
            let kept = schema.holds_all() || !seat.flags.has(SeatFlags::SUBSTITUTED);
            kept && !seat.flags.has(SeatFlags::NULL) && schema.validate(seat.input(bytes)).is_ok()
        };
        let inputs_first = commands.first().map(|command| command.start) >= seats.last().map(|seat| seat.end);
        if (commands.is_empty() || inputs_first) && seats.iter().all(as_is) {
            self.seats.extend_from_slice(seats);
            self.end_seats();
            self.commands.extend_from_slice(commands);
            self.bytes.extend_from_slice(bytes);
            return;
        }
        for view in frame.seats() {
            let start = self.position();
            let malformed = SeatFlags::MALFORMED.when(schema.apply(view.input, view.substituted, &mut self.bytes));
            let flags = SeatFlags::SUBSTITUTED.when(view.substituted).with(malformed);
            let (epoch, presence) = (view.epoch, view.presence);
            self.push_record(SeatRecord { start, end: self.position(), epoch, presence, flags });
        }
        frame.commands().for_each(|(source, payload)| self.push_command(source, payload));
    }

    /// Appends step `index` of `other`, keeping something else after it.
    pub fn push_from(&mut self, other: &StepBatch, index: usize, keep: Keep) {
        if let Some(view) = other.step(index) {
            self.push_view(&view, keep);
        }
    }

    fn push_view(&mut self, view: &StepView<'_>, keep: Keep) {
        self.push_step(keep);
        self.seats.extend_from_slice(view.seats);
        self.end_seats();
        self.commands.extend_from_slice(view.commands);
        self.bytes.extend_from_slice(view.bytes);
    }

    /// Where the step that was begun last ends, in its own bytes.
    #[inline]
    fn position(&self) -> u32 {
        position(&self.bytes, self.steps.last().map_or(0, |step| step.bytes))
    }

    /// Drops every step from position `length` on.
    pub fn truncate(&mut self, length: usize) {
        self.truncate_all(self.hidden.saturating_add(length));
    }

    /// Tick of the first step.
    pub fn first(&self) -> Tick {
        self.first
    }

    /// How many steps there are.
    #[inline]
    pub fn len(&self) -> usize {
        self.steps.len() - self.hidden
    }

    /// Whether there is no step.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Whether any step has a command.
    pub fn has_commands(&self) -> bool {
        let begin = self.steps.get(self.hidden).map_or(self.commands.len(), |step| step.commands);
        begin < self.commands.len()
    }

    /// The number of seats of the first step that does not have `expected` of them.
    #[must_use]
    pub fn other_seat_count(&self, expected: usize) -> Option<usize> {
        let steps = self.steps.get(self.hidden..)?;
        steps.iter().map(|step| step.seats_end - step.seats_start).find(|seats| *seats != expected)
    }

    /// Whether `keep` is asked for after any step.
    #[must_use]
    pub fn keeps_any(&self, keep: Keep) -> bool {
        self.steps.iter().skip(self.hidden).any(|step| step.keep.contains(keep))
    }

    /// The step at this position.
    #[inline]
    pub fn step(&self, index: usize) -> Option<StepView<'_>> {
        let tick = self.first.saturating_add(index as u64);
        self.view(self.hidden.checked_add(index)?, tick)
    }

    /// The steps, in order.
    #[inline]
    pub fn steps(&self) -> impl ExactSizeIterator<Item = StepView<'_>> {
        (0..self.len()).map(|index| {
            let tick = self.first.saturating_add(index as u64);
            self.view(self.hidden + index, tick).unwrap_or(StepView::nothing(tick))
        })
    }

    #[inline]
    fn view(&self, position: usize, tick: Tick) -> Option<StepView<'_>> {
        let step = self.steps.get(position)?;
        let (commands, bytes) = match self.steps.get(position + 1) {
            Some(next) => (next.commands, next.bytes),
            None => (self.commands.len(), self.bytes.len()),
        };
        Some(StepView {
            tick,
            keep: step.keep,
            seats: self.seats.get(step.seats_start..step.seats_end)?,
            commands: self.commands.get(step.commands..commands)?,
            bytes: self.bytes.get(step.bytes..bytes)?,
        })
    }
}

/// For the session, which keeps the steps that it played in front of those that it is about to play.
impl StepBatch {
    /// How many steps there are, hidden ones included. The positions below count hidden ones too.
    pub(crate) fn len_all(&self) -> usize {
        self.steps.len()
    }

    /// The step at `position`; only its seats and commands mean anything.
    #[inline]
    pub(crate) fn played(&self, position: usize) -> Option<StepView<'_>> {
        self.view(position, Tick::ZERO)
    }

    /// Asks for less after each step in sight from `index` on, and says whether any had asked for it.
    pub(crate) fn keep_less(&mut self, index: usize, less: Keep) -> bool {
        let mut asked = false;
        for step in self.steps.iter_mut().skip(self.hidden.saturating_add(index)) {
            asked |= step.keep.contains(less);
            step.keep = step.keep.without(less);
        }
        asked
    }

    /// Appends the step at `position` of `other`.
    pub(crate) fn push_played(&mut self, other: &StepBatch, position: usize) {
        if let Some(view) = other.played(position) {
            self.push_view(&view, Keep::NOTHING);
        }
    }

    /// Hides the steps before `position`; the one there is of tick `first`.
    pub(crate) fn show_from(&mut self, position: usize, first: Tick) {
        (self.hidden, self.first) = (position.min(self.steps.len()), first);
    }

    /// Drops every step from `position` on.
    pub(crate) fn truncate_all(&mut self, position: usize) {
        let Some(step) = self.steps.get(position).copied() else { return };
        self.steps.truncate(position);
        self.hidden = self.hidden.min(position);
        self.seats.truncate(self.steps.last().map_or(0, |last| last.seats_end));
        self.commands.truncate(step.commands);
        self.bytes.truncate(step.bytes);
    }

    /// Drops the `count` oldest steps, which are hidden.
    pub(crate) fn cut_front(&mut self, count: usize) {
        let Some(step) = self.steps.get(count).copied() else { return };
        self.steps.drain(..count);
        self.hidden = self.hidden.saturating_sub(count);
        self.seats.drain(..step.seats_start);
        self.commands.drain(..step.commands);
        self.bytes.drain(..step.bytes);
        for left in &mut self.steps {
            left.seats_start -= step.seats_start;
            left.seats_end -= step.seats_start;
            left.commands -= step.commands;
            left.bytes -= step.bytes;
        }
    }

    /// Appends what the step at `position` says of the seats, without its commands: everyone is taken to do the same again.
    pub(crate) fn push_again(&mut self, position: usize, keep: Keep) {
        let Some(step) = self.push_inputs_of(position, keep) else { return };
        self.seats.extend_from_within(step.seats_start..step.seats_end);
        self.end_seats();
    }

    /// Appends the last step `count` times without its commands; its seats stay as they are, but for the inputs that
    /// [`StepBatch::set_human_inputs`] overwrites.
    pub(crate) fn push_last_again(&mut self, count: usize, mut keep: impl FnMut() -> Keep) {
        let position = self.steps.len().wrapping_sub(1);
        let Some(step) = self.steps.get(position).copied() else { return };
        let inputs = self.inputs_length(&step);
        let commands = self.commands.len();
        self.steps.reserve(count);
        self.bytes.reserve(count * inputs);
        for _ in 0..count {
            let bytes = self.bytes.len();
            self.bytes.extend_from_within(step.bytes..step.bytes + inputs);
            self.steps.push(Step { commands, bytes, keep: keep(), ..step });
        }
    }

    fn push_inputs_of(&mut self, position: usize, keep: Keep) -> Option<Step> {
        let step = *self.steps.get(position)?;
        let inputs = self.inputs_length(&step);
        self.push_step(keep);
        self.bytes.extend_from_within(step.bytes..step.bytes + inputs);
        Some(step)
    }

    /// Bytes of a step's inputs, which stand in front of its commands.
    fn inputs_length(&self, step: &Step) -> usize {
        let seats = self.seats.get(step.seats_start..step.seats_end).unwrap_or_default();
        seats.last().map_or(0, |seat| seat.end as usize)
    }

    /// The last step's seats, with access to each one's input.
    pub(crate) fn last_seats_mut(&mut self) -> impl Iterator<Item = (&mut SeatRecord, &mut [u8])> {
        let step = self.steps.last().copied();
        let (seats, bytes) = step.map_or((0, 0), |step| (step.seats_start, step.bytes));
        let mut rest = self.bytes.get_mut(bytes..).unwrap_or_default();
        let seats = self.seats.get_mut(seats..).unwrap_or_default();
        seats.iter_mut().map(move |seat| {
            let input;
            (input, rest) = mem::take(&mut rest).split_at_mut(seat.length());
            (seat, input)
        })
    }

    /// Overwrites the inputs of a seat, if a human drives it, in the steps from `position` on, whose seats are the same.
    pub(crate) fn set_human_inputs<'a>(&mut self, seat: Seat, position: usize, inputs: impl Iterator<Item = &'a [u8]>) {
        let Some(steps) = self.steps.get(position..) else { return };
        let record = steps.first().and_then(|first| self.seats.get(first.seats_start + seat.index()));
        let Some(record) = record.filter(|record| record.presence == Presence::Human) else { return };
        for (step, input) in steps.iter().zip(inputs) {
            let target = self.bytes.get_mut(step.bytes + record.start as usize..step.bytes + record.end as usize);
            if let Some(target) = target.filter(|target| target.len() == input.len()) {
                target.copy_from_slice(input);
            }
        }
    }
}

/// One step of a batch: what the game's step may see (K8).
#[derive(Clone, Copy, Debug)]
pub struct StepView<'a> {
    tick: Tick,
    keep: Keep,
    seats: &'a [SeatRecord],
    commands: &'a [CommandRecord],
    bytes: &'a [u8],
}

impl<'a> StepView<'a> {
    const fn nothing(tick: Tick) -> StepView<'static> {
        StepView { tick, keep: Keep::NOTHING, seats: &[], commands: &[], bytes: &[] }
    }

    /// The tick to step: from `S(tick)` to `S(tick+1)`.
    #[inline]
    pub fn tick(&self) -> Tick {
        self.tick
    }

    /// What to keep of `S(tick+1)`.
    #[inline]
    pub fn keep(&self) -> Keep {
        self.keep
    }

    /// How many seats there are.
    #[inline]
    pub fn seat_count(&self) -> usize {
        self.seats.len()
    }

    /// What the step sees of `seat`, or `None` beyond the match's seats.
    #[inline]
    pub fn seat(&self, seat: Seat) -> Option<SeatStep<'a>> {
        self.seats.get(seat.index()).map(|record| seat_step(record, self.bytes))
    }

    /// The input of `seat`, valid and packed, or `None` beyond the match's seats.
    #[inline]
    pub fn input(&self, seat: Seat) -> Option<&'a [u8]> {
        self.seats.get(seat.index()).map(|record| record.input(self.bytes))
    }

    /// The input of each seat, in order.
    #[inline]
    pub fn inputs(&self) -> impl ExactSizeIterator<Item = &'a [u8]> + use<'a> {
        let bytes = self.bytes;
        self.seats.iter().map(move |record| record.input(bytes))
    }

    /// What the step sees of each seat, in order.
    #[inline]
    pub fn seats(&self) -> impl ExactSizeIterator<Item = SeatStep<'a>> + use<'a> {
        let bytes = self.bytes;
        self.seats.iter().map(move |record| seat_step(record, bytes))
    }

    /// The ordered commands, not decoded yet.
    #[inline]
    pub fn commands(&self) -> impl ExactSizeIterator<Item = (CommandSource, &'a [u8])> + use<'a> {
        let bytes = self.bytes;
        self.commands.iter().map(move |record| record.view(bytes))
    }

    /// Whether this step is what `frame` says, the schema's policy applied.
    pub(crate) fn plays(&self, frame: &Frame, schema: &InputSchema, scratch: &mut Vec<u8>) -> bool {
        let (seats, _, bytes) = frame.records();
        if self.commands.is_empty() && bytes.len() == self.bytes.len() && self.seats == seats && schema.holds_all() {
            // Equal records say that no input is malformed or null, so that equal bytes are equal inputs.
            return frame.commands().len() == 0 && self.bytes == bytes;
        }
        let same_seat = |(seat, view): (SeatStep<'_>, SeatFrame<'_>)| {
            let same_driver = seat.presence == view.presence && seat.epoch == view.epoch;
            same_driver && seat.substituted == view.substituted && same_input(&seat, &view, schema, scratch)
        };
        self.seats.len() == frame.seat_count()
            && self.seats().zip(frame.seats()).all(same_seat)
            && self.commands().eq(frame.commands())
    }

    /// Whether two steps would do the same: everything but the tick and what to keep is equal.
    pub fn same_play(&self, other: &StepView<'_>) -> bool {
        self.seats().eq(other.seats()) && self.commands().eq(other.commands())
    }
}

#[inline]
fn seat_step<'a>(record: &SeatRecord, bytes: &'a [u8]) -> SeatStep<'a> {
    SeatStep {
        input: record.input(bytes),
        substituted: record.flags.has(SeatFlags::SUBSTITUTED),
        malformed: record.flags.has(SeatFlags::MALFORMED),
        presence: record.presence,
        epoch: record.epoch,
    }
}

/// Whether the confirmed input is the played one. Equal bytes need no second validation.
fn same_input(seat: &SeatStep<'_>, view: &SeatFrame<'_>, schema: &InputSchema, scratch: &mut Vec<u8>) -> bool {
    let as_is = !seat.malformed && (!view.substituted || schema.holds_all());
    if as_is && view.input == Some(seat.input) {
        return true;
    }
    scratch.clear();
    schema.apply(view.input, view.substituted, scratch) == seat.malformed && scratch.as_slice() == seat.input
}

#[cfg(test)]
mod tests;
