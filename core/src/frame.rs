//! The confirmed frame of one tick, its encoding, and the hash chain over all frames (A2, A12).
//!
//! ```
//! use retick_core::frame::{CommandSource, Frame, SeatFrame};
//! use retick_core::seat::{ControlEpoch, Generation, Presence, Seat};
//! use retick_core::tick::Tick;
//!
//! let mut frame = Frame::new(Generation(0), Tick::new(7));
//! let (presence, epoch) = (Presence::Human, ControlEpoch(1));
//! frame.push_seat(SeatFrame { input: Some(&[40]), substituted: false, presence, epoch });
//! // The second seat's input came too late: the authority put its last one in, and says so.
//! frame.push_seat(SeatFrame { input: Some(&[9]), substituted: true, presence, epoch });
//! frame.push_command(CommandSource::Authority, b"start");
//!
//! let [first, second] = [0, 1].map(|number| Seat::new(number).expect("below the limit"));
//! assert_eq!((frame.input(first), frame.input(second)), (Some(&[40][..]), Some(&[9][..])));
//! assert!(frame.substituted().contains(second) && !frame.substituted().contains(first));
//! assert_eq!(frame.commands().next(), Some((CommandSource::Authority, &b"start"[..])));
//! ```

use alloc::vec::Vec;

use bincode::{BorrowDecode, Encode};

use crate::codec::wire::{self, Cursor, WireError};
use crate::digest::{Context, Digest};
use crate::identity::MatchDescriptor;
use crate::input::MAX_INPUT_BYTES;
use crate::record::{CommandRecord, SeatFlags, SeatRecord, position};
use crate::seat::{ControlEpoch, Generation, Presence, Seat, SeatCount, SeatSet};
use crate::tick::Tick;

/// Most bytes of one command (K7).
pub const MAX_COMMAND_BYTES: usize = 4096;
/// Most commands that the authority orders into one frame; more wait for the next.
pub const MAX_COMMANDS_PER_FRAME: usize = 64;

/// Who issued a command (A9). A client's command always stands under its seat; only the room writes authority commands.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Encode, BorrowDecode)]
pub enum CommandSource {
    /// A seat's request: the `game.` namespace.
    Game(Seat),
    /// The authority itself: the `syncplay.` namespace, which a client can't forge.
    Authority,
}

/// What a frame says of one seat. A substitute's bytes stand in `input` like any other's.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct SeatFrame<'a> {
    /// The confirmed input; `None` is the authority's null.
    pub input: Option<&'a [u8]>,
    /// Whether the input is a substitute for a human seat's missing one.
    pub substituted: bool,
    /// Who drives the seat.
    pub presence: Presence,
    /// Since which change of drivers.
    pub epoch: ControlEpoch,
}

/// What the authority confirmed for one tick: every seat's input, the substituted seats, presence, and ordered commands.
///
/// A frame is self-contained (A2). It owns flat buffers that [`Frame::reset`] keeps, so one frame can be refilled each tick.
#[doc(alias = "packet")]
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Frame {
    generation: Generation,
    tick: Tick,
    seats: Vec<SeatRecord>,
    commands: Vec<CommandRecord>,
    bytes: Vec<u8>,
}

/// Why bytes are not a frame.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
pub enum FrameError {
    /// The bytes are malformed or not canonical.
    #[error("{0}")]
    Encoding(#[from] WireError),
    /// A seat, input or command is beyond what the match allows.
    #[error("a seat, input or command is beyond the match's limits")]
    Limit,
    /// The frame repeats what its form leaves out.
    #[error("the frame repeats what stands in the frame before")]
    NotAbbreviated,
    /// The frame abbreviates, but the frame before it is not known.
    #[error("the frame before this one is not known")]
    NoBase,
}

impl Frame {
    /// An empty frame; seats are pushed next, in their order.
    #[must_use]
    pub fn new(generation: Generation, tick: Tick) -> Frame {
        Frame { generation, tick, seats: Vec::new(), commands: Vec::new(), bytes: Vec::new() }
    }

    /// Empties the frame for another tick and keeps its buffers.
    pub fn reset(&mut self, generation: Generation, tick: Tick) {
        (self.generation, self.tick) = (generation, tick);
        self.seats.clear();
        self.commands.clear();
        self.bytes.clear();
    }

