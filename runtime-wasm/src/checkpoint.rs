//! Checkpoints: whole copies of a state, as its canonical bytes, in buffers that are used again (K4).
//!
//! A copy costs what the memory has, not what was touched (W6 waits for dirty pages); the seam is that nothing outside this
//! module and [`crate::hash`] knows how a state is kept.

use retick_core::tick::Tick;

use crate::guest::Guest;

/// Buffers of released checkpoints, used again for the next ones. It never holds more than were in use at once.
#[derive(Debug, Default)]
pub(crate) struct Pool {
    free: Vec<Vec<u8>>,
}

impl Pool {
    /// The state as it is, as canonical bytes.
    pub fn capture(&mut self, guest: &mut Guest, tick: Tick) -> Vec<u8> {
        let mut bytes = self.free.pop().unwrap_or_default();
        bytes.clear();
        bytes.extend_from_slice(guest.memory());
        guest.append_trailer(tick, &mut bytes);
        bytes
    }

    /// Takes a buffer back.
    pub fn give(&mut self, bytes: Vec<u8>) {
        self.free.push(bytes);
    }
}
