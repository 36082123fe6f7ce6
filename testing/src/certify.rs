//! Certification of a module (T5): admission, the kit's proofs on a few made-up matches, and budgets, with stable failure codes.
//!
//! ```text
//!  module ──▶ load ──▶ for each number of seats and each seed ──────────────────────────────▶ Certificate
//!             twice    two instances, tracked differently, rolled back, hydrated ─ proofs       figures
//!                      a rough match, recorded, projected, replayed ──────────── meters         findings
//!                      the same again by the caller's clock ──────────────────── step time
//! ```
//!
//! The proofs are those of [`crate::assert`], with drawn inputs that the game's schema takes. The rough match has what a room
//! confirms on a bad day: seats that leave and come back, substitutes, malformed inputs, and commands that mean nothing. A match
//! in which a proof fails is not measured: its figures would be of no game.
//!
//! No clock is read here: the caller hands one in. All but the step time is the same on every machine.
//!
//! | code | finding |
//! |---|---|
//! | `RTK-M001` | the module is refused at load |
//! | `RTK-M002` | the game refuses a match, or its init faults |
//! | `RTK-M003` | the input schema has no field |
//! | `RTK-M004` | the module exports a projection that its description does not claim |
//! | `RTK-M005` | nothing was tried, or no tick was mispredicted: no proof has its premise |
//! | `RTK-M101` | a step faults, or its state can't be captured |
//! | `RTK-M102` | nothing but the tick moves |
//! | `RTK-M103` | two instances differ |
//! | `RTK-M104` | restoring a checkpoint gives another state |
//! | `RTK-M105` | resimulation after a rollback gives another state |
//! | `RTK-M106` | a fresh instance does not take a state |
//! | `RTK-M107` | a hydrated instance goes on to other states |
//! | `RTK-M108` | two executions of a tick emit other events |
//! | `RTK-M109` | a recorded match does not verify |
//! | `RTK-M110` | a projection changes the state |
//! | `RTK-M111` | two projections of one state differ |
//! | `RTK-M112` | a projection faults |
//! | `RTK-M113` | events are dropped for a limit |
//! | `RTK-M201` | the median step time is over its budget |
//! | `RTK-M202` | the step time's percentile is over its budget |
//! | `RTK-M203` | a step's gas is over its budget |
//! | `RTK-M204` | the pages of 4 KiB that a step writes are over their budget |
//! | `RTK-M205` | the memory's pages of 64 KiB are over their budget |
//! | `RTK-M206` | a projection's bytes are over their budget |
//! | `RTK-M207` | a tick's events are over their budget |
//! | `RTK-M208` | a budget is given for what can't be measured |
//! | `RTK-M301` | this machine failed, not the game |
//!
//! # A game of the kit's, and a twin of it
//!
//! ```
//! use retick_testing::certify::{Budgets, Candidate, Options, certify_game};
//! use retick_testing::fixtures::tally_factory;
//! use retick_testing::twins::wall_clocked_factory;
//!
//! // A clock that ticks a microsecond at each look; a real one is `Instant::elapsed`.
//! let mut nanos = 0;
//! let mut clock = || {
//!     nanos += 1_000;
//!     nanos
//! };
//! let budgets = Budgets { median_step_micros: Some(2), events_per_tick: Some(0), ..Budgets::default() };
//! let options = Options { ticks: 60, seats: Some(vec![2]), budgets, ..Options::default() };
//!
//! let tally = tally_factory();
//! let certificate = certify_game(&Candidate::native(&tally, 1..=128), &options, &mut clock);
//! assert_eq!(certificate.findings, []);
//!
//! // A game that reads its machine's clock.
//! let clocked = wall_clocked_factory();
//! let certificate = certify_game(&Candidate::native(&clocked, 1..=128), &options, &mut clock);
//! assert_eq!(certificate.codes(), ["RTK-M103"]);
//! ```

mod budgets;
mod finding;
mod measure;
mod rough;
mod run;
mod subject;
#[cfg(test)]
mod tests;

use std::ops::RangeInclusive;

use retick_core::config::SessionConfig;
use retick_core::digest::Identity;
use retick_wasm::{Limits, LoadError};

pub use crate::inputs::{made_up_inputs, nearest_to_zero};
pub use budgets::{Budgets, Figures, Place, Quantity, StepTimes, Worst};
pub use finding::{Finding, FindingCode};
pub use subject::{Candidate, LoadedModule};

use run::Run;

