//! What a player gives each tick: move, aim, fire, dash. 28 bits, four bytes.

use retick_core::input::{FieldPolicy, GameInput, InputSchema, Packer, Unpacker};

use crate::numbers::{AIM_STEPS, Vec2, bounded};

/// The greatest deflection of a stick, in either direction.
pub const STICK: i8 = 64;

/// The controls of one seat in one tick.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct SkirmishInput {
    /// Where to go, to the right: from -[`STICK`] to [`STICK`].
    pub move_x: i8,
    /// Where to go, downwards: from -[`STICK`] to [`STICK`].
    pub move_y: i8,
    /// Where to shoot, in [`AIM_STEPS`]ths of a turn, clockwise from the right.
    pub aim: u16,
    /// Whether the trigger is held.
    pub fire: bool,
    /// A burst of speed, once.
    pub dash: bool,
}

impl SkirmishInput {
    /// The direction of the stick, at most one long.
    pub fn direction(self) -> Vec2 {
        let axis = |value: i8| bounded(f32::from(value) / f32::from(STICK), -1.0, 1.0);
        Vec2::new(axis(self.move_x), axis(self.move_y)).shortened(1.0)
    }
}

impl GameInput for SkirmishInput {
    fn schema() -> InputSchema {
        let (stick, aims) = (i64::from(STICK), i64::from(AIM_STEPS));
        InputSchema::builder("skirmish-input/v1")
            .axis("move-x", -stick..=stick, 6)
            .axis("move-y", -stick..=stick, 6)
            .integer("aim", 0..=aims - 1)
            .boolean("fire")
            .policy(FieldPolicy::Neutral)
            .boolean("dash")
            .policy(FieldPolicy::Once)
            .build()
            .expect("five fields with names and ranges of their own")
    }

    fn pack(&self, packer: &mut Packer<'_>) {
        packer.integer(i64::from(self.move_x));
        packer.integer(i64::from(self.move_y));
        packer.integer(i64::from(self.aim));
        packer.boolean(self.fire);
        packer.boolean(self.dash);
    }

    fn unpack(unpacker: &mut Unpacker<'_>) -> Self {
        // Validated: every value fits its field.
        SkirmishInput {
            move_x: i8::try_from(unpacker.integer()).unwrap_or_default(),
            move_y: i8::try_from(unpacker.integer()).unwrap_or_default(),
            aim: u16::try_from(unpacker.integer()).unwrap_or_default(),
            fire: unpacker.boolean(),
            dash: unpacker.boolean(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_input_takes_four_bytes_and_comes_back() {
        let schema = SkirmishInput::schema();
        assert_eq!(schema.packed_bytes(), 4);
        let input = SkirmishInput { move_x: -STICK, move_y: STICK, aim: AIM_STEPS - 1, fire: true, dash: true };
        let packed = schema.pack(&input).expect("in range");
        assert_eq!(schema.unpack(&packed), Ok(input));
        assert_eq!(schema.unpack(schema.neutral()), Ok(SkirmishInput::default()));
        assert!(schema.pack(&SkirmishInput { aim: AIM_STEPS, ..input }).is_err());
    }

    #[test]
    fn a_diagonal_is_no_faster() {
        let diagonal = SkirmishInput { move_x: STICK, move_y: STICK, ..SkirmishInput::default() };
        assert!((diagonal.direction().length() - 1.0).abs() < 1e-6);
        let half = SkirmishInput { move_x: STICK / 2, ..SkirmishInput::default() };
        assert_eq!(half.direction(), Vec2::new(0.5, 0.0));
    }
}
