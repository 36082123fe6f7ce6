//! A room, and everything that can reach it: a script is read byte by byte, and what comes out is held against the rules.
//!
//! The script sets the room up, then each byte is an [operation](ops) and those behind it say which. Nothing that it can hold is a
//! mistake: numbers are taken modulo what there is. Operations are mostly what an honest peer would do at that moment, since noise
//! alone never gets past a greeting.

mod honest;
mod ops;
mod peer;
mod script;
mod scripts;
mod table;
mod transfers;

use retick_core::frame::{Frame, SeatFrame};
use retick_core::seat::{Generation, Presence, SeatCount};
use retick_core::tick::Tick;

use super::{Seed, Verdict};
use crate::fixtures::zig_packed;
use ops::perform;
use script::Script;
use scripts::scripts;
use table::Table;

pub use table::Seen;

/// Most operations of one script.
const MAX_OPERATIONS: usize = 400;

pub(super) fn check(input: &[u8]) -> Verdict {
    let seen = play(input);
    if seen.ticks > 0 { Verdict::Taken } else { Verdict::Refused }
}

/// Plays a script, and says what came of it.
///
/// ```
/// use retick_testing::fuzzing::{Target, play};
///
/// let seen = Target::Room.seeds().iter().map(|seed| play(&seed.bytes)).fold(0, |ticks, seen| ticks + seen.ticks);
/// assert!(seen > 100, "the first inputs play matches");
/// ```
///
/// # Panics
/// When the room breaks one of its rules.
#[must_use]
pub fn play(input: &[u8]) -> Seen {
    let mut script = Script::new(input);
    let mut table = Table::new(&mut script);
    for _ in 0..MAX_OPERATIONS {
        let Some(operation) = script.next() else { break };
        perform(&mut table, operation, &mut script);
        table.check_room();
    }
    table.finish()
}

/// Scripts of matches that are played: each byte string is what `ops` reads.
pub(super) fn seeds() -> Vec<Seed> {
    scripts().into_iter().map(|(name, bytes)| Seed { name, bytes }).collect()
}

/// The messages and records of a match in which much happens, one of each kind, as inputs of the target `wire`.
pub(super) fn captured() -> Vec<Seed> {
    let mut captured = table::Captured::default();
    for (_, bytes) in scripts() {
        let mut script = Script::new(&bytes);
        let mut table = Table::capturing(&mut script);
        while let Some(operation) = script.next() {
            perform(&mut table, operation, &mut script);
        }
        captured.add(table.captured());
    }
    captured.seeds()
}

/// Frames of the fixture TALLY.
pub(super) fn tally_frames(seats: u8, ticks: u64) -> Vec<Frame> {
    let seats: Vec<_> = SeatCount::new(seats).into_iter().flat_map(SeatCount::seats).collect();
    let frame = |tick| {
        let mut frame = Frame::new(Generation(0), tick);
        for seat in &seats {
            let input = zig_packed(*seat, tick);
            frame.push_seat(SeatFrame { input: Some(&input), presence: Presence::Human, ..SeatFrame::default() });
        }
        frame
    };
    (0..ticks).map(|tick| frame(Tick::new(tick))).collect()
}
