//! The hydration check: an instance that is made of another's bytes goes on exactly as its donor does.

use retick_core::identity::MatchDescriptor;
use retick_core::runtime::{Keep, RuntimeFactory};
use retick_core::seat::Seat;
use retick_core::tick::Tick;

use super::fault::expect;
use super::lane::{Game, Lane, check_emitted, check_moved};
use super::{Compared, GameFault, Premise};
use crate::environment::MACHINES;

/// What a hydration check did.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct HydrationProof {
    /// Fresh instances that were hydrated.
    pub hydrations: u64,
    /// States that were compared.
    pub states: u64,
}

/// Plays `ticks` ticks. At every state whose tick is a multiple of `every_ticks`, a fresh instance takes the state's bytes and
/// plays beside the donor from there on; every state is compared, the one right after the hydration and all that follow it.
///
/// # Errors
/// [`GameFault::NotHydrated`] names the state, [`GameFault::Differs`] the state and byte, [`GameFault::EventsDiffer`] the tick;
/// [`GameFault::PremiseNotMet`] says that nothing moved or was hydrated; the others say why the game can't be played.
pub fn check_hydration(
    factory: &dyn RuntimeFactory,
    descriptor: &MatchDescriptor,
    script: impl Fn(Seat, Tick) -> Vec<u8>,
    ticks: u64,
    every_ticks: u64,
) -> Result<HydrationProof, GameFault> {
    if ticks == 0 || every_ticks == 0 {
        return Err(Premise::Work { ticks }.into());
    }
    let game = Game { factory, descriptor, script: &script };
    let [donors, followers] = MACHINES;
    let mut donor = Lane::new(game, donors)?;
    let start = donor.bytes()?;
    let (mut follower, mut hydrated) = (Lane::new(game, followers)?, Tick::ZERO);
    let mut proof = HydrationProof::default();
    for tick in 0..=ticks {
        let end = Tick::new(tick);
        donor.play(end, Keep::NOTHING)?;
        follower.play(end, Keep::NOTHING)?;
        let emitted = check_emitted(Tick::ZERO, &donor.emitted(), &follower.emitted());
        compare(&mut donor, &mut follower, hydrated)?;
        emitted?;
        proof.states += 1;
        if tick.is_multiple_of(every_ticks) {
            follower = Lane::new(game, followers)?;
            let taken = follower.runtime.hydrate(end, &donor.bytes()?);
            taken.map_err(|error| GameFault::NotHydrated { tick: end, error })?;
            hydrated = end;
            compare(&mut donor, &mut follower, hydrated)?;
            proof.hydrations += 1;
        }
    }
    check_moved(&start, &donor.bytes()?, ticks)?;
    Ok(proof)
}

fn compare(donor: &mut Lane<'_>, follower: &mut Lane<'_>, hydrated: Tick) -> Result<(), GameFault> {
    let (expected, found) = (donor.checksum()?, follower.checksum()?);
    if expected.is_some() && expected == found {
        return Ok(());
    }
    let (tick, located) = (donor.runtime.tick(), donor.difference(follower)?);
    Err(GameFault::differs(Compared::Hydrated { at: hydrated }, tick, located))
}

/// [`check_hydration`], for tests.
///
/// # Panics
/// With the fault.
#[track_caller]
pub fn assert_hydration(
    factory: &dyn RuntimeFactory,
    descriptor: &MatchDescriptor,
    script: impl Fn(Seat, Tick) -> Vec<u8>,
    ticks: u64,
    every_ticks: u64,
) -> HydrationProof {
    expect(check_hydration(factory, descriptor, script, ticks, every_ticks))
}
