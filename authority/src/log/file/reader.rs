//! Reading a segment through a window, record by record.

use super::error::{Damage, FileLogError, StorageOperation};
use super::format::{FRAME_BYTES, FrameHeader, Link};
use super::storage::{FileName, Storage};
use crate::log::MAX_RECORD_BYTES;

/// Bytes that one read asks for at least.
const WINDOW_BYTES: usize = 64 * 1024;
/// Most bytes that one read asks for.
pub(super) const MAX_WINDOW_BYTES: usize = FRAME_BYTES + MAX_RECORD_BYTES;

/// The part of a segment that was read last. Segments only grow while a log is open, so that it stays true.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(super) struct Window {
    segment: u64,
    start: u64,
    bytes: Vec<u8>,
}

/// One segment and the means to read it.
pub(super) struct Reader<'a, S> {
    pub(super) storage: &'a mut S,
    pub(super) window: &'a mut Window,
    /// Number of its first record.
    pub(super) segment: u64,
    /// Its bytes.
    pub(super) length: u64,
}

/// What stands at an offset of a segment.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Found {
    /// A record that is what it says, if it belongs there or not.
    Record { header: FrameHeader, bytes: usize },
    /// The segment's end.
    End,
    /// Something else.
    Damaged(Damage),
}

impl<S: Storage> Reader<'_, S> {
    /// Up to `count` bytes from `offset` on, at most [`MAX_WINDOW_BYTES`]; fewer where the segment ends.
    pub(super) fn bytes(&mut self, offset: u64, count: usize) -> Result<&[u8], FileLogError> {
        let left = usize::try_from(self.length.saturating_sub(offset)).unwrap_or(usize::MAX);
        let count = count.min(left).min(MAX_WINDOW_BYTES);
        let start = match self.start_in_window(offset, count) {
            Some(start) => start,
            None => {
                self.fill(offset, count.max(WINDOW_BYTES.min(left)))?;
                0
            }
        };
        let end = self.window.bytes.len().min(start + count);
        Ok(&self.window.bytes[start..end])
    }

    fn start_in_window(&self, offset: u64, count: usize) -> Option<usize> {
        let start = usize::try_from(offset.checked_sub(self.window.start)?).ok()?;
        let inside = start.checked_add(count)? <= self.window.bytes.len();
        (self.window.segment == self.segment && inside).then_some(start)
    }

    fn fill(&mut self, offset: u64, count: usize) -> Result<(), FileLogError> {
        let window = &mut *self.window;
        (window.segment, window.start) = (self.segment, offset);
        window.bytes.clear();
        window.bytes.resize(count, 0);
        let mut filled = 0;
        while filled < count {
            let file = FileName::Segment(self.segment);
            let read = self.storage.read_at(file, offset + filled as u64, &mut window.bytes[filled..]);
            match read {
                Ok(0) => break,
                Ok(read) => filled += read,
                Err(error) => {
                    window.bytes.clear();
                    return Err(FileLogError::storage(StorageOperation::Read)(error));
                }
            }
        }
        window.bytes.truncate(filled);
        Ok(())
    }

    /// The frame's header at `offset`, if the segment is long enough for one.
    pub(super) fn header(&mut self, offset: u64) -> Result<Option<FrameHeader>, FileLogError> {
        Ok(FrameHeader::parse(self.bytes(offset, FRAME_BYTES)?))
    }

    /// What stands at `offset`, checked against its own checksum.
    pub(super) fn record(&mut self, offset: u64) -> Result<Found, FileLogError> {
        let left = self.length.saturating_sub(offset);
        if left == 0 {
            return Ok(Found::End);
        }
        let short = |bytes: usize| Damage::Short { missing: (bytes as u64).saturating_sub(left) };
        let Some(header) = self.header(offset)? else {
            return Ok(Found::Damaged(short(FRAME_BYTES)));
        };
        let bytes = match header.bytes() {
            Ok(bytes) => bytes,
            Err(damage) => return Ok(Found::Damaged(damage)),
        };
        let frame = self.bytes(offset, bytes)?;
        if frame.len() < bytes {
            return Ok(Found::Damaged(short(bytes)));
        }
        Ok(match header.check_crc(frame) {
            Ok(()) => Found::Record { header, bytes },
            Err(damage) => Found::Damaged(damage),
        })
    }

    /// The record of this number, found by walking from another one, which stands at `offset`.
    pub(super) fn payload_of(&mut self, sequence: u64, from: u64, mut offset: u64) -> Result<&[u8], FileLogError> {
        for passed in from..sequence {
            let header = self.header(offset)?.ok_or(Damage::Short { missing: FRAME_BYTES as u64 });
            let bytes = header.and_then(|header| header.expect_sequence(passed)?.bytes());
            offset += bytes.map_err(|damage| self.damaged(offset, damage))? as u64;
        }
        let (header, bytes) = match self.record(offset)? {
            Found::Record { header, bytes } => (header, bytes),
            Found::End => return Err(self.damaged(offset, Damage::Short { missing: FRAME_BYTES as u64 })),
            Found::Damaged(damage) => return Err(self.damaged(offset, damage)),
        };
        header.expect_sequence(sequence).map_err(|damage| self.damaged(offset, damage))?;
        Ok(&self.bytes(offset, bytes)?[FRAME_BYTES..])
    }

    /// What the record at `offset` makes of `link`, or how it does not follow from it.
    pub(super) fn follow(
        &mut self,
        offset: u64,
        bytes: usize,
        header: FrameHeader,
        link: Link,
    ) -> Result<Link, FileLogError> {
        header.expect_sequence(link.sequence).map_err(|damage| self.damaged(offset, damage))?;
        let next = link.after(&self.bytes(offset, bytes)?[FRAME_BYTES..]);
        if next.hash == header.hash {
            return Ok(next);
        }
        Err(self.damaged(offset, Damage::Chain { expected: next.hash, found: header.hash }))
    }

    /// The error that says what is wrong at `offset`.
    pub(super) fn damaged(&self, offset: u64, damage: Damage) -> FileLogError {
        FileLogError::Damaged { segment: self.segment, offset, damage }
    }
}
