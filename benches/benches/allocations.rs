//! What one tick allocates, beside GGRS, counted by the allocator. It is a program of its own, because counting costs time
//! and `compare` measures that. Retick must allocate nothing, or this fails.
//!
//! `cargo bench -p retick-benches --bench allocations`; with `-- --quick` the results stay as they are.

use std::env;
use std::error::Error;
use std::io::{self, Write};

use allocation_counter::measure;
use retick_benches::bulk::Bulk;
use retick_benches::counters::Counters;
use retick_benches::game::{DISTANCE, Inputs};
use retick_benches::peer::{GGRS_VERSION, Ggrs};
use retick_benches::report::{Table, results_file, rewrite_section, size};
use retick_benches::rollback::{Checksums, Rollback, Setup};
use retick_core::chunked::Chunked;

/// Ticks before anything is counted, so that every buffer and pool has its size.
const WARM_TICKS: u32 = 3000;
/// Ticks that are counted.
const TICKS: u32 = 600;
/// Bytes of the larger states.
const STATE_BYTES: [u32; 2] = [64 << 10, 1 << 20];

fn main() -> Result<(), Box<dyn Error>> {
    let quick = env::args().any(|argument| argument == "--quick" || argument == "--test");
    let mut table = Table::new(&["allocations a tick (bytes)", "GGRS", "Retick"]);
    let setup = |checksums| Setup { depth: DISTANCE, inputs: Inputs::Moving, checksums };
    let mut retick_total = 0;
    for seats in [2, 8] {
        let mut ggrs = Ggrs::new(seats, DISTANCE, Counters::default());
        let mut retick = Rollback::counters(seats, setup(Checksums::Default));
        let (peer, ours) = (count(&mut || ggrs.turn()), count(&mut || retick.turn()));
        assert_eq!(ggrs.checksum(), retick.settle(), "both came to the same state");
        retick_total += ours.0;
        table.push([format!("{seats} seats, state of 16 bytes"), cell(peer), cell(ours)]);
    }
    for bytes in STATE_BYTES {
        let mut ggrs = Ggrs::new(2, DISTANCE, Bulk::<Vec<u8>>::new(bytes));
        let mut plain = Rollback::bulk::<Vec<u8>>(bytes, setup(Checksums::Never));
        let mut chunked = Rollback::bulk::<Chunked<u8>>(bytes, setup(Checksums::Never));
        let peer = count(&mut || ggrs.turn());
        for (store, retick) in [("plain", &mut plain), ("`Chunked`", &mut chunked)] {
            let ours = count(&mut || retick.turn());
            assert_eq!(ggrs.checksum(), retick.settle(), "both came to the same state");
            retick_total += ours.0;
            table.push([format!("2 seats, {}, {store}", size(bytes)), cell(peer), cell(ours)]);
        }
    }

    let text = format!("GGRS {GGRS_VERSION}; means of {TICKS} ticks.\n\n{table}");
    writeln!(io::stdout().lock(), "{text}")?;
    assert_eq!(retick_total, 0, "a tick of a session allocates nothing");
    if quick { Ok(()) } else { rewrite_section(&results_file(), "allocations", &text) }
}

/// Allocations and bytes of all counted ticks.
fn count(turn: &mut dyn FnMut()) -> (u64, u64) {
    (0..WARM_TICKS).for_each(|_| turn());
    let counted = measure(|| (0..TICKS).for_each(|_| turn()));
    (counted.count_total, counted.bytes_total)
}

fn cell((count, bytes): (u64, u64)) -> String {
    let mean = |total: u64| total as f64 / f64::from(TICKS);
    if count == 0 { "0".to_owned() } else { format!("{:.1} ({:.0})", mean(count), mean(bytes)) }
}
