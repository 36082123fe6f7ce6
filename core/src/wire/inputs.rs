//! Inputs on their way to the room (N2).

use alloc::vec::Vec;

use bincode::{BorrowDecode, Encode};

use super::MAX_INPUTS_PER_MESSAGE;
use crate::codec::wire;
use crate::input::MAX_INPUT_BYTES;
use crate::seat::{ControlEpoch, Generation};
use crate::tick::Tick;

/// Packed inputs for consecutive ticks, one behind another. All inputs of a game have the same length, so the run needs no
/// lengths of its own, and reading it allocates nothing.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Encode, BorrowDecode)]
pub struct InputRun<'a> {
    pub(super) count: u32,
    pub(super) bytes: &'a [u8],
}

impl<'a> InputRun<'a> {
    /// A run of `count` inputs of equal length; `None` when the bytes do not divide into so many, when an input would be longer
    /// than [`MAX_INPUT_BYTES`], and for more than [`MAX_INPUTS_PER_MESSAGE`] inputs or none.
    pub fn new(count: u32, bytes: &'a [u8]) -> Option<InputRun<'a>> {
        let run = InputRun { count, bytes };
        run.is_valid().then_some(run)
    }

    pub(super) fn is_valid(&self) -> bool {
        let count = self.len();
        (1..=MAX_INPUTS_PER_MESSAGE).contains(&count)
            && self.bytes.len().is_multiple_of(count)
            && self.bytes.len() / count <= MAX_INPUT_BYTES
    }

    /// How many inputs there are.
    #[expect(clippy::len_without_is_empty, reason = "a run is never empty")]
    pub const fn len(&self) -> usize {
        self.count as usize
    }

    /// The inputs, in the order of their ticks.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = &'a [u8]> + use<'a> {
        let (bytes, each) = (self.bytes, self.bytes.len() / self.len().max(1));
        (0..self.len()).map(move |index| &bytes[index * each..(index + 1) * each])
    }
}

/// A run of inputs for consecutive ticks.
#[derive(Clone, PartialEq, Eq, Debug, Encode, BorrowDecode)]
pub struct Inputs<'a> {
    /// The generation of the ticks.
    pub generation: Generation,
    /// The control epoch under which they were sampled.
    pub epoch: ControlEpoch,
    /// Tick of the first input.
    pub first: Tick,
    /// The inputs, packed, one a tick.
    pub inputs: InputRun<'a>,
}

impl<'a> Inputs<'a> {
    /// The inputs that a whole message of this kind holds; `None` for everything that is not exactly what the encoder writes. Most of
    /// what a room reads is inputs, and read field by field they cost a fifth of what the general way costs.
    pub(super) fn read(message: &'a [u8]) -> Option<Inputs<'a>> {
        let mut rest = message.strip_prefix(&[INPUTS])?;
        let (generation, epoch) = (take_u32(&mut rest)?, take_u32(&mut rest)?);
        let (first, count, length) = (take_integer(&mut rest)?, take_u32(&mut rest)?, take_integer(&mut rest)?);
        let inputs = InputRun { count, bytes: rest };
        let is_whole = usize::try_from(length) == Ok(rest.len()) && inputs.is_valid();
        let (generation, epoch, first) = (Generation(generation), ControlEpoch(epoch), Tick::new(first));
        is_whole.then_some(Inputs { generation, epoch, first, inputs })
    }
}

/// Takes an integer of the variable-length form: itself if it is small, or else its length and its bytes, in the shortest way.
fn take_integer(rest: &mut &[u8]) -> Option<u64> {
    let (first, behind) = rest.split_first()?;
    let (value, least, behind) = match *first {
        small @ 0..=250 => (u64::from(small), 0, behind),
        251 => behind.split_first_chunk().map(|(bytes, behind)| (u16::from_le_bytes(*bytes).into(), 251, behind))?,
        252 => {
            behind.split_first_chunk().map(|(bytes, behind)| (u32::from_le_bytes(*bytes).into(), 1 << 16, behind))?
        }
        253 => behind.split_first_chunk().map(|(bytes, behind)| (u64::from_le_bytes(*bytes), 1 << 32, behind))?,
        _ => return None,
    };
    *rest = behind;
    (value >= least).then_some(value)
}

fn take_u32(rest: &mut &[u8]) -> Option<u32> {
    take_integer(rest)?.try_into().ok()
}

/// Appends a [`ClientMessage::Inputs`](super::ClientMessage::Inputs) from `count` inputs of `input_bytes` each that lie one by one, without gathering them.
pub fn encode_inputs<'a>(
    header: (Generation, ControlEpoch, Tick),
    count: u32,
    input_bytes: usize,
    inputs: impl Iterator<Item = &'a [u8]>,
    out: &mut Vec<u8>,
) {
    let (generation, epoch, first) = header;
    let total = u64::from(count) * input_bytes as u64;
    wire::encode_into(&(INPUTS, generation, epoch, first, count, total), out);
    inputs.for_each(|input| out.extend_from_slice(input));
}

/// Number of [`ClientMessage::Inputs`](super::ClientMessage::Inputs) on the wire.
pub(super) const INPUTS: u8 = 2;
