//! Reading a whole log at its opening: what it holds, where it ends, and what a crash left that is to be removed.

use super::config::FileLogConfig;
use super::error::{Damage, FileLogError, StorageOperation};
use super::format::{HEADER_BYTES, Link, check_header, is_torn_header};
use super::index::{Index, Segment};
use super::reader::{Found, Reader, Window};
use super::storage::{FileName, Storage};

/// What a log holds. Nothing was changed yet.
pub(super) struct Scanned {
    pub(super) index: Index,
    pub(super) link: Link,
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
    let segments: Vec<_> = files.iter().filter(|file| matches!(file, FileName::Segment(_))).copied().collect();
    files.retain(|file| matches!(file, FileName::Temporary(_)));
    let link = Link::start(config.room);
    let mut scanned = Scanned { index: Index::default(), link, torn_bytes: 0, leftovers: files, leftover_bytes: 0 };
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
    Ok(scanned)
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
