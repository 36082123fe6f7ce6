//! Snapshot v2: the serialized, transferable, verified form of a confirmed state (S8).
//!
//! The state's bytes are cut into blocks of 64 KiB, each stored, packed with LZ4, or, when it is all zero, only named. Behind
//! everything stands a digest of everything, so that no byte can change unnoticed; it protects against damage, not against
//! whoever writes another snapshot. There is no version 1 decoder and no migration.
//!
//! The game here is that of the [crate's page](crate).
//!
//! ```
//! # mod race {
//! #     include!(concat!(env!("CARGO_MANIFEST_DIR"), "/doc/race.rs"));
//! # }
//! use race::{descriptor, factory, frame};
//! use retick_core::runtime::RuntimeFactory;
//! use retick_core::seat::SeatSet;
//! use retick_core::session::{Budget, Session, SessionPolicy};
//! use retick_core::snapshot::Snapshot;
//! use retick_core::tick::Tick;
//!
//! let watcher = || -> Result<Session, Box<dyn core::error::Error>> {
//!     let runtime = factory().create(&descriptor())?;
//!     Ok(Session::new(runtime, &descriptor(), SessionPolicy::default(), SeatSet::EMPTY)?)
//! };
//! let (mut donor, mut joiner) = (watcher()?, watcher()?);
//! for tick in 0..5 {
//!     donor.confirm(&frame(tick, [10, 20]))?;
//! }
//! donor.advance(Budget { confirmed_frames: usize::MAX, target: Tick::ZERO })?;
//!
//! let bytes = donor.export_snapshot(Tick::new(5))?.to_bytes();
//! joiner.hydrate(&Snapshot::from_bytes(&bytes)?)?;
//! assert_eq!((joiner.confirmed(), joiner.head_checksum()?), (Tick::new(5), donor.head_checksum()?));
//! // Half a snapshot is none.
//! assert!(Snapshot::from_bytes(&bytes[..bytes.len() / 2]).is_err());
//! # Ok::<(), Box<dyn core::error::Error>>(())
//! ```

mod block;
mod check;
mod error;
pub(crate) mod packing;
mod promotion;
#[cfg(test)]
mod tests;

use alloc::vec::Vec;

use bincode::{BorrowDecode, Encode};

use self::block::{BLOCK_BYTES, Block};
pub use self::check::{STATE_BLOCK_BYTES, StateCheck};
pub use self::error::{SnapshotError, SnapshotFrameError};
pub use self::promotion::{MAX_PROMOTION_BYTES, PromotionError, PromotionSnapshot};
use crate::codec::wire::{self, Blob, Cursor, List, WireError};
use crate::digest::{Checksum, DIGEST_BYTES, Digest};
use crate::frame::{CommandSource, Frame, FrameError, MAX_COMMANDS_PER_FRAME};
use crate::identity::MatchDescriptor;
use crate::input::MAX_INPUT_BYTES;
use crate::seat::{ControlEpoch, MAX_SEATS, Presence};
use crate::tick::Tick;

/// The version that stands in every snapshot.
pub const SNAPSHOT_VERSION: u16 = 2;
/// Most bytes of an encoded snapshot (A7).
pub const MAX_SNAPSHOT_BYTES: usize = 4 << 20;
/// Most bytes of a state once decoded; a bound of its own, since zero blocks take no bytes.
pub const MAX_STATE_BYTES: usize = 64 << 20;
/// Most confirmed frames behind a snapshot's state.
pub const MAX_SNAPSHOT_FRAMES: usize = 1024;
/// Most bytes of those frames. They stand in their self-contained form, so that decoding them takes no more than they bring.
pub const MAX_SNAPSHOT_FRAME_BYTES: usize = 1 << 20;
const MAX_BLOCKS: usize = MAX_STATE_BYTES / BLOCK_BYTES;
/// Encoded bytes of everything that has a fixed size, at most, and of one last input beside its bytes.
const FIXED_BYTES: usize = 256;
const LAST_INPUT_BYTES: usize = 16;

