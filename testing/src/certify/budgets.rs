//! What a game takes, and what it may take.

use retick_core::tick::Tick;

use super::{Finding, Trial};

/// What a budget is for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum Quantity {
    /// The median time of a step.
    MedianStep,
    /// A high percentile of the time of a step.
    TailStep,
    /// Gas of a step.
    Gas,
    /// Pages of 4 KiB that a step writes.
    WrittenPages,
    /// Pages of 64 KiB that the game knows its memory to have.
    MemoryPages,
    /// Bytes of a projection.
    ProjectionBytes,
    /// Presentation events of a tick.
    Events,
}

impl std::fmt::Display for Quantity {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Quantity::MedianStep => "nanoseconds of a step in the median",
            Quantity::TailStep => "nanoseconds of a step in the percentile",
            Quantity::Gas => "gas of a step",
            Quantity::WrittenPages => "written pages of 4 KiB of a step",
            Quantity::MemoryPages => "memory pages of 64 KiB",
            Quantity::ProjectionBytes => "bytes of a projection",
            Quantity::Events => "events of a tick",
        })
    }
}

/// What a game may take; `None` is not checked. A figure that equals its budget is within it.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Budgets {
    /// Microseconds of a step with its checkpoint, in the median over all steps.
    pub median_step_micros: Option<u64>,
    /// The same in the percentile that the options name.
    pub tail_step_micros: Option<u64>,
    /// Gas of each step.
    pub gas_per_step: Option<u64>,
    /// Pages of 4 KiB that each step writes.
    pub pages_per_step: Option<u64>,
    /// Pages of 64 KiB that the game knows its memory to have.
    pub memory_pages: Option<u64>,
    /// Bytes of each projection.
    pub projection_bytes: Option<u64>,
    /// Presentation events of each tick.
    pub events_per_tick: Option<u64>,
}

/// The greatest value of a figure, and where it was seen first.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Worst {
    /// The value.
    pub value: u64,
    /// Where.
    pub place: Place,
}

/// A tick of a match.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Place {
    /// The match.
    pub trial: Trial,
    /// The tick that was stepped; of what is in a state, the step that led to it.
    pub tick: Tick,
}

impl std::fmt::Display for Place {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}, tick {}", self.trial, self.tick)
    }
}

/// How long steps took, with their checkpoints, by the caller's clock.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct StepTimes {
    /// Steps timed.
    pub steps: u64,
    /// The median.
    pub median_nanos: u64,
    /// Which percentile `tail_nanos` is.
    pub percentile: u8,
    /// That percentile.
    pub tail_nanos: u64,
    /// The longest.
    pub longest_nanos: u64,
}

impl StepTimes {
    /// Of these times, in any order; `None` of none.
    pub(super) fn of(nanos: &mut [u64], percentile: u8) -> Option<StepTimes> {
        nanos.sort_unstable();
        let percentile = percentile.clamp(1, 100);
        // The smallest time that at least so many percent of all do not exceed.
        let at = |percent: u8| {
            let rank = (nanos.len() * usize::from(percent)).div_ceil(100);
            nanos.get(rank.saturating_sub(1)).copied()
        };
        let (median_nanos, tail_nanos, longest_nanos) = (at(50)?, at(percentile)?, at(100)?);
        Some(StepTimes { steps: nanos.len() as u64, median_nanos, percentile, tail_nanos, longest_nanos })
    }
}

/// What was proved and measured over all matches.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Figures {
    /// States that were compared between two instances.
    pub states_compared: u64,
    /// Checkpoints restored.
    pub rollbacks: u64,
    /// Ticks that were simulated again after a rollback, each compared.
    pub resimulated_ticks: u64,
    /// Ticks that were first played with other inputs than the right ones.
    pub mispredicted_ticks: u64,
    /// Fresh instances that took a state.
    pub hydrations: u64,
    /// Ticks that were recorded, replayed and compared.
    pub replayed_ticks: u64,
    /// Times of steps; `None` when none was timed.
    pub step: Option<StepTimes>,
    /// Most gas of a step; `None` when it was not measured.
    pub gas: Option<Worst>,
    /// Most pages of 4 KiB that a step wrote, the host's own writes of its block included; `None` when it was not measured.
    pub written_pages: Option<Worst>,
    /// Most pages of 64 KiB that the game knew its memory to have; `None` when it was not measured.
    pub memory_pages: Option<Worst>,
    /// Most bytes of a projection; `None` when the game has none.
    pub projection_bytes: Option<Worst>,
    /// Most presentation events of a tick, dropped ones included.
    pub events: Option<Worst>,
    /// Most bytes of a state's canonical form.
    pub state_bytes: u64,
}

/// Takes the greater value; of equal ones the one that was there.
pub(super) fn raise(worst: &mut Option<Worst>, value: u64, place: Place) {
    if worst.is_none_or(|worst| value > worst.value) {
        *worst = Some(Worst { value, place });
    }
}

impl Figures {
    /// Adds what another match had. Times are the caller's business.
    pub(super) fn add(&mut self, other: &Figures) {
        self.replayed_ticks += other.replayed_ticks;
        self.state_bytes = self.state_bytes.max(other.state_bytes);
        for (worst, other) in [
            (&mut self.gas, other.gas),
            (&mut self.written_pages, other.written_pages),
            (&mut self.memory_pages, other.memory_pages),
            (&mut self.projection_bytes, other.projection_bytes),
            (&mut self.events, other.events),
        ] {
            if let Some(Worst { value, place }) = other {
                raise(worst, value, place);
            }
        }
    }
}

impl Budgets {
    /// What is over its budget, or has one and was not measured though a match was.
    pub(super) fn check(&self, figures: &Figures) -> Vec<Finding> {
        let Some(step) = figures.step else { return Vec::new() };
        let time = |value| -> Found { Some((value, None)) };
        let of = |worst: Option<Worst>| worst.map(|worst| (worst.value, Some(worst.place)));
        let nanos = |micros: Option<u64>| micros.map(|micros| micros.saturating_mul(1_000));
        let all = [
            (Quantity::MedianStep, time(step.median_nanos), nanos(self.median_step_micros)),
            (Quantity::TailStep, time(step.tail_nanos), nanos(self.tail_step_micros)),
            (Quantity::Gas, of(figures.gas), self.gas_per_step),
            (Quantity::WrittenPages, of(figures.written_pages), self.pages_per_step),
            (Quantity::MemoryPages, of(figures.memory_pages), self.memory_pages),
            (Quantity::ProjectionBytes, of(figures.projection_bytes), self.projection_bytes),
            (Quantity::Events, of(figures.events), self.events_per_tick),
        ];
        all.into_iter().filter_map(|(quantity, found, budget)| over(quantity, found, budget?)).collect()
    }
}

/// A figure, and where it was seen if it was in one place.
type Found = Option<(u64, Option<Place>)>;

fn over(quantity: Quantity, found: Found, budget: u64) -> Option<Finding> {
    match found {
        None => Some(Finding::NotMeasured { quantity }),
        Some((figure, place)) => (figure > budget).then_some(Finding::OverBudget { quantity, figure, budget, place }),
    }
}
