//! Reading a whole log at its opening: what it holds, where it ends, and what a crash left that is to be removed.

use super::config::FileLogConfig;
use super::error::{Damage, FileLogError, StorageOperation};
use super::format::{HEADER_BYTES, Link, check_header, is_torn_header, read_header};
use super::index::{Index, Segment};
use super::reader::{Found, Reader, Window};
use super::storage::{FileName, Storage, read_whole};

/// What a log holds. Nothing was changed yet.
pub(super) struct Scanned {
    pub(super) index: Index,
    pub(super) link: Link,
    /// Number of the first record, where others before it were forgotten.
    pub(super) start: Option<u64>,
    /// Bytes behind the last record of the last segment.
    pub(super) torn_bytes: u64,
    /// Files without a record of use, and their bytes that hold part of a segment.
    pub(super) leftovers: Vec<FileName>,
    pub(super) leftover_bytes: u64,
}

/// Reads the log.
///
/// # Errors
/// [`FileLogError::Damaged`] unless all but an unfinished write at the end is as it was written.
pub(super) fn scan<S: Storage>(
    storage: &mut S,
    window: &mut Window,
    config: &FileLogConfig,
) -> Result<Scanned, FileLogError> {
    let mut files = storage.list().map_err(FileLogError::storage(StorageOperation::List))?;
    files.sort_unstable();
    let number = |file: &FileName| if let FileName::Start(first) = file { Some(*first) } else { None };
    // The newest. An older one was forgotten with the segments behind it.
    let start = files.iter().filter_map(number).max();
    let link = match start {
        None => Link::start(config.room),
        Some(first) => read_start(storage, first, config)?,
    };
    let is_forgotten = |first: u64| start.is_some_and(|start| first < start);
    let is_kept = |file: &FileName| matches!(file, FileName::Segment(first) if !is_forgotten(*first));
    let segments: Vec<_> = files.iter().filter(|file| is_kept(file)).copied().collect();
    files.retain(|file| match *file {
        FileName::Segment(first) | FileName::Start(first) => is_forgotten(first),
        FileName::Temporary(_) | FileName::TemporarySnapshot => true,
        FileName::Snapshot => false,
    });
    let mut scanned =
        Scanned { index: Index::default(), link, start, torn_bytes: 0, leftovers: files, leftover_bytes: 0 };
    for (position, file) in segments.iter().enumerate() {
        let FileName::Segment(first) = *file else { continue };
        let length = storage.length(*file).map_err(FileLogError::storage(StorageOperation::Length))?;
        let mut reader = Reader { storage: &mut *storage, window: &mut *window, segment: first, length };
        if first != scanned.link.sequence {
            return Err(reader.damaged(0, Damage::Gap { expected: scanned.link.sequence }));
        }
        let place = if position + 1 == segments.len() { Place::Last } else { Place::Sealed };
        scanned.segment(&mut reader, place, config)?;
    }
    match start {
        // The record with which it begins was on the disk before anything was forgotten.
        Some(segment) if scanned.link.sequence == segment => {
            Err(FileLogError::Damaged { segment, offset: 0, damage: Damage::Gap { expected: segment } })
        }
        _ => Ok(scanned),
    }
}

/// Where a log begins that has forgotten its first records.
fn read_start<S: Storage>(storage: &mut S, first: u64, config: &FileLogConfig) -> Result<Link, FileLogError> {
    let bytes = read_whole(storage, FileName::Start(first), HEADER_BYTES);
    let bytes = bytes.map_err(FileLogError::storage(StorageOperation::Read))?.unwrap_or_default();
    let link = read_header(&bytes, config.room, first);
    link.map_err(|damage| FileLogError::Damaged { segment: first, offset: 0, damage })
}

/// Where a segment stands. A sealed one was on the disk before the next one was made, so nothing in it is unfinished.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Place {
    Sealed,
    Last,
}

impl Scanned {
    fn segment<S: Storage>(
        &mut self,
        reader: &mut Reader<'_, S>,
        place: Place,
        config: &FileLogConfig,
    ) -> Result<(), FileLogError> {
        let length = reader.length;
        let header = reader.bytes(0, HEADER_BYTES)?;
        if place == Place::Last && length <= HEADER_BYTES as u64 && is_torn_header(header, config.room, self.link) {
            self.leftovers.push(FileName::Segment(reader.segment));
            self.leftover_bytes = length;
            return Ok(());
        }
        check_header(header, config.room, self.link).map_err(|damage| reader.damaged(0, damage))?;
        let expected_bytes = if place == Place::Last { config.segment_size.bytes() } else { length };
        let mut segment = Segment::new(self.link, expected_bytes);
        loop {
            let offset = segment.length;
            match reader.record(offset)? {
                Found::End => break,
                Found::Record { header, bytes } => {
                    let next = reader.follow(offset, bytes, header, self.link)?;
                    segment.push(self.link.sequence, bytes);
                    self.link = next;
                }
                Found::Damaged(damage) => {
                    if place == Place::Sealed || !reader.is_torn(offset, self.link)? {
                        return Err(reader.damaged(offset, damage));
                    }
                    self.torn_bytes = length - offset;
                    break;
                }
            }
        }
        self.index.push(segment);
        Ok(())
    }
}
