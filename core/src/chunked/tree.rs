//! The tree behind a [`Chunked`](super::Chunked): shared blocks, of which only an unshared one is ever written.
//!
//! Chunk `i` holds the elements from `i * chunk_len` on, as many as the length leaves for it; there is no chunk beyond the
//! length. A block of height 0 is a chunk, one of height `h` has chunks `h` levels below it, and the root is no higher than
//! the number of chunks asks for.

use alloc::sync::Arc;
use alloc::vec::Vec;
use core::mem;
use core::sync::atomic::AtomicBool;

use super::retired::Retired;
use super::{CHUNK_BYTES, FAN_OUT};

/// Bits of a chunk's index that choose among the children of one node.
pub(super) const FAN_OUT_BITS: usize = FAN_OUT.trailing_zeros() as usize;

const _: () = assert!(FAN_OUT.is_power_of_two() && CHUNK_BYTES.is_power_of_two(), "indexes are split by shifts");

/// The children of a node.
pub(super) type Children<T> = [Option<Arc<Block<T>>>; FAN_OUT];

/// A chunk, or a node above chunks.
pub(super) struct Block<T> {
    /// Whether a container's [`Retired`] holds it. Two entries for one block would keep each other from ever being unshared.
    pub(super) is_retired: AtomicBool,
    pub(super) body: Body<T>,
}

pub(super) enum Body<T> {
    Chunk(Vec<T>),
    Node(Children<T>),
}

impl<T> Block<T> {
    /// Elements of a full chunk: a power of two.
    pub(super) const CHUNK_LEN: usize = chunk_len(size_of::<T>());

    pub(super) fn new(body: Body<T>) -> Block<T> {
        Block { is_retired: AtomicBool::new(false), body }
    }

    /// A block of this height to be overwritten: a chunk with room and no elements, or a node without children.
    pub(super) fn vacant(height: usize) -> Block<T> {
        Block::new(match height {
            0 => Body::Chunk(Vec::with_capacity(Self::CHUNK_LEN)),
            _ => Body::Node([const { None }; FAN_OUT]),
        })
    }
}

/// The greatest power of two of elements that fit [`CHUNK_BYTES`], and at least one.
const fn chunk_len(element_bytes: usize) -> usize {
    let bytes = if element_bytes == 0 { 1 } else { element_bytes };
    if bytes >= CHUNK_BYTES { 1 } else { 1 << (CHUNK_BYTES / bytes).ilog2() }
}

/// Which child of a node leads to `chunk`, where that child is of height `height`.
fn slot(chunk: usize, height: usize) -> usize {
    (chunk >> (FAN_OUT_BITS * height)) & (FAN_OUT - 1)
}

/// A root and the length below it. Cloning shares everything.
pub(super) struct Tree<T> {
    pub(super) root: Option<Arc<Block<T>>>,
    pub(super) height: usize,
    pub(super) len: usize,
}

impl<T> Clone for Tree<T> {
    fn clone(&self) -> Self {
        Tree { root: self.root.clone(), height: self.height, len: self.len }
    }
}

impl<T> Tree<T> {
    pub(super) const EMPTY: Tree<T> = Tree { root: None, height: 0, len: 0 };

    /// How many chunks there are.
    pub(super) fn chunk_count(&self) -> usize {
        self.len.div_ceil(Block::<T>::CHUNK_LEN)
    }

    /// The elements of a chunk; none where there is no chunk.
    pub(super) fn chunk(&self, chunk: usize) -> &[T] {
        if chunk >= self.chunk_count() {
            return &[];
        }
        let (mut link, mut height) = (self.root.as_ref(), self.height);
        while let Some(block) = link {
            match &block.body {
                Body::Chunk(items) => return items,
                Body::Node(children) => {
                    height -= 1;
                    link = children[slot(chunk, height)].as_ref();
                }
            }
        }
        &[]
    }

    pub(super) fn shares_root(&self, other: &Tree<T>) -> bool {
        match (&self.root, &other.root) {
            (Some(own), Some(other)) => Arc::ptr_eq(own, other),
            (own, other) => own.is_none() && other.is_none(),
        }
    }
}

impl<T: Clone> Tree<T> {
    /// The elements of a chunk that exists, unshared. The caller keeps their number.
    pub(super) fn chunk_mut(&mut self, chunk: usize, retired: &mut Retired<T>) -> &mut Vec<T> {
        let mut link = self.root.as_mut().expect("a tree with a chunk has a root");
        let mut height = self.height;
        loop {
            match &mut unshared(link, height, retired).body {
                Body::Chunk(items) => return items,
                Body::Node(children) => {
                    height -= 1;
                    link = children[slot(chunk, height)].as_mut().expect("every chunk below the length is there");
                }
            }
        }
    }

