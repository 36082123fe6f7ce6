//! What can be wrong with a game, and the codes by which it stays known.

use retick_core::replay::{Refused, Verdict};
use retick_core::runtime::{AdvanceError, CreateError, StepFault};
use retick_core::tick::Tick;
use retick_wasm::LoadError;

use super::{Place, Quantity, Trial};
use crate::assert::{Compared, GameFault, Premise};

/// Something that is wrong with a game, with its figures. What programs branch on is its [code](Finding::code).
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Finding {
    /// The module is refused.
    #[error("the module is refused: {0}")]
    Refused(LoadError),
    /// The input schema has no field: nobody can do anything.
    #[error("the input schema has no field")]
    NoInput,
    /// The module exports a projection, but its description does not claim one, so that nobody asks for it.
    #[error("the module exports a projection that its description does not claim")]
    UnclaimedProjection,
    /// The options name no match.
    #[error("no match was tried")]
    NothingTried,
    /// A match can't be played, or a proof fails.
    #[error("{trial}: {fault}")]
    Proof {
        /// The match.
        trial: Trial,
        /// What failed.
        fault: GameFault,
    },
    /// A recorded match does not verify.
    #[error("{trial}: the replay of the match does not verify, first at {}", tick.map_or("no state".into(), |tick| format!("S({tick})")))]
    Replay {
        /// The match.
        trial: Trial,
        /// The first state whose checksum differs; `None` when it is not a checksum that differs.
        tick: Option<Tick>,
    },
    /// A projection changes the state that it shows (K9).
    #[error("{trial}: the projection of S({tick}) changes it")]
    ProjectionWrites {
        /// The match.
        trial: Trial,
        /// The first such state.
        tick: Tick,
    },
    /// Two projections of one state differ (K9).
    #[error("{trial}: two projections of S({tick}) differ")]
    ProjectionDiffers {
        /// The match.
        trial: Trial,
        /// The first such state.
        tick: Tick,
    },
    /// A projection faults, and shows nothing (K9).
    #[error("{trial}: the projection of S({tick}) faults")]
    ProjectionFaults {
        /// The match.
        trial: Trial,
        /// The first such state.
        tick: Tick,
    },
    /// Events are dropped for one of the kernel's limits (K10).
    #[error("{trial}: {dropped} events of tick {tick} are dropped, {kept} are kept")]
    EventsDropped {
        /// The match.
        trial: Trial,
        /// The first such tick.
        tick: Tick,
        /// How many.
        dropped: u64,
        /// How many are not.
        kept: u64,
    },
    /// A figure is over its budget.
    #[error("{figure} {quantity}, of which {budget} are allowed{}", place.map_or(String::new(), |place| format!(" ({place})")))]
    OverBudget {
        /// What is measured.
        quantity: Quantity,
        /// The figure.
        figure: u64,
        /// Its budget, in the same unit.
        budget: u64,
        /// Where it was seen first; `None` of a figure over all steps.
        place: Option<Place>,
    },
    /// A budget is given for what can't be measured of this game.
    #[error("{quantity}: there is a budget, but this game has no such figure")]
    NotMeasured {
        /// What it is for.
        quantity: Quantity,
    },
}

