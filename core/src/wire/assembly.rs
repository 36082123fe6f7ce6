//! A snapshot while its chunks arrive (A7): in any order, each once, and checked as a whole before anyone reads it.

use alloc::vec::Vec;

use super::{MAX_SNAPSHOT_CHUNKS, SNAPSHOT_WINDOW_CHUNKS, SnapshotHeader, TransferId};
use crate::digest::Digest;

/// What became of a chunk that was taken.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Chunk {
    /// It was missing, and is there now.
    New,
    /// It was there already.
    Duplicate,
}

/// Why a chunk was not taken.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, thiserror::Error)]
pub enum ChunkError {
    /// It is part of another transfer.
    #[error("the chunk is part of another transfer")]
    OtherTransfer,
    /// It lies behind the last chunk, or further ahead of the first missing one than [`SNAPSHOT_WINDOW_CHUNKS`].
    #[error("chunk {index}, where {next} is the first that is missing")]
    Index {
        /// The chunk's number.
        index: u32,
        /// The first missing one's.
        next: u32,
    },
    /// It has another length than the chunk of this number.
    #[error("chunk {index} has another length than it must")]
    Length {
        /// The chunk's number.
        index: u32,
    },
    /// All chunks are there, and are not what the header announced.
    #[error("the chunks do not make what was announced")]
    Digest,
}

/// The chunks of one snapshot that have arrived. What it allocates is bounded by the bytes that arrived and a window of chunks.
///
/// Chunks of another transfer are never taken, whatever their number. [`Assembly::resume`] is the one way from a transfer to the
/// next, and asks for the same bytes.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Assembly {
    header: SnapshotHeader,
    bytes: Vec<u8>,
    /// One bit for each chunk that is there.
    arrived: u32,
}

const _: () = assert!(MAX_SNAPSHOT_CHUNKS <= u32::BITS, "every chunk has its bit");

impl Assembly {
    /// Nothing of what `header` announces.
    #[must_use]
    pub fn new(header: SnapshotHeader) -> Assembly {
        Assembly { header, bytes: Vec::new(), arrived: 0 }
    }

    /// What was announced.
    pub fn header(&self) -> &SnapshotHeader {
        &self.header
    }

    /// The first chunk that is missing: all before it are there.
    pub fn next(&self) -> u32 {
        self.arrived.trailing_ones()
    }

    /// Whether every chunk is there.
    pub fn is_complete(&self) -> bool {
        self.next() >= self.header.chunk_count()
    }

    /// Bytes of the chunks that are there.
    pub fn received_bytes(&self) -> u32 {
        let there = |index: &u32| self.has(*index);
        (0..self.header.chunk_count()).filter(there).map(|index| self.header.chunk_bytes(index)).sum()
    }

    fn has(&self, index: u32) -> bool {
        1u32.checked_shl(index).is_some_and(|bit| self.arrived & bit != 0)
    }

    /// Takes a chunk.
    ///
    /// # Errors
    /// [`ChunkError`]; nothing was taken then.
    pub fn take(&mut self, transfer: TransferId, index: u32, bytes: &[u8]) -> Result<Chunk, ChunkError> {
        if transfer != self.header.transfer {
            return Err(ChunkError::OtherTransfer);
        }
        let next = self.next();
        let within = index < self.header.chunk_count() && index < next.saturating_add(SNAPSHOT_WINDOW_CHUNKS);
        let bit = 1u32.checked_shl(index).filter(|_| within).ok_or(ChunkError::Index { index, next })?;
        if bytes.len() != self.header.chunk_bytes(index) as usize {
            return Err(ChunkError::Length { index });
        }
        if self.arrived & bit != 0 {
            return Ok(Chunk::Duplicate);
        }
        let start = index as usize * super::SNAPSHOT_CHUNK_BYTES;
        let end = start + bytes.len();
        if self.bytes.len() < end {
            self.bytes.resize(end, 0);
        }
        self.bytes[start..end].copy_from_slice(bytes);
        self.arrived |= bit;
        Ok(Chunk::New)
    }

    /// Goes on under another transfer's number, if that announces the same bytes; says whether it does.
    #[must_use]
    pub fn resume(&mut self, header: &SnapshotHeader) -> bool {
        let same = SnapshotHeader { transfer: self.header.transfer, ..*header } == self.header;
        if same {
            self.header.transfer = header.transfer;
        }
        same
    }

    /// The snapshot's bytes, once every chunk is there.
    ///
    /// # Errors
    /// [`ChunkError::Index`] while one is missing, and [`ChunkError::Digest`] when they are not what was announced.
    pub fn finish(self) -> Result<Vec<u8>, ChunkError> {
        if !self.is_complete() {
            return Err(ChunkError::Index { index: self.header.chunk_count(), next: self.next() });
        }
        if Digest::of(&self.bytes) == self.header.digest { Ok(self.bytes) } else { Err(ChunkError::Digest) }
    }
}

#[cfg(test)]
mod tests {
    use alloc::vec;

