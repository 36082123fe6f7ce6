//! Verification: re-simulate and compare every checksum (R2).

use alloc::vec::Vec;

use super::error::ReplayEnd;
use super::expected::Expected;
use super::file::Replay;
use super::refused::Refused;
use super::stepper::Stepper;
use crate::digest::Checksum;
use crate::runtime::{AdvanceError, Keep, RuntimeFactory};
use crate::tick::Tick;

/// A recorded checksum that re-simulation does not give.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ChecksumMismatch {
    /// The state: `n` for `S(n)`.
    pub tick: Tick,
    /// What the replay states.
    pub expected: Checksum,
    /// What re-simulation gives.
    pub found: Checksum,
}

/// What verification says of a replay (R2). Only [`Verdict::Verified`] is a success.
#[must_use]
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Verdict {
    /// It is complete, and every checksum is what re-simulation gives.
    Verified {
        /// How many ticks were re-simulated: the last state that was reached is `S(ticks)`, and `final_checksum` its checksum.
        ticks: Tick,
        /// Checksums compared.
        checksums: usize,
        /// Checksum of the last state, `S(ticks)`.
        final_checksum: Checksum,
    },
    /// Some checksum differs.
    Diverged {
        /// The last state before the first difference whose checksum was compared and equal.
        last_good: Option<Tick>,
        /// The first state whose checksum differs.
        first_bad: ChecksumMismatch,
        /// Later states whose checksums differ too.
        later_bad: Vec<ChecksumMismatch>,
        /// Later states whose checksums are equal again: then it is a checksum that was changed, not the match.
        later_good: Vec<Tick>,
    },
    /// Every checksum that is there is right, but the file is cut off or damaged.
    Incomplete {
        /// Ticks that are usable.
        ticks: Tick,
        /// Checksums compared.
        checksums: usize,
        /// How the file ends.
        end: ReplayEnd,
    },
    /// There is no checksum to compare.
    Unverifiable {
        /// Ticks that could be re-simulated.
        ticks: Tick,
    },
    /// It is not a replay of this game, or not the one that is expected.
    Refused(Refused),
}

/// Verifies the replay in `bytes` against a game.
pub fn verify(bytes: &[u8], factory: &dyn RuntimeFactory) -> Verdict {
    verify_expecting(bytes, factory, &Expected::default())
}

/// Verifies the replay in `bytes` against a game and what else the caller knows of it.
pub fn verify_expecting(bytes: &[u8], factory: &dyn RuntimeFactory, expected: &Expected) -> Verdict {
    match Verifier::new(bytes, factory, expected) {
        Ok(verifier) => verifier.finish(),
        Err(refused) => Verdict::Refused(refused),
    }
}

/// A verification that goes on for as many ticks at a time as the caller likes. Several may be under way at once: they share
/// nothing.
///
/// ```
/// # mod race {
/// #     include!(concat!(env!("CARGO_MANIFEST_DIR"), "/doc/race.rs"));
/// # }
/// # use race::{descriptor, factory, frame};
/// use retick_core::replay::{Expected, Recorder, Verdict, Verifier};
/// use retick_core::runtime::RuntimeFactory;
///
/// let mut recorder = Recorder::new(factory().manifest(), &descriptor());
/// (0..5).for_each(|tick| recorder.push_frame(&frame(tick, [10, 20])));
/// recorder.finish();
/// let file = recorder.take_bytes();
///
/// let mut verifier = Verifier::new(&file, &factory(), &Expected::default())?;
/// while verifier.step(2) {
///     println!("{} of {} ticks", verifier.tick(), verifier.replay().ticks());
/// }
/// // Nobody recorded a checksum.
/// assert!(matches!(verifier.finish(), Verdict::Unverifiable { .. }));
/// # Ok::<(), retick_core::replay::Refused>(())
/// ```
#[derive(Debug)]
pub struct Verifier {
    replay: Replay,
    stepper: Stepper,
    /// The states whose checksum is wanted, in order.
    wanted: Vec<Tick>,
    computed: Vec<(Tick, Checksum)>,
    fault: Option<AdvanceError>,
}

