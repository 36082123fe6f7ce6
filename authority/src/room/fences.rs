//! The fences: which run of the room confirmed which tick (A12).
//!
//! Each restart raises the number that frames carry, before anything else is written down. A tick and a fence together name one
//! frame, and all before it: that is how a returner's history is compared by two numbers.

use alloc::vec::Vec;

use retick_core::tick::Tick;

/// Most runs that are known. The tick and fence of a frame of an older run are not recognised any more.
pub(super) const MAX_RUNS: usize = 4096;

#[derive(Clone, Debug, Default)]
pub(super) struct Fences {
    current: u32,
    /// The first tick of each run that confirmed one, in order.
    runs: Vec<(Tick, u32)>,
}

impl Fences {
    /// What an earlier run knew of them, if that can be.
    pub(super) fn restored(current: u32, runs: &[(Tick, u32)]) -> Option<Fences> {
        let is_ordered = runs.windows(2).all(|pair| pair[0].0 < pair[1].0 && pair[0].1 < pair[1].1);
        let is_past = runs.last().is_none_or(|(_, fence)| *fence <= current);
        (is_ordered && is_past && runs.len() <= MAX_RUNS).then(|| Fences { current, runs: runs.to_vec() })
    }

    /// The first tick and the fence of each run that confirmed one, in order.
    pub(super) fn runs(&self) -> &[(Tick, u32)] {
        &self.runs
    }

    /// What the next frame carries.
    pub(super) fn current(&self) -> u32 {
        self.current
    }

    /// Another run begins.
    pub(super) fn raise(&mut self, fence: u32) {
        self.current = fence;
    }

    /// The history begins anew.
    pub(super) fn forget_frames(&mut self) {
        self.runs.clear();
    }

    /// A frame becomes part of the history.
    pub(super) fn handle_frame(&mut self, tick: Tick, fence: u32) {
        if self.newest() != Some(fence) {
            if self.runs.len() >= MAX_RUNS {
                self.runs.remove(0);
            }
            self.runs.push((tick, fence));
        }
    }

    /// The fence of the newest frame; `None` before the first.
    pub(super) fn newest(&self) -> Option<u32> {
        self.runs.last().map(|(_, fence)| *fence)
    }

    /// The fence of the last frame before `next`, of which the history has all; `None` before the first.
    pub(super) fn before(&self, next: Tick) -> Option<u32> {
        let run = self.runs.partition_point(|(first, _)| *first < next).checked_sub(1)?;
        self.runs.get(run).map(|(_, fence)| *fence)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a12_each_tick_has_the_fence_of_its_run() {
        let mut fences = Fences::default();
        assert_eq!((fences.newest(), fences.before(Tick::new(9))), (None, None));
        for (tick, fence) in [(0, 0), (1, 0), (2, 3), (3, 3), (4, 4)] {
            fences.handle_frame(Tick::new(tick), fence);
        }
        let before: Vec<_> = (0..7).map(|next| fences.before(Tick::new(next))).collect();
        assert_eq!(before, [None, Some(0), Some(0), Some(3), Some(3), Some(4), Some(4)]);
        assert_eq!(fences.newest(), Some(4));
    }

    #[test]
    fn a12_the_newest_runs_are_known_and_come_back_as_they_were() {
        let mut fences = Fences::default();
        let runs = MAX_RUNS as u64 + 2;
        for run in 0..runs {
            let fence = u32::try_from(run).expect("small");
            fences.raise(fence);
            fences.handle_frame(Tick::new(10 * run), fence);
        }
        assert_eq!(
            (fences.runs().len(), fences.before(Tick::new(15)), fences.before(Tick::new(25))),
            (MAX_RUNS, None, Some(2))
        );
        let again = Fences::restored(fences.current(), fences.runs()).expect("what it was");
        assert_eq!((again.current(), again.runs()), (fences.current(), fences.runs()));
        // Runs of a later fence, in another order, or too many, are not what any room knew.
        assert!(Fences::restored(fences.current() - 1, fences.runs()).is_none());
        let mut turned = fences.runs().to_vec();
        turned.swap(3, 4);
        assert!(Fences::restored(fences.current(), &turned).is_none());
        let too_many = [&[(Tick::ZERO, 1)], fences.runs()].concat();
        assert!(Fences::restored(fences.current(), &too_many).is_none());
    }
}
