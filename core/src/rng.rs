//! Deterministic randomness (K6): named streams that a game keeps in its own state.
//!
//! Every stream has a key of its own, derived from the session seed and the stream's name. So adding a stream, or drawing
//! from one, never shifts another; and since a stream is part of the state, a rollback takes its draws back.
//!
//! Only integer arithmetic and exact conversions happen here, so that every draw is the same on every machine. How many
//! words each method draws is part of the contract: changing it changes every game.
//!
//! ```
//! use retick_core::rng::{RngStream, SessionSeed};
//!
//! let seed = SessionSeed::from_u64(7);
//! let [mut loot, mut weather] = ["loot", "weather"].map(|name| RngStream::derive(&seed, name));
//! let saved = loot.clone();
//! let rolls = [(); 4].map(|()| loot.range(1..=6));
//! assert!(rolls.iter().all(|roll| (1..=6).contains(roll)));
//! // Draws from another stream shift nothing, and a state that is restored draws the same again.
//! let _ = weather.next_u64();
//! loot = saved;
//! assert_eq!([(); 4].map(|()| loot.range(1..=6)), rolls);
//! ```

use core::fmt;
use core::num::{NonZeroU32, NonZeroU64};
use core::ops::RangeInclusive;

use bincode::{Decode, Encode};
use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::{Rng as _, SeedableRng as _};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::digest::Digest;

/// Context of a stream's key.
const STREAM_CONTEXT: &str = "retick 2026 rng stream v1";

/// Context of a seed that is expanded from a number.
const SEED_CONTEXT: &str = "retick 2026 session seed v1";

/// What all randomness of a match comes from; stands in the match's descriptor, so every machine has it (K6, K12).
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Serialize, Deserialize, Encode, Decode)]
pub struct SessionSeed([u8; 32]);

impl SessionSeed {
    /// The seed with these bytes.
    pub const fn from_bytes(bytes: [u8; 32]) -> SessionSeed {
        SessionSeed(bytes)
    }

    /// The bytes.
    pub const fn as_bytes(&self) -> &[u8; 32] {
        &self.0
    }

    /// A seed for each number, for tests and offline play: neighbouring numbers have unrelated seeds.
    #[must_use]
    pub fn from_u64(number: u64) -> SessionSeed {
        SessionSeed(*Digest::derived(SEED_CONTEXT, &[&number.to_le_bytes()]).as_bytes())
    }
}

/// A named stream of random words (ChaCha with 8 rounds), to be kept in a game's state (K6).
///
/// Two streams are equal when they will give the same words. The canonical form is the key (32 bytes) and the position in
/// words (`u64`), never the words that are computed ahead.
#[doc(alias = "random")]
#[derive(Clone)]
pub struct RngStream {
    /// Always stands at `position`, and on ChaCha's stream 0.
    words: ChaCha8Rng,
    position: u64,
}

impl RngStream {
    /// The stream of this name, at its start. Give each use a name of its own, such as `"loot"`.
    #[must_use]
    pub fn derive(seed: &SessionSeed, name: &str) -> RngStream {
        // The seed has a fixed length, so that no other pair of seed and name gives the same bytes.
        let key = Digest::derived(STREAM_CONTEXT, &[seed.as_bytes(), name.as_bytes()]);
        RngStream::at(*key.as_bytes(), 0)
    }

    fn at(key: [u8; 32], position: u64) -> RngStream {
        let mut words = ChaCha8Rng::from_seed(key);
        words.set_word_pos(u128::from(position));
        RngStream { words, position }
    }

    fn key(&self) -> [u8; 32] {
        self.words.get_seed()
    }

    /// How many 32-bit words have been drawn.
    pub fn position(&self) -> u64 {
        self.position
    }

