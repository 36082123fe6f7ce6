//! Large game states whose checkpoints cost what was touched since the last one (K3, K4).
//!
//! A native runtime checkpoints by cloning the state. For a map, a voxel world or a field of ten thousand entities that is a
//! copy of everything in every tick, though a tick touches little of it. [`Chunked`] is an array that is cloned in constant
//! time: clones share its chunks, and a write copies the chunk that it touches, once for each checkpoint.
//!
//! Three rules get the most of it:
//!
//! - Derive [`CheckpointClone`] for the state instead of `Clone`. The runtime overwrites old states with new ones
//!   (`clone_from`), and the standard library's derive would throw the old one's memory away.
//! - Write runs of elements with [`Chunked::for_each_chunk_mut`]: it finds and unshares a chunk once, where
//!   [`Chunked::get_mut`] does so for each element.
//! - Change it in place. The container that writes keeps the chunks that it replaced and uses them again, so that a game in
//!   its stride allocates nothing; a new container starts without them.
//!
//! It serializes as a `Vec` of the same elements does, so that a state's canonical bytes don't show which of the two it uses,
//! and a checksum still reads all of them.
//!
//! ```
//! # #[cfg(feature = "derive")] {
//! use retick_core::chunked::{CheckpointClone, Chunked};
//! use retick_core::codec::canonical;
//! use serde::{Deserialize, Serialize};
//!
//! #[derive(CheckpointClone, Serialize, Deserialize)]
//! struct World {
//!     ground: Chunked<u8>,
//!     units: Vec<[i32; 2]>,
//! }
//!
//! impl World {
//!     /// What a step would do: dig a trench.
//!     fn dig(&mut self, from: usize, to: usize) {
//!         self.ground.for_each_chunk_mut(from..to, |_, ground| ground.iter_mut().for_each(|height| *height -= 1));
//!     }
//! }
//!
//! let mut ground = Chunked::new();
//! ground.resize(1 << 20, 100);
//! let mut world = World { ground, units: vec![[3, 4]] };
//!
//! let checkpoint = world.clone(); // copies the units, and nothing of the ground
//! world.dig(5_000, 6_000); // copies one or two chunks of 256
//! assert_eq!((world.ground[5_500], checkpoint.ground[5_500]), (99, 100));
//!
//! world.clone_from(&checkpoint); // a rollback
//! assert_eq!(world.ground, checkpoint.ground);
//! let plain: Vec<u8> = world.ground.iter().copied().collect();
//! assert_eq!(canonical::encode(&world.ground)?, canonical::encode(&plain)?);
//! # }
//! # Ok::<(), retick_core::codec::canonical::EncodeError>(())
//! ```

mod iter;
mod retired;
mod sequence;
#[cfg(test)]
mod tests;
mod tree;

use core::ops::{Bound, Index, IndexMut, Range, RangeBounds};
use core::{fmt, mem};

pub use iter::Iter;
/// Implements `Clone` with a `clone_from` that goes field by field, so that an overwritten state's memory is used again.
///
/// Not for unions, of which nobody can say which field to clone:
/// ```compile_fail
/// #[derive(retick_core::chunked::CheckpointClone)]
/// union Bits {
///     float: f32,
///     int: u32,
/// }
/// ```
#[cfg(feature = "derive")]
#[cfg_attr(docsrs, doc(cfg(feature = "derive")))]
pub use retick_macros::CheckpointClone;
use retired::Retired;
use tree::{Block, Tree};

/// Bytes of a chunk, about: it holds the greatest power of two of elements that fit, and at least one. Larger chunks make a
/// write after a checkpoint copy more, smaller ones make the tree higher.
pub const CHUNK_BYTES: usize = 4096;
/// Children of an inner node of the tree. A write after a checkpoint copies one node on each level.
pub const FAN_OUT: usize = 16;
/// Most replaced chunks that a container keeps for each chunk that it ever had: as many checkpoints, each older than a change of
/// the whole content, leave their chunks to later use. Those beyond are freed.
pub const RETIRED_PER_BLOCK: usize = 32;
/// Replaced chunks that a container may keep however small it is.
pub const RETIRED_BASE: usize = 256;

/// A growable array for large game state, cloned in constant time: see the [module](self).
///
/// Equality, order of elements, debug form and bytes are those of a `Vec<T>`. An element costs a walk down the tree, which is
/// one level higher for every sixteenfold size; [`Chunked::iter`] and the chunk-wise calls walk once for each chunk.
#[doc(alias = "persistent vector")]
#[doc(alias = "copy on write")]
pub struct Chunked<T> {
    tree: Tree<T>,
    /// Blocks that this container replaced; none before its first write.
    retired: Retired<T>,
    role: Role,
}

