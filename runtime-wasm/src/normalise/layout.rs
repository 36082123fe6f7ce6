//! Where things stand in the memory of a rewritten module: the dirty map in front, the game's memory behind it.
//!
//! ```text
//!   0            base                                   base + limit
//!   ├─ the map ──┼──────────── the game's memory ────────────┤ end
//! ```
//!
//! Every address of the game is shifted by the base, by the offset that each load and store has anyway. Since an address is a
//! number without a sign, none of the game's reaches what is in front: the map can be neither read nor written by it, and a
//! module without marks can't be told from one with them. Behind the limit the memory ends.

use crate::admit::Admitted;
use crate::limits::{Limits, PAGE_BYTES};
use crate::pages::SMALL_PAGE_BYTES;

/// Pages of 64 KiB that a rewritten memory has at most: an address of 2^32 − 1 lies in none.
const MOST_PAGES: u64 = 65_535;

/// 4 KiB pages in a page of WebAssembly, each with a mark of one byte.
const MARKS_OF_A_PAGE: u64 = PAGE_BYTES / SMALL_PAGE_BYTES as u64;

/// The layout of one game's memory. All numbers are 64 KiB pages.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Layout {
    /// In front of the game's memory.
    pub base_pages: u32,
    /// Of the game's memory: as many as it may ever have.
    pub game_pages: u32,
    /// Of these, what the game begins with.
    pub initial_pages: u32,
}

impl Layout {
    /// The layout of an admitted module under limits that were checked.
    pub fn of(admitted: &Admitted, limits: &Limits) -> Layout {
        let most = admitted.maximum_pages.map_or(limits.memory_pages, |most| most.min(limits.memory_pages));
        let pages = |count: u64| u32::try_from(count).unwrap_or(u32::MAX);
        let base_pages = pages((most * MARKS_OF_A_PAGE).div_ceil(PAGE_BYTES).max(1));
        Layout { base_pages, game_pages: pages(most), initial_pages: pages(admitted.initial_pages) }
    }

    /// All pages of the memory.
    pub fn pages(&self) -> u64 {
        u64::from(self.base_pages) + u64::from(self.game_pages)
    }

    /// Bytes in front of the game's memory.
    pub fn base(&self) -> u32 {
        bytes(self.base_pages)
    }

    /// Bytes of the game's memory.
    pub fn game_bytes(&self) -> u32 {
        bytes(self.game_pages)
    }

    /// Pages of 4 KiB in the game's memory.
    pub fn small_pages(&self) -> u32 {
        self.game_bytes() / SMALL_PAGE
    }
}

/// [`SMALL_PAGE_BYTES`], for addresses.
const SMALL_PAGE: u32 = 4096;
const _: () = assert!(SMALL_PAGE as usize == SMALL_PAGE_BYTES);

/// [`MOST_PAGES`] keeps this below 2^32.
fn bytes(pages: u32) -> u32 {
    pages.saturating_mul(1 << 16)
}

const _: () = assert!(PAGE_BYTES == 1 << 16);
const _: () = {
    let most = crate::limits::MAX_MEMORY_PAGES;
    assert!(most + (most * MARKS_OF_A_PAGE).div_ceil(PAGE_BYTES) == MOST_PAGES, "the greatest limit fits, and just so");
};
