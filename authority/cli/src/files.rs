//! Files that commands read and write.

use std::fs::{self, File};
use std::io::Read;
use std::path::Path;

use crate::failure::Failure;

/// Reads a whole file of at most `limit` bytes.
pub fn read_bounded(path: &Path, limit: u64) -> Result<Vec<u8>, Failure> {
    let failed = |error| Failure::Read { path: path.into(), error };
    let file = File::open(path).map_err(failed)?;
    let bytes = file.metadata().map_err(failed)?.len();
    if bytes > limit {
        return Err(Failure::TooLarge { path: path.into(), bytes, limit });
    }
    let mut contents = Vec::new();
    // A file may grow between the question and the reading.
    file.take(limit).read_to_end(&mut contents).map_err(failed)?;
    Ok(contents)
}

/// Empties the file that a match will be recorded to: a place that can't be written is better known before the match than after it.
pub fn reserve(path: &Path) -> Result<(), Failure> {
    write(path, &[])
}

/// Writes a recorded match, and says so.
pub fn write_replay(path: &Path, replay: &[u8]) -> Result<(), Failure> {
    write(path, replay)?;
    println!("replay of {} bytes written to {}", replay.len(), path.display());
    Ok(())
}

/// Writes a text.
pub fn write_text(path: &Path, text: &str) -> Result<(), Failure> {
    write(path, text.as_bytes())
}

fn write(path: &Path, bytes: &[u8]) -> Result<(), Failure> {
    fs::write(path, bytes).map_err(|error| Failure::Write { path: path.into(), error })
}