    /// The next word.
    pub fn next_u32(&mut self) -> u32 {
        let word = self.words.next_u32();
        self.position = self.position.wrapping_add(1);
        if self.position == 0 {
            // ChaCha itself goes on for 2^68 words. Equal positions must mean equal futures, so it starts over with them.
            self.words.set_word_pos(0);
        }
        word
    }

    /// The next two words, the lower half first.
    pub fn next_u64(&mut self) -> u64 {
        let low = u64::from(self.next_u32());
        low | u64::from(self.next_u32()) << 32
    }

    /// A number below `bound`, each equally likely. Draws one word, and another one for each word that would favour some
    /// numbers (less than one in two).
    pub fn below(&mut self, bound: NonZeroU32) -> u32 {
        // Lemire's method: the upper half of word × bound is the number, and the lower half says whether the word is one of
        // the 2^32 mod bound words too many.
        let bound = bound.get();
        let surplus = bound.wrapping_neg() % bound;
        loop {
            let product = u64::from(self.next_u32()) * u64::from(bound);
            if product & u64::from(u32::MAX) >= u64::from(surplus) {
                return (product >> 32) as u32;
            }
        }
    }

    /// A number below `bound`, each equally likely. Draws two words at a time, otherwise as [`below`](Self::below).
    pub fn below_u64(&mut self, bound: NonZeroU64) -> u64 {
        let bound = bound.get();
        let surplus = bound.wrapping_neg() % bound;
        loop {
            let product = u128::from(self.next_u64()) * u128::from(bound);
            if product & u128::from(u64::MAX) >= u128::from(surplus) {
                return (product >> 64) as u64;
            }
        }
    }

    /// A number of `range`, each equally likely: `stream.range(1..=6)`. Draws at least one word.
    ///
    /// # Panics
    ///
    /// When the range is empty.
    pub fn range<T: RangeInteger>(&mut self, range: RangeInclusive<T>) -> T {
        let (low, high) = range.into_inner();
        assert!(low <= high, "a number of an empty range");
        let offset = match NonZeroU32::new(low.distance(high).wrapping_add(1)) {
            Some(count) => self.below(count),
            // All 2^32 numbers: every word is one.
            None => self.next_u32(),
        };
        low.plus(offset)
    }

    /// A number in [0, 1) that is a multiple of 2^-24, each equally likely. Draws one word.
    pub fn unit_f32(&mut self) -> f32 {
        const STEP: f32 = 1.0 / 16_777_216.0;
        // 24 bits and a power of two: both operations are exact.
        (self.next_u32() >> 8) as f32 * STEP
    }

    /// A number in [0, 1) that is a multiple of 2^-53, each equally likely. Draws two words.
    pub fn unit_f64(&mut self) -> f64 {
        const STEP: f64 = 1.0 / 9_007_199_254_740_992.0;
        (self.next_u64() >> 11) as f64 * STEP
    }

    /// True in `numerator` of `denominator` cases; always, when the numerator is not below. Draws as
    /// [`below`](Self::below), also when the outcome is certain.
    pub fn chance(&mut self, numerator: u32, denominator: NonZeroU32) -> bool {
        self.below(denominator) < numerator
    }

    /// Puts `items` into an order of which each is equally likely. Draws at least one word for each item but one.
    pub fn shuffle<T>(&mut self, items: &mut [T]) {
        for last in (1..items.len()).rev() {
            let chosen = self.place(last);
            items.swap(chosen, last);
        }
    }

    /// One of `items`, each equally likely; `None`, and nothing drawn, when there are none.
    pub fn pick<'items, T>(&mut self, items: &'items [T]) -> Option<&'items T> {
        let last = items.len().checked_sub(1)?;
        items.get(self.place(last))
    }

    /// A place from 0 up to `last`. What it draws depends on the number alone, not on the width of a `usize`.
    fn place(&mut self, last: usize) -> usize {
        let place = match u32::try_from(last) {
            Ok(last) => u64::from(self.range(0..=last)),
            Err(_) => self.below_u64(NonZeroU64::MIN.saturating_add(last as u64)),
        };
        // At most `last`, which is a usize.
        usize::try_from(place).unwrap_or(last)
    }
}

