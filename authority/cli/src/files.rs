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
    fs::write(path, []).map_err(|error| Failure::Write { path: path.into(), error })
}

/// Writes a text.
pub fn write_text(path: &Path, text: &str) -> Result<(), Failure> {
    fs::write(path, text).map_err(|error| Failure::Write { path: path.into(), error })
}

/// Reads a secret key, 64 hexadecimal digits.
pub fn read_secret(path: &Path) -> Result<[u8; 32], Failure> {
    let text = read_bounded(path, 1024)?;
    let mut secret = [0; 32];
    let digits = text.trim_ascii();
    if digits.len() != 64 || !digits.iter().all(u8::is_ascii_hexdigit) {
        return Err(Failure::Run(format!("{}: a secret key is 64 hexadecimal digits", path.display())));
    }
    let nibble = |digit: u8| char::from(digit).to_digit(16).and_then(|value| u8::try_from(value).ok()).unwrap_or(0);
    for (byte, pair) in secret.iter_mut().zip(digits.chunks_exact(2)) {
        *byte = nibble(pair[0]) << 4 | nibble(pair[1]);
    }
    Ok(secret)
}
