//! Any game with bits of one state flipped, as a machine whose memory failed, or a build that computes otherwise in one tick (K10, A8).
//! The clean twin is the factory that is wrapped, whose identity it has.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use retick_core::digest::Digest;
use retick_core::identity::{IdentityManifest, MatchDescriptor};
use retick_core::runtime::{
    AdvanceError, Capabilities, Checkpoint, CheckpointError, CheckpointTable, CreateError, HydrateError, Keep, Output,
    Runtime, RuntimeFactory, StepBatch,
};
use retick_core::tick::Tick;

/// Which byte of a state: an offset in its canonical bytes; nothing where the state has no such place.
pub type Place = Arc<dyn Fn(&[u8]) -> Option<u64> + Send + Sync>;

/// In which of a factory's runtimes bits are flipped.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Reach {
    /// In each: the machine comes to the same wrong state whenever it plays the tick.
    Every,
    /// In the first alone, which is the one that is played: what the machine plays again comes out right.
    First,
}

/// What is planted.
#[derive(Clone)]
pub struct Plant {
    /// The state: `n` for `S(n)`, every time that it is stepped to.
    pub tick: Tick,
    /// The byte.
    pub place: Place,
    /// The bits of it that are flipped. What comes out must be a state that the game takes.
    pub mask: u8,
    /// In which runtimes.
    pub reach: Reach,
}

/// Makes runtimes of a game with bits flipped in one state.
pub struct PlantedFactory {
    inner: Arc<dyn RuntimeFactory>,
    plant: Plant,
    is_used: AtomicBool,
}

impl PlantedFactory {
    /// The game of `inner`, with this planted.
    pub fn new(inner: Arc<dyn RuntimeFactory>, plant: Plant) -> PlantedFactory {
        PlantedFactory { inner, plant, is_used: AtomicBool::new(false) }
    }
}

impl RuntimeFactory for PlantedFactory {
    fn manifest(&self) -> &IdentityManifest {
        self.inner.manifest()
    }

    fn create(&self, descriptor: &MatchDescriptor) -> Result<Box<dyn Runtime>, CreateError> {
        let inner = self.inner.create(descriptor)?;
        let is_first = !self.is_used.swap(true, Ordering::Relaxed);
        if self.plant.reach == Reach::First && !is_first {
            return Ok(inner);
        }
        let (checkpoints, batch) = (CheckpointTable::default(), StepBatch::default());
        Ok(Box::new(Planted { inner, plant: self.plant.clone(), checkpoints, saved: Vec::new(), batch }))
    }
}

/// A checkpoint as it is behind the handle that was given out. To flip bits the state is hydrated, which releases the inner
/// runtime's checkpoints: those that were there before are bytes from then on.
enum Saved {
    Inner(Checkpoint),
    Bytes(Vec<u8>),
}

/// A runtime with bits flipped in one state. A batch that fails behind that state is not undone: it is for games that don't fault.
struct Planted {
    inner: Box<dyn Runtime>,
    plant: Plant,
    checkpoints: CheckpointTable<()>,
    saved: Vec<(Checkpoint, Saved)>,
    batch: StepBatch,
}

impl Planted {
    /// Gives out handles of our own for what the inner runtime kept since `from`.
    fn adopt(&mut self, from: usize, output: &mut Output) {
        for kept in &mut output.kept[from..] {
            if let Some(inner) = kept.checkpoint {
                let own = self.checkpoints.issue(kept.tick, ());
                self.saved.push((own, Saved::Inner(inner)));
                kept.checkpoint = Some(own);
            }
        }
    }

    fn state(&mut self) -> Option<Vec<u8>> {
        let mut output = Output::default();
        self.inner.keep(Keep::CHECKPOINT, &mut output).ok()?;
        let checkpoint = output.kept.first()?.checkpoint?;
        let state = read(self.inner.as_mut(), checkpoint)?;
        self.inner.release(checkpoint).ok()?;
        Some(state)
    }

    /// Makes bytes of every checkpoint, so that the inner runtime may be hydrated.
    fn detach(&mut self) {
        for (_, saved) in &mut self.saved {
            if let Saved::Inner(checkpoint) = saved {
                let bytes = read(self.inner.as_mut(), *checkpoint);
                *saved =
                    Saved::Bytes(bytes.unwrap_or_else(|| panic!("a checkpoint of the planted game can't be read")));
            }
        }
    }

    fn flip(&mut self) {
        let tick = self.inner.tick();
        let mut state = self.state().unwrap_or_else(|| panic!("S({tick}) of the planted game can't be read"));
        let Some(byte) = (self.plant.place)(&state).and_then(|at| state.get_mut(usize::try_from(at).ok()?)) else {
            return;
        };
        *byte ^= self.plant.mask;
        self.detach();
        self.inner
            .hydrate(tick, &state)
            .unwrap_or_else(|error| panic!("the game does not take what is planted: {error}"));
    }

