//! `retick module normalise`: the module as it runs, for a host in another engine.

use std::fs;
use std::path::PathBuf;

use clap::Args;
use retick_wasm::{Limits, normalise};

use super::{read, refused};
use crate::failure::Failure;

/// Arguments of `retick module normalise`.
#[derive(Args)]
pub struct NormaliseArguments {
    /// The game's module
    file: PathBuf,
    /// Where to write what runs
    #[arg(short, long, value_name = "FILE")]
    output: PathBuf,
}

/// Runs `retick module normalise`.
pub fn run(arguments: &NormaliseArguments) -> Result<(), Failure> {
    let module = read(&arguments.file)?;
    let normalised = normalise(&module, &Limits::default()).map_err(|error| refused(&arguments.file, error))?;
    let path = &arguments.output;
    fs::write(path, normalised.bytes()).map_err(|error| Failure::Write { path: path.clone(), error })?;
    println!("{} bytes became {}, in {}", module.len(), normalised.bytes().len(), path.display());
    Ok(())
}