    /// Makes this frame equal to `other` and keeps its buffers.
    pub fn copy_from(&mut self, other: &Frame) {
        self.reset(other.generation, other.tick);
        self.seats.extend_from_slice(&other.seats);
        self.commands.extend_from_slice(&other.commands);
        self.bytes.extend_from_slice(&other.bytes);
    }

    /// Adds the next seat. Seats come before commands.
    #[inline]
    pub fn push_seat(&mut self, seat: SeatFrame<'_>) {
        let start = position(&self.bytes, 0);
        self.bytes.extend_from_slice(seat.input.unwrap_or_default());
        let flags = SeatFlags::SUBSTITUTED.when(seat.substituted).with(SeatFlags::NULL.when(seat.input.is_none()));
        let (end, epoch, presence) = (position(&self.bytes, 0), seat.epoch, seat.presence);
        self.seats.push(SeatRecord { start, end, epoch, presence, flags });
    }

    /// Adds a command behind the ones that are there.
    pub fn push_command(&mut self, source: CommandSource, payload: &[u8]) {
        let start = position(&self.bytes, 0);
        self.bytes.extend_from_slice(payload);
        self.commands.push(CommandRecord { start, end: position(&self.bytes, 0), source });
    }

    /// The generation whose ticks these are.
    pub fn generation(&self) -> Generation {
        self.generation
    }

    /// About how many bytes of memory it takes, for whoever keeps many.
    pub(crate) fn weight(&self) -> usize {
        let (seats, commands) = (self.seats.len(), self.commands.len());
        self.bytes.len() + seats * size_of::<SeatRecord>() + commands * size_of::<CommandRecord>()
    }

    /// The tick that this frame confirms.
    pub fn tick(&self) -> Tick {
        self.tick
    }

    /// How many seats stand in the frame.
    pub fn seat_count(&self) -> usize {
        self.seats.len()
    }

    /// What the frame says of `seat`; an empty seat beyond its seats.
    pub fn seat(&self, seat: Seat) -> SeatFrame<'_> {
        self.seats.get(seat.index()).map(|record| self.view(record)).unwrap_or_default()
    }

