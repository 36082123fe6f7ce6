//! The judges of a simulated match: each sees everything that is seen, knows nothing of the machines, and says what does not hold.
//!
//! | check | holds |
//! |---|---|
//! | `order` | I1, and one frame a tick in the log |
//! | `line` | I2, and what was released is never lost (A12) |
//! | `states` | I3 |
//! | `reports` | I4 |
//! | `prediction` | I5, I6 |
//! | `caps` | I7's typed ends, I8 and bounded memory |
//! | `events` | presentation events come out exactly once (K10) |
//! | `tolerance` | no tick stays open beyond its deadline (A1) |
//! | `inputs` | an input counts as it was sampled, and one that is there in time is not substituted (A1, N2) |
//! | `commands` | a command is ordered at most once, under its seat (A9) |
//! | `leaks` | what belongs to one connection reaches no other (A6, A9) |
//! | `liveness` | once all is healthy, everyone converges |

mod caps;
mod commands;
mod events;
mod fold;
mod inputs;
mod leaks;
mod line;
mod liveness;
mod order;
mod prediction;
mod reports;
mod sent_frames;
mod states;
mod tolerance;

use std::sync::Arc;

use retick_core::runtime::RuntimeFactory;
use retick_core::tick::{Moment, Tick};
use retick_core::wire::{RoomRules, look_ahead_ticks};

use super::schedule::Schedule;
use super::trace::Seen;

/// What must hold.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
#[expect(missing_docs, reason = "the text of each is its message")]
pub enum Rule {
    Order,
    FrameATick,
    Line,
    Durability,
    Recovered,
    State,
    Checksums,
    Fold,
    EarlyReport,
    WrongReport,
    Window,
    RollbackTarget,
    End,
    Malformed,
    Cap,
    Memory,
    EventTwice,
    EventLost,
    EventLife,
    Stalled,
    TooEarly,
    Clock,
    Input,
    Resampled,
    Substituted,
    Unconfirmed,
    Command,
    CommandTwice,
    TokenLeak,
    SecretLeak,
    EphemeralLeak,
    FalseDesync,
    NotLive,
    NotConverged,
    Rate,
    Pending,
    Panic,
    Steps,
}

impl Rule {
    /// What the rule says.
    pub fn text(self) -> &'static str {
        match self {
            Rule::Order => "I1: confirmed ticks come one after another",
            Rule::FrameATick => "I1: the log has one frame for each tick",
            Rule::Line => "I2: everyone has the same frame of a tick",
            Rule::Durability => "A12: what is released is in the log first, and safe where that is promised",
            Rule::Recovered => "A12: what a client gives back in time is confirmed again",
            Rule::State => "I3: a confirmed state is the fold of the log",
            Rule::Checksums => "I3: each state of the cadence has one checksum",
            Rule::Fold => "I3: the log can be folded",
            Rule::EarlyReport => "I4: a report leaves when its state is confirmed and applied",
            Rule::WrongReport => "I4: a report says what its session confirmed, once",
            Rule::Window => "I5: no more is predicted than the window allows",
            Rule::RollbackTarget => "I6: a rollback goes to a state that is kept, below the present",
            Rule::End => "I7: an honest client ends for a reason that there was",
            Rule::Malformed => "I7: the room closes no honest connection for what it sends",
            Rule::Cap => "I8: checkpoints, frames, inputs and bytes stay under their caps",
            Rule::Memory => "I8: the room's history and records that are not kept yet stay under their caps",
            Rule::EventTwice => "K10: an event of the confirmed timeline comes out once, as it was",
            Rule::EventLost => "K10: every event of the confirmed timeline comes out, or is counted as dropped",
            Rule::EventLife => "K10: what is told as predicted ends once",
            Rule::Stalled => "A1: no tick is open beyond its tolerance while the room is up",
            Rule::TooEarly => "A1: no tick is confirmed before the clock has reached it",
            Rule::Clock => "A1: the room's clock keeps to its machine's, clamped",
            Rule::Input => "A1: a confirmed input is one that its seat delivered",
            Rule::Resampled => "N2: a tick is sampled once",
            Rule::Substituted => "A1: an input that is there in time is not substituted",
            Rule::Unconfirmed => "A1: a tick whose inputs are all there is confirmed at the next call",
            Rule::Command => "A9: a confirmed command was requested by its seat",
            Rule::CommandTwice => "A9: a command is ordered once",
            Rule::TokenLeak => "A6: a resume token reaches its own connection alone",
            Rule::SecretLeak => "A12: the room's secret and players' names leave it never",
            Rule::EphemeralLeak => "A9: an ephemeral reaches those who are there, and no frame or log",
            Rule::FalseDesync => "A8: no desync is announced where nobody lies",
            Rule::NotLive => "liveness: everyone who did not leave is live in the end",
            Rule::NotConverged => "liveness: everyone has what the room has confirmed",
            Rule::Rate => "liveness: ticks are confirmed at their rate",
            Rule::Pending => "liveness: no transfer goes on without end",
            Rule::Panic => "I7: nothing panics",
            Rule::Steps => "T2: a match comes to its end",
        }
    }
}

