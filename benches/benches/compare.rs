//! Retick beside GGRS in one process: session overhead, and states of which a tick touches little. One command measures,
//! prints, and rewrites the section in the results:
//!
//! `cargo bench -p retick-benches --bench compare`, or with `-- --quick` to see that everything runs and agrees.

use std::env;
use std::error::Error;
use std::io::{self, Write};

use retick_benches::bulk::Bulk;
use retick_benches::counters::Counters;
use retick_benches::game::{DISTANCE, Game, Inputs};
use retick_benches::machine;
use retick_benches::peer::{GGRS_VERSION, Ggrs};
use retick_benches::report::{Table, ratio, results_file, rewrite_section, size, time};
use retick_benches::rollback::{Checksums, Rollback, Setup};
use retick_benches::rounds::{Contender, Plan, Timing, take_turns};
use retick_core::chunked::Chunked;

/// Seats of the matches whose session is measured.
const SEATS: [u8; 2] = [2, 8];
/// Most of GGRS's time that a session may take.
const SESSION_TARGET: f64 = 0.5;
/// Sizes of state, with the most of GGRS's time that a `Chunked` one may take.
const STATES: [(u32, f64); 3] = [(64 << 10, 1.0 / 4.0), (1 << 20, 1.0 / 50.0), (16 << 20, 1.0 / 500.0)];
/// Ticks that everyone plays before anything is timed, so that every timed one rolls back.
const WARM_TICKS: u32 = 32;
/// Most of GGRS's time that a plain state may take.
const PLAIN_TARGET: f64 = 1.0;

const _: () = assert!(WARM_TICKS > DISTANCE as u32, "GGRS rolls back from the distance on");

fn main() -> Result<(), Box<dyn Error>> {
    let quick = env::args().any(|argument| argument == "--quick" || argument == "--test");
    let plan = if quick { Plan::QUICK } else { Plan::FULL };
    let text = format!(
        "{}, GGRS {GGRS_VERSION}. Medians of {} blocks in turns, with their quartiles.\n\n{}\n{}",
        machine::describe(),
        plan.rounds,
        sessions(plan),
        states(plan),
    );
    writeln!(io::stdout().lock(), "{text}")?;
    if quick { Ok(()) } else { rewrite_section(&results_file(), "compare", &text) }
}

fn sessions(plan: Plan) -> Table {
    let mut table = Table::new(&["session, state of 16 bytes", "GGRS", "Retick", "ratio", "target", ""]);
    let setup = Setup { depth: DISTANCE, inputs: Inputs::Moving, checksums: Checksums::Default };
    for seats in SEATS {
        let mut ggrs = Ggrs::new(seats, DISTANCE, Counters::default());
        let mut retick = Rollback::counters(seats, setup);
        let [peer, ours] = side_by_side(plan, &mut ggrs, [&mut retick]);
        table.push(row(format!("{seats} seats"), peer, ours, SESSION_TARGET));
    }
    table
}

fn states(plan: Plan) -> Table {
    let mut table = Table::new(&["2 seats, 1 KiB touched in a tick", "GGRS", "Retick", "ratio", "target", ""]);
    for (bytes, chunked_target) in STATES {
        let [peer, plain, chunked] = state(plan, bytes);
        table.push(row(format!("{}, plain", size(bytes)), peer, plain, PLAIN_TARGET));
        table.push(row(format!("{}, `Chunked`", size(bytes)), peer, chunked, chunked_target));
    }
    table
}

/// GGRS with a plain state beside Retick with a plain one and with one in a `Chunked`.
fn state(plan: Plan, bytes: u32) -> [Timing; 3] {
    // GGRS is given no checksums, so Retick computes none here; what one costs stands with the curves.
    let setup = Setup { depth: DISTANCE, inputs: Inputs::Moving, checksums: Checksums::Never };
    let mut ggrs = Ggrs::new(2, DISTANCE, Bulk::<Vec<u8>>::new(bytes));
    let mut plain = Rollback::bulk::<Vec<u8>>(bytes, setup);
    let mut chunked = Rollback::bulk::<Chunked<u8>>(bytes, setup);
    side_by_side(plan, &mut ggrs, [&mut plain, &mut chunked])
}

/// Times GGRS and some of ours, and sees that they all played the same match. GGRS's time comes first.
fn side_by_side<G: Game, const N: usize, const ALL: usize>(
    plan: Plan,
    ggrs: &mut Ggrs<G>,
    mut ours: [&mut Rollback; N],
) -> [Timing; ALL] {
    let mut peer = |ticks: u32| (0..ticks).for_each(|_| ggrs.turn());
    let mut blocks = ours.each_mut().map(|retick| move |ticks: u32| (0..ticks).for_each(|_| retick.turn()));
    let mut contenders: Vec<Contender<'_>> = vec![&mut peer];
    contenders.extend(blocks.iter_mut().map(|block| block as Contender<'_>));
    contenders.iter_mut().for_each(|contender| contender(WARM_TICKS));
    let timings = take_turns(plan, &mut contenders);
    for retick in ours {
        assert_eq!(ggrs.played(), retick.played(), "both played equally many ticks");
        assert_eq!(ggrs.checksum(), retick.settle(), "both came to the same state after {} ticks", ggrs.played());
    }
    timings.try_into().expect("a timing for each contender")
}

fn row(name: String, peer: Timing, ours: Timing, target: f64) -> [String; 6] {
    let met = if ours.median <= target * peer.median { "met" } else { "missed" };
    [name, spread(peer), spread(ours), ratio(ours.median, peer.median), ratio(target, 1.0), met.to_owned()]
}

fn spread(timing: Timing) -> String {
    format!("{} ({} to {})", time(timing.median), time(timing.low), time(timing.high))
}
