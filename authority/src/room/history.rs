//! The confirmed frames that are kept, in their self-contained form (A7): from the newest snapshot on, or a bounded window.
//!
//! They lie in segments of [`SEGMENT_FRAMES`], and are forgotten a segment at a time. What a forgotten segment had reserved is used
//! again, so that a history which neither grows nor shrinks allocates nothing.

use alloc::collections::VecDeque;
use alloc::vec::Vec;

use retick_core::codec::wire::Cursor;
use retick_core::frame::Frame;
use retick_core::seat::SeatCount;
use retick_core::tick::Tick;
use retick_core::wire::ReleaseTag;

/// Frames of every segment but the last.
pub const SEGMENT_FRAMES: u64 = 256;
/// Most forgotten segments whose memory is kept for coming ones.
const MAX_SPARE_SEGMENTS: usize = 32;

#[derive(Clone, Copy, Debug)]
struct Entry {
    end: usize,
    /// The tag of a release that ends with this frame.
    tag: ReleaseTag,
}

#[derive(Clone, Debug, Default)]
struct Segment {
    bytes: Vec<u8>,
    entries: Vec<Entry>,
}

impl Segment {
    fn frame_bytes(&self, index: usize) -> Option<&[u8]> {
        let end = self.entries.get(index)?.end;
        let start = index.checked_sub(1).map_or(0, |before| self.entries[before].end);
        Some(&self.bytes[start..end])
    }
}

#[derive(Clone, Debug)]
pub(super) struct History {
    seats: SeatCount,
    /// Tick of the first frame that is kept.
    first: Tick,
    frontier: Tick,
    /// Each is full but the last.
    segments: VecDeque<Segment>,
    spare: Vec<Segment>,
    bytes: usize,
}

impl History {
    pub(super) fn new(seats: SeatCount) -> History {
        History::starting_at(seats, Tick::ZERO)
    }

    /// One of which nothing before `tick` is there any more.
    pub(super) fn starting_at(seats: SeatCount, tick: Tick) -> History {
        History { seats, first: tick, frontier: tick, segments: VecDeque::new(), spare: Vec::new(), bytes: 0 }
    }

    /// The first tick without a frame.
    pub(super) fn frontier(&self) -> Tick {
        self.frontier
    }

    /// The first tick whose frame is still there; the frontier when none is.
    pub(super) fn first(&self) -> Tick {
        self.first
    }

    #[cfg(test)]
    fn bytes(&self) -> usize {
        self.bytes
    }

    /// Adds the frontier's frame with the tag that its bytes get, and gives the bytes.
    pub(super) fn push(&mut self, frame: &Frame, tag: impl FnOnce(&[u8]) -> ReleaseTag) -> &[u8] {
        if self.segments.back().is_none_or(|last| last.entries.len() as u64 >= SEGMENT_FRAMES) {
            self.segments.push_back(self.spare.pop().unwrap_or_default());
        }
        self.frontier = self.frontier.saturating_add(1);
        let Some(Segment { bytes, entries }) = self.segments.back_mut() else { return &[] };
        let start = bytes.len();
        frame.encode_full(bytes);
        let (end, written) = (bytes.len(), &bytes[start..]);
        self.bytes += written.len();
        entries.push(Entry { end, tag: tag(written) });
        written
    }

    /// Forgets whole segments before `tick`. The last one stays.
    pub(super) fn forget_before(&mut self, tick: Tick) {
        while self.segments.len() > 1 && self.first.saturating_add(SEGMENT_FRAMES) <= tick {
            self.forget_oldest();
        }
    }

    /// Forgets the oldest segments while the frames take more than so many bytes. The last one stays.
    pub(super) fn forget_beyond(&mut self, most_bytes: u64) {
        while self.segments.len() > 1 && self.bytes as u64 > most_bytes {
            self.forget_oldest();
        }
    }

    fn forget_oldest(&mut self) {
        let Some(mut oldest) = self.segments.pop_front() else { return };
        self.first = self.first.saturating_add(oldest.entries.len() as u64);
        self.bytes -= oldest.bytes.len();
        oldest.bytes.clear();
        oldest.entries.clear();
        if self.spare.len() < MAX_SPARE_SEGMENTS {
            self.spare.push(oldest);
        }
    }

    /// The bytes of the newest frame; none before the first.
    pub(super) fn newest(&self) -> &[u8] {
        let Some(Segment { bytes, entries }) = self.segments.back() else { return &[] };
        let before = entries.len().checked_sub(2).and_then(|index| entries.get(index));
        &bytes[before.map_or(0, |entry| entry.end)..]
    }

