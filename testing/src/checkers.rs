//! The invariants of every networked match, judged from what was observed of it: independent of the driver, of each other, and
//! of the code that they judge.
//!
//! ```
//! use std::sync::Arc;
//!
//! use retick_testing::checkers::{Breach, check_all};
//! use retick_testing::fixtures::{tally_factory, zig_packed};
//! use retick_testing::sim::{ClientSetup, MatchSetup};
//!
//! let factory = Arc::new(tally_factory());
//! let player = || ClientSetup::new(zig_packed);
//! let mut sim = MatchSetup::new(factory.clone()).client(player()).client(player()).last_tick(40).build();
//! sim.run_until_confirmed(40);
//! let mut report = sim.report();
//! assert_eq!(check_all(&report, factory.as_ref()), []);
//!
//! // A frame that one client never saw: order and content are judged, each by its own rule.
//! report.clients[1].frames.remove(20);
//! assert!(!check_all(&report, factory.as_ref()).is_empty());
//! ```

mod bounds;
mod events;
mod order;
mod prediction;
mod reports;
mod states;
#[cfg(test)]
mod tests;

pub use bounds::{check_i7, check_i8};
pub use events::check_events;
pub use order::{check_i1, check_i2};
pub use prediction::{check_i5, check_i6};
pub use reports::check_i4;
pub use states::check_i3;

use retick_core::client::EndReason;
use retick_core::digest::Checksum;
use retick_core::runtime::RuntimeFactory;
use retick_core::seat::Seat;
use retick_core::tick::Tick;

use crate::sim::MatchReport;
use crate::strict::Violation;

