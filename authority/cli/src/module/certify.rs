//! `retick module certify`: the kit's proofs and budgets on a module.

use std::path::PathBuf;
use std::time::Instant;

use clap::Args;
use retick_core::runtime::RuntimeFactory;
use retick_testing::certify::{
    Budgets, Certificate, DEFAULT_SEED, DEFAULT_TICKS, Figures, FindingCode, LoadedModule, Options, Worst,
    certify_loaded,
};
use retick_wasm::Limits;
use serde_json::{Value, json};

use super::{print_json, read, refused};
use crate::failure::Failure;
use crate::games;

/// Arguments of `retick module certify`.
#[derive(Args)]
pub struct CertifyArguments {
    /// The game's module
    file: PathBuf,
    /// How many seats; may be given several times. The fewest and the most that the game takes, when not given
    #[arg(long, value_parser = clap::value_parser!(u8).range(1..=128))]
    seats: Vec<u8>,
    /// How many ticks to play in each match
    #[arg(long, default_value_t = DEFAULT_TICKS, value_parser = clap::value_parser!(u64).range(1..=1_000_000))]
    ticks: u64,
    /// Seed of a match and of its made-up inputs; may be given several times
    #[arg(long = "seed", value_name = "SEED", default_values_t = [DEFAULT_SEED])]
    seeds: Vec<u64>,
    /// A value of the game's session config; may be given for each field
    #[arg(long = "set", value_name = "NAME=VALUE")]
    settings: Vec<String>,
    /// Most microseconds of a step, in 99 of 100 steps
    #[arg(long, value_name = "MICROSECONDS")]
    max_step_us: Option<u64>,
    /// Most microseconds of a step, in half of all steps
    #[arg(long, value_name = "MICROSECONDS")]
    max_median_step_us: Option<u64>,
    /// Most gas of a step
    #[arg(long, value_name = "GAS")]
    max_gas: Option<u64>,
    /// Most pages of 4 KiB that a step writes
    #[arg(long, value_name = "PAGES")]
    max_pages: Option<u64>,
    /// Most pages of 64 KiB that the game makes its memory
    #[arg(long, value_name = "PAGES")]
    max_memory_pages: Option<u64>,
    /// Most bytes of a projection
    #[arg(long, value_name = "BYTES")]
    max_projection_bytes: Option<u64>,
    /// Most presentation events of a tick
    #[arg(long, value_name = "EVENTS")]
    max_events: Option<u64>,
    /// Print one JSON document, whose shape docs/module-certification.md has
    #[arg(long)]
    json: bool,
}

impl CertifyArguments {
    fn budgets(&self) -> Budgets {
        Budgets {
            median_step_micros: self.max_median_step_us,
            tail_step_micros: self.max_step_us,
            gas_per_step: self.max_gas,
            pages_per_step: self.max_pages,
            memory_pages: self.max_memory_pages,
            projection_bytes: self.max_projection_bytes,
            events_per_tick: self.max_events,
        }
    }
}

/// Runs `retick module certify`.
pub fn run(arguments: &CertifyArguments) -> Result<(), Failure> {
    let (module, limits) = (read(&arguments.file)?, Limits::default());
    let loaded = LoadedModule::load(&module, &limits);
    let loaded = loaded.map_err(|error| {
        let certificate = Certificate::refused(error.clone());
        if arguments.json {
            print_json(&document(&certificate));
        } else {
            print_findings(&certificate);
        }
        refused(&arguments.file, error)
    })?;
    let schema = loaded.factory().manifest().config_schema();
    let options = Options {
        limits,
        seats: (!arguments.seats.is_empty()).then(|| arguments.seats.clone()),
        seeds: arguments.seeds.clone(),
        ticks: arguments.ticks,
        config: Some(games::config_from(schema, &arguments.settings)?),
        budgets: arguments.budgets(),
        ..Options::default()
    };
    let origin = Instant::now();
    let mut clock = || u64::try_from(origin.elapsed().as_nanos()).unwrap_or(u64::MAX);
    let certificate = certify_loaded(&loaded, &options, &mut clock);
    if arguments.json {
        print_json(&document(&certificate));
    } else {
        print(&certificate);
    }
    verdict(&certificate)
}

