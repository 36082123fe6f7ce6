//! Which field of a state stands at a byte of its canonical form: what turns the address of a desync into a name (A8, T3).
//!
//! A native game whose state is `serde` needs nothing of its own: [`SerdeFields`] decodes the state and says which value stands
//! where. A module's state is memory; what its compiler or its author knows of it comes as a list of [`Symbols`]. Both are tools'
//! business: no room, client or session asks for a name.
//!
//! ```
//! use retick_core::fields::{FieldNames, SerdeFields, path_at};
//! use serde::{Deserialize, Serialize};
//!
//! #[derive(Serialize, Deserialize)]
//! struct Player {
//!     health: u16,
//!     name: String,
//! }
//!
//! #[derive(Serialize, Deserialize)]
//! struct Arena {
//!     clock: u64,
//!     players: Vec<Player>,
//! }
//!
//! let players = [(80, "ann"), (95, "bo")].map(|(health, name)| Player { health, name: name.into() });
//! let arena = Arena { clock: 7, players: players.into() };
//! // Eight bytes of clock, eight of the list's length, and the first player's thirteen.
//! assert_eq!(path_at(&arena, 29).as_deref(), Some("players[1].health"));
//! assert_eq!(path_at(&arena, 8).as_deref(), Some("players.len"));
//! assert_eq!(path_at(&arena, 1_000), None);
//!
//! // A native runtime's state is the tick and then the game's own bytes.
//! let state = [&12_u64.to_le_bytes()[..], &retick_core::codec::canonical::encode(&arena)?].concat();
//! let names = SerdeFields::<Arena>::new();
//! assert_eq!(names.name(&state, 0).as_deref(), Some("tick"));
//! assert_eq!(names.name(&state, 8 + 29).as_deref(), Some("players[1].health"));
//! # Ok::<(), Box<dyn core::error::Error>>(())
//! ```

mod locate;
mod symbols;
#[cfg(test)]
mod tests;

use alloc::string::{String, ToString};
use core::marker::PhantomData;

use serde::Serialize;
use serde::de::DeserializeOwned;

pub use locate::path_at;
pub use symbols::{MAX_SYMBOLS, Symbols, SymbolsError};

use crate::codec::canonical;

/// Bytes of the tick, which every native state begins with.
const TICK_BYTES: usize = 8;

/// Names the fields of one game's states.
pub trait FieldNames: Send + Sync {
    /// The field that stands at byte `offset` of a state with these canonical bytes; `None` if there is none, or it has no name.
    fn name(&self, state: &[u8], offset: u64) -> Option<String>;
}

/// The fields of a native game whose state has the kernel's own form ([`SerdeState`](crate::runtime::SerdeState)).
#[derive(Debug)]
pub struct SerdeFields<S>(PhantomData<fn() -> S>);

impl<S> SerdeFields<S> {
    /// Of the game whose [`Simulation`](crate::runtime::Simulation) is `S`.
    pub const fn new() -> SerdeFields<S> {
        SerdeFields(PhantomData)
    }
}

impl<S> Default for SerdeFields<S> {
    fn default() -> Self {
        SerdeFields::new()
    }
}

impl<S: Serialize + DeserializeOwned> FieldNames for SerdeFields<S> {
    fn name(&self, state: &[u8], offset: u64) -> Option<String> {
        let (_, body) = state.split_at_checked(TICK_BYTES)?;
        let Some(offset) = offset.checked_sub(TICK_BYTES as u64) else { return Some("tick".to_string()) };
        path_at(&canonical::decode::<S>(body).ok()?, offset)
    }
}