    /// What the frame says of each seat, in order.
    pub fn seats(&self) -> impl Iterator<Item = SeatFrame<'_>> {
        self.seats.iter().map(|record| self.view(record))
    }

    fn view(&self, record: &SeatRecord) -> SeatFrame<'_> {
        SeatFrame {
            input: (!record.flags.has(SeatFlags::NULL)).then(|| record.input(&self.bytes)),
            substituted: record.flags.has(SeatFlags::SUBSTITUTED),
            presence: record.presence,
            epoch: record.epoch,
        }
    }

    /// The confirmed input of `seat`; `None` is null.
    pub fn input(&self, seat: Seat) -> Option<&[u8]> {
        self.seat(seat).input
    }

    /// The human seats whose input was missing at the deadline.
    pub fn substituted(&self) -> SeatSet {
        (0..)
            .map_while(Seat::new)
            .zip(&self.seats)
            .filter(|(_, record)| record.flags.has(SeatFlags::SUBSTITUTED))
            .map(|(seat, _)| seat)
            .collect()
    }

    /// The ordered commands.
    pub fn commands(&self) -> impl ExactSizeIterator<Item = (CommandSource, &[u8])> {
        self.commands.iter().map(|record| record.view(&self.bytes))
    }

    /// The flat buffers: what a step copies.
    pub(crate) fn records(&self) -> (&[SeatRecord], &[CommandRecord], &[u8]) {
        (&self.seats, &self.commands, &self.bytes)
    }

    /// Appends the self-contained form: what the hash chain, logs and replays hold.
    pub fn encode_full(&self, out: &mut Vec<u8>) {
        wire::encode_into(&self.generation, out);
        wire::encode_into(&self.tick, out);
        self.encode_body(None, out);
    }

    /// Appends the form that travels behind `base`, the frame of the tick before: only what changed. Without a base it holds
    /// everything, but still not its generation and tick, which the message around it gives.
    pub fn encode_after(&self, base: Option<&Frame>, out: &mut Vec<u8>) {
        self.encode_body(base, out);
    }

    fn encode_body(&self, base: Option<&Frame>, out: &mut Vec<u8>) {
        let numbered = || (0..).map_while(Seat::new).zip(self.seats());
        let unchanged = |(seat, view): &(Seat, SeatFrame<'_>)| base.is_some_and(|base| base.input(*seat) == view.input);
        let changed: SeatSet = numbered().filter(|entry| !unchanged(entry)).map(|(seat, _)| seat).collect();
        let same_drivers = base.is_some_and(|base| drivers(base).eq(drivers(self)));
        wire::encode_into(&changed, out);
        numbered()
            .filter(|(seat, _)| changed.contains(*seat))
            .for_each(|(_, view)| wire::encode_into(&view.input, out));
        wire::encode_into(&self.substituted(), out);
        wire::encode_into(&!same_drivers, out);
        if !same_drivers {
            drivers(self).for_each(|driver| wire::encode_into(&driver, out));
        }
        wire::encode_into(&(self.commands.len() as u64), out);
        self.commands().for_each(|command| wire::encode_into(&command, out));
    }

    /// Reads the self-contained form, for a match of `seats` seats, from the front of `cursor` into this frame.
    ///
    /// # Errors
    /// [`FrameError`]; the frame then holds nothing of use.
    pub fn decode_full(&mut self, cursor: &mut Cursor<'_>, seats: SeatCount) -> Result<(), FrameError> {
        let (generation, tick) = (cursor.take()?, cursor.take()?);
        self.decode_after(cursor, None, FrameKey { generation, tick, seats })
    }

    /// Reads the form that [`Frame::encode_after`] writes.
    ///
    /// # Errors
    /// [`FrameError`]; the frame then holds nothing of use.
    pub fn decode_after(
        &mut self,
        cursor: &mut Cursor<'_>,
        base: Option<&Frame>,
        key: FrameKey,
    ) -> Result<(), FrameError> {
        self.reset(key.generation, key.tick);
        let changed: SeatSet = cursor.take()?;
        if !changed.fits(key.seats) {
            return Err(FrameError::Limit);
        }
        for seat in key.seats.seats() {
            let input = if changed.contains(seat) {
                let input = cursor.take::<Option<&[u8]>>()?;
                if base.is_some_and(|base| base.input(seat) == input) {
                    return Err(FrameError::NotAbbreviated);
                }
                input
            } else {
                base.ok_or(FrameError::NoBase)?.input(seat)
            };
            if input.is_some_and(|input| input.len() > MAX_INPUT_BYTES) {
                return Err(FrameError::Limit);
            }
            self.push_seat(SeatFrame { input, ..SeatFrame::default() });
        }
        self.decode_rest(cursor, base, key.seats)
    }

    fn decode_rest(
        &mut self,
        cursor: &mut Cursor<'_>,
        base: Option<&Frame>,
        seats: SeatCount,
    ) -> Result<(), FrameError> {
        let substituted: SeatSet = cursor.take()?;
        if !substituted.fits(seats) {
            return Err(FrameError::Limit);
        }
        let drivers_follow: bool = cursor.take()?;
        for (seat, record) in seats.seats().zip(&mut self.seats) {
            record.flags = record.flags.with(SeatFlags::SUBSTITUTED.when(substituted.contains(seat)));
            (record.presence, record.epoch) = if drivers_follow {
                cursor.take()?
            } else {
                let view = base.ok_or(FrameError::NoBase)?.seat(seat);
                (view.presence, view.epoch)
            };
        }
        if drivers_follow && base.is_some_and(|base| drivers(base).eq(drivers(self))) {
            return Err(FrameError::NotAbbreviated);
        }
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
        Ok(())
    }
}

/// What an abbreviated frame does not say of itself.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct FrameKey {
    /// The generation whose ticks these are.
    pub generation: Generation,
    /// The tick that the frame confirms.
    pub tick: Tick,
    /// Seats of the match.
    pub seats: SeatCount,
}

fn drivers(frame: &Frame) -> impl Iterator<Item = (Presence, ControlEpoch)> {
    frame.seats().map(|view| (view.presence, view.epoch))
}

const CHAIN_CONTEXT: &str = "retick 2026 frame chain v1";

