//! What is guessed before the authority has spoken, and what the local seats really gave (S4).

use alloc::collections::VecDeque;
use alloc::vec::Vec;

use crate::frame::Frame;
use crate::input::InputSchema;
use crate::runtime::{SeatStep, StepBatch};
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

#[derive(Debug)]
struct Queue {
    first: Tick,
    inputs: VecDeque<Vec<u8>>,
    spare: Vec<Vec<u8>>,
}

impl LocalInputs {
    pub(super) fn new(seats: SeatSet, first: Tick) -> LocalInputs {
        let queue = || Queue { first, inputs: VecDeque::new(), spare: Vec::new() };
        LocalInputs { seats: seats.iter().map(|seat| (seat, queue())).collect() }
    }

    fn queue(&self, seat: Seat) -> Option<&Queue> {
        self.seats.iter().find(|(local, _)| *local == seat).map(|(_, queue)| queue)
    }

    pub(super) fn next(&self, seat: Seat) -> Tick {
        self.queue(seat).map_or(Tick::ZERO, |queue| queue.first.saturating_add(queue.inputs.len() as u64))
    }

    pub(super) fn push(&mut self, seat: Seat, packed: &[u8]) {
        let Some((_, queue)) = self.seats.iter_mut().find(|(local, _)| *local == seat) else { return };
        let mut input = queue.spare.pop().unwrap_or_default();
        input.clear();
        input.extend_from_slice(packed);
        queue.inputs.push_back(input);
    }

    pub(super) fn get(&self, seat: Seat, tick: Tick) -> Option<&[u8]> {
        let queue = self.queue(seat)?;
        let index = tick.index().checked_sub(queue.first.index())?;
        queue.inputs.get(usize::try_from(index).ok()?).map(Vec::as_slice)
    }

    /// The first local seat that has no input for `tick`.
    pub(super) fn missing(&self, tick: Tick) -> Option<Seat> {
        self.seats.iter().map(|(seat, _)| *seat).find(|seat| self.get(*seat, tick).is_none())
    }

    /// Forgets what is confirmed: the inputs before `tick`.
    pub(super) fn forget_before(&mut self, tick: Tick) {
        for (_, queue) in &mut self.seats {
            while queue.first < tick && !queue.inputs.is_empty() {
                queue.spare.extend(queue.inputs.pop_front());
                queue.first = queue.first.saturating_add(1);
            }
        }
    }

    /// Lets a seat that has submitted nothing from its next tick up to `tick` go on from there. Gaps count as submitted: nothing
    /// stands in for them, and they are confirmed already.
    pub(super) fn skip_before(&mut self, seat: Seat, tick: Tick) {
        let Some((_, queue)) = self.seats.iter_mut().find(|(local, _)| *local == seat) else { return };
        let next = queue.first.saturating_add(queue.inputs.len() as u64);
        if next < tick {
            queue.spare.extend(queue.inputs.drain(..));
            queue.first = tick;
        }
    }
}

/// Each seat as the last applied frame left it: what repeat-last repeats.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct LastInputs {
    seats: Vec<LastSeat>,
}

#[derive(Clone, PartialEq, Eq, Debug)]
struct LastSeat {
    input: Vec<u8>,
    presence: Presence,
    epoch: ControlEpoch,
}

impl LastInputs {
    /// Before tick 0: everyone is there and neutral.
    pub(super) fn new(seats: SeatCount, schema: &InputSchema) -> LastInputs {
        let (presence, epoch) = (Presence::Human, ControlEpoch(0));
        let seat = || LastSeat { input: schema.neutral().to_vec(), presence, epoch };
        LastInputs { seats: (0..seats.count()).map(|_| seat()).collect() }
    }

    pub(super) fn from_snapshot(
        inputs: &[LastInput],
        seats: SeatCount,
        schema: &InputSchema,
    ) -> Result<LastInputs, SnapshotError> {
        if inputs.len() != seats.count() || inputs.iter().any(|last| schema.validate(last.input.as_slice()).is_err()) {
            return Err(SnapshotError::LastInputs);
        }
        let seat = |last: &LastInput| LastSeat {
            input: last.input.as_slice().to_vec(),
            presence: last.presence,
            epoch: last.epoch,
        };
        Ok(LastInputs { seats: inputs.iter().map(seat).collect() })
    }

    pub(super) fn to_snapshot(&self) -> Vec<LastInput> {
        let last = |seat: &LastSeat| LastInput::new(&seat.input, seat.presence, seat.epoch);
        self.seats.iter().map(last).collect()
    }

    /// Makes this equal to `other` and keeps its buffers.
    pub(super) fn copy_from(&mut self, other: &LastInputs) {
        for (last, from) in self.seats.iter_mut().zip(&other.seats) {
            last.input.clear();
            last.input.extend_from_slice(&from.input);
            (last.presence, last.epoch) = (from.presence, from.epoch);
        }
    }

    /// Takes over what a confirmed frame says, the schema's policy applied.
    pub(super) fn apply(&mut self, frame: &Frame, schema: &InputSchema) {
        for (last, view) in self.seats.iter_mut().zip(frame.seats()) {
            last.input.clear();
            schema.apply(view.input, view.substituted, &mut last.input);
            (last.presence, last.epoch) = (view.presence, view.epoch);
        }
    }

    /// Pushes the seats of a predicted step to `batch`: what the local seats gave, and a guess for every other.
    pub(super) fn push_predicted(
        &self,
        batch: &mut StepBatch,
        local: &LocalInputs,
        tick: Tick,
        remote: RemotePrediction,
        schema: &InputSchema,
        scratch: &mut Vec<u8>,
    ) {
        for (seat, last) in (0..).map_while(Seat::new).zip(&self.seats) {
            scratch.clear();
            match (last.presence, local.get(seat, tick), remote) {
                (Presence::Human, Some(given), _) => scratch.extend_from_slice(given),
                (Presence::Human, None, RemotePrediction::RepeatLast) => {
                    scratch.extend_from_slice(&last.input);
                    schema.hold(scratch);
                }
                _ => scratch.extend_from_slice(schema.neutral()),
            }
            let (presence, epoch) = (last.presence, last.epoch);
            batch.push_seat(SeatStep { input: scratch, substituted: false, malformed: false, presence, epoch });
        }
    }
}
