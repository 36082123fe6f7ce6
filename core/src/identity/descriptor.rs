//! One match: which game, which session config, which seed, how many seats (K12).

use alloc::vec::Vec;

use bincode::{BorrowDecode, Encode};

use super::IdentityManifest;
use crate::codec::wire::{self, Blob, WireError};
use crate::config::{MAX_CONFIG_BYTES, SessionConfig};
use crate::digest::{Digest, Identity};
use crate::frame::MAX_COMMAND_BYTES;
use crate::input::MAX_INPUT_BYTES;
use crate::rng::SessionSeed;
use crate::seat::{Generation, SeatCount};
use crate::tick::TickRate;

/// Most bytes of an encoded descriptor.
pub const MAX_DESCRIPTOR_BYTES: usize = MAX_CONFIG_BYTES + 1024;

/// What a room accepts of each input and command (A2, A4, K7). The room decodes neither; it enforces these.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Encode, BorrowDecode)]
pub struct InputLimits {
    /// Most bytes of one input.
    pub max_input_bytes: u16,
    /// Most ticks by which a client may delay its own input.
    pub max_input_delay_ticks: u16,
    /// Most bytes of one command; 0 for a game that takes none, so that no room orders one.
    pub max_command_bytes: u16,
}

/// Default of [`InputLimits::max_input_delay_ticks`].
pub const DEFAULT_MAX_INPUT_DELAY_TICKS: u16 = 12;

const MAX_COMMAND_BYTES_U16: u16 = 4096;

const _: () = assert!(MAX_INPUT_BYTES <= u16::MAX as usize && MAX_COMMAND_BYTES_U16 as usize == MAX_COMMAND_BYTES);

/// All that fixes a match before its first tick (K12). Its digest starts the frame chain and stands in snapshots and replays.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct MatchDescriptor {
    pub(super) parts: DescriptorParts,
    config: SessionConfig,
    digest: Digest,
}

#[derive(Clone, PartialEq, Eq, Debug, Encode, BorrowDecode)]
pub(super) struct DescriptorParts {
    pub(super) identity: Identity,
    pub(super) config: Blob<MAX_CONFIG_BYTES>,
    pub(super) config_digest: Digest,
    pub(super) seed: SessionSeed,
    pub(super) tick_rate: TickRate,
    pub(super) seats: SeatCount,
    pub(super) generation: Generation,
    pub(super) limits: InputLimits,
}

/// A descriptor that can't be.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
pub enum DescriptorError {
    /// The encoded descriptor is malformed.
    #[error("the encoded descriptor: {0}")]
    Encoding(#[from] WireError),
    /// The config's digest is not the digest of its bytes.
    #[error("the config digest is {expected}, but the config's bytes give {found}")]
    ConfigDigest {
        /// Digest that the descriptor states.
        expected: Digest,
        /// Digest of the bytes.
        found: Digest,
    },
    /// Inputs longer than [`MAX_INPUT_BYTES`] are allowed.
    #[error("inputs of {max_input_bytes} bytes, of which {MAX_INPUT_BYTES} are allowed")]
    InputBytes {
        /// What the descriptor states.
        max_input_bytes: u16,
    },
    /// Commands longer than [`MAX_COMMAND_BYTES`] are allowed.
    #[error("commands of {max_command_bytes} bytes, of which {MAX_COMMAND_BYTES} are allowed")]
    CommandBytes {
        /// What the descriptor states.
        max_command_bytes: u16,
    },
}

impl MatchDescriptor {
    /// Describes the first generation of a match of `manifest`'s game.
    pub fn new(
        manifest: &IdentityManifest,
        config: SessionConfig,
        seed: SessionSeed,
        seats: SeatCount,
    ) -> MatchDescriptor {
        let max_input_bytes = u16::try_from(manifest.input_schema().packed_bytes()).unwrap_or(u16::MAX);
        let parts = DescriptorParts {
            identity: manifest.identity(),
            config: Blob::new(config.bytes()).unwrap_or_default(),
            config_digest: config.digest(),
            seed,
            tick_rate: manifest.tick_rate(),
            seats,
            generation: Generation::default(),
            limits: InputLimits {
                max_input_bytes,
                max_input_delay_ticks: DEFAULT_MAX_INPUT_DELAY_TICKS,
                max_command_bytes: if manifest.capabilities().commands { MAX_COMMAND_BYTES_U16 } else { 0 },
            },
        };
        MatchDescriptor::assemble(parts, config)
    }

    fn assemble(parts: DescriptorParts, config: SessionConfig) -> MatchDescriptor {
        let digest = Digest::derived("retick 2026 match descriptor v1", &[&wire::encode(&parts)]);
        MatchDescriptor { parts, config, digest }
    }

    /// The descriptor that `bytes` encode.
    ///
    /// # Errors
    /// [`DescriptorError`] when they are malformed or contradict themselves.
    pub fn from_bytes(bytes: &[u8]) -> Result<MatchDescriptor, DescriptorError> {
        let parts: DescriptorParts = wire::decode(bytes, MAX_DESCRIPTOR_BYTES)?;
        let config = SessionConfig::from_blob(&parts.config);
        if config.digest() != parts.config_digest {
            return Err(DescriptorError::ConfigDigest { expected: parts.config_digest, found: config.digest() });
        }
        if usize::from(parts.limits.max_input_bytes) > MAX_INPUT_BYTES {
            return Err(DescriptorError::InputBytes { max_input_bytes: parts.limits.max_input_bytes });
        }
        if parts.limits.max_command_bytes > MAX_COMMAND_BYTES_U16 {
            return Err(DescriptorError::CommandBytes { max_command_bytes: parts.limits.max_command_bytes });
        }
        Ok(MatchDescriptor::assemble(parts, config))
    }

    /// The descriptor as bytes.
    #[must_use]
    pub fn to_bytes(&self) -> Vec<u8> {
        wire::encode(&self.parts)
    }

    /// The same match with a larger bound on input delay, in ticks.
    #[must_use]
    pub fn with_max_input_delay_ticks(mut self, ticks: u16) -> MatchDescriptor {
        self.parts.limits.max_input_delay_ticks = ticks;
        MatchDescriptor::assemble(self.parts, self.config)
    }

    /// The next generation of the same match, with another session config (A10); `None` once generations are used up.
    #[must_use]
    pub fn reconfigured(&self, config: SessionConfig) -> Option<MatchDescriptor> {
        let mut parts = self.parts.clone();
        parts.generation = Generation(parts.generation.0.checked_add(1)?);
        parts.config = Blob::new(config.bytes()).unwrap_or_default();
        parts.config_digest = config.digest();
        Some(MatchDescriptor::assemble(parts, config))
    }

    /// Digest of everything here.
    pub fn digest(&self) -> Digest {
        self.digest
    }

    /// The identity that every machine of the match must have.
    pub fn identity(&self) -> Identity {
        self.parts.identity
    }

    /// The session config.
    pub fn config(&self) -> &SessionConfig {
        &self.config
    }

    /// The seed of every random stream.
    pub fn seed(&self) -> &SessionSeed {
        &self.parts.seed
    }

    /// Ticks per second.
    pub fn tick_rate(&self) -> TickRate {
        self.parts.tick_rate
    }

    /// How many seats there are.
    pub fn seats(&self) -> SeatCount {
        self.parts.seats
    }

    /// Which session config of the room this is.
    pub fn generation(&self) -> Generation {
        self.parts.generation
    }

    /// What a room accepts of each input.
    pub fn limits(&self) -> InputLimits {
        self.parts.limits
    }
}
