//! `retick synctest`.
use clap::Args;
use crate::failure::Failure;
/// Arguments of `retick synctest`.
#[derive(Args)]
pub struct SynctestArguments {}
/// Runs `retick synctest`.
pub fn run(_: &SynctestArguments) -> Result<(), Failure> {
    Ok(())
}
