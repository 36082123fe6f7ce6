//! The bytes of a frame: what stands in it beside the frame before, and everything where there is none (A2, K13).
//!
//! A frame begins with one byte that says which parts follow; what does not follow is as in the frame before. In this order:
//!
//! | part | bit | what follows |
//! |---|---|---|
//! | inputs | 1 | the set of seats whose input changed, then each one's |
//! | resized | 2 | belongs to the inputs, of which at least one is null, or of another length than before: each is its length and one, 0 for null, and its bytes. Without it an input is a mask of changed bytes for each eight of its bytes, and the new ones of those |
//! | substituted | 4 | the set of substituted seats |
//! | drivers | 8 | the number of fences, and each seat's presence and epoch |
//! | commands | 16 | their count and each source and payload; there are none without it |
//!
//! The self-contained form is that of a frame with none before it, behind its generation and tick: all inputs and the drivers
//! follow. A part that repeats what is known is refused, so that a frame has one form.

use alloc::vec::Vec;

use super::{CommandSource, Frame, FrameError, FrameKey, MAX_COMMAND_BYTES, MAX_COMMANDS_PER_FRAME, SeatFrame};
use crate::codec::wire::{self, Cursor, WireError};
use crate::input::MAX_INPUT_BYTES;
use crate::record::{SeatFlags, position};
use crate::seat::{ControlEpoch, Presence, Seat, SeatCount, SeatSet};

/// Input bytes that one mask of changed bytes is about.
const BYTES_PER_MASK: usize = u8::BITS as usize;

/// Which parts of a frame follow its first byte.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Parts(u8);

impl Parts {
    pub(super) const NONE: Parts = Parts(0);
    const INPUTS: Parts = Parts(1);
    const RESIZED: Parts = Parts(2);
    const SUBSTITUTED: Parts = Parts(4);
    const DRIVERS: Parts = Parts(8);
    const COMMANDS: Parts = Parts(16);
    const ALL: Parts = Parts(31);

    const fn has(self, part: Parts) -> bool {
        self.0 & part.0 != 0
    }

    const fn and(self, part: Parts, so: bool) -> Parts {
        if so { Parts(self.0 | part.0) } else { self }
    }

    /// The parts that a first byte announces.
    pub(super) fn from_byte(byte: u8) -> Result<Parts, FrameError> {
        let parts = Parts(byte);
        let is_known = byte & !Parts::ALL.0 == 0 && (parts.has(Parts::INPUTS) || !parts.has(Parts::RESIZED));
        if is_known { Ok(parts) } else { Err(FrameError::Encoding(WireError::Malformed)) }
    }
}

/// What a frame says beyond the one before.
#[derive(Clone, Copy, Debug)]
pub(super) struct Difference<'a> {
    frame: &'a Frame,
    base: Option<&'a Frame>,
    changed: SeatSet,
    parts: Parts,
}

impl<'a> Difference<'a> {
    pub(super) fn new(frame: &'a Frame, base: Option<&'a Frame>) -> Difference<'a> {
        let (mut changed, mut resized) = (SeatSet::EMPTY, false);
        for (seat, input) in numbered_inputs(frame) {
            let before = base.map(|base| base.input(seat));
            if before != Some(input) {
                changed.insert(seat);
                resized |= !is_same_length(before, input);
            }
        }
        let parts = Parts::NONE
            .and(Parts::INPUTS, !changed.is_empty())
            .and(Parts::RESIZED, resized)
            .and(Parts::SUBSTITUTED, frame.substituted() != base.map_or(SeatSet::EMPTY, Frame::substituted))
            .and(Parts::DRIVERS, !base.is_some_and(|base| has_same_drivers(base, frame)))
            .and(Parts::COMMANDS, frame.commands().len() > 0);
        Difference { frame, base, changed, parts }
    }

    pub(super) fn is_none(&self) -> bool {
        self.parts == Parts::NONE
    }

    /// Appends the frame's bytes.
    pub(super) fn encode_into(&self, out: &mut Vec<u8>) {
        out.push(self.parts.0);
        if self.parts.has(Parts::INPUTS) {
            wire::encode_into(&self.changed, out);
            numbered_inputs(self.frame)
                .filter(|(seat, _)| self.changed.contains(*seat))
                .for_each(|(seat, input)| self.encode_input(seat, input, out));
        }
        if self.parts.has(Parts::SUBSTITUTED) {
            wire::encode_into(&self.frame.substituted(), out);
        }
        if self.parts.has(Parts::DRIVERS) {
            wire::encode_into(&self.frame.fence, out);
            drivers(self.frame).for_each(|driver| wire::encode_into(&driver, out));
        }
        if self.parts.has(Parts::COMMANDS) {
            wire::encode_into(&(self.frame.commands().len() as u64), out);
            self.frame.commands().for_each(|command| wire::encode_into(&command, out));
        }
    }

    fn encode_input(&self, seat: Seat, input: Option<&[u8]>, out: &mut Vec<u8>) {
        match (input, self.base.and_then(|base| base.input(seat))) {
            (Some(input), Some(before)) if !self.parts.has(Parts::RESIZED) => encode_changed_bytes(before, input, out),
            _ => {
                wire::encode_into(&input.map_or(0, |input| input.len() as u64 + 1), out);
                out.extend_from_slice(input.unwrap_or_default());
            }
        }
    }
}