/// The hash chain over a generation's frames (A12): it starts at the descriptor's digest, and each link covers the link before
/// and one frame's self-contained bytes. Equal heads mean equal histories.
#[derive(Clone, Debug)]
pub struct FrameChain {
    head: Digest,
    context: Context,
    scratch: Vec<u8>,
}

impl FrameChain {
    /// The chain before tick 0 of the generation that `descriptor` describes.
    #[must_use]
    pub fn new(descriptor: &MatchDescriptor) -> FrameChain {
        FrameChain { head: descriptor.digest(), context: Context::new(CHAIN_CONTEXT), scratch: Vec::new() }
    }

    /// The digest over every frame so far.
    pub fn head(&self) -> Digest {
        self.head
    }

    /// Adds the next frame.
    pub fn extend(&mut self, frame: &Frame) {
        self.scratch.clear();
        frame.encode_full(&mut self.scratch);
        self.head = self.context.digest(&[self.head.as_bytes(), &self.scratch]);
    }

    /// Adds the next frame by its self-contained bytes, for whoever has them already: what [`Frame::encode_full`] wrote. They are
    /// not looked at.
    pub fn extend_encoded(&mut self, frame: &[u8]) {
        self.head = self.context.digest(&[self.head.as_bytes(), frame]);
    }
}

#[cfg(test)]
mod tests {
    use alloc::vec;

    use crate::config::SessionConfig;
    use crate::identity::IdentityManifest;
    use crate::input::InputSchema;
    use crate::rng::SessionSeed;
    use crate::tick::TickRate;

    use super::*;

    fn seats(count: u8) -> SeatCount {
        SeatCount::new(count).expect("valid")
    }

    fn frame(tick: u64, inputs: &[Option<&[u8]>]) -> Frame {
        let mut frame = Frame::new(Generation(3), Tick::new(tick));
        for (input, number) in inputs.iter().zip(0u32..) {
            let epoch = ControlEpoch(number);
            frame.push_seat(SeatFrame { input: *input, substituted: number == 1, presence: Presence::Human, epoch });
        }
        frame
    }

    fn key(tick: u64, count: u8) -> FrameKey {
        FrameKey { generation: Generation(3), tick: Tick::new(tick), seats: seats(count) }
    }

    fn decode_after(bytes: &[u8], base: Option<&Frame>, key: FrameKey) -> Result<Frame, FrameError> {
        let mut cursor = Cursor::new(bytes);
        let mut frame = Frame::new(Generation(0), Tick::ZERO);
        frame.decode_after(&mut cursor, base, key)?;
        cursor.finish()?;
        Ok(frame)
    }

    #[test]
    fn a2_a_frame_is_self_contained_and_the_wire_may_abbreviate_it() {
        let first = frame(8, &[Some(b"ab"), None, Some(b"")]);
        let mut second = frame(9, &[Some(b"ab"), Some(b"x"), Some(b"")]);
        let seat = Seat::new(2).expect("valid");
        second.push_command(CommandSource::Game(seat), b"build");
        second.push_command(CommandSource::Authority, b"");

        let mut full = vec![];
        second.encode_full(&mut full);
        let mut cursor = Cursor::new(&full);
        let mut decoded = Frame::new(Generation(0), Tick::ZERO);
        assert_eq!(decoded.decode_full(&mut cursor, seats(3)), Ok(()));
        assert_eq!((&decoded, cursor.finish()), (&second, Ok(())));

        let mut delta = vec![];
        second.encode_after(Some(&first), &mut delta);
        assert!(delta.len() + 6 < full.len(), "{} against {}", delta.len(), full.len());
        assert_eq!(decode_after(&delta, Some(&first), key(9, 3)), Ok(second));
        assert_eq!(decode_after(&delta, None, key(9, 3)), Err(FrameError::NoBase));
    }

    #[test]
    fn a12_a_chain_over_frames_and_one_over_their_bytes_are_one() {
        let schema = InputSchema::builder("byte/v1").integer("value", 0..=255).build().expect("valid");
        let manifest = IdentityManifest::builder("native", 1, TickRate::Hz60).input_schema(schema).build();
        let (manifest, seed) = (manifest.expect("valid"), SessionSeed::from_u64(1));
        let descriptor = MatchDescriptor::new(&manifest, SessionConfig::empty(), seed, seats(2));
        let (mut frames, mut encoded) = (FrameChain::new(&descriptor), FrameChain::new(&descriptor));
        for tick in 0..3 {
            let frame = frame(tick, &[Some(b"ab"), None]);
            let mut bytes = vec![];
            frame.encode_full(&mut bytes);
            let before = encoded.head();
            frames.extend(&frame);
            encoded.extend_encoded(&bytes);
            assert!(frames.head() == encoded.head() && encoded.head() != before);
        }
    }