const _: () = assert!(MAX_SNAPSHOT_FRAME_BYTES < MAX_SNAPSHOT_BYTES, "frames leave room for a state");

/// A seat as the last confirmed frame before the snapshot left it: its input, policy applied, and its driver.
#[derive(Clone, PartialEq, Eq, Debug, Encode, BorrowDecode)]
pub struct LastInput {
    /// The packed input.
    pub input: Blob<MAX_INPUT_BYTES>,
    /// Who drove the seat.
    pub presence: Presence,
    /// Since which change of drivers.
    pub epoch: ControlEpoch,
}

impl LastInput {
    /// A seat's last input; longer inputs than a schema can have do not exist, and are taken as empty.
    #[must_use]
    pub fn new(packed: &[u8], presence: Presence, epoch: ControlEpoch) -> LastInput {
        LastInput { input: Blob::new(packed).unwrap_or_default(), presence, epoch }
    }
}

/// Where a world began (S7).
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Encode, BorrowDecode)]
pub enum Origin {
    /// With the match: at `S(0)` of its descriptor.
    #[default]
    Match,
    /// In another session, from which it was promoted.
    Promotion,
}

/// A confirmed state, ready to travel, with the confirmed frames that follow it, as far as its exporter retained them.
#[derive(Clone, PartialEq, Eq, Debug, Encode, BorrowDecode)]
pub struct Snapshot {
    version: u16,
    descriptor: Digest,
    tick: Tick,
    checksum: Checksum,
    origin: Origin,
    last_inputs: List<LastInput, { MAX_SEATS as usize }>,
    state_bytes: u64,
    blocks: List<Block, MAX_BLOCKS>,
    frames: List<Blob<MAX_SNAPSHOT_FRAME_BYTES>, MAX_SNAPSHOT_FRAMES>,
}

impl Snapshot {
    /// A snapshot of the confirmed `S(tick)` with these canonical bytes, without frames.
    #[must_use]
    pub fn new(descriptor: &MatchDescriptor, tick: Tick, last_inputs: Vec<LastInput>, state: &[u8]) -> Snapshot {
        Snapshot {
            version: SNAPSHOT_VERSION,
            descriptor: descriptor.digest(),
            tick,
            checksum: Checksum::of(state),
            origin: Origin::Match,
            last_inputs: List(last_inputs),
            state_bytes: state.len() as u64,
            blocks: List(state.chunks(BLOCK_BYTES).map(Block::pack).collect()),
            frames: List::default(),
        }
    }

    /// The same, if it can be read: neither the state nor the encoded snapshot is beyond its limit.
    pub(crate) fn check_size(self) -> Result<Snapshot, SnapshotError> {
        let within = |bytes: u64, limit: usize| {
            if bytes <= limit as u64 { Ok(()) } else { Err(SnapshotError::TooLarge { bytes, limit: limit as u64 }) }
        };
        within(self.state_bytes, MAX_STATE_BYTES)?;
        within(self.encoded_bytes() as u64, MAX_SNAPSHOT_BYTES)?;
        Ok(self)
    }

    /// The same, of a world that began there.
    #[must_use]
    pub(crate) fn with_origin(mut self, origin: Origin) -> Snapshot {
        self.origin = origin;
        self
    }

    /// Adds the confirmed frame that follows the state and the frames that are there.
    ///
    /// # Errors
    /// [`SnapshotError::Frame`] when it is not the next one of this match, or does not fit; nothing was added then.
    pub fn push_frame(&mut self, descriptor: &MatchDescriptor, frame: &Frame) -> Result<(), SnapshotError> {
        let tick = self.frontier();
        let refused = |error| SnapshotError::Frame { tick, error };
        check_frame(frame, tick, descriptor).map_err(refused)?;
        let mut bytes = Vec::new();
        frame.encode_full(&mut bytes);
        let fits = self.frames.0.len() < MAX_SNAPSHOT_FRAMES
            && self.frame_bytes() + bytes.len() <= MAX_SNAPSHOT_FRAME_BYTES
            && self.encoded_bytes() + encoded_frame_bytes(bytes.len()) <= MAX_SNAPSHOT_BYTES;
        let blob = Blob::new(bytes).filter(|_| fits).ok_or(refused(SnapshotFrameError::TooMany))?;
        self.frames.0.push(blob);
        Ok(())
    }

