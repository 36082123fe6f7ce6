//! Why a snapshot was not made or not taken (S8).

use crate::codec::wire::WireError;
use crate::digest::{Checksum, Digest};
use crate::frame::FrameError;
use crate::runtime::HydrateError;
use crate::session::StateReadError;
use crate::snapshot::{MAX_SNAPSHOT_FRAME_BYTES, MAX_SNAPSHOT_FRAMES, MAX_STATE_BYTES, SNAPSHOT_VERSION};
use crate::tick::Tick;

/// Why a snapshot was not made or not taken.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum SnapshotError {
    /// The state is not confirmed, was released or can't be read.
    #[error("{0}")]
    Read(#[from] StateReadError),
    /// The bytes are malformed.
    #[error("the encoded snapshot: {0}")]
    Encoding(#[from] WireError),
    /// The state is too large to travel, so none could read the snapshot.
    #[error("a snapshot of {bytes} bytes, of which {limit} are allowed")]
    TooLarge {
        /// Bytes of the state, or of the encoded snapshot.
        bytes: u64,
        /// Most bytes of it.
        limit: u64,
    },
    /// Another version than 2.
    #[error("snapshot version {found}, where {SNAPSHOT_VERSION} is read")]
    Version {
        /// The version that the snapshot states.
        found: u16,
    },
    /// The bytes are not those that were written: their digest is another.
    #[error("the snapshot's bytes give digest {found}, not {expected}")]
    Damaged {
        /// The digest that the snapshot states.
        expected: Digest,
        /// The digest of its bytes.
        found: Digest,
    },
    /// The snapshot is of another match.
    #[error("the snapshot is of match {found}, not {expected}")]
    OtherMatch {
        /// Digest of this match's descriptor.
        expected: Digest,
        /// Digest in the snapshot.
        found: Digest,
    },
    /// The snapshot is of a promoted world, and this session is of the match's own (S7).
    #[error("the snapshot is of a promoted world")]
    Promoted,
    /// The last inputs are not inputs of this match's seats.
    #[error("the last inputs are not inputs of this match's seats")]
    LastInputs,
    /// A confirmed frame is not one of this match's, or not the next.
    #[error("the frame of tick {tick}: {error}")]
    Frame {
        /// The tick whose frame was due.
        tick: Tick,
        /// What is wrong with it.
        error: SnapshotFrameError,
    },
    /// The blocks do not make a state of the stated size.
    #[error("the blocks do not make {state_bytes} bytes, of which {MAX_STATE_BYTES} are allowed")]
    Blocks {
        /// The stated size.
        state_bytes: u64,
    },
    /// The state's bytes have another checksum than the snapshot states.
    #[error("the state has checksum {found}, not {expected}")]
    Checksum {
        /// The stated one.
        expected: Checksum,
        /// The one of the bytes.
        found: Checksum,
    },
    /// The runtime did not take the state.
    #[error("{0}")]
    State(HydrateError),
}

/// What is wrong with a snapshot's confirmed frame.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
pub enum SnapshotFrameError {
    /// The bytes are not a frame of so many seats, or something follows it.
    #[error("{0}")]
    Frame(#[from] FrameError),
    /// It is of another tick.
    #[error("it is of tick {found}")]
    NotNext {
        /// The frame's tick.
        found: Tick,
    },
    /// It is of another generation or number of seats.
    #[error("it is of another generation or number of seats")]
    OtherMatch,
    /// An input or a command is longer than the match's descriptor allows.
    #[error("an input or a command is longer than the match allows")]
    Limit,
    /// More than [`MAX_SNAPSHOT_FRAMES`] frames, more than [`MAX_SNAPSHOT_FRAME_BYTES`] of them, or no room left for it.
    #[error("more than {MAX_SNAPSHOT_FRAMES} frames, or {MAX_SNAPSHOT_FRAME_BYTES} bytes of them")]
    TooMany,
    /// [`Tick::MAX`] has no state after it.
    #[error("the tick range ends here")]
    TickRange,
}
