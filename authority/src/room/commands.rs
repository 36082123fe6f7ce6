//! Commands that wait for their frame, and the rates of commands, ephemerals and requests (A9, A11).

use alloc::collections::VecDeque;
use alloc::vec;
use alloc::vec::Vec;

use retick_core::frame::{CommandSource, Frame, MAX_COMMAND_BYTES, MAX_COMMANDS_PER_FRAME};
use retick_core::seat::{Seat, SeatCount};

use super::fifo::Fifo;

/// Commands that a seat may request per second (A9).
pub const COMMANDS_PER_SECOND: u32 = 60;
/// Ephemerals that a seat may send per second (A9).
pub const EPHEMERALS_PER_SECOND: u32 = 20;
/// Votes, starts, pauses, reconfigurations and results that a seat may ask for per second, and at once: each is told to everyone, and
/// some are written down.
pub const REQUESTS_PER_SECOND: u32 = 8;
/// Most commands that wait for a frame; more are rejected. Half of them are shared out among the seats, so that none takes the queue
/// from the others.
pub const MAX_QUEUED_COMMANDS: usize = 256;
/// Most bytes of the commands that wait for a frame, of which half are shared out too; more are rejected. One call may order all of them, so they stay far below
/// what a service lets wait for one connection (A11): a burst of some seats must not close the connections of others.
pub const MAX_QUEUED_COMMAND_BYTES: usize = 256 << 10;
/// Most bytes of the commands of one frame, beyond the first; the rest waits for the next.
pub const MAX_COMMAND_BYTES_PER_FRAME: usize = 32 << 10;

const _: () = assert!(MAX_QUEUED_COMMANDS >= MAX_COMMANDS_PER_FRAME, "a frame can be filled");
const _: () = assert!(MAX_COMMAND_BYTES_PER_FRAME >= MAX_COMMAND_BYTES && MAX_QUEUED_COMMAND_BYTES <= 1 << 18);

#[derive(Clone, Copy, Debug)]
struct Waiting {
    seat: Seat,
    byte_count: usize,
    /// Its seat has left.
    discarded: bool,
}

/// What takes up the queue.
#[derive(Clone, Copy, Debug, Default)]
struct Load {
    commands: usize,
    bytes: usize,
}

impl Load {
    /// What is left up to `other`.
    fn up_to(self, other: Load) -> Load {
        let (commands, bytes) = (other.commands.saturating_sub(self.commands), other.bytes.saturating_sub(self.bytes));
        Load { commands, bytes }
    }

    fn and(self, other: Load) -> Load {
        Load { commands: self.commands + other.commands, bytes: self.bytes + other.bytes }
    }

    fn without(self, other: Load) -> Load {
        Load { commands: self.commands - other.commands, bytes: self.bytes - other.bytes }
    }

    fn fits(self, most: Load) -> bool {
        self.commands <= most.commands && self.bytes <= most.bytes
    }
}

const MOST: Load = Load { commands: MAX_QUEUED_COMMANDS, bytes: MAX_QUEUED_COMMAND_BYTES };

/// Accepted commands, in the order of their arrival.
#[derive(Clone, Debug)]
pub(super) struct CommandQueue {
    waiting: VecDeque<Waiting>,
    load: Load,
    /// The part of each seat in it.
    loads: Vec<Load>,
    /// What is kept for each seat.
    share: Load,
    bytes: Fifo<u8>,
}

impl CommandQueue {
    pub(super) fn new(seats: SeatCount) -> CommandQueue {
        let count = seats.count();
        let share = Load { commands: MOST.commands / 2 / count, bytes: MOST.bytes / 2 / count };
        let (waiting, load, loads) = (VecDeque::new(), Load::default(), vec![Load::default(); count]);
        CommandQueue { waiting, load, loads, share, bytes: Fifo::default() }
    }

    /// Whether a command of so many bytes has no place: what is kept for others is none.
    pub(super) fn is_full(&self, seat: Seat, byte_count: usize) -> bool {
        let others = self.loads.iter().enumerate().filter(|(index, _)| *index != seat.index());
        let kept = others.fold(Load::default(), |kept, (_, load)| kept.and(load.up_to(self.share)));
        !self.load.and(Load { commands: 1, bytes: byte_count }).and(kept).fits(MOST)
    }

    pub(super) fn push(&mut self, seat: Seat, payload: &[u8]) {
        self.bytes.end().extend_from_slice(payload);
        let added = Load { commands: 1, bytes: payload.len() };
        self.load = self.load.and(added);
        self.loads[seat.index()] = self.loads[seat.index()].and(added);
        self.waiting.push_back(Waiting { seat, byte_count: payload.len(), discarded: false });
    }

