//! Seats: the input positions of a match, who drives them, and sets of them.
//!
//! ```
//! use retick_core::seat::{MAX_SEATS, Seat, SeatCount, SeatSet};
//!
//! let seats = SeatCount::new(3).expect("1 to 128 seats");
//! let mut local: SeatSet = seats.seats().take(2).collect();
//! assert!(local.fits(seats) && local.len() == 2);
//! let second = Seat::new(1).expect("below the limit");
//! local.remove(second);
//! assert!(!local.contains(second));
//! // A seat beyond the limit is no seat.
//! assert_eq!((Seat::new(MAX_SEATS), SeatCount::new(0)), (None, None));
//! ```

use core::fmt;

use bincode::{Decode, Encode};
use serde::{Deserialize, Serialize};

/// Most seats that a match can have (S1).
pub const MAX_SEATS: u8 = 128;

const _: () = assert!(MAX_SEATS as u32 <= u128::BITS, "SeatSet holds one bit a seat");

/// An input position in a match; outlives connections. Always below [`MAX_SEATS`].
#[doc(alias = "player")]
#[doc(alias = "slot")]
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Encode)]
pub struct Seat(u8);

impl Seat {
    /// The first `count` seats, as many as there can be.
    #[inline]
    pub(crate) fn first(count: usize) -> impl ExactSizeIterator<Item = Seat> {
        (0..u8::try_from(count).map_or(MAX_SEATS, |count| count.min(MAX_SEATS))).map(Seat)
    }

    /// The seat with this index, or `None` from [`MAX_SEATS`] on.
    pub const fn new(index: u8) -> Option<Seat> {
        if index < MAX_SEATS { Some(Seat(index)) } else { None }
    }

    /// Position, from 0.
    pub const fn index(self) -> usize {
        self.0 as usize
    }

    /// Position, from 0, as the byte that travels.
    pub const fn number(self) -> u8 {
        self.0
    }
}

impl fmt::Display for Seat {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.0)
    }
}

crate::codec::decode_checked!(Seat, u8, Seat::new, "seat");

/// How many seats a match has: 1 to [`MAX_SEATS`], fixed for its life (S1).
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Encode)]
pub struct SeatCount(u8);

impl SeatCount {
    /// A count, or `None` for 0 and beyond [`MAX_SEATS`].
    pub const fn new(count: u8) -> Option<SeatCount> {
        if count >= 1 && count <= MAX_SEATS { Some(SeatCount(count)) } else { None }
    }

    /// The number of seats.
    pub const fn count(self) -> usize {
        self.0 as usize
    }

    /// Every seat, in order.
    pub fn seats(self) -> impl DoubleEndedIterator<Item = Seat> + ExactSizeIterator {
        (0..self.0).map(Seat)
    }

    /// Whether `seat` is one of them.
    pub const fn contains(self, seat: Seat) -> bool {
        seat.0 < self.0
    }
}

impl fmt::Display for SeatCount {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.0)
    }
}

crate::codec::decode_checked!(SeatCount, u8, SeatCount::new, "seat count");

/// A set of seats, as one word.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize, Encode, Decode)]
pub struct SeatSet(u128);

impl SeatSet {
    /// The empty set.
    pub const EMPTY: SeatSet = SeatSet(0);

    /// Adds `seat`.
    pub fn insert(&mut self, seat: Seat) {
        self.0 |= 1 << seat.0;
    }

    /// Takes `seat` out.
    pub fn remove(&mut self, seat: Seat) {
        self.0 &= !(1 << seat.0);
    }

    /// Whether `seat` is in the set.
    pub const fn contains(self, seat: Seat) -> bool {
        self.0 & (1 << seat.0) != 0
    }

    /// Whether no seat is in the set.
    pub const fn is_empty(self) -> bool {
        self.0 == 0
    }

    /// How many seats are in the set.
    pub const fn len(self) -> usize {
        self.0.count_ones() as usize
    }

    /// The seats, in order.
    pub fn iter(self) -> impl Iterator<Item = Seat> {
        (0..MAX_SEATS).map(Seat).filter(move |seat| self.contains(*seat))
    }

    /// Whether every seat in the set is one of `seats`.
    pub const fn fits(self, seats: SeatCount) -> bool {
        seats.0 == MAX_SEATS || self.0 >> seats.0 == 0
    }

    /// The first seat in the set that is not one of `seats`.
    pub fn first_beyond(self, seats: SeatCount) -> Option<Seat> {
        self.iter().find(|seat| seat.0 >= seats.0)
    }
}

impl fmt::Debug for SeatSet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set().entries(self.iter().map(|seat| seat.0)).finish()
    }
}

impl FromIterator<Seat> for SeatSet {
    fn from_iter<I: IntoIterator<Item = Seat>>(seats: I) -> Self {
        let mut set = SeatSet::EMPTY;
        seats.into_iter().for_each(|seat| set.insert(seat));
        set
    }
}

/// Who drives a seat, as a confirmed frame says (K8, A5, A6).
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default, Serialize, Deserialize, Encode, Decode)]
pub enum Presence {
    /// Nobody: the seat was never claimed, or was left.
    #[default]
    Empty,
    /// A connected player.
    Human,
    /// A bot that the game itself plays inside its step.
    Bot,
    /// A player whose transport is lost and whose grace runs.
    Disconnected,
}

/// Counts the changes of who drives a seat (A5). Inputs carry it, and a stale one is refused.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default, Serialize, Deserialize, Encode, Decode)]
pub struct ControlEpoch(pub u32);

impl ControlEpoch {
    /// The epoch after this one; saturates, which 2^32 changes of one seat never reach.
    #[must_use]
    pub const fn next(self) -> ControlEpoch {
        ControlEpoch(self.0.saturating_add(1))
    }
}

/// Counts the session configs that a live room has been on (A10). Ticks start again at 0 in each.
#[doc(alias = "reset")]
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default, Serialize, Deserialize, Encode, Decode)]
pub struct Generation(pub u32);

impl fmt::Display for Generation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn s1_seats_and_counts_end_at_the_limit() {
        assert_eq!(Seat::new(127).map(Seat::index), Some(127));
        assert_eq!(Seat::new(128), None);
        assert_eq!(SeatCount::new(0), None);
        assert_eq!(SeatCount::new(128).map(SeatCount::count), Some(128));
        assert_eq!(SeatCount::new(129), None);
    }

    #[test]
    fn seat_sets_hold_the_first_and_the_last_seat() {
        let (first, last) = (Seat(0), Seat(127));
        let mut set: SeatSet = [first, last].into_iter().collect();
        assert!(set.contains(first) && set.contains(last) && set.len() == 2);
        assert!(set.fits(SeatCount(128)) && !set.fits(SeatCount(127)));
        assert_eq!((set.first_beyond(SeatCount(128)), set.first_beyond(SeatCount(127))), (None, Some(last)));
        set.remove(last);
        assert!(set.fits(SeatCount(1)));
        assert_eq!(set.first_beyond(SeatCount(1)), None);
        assert_eq!(set.iter().collect::<alloc::vec::Vec<_>>(), [first]);
    }
}
