//! The newest frames that the room released, kept for a room that lost them in a restart (A12).
//!
//! Each is kept as the hash chain covers it, and with the tag of its release where it was a release's last. Only whole releases are
//! given back, since a tag proves the history up to it.

use alloc::collections::VecDeque;
use alloc::vec::Vec;

use crate::codec::wire::Cursor;
use crate::frame::{Frame, FrameRunWriter};
use crate::seat::{Generation, SeatCount};
use crate::tick::Tick;
use crate::wire::{
    Frames, MAX_CLIENT_MESSAGE_BYTES, MAX_FRAMES_PER_MESSAGE, MAX_TAIL_BYTES, MAX_TAIL_TICKS, ReleaseTag,
};

/// Once the frames of a message have this many bytes, the next release starts another message.
const MESSAGE_BYTES: usize = 32 * 1024;
/// Bytes that a message has beside its frames, at most.
const MESSAGE_OVERHEAD_BYTES: usize = 64;

const _: () = assert!(MAX_TAIL_TICKS <= MAX_FRAMES_PER_MESSAGE as usize, "a message may hold all that is kept");
const _: () = assert!(MESSAGE_BYTES + MESSAGE_OVERHEAD_BYTES < MAX_CLIENT_MESSAGE_BYTES);

#[derive(Clone, Copy, Debug)]
struct Kept {
    byte_count: usize,
    /// The tag of the release that ends with this frame, if one does.
    tag: Option<ReleaseTag>,
}

/// A ring of the newest frames.
#[derive(Clone, Debug)]
pub(super) struct Tail {
    /// Tick of the oldest frame.
    first: Tick,
    frames: VecDeque<Kept>,
    /// The frames' bytes, behind those of dropped ones.
    bytes: Vec<u8>,
    dropped: usize,
    fence: Option<u32>,
}

impl Default for Tail {
    /// Nothing, with the places of all frames reserved, so that none is reserved while a match runs.
    fn default() -> Tail {
        let frames = VecDeque::with_capacity(MAX_TAIL_TICKS + 1);
        Tail { first: Tick::ZERO, frames, bytes: Vec::new(), dropped: 0, fence: None }
    }
}

impl Tail {
    /// Forgets everything: another generation begins, or a snapshot was installed.
    pub(super) fn clear(&mut self) {
        self.frames.clear();
        self.bytes.clear();
        (self.dropped, self.fence) = (0, None);
    }

    /// The fence of the newest frame.
    pub(super) fn fence(&self) -> Option<u32> {
        self.fence
    }

    /// The first tick behind the newest frame.
    fn end(&self) -> Tick {
        self.first.saturating_add(self.frames.len() as u64)
    }

    /// Keeps the next frame, and gives its self-contained bytes.
    pub(super) fn push(&mut self, frame: &Frame) -> &[u8] {
        if frame.tick() != self.end() {
            self.clear();
        }
        if self.frames.is_empty() {
            self.first = frame.tick();
        }
        self.make_room();
        let start = self.bytes.len();
        frame.encode_full(&mut self.bytes);
        self.frames.push_back(Kept { byte_count: self.bytes.len() - start, tag: None });
        self.fence = Some(frame.fence());
        &self.bytes[start..]
    }

    /// Drops what is too much. What was dropped moves the rest once it is half of everything, so memory stays within twice of it.
    fn make_room(&mut self) {
        while self.frames.len() >= MAX_TAIL_TICKS || self.bytes.len() - self.dropped > MAX_TAIL_BYTES {
            let Some(oldest) = self.frames.pop_front() else { break };
            self.dropped += oldest.byte_count;
            self.first = self.first.saturating_add(1);
        }
        if self.dropped * 2 > self.bytes.len() {
            self.bytes.drain(..self.dropped);
            self.dropped = 0;
        }
    }

