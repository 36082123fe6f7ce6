//! The determinism check: two instances, the same inputs, the same states.

use retick_core::digest::Checksum;
use retick_core::identity::MatchDescriptor;
use retick_core::runtime::{Keep, RuntimeFactory};
use retick_core::seat::Seat;
use retick_core::tick::Tick;

use super::fault::expect;
use super::lane::{Game, Lane, check_emitted, check_moved};
use super::{Compared, GameFault};
use crate::environment::MACHINES;

/// What a determinism check compared.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct DeterminismProof {
    /// States that were compared: `S(0)` to the last.
    pub states: u64,
    /// Checksum of the last one.
    pub last: Checksum,
}

/// Plays `ticks` ticks in two instances, side by side, and compares every state from `S(0)` to the last (T1), and the presentation
/// events of every tick (K10). If the game projects, the first instance draws every state and the other none, so that what is drawn
/// can't reach a state unseen (K9).
///
/// # Errors
/// [`GameFault::Differs`] names the first state and byte that differ, [`GameFault::EventsDiffer`] the first tick whose events do;
/// [`GameFault::PremiseNotMet`] says that nothing moved; the others say why the game can't be played.
pub fn check_deterministic(
    factory: &dyn RuntimeFactory,
    descriptor: &MatchDescriptor,
    script: impl Fn(Seat, Tick) -> Vec<u8>,
    ticks: u64,
) -> Result<DeterminismProof, GameFault> {
    compare([factory, factory], descriptor, script, ticks, Drawn::First)
}

/// As [`check_deterministic`], with a factory for each instance: two builds of one game, which have one identity. The two
/// instances are played on two [`MACHINES`], so that what a game asks its machine for differs. Nothing is drawn.
///
/// # Errors
/// As [`check_deterministic`].
pub fn check_convergence(
    factories: [&dyn RuntimeFactory; 2],
    descriptor: &MatchDescriptor,
    script: impl Fn(Seat, Tick) -> Vec<u8>,
    ticks: u64,
) -> Result<DeterminismProof, GameFault> {
    compare(factories, descriptor, script, ticks, Drawn::Neither)
}

/// Which instance draws its states.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Drawn {
    First,
    Neither,
}

fn compare(
    factories: [&dyn RuntimeFactory; 2],
    descriptor: &MatchDescriptor,
    script: impl Fn(Seat, Tick) -> Vec<u8>,
    ticks: u64,
    drawn: Drawn,
) -> Result<DeterminismProof, GameFault> {
    let [mut one, mut other] = {
        let lane = |index: usize| {
            let game = Game { factory: factories[index], descriptor, script: &script };
            Lane::new(game, MACHINES[index])
        };
        [lane(0)?, lane(1)?]
    };
    let start = one.bytes()?;
    let draws = drawn == Drawn::First && one.runtime.capabilities().projection;
    let keep = if draws { Keep::PROJECTION } else { Keep::NOTHING };
    for tick in 0..=ticks {
        let end = Tick::new(tick);
        one.play(end, keep)?;
        other.play(end, Keep::NOTHING)?;
        let emitted = check_emitted(Tick::ZERO, &one.emitted(), &other.emitted());
        let checksums = (one.checksum()?, other.checksum()?);
        if checksums.0.is_none() || checksums.0 != checksums.1 {
            return Err(GameFault::differs(Compared::Instances, end, one.difference(&mut other)?));
        }
        emitted?;
    }
    let end = one.bytes()?;
    check_moved(&start, &end, ticks)?;
    Ok(DeterminismProof { states: ticks + 1, last: Checksum::of(&end) })
}

/// [`check_deterministic`], for tests.
///
/// # Panics
/// With the fault.
#[track_caller]
pub fn assert_deterministic(
    factory: &dyn RuntimeFactory,
    descriptor: &MatchDescriptor,
    script: impl Fn(Seat, Tick) -> Vec<u8>,
    ticks: u64,
) -> DeterminismProof {
    expect(check_deterministic(factory, descriptor, script, ticks))
}
