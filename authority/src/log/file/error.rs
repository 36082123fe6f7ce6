//! What can go wrong with a log in files, and what about a file is not as it was written.

use std::io;

use retick_core::digest::Digest;

use crate::log::MAX_RECORD_BYTES;

/// What was asked of the [`Storage`](super::Storage).
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum StorageOperation {
    /// Opening the directory and its lock.
    Open,
    /// Listing the files.
    List,
    /// Asking for a file's length.
    Length,
    /// Creating a file.
    Create,
    /// Appending to a file.
    Append,
    /// Forcing a file's bytes to the disk.
    Sync,
    /// Cutting a file.
    Truncate,
    /// Reading a file.
    Read,
    /// Giving a file its name.
    Rename,
    /// Removing a file.
    Remove,
    /// Forcing the directory's names to the disk.
    SyncDirectory,
}

/// A log that can't be opened, a record that can't be kept, or one that can't be read.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
pub enum FileLogError {
    /// The storage refused.
    #[error("{operation:?} failed: {kind}")]
    Storage {
        /// What it refused.
        operation: StorageOperation,
        /// Why.
        kind: io::ErrorKind,
    },
    /// Another process, or this one, has the log open.
    #[error("the log is open already")]
    Locked,
    /// An earlier write or fsync failed, so that what is on the disk is not known. Opening the log again finds out.
    #[error("an earlier write to the log failed")]
    Poisoned,
    /// A record came out of order.
    #[error("record {found} where record {expected} comes next")]
    Sequence {
        /// The number that comes next.
        expected: u64,
        /// The number given.
        found: u64,
    },
    /// A record is longer than [`MAX_RECORD_BYTES`].
    #[error("record {sequence} has {bytes} bytes, and {MAX_RECORD_BYTES} are allowed")]
    TooLong {
        /// The record's number.
        sequence: u64,
        /// Its bytes.
        bytes: usize,
    },
    /// The snapshot beside the log is not what was written.
    #[error("the snapshot is not what was written")]
    Snapshot,
    /// A file is not what this log wrote.
    #[error("segment {segment}, byte {offset}: {damage}")]
    Damaged {
        /// Number of the first record in the segment, which names its file.
        segment: u64,
        /// Where the header or record begins that is not as it was written, in bytes from the segment's start.
        offset: u64,
        /// What differs.
        damage: Damage,
    },
}

/// What about a segment's header, or a record, differs from what was written.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
pub enum Damage {
    /// A segment is missing: the one found begins with another record than comes next.
    #[error("the segment begins where record {expected} comes next")]
    Gap {
        /// The record that comes next.
        expected: u64,
    },
    /// The file ends before its header or record does.
    #[error("the file ends {missing} bytes too early")]
    Short {
        /// How many bytes are missing, as far as it can be told.
        missing: u64,
    },
    /// The file does not begin as a segment does.
    #[error("the file is not a segment of a log")]
    Magic,
    /// The segment has a form that this version doesn't know.
    #[error("the segment's form is version {found}")]
    Version {
        /// The version found.
        found: u32,
    },
    /// The bytes do not have the checksum that stands beside them.
    #[error("CRC32C {expected:08x} was written, the bytes give {found:08x}")]
    Crc {
        /// The one in the file.
        expected: u32,
        /// The one that the bytes give.
        found: u32,
    },
    /// The log belongs to another room.
    #[error("the log belongs to room {found}")]
    Room {
        /// The room in the file.
        found: Digest,
    },
    /// The header names another first record than the file's name.
    #[error("the header names record {found} as the first")]
    FirstSequence {
        /// The number in the header.
        found: u64,
    },
    /// A record claims to be longer than any is.
    #[error("a record of {found} bytes, and {MAX_RECORD_BYTES} are allowed")]
    Length {
        /// The length that it claims.
        found: u32,
    },
    /// A record stands where another belongs.
    #[error("record {found} where record {expected} belongs")]
    Sequence {
        /// The number that belongs there.
        expected: u64,
        /// The number in the file.
        found: u64,
    },
    /// A record or segment does not follow from what stands before it.
    #[error("the hash chain breaks: {found} where {expected} follows")]
    Chain {
        /// The hash that follows.
        expected: Digest,
        /// The hash in the file.
        found: Digest,
    },
}

impl FileLogError {
    /// Makes the error of an operation that the storage refused.
    pub(super) fn storage(operation: StorageOperation) -> impl FnOnce(io::Error) -> FileLogError {
        move |error| FileLogError::Storage { operation, kind: error.kind() }
    }
}
