//! Every confirmed frame since tick 0, in its self-contained form (A7).

use alloc::vec::Vec;

use retick_core::codec::wire::Cursor;
use retick_core::frame::Frame;
use retick_core::seat::SeatCount;
use retick_core::tick::Tick;
use retick_core::wire::ReleaseTag;

#[derive(Clone, Copy, Debug)]
struct Entry {
    end: usize,
    /// The tag of a release that ends with this frame.
    tag: ReleaseTag,
}

#[derive(Clone, Debug)]
pub(super) struct History {
    seats: SeatCount,
    bytes: Vec<u8>,
    entries: Vec<Entry>,
}

impl History {
    pub(super) fn new(seats: SeatCount) -> History {
        History { seats, bytes: Vec::new(), entries: Vec::new() }
    }

    /// The first tick without a frame.
    pub(super) fn frontier(&self) -> Tick {
        Tick::new(self.entries.len() as u64)
    }

    /// Adds the frontier's frame with the tag that its bytes get.
    pub(super) fn push(&mut self, frame: &Frame, tag: impl FnOnce(&[u8]) -> ReleaseTag) {
        let start = self.bytes.len();
        frame.encode_full(&mut self.bytes);
        let (end, bytes) = (self.bytes.len(), &self.bytes[start..]);
        self.entries.push(Entry { end, tag: tag(bytes) });
    }

    /// The bytes of the newest frame; none before the first.
    pub(super) fn newest(&self) -> &[u8] {
        let before = self.entries.len().checked_sub(2).and_then(|index| self.entries.get(index));
        &self.bytes[before.map_or(0, |entry| entry.end)..]
    }

    pub(super) fn tag(&self, tick: Tick) -> Option<ReleaseTag> {
        self.entry(tick).map(|entry| entry.tag)
    }

    /// Reads the frame of `tick` into `frame`, and says whether there is one.
    pub(super) fn read(&self, tick: Tick, frame: &mut Frame) -> bool {
        let Some(Entry { end, .. }) = self.entry(tick) else {
            return false;
        };
        let before = tick.index().checked_sub(1).and_then(|index| self.entry(Tick::new(index)));
        let start = before.map_or(0, |entry| entry.end);
        let decoded = frame.decode_full(&mut Cursor::new(&self.bytes[start..end]), self.seats);
        debug_assert_eq!(decoded, Ok(()), "the history holds what a frame wrote");
        decoded.is_ok()
    }

    fn entry(&self, tick: Tick) -> Option<Entry> {
        self.entries.get(usize::try_from(tick.index()).ok()?).copied()
    }
}
