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

/// How many figures a report has.
pub(crate) const FIGURES: usize = 12;

impl Report {
    /// Every figure by its name, for tools. The pattern has no `..`, so that none is forgotten.
    pub fn figures(&self) -> [(&'static str, u64); FIGURES] {
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
        } = *self;
        [
            ("functions", functions.into()),
            ("added_functions", added_functions.into()),
            ("state_globals", state_globals.into()),
            ("nan_repairs", nan_repairs),
            ("marked_stores", marked_stores),
            ("recursive_functions", recursive_functions.into()),
            ("acyclic_stack_bytes", acyclic_stack_bytes),
            ("depth_budget", depth_budget.into()),
            ("base_bytes", base_bytes.into()),
            ("memory_bytes", memory_bytes),
            ("original_bytes", original_bytes),
            ("normalised_bytes", normalised_bytes),
        ]
    }

    /// The report of these figures, in the order of [`Report::figures`]; nothing if one of them is too large.
    pub(crate) fn from_figures(figures: [u64; FIGURES]) -> Option<Report> {
        let small = |figure: u64| u32::try_from(figure).ok();
        Some(Report {
            functions: small(figures[0])?,
            added_functions: small(figures[1])?,
            state_globals: small(figures[2])?,
            nan_repairs: figures[3],
            marked_stores: figures[4],
            recursive_functions: small(figures[5])?,
            acyclic_stack_bytes: figures[6],
            depth_budget: small(figures[7])?,
            base_bytes: small(figures[8])?,
            memory_bytes: figures[9],
            original_bytes: figures[10],
            normalised_bytes: figures[11],
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A report that went through a cache's file is the same: every figure has its place.
    #[test]
    fn w1_figures_come_back_in_their_places() {
        let figures = core::array::from_fn(|index| index as u64 + 1);
        let report = Report::from_figures(figures).expect("small figures");
        assert_eq!(report.figures().map(|(_, figure)| figure), figures);
        assert_eq!(Report::from_figures([u64::MAX; FIGURES]), None);
    }
}
