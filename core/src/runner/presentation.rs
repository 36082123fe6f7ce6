//! What a game draws: the projections of the present and of the tick before it, and the confirmed frames that wait to be drained.

use alloc::boxed::Box;
use alloc::collections::VecDeque;

use super::Status;
use crate::frame::Frame;
use crate::seat::Seat;
use crate::tick::Tick;

/// What is to be drawn now (K9). It borrows from the runner, so nothing that draws can change it.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct RenderState<'a> {
    /// The projection of the present, `S(tick)`.
    pub current: &'a [u8],
    /// The projection of the tick before it; equal at the start.
    pub previous: &'a [u8],
    /// How far the picture is on its way from `previous` to `current`, from 0 up to, but not including, 1.
    #[doc(alias = "render alpha")]
    pub alpha: f64,
    /// The present's tick.
    pub tick: Tick,
}

/// What a projection is read with.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ViewContext {
    /// The first seat that is driven at this machine, once it is known.
    pub local_seat: Option<Seat>,
    /// Where the runner stands.
    pub status: Status,
}

/// How a game makes a picture of its projection. It sees bytes and gives a value; nothing of it reaches the simulation.
pub trait Presentation {
    /// The picture.
    type View;

    /// The picture of one projection.
    fn project(&self, projection: &[u8], context: ViewContext) -> Self::View;

    /// The picture between two of consecutive ticks; the present one unless the game says otherwise.
    fn interpolate(&self, previous: Self::View, current: Self::View, alpha: f64) -> Self::View {
        let _ = (previous, alpha);
        current
    }
}

/// The confirmed frames that nobody has drained yet.
#[derive(Debug, Default)]
pub(super) struct FrameQueue {
    frames: VecDeque<Box<Frame>>,
    /// Frames that made room for newer ones.
    pub(super) dropped: u64,
    /// Frames of a silent catch-up.
    pub(super) silenced: u64,
}

impl FrameQueue {
    /// Adds a frame; of more than `most` the oldest is dropped.
    pub(super) fn push(&mut self, frame: Box<Frame>, most: u32) {
        self.frames.push_back(frame);
        while self.frames.len() > usize::try_from(most).unwrap_or(usize::MAX) {
            self.frames.pop_front();
            self.dropped += 1;
        }
    }

    pub(super) fn pop(&mut self) -> Option<Box<Frame>> {
        self.frames.pop_front()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::seat::Generation;

    #[test]
    fn n7_the_queue_of_confirmed_frames_holds_the_newest_at_its_limit_and_counts_the_others() {
        for (pushed, first, dropped) in [(3, 0, 0), (4, 1, 1), (9, 6, 6)] {
            let mut queue = FrameQueue::default();
            (0..pushed).for_each(|tick| queue.push(Box::new(Frame::new(Generation(0), Tick::new(tick))), 3));
            assert_eq!(queue.dropped, dropped, "{pushed}");
            let left: alloc::vec::Vec<_> =
                core::iter::from_fn(|| queue.pop()).map(|frame| frame.tick().index()).collect();
            assert_eq!(left, (first..pushed).collect::<alloc::vec::Vec<_>>());
        }
    }
}
