//! A log in files: segments that are only appended to, whose records are framed, checked and chained (A12).
//!
//! ```text
//! room/                       FileLog ── append, read_into, sync ──▶ Storage
//!   lock                                                             Directory, or a test's
//!   00000001.log   full, and on the disk before the next one begins
//!   00004711.log   records are added here
//!   snapshot       the newest, and with 00004711.start nothing before it is needed
//! ```
//!
//! Only a [`Directory`] touches files, and nothing here reads a clock: [`FileLog::sync_due`] is told the time. What a crash leaves
//! at the end is cut at the next opening, and [`FileLog::recovery`] says how much that was. Everything else that is not as it was
//! written is a [`FileLogError::Damaged`], and the files stay as they are.
//!
//! ```
//! use retick_authority::log::FrameLog;
//! use retick_authority::log::file::{Directory, Durability, FileLog, FileLogConfig, FileLogError};
//! use retick_core::digest::Digest;
//!
//! let path = std::env::temp_dir().join(format!("retick-file-log-{}", std::process::id()));
//! let config = FileLogConfig { durability: Durability::None, ..FileLogConfig::new(Digest::of(b"room 7")) };
//!
//! let mut log = FileLog::open(Directory::open(&path)?, config)?;
//! log.append(1, b"first")?;
//! log.append(2, b"second")?;
//! // Nothing said that these two must survive the machine, until this.
//! assert_eq!(log.synced_sequence(), None);
//! assert_eq!(log.sync()?, Some(2));
//! // Nobody else opens a log that is open.
//! assert_eq!(Directory::open(&path).err(), Some(FileLogError::Locked));
//! drop(log);
//!
//! let mut log = FileLog::open(Directory::open(&path)?, config)?;
//! let mut record = Vec::new();
//! assert!(log.read_into(2, &mut record)? && record == b"second");
//! assert_eq!((log.next_sequence(), log.recovery().records, log.recovery().cut_bytes), (3, 2, 0));
//! drop(log);
//!
//! // Another room's log is refused.
//! let other = FileLogConfig::new(Digest::of(b"room 8"));
//! assert!(matches!(FileLog::open(Directory::open(&path)?, other), Err(FileLogError::Damaged { .. })));
//! # std::fs::remove_dir_all(&path)?;
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod config;
mod directory;
mod error;
mod forget;
mod format;
mod index;
mod reader;
mod scan;
mod snapshot;
mod storage;
mod tail;

pub use config::{
    DEFAULT_SEGMENT_BYTES, Durability, FileLogConfig, MAX_SEGMENT_BYTES, MIN_SEGMENT_BYTES, Retention, SegmentSize,
};
pub use directory::Directory;
pub use error::{Damage, FileLogError, StorageOperation};
pub use snapshot::StoredSnapshot;
pub use storage::{FileName, Storage};

#[cfg(feature = "service")]
pub(crate) use directory::sync_names;

use forget::Starts;
use format::{Link, encode, header};
use index::{Index, Segment};
use reader::{Reader, Window};
use retick_core::tick::Moment;

use super::{FIRST_SEQUENCE, FrameLog, MAX_RECORD_BYTES, Record};

/// What opening a log found, and what it removed.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Recovery {
    /// Records that the log holds.
    pub records: u64,
    /// Bytes of an unfinished write that were cut from the log's end.
    pub cut_bytes: u64,
    /// Files that were being made when the log was left, and hold no record, or whose records had been forgotten.
    pub removed_files: usize,
}

