//! Why a replay is refused, with what was expected, what was found, and a code that stays (R2).

use alloc::boxed::Box;
use alloc::string::{String, ToString};

use super::error::{BrokenChain, ReplayError};
#[cfg(feature = "signing")]
use super::signature::ReplayPublicKey;
use crate::digest::{Checksum, Digest, Identity};
use crate::identity::{DescriptorError, IdentityManifest, IdentityPart};
use crate::runtime::{AdvanceError, CreateError};
use crate::tick::Tick;

/// Why a replay was refused. Nothing was stepped, except for the last two reasons.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum Refused {
    /// It can't be read.
    #[error("{0}")]
    Unreadable(#[from] ReplayError),
    /// It was recorded with another identity.
    #[error("{0}")]
    Identity(Box<IdentityMismatch>),
    /// It is of another session config than the caller expects.
    #[error("the replay is of the session config {found}, where {expected} was expected")]
    Config {
        /// Digest of the config that the caller expects.
        expected: Digest,
        /// Digest of the replay's.
        found: Digest,
    },
    /// It is of another match than the caller expects: another seed, seats, generation or limits.
    #[error("the replay is of the match {found}, where {expected} was expected")]
    Match {
        /// Digest of the descriptor that the caller expects.
        expected: Digest,
        /// Digest of the replay's.
        found: Digest,
    },
    /// It does not bear the signature that the caller expects.
    #[cfg(feature = "signing")]
    #[error("the replay is to be signed by {expected}, and {}", signed_words(.found.as_ref()))]
    Signature {
        /// The key that the caller trusts.
        expected: ReplayPublicKey,
        /// The key that claims to have signed; the expected one where its signature is not one of this match and these frames.
        found: Option<ReplayPublicKey>,
    },
    /// The frames are not those that the file itself vouches for: it was put together, or changed by hand.
    #[error("the frame chain up to S({tick}) ends in {found}, not {expected}")]
    Chain {
        /// Where the chain was compared: at a key frame, or at the end.
        tick: Tick,
        /// What the file states.
        expected: Digest,
        /// What the frames give.
        found: Digest,
    },
    /// There is no runtime for its match.
    #[error("{0}")]
    Create(CreateError),
    /// The game faults while it is re-simulated, which no confirmed tick of a finished match does.
    #[error("{0}")]
    Fault(AdvanceError),
    /// Every checksum is right, but a key frame holds another state: whoever seeks would see another match.
    #[error("the key frame of S({tick}) holds {}, where re-simulation gives {found}", expected_words(.expected.as_ref()))]
    KeyFrame {
        /// The state.
        tick: Tick,
        /// Checksum of the state that the key frame holds; `None` where it holds none.
        expected: Option<Checksum>,
        /// What re-simulation gives.
        found: Checksum,
    },
}

/// A replay of one game, and another one that is loaded.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error(
    "the replay is of identity {expected}, but {found} is loaded; they differ in {}: {expected_value} in the replay, {found_value} here",
    part_words(.part.as_ref())
)]
pub struct IdentityMismatch {
    /// The replay's identity.
    pub expected: Identity,
    /// The loaded game's.
    pub found: Identity,
    /// The first part that differs.
    pub part: Option<IdentityPart>,
    /// What the replay has for that part, in words; `none` where it has nothing.
    pub expected_value: String,
    /// What the loaded game has.
    pub found_value: String,
}

