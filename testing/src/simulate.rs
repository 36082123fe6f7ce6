//! Whole matches drawn from one seed (T2): who plays what on which links, what goes wrong with every machine and connection, who
//! lies; then everything is healthy, and the match must converge.
//!
//! ```text
//!   u64 ── draw ──▶ Schedule ── run ──▶ what is seen ──▶ checks: twelve judges, the digest, the totals
//!                      ▲                                      │
//!                      └── shrink: fewer events and players ◀─┘ a breach, with the seed
//! ```
//!
//! A match has three phases. In the first faults are on and the rules of safety are judged at every step; then everything heals; in
//! the last everyone who did not leave must be live, have what the room has confirmed, and agree. A [`Schedule`] is data: it can be
//! written to a file, made smaller, and played again. Equal schedules give equal traces, to the byte.
//!
//! ```
//! use retick_testing::simulate::{draw, run};
//!
//! let schedule = draw(7);
//! let outcome = run(&schedule);
//! assert_eq!(outcome.breach, None, "seed 7");
//! assert!(outcome.coverage.count("confirmed ticks") > 0);
//! // The seed says everything.
//! assert_eq!(run(&draw(7)).digest, outcome.digest);
//! ```

mod actor;
mod checks;
mod clock;
mod coverage;
mod draw;
mod duty;
mod enact;
mod frozen;
mod game;
mod happening;
mod host;
mod liar;
mod links;
mod pipe;
mod schedule;
mod shrink;
mod storage;
mod trace;
mod watch;
mod world;

pub use checks::{Breach, Rule};
pub use coverage::{Coverage, PREMISES};
pub use draw::draw;
pub use happening::{Happening, Planned};
pub use schedule::{ActorPlan, Game, LinkPlan, Permitted, Role, RoomPlan, Schedule, StartPlan, Waits};
pub use shrink::shrink;
pub use trace::{RoomSeen, Seen, StandSeen, TurnSeen, Who, describe};

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use retick_core::digest::Digest;
use retick_core::tick::Moment;

use checks::{Suite, Terms, breach};
use watch::Watch;
use world::World;

/// How a match went.
#[derive(Clone, PartialEq, Debug)]
pub struct Outcome {
    /// The first thing that did not hold.
    pub breach: Option<Breach>,
    /// The digest of everything that was seen.
    pub digest: Digest,
    /// What was met.
    pub coverage: Coverage,
    /// Everything that was seen, in order, where that was asked for.
    pub trace: Vec<(Moment, Seen)>,
}

/// Plays a schedule. A panic of any machine is a breach.
pub fn run(schedule: &Schedule) -> Outcome {
    play(schedule, false)
}

/// The same, and keeps everything that was seen.
pub fn run_recorded(schedule: &Schedule) -> Outcome {
    play(schedule, true)
}

/// Judges a trace, as it was or doctored.
pub fn judge(schedule: &Schedule, trace: &[(Moment, Seen)]) -> Option<Breach> {
    let mut suite = Suite::new(&terms(schedule));
    let end = Moment::from_millis(schedule.end_millis());
    let judged = trace.iter().try_for_each(|(at, seen)| suite.see(*at, seen));
    judged.and_then(|()| suite.finish(end)).err()
}

fn terms(schedule: &Schedule) -> Terms {
    Terms { schedule: Arc::new(schedule.clone()), factory: schedule.game.factory() }
}

fn play(schedule: &Schedule, recorded: bool) -> Outcome {
    let terms = terms(schedule);
    let watch = Watch::new(&terms);
    let watch = if recorded { watch.recording() } else { watch };
    let played = catch_unwind(AssertUnwindSafe(|| World::new(schedule, terms.factory.clone(), watch).run()));
    match played {
        Ok(watch) => {
            let (breach, digest, coverage, trace) = watch.into_parts();
            Outcome { breach, digest, coverage, trace }
        }
        Err(_) => Outcome {
            breach: Some(breach(Rule::Panic, Moment::ZERO)),
            digest: Digest::of(b"panic"),
            coverage: Coverage::default(),
            trace: Vec::new(),
        },
    }
}
