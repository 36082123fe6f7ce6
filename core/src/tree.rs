//! The checksum of a state as a tree over its memory, so that a tick pays for what it touched (K5, W6), and the tools that
//! find where two states differ (T).
//!
//! The canonical bytes of a module's state are its memory, whole pages, and a short trailer; those of a native game's are cut into
//! whole pages in the same way, and the rest is the trailer. BLAKE3 is a tree hash: an aligned power of two
//! of pages is a subtree of it whatever follows. [`PageTree`] keeps the values of these subtrees; its root is the plain BLAKE3
//! of the bytes, which any tool recomputes.
//!
//! ```text
//!  level 2        (2,0)                     the value at (level l, index i) covers
//!              ┌────┴────┐                  the pages i·2^l up to (i+1)·2^l, if the
//!  level 1   (1,0)     (1,1)                memory has all of them
//!            ┌─┴─┐     ┌─┴─┐
//!  page      0   1     2   3     4   trailer
//! ```
//!
//! A page here is [`TREE_PAGE_BYTES`] long, the unit in which writes are tracked, and not one of the module's own.
//!
//! ```
//! use retick_core::tree::{PageTree, TREE_PAGE_BYTES, diff, first_difference};
//!
//! let mut memory = vec![0; 5 * TREE_PAGE_BYTES];
//! let mut tree = PageTree::new();
//! tree.update(&memory, &[]);
//!
//! // A tick writes one byte of page 3: that page is hashed, and three values above it.
//! memory[3 * TREE_PAGE_BYTES + 7] = 1;
//! tree.update(&memory, &[3]);
//! let bytes = [&memory[..], b"trailer"].concat();
//! assert_eq!(tree.root(b"trailer"), *blake3::hash(&bytes).as_bytes());
//!
//! // Another machine has another byte there. The two find the page by comparing a few values.
//! let mut theirs = memory.clone();
//! theirs[3 * TREE_PAGE_BYTES + 7] = 2;
//! let mut other = PageTree::new();
//! other.update(&theirs, &[]);
//! let (ours, others) = (tree.open(&memory), other.open(&theirs));
//! let page = first_difference(5, |at| ours.value(at), |at| others.value(at));
//! assert_eq!(page, Some(3));
//!
//! let [ours, theirs] = [&memory, &theirs].map(|bytes| &bytes[3 * TREE_PAGE_BYTES..4 * TREE_PAGE_BYTES]);
//! let run = diff(3, ours, theirs).next().ok_or("they differ")?;
//! assert_eq!((run.page, run.offset, run.ours, run.theirs), (3, 7, &[1][..], &[2][..]));
//! # Ok::<(), &str>(())
//! ```

mod diff;
mod search;
mod subtree;
#[cfg(test)]
mod tests;

use alloc::vec::Vec;

use blake3::Hasher;
use blake3::hazmat::{HasherExt, Mode, left_subtree_len, merge_subtrees_non_root, merge_subtrees_root};

pub use diff::{DifferingRun, diff};
pub use search::{DifferenceSearch, Search, first_difference};
pub use subtree::Subtree;

use subtree::peaks;

/// Bytes of a page of the tree: four of BLAKE3's chunks.
pub const TREE_PAGE_BYTES: usize = 4096;

/// [`TREE_PAGE_BYTES`], for positions in a state.
const PAGE_LENGTH: u64 = 4096;
const _: () = assert!(TREE_PAGE_BYTES as u64 == PAGE_LENGTH);

/// The value of a subtree: BLAKE3's chaining value. It depends on the bytes and on where they stand.
pub type SubtreeValue = [u8; 32];

/// The highest level that is hashed in one call: its sixteen chunks fill the widest vectors there are. More at once would be no
/// faster, and leave more values unknown.
const ONE_CALL_LEVEL: u32 = 2;

/// A subtree with at least this part of its pages dirty is hashed in one call. Four pages side by side cost about 60 % of four
/// pages one by one; the rest pays for the values below, which such a call doesn't tell and a later update may need.
const DENSE_PERCENT: u64 = 75;

/// The values of a memory's subtrees, kept from one state to the next (K5).
///
/// [`update`](Self::update) follows the memory, [`root`](Self::root) is the checksum with a trailer after it, and
/// [`open`](Self::open) shows the values. An update costs O(dirty pages · log pages), and with most pages dirty about what
/// hashing the whole costs. Nothing is allocated once the tree has had its greatest size.
#[derive(Clone, Default, Debug)]
pub struct PageTree {
    /// The value of each subtree by level and index, of those that lie within the memory whole. `None` below a subtree that was
    /// hashed in one call: such a call doesn't tell the values below. Whatever is there is up to date.
    levels: Vec<Vec<Option<SubtreeValue>>>,
    pages: u32,
    /// The plain hash of a memory of one page, which has no two parts that it could be made of.
    lone: SubtreeValue,
    /// Dirty pages that came out of order, in order.
    sorted: Vec<u32>,
}

