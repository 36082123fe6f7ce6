//! The golden performance table: what loss, round trip and input delay cost a match, in numbers that are the same everywhere.
//!
//! Two clients of TALLY at 60 Hz play [`TICKS`] ticks on the virtual clock, each over datagrams to the room and a stream back. The
//! numbers are exact: a change of any of them is a change of how the client or the room plays. The table is committed as
//! `testing/golden/performance.md`; `retick simulate --table FILE` writes it anew, and `--check-table FILE` compares.
//!
//! ```
//! use retick_testing::golden::{Conditions, compare, measure, render};
//!
//! let conditions = Conditions { loss_percent: 0, round_trip_millis: 100, delay_ticks: 0 };
//! let row = measure(conditions);
//! assert!(row.rollbacks > 0 && row.substitutions == 0);
//! let text = render(&[row]);
//! assert_eq!(compare(&text, &[row]), Ok(()));
//! assert!(compare(&text.replace("| 100 |", "| 101 |"), &[row]).is_err());
//! ```

use std::fmt::Write as _;
use std::sync::Arc;

use retick_core::client::{InputDelay, Transport};

use crate::fixtures::{tally_factory, zig_packed};
use crate::net::{Chance, Delivery, LinkProfile};
use crate::sim::{ClientSetup, MatchSetup};

/// Ticks of each match.
pub const TICKS: u64 = 1200;
/// Losses, in percent, of the table's matches.
pub const LOSSES_PERCENT: [u32; 3] = [0, 2, 10];
/// Round trips, in milliseconds.
pub const ROUND_TRIPS_MILLIS: [u64; 4] = [20, 60, 120, 240];
/// Input delays, in ticks.
pub const DELAYS_TICKS: [u16; 3] = [0, 2, 6];

/// Ticks that the room waits.
const HARD_TOLERANCE_TICKS: u16 = 12;
/// Ticks that a client predicts at most.
const WINDOW_TICKS: u16 = 20;
/// The first columns of each row.
const HEADER: &str = "| loss % | round trip ms | delay ticks | rollbacks | resimulated ticks | substitutions | lead 1/100 ticks |\n\
                      |-|-|-|-|-|-|-|\n";

/// Under what a match is played.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Conditions {
    /// Losses, in percent, in both directions.
    pub loss_percent: u32,
    /// The round trip, in milliseconds.
    pub round_trip_millis: u64,
    /// The input delay, in ticks.
    pub delay_ticks: u16,
}

/// What it cost, in both clients together.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Row {
    /// Under what it was played.
    pub conditions: Conditions,
    /// Mispredictions corrected.
    pub rollbacks: u64,
    /// Ticks that they resimulated.
    pub resimulated_ticks: u64,
    /// Inputs that the room substituted.
    pub substitutions: u64,
    /// How far the present was ahead of the confirmed state, on the mean, in hundredths of a tick.
    pub lead_hundredths: u64,
}

/// A table that is not what was measured.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("line {line} of the table is not what was measured: \"{committed}\", measured \"{measured}\"")]
pub struct TableDifference {
    /// Number of the line, from 1.
    pub line: usize,
    /// The line of the table; empty where it has none.
    pub committed: String,
    /// What was measured; empty where nothing was.
    pub measured: String,
}

/// Plays one match.
///
/// # Panics
/// When an invariant of the match breaks.
pub fn measure(conditions: Conditions) -> Row {
    let Conditions { loss_percent, round_trip_millis, delay_ticks } = conditions;
    let latency_nanos = round_trip_millis * 1_000_000 / 2;
    let loss = Chance::percent(loss_percent);
    let down = LinkProfile { latency_nanos, loss, resend_nanos: 2 * latency_nanos, ..LinkProfile::default() };
    let up = LinkProfile { delivery: Delivery::Datagrams, ..down.clone() };
    let mut player = ClientSetup { up, down, ..ClientSetup::new(zig_packed) }.window_ticks(WINDOW_TICKS);
    player.config.input_delay = InputDelay::Fixed(delay_ticks);
    player.config.transport = Transport::Lossy;
    let setup = MatchSetup::new(Arc::new(tally_factory())).seed(10).hard_tolerance_ticks(HARD_TOLERANCE_TICKS);
    let mut sim = setup.client(player.clone()).client(player).last_tick(TICKS).build();
    sim.run_until_confirmed(TICKS);
    let report = sim.finish();
    let substitutions = report.frames.iter().map(|frame| frame.substituted().len() as u64).sum();
    let turns = report.clients.iter().flat_map(|client| &client.turns);
    let (lead, count) = turns.fold((0, 0), |(lead, count), turn| (lead + turn.head.since(turn.confirmed), count + 1));
    let stats = report.clients.iter().map(|client| client.stats);
    Row {
        conditions,
        rollbacks: stats.clone().map(|stats| stats.rollbacks).sum(),
        resimulated_ticks: stats.map(|stats| stats.resimulated_ticks).sum(),
        substitutions,
        lead_hundredths: lead * 100 / u64::max(count, 1),
    }
}

/// Plays every match of the table.
///
/// # Panics
/// When an invariant of a match breaks.
pub fn measure_all() -> Vec<Row> {
    let mut rows = Vec::new();
    for loss_percent in LOSSES_PERCENT {
        for round_trip_millis in ROUND_TRIPS_MILLIS {
            for delay_ticks in DELAYS_TICKS {
                rows.push(measure(Conditions { loss_percent, round_trip_millis, delay_ticks }));
            }
        }
    }
    rows
}

/// The table, as it is committed.
pub fn render(rows: &[Row]) -> String {
    let mut text = format!(
        "# What a match costs\n\nTwo clients of TALLY, {TICKS} ticks at 60 Hz, tolerance {HARD_TOLERANCE_TICKS}, window \
         {WINDOW_TICKS}, on the virtual clock. After an intended change:\n`cargo run --release -- simulate --table \
         testing/golden/performance.md`.\n\n"
    );
    text.push_str(HEADER);
    for row in rows {
        let Conditions { loss_percent, round_trip_millis, delay_ticks } = row.conditions;
        let Row { rollbacks, resimulated_ticks, substitutions, lead_hundredths, .. } = row;
        // Writing into a string does not fail.
        let _ = writeln!(
            text,
            "| {loss_percent} | {round_trip_millis} | {delay_ticks} | {rollbacks} | {resimulated_ticks} | \
             {substitutions} | {lead_hundredths} |"
        );
    }
    text
}

/// Whether a committed table is exactly what was measured.
///
/// # Errors
/// [`TableDifference`] with the first line that is not.
pub fn compare(committed: &str, rows: &[Row]) -> Result<(), TableDifference> {
    let rendered = render(rows);
    let (mut committed, mut measured) = (committed.lines(), rendered.lines());
    for line in 1.. {
        match (committed.next(), measured.next()) {
            (None, None) => break,
            (one, other) if one != other => {
                let text = |line: Option<&str>| line.unwrap_or_default().to_owned();
                return Err(TableDifference { line, committed: text(one), measured: text(other) });
            }
            _ => {}
        }
    }
    Ok(())
}
