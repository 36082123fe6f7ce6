//! The late join (T1): somebody comes when the match runs, is built from a state that another client donates, and plays on as if it
//! had been there from the start. On the real room and clients, and the virtual clock.

use std::sync::Arc;

use retick_core::client::ClientEvent;
use retick_core::identity::MatchDescriptor;
use retick_core::runtime::RuntimeFactory;
use retick_core::seat::Seat;
use retick_core::session::Retention;
use retick_core::tick::Tick;

use super::convergence::match_of;
use super::fault::expect;
use super::watch::{self, Watch};
use super::{GameFault, Premise};
use crate::sim::{ClientSetup, MatchSetup, Script};

/// Players who are there from the start, in the assertion; with two, the donated state is held against another one's report.
const MOST_PRESENT: usize = 2;

/// What a late join did.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct LateJoinProof {
    /// The state from which the joiner was built: `n` for `S(n)`.
    pub tick: Tick,
    /// Whether another seat than the donor's had reported it.
    pub verified: bool,
    /// States of the joiner's that were compared, from that one to the last.
    pub states: u64,
    /// Frames in which the joiner's own input stands.
    pub inputs: u64,
}

/// Plays `ticks` ticks of `setup`'s match; at authority tick `at` one more player comes. Real clients must be there from the start, who
/// can donate, and the match must go on behind the join. Every confirmed state of all of them is compared with each other and with a
/// fold of the authority's log.
///
/// # Errors
/// [`GameFault::Differs`] names the first state and byte, [`GameFault::Breaches`] the invariants; [`GameFault::PremiseNotMet`] says
/// what was missing: movement, a snapshot, the joiner's inputs.
pub fn check_late_join_hydration(
    mut setup: MatchSetup,
    mut joiner: ClientSetup,
    at: u64,
    ticks: u64,
) -> Result<LateJoinProof, GameFault> {
    // However little it misses, it is built from a state.
    setup.donation.replay_millis = 0;
    setup.keep_states(Retention::Window);
    joiner.config.retention = Retention::Window;
    let present = setup.players.len();
    let mut watch = Watch::new(setup.factory.clone(), present, 1);
    let played = watch.play(setup.late_client(at, joiner), ticks)?;
    let record = played.report.clients.last();
    let hydrated = record.into_iter().flat_map(|record| &record.events).find_map(|(_, event)| match event {
        ClientEvent::Hydrated { tick, verified } => Some((*tick, *verified)),
        _ => None,
    });
    let Some((tick, verified)) = hydrated else {
        return Err(Premise::Hydration { end: record.and_then(|record| record.end.clone()) }.into());
    };
    // It may have built S(0) before the snapshot came.
    let Some((states, first)) = watch.states(present).filter(|(_, first)| *first <= tick) else {
        return Err(Premise::Readable { seat: watch::seat_of(present), tick }.into());
    };
    let states = states - tick.since(first);
    // It takes part a while after it came.
    let joiner = watch::seat_of(present);
    let own = |frame: &&retick_core::frame::Frame| frame.input(joiner).is_some();
    let first_input = played.report.frames.iter().find(own).map_or(Tick::new(ticks), |frame| frame.tick());
    let inputs = played.check_presence(present, first_input, Tick::new(ticks))?;
    Ok(LateJoinProof { tick, verified, states, inputs })
}

/// [`check_late_join_hydration`] for up to two players and one who comes at authority tick `at`, on links of three ticks, for tests.
///
/// # Panics
/// With the fault.
#[track_caller]
pub fn assert_late_join_hydration<F: RuntimeFactory + Clone + 'static>(
    factory: &F,
    descriptor: &MatchDescriptor,
    script: &(impl Fn(Seat, Tick) -> Vec<u8> + Clone + Send + Sync + 'static),
    ticks: u64,
    at: u64,
) -> LateJoinProof {
    let factory: Arc<dyn RuntimeFactory> = Arc::new(factory.clone());
    expect(late_join([factory.clone(), factory], descriptor, &(Arc::new(script.clone()) as Script), ticks, at))
}

/// A late join in which the joiner has a factory of its own, the second one.
pub(super) fn late_join(
    [factory, joins]: [Arc<dyn RuntimeFactory>; 2],
    descriptor: &MatchDescriptor,
    script: &Script,
    ticks: u64,
    at: u64,
) -> Result<LateJoinProof, GameFault> {
    let setup = match_of(&factory, descriptor, 2)?;
    let player = || watch::player(script, descriptor.tick_rate());
    let present = MOST_PRESENT.min(descriptor.seats().count() - 1);
    let setup = (0..present).fold(setup, |setup, _| setup.client(player()));
    check_late_join_hydration(setup, player().factory(joins), at, ticks)
}
