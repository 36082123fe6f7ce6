//! The frames of one block, in the form in which they were recorded.

use alloc::vec::Vec;

use super::section::FramesSection;
use crate::frame::{Frame, FrameError, FrameKey, FrameRunReader};
use crate::identity::MatchDescriptor;
use crate::tick::Tick;

/// The frames of one block.
#[derive(Clone, Debug)]
pub(super) struct Run {
    pub(super) first: Tick,
    pub(super) count: u32,
    body: Vec<u8>,
}

impl Run {
    /// The run of a block whose every frame decodes.
    pub(super) fn decoded(section: &FramesSection<'_>, descriptor: &MatchDescriptor) -> Result<Run, FrameError> {
        let run = Run { first: section.first, count: section.count, body: section.body.to_vec() };
        let mut decoder = run.decoder(descriptor);
        while let Some(decoded) = decoder.next_frame() {
            decoded?;
        }
        decoder.run.finish()?;
        Ok(run)
    }

    /// The tick behind its last one.
    pub(super) fn end(&self) -> Tick {
        self.first.saturating_add(u64::from(self.count))
    }

    pub(super) fn decoder(&self, descriptor: &MatchDescriptor) -> RunDecoder<'_> {
        let (generation, seats) = (descriptor.generation(), descriptor.seats());
        RunDecoder {
            run: FrameRunReader::new(&self.body),
            key: FrameKey { generation, tick: self.first, seats },
            left: self.count,
            is_first: true,
            frame: Frame::new(generation, self.first),
            before: Frame::new(generation, self.first),
        }
    }
}

/// Decodes one run with two frames: the one before, and the next.
pub(super) struct RunDecoder<'a> {
    run: FrameRunReader<'a>,
    key: FrameKey,
    left: u32,
    is_first: bool,
    frame: Frame,
    before: Frame,
}

impl RunDecoder<'_> {
    pub(super) fn next_frame(&mut self) -> Option<Result<&Frame, FrameError>> {
        self.left = self.left.checked_sub(1)?;
        core::mem::swap(&mut self.frame, &mut self.before);
        let base = (!self.is_first).then_some(&self.before);
        let decoded = self.run.read(&mut self.frame, base, self.key);
        self.is_first = false;
        self.key.tick = self.key.tick.saturating_add(1);
        Some(decoded.map(|()| &self.frame))
    }
}
