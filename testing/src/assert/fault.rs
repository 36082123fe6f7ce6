//! Why a proof fails. Three kinds, never mixed up (T3): the game can't be played, something [differs](GameFault::Differs), or a
//! [premise](GameFault::PremiseNotMet) is missing, so that nothing was proved.

use retick_core::client::EndReason;
use retick_core::event::EventKey;
use retick_core::runner::{RunnerError, Status};
use retick_core::runtime::{AdvanceError, CheckpointError, CreateError, HydrateError};
use retick_core::seat::Seat;
use retick_core::tick::Tick;

use super::ByteDifference;
use super::names::Located;
use crate::checkers::Breach;

/// The two sides that were compared.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Compared {
    /// Two instances with the same inputs.
    Instances,
    /// An instance that was never rolled back, and a restored checkpoint.
    Restored,
    /// An instance that was never rolled back, and what was resimulated.
    Resimulated {
        /// The checkpoint that was restored.
        from: Tick,
    },
    /// A donor, and an instance that was made of its bytes.
    Hydrated {
        /// The state that was hydrated.
        at: Tick,
    },
    /// Two clients of one match.
    Clients {
        /// Their seats.
        seats: [Seat; 2],
    },
    /// The fold of the authority's log, and a client whom no other one contradicts.
    Fold {
        /// Its seat.
        seat: Seat,
    },
    /// A match as it was played, and as its replay is re-simulated.
    Replayed,
    /// A match offline, and in a room.
    Modes,
    /// The projections of one state, offline and in a room.
    Pictures {
        /// The seat in the room.
        seat: Seat,
    },
    /// Two offline matches of one runner, with the same inputs.
    Matches,
}

impl std::fmt::Display for Compared {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Compared::Instances => f.write_str("two instances differ"),
            Compared::Restored => f.write_str("a restored checkpoint is another state than the one that was kept"),
            Compared::Resimulated { from } => write!(f, "after a rollback to {from} there is another state"),
            Compared::Hydrated { at } => write!(f, "after hydration with S({at}) there is another state"),
            Compared::Clients { seats: [one, other] } => write!(f, "the clients of seats {one} and {other} differ"),
            Compared::Fold { seat } => {
                write!(f, "the client of seat {seat} differs from the fold of the authority's log")
            }
            Compared::Replayed => f.write_str("the replay gives another state than the match had"),
            Compared::Modes => f.write_str("offline and in a room there are two states"),
            Compared::Pictures { seat } => write!(f, "one state has two projections, offline and at seat {seat}"),
            Compared::Matches => f.write_str("two offline matches of one runner differ"),
        }
    }
}

/// What a proof rests on, and what was missing of it.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum Premise {
    /// More than the tick must move.
    #[error("nothing but the tick moved in {ticks} ticks")]
    Movement {
        /// Ticks played.
        ticks: u64,
    },
    /// Something must be rolled back, hydrated or recorded.
    #[error("nothing was rolled back, hydrated or recorded in {ticks} ticks")]
    Work {
        /// Ticks played.
        ticks: u64,
    },
    /// Some tick must be played with other inputs first, unless the game has none.
    #[error("no tick was mispredicted in {ticks} ticks: every input is that of the tick before")]
    Misprediction {
        /// Ticks played.
        ticks: u64,
    },
    /// The match must have seats enough.
    #[error("the match has {found} seats, where the proof needs {needed}")]
    Seats {
        /// What the proof needs.
        needed: usize,
        /// What the match has.
        found: usize,
    },
    /// The match must be the first generation of one.
    #[error("the match is not one that a room would begin with")]
    Descriptor,
    /// The match must get as far as it should.
    #[error("S({wanted}) was not reached, but S({reached})")]
    Progress {
        /// The last state that everyone reached.
        reached: Tick,
        /// The state that was to be reached.
        wanted: Tick,
    },
    /// A client must roll back.
    #[error("the client of seat {seat} never rolled back in {ticks} ticks")]
    Rollback {
        /// Its seat.
        seat: Seat,
        /// Ticks played.
        ticks: u64,
    },
    /// A seat must be in the match: its own inputs stand in more than half of its ticks.
    #[error("only {inputs} of seat {seat}'s inputs stand in {ticks} frames")]
    Presence {
        /// The seat.
        seat: Seat,
        /// Ticks for which the frames hold its own input.
        inputs: u64,
        /// Ticks in which it could have played.
        ticks: u64,
    },
    /// Every state must have its checksum, and be reported where it is due.
    #[error("the client of seat {seat} gave {found} checksums, where {due} were due")]
    Checksums {
        /// The seat.
        seat: Seat,
        /// How many there were.
        found: u64,
        /// How many were due.
        due: u64,
    },
    /// A confirmed state must be readable.
    #[error("S({tick}) of seat {seat} can't be read, so it was not compared")]
    Readable {
        /// The seat.
        seat: Seat,
        /// The state.
        tick: Tick,
    },
    /// The joiner must be built from a snapshot.
    #[error("the joiner was not built from a snapshot; it ended for {end:?}")]
    Hydration {
        /// Why it was over, if it was.
        end: Option<EndReason>,
    },
    /// Nobody's input may be missing where offline play could not repeat it.
    #[error("the input of seat {seat} for tick {tick} is a substitute, which offline play has none of")]
    OwnInputs {
        /// The seat.
        seat: Seat,
        /// The first such tick.
        tick: Tick,
    },
    /// The game must project.
    #[error("the game has no projection")]
    Projection,
    /// Projections must change, and some of them must be of confirmed states.
    #[error("of {shown} pictures {compared} were of confirmed states, and {distinct} were different ones")]
    Pictures {
        /// Pictures that were shown.
        shown: u64,
        /// Those whose state was confirmed.
        compared: u64,
        /// How many different ones there were.
        distinct: u64,
    },
    /// What was under way when a match ended must arrive in the next one.
    #[error("no message of the room arrived after its match")]
    LateMessages,
}