    use super::*;
    use crate::digest::Checksum;
    use crate::seat::Generation;
    use crate::tick::Tick;
    use crate::wire::SNAPSHOT_CHUNK_BYTES;

    /// Twelve whole chunks and a bit.
    const BYTES: usize = 12 * SNAPSHOT_CHUNK_BYTES + 5;

    fn snapshot() -> Vec<u8> {
        (0..BYTES).map(|place| (place % 251).to_le_bytes()[0]).collect()
    }

    fn header(transfer: u64, bytes: &[u8]) -> SnapshotHeader {
        SnapshotHeader {
            transfer: TransferId(transfer),
            generation: Generation(0),
            tick: Tick::new(121),
            checksum: Checksum::of(b"state"),
            byte_count: u32::try_from(bytes.len()).expect("small"),
            digest: Digest::of(bytes),
        }
    }

    fn give(assembly: &mut Assembly, transfer: u64, index: u32, bytes: &[u8]) -> Result<Chunk, ChunkError> {
        let chunk = bytes.chunks(SNAPSHOT_CHUNK_BYTES).nth(index as usize).expect("there");
        assembly.take(TransferId(transfer), index, chunk)
    }

    #[test]
    fn a7_chunks_arrive_in_any_order_and_each_counts_once() {
        let bytes = snapshot();
        let mut assembly = Assembly::new(header(7, &bytes));
        for (index, taken, next) in [
            (0, Chunk::New, 1),
            (2, Chunk::New, 1),
            (1, Chunk::New, 3),
            (1, Chunk::Duplicate, 3),
            (3, Chunk::New, 4),
            (6, Chunk::New, 4),
            (6, Chunk::Duplicate, 4),
        ] {
            assert_eq!(give(&mut assembly, 7, index, &bytes), Ok(taken), "{index}");
            assert_eq!(assembly.next(), next, "{index}");
        }
        assert_eq!(assembly.received_bytes() as usize, 5 * SNAPSHOT_CHUNK_BYTES);
        assert_eq!(assembly.clone().finish(), Err(ChunkError::Index { index: 13, next: 4 }));
        for index in [4, 5, 7, 8, 9, 10, 11, 12] {
            assert_eq!(give(&mut assembly, 7, index, &bytes), Ok(Chunk::New), "{index}");
        }
        assert!(assembly.is_complete());
        assert_eq!(assembly.finish(), Ok(bytes));
    }

    #[test]
    fn a7_a_chunk_of_another_transfer_number_window_or_length_is_refused() {
        let bytes = snapshot();
        let mut assembly = Assembly::new(header(7, &bytes));
        assert_eq!(give(&mut assembly, 6, 0, &bytes), Err(ChunkError::OtherTransfer));
        let beyond = SNAPSHOT_WINDOW_CHUNKS;
        assert_eq!(give(&mut assembly, 7, beyond, &bytes), Err(ChunkError::Index { index: beyond, next: 0 }));
        for index in [13, 16, u32::MAX] {
            let refused = assembly.take(TransferId(7), index, &bytes[..5]);
            assert_eq!(refused, Err(ChunkError::Index { index, next: 0 }));
        }
        for length in [0, 5, SNAPSHOT_CHUNK_BYTES - 1] {
            assert_eq!(assembly.take(TransferId(7), 0, &bytes[..length]), Err(ChunkError::Length { index: 0 }));
        }
        assert_eq!((assembly.next(), assembly.received_bytes(), assembly.bytes.len()), (0, 0, 0));
    }

    #[test]
    fn r02_one_flipped_bit_is_found_before_anyone_reads_the_snapshot() {
        let bytes = snapshot();
        let mut damaged = bytes.clone();
        damaged[7 * SNAPSHOT_CHUNK_BYTES + 100] ^= 4;
        let mut assembly = Assembly::new(header(7, &bytes));
        (0..13).for_each(|index| assert_eq!(give(&mut assembly, 7, index, &damaged), Ok(Chunk::New)));
        assert_eq!(assembly.finish(), Err(ChunkError::Digest));
    }

    #[test]
    fn a7_a_download_goes_on_under_another_number_if_the_bytes_are_the_same() {
        let bytes = snapshot();
        let mut assembly = Assembly::new(header(7, &bytes));
        (0..4).for_each(|index| assert_eq!(give(&mut assembly, 7, index, &bytes), Ok(Chunk::New)));
        let other = vec![1; BYTES];
        assert!(!assembly.resume(&header(8, &other)));
        assert!(!assembly.resume(&SnapshotHeader { tick: Tick::new(122), ..header(8, &bytes) }));
        assert_eq!(give(&mut assembly, 8, 4, &bytes), Err(ChunkError::OtherTransfer));
        assert!(assembly.resume(&header(8, &bytes)));
        assert_eq!(give(&mut assembly, 7, 4, &bytes), Err(ChunkError::OtherTransfer));
        (4..13).for_each(|index| assert_eq!(give(&mut assembly, 8, index, &bytes), Ok(Chunk::New)));
        assert_eq!(assembly.finish(), Ok(bytes));
    }
}