/// Names and texts of all codes, in one place.
macro_rules! codes {
    ($($(#[$doc:meta])* $name:ident = $text:literal,)*) => {
        /// The stable code of a [`Finding`]. A code never changes its meaning, and none is used again.
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
        #[non_exhaustive]
        pub enum FindingCode {
            $($(#[$doc])* $name,)*
        }

        impl FindingCode {
            /// Every code, in order.
            pub const ALL: &[FindingCode] = &[$(FindingCode::$name),*];

            /// The code as text, for logs, CI and documents.
            pub const fn as_str(self) -> &'static str {
                match self {
                    $(FindingCode::$name => $text,)*
                }
            }
        }
    };
}

codes! {
    /// The module is refused at load.
    Refused = "RTK-M001",
    /// The game refuses a match, or its init faults.
    MatchRefused = "RTK-M002",
    /// The input schema has no field.
    NoInput = "RTK-M003",
    /// The module exports a projection that its description does not claim.
    UnclaimedProjection = "RTK-M004",
    /// Nothing was tried, or no tick was mispredicted: no proof has its premise.
    NothingTried = "RTK-M005",
    /// A step faults, or its state can't be captured.
    StepFaults = "RTK-M101",
    /// Nothing but the tick moves.
    Unmoved = "RTK-M102",
    /// Two instances differ.
    NotDeterministic = "RTK-M103",
    /// Restoring a checkpoint gives another state.
    RestoresOther = "RTK-M104",
    /// Resimulation after a rollback gives another state.
    NotRollbackSafe = "RTK-M105",
    /// A fresh instance does not take a state.
    NotHydrated = "RTK-M106",
    /// A hydrated instance goes on to other states.
    NotHydrationSafe = "RTK-M107",
    /// Two executions of a tick emit other events.
    EventsDiffer = "RTK-M108",
    /// A recorded match does not verify.
    ReplayDiffers = "RTK-M109",
    /// A projection changes the state.
    ProjectionWrites = "RTK-M110",
    /// Two projections of one state differ.
    ProjectionDiffers = "RTK-M111",
    /// A projection faults.
    ProjectionFaults = "RTK-M112",
    /// Events are dropped for a limit.
    EventsDropped = "RTK-M113",
    /// The median step time is over its budget.
    MedianStep = "RTK-M201",
    /// The step time's percentile is over its budget.
    TailStep = "RTK-M202",
    /// A step's gas is over its budget.
    Gas = "RTK-M203",
    /// The pages of 4 KiB that a step writes are over their budget.
    WrittenPages = "RTK-M204",
    /// The memory's pages of 64 KiB are over their budget.
    MemoryPages = "RTK-M205",
    /// A projection's bytes are over their budget.
    ProjectionBytes = "RTK-M206",
    /// A tick's events are over their budget.
    Events = "RTK-M207",
    /// A budget is given for what can't be measured.
    NotMeasured = "RTK-M208",
    /// This machine failed, not the game.
    MachineFailed = "RTK-M301",
}

impl std::fmt::Display for FindingCode {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.as_str())
    }
}

impl Finding {
    /// The stable code.
    pub fn code(&self) -> FindingCode {
        match self {
            Finding::Refused(_) => FindingCode::Refused,
            Finding::NoInput => FindingCode::NoInput,
            Finding::UnclaimedProjection => FindingCode::UnclaimedProjection,
            Finding::NothingTried => FindingCode::NothingTried,
            Finding::Proof { fault, .. } => code_of(fault),
            Finding::Replay { .. } => FindingCode::ReplayDiffers,
            Finding::ProjectionWrites { .. } => FindingCode::ProjectionWrites,
            Finding::ProjectionDiffers { .. } => FindingCode::ProjectionDiffers,
            Finding::ProjectionFaults { .. } => FindingCode::ProjectionFaults,
            Finding::EventsDropped { .. } => FindingCode::EventsDropped,
            Finding::OverBudget { quantity, .. } => match quantity {
                Quantity::MedianStep => FindingCode::MedianStep,
                Quantity::TailStep => FindingCode::TailStep,
                Quantity::Gas => FindingCode::Gas,
                Quantity::WrittenPages => FindingCode::WrittenPages,
                Quantity::MemoryPages => FindingCode::MemoryPages,
                Quantity::ProjectionBytes => FindingCode::ProjectionBytes,
                Quantity::Events => FindingCode::Events,
            },
            Finding::NotMeasured { .. } => FindingCode::NotMeasured,
        }
    }

    /// What a replay's verdict means; `None` for a verified one.
    pub(super) fn of_verdict(trial: Trial, verdict: &Verdict) -> Option<Finding> {
        match verdict {
            Verdict::Verified { .. } => None,
            Verdict::Diverged { first_bad, .. } => Some(Finding::Replay { trial, tick: Some(first_bad.tick) }),
            Verdict::Refused(Refused::Fault(error)) => {
                Some(Finding::Proof { trial, fault: GameFault::Advance(error.clone()) })
            }
            _ => Some(Finding::Replay { trial, tick: None }),
        }
    }
}

/// The code of a failed proof.
fn code_of(fault: &GameFault) -> FindingCode {
    match fault {
        GameFault::Create(CreateError::Fault { fault: StepFault::Host, .. }) => FindingCode::MachineFailed,
        GameFault::Create(_) => FindingCode::MatchRefused,
        GameFault::Advance(AdvanceError::Fault { fault: StepFault::Host, .. }) => FindingCode::MachineFailed,
        GameFault::Advance(AdvanceError::Fault { .. } | AdvanceError::Capture { .. }) => FindingCode::StepFaults,
        // The kit asks for nothing of this kind; a runtime that answers so is broken.
        GameFault::Advance(_) | GameFault::Checkpoint(_) => FindingCode::MachineFailed,
        GameFault::Differs { compared, .. } => match compared {
            Compared::Restored => FindingCode::RestoresOther,
            Compared::Resimulated { .. } => FindingCode::NotRollbackSafe,
            Compared::Hydrated { .. } => FindingCode::NotHydrationSafe,
            Compared::Replayed => FindingCode::ReplayDiffers,
            Compared::Pictures { .. } => FindingCode::ProjectionDiffers,
            _ => FindingCode::NotDeterministic,
        },
        GameFault::NotHydrated { .. } => FindingCode::NotHydrated,
        GameFault::EventsDiffer { .. } => FindingCode::EventsDiffer,
        GameFault::PremiseNotMet(Premise::Movement { .. }) => FindingCode::Unmoved,
        GameFault::PremiseNotMet(_) => FindingCode::NothingTried,
        // A certification plays no room and no runner.
        GameFault::Breaches(_) | GameFault::Replay(_) | GameFault::Lifecycle { .. } | GameFault::Runner(_) => {
            FindingCode::MachineFailed
        }
    }
}
