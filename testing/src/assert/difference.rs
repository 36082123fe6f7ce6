//! Where two states of one tick differ first (T3).

use retick_core::tree::TREE_PAGE_BYTES;

/// Bytes of a page: the unit in which states are hashed and compared (K5).
const PAGE_BYTES: u64 = TREE_PAGE_BYTES as u64;

/// The first byte in which two states of one tick differ (T3).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ByteDifference {
    /// Where, in the canonical bytes. A native state starts with its tick, in eight bytes.
    pub offset: u64,
    /// The byte of the first state; `None` when it ends there.
    pub first: Option<u8>,
    /// The byte of the second state; `None` when it ends there.
    pub second: Option<u8>,
}

impl std::fmt::Display for ByteDifference {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let told = |byte: Option<u8>| byte.map_or("nothing".into(), |byte| byte.to_string());
        write!(f, "byte {}", self.offset)?;
        if self.page() > 0 {
            write!(f, " (page {}, byte {})", self.page(), self.offset % PAGE_BYTES)?;
        }
        write!(f, ": {} against {}", told(self.first), told(self.second))
    }
}

impl ByteDifference {
    /// The first difference of two states, or `None` when they are equal.
    pub fn between(first: &[u8], second: &[u8]) -> Option<ByteDifference> {
        let offset = first.iter().zip(second).take_while(|(first, second)| first == second).count();
        let (first, second) = (first.get(offset).copied(), second.get(offset).copied());
        (first != second).then_some(ByteDifference { offset: offset as u64, first, second })
    }

    /// The page that it is in.
    pub fn page(&self) -> u64 {
        self.offset / PAGE_BYTES
    }
}
