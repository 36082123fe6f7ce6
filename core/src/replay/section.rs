//! What stands in each block of a replay (R1).

use alloc::vec::Vec;

use bincode::{BorrowDecode, Encode};

use super::framing::MAX_BLOCK_BYTES;
use crate::codec::wire::{self, List, WireError};
use crate::digest::{Checksum, DIGEST_BYTES, Digest};
use crate::snapshot::{MAX_STATE_BYTES, packing};
use crate::tick::Tick;

/// Most frames in one block; fewer when they are large. A frame in which nothing changed takes no bytes, so a block's count is
/// bounded by this alone.
pub const MAX_FRAMES_PER_BLOCK: u32 = 600;
/// Most key frames of a file: as many as its index can list.
pub(super) const MAX_KEY_FRAMES: usize = 1 << 19;

const _: () = assert!(MAX_KEY_FRAMES * (2 * (1 + size_of::<u64>())) < MAX_BLOCK_BYTES, "the index fits its block");

pub(super) fn decode<'a, T: BorrowDecode<'a, ()> + Encode>(payload: &'a [u8]) -> Result<T, WireError> {
    wire::decode(payload, MAX_BLOCK_BYTES)
}

#[derive(Encode, BorrowDecode)]
pub(super) struct Header<'a> {
    pub manifest: &'a [u8],
    pub descriptor: &'a [u8],
}

#[derive(Encode, BorrowDecode)]
pub(super) struct FramesSection<'a> {
    pub first: Tick,
    pub count: u32,
    pub body: &'a [u8],
}

#[derive(Debug, Encode, BorrowDecode)]
pub(super) struct ChecksumSection {
    pub tick: Tick,
    pub checksum: Checksum,
}

/// A whole state, by which a player reaches later ticks without those before.
#[derive(Encode, BorrowDecode)]
pub(super) struct KeyFrameSection<'a> {
    pub tick: Tick,
    pub checksum: Checksum,
    /// Head of the frame chain over the ticks before.
    pub chain_head: Digest,
    pub state_bytes: u64,
    /// The state's blocks, encoded; they are decoded when the state is wanted.
    pub blocks: &'a [u8],
}

/// Where key frames stand.
#[derive(Clone, PartialEq, Eq, Debug, Default, Encode, BorrowDecode)]
pub(super) struct IndexSection {
    pub entries: List<IndexEntry, MAX_KEY_FRAMES>,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug, Encode, BorrowDecode)]
pub(super) struct IndexEntry {
    pub tick: Tick,
    pub offset: u64,
}

/// Numbers of a fixed width, so that the last block of a file has one length and can be found from the file's end.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Encode, BorrowDecode)]
pub(super) struct EndSection {
    ticks: [u8; 8],
    checksums: [u8; 8],
    key_frames: [u8; 8],
    index_offset: [u8; 8],
    chain_head: [u8; DIGEST_BYTES],
}

/// The same as values.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct End {
    pub ticks: u64,
    pub checksums: u64,
    pub key_frames: u64,
    pub index_offset: u64,
    pub chain_head: Digest,
}

impl From<End> for EndSection {
    fn from(end: End) -> EndSection {
        EndSection {
            ticks: end.ticks.to_le_bytes(),
            checksums: end.checksums.to_le_bytes(),
            key_frames: end.key_frames.to_le_bytes(),
            index_offset: end.index_offset.to_le_bytes(),
            chain_head: *end.chain_head.as_bytes(),
        }
    }
}

impl From<EndSection> for End {
    fn from(end: EndSection) -> End {
        End {
            ticks: u64::from_le_bytes(end.ticks),
            checksums: u64::from_le_bytes(end.checksums),
            key_frames: u64::from_le_bytes(end.key_frames),
            index_offset: u64::from_le_bytes(end.index_offset),
            chain_head: Digest::from_bytes(end.chain_head),
        }
    }
}

/// The signature's bytes, which nothing has proved.
#[cfg(feature = "signing")]
#[derive(Clone, Copy, PartialEq, Eq, Debug, Encode, BorrowDecode)]
pub(super) struct SignatureSection {
    pub key: [u8; 32],
    pub signature: [u8; 64],
}

impl KeyFrameSection<'_> {
    /// The state's canonical bytes, if the blocks are those of a state with this checksum.
    pub(super) fn state(&self) -> Option<Vec<u8>> {
        let bytes = usize::try_from(self.state_bytes).ok().filter(|bytes| *bytes <= MAX_STATE_BYTES)?;
        let state = packing::unpack_encoded(self.blocks, bytes)?;
        (Checksum::of(&state) == self.checksum).then_some(state)
    }
}
