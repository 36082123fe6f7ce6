//! The newest snapshot of a room, beside its log (A7, A12): one file, which is replaced whole or not at all.
//!
//! ```text
//! magic 8 | version 4 | generation 4 | tick 8 | has fence 1 | fence 4 | digest of the rest 32 | the snapshot
//! ```

use std::fs::{self, File};
use std::io::{self, Read, Write};
use std::path::Path;

use retick_core::digest::{DIGEST_BYTES, Digest};
use retick_core::seat::Generation;
use retick_core::snapshot::MAX_SNAPSHOT_BYTES;
use retick_core::tick::Tick;

use super::directory::sync_names;
use super::error::{FileLogError, StorageOperation};

const FILE: &str = "snapshot";
const TEMPORARY_FILE: &str = "snapshot.tmp";
const MAGIC: [u8; 8] = *b"RETICKSN";
const VERSION: u32 = 1;
const DIGEST_AT: usize = 29;
const HEADER_BYTES: usize = DIGEST_AT + DIGEST_BYTES;
const CONTEXT: &str = "retick 2026 stored snapshot v1";

/// A snapshot, and what its state is a state of.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct StoredSnapshot {
    /// The generation.
    pub generation: Generation,
    /// The state: `n` for `S(n)`.
    pub tick: Tick,
    /// The fence of the frame before it, which tells it from the same tick of a history that was given up; `None` for `S(0)`.
    pub fence: Option<u32>,
    /// The snapshot's bytes.
    pub bytes: Vec<u8>,
}

impl StoredSnapshot {
    fn header(&self) -> [u8; HEADER_BYTES] {
        let mut header = [0; HEADER_BYTES];
        header[..8].copy_from_slice(&MAGIC);
        header[8..12].copy_from_slice(&VERSION.to_le_bytes());
        header[12..16].copy_from_slice(&self.generation.0.to_le_bytes());
        header[16..24].copy_from_slice(&self.tick.index().to_le_bytes());
        header[24] = u8::from(self.fence.is_some());
        header[25..DIGEST_AT].copy_from_slice(&self.fence.unwrap_or_default().to_le_bytes());
        let digest = Digest::derived(CONTEXT, &[&header[..DIGEST_AT], &self.bytes]);
        header[DIGEST_AT..].copy_from_slice(digest.as_bytes());
        header
    }

    /// What `bytes` are, if they are what was written.
    fn parse(bytes: &[u8]) -> Option<StoredSnapshot> {
        let (header, rest) = bytes.split_first_chunk::<HEADER_BYTES>()?;
        let fence = u32::from_le_bytes(*header[25..].first_chunk()?);
        let snapshot = StoredSnapshot {
            generation: Generation(u32::from_le_bytes(*header[12..].first_chunk()?)),
            tick: Tick::new(u64::from_le_bytes(*header[16..].first_chunk()?)),
            fence: (header[24] == 1).then_some(fence),
            bytes: rest.to_vec(),
        };
        (snapshot.header() == *header).then_some(snapshot)
    }
}

/// Replaces the snapshot in a log's folder. What was there before is there until the new one is on the disk, with its name.
///
/// # Errors
/// [`FileLogError::Storage`].
pub fn store_snapshot(folder: &Path, snapshot: &StoredSnapshot) -> Result<(), FileLogError> {
    let refused = FileLogError::storage;
    let temporary = folder.join(TEMPORARY_FILE);
    let mut file = File::create(&temporary).map_err(refused(StorageOperation::Create))?;
    let written = file.write_all(&snapshot.header()).and_then(|()| file.write_all(&snapshot.bytes));
    written.map_err(refused(StorageOperation::Append))?;
    file.sync_all().map_err(refused(StorageOperation::Sync))?;
    drop(file);
    fs::rename(&temporary, folder.join(FILE)).map_err(refused(StorageOperation::Rename))?;
    sync_names(folder).map_err(refused(StorageOperation::SyncDirectory))
}

/// The snapshot in a log's folder, if there is one.
///
/// # Errors
/// [`FileLogError::Storage`], and [`FileLogError::Snapshot`] when it is not what was written.
pub fn load_snapshot(folder: &Path) -> Result<Option<StoredSnapshot>, FileLogError> {
    let refused = FileLogError::storage;
    let file = match File::open(folder.join(FILE)) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        opened => opened.map_err(refused(StorageOperation::Open))?,
    };
    let mut bytes = Vec::new();
    // One byte more than any has, so that a longer one is seen.
    let most = (HEADER_BYTES + MAX_SNAPSHOT_BYTES + 1) as u64;
    file.take(most).read_to_end(&mut bytes).map_err(refused(StorageOperation::Read))?;
    let snapshot = StoredSnapshot::parse(&bytes).filter(|it| it.bytes.len() <= MAX_SNAPSHOT_BYTES);
    snapshot.map(Some).ok_or(FileLogError::Snapshot)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a12_a_snapshot_is_replaced_whole_and_every_changed_bit_is_seen() {
        let folder = std::env::temp_dir().join(format!("retick-stored-snapshot-{}", std::process::id()));
        fs::create_dir_all(&folder).expect("a folder");
        assert_eq!(load_snapshot(&folder), Ok(None));
        let snapshot = |tick, fence| StoredSnapshot {
            generation: Generation(2),
            tick: Tick::new(tick),
            fence,
            bytes: vec![7; 100],
        };
        for stored in [snapshot(600, Some(3)), snapshot(0, None)] {
            store_snapshot(&folder, &stored).expect("stored");
            assert_eq!(load_snapshot(&folder), Ok(Some(stored)));
        }
        let path = folder.join(FILE);
        let whole = fs::read(&path).expect("it is there");
        for byte in 0..whole.len() {
            let mut changed = whole.clone();
            changed[byte] ^= 1;
            fs::write(&path, &changed).expect("written");
            assert_eq!(load_snapshot(&folder), Err(FileLogError::Snapshot), "byte {byte}");
        }
        fs::write(&path, &whole[..whole.len() - 1]).expect("written");
        assert_eq!(load_snapshot(&folder), Err(FileLogError::Snapshot));
        fs::remove_dir_all(&folder).expect("removed");
    }
}
