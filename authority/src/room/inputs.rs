//! What one seat delivered for ticks that are not confirmed yet (A1, A4). Ordered by tick, never by arrival.

use alloc::vec;
use alloc::vec::Vec;

use retick_core::tick::Tick;

/// What became of one input.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Delivery {
    /// It is kept.
    Kept,
    /// The same input was there already.
    Duplicate,
    /// Another input was there already, and stands.
    Conflict,
    /// Its tick is confirmed.
    Late,
    /// It is too long, or too far ahead.
    Refused,
    /// Its tick is before the seat's first.
    Early,
}

/// A ring over the ticks from the frontier to the look-ahead, allocated once.
#[derive(Clone, Debug)]
pub(super) struct InputBuffer {
    max_input_bytes: usize,
    /// Length of the input in each place, if there is one. Tick `t` has the place `t mod lengths.len()`.
    lengths: Vec<Option<u16>>,
    bytes: Vec<u8>,
}

impl InputBuffer {
    /// A buffer for the frontier's tick and `look_ahead_ticks` more.
    pub(super) fn new(look_ahead_ticks: u64, max_input_bytes: u16) -> InputBuffer {
        let places = usize::try_from(look_ahead_ticks).unwrap_or(usize::MAX).saturating_add(1);
        let max_input_bytes = usize::from(max_input_bytes);
        let bytes = vec![0; places.saturating_mul(max_input_bytes)];
        InputBuffer { max_input_bytes, lengths: vec![None; places], bytes }
    }

    /// Takes in an input for `tick` while `frontier` is the first tick that is not confirmed.
    pub(super) fn deliver(&mut self, frontier: Tick, tick: Tick, input: &[u8]) -> Delivery {
        if tick < frontier {
            return Delivery::Late;
        }
        let Some(length) = u16::try_from(input.len()).ok().filter(|_| input.len() <= self.max_input_bytes) else {
            return Delivery::Refused;
        };
        if tick.since(frontier) >= self.lengths.len() as u64 {
            return Delivery::Refused;
        }
        match self.peek(tick) {
            Some(first) if first == input => Delivery::Duplicate,
            Some(_) => Delivery::Conflict,
            None => {
                let place = self.place(tick);
                let start = place * self.max_input_bytes;
                self.bytes[start..start + input.len()].copy_from_slice(input);
                self.lengths[place] = Some(length);
                Delivery::Kept
            }
        }
    }

    /// Whether there is an input for `tick`.
    pub(super) fn has(&self, tick: Tick) -> bool {
        self.lengths[self.place(tick)].is_some()
    }

    /// Takes the input for `tick` out.
    pub(super) fn take(&mut self, tick: Tick) -> Option<&[u8]> {
        let place = self.place(tick);
        let length = self.lengths[place].take()?;
        Some(self.view(place, length))
    }

    /// Forgets everything.
    pub(super) fn clear(&mut self) {
        self.lengths.fill(None);
    }

    fn peek(&self, tick: Tick) -> Option<&[u8]> {
        let place = self.place(tick);
        self.lengths[place].map(|length| self.view(place, length))
    }

    fn view(&self, place: usize, length: u16) -> &[u8] {
        let start = place * self.max_input_bytes;
        &self.bytes[start..start + usize::from(length)]
    }

    fn place(&self, tick: Tick) -> usize {
        // The remainder is below a length, so it is an index.
        usize::try_from(tick.index() % self.lengths.len() as u64).unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn deliver(buffer: &mut InputBuffer, frontier: u64, tick: u64, input: &[u8]) -> Delivery {
        buffer.deliver(Tick::new(frontier), Tick::new(tick), input)
    }

    #[test]
    fn a1_the_first_of_two_inputs_stands_and_ticks_order_them() {
        let mut buffer = InputBuffer::new(4, 2);
        assert_eq!(deliver(&mut buffer, 7, 9, b"b"), Delivery::Kept);
        assert_eq!(deliver(&mut buffer, 7, 7, b""), Delivery::Kept);
        assert_eq!(deliver(&mut buffer, 7, 9, b"b"), Delivery::Duplicate);
        assert_eq!(deliver(&mut buffer, 7, 9, b"bb"), Delivery::Conflict);
        assert_eq!(deliver(&mut buffer, 7, 6, b"a"), Delivery::Late);
        assert_eq!(buffer.take(Tick::new(7)), Some(&b""[..]));
        assert_eq!(buffer.take(Tick::new(8)), None);
        assert_eq!(buffer.take(Tick::new(9)), Some(&b"b"[..]));
        assert!(!buffer.has(Tick::new(9)));
    }

    #[test]
    fn a4_the_look_ahead_and_the_length_end_exactly_there() {
        let mut buffer = InputBuffer::new(4, 2);
        assert_eq!(deliver(&mut buffer, 10, 14, b"xy"), Delivery::Kept);
        assert_eq!(deliver(&mut buffer, 10, 15, b"xy"), Delivery::Refused);
        assert_eq!(deliver(&mut buffer, 10, u64::MAX, b"xy"), Delivery::Refused);
        assert_eq!(deliver(&mut buffer, 10, 11, b"xyz"), Delivery::Refused);
        assert_eq!(deliver(&mut buffer, 11, 15, b"zz"), Delivery::Kept);
        assert_eq!(buffer.take(Tick::new(14)), Some(&b"xy"[..]));
    }

    #[test]
    fn a4_a_match_without_input_bytes_still_has_inputs() {
        let mut buffer = InputBuffer::new(0, 0);
        assert_eq!(deliver(&mut buffer, 3, 3, b""), Delivery::Kept);
        assert_eq!(deliver(&mut buffer, 3, 3, b"a"), Delivery::Refused);
        assert_eq!(buffer.take(Tick::new(3)), Some(&b""[..]));
    }
}
