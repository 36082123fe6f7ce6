//! Snapshot v2: the serialized, transferable, verified form of a confirmed state (S8).
//!
//! The state's bytes are cut into blocks of 64 KiB, each stored, packed with LZ4, or, when it is all zero, only named. There is
//! no version 1 decoder and no migration.
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

use alloc::vec::Vec;

use bincode::{BorrowDecode, Encode};

use crate::codec::wire::{self, Blob, List, WireError};
use crate::digest::{Checksum, Digest};
use crate::identity::MatchDescriptor;
use crate::input::MAX_INPUT_BYTES;
use crate::runtime::{CheckpointError, HydrateError};
use crate::seat::{ControlEpoch, MAX_SEATS, Presence};
use crate::tick::Tick;

/// The version that stands in every snapshot.
pub const SNAPSHOT_VERSION: u16 = 2;
/// Most bytes of an encoded snapshot (A7).
pub const MAX_SNAPSHOT_BYTES: usize = 4 << 20;
/// Most bytes of a state once decoded; a bound of its own, since zero blocks take no bytes.
pub const MAX_STATE_BYTES: usize = 64 << 20;
/// Decoded bytes of every block but the last.
const BLOCK_BYTES: usize = 64 << 10;
const MAX_BLOCKS: usize = MAX_STATE_BYTES / BLOCK_BYTES;

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

/// A confirmed state, ready to travel.
#[derive(Clone, PartialEq, Eq, Debug, Encode, BorrowDecode)]
pub struct Snapshot {
    version: u16,
    descriptor: Digest,
    tick: Tick,
    checksum: Checksum,
    last_inputs: List<LastInput, { MAX_SEATS as usize }>,
    state_bytes: u64,
    blocks: List<Block, MAX_BLOCKS>,
}

#[derive(Clone, PartialEq, Eq, Debug, Encode, BorrowDecode)]
enum Block {
    Zero,
    Stored(Blob<BLOCK_BYTES>),
    Packed(Blob<BLOCK_BYTES>),
}

/// Why a snapshot was not made or not taken.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum SnapshotError {
    /// The state was released, or is not confirmed.
    #[error("S({tick}) is not kept")]
    Released {
        /// The tick.
        tick: Tick,
    },
    /// The checkpoint can't be read.
    #[error("{0}")]
    Checkpoint(#[from] CheckpointError),
    /// The bytes are malformed.
    #[error("the encoded snapshot: {0}")]
    Encoding(#[from] WireError),
    /// Another version than 2.
    #[error("snapshot version {found}, where {SNAPSHOT_VERSION} is read")]
    Version {
        /// The version that the snapshot states.
        found: u16,
    },
    /// The snapshot is of another match.
    #[error("the snapshot is of match {found}, not {expected}")]
    OtherMatch {
        /// Digest of this match's descriptor.
        expected: Digest,
        /// Digest in the snapshot.
        found: Digest,
    },
    /// The last inputs are not inputs of this match's seats.
    #[error("the last inputs are not inputs of this match's seats")]
    LastInputs,
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

impl Snapshot {
    /// A snapshot of the confirmed `S(tick)` with these canonical bytes.
    #[must_use]
    pub fn new(descriptor: &MatchDescriptor, tick: Tick, last_inputs: Vec<LastInput>, state: &[u8]) -> Snapshot {
        Snapshot {
            version: SNAPSHOT_VERSION,
            descriptor: descriptor.digest(),
            tick,
            checksum: Checksum::of(state),
            last_inputs: List(last_inputs),
            state_bytes: state.len() as u64,
            blocks: List(state.chunks(BLOCK_BYTES).map(Block::pack).collect()),
        }
    }

    /// The snapshot that `bytes` encode.
    ///
    /// # Errors
    /// [`SnapshotError::Version`] or [`SnapshotError::Encoding`].
    pub fn from_bytes(bytes: &[u8]) -> Result<Snapshot, SnapshotError> {
        let found = wire::Cursor::new(bytes).take()?;
        if found != SNAPSHOT_VERSION {
            return Err(SnapshotError::Version { found });
        }
        Ok(wire::decode(bytes, MAX_SNAPSHOT_BYTES)?)
    }

    /// The snapshot as bytes.
    #[must_use]
    pub fn to_bytes(&self) -> Vec<u8> {
        wire::encode(self)
    }

    /// The state's tick.
    pub fn tick(&self) -> Tick {
        self.tick
    }

    /// The state's checksum.
    pub fn checksum(&self) -> Checksum {
        self.checksum
    }

    /// Each seat as the last confirmed frame left it.
    pub fn last_inputs(&self) -> &[LastInput] {
        &self.last_inputs.0
    }

    /// Checks every field against this match, and gives the state's canonical bytes.
    ///
    /// # Errors
    /// [`SnapshotError`] naming what differs.
    pub fn verify(&self, descriptor: &MatchDescriptor) -> Result<Vec<u8>, SnapshotError> {
        if self.descriptor != descriptor.digest() {
            return Err(SnapshotError::OtherMatch { expected: descriptor.digest(), found: self.descriptor });
        }
        let state = self.unpack().ok_or(SnapshotError::Blocks { state_bytes: self.state_bytes })?;
        let found = Checksum::of(&state);
        if found == self.checksum { Ok(state) } else { Err(SnapshotError::Checksum { expected: self.checksum, found }) }
    }

    fn unpack(&self) -> Option<Vec<u8>> {
        let total = usize::try_from(self.state_bytes).ok().filter(|total| *total <= MAX_STATE_BYTES)?;
        if total.div_ceil(BLOCK_BYTES) != self.blocks.0.len() {
            return None;
        }
        let mut state = Vec::new();
        for block in self.blocks.iter() {
            let length = BLOCK_BYTES.min(total - state.len());
            block.unpack(length, &mut state)?;
        }
        Some(state)
    }
}

impl Block {
    fn pack(bytes: &[u8]) -> Block {
        if bytes.iter().all(|byte| *byte == 0) {
            return Block::Zero;
        }
        let packed = lz4_flex::block::compress(bytes);
        let smaller = Blob::new(packed).filter(|packed| packed.as_slice().len() < bytes.len());
        smaller.map(Block::Packed).unwrap_or_else(|| Block::Stored(Blob::new(bytes).unwrap_or_default()))
    }

    /// Appends exactly `length` bytes, or says that the block has another length.
    fn unpack(&self, length: usize, state: &mut Vec<u8>) -> Option<()> {
        let start = state.len();
        match self {
            Block::Zero => state.resize(start + length, 0),
            Block::Stored(bytes) if bytes.as_slice().len() == length => state.extend_from_slice(bytes.as_slice()),
            Block::Stored(_) => return None,
            Block::Packed(packed) => {
                state.resize(start + length, 0);
                let written = lz4_flex::block::decompress_into(packed.as_slice(), &mut state[start..]).ok()?;
                if written != length {
                    return None;
                }
            }
        }
        Some(())
    }
}