impl Frame {
    /// Appends the self-contained form: what the hash chain, logs, snapshots and the room's history hold.
    pub fn encode_full(&self, out: &mut Vec<u8>) {
        wire::encode_into(&self.generation, out);
        wire::encode_into(&self.tick, out);
        Difference::new(self, None).encode_into(out);
    }

    /// Reads the self-contained form, for a match of `seats` seats, from the front of `cursor` into this frame.
    ///
    /// # Errors
    /// [`FrameError`]; the frame then holds nothing of use.
    pub fn decode_full(&mut self, cursor: &mut Cursor<'_>, seats: SeatCount) -> Result<(), FrameError> {
        let (generation, tick) = (cursor.take()?, cursor.take()?);
        let parts = Parts::from_byte(cursor.take()?)?;
        self.decode_parts(parts, cursor, None, FrameKey { generation, tick, seats })
    }

    /// Reads the parts that follow a frame's first byte, and takes the others from `base`, the frame of the tick before.
    pub(super) fn decode_parts(
        &mut self,
        parts: Parts,
        cursor: &mut Cursor<'_>,
        base: Option<&Frame>,
        key: FrameKey,
    ) -> Result<(), FrameError> {
        self.reset(key.generation, key.tick);
        self.decode_inputs(parts, cursor, base, key.seats)?;
        self.decode_substituted(parts, cursor, base, key.seats)?;
        self.decode_drivers(parts, cursor, base)?;
        if parts.has(Parts::COMMANDS) { self.decode_commands(cursor, key.seats) } else { Ok(()) }
    }

    fn decode_inputs(
        &mut self,
        parts: Parts,
        cursor: &mut Cursor<'_>,
        base: Option<&Frame>,
        seats: SeatCount,
    ) -> Result<(), FrameError> {
        let changed: SeatSet = if parts.has(Parts::INPUTS) { cursor.take()? } else { SeatSet::EMPTY };
        if !changed.fits(seats) {
            return Err(FrameError::Limit);
        }
        let mut resized = false;
        for seat in seats.seats() {
            let before = base.map(|base| base.input(seat));
            if !changed.contains(seat) {
                let input = before.ok_or(FrameError::NoBase)?;
                self.push_seat(SeatFrame { input, ..SeatFrame::default() });
            } else if parts.has(Parts::RESIZED) {
                let input = decode_sized_input(cursor)?;
                refuse_repeated(before == Some(input))?;
                resized |= !is_same_length(before, input);
                self.push_seat(SeatFrame { input, ..SeatFrame::default() });
            } else {
                let before = before.ok_or(FrameError::NoBase)?;
                self.decode_changed_bytes(cursor, before.ok_or(WireError::Malformed)?)?;
            }
        }
        refuse_repeated(parts.has(Parts::INPUTS) && changed.is_empty() || parts.has(Parts::RESIZED) && !resized)
    }

    /// Reads the bytes in which an input differs from the one before.
    fn decode_changed_bytes(&mut self, cursor: &mut Cursor<'_>, before: &[u8]) -> Result<(), FrameError> {
        let start = self.bytes.len();
        self.bytes.extend_from_slice(before);
        let mut changed = 0;
        for chunk in self.bytes[start..].chunks_mut(BYTES_PER_MASK) {
            let mask: u8 = cursor.take()?;
            for (place, byte) in chunk.iter_mut().enumerate().filter(|(place, _)| mask & (1 << place) != 0) {
                let new = cursor.take()?;
                refuse_repeated(*byte == new)?;
                *byte = new;
                changed |= 1 << place;
            }
            // A bit beyond the input's end is none of its bytes.
            if usize::try_from(u8::BITS - mask.leading_zeros()).unwrap_or(usize::MAX) > chunk.len() {
                return Err(FrameError::Encoding(WireError::Malformed));
            }
        }
        refuse_repeated(changed == 0)?;
        let start = position(&self.bytes[..start], 0);
        self.push_record(start, SeatFrame { input: Some(&[]), ..SeatFrame::default() });
        Ok(())
    }

