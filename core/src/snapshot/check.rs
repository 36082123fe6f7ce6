//! Checking a snapshot a bounded piece at a time (A7): what a room does, which may not stand still for the largest state.

use alloc::vec::Vec;

use super::block::BLOCK_BYTES;
use super::{MAX_STATE_BYTES, Origin, Snapshot, SnapshotError};
use crate::digest::Checksum;
use crate::identity::MatchDescriptor;

/// Bytes of state that one block of a snapshot decodes to, at most.
pub const STATE_BLOCK_BYTES: usize = BLOCK_BYTES;

/// A snapshot whose state is being checked against the checksum that it states. Never holds more of the state than one block.
///
/// It says what [`Snapshot::verify`] says, without a runtime: whether the bytes are a state of the match is for whoever plays it.
pub struct StateCheck {
    snapshot: Snapshot,
    hasher: blake3::Hasher,
    next_block: usize,
    total: usize,
    block: Vec<u8>,
}

impl core::fmt::Debug for StateCheck {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("StateCheck").field("tick", &self.snapshot.tick).field("next_block", &self.next_block).finish()
    }
}

impl StateCheck {
    /// Checks all that takes no decoding: the match, where the world began, the seats and the stated sizes.
    ///
    /// # Errors
    /// [`SnapshotError`] naming what differs.
    pub fn new(snapshot: Snapshot, descriptor: &MatchDescriptor) -> Result<StateCheck, SnapshotError> {
        snapshot.check_match(descriptor)?;
        if snapshot.origin == Origin::Promotion {
            return Err(SnapshotError::Promoted);
        }
        let most = usize::from(descriptor.limits().max_input_bytes);
        let fits = snapshot.last_inputs.0.iter().all(|last| last.input.as_slice().len() <= most);
        if snapshot.last_inputs.0.len() != descriptor.seats().count() || !fits {
            return Err(SnapshotError::LastInputs);
        }
        let blocks = SnapshotError::Blocks { state_bytes: snapshot.state_bytes };
        let total = usize::try_from(snapshot.state_bytes).ok().filter(|total| *total <= MAX_STATE_BYTES);
        let total = total.filter(|total| total.div_ceil(BLOCK_BYTES) == snapshot.blocks.0.len()).ok_or(blocks)?;
        Ok(StateCheck { snapshot, hasher: blake3::Hasher::new(), next_block: 0, total, block: Vec::new() })
    }

    /// Checks at most so many further blocks, and says whether all were: then the state is the one that the snapshot states.
    ///
    /// # Errors
    /// [`SnapshotError::Blocks`] or [`SnapshotError::Checksum`].
    pub fn step(&mut self, blocks: usize) -> Result<bool, SnapshotError> {
        for block in self.snapshot.blocks.0.iter().skip(self.next_block).take(blocks) {
            let length = BLOCK_BYTES.min(self.total - self.next_block * BLOCK_BYTES);
            self.block.clear();
            let state_bytes = self.snapshot.state_bytes;
            block.unpack(length, &mut self.block).ok_or(SnapshotError::Blocks { state_bytes })?;
            self.hasher.update(&self.block);
            self.next_block += 1;
        }
        if self.next_block < self.snapshot.blocks.0.len() {
            return Ok(false);
        }
        let (expected, found) = (self.snapshot.checksum, Checksum::from_bytes(*self.hasher.finalize().as_bytes()));
        if expected == found { Ok(true) } else { Err(SnapshotError::Checksum { expected, found }) }
    }

    /// The snapshot.
    pub fn snapshot(&self) -> &Snapshot {
        &self.snapshot
    }
}
