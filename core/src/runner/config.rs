//! What a runner is made with, and what a match is started with.

use alloc::string::String;
use alloc::vec::Vec;

use super::RunnerConfigError;
use crate::client::{ClientConfig, MOBILE_CHECKSUM_CADENCE_TICKS, Preparation};
use crate::identity::MatchDescriptor;
use crate::seat::{Seat, SeatSet};
use crate::session::{
    DEFAULT_CHECKSUM_CADENCE_TICKS, DEFAULT_MAX_STEPS_PER_UPDATE, LocalConfig, MAX_STEPS_PER_UPDATE, Recording,
    SessionPolicy,
};

/// Default of [`ClientConfig::max_confirmed_frames_per_turn`] in a runner, so that an update's work is bounded (N8): a second at
/// 60 Hz, caught up in one update.
pub const DEFAULT_MAX_CONFIRMED_FRAMES_PER_UPDATE: u32 = 60;
/// Most of [`RunnerConfig::confirmed_frame_queue`].
pub const MAX_CONFIRMED_FRAME_QUEUE: u32 = 4096;

/// Whether the game prepares a networked match before tick 0, for example by loading its assets (N7, K12).
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum AssetPreparation {
    /// It does not: the session is built as soon as the greeting was verified.
    #[default]
    None,
    /// [`Output::Prepare`](super::Output::Prepare) comes out, and the session waits for
    /// [`Runner::complete_preparation`](super::Runner::complete_preparation).
    Awaited {
        /// The config's field of the kind bytes that holds the [`AssetPins`](crate::asset::AssetPins); `None` for a game that pins
        /// nothing and prepares all the same.
        pins_field: Option<&'static str>,
    },
}

/// What a runner is to do. The defaults are those of the spec.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct RunnerConfig {
    /// What the networked client is to do. Its checkpoint window, retention, required capabilities and presentation policy are those
    /// of offline play too. [`ClientConfig::recording`] and [`ClientConfig::preparation`] are the runner's.
    pub client: ClientConfig,
    /// Most ticks stepped in one offline update; the time beyond is dropped (S6).
    pub max_offline_steps_per_update: u16,
    /// Every how many ticks an offline match gives a checksum. A networked one follows its room.
    pub offline_checksum_cadence_ticks: u32,
    /// How many confirmed frames wait for [`Runner::pop_confirmed_frame`](super::Runner::pop_confirmed_frame); 0 for a game that
    /// takes none. The oldest make room, and are counted.
    pub confirmed_frame_queue: u32,
    /// Whether the game prepares a networked match before tick 0.
    pub preparation: AssetPreparation,
}

impl Default for RunnerConfig {
    fn default() -> Self {
        RunnerConfig {
            client: ClientConfig {
                max_confirmed_frames_per_turn: Some(DEFAULT_MAX_CONFIRMED_FRAMES_PER_UPDATE),
                ..ClientConfig::default()
            },
            max_offline_steps_per_update: DEFAULT_MAX_STEPS_PER_UPDATE,
            offline_checksum_cadence_ticks: DEFAULT_CHECKSUM_CADENCE_TICKS,
            confirmed_frame_queue: 0,
            preparation: AssetPreparation::default(),
        }
    }
}

impl RunnerConfig {
    /// For a phone that plays a game with large states: [`ClientConfig::mobile`]. The room's cadence should be
    /// [`MOBILE_CHECKSUM_CADENCE_TICKS`].
    #[must_use]
    pub fn mobile() -> RunnerConfig {
        let defaults = RunnerConfig::default();
        RunnerConfig {
            client: ClientConfig::mobile(),
            offline_checksum_cadence_ticks: MOBILE_CHECKSUM_CADENCE_TICKS,
            ..defaults
        }
    }

    pub(super) fn check(&self) -> Result<(), RunnerConfigError> {
        let found = self.max_offline_steps_per_update;
        if !(1..=MAX_STEPS_PER_UPDATE).contains(&found) {
            return Err(RunnerConfigError::OfflineSteps { found });
        }
        if self.client.max_confirmed_frames_per_turn == Some(0) || self.client.max_steps_per_turn == 0 {
            return Err(RunnerConfigError::NoTurn);
        }
        let (found, most) = (self.confirmed_frame_queue, MAX_CONFIRMED_FRAME_QUEUE);
        if found > most {
            return Err(RunnerConfigError::FrameQueue { found, most });
        }
        let (window, cadence) = (self.client.checkpoint_window_ticks, self.offline_checksum_cadence_ticks);
        if cadence == 0 || window < cadence {
            return Err(RunnerConfigError::Cadence { window, cadence });
        }
        Ok(())
    }

    fn recording(&self) -> Recording {
        if self.confirmed_frame_queue > 0 { Recording::Frames } else { Recording::Off }
    }

    /// What a client is made with.
    pub(super) fn networked(&self) -> ClientConfig {
        let preparation = match self.preparation {
            AssetPreparation::None => Preparation::None,
            AssetPreparation::Awaited { .. } => Preparation::Awaited,
        };
        ClientConfig { recording: self.recording(), preparation, ..self.client }
    }

    /// What an offline session is made with.
    pub(super) fn offline(&self, options: &OfflineOptions) -> LocalConfig {
        let policy = SessionPolicy {
            checkpoint_window_ticks: self.client.checkpoint_window_ticks,
            retention: self.client.retention,
            checksum_cadence_ticks: self.offline_checksum_cadence_ticks,
            requires: self.client.requires,
            recording: self.recording(),
            input_retention: self.client.input_retention,
            presentation: self.client.presentation,
            ..SessionPolicy::default()
        };
        LocalConfig {
            local_seats: options.local_seats,
            bot_seats: options.bot_seats,
            max_steps_per_update: self.max_offline_steps_per_update,
            policy,
        }
    }
}

/// What an offline match is started with.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct OfflineOptions {
    /// What is played: identity, session config, seed and seats.
    pub descriptor: MatchDescriptor,
    /// The seats of the players at this machine.
    pub local_seats: SeatSet,
    /// The seats that [`TickInputs::bot`](crate::session::TickInputs::bot) plays; the others are empty.
    pub bot_seats: SeatSet,
}

impl OfflineOptions {
    /// One player on seat 0, and nobody else.
    #[must_use]
    pub fn new(descriptor: MatchDescriptor) -> OfflineOptions {
        let LocalConfig { local_seats, bot_seats, .. } = LocalConfig::default();
        OfflineOptions { descriptor, local_seats, bot_seats }
    }

    /// Bots on every seat that no player has.
    #[must_use]
    pub fn fill_with_bots(mut self) -> OfflineOptions {
        let free = |seat: &Seat| !self.local_seats.contains(*seat);
        self.bot_seats = self.descriptor.seats().seats().filter(free).collect();
        self
    }
}

/// What a networked match is started with.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct NetworkedOptions {
    /// The room's code, to be shown, if the transport has one.
    pub room_code: Option<String>,
    /// The join ticket of the game's backend; empty for an open room (V1).
    pub ticket: Vec<u8>,
}
