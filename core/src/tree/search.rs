//! The first page in which two memories differ, by comparing values of their trees (T).

use super::subtree::{next_peak, peaks};
use super::{Subtree, SubtreeValue};

/// What a [`DifferenceSearch`] wants next.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[must_use]
pub enum Search {
    /// Compare the values of both sides here and [`answer`](DifferenceSearch::answer).
    Ask(Subtree),
    /// The first page that differs.
    Differs(u32),
    /// No page differs: what does is the trailer, or what only the longer memory has.
    Same,
}

/// Finds the first differing page of two memories, one question after the other, so that the two sides can be machines that
/// exchange messages. With n pages it asks at most log2 n + 1 of them ([`most_questions`](Self::most_questions)).
///
/// Ask the other side, [`answer`](Self::answer), and look at the [`status`](Self::status) again until it is no question. Wrong answers
/// lead to a wrong page, never to more questions.
///
/// ```
/// use retick_core::tree::{DifferenceSearch, PageTree, Search, TREE_PAGE_BYTES};
///
/// let (here, mut there) = (vec![0; 3 * TREE_PAGE_BYTES], vec![0; 3 * TREE_PAGE_BYTES]);
/// there[2 * TREE_PAGE_BYTES] = 1;
/// let (mut ours, mut theirs) = (PageTree::new(), PageTree::new());
/// ours.update(&here, &[]);
/// theirs.update(&there, &[]);
/// let (ours, theirs) = (ours.open(&here), theirs.open(&there));
///
/// let mut search = DifferenceSearch::new(ours.pages().min(theirs.pages()));
/// while let Search::Ask(at) = search.status() {
///     // Between machines this is a message with the place, and one with the value.
///     search.answer(ours.value(at), theirs.value(at));
/// }
/// assert_eq!(search.status(), Search::Differs(2));
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct DifferenceSearch {
    pages: u32,
    state: State,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum State {
    /// All to the left is equal.
    Peak(Subtree),
    /// All to the left is equal, and this or its sibling to the right differs.
    LeftChild(Subtree),
    Differs(u32),
    Same,
}

impl DifferenceSearch {
    /// A search over the pages that both memories have: the smaller number of the two.
    pub fn new(pages: u32) -> DifferenceSearch {
        DifferenceSearch { pages, state: peaks(pages).next().map_or(State::Same, State::Peak) }
    }

    /// The pages that are searched.
    pub fn pages(&self) -> u32 {
        self.pages
    }

    /// Most questions that a search over so many pages asks: log2 n, rounded down, and one. The subtrees that a memory consists
    /// of get lower from left to right, so that having asked of one more leaves a level less to descend.
    pub fn most_questions(pages: u32) -> u32 {
        u32::BITS - pages.leading_zeros()
    }

    /// The next question, or what was found.
    pub fn status(&self) -> Search {
        match self.state {
            State::Peak(at) | State::LeftChild(at) => Search::Ask(at),
            State::Differs(page) => Search::Differs(page),
            State::Same => Search::Same,
        }
    }

    /// Takes the values of both sides where the question was, `None` from a side that has none there. Without a question it
    /// changes nothing.
    pub fn answer(&mut self, ours: Option<SubtreeValue>, theirs: Option<SubtreeValue>) {
        self.state = match (self.state, ours == theirs) {
            (State::Peak(at), true) => next_peak(self.pages, at).map_or(State::Same, State::Peak),
            (State::LeftChild(at), true) => below(at.right_sibling()),
            (State::Peak(at) | State::LeftChild(at), false) => below(at),
            (found, _) => found,
        };
    }
}

/// What is left to ask of a subtree that differs.
fn below(at: Subtree) -> State {
    at.children().map_or(State::Differs(at.index()), |[left, _]| State::LeftChild(left))
}

/// Runs a [`DifferenceSearch`] over the `pages` that both memories have; each side answers what the value of a subtree is.
/// `None` if no page differs.
pub fn first_difference(
    pages: u32,
    mut ours: impl FnMut(Subtree) -> Option<SubtreeValue>,
    mut theirs: impl FnMut(Subtree) -> Option<SubtreeValue>,
) -> Option<u32> {
    let mut search = DifferenceSearch::new(pages);
    loop {
        match search.status() {
            Search::Ask(at) => search.answer(ours(at), theirs(at)),
            Search::Differs(page) => return Some(page),
            Search::Same => return None,
        }
    }
}
