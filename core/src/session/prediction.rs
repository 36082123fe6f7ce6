//! What is guessed before the authority has spoken, and what the local seats really gave (S4).

use alloc::vec::Vec;

use crate::input::InputSchema;
use crate::record::SeatFlags;
use crate::runtime::{Keep, SeatStep, StepBatch, StepView};
use crate::seat::{ControlEpoch, Presence, Seat, SeatCount, SeatSet};
use crate::snapshot::{LastInput, SnapshotError};
use crate::tick::Tick;

/// How the inputs of other seats are guessed (S4); the schema's policies refine it for each field.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum RemotePrediction {
    /// The seat's last confirmed input again: held controls.
    #[default]
    RepeatLast,
    /// The neutral input: pulses and edges.
    Neutral,
}

/// The inputs that local seats submitted and the authority has not confirmed.
#[derive(Debug)]
pub(super) struct LocalInputs {
    seats: Vec<(Seat, Queue)>,
}

/// Equally long inputs of consecutive ticks, in one buffer whose front is cut off now and then.
#[derive(Debug)]
struct Queue {
    first: Tick,
    count: usize,
    input_bytes: usize,
    spent_bytes: usize,
    bytes: Vec<u8>,
}

/// Spent bytes that are tolerated at the front of a queue, unless the rest is longer, before the rest is moved there.
const MAX_SPENT_BYTES: usize = 64;

impl Queue {
    fn next(&self) -> Tick {
        self.first.saturating_add(self.count as u64)
    }

    fn get(&self, tick: Tick) -> Option<&[u8]> {
        let index = usize::try_from(tick.index().checked_sub(self.first.index())?).ok()?;
        let start = self.spent_bytes + index.checked_mul(self.input_bytes)?;
        if index < self.count { self.bytes.get(start..start + self.input_bytes) } else { None }
    }

    /// The inputs of `count` ticks from `tick` on, or nothing when one of them is not there or there is nothing in them.
    fn inputs(&self, tick: Tick, count: usize) -> impl Iterator<Item = &[u8]> {
        let index = usize::try_from(tick.since(self.first)).unwrap_or(usize::MAX);
        let there = tick >= self.first && index.saturating_add(count) <= self.count;
        let start = if there { self.spent_bytes + index * self.input_bytes } else { self.bytes.len() };
        let inputs = self.bytes.get(start..).unwrap_or_default();
        inputs.chunks_exact(self.input_bytes.max(1)).take(count)
    }

    fn forget_before(&mut self, tick: Tick) {
        let forgotten = usize::try_from(tick.since(self.first)).unwrap_or(usize::MAX).min(self.count);
        self.first = self.first.saturating_add(forgotten as u64);
        self.count -= forgotten;
        self.spent_bytes += forgotten * self.input_bytes;
        if self.count == 0 {
            self.bytes.clear();
            self.spent_bytes = 0;
        } else if self.spent_bytes > MAX_SPENT_BYTES.max(self.count * self.input_bytes) {
            self.bytes.drain(..self.spent_bytes);
            self.spent_bytes = 0;
        }
    }
}

impl LocalInputs {
    pub(super) fn new(seats: SeatSet, first: Tick, schema: &InputSchema) -> LocalInputs {
        let input_bytes = schema.packed_bytes();
        let queue = || Queue { first, count: 0, input_bytes, spent_bytes: 0, bytes: Vec::new() };
        LocalInputs { seats: seats.iter().map(|seat| (seat, queue())).collect() }
    }

    fn queue(&self, seat: Seat) -> Option<&Queue> {
        self.seats.iter().find(|(local, _)| *local == seat).map(|(_, queue)| queue)
    }

    fn queue_mut(&mut self, seat: Seat) -> Option<&mut Queue> {
        self.seats.iter_mut().find(|(local, _)| *local == seat).map(|(_, queue)| queue)
    }

    pub(super) fn next(&self, seat: Seat) -> Tick {
        self.queue(seat).map_or(Tick::ZERO, Queue::next)
    }

