//! What the cases share: TALLY on both sides, and its values in a report.

use std::sync::Arc;

use retick_core::seat::Seat;
use retick_core::tick::{Tick, TickRate};
use retick_testing::fixtures::{TallyView, pack_tally, tally_factory, tally_reference, zig};
use retick_testing::sim::{ClientRecord, ClientSetup, MatchReport, MatchSetup};

pub const RATE: TickRate = TickRate::Hz60;

/// The seat of this number.
pub fn seat(number: u8) -> Seat {
    Seat::new(number).expect("valid")
}

/// A match of TALLY whose clients' runtimes are held to their contract.
pub fn tally_match() -> MatchSetup {
    MatchSetup::new(Arc::new(tally_factory())).strict()
}

/// A client that plays `input`.
pub fn client(input: fn(Seat, Tick) -> i32) -> ClientSetup {
    ClientSetup::new(move |seat, tick| pack_tally(input(seat, tick)))
}

/// `zig` of a seat by its number.
pub fn zig_of(seat: u8, tick: u64) -> i32 {
    zig(self::seat(seat), Tick::new(tick))
}

/// TALLY after the first `ticks` frames of the authority's log, by plain arithmetic.
pub fn authority_tally(report: &MatchReport, ticks: usize) -> TallyView {
    assert!(report.frames.len() >= ticks, "only {} ticks were confirmed", report.frames.len());
    tally_reference(report.descriptor.seats().count(), &report.frames[..ticks])
}

/// TALLY as a client shows its present, which ended at a tick that the case chose.
pub fn shown_tally(client: &ClientRecord) -> TallyView {
    TallyView::read(&client.projection).expect("TALLY projects")
}

/// The confirmed input of a seat; `None` for null.
pub fn input(report: &MatchReport, seat: u8, tick: usize) -> Option<i32> {
    let packed = report.frames[tick].input(self::seat(seat))?;
    (-1000..1000).find(|value| pack_tally(*value) == packed)
}

/// A view, from the values as the cases give them.
pub fn view(sum: &[i64], sub: &[u64], mix: u32) -> TallyView {
    TallyView { sum: sum.to_vec(), sub: sub.to_vec(), mix }
}