impl PageTree {
    /// The tree of an empty memory.
    pub fn new() -> PageTree {
        PageTree::default()
    }

    /// Whole pages of the memory at the last update.
    pub fn pages(&self) -> u32 {
        self.pages
    }

    /// Follows the memory to its present bytes and length. `dirty` names every page that may differ from the last update, in
    /// any order, best ascending. A page that the memory didn't have counts as dirty, and one that it no longer has is ignored.
    ///
    /// The memory is whole pages; bytes after the last whole one are not covered, and belong to the trailer.
    pub fn update(&mut self, memory: &[u8], dirty: &[u32]) {
        self.fit(memory);
        let mut sorted = core::mem::take(&mut self.sorted);
        let mut rest = dirty;
        if !dirty.is_sorted() {
            sorted.clear();
            sorted.extend_from_slice(dirty);
            sorted.sort_unstable();
            rest = &sorted;
        }
        for peak in peaks(self.pages) {
            let (within, after) = rest.split_at(rest.partition_point(|page| *page <= peak.last_page()));
            self.refresh(memory, peak, within);
            rest = after;
        }
        self.sorted = sorted;
        if self.pages == 1 {
            self.lone = *blake3::hash(&memory[..TREE_PAGE_BYTES]).as_bytes();
        }
    }

    /// The checksum: the BLAKE3 of the memory at the last update and the trailer after it.
    pub fn root(&self, trailer: &[u8]) -> SubtreeValue {
        let whole = Part { start: 0, pages: self.pages, trailer };
        match (self.pages, trailer) {
            (0, _) => *blake3::hash(trailer).as_bytes(),
            (1, []) => self.lone,
            _ => {
                let [left, right] = whole.halves().map(|half| self.part_value(half));
                *merge_subtrees_root(&left, &right, Mode::Hash).as_bytes()
            }
        }
    }

    /// Makes every value known and shows them, for a search that follows a desync. `memory` is that of the last update; a
    /// page whose value is not known is hashed, which an update that hashed four in one call leaves to do.
    pub fn open(&mut self, memory: &[u8]) -> OpenTree<'_> {
        self.fit(memory);
        let Some((lowest, higher)) = self.levels.split_first_mut() else { return OpenTree { tree: self } };
        for ((value, page), offset) in lowest.iter_mut().zip(memory.chunks_exact(TREE_PAGE_BYTES)).zip(0..) {
            value.get_or_insert_with(|| value_at(PAGE_LENGTH * offset, page));
        }
        let mut below = &*lowest;
        for level in higher {
            for (value, pair) in level.iter_mut().zip(below.chunks_exact(2)) {
                if let ([Some(left), Some(right)], None) = (pair, &value) {
                    *value = Some(merge_subtrees_non_root(left, right, Mode::Hash));
                }
            }
            below = level;
        }
        OpenTree { tree: self }
    }

    /// Makes room for the memory's pages. A subtree that is new has no value yet.
    fn fit(&mut self, memory: &[u8]) {
        // A 32-bit memory has at most 2^20 pages.
        self.pages = u32::try_from(memory.len() / TREE_PAGE_BYTES).unwrap_or(u32::MAX);
        let subtrees = |level: usize| self.pages as usize >> level;
        while self.levels.len() < u32::BITS as usize && subtrees(self.levels.len()) > 0 {
            self.levels.push(Vec::new());
        }
        self.levels.iter_mut().enumerate().for_each(|(level, values)| values.resize(subtrees(level), None));
    }

    /// The value of a subtree, of which the pages `dirty` changed, brought up to date with everything below it.
    fn refresh(&mut self, memory: &[u8], at: Subtree, dirty: &[u32]) -> SubtreeValue {
        if let (Some(value), []) = (self.value(at), dirty) {
            return value;
        }
        let value = match at.children() {
            Some([left, right]) if !self.in_one_call(at, dirty) => {
                let (before, after) = dirty.split_at(dirty.partition_point(|page| *page <= left.last_page()));
                let (left, right) = (self.refresh(memory, left, before), self.refresh(memory, right, after));
                merge_subtrees_non_root(&left, &right, Mode::Hash)
            }
            _ => self.hash_whole(memory, at),
        };
        self.levels[at.level_index()][at.index_in_level()] = Some(value);
        value
    }

    /// Whether hashing all pages of a subtree is cheaper than its dirty ones and what is not known.
    fn in_one_call(&self, at: Subtree, dirty: &[u32]) -> bool {
        let unknown =
            || at.children().is_some_and(|children| children.iter().all(|child| self.value(*child).is_none()));
        let dense = dirty.len() as u64 * 100 >= at.page_count() * DENSE_PERCENT;
        // What covers the memory alone is made of two values, since the root may be made of the same two.
        let halved = at.page_count() == u64::from(self.pages);
        at.level() <= ONE_CALL_LEVEL && !halved && (dense || dirty.is_empty() && unknown())
    }

    /// The value of a subtree from its bytes. The values below are not known any more.
    fn hash_whole(&mut self, memory: &[u8], at: Subtree) -> SubtreeValue {
        for (level, below) in self.levels[..at.level_index()].iter_mut().zip((1..=at.level()).rev()) {
            let first = at.index_in_level() << below;
            level[first..first + (1 << below)].fill(None);
        }
        let bytes = TREE_PAGE_BYTES << at.level();
        value_at(PAGE_LENGTH * u64::from(at.first_page()), &memory[at.index_in_level() * bytes..][..bytes])
    }

    fn value(&self, at: Subtree) -> Option<SubtreeValue> {
        *self.levels.get(at.level_index())?.get(at.index_in_level())?
    }

    /// The value of a part of memory and trailer that is a subtree of their tree.
    fn part_value(&self, part: Part<'_>) -> SubtreeValue {
        match part.subtree() {
            Some(at) => {
                self.value(at).expect("an update knows the value of every peak, and those of a lone peak's children")
            }
            None if part.pages == 0 => value_at(part.start, part.trailer),
            None => {
                let [left, right] = part.halves().map(|half| self.part_value(half));
                merge_subtrees_non_root(&left, &right, Mode::Hash)
            }
        }
    }
}

