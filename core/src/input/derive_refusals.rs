//! What `#[derive(GameInput)]` refuses to compile (S2). The messages are tested where they are made; here, that each stops the
//! compiler, beside the same input without the mistake.
//!
//! ```
//! use retick_core::input::{GameInput, InputChoice};
//!
//! #[derive(Clone, InputChoice)]
//! enum Weapon {
//!     Bow,
//!     Sling,
//! }
//!
//! #[derive(Clone, GameInput)]
//! #[input(id = "x/v1")]
//! struct Pad {
//!     #[input(range = -100..=100)]
//!     steer: i8,
//!     #[input(flags = 8, policy = "once")]
//!     buttons: u8,
//!     #[input(axis(range = -512..=511, fraction_bits = 63))]
//!     aim: i16,
//!     weapon: Weapon,
//! }
//! ```
//!
//! No id:
//! ```compile_fail
//! #[derive(Clone, retick_core::input::GameInput)]
//! struct Pad {
//!     #[input(range = -100..=100)]
//!     steer: i8,
//! }
//! ```
//!
//! A bound that the type doesn't have:
//! ```compile_fail
//! #[derive(Clone, retick_core::input::GameInput)]
//! #[input(id = "x/v1")]
//! struct Pad {
//!     #[input(range = -100..=128)]
//!     steer: i8,
//! }
//! ```
//!
//! An empty range:
//! ```compile_fail
//! #[derive(Clone, retick_core::input::GameInput)]
//! #[input(id = "x/v1")]
//! struct Pad {
//!     #[input(range = 100..=-100)]
//!     steer: i8,
//! }
//! ```
//!
//! More flags than the type holds:
//! ```compile_fail
//! #[derive(Clone, retick_core::input::GameInput)]
//! #[input(id = "x/v1")]
//! struct Pad {
//!     #[input(flags = 9)]
//!     buttons: u8,
//! }
//! ```
//!
//! Too many fraction bits:
//! ```compile_fail
//! #[derive(Clone, retick_core::input::GameInput)]
//! #[input(id = "x/v1")]
//! struct Pad {
//!     #[input(axis(range = -512..=511, fraction_bits = 64))]
//!     aim: i16,
//! }
//! ```
//!
//! A type that no field has, since it differs between machines:
//! ```compile_fail
//! #[derive(Clone, retick_core::input::GameInput)]
//! #[input(id = "x/v1")]
//! struct Pad {
//!     index: usize,
//! }
//! ```
//!
//! An integer that fits no range:
//! ```compile_fail
//! #[derive(Clone, retick_core::input::GameInput)]
//! #[input(id = "x/v1")]
//! struct Pad {
//!     #[input(range = 0..=1)]
//!     wide: u64,
//! }
//! ```
//!
//! An enum that is no choice:
//! ```compile_fail
//! #[derive(Clone)]
//! enum Weapon {
//!     Bow,
//!     Sling,
//! }
//!
//! #[derive(Clone, retick_core::input::GameInput)]
//! #[input(id = "x/v1")]
//! struct Pad {
//!     weapon: Weapon,
//! }
//! ```
//!
//! An unknown policy:
//! ```compile_fail
//! #[derive(Clone, retick_core::input::GameInput)]
//! #[input(id = "x/v1")]
//! struct Pad {
//!     #[input(policy = "never")]
//!     fire: bool,
//! }
//! ```
//!
//! An input of 264 bytes, which is one field too many:
//! ```compile_fail
//! #[derive(Clone, retick_core::input::GameInput)]
//! #[input(id = "x/v1")]
//! struct Pad(
//!     i64, i64, i64, i64, i64, i64, i64, i64, i64, i64, i64, i64, i64, i64, i64, i64, i64,
//!     i64, i64, i64, i64, i64, i64, i64, i64, i64, i64, i64, i64, i64, i64, i64, i64,
//! );
//! ```
//!
//! One field less compiles:
//! ```
//! #[derive(Clone, retick_core::input::GameInput)]
//! #[input(id = "x/v1")]
//! struct Pad(
//!     i64, i64, i64, i64, i64, i64, i64, i64, i64, i64, i64, i64, i64, i64, i64, i64,
//!     i64, i64, i64, i64, i64, i64, i64, i64, i64, i64, i64, i64, i64, i64, i64, i64,
//! );
//! ```