/// What does not hold, where first.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum Breach {
    /// I1: the confirmed ticks of a seat have a gap, a repeat or a swap.
    #[error("I1: seat {seat} confirmed tick {found} where {expected} comes next")]
    Order {
        /// The seat.
        seat: Seat,
        /// The tick that comes next.
        expected: Tick,
        /// The tick that came.
        found: Tick,
    },
    /// I2: a seat's frame is not the authority's.
    #[error("I2: the frame of tick {tick} at seat {seat} is not the authority's")]
    Frame {
        /// The seat.
        seat: Seat,
        /// The tick.
        tick: Tick,
    },
    /// I2: a seat's frame chain has another head than the authority's, although it has every frame.
    #[error("I2: the frame chain of seat {seat} has another head than the authority's")]
    Chain {
        /// The seat.
        seat: Seat,
    },
    /// I3: a confirmed state is not the fold of the authority's log.
    #[error("I3: S({tick}) of seat {seat} is {found}, the fold gives {expected}")]
    State {
        /// The seat.
        seat: Seat,
        /// The state.
        tick: Tick,
        /// The fold's checksum.
        expected: Checksum,
        /// The seat's.
        found: Checksum,
    },
    /// I3: a confirmed state on the cadence has no checksum, or more than one, or one off the cadence has one.
    #[error("I3: the confirmed checksums of seat {seat} are not those of the cadence from S({tick}) on")]
    Checksums {
        /// The seat.
        seat: Seat,
        /// The first state of which there is not exactly the one checksum.
        tick: Tick,
    },
    /// I3: the authority's log can't be folded, so it proves nothing.
    #[error("I3: the authority's log can't be folded beyond S({tick})")]
    Fold {
        /// The last state that it can be folded to.
        tick: Tick,
    },
    /// I4: a report left before its state was confirmed and applied.
    #[error("I4: seat {seat} reported S({tick}) when {confirmed} ticks were confirmed")]
    EarlyReport {
        /// The seat.
        seat: Seat,
        /// The reported state.
        tick: Tick,
        /// Ticks confirmed and applied at that moment.
        confirmed: Tick,
    },
    /// I4: a state was reported twice, or with another checksum than its session confirmed.
    #[error("I4: seat {seat} reported S({tick}) twice, or not as its session confirmed it")]
    WrongReport {
        /// The seat.
        seat: Seat,
        /// The reported state.
        tick: Tick,
    },
    /// I5: more was predicted than the window allows.
    #[error(
        "I5: seat {seat} was {lead} ticks ahead of its confirmed state at authority tick {at}, {window} are allowed"
    )]
    Window {
        /// The seat.
        seat: Seat,
        /// The authority tick.
        at: Tick,
        /// Ticks predicted.
        lead: u64,
        /// Most ticks that may be.
        window: u64,
    },
    /// I6: a rollback went to a state that is not below the present, or that was not kept.
    #[error("I6: seat {seat} rolled back to {from} from {head} at authority tick {at}, where {oldest:?} was kept")]
    RollbackTarget {
        /// The seat.
        seat: Seat,
        /// The authority tick.
        at: Tick,
        /// Where it went.
        from: Tick,
        /// The present before it.
        head: Tick,
        /// The oldest state that was kept.
        oldest: Option<Tick>,
    },
    /// I7: a client ended for a reason that an honest room and game never give.
    #[error("I7: seat {seat} ended: {end}")]
    End {
        /// The seat.
        seat: Seat,
        /// Why.
        end: EndReason,
    },
    /// I7: inputs were neither confirmed, nor waiting, nor counted.
    #[error("I7: of {delivered} inputs of seat {seat}, {counted} were counted and {confirmed} confirmed")]
    Unaccounted {
        /// The seat.
        seat: Seat,
        /// Inputs that reached the room.
        delivered: u64,
        /// Inputs that the room counted as late, equal, conflicting or refused.
        counted: u64,
        /// Inputs that stand in frames.
        confirmed: u64,
    },
    /// I7: a raw seat was sent bytes that make no sense.
    #[error("I7: seat {seat} was sent {count} messages that make no sense")]
    Nonsense {
        /// The seat.
        seat: Seat,
        /// How many.
        count: u64,
    },
    /// I8: something grew beyond its cap.
    #[error("I8: {bounded:?} of seat {seat} was {found}, where {cap} is the cap")]
    Cap {
        /// The seat.
        seat: Seat,
        /// What is bounded.
        bounded: Bounded,
        /// How much there was.
        found: u64,
        /// How much there may be.
        cap: u64,
    },
    /// K10: a seat's confirmed events are not those of the fold of the authority's log.
    #[error("K10: the confirmed events of seat {seat} are not those of the fold from tick {tick} on")]
    Events {
        /// The seat.
        seat: Seat,
        /// The first tick whose events are missing or false.
        tick: Tick,
    },
    /// K10: a prediction was told twice, canceled without one, or confirmed with another payload.
    #[error("K10: seat {seat} was told a false life of an event of tick {tick}")]
    EventLife {
        /// The seat.
        seat: Seat,
        /// The event's tick.
        tick: Tick,
    },
    /// The contract of the runtime was broken (K2, K4, K9).
    #[error("seat {seat}: {violation:?}")]
    Contract {
        /// The seat.
        seat: Seat,
        /// How.
        violation: Violation,
    },
}

/// What I8 bounds.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Bounded {
    /// Checkpoints kept by the session.
    Checkpoints,
    /// Frames that wait to be applied.
    QueuedFrames,
    /// Own inputs that are not confirmed.
    UnconfirmedInputs,
    /// Bytes under way to the seat.
    BytesUnderWay,
}

/// Every checker's first breach, in the order of the invariants; `factory` folds the authority's log.
#[must_use]
pub fn check_all(report: &MatchReport, factory: &dyn RuntimeFactory) -> Vec<Breach> {
    let checks = [
        check_i1(report),
        check_i2(report),
        check_i3(report, factory),
        check_i4(report),
        check_i5(report),
        check_i6(report),
        check_i7(report),
        check_i8(report),
        check_events(report, factory),
        check_contract(report),
    ];
    checks.into_iter().filter_map(Result::err).collect()
}

/// Nobody broke the contract of a strict runtime.
///
/// # Errors
/// [`Breach::Contract`].
pub fn check_contract(report: &MatchReport) -> Result<(), Breach> {
    let first = report.clients.iter().find_map(|client| Some((client.seat, client.violations.first()?)));
    first.map_or(Ok(()), |(seat, violation)| Err(Breach::Contract { seat, violation: violation.clone() }))
}
