//! Retick's testing kit: prove a game's determinism in its own CI, on the real room and client, on a virtual clock.
//!
//! ```text
//!   one game                 two sides of a trait          a whole match
//!  ┌──────────────────┐     ┌──────────────────┐     ┌─────────────────────────────────────┐
//!  │ assert           │     │ strict           │     │ sim     room, clients, raw seats    │
//!  │  deterministic   │     │  StrictRuntime   │     │ net     seeded links, one queue     │
//!  │  synctest        │     │  FaultPlan       │     │   │ MatchReport: what was observed  │
//!  │  hydration       │     └──────────────────┘     │   ▼                                 │
//!  └──────────────────┘                              │ checkers   I1 … I8                  │
//!    fixtures, twins: games to try the kit on; inputs: players that are made up from a game's schema        └─────────────────────────────────────┘
//!    environment: machines that differ in all that must not reach a state
//!    recovery: how a client comes back after a long stall, counted
//!    runner: what a game's loop does, with real runners and rooms
//!    simulate: whole matches drawn from one seed, with faults, liars and crashes, judged at every step
//!    golden: what loss, round trip and input delay cost, in numbers that are the same everywhere
//!    load: many rooms and their clients' bytes, for whoever measures
//!    alarms: rollbacks by the million, and no desync that is announced
//!    fuzzing: what bytes from outside may never do, one check for each kind, with first inputs
//!    certify: the checks of one game on made-up matches, with budgets and stable failure codes (feature `wasm`)
//! ```
//!
//! The proofs that need a room or a runner are in `assert` too: replays, convergence, late joins, pictures, a runner's life.
//!
//! One `u64` seed reproduces a match, and stands in every failure (T2). Every check proves its premise and says where it first
//! differed (T3). Nothing here reads a clock or starts a thread.
//!
//! # A match of two players, 100 ms apart, checked against every invariant
//!
//! ```
//! use std::sync::Arc;
//!
//! use retick_core::tick::TickRate;
//! use retick_testing::assert::{assert_deterministic, synctest};
//! use retick_testing::fixtures::{tally_descriptor, tally_factory, zig_packed};
//! use retick_testing::sim::{ClientSetup, MatchSetup};
//!
//! // First the game alone: the same in two instances, and after a rollback in every tick.
//! let factory = Arc::new(tally_factory());
//! let descriptor = tally_descriptor(factory.as_ref(), 2, 1);
//! assert_deterministic(factory.as_ref(), &descriptor, zig_packed, 60);
//! synctest(factory.as_ref(), &descriptor, zig_packed, 60, 8);
//!
//! // Then a whole match: the room, two clients, and links that take three ticks.
//! let player = ClientSetup::new(zig_packed).latency_ticks(TickRate::Hz60, 3);
//! let setup = MatchSetup::new(factory).seed(7).hard_tolerance_ticks(30).client(player.clone()).client(player);
//! let mut sim = setup.last_tick(60).build();
//! sim.run_until_confirmed(60);
//! let report = sim.finish();
//! assert!(report.rollbacks() > 0 && report.desyncs() == 0);
//! assert_eq!(report.clients[0].frames, report.frames);
//! ```

#[cfg(feature = "wasm")]
pub mod alarms;
pub mod assert;
#[cfg(feature = "wasm")]
pub mod certify;
pub mod checkers;
pub mod environment;
pub mod fixtures;
pub mod fuzzing;
pub mod golden;
pub mod inputs;
pub mod load;
pub mod net;
pub mod recovery;
pub mod runner;
pub mod sim;
pub mod simulate;
pub mod strict;
pub mod twins;
