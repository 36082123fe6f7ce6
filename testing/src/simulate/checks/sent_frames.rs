//! The frames in what the room sends, read as each connection reads them.

use std::collections::BTreeMap;
use std::rc::Rc;

use retick_authority::room::ConnectionId;
use retick_core::frame::{Frame, FrameKey, FrameRunReader};
use retick_core::seat::SeatCount;
use retick_core::wire::{Frames, RoomMessage};

/// The last frame of every connection, against which the next one is abbreviated.
pub(super) struct SentFrames {
    seats: SeatCount,
    last: BTreeMap<ConnectionId, Rc<Frame>>,
}

impl SentFrames {
    pub(super) fn new(seats: SeatCount) -> SentFrames {
        SentFrames { seats, last: BTreeMap::new() }
    }

    /// The frames of a message, if it has any; `None` when they can't be read.
    pub(super) fn read(&mut self, to: &[ConnectionId], bytes: &[u8]) -> Option<Vec<Rc<Frame>>> {
        match RoomMessage::decode(bytes) {
            Ok(RoomMessage::Frames(frames)) => self.read_run(to, &frames),
            Ok(_) => Some(Vec::new()),
            Err(_) => None,
        }
    }

    fn read_run(&mut self, to: &[ConnectionId], frames: &Frames<'_>) -> Option<Vec<Rc<Frame>>> {
        let mut run = FrameRunReader::new(frames.body);
        let mut base = if frames.complete { None } else { Some(self.last.get(to.first()?)?.clone()) };
        let mut read = Vec::new();
        for offset in 0..frames.count {
            let tick = frames.first.checked_add(u64::from(offset))?;
            let key = FrameKey { generation: frames.generation, tick, seats: self.seats };
            let mut frame = Frame::new(frames.generation, tick);
            run.read(&mut frame, base.as_deref(), key).ok()?;
            let frame = Rc::new(frame);
            base = Some(frame.clone());
            read.push(frame);
        }
        run.finish().ok()?;
        let last = read.last()?;
        to.iter().for_each(|connection| drop(self.last.insert(*connection, last.clone())));
        Some(read)
    }
}