/// Whether a container keeps what it replaces.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Role {
    /// Never written to: a checkpoint, which only shares.
    Reader,
    /// Written to at least once.
    Writer,
}

impl<T> Chunked<T> {
    /// One without elements. Allocates nothing.
    pub const fn new() -> Chunked<T> {
        Chunked { tree: Tree::EMPTY, retired: Retired::new(), role: Role::Reader }
    }

    /// How many elements there are.
    pub fn len(&self) -> usize {
        self.tree.len
    }

    /// Whether there are no elements.
    pub fn is_empty(&self) -> bool {
        self.tree.len == 0
    }

    /// The element at `index`, or `None` beyond the last.
    pub fn get(&self, index: usize) -> Option<&T> {
        self.tree.chunk(index / Block::<T>::CHUNK_LEN).get(index % Block::<T>::CHUNK_LEN)
    }

    /// All elements in order.
    pub fn iter(&self) -> Iter<'_, T> {
        Iter::new(&self.tree)
    }

    /// Calls `visit` with the elements of `range`, in order and in runs that stand together in memory; each with the index of
    /// its first element.
    ///
    /// # Panics
    /// When the range ends before it starts, or beyond the last element.
    #[track_caller]
    pub fn for_each_chunk(&self, range: impl RangeBounds<usize>, mut visit: impl FnMut(usize, &[T])) {
        for (chunk, part, start) in parts::<T>(resolve(range, self.len())) {
            visit(start, &self.tree.chunk(chunk)[part]);
        }
    }
}

impl<T: Clone> Chunked<T> {
    /// The element at `index`, to change it, or `None` beyond the last. Copies its chunk first if a clone shares it.
    pub fn get_mut(&mut self, index: usize) -> Option<&mut T> {
        if index >= self.len() {
            return None;
        }
        let (tree, retired) = self.writing();
        tree.chunk_mut(index / Block::<T>::CHUNK_LEN, retired).get_mut(index % Block::<T>::CHUNK_LEN)
    }

    /// Calls `visit` with the elements of `range`, to change them, in order and in runs that stand together in memory; each
    /// with the index of its first element. Copies the chunks that a clone shares.
    ///
    /// # Panics
    /// When the range ends before it starts, or beyond the last element; nothing was visited then.
    #[track_caller]
    pub fn for_each_chunk_mut(&mut self, range: impl RangeBounds<usize>, mut visit: impl FnMut(usize, &mut [T])) {
        let range = resolve(range, self.len());
        let (tree, retired) = self.writing();
        for (chunk, part, start) in parts::<T>(range) {
            visit(start, &mut tree.chunk_mut(chunk, retired)[part]);
        }
    }

    /// Appends one element.
    pub fn push(&mut self, value: T) {
        let (tree, retired) = self.writing();
        tree.tail_mut(retired).push(value);
        tree.len += 1;
    }

    /// Takes the last element, or `None` if there is none.
    pub fn pop(&mut self) -> Option<T> {
        let last = self.len().checked_sub(1)?;
        let (tree, retired) = self.writing();
        let value = tree.chunk_mut(last / Block::<T>::CHUNK_LEN, retired).pop();
        tree.truncate(last, retired);
        value
    }

    /// Drops the elements from `len` on; without effect if there are none.
    pub fn truncate(&mut self, len: usize) {
        if len < self.len() {
            let (tree, retired) = self.writing();
            tree.truncate(len, retired);
        }
    }

    /// Drops all elements.
    pub fn clear(&mut self) {
        self.truncate(0);
    }

    /// Makes it `len` elements long: drops those beyond, or appends clones of `value`.
    pub fn resize(&mut self, len: usize, value: T) {
        self.truncate(len);
        let (tree, retired) = self.writing();
        while tree.len < len {
            let missing = len - tree.len;
            let tail = tree.tail_mut(retired);
            let before = tail.len();
            let mut appended = Appended { tail, whole: before };
            appended.tail.resize(Block::<T>::CHUNK_LEN.min(before + missing), value.clone());
            appended.whole = appended.tail.len();
            let more = appended.whole - before;
            drop(appended);
            tree.len += more;
        }
    }

