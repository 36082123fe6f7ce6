//! `retick simulate`: whole matches drawn from seeds, with faults, liars and crashes, judged at every step (T2); and the golden
//! performance table.

use std::collections::BTreeMap;
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

use clap::Args;
use retick_core::digest::Digest;
use retick_testing::golden;
use retick_testing::simulate::{
    Breach, Coverage, Outcome, PREMISES, Schedule, describe, draw, run as play, run_recorded, shrink,
};

use crate::failure::Failure;
use crate::files;

/// Most bytes of a schedule or a table that is read.
const MAX_FILE_BYTES: u64 = 16 << 20;
/// Most matches that are played to make a failing schedule smaller.
const SHRINKING_ATTEMPTS: usize = 400;
/// Most failures that are made smaller.
const MOST_SHRUNK: usize = 5;
/// So many seeds meet everything that is to be met.
const SEEDS_OF_ALL_PREMISES: u64 = 300;

/// Arguments of `retick simulate`.
#[derive(Args)]
pub struct SimulateArguments {
    /// How many seeds to play
    #[arg(long, default_value_t = 300, value_parser = clap::value_parser!(u64).range(1..))]
    seeds: u64,
    /// The first seed
    #[arg(long, value_name = "SEED", default_value_t = 1)]
    from: u64,
    /// Play this one seed alone, and say what it draws
    #[arg(long, value_name = "SEED", conflicts_with_all = ["seeds", "from", "schedule"])]
    seed: Option<u64>,
    /// Play the schedule in this file
    #[arg(long, value_name = "FILE", conflicts_with_all = ["seeds", "from"])]
    schedule: Option<PathBuf>,
    /// Print everything that is seen of the one match
    #[arg(long, conflicts_with_all = ["seeds", "from"])]
    trace: bool,
    /// Write the shrunk schedule of each failure into this directory
    #[arg(long, value_name = "DIR")]
    save_failures: Option<PathBuf>,
    /// How many threads to play on; as many as there are processors when not given. The results do not depend on it
    #[arg(long)]
    threads: Option<NonZeroUsize>,
    /// Measure the golden performance table, and write it to this file
    #[arg(long, value_name = "FILE", conflicts_with_all = ["seed", "schedule", "check_table"])]
    table: Option<PathBuf>,
    /// Measure the golden performance table, and compare it with this file
    #[arg(long, value_name = "FILE", conflicts_with_all = ["seed", "schedule"])]
    check_table: Option<PathBuf>,
}

/// Runs `retick simulate`.
pub fn run(arguments: &SimulateArguments) -> Result<(), Failure> {
    if let Some(path) = &arguments.table {
        return files::write_text(path, &golden::render(&golden::measure_all()));
    }
    if let Some(path) = &arguments.check_table {
        return check_table(path);
    }
    match (&arguments.schedule, arguments.seed) {
        (Some(path), _) => play_one(&read_schedule(path)?, arguments),
        (None, Some(seed)) => play_one(&draw(seed), arguments),
        (None, None) => play_many(arguments),
    }
}

fn check_table(path: &Path) -> Result<(), Failure> {
    let committed = String::from_utf8_lossy(&files::read_bounded(path, MAX_FILE_BYTES)?).into_owned();
    let rows = golden::measure_all();
    golden::compare(&committed, &rows).map_err(|difference| Failure::CheckFailed(difference.to_string()))?;
    println!("{} rows, each exactly as in {}", rows.len(), path.display());
    Ok(())
}

fn read_schedule(path: &Path) -> Result<Schedule, Failure> {
    let bytes = files::read_bounded(path, MAX_FILE_BYTES)?;
    serde_json::from_slice(&bytes).map_err(|error| Failure::Run(format!("{} is no schedule: {error}", path.display())))
}

/// Plays one schedule, and says all about it.
fn play_one(schedule: &Schedule, arguments: &SimulateArguments) -> Result<(), Failure> {
    let Outcome { breach, digest, coverage, trace } =
        if arguments.trace { run_recorded(schedule) } else { play(schedule) };
    trace.iter().for_each(|(at, seen)| println!("{:>10} µs {}", at.as_micros(), describe(seen)));
    println!(
        "seed {}: {:?}, {} seats, {} participants, {} events, {} ms and {} ms to converge",
        schedule.seed,
        schedule.game,
        schedule.seats,
        schedule.actors.len(),
        schedule.events.len(),
        schedule.safety_millis,
        schedule.liveness_millis
    );
    tell_totals(&coverage);
    println!("trace {digest}");
    match breach {
        None => Ok(()),
        Some(breach) => {
            tell_failure(schedule, &breach, arguments.save_failures.as_deref())?;
            Err(Failure::CheckFailed(format!("seed {}: {breach}", schedule.seed)))
        }
    }
}

