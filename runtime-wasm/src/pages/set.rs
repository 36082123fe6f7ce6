//! A set of pages that costs what it holds: written ones, to be saved or hashed.

/// Pages of one memory, each at most once, so that pages may be added for as long as one likes.
#[derive(Debug)]
pub struct PageSet {
    bits: Box<[u64]>,
    pages: Vec<u32>,
    limit: u32,
}

impl PageSet {
    /// An empty set for a memory of `limit` pages. It never allocates again.
    pub fn new(limit: u32) -> PageSet {
        let bits = vec![0; limit.div_ceil(u64::BITS) as usize].into_boxed_slice();
        PageSet { bits, pages: Vec::with_capacity(limit as usize), limit }
    }

    /// Adds a page.
    ///
    /// # Panics
    /// If the memory has no such page: a page that is dropped here would be missing in a checkpoint.
    pub fn insert(&mut self, page: u32) {
        assert!(page < self.limit, "page {page} of {}", self.limit);
        let (word, bit) = (&mut self.bits[(page / u64::BITS) as usize], 1 << (page % u64::BITS));
        if *word & bit == 0 {
            *word |= bit;
            self.pages.push(page);
        }
    }

    /// Adds every page of the memory.
    pub fn insert_all(&mut self) {
        if self.pages.len() < self.limit as usize {
            self.clear();
            (0..self.limit).for_each(|page| self.insert(page));
        }
    }

    /// The pages, in the order in which they came.
    pub fn as_slice(&self) -> &[u32] {
        &self.pages
    }

    /// The pages from the lowest to the highest.
    pub fn sorted(&mut self) -> &[u32] {
        self.pages.sort_unstable();
        &self.pages
    }

    /// Empties the set, at the cost of what it held.
    pub fn clear(&mut self) {
        for page in self.pages.drain(..) {
            self.bits[(page / u64::BITS) as usize] = 0;
        }
    }
}
