//! `instructions compare` counts the instructions of hot calls under Callgrind and fails if one grew beyond the tolerance;
//! `instructions record` writes the counts down.

use std::env;
use std::error::Error;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, Stdio};

use retick_benches::instructions::{Counts, Record, TOLERANCE_PERCENT, Toolchain, compare, parse_summaries};
use retick_benches::machine;

/// The runner, unless another one is named.
const RUNNER: &str = "gungraun-runner";
/// Its version; the library refuses any other.
const RUNNER_VERSION: &str = "0.20.0";

fn main() -> Result<ExitCode, Box<dyn Error>> {
    let mut out = io::stdout().lock();
    let arguments: Vec<_> = env::args().skip(1).collect();
    let arguments: Vec<_> = arguments.iter().map(String::as_str).collect();
    let (command, runner) = match arguments[..] {
        [command @ ("compare" | "record")] => (command, RUNNER),
        [command @ ("compare" | "record"), "--runner", runner] => (command, runner),
        _ => {
            writeln!(out, "usage: instructions compare | record [--runner FILE]")?;
            return Ok(ExitCode::from(2));
        }
    };
    let Some(valgrind) = machine::version_of("valgrind") else {
        writeln!(out, "nothing was counted: Valgrind is not installed")?;
        return Ok(without_measurement(command));
    };
    if !starts(runner) {
        writeln!(out, "nothing was counted: {runner} does not start; install it with")?;
        writeln!(out, "cargo install gungraun-runner --version {RUNNER_VERSION} --locked")?;
        return Ok(without_measurement(command));
    }
    let toolchain = Toolchain { rustc: machine::rustc(), target: machine::target(), valgrind };
    let measured = Record { toolchain, instructions: measure(runner)? };
    if command == "record" {
        std::fs::write(file(), serde_json::to_string_pretty(&measured)? + "\n")?;
        writeln!(out, "{} cases recorded", measured.instructions.len())?;
        return Ok(ExitCode::SUCCESS);
    }
    let recorded: Record = serde_json::from_str(&std::fs::read_to_string(file())?)?;
    let comparison = compare(&recorded, &measured);
    write!(out, "{comparison}")?;
    if comparison.fails() {
        writeln!(out, "failed: a count grew by more than {TOLERANCE_PERCENT} %, or a case is on one side alone")?;
        writeln!(out, "if that is meant, run `instructions record` and commit the file")?;
        return Ok(ExitCode::FAILURE);
    }
    Ok(ExitCode::SUCCESS)
}

/// A machine that can't count has nothing to compare, which is no failure; it can't record either, which is one.
fn without_measurement(command: &str) -> ExitCode {
    if command == "record" { ExitCode::FAILURE } else { ExitCode::SUCCESS }
}

fn file() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("instructions.json")
}

fn starts(runner: &str) -> bool {
    Command::new(runner).arg("--version").stdout(Stdio::null()).stderr(Stdio::null()).status().is_ok()
}

fn measure(runner: &str) -> Result<Counts, Box<dyn Error>> {
    let output = Command::new("cargo")
        .args(["bench", "-p", "retick-benches", "--locked", "--bench", "callgrind", "--"])
        .args(["--output-format=json", "--callgrind-args=--cache-sim=no"])
        .env("GUNGRAUN_RUNNER", runner)
        .current_dir(env!("CARGO_MANIFEST_DIR"))
        .stderr(Stdio::inherit())
        .output()?;
    if !output.status.success() {
        return Err("the runner failed".into());
    }
    Ok(parse_summaries(&String::from_utf8(output.stdout)?)?)
}
