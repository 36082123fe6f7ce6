//! What a session keeps of its confirmed frames: to go on from, to put into snapshots, and to export as a replay (S5).

use alloc::collections::VecDeque;
use alloc::vec::Vec;

use super::Session;
use crate::codec::wire::Cursor;
use crate::digest::Checksum;
use crate::frame::{Frame, FrameError};
use crate::seat::SeatCount;
use crate::tick::Tick;

/// Most bytes that a session's retained frames and checksums may take; beyond it the oldest are dropped, also under
/// [`InputRetention::All`].
pub const MAX_RETAINED_INPUT_BYTES: usize = 64 << 20;
/// What one frame takes beside its encoded bytes, and what one checksum takes.
const ENTRY_BYTES: usize = size_of::<u64>();
const CHECKSUM_BYTES: usize = size_of::<(Tick, Checksum)>();

/// Which confirmed frames a session keeps itself (S5). Results never depend on it.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum InputRetention {
    /// None; the authority has them, and a recorder may take them as events.
    #[default]
    Off,
    /// Those of the last so many ticks. A replay can't be exported once an older one was dropped.
    Last(u32),
    /// All of them, within [`MAX_RETAINED_INPUT_BYTES`]: what [`Session::export_replay`] needs.
    All,
}

/// Why a confirmed frame can't be read back.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
pub enum FrameReadError {
    /// The policy retains no frames.
    #[error("no frames are retained: SessionPolicy::input_retention says which are")]
    NotRetained,
    /// The tick is not confirmed and applied yet.
    #[error("tick {tick} is not confirmed yet")]
    NotConfirmed {
        /// The tick.
        tick: Tick,
    },
    /// The frame was dropped, or the session began after it.
    #[error("frames are retained from tick {first} on")]
    Dropped {
        /// The first tick whose frame is retained.
        first: Tick,
    },
    /// The frame was beyond the limits of frames when it was confirmed.
    #[error("{0}")]
    Frame(#[from] FrameError),
}

/// Encoded frames in one ring of bytes, so that steady state allocates nothing.
#[derive(Debug)]
pub(super) struct InputLog {
    retention: InputRetention,
    limit_bytes: usize,
    first: Tick,
    /// The frames' self-contained forms, one behind the other.
    bytes: VecDeque<u8>,
    /// Where each frame ends, counted from the beginning of the log.
    ends: VecDeque<u64>,
    /// Bytes dropped since the beginning of the log.
    dropped: u64,
    checksums: VecDeque<(Tick, Checksum)>,
    scratch: Vec<u8>,
}

impl InputLog {
    pub(super) fn new(retention: InputRetention) -> InputLog {
        InputLog {
            retention,
            limit_bytes: MAX_RETAINED_INPUT_BYTES,
            first: Tick::ZERO,
            bytes: VecDeque::new(),
            ends: VecDeque::new(),
            dropped: 0,
            checksums: VecDeque::new(),
            scratch: Vec::new(),
        }
    }

    /// Forgets everything; the next frame will be `first`'s.
    pub(super) fn restart(&mut self, first: Tick) {
        self.first = first;
        self.bytes.clear();
        self.ends.clear();
        self.dropped = 0;
        self.checksums.clear();
    }

    /// The retained checksums of report ticks' states, oldest first.
    pub(super) fn checksums(&self) -> &VecDeque<(Tick, Checksum)> {
        &self.checksums
    }

    /// Takes the next confirmed frame.
    pub(super) fn push(&mut self, frame: &Frame) {
        if self.retention == InputRetention::Off {
            return;
        }
        self.scratch.clear();
        frame.encode_full(&mut self.scratch);
        self.bytes.extend(&self.scratch);
        self.ends.push_back(self.dropped + self.bytes.len() as u64);
        self.trim();
    }

    /// Takes the checksum of a confirmed state, behind the frame that led to it.
    pub(super) fn push_checksum(&mut self, tick: Tick, checksum: Checksum) {
        if self.retention != InputRetention::Off {
            self.checksums.push_back((tick, checksum));
            self.trim();
        }
    }

    /// Forgets the checksums of states behind `S(tick)`, which were wrong.
    pub(super) fn forget_checksums_behind(&mut self, tick: Tick) {
        while self.checksums.pop_back_if(|(state, _)| *state > tick).is_some() {}
    }

    fn trim(&mut self) {
        let most = match self.retention {
            InputRetention::Off => 0,
            InputRetention::Last(ticks) => ticks as usize,
            InputRetention::All => usize::MAX,
        };
        while self.ends.len() > most || (self.weight() > self.limit_bytes && !self.ends.is_empty()) {
            self.drop_oldest();
        }
    }

    fn weight(&self) -> usize {
        self.bytes.len() + self.ends.len() * ENTRY_BYTES + self.checksums.len() * CHECKSUM_BYTES
    }