/// A [`FrameLog`] in files (A12).
///
/// After a storage failure it refuses everything with [`FileLogError::Poisoned`]: what the system holds in memory is no longer
/// known to be what it wrote. A record whose append failed may or may not be there when the log is opened again; every record up to
/// [`FileLog::synced_sequence`] is. Dropping a log forces nothing to the disk.
#[derive(Debug)]
#[doc(alias = "write-ahead log")]
pub struct FileLog<S = Directory> {
    storage: S,
    config: FileLogConfig,
    index: Index,
    /// Number of the first record, where others before it were forgotten.
    start: Option<u64>,
    starts: Starts,
    link: Link,
    window: Window,
    /// The bytes that are written, kept for their memory.
    frame: Vec<u8>,
    /// Number of the first record that is not known to be on the disk.
    unsynced: u64,
    /// When the next sync is due.
    due: Option<Moment>,
    state: State,
    recovery: Recovery,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum State {
    Sound,
    Poisoned,
}

impl<S: Storage> FileLog<S> {
    /// Reads the whole log, cuts an unfinished write at its end, and forces what is left to the disk. An empty storage becomes an
    /// empty log.
    ///
    /// # Errors
    /// [`FileLogError::Damaged`] when anything else is not as it was written, which changes nothing; [`FileLogError::Storage`].
    pub fn open(mut storage: S, config: FileLogConfig) -> Result<FileLog<S>, FileLogError> {
        let mut window = Window::default();
        let scanned = scan::scan(&mut storage, &mut window, &config)?;
        let recovery = Recovery {
            records: scanned.link.sequence - scanned.start.unwrap_or(FIRST_SEQUENCE),
            cut_bytes: scanned.torn_bytes + scanned.leftover_bytes,
            removed_files: scanned.leftovers.len(),
        };
        let mut log = FileLog {
            storage,
            config,
            index: scanned.index,
            start: scanned.start,
            starts: Starts::default(),
            link: scanned.link,
            window: Window::default(),
            frame: Vec::new(),
            unsynced: FIRST_SEQUENCE,
            due: None,
            state: State::Sound,
            recovery,
        };
        log.clear_up(&scanned.leftovers, scanned.torn_bytes)?;
        log.find_starts()?;
        Ok(log)
    }

    /// Looks for summaries with which segments begin.
    fn find_starts(&mut self) -> Result<(), FileLogError> {
        let (firsts, mut record): (Vec<u64>, _) = (self.index.firsts().collect(), Vec::new());
        for first in firsts {
            self.read_into(first, &mut record)?;
            self.starts.note(first, &record);
        }
        Ok(())
    }

    /// Forces every record to the disk, and says which is the last there.
    ///
    /// # Errors
    /// [`FileLogError::Storage`] when the disk refuses, and from then on [`FileLogError::Poisoned`].
    pub fn sync(&mut self) -> Result<Option<u64>, FileLogError> {
        self.soundly(FileLog::sync_records)?;
        Ok(self.synced_sequence())
    }

    /// Where it is kept.
    #[must_use]
    pub fn storage(&self) -> &S {
        &self.storage
    }

    /// Does so when [`Durability::Interval`] says that it is time, and says which record is the last on the disk. The interval
    /// begins when this is called for the first time with a record that is not on the disk; an interval of zero ends at once.
    ///
    /// # Errors
    /// As [`FileLog::sync`].
    pub fn sync_due(&mut self, now: Moment) -> Result<Option<u64>, FileLogError> {
        if let Durability::Interval(interval) = self.config.durability
            && self.unsynced < self.link.sequence
        {
            let nanos = u64::try_from(interval.as_nanos()).unwrap_or(u64::MAX);
            if now >= *self.due.get_or_insert(now.plus_nanos(nanos)) {
                return self.sync();
            }
        }
        self.soundly(|_| Ok(()))?;
        Ok(self.synced_sequence())
    }

    /// When [`FileLog::sync_due`] has something to do next, as far as it was told the time.
    #[must_use]
    pub fn next_sync(&self) -> Option<Moment> {
        self.due
    }

    /// Number of the last record that survives the machine.
    #[must_use]
    pub fn synced_sequence(&self) -> Option<u64> {
        self.unsynced.checked_sub(1).filter(|last| *last >= FIRST_SEQUENCE)
    }

    /// What opening the log found.
    #[must_use]
    pub fn recovery(&self) -> Recovery {
        self.recovery
    }

    /// Removes what a crash left, and makes what is there survive the next one before anything builds on it.
    fn clear_up(&mut self, leftovers: &[FileName], torn_bytes: u64) -> Result<(), FileLogError> {
        for file in leftovers {
            self.storage.remove(*file).map_err(FileLogError::storage(StorageOperation::Remove))?;
        }
        let Some(segment) = self.index.last() else {
            return self.begin_segment();
        };
        if torn_bytes > 0 {
            let cut = self.storage.truncate(FileName::Segment(segment.first), segment.length);
            cut.map_err(FileLogError::storage(StorageOperation::Truncate))?;
        }
        self.sync_last_segment()?;
        self.storage.sync_directory().map_err(FileLogError::storage(StorageOperation::SyncDirectory))
    }

