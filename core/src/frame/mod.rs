//! The confirmed frame of one tick (A2). Its forms are in `encoding`, several frames in a row in `run`, and the hash chain over
//! all frames in `chain` (A12).
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

mod chain;
mod encoding;
mod run;
#[cfg(test)]
mod tests;

use alloc::vec::Vec;

use bincode::{BorrowDecode, Encode};

pub use chain::FrameChain;
pub use run::{FrameRunReader, FrameRunWriter};

use crate::codec::wire::WireError;
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
    fence: u32,
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
        Frame { generation, tick, fence: 0, seats: Vec::new(), commands: Vec::new(), bytes: Vec::new() }
    }

    /// Empties the frame for another tick, without fences, and keeps its buffers.
    pub fn reset(&mut self, generation: Generation, tick: Tick) {
        (self.generation, self.tick, self.fence) = (generation, tick, 0);
        self.seats.clear();
        self.commands.clear();
        self.bytes.clear();
    }

    /// Makes this frame equal to `other` and keeps its buffers.
    pub fn copy_from(&mut self, other: &Frame) {
        self.reset(other.generation, other.tick);
        self.fence = other.fence;
        self.seats.extend_from_slice(&other.seats);
        self.commands.extend_from_slice(&other.commands);
        self.bytes.extend_from_slice(&other.bytes);
    }

    /// Adds the next seat. Seats come before commands.
    #[inline]
    pub fn push_seat(&mut self, seat: SeatFrame<'_>) {
        let start = position(&self.bytes, 0);
        self.bytes.extend_from_slice(seat.input.unwrap_or_default());
        self.push_record(start, seat);
    }

    /// Adds the next seat, whose input is the bytes from `start` on.
    #[inline]
    fn push_record(&mut self, start: u32, seat: SeatFrame<'_>) {
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

    /// How many fences the room has raised in this generation up to here (A12): 0, unless it was restored from its log. A frame
    /// with another number is another history, whatever else it says.
    pub fn fence(&self) -> u32 {
        self.fence
    }

    /// Says how many fences the room has raised.
    pub fn set_fence(&mut self, fence: u32) {
        self.fence = fence;
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