/// Default of [`Options::ticks`].
pub const DEFAULT_TICKS: u64 = 600;
/// Default of [`Options::seeds`].
pub const DEFAULT_SEED: u64 = 1;
/// Default of [`Options::depths`]: the shortest rollback, and the whole prediction window.
pub const DEFAULT_DEPTHS: [u64; 2] = [1, 8];
/// Default of [`Options::percentile`].
pub const DEFAULT_PERCENTILE: u8 = 99;

/// What a certification tries. Start from [`Options::default`].
#[derive(Clone, PartialEq, Debug)]
pub struct Options {
    /// The limits that a module is loaded with; part of its identity.
    pub limits: Limits,
    /// Numbers of seats to play with; `None` for the fewest and the most that the game takes.
    pub seats: Option<Vec<u8>>,
    /// Seeds to play with, each of the match and of its inputs.
    pub seeds: Vec<u64>,
    /// Ticks of each match.
    pub ticks: u64,
    /// How many ticks to roll back in every tick, one check for each.
    pub depths: Vec<u64>,
    /// The session config; `None` for the values [nearest to zero](nearest_to_zero).
    pub config: Option<SessionConfig>,
    /// Which percentile [`Budgets::tail_step_micros`] bounds, 1 to 100; beyond these, the nearer of them.
    pub percentile: u8,
    /// What the game may take.
    pub budgets: Budgets,
}

impl Default for Options {
    fn default() -> Self {
        Options {
            limits: Limits::default(),
            seats: None,
            seeds: vec![DEFAULT_SEED],
            ticks: DEFAULT_TICKS,
            depths: DEFAULT_DEPTHS.to_vec(),
            config: None,
            percentile: DEFAULT_PERCENTILE,
            budgets: Budgets::default(),
        }
    }
}

/// One match of a certification.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Trial {
    /// Its seats.
    pub seats: u8,
    /// Seed of the match, and of its inputs.
    pub seed: u64,
}

impl std::fmt::Display for Trial {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} seats, seed {}", self.seats, self.seed)
    }
}

/// What a certification found.
#[derive(Clone, PartialEq, Debug)]
#[must_use]
pub struct Certificate {
    /// The game's identity; `None` when the module was refused.
    pub identity: Option<Identity>,
    /// The matches that were begun, in order.
    pub trials: Vec<Trial>,
    /// What was proved and measured.
    pub figures: Figures,
    /// What is wrong, in the order in which it was found. None of it stands twice.
    pub findings: Vec<Finding>,
    /// The last lines that the game logged before the first step that faulted, oldest first.
    pub log: Vec<String>,
}

impl Certificate {
    fn new(identity: Option<Identity>) -> Certificate {
        Certificate { identity, trials: Vec::new(), figures: Figures::default(), findings: Vec::new(), log: Vec::new() }
    }

    /// Of a module that was refused.
    pub fn refused(error: LoadError) -> Certificate {
        Certificate { findings: vec![Finding::Refused(error)], ..Certificate::new(None) }
    }

    /// Whether nothing is wrong.
    pub fn passed(&self) -> bool {
        self.findings.is_empty()
    }

    /// The codes of all findings, in order.
    pub fn codes(&self) -> Vec<&'static str> {
        self.findings.iter().map(|finding| finding.code().as_str()).collect()
    }

    fn find(&mut self, finding: Finding) {
        if !self.findings.contains(&finding) {
            self.findings.push(finding);
        }
    }
}

/// Certifies a module (T5). `clock` gives nanoseconds of a monotonic clock, from any origin.
///
/// The module is compiled two or three times, once for each way of tracking its memory.
pub fn certify(module: &[u8], options: &Options, clock: &mut dyn FnMut() -> u64) -> Certificate {
    match LoadedModule::load(module, &options.limits) {
        Ok(loaded) => certify_loaded(&loaded, options, clock),
        Err(error) => Certificate::refused(error),
    }
}

/// [`certify`], for a module that was loaded before. Its limits are those it was loaded with.
pub fn certify_loaded(loaded: &LoadedModule, options: &Options, clock: &mut dyn FnMut() -> u64) -> Certificate {
    certify_game(&loaded.candidate(), options, clock)
}

/// Certifies a game of any kind: what of it can be measured is, and a budget for what can't is a finding.
pub fn certify_game(candidate: &Candidate<'_>, options: &Options, clock: &mut dyn FnMut() -> u64) -> Certificate {
    Run::new(candidate, options, clock).certify()
}

/// Numbers of seats that a game takes.
type SeatRange = RangeInclusive<u8>;
