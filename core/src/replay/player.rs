//! Watching a replay: any state of it, in any order (R3).

use alloc::vec::Vec;

use super::file::Replay;
use super::refused::Refused;
use super::stepper::Stepper;
use super::verify::check_identity;
use crate::digest::Checksum;
use crate::runtime::{AdvanceError, CheckpointError, HydrateError, Keep, RuntimeFactory};
use crate::tick::Tick;

/// Bytes of a state that are exported at a time.
const EXPORT_BYTES: usize = 1 << 20;

/// Why a state of a replay was not reached.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum SeekError {
    /// There is no such state.
    #[error("the replay ends with S({last}), before S({tick})")]
    Beyond {
        /// The state that was wanted.
        tick: Tick,
        /// The last state that there is.
        last: Tick,
    },
    /// The key frame on the way holds no state with the checksum that it states.
    #[error("the key frame of S({tick}) is malformed")]
    KeyFrame {
        /// The key frame's state.
        tick: Tick,
    },
    /// The key frame on the way holds no state of this game.
    #[error("the key frame of S({tick}): {error}")]
    Hydrate {
        /// The key frame's state.
        tick: Tick,
        /// What is wrong with it.
        error: HydrateError,
    },
    /// The game faults on the way.
    #[error("{0}")]
    Fault(#[from] AdvanceError),
    /// The first state can't be exported.
    #[error("{0}")]
    Checkpoint(#[from] CheckpointError),
}

/// Plays a replay, forth and back. A jump takes the newest key frame before its goal, or the present state if that is nearer, and
/// steps from there: at most the ticks between two key frames, wherever it comes from.
///
/// It believes the replay's key frames. Of a replay that was verified they are right; of any other they may be anything.
///
/// ```
/// # mod race {
/// #     include!(concat!(env!("CARGO_MANIFEST_DIR"), "/doc/race.rs"));
/// # }
/// # use race::{descriptor, factory, frame};
/// use retick_core::replay::{Recorder, Replay, ReplayPlayer};
/// use retick_core::runtime::RuntimeFactory;
/// use retick_core::tick::Tick;
///
/// let mut recorder = Recorder::new(factory().manifest(), &descriptor());
/// (0..100).for_each(|tick| recorder.push_frame(&frame(tick, [10, 20])));
/// recorder.finish();
///
/// let mut player = ReplayPlayer::new(Replay::parse(&recorder.take_bytes())?, &factory())?;
/// player.seek(Tick::new(40))?;
/// let forty = player.checksum()?;
/// player.seek(Tick::new(90))?;
/// player.seek(Tick::new(40))?;
/// assert_eq!(player.checksum()?, forty);
/// # Ok::<(), Box<dyn core::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct ReplayPlayer {
    replay: Replay,
    stepper: Stepper,
    /// `S(0)`, the key frame that every replay has.
    start: Vec<u8>,
}

impl ReplayPlayer {
    /// A player at `S(0)`.
    ///
    /// # Errors
    /// [`Refused`] for a replay of another game, or of a match that the game refuses.
    pub fn new(replay: Replay, factory: &dyn RuntimeFactory) -> Result<ReplayPlayer, Refused> {
        check_identity(&replay, factory)?;
        let stepper = Stepper::new(factory.create(replay.descriptor()).map_err(Refused::Create)?);
        Ok(ReplayPlayer { replay, stepper, start: Vec::new() })
    }

    /// The replay.
    pub fn replay(&self) -> &Replay {
        &self.replay
    }

    /// The present state's tick.
    pub fn tick(&self) -> Tick {
        self.stepper.tick()
    }

    /// How many ticks were stepped since the player was made.
    pub fn steps(&self) -> u64 {
        self.stepper.steps()
    }

    /// Goes to `S(tick)`.
    ///
    /// # Errors
    /// [`SeekError`]; the present is then some state of the replay, which [`ReplayPlayer::tick`] names.
    pub fn seek(&mut self, tick: Tick) -> Result<(), SeekError> {
        let last = self.replay.ticks();
        if tick > last {
            return Err(SeekError::Beyond { tick, last });
        }
        self.keep_start()?;
        let (from, number) = match self.replay.key_frame_before(tick) {
            Some((from, number)) => (from, Some(number)),
            None => (Tick::ZERO, None),
        };
        let is_nearer = (from..=tick).contains(&self.tick());
        if !is_nearer {
            self.jump(from, number)?;
        }
        Ok(self.stepper.run(&self.replay, tick, |_| Keep::NOTHING, |_| {})?)
    }

    fn jump(&mut self, to: Tick, number: Option<usize>) -> Result<(), SeekError> {
        let hydrate = |error| SeekError::Hydrate { tick: to, error };
        match number {
            None => self.stepper.hydrate(to, &self.start).map_err(hydrate),
            Some(number) => {
                let state = self.replay.key_frame_state(number).ok_or(SeekError::KeyFrame { tick: to })?;
                self.stepper.hydrate(to, &state).map_err(hydrate)
            }
        }
    }

    /// Keeps `S(0)` before the first step leaves it.
    fn keep_start(&mut self) -> Result<(), SeekError> {
        if !self.start.is_empty() || self.tick() != Tick::ZERO {
            return Ok(());
        }
        let kept = self.stepper.keep(Keep::CHECKPOINT)?.kept.first().and_then(|kept| kept.checkpoint);
        let checkpoint = kept.ok_or(AdvanceError::NotCurrent { first: Tick::ZERO, current: Tick::ZERO })?;
        let runtime = self.stepper.runtime_mut();
        loop {
            let offset = self.start.len() as u64;
            let total = runtime.export(checkpoint, offset, EXPORT_BYTES, &mut self.start)?;
            if self.start.len() as u64 >= total || self.start.len() as u64 == offset {
                break;
            }
        }
        Ok(runtime.release(checkpoint)?)
    }

    /// The present state's checksum.
    ///
    /// # Errors
    /// [`AdvanceError`] when the state can't be captured.
    pub fn checksum(&mut self) -> Result<Checksum, AdvanceError> {
        let tick = self.tick();
        let kept = self.stepper.keep(Keep::CHECKSUM)?.kept.first().and_then(|kept| kept.checksum);
        kept.ok_or(AdvanceError::NotCurrent { first: tick, current: tick })
    }

    /// What the game shows of the present state; nothing where it does not project, or faults while it does (K9).
    ///
    /// # Errors
    /// [`AdvanceError`] when the state can't be read.
    pub fn projection(&mut self) -> Result<&[u8], AdvanceError> {
        if !self.stepper.runtime_mut().capabilities().projection {
            return Ok(&[]);
        }
        let output = self.stepper.keep(Keep::PROJECTION)?;
        Ok(output.kept.first().and_then(|kept| output.projection(kept)).unwrap_or_default())
    }
}
