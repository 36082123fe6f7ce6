//! The most rooms that a contender carries: doubling and halving by a step until one number passes and a little larger one fails,
//! then halving what is between.

/// Factor, in percent, from a number that passed to the next one, and from one that failed.
const UP_PERCENT: u32 = 115;
const DOWN_PERCENT: u32 = 85;
/// The search ends when what failed is at most this much more than what passed, in percent.
const RESOLUTION_PERCENT: u32 = 3;

/// Where a search stands.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Search {
    passed: Option<u32>,
    failed: Option<u32>,
    next: u32,
}

impl Search {
    pub(super) fn new(first: u32) -> Search {
        Search { passed: None, failed: None, next: first.max(1) }
    }

    /// The number to try next; `None` once it has been found.
    pub(super) fn next(&self) -> Option<u32> {
        let is_close = |passed: u32, failed: u32| failed <= passed + (passed * RESOLUTION_PERCENT / 100).max(1);
        let is_over = match (self.passed, self.failed) {
            (Some(passed), Some(failed)) => is_close(passed, failed),
            (None, Some(failed)) => failed <= 1,
            _ => false,
        };
        (!is_over).then_some(self.next)
    }

    /// Takes how the last number fared.
    pub(super) fn tried(&mut self, has_passed: bool) {
        if has_passed {
            self.passed = Some(self.next);
        } else {
            self.failed = Some(self.next);
        }
        self.next = match (self.passed, self.failed) {
            (Some(passed), Some(failed)) => passed.midpoint(failed),
            (Some(passed), None) => (passed * UP_PERCENT / 100).max(passed + 1),
            (None, Some(failed)) => (failed * DOWN_PERCENT / 100).max(1),
            (None, None) => self.next,
        };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_search_ends_close_below_what_is_too_much() {
        for (first, most) in [(100, 400), (400, 400), (900, 400), (1, 7), (50, 1), (3, 2)] {
            let (mut search, mut best, mut trials) = (Search::new(first), 0, 0);
            while let Some(rooms) = search.next() {
                search.tried(rooms <= most);
                best = if rooms <= most { best.max(rooms) } else { best };
                trials += 1;
            }
            assert!(best <= most && most <= best + (best * RESOLUTION_PERCENT / 100).max(1), "{best} of {most}");
            assert!(trials <= 24, "{trials} trials");
        }
        let mut none = Search::new(8);
        while none.next().is_some() {
            none.tried(false);
        }
        assert_eq!(none.passed, None);
    }
}
