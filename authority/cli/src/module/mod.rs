//! `retick module`: what a game's module is, whether it keeps its promises, and how it looks to another engine.

mod certify;
mod inspect;
mod normalise;
mod symbols;

use std::path::Path;

use clap::{Args, Subcommand};
use retick_wasm::{Limits, LoadError};
use serde_json::Value;

use crate::failure::Failure;
use crate::files;

/// Arguments of `retick module`.
#[derive(Args)]
pub struct ModuleArguments {
    #[command(subcommand)]
    command: ModuleCommand,
}

#[derive(Subcommand)]
enum ModuleCommand {
    /// Print a module's identity, description, imports, exports and limits, and what the rewrite does to it
    Inspect(inspect::InspectArguments),
    /// Prove that a module keeps its promises, and hold what it takes against budgets
    Certify(certify::CertifyArguments),
    /// Write a module as it runs, for another engine
    Normalise(normalise::NormaliseArguments),
    /// Print what stands where in a module's memory, from its debug sections, for whoever has the address of a desync
    Symbols(symbols::SymbolsArguments),
}

/// Runs `retick module`.
pub fn run(arguments: &ModuleArguments) -> Result<(), Failure> {
    match &arguments.command {
        ModuleCommand::Inspect(arguments) => inspect::run(arguments),
        ModuleCommand::Certify(arguments) => certify::run(arguments),
        ModuleCommand::Normalise(arguments) => normalise::run(arguments),
        ModuleCommand::Symbols(arguments) => symbols::run(arguments),
    }
}

/// The bytes of a module file, no more of them than a module may have.
fn read(path: &Path) -> Result<Vec<u8>, Failure> {
    files::read_bounded(path, Limits::default().module_bytes)
}

fn refused(path: &Path, error: LoadError) -> Failure {
    Failure::Module { name: path.display().to_string(), error }
}

/// Prints a document with sorted keys.
fn print_json(document: &Value) {
    println!("{document:#}");
}
