//! A state out of its blocks, for snapshots and for the key frames of replays (S8, R3).

use alloc::vec::Vec;

use super::block::{BLOCK_BYTES, Block};
use super::{MAX_BLOCKS, MAX_SNAPSHOT_BYTES};
use crate::codec::wire::{self, List};

/// The state of `total` bytes that these blocks are; `None` where they are not.
pub(super) fn unpack(blocks: &List<Block, MAX_BLOCKS>, total: usize) -> Option<Vec<u8>> {
    if total.div_ceil(BLOCK_BYTES) != blocks.0.len() {
        return None;
    }
    let mut state = Vec::new();
    for block in blocks.iter() {
        let length = BLOCK_BYTES.min(total - state.len());
        block.unpack(length, &mut state)?;
    }
    Some(state)
}

/// The same of encoded blocks.
pub(crate) fn unpack_encoded(blocks: &[u8], total: usize) -> Option<Vec<u8>> {
    unpack(&wire::decode(blocks, MAX_SNAPSHOT_BYTES).ok()?, total)
}