/// A check that ran and failed, or none that ran.
fn verdict(certificate: &Certificate) -> Result<(), Failure> {
    let Some(first) = certificate.findings.first() else { return Ok(()) };
    let told = format!("{}: {first}", first.code());
    let more = match certificate.findings.len() - 1 {
        0 => String::new(),
        count => format!(", and {count} more"),
    };
    match certificate.findings.iter().all(|finding| finding.code() == FindingCode::MatchRefused) {
        true => Err(Failure::Run(told)),
        false => Err(Failure::CheckFailed(told + &more)),
    }
}

/// The greatest values by name, unit last.
fn worsts(figures: &Figures) -> [(&'static str, Option<Worst>); 5] {
    [
        ("gas", figures.gas),
        ("written_pages", figures.written_pages),
        ("memory_pages", figures.memory_pages),
        ("projection_bytes", figures.projection_bytes),
        ("events", figures.events),
    ]
}

fn counts(figures: &Figures) -> [(&'static str, u64); 7] {
    [
        ("states_compared", figures.states_compared),
        ("rollbacks", figures.rollbacks),
        ("resimulated_ticks", figures.resimulated_ticks),
        ("mispredicted_ticks", figures.mispredicted_ticks),
        ("hydrations", figures.hydrations),
        ("replayed_ticks", figures.replayed_ticks),
        ("state_bytes", figures.state_bytes),
    ]
}

fn document(certificate: &Certificate) -> Value {
    let figures = &certificate.figures;
    let trial = |seats: u8, seed: u64| json!({"seats": seats, "seed": seed});
    let worst = |worst: Worst| {
        let place = worst.place;
        json!({"seats": place.trial.seats, "seed": place.trial.seed, "tick": place.tick.index(), "value": worst.value})
    };
    let mut told: serde_json::Map<String, Value> =
        counts(figures).into_iter().map(|(name, count)| (name.to_owned(), json!(count))).collect();
    told.extend(worsts(figures).into_iter().map(|(name, found)| (name.to_owned(), json!(found.map(worst)))));
    let step = figures.step.map(|step| {
        json!({
            "longest_nanos": step.longest_nanos,
            "median_nanos": step.median_nanos,
            "percentile": step.percentile,
            "steps": step.steps,
            "tail_nanos": step.tail_nanos,
        })
    });
    told.insert("step".into(), json!(step));
    let findings = certificate.findings.iter();
    let findings = findings.map(|finding| json!({"code": finding.code().as_str(), "message": finding.to_string()}));
    json!({
        "figures": told,
        "findings": findings.collect::<Vec<_>>(),
        "log": certificate.log,
        "identity": certificate.identity.map(|identity| identity.to_string()),
        "matches": certificate.trials.iter().map(|found| trial(found.seats, found.seed)).collect::<Vec<_>>(),
        "passed": certificate.passed(),
    })
}

fn print(certificate: &Certificate) {
    if let Some(identity) = certificate.identity {
        println!("identity {identity}");
    }
    let trials = certificate.trials.iter().map(ToString::to_string).collect::<Vec<_>>().join("; ");
    println!("matches: {trials}\n");
    let figures = &certificate.figures;
    counts(figures).into_iter().for_each(|(name, count)| println!("  {name:<20}{count:>12}"));
    for (name, worst) in worsts(figures) {
        match worst {
            Some(Worst { value, place }) => println!("  {name:<20}{value:>12}  in {place}"),
            None => println!("  {name:<20}{:>12}", "none"),
        }
    }
    if let Some(step) = figures.step {
        let micros = |nanos: u64| format!("{}.{:03} µs", nanos / 1_000, nanos % 1_000);
        let (median, tail, longest) = (micros(step.median_nanos), micros(step.tail_nanos), micros(step.longest_nanos));
        println!("  step with checkpoint: median {median}, {} % within {tail}, longest {longest}", step.percentile);
    }
    println!();
    certificate.log.iter().for_each(|line| println!("the game logged: {line}"));
    print_findings(certificate);
}

fn print_findings(certificate: &Certificate) {
    certificate.findings.iter().for_each(|finding| println!("{}  {finding}", finding.code()));
    println!("{}", if certificate.passed() { "certified" } else { "not certified" });
}
