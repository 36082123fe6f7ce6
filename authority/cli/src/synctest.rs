//! `retick synctest`: a game module is played twice, rolled back in every tick, and hydrated, and must come out the same.

use std::path::PathBuf;
use std::time::Instant;

use clap::Args;
use retick_core::identity::MatchDescriptor;
use retick_core::rng::SessionSeed;
use retick_core::runtime::RuntimeFactory;
use retick_core::seat::SeatCount;
use retick_testing::assert::{GameFault, check_deterministic, check_hydration, check_synctest};
use retick_testing::certify::made_up_inputs;

use crate::failure::Failure;
use crate::games;

/// Every how many ticks a fresh instance takes over, in the hydration check.
const HYDRATE_EVERY_TICKS: u64 = 97;

/// Arguments of `retick synctest`.
#[derive(Args)]
pub struct SynctestArguments {
    /// The game's module; the built-in skirmish if not given
    #[arg(value_name = "MODULE")]
    module: Option<PathBuf>,
    /// How many ticks to play
    #[arg(long, default_value_t = 600, value_parser = clap::value_parser!(u64).range(1..=1_000_000))]
    ticks: u64,
    /// How many ticks to roll back in every tick
    #[arg(long, default_value_t = 7, value_parser = clap::value_parser!(u64).range(1..=64))]
    depth: u64,
    /// How many seats; the fewest that the game takes, but two if it can, when not given
    #[arg(long, value_parser = clap::value_parser!(u8).range(1..=128))]
    seats: Option<u8>,
    /// Seed of the match and of the made-up inputs
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// A value of the game's session config; may be given for each field
    #[arg(long = "set", value_name = "NAME=VALUE")]
    settings: Vec<String>,
}

/// Runs `retick synctest`.
pub fn run(arguments: &SynctestArguments) -> Result<(), Failure> {
    let factory = match &arguments.module {
        Some(path) => games::from_file(path)?,
        None => games::skirmish()?,
    };
    let manifest = factory.manifest();
    let config = games::config_from(manifest.config_schema(), &arguments.settings)?;
    let takes = factory.description().seats.clone();
    let seats = arguments.seats.unwrap_or(2.clamp(*takes.start(), *takes.end()));
    let seats = SeatCount::new(seats).ok_or_else(|| Failure::Run(format!("a match can't have {seats} seats")))?;
    let descriptor = MatchDescriptor::new(manifest, config, SessionSeed::from_u64(arguments.seed), seats);
    println!("{}", games::describe(factory.as_ref()));
    println!("{} ticks, {seats} seats, seed {}", arguments.ticks, arguments.seed);

    let script = made_up_inputs(manifest.input_schema().clone(), arguments.seed);
    let ticks = arguments.ticks;
    let proof = timed("deterministic", || check_deterministic(factory.as_ref(), &descriptor, &script, ticks))?;
    println!("  {} states equal in two instances, the last {}", proof.states, proof.last);
    let proof = timed("rollback", || check_synctest(factory.as_ref(), &descriptor, &script, ticks, arguments.depth))?;
    println!("  {} rollbacks, {} ticks resimulated, each compared", proof.rollbacks, proof.resimulated_ticks);
    let every = HYDRATE_EVERY_TICKS.min(ticks.div_ceil(3));
    let proof = timed("hydration", || check_hydration(factory.as_ref(), &descriptor, &script, ticks, every))?;
    println!("  {} instances hydrated, {} states compared", proof.hydrations, proof.states);
    Ok(())
}

fn timed<T>(what: &str, check: impl FnOnce() -> Result<T, GameFault>) -> Result<T, Failure> {
    let started = Instant::now();
    match check() {
        Ok(proof) => {
            println!("{what}: passed in {:.0?}", started.elapsed());
            Ok(proof)
        }
        Err(GameFault::Create(error)) => Err(Failure::Create(error)),
        Err(fault) => Err(Failure::CheckFailed(format!("{what}: {fault}"))),
    }
}