    /// The self-contained forms of the frames from `first` on and before `end`, one behind the other, if all of them are kept.
    pub(super) fn frames_between(&self, first: Tick, end: Tick) -> Option<Vec<u8>> {
        if first < self.first || end > self.end() || end < first {
            return None;
        }
        let bytes_before = |tick: Tick| {
            let count = usize::try_from(tick.since(self.first)).unwrap_or(usize::MAX);
            self.frames.iter().take(count).map(|kept| kept.byte_count).sum::<usize>()
        };
        self.bytes.get(self.dropped..)?.get(bytes_before(first)..bytes_before(end)).map(<[u8]>::to_vec)
    }

    /// A release ended before `end` with this tag. One that brought nothing new is passed over.
    pub(super) fn release(&mut self, end: Tick, tag: ReleaseTag) {
        if self.end() == end
            && let Some(newest) = self.frames.back_mut()
        {
            newest.tag = Some(tag);
        }
    }

    /// Gives every whole release from `next` on, oldest first. Nothing, if the frame of `next` is not kept any more: what comes
    /// behind a gap proves nothing.
    pub(super) fn answer(
        &self,
        generation: Generation,
        seats: SeatCount,
        next: Tick,
        mut send: impl FnMut(Frames<'_>),
    ) {
        let Some(last) = self.frames.iter().rposition(|kept| kept.tag.is_some()).filter(|_| next >= self.first) else {
            return;
        };
        let skipped = usize::try_from(next.since(self.first)).unwrap_or(usize::MAX).min(self.frames.len());
        let skipped_bytes: usize = self.frames.iter().take(skipped).map(|kept| kept.byte_count).sum();
        let mut rest = &self.bytes[self.dropped + skipped_bytes..];
        let (mut run, mut first) = (FrameRunWriter::default(), next);
        let [mut frame, mut before] = [(); 2].map(|()| Frame::new(generation, next));
        for (place, kept) in self.frames.iter().enumerate().take(last + 1).skip(skipped) {
            let (bytes, others) = rest.split_at(kept.byte_count);
            rest = others;
            if frame.decode_full(&mut Cursor::new(bytes), seats).is_err() || frame.generation() != generation {
                return;
            }
            run.push(&frame, (run.count() > 0).then_some(&before));
            core::mem::swap(&mut frame, &mut before);
            if let Some(tag) = kept.tag
                && (place == last || run.body().len() >= MESSAGE_BYTES)
            {
                if run.body().len() > MAX_CLIENT_MESSAGE_BYTES - MESSAGE_OVERHEAD_BYTES {
                    return;
                }
                send(Frames { generation, first, count: run.count(), complete: true, tag, body: run.body() });
                first = self.first.saturating_add(place as u64 + 1);
                run.clear();
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::frame::{FrameKey, FrameRunReader, SeatFrame};
    use crate::seat::{ControlEpoch, Presence};

    const GENERATION: Generation = Generation(2);

    fn seats() -> SeatCount {
        SeatCount::new(1).expect("one")
    }

    fn frame(tick: u64, input: &[u8]) -> Frame {
        let mut frame = Frame::new(GENERATION, Tick::new(tick));
        frame.push_seat(SeatFrame {
            input: Some(input),
            substituted: false,
            presence: Presence::Human,
            epoch: ControlEpoch(1),
        });
        frame
    }

    fn tag(end: u64) -> ReleaseTag {
        ReleaseTag(end.to_le_bytes())
    }

    /// A ring that was given `ticks` frames, released `each` at a time.
    fn filled(ticks: u64, each: u64, input: impl Fn(u64) -> Vec<u8>) -> Tail {
        let mut tail = Tail::default();
        for tick in 0..ticks {
            tail.push(&frame(tick, &input(tick)));
            if (tick + 1) % each == 0 {
                tail.release(Tick::new(tick + 1), tag(tick + 1));
            }
        }
        tail
    }

    /// What is given back from `next` on: the ticks at which messages begin, and all frames.
    fn answered(tail: &Tail, next: u64) -> (Vec<u64>, Vec<Frame>) {
        let (mut firsts, mut all) = (Vec::new(), Vec::<Frame>::new());
        tail.answer(GENERATION, seats(), Tick::new(next), |frames| {
            firsts.push(frames.first.index());
            let mut run = FrameRunReader::new(frames.body);
            for offset in 0..u64::from(frames.count) {
                let tick = frames.first.saturating_add(offset);
                let mut read = Frame::new(GENERATION, tick);
                let base = if offset == 0 { None } else { all.last() };
                run.read(&mut read, base, FrameKey { generation: GENERATION, tick, seats: seats() }).expect("its own");
                all.push(read);
            }
            run.finish().expect("nothing behind");
            let end = frames.first.index() + u64::from(frames.count);
            assert_eq!(frames.tag, tag(end), "a message ends with a release");
        });
        (firsts, all)
    }

    #[test]
    fn a12_whole_releases_come_back_from_where_they_are_wanted() {
        let input = |tick: u64| alloc::vec![u8::try_from(tick % 7).expect("small")];
        let tail = filled(23, 4, input);
        for next in 0..30 {
            let (firsts, frames) = answered(&tail, next);
            // Ticks 20 to 22 are part of a release that has not ended: they can't be proved.
            let expected: Vec<_> = (next..20).map(|tick| frame(tick, &input(tick))).collect();
            assert_eq!((frames, firsts.len()), (expected, usize::from(next < 20)), "from {next}");
        }
    }

    #[test]
    fn a12_the_ring_keeps_the_newest_and_its_memory() {
        let input = |tick: u64| tick.to_le_bytes().to_vec();
        let most = MAX_TAIL_TICKS as u64;
        let mut tail = filled(3 * most, 1, input);
        let (oldest, reserved) = (2 * most, (tail.bytes.capacity(), tail.frames.capacity()));
        assert_eq!(answered(&tail, oldest).1.len(), MAX_TAIL_TICKS);
        assert_eq!(answered(&tail, oldest - 1).1.len(), 0, "nothing comes behind a gap");
        for tick in 3 * most..6 * most {
            tail.push(&frame(tick, &input(tick)));
            tail.release(Tick::new(tick + 1), tag(tick + 1));
        }
        assert_eq!((tail.bytes.capacity(), tail.frames.capacity()), reserved);
        // A frame that does not follow begins anew.
        tail.push(&frame(7, b"x"));
        assert_eq!((tail.first, tail.frames.len()), (Tick::new(7), 1));
    }

    #[test]
    fn a8_frames_are_read_back_whole_or_not_at_all() {
        let input = |tick: u64| alloc::vec![7; usize::try_from(tick % 3).expect("small")];
        let most = MAX_TAIL_TICKS as u64;
        let (tail, ticks) = (filled(most + 10, 4, input), |first, end| (Tick::new(first), Tick::new(end)));
        for (first, end) in [ticks(10, most + 10), ticks(11, 20), ticks(most, most)] {
            let bytes = tail.frames_between(first, end).expect("all are there");
            let (mut cursor, mut found) = (Cursor::new(&bytes), Vec::new());
            while !cursor.rest().is_empty() {
                let mut read = Frame::new(GENERATION, first);
                read.decode_full(&mut cursor, seats()).expect("its own");
                found.push(read);
            }
            let expected: Vec<_> = (first.index()..end.index()).map(|tick| frame(tick, &input(tick))).collect();
            assert_eq!(found, expected);
        }
        for (first, end) in [ticks(9, 20), ticks(20, most + 11), ticks(20, 19), ticks(0, u64::MAX)] {
            assert_eq!(tail.frames_between(first, end), None, "{first} to {end}");
        }
    }

    #[test]
    fn a12_long_tails_come_in_several_messages_and_bytes_are_bounded() {
        let input = |tick: u64| alloc::vec![u8::try_from(tick % 251).expect("small"); 256];
        let tail = filled(1000, 3, input);
        let (firsts, frames) = answered(&tail, 500);
        assert!(firsts.len() > 1 && firsts.is_sorted(), "{firsts:?}");
        assert!(frames.first().is_some_and(|frame| frame.tick() == Tick::new(500)));
        let wide = |tick: u64| alloc::vec![u8::try_from(tick % 251).expect("small"); 2000];
        let tail = filled(1000, 1, wide);
        assert!(tail.bytes.len() - tail.dropped <= MAX_TAIL_BYTES + 3000 && tail.frames.len() < 600);
    }
}
