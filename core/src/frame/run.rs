//! Frames of consecutive ticks, each written against the one before: what travels, and what replays hold.
//!
//! Frames in which nothing changed are counted, not written: one byte from 128 on stands for up to 128 of them. At a run's end
//! they are left out altogether; how many frames there are is said by what holds the run.

use alloc::vec::Vec;

use super::encoding::{Difference, Parts};
use super::{Frame, FrameError, FrameKey};
use crate::codec::wire::Cursor;

/// The bit that makes a byte a number of unchanged frames, less one.
const UNCHANGED: u8 = 0x80;
/// Most unchanged frames that one byte stands for.
const MAX_UNCHANGED: u8 = 128;

const _: () = assert!(UNCHANGED | (MAX_UNCHANGED - 1) == u8::MAX);

/// Writes a run of frames into a buffer that it keeps.
///
/// ```
/// use retick_core::frame::{Frame, FrameKey, FrameRunReader, FrameRunWriter, SeatFrame};
/// use retick_core::seat::{Generation, SeatCount};
/// use retick_core::tick::Tick;
///
/// let frame = |tick, input| {
///     let mut frame = Frame::new(Generation(0), Tick::new(tick));
///     frame.push_seat(SeatFrame { input: Some(input), ..SeatFrame::default() });
///     frame
/// };
/// let (first, held) = (frame(0, &[7]), frame(1, &[7]));
/// let mut run = FrameRunWriter::default();
/// run.push(&first, None);
/// let bytes = run.body().len();
/// // A frame in which nothing changed takes no byte at the end of a run.
/// run.push(&held, Some(&first));
/// assert_eq!((run.count(), run.body().len()), (2, bytes));
///
/// let mut reader = FrameRunReader::new(run.body());
/// let (mut read, mut next) = (frame(9, &[]), frame(9, &[]));
/// let key = |tick| FrameKey { generation: Generation(0), tick: Tick::new(tick), seats: SeatCount::new(1).unwrap() };
/// reader.read(&mut read, None, key(0))?;
/// reader.read(&mut next, Some(&read), key(1))?;
/// assert_eq!((read, next, reader.finish()), (first, held, Ok(())));
/// # Ok::<(), retick_core::frame::FrameError>(())
/// ```
#[derive(Clone, Debug, Default)]
pub struct FrameRunWriter {
    body: Vec<u8>,
    count: u32,
    /// Unchanged frames that were not written yet.
    unchanged: u32,
}

impl FrameRunWriter {
    /// Adds the next frame. `base` is the frame of the tick before, whoever reads the run has it; without one the frame stands
    /// alone, but still without its generation and tick, which are given by what holds the run.
    pub fn push(&mut self, frame: &Frame, base: Option<&Frame>) {
        self.count += 1;
        let difference = Difference::new(frame, base);
        if difference.is_none() {
            self.unchanged += 1;
        } else {
            self.write_unchanged();
            difference.encode_into(&mut self.body);
        }
    }

    fn write_unchanged(&mut self) {
        while self.unchanged > 0 {
            let frames = u8::try_from(self.unchanged).unwrap_or(u8::MAX).min(MAX_UNCHANGED);
            self.body.push(UNCHANGED | (frames - 1));
            self.unchanged -= u32::from(frames);
        }
    }

    /// Empties the run and keeps its buffer.
    pub fn clear(&mut self) {
        self.body.clear();
        (self.count, self.unchanged) = (0, 0);
    }

    /// How many frames there are.
    pub fn count(&self) -> u32 {
        self.count
    }

    /// The run's bytes.
    pub fn body(&self) -> &[u8] {
        &self.body
    }

    /// Bytes that its buffer holds room for.
    pub fn capacity_bytes(&self) -> usize {
        self.body.capacity()
    }
}

/// Reads what a [`FrameRunWriter`] wrote, one frame at a time.
#[derive(Clone, Debug)]
pub struct FrameRunReader<'a> {
    cursor: Cursor<'a>,
    /// Unchanged frames that were announced and are still to come.
    unchanged: u8,
}

impl<'a> FrameRunReader<'a> {
    /// A reader at the run's first frame.
    #[must_use]
    pub const fn new(body: &'a [u8]) -> FrameRunReader<'a> {
        FrameRunReader { cursor: Cursor::new(body), unchanged: 0 }
    }

    /// Reads the next frame into `frame`; `base` is the frame of the tick before. A run does not say where it ends: behind its
    /// last byte every frame is unchanged.
    ///
    /// # Errors
    /// [`FrameError`]; the frame then holds nothing of use.
    pub fn read(&mut self, frame: &mut Frame, base: Option<&Frame>, key: FrameKey) -> Result<(), FrameError> {
        let parts = self.next_parts()?;
        frame.decode_parts(parts, &mut self.cursor, base, key)
    }

    /// Checks that no frame is left.
    ///
    /// # Errors
    /// [`FrameError::Encoding`] when there are more bytes than the frames that were read.
    pub fn finish(self) -> Result<(), FrameError> {
        // Behind announced frames another one is written, so they leave bytes.
        Ok(self.cursor.finish()?)
    }

    fn next_parts(&mut self) -> Result<Parts, FrameError> {
        if let Some(left) = self.unchanged.checked_sub(1) {
            self.unchanged = left;
            return Ok(Parts::NONE);
        }
        if self.cursor.rest().is_empty() {
            return Ok(Parts::NONE);
        }
        match self.cursor.take()? {
            // The form of an unchanged frame is a number, and nothing at the end.
            0 => Err(FrameError::NotAbbreviated),
            byte if byte >= UNCHANGED => {
                let is_full = byte == u8::MAX;
                let is_needed = self.cursor.rest().first().is_some_and(|next| is_full || *next < UNCHANGED);
                self.unchanged = byte - UNCHANGED;
                if is_needed { Ok(Parts::NONE) } else { Err(FrameError::NotAbbreviated) }
            }
            byte => Parts::from_byte(byte),
        }
    }
}
