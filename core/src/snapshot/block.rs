//! The blocks of a snapshot's state: all zero, packed with LZ4, or stored as they are (S8).

use bincode::{BorrowDecode, Encode};

use alloc::vec::Vec;

use crate::codec::wire::Blob;

/// Decoded bytes of every block but the last.
pub(super) const BLOCK_BYTES: usize = 64 << 10;

#[derive(Clone, PartialEq, Eq, Debug, Encode, BorrowDecode)]
pub(super) enum Block {
    Zero,
    Stored(Blob<BLOCK_BYTES>),
    Packed(Blob<BLOCK_BYTES>),
}

impl Block {
    pub(super) fn pack(bytes: &[u8]) -> Block {
        if bytes.iter().all(|byte| *byte == 0) {
            return Block::Zero;
        }
        let packed = lz4_flex::block::compress(bytes);
        let smaller = Blob::new(packed).filter(|packed| packed.as_slice().len() < bytes.len());
        smaller.map(Block::Packed).unwrap_or_else(|| Block::Stored(Blob::new(bytes).unwrap_or_default()))
    }

    /// Encoded bytes, at most.
    pub(super) fn encoded_bytes(&self) -> usize {
        match self {
            Block::Zero => 1,
            Block::Stored(bytes) | Block::Packed(bytes) => bytes.as_slice().len() + 8,
        }
    }

    /// Appends exactly `length` bytes, or says that the block has another length.
    pub(super) fn unpack(&self, length: usize, state: &mut Vec<u8>) -> Option<()> {
        let start = state.len();
        match self {
            Block::Zero => state.resize(start + length, 0),
            Block::Stored(bytes) if bytes.as_slice().len() == length => state.extend_from_slice(bytes.as_slice()),
            Block::Stored(_) => return None,
            Block::Packed(packed) => {
                state.resize(start + length, 0);
                let written = lz4_flex::block::decompress_into(packed.as_slice(), &mut state[start..]).ok()?;
                if written != length {
                    return None;
                }
            }
        }
        Some(())
    }
}
