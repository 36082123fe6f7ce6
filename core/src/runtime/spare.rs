//! States that were released, kept to be overwritten by the next ones.

use alloc::vec::Vec;
use core::mem;

/// Most released states that a native runtime keeps: those of a rollback over twice the default prediction window. Each is a
/// whole state, or, of a [`Chunked`](crate::chunked::Chunked) one, keeps the chunks of its tick from being used again.
pub const MAX_SPARE_STATES: usize = 16;

/// A bounded heap of spares. The last one in is the first one out: its memory is warm, and fewest old ticks are held on to.
pub(super) struct Spares<T>(Vec<T>);

impl<T> Spares<T> {
    pub(super) const fn new() -> Spares<T> {
        Spares(Vec::new())
    }

    /// Keeps `spare`, or drops it when there are [`MAX_SPARE_STATES`], or nothing in it that could be used again.
    pub(super) fn put(&mut self, spare: T) {
        if mem::needs_drop::<T>() && self.0.len() < MAX_SPARE_STATES {
            self.0.push(spare);
        }
    }

    pub(super) fn take(&mut self) -> Option<T> {
        self.0.pop()
    }

    pub(super) fn clear(&mut self) {
        self.0.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn k4_spares_are_bounded_and_the_last_comes_first() {
        let mut spares = Spares::new();
        (0..=MAX_SPARE_STATES).for_each(|number| spares.put(Vec::from([number])));
        let taken: Vec<usize> = core::iter::from_fn(|| spares.take()).map(|spare| spare[0]).collect();
        assert_eq!(taken, (0..MAX_SPARE_STATES).rev().collect::<Vec<_>>());
        let mut plain = Spares::new();
        plain.put(1u64);
        assert_eq!(plain.take(), None);
    }
}