impl PartialEq for RngStream {
    fn eq(&self, other: &RngStream) -> bool {
        self.position == other.position && self.key() == other.key()
    }
}

impl Eq for RngStream {}

impl fmt::Debug for RngStream {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut stream = f.debug_struct("RngStream");
        stream.field("key", &Digest::from_bytes(self.key())).field("position", &self.position).finish()
    }
}

/// The canonical form of a stream.
#[derive(Serialize, Deserialize)]
#[serde(rename = "RngStream")]
struct Place {
    key: [u8; 32],
    position: u64,
}

impl Serialize for RngStream {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        Place { key: self.key(), position: self.position }.serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for RngStream {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<RngStream, D::Error> {
        let Place { key, position } = Place::deserialize(deserializer)?;
        Ok(RngStream::at(key, position))
    }
}

/// Integers of which [`RngStream::range`] can draw: `u32` and `i32`.
pub trait RangeInteger: Copy + PartialOrd + sealed::Sealed {
    #[doc(hidden)]
    fn distance(self, high: Self) -> u32;

    #[doc(hidden)]
    #[must_use]
    fn plus(self, offset: u32) -> Self;
}

mod sealed {
    pub trait Sealed {}
    impl Sealed for u32 {}
    impl Sealed for i32 {}
}

impl RangeInteger for u32 {
    fn distance(self, high: u32) -> u32 {
        self.abs_diff(high)
    }

    fn plus(self, offset: u32) -> u32 {
        self.wrapping_add(offset)
    }
}

impl RangeInteger for i32 {
    fn distance(self, high: i32) -> u32 {
        self.abs_diff(high)
    }

    fn plus(self, offset: u32) -> i32 {
        self.wrapping_add_unsigned(offset)
    }
}

#[cfg(test)]
mod tests {
    use alloc::vec::Vec;
    use alloc::{format, vec};

    use super::*;
    use crate::codec::canonical::{decode_canonical, encode};

    fn stream(name: &str) -> RngStream {
        RngStream::derive(&SessionSeed::from_u64(7), name)
    }

    fn nonzero(bound: u32) -> NonZeroU32 {
        NonZeroU32::new(bound).unwrap()
    }

    fn words(stream: &mut RngStream, count: usize) -> Vec<u32> {
        (0..count).map(|_| stream.next_u32()).collect()
    }

    // Numbers that every version must give: a change here breaks every replay and is a new identity.
    #[test]
    fn k6_the_numbers_are_golden() {
        let seed = SessionSeed::from_u64(7);
        assert_eq!(seed.as_bytes()[..8], [0x08, 0x75, 0xEB, 0x95, 0x9B, 0x5D, 0x4D, 0x17]);
        let mut loot = stream("loot");
        assert_eq!(words(&mut loot, 4), [0x18BE_0474, 0xA710_172D, 0x8533_4A6F, 0x3FFA_129F]);
        assert_eq!(loot.next_u64(), 0x90A3_CD8A_80D4_6447);
        assert_eq!(loot.range(-3..=3), -3);
        assert_eq!(loot.below_u64(NonZeroU64::new(1_000_000_000_000).unwrap()), 760_659_142_464);
        assert_eq!(loot.unit_f32().to_bits(), 0x3DC0_CAE0);
        assert_eq!(loot.unit_f64().to_bits(), 0x3FDA_F857_EB3E_465E);
        let mut cards: Vec<u8> = (0..8).collect();
        loot.shuffle(&mut cards);
        assert_eq!(cards, [5, 6, 0, 2, 1, 7, 3, 4]);
        assert_eq!((loot.pick(&cards), loot.position()), (Some(&5), 20));
    }

