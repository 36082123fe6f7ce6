//! Where a subtree stands, and of which subtrees a memory consists.

/// A place in the tree: at level l, index i stands what covers the pages i·2^l up to (i + 1)·2^l. Level 0 are the pages.
///
/// ```
/// use retick_core::tree::Subtree;
///
/// let at = Subtree::new(2, 3).ok_or("there is such a place")?;
/// assert_eq!((at.first_page(), at.last_page()), (12, 15));
/// assert_eq!(Subtree::new(32, 0), None);
/// # Ok::<(), &str>(())
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Subtree {
    level: u32,
    index: u32,
}

impl Subtree {
    /// The place at a level and an index; `None` if a number of its pages would not be a `u32`.
    pub const fn new(level: u32, index: u32) -> Option<Subtree> {
        if level < u32::BITS && index <= u32::MAX >> level { Some(Subtree { level, index }) } else { None }
    }

    /// The level: it covers 2^level pages.
    pub const fn level(self) -> u32 {
        self.level
    }

    /// Which of its level it is.
    pub const fn index(self) -> u32 {
        self.index
    }

    /// The first page that it covers.
    pub const fn first_page(self) -> u32 {
        self.index << self.level
    }

    /// The last page that it covers.
    pub const fn last_page(self) -> u32 {
        self.first_page() + ((1 << self.level) - 1)
    }

    pub(super) fn page_count(self) -> u64 {
        1 << self.level
    }

    pub(super) fn level_index(self) -> usize {
        self.level as usize
    }

    pub(super) fn index_in_level(self) -> usize {
        self.index as usize
    }

    /// What stands to the right of a left child, under the same parent.
    pub(super) fn right_sibling(self) -> Subtree {
        Subtree { index: self.index | 1, ..self }
    }

    /// The two halves; `None` for a page.
    pub(super) fn children(self) -> Option<[Subtree; 2]> {
        let level = self.level.checked_sub(1)?;
        Some([2 * self.index, 2 * self.index + 1].map(|index| Subtree { level, index }))
    }
}

/// The largest subtrees that a memory of so many pages consists of, from left to right: one for each bit of the number.
pub(super) fn peaks(pages: u32) -> impl Iterator<Item = Subtree> {
    core::iter::successors(peak(pages, pages), move |last| next_peak(pages, *last))
}

/// The first peak among the last `rest` pages of a memory.
fn peak(pages: u32, rest: u32) -> Option<Subtree> {
    let level = rest.checked_ilog2()?;
    Some(Subtree { level, index: (pages >> level) - 1 })
}

/// The peak to the right of one.
pub(super) fn next_peak(pages: u32, last: Subtree) -> Option<Subtree> {
    peak(pages, pages & ((1 << last.level) - 1))
}