/// What does not hold, where first.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Breach {
    /// Which rule.
    pub rule: Rule,
    /// When.
    pub at: Moment,
    /// The participant, if it is one's.
    pub actor: Option<u32>,
    /// The tick, if it is about one.
    pub tick: Option<Tick>,
    /// A number that was found, where one says more.
    pub found: u64,
    /// The number that it should have been, or was allowed at most.
    pub expected: u64,
}

impl std::fmt::Display for Breach {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} ({:?}), broken at {} µs", self.rule.text(), self.rule, self.at.as_micros())?;
        if let Some(actor) = self.actor {
            write!(f, " by participant {actor}")?;
        }
        if let Some(tick) = self.tick {
            write!(f, ", tick {tick}")?;
        }
        write!(f, ": found {}, expected {}", self.found, self.expected)
    }
}

impl std::error::Error for Breach {}

/// A breach without what only some have.
pub(crate) fn breach(rule: Rule, at: Moment) -> Breach {
    Breach { rule, at, actor: None, tick: None, found: 0, expected: 0 }
}

impl Breach {
    pub(crate) fn by(self, actor: u32) -> Breach {
        Breach { actor: Some(actor), ..self }
    }

    pub(crate) fn of(self, tick: Tick) -> Breach {
        Breach { tick: Some(tick), ..self }
    }

    pub(crate) fn numbers(self, found: u64, expected: u64) -> Breach {
        Breach { found, expected, ..self }
    }
}

/// What every judge knows of the match: its schedule and the game.
#[derive(Clone)]
pub(crate) struct Terms {
    pub(crate) schedule: Arc<Schedule>,
    pub(crate) factory: Arc<dyn RuntimeFactory>,
}

impl Terms {
    /// Ticks ahead for which a seat may buffer inputs (A4).
    fn look_ahead_ticks(&self) -> u64 {
        let descriptor = self.schedule.descriptor(self.factory.as_ref());
        let rules = RoomRules {
            hard_tolerance_ticks: self.schedule.room.hard_tolerance_ticks,
            checksum_cadence_ticks: self.schedule.room.checksum_cadence_ticks,
        };
        look_ahead_ticks(descriptor.tick_rate(), &rules, &descriptor.limits())
    }
}

/// A judge.
pub(crate) trait Check {
    /// Sees one thing.
    fn see(&mut self, at: Moment, seen: &Seen) -> Result<(), Breach>;

    /// Sees the end.
    fn finish(&mut self, at: Moment) -> Result<(), Breach> {
        let _ = at;
        Ok(())
    }
}

/// All judges.
pub(crate) struct Suite {
    checks: Vec<Box<dyn Check>>,
}

impl Suite {
    pub(crate) fn new(terms: &Terms) -> Suite {
        let checks: Vec<Box<dyn Check>> = vec![
            Box::new(order::Order::default()),
            Box::new(line::Line::new(terms)),
            Box::new(states::States::new(terms)),
            Box::new(reports::Reports::default()),
            Box::new(prediction::Prediction::new(terms)),
            Box::new(caps::Caps::new(terms)),
            Box::new(events::Events::new(terms)),
            Box::new(tolerance::Tolerance::new(terms)),
            Box::new(inputs::Inputs::new(terms)),
            Box::new(commands::Commands::default()),
            Box::new(leaks::Leaks::new(terms)),
            Box::new(liveness::Liveness::new(terms)),
        ];
        Suite { checks }
    }

    pub(crate) fn see(&mut self, at: Moment, seen: &Seen) -> Result<(), Breach> {
        self.checks.iter_mut().try_for_each(|check| check.see(at, seen))
    }

    pub(crate) fn finish(&mut self, at: Moment) -> Result<(), Breach> {
        self.checks.iter_mut().try_for_each(|check| check.finish(at))
    }
}