fn value_at(offset: u64, bytes: &[u8]) -> SubtreeValue {
    Hasher::new().set_input_offset(offset).update(bytes).finalize_non_root()
}

/// A part of the canonical bytes that starts in memory or in the trailer: some pages, and what follows them of the trailer.
#[derive(Clone, Copy)]
struct Part<'a> {
    start: u64,
    pages: u32,
    trailer: &'a [u8],
}

impl<'a> Part<'a> {
    fn memory_bytes(&self) -> u64 {
        u64::from(self.pages) * PAGE_LENGTH
    }

    /// The subtree that the part is, if it is memory alone.
    fn subtree(&self) -> Option<Subtree> {
        let level = self.pages.checked_ilog2()?;
        let index = u32::try_from(self.start / PAGE_LENGTH).ok()? >> level;
        (self.trailer.is_empty() && self.pages.is_power_of_two()).then(|| Subtree::new(level, index))?
    }

    /// The two parts that BLAKE3 makes of one that is longer than a page. The left one is a power of two of chunks, and of
    /// pages too if there are pages to the right of it.
    fn halves(self) -> [Part<'a>; 2] {
        let memory_bytes = self.memory_bytes();
        let left_bytes = left_subtree_len(memory_bytes + self.trailer.len() as u64);
        let left_pages = u32::try_from(left_bytes / PAGE_LENGTH).map_or(self.pages, |pages| pages.min(self.pages));
        let cut = usize::try_from(left_bytes.saturating_sub(memory_bytes)).expect("a part of the trailer");
        let (left, right) = self.trailer.split_at(cut);
        let right_start = self.start + left_bytes;
        [
            Part { start: self.start, pages: left_pages, trailer: left },
            Part { start: right_start, pages: self.pages - left_pages, trailer: right },
        ]
    }
}

/// A tree whose values are all known, from [`PageTree::open`].
#[derive(Clone, Copy, Debug)]
pub struct OpenTree<'a> {
    tree: &'a PageTree,
}

impl OpenTree<'_> {
    /// Pages of the memory.
    pub fn pages(&self) -> u32 {
        self.tree.pages
    }

    /// The value of a subtree; `None` if the memory doesn't have all of its pages. The largest subtrees are the root's
    /// children, or, with the trailer, parts of them.
    pub fn value(&self, at: Subtree) -> Option<SubtreeValue> {
        self.tree.value(at)
    }
}