    fn decode_substituted(
        &mut self,
        parts: Parts,
        cursor: &mut Cursor<'_>,
        base: Option<&Frame>,
        seats: SeatCount,
    ) -> Result<(), FrameError> {
        let before = base.map_or(SeatSet::EMPTY, Frame::substituted);
        let substituted = if parts.has(Parts::SUBSTITUTED) { cursor.take()? } else { before };
        if !substituted.fits(seats) {
            return Err(FrameError::Limit);
        }
        refuse_repeated(parts.has(Parts::SUBSTITUTED) && substituted == before)?;
        for (seat, record) in seats.seats().zip(&mut self.seats) {
            record.flags = record.flags.with(SeatFlags::SUBSTITUTED.when(substituted.contains(seat)));
        }
        Ok(())
    }

    fn decode_drivers(
        &mut self,
        parts: Parts,
        cursor: &mut Cursor<'_>,
        base: Option<&Frame>,
    ) -> Result<(), FrameError> {
        if parts.has(Parts::DRIVERS) {
            self.fence = cursor.take()?;
            for record in &mut self.seats {
                (record.presence, record.epoch) = cursor.take()?;
            }
            return refuse_repeated(base.is_some_and(|base| has_same_drivers(base, self)));
        }
        let base = base.ok_or(FrameError::NoBase)?;
        self.fence = base.fence;
        for (record, before) in self.seats.iter_mut().zip(base.seats()) {
            (record.presence, record.epoch) = (before.presence, before.epoch);
        }
        Ok(())
    }

    fn decode_commands(&mut self, cursor: &mut Cursor<'_>, seats: SeatCount) -> Result<(), FrameError> {
        let count: u64 = cursor.take()?;
        if count > MAX_COMMANDS_PER_FRAME as u64 {
            return Err(FrameError::Limit);
        }
        for _ in 0..count {
            let (source, payload): (CommandSource, &[u8]) = cursor.take()?;
            let foreign = matches!(source, CommandSource::Game(seat) if !seats.contains(seat));
            if foreign || payload.len() > MAX_COMMAND_BYTES {
                return Err(FrameError::Limit);
            }
            self.push_command(source, payload);
        }
        refuse_repeated(count == 0)
    }
}

fn encode_changed_bytes(before: &[u8], input: &[u8], out: &mut Vec<u8>) {
    for (before, input) in before.chunks(BYTES_PER_MASK).zip(input.chunks(BYTES_PER_MASK)) {
        let changed = || before.iter().zip(input).enumerate().filter(|(_, (before, byte))| before != byte);
        out.push(changed().fold(0, |mask, (place, _)| mask | 1 << place));
        out.extend(changed().map(|(_, (_, byte))| *byte));
    }
}

fn decode_sized_input<'a>(cursor: &mut Cursor<'a>) -> Result<Option<&'a [u8]>, FrameError> {
    let Some(length) = cursor.take::<u64>()?.checked_sub(1) else { return Ok(None) };
    let length = usize::try_from(length).ok().filter(|length| *length <= MAX_INPUT_BYTES);
    Ok(Some(cursor.take_bytes(length.ok_or(FrameError::Limit)?)?))
}

fn refuse_repeated(is_repeated: bool) -> Result<(), FrameError> {
    if is_repeated { Err(FrameError::NotAbbreviated) } else { Ok(()) }
}

fn numbered_inputs(frame: &Frame) -> impl Iterator<Item = (Seat, Option<&[u8]>)> {
    (0..).map_while(Seat::new).zip(frame.seats().map(|view| view.input))
}

/// Whether an input is as long as the one before, and neither is null nor unknown.
fn is_same_length(before: Option<Option<&[u8]>>, input: Option<&[u8]>) -> bool {
    matches!((before, input), (Some(Some(before)), Some(input)) if before.len() == input.len())
}

fn has_same_drivers(base: &Frame, frame: &Frame) -> bool {
    base.fence == frame.fence && drivers(base).eq(drivers(frame))
}

fn drivers(frame: &Frame) -> impl Iterator<Item = (Presence, ControlEpoch)> {
    frame.seats().map(|view| (view.presence, view.epoch))
}
