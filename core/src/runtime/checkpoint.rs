//! Checkpoint handles and the linear history behind them (K4).

use alloc::collections::VecDeque;
use core::num::NonZeroU64;

use crate::codec::canonical::EncodeError;
use crate::tick::Tick;

/// An opaque handle of a state in memory, released when it can no longer be read (K4). Copying it costs nothing and owns
/// nothing; a runtime never gives the same handle out twice. It means something to the runtime that gave it, and to no other: one
/// of another runtime's is a mistake that can't be told from a right one.
#[doc(alias = "save state")]
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Checkpoint {
    serial: NonZeroU64,
    tick: Tick,
}

impl Checkpoint {
    /// The tick of the state: `n` for `S(n)`.
    pub fn tick(self) -> Tick {
        self.tick
    }
}

/// Why a checkpoint can't be used.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum CheckpointError {
    /// The handle was released, by its owner, by the restore of an older one or by hydration.
    #[error("the checkpoint of tick {tick} was released")]
    Stale {
        /// The tick of the state that it stood for.
        tick: Tick,
    },
    /// The state holds a value that has no canonical form.
    #[error("the state of tick {tick} can't be captured: {error}")]
    Capture {
        /// The tick of the state.
        tick: Tick,
        /// The value, by its path.
        error: EncodeError,
    },
    /// This machine failed to read or restore the state.
    #[error("this machine failed to read the checkpoint of tick {tick}")]
    Host {
        /// The tick of the state.
        tick: Tick,
    },
}

/// How many of the oldest entries are looked at first: a session keeps two or three report ticks before its frontier.
const OLDEST_TRIED: usize = 4;

/// The checkpoints of one runtime, oldest first, each with a backend's `T`: the bookkeeping of linear history that every
/// backend shares.
#[derive(Clone, Debug)]
pub struct CheckpointTable<T> {
    entries: VecDeque<(Checkpoint, T)>,
    issued: Option<NonZeroU64>,
}

impl<T> Default for CheckpointTable<T> {
    fn default() -> Self {
        CheckpointTable { entries: VecDeque::new(), issued: None }
    }
}

impl<T> CheckpointTable<T> {
    /// Issues a handle for the state of `tick`, the youngest from now on.
    pub fn issue(&mut self, tick: Tick, value: T) -> Checkpoint {
        let serial = self.issued.map_or(NonZeroU64::MIN, |last| last.saturating_add(1));
        self.issued = Some(serial);
        let checkpoint = Checkpoint { serial, tick };
        self.entries.push_back((checkpoint, value));
        checkpoint
    }

    /// How many handles are valid.
    pub fn len(&self) -> usize {
        self.entries.len()
    }

    /// Whether no handle is valid.
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// What stands behind a handle.
    ///
    /// # Errors
    /// [`CheckpointError::Stale`].
    pub fn get(&mut self, checkpoint: Checkpoint) -> Result<&mut T, CheckpointError> {
        let index = self.position(checkpoint)?;
        Ok(&mut self.entries[index].1)
    }

    /// Takes one entry out.
    ///
    /// # Errors
    /// [`CheckpointError::Stale`].
    pub fn release(&mut self, checkpoint: Checkpoint) -> Result<T, CheckpointError> {
        let index = self.position(checkpoint)?;
        self.entries.remove(index).map(|(_, value)| value).ok_or(CheckpointError::Stale { tick: checkpoint.tick })
    }

    /// Takes the youngest entry out if it is younger than `checkpoint`; called until `None`, it makes `checkpoint` the youngest.
    pub fn pop_younger(&mut self, checkpoint: Checkpoint) -> Option<T> {
        let (youngest, _) = self.entries.back()?;
        if youngest.serial > checkpoint.serial { self.entries.pop_back().map(|(_, value)| value) } else { None }
    }

    /// Takes the youngest entry out: a failed batch gives back what it issued.
    pub fn pop(&mut self) -> Option<T> {
        self.entries.pop_back().map(|(_, value)| value)
    }

    fn position(&self, checkpoint: Checkpoint) -> Result<usize, CheckpointError> {
        let found = self.guess(checkpoint).map_or_else(
            || self.entries.binary_search_by_key(&checkpoint.serial, |(entry, _)| entry.serial).ok(),
            Some,
        );
        let stale = CheckpointError::Stale { tick: checkpoint.tick };
        found.filter(|index| self.entries[*index].0 == checkpoint).ok_or(stale)
    }

    /// Where the handle stands if it is one of the oldest, or if none was released since it was issued: the usual cases.
    fn guess(&self, checkpoint: Checkpoint) -> Option<usize> {
        let oldest = self.entries.iter().take(OLDEST_TRIED).position(|(entry, _)| *entry == checkpoint);
        if oldest.is_some() {
            return oldest;
        }
        let youngest = self.entries.back()?.0;
        let back = usize::try_from(youngest.serial.get().checked_sub(checkpoint.serial.get())?).ok()?;
        let index = (self.entries.len() - 1).checked_sub(back)?;
        (self.entries.get(index)?.0 == checkpoint).then_some(index)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn k4_history_is_linear_and_stale_handles_are_errors() {
        let mut table = CheckpointTable::default();
        let [a, b, c] = [0, 1, 2].map(|tick| table.issue(Tick::new(tick), tick));
        assert_eq!(table.get(b).copied(), Ok(1));
        assert_eq!(table.release(a), Ok(0));
        while table.pop_younger(b).is_some() {}
        assert_eq!(table.len(), 1);
        for (stale, tick) in [(a, 0), (c, 2)] {
            assert_eq!(table.get(stale), Err(CheckpointError::Stale { tick: Tick::new(tick) }));
        }
        // A handle issued later for the same tick is another handle.
        let again = table.issue(Tick::new(2), 7);
        assert_ne!(again, c);
        assert!(table.get(c).is_err());
        assert_eq!(table.get(again).copied(), Ok(7));
    }
}
