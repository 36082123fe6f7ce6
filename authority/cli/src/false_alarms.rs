//! `retick false-alarms`: rollbacks by the million in whole matches, and how often a room takes one for a desync (A8).

use std::path::PathBuf;
use std::time::Instant;

use clap::Args;
use retick_testing::alarms::count_false_alarms;

use crate::failure::Failure;
use crate::games;

/// Arguments of `retick false-alarms`.
#[derive(Args)]
pub struct FalseAlarmArguments {
    /// The game's module; the built-in skirmish if not given
    #[arg(value_name = "MODULE")]
    module: Option<PathBuf>,
    /// How many rollbacks to count
    #[arg(long, default_value_t = 1_000_000, value_parser = clap::value_parser!(u64).range(1..=1_000_000_000))]
    rollbacks: u64,
    /// Seed of the matches
    #[arg(long, default_value_t = 1)]
    seed: u64,
}

/// Runs `retick false-alarms`.
pub fn run(arguments: &FalseAlarmArguments) -> Result<(), Failure> {
    let factory = match &arguments.module {
        Some(path) => games::from_file(path)?,
        None => games::skirmish()?,
    };
    println!("{}", games::describe(factory.as_ref()));
    let started = Instant::now();
    let count = count_false_alarms(&factory, arguments.rollbacks, arguments.seed);
    println!(
        "{} rollbacks of {} ticks in {} matches, {} ticks, {} reports, {} alarms, {:.0?}",
        count.rollbacks,
        count.resimulated_ticks,
        count.matches,
        count.ticks,
        count.reports,
        count.alarms,
        started.elapsed(),
    );
    match count.alarms {
        0 => Ok(()),
        alarms => Err(Failure::CheckFailed(format!("{alarms} states were taken for desyncs"))),
    }
}
