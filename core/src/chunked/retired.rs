//! Blocks that a container replaced, kept until nobody else holds them and then written anew.
//!
//! The writer keeps its share of whatever it replaces. So when a checkpoint is dropped, only counts sink; the memory comes
//! back here, and a container that changes as much as it did before allocates nothing.

use alloc::collections::VecDeque;
use alloc::sync::Arc;
use alloc::vec::Vec;
use core::sync::atomic::Ordering;

use super::tree::{Block, Body, Children, FAN_OUT_BITS};
use super::{FAN_OUT, RETIRED_BASE, RETIRED_PER_BLOCK};

/// How many waiting blocks one request looks at.
const PROBES: usize = 4;
/// With this many free blocks at hand, a request looks at none. Blocks that checkpoints hold stand in the queue in runs; what
/// is set aside before a run serves while it passes.
const FREE_ENOUGH: usize = 64;
/// How many more a request looks at before it allocates.
const LAST_PROBES: usize = 256;
/// A request that finds nothing adds one block for this many that are kept. How many are held by others changes from tick to
/// tick; without a reserve above the most so far, the last few allocations would be far apart and never end.
const KEPT_PER_RESERVE: usize = 8;
/// Most blocks that one request adds.
const MAX_RESERVE: usize = 16;
/// How many blocks beyond the limit are given up whenever one is put.
const EVICTIONS: usize = 2;

const _: () = assert!(EVICTIONS > 1, "what is over the limit must shrink");

/// The replaced blocks of one container, by height.
pub(super) struct Retired<T> {
    shelves: Vec<Shelf<T>>,
    /// The most chunks that the container has had.
    chunks: usize,
}

/// The replaced blocks of one height.
struct Shelf<T> {
    /// Others may still hold these, a checkpoint or another replaced block. In a ring, so that no run of them hides others.
    waiting: VecDeque<Arc<Block<T>>>,
    /// Nobody else holds these.
    free: Vec<Arc<Block<T>>>,
}

impl<T> Retired<T> {
    pub(super) const fn new() -> Retired<T> {
        Retired { shelves: Vec::new(), chunks: 0 }
    }

    /// Raises the limit to what a container of this many chunks may keep.
    pub(super) fn allow_for(&mut self, chunks: usize) {
        self.chunks = self.chunks.max(chunks);
    }

    /// Most blocks of this height that are kept.
    pub(super) fn limit(&self, height: usize) -> usize {
        let blocks = self.chunks.div_ceil(1 << (FAN_OUT_BITS * height));
        blocks.saturating_mul(RETIRED_PER_BLOCK).saturating_add(RETIRED_BASE)
    }

    /// How many blocks of this height are kept.
    #[cfg(test)]
    pub(super) fn kept(&self, height: usize) -> usize {
        self.shelves.get(height).map_or(0, Shelf::len)
    }

    /// Takes a block that the container no longer uses.
    pub(super) fn put(&mut self, block: Option<Arc<Block<T>>>, height: usize) {
        let Some(block) = block else { return };
        if !block.is_retired.swap(true, Ordering::Relaxed) {
            let limit = self.limit(height);
            let shelf = self.shelf(height);
            shelf.waiting.push_back(block);
            shelf.shrink(limit);
        }
    }

    /// Takes a block that a replaced node held: if it was the last to hold it, nothing else will ever give it back.
    fn reclaim(&mut self, block: Option<Arc<Block<T>>>, height: usize) {
        let Some(block) = block else { return };
        if Arc::strong_count(&block) == 1 {
            block.is_retired.store(true, Ordering::Relaxed);
            let limit = self.limit(height);
            let shelf = self.shelf(height);
            shelf.free.push(block);
            shelf.shrink(limit);
        }
    }

    fn shelf(&mut self, height: usize) -> &mut Shelf<T> {
        while self.shelves.len() <= height {
            self.shelves.push(Shelf { waiting: VecDeque::new(), free: Vec::new() });
        }
        &mut self.shelves[height]
    }

    fn take(&mut self, height: usize) -> Option<Arc<Block<T>>> {
        let limit = self.limit(height);
        if !self.shelves.get_mut(height)?.has_free(PROBES) {
            self.strip_above(height);
            let shelf = &mut self.shelves[height];
            if !shelf.has_free(LAST_PROBES) {
                shelf.reserve(height, limit);
            }
        }
        let mut block = self.shelves[height].free.pop()?;
        *Arc::get_mut(&mut block)?.is_retired.get_mut() = false;
        Some(block)
    }

