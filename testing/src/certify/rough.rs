//! A match as a room confirms it on a bad day: what no test of even inputs has.

use std::num::NonZeroU64;

use retick_core::frame::{CommandSource, Frame, SeatFrame};
use retick_core::input::MAX_INPUT_BYTES;
use retick_core::rng::{RngStream, SessionSeed};
use retick_core::seat::{ControlEpoch, Generation, Presence, Seat, SeatCount};
use retick_core::tick::Tick;

/// Ticks between changes of who drives a seat.
const PHASE_TICKS: u64 = 20;
/// In the first of so many ticks, a human seat's input was late.
const SUBSTITUTED_EVERY_TICKS: u64 = 23;
/// For so many ticks.
const SUBSTITUTED_TICKS: u64 = 3;
/// Once in so many ticks, a seat's input is none of the schema's.
const MALFORMED_EVERY_TICKS: u64 = 31;
/// Once in so many ticks, there are commands, where the game takes any.
const COMMANDS_EVERY_TICKS: u64 = 7;
/// One more than the longest made-up command has bytes.
const COMMAND_BYTES: NonZeroU64 = NonZeroU64::MIN.saturating_add(48);

/// The frames of a rough match.
pub(super) struct Rough<'a> {
    pub script: &'a dyn Fn(Seat, Tick) -> Vec<u8>,
    pub seats: SeatCount,
    pub seed: u64,
    /// Bytes of a valid input.
    pub packed_bytes: usize,
    /// Whether the game takes commands.
    pub commands: bool,
}

impl Rough<'_> {
    /// Makes `frame` that of `tick`.
    pub fn fill(&self, tick: Tick, frame: &mut Frame) {
        frame.reset(Generation(0), tick);
        for seat in self.seats.seats() {
            let (presence, epoch) = driver(seat, tick);
            let late = (tick.index() + seat.index() as u64 * 5) % SUBSTITUTED_EVERY_TICKS;
            let human = presence == Presence::Human;
            let substituted = human && (1..=SUBSTITUTED_TICKS).contains(&late);
            let input = if human { self.input(seat, tick) } else { None };
            frame.push_seat(SeatFrame { input: input.as_deref(), substituted, presence, epoch });
        }
        if self.commands && tick.index().is_multiple_of(COMMANDS_EVERY_TICKS) {
            self.push_commands(tick, frame);
        }
    }

    /// Makes `frame` one in which everybody is there, as in the proofs.
    pub fn fill_evenly(&self, tick: Tick, frame: &mut Frame) {
        frame.reset(Generation(0), tick);
        for seat in self.seats.seats() {
            let (input, presence, epoch) = ((self.script)(seat, tick), Presence::Human, ControlEpoch(1));
            frame.push_seat(SeatFrame { input: Some(&input), substituted: false, presence, epoch });
        }
    }

    fn input(&self, seat: Seat, tick: Tick) -> Option<Vec<u8>> {
        let malformed = tick.index() % MALFORMED_EVERY_TICKS == (seat.index() as u64 * 7) % MALFORMED_EVERY_TICKS;
        if malformed && self.packed_bytes < MAX_INPUT_BYTES {
            return Some(vec![0xFF; self.packed_bytes + 1]);
        }
        Some((self.script)(seat, tick))
    }

    fn push_commands(&self, tick: Tick, frame: &mut Frame) {
        let mut draws = RngStream::derive(&SessionSeed::from_u64(self.seed), &format!("commands {tick}"));
        let first_seat = self.seats.seats().next().map_or(CommandSource::Authority, CommandSource::Game);
        for source in [CommandSource::Authority, first_seat] {
            let length = draws.below_u64(COMMAND_BYTES);
            let payload: Vec<u8> = (0..length).map(|_| draws.next_u64().to_le_bytes()[0]).collect();
            frame.push_command(source, &payload);
        }
    }
}

/// Who drives a seat: the first stays, the others come and go.
fn driver(seat: Seat, tick: Tick) -> (Presence, ControlEpoch) {
    let phase = tick.index() / PHASE_TICKS;
    let presence = match (phase + seat.index() as u64) % 5 {
        _ if seat.index() == 0 => Presence::Human,
        0 => Presence::Disconnected,
        1 => Presence::Empty,
        2 => Presence::Bot,
        _ => Presence::Human,
    };
    let epochs = if seat.index() == 0 { 0 } else { phase };
    (presence, ControlEpoch(u32::try_from(epochs).unwrap_or(u32::MAX)))
}
