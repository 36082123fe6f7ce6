//! Forgetting records behind a stored snapshot (A7, A12), so that a machine may stop between any two steps.
//!
//! A room can be restored from one of its [summaries](crate::log::Record::Summary) and the records behind it, with a history that
//! begins where the summary stands; and newcomers can come into it if there is a snapshot of that state or a later one. So:
//!
//! 1. Every record is forced to the disk: the snapshot is one of frames that the log has, whatever happens.
//! 2. The snapshot is on the disk, with its name.
//! 3. `00004711.start` is, with its name. It is the header of the segment that begins with the newest summary which the snapshot does
//!    not come before, and holds the head of the hash chain up to there. From now on the log begins with that segment.
//! 4. What lies before is removed. What a crash leaves of it is removed at the next opening.
//!
//! Before the third step the log is as long as it was, after it nothing older is needed. A log whose first segments are missing
//! without a `.start` is [`Damaged`](FileLogError::Damaged), as before.

use retick_core::seat::Generation;
use retick_core::tick::Tick;

use super::config::Retention;
use super::error::{Damage, FileLogError, StorageOperation};
use super::format::{HEADER_BYTES, read_header};
use super::reader::Reader;
use super::snapshot::{self, StoredSnapshot};
use super::storage::{FileName, Storage};
use super::{FileLog, FrameLog};
use crate::log::Record;

/// The summaries with which segments begin, in order.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(super) struct Starts(Vec<Start>);

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Start {
    sequence: u64,
    /// The first state that a room has which is restored from here.
    state: (Generation, Tick),
}

impl Starts {
    /// Takes in a segment's first record.
    pub(super) fn note(&mut self, sequence: u64, record: &[u8]) {
        if let Ok(Record::Summary { generation, frontier, .. }) = Record::decode(record) {
            self.0.push(Start { sequence, state: (generation, frontier) });
        }
    }

    /// The newest that `state` does not come before.
    fn newest_before(&self, state: (Generation, Tick)) -> Option<u64> {
        let start = self.0.iter().rev().find(|start| start.state <= state)?;
        Some(start.sequence)
    }

    fn forget_before(&mut self, sequence: u64) {
        self.0.retain(|start| start.sequence >= sequence);
    }
}

impl<S: Storage> FileLog<S> {
    /// Puts the room's newest snapshot beside the log, in place of the one before, and forgets the records that it makes unneeded
    /// if the log's [`Retention`] says so. Every record is on the disk then.
    ///
    /// # Errors
    /// [`FileLogError::Storage`]. When the snapshot could not be stored, the one before it is still there, and the log goes on;
    /// when records could not be forced to the disk or forgotten, it is [`FileLogError::Poisoned`].
    pub fn keep_snapshot(&mut self, snapshot: &StoredSnapshot) -> Result<(), FileLogError> {
        self.sync()?;
        snapshot::store(&mut self.storage, snapshot)?;
        let start = self.starts.newest_before((snapshot.generation, snapshot.tick));
        match start.filter(|start| self.config.retention == Retention::SinceSnapshot && *start > self.first_sequence())
        {
            Some(sequence) => self.soundly(|log| log.forget_before(sequence)),
            None => Ok(()),
        }
    }

    /// The snapshot beside the log, if there is one.
    ///
    /// # Errors
    /// [`FileLogError::Storage`], and [`FileLogError::Snapshot`] when it is not what was written.
    pub fn snapshot(&mut self) -> Result<Option<StoredSnapshot>, FileLogError> {
        self.soundly(|_| Ok(()))?;
        snapshot::load(&mut self.storage)
    }

    /// Lets the log begin with the segment whose first record this is.
    fn forget_before(&mut self, sequence: u64) -> Result<(), FileLogError> {
        let refused = FileLogError::storage;
        let header = self.header_of(sequence)?;
        let (temporary, start) = (FileName::Temporary(sequence), FileName::Start(sequence));
        self.storage.create(temporary).map_err(refused(StorageOperation::Create))?;
        self.storage.append(temporary, &header).map_err(refused(StorageOperation::Append))?;
        self.storage.sync(temporary).map_err(refused(StorageOperation::Sync))?;
        self.storage.rename(temporary, start).map_err(refused(StorageOperation::Rename))?;
        self.storage.sync_directory().map_err(refused(StorageOperation::SyncDirectory))?;
        let older = self.start.replace(sequence);
        self.starts.forget_before(sequence);
        let segments = self.index.forget_before(sequence);
        let unneeded = segments.into_iter().map(FileName::Segment).chain(older.map(FileName::Start));
        for file in unneeded {
            self.storage.remove(file).map_err(refused(StorageOperation::Remove))?;
        }
        Ok(())
    }

    /// The header of the segment whose first record this is, as it stands in its file.
    fn header_of(&mut self, sequence: u64) -> Result<[u8; HEADER_BYTES], FileLogError> {
        let (segment, room) = (sequence, self.config.room);
        let damaged = |damage| FileLogError::Damaged { segment, offset: 0, damage };
        let gap = Damage::Gap { expected: sequence };
        let length = self.index.beginning_with(sequence).ok_or(damaged(gap))?.length;
        let mut reader = Reader { storage: &mut self.storage, window: &mut self.window, segment, length };
        let bytes = reader.bytes(0, HEADER_BYTES)?;
        read_header(bytes, room, sequence).map_err(damaged)?;
        bytes.first_chunk().copied().ok_or(damaged(Damage::Short { missing: HEADER_BYTES as u64 }))
    }
}
