//! Player inputs: their schema, their bits, and what a prediction or a substitute does with them (S2).
//!
//! ```
//! use retick_core::input::{FieldPolicy, InputSchema};
//!
//! let schema = InputSchema::builder("runner/v1")
//!     .integer("steer", -100..=100)
//!     .boolean("jump")
//!     .policy(FieldPolicy::Neutral)
//!     .build()?;
//! let packed = schema.pack_raw(|field| if field.name() == "steer" { 130 } else { 1 });
//! assert_eq!((schema.packed_bytes(), schema.validate(&packed)), (2, Ok(())));
//!
//! // As a substitute the same input steers on, and does not jump again.
//! let mut played = Vec::new();
//! schema.apply(Some(&packed), true, &mut played);
//! assert_eq!(played, schema.pack_raw(|field| if field.name() == "steer" { 130 } else { 0 }));
//! // The authority's null is the neutral input, and so is what no game could have packed; that is said.
//! let mut null = Vec::new();
//! assert!(!schema.apply(None, false, &mut null) && null == schema.neutral());
//! assert!(schema.apply(Some(b"longer than packed"), false, &mut Vec::new()));
//! # Ok::<(), retick_core::input::InputSchemaError>(())
//! ```

mod bits;
#[cfg(all(doctest, feature = "derive"))]
mod derive_refusals;
#[cfg(feature = "derive")]
#[doc(hidden)]
pub mod derived;
mod describe;
mod schema;
mod value;

pub use bits::{Packer, Unpacker};
/// The macros of the same names as the traits that they implement (S2).
///
/// ```
/// use retick_core::input::{FieldPolicy, GameInput, InputChoice};
///
/// #[derive(Clone, Copy, PartialEq, Debug, InputChoice)]
/// enum Weapon {
///     Bow,
///     Sling,
/// }
///
/// #[derive(Clone, PartialEq, Debug, GameInput)]
/// #[input(id = "hunt-input/v1")]
/// struct Hunt {
///     #[input(range = -100..=100)]
///     walk: i8,
///     #[input(axis(range = -512..=511, fraction_bits = 8))]
///     aim: i16,
///     #[input(policy = "once")]
///     shoot: bool,
///     #[input(flags = 9, policy = "neutral")]
///     buttons: u16,
///     weapon: Weapon,
/// }
///
/// let schema = Hunt::schema();
/// let input = Hunt { walk: -7, aim: 256, shoot: true, buttons: 0x101, weapon: Weapon::Sling };
/// let packed = schema.pack(&input)?;
/// assert_eq!(packed.len(), 4); // 8 + 10 + 1 + 9 + 1 bits
/// assert_eq!(schema.unpack::<Hunt>(&packed)?, input);
///
/// // A substitute for an absent player walks and aims on, but neither shoots nor presses a button.
/// let mut seen = Vec::new();
/// schema.apply(Some(&packed), true, &mut seen);
/// assert_eq!(schema.unpack::<Hunt>(&seen)?, Hunt { shoot: false, buttons: 0, ..input.clone() });
///
/// // Nothing is clamped: a value out of range is refused.
/// assert!(schema.pack(&Hunt { walk: 101, ..input }).is_err());
/// # Ok::<(), retick_core::input::InputError>(())
/// ```
#[cfg(feature = "derive")]
#[cfg_attr(docsrs, doc(cfg(feature = "derive")))]
pub use retick_macros::{GameInput, InputChoice};
pub use schema::{
    FieldKind, FieldPolicy, InputError, InputField, InputSchema, InputSchemaBuilder, InputSchemaError, MAX_INPUT_BYTES,
    MAX_INPUT_FIELDS,
};
pub use value::{InputChoice, InputFlags, InputInteger, InputValue};

/// A game's input type. Its fields stand in one schema, and are packed and unpacked in the schema's order.
///
/// ```
/// use retick_core::input::{GameInput, InputSchema, Packer, Unpacker};
///
/// #[derive(Clone)]
/// struct Drive {
///     steer: i64,
///     brake: bool,
/// }
///
/// impl GameInput for Drive {
///     fn schema() -> InputSchema {
///         InputSchema::builder("drive/v1").integer("steer", -100..=100).boolean("brake").build().expect("a valid schema")
///     }
///     fn pack(&self, packer: &mut Packer<'_>) {
///         packer.integer(self.steer);
///         packer.boolean(self.brake);
///     }
///     fn unpack(unpacker: &mut Unpacker<'_>) -> Self {
///         Drive { steer: unpacker.integer(), brake: unpacker.boolean() }
///     }
/// }
///
/// let schema = Drive::schema();
/// let packed = schema.pack(&Drive { steer: -7, brake: true }).unwrap();
/// assert_eq!(packed.len(), 2);
/// assert_eq!(schema.unpack::<Drive>(&packed).unwrap().steer, -7);
/// ```
pub trait GameInput: Clone {
    /// The fields, their ranges and policies; part of the identity.
    fn schema() -> InputSchema;
    /// Writes each field, in the schema's order.
    fn pack(&self, packer: &mut Packer<'_>);
    /// Reads each field, in the schema's order. Total: the bytes were validated.
    fn unpack(unpacker: &mut Unpacker<'_>) -> Self;
}