    /// Makes the segment whose first record comes next. It has its name only once its header is on the disk, and holds records
    /// only once its name is.
    fn begin_segment(&mut self) -> Result<(), FileLogError> {
        let first = self.link.sequence;
        let (temporary, segment) = (FileName::Temporary(first), FileName::Segment(first));
        let refused = FileLogError::storage;
        self.storage.create(temporary).map_err(refused(StorageOperation::Create))?;
        let header = header(self.config.room, self.link);
        self.storage.append(temporary, &header).map_err(refused(StorageOperation::Append))?;
        self.storage.sync(temporary).map_err(refused(StorageOperation::Sync))?;
        self.storage.rename(temporary, segment).map_err(refused(StorageOperation::Rename))?;
        self.storage.sync_directory().map_err(refused(StorageOperation::SyncDirectory))?;
        self.index.push(Segment::new(self.link, self.config.segment_size.bytes()));
        Ok(())
    }

    fn keep(&mut self, record: &[u8]) -> Result<(), FileLogError> {
        let next = encode(self.link, record, &mut self.frame);
        let is_start = self.config.retention == Retention::SinceSnapshot && Record::is_summary(record);
        let is_full = |segment: &Segment| segment.length + self.frame.len() as u64 > self.config.segment_size.bytes();
        if self.index.last().is_some_and(|segment| !segment.is_empty() && (is_start || is_full(segment))) {
            self.sync_records()?;
            self.begin_segment()?;
        }
        if is_start {
            self.starts.note(self.link.sequence, record);
        }
        let segment = self.index.last_mut().expect("an open log has a segment");
        let file = FileName::Segment(segment.first);
        self.storage.append(file, &self.frame).map_err(FileLogError::storage(StorageOperation::Append))?;
        segment.push(self.link.sequence, self.frame.len());
        self.link = next;
        match self.config.durability {
            Durability::EveryFrame => self.sync_records(),
            Durability::Interval(_) | Durability::None => Ok(()),
        }
    }

    fn sync_records(&mut self) -> Result<(), FileLogError> {
        if self.unsynced < self.link.sequence { self.sync_last_segment() } else { Ok(()) }
    }

    /// Everything that is not on the disk is in the last segment.
    fn sync_last_segment(&mut self) -> Result<(), FileLogError> {
        let first = self.index.last().expect("an open log has a segment").first;
        self.storage.sync(FileName::Segment(first)).map_err(FileLogError::storage(StorageOperation::Sync))?;
        self.unsynced = self.link.sequence;
        self.due = None;
        Ok(())
    }

    /// Writes, unless an earlier write failed, and remembers a failure.
    fn soundly(&mut self, write: impl FnOnce(&mut FileLog<S>) -> Result<(), FileLogError>) -> Result<(), FileLogError> {
        if self.state == State::Poisoned {
            return Err(FileLogError::Poisoned);
        }
        self.state = State::Poisoned;
        write(self)?;
        self.state = State::Sound;
        Ok(())
    }
}

impl<S: Storage> FrameLog for FileLog<S> {
    type Error = FileLogError;

    fn append(&mut self, sequence: u64, record: &[u8]) -> Result<(), FileLogError> {
        self.soundly(|_| Ok(()))?;
        let expected = self.next_sequence();
        if sequence != expected {
            return Err(FileLogError::Sequence { expected, found: sequence });
        }
        if record.len() > MAX_RECORD_BYTES {
            return Err(FileLogError::TooLong { sequence, bytes: record.len() });
        }
        self.soundly(|log| log.keep(record))
    }

    fn first_sequence(&self) -> u64 {
        self.start.unwrap_or(FIRST_SEQUENCE)
    }

    fn next_sequence(&self) -> u64 {
        self.link.sequence
    }

    fn read_into(&mut self, sequence: u64, out: &mut Vec<u8>) -> Result<bool, FileLogError> {
        out.clear();
        self.soundly(|_| Ok(()))?;
        if sequence >= self.link.sequence {
            return Ok(false);
        }
        let Some((segment, mark)) = self.index.locate(sequence) else {
            return Ok(false);
        };
        let (first, length) = (segment.first, segment.length);
        let mut reader = Reader { storage: &mut self.storage, window: &mut self.window, segment: first, length };
        out.extend_from_slice(reader.payload_of(sequence, mark.sequence, mark.offset)?);
        Ok(true)
    }
}
