//! How a file ends, and why bytes are not a replay (R1).

use super::framing::{REPLAY_VERSION, kind};
use crate::digest::Digest;
use crate::identity::{DescriptorError, ManifestError};
use crate::tick::Tick;

/// How a file ends.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ReplayEnd {
    /// With its end, which says so.
    Complete,
    /// Before its end: the recording, or the copying, was cut off.
    CutOff,
    /// With a block that is damaged, at this byte; nothing from there on was read.
    Damaged {
        /// Where the damaged block begins.
        offset: usize,
    },
}

impl core::fmt::Display for ReplayEnd {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        match self {
            ReplayEnd::Complete => f.write_str("complete"),
            ReplayEnd::CutOff => f.write_str("cut off"),
            ReplayEnd::Damaged { offset } => write!(f, "damaged at byte {offset}"),
        }
    }
}

/// Why bytes are not a replay that can be read here.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum ReplayError {
    /// They do not begin like a replay.
    #[error("not a replay")]
    NotAReplay,
    /// Another version.
    #[error("replay version {found}, where {REPLAY_VERSION} is read")]
    Version {
        /// The version that the file states.
        found: u16,
    },
    /// The header is cut off or damaged.
    #[error("the header is cut off or damaged")]
    Header,
    /// The manifest in the header is malformed.
    #[error("the manifest: {0}")]
    Manifest(#[from] ManifestError),
    /// The descriptor in the header is malformed.
    #[error("the descriptor: {0}")]
    Descriptor(#[from] DescriptorError),
    /// The descriptor is of another identity than the manifest.
    #[error("the descriptor is not of the manifest's identity")]
    OtherIdentity,
    /// A whole block of a kind that a reader has to understand, and this one does not: it may change what the others mean.
    #[error("the section of kind {kind} must be understood, and kinds 0 to {} are", kind::LAST_REQUIRED)]
    Section {
        /// The kind.
        kind: u8,
    },
}

/// The frames are not those that the file itself vouches for (R1).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct BrokenChain {
    /// The state up to which the chain was compared.
    pub tick: Tick,
    /// Head of the chain as the file states it.
    pub expected: Digest,
    /// Head of the chain over the frames.
    pub found: Digest,
}