    /// Takes the children out of the free nodes above `height`. A node keeps them until it is overwritten, and one at the
    /// bottom of the heap of free nodes may never be; they would pass for blocks that others hold.
    fn strip_above(&mut self, height: usize) {
        for above in (height + 1..self.shelves.len()).rev() {
            self.shelves[above].probe(LAST_PROBES);
            for node in 0..self.shelves[above].free.len() {
                let block = Arc::get_mut(&mut self.shelves[above].free[node]);
                let Some(Block { body: Body::Node(children), .. }) = block else { continue };
                let children = core::mem::replace(children, [const { None }; FAN_OUT]);
                children.into_iter().for_each(|child| self.reclaim(child, above - 1));
            }
        }
    }
}

impl<T: Clone> Retired<T> {
    /// An unshared block with the content of `source`.
    pub(super) fn copy_of(&mut self, source: &Block<T>, height: usize) -> Arc<Block<T>> {
        let mut taken = self.take(height);
        match (taken.as_mut().and_then(Arc::get_mut).map(|block| &mut block.body), &source.body) {
            (Some(Body::Chunk(items)), Body::Chunk(from)) => items.clone_from(from),
            (Some(Body::Node(children)), Body::Node(from)) => self.overwrite(children, from, height),
            (_, Body::Chunk(from)) => {
                let mut items = Vec::with_capacity(Block::<T>::CHUNK_LEN);
                items.extend_from_slice(from);
                return Arc::new(Block::new(Body::Chunk(items)));
            }
            (_, Body::Node(from)) => return Arc::new(Block::new(Body::Node(from.clone()))),
        }
        taken.expect("it was overwritten")
    }

    /// An unshared chunk without elements, or node without children.
    pub(super) fn empty(&mut self, height: usize) -> Arc<Block<T>> {
        if height > 0 {
            return self.parent_of(None, height);
        }
        let mut taken = self.take(height);
        if let Some(Block { body: Body::Chunk(items), .. }) = taken.as_mut().and_then(Arc::get_mut) {
            items.clear();
        }
        taken.unwrap_or_else(|| Arc::new(Block::new(Body::Chunk(Vec::new()))))
    }

    /// An unshared node with this first child.
    pub(super) fn parent_of(&mut self, child: Option<Arc<Block<T>>>, height: usize) -> Arc<Block<T>> {
        let mut only: Children<T> = [const { None }; FAN_OUT];
        only[0] = child;
        let mut taken = self.take(height);
        match taken.as_mut().and_then(Arc::get_mut) {
            Some(Block { body: Body::Node(children), .. }) => self.overwrite(children, &only, height),
            _ => return Arc::new(Block::new(Body::Node(only))),
        }
        taken.expect("it was overwritten")
    }

    /// Makes the children of a replaced node those of another. Most are the same already, and cost a comparison.
    fn overwrite(&mut self, children: &mut Children<T>, from: &Children<T>, height: usize) {
        for (child, from) in children.iter_mut().zip(from) {
            match (&*child, from) {
                (None, None) => {}
                (Some(child), Some(from)) if Arc::ptr_eq(child, from) => {}
                _ => {
                    let before = core::mem::replace(child, from.clone());
                    self.reclaim(before, height - 1);
                }
            }
        }
    }
}

impl<T> Shelf<T> {
    fn len(&self) -> usize {
        self.waiting.len() + self.free.len()
    }

    /// Whether a free block is at hand; looks at `probes` of those that wait when few are.
    fn has_free(&mut self, probes: usize) -> bool {
        if self.free.len() < FREE_ENOUGH {
            self.probe(probes);
        }
        !self.free.is_empty()
    }

    /// Adds free blocks, within `limit`.
    fn reserve(&mut self, height: usize, limit: usize) {
        let room = limit.saturating_sub(self.len());
        let count = (self.len() / KEPT_PER_RESERVE).min(MAX_RESERVE).min(room);
        self.free.extend((0..count).map(|_| Arc::new(Block::vacant(height))));
    }

    /// Sets those aside that nobody else holds any more, of the next `count` that wait.
    fn probe(&mut self, count: usize) {
        for _ in 0..count.min(self.waiting.len()) {
            let Some(block) = self.waiting.pop_front() else { return };
            if Arc::strong_count(&block) == 1 {
                self.free.push(block);
            } else {
                self.waiting.push_back(block);
            }
        }
    }

    /// Gives up blocks beyond the limit: those that others hold first, since they will be freed by them.
    fn shrink(&mut self, limit: usize) {
        for _ in 0..EVICTIONS {
            if self.len() <= limit {
                return;
            }
            if let Some(block) = self.waiting.pop_front().or_else(|| self.free.pop()) {
                block.is_retired.store(false, Ordering::Relaxed);
            }
        }
    }
}

impl<T> Drop for Shelf<T> {
    fn drop(&mut self) {
        // Whoever replaces these next may keep them.
        self.waiting.iter().for_each(|block| block.is_retired.store(false, Ordering::Relaxed));
    }
}