    fn drop_oldest(&mut self) {
        let Some(end) = self.ends.pop_front() else { return };
        let length = usize::try_from(end - self.dropped).unwrap_or(usize::MAX).min(self.bytes.len());
        self.bytes.drain(..length);
        self.dropped = end;
        self.first = self.first.saturating_add(1);
        // A checksum of the state before the first frame proves nothing about the frames.
        while self.checksums.front().is_some_and(|(tick, _)| *tick <= self.first) {
            self.checksums.pop_front();
        }
    }

    fn read(&mut self, tick: Tick, seats: SeatCount, frame: &mut Frame) -> Result<(), FrameReadError> {
        if self.retention == InputRetention::Off {
            return Err(FrameReadError::NotRetained);
        }
        let index =
            tick.index().checked_sub(self.first.index()).ok_or(FrameReadError::Dropped { first: self.first })?;
        let missing = FrameReadError::NotConfirmed { tick };
        let index = usize::try_from(index).map_err(|_| missing)?;
        let end = self.ends.get(index).ok_or(missing)? - self.dropped;
        let start = index.checked_sub(1).and_then(|before| self.ends.get(before)).map_or(0, |end| end - self.dropped);
        let position = |offset| usize::try_from(offset).unwrap_or(usize::MAX).min(self.bytes.len());
        self.scratch.clear();
        self.scratch.extend(self.bytes.range(position(start)..position(end)));
        Ok(frame.decode_full(&mut Cursor::new(&self.scratch), seats)?)
    }
}

impl Session {
    /// The first tick whose frame is retained; `None` when the policy retains none. Every confirmed tick from there on can be
    /// read.
    pub fn first_retained_frame(&self) -> Option<Tick> {
        (self.policy.input_retention != InputRetention::Off).then_some(self.input_log.first)
    }

    /// Reads the retained frame of a confirmed tick into `frame`.
    ///
    /// # Errors
    /// [`FrameReadError`]; the frame then holds nothing of use.
    pub fn read_frame(&mut self, tick: Tick, frame: &mut Frame) -> Result<(), FrameReadError> {
        self.input_log.read(tick, self.descriptor.seats(), frame)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::frame::SeatFrame;
    use crate::seat::Generation;

    fn frame(tick: u64) -> Frame {
        let mut frame = Frame::new(Generation(0), Tick::new(tick));
        frame.push_seat(SeatFrame { input: Some(&[tick.to_le_bytes()[0]]), ..SeatFrame::default() });
        frame
    }

    fn read(log: &mut InputLog, tick: u64) -> Result<Frame, FrameReadError> {
        let mut found = Frame::new(Generation(9), Tick::ZERO);
        log.read(Tick::new(tick), SeatCount::new(1).expect("valid"), &mut found).map(|()| found)
    }

    fn log(retention: InputRetention, limit_bytes: usize, frames: u64) -> InputLog {
        let mut log = InputLog { limit_bytes, ..InputLog::new(retention) };
        (0..frames).for_each(|tick| log.push(&frame(tick)));
        log
    }

    #[test]
    fn s5_the_last_frames_are_read_back_and_no_others() {
        let mut log = log(InputRetention::Last(4), usize::MAX, 10);
        let dropped = Err(FrameReadError::Dropped { first: Tick::new(6) });
        assert_eq!((read(&mut log, 0), read(&mut log, 5)), (dropped.clone(), dropped));
        assert!((6..10).all(|tick| read(&mut log, tick) == Ok(frame(tick))));
        for tick in [10, u64::MAX] {
            assert_eq!(read(&mut log, tick), Err(FrameReadError::NotConfirmed { tick: Tick::new(tick) }));
        }
        log.restart(Tick::new(50));
        log.push(&frame(50));
        assert_eq!(read(&mut log, 50), Ok(frame(50)));
        assert_eq!(read(&mut log, 9), Err(FrameReadError::Dropped { first: Tick::new(50) }));
    }

    #[test]
    fn s5_all_frames_end_at_the_byte_limit() {
        let each = log(InputRetention::All, usize::MAX, 1).weight();
        assert!(each > ENTRY_BYTES);
        let mut full = log(InputRetention::All, 10 * each, 10);
        assert_eq!((full.first, full.weight()), (Tick::ZERO, 10 * each));
        full.push(&frame(10));
        assert_eq!((full.first, full.weight()), (Tick::new(1), 10 * each));
        // A checksum is weighed too, and goes with the frames that led to it.
        full.push_checksum(Tick::new(11), Checksum::of(b""));
        assert!(full.weight() <= 10 * each && full.first > Tick::new(1));
        (11..30).for_each(|tick| full.push(&frame(tick)));
        assert_eq!((full.first, full.checksums.len()), (Tick::new(20), 0));
        assert!(log(InputRetention::All, 0, 5).bytes.is_empty());
    }

    #[test]
    fn s5_nothing_is_kept_when_off() {
        let mut log = log(InputRetention::Off, usize::MAX, 10);
        log.push_checksum(Tick::new(1), Checksum::of(b""));
        assert_eq!((log.weight(), read(&mut log, 3)), (0, Err(FrameReadError::NotRetained)));
        assert_eq!(self::log(InputRetention::Last(0), usize::MAX, 10).weight(), 0);
    }
}
