//! A run of frames on its way out, encoded once for all its receivers.

use retick_core::frame::{Frame, FrameRunWriter};
use retick_core::seat::Generation;
use retick_core::tick::Tick;
use retick_core::wire::{Frames, MAX_FRAMES_PER_MESSAGE, MAX_ROOM_MESSAGE_BYTES, ReleaseTag, RoomMessage};

use crate::log::MAX_FRAME_BYTES;

/// Most frames that the room puts into one message.
pub const MAX_FRAMES_PER_RELEASE: u32 = 256;
/// Once the frames of a message have this many bytes, the next frame starts another message.
pub const RELEASE_BYTES: usize = 16 * 1024;

const _: () = assert!(MAX_FRAMES_PER_RELEASE <= MAX_FRAMES_PER_MESSAGE);
const _: () =
    assert!(RELEASE_BYTES + MAX_FRAME_BYTES + 128 <= MAX_ROOM_MESSAGE_BYTES, "every release fits its message");

#[derive(Clone, Debug, Default)]
pub(super) struct Release {
    first: Tick,
    complete: bool,
    frames: FrameRunWriter,
}

impl Release {
    /// Empties the run and keeps its buffer.
    pub(super) fn clear(&mut self) {
        self.frames.clear();
    }

    /// Adds the next frame. Only the first one may come without the frame before it.
    pub(super) fn add(&mut self, frame: &Frame, base: Option<&Frame>) {
        if self.is_empty() {
            self.first = frame.tick();
            self.complete = base.is_none();
        }
        self.frames.push(frame, base);
    }

    pub(super) fn is_empty(&self) -> bool {
        self.frames.count() == 0
    }

    pub(super) fn is_full(&self) -> bool {
        self.frames.count() >= MAX_FRAMES_PER_RELEASE || self.frames.body().len() >= RELEASE_BYTES
    }

    /// The run as a message. `tag` belongs to its last frame.
    pub(super) fn message(&self, generation: Generation, tag: ReleaseTag) -> RoomMessage<'_> {
        let Release { first, complete, ref frames } = *self;
        RoomMessage::Frames(Frames { generation, first, count: frames.count(), complete, tag, body: frames.body() })
    }
}

#[cfg(test)]
impl Release {
    pub(super) fn capacity(&self) -> usize {
        self.frames.capacity_bytes()
    }
}
