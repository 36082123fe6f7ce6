//! Verification: re-simulate and compare every checksum (R2).

use alloc::vec::Vec;

use super::format::{Replay, ReplayEnd, ReplayError};
use crate::digest::{Checksum, Digest, Identity};
use crate::frame::FrameChain;
use crate::identity::IdentityPart;
use crate::runtime::{AdvanceError, CreateError, Keep, Output, Runtime, RuntimeFactory, StepBatch};
use crate::tick::Tick;

/// Ticks stepped in one batch.
const TICKS_PER_BATCH: usize = 64;

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
    /// It is not a replay of this game; no tick was stepped, except for the last two reasons.
    Refused(Refused),
}

/// Why a replay was refused.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum Refused {
    /// It can't be read.
    #[error("{0}")]
    Unreadable(#[from] ReplayError),
    /// It was recorded with another identity.
    #[error("the replay is of identity {expected}, but {found} is loaded; they differ in {part:?}")]
    Identity {
        /// The replay's.
        expected: Identity,
        /// The loaded game's.
        found: Identity,
        /// The first part that differs.
        part: Option<IdentityPart>,
    },
    /// There is no runtime for its match.
    #[error("{0}")]
    Create(CreateError),
    /// The game faults while it is re-simulated, which no confirmed tick of a finished match does.
    #[error("{0}")]
    Fault(AdvanceError),
    /// Every checksum is right, but the frames are not those that the end record vouches for.
    #[error("the frame chain ends in {found}, not {expected}")]
    Chain {
        /// What the end record states.
        expected: Digest,
        /// What the frames give.
        found: Digest,
    },
}

/// Verifies the replay in `bytes` against a game.
pub fn verify(bytes: &[u8], factory: &dyn RuntimeFactory) -> Verdict {
    check(bytes, factory).unwrap_or_else(Verdict::Refused)
}

fn check(bytes: &[u8], factory: &dyn RuntimeFactory) -> Result<Verdict, Refused> {
    let (mut replay, mut records) = Replay::open(bytes).map_err(Refused::Unreadable)?;
    let (recorded, loaded) = (replay.manifest(), factory.manifest());
    if recorded.identity() != loaded.identity() {
        let part = loaded.difference(recorded);
        return Err(Refused::Identity { expected: recorded.identity(), found: loaded.identity(), part });
    }
    let mut runtime = factory.create(replay.descriptor()).map_err(Refused::Create)?;
    replay.read(&mut records);
    let computed = run(&replay, runtime.as_mut()).map_err(Refused::Fault)?;
    let Some((_, final_checksum)) = computed.last().copied() else {
        return Ok(Verdict::Unverifiable { ticks: replay.ticks() });
    };
    let verdict = compare(&replay, &computed, final_checksum);
    match (&verdict, replay.chain_head()) {
        (Verdict::Verified { .. }, Some(expected)) => {
            let found = chain_of(&replay);
            if found == expected { Ok(verdict) } else { Err(Refused::Chain { expected, found }) }
        }
        _ => Ok(verdict),
    }
}

/// The checksums of every state that the replay states one for, and of the last.
fn run(replay: &Replay, runtime: &mut dyn Runtime) -> Result<Vec<(Tick, Checksum)>, AdvanceError> {
    let mut wanted: Vec<Tick> = replay.checksums().iter().map(|(tick, _)| *tick).collect();
    wanted.push(replay.ticks());
    wanted.sort_unstable();
    let wanted = |tick: Tick| wanted.binary_search(&tick).is_ok();
    let schema = runtime.manifest().input_schema().clone();
    let (mut batch, mut output, mut computed) = (StepBatch::default(), Output::default(), Vec::new());
    if wanted(Tick::ZERO) {
        runtime.keep(Keep::CHECKSUM, &mut output)?;
    }
    let mut frames = replay.frames();
    loop {
        batch.reset(runtime.tick());
        for frame in frames.by_ref().take(TICKS_PER_BATCH) {
            let keep = if wanted(frame.tick().saturating_add(1)) { Keep::CHECKSUM } else { Keep::NOTHING };
            batch.push_frame(&frame, &schema, keep);
        }
        if batch.is_empty() {
            break;
        }
        runtime.advance(&batch, &mut output)?;
        computed.extend(output.kept.iter().filter_map(|kept| Some((kept.tick, kept.checksum?))));
        output.clear();
    }
    computed.extend(output.kept.iter().filter_map(|kept| Some((kept.tick, kept.checksum?))));
    Ok(computed)
}

fn compare(replay: &Replay, computed: &[(Tick, Checksum)], final_checksum: Checksum) -> Verdict {
    let (mut good, mut bad) = (Vec::new(), Vec::new());
    for (tick, expected) in replay.checksums().iter().copied() {
        match computed.binary_search_by_key(&tick, |(at, _)| *at).map(|index| computed[index].1) {
            Ok(found) if found == expected => good.push(tick),
            Ok(found) => bad.push(ChecksumMismatch { tick, expected, found }),
            // A checksum of a state beyond the frames can't be compared; the file is then not complete either.
            Err(_) => {}
        }
    }
    let (ticks, checksums) = (replay.ticks(), good.len());
    if let Some(first_bad) = bad.first().copied() {
        bad.remove(0);
        let last_good = good.iter().copied().filter(|tick| *tick < first_bad.tick).max();
        let later_good = good.into_iter().filter(|tick| *tick > first_bad.tick).collect();
        return Verdict::Diverged { last_good, first_bad, later_bad: bad, later_good };
    }
    if replay.end() != ReplayEnd::Complete || checksums < replay.checksums().len() {
        return Verdict::Incomplete { ticks, checksums, end: replay.end() };
    }
    if checksums == 0 {
        Verdict::Unverifiable { ticks }
    } else {
        Verdict::Verified { ticks, checksums, final_checksum }
    }
}

fn chain_of(replay: &Replay) -> Digest {
    let mut chain = FrameChain::new(replay.descriptor());
    replay.frames().for_each(|frame| chain.extend(&frame));
    chain.head()
}