    #[test]
    fn k6_a_stream_is_chacha8_under_a_derived_key() {
        let seed = SessionSeed::from_bytes([9; 32]);
        let mut key = blake3::Hasher::new_derive_key("retick 2026 rng stream v1");
        key.update(&[9; 32]).update(b"loot");
        let mut independent = ChaCha8Rng::from_seed(*key.finalize().as_bytes());
        let mut bytes = [0; 4_000];
        independent.fill_bytes(&mut bytes);
        let mut ours = RngStream::derive(&seed, "loot");
        for word in bytes.chunks_exact(4) {
            assert_eq!(ours.next_u32().to_le_bytes(), word);
        }
    }

    #[test]
    fn k6_streams_do_not_shift_each_other() {
        let alone = words(&mut stream("weather"), 100);
        let (mut weather, mut loot) = (stream("weather"), stream("loot"));
        let mut together = vec![];
        for turn in 0..100_u32 {
            words(&mut loot, turn as usize % 3);
            together.push(weather.next_u32());
            // A stream that is added later changes nothing either.
            stream(&format!("late {turn}")).next_u64();
        }
        assert_eq!(together, alone);
        assert_ne!(alone, words(&mut stream("weathe"), 100));
        assert_ne!(alone, words(&mut RngStream::derive(&SessionSeed::from_u64(8), "weather"), 100));
    }

    #[test]
    fn k6_a_stream_resumes_at_every_word_of_its_blocks() {
        let mut live = stream("loot");
        // More than two of ChaCha's four-block buffers.
        for drawn in 0..150 {
            let bytes = encode(&live).unwrap();
            assert_eq!(bytes.len(), 40);
            assert_eq!(bytes[32..], u64::to_le_bytes(drawn));
            let mut resumed: RngStream = decode_canonical(&bytes).unwrap();
            assert_eq!(resumed, live);
            let mut copy = live.clone();
            let expected = words(&mut copy, 150);
            assert_eq!(words(&mut resumed, 150), expected, "after {drawn} words");
            assert_eq!((resumed == copy, resumed == live), (true, false));
            live.next_u32();
        }
    }

    #[test]
    fn k6_equality_is_key_and_position_alone() {
        // The same place, once by drawing and once by seeking, has other words computed ahead.
        let mut drawn = stream("loot");
        words(&mut drawn, 70);
        let mut sought = RngStream::at(drawn.key(), 70);
        assert_eq!(drawn, sought);
        assert_eq!(encode(&drawn), encode(&sought));
        assert_eq!(format!("{drawn:?}"), format!("{sought:?}"));
        assert_eq!(words(&mut drawn, 200), words(&mut sought, 200));
        assert_ne!(stream("a"), stream("b"));
    }

    #[test]
    fn k6_the_last_position_is_followed_by_the_first() {
        let mut last = RngStream::at(stream("loot").key(), u64::MAX);
        last.next_u32();
        assert_eq!(last, stream("loot"));
        assert_eq!(words(&mut last, 100), words(&mut stream("loot"), 100));
    }

    /// The chi-square statistic of `counts` against equal shares.
    fn chi_square(counts: &[u32]) -> f64 {
        let share = f64::from(counts.iter().sum::<u32>()) / counts.len() as f64;
        counts.iter().map(|count| (f64::from(*count) - share).powi(2) / share).sum()
    }

    #[test]
    fn k6_bounded_numbers_are_unbiased() {
        // With 3 × 2^30 possible numbers, every third of a plain multiplication would be twice as likely as the others.
        let bound = 3 << 30;
        let mut stream = stream("fair");
        let mut thirds = [0; 3];
        let mut residues = [0; 3];
        for _ in 0..30_000 {
            let number = stream.below(nonzero(bound));
            thirds[(number >> 30) as usize] += 1;
            residues[number as usize % 3] += 1;
        }
        let mut faces = [0; 7];
        (0..70_000).for_each(|_| faces[stream.range(-3..=3_i32).abs_diff(-3) as usize] += 1);
        let mut large = [0; 3];
        let large_bound = NonZeroU64::new(3 << 62).unwrap();
        (0..30_000).for_each(|_| large[(stream.below_u64(large_bound) % 3) as usize] += 1);
        // With 2 and 6 degrees of freedom these are exceeded once in a million.
        for counts in [&thirds[..], &residues, &large] {
            assert!(chi_square(counts) < 27.6, "{counts:?}");
        }
        assert!(chi_square(&faces) < 38.3, "{faces:?}");
    }

