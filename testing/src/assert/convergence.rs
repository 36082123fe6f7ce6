//! Convergence (T1): two clients of one room, which predict and roll back, and every confirmed state of both.

use std::sync::Arc;

use retick_core::digest::Checksum;
use retick_core::identity::MatchDescriptor;
use retick_core::runtime::RuntimeFactory;
use retick_core::seat::Seat;
use retick_core::session::Retention;
use retick_core::tick::Tick;

use super::fault::expect;
use super::watch::{self, Watch};
use super::{GameFault, Premise};
use crate::sim::{MatchSetup, Script};

/// What two clients of one room did.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ConvergenceProof {
    /// States of each client's that were compared: `S(0)` to the last.
    pub states: u64,
    /// Rollbacks of each client.
    pub rollbacks: [u64; 2],
    /// Frames in which each seat's own input stands.
    pub inputs: [u64; 2],
    /// Checksum reports of each client that reached the room.
    pub reports: [u64; 2],
    /// Checksum of the last state.
    pub last: Checksum,
}

/// Plays `ticks` ticks of a match in a room with two real clients, six ticks of round trip away, and compares every confirmed state of
/// both, from `S(0)` to the last, with each other and with a fold of the authority's log; then every invariant of networked matches.
/// The clients have a factory each, and play on two [machines](crate::environment): two builds of one game, which have one identity.
///
/// # Errors
/// [`GameFault::Differs`] names the first state and byte, [`GameFault::Breaches`] the invariants; [`GameFault::PremiseNotMet`] says
/// what was missing: two seats, movement, a rollback of each client, inputs of both seats, a report of every state.
pub fn check_two_client_convergence(
    factories: [Arc<dyn RuntimeFactory>; 2],
    descriptor: &MatchDescriptor,
    script: &(impl Fn(Seat, Tick) -> Vec<u8> + Clone + Send + Sync + 'static),
    ticks: u64,
) -> Result<ConvergenceProof, GameFault> {
    let script: Script = Arc::new(script.clone());
    let setup = match_of(&factories[0], descriptor, 2)?.checksum_cadence_ticks(1);
    let rate = descriptor.tick_rate();
    let [one, other] = factories.clone().map(|factory| watch::player(&script, rate).factory(factory));
    check_convergence_of(setup.client(one).client(other), ticks)
}

/// [`check_two_client_convergence`] of one factory, for tests.
///
/// # Panics
/// With the fault.
#[track_caller]
pub fn assert_two_client_convergence<F: RuntimeFactory + Clone + 'static>(
    factory: &F,
    descriptor: &MatchDescriptor,
    script: &(impl Fn(Seat, Tick) -> Vec<u8> + Clone + Send + Sync + 'static),
    ticks: u64,
) -> ConvergenceProof {
    let factory: Arc<dyn RuntimeFactory> = Arc::new(factory.clone());
    expect(check_two_client_convergence([factory.clone(), factory], descriptor, script, ticks))
}

/// The setup of a proof's match, before its players.
pub(super) fn match_of(
    factory: &Arc<dyn RuntimeFactory>,
    descriptor: &MatchDescriptor,
    needed: usize,
) -> Result<MatchSetup, GameFault> {
    let found = descriptor.seats().count();
    if found < needed {
        return Err(Premise::Seats { needed, found }.into());
    }
    // What can't be created is no panic of a room or a client.
    factory.create(descriptor)?;
    let begun =
        MatchDescriptor::new(factory.manifest(), descriptor.config().clone(), *descriptor.seed(), descriptor.seats());
    if begun != *descriptor {
        return Err(Premise::Descriptor.into());
    }
    Ok(MatchSetup::of(factory.clone(), descriptor).strict().hard_tolerance_ticks(watch::TOLERANCE_TICKS))
}

/// [`check_two_client_convergence`] in a match of any setup whose first two seats have real clients, on any network.
///
/// # Errors
/// As there. A report is due as often as the setup says.
pub fn check_convergence_of(mut setup: MatchSetup, ticks: u64) -> Result<ConvergenceProof, GameFault> {
    if ticks == 0 {
        return Err(Premise::Movement { ticks }.into());
    }
    setup.keep_states(Retention::Window);
    let mut watch = Watch::new(setup.factory.clone(), 2, 0);
    let played = watch.play(setup, ticks)?;
    let end = Tick::new(ticks);
    let inputs = [played.check_presence(0, Tick::ZERO, end)?, played.check_presence(1, Tick::ZERO, end)?];
    let rollbacks = [played.check_rollbacks(0, ticks)?, played.check_rollbacks(1, ticks)?];
    let reports = [played.check_reports(0)?, played.check_reports(1)?];
    let states = [0, 1].map(|seat| watch.states(seat).map_or(0, |(states, _)| states));
    let states = states[0].min(states[1]);
    let last = played.last.ok_or(Premise::Movement { ticks })?;
    Ok(ConvergenceProof { states, rollbacks, inputs, reports, last })
}
