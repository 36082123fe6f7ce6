//! A flat buffer that is written at its end and read at its front, and keeps its memory.

use alloc::vec::Vec;

/// Items in order. What was taken stays readable until the next [`Fifo::end`].
#[derive(Clone, Debug)]
pub(super) struct Fifo<T> {
    items: Vec<T>,
    taken: usize,
}

impl<T> Default for Fifo<T> {
    fn default() -> Self {
        Fifo { items: Vec::new(), taken: 0 }
    }
}

impl<T> Fifo<T> {
    /// The buffer, to be appended to. What was taken is dropped once it is half of everything, so each item moves once at
    /// most on average, and memory stays within twice of what waits.
    pub(super) fn end(&mut self) -> &mut Vec<T> {
        if self.taken * 2 >= self.items.len() {
            self.items.drain(..self.taken);
            self.taken = 0;
        }
        &mut self.items
    }

    /// How many items were not taken.
    pub(super) fn waiting(&self) -> usize {
        self.items.len() - self.taken
    }

    /// Takes the first `count` items.
    pub(super) fn take(&mut self, count: usize) -> &[T] {
        let start = self.taken;
        self.taken = (start + count).min(self.items.len());
        &self.items[start..self.taken]
    }
}

#[cfg(test)]
impl<T> Fifo<T> {
    pub(super) fn capacity(&self) -> usize {
        self.items.capacity()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_waits_keeps_its_order_and_memory_stays_bounded() {
        let mut fifo = Fifo::default();
        fifo.end().extend([0, 1, 2]);
        for value in 3..10_000 {
            fifo.end().push(value);
            assert_eq!(fifo.take(1), [value - 3]);
        }
        assert_eq!(fifo.take(9), [9_997, 9_998, 9_999]);
        assert!(fifo.capacity() <= 16, "{}", fifo.capacity());
    }
}
