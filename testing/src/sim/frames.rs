//! Reading frames off the wire without a client: what raw seats and observers see.

use retick_core::frame::{Frame, FrameError, FrameKey, FrameRunReader};
use retick_core::seat::SeatCount;
use retick_core::wire::Frames;

/// Decodes runs of frames, each abbreviated against the one before.
#[derive(Clone, Debug, Default)]
pub(super) struct FrameReader {
    frames: Vec<Frame>,
}

impl FrameReader {
    /// Every frame read so far, in the order of arrival.
    pub(super) fn frames(&self) -> &[Frame] {
        &self.frames
    }

    /// A new connection begins with a complete frame, maybe one that was read before.
    pub(super) fn read(&mut self, run: &Frames<'_>, seats: SeatCount) -> Result<(), FrameError> {
        let mut reader = FrameRunReader::new(run.body);
        for offset in 0..run.count {
            let tick = run.first.saturating_add(u64::from(offset));
            let mut frame = Frame::new(run.generation, tick);
            let base = if offset == 0 && run.complete { None } else { self.frames.last() };
            reader.read(&mut frame, base, FrameKey { generation: run.generation, tick, seats })?;
            self.frames.push(frame);
        }
        reader.finish()
    }
}
