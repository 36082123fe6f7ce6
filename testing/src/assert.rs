//! Proofs about one game (T1): what a game's own CI calls. Each `check_` gives a proof or a structured [`GameFault`], each `assert_`
//! panics with that fault. All of them take a factory (native, or of a module), a match, a script of inputs, and ticks.
//!
//! | entry point | proves | can't |
//! |---|---|---|
//! | [`assert_deterministic`] | two instances on two machines have every state and event in common | see what only a rollback or a snapshot brings out |
//! | [`synctest`] | restoring and resimulating gives the states and events of play without it | see what a snapshot leaves out |
//! | [`assert_hydration`] | an instance made of a state's bytes goes on as its donor | see what only a room does |
//! | [`assert_replay_verifies`] | the file of a match in a room is enough to play it again, on another machine | see what both runs get wrong in the same way |
//! | [`assert_two_client_convergence`] | two clients that predict and roll back confirm the states of the authority's log | see one machine's fault in a script that never meets it |
//! | [`assert_late_join_hydration`] | whoever is built from a donated state plays on as the others | see what changes before the join alone |
//! | [`assert_presentation_parity`] | one state has one picture, and events sound once, offline and in a room | see states that are wrong everywhere |
//! | [`assert_runner_lifecycle`] | nothing of a match reaches the next one, and each step is told | see what two matches do to a third |
//! | [`SimulatedMatch`](crate::sim::SimulatedMatch) | I1 to I8 on any network and schedule that a test sets up | say which byte differs |
//! | [`RunnerHarness`](crate::runner::RunnerHarness) | nothing by itself: it drives real runners, and shows what they told | judge |
//!
//! A fault names the first byte that differs, and with [`name_fields`] the field that stands there.
//!
//! What each of them catches of the planted faults in [`crate::twins`] stands in `TWINS.md`, and is measured. Machines, networks and
//! clocks are made up: that a game has the same bits on two processors is proved by running this on both.
//!
//! ```
//! use std::sync::Arc;
//!
//! use retick_testing::assert::{Compared, GameFault, assert_deterministic, assert_hydration, check_deterministic, synctest};
//! use retick_testing::assert::assert_two_client_convergence;
//! use retick_testing::fixtures::{tally_descriptor, tally_factory, zig_packed};
//! use retick_testing::twins::{StaticCounter, twin_factory};
//!
//! let factory = Arc::new(tally_factory());
//! let descriptor = tally_descriptor(factory.as_ref(), 2, 1);
//! assert_deterministic(&factory, &descriptor, zig_packed, 60);
//! let proof = synctest(&factory, &descriptor, zig_packed, 60, 8);
//! assert!(proof.rollbacks > 0);
//! assert_hydration(&factory, &descriptor, zig_packed, 60, 7);
//! let proof = assert_two_client_convergence(&factory, &descriptor, &zig_packed, 60);
//! assert!(proof.rollbacks.iter().all(|rollbacks| *rollbacks > 0));
//!
//! // A game that counts its steps outside its state is told from an honest one.
//! let leaky = twin_factory::<StaticCounter>();
//! let fault = check_deterministic(&leaky, &tally_descriptor(&leaky, 2, 1), zig_packed, 60);
//! assert!(matches!(fault, Err(GameFault::Differs { compared: Compared::Instances, .. })));
//! ```

mod convergence;
mod determinism;
mod difference;
mod fault;
mod hydration;
mod lane;
mod late_join;
mod lifecycle;
mod names;
mod parity;
mod replay;
mod synctest;
mod watch;

pub use convergence::{
    ConvergenceProof, assert_two_client_convergence, check_convergence_of, check_two_client_convergence,
};
pub use determinism::{DeterminismProof, assert_deterministic, check_convergence, check_deterministic};
pub use difference::ByteDifference;
pub use fault::{Compared, Emitted, GameFault, LifecycleStep, Premise};
pub use hydration::{HydrationProof, assert_hydration, check_hydration};
pub use late_join::{LateJoinProof, assert_late_join_hydration, check_late_join_hydration};
pub use lifecycle::{LifecycleProof, assert_runner_lifecycle, check_runner_lifecycle, check_runner_lifecycle_of};
pub use names::{NamedFields, name_fields};
pub use parity::{ParityProof, assert_presentation_parity, check_presentation_parity, check_presentation_parity_of};
pub use replay::{ReplayProof, assert_replay_verifies, check_replay_verifies};
pub use synctest::{SynctestProof, check_synctest, synctest};
