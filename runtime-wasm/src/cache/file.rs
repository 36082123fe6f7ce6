//! The files of a cache's directory: a hash, which also says of which module, and the engine's own bytes.

use std::fs;
use std::io::{self, Write as _};
use std::path::Path;

/// Why a directory is not trusted with native code.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
pub enum DirectoryRefusal {
    /// It is not there, or can't be read or written.
    #[error("the directory can't be read and written")]
    Unreadable,
    /// It is something else, or a link to somewhere else.
    #[error("it is not a directory")]
    NotADirectory,
    /// It belongs to another user, who could put code into it, or one that it is in does.
    #[error("the directory, or one that it is in, belongs to another user")]
    Owner,
    /// Others may write it, or one that it is in.
    #[error("the directory may be written by others")]
    Writable,
}

/// Bytes of the hash in front.
const HASH_BYTES: usize = 32;
/// The most that is read: far beyond what the largest admissible module compiles to.
const MAX_FILE_BYTES: u64 = 256 << 20;

pub(super) fn name(key: &[u8; 32]) -> String {
    format!("{}.retick-module", blake3::Hash::from_bytes(*key).to_hex())
}

/// Refuses a directory that others could put code into.
pub(super) fn check_directory(directory: &Path) -> Result<(), DirectoryRefusal> {
    let unreadable = |_| DirectoryRefusal::Unreadable;
    let about = fs::symlink_metadata(directory).map_err(unreadable)?;
    if !about.is_dir() {
        return Err(DirectoryRefusal::NotADirectory);
    }
    check_access(&directory.canonicalize().map_err(unreadable)?, &about)
}

/// Others than the owner may write, and what keeps them from renaming what is in a directory nonetheless.
#[cfg(unix)]
const WRITE_OF_OTHERS: u32 = 0o022;
/// Whoever may do everything anyway.
#[cfg(unix)]
const ROOT: u32 = 0;
#[cfg(unix)]
const STICKY: u32 = 0o1000;

#[cfg(unix)]
fn check_access(directory: &Path, about: &fs::Metadata) -> Result<(), DirectoryRefusal> {
    use std::os::unix::fs::MetadataExt as _;

    // A file that this process makes has the owner that its directory must have.
    let probe = directory.join(format!("owner-{}.partial", std::process::id()));
    let made = fs::File::create(&probe).and_then(|file| file.metadata());
    // If it could not be made, there is nothing to remove.
    let _left = fs::remove_file(&probe);
    if made.map_err(|_| DirectoryRefusal::Unreadable)?.uid() != about.uid() {
        return Err(DirectoryRefusal::Owner);
    }
    if about.mode() & WRITE_OF_OTHERS != 0 {
        return Err(DirectoryRefusal::Writable);
    }
    for parent in directory.ancestors().skip(1) {
        let parent = fs::metadata(parent).map_err(|_| DirectoryRefusal::Unreadable)?;
        if parent.mode() & WRITE_OF_OTHERS != 0 && parent.mode() & STICKY == 0 {
            return Err(DirectoryRefusal::Writable);
        }
        if parent.uid() != about.uid() && parent.uid() != ROOT {
            return Err(DirectoryRefusal::Owner);
        }
    }
    Ok(())
}

#[cfg(not(unix))]
fn check_access(_: &Path, _: &fs::Metadata) -> Result<(), DirectoryRefusal> {
    Ok(())
}

/// The code in a file that is whole; nothing otherwise.
pub(super) fn read(file: &Path, key: &[u8; 32]) -> Option<Vec<u8>> {
    let about = fs::symlink_metadata(file).ok()?;
    if !about.is_file() || about.len() > MAX_FILE_BYTES {
        return None;
    }
    let mut bytes = fs::read(file).ok()?;
    let (hash, code) = bytes.split_first_chunk::<HASH_BYTES>()?;
    if blake3::keyed_hash(key, code).as_bytes() != hash {
        return None;
    }
    bytes.drain(..HASH_BYTES);
    Some(bytes)
}

/// Writes a file whole or not at all. A directory that is full or gone is no reason not to play.
pub(super) fn write(file: &Path, key: &[u8; 32], code: &[u8]) {
    let partial = file.with_extension(format!("partial-{}", std::process::id()));
    if write_whole(&partial, key, code).and_then(|()| fs::rename(&partial, file)).is_err() {
        // What is left of it is never read.
        let _left = fs::remove_file(&partial);
    }
}

fn write_whole(file: &Path, key: &[u8; 32], code: &[u8]) -> io::Result<()> {
    let mut out = fs::OpenOptions::new().write(true).create(true).truncate(true).open(file)?;
    out.write_all(blake3::keyed_hash(key, code).as_bytes())?;
    out.write_all(code)?;
    out.sync_all()
}