impl Verifier {
    /// Reads the replay, and holds everything against the game and `expected` that takes no stepping: format, identity, config,
    /// match, sections, frame chain, signature.
    ///
    /// # Errors
    /// [`Refused`], before anything was stepped.
    pub fn new(bytes: &[u8], factory: &dyn RuntimeFactory, expected: &Expected) -> Result<Verifier, Refused> {
        let (mut replay, mut blocks) = Replay::open(bytes)?;
        check_identity(&replay, factory)?;
        expected.check_header(&replay)?;
        replay.read(&mut blocks)?;
        replay.check_chain()?;
        expected.check_signature(&replay)?;
        let mut stepper = Stepper::new(factory.create(replay.descriptor()).map_err(Refused::Create)?);
        let stated = replay.checksums().iter().map(|(tick, _)| *tick).chain(replay.key_frames());
        let mut wanted: Vec<Tick> = stated.chain([replay.ticks()]).collect();
        wanted.sort_unstable();
        wanted.dedup();
        let mut computed = Vec::new();
        if wanted.first() == Some(&Tick::ZERO) {
            let kept = stepper.keep(Keep::CHECKSUM).map_err(Refused::Fault)?;
            computed.extend(kept.kept.iter().filter_map(|kept| Some((kept.tick, kept.checksum?))));
        }
        Ok(Verifier { replay, stepper, wanted, computed, fault: None })
    }

    /// The replay, as far as it could be read.
    pub fn replay(&self) -> &Replay {
        &self.replay
    }

    /// The state that was reached.
    pub fn tick(&self) -> Tick {
        self.stepper.tick()
    }

    /// Steps through at most so many further ticks, and says whether any are left.
    pub fn step(&mut self, ticks: u64) -> bool {
        let to = self.tick().saturating_add(ticks).min(self.replay.ticks());
        let Verifier { replay, stepper, wanted, computed, fault } = self;
        if fault.is_some() {
            return false;
        }
        let keep = |tick: Tick| if wanted.binary_search(&tick).is_ok() { Keep::CHECKSUM } else { Keep::NOTHING };
        let done = stepper.run(replay, to, keep, |kept| computed.extend(kept.checksum.map(|sum| (kept.tick, sum))));
        *fault = done.err();
        fault.is_none() && to < self.replay.ticks()
    }

    /// Steps through what is left, and says what the replay is worth.
    pub fn finish(mut self) -> Verdict {
        while self.step(u64::MAX) {}
        let verdict = self.compare();
        match (verdict, self.fault.take()) {
            // A match that went another way may well fault; where it went there is what matters.
            (Verdict::Diverged { last_good, first_bad, later_bad, later_good }, _) => {
                Verdict::Diverged { last_good, first_bad, later_bad, later_good }
            }
            (_, Some(fault)) => Verdict::Refused(Refused::Fault(fault)),
            (verdict, None) => self.wrong_key_frame().map_or(verdict, Verdict::Refused),
        }
    }

    fn computed(&self, tick: Tick) -> Option<Checksum> {
        let index = self.computed.binary_search_by_key(&tick, |(at, _)| *at).ok()?;
        self.computed.get(index).map(|(_, checksum)| *checksum)
    }

    fn compare(&self) -> Verdict {
        let (mut good, mut bad) = (Vec::new(), Vec::new());
        let mut stated = self.replay.checksums().to_vec();
        stated.sort_by_key(|(tick, _)| *tick);
        for (tick, expected) in stated {
            match self.computed(tick) {
                Some(found) if found == expected => good.push(tick),
                Some(found) => bad.push(ChecksumMismatch { tick, expected, found }),
                // A checksum of a state beyond the frames can't be compared; the file is then not complete either.
                None => {}
            }
        }
        let (ticks, checksums, end) = (self.replay.ticks(), good.len(), self.replay.end());
        if let Some(first_bad) = bad.first().copied() {
            bad.remove(0);
            let last_good = good.iter().copied().filter(|tick| *tick < first_bad.tick).max();
            let later_good = good.into_iter().filter(|tick| *tick > first_bad.tick).collect();
            return Verdict::Diverged { last_good, first_bad, later_bad: bad, later_good };
        }
        if end != ReplayEnd::Complete || checksums < self.replay.checksums().len() {
            return Verdict::Incomplete { ticks, checksums, end };
        }
        match self.computed(ticks) {
            Some(final_checksum) if checksums > 0 => Verdict::Verified { ticks, checksums, final_checksum },
            _ => Verdict::Unverifiable { ticks },
        }
    }

    /// The first key frame that is not the state that re-simulation gives.
    fn wrong_key_frame(&self) -> Option<Refused> {
        self.replay.key_frame_checksums().enumerate().find_map(|(number, (tick, stated))| {
            let found = self.computed(tick)?;
            let held = self.replay.key_frame_state(number).map(|_| stated);
            (held != Some(found)).then_some(Refused::KeyFrame { tick, expected: held, found })
        })
    }
}

/// Refuses a replay of another game.
pub(super) fn check_identity(replay: &Replay, factory: &dyn RuntimeFactory) -> Result<(), Refused> {
    let (recorded, loaded) = (replay.manifest(), factory.manifest());
    if recorded.identity() == loaded.identity() { Ok(()) } else { Err(Refused::of_identity(recorded, loaded)) }
}