/// What all matches together came to. Seeds are in order, whoever played them.
#[derive(Default)]
struct Total {
    coverage: Coverage,
    digests: BTreeMap<u64, Digest>,
    failures: BTreeMap<u64, Breach>,
}

fn play_many(arguments: &SimulateArguments) -> Result<(), Failure> {
    let threads = arguments
        .threads
        .map_or_else(|| std::thread::available_parallelism().map_or(1, NonZeroUsize::get), NonZeroUsize::get);
    let (from, end) = (arguments.from, arguments.from.saturating_add(arguments.seeds));
    let (next, total) = (AtomicU64::new(from), Mutex::new(Total::default()));
    let started = Instant::now();
    std::thread::scope(|scope| {
        for _ in 0..threads {
            scope.spawn(|| {
                loop {
                    let seed = next.fetch_add(1, Ordering::Relaxed);
                    if seed >= end {
                        break;
                    }
                    let outcome = play(&draw(seed));
                    // A panic of a match is caught inside it, so no lock is ever poisoned.
                    let mut total = total.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
                    total.coverage.merge(&outcome.coverage);
                    total.digests.insert(seed, outcome.digest);
                    total.failures.extend(outcome.breach.map(|breach| (seed, breach)));
                }
            });
        }
    });
    let took = started.elapsed();
    let Total { coverage, digests, failures } = total.into_inner().unwrap_or_else(|poisoned| poisoned.into_inner());
    tell_totals(&coverage);
    let parts: Vec<&[u8]> = digests.values().map(|digest| &digest.as_bytes()[..]).collect();
    println!("all traces {}", Digest::derived("retick simulated seeds", &parts));
    let minute = f64::from(u32::try_from(arguments.seeds).unwrap_or(u32::MAX)) * 60.0 / took.as_secs_f64().max(0.001);
    println!(
        "{} seeds from {from} on {threads} threads in {took:.1?}, {minute:.0} a minute: {} broke a rule",
        arguments.seeds,
        failures.len()
    );
    for (seed, breach) in failures.iter().take(MOST_SHRUNK) {
        tell_failure(&draw(*seed), breach, arguments.save_failures.as_deref())?;
    }
    for (seed, breach) in failures.iter().skip(MOST_SHRUNK) {
        println!("seed {seed}: {breach}");
    }
    if let Some((seed, breach)) = failures.first_key_value() {
        return Err(Failure::CheckFailed(format!("seed {seed}: {breach}")));
    }
    let missing = coverage.missing();
    if arguments.seeds >= SEEDS_OF_ALL_PREMISES && !missing.is_empty() {
        return Err(Failure::CheckFailed(format!(
            "never met, so that nothing is proved of it: {}",
            missing.join(", ")
        )));
    }
    println!("{} of {} premises met", PREMISES.len() - missing.len(), PREMISES.len());
    Ok(())
}

fn tell_totals(coverage: &Coverage) {
    for (name, count) in coverage.iter() {
        println!("{count:>12} {name}");
    }
}

/// Makes a failing schedule smaller, and says how to play it again.
fn tell_failure(schedule: &Schedule, breach: &Breach, directory: Option<&Path>) -> Result<(), Failure> {
    println!("seed {}: {breach}", schedule.seed);
    let small = shrink(schedule, SHRINKING_ATTEMPTS, |schedule| play(schedule).breach.map(|breach| breach.rule));
    println!(
        "  shrunk from {} events and {} participants to {} and {}, {} ms:",
        schedule.events.len(),
        schedule.actors.len(),
        small.events.len(),
        small.actors.len(),
        small.safety_millis
    );
    small.events.iter().for_each(|planned| println!("  at {} ms: {:?}", planned.at_millis, planned.event));
    if let Some(breach) = play(&small).breach {
        println!("  {breach}");
    }
    println!("  again: retick simulate --seed {}", schedule.seed);
    if let Some(directory) = directory {
        let path = directory.join(format!("seed-{}.json", schedule.seed));
        let text = serde_json::to_string_pretty(&small).map_err(|error| Failure::Run(error.to_string()))?;
        files::write_text(&path, &text)?;
        println!("  shrunk: retick simulate --schedule {}", path.display());
    }
    Ok(())
}