    /// Discards what `seat` requested.
    pub(super) fn discard(&mut self, seat: Seat) {
        self.waiting.iter_mut().filter(|waiting| waiting.seat == seat).for_each(|waiting| waiting.discarded = true);
    }

    /// Moves as many commands into `frame` as one may hold.
    pub(super) fn fill(&mut self, frame: &mut Frame) {
        let mut ordered_bytes = 0;
        while frame.commands().len() < MAX_COMMANDS_PER_FRAME {
            let fits = |waiting: &Waiting| {
                frame.commands().len() == 0 || ordered_bytes + waiting.byte_count <= MAX_COMMAND_BYTES_PER_FRAME
            };
            if !self.waiting.front().is_some_and(fits) {
                return;
            }
            let Some(Waiting { seat, byte_count, discarded }) = self.waiting.pop_front() else {
                return;
            };
            let taken = Load { commands: 1, bytes: byte_count };
            self.load = self.load.without(taken);
            self.loads[seat.index()] = self.loads[seat.index()].without(taken);
            ordered_bytes += byte_count;
            let payload = self.bytes.take(byte_count);
            if !discarded {
                frame.push_command(CommandSource::Game(seat), payload);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use alloc::vec::Vec;

    use retick_core::seat::Generation;
    use retick_core::tick::Tick;

    use super::*;

    fn queue(seats: u8) -> CommandQueue {
        CommandQueue::new(SeatCount::new(seats).expect("a count"))
    }

    /// Whatever one seat does, every other one has its share, and what they all do together fits.
    #[test]
    fn a9_each_seat_has_its_share_of_the_queue() {
        for (seats, byte_count) in [(2, 1), (2, MAX_COMMAND_BYTES), (8, 700), (128, 1), (128, 1024)] {
            let (mut queue, payload) = (queue(seats), vec![7; byte_count]);
            let mut accepted = |seat: u8| {
                let seat = Seat::new(seat).expect("valid");
                let mut count = 0;
                while !queue.is_full(seat, byte_count) {
                    queue.push(seat, &payload);
                    count += 1;
                }
                count
            };
            let share = (MAX_QUEUED_COMMANDS / 2 / usize::from(seats))
                .min(MAX_QUEUED_COMMAND_BYTES / 2 / usize::from(seats) / byte_count);
            assert!(accepted(0) > share, "{seats} seats: what is nobody's is the first one's");
            assert!((1..seats).all(|seat| accepted(seat) == share), "{seats} seats of {byte_count} bytes");
        }
    }

    #[test]
    fn a11_what_waits_and_what_a_frame_takes_is_bounded_in_bytes() {
        let (mut queue, seat) = (queue(1), Seat::new(0).expect("valid"));
        let payload = [7; MAX_COMMAND_BYTES];
        let mut accepted = 0;
        while !queue.is_full(seat, payload.len()) {
            queue.push(seat, &payload);
            accepted += 1;
        }
        assert_eq!(accepted, MAX_QUEUED_COMMAND_BYTES / MAX_COMMAND_BYTES);
        assert!(!queue.is_full(seat, 0), "commands without bytes still have a place");
        let mut frames = 0;
        while accepted > 0 {
            let mut frame = Frame::new(Generation(0), Tick::ZERO);
            queue.fill(&mut frame);
            assert_eq!(frame.commands().len(), MAX_COMMAND_BYTES_PER_FRAME / MAX_COMMAND_BYTES);
            accepted -= frame.commands().len();
            frames += 1;
        }
        assert_eq!(frames, MAX_QUEUED_COMMAND_BYTES / MAX_COMMAND_BYTES_PER_FRAME);
        assert!(!queue.is_full(seat, MAX_QUEUED_COMMAND_BYTES), "everything was taken");
    }

    #[test]
    fn a9_a_full_frame_leaves_the_rest_for_the_next_and_a_leaver_takes_its_commands_along() {
        let (stays, leaves) = (Seat::new(0).expect("valid"), Seat::new(1).expect("valid"));
        let mut queue = queue(2);
        for number in 0..=u8::try_from(MAX_COMMANDS_PER_FRAME).expect("small") {
            queue.push(leaves, b"lost");
            queue.push(stays, &[number]);
        }
        queue.discard(leaves);
        let mut taken = Vec::new();
        for expected in [MAX_COMMANDS_PER_FRAME, 1, 0] {
            let mut frame = Frame::new(Generation(0), Tick::ZERO);
            queue.fill(&mut frame);
            assert_eq!(frame.commands().len(), expected);
            taken.extend(frame.commands().map(|(_, payload)| usize::from(payload[0])));
        }
        assert_eq!(taken, (0..=MAX_COMMANDS_PER_FRAME).collect::<Vec<_>>());
    }
}