/// A step of a runner's life.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum LifecycleStep {
    /// The first offline match.
    Offline,
    /// The match in a room.
    Networked,
    /// The second offline match.
    OfflineAgain,
    /// The end.
    Stop,
}

/// A presentation event with its payload.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Emitted {
    /// Its identity.
    pub key: EventKey,
    /// What it carries.
    pub payload: Vec<u8>,
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
    /// A fresh instance did not take the bytes of a state.
    #[error("a fresh instance does not take S({tick}): {error}")]
    NotHydrated {
        /// The state.
        tick: Tick,
        /// Why.
        error: HydrateError,
    },
    /// Two sides have different states, or different pictures of one state.
    #[error("{compared}: S({tick}), first at {}", Located::place(difference.as_ref(), field.as_deref()))]
    Differs {
        /// The two sides.
        compared: Compared,
        /// The first state that differs.
        tick: Tick,
        /// The first byte that differs, of the side that is named first and of the other; `None` when the bytes are equal and only
        /// the checksums differ, or when one of the two states is not kept any more.
        difference: Option<ByteDifference>,
        /// The field that stands there, as [`name_fields`](super::name_fields) names it.
        field: Option<String>,
    },
    /// Two executions of equal steps of equal states emitted other presentation events (K10).
    #[error("two executions of tick {tick} emitted other presentation events: {first:?} against {second:?}")]
    EventsDiffer {
        /// The first tick whose events differ.
        tick: Tick,
        /// What the first one emitted there, if anything.
        first: Option<Emitted>,
        /// What the second one emitted there, if anything.
        second: Option<Emitted>,
    },
    /// Invariants of networked matches do not hold.
    #[error("{0:#?}")]
    Breaches(Vec<Breach>),
    /// A replay of the match is not verified, for another reason than a state that differs.
    #[error("the replay: {0}")]
    Replay(String),
    /// A runner told other statuses than its step has.
    #[error("{step:?}: the runner told {found:?}, where {expected:?} is to be told")]
    Lifecycle {
        /// The step.
        step: LifecycleStep,
        /// What is to be told.
        expected: Vec<Status>,
        /// What was told.
        found: Vec<Status>,
    },
    /// A runner refused what every runner does.
    #[error("the runner: {0}")]
    Runner(RunnerError),
    /// A premise is missing, so nothing was proved.
    #[error("nothing is proved: {0}")]
    PremiseNotMet(#[from] Premise),
}

impl GameFault {
    pub(super) fn differs(compared: Compared, tick: Tick, located: Located) -> GameFault {
        let Located { difference, field } = located;
        GameFault::Differs { compared, tick, difference, field }
    }
}

/// What every `assert_` does with a fault.
#[track_caller]
pub(super) fn expect<T>(proof: Result<T, GameFault>) -> T {
    match proof {
        Ok(proof) => proof,
        Err(fault) => panic!("{fault}"),
    }
}
