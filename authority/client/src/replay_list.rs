//! Replays on a disk: reading one within bounds, and listing a folder in which anything may lie (R1).

use std::fs::{self, File};
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use retick_core::digest::Identity;
use retick_core::replay::{Replay, ReplayEnd, ReplayError};
use retick_core::tick::{Tick, TickRate};

/// Most bytes of a replay's file that is read; beyond any match of a day.
pub const MAX_REPLAY_FILE_BYTES: u64 = 1 << 30;

/// Why a file is shown as no replay.
#[derive(Debug, thiserror::Error)]
pub enum InvalidReplay {
    /// It is a folder, a socket or the like.
    #[error("not a file")]
    NotAFile,
    /// It is larger than any replay that is read.
    #[error("{bytes} bytes, of which {MAX_REPLAY_FILE_BYTES} are read")]
    TooLarge {
        /// Its size.
        bytes: u64,
    },
    /// It can't be read.
    #[error("can't be read: {0}")]
    Read(#[from] io::Error),
    /// Its bytes are no replay that this build reads.
    #[error("{0}")]
    Replay(#[from] ReplayError),
}

/// What a list shows of a replay. Nothing here was verified, but that its blocks are whole.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ReplaySummary {
    /// The game.
    pub identity: Identity,
    /// Ticks per second.
    pub tick_rate: TickRate,
    /// Seats of the match.
    pub seats: usize,
    /// Ticks that are usable.
    pub ticks: Tick,
    /// Checksums that can be compared.
    pub checksums: usize,
    /// States that can be jumped to.
    pub key_frames: usize,
    /// How the file ends.
    pub end: ReplayEnd,
}

impl ReplaySummary {
    /// The summary of a replay.
    #[must_use]
    pub fn of(replay: &Replay) -> ReplaySummary {
        let descriptor = replay.descriptor();
        ReplaySummary {
            identity: descriptor.identity(),
            tick_rate: descriptor.tick_rate(),
            seats: descriptor.seats().count(),
            ticks: replay.ticks(),
            checksums: replay.checksums().len(),
            key_frames: replay.key_frames().len(),
            end: replay.end(),
        }
    }
}

/// The bytes of a replay's file.
///
/// # Errors
/// [`InvalidReplay`], but not of what the bytes are.
pub fn read_replay_file(path: &Path) -> Result<Vec<u8>, InvalidReplay> {
    let metadata = fs::metadata(path)?;
    if !metadata.is_file() {
        return Err(InvalidReplay::NotAFile);
    }
    if metadata.len() > MAX_REPLAY_FILE_BYTES {
        return Err(InvalidReplay::TooLarge { bytes: metadata.len() });
    }
    let mut bytes = Vec::new();
    // A recording may grow between the question and the reading.
    File::open(path)?.take(MAX_REPLAY_FILE_BYTES).read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// Everything in a folder, by name, with what it is worth as a replay. One entry never hides another.
///
/// ```
/// use retick_client::{InvalidReplay, list_replays};
///
/// let folder = std::env::temp_dir().join("retick-doc-replays");
/// std::fs::create_dir_all(&folder)?;
/// std::fs::write(folder.join("empty.replay"), b"")?;
/// let list = list_replays(&folder)?;
/// assert!(matches!(list[0].1, Err(InvalidReplay::Replay(_))));
/// std::fs::remove_dir_all(&folder)?;
/// # Ok::<(), std::io::Error>(())
/// ```
///
/// # Errors
/// When the folder itself can't be read.
pub fn list_replays(folder: &Path) -> io::Result<Vec<(PathBuf, Result<ReplaySummary, InvalidReplay>)>> {
    let mut paths = fs::read_dir(folder)?.map(|entry| Ok(entry?.path())).collect::<io::Result<Vec<PathBuf>>>()?;
    paths.sort();
    let summary = |path: &Path| Ok(ReplaySummary::of(&Replay::parse(&read_replay_file(path)?)?));
    Ok(paths.into_iter().map(|path| (path.clone(), summary(&path))).collect())
}
