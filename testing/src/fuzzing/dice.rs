//! A small mutator, so that the checks run without a fuzzer: the same inputs from the same seed, everywhere.

use super::Seed;

/// Most bytes that a mutated input grows to.
const MAX_BYTES: usize = 4096;

/// Makes inputs of first inputs: some as they are, most changed in a few places.
///
/// ```
/// use retick_testing::fuzzing::{Mutator, Target};
///
/// let inputs = |seed| Mutator::new(Target::Wire.seeds(), seed).take(50).collect::<Vec<_>>();
/// assert_eq!(inputs(7), inputs(7));
/// assert!(inputs(7) != inputs(8));
/// ```
#[derive(Clone, Debug)]
pub struct Mutator {
    seeds: Vec<Seed>,
    state: u64,
}

impl Mutator {
    /// One that starts from these inputs, with a seed of its own.
    #[must_use]
    pub fn new(seeds: Vec<Seed>, seed: u64) -> Mutator {
        Mutator { seeds, state: seed }
    }

    /// A number below `end` (splitmix64).
    fn below(&mut self, end: usize) -> usize {
        self.state = self.state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.state;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        let mixed = usize::try_from((mixed ^ (mixed >> 31)) >> 16).unwrap_or_default();
        mixed % end.max(1)
    }

    fn byte(&mut self) -> u8 {
        // Most values that matter are small, or full of ones.
        let any = u8::try_from(self.below(256)).unwrap_or_default();
        match self.below(4) {
            0 => any % 8,
            1 => 248 | (any % 8),
            _ => any,
        }
    }

    fn pick(&mut self) -> Vec<u8> {
        let index = self.below(self.seeds.len());
        self.seeds.get(index).map(|seed| seed.bytes.clone()).unwrap_or_default()
    }

    fn change(&mut self, bytes: &mut Vec<u8>) {
        let (at, count) = (self.below(bytes.len() + 1), 1 + self.below(8));
        let end = (at + count).min(bytes.len());
        match self.below(7) {
            0 if at < bytes.len() => bytes[at] ^= 1 << self.below(8),
            1 if at < bytes.len() => bytes[at] = self.byte(),
            2 => {
                let byte = self.byte();
                bytes.insert(at, byte);
            }
            3 => drop(bytes.drain(at..end)),
            4 => {
                let again = bytes[at..end].to_vec();
                bytes.splice(at..at, again);
            }
            5 => bytes.truncate(at.max(1)),
            _ => {
                let other = self.pick();
                let from = self.below(other.len());
                let part = &other[from..(from + 16 * count).min(other.len())];
                bytes.splice(at..end, part.iter().copied());
            }
        }
    }
}

impl Iterator for Mutator {
    type Item = Vec<u8>;

    fn next(&mut self) -> Option<Vec<u8>> {
        let mut bytes = self.pick();
        for _ in 0..self.below(5) {
            self.change(&mut bytes);
        }
        bytes.truncate(MAX_BYTES);
        Some(bytes)
    }
}
