//! What a replay is held against beside itself and the game (R2).

use super::file::Replay;
use super::refused::Refused;
#[cfg(feature = "signing")]
use super::signature::{Claim, ReplayPublicKey};
use crate::digest::Digest;

/// What the caller knows of a replay beside its file, and wants it held against before anything is stepped (R2). Nothing, unless
/// it says so: then a replay is held against itself and the loaded game.
///
/// ```
/// use retick_core::config::SessionConfig;
/// use retick_core::replay::Expected;
///
/// // A leaderboard for one map takes no replay of another.
/// let map = SessionConfig::from_bytes(b"map 7").expect("short");
/// let expected = Expected { config: Some(map.digest()), ..Expected::default() };
/// assert_ne!(expected, Expected::default());
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Expected {
    /// Digest of the session config.
    pub config: Option<Digest>,
    /// Digest of the whole match descriptor.
    pub descriptor: Option<Digest>,
    /// The key of the authority that has to have signed it.
    #[cfg(feature = "signing")]
    pub signer: Option<ReplayPublicKey>,
}

impl Expected {
    /// Holds the header against it.
    pub(super) fn check_header(&self, replay: &Replay) -> Result<(), Refused> {
        let found = replay.descriptor().config().digest();
        if let Some(expected) = self.config.filter(|expected| *expected != found) {
            return Err(Refused::Config { expected, found });
        }
        let found = replay.descriptor().digest();
        match self.descriptor.filter(|expected| *expected != found) {
            Some(expected) => Err(Refused::Match { expected, found }),
            None => Ok(()),
        }
    }

    /// Holds the whole file against it, whose frames were held against its chain before.
    #[cfg(feature = "signing")]
    pub(super) fn check_signature(&self, replay: &Replay) -> Result<(), Refused> {
        let Some(expected) = self.signer else { return Ok(()) };
        let signature = replay.signature();
        let is_signed = signature.zip(replay.chain_head()).is_some_and(|(signature, chain_head)| {
            let claim = Claim { descriptor: replay.descriptor().digest(), ticks: replay.ticks(), chain_head };
            signature.is_of(&expected, &claim)
        });
        let found = signature.and_then(|signature| signature.claimed_key().ok());
        if is_signed { Ok(()) } else { Err(Refused::Signature { expected, found }) }
    }

    /// Without signatures there is nothing to hold a file against.
    #[cfg(not(feature = "signing"))]
    pub(super) fn check_signature(&self, _: &Replay) -> Result<(), Refused> {
        Ok(())
    }
}
