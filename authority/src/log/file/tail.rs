//! Whether what stands at a log's end is a write that the machine did not finish, or damage to what it had finished.
//!
//! Cutting an unfinished write loses nothing that was promised; cutting damage would lose every record behind it in silence. So
//! a tail is cut only if nothing in it was ever followed by another record, as far as the bytes can tell:
//!
//! - Where the frame names the record that comes next, a write was begun here. If its claimed end lies inside the file, only zeros
//!   may follow, which a file system leaves where it had made room for bytes. If not, the length may be what is damaged: then the
//!   record's hash fits a shorter record with another one behind it.
//! - Elsewhere, as where a page of the write is missing, no whole record with a later number may follow.
//!
//! What clients send stands in records too. A whole record among it is not taken for one of the log while the frame around it is
//! sound, since its hash would have to fit.

use retick_core::digest::Digest;

use super::error::FileLogError;
use super::format::{FRAME_BYTES, FrameHeader, Link};
use super::reader::{Found, Reader};
use super::storage::Storage;
use crate::log::MAX_RECORD_BYTES;

/// Bytes that are looked at together.
const STEP_BYTES: usize = 4096;

impl<S: Storage> Reader<'_, S> {
    /// Whether the bytes from `offset` on, where `link` comes next and no whole record stands, are an unfinished write.
    pub(super) fn is_torn(&mut self, offset: u64, link: Link) -> Result<bool, FileLogError> {
        let Some(header) = self.header(offset)? else {
            return Ok(true);
        };
        if header.sequence != link.sequence {
            return Ok(!self.has_record_after(offset, link)?);
        }
        match header.bytes() {
            Ok(bytes) if offset + (bytes as u64) < self.length => self.is_zero_from(offset + bytes as u64),
            _ => Ok(!self.has_shorter_record(offset, header, link)?),
        }
    }

    fn is_zero_from(&mut self, mut offset: u64) -> Result<bool, FileLogError> {
        loop {
            let bytes = self.bytes(offset, STEP_BYTES)?;
            if bytes.iter().any(|byte| *byte != 0) {
                return Ok(false);
            }
            if bytes.is_empty() {
                return Ok(true);
            }
            offset += bytes.len() as u64;
        }
    }

    /// Whether a whole record with a number that may come later stands anywhere behind `offset`.
    fn has_record_after(&mut self, offset: u64, link: Link) -> Result<bool, FileLogError> {
        let records = (self.length - offset) / FRAME_BYTES as u64;
        let later = link.sequence + 1..=link.sequence.saturating_add(records);
        for at in offset + 1..self.length {
            let Some(header) = self.header(at)? else {
                return Ok(false);
            };
            if later.contains(&header.sequence) && matches!(self.record(at)?, Found::Record { .. }) {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Whether the record at `offset` is whole but for its length, with the next record's frame behind it.
    fn has_shorter_record(&mut self, offset: u64, header: FrameHeader, link: Link) -> Result<bool, FileLogError> {
        let start = offset + FRAME_BYTES as u64;
        let mut hasher = link.hasher();
        let mut hashed = start;
        for at in start..=start + MAX_RECORD_BYTES as u64 {
            let Some(follower) = self.header(at)? else {
                return Ok(false);
            };
            if follower.sequence != link.sequence + 1 {
                continue;
            }
            while hashed < at {
                let count = usize::try_from(at - hashed).unwrap_or(STEP_BYTES).min(STEP_BYTES);
                let bytes = self.bytes(hashed, count)?;
                hasher.update(bytes);
                hashed += bytes.len() as u64;
            }
            if Digest::from_bytes(*hasher.finalize().as_bytes()) == header.hash {
                return Ok(true);
            }
        }
        Ok(false)
    }
}