    pub(super) fn tag(&self, tick: Tick) -> Option<ReleaseTag> {
        let (segment, index) = self.place(tick)?;
        segment.entries.get(index).map(|entry| entry.tag)
    }

    /// Reads the frame of `tick` into `frame`, and says whether there is one.
    pub(super) fn read(&self, tick: Tick, frame: &mut Frame) -> bool {
        let Some(bytes) = self.place(tick).and_then(|(segment, index)| segment.frame_bytes(index)) else {
            return false;
        };
        let decoded = frame.decode_full(&mut Cursor::new(bytes), self.seats);
        debug_assert_eq!(decoded, Ok(()), "the history holds what a frame wrote");
        decoded.is_ok()
    }

    fn place(&self, tick: Tick) -> Option<(&Segment, usize)> {
        let offset = tick.index().checked_sub(self.first.index())?;
        let segment = self.segments.get(usize::try_from(offset / SEGMENT_FRAMES).ok()?)?;
        Some((segment, usize::try_from(offset % SEGMENT_FRAMES).ok()?))
    }
}

#[cfg(test)]
mod tests {
    use retick_core::frame::SeatFrame;
    use retick_core::seat::Generation;

    use super::*;

    fn push(history: &mut History, ticks: core::ops::Range<u64>) {
        for tick in ticks {
            let mut frame = Frame::new(Generation(0), Tick::new(tick));
            frame.push_seat(SeatFrame { input: Some(&tick.to_le_bytes()), ..SeatFrame::default() });
            history.push(&frame, |_| ReleaseTag(tick.to_le_bytes()));
        }
    }

    /// The ticks that can be read, each as what was written.
    fn readable(history: &History) -> Vec<u64> {
        let mut frame = Frame::new(Generation(0), Tick::ZERO);
        let frontier = history.frontier().index();
        let there = |tick: &u64| history.read(Tick::new(*tick), &mut frame) && is_whole(history, *tick, &frame);
        (0..frontier + 2).filter(there).collect()
    }

    fn is_whole(history: &History, tick: u64, frame: &Frame) -> bool {
        let written = frame.seats().next().and_then(|seat| seat.input.map(<[u8]>::to_vec));
        let tag = history.tag(Tick::new(tick));
        frame.tick() == Tick::new(tick)
            && written == Some(tick.to_le_bytes().to_vec())
            && tag == Some(ReleaseTag(tick.to_le_bytes()))
    }

    #[test]
    fn a7_whole_segments_are_forgotten_and_all_else_stays_readable() {
        let mut history = History::new(SeatCount::new(1).expect("one"));
        assert_eq!((history.first(), history.frontier(), readable(&history)), (Tick::ZERO, Tick::ZERO, Vec::new()));
        push(&mut history, 0..1_000);
        assert_eq!(readable(&history), (0..1_000).collect::<Vec<_>>());
        for (before, first) in [(0, 0), (255, 0), (256, 256), (700, 512), (5_000, 768), (0, 768)] {
            history.forget_before(Tick::new(before));
            assert_eq!(history.first(), Tick::new(first), "{before}");
            assert_eq!(readable(&history), (first..1_000).collect::<Vec<_>>(), "{before}");
        }
        push(&mut history, 1_000..2_000);
        assert_eq!(readable(&history), (768..2_000).collect::<Vec<_>>());
        let each = history.bytes() / 1_232;
        history.forget_beyond(600 * each as u64);
        assert!(history.bytes() <= 600 * each && history.first() == Tick::new(1_536));
        history.forget_beyond(0);
        assert_eq!(readable(&history), (1_792..2_000).collect::<Vec<_>>(), "the last segment stays");
    }

    #[test]
    fn a_bounded_history_reserves_no_more_memory() {
        let mut history = History::new(SeatCount::new(1).expect("one"));
        let reserved = |history: &History| {
            let all = history.segments.iter().chain(&history.spare);
            let bytes: usize = all.clone().map(|segment| segment.bytes.capacity()).sum();
            (bytes, all.count(), history.segments.capacity(), history.spare.capacity())
        };
        let mut play = |from: u64, until: u64| {
            for tick in (from..until).step_by(100) {
                push(&mut history, tick..tick + 100);
                history.forget_before(Tick::new((tick + 100).saturating_sub(2_000)));
            }
            reserved(&history)
        };
        let before = play(0, 10_000);
        assert_eq!(play(10_000, 50_000), before);
    }
}
