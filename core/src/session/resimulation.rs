//! Confirmed frames played once more, beside a session that plays on: what answers the room's questions about a desync (A8).
//!
//! A session keeps the states of its last reports and nothing between them. Whoever wants to know in which tick two machines came
//! apart plays the frames since the last good report again, in a runtime of its own. The session's own runtime and states are not
//! touched, and nothing is kept for this before it is asked for.

use alloc::boxed::Box;
use alloc::vec::Vec;

use super::{Session, StateReadError};
use crate::codec::wire::Cursor;
use crate::digest::Checksum;
use crate::frame::{Frame, FrameError};
use crate::input::InputSchema;
use crate::runtime::{
    AdvanceError, Checkpoint, CheckpointError, CreateError, HydrateError, Keep, Output, Runtime, RuntimeFactory,
    StepBatch,
};
use crate::seat::SeatCount;
use crate::tick::Tick;

/// Why frames can't be played again.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum ResimulationError {
    /// The state to begin with can't be read.
    #[error("{0}")]
    Read(#[from] StateReadError),
    /// There is no second runtime for the match.
    #[error("{0}")]
    Create(#[from] CreateError),
    /// The runtime does not take its own state.
    #[error("{0}")]
    Hydrate(#[from] HydrateError),
    /// A frame is not one of the match's, or does not follow.
    #[error("{0}")]
    Frame(#[from] FrameError),
    /// The frames of these ticks are not there.
    #[error("the frames are not there")]
    NoFrames,
    /// A step, or the checksum of a state, failed.
    #[error("{0}")]
    Advance(#[from] AdvanceError),
    /// A state can't be read.
    #[error("{0}")]
    Checkpoint(#[from] CheckpointError),
}

/// A second play of confirmed frames, from a state that the session keeps.
///
/// The same frames from the same state give the same states, on a machine and with a game that are in order. Where they don't, that is
/// what is being looked for.
pub struct Resimulation {
    runtime: Box<dyn Runtime>,
    schema: InputSchema,
    seats: SeatCount,
    start: Checkpoint,
    /// The frames' self-contained forms, one behind the other.
    frames: Vec<u8>,
    /// How much of them was played.
    played_bytes: usize,
    last: Tick,
    /// Of each state behind the first, as far as it was ever reached.
    checksums: Vec<Checksum>,
    batch: StepBatch,
    frame: Frame,
    output: Output,
}

impl core::fmt::Debug for Resimulation {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        let (tick, last) = (self.runtime.tick(), self.last);
        f.debug_struct("Resimulation").field("tick", &tick).field("last", &last).finish_non_exhaustive()
    }
}

impl Session {
    /// Begins to play the frames of the ticks from `base` up to `last` again, from `S(base)`, which must still be kept. `frames` are the
    /// self-contained forms of these frames, one behind the other; `factory` is that of the session's own runtime.
    ///
    /// # Errors
    /// [`ResimulationError`]; the session is as before in any case.
    pub fn resimulation(
        &mut self,
        factory: &dyn RuntimeFactory,
        (base, last): (Tick, Tick),
        frames: Vec<u8>,
    ) -> Result<Resimulation, ResimulationError> {
        let state = self.read_state(base)?;
        let mut runtime = factory.create(&self.descriptor)?;
        runtime.hydrate(base, &state)?;
        let mut output = Output::default();
        runtime.keep(Keep::CHECKPOINT, &mut output)?;
        let start = output.kept.first().and_then(|kept| kept.checkpoint).ok_or(ResimulationError::NoFrames)?;
        Ok(Resimulation {
            runtime,
            schema: self.schema.clone(),
            seats: self.descriptor.seats(),
            start,
            frames,
            played_bytes: 0,
            last,
            checksums: Vec::new(),
            batch: StepBatch::default(),
            frame: Frame::new(self.descriptor.generation(), base),
            output,
        })
    }

    /// The canonical bytes of the confirmed `S(tick)`, as far as it is kept: the last confirmed state, or one that the policy's
    /// [`Retention`](super::Retention) keeps.
    ///
    /// # Errors
    /// [`StateReadError`].
    pub fn canonical_state(&mut self, tick: Tick) -> Result<Vec<u8>, StateReadError> {
        self.read_state(tick)
    }
}

impl Resimulation {
    /// The state to begin with: `n` for `S(n)`.
    pub fn base(&self) -> Tick {
        self.start.tick()
    }

    /// The last state that it can come to.
    pub fn last(&self) -> Tick {
        self.last
    }

    /// The checksums of the states behind the first, as far as they were reached.
    pub fn checksums(&self) -> &[Checksum] {
        &self.checksums
    }

    /// Plays on towards `S(target)`, at most so many ticks, and says whether it is there. A target that was passed is come to from the
    /// beginning again.
    ///
    /// # Errors
    /// [`ResimulationError`]; it is of no use then.
    pub fn advance(&mut self, target: Tick, most_ticks: usize) -> Result<bool, ResimulationError> {
        if target < self.base() || target > self.last {
            return Err(ResimulationError::NoFrames);
        }
        if self.runtime.tick() > target {
            self.runtime.restore(self.start)?;
            self.played_bytes = 0;
        }
        for _ in 0..most_ticks {
            if self.runtime.tick() == target {
                break;
            }
            self.step()?;
        }
        Ok(self.runtime.tick() == target)
    }

    fn step(&mut self) -> Result<(), ResimulationError> {
        let tick = self.runtime.tick();
        let rest = self.frames.get(self.played_bytes..).unwrap_or_default();
        let mut cursor = Cursor::new(rest);
        self.frame.decode_full(&mut cursor, self.seats)?;
        let taken = rest.len() - cursor.rest().len();
        if self.frame.tick() != tick {
            return Err(ResimulationError::NoFrames);
        }
        self.batch.reset(tick);
        self.batch.push_frame(&self.frame, &self.schema, Keep::CHECKSUM);
        self.output.clear();
        self.runtime.advance(&self.batch, &mut self.output)?;
        self.played_bytes += taken;
        let known = self.checksums.len() as u64;
        if let (Some(kept), true) = (self.output.kept.last(), tick.since(self.base()) == known) {
            self.checksums.extend(kept.checksum);
        }
        Ok(())
    }

    /// The canonical bytes of the state that it stands at.
    ///
    /// # Errors
    /// [`ResimulationError`].
    pub fn state(&mut self) -> Result<Vec<u8>, ResimulationError> {
        self.output.clear();
        self.runtime.keep(Keep::CHECKPOINT, &mut self.output)?;
        let kept = self.output.kept.first().and_then(|kept| kept.checkpoint).ok_or(ResimulationError::NoFrames)?;
        let mut state = Vec::new();
        loop {
            let total = self.runtime.export(kept, state.len() as u64, usize::MAX, &mut state)?;
            if state.len() as u64 >= total {
                break;
            }
        }
        self.runtime.release(kept)?;
        Ok(state)
    }
}