    /// The same snapshot without its frames: what a donor sends, since a client takes the frames from its room alone.
    #[must_use]
    pub fn without_frames(mut self) -> Snapshot {
        self.frames.0.clear();
        self
    }

    /// The snapshot that `bytes` encode.
    ///
    /// # Errors
    /// [`SnapshotError::Version`], [`SnapshotError::Encoding`] or [`SnapshotError::Damaged`].
    pub fn from_bytes(bytes: &[u8]) -> Result<Snapshot, SnapshotError> {
        let found = Cursor::new(bytes).take()?;
        if found != SNAPSHOT_VERSION {
            return Err(SnapshotError::Version { found });
        }
        if bytes.len() > MAX_SNAPSHOT_BYTES {
            return Err(WireError::TooLong { actual: bytes.len(), limit: MAX_SNAPSHOT_BYTES }.into());
        }
        let (body, expected) = bytes.split_last_chunk::<DIGEST_BYTES>().ok_or(WireError::Malformed)?;
        let (expected, found) = (Digest::from_bytes(*expected), seal(body));
        if expected != found {
            return Err(SnapshotError::Damaged { expected, found });
        }
        let snapshot: Snapshot = wire::decode(body, MAX_SNAPSHOT_BYTES)?;
        if snapshot.frame_bytes() > MAX_SNAPSHOT_FRAME_BYTES {
            return Err(SnapshotError::Frame { tick: snapshot.tick, error: SnapshotFrameError::TooMany });
        }
        Ok(snapshot)
    }

    /// The snapshot as bytes: equal snapshots give equal bytes.
    #[must_use]
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut bytes = wire::encode(self);
        let digest = seal(&bytes);
        bytes.extend_from_slice(digest.as_bytes());
        bytes
    }

    /// The state's tick.
    pub fn tick(&self) -> Tick {
        self.tick
    }

    /// The tick after the last frame: what a session is confirmed to once it has taken all of it.
    pub fn frontier(&self) -> Tick {
        self.tick.saturating_add(self.frames.0.len() as u64)
    }

    /// The state's checksum.
    pub fn checksum(&self) -> Checksum {
        self.checksum
    }

    /// The state's size in bytes, and its blocks as they are encoded: what a replay's key frame holds of a snapshot (R3).
    pub(crate) fn packed_state(&self) -> (u64, Vec<u8>) {
        (self.state_bytes, wire::encode(&self.blocks))
    }

    /// Digest of the match's descriptor.
    pub(crate) fn descriptor_digest(&self) -> Digest {
        self.descriptor
    }

    /// Where the state's world began (S7).
    pub fn origin(&self) -> Origin {
        self.origin
    }

    /// Each seat as the last confirmed frame before the state left it.
    pub fn last_inputs(&self) -> &[LastInput] {
        &self.last_inputs.0
    }

    /// The confirmed frames from the state's tick on, each checked against this match: its tick, generation, seats, and the
    /// limits of inputs and commands.
    ///
    /// # Errors
    /// [`SnapshotError::Frame`] naming the first that is wrong.
    pub fn frames(&self, descriptor: &MatchDescriptor) -> Result<Vec<Frame>, SnapshotError> {
        let mut frames = Vec::new();
        for (bytes, offset) in self.frames.iter().zip(0..) {
            let tick = self.tick.saturating_add(offset);
            let decoded = decode_frame(bytes.as_slice(), tick, descriptor);
            frames.push(decoded.map_err(|error| SnapshotError::Frame { tick, error })?);
        }
        Ok(frames)
    }

    pub(crate) fn check_match(&self, descriptor: &MatchDescriptor) -> Result<(), SnapshotError> {
        if self.descriptor == descriptor.digest() {
            return Ok(());
        }
        Err(SnapshotError::OtherMatch { expected: descriptor.digest(), found: self.descriptor })
    }

    /// Checks the match, the state's size and its checksum, and gives the state's canonical bytes.
    ///
    /// # Errors
    /// [`SnapshotError`] naming what differs.
    pub fn verify(&self, descriptor: &MatchDescriptor) -> Result<Vec<u8>, SnapshotError> {
        self.check_match(descriptor)?;
        let state = self.unpack().ok_or(SnapshotError::Blocks { state_bytes: self.state_bytes })?;
        let found = Checksum::of(&state);
        if found == self.checksum { Ok(state) } else { Err(SnapshotError::Checksum { expected: self.checksum, found }) }
    }

    fn unpack(&self) -> Option<Vec<u8>> {
        let total = usize::try_from(self.state_bytes).ok().filter(|total| *total <= MAX_STATE_BYTES)?;
        packing::unpack(&self.blocks, total)
    }

    fn frame_bytes(&self) -> usize {
        self.frames.iter().map(|frame| frame.as_slice().len()).sum()
    }

    /// Bytes that it encodes to, at most.
    fn encoded_bytes(&self) -> usize {
        let last: usize = self.last_inputs.iter().map(|last| last.input.as_slice().len() + LAST_INPUT_BYTES).sum();
        let blocks: usize = self.blocks.iter().map(Block::encoded_bytes).sum();
        let frames: usize = self.frames.iter().map(|frame| encoded_frame_bytes(frame.as_slice().len())).sum();
        FIXED_BYTES + last + blocks + frames
    }
}