    /// The chunk of the element after the last, which has room for it. The caller adds to `len` what it appends.
    pub(super) fn tail_mut(&mut self, retired: &mut Retired<T>) -> &mut Vec<T> {
        let chunk = self.len / Block::<T>::CHUNK_LEN;
        self.reach(chunk, retired);
        let mut height = self.height;
        let mut link = self.root.get_or_insert_with(|| retired.empty(height));
        loop {
            match &mut unshared(link, height, retired).body {
                Body::Chunk(items) => {
                    // The first chunk grows as a vector does: a small list is not worth a whole chunk.
                    if chunk > 0 {
                        items.reserve_exact(Block::<T>::CHUNK_LEN - items.len());
                    }
                    return items;
                }
                Body::Node(children) => {
                    height -= 1;
                    link = children[slot(chunk, height)].get_or_insert_with(|| retired.empty(height));
                }
            }
        }
    }

    /// Grows the root until it spans `chunk`.
    fn reach(&mut self, chunk: usize, retired: &mut Retired<T>) {
        while self.root.is_some() && chunk >> (FAN_OUT_BITS * self.height) != 0 {
            let below = self.root.take();
            self.height += 1;
            self.root = Some(retired.parent_of(below, self.height));
        }
    }

    /// Drops the elements from `len` on, which is less than there are.
    pub(super) fn truncate(&mut self, len: usize, retired: &mut Retired<T>) {
        let Some(last) = len.div_ceil(Block::<T>::CHUNK_LEN).checked_sub(1) else {
            self.len = 0;
            let root = self.root.take();
            return retired.put(root, mem::take(&mut self.height));
        };
        // Copying a chunk runs the elements' own `clone`, which may panic: it comes before anything is taken apart.
        self.unshare(last, retired);
        self.len = len;
        self.lower(last, retired);
        let mut link = self.root.as_mut().expect("a tree with a chunk has a root");
        let mut height = self.height;
        loop {
            match &mut unshared(link, height, retired).body {
                Body::Chunk(items) => return items.truncate(len - last * Block::<T>::CHUNK_LEN),
                Body::Node(children) => {
                    height -= 1;
                    let kept = slot(last, height);
                    children[kept + 1..].iter_mut().for_each(|child| retired.put(child.take(), height));
                    link = children[kept].as_mut().expect("every chunk below the length is there");
                }
            }
        }
    }

    /// Makes the way to a chunk, and the chunk, this tree's own.
    fn unshare(&mut self, chunk: usize, retired: &mut Retired<T>) {
        let mut height = self.height;
        let Some(mut link) = self.root.as_mut() else { return };
        while let Body::Node(children) = &mut unshared(link, height, retired).body {
            height -= 1;
            let Some(child) = children[slot(chunk, height)].as_mut() else { return };
            link = child;
        }
    }

    /// Lowers the root as far as it still spans `last`.
    fn lower(&mut self, last: usize, retired: &mut Retired<T>) {
        while self.height > 0 && last >> (FAN_OUT_BITS * (self.height - 1)) == 0 {
            let Some(mut root) = self.root.take() else { return };
            let below = match Arc::get_mut(&mut root) {
                Some(Block { body: Body::Node(children), .. }) => children[0].take(),
                _ => root.first_child(),
            };
            retired.put(Some(root), self.height);
            self.root = below;
            self.height -= 1;
        }
    }
}

impl<T> Block<T> {
    fn first_child(&self) -> Option<Arc<Block<T>>> {
        match &self.body {
            Body::Chunk(_) => None,
            Body::Node(children) => children[0].clone(),
        }
    }
}

/// The block behind `link`, replaced by a copy first if anyone else holds it.
fn unshared<'link, T: Clone>(
    link: &'link mut Arc<Block<T>>,
    height: usize,
    retired: &mut Retired<T>,
) -> &'link mut Block<T> {
    // Nobody can take another share of a block that this link alone holds, so that the count stays one.
    if Arc::strong_count(link) != 1 {
        let copy = retired.copy_of(link, height);
        let replaced = mem::replace(link, copy);
        retired.put(Some(replaced), height);
    }
    Arc::get_mut(link).expect("a count of one, and there are no weak references")
}
