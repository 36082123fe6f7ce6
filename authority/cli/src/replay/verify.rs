//! `retick replay verify`, or `retick verify`: re-simulates a replay and says what it is worth.

use std::path::PathBuf;
use std::time::Instant;

use clap::Args;
use retick_core::digest::Digest;
use retick_core::replay::{Expected, ReplayPublicKey, Verdict, verify_expecting};

use super::{game, read};
use crate::failure::Failure;

/// Arguments of `retick verify`.
#[derive(Args)]
pub struct VerifyArguments {
    /// The replay
    file: PathBuf,
    /// The game's module; the built-in skirmish if not given
    #[arg(long, value_name = "FILE")]
    module: Option<PathBuf>,
    /// Digest of the session config that has to have been played, as `retick replay info` prints it
    #[arg(long, value_name = "DIGEST")]
    config: Option<Digest>,
    /// The public key of the authority that has to have signed it
    #[arg(long, value_name = "KEY")]
    signed_by: Option<ReplayPublicKey>,
}

/// Runs `retick verify`.
pub fn run(arguments: &VerifyArguments) -> Result<(), Failure> {
    let (replay, factory) = (read(&arguments.file)?, game(arguments.module.as_ref())?);
    let expected = Expected { config: arguments.config, signer: arguments.signed_by, ..Expected::default() };
    let started = Instant::now();
    let verdict = verify_expecting(&replay, factory.as_ref(), &expected);
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
        Verdict::Refused(reason) => format!("refused: {reason} ({})", reason.code()),
    }
}