    /// The parts of a container that is about to change.
    fn writing(&mut self) -> (&mut Tree<T>, &mut Retired<T>) {
        self.role = Role::Writer;
        self.retired.allow_for(self.tree.chunk_count());
        (&mut self.tree, &mut self.retired)
    }
}

/// Elements that are being appended to a chunk: when a clone panics, what was appended goes again.
struct Appended<'a, T> {
    tail: &'a mut alloc::vec::Vec<T>,
    whole: usize,
}

impl<T> Drop for Appended<'_, T> {
    fn drop(&mut self) {
        self.tail.truncate(self.whole);
    }
}

/// The bounds of a range as indexes.
#[track_caller]
fn resolve(range: impl RangeBounds<usize>, len: usize) -> Range<usize> {
    let start = match range.start_bound() {
        Bound::Included(start) => *start,
        Bound::Excluded(before) => before.saturating_add(1),
        Bound::Unbounded => 0,
    };
    let end = match range.end_bound() {
        Bound::Included(last) => last.saturating_add(1),
        Bound::Excluded(end) => *end,
        Bound::Unbounded => len,
    };
    assert!(start <= end && end <= len, "the range {start}..{end} is not within 0..{len}");
    start..end
}

/// The chunks of a range: for each its number, the part of it that is meant, and the index of the first element meant.
fn parts<T>(range: Range<usize>) -> impl Iterator<Item = (usize, Range<usize>, usize)> {
    let mut start = range.start;
    core::iter::from_fn(move || {
        let (chunk, first) = (start / Block::<T>::CHUNK_LEN, start % Block::<T>::CHUNK_LEN);
        let count = (range.end - start).min(Block::<T>::CHUNK_LEN - first);
        let part = (count > 0).then_some((chunk, first..first + count, start));
        start += count;
        part
    })
}

/// In constant time; nothing is copied. The clone has yet to write, and keeps no replaced chunks.
impl<T> Clone for Chunked<T> {
    fn clone(&self) -> Self {
        Chunked { tree: self.tree.clone(), retired: Retired::new(), role: Role::Reader }
    }

    /// As `clone`, and a container that has been written to keeps its chunks for later writes.
    fn clone_from(&mut self, source: &Self) {
        if self.tree.shares_root(&source.tree) {
            return;
        }
        let before = mem::replace(&mut self.tree, source.tree.clone());
        if self.role == Role::Writer {
            self.retired.put(before.root, before.height);
        }
    }
}

impl<T> Default for Chunked<T> {
    fn default() -> Self {
        Chunked::new()
    }
}

impl<T> Index<usize> for Chunked<T> {
    type Output = T;

    /// # Panics
    /// Beyond the last element.
    #[track_caller]
    fn index(&self, index: usize) -> &T {
        self.get(index).unwrap_or_else(|| beyond(index, self.len()))
    }
}

impl<T: Clone> IndexMut<usize> for Chunked<T> {
    /// # Panics
    /// Beyond the last element.
    #[track_caller]
    fn index_mut(&mut self, index: usize) -> &mut T {
        let len = self.len();
        self.get_mut(index).unwrap_or_else(|| beyond(index, len))
    }
}

#[track_caller]
fn beyond(index: usize, len: usize) -> ! {
    panic!("index {index} is not within 0..{len}")
}

impl<T: PartialEq> PartialEq for Chunked<T> {
    fn eq(&self, other: &Self) -> bool {
        // Shared chunks are compared too: an element need not be equal to itself.
        self.len() == other.len()
            && (0..self.tree.chunk_count()).all(|chunk| self.tree.chunk(chunk) == other.tree.chunk(chunk))
    }
}

impl<T: Eq> Eq for Chunked<T> {}

impl<T: fmt::Debug> fmt::Debug for Chunked<T> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_list().entries(self).finish()
    }
}

impl<T: Clone> Extend<T> for Chunked<T> {
    fn extend<I: IntoIterator<Item = T>>(&mut self, values: I) {
        values.into_iter().for_each(|value| self.push(value));
    }
}

impl<T: Clone> FromIterator<T> for Chunked<T> {
    fn from_iter<I: IntoIterator<Item = T>>(values: I) -> Self {
        let mut chunked = Chunked::new();
        chunked.extend(values);
        chunked
    }
}

impl<'a, T> IntoIterator for &'a Chunked<T> {
    type Item = &'a T;
    type IntoIter = Iter<'a, T>;

    fn into_iter(self) -> Iter<'a, T> {
        self.iter()
    }
}