    #[test]
    fn a2_an_unchanged_frame_costs_four_bytes() {
        let held: [Option<&[u8]>; 4] = [Some(&[7; 16]); 4];
        let first = frame(8, &held);
        let mut delta = vec![];
        frame(9, &held).encode_after(Some(&first), &mut delta);
        assert_eq!(delta.len(), 4);
    }

    #[test]
    fn k13_a_frame_that_repeats_what_is_known_is_refused() {
        let held: [Option<&[u8]>; 2] = [Some(b"a"), Some(b"b")];
        let (first, second) = (frame(8, &held), frame(9, &held));
        let mut whole = vec![];
        second.encode_after(None, &mut whole);
        assert_eq!(decode_after(&whole, Some(&first), key(9, 2)), Err(FrameError::NotAbbreviated));
        let mut changed = frame(8, &[Some(b"x"), Some(b"y")]);
        assert_eq!(decode_after(&whole, Some(&changed), key(9, 2)), Err(FrameError::NotAbbreviated));
        changed.reset(Generation(3), Tick::new(8));
        (0..2).for_each(|_| changed.push_seat(SeatFrame { input: Some(b"x"), ..SeatFrame::default() }));
        assert_eq!(decode_after(&whole, Some(&changed), key(9, 2)), Ok(second));
    }

    #[test]
    fn k13_a_frame_that_is_cut_or_written_otherwise_is_refused() {
        let mut frame = frame(300, &[Some(b"ab"), None]);
        frame.push_command(CommandSource::Game(Seat::new(1).expect("valid")), b"build");
        let mut full = vec![];
        frame.encode_full(&mut full);
        let check = |bytes: &[u8], error: WireError| {
            let mut cursor = Cursor::new(bytes);
            let decoded = Frame::new(Generation(0), Tick::ZERO).decode_full(&mut cursor, seats(2));
            let finished = decoded.and_then(|()| Ok(cursor.finish()?));
            assert_eq!(finished, Err(FrameError::Encoding(error)), "{bytes:?}");
        };
        (0..full.len()).for_each(|end| check(&full[..end], WireError::Malformed));
        check(&[&full[..], &[0]].concat(), WireError::NotCanonical { offset: full.len() });
        // The generation in three bytes.
        check(&[&[251, 3, 0], &full[1..]].concat(), WireError::NotCanonical { offset: 0 });
        let mut body = vec![];
        frame.encode_after(None, &mut body);
        body.pop();
        assert_eq!(decode_after(&body, None, key(300, 2)), Err(FrameError::Encoding(WireError::Malformed)));
    }

    #[test]
    fn k13_frames_beyond_the_limits_are_refused() {
        let mut bytes = vec![];
        frame(0, &[Some(&[0; MAX_INPUT_BYTES + 1])]).encode_after(None, &mut bytes);
        assert_eq!(decode_after(&bytes, None, key(0, 1)), Err(FrameError::Limit));
        bytes.clear();
        frame(0, &[None, None]).encode_after(None, &mut bytes);
        assert_eq!(decode_after(&bytes, None, key(0, 1)), Err(FrameError::Limit));
        bytes.clear();
        let mut crowded = frame(0, &[None]);
        (0..=MAX_COMMANDS_PER_FRAME).for_each(|_| crowded.push_command(CommandSource::Authority, b""));
        crowded.encode_after(None, &mut bytes);
        assert_eq!(decode_after(&bytes, None, key(0, 1)), Err(FrameError::Limit));
        bytes.clear();
        let mut foreign = frame(0, &[None]);
        foreign.push_command(CommandSource::Game(Seat::new(1).expect("valid")), b"");
        foreign.encode_after(None, &mut bytes);
        assert_eq!(decode_after(&bytes, None, key(0, 1)), Err(FrameError::Limit));
    }
}
