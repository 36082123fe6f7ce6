//! What a log in files is told: whose it is, how long its segments are, and when its records must be on the disk.

use core::time::Duration;

use retick_core::digest::Digest;

/// Bytes at which a segment is full, if nothing else is said: half an hour of a busy room.
pub const DEFAULT_SEGMENT_BYTES: u64 = 16 * 1024 * 1024;
/// Fewest bytes at which a segment may be full.
pub const MIN_SEGMENT_BYTES: u64 = 1024;
/// Most bytes at which a segment may be full.
pub const MAX_SEGMENT_BYTES: u64 = 1024 * 1024 * 1024;

/// When records are forced to the disk (A12). Each fsync covers everything that was appended before it.
///
/// A file system may write the pages of what is not forced in any order. If a machine's end leaves a whole record behind a hole of
/// that kind, which needs several unforced records, the log can't tell the hole from damage, and refuses to open.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
#[doc(alias = "fsync")]
pub enum Durability {
    /// Before an append returns: a record that was taken survives the machine.
    #[default]
    EveryFrame,
    /// This long after the first record that is not on the disk, when the caller asks with
    /// [`FileLog::sync_due`](super::FileLog::sync_due): records survive the process, and the machine once they are older.
    Interval(Duration),
    /// When a segment is full and when the caller says so: records survive the process alone.
    None,
}

/// What becomes of records that a stored snapshot makes unneeded (A7): those before the newest
/// [`Record::Summary`](crate::log::Record::Summary) of the snapshot's state or an earlier one.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Retention {
    /// They are removed. A room that plays for days is restored as fast as one that plays for minutes, and its log is as short.
    #[default]
    SinceSnapshot,
    /// Every record stays, for whoever wants a match whole from its log.
    All,
}

/// Bytes at which a segment is full, and the next record begins another one. A record that is longer has a segment alone.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct SegmentSize(u64);

impl SegmentSize {
    /// This many bytes, from [`MIN_SEGMENT_BYTES`] to [`MAX_SEGMENT_BYTES`].
    #[must_use]
    pub const fn new(bytes: u64) -> Option<SegmentSize> {
        if bytes < MIN_SEGMENT_BYTES || bytes > MAX_SEGMENT_BYTES { None } else { Some(SegmentSize(bytes)) }
    }

    /// The bytes.
    #[must_use]
    pub const fn bytes(self) -> u64 {
        self.0
    }
}

impl Default for SegmentSize {
    fn default() -> SegmentSize {
        SegmentSize(DEFAULT_SEGMENT_BYTES)
    }
}

/// The settings of a log in files.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct FileLogConfig {
    /// Names the room. A log of another room is refused.
    pub room: Digest,
    /// When records are forced to the disk.
    pub durability: Durability,
    /// What becomes of records that nobody needs to restore the room. It may differ from that of an earlier run.
    pub retention: Retention,
    /// When a segment is full. It may differ from that of an earlier run.
    pub segment_size: SegmentSize,
}

impl FileLogConfig {
    /// The log of this room, with every record on the disk, none kept that a snapshot makes unneeded, and segments of
    /// [`DEFAULT_SEGMENT_BYTES`].
    #[must_use]
    pub fn new(room: Digest) -> FileLogConfig {
        let (durability, retention) = (Durability::default(), Retention::default());
        FileLogConfig { room, durability, retention, segment_size: SegmentSize::default() }
    }
}
