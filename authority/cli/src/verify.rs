//! `retick verify`: re-simulates a replay and says what it is worth.

use std::path::PathBuf;
use std::time::Instant;

use clap::Args;
use retick_core::replay::{Verdict, verify};

use crate::failure::Failure;
use crate::{files, games};

/// Most bytes of a replay that is read.
const MAX_REPLAY_BYTES: u64 = 1 << 30;

/// Arguments of `retick verify`.
#[derive(Args)]
pub struct VerifyArguments {
    /// The replay
    file: PathBuf,
    /// The game's module; the built-in skirmish if not given
    #[arg(long, value_name = "FILE")]
    module: Option<PathBuf>,
}

/// Runs `retick verify`.
pub fn run(arguments: &VerifyArguments) -> Result<(), Failure> {
    let replay = files::read_bounded(&arguments.file, MAX_REPLAY_BYTES)?;
    let factory = match &arguments.module {
        Some(path) => games::from_file(path)?,
        None => games::skirmish()?,
    };
    let started = Instant::now();
    let verdict = verify(&replay, factory.as_ref());
    let told = tell(&verdict);
    println!("{told} ({:.0?})", started.elapsed());
    match verdict {
        Verdict::Verified { .. } => Ok(()),
        _ => Err(Failure::CheckFailed(format!("{} is not verified", arguments.file.display()))),
    }
}

/// A verdict in words.
pub fn tell(verdict: &Verdict) -> String {
    match verdict {
        Verdict::Verified { ticks, checksums, final_checksum } => {
            format!("verified: {ticks} ticks, {checksums} checksums, final checksum {final_checksum}")
        }
        Verdict::Diverged { last_good, first_bad, later_bad, later_good } => {
            let good = last_good.map_or("none".into(), |tick| format!("S({tick})"));
            format!(
                "diverged: last good state {good}, first bad S({}): the replay says {}, re-simulation gives {}; later {} bad, {} good",
                first_bad.tick,
                first_bad.expected,
                first_bad.found,
                later_bad.len(),
                later_good.len()
            )
        }
        Verdict::Incomplete { ticks, checksums, end } => {
            format!("incomplete: {ticks} usable ticks, {checksums} checksums, all right, but the file is {end}")
        }
        Verdict::Unverifiable { ticks } => format!("unverifiable: {ticks} ticks, but no checksum to compare"),
        Verdict::Refused(reason) => format!("refused: {reason}"),
    }
}
