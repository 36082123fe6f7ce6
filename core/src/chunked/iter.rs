//! The elements of a [`Chunked`](super::Chunked) in order, with one walk down the tree for each chunk.

use core::iter::FusedIterator;
use core::slice;

use super::tree::Tree;

/// The elements of a [`Chunked`](super::Chunked), from [`Chunked::iter`](super::Chunked::iter).
pub struct Iter<'a, T> {
    tree: &'a Tree<T>,
    chunk: slice::Iter<'a, T>,
    next_chunk: usize,
    left: usize,
}

impl<'a, T> Iter<'a, T> {
    pub(super) fn new(tree: &'a Tree<T>) -> Iter<'a, T> {
        Iter { tree, chunk: [].iter(), next_chunk: 0, left: tree.len }
    }
}

impl<T> Clone for Iter<'_, T> {
    fn clone(&self) -> Self {
        Iter { tree: self.tree, chunk: self.chunk.clone(), next_chunk: self.next_chunk, left: self.left }
    }
}

impl<'a, T> Iterator for Iter<'a, T> {
    type Item = &'a T;

    fn next(&mut self) -> Option<&'a T> {
        if self.chunk.as_slice().is_empty() {
            self.chunk = self.tree.chunk(self.next_chunk).iter();
            self.next_chunk += 1;
        }
        let item = self.chunk.next()?;
        self.left -= 1;
        Some(item)
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        (self.left, Some(self.left))
    }
}

impl<T> ExactSizeIterator for Iter<'_, T> {}

impl<T> FusedIterator for Iter<'_, T> {}
