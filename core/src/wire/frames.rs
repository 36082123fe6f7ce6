//! The message that brings confirmed frames: most of what a room sends, so its form is its own.
//!
//! Behind the message's number: the generation; the first tick, seven bits in a byte, so that three bytes do for almost ten hours
//! at 60 Hz; the count and, as its lowest bit, whether the first frame stands alone; the release's tag; and the frames, which end
//! with the message.

use bincode::de::BorrowDecoder;
use bincode::de::read::{BorrowReader, Reader};
use bincode::enc::Encoder;
use bincode::enc::write::Writer;
use bincode::error::{DecodeError, EncodeError};
use bincode::{BorrowDecode, Decode, Encode};

use super::MAX_FRAMES_PER_MESSAGE;
use crate::seat::Generation;
use crate::tick::Tick;

/// Bits of a tick in one byte of its form.
const GROUP_BITS: u32 = 7;
/// The bit of a byte that says that the next one belongs to it.
const MORE: u8 = 0x80;

/// The release's proof after a restart (A12): 8 bytes, keyed with a secret of the room's.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Encode, Decode)]
pub struct ReleaseTag(pub [u8; 8]);

impl ReleaseTag {
    /// Whether two tags are equal, in time that does not depend on where they differ.
    #[must_use]
    pub fn matches(&self, other: &ReleaseTag) -> bool {
        self.0.iter().zip(&other.0).fold(0, |difference, (a, b)| difference | (a ^ b)) == 0
    }
}

/// A run of frames for consecutive ticks, encoded once for all receivers. The frames follow behind it in `body`: the first is
/// self-contained if `complete`, each other is abbreviated against the one before.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Frames<'a> {
    /// The generation of the ticks.
    pub generation: Generation,
    /// Tick of the first frame.
    pub first: Tick,
    /// How many frames there are.
    pub count: u32,
    /// Whether the first one stands alone. Otherwise the receiver had the frame before it.
    pub complete: bool,
    /// Proves this release after a restart of the room.
    pub tag: ReleaseTag,
    /// The frames, as a [`crate::frame::FrameRunWriter`] writes them.
    pub body: &'a [u8],
}

impl Frames<'_> {
    pub(super) fn is_valid(&self) -> bool {
        (1..=MAX_FRAMES_PER_MESSAGE).contains(&self.count)
    }
}

impl Encode for Frames<'_> {
    fn encode<E: Encoder>(&self, encoder: &mut E) -> Result<(), EncodeError> {
        self.generation.encode(encoder)?;
        encode_groups(self.first.index(), encoder.writer())?;
        (u64::from(self.count) << 1 | u64::from(self.complete)).encode(encoder)?;
        self.tag.encode(encoder)?;
        encoder.writer().write(self.body)
    }
}

impl<'de, Context> BorrowDecode<'de, Context> for Frames<'de> {
    fn borrow_decode<D: BorrowDecoder<'de, Context = Context>>(decoder: &mut D) -> Result<Self, DecodeError> {
        let generation = Generation::borrow_decode(decoder)?;
        let first = Tick::new(decode_groups(decoder.reader())?);
        let shape = u64::borrow_decode(decoder)?;
        let (count, complete) = (u32::try_from(shape >> 1).map_err(|_| DecodeError::Other("count"))?, shape & 1 == 1);
        let tag = ReleaseTag::borrow_decode(decoder)?;
        Ok(Frames { generation, first, count, complete, tag, body: take_rest(decoder.borrow_reader())? })
    }
}

fn encode_groups(mut number: u64, writer: &mut impl Writer) -> Result<(), EncodeError> {
    loop {
        let [group, ..] = number.to_le_bytes();
        number >>= GROUP_BITS;
        if number == 0 {
            return writer.write(&[group]);
        }
        writer.write(&[group | MORE])?;
    }
}

/// Over-long forms come through, for they are not what is written again.
fn decode_groups(reader: &mut impl Reader) -> Result<u64, DecodeError> {
    let mut number = 0;
    for shift in (0..u64::BITS).step_by(GROUP_BITS as usize) {
        let mut byte = [0];
        reader.read(&mut byte)?;
        let group = u64::from(byte[0] & !MORE);
        if group > u64::MAX >> shift {
            break;
        }
        number |= group << shift;
        if byte[0] & MORE == 0 {
            return Ok(number);
        }
    }
    Err(DecodeError::Other("tick"))
}

/// Everything up to the end. A reader does not say how much it has, so the length is searched for.
fn take_rest<'de>(reader: &mut impl BorrowReader<'de>) -> Result<&'de [u8], DecodeError> {
    let (mut length, mut step) = (0usize, 1usize);
    while reader.peek_read(length.saturating_add(step)).is_some() {
        length += step;
        step *= 2;
    }
    while step > 0 {
        if reader.peek_read(length.saturating_add(step)).is_some() {
            length += step;
        }
        step /= 2;
    }
    reader.take_bytes(length)
}

#[cfg(test)]
mod tests {
    use alloc::vec::Vec;

    use super::super::{MessageError, RoomMessage};
    use super::*;
    use crate::codec::wire::WireError;

    fn frames(first: u64, body: &[u8]) -> Frames<'_> {
        let (generation, first, tag) = (Generation(2), Tick::new(first), ReleaseTag([9; 8]));
        Frames { generation, first, count: 3, complete: false, tag, body }
    }

    fn encoded(frames: Frames<'_>) -> Vec<u8> {
        let mut bytes = Vec::new();
        RoomMessage::Frames(frames).encode_into(&mut bytes);
        bytes
    }

    #[test]
    fn a7_frames_travel_behind_a_header_of_fourteen_bytes_for_nine_hours() {
        for (first, bytes) in [(0, 12), (127, 12), (128, 13), (16_384, 14), (60 * 60 * 60 * 9, 14), (u64::MAX, 21)] {
            for length in [0, 1, 2, 3, 63, 64, 65, 1000] {
                let body = &[7; 1000][..length];
                let message = encoded(frames(first, body));
                assert_eq!(message.len(), bytes + length, "tick {first}, {length} bytes");
                assert_eq!(RoomMessage::decode(&message), Ok(RoomMessage::Frames(frames(first, body))));
            }
        }
    }

    #[test]
    fn k13_a_header_that_is_cut_or_written_otherwise_is_refused() {
        let message = encoded(frames(300, b""));
        for end in 0..message.len() {
            assert_eq!(RoomMessage::decode(&message[..end]), Err(WireError::Malformed.into()), "{end} bytes");
        }
        let with_tick = |tick: &[u8]| [&message[..2], tick, &message[4..]].concat();
        assert_eq!(with_tick(&[0xAC, 0x02]), message, "guard: 300 in two bytes");
        let refused: [(&[u8], WireError); 4] = [
            // 300 in three bytes.
            (&[0xAC, 0x82, 0], WireError::NotCanonical { offset: 3 }),
            // 0 in two.
            (&[0x80, 0], WireError::NotCanonical { offset: 2 }),
            // 2^64, and one that does not end.
            (&[0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 2], WireError::Malformed),
            (&[0xFF; 11], WireError::Malformed),
        ];
        for (tick, error) in refused {
            assert_eq!(RoomMessage::decode(&with_tick(tick)), Err(MessageError::Encoding(error)), "{tick:?}");
        }
        // A count that no number of frames has.
        let many = [&message[..4], &[253, 0, 0, 0, 0, 2, 0, 0, 0], &message[5..]].concat();
        assert_eq!(RoomMessage::decode(&many), Err(WireError::Malformed.into()));
    }
}
