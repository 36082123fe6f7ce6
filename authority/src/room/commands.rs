//! Commands that wait for their frame, and the rates of commands and ephemerals (A9).

use alloc::collections::VecDeque;

use retick_core::frame::{CommandSource, Frame, MAX_COMMAND_BYTES, MAX_COMMANDS_PER_FRAME};
use retick_core::seat::Seat;

use super::fifo::Fifo;

/// Commands that a seat may request per second (A9).
pub const COMMANDS_PER_SECOND: u32 = 60;
/// Ephemerals that a seat may send per second (A9).
pub const EPHEMERALS_PER_SECOND: u32 = 20;
/// Most commands that wait for a frame; more are rejected.
pub const MAX_QUEUED_COMMANDS: usize = 256;
/// Most bytes of the commands that wait for a frame; more are rejected. One call may order all of them, so they stay far below
/// what a service lets wait for one connection (A11): a burst of some seats must not close the connections of others.
pub const MAX_QUEUED_COMMAND_BYTES: usize = 256 << 10;
/// Most bytes of the commands of one frame, beyond the first; the rest waits for the next.
pub const MAX_COMMAND_BYTES_PER_FRAME: usize = 32 << 10;

const _: () = assert!(MAX_QUEUED_COMMANDS >= MAX_COMMANDS_PER_FRAME, "a frame can be filled");
const _: () = assert!(MAX_COMMAND_BYTES_PER_FRAME >= MAX_COMMAND_BYTES && MAX_QUEUED_COMMAND_BYTES <= 1 << 18);

#[derive(Clone, Copy, Debug)]
struct Waiting {
    /// `None` once its seat left.
    seat: Option<Seat>,
    byte_count: usize,
}

/// Accepted commands, in the order of their arrival.
#[derive(Clone, Debug, Default)]
pub(super) struct CommandQueue {
    waiting: VecDeque<Waiting>,
    waiting_bytes: usize,
    bytes: Fifo<u8>,
}

impl CommandQueue {
    /// Whether a command of so many bytes has no place.
    pub(super) fn is_full(&self, byte_count: usize) -> bool {
        self.waiting.len() >= MAX_QUEUED_COMMANDS || self.waiting_bytes + byte_count > MAX_QUEUED_COMMAND_BYTES
    }

    pub(super) fn push(&mut self, seat: Seat, payload: &[u8]) {
        self.bytes.end().extend_from_slice(payload);
        self.waiting_bytes += payload.len();
        self.waiting.push_back(Waiting { seat: Some(seat), byte_count: payload.len() });
    }

    /// Discards what `seat` requested.
    pub(super) fn discard(&mut self, seat: Seat) {
        self.waiting.iter_mut().filter(|waiting| waiting.seat == Some(seat)).for_each(|waiting| waiting.seat = None);
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
            let Some(Waiting { seat, byte_count }) = self.waiting.pop_front() else {
                return;
            };
            self.waiting_bytes -= byte_count;
            ordered_bytes += byte_count;
            let payload = self.bytes.take(byte_count);
            if let Some(seat) = seat {
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

    #[test]
    fn a11_what_waits_and_what_a_frame_takes_is_bounded_in_bytes() {
        let (mut queue, seat) = (CommandQueue::default(), Seat::new(0).expect("valid"));
        let payload = [7; MAX_COMMAND_BYTES];
        let mut accepted = 0;
        while !queue.is_full(payload.len()) {
            queue.push(seat, &payload);
            accepted += 1;
        }
        assert_eq!(accepted, MAX_QUEUED_COMMAND_BYTES / MAX_COMMAND_BYTES);
        assert!(!queue.is_full(0), "commands without bytes still have a place");
        let mut frames = 0;
        while accepted > 0 {
            let mut frame = Frame::new(Generation(0), Tick::ZERO);
            queue.fill(&mut frame);
            assert_eq!(frame.commands().len(), MAX_COMMAND_BYTES_PER_FRAME / MAX_COMMAND_BYTES);
            accepted -= frame.commands().len();
            frames += 1;
        }
        assert_eq!(frames, MAX_QUEUED_COMMAND_BYTES / MAX_COMMAND_BYTES_PER_FRAME);
        assert!(!queue.is_full(MAX_QUEUED_COMMAND_BYTES), "everything was taken");
    }

    #[test]
    fn a9_a_full_frame_leaves_the_rest_for_the_next_and_a_leaver_takes_its_commands_along() {
        let (stays, leaves) = (Seat::new(0).expect("valid"), Seat::new(1).expect("valid"));
        let mut queue = CommandQueue::default();
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