impl Refused {
    /// A code for scripts, support and telemetry, which stays the same while words change.
    pub fn code(&self) -> &'static str {
        match self {
            Refused::Unreadable(ReplayError::NotAReplay) => "RTK-R001",
            Refused::Unreadable(ReplayError::Version { .. }) => "RTK-R002",
            Refused::Unreadable(ReplayError::Header) => "RTK-R003",
            Refused::Unreadable(ReplayError::Section { .. }) => "RTK-R004",
            Refused::Unreadable(ReplayError::Manifest(_)) => "RTK-R005",
            Refused::Unreadable(ReplayError::Descriptor(DescriptorError::ConfigDigest { .. })) => "RTK-R006",
            Refused::Unreadable(ReplayError::Descriptor(_)) => "RTK-R007",
            Refused::Unreadable(ReplayError::OtherIdentity) => "RTK-R008",
            Refused::Identity(mismatch) => identity_code(mismatch.part.as_ref()),
            Refused::Config { .. } => "RTK-R030",
            Refused::Match { .. } => "RTK-R031",
            #[cfg(feature = "signing")]
            Refused::Signature { .. } => "RTK-R032",
            Refused::Chain { .. } => "RTK-R033",
            Refused::Create(_) => "RTK-R040",
            Refused::Fault(_) => "RTK-R041",
            Refused::KeyFrame { .. } => "RTK-R042",
        }
    }

    /// The refusal of a replay of `recorded` where `loaded` is loaded.
    pub(super) fn of_identity(recorded: &IdentityManifest, loaded: &IdentityManifest) -> Refused {
        let part = loaded.difference(recorded);
        let value = |manifest: &IdentityManifest| {
            part.as_ref().and_then(|part| manifest.value_of(part)).unwrap_or_else(|| "none".to_string())
        };
        let (expected_value, found_value) = (value(recorded), value(loaded));
        let (expected, found) = (recorded.identity(), loaded.identity());
        Refused::Identity(Box::new(IdentityMismatch { expected, found, part, expected_value, found_value }))
    }
}

impl From<BrokenChain> for Refused {
    fn from(BrokenChain { tick, expected, found }: BrokenChain) -> Refused {
        Refused::Chain { tick, expected, found }
    }
}

fn identity_code(part: Option<&IdentityPart>) -> &'static str {
    match part {
        None => "RTK-R010",
        Some(IdentityPart::Engine) => "RTK-R011",
        Some(IdentityPart::AbiVersion) => "RTK-R012",
        Some(IdentityPart::Setting { .. }) => "RTK-R013",
        Some(IdentityPart::TickRate) => "RTK-R014",
        Some(IdentityPart::Capabilities) => "RTK-R015",
        Some(IdentityPart::InputSchema) => "RTK-R016",
        Some(IdentityPart::StateSchema) => "RTK-R017",
        Some(IdentityPart::ConfigSchema) => "RTK-R018",
        Some(IdentityPart::Module { .. }) => "RTK-R019",
        Some(IdentityPart::Dependency { .. }) => "RTK-R020",
    }
}

fn part_words(part: Option<&IdentityPart>) -> String {
    match part {
        None => "nothing that is named".to_string(),
        Some(IdentityPart::Engine) => "the engine".to_string(),
        Some(IdentityPart::AbiVersion) => "the version of the interface".to_string(),
        Some(IdentityPart::Setting { name }) => alloc::format!("the setting {name}"),
        Some(IdentityPart::TickRate) => "the tick rate".to_string(),
        Some(IdentityPart::Capabilities) => "commands or projection".to_string(),
        Some(IdentityPart::InputSchema) => "the input schema".to_string(),
        Some(IdentityPart::StateSchema) => "the state's schema".to_string(),
        Some(IdentityPart::ConfigSchema) => "the config's schema".to_string(),
        Some(IdentityPart::Module { path }) => alloc::format!("the module {path}"),
        Some(IdentityPart::Dependency { name }) => alloc::format!("the dependency {name}"),
    }
}

#[cfg(feature = "signing")]
fn signed_words(found: Option<&ReplayPublicKey>) -> String {
    found.map_or_else(|| "nobody has signed it".to_string(), |key| alloc::format!("the signature by {key} is not that"))
}

fn expected_words(checksum: Option<&Checksum>) -> String {
    checksum.map_or_else(|| "no state".to_string(), |checksum| alloc::format!("a state with {checksum}"))
}
