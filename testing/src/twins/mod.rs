//! Faulty twins (T4): small games, each with one planted nondeterminism that the kit must catch, beside a clean twin that it must
//! pass. Twins of one game have one identity: what is planted is what a manifest can't see.
//!
//! ```
//! use retick_testing::assert::{check_deterministic, check_hydration};
//! use retick_testing::fixtures::{tally_descriptor, zig_packed};
//! use retick_testing::twins::{HonestCounter, SkippedField, twin_factory};
//!
//! let (honest, faulty) = (twin_factory::<HonestCounter>(), twin_factory::<SkippedField>());
//! assert!(check_hydration(&honest, &tally_descriptor(&honest, 2, 1), zig_packed, 60, 7).is_ok());
//! // A field that is not encoded is there in every instance that played from the start, and missing in a joiner.
//! let descriptor = tally_descriptor(&faulty, 2, 1);
//! assert!(check_deterministic(&faulty, &descriptor, zig_packed, 60).is_ok());
//! assert!(check_hydration(&faulty, &descriptor, zig_packed, 60, 7).is_err());
//! ```

mod clocked;
mod duel;
mod flipped;
mod floats;
mod hidden;
mod leaks;
mod list;
mod noisy;
mod ordered;
mod padded;
mod planted;
mod push;
mod queries;

pub use clocked::{WallClocked, wall_clocked_factory};
pub use duel::{BySeat, Duel, LocalFirst, Shot, ShotOrder, duel_factory};
pub use flipped::{Flip, FlippedFrame, FlippedMix, FlippedSub, FlippedSum, FlippedTally, flipped_factory};
pub use floats::{FloatLeft, Floats, LastBit, NanBits, RawFloats, ZeroSign, floats_factory};
pub use hidden::{LateEffect, LossySnapshot, ProcessRandom, SkippedRandom, StartedAt};
pub use leaks::{HonestCounter, Leak, Leaky, SharedCell, SkippedField, StaticCounter, twin_factory};
pub use list::{Kind, Twin, every_twin};
pub use noisy::{FirstExecution, Noise, Noisy, Numbered, Steady, Unencoded, noisy_factory};
pub use ordered::{ByAddress, ByCompletion, ByNumber, EntityOrder, Ordered, ordered_factory};
pub use padded::{LogicalForm, Narrow, Padded, RawForm, Saving, Wide, padded_factory};
pub use planted::{Place, Plant, PlantedFactory, Reach};
pub use push::{OrderedIds, ProbedIds, Push, PushIds, RandomIds, push_factory};
pub use queries::{HiddenCache, QueryCache, ShownExecutions, ShownMachine, ViewReader};

use retick_core::config::ConfigSchema;
use retick_core::runtime::{Capabilities, GameDescription};
use retick_core::tick::TickRate;

/// What every twin says of itself, but for its state and whether it projects.
fn description(state_schema: &'static str, projection: bool) -> GameDescription {
    GameDescription {
        tick_rate: TickRate::Hz60,
        state_schema,
        config_schema: ConfigSchema::empty(),
        seats: 1..=8,
        capabilities: Capabilities { commands: false, projection },
    }
}
