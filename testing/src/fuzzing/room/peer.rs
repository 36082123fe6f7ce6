//! One connection, as the script's peers know it: what it was told, and the frames that it was sent.

use retick_core::frame::{Frame, FrameKey, FrameRunReader};
use retick_core::identity::MatchDescriptor;
use retick_core::seat::{ControlEpoch, Generation, Seat, SeatCount};
use retick_core::tick::Tick;
use retick_core::wire::{Frames, History, ReleaseTag, ResumeToken, RoomMessage, SnapshotHeader, TransferId, Welcome};

/// Most frames that a peer keeps to give them back.
const MAX_KEPT_FRAMES: usize = 200;

/// What a peer knows.
#[derive(Debug, Default)]
pub(super) struct Peer {
    pub(super) is_open: bool,
    /// The room has closed it.
    pub(super) is_closed: bool,
    pub(super) seat: Option<Seat>,
    pub(super) token: Option<ResumeToken>,
    pub(super) epoch: ControlEpoch,
    pub(super) generation: Generation,
    /// The tick of the frame that comes next, once that is known.
    pub(super) next: Option<Tick>,
    /// The newest frames that it was sent, without a gap.
    pub(super) kept: Vec<Frame>,
    /// Tags of releases, by the tick behind them.
    pub(super) tags: Vec<(Tick, ReleaseTag)>,
    /// A snapshot that it was asked for, and one that it was offered.
    pub(super) wanted: Option<(TransferId, Tick)>,
    pub(super) offered: Option<SnapshotHeader>,
    pub(super) received: u64,
}

impl Peer {
    /// Takes a message in, and gives the frames in it.
    pub(super) fn receive(&mut self, message: &RoomMessage<'_>, is_recovering: bool, seats: SeatCount) -> Vec<Frame> {
        match message {
            RoomMessage::Welcome(welcome) => self.enter(welcome, is_recovering),
            RoomMessage::Frames(frames) => return self.read(frames, seats),
            RoomMessage::Reconfigured { descriptor } => match MatchDescriptor::from_bytes(descriptor) {
                Ok(descriptor) => self.begin(descriptor.generation()),
                Err(error) => panic!("the room sends descriptors: {error}"),
            },
            RoomMessage::SnapshotWanted { transfer, tick, .. } => self.wanted = Some((*transfer, *tick)),
            // Whatever it had, it begins again behind the snapshot.
            RoomMessage::Snapshot { header, .. } => (self.offered, self.next) = (Some(*header), None),
            _ => {}
        }
        Vec::new()
    }

    fn enter(&mut self, welcome: &Welcome<'_>, is_recovering: bool) {
        if let Some(claim) = welcome.claim {
            (self.seat, self.token, self.epoch) = (Some(claim.seat), Some(claim.token), claim.epoch);
        }
        if let Ok(descriptor) = MatchDescriptor::from_bytes(welcome.descriptor) {
            self.generation = descriptor.generation();
        }
        self.next = match welcome.history {
            // What clients give back is sent to everyone, whoever had it.
            History::Frames { next } if !is_recovering => Some(next),
            History::Frames { .. } | History::Snapshot => None,
        };
    }

    fn begin(&mut self, generation: Generation) {
        (self.generation, self.next) = (generation, Some(Tick::ZERO));
        self.kept.clear();
        self.tags.clear();
    }

    /// Frames follow one another, and the first that stands alone is complete.
    fn read(&mut self, frames: &Frames<'_>, seats: SeatCount) -> Vec<Frame> {
        assert!(
            self.next.is_none_or(|next| next == frames.first),
            "ticks in order: {:?}, {:?}",
            self.next,
            frames.first
        );
        assert_eq!(frames.generation, self.generation);
        assert!(frames.complete || self.next.is_some(), "the first frame stands alone");
        let mut base = self.kept.last().filter(|_| !frames.complete).cloned();
        let (mut reader, mut read) = (FrameRunReader::new(frames.body), Vec::new());
        for offset in 0..u64::from(frames.count) {
            let tick = frames.first.saturating_add(offset);
            let mut frame = Frame::new(frames.generation, tick);
            let key = FrameKey { generation: frames.generation, tick, seats };
            let done = reader.read(&mut frame, base.as_ref(), key);
            assert_eq!(done, Ok(()), "the room's frames can be read");
            base = Some(frame.clone());
            read.push(frame);
        }
        assert_eq!(reader.finish(), Ok(()));
        self.keep(frames, &read);
        read
    }

    fn keep(&mut self, frames: &Frames<'_>, read: &[Frame]) {
        let end = frames.first.saturating_add(u64::from(frames.count));
        if self.kept.last().is_none_or(|last| last.tick().saturating_add(1) != frames.first) {
            self.kept.clear();
            self.tags.clear();
        }
        self.kept.extend_from_slice(read);
        let surplus = self.kept.len().saturating_sub(MAX_KEPT_FRAMES);
        self.kept.drain(..surplus);
        self.tags.push((end, frames.tag));
        if self.tags.len() > MAX_KEPT_FRAMES {
            self.tags.remove(0);
        }
        self.next = Some(end);
        self.received += read.len() as u64;
    }
}
