//! Proofs about one game, without a network (T1): each check gives a structured fault or a proof of its premise, and each
//! assertion panics with that fault.
//!
//! ```
//! use retick_testing::assert::{GameFault, assert_deterministic, assert_hydration, check_deterministic, synctest};
//! use retick_testing::fixtures::{tally_descriptor, tally_factory, zig_packed};
//! use retick_testing::twins::{StaticCounter, twin_factory};
//!
//! let factory = tally_factory();
//! let descriptor = tally_descriptor(&factory, 2, 1);
//! assert_deterministic(&factory, &descriptor, zig_packed, 60);
//! let proof = synctest(&factory, &descriptor, zig_packed, 60, 8);
//! assert!(proof.rollbacks > 0);
//! assert_hydration(&factory, &descriptor, zig_packed, 60, 7);
//!
//! // A game that counts its steps outside its state is told from an honest one.
//! let leaky = twin_factory::<StaticCounter>();
//! let fault = check_deterministic(&leaky, &tally_descriptor(&leaky, 2, 1), zig_packed, 60);
//! assert!(matches!(fault, Err(GameFault::NotDeterministic { .. })));
//! ```

mod determinism;
mod hydration;
mod lane;
mod late_join;
mod synctest;
#[cfg(test)]
mod tests;

pub use determinism::{DeterminismProof, assert_deterministic, check_convergence, check_deterministic};
pub use hydration::{HydrationProof, assert_hydration, check_hydration};
pub use late_join::{LateJoinFault, LateJoinProof, assert_late_join_hydration, check_late_join_hydration};
pub use synctest::{SynctestProof, check_synctest, synctest};

use retick_core::runtime::{AdvanceError, CheckpointError, CreateError, HydrateError};
use retick_core::tick::Tick;

/// The first byte in which two states of one tick differ (T3).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ByteDifference {
    /// Where, in the canonical bytes. A native state starts with its tick, in eight bytes.
    pub offset: u64,
    /// The byte of the first state; `None` when it ends there.
    pub first: Option<u8>,
    /// The byte of the second state; `None` when it ends there.
    pub second: Option<u8>,
}

impl std::fmt::Display for ByteDifference {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let told = |byte: Option<u8>| byte.map_or("nothing".into(), |byte| byte.to_string());
        write!(f, "byte {}: {} against {}", self.offset, told(self.first), told(self.second))
    }
}

/// Where two states differ, in words.
fn place(difference: &Option<ByteDifference>) -> String {
    difference.map_or("in no byte that can be compared".into(), |difference| difference.to_string())
}

impl ByteDifference {
    /// The first difference of two states, or `None` when they are equal.
    fn between(first: &[u8], second: &[u8]) -> Option<ByteDifference> {
        let offset = first.iter().zip(second).take_while(|(first, second)| first == second).count();
        let (first, second) = (first.get(offset).copied(), second.get(offset).copied());
        (first != second).then_some(ByteDifference { offset: offset as u64, first, second })
    }
}

/// Why a game is not what it was asserted to be.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum GameFault {
    /// There is no runtime for the match.
    #[error("{0}")]
    Create(#[from] CreateError),
    /// A step failed.
    #[error("{0}")]
    Advance(#[from] AdvanceError),
    /// A checkpoint could not be used.
    #[error("{0}")]
    Checkpoint(#[from] CheckpointError),
    /// Two instances with the same inputs have different states.
    #[error("two instances differ at S({tick}), first at {}", place(difference))]
    NotDeterministic {
        /// The first state that differs.
        tick: Tick,
        /// The first byte that differs; `None` when the bytes are equal and only the checksums differ.
        difference: Option<ByteDifference>,
    },
    /// Restoring a checkpoint gave another state than the one that was kept.
    #[error("restoring S({tick}) gives another state, first at {}", place(difference))]
    RestoresOther {
        /// The state.
        tick: Tick,
        /// The first byte that differs between the state that was never rolled back and the restored one; `None` when their
        /// checkpoints are equal and only the checksums differ: then keeping the state already lost something.
        difference: Option<ByteDifference>,
    },
    /// Resimulating after a rollback gave another state than playing on without one.
    #[error("S({tick}) is another state after a rollback to {restored}, first at {}", place(difference))]
    NotRollbackSafe {
        /// The checkpoint that was restored.
        restored: Tick,
        /// The first state that differs.
        tick: Tick,
        /// The first byte that differs between the state that was never rolled back and the resimulated one.
        difference: Option<ByteDifference>,
    },
    /// A fresh instance did not take the bytes of a state.
    #[error("a fresh instance does not take S({tick}): {error}")]
    NotHydrated {
        /// The state.
        tick: Tick,
        /// Why.
        error: HydrateError,
    },
    /// A hydrated instance goes on to other states than its donor.
    #[error("S({tick}) is another state after hydration with S({hydrated}), first at {}", place(difference))]
    NotHydrationSafe {
        /// The state that was hydrated.
        hydrated: Tick,
        /// The first state that differs.
        tick: Tick,
        /// The first byte that differs between donor and hydrated instance.
        difference: Option<ByteDifference>,
    },
    /// Two executions of equal steps of equal states emitted other presentation events (K10).
    #[error("two executions of tick {tick} emitted other presentation events")]
    EventsDiffer {
        /// The first tick whose events differ.
        tick: Tick,
    },
    /// The premise is missing: nothing moved but the tick, so nothing was proved.
    #[error("nothing but the tick moved in {ticks} ticks")]
    Unmoved {
        /// Ticks played.
        ticks: u64,
    },
    /// The premise is missing: nothing was rolled back or hydrated.
    #[error("nothing was rolled back or hydrated in {ticks} ticks")]
    NothingDone {
        /// Ticks played.
        ticks: u64,
    },
}
