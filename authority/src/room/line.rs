//! Frames behind the log, as clients give them back and their tags prove them (A12).

use alloc::vec::Vec;

use retick_core::digest::Digest;
use retick_core::frame::{Frame, FrameChain, FrameError, FrameKey, FrameRunReader};
use retick_core::seat::{Generation, SeatCount};
use retick_core::tick::Tick;
use retick_core::wire::{Frames, MAX_TAIL_BYTES, MAX_TAIL_TICKS};

use super::secrets::Keys;
use crate::log::MAX_FRAME_BYTES;

/// Most bytes of frames that are kept until the window ends.
const MAX_LINE_BYTES: usize = MAX_TAIL_BYTES + 2 * MAX_FRAME_BYTES;

#[derive(Clone, Copy, Debug)]
struct Entry {
    end: usize,
    /// The chain's head with this frame.
    head: Digest,
}

/// Frames that follow on the log, in their self-contained form.
#[derive(Clone, Debug)]
struct Line {
    first: Tick,
    /// The chain's head before them.
    start: Digest,
    entries: Vec<Entry>,
    bytes: Vec<u8>,
    /// The fence of the last of them.
    fence: Option<u32>,
}

impl Line {
    fn end(&self) -> Tick {
        self.first.saturating_add(self.entries.len() as u64)
    }

    /// How many of them lie before `tick`, if it is no further than their end.
    fn count_before(&self, tick: Tick) -> Option<usize> {
        let count = usize::try_from(tick.index().checked_sub(self.first.index())?).ok()?;
        (count <= self.entries.len()).then_some(count)
    }

    fn head(&self) -> Digest {
        self.entries.last().map_or(self.start, |entry| entry.head)
    }

    fn cut(&mut self, count: usize) {
        self.entries.truncate(count);
        self.bytes.truncate(self.entries.last().map_or(0, |entry| entry.end));
    }

    fn frames(&self) -> impl Iterator<Item = &[u8]> {
        let starts = core::iter::once(0).chain(self.entries.iter().map(|entry| entry.end));
        starts.zip(&self.entries).map(|(start, entry)| &self.bytes[start..entry.end])
    }
}

/// What became of frames that a client gave back.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Offered {
    Proved,
    Unproved,
}

/// What is needed to tell the room's own frames from others.
pub(super) struct Prover<'a> {
    pub(super) generation: Generation,
    pub(super) seats: SeatCount,
    /// The fence of this run, which no frame has yet.
    pub(super) fence: u32,
    pub(super) keys: &'a Keys,
}

/// The longest that was proved so far, of the latest run.
#[derive(Debug)]
pub(super) struct ProvedLine {
    line: Line,
    /// The furthest end that it ever had.
    reach: Tick,
    frames: [Frame; 2],
    offered: Line,
}

impl ProvedLine {
    /// Nothing, behind a history that ends before `frontier` with this head of its chain.
    pub(super) fn new(frontier: Tick, head: Digest) -> ProvedLine {
        let line = Line { first: frontier, start: head, entries: Vec::new(), bytes: Vec::new(), fence: None };
        let frames = [(); 2].map(|()| Frame::new(Generation::default(), Tick::ZERO));
        ProvedLine { offered: line.clone(), line, reach: frontier, frames }
    }

    /// The first tick behind it.
    pub(super) fn end(&self) -> Tick {
        self.line.end()
    }

    /// The furthest end that it ever had.
    pub(super) fn reach(&self) -> Tick {
        self.reach
    }

    /// Its frames in their self-contained form.
    pub(super) fn frames(&self) -> impl Iterator<Item = &[u8]> {
        self.line.frames()
    }

    /// Takes frames in if they follow on what is known, prove themselves, and lead further.
    ///
    /// # Errors
    /// [`FrameError`] when they are no frames.
    pub(super) fn offer(&mut self, frames: &Frames<'_>, prover: &Prover<'_>) -> Result<Offered, FrameError> {
        let end = frames.first.saturating_add(u64::from(frames.count));
        let (Some(kept), true) = (self.line.count_before(frames.first), frames.complete) else {
            return Ok(Offered::Unproved);
        };
        if frames.generation != prover.generation || end.since(self.line.first) > MAX_TAIL_TICKS as u64 {
            return Ok(Offered::Unproved);
        }
        if self.read(frames, kept, prover)? == Offered::Unproved {
            return Ok(Offered::Unproved);
        }
        let tag = prover.keys.release_tag(frames.generation, end, self.offered.head());
        if self.offered.fence >= Some(prover.fence) || !tag.matches(&frames.tag) {
            return Ok(Offered::Unproved);
        }
        if (self.offered.fence, end) > (self.line.fence, self.line.end()) {
            self.extend_line(kept);
        }
        Ok(Offered::Proved)
    }

    /// Reads the frames into `offered`, and chains them behind the first `kept` of the line.
    fn read(&mut self, frames: &Frames<'_>, kept: usize, prover: &Prover<'_>) -> Result<Offered, FrameError> {
        let ProvedLine { line, offered, frames: [frame, before], .. } = self;
        let last = kept.checked_sub(1).and_then(|last| line.entries.get(last));
        offered.first = frames.first;
        offered.start = last.map_or(line.start, |entry| entry.head);
        offered.cut(0);
        let kept_bytes = last.map_or(0, |entry| entry.end);
        let mut chain = FrameChain::from_head(offered.start);
        let mut run = FrameRunReader::new(frames.body);
        for offset in 0..frames.count {
            // Frames in which nothing changes take no bytes in a run, but as many as the others once they stand alone.
            if kept_bytes + offered.bytes.len() > MAX_LINE_BYTES - MAX_FRAME_BYTES {
                return Ok(Offered::Unproved);
            }
            let tick = frames.first.saturating_add(u64::from(offset));
            let key = FrameKey { generation: frames.generation, tick, seats: prover.seats };
            run.read(frame, (offset > 0).then_some(&*before), key)?;
            let start = offered.bytes.len();
            frame.encode_full(&mut offered.bytes);
            chain.extend_encoded(&offered.bytes[start..]);
            offered.entries.push(Entry { end: offered.bytes.len(), head: chain.head() });
            offered.fence = Some(frame.fence());
            core::mem::swap(frame, before);
        }
        run.finish()?;
        Ok(Offered::Proved)
    }

    /// Puts what was offered behind the first `kept` frames of the line.
    fn extend_line(&mut self, kept: usize) {
        let ProvedLine { line, offered, reach, .. } = self;
        line.cut(kept);
        let start = line.bytes.len();
        line.bytes.extend_from_slice(&offered.bytes);
        let moved = |entry: &Entry| Entry { end: start + entry.end, head: entry.head };
        line.entries.extend(offered.entries.iter().map(moved));
        line.fence = offered.fence;
        *reach = line.end().max(*reach);
    }
}
