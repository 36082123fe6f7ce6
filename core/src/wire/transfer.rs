//! Snapshots on their way from a donor through the room to a newcomer (A7): in numbered chunks, with a window of chunks under way.

use bincode::{Decode, Encode};

use crate::digest::{Checksum, Digest};
use crate::seat::Generation;
use crate::snapshot::MAX_SNAPSHOT_BYTES;
use crate::tick::Tick;

/// Bytes of every chunk of a snapshot but the last (A7).
pub const SNAPSHOT_CHUNK_BYTES: usize = CHUNK as usize;
const CHUNK: u32 = 256 * 1024;
/// Most chunks that may be under way and not acknowledged (A7).
pub const SNAPSHOT_WINDOW_CHUNKS: u32 = 4;
/// Most chunks of a snapshot.
pub const MAX_SNAPSHOT_CHUNKS: u32 = 16;

const _: () =
    assert!(SNAPSHOT_CHUNK_BYTES * MAX_SNAPSHOT_CHUNKS as usize >= MAX_SNAPSHOT_BYTES, "a snapshot fits its chunks");

/// Numbers one transfer between the room and one connection. No number is used twice, so that what is left of a broken transfer
/// can't be taken for part of another.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default, Encode, Decode)]
pub struct TransferId(pub u64);

/// What is about to be transferred.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Encode, Decode)]
pub struct SnapshotHeader {
    /// The transfer.
    pub transfer: TransferId,
    /// The generation of the state.
    pub generation: Generation,
    /// The state: `n` for `S(n)`.
    pub tick: Tick,
    /// The state's checksum.
    pub checksum: Checksum,
    /// Bytes of the encoded snapshot.
    pub byte_count: u32,
    /// Digest of the encoded snapshot.
    pub digest: Digest,
}

impl SnapshotHeader {
    /// How many chunks the snapshot takes.
    pub const fn chunk_count(&self) -> u32 {
        self.byte_count.div_ceil(CHUNK)
    }

    /// Bytes of the chunk with this number; 0 beyond the last.
    pub const fn chunk_bytes(&self, index: u32) -> u32 {
        let start = index.saturating_mul(CHUNK);
        let left = self.byte_count.saturating_sub(start);
        if left < CHUNK { left } else { CHUNK }
    }

    pub(super) const fn is_valid(&self) -> bool {
        self.byte_count > 0 && self.byte_count as usize <= MAX_SNAPSHOT_BYTES
    }
}

/// Why there is no snapshot.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, thiserror::Error, Encode, Decode)]
pub enum NoSnapshot {
    /// Nobody who is caught up has one, or whoever had one went away.
    #[error("no client that could donate one is there")]
    NoDonor,
    /// The state is larger than what is transferred.
    #[error("the state is larger than a snapshot may be")]
    TooLarge,
    /// The donor does not have the state any more, or not yet.
    #[error("the donor has no such state")]
    NoState,
    /// It was damaged, of another match, or not the state that others reported.
    #[error("the snapshot is not what others reported")]
    Mismatch,
}
