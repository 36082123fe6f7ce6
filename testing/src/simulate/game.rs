//! The games that simulated matches play, and what a player of each does.

use std::sync::Arc;

use retick_core::config::SessionConfig;
use retick_core::identity::MatchDescriptor;
use retick_core::input::InputSchema;
use retick_core::rng::SessionSeed;
use retick_core::runtime::RuntimeFactory;
use retick_core::seat::SeatCount;
use retick_core::tick::{Tick, TickRate};

use super::schedule::{ActorPlan, Game, Schedule};
use crate::fixtures::{
    MedleyInput, ent_factory, medley_config, medley_factory, pack_ent, pack_tally, tally_factory, tally_factory_at,
};

impl Game {
    /// Every game that is played.
    pub const ALL: [Game; 5] = [Game::Tally60, Game::Tally20, Game::Ent60, Game::Medley30, Game::Medley60];

    /// Its tick rate.
    pub fn rate(self) -> TickRate {
        match self {
            Game::Tally20 => TickRate::Hz20,
            Game::Medley30 => TickRate::Hz30,
            Game::Tally60 | Game::Ent60 | Game::Medley60 => TickRate::Hz60,
        }
    }

    /// Its factory.
    pub fn factory(self) -> Arc<dyn RuntimeFactory> {
        match self {
            Game::Tally60 => Arc::new(tally_factory()),
            Game::Tally20 => Arc::new(tally_factory_at::<20>()),
            Game::Ent60 => Arc::new(ent_factory()),
            Game::Medley30 => Arc::new(medley_factory::<30>()),
            Game::Medley60 => Arc::new(medley_factory::<60>()),
        }
    }

    /// Whether it has commands, a config and presentation events.
    pub fn is_medley(self) -> bool {
        matches!(self, Game::Medley30 | Game::Medley60)
    }

    /// A session config of it.
    pub(super) fn config(self, stride: u16) -> SessionConfig {
        if self.is_medley() { medley_config(i64::from(stride % 1000)) } else { SessionConfig::empty() }
    }

    /// A packed input, from a number that nobody expects.
    fn pack(self, number: u64, schema: &InputSchema) -> Vec<u8> {
        let [low, ..] = number.to_le_bytes();
        match self {
            Game::Tally60 | Game::Tally20 => pack_tally(i32::from(low.cast_signed())),
            Game::Ent60 => pack_ent(low.is_multiple_of(3)),
            Game::Medley30 | Game::Medley60 => {
                schema.pack(&MedleyInput(low.cast_signed())).unwrap_or_else(|error| panic!("an input: {error}"))
            }
        }
    }

    /// What this player does in a tick.
    pub(super) fn input(self, seed: u64, player: &ActorPlan, tick: Tick, schema: &InputSchema) -> Vec<u8> {
        let held = tick.index() / u64::from(player.holds_ticks.max(1));
        self.pack(mix(seed ^ mix(u64::from(player.number) << 32 ^ held)), schema)
    }
}

/// A number that depends on every bit of another one.
pub(super) fn mix(number: u64) -> u64 {
    let mut mixed = number.wrapping_add(0x9E37_79B9_7F4A_7C15);
    mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    mixed ^ (mixed >> 31)
}

impl Schedule {
    /// The match that it plays.
    pub(super) fn descriptor(&self, factory: &dyn RuntimeFactory) -> MatchDescriptor {
        let seats = SeatCount::new(self.seats.max(1)).unwrap_or_else(|| panic!("a match of {} seats", self.seats));
        MatchDescriptor::new(factory.manifest(), self.game.config(1), SessionSeed::from_u64(self.seed), seats)
    }
}