    /// Adds the input of the next tick; it is valid, and so as long as every other.
    pub(super) fn push(&mut self, seat: Seat, packed: &[u8]) {
        let Some(queue) = self.queue_mut(seat) else { return };
        queue.bytes.extend_from_slice(packed);
        queue.count += 1;
    }

    pub(super) fn get(&self, seat: Seat, tick: Tick) -> Option<&[u8]> {
        self.queue(seat)?.get(tick)
    }

    /// The first local seat that has no input for `tick`.
    pub(super) fn missing(&self, tick: Tick) -> Option<Seat> {
        self.seats.iter().find(|(_, queue)| queue.get(tick).is_none()).map(|(seat, _)| *seat)
    }

    /// Forgets what is confirmed: the inputs before `tick`.
    pub(super) fn forget_before(&mut self, tick: Tick) {
        self.seats.iter_mut().for_each(|(_, queue)| queue.forget_before(tick));
    }

    /// Lets a seat that has submitted nothing from its next tick up to `tick` go on from there. Gaps count as submitted: nothing
    /// stands in for them, and they are confirmed already.
    pub(super) fn skip_before(&mut self, seat: Seat, tick: Tick) {
        let Some(queue) = self.queue_mut(seat) else { return };
        if queue.next() < tick {
            queue.forget_before(tick);
            queue.first = tick;
        }
    }

    /// Pushes `count` predicted steps from `tick` on to `batch`: what the local seats gave, and for every other seat a guess from
    /// the step at `basis`, which is confirmed.
    pub(super) fn push_predicted(
        &self,
        batch: &mut StepBatch,
        basis: usize,
        ticks: (Tick, usize),
        mut keep: impl FnMut() -> Keep,
        guess: Guess<'_>,
    ) {
        let ((tick, count), first) = (ticks, batch.len_all());
        batch.push_again(basis, keep());
        for (seat, input) in batch.last_seats_mut() {
            seat.flags = SeatFlags::NONE;
            match (seat.presence, guess.remote) {
                (Presence::Human, RemotePrediction::RepeatLast) => guess.schema.hold(input),
                _ => input.copy_from_slice(guess.schema.neutral()),
            }
        }
        batch.push_last_again(count.saturating_sub(1), keep);
        for (seat, queue) in &self.seats {
            batch.set_human_inputs(*seat, first, queue.inputs(tick, count));
        }
    }
}

/// What a guess goes by, besides the last confirmed input.
#[derive(Clone, Copy)]
pub(super) struct Guess<'a> {
    pub(super) remote: RemotePrediction,
    pub(super) schema: &'a InputSchema,
}

/// A step as if it had led to the start of a match: everyone is there and neutral.
pub(super) fn push_start(batch: &mut StepBatch, seats: SeatCount, schema: &InputSchema) {
    let (presence, epoch) = (Presence::Human, ControlEpoch(0));
    batch.push_step(Keep::NOTHING);
    let seat = SeatStep { input: schema.neutral(), substituted: false, malformed: false, presence, epoch };
    (0..seats.count()).for_each(|_| batch.push_seat(seat));
}

/// A step as if it had led to a snapshot's state: what its seats did last.
pub(super) fn push_last_inputs(
    batch: &mut StepBatch,
    inputs: &[LastInput],
    seats: SeatCount,
    schema: &InputSchema,
) -> Result<(), SnapshotError> {
    if inputs.len() != seats.count() || inputs.iter().any(|last| schema.validate(last.input.as_slice()).is_err()) {
        return Err(SnapshotError::LastInputs);
    }
    batch.push_step(Keep::NOTHING);
    for last in inputs {
        let (input, presence, epoch) = (last.input.as_slice(), last.presence, last.epoch);
        batch.push_seat(SeatStep { input, substituted: false, malformed: false, presence, epoch });
    }
    Ok(())
}

/// What a snapshot says of the seats of the step that led to its state.
pub(super) fn last_inputs(step: &StepView<'_>) -> Vec<LastInput> {
    step.seats().map(|seat| LastInput::new(seat.input, seat.presence, seat.epoch)).collect()
}
