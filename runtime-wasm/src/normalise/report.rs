//! What the rewrite did to a module, for whoever asks: `retick module inspect` shows it.

/// Figures of one rewritten module. They depend on the module, the limits and the way of tracking alone.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Report {
    /// Functions that the module defines.
    pub functions: u32,
    /// Functions that were added: for filling, copying and growing the memory.
    pub added_functions: u32,
    /// Mutable globals that were exported, so that a checkpoint is whole (W3).
    pub state_globals: u32,
    /// Places where a NaN gets its canonical bits before they show (W4).
    pub nan_repairs: u64,
    /// Stores that mark the pages that they write (W6).
    pub marked_stores: u64,
    /// Functions that can call themselves again, by whatever way, and pay from the depth budget (W5).
    pub recursive_functions: u32,
    /// Bytes that the heaviest chain of the other functions counts on the stack.
    pub acyclic_stack_bytes: u64,
    /// Bytes that recursion may count beside them.
    pub depth_budget: u32,
    /// Bytes in front of the game's memory, where the dirty map is.
    pub base_bytes: u32,
    /// Bytes of the game's memory: the whole limit (W7).
    pub memory_bytes: u64,
    /// Bytes of the module as it came.
    pub original_bytes: u64,
    /// Bytes of the module as it runs.
    pub normalised_bytes: u64,
}

impl Report {
    /// The figures in their order, for the module cache.
    pub(crate) fn to_words(self) -> [u64; 12] {
        let Report {
            functions,
            added_functions,
            state_globals,
            nan_repairs,
            marked_stores,
            recursive_functions,
            acyclic_stack_bytes,
            depth_budget,
            base_bytes,
            memory_bytes,
            original_bytes,
            normalised_bytes,
        } = self;
        let [functions, added_functions, state_globals] = [functions, added_functions, state_globals].map(u64::from);
        let [recursive_functions, depth_budget, base_bytes] =
            [recursive_functions, depth_budget, base_bytes].map(u64::from);
        [
            functions,
            added_functions,
            state_globals,
            nan_repairs,
            marked_stores,
            recursive_functions,
            acyclic_stack_bytes,
            depth_budget,
            base_bytes,
            memory_bytes,
            original_bytes,
            normalised_bytes,
        ]
    }

    /// The figures in this order again; nothing if one of them is too large.
    pub(crate) fn from_words(words: [u64; 12]) -> Option<Report> {
        let small = |word: u64| u32::try_from(word).ok();
        Some(Report {
            functions: small(words[0])?,
            added_functions: small(words[1])?,
            state_globals: small(words[2])?,
            nan_repairs: words[3],
            marked_stores: words[4],
            recursive_functions: small(words[5])?,
            acyclic_stack_bytes: words[6],
            depth_budget: small(words[7])?,
            base_bytes: small(words[8])?,
            memory_bytes: words[9],
            original_bytes: words[10],
            normalised_bytes: words[11],
        })
    }
}
