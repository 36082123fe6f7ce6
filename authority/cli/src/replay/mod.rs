//! `retick replay`: what a recording is worth, what stands in it, and what it looks like.

mod diff;
mod info;
mod plot;
mod seek;
pub mod stats;
pub mod verify;

use std::path::{Path, PathBuf};
use std::sync::Arc;

use clap::{Args, Subcommand};
use retick_client::{InvalidReplay, read_replay_file};
use retick_core::replay::Replay;
use retick_wasm::WasmFactory;

use crate::failure::Failure;
use crate::games;

/// Arguments of `retick replay`.
#[derive(Args)]
pub struct ReplayArguments {
    #[command(subcommand)]
    command: ReplayCommand,
}

#[derive(Subcommand)]
enum ReplayCommand {
    /// Re-simulate a replay and compare every checksum; the same as `retick verify`
    Verify(verify::VerifyArguments),
    /// Show what stands in a replay, or in every replay of a folder
    Info {
        /// A replay, or a folder
        path: PathBuf,
    },
    /// Go to a state of a replay, and print its checksum and what the game shows of it
    Seek(seek::SeekArguments),
    /// Find where two replays first differ; they are of one match if they don't
    Diff {
        /// A replay
        one: PathBuf,
        /// Another one
        other: PathBuf,
    },
    /// Draw a match: substitutions, and lead and rollbacks of the client that recorded it
    Plot(plot::PlotArguments),
}

/// Runs `retick replay`.
pub fn run(arguments: &ReplayArguments) -> Result<(), Failure> {
    match &arguments.command {
        ReplayCommand::Verify(arguments) => verify::run(arguments),
        ReplayCommand::Info { path } => info::run(path),
        ReplayCommand::Seek(arguments) => seek::run(arguments),
        ReplayCommand::Diff { one, other } => diff::run(one, other),
        ReplayCommand::Plot(arguments) => plot::run(arguments),
    }
}

/// The game of a replay: a module's, or the built-in one.
fn game(module: Option<&PathBuf>) -> Result<Arc<WasmFactory>, Failure> {
    module.map_or_else(games::skirmish, |path| games::from_file(path))
}

fn read(path: &Path) -> Result<Vec<u8>, Failure> {
    read_replay_file(path).map_err(|error| match error {
        InvalidReplay::Read(error) => Failure::Read { path: path.into(), error },
        error => Failure::Run(format!("can't read {}: {error}", path.display())),
    })
}

fn parse(path: &Path) -> Result<Replay, Failure> {
    let replay = Replay::parse(&read(path)?);
    replay.map_err(|error| Failure::CheckFailed(format!("{}: {error}", path.display())))
}
