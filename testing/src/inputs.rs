//! Players and configs that are made up from a game's schemas alone, for tests that know no more of it.
//!
//! ```
//! use std::sync::Arc;
//!
//! use retick_core::runtime::RuntimeFactory;
//! use retick_testing::assert::assert_two_client_convergence;
//! use retick_testing::fixtures::{tally_descriptor, tally_factory};
//! use retick_testing::inputs::made_up_inputs;
//!
//! let game = Arc::new(tally_factory());
//! let script = made_up_inputs(game.manifest().input_schema().clone(), 7);
//! assert_two_client_convergence(&game, &tally_descriptor(game.as_ref(), 2, 1), &script, 120);
//! ```

use std::num::NonZeroU64;

use retick_core::config::{ConfigError, ConfigKind, ConfigSchema, ConfigValue, SessionConfig};
use retick_core::input::InputSchema;
use retick_core::rng::{RngStream, SessionSeed};
use retick_core::seat::Seat;
use retick_core::tick::Tick;

/// For how many ticks a made-up player holds an input.
const HOLD_TICKS: u64 = 9;

/// Players who know no more than the schema: each holds a drawn input for a while, then another one. Every value that a field can
/// have is drawn, and the seed decides all.
///
/// ```
/// use retick_core::seat::Seat;
/// use retick_core::tick::Tick;
/// use retick_testing::inputs::made_up_inputs;
/// # use retick_core::input::GameInput;
/// # let schema = retick_testing::fixtures::TallyInput::schema();
///
/// let script = made_up_inputs(schema.clone(), 7);
/// let seat = Seat::new(1).expect("a seat");
/// assert_eq!(schema.validate(&script(seat, Tick::ZERO)), Ok(()));
/// assert_ne!(script(seat, Tick::ZERO), script(seat, Tick::new(9)));
/// ```
pub fn made_up_inputs(schema: InputSchema, seed: u64) -> impl Fn(Seat, Tick) -> Vec<u8> + Clone + Send + Sync {
    move |seat, tick| {
        let hold = (tick.index() + seat.index() as u64 * 4) / HOLD_TICKS;
        let mut draws = RngStream::derive(&SessionSeed::from_u64(seed), &format!("seat {seat} hold {hold}"));
        schema.pack_raw(|field| match field.kind().greatest_raw().checked_add(1).and_then(NonZeroU64::new) {
            Some(values) => draws.below_u64(values),
            None => draws.next_u64(),
        })
    }
}

/// The session config whose values are as near to zero as their fields allow: false, empty, and the integer nearest to 0.
///
/// # Errors
/// [`ConfigError`] when not even that one is as short as the schema wants.
pub fn nearest_to_zero(schema: &ConfigSchema) -> Result<SessionConfig, ConfigError> {
    let value = |kind: &ConfigKind| match kind {
        ConfigKind::Integer { low, high } => ConfigValue::from(0.clamp(*low, *high)),
        ConfigKind::Boolean => ConfigValue::from(false),
        ConfigKind::Text { .. } => ConfigValue::from(""),
        ConfigKind::Bytes { .. } => ConfigValue::from(&[][..]),
    };
    let values: Vec<_> = schema.fields().iter().map(|field| (field.name(), value(field.kind()))).collect();
    schema.encode(&values)
}
