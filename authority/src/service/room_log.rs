//! Where a service keeps a room's records (A12).

use retick_core::tick::Moment;
use tracing::warn;

use crate::log::file::{Directory, Durability, FileLog, FileLogError, StoredSnapshot};
use crate::log::{FIRST_SEQUENCE, FrameLog, LogError};

/// A record that a service could not keep.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
pub enum RoomLogError {
    /// A log in memory, or one of the owner's, refused it.
    #[error("{0}")]
    Log(#[from] LogError),
    /// A log in files refused it.
    #[error("{0}")]
    File(#[from] FileLogError),
    /// The thread that wrote ended without an answer.
    #[error("the log's thread ended early")]
    Lost,
}

/// What waits for a record.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Default)]
pub enum Urgency {
    /// Frames alone.
    #[default]
    Frames,
    /// Somebody's seat, or another thing that is rare and must not be lost.
    Seats,
    /// The end of the room, or of the service.
    End,
}

/// Why a log is closed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum LogEnd {
    /// The room has ended.
    RoomEnded,
    /// The room has ended before its match began: there is nothing to look up later.
    NeverBegan,
    /// The room goes on when it is restored.
    Suspended,
}

/// Where a room's records are kept (A12). A service calls it from threads that may block, one call at a time. Every [`FrameLog`] that
/// promises nothing more when it returns from an append is one.
pub trait RoomLog: Send {
    /// Keeps the next record.
    ///
    /// # Errors
    /// [`RoomLogError`]; the room ends then.
    fn append(&mut self, sequence: u64, record: &[u8]) -> Result<(), RoomLogError>;

    /// Makes everything that was appended as safe as this log promises by now, and gives the last record of which that is true.
    ///
    /// # Errors
    /// [`RoomLogError`]; the room ends then.
    fn settle(&mut self, urgency: Urgency, now: Moment) -> Result<Option<u64>, RoomLogError>;

    /// Keeps the room's newest snapshot (A7), from which newcomers begin; a room does without it. The records before the newest
    /// [`Record::Summary`](crate::log::Record::Summary) that the snapshot does not come before are not needed any more.
    fn keep_snapshot(&mut self, snapshot: &StoredSnapshot) {
        let _ = snapshot;
    }

    /// When [`RoomLog::settle`] has something to do without a further record.
    fn next_settle(&self) -> Option<Moment> {
        None
    }

    /// Whether a room can be restored from it, so that it need not end with its service.
    fn outlives_service(&self) -> bool {
        false
    }

    /// Nothing is appended any more.
    fn end(self: Box<Self>, end: LogEnd) {
        let _ = end;
    }
}

impl<L: FrameLog<Error = LogError> + Send> RoomLog for L {
    fn append(&mut self, sequence: u64, record: &[u8]) -> Result<(), RoomLogError> {
        Ok(FrameLog::append(self, sequence, record)?)
    }

    fn settle(&mut self, _: Urgency, _: Moment) -> Result<Option<u64>, RoomLogError> {
        Ok(self.next_sequence().checked_sub(1).filter(|last| *last >= FIRST_SEQUENCE))
    }
}

/// A room's folder. One call of `fsync` covers everything that came in meanwhile.
pub(super) struct FolderLog {
    pub(super) log: FileLog<Directory>,
    pub(super) durability: Durability,
    /// What becomes of the folder.
    pub(super) on_end: Box<dyn FnOnce(LogEnd) + Send>,
}

impl RoomLog for FolderLog {
    fn append(&mut self, sequence: u64, record: &[u8]) -> Result<(), RoomLogError> {
        Ok(self.log.append(sequence, record)?)
    }

    fn settle(&mut self, urgency: Urgency, now: Moment) -> Result<Option<u64>, RoomLogError> {
        let synced = match (self.durability, urgency) {
            (_, Urgency::End) | (Durability::EveryFrame, _) | (Durability::Interval(_), Urgency::Seats) => {
                self.log.sync()
            }
            (Durability::Interval(_), Urgency::Frames) => self.log.sync_due(now),
            // Written is all that is promised.
            (Durability::None, _) => Ok(self.log.next_sequence().checked_sub(1)),
        };
        Ok(synced?)
    }

    fn keep_snapshot(&mut self, snapshot: &StoredSnapshot) {
        // Where the log itself is of no use any more, its next append says so.
        if let Err(error) = self.log.keep_snapshot(snapshot) {
            warn!(folder = %self.log.storage().path().display(), %error, "a snapshot was not kept");
        }
    }

    fn next_settle(&self) -> Option<Moment> {
        self.log.next_sync()
    }

    fn outlives_service(&self) -> bool {
        true
    }

    fn end(self: Box<Self>, end: LogEnd) {
        let FolderLog { log, on_end, .. } = *self;
        // The lock is given up first.
        drop(log);
        on_end(end);
    }
}
