//! The rollback check: an instance that mispredicts and rolls back in every tick, beside one that never does.

use std::collections::VecDeque;

use retick_core::identity::MatchDescriptor;
use retick_core::runtime::{Checkpoint, Keep, Kept, RuntimeFactory};
use retick_core::seat::Seat;
use retick_core::tick::Tick;

use super::fault::expect;
use super::lane::{Game, Lane, check_emitted, check_moved};
use super::names::Located;
use super::{Compared, Emitted, GameFault, Premise};
use crate::environment::MACHINES;

/// What a synctest did.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct SynctestProof {
    /// Checkpoints restored.
    pub rollbacks: u64,
    /// Ticks resimulated, each compared.
    pub resimulated_ticks: u64,
    /// Ticks that were first played with other inputs than the right ones.
    pub mispredicted_ticks: u64,
}

/// What is kept of a state in both lanes.
const KEPT: Keep = Keep::CHECKPOINT;

struct Synctest<'a> {
    game: Game<'a>,
    depth: u64,
    /// Never rolled back.
    straight: Lane<'a>,
    straight_kept: VecDeque<Kept>,
    /// What its last ticks emitted.
    straight_emitted: Vec<Emitted>,
    /// Rolled back in every tick.
    rolled: Lane<'a>,
    rolled_kept: VecDeque<Kept>,
    proof: SynctestProof,
}