    #[test]
    fn k6_every_order_of_a_shuffle_is_equally_likely() {
        let mut stream = stream("cards");
        let mut counts = [0; 27];
        for _ in 0..60_000 {
            let mut cards = [0, 1, 2];
            stream.shuffle(&mut cards);
            counts[cards[0] * 9 + cards[1] * 3 + cards[2]] += 1;
        }
        let orders: Vec<u32> = counts.into_iter().filter(|count| *count > 0).collect();
        assert_eq!(orders.len(), 6);
        // Exceeded once in a million with 5 degrees of freedom.
        assert!(chi_square(&orders) < 36.0, "{orders:?}");
    }

    #[test]
    fn k6_ranges_reach_their_ends_and_no_further() {
        let mut stream = stream("ends");
        let mut seen = [false; 3];
        (0..200).for_each(|_| seen[stream.range(0..=2_u32) as usize] = true);
        assert_eq!(seen, [true; 3]);
        assert_eq!(stream.range(i32::MIN..=i32::MIN), i32::MIN);
        assert_eq!(stream.range(u32::MAX..=u32::MAX), u32::MAX);
        let mut copy = stream.clone();
        assert_eq!(stream.range(0..=u32::MAX), copy.next_u32());
        assert_eq!(stream.range(i32::MIN..=i32::MAX), i32::MIN.wrapping_add_unsigned(copy.next_u32()));
        assert_eq!(stream.below(nonzero(1)), 0);
        let low = (0..1_000).map(|_| stream.range(i32::MIN..=0)).min();
        assert!(low.is_some_and(|low| low < -2_000_000_000));
    }

    #[test]
    #[should_panic(expected = "empty range")]
    fn k6_an_empty_range_is_a_bug_of_the_caller() {
        let (low, high) = (2, 1);
        stream("empty").range(low..=high);
    }

    #[test]
    fn k6_unit_floats_are_below_one() {
        let mut stream = stream("unit");
        let mut copy = stream.clone();
        for _ in 0..1_000 {
            let (single, double) = (stream.unit_f32(), stream.unit_f64());
            assert!((0.0..1.0).contains(&single) && (0.0..1.0).contains(&double));
            assert_eq!(f64::from(single) * 16_777_216.0, f64::from(copy.next_u32() >> 8));
            assert_eq!(double * 9_007_199_254_740_992.0, (copy.next_u64() >> 11) as f64);
        }
    }

    #[test]
    fn k6_certain_outcomes_draw_as_any_other() {
        let mut stream = stream("chance");
        assert!(!stream.chance(0, nonzero(8)) && stream.chance(8, nonzero(8)) && stream.chance(9, nonzero(8)));
        assert_eq!(stream.position(), 3);
        let hits = (0..8_000).filter(|_| stream.chance(3, nonzero(8))).count();
        assert!((2_800..3_200).contains(&hits), "{hits}");
        assert_eq!(stream.pick::<u8>(&[]), None);
        stream.shuffle(&mut [1]);
        assert_eq!((stream.pick(&["only"]), stream.position()), (Some(&"only"), 8_004));
    }

    #[test]
    fn k6_a_copy_costs_no_more_than_its_words() {
        // The key, the position and the four blocks that are computed at a time.
        assert!(size_of::<RngStream>() <= 384);
    }
}
