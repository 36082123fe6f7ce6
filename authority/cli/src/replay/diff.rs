//! `retick replay diff`: where two replays first differ.

use std::path::Path;

use retick_core::replay::difference;

use super::parse;
use crate::failure::Failure;

/// Says that two replays are of one match, or where they first differ.
pub fn run(one: &Path, other: &Path) -> Result<(), Failure> {
    let (first, second) = (parse(one)?, parse(other)?);
    match difference(&first, &second) {
        None => {
            println!("the same match: {} ticks, and no checksum that differs", first.ticks());
            Ok(())
        }
        Some(found) => Err(Failure::CheckFailed(format!("{} and {} differ: {found}", one.display(), other.display()))),
    }
}
