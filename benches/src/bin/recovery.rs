//! Counts what it costs a client to come back after a stall of 300 ticks, on the virtual clock, and rewrites the section of it in the
//! results. `--quick` only prints it.

use std::env;
use std::error::Error;
use std::io::{self, Write as _};

use retick_benches::report::{Table, results_file, rewrite_section};
use retick_testing::recovery::{Recovery, STEPS_PER_TURN, Stall, WINDOW_TICKS, recover};

/// A stall, a budget, and what the user's own system counts for it: frames, turns, and frames in the worst turn.
type Row = (Stall, Option<u32>, [u64; 3]);

const ROWS: [Row; 6] = [
    (Stall::Frozen, None, [319, 1, 319]),
    (Stall::Frozen, Some(8), [344, 42, 15]),
    (Stall::Frozen, Some(16), [323, 20, 23]),
    (Stall::Dropped, None, [300, 3, 299]),
    (Stall::Dropped, Some(8), [340, 44, 16]),
    (Stall::Dropped, Some(16), [316, 21, 32]),
];

fn main() -> Result<(), Box<dyn Error>> {
    let text = table().to_string();
    write!(io::stdout().lock(), "{text}")?;
    if env::args().skip(1).any(|argument| argument == "--quick") {
        return Ok(());
    }
    rewrite_section(&results_file(), "recovery", &text)
}

fn table() -> Table {
    let titles = [
        "stall of 300 ticks",
        "budget",
        "frames",
        "turns",
        "worst turn",
        "its bound",
        "seed: frames",
        "turns",
        "worst turn",
    ];
    let mut table = Table::new(&titles);
    for (stall, budget, seed) in ROWS {
        let Recovery { frames, turns, worst_turn_frames, .. } = recover(stall, budget);
        let name = match stall {
            Stall::Frozen => "frozen: all arrives in one burst",
            Stall::Dropped => "dropped: history on reconnect",
        };
        let bound = budget.map(|budget| u64::from(budget) + u64::from(WINDOW_TICKS) + u64::from(STEPS_PER_TURN));
        let shown = |figure: Option<u64>| figure.map_or_else(|| "none".to_owned(), |figure| figure.to_string());
        let [seed_frames, seed_turns, seed_worst] = seed.map(|figure| figure.to_string());
        table.push([
            name.to_owned(),
            shown(budget.map(u64::from)),
            frames.to_string(),
            turns.to_string(),
            worst_turn_frames.to_string(),
            shown(bound),
            seed_frames,
            seed_turns,
            seed_worst,
        ]);
    }
    table
}