impl<'a> Synctest<'a> {
    fn new(game: Game<'a>, depth: u64) -> Result<Synctest<'a>, GameFault> {
        let (mut straight, mut rolled) = (Lane::new(game, MACHINES[0])?, Lane::new(game, MACHINES[1])?);
        let straight_kept = keep_current(&mut straight)?;
        let rolled_kept = keep_current(&mut rolled)?;
        let proof = SynctestProof::default();
        let straight_emitted = Vec::new();
        Ok(Synctest { game, depth, straight, straight_kept, straight_emitted, rolled, rolled_kept, proof })
    }

    /// Plays `tick` wrongly, goes back `depth` ticks from the state after it, and plays them again.
    fn play(&mut self, tick: Tick) -> Result<(), GameFault> {
        let end = tick.saturating_add(1);
        self.straight.play(end, KEPT | Keep::CHECKSUM)?;
        self.straight_emitted.extend(self.straight.emitted());
        self.straight_kept.extend(self.straight.output.kept.drain(..));
        self.mispredict(tick, end)?;
        let restored = end.saturating_sub(self.depth);
        self.restore(restored)?;
        self.rolled.play(end, KEPT | Keep::CHECKSUM)?;
        self.proof.resimulated_ticks += end.since(restored);
        let emitted = self.rolled.emitted();
        self.rolled_kept.extend(self.rolled.output.kept.drain(..));
        self.compare(restored)?;
        check_emitted(restored, &self.straight_emitted, &emitted)?;
        self.release_before(end.saturating_add(1).saturating_sub(self.depth))
    }

    /// Plays `tick` with the inputs of the tick before it.
    fn mispredict(&mut self, tick: Tick, end: Tick) -> Result<(), GameFault> {
        let before = |tick: Tick| tick.saturating_sub(1);
        let mut seats = self.game.descriptor.seats().seats();
        let wrong = seats.any(|seat| (self.game.script)(seat, tick) != (self.game.script)(seat, before(tick)));
        self.proof.mispredicted_ticks += u64::from(wrong);
        Ok(self.rolled.play_as(end, Keep::NOTHING, before)?)
    }

    fn restore(&mut self, tick: Tick) -> Result<(), GameFault> {
        while self.rolled_kept.back().is_some_and(|kept| kept.tick > tick) {
            self.rolled_kept.pop_back();
        }
        let checkpoint = self.rolled_kept.back().and_then(|kept| kept.checkpoint);
        let differs = |located| GameFault::differs(Compared::Restored, tick, located);
        let checkpoint = checkpoint.ok_or_else(|| differs(Located::default()))?;
        self.rolled.runtime.restore(checkpoint)?;
        self.proof.rollbacks += 1;
        if self.rolled.checksum()? == self.straight_at(tick).and_then(|kept| kept.checksum) {
            return Ok(());
        }
        Err(differs(self.difference(tick)?))
    }

    /// Compares every resimulated state, the first and the last included.
    fn compare(&mut self, restored: Tick) -> Result<(), GameFault> {
        let resimulated: Vec<Kept> = self.rolled_kept.iter().filter(|kept| kept.tick > restored).cloned().collect();
        for kept in resimulated {
            let straight = self.straight_at(kept.tick).and_then(|straight| straight.checksum);
            if straight.is_none() || straight != kept.checksum {
                let difference = self.difference(kept.tick)?;
                let compared = Compared::Resimulated { from: restored };
                return Err(GameFault::differs(compared, kept.tick, difference));
            }
        }
        Ok(())
    }

    fn straight_at(&self, tick: Tick) -> Option<&Kept> {
        self.straight_kept.iter().find(|kept| kept.tick == tick)
    }

    fn difference(&mut self, tick: Tick) -> Result<Located, GameFault> {
        let straight = handle_at(&self.straight_kept, tick);
        let rolled = handle_at(&self.rolled_kept, tick);
        let (Some(straight), Some(rolled)) = (straight, rolled) else { return Ok(Located::default()) };
        Ok(Located::between(&self.straight.bytes_of(straight)?, &self.rolled.bytes_of(rolled)?))
    }

    /// Releases what no coming rollback returns to.
    fn release_before(&mut self, oldest: Tick) -> Result<(), GameFault> {
        self.straight_emitted.retain(|event| event.key.tick >= oldest);
        let lanes = [(&mut self.straight, &mut self.straight_kept), (&mut self.rolled, &mut self.rolled_kept)];
        for (lane, kept) in lanes {
            while kept.front().is_some_and(|kept| kept.tick < oldest) {
                if let Some(checkpoint) = kept.pop_front().and_then(|kept| kept.checkpoint) {
                    lane.runtime.release(checkpoint)?;
                }
            }
        }
        Ok(())
    }
}

fn handle_at(kept: &VecDeque<Kept>, tick: Tick) -> Option<Checkpoint> {
    kept.iter().find(|kept| kept.tick == tick)?.checkpoint
}

fn keep_current(lane: &mut Lane<'_>) -> Result<VecDeque<Kept>, GameFault> {
    lane.output.clear();
    lane.runtime.keep(KEPT | Keep::CHECKSUM, &mut lane.output)?;
    Ok(lane.output.kept.drain(..).collect())
}

/// Plays `ticks` ticks in two instances. One of them plays every tick wrongly first, with the inputs of the tick before, then
/// restores the state `depth` ticks back and resimulates; every restored and resimulated state must be the other's (T1), and every
/// resimulated tick must emit the other's presentation events (K10).
///
/// # Errors
/// [`GameFault::Differs`] names the first state and byte that differ, [`GameFault::EventsDiffer`] the first tick whose events do;
/// [`GameFault::PremiseNotMet`] says that nothing moved, was rolled back or was mispredicted; the others say why the game can't be
/// played.
pub fn check_synctest(
    factory: &dyn RuntimeFactory,
    descriptor: &MatchDescriptor,
    script: impl Fn(Seat, Tick) -> Vec<u8>,
    ticks: u64,
    depth: u64,
) -> Result<SynctestProof, GameFault> {
    if ticks == 0 || depth == 0 {
        return Err(Premise::Work { ticks }.into());
    }
    let game = Game { factory, descriptor, script: &script };
    let mut synctest = Synctest::new(game, depth)?;
    let start = synctest.straight.bytes()?;
    (0..ticks).try_for_each(|tick| synctest.play(Tick::new(tick)))?;
    check_moved(&start, &synctest.straight.bytes()?, ticks)?;
    let has_inputs = !factory.manifest().input_schema().fields().is_empty();
    if has_inputs && synctest.proof.mispredicted_ticks == 0 {
        return Err(Premise::Misprediction { ticks }.into());
    }
    Ok(synctest.proof)
}

/// [`check_synctest`], for tests.
///
/// # Panics
/// With the fault.
#[track_caller]
pub fn synctest(
    factory: &dyn RuntimeFactory,
    descriptor: &MatchDescriptor,
    script: impl Fn(Seat, Tick) -> Vec<u8>,
    ticks: u64,
    depth: u64,
) -> SynctestProof {
    expect(check_synctest(factory, descriptor, script, ticks, depth))
}