    fn run(
        &mut self,
        batch: &StepBatch,
        steps: core::ops::Range<usize>,
        output: &mut Output,
    ) -> Result<(), AdvanceError> {
        if steps.is_empty() {
            return Ok(());
        }
        let mut part = core::mem::take(&mut self.batch);
        part.reset(batch.first().saturating_add(steps.start as u64));
        let last = steps.end - 1;
        for index in steps {
            let keep = batch.step(index).map_or(Keep::NOTHING, |step| step.keep());
            let is_planted = index == last && batch.first().saturating_add(index as u64 + 1) == self.plant.tick;
            part.push_from(batch, index, if is_planted { Keep::NOTHING } else { keep });
        }
        let from = output.kept.len();
        let ran = self.inner.advance(&part, output);
        self.adopt(from, output);
        self.batch = part;
        ran
    }
}

fn read(runtime: &mut dyn Runtime, checkpoint: Checkpoint) -> Option<Vec<u8>> {
    let mut state = Vec::new();
    while runtime.export(checkpoint, state.len() as u64, usize::MAX, &mut state).ok()? > state.len() as u64 {}
    Some(state)
}

impl Runtime for Planted {
    fn manifest(&self) -> &IdentityManifest {
        self.inner.manifest()
    }

    fn descriptor_digest(&self) -> Digest {
        self.inner.descriptor_digest()
    }

    fn capabilities(&self) -> Capabilities {
        self.inner.capabilities()
    }

    fn tick(&self) -> Tick {
        self.inner.tick()
    }

    fn advance(&mut self, batch: &StepBatch, output: &mut Output) -> Result<(), AdvanceError> {
        let to_plant = self.plant.tick.index().checked_sub(batch.first().index());
        let count =
            to_plant.and_then(|count| usize::try_from(count).ok()).filter(|count| (1..=batch.len()).contains(count));
        let (Some(count), true) = (count, batch.first() == self.inner.tick()) else {
            let from = output.kept.len();
            let ran = self.inner.advance(batch, output);
            self.adopt(from, output);
            return ran;
        };
        self.run(batch, 0..count, output)?;
        self.flip();
        let keep = batch.step(count - 1).map_or(Keep::NOTHING, |step| step.keep());
        if keep != Keep::NOTHING {
            self.keep(keep, output)?;
        }
        self.run(batch, count..batch.len(), output)
    }

    fn keep(&mut self, keep: Keep, output: &mut Output) -> Result<(), AdvanceError> {
        let from = output.kept.len();
        self.inner.keep(keep, output)?;
        self.adopt(from, output);
        Ok(())
    }

    fn restore(&mut self, checkpoint: Checkpoint) -> Result<(), CheckpointError> {
        self.checkpoints.get(checkpoint)?;
        while self.checkpoints.pop_younger(checkpoint).is_some() {
            self.saved.pop();
        }
        match self.saved.last() {
            Some((_, Saved::Inner(inner))) => self.inner.restore(*inner),
            Some((_, Saved::Bytes(bytes))) => {
                let bytes = bytes.clone();
                self.detach();
                self.inner
                    .hydrate(checkpoint.tick(), &bytes)
                    .map_err(|_| CheckpointError::Host { tick: checkpoint.tick() })
            }
            None => Err(CheckpointError::Stale { tick: checkpoint.tick() }),
        }
    }

    fn release(&mut self, checkpoint: Checkpoint) -> Result<(), CheckpointError> {
        self.checkpoints.release(checkpoint)?;
        let at = self.saved.iter().position(|(own, _)| *own == checkpoint);
        match at.map(|at| self.saved.remove(at)) {
            Some((_, Saved::Inner(inner))) => self.inner.release(inner),
            _ => Ok(()),
        }
    }

    fn export(
        &mut self,
        checkpoint: Checkpoint,
        offset: u64,
        max_bytes: usize,
        out: &mut Vec<u8>,
    ) -> Result<u64, CheckpointError> {
        self.checkpoints.get(checkpoint)?;
        match self.saved.iter().find(|(own, _)| *own == checkpoint) {
            Some((_, Saved::Inner(inner))) => self.inner.export(*inner, offset, max_bytes, out),
            Some((_, Saved::Bytes(bytes))) => {
                let rest = usize::try_from(offset).ok().and_then(|offset| bytes.get(offset..)).unwrap_or_default();
                out.extend_from_slice(&rest[..rest.len().min(max_bytes)]);
                Ok(bytes.len() as u64)
            }
            None => Err(CheckpointError::Stale { tick: checkpoint.tick() }),
        }
    }

    fn hydrate(&mut self, tick: Tick, canonical_state: &[u8]) -> Result<(), HydrateError> {
        self.inner.hydrate(tick, canonical_state)?;
        while self.checkpoints.pop().is_some() {}
        self.saved.clear();
        Ok(())
    }
}
