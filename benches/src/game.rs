//! A game that both sides play, and its inputs.

use retick_core::codec::canonical;
use retick_core::digest::Checksum;
use retick_core::input::{GameInput, InputSchema, Packer, Unpacker};
use retick_core::runtime::StateCodec;
use retick_core::tick::Tick;
use serde::{Deserialize, Serialize};

/// Ticks resimulated in every tick, where nothing else is said.
pub const DISTANCE: u16 = 7;

/// Rules without a word of Retick's or GGRS's.
pub trait Game: Clone + Send + Sync + 'static {
    /// How its state becomes bytes.
    type Codec: StateCodec<Self> + 'static;

    /// One tick with each seat's input, in the order of seats.
    fn play(&mut self, inputs: impl Iterator<Item = u8>);
}

/// The checksum that Retick's native runtime gives to `S(tick)` with this state, whoever computed it.
///
/// # Errors
/// [`canonical::EncodeError`] when the state has no canonical form.
pub fn checksum_of<G: Game>(tick: u64, state: &G) -> Result<Checksum, canonical::EncodeError> {
    let mut bytes = Tick::new(tick).index().to_le_bytes().to_vec();
    G::Codec::encode(state, &mut bytes)?;
    Ok(Checksum::of(&bytes))
}

/// What the seats press.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Inputs {
    /// Another value in every tick, and not the neutral one at first: every guess is wrong.
    Moving,
    /// One value for each seat: every guess is right.
    Held,
}

impl Inputs {
    /// The input of one seat for one tick.
    #[must_use]
    pub fn of(self, seat: usize, tick: u64) -> u8 {
        match self {
            Inputs::Moving => (tick * 7 + seat as u64 * 3 + 1).to_le_bytes()[0],
            Inputs::Held => seat.to_le_bytes()[0],
        }
    }
}

/// An input of one byte.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct ByteInput(pub u8);

impl GameInput for ByteInput {
    fn schema() -> InputSchema {
        InputSchema::builder("byte/v1").integer("value", 0..=255).build().expect("one field of one byte is a schema")
    }

    fn pack(&self, packer: &mut Packer<'_>) {
        packer.integer(i64::from(self.0));
    }

    fn unpack(unpacker: &mut Unpacker<'_>) -> Self {
        ByteInput(u8::try_from(unpacker.integer()).unwrap_or(0))
    }
}
