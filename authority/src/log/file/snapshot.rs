//! The newest snapshot of a room, beside its log (A7, A12): one file, which is replaced whole or not at all.
//!
//! ```text
//! magic 8 | version 4 | generation 4 | tick 8 | has fence 1 | fence 4 | digest of the rest 32 | the snapshot
//! ```

use std::io;

use retick_core::digest::{DIGEST_BYTES, Digest};
use retick_core::seat::Generation;
use retick_core::snapshot::MAX_SNAPSHOT_BYTES;
use retick_core::tick::Tick;

use super::error::{FileLogError, StorageOperation};
use super::storage::{FileName, Storage, read_whole};

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

/// Replaces the snapshot beside a log. What was there before is there until the new one is on the disk, with its name.
///
/// # Errors
/// [`FileLogError::Storage`].
pub(super) fn store<S: Storage>(storage: &mut S, snapshot: &StoredSnapshot) -> Result<(), FileLogError> {
    let (refused, temporary) = (FileLogError::storage, FileName::TemporarySnapshot);
    let created = match storage.create(temporary) {
        // One that an earlier call could not finish.
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
            storage.remove(temporary).map_err(refused(StorageOperation::Remove))?;
            storage.create(temporary)
        }
        created => created,
    };
    created.map_err(refused(StorageOperation::Create))?;
    for bytes in [&snapshot.header()[..], &snapshot.bytes] {
        storage.append(temporary, bytes).map_err(refused(StorageOperation::Append))?;
    }
    storage.sync(temporary).map_err(refused(StorageOperation::Sync))?;
    storage.rename(temporary, FileName::Snapshot).map_err(refused(StorageOperation::Rename))?;
    storage.sync_directory().map_err(refused(StorageOperation::SyncDirectory))
}

/// The snapshot beside a log, if there is one.
///
/// # Errors
/// [`FileLogError::Storage`], and [`FileLogError::Snapshot`] when it is not what was written.
pub(super) fn load<S: Storage>(storage: &mut S) -> Result<Option<StoredSnapshot>, FileLogError> {
    match storage.length(FileName::Snapshot) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        length => length.map_err(FileLogError::storage(StorageOperation::Length))?,
    };
    let bytes = read_whole(storage, FileName::Snapshot, HEADER_BYTES + MAX_SNAPSHOT_BYTES);
    let bytes = bytes.map_err(FileLogError::storage(StorageOperation::Read))?.ok_or(FileLogError::Snapshot)?;
    StoredSnapshot::parse(&bytes).map(Some).ok_or(FileLogError::Snapshot)
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::super::directory::Directory;
    use super::*;

    #[test]
    fn a12_a_snapshot_is_replaced_whole_and_every_changed_bit_is_seen() {
        let folder = std::env::temp_dir().join(format!("retick-stored-snapshot-{}", std::process::id()));
        let mut storage = Directory::open(&folder).expect("a folder");
        assert_eq!(load(&mut storage), Ok(None));
        let snapshot = |tick, fence| StoredSnapshot {
            generation: Generation(2),
            tick: Tick::new(tick),
            fence,
            bytes: vec![7; 100],
        };
        // What an earlier one left behind is in nobody's way.
        fs::write(folder.join("snapshot.tmp"), b"half").expect("written");
        for stored in [snapshot(600, Some(3)), snapshot(0, None)] {
            store(&mut storage, &stored).expect("stored");
            assert_eq!(load(&mut storage), Ok(Some(stored)));
        }
        drop(storage);
        let path = folder.join("snapshot");
        let whole = fs::read(&path).expect("it is there");
        let load_of = |bytes: &[u8]| {
            fs::write(&path, bytes).expect("written");
            load(&mut Directory::open(&folder).expect("a folder"))
        };
        for byte in 0..whole.len() {
            let mut changed = whole.clone();
            changed[byte] ^= 1;
            assert_eq!(load_of(&changed), Err(FileLogError::Snapshot), "byte {byte}");
        }
        assert_eq!(load_of(&whole[..whole.len() - 1]), Err(FileLogError::Snapshot));
        assert_eq!(load_of(&vec![0; HEADER_BYTES + MAX_SNAPSHOT_BYTES + 1]), Err(FileLogError::Snapshot));
        fs::remove_dir_all(&folder).expect("removed");
    }
}
