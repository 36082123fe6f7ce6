//! What a seat gives each tick in both games: a direction and a button. Two bytes.

use retick_core::input::{FieldPolicy, GameInput, InputSchema, Packer, Unpacker};
use retick_core::seat::Seat;
use retick_core::tick::Tick;

/// The greatest value of a direction, either way.
pub const REACH: i8 = 60;

/// The controls of one seat in one tick.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Push {
    /// To the right: from -[`REACH`] to [`REACH`].
    pub x: i8,
    /// Downwards: from -[`REACH`] to [`REACH`].
    pub y: i8,
    /// The button.
    pub press: bool,
}

impl GameInput for Push {
    fn schema() -> InputSchema {
        let reach = i64::from(REACH);
        InputSchema::builder("kernel-push/v1")
            .axis("x", -reach..=reach, 6)
            .axis("y", -reach..=reach, 6)
            .boolean("press")
            .policy(FieldPolicy::Neutral)
            .build()
            .expect("three fields with names of their own")
    }

    fn pack(&self, packer: &mut Packer<'_>) {
        packer.integer(i64::from(self.x));
        packer.integer(i64::from(self.y));
        packer.boolean(self.press);
    }

    fn unpack(unpacker: &mut Unpacker<'_>) -> Self {
        // Validated: every value fits its field.
        Push {
            x: i8::try_from(unpacker.integer()).unwrap_or_default(),
            y: i8::try_from(unpacker.integer()).unwrap_or_default(),
            press: unpacker.boolean(),
        }
    }
}

/// Some input for each seat and tick, from a seed.
#[must_use]
pub fn scripted_input(seat: Seat, tick: Tick, seed: u64) -> Push {
    let place = tick.index().wrapping_mul(131).wrapping_add(u64::from(seat.number()));
    let [x, y, press, ..] = mixed(seed ^ mixed(place)).to_le_bytes();
    // A byte in steps of the range: a remainder is in it, so nothing is lost.
    let axis = |byte: u8| i8::try_from(i16::from(byte) % (2 * i16::from(REACH) + 1) - i16::from(REACH));
    Push { x: axis(x).unwrap_or_default(), y: axis(y).unwrap_or_default(), press: press < 32 }
}

/// The finisher of SplitMix64.
pub(crate) fn mixed(value: u64) -> u64 {
    let value = value.wrapping_add(0x9E37_79B9_7F4A_7C15);
    let value = (value ^ (value >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    let value = (value ^ (value >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    value ^ (value >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_scripted_input_is_in_range() {
        let schema = Push::schema();
        let seat = Seat::new(1).expect("a seat");
        let inputs = (0..1000).map(|tick| scripted_input(seat, Tick::new(tick), 7));
        let inputs: std::vec::Vec<Push> = inputs.collect();
        assert!(inputs.iter().all(|input| schema.pack(input).is_ok()));
        assert!(inputs.iter().any(|input| input.x == -REACH) && inputs.iter().any(|input| input.x == REACH));
        let presses = inputs.iter().filter(|input| input.press).count();
        assert!((60..250).contains(&presses), "{presses}");
    }
}