/// The digest over everything before it.
fn seal(body: &[u8]) -> Digest {
    Digest::derived("retick 2026 snapshot v2", &[body])
}

/// A frame's encoded bytes with its length, at most.
fn encoded_frame_bytes(bytes: usize) -> usize {
    bytes + size_of::<u64>() + 1
}

fn decode_frame(bytes: &[u8], tick: Tick, descriptor: &MatchDescriptor) -> Result<Frame, SnapshotFrameError> {
    let (mut cursor, mut frame) = (Cursor::new(bytes), Frame::new(descriptor.generation(), tick));
    frame.decode_full(&mut cursor, descriptor.seats())?;
    cursor.finish().map_err(FrameError::Encoding)?;
    check_frame(&frame, tick, descriptor)?;
    Ok(frame)
}

fn check_frame(frame: &Frame, tick: Tick, descriptor: &MatchDescriptor) -> Result<(), SnapshotFrameError> {
    if frame.generation() != descriptor.generation() || frame.seat_count() != descriptor.seats().count() {
        return Err(SnapshotFrameError::OtherMatch);
    }
    if frame.tick() != tick {
        return Err(SnapshotFrameError::NotNext { found: frame.tick() });
    }
    if tick == Tick::MAX {
        return Err(SnapshotFrameError::TickRange);
    }
    let limits = descriptor.limits();
    let (most_input, most_command) = (usize::from(limits.max_input_bytes), usize::from(limits.max_command_bytes));
    let inputs_fit = frame.seats().all(|seat| seat.input.is_none_or(|input| input.len() <= most_input));
    // A game without commands has none, not even an empty one.
    let is_ours = |source| !matches!(source, CommandSource::Game(seat) if !descriptor.seats().contains(seat));
    let fits = |payload: &[u8]| most_command > 0 && payload.len() <= most_command;
    let commands_fit = frame.commands().len() <= MAX_COMMANDS_PER_FRAME
        && frame.commands().all(|(source, payload)| is_ours(source) && fits(payload));
    if inputs_fit && commands_fit { Ok(()) } else { Err(SnapshotFrameError::Limit) }
}
