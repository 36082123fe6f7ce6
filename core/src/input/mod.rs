//! Player inputs: their schema, their bits, and what a prediction or a substitute does with them (S2).

mod bits;
mod schema;

pub use bits::{Packer, Unpacker};
pub use schema::{
    FieldKind, FieldPolicy, InputError, InputField, InputSchema, InputSchemaBuilder, InputSchemaError, MAX_INPUT_BYTES,
    MAX_INPUT_FIELDS,
};

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
