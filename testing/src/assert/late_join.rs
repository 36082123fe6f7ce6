//! The late join (T1): somebody comes when the match runs, is built from a state that another client donates, and plays on as if it
//! had been there from the start. On the real room and clients, and the virtual clock.

use std::sync::Arc;

use retick_core::client::{ClientEvent, EndReason};
use retick_core::runtime::RuntimeFactory;
use retick_core::tick::Tick;

use crate::checkers::Breach;
use crate::sim::{ClientSetup, MatchSetup};

/// What a late join did.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct LateJoinProof {
    /// The state from which the joiner was built: `n` for `S(n)`.
    pub tick: Tick,
    /// Whether another seat than the donor's had reported it.
    pub verified: bool,
    /// States of the joiner's that were compared with the fold of the authority's log.
    pub states: u64,
}

/// Why a late join proves nothing, or that it went wrong.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum LateJoinFault {
    /// An invariant of networked matches does not hold; a joiner with another state breaks I3.
    #[error("{0:#?}")]
    Breaches(Vec<Breach>),
    /// The joiner was not built from a snapshot.
    #[error("the joiner was not built from a snapshot; it ended for {end:?}")]
    NotHydrated {
        /// Why it was over, if it was.
        end: Option<EndReason>,
    },
    /// The premise is missing: the joiner reported no state after it was built.
    #[error("the joiner reported nothing, so nothing was compared")]
    NothingCompared,
}

/// Plays `ticks` ticks of `setup`'s match; at authority tick `at` one more player comes. Players of the setup must be there who can
/// donate, and the match must go on for a checksum cadence behind the join.
///
/// # Errors
/// [`LateJoinFault`].
///
/// # Panics
/// When the match does not get on, naming the seed.
pub fn check_late_join_hydration(
    mut setup: MatchSetup,
    joiner: ClientSetup,
    at: u64,
    ticks: u64,
) -> Result<LateJoinProof, LateJoinFault> {
    // However little it misses, it is built from a state.
    setup.donation.replay_millis = 0;
    let mut sim = setup.late_client(at, joiner).build();
    sim.run_until_confirmed(ticks);
    let report = sim.check().map_err(LateJoinFault::Breaches)?;
    let Some(joiner) = report.clients.last() else { return Err(LateJoinFault::NothingCompared) };
    let hydrated = joiner.events.iter().find_map(|(_, event)| match event {
        ClientEvent::Hydrated { tick, verified } => Some((*tick, *verified)),
        _ => None,
    });
    let Some((tick, verified)) = hydrated else {
        return Err(LateJoinFault::NotHydrated { end: joiner.end.clone() });
    };
    let states = joiner.reports.len() as u64;
    if states == 0 { Err(LateJoinFault::NothingCompared) } else { Ok(LateJoinProof { tick, verified, states }) }
}

/// [`check_late_join_hydration`] for two players of `factory`'s game with an empty config, for tests.
///
/// # Panics
/// With the fault.
#[track_caller]
pub fn assert_late_join_hydration(
    factory: Arc<dyn RuntimeFactory>,
    player: &ClientSetup,
    at: u64,
    ticks: u64,
) -> LateJoinProof {
    let setup = MatchSetup::new(factory).client(player.clone()).client(player.clone());
    match check_late_join_hydration(setup, player.clone(), at, ticks) {
        Ok(proof) => proof,
        Err(fault) => panic!("{fault}"),
    }
}
