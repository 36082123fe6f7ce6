//! `retick replay seek`: one state of a replay.

use std::path::PathBuf;

use clap::Args;
use retick_core::digest::Digest;
use retick_core::replay::{ReplayPlayer, SeekError};
use retick_core::tick::Tick;

use super::{game, parse};
use crate::failure::Failure;

/// Arguments of `retick replay seek`.
#[derive(Args)]
pub struct SeekArguments {
    /// The replay
    file: PathBuf,
    /// The state to go to: 0 is the initial one
    #[arg(long)]
    tick: u64,
    /// The game's module; the built-in skirmish if not given
    #[arg(long, value_name = "FILE")]
    module: Option<PathBuf>,
}

/// Prints the state's checksum, and the size and digest of what the game shows of it.
pub fn run(arguments: &SeekArguments) -> Result<(), Failure> {
    let (replay, factory) = (parse(&arguments.file)?, game(arguments.module.as_ref())?);
    let refused = |words: String| Failure::CheckFailed(format!("{}: {words}", arguments.file.display()));
    let player = ReplayPlayer::new(replay, factory.as_ref());
    let mut player = player.map_err(|reason| refused(format!("{reason} ({})", reason.code())))?;
    let tick = Tick::new(arguments.tick);
    player.seek(tick).map_err(|error: SeekError| refused(error.to_string()))?;
    let steps = player.steps();
    let checksum = player.checksum().map_err(|error| refused(error.to_string()))?;
    println!("S({tick}) checksum {checksum}, reached in {steps} steps");
    let projection = player.projection().map_err(|error| refused(error.to_string()))?;
    println!("projection {} bytes, digest {}", projection.len(), Digest::of(projection));
    Ok(())
}
