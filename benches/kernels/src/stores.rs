//! A yard of bytes that is written in every way there is: in rows and here and there, one to eight bytes at once and at any
//! alignment, moved and filled as a block, sorted in place, and as a ring of particles.

use alloc::vec;
use alloc::vec::Vec;

use retick_core::config::ConfigSchema;
use retick_core::runtime::{Capabilities, GameDescription, InitContext, NoCommand, Simulation, StepContext};
use retick_core::tick::TickRate;
use serde::{Deserialize, Serialize};

use crate::input::{Push, mixed};

/// Bytes of the yard.
pub const YARD_BYTES: usize = 256 << 10;

/// Bytes of each row that a tick writes from end to end.
const ROW_BYTES: usize = 2048;
/// Places here and there that a tick writes, with each width.
const SCATTERED: usize = 128;
/// Bytes that a tick moves, and that it fills.
const BLOCK_BYTES: usize = 8192;
const KEYS: usize = 96;
/// Keys that a tick replaces.
const NEW_KEYS: usize = 8;
const PARTICLES: usize = 2048;
/// Particles that a tick starts.
const STARTED: usize = 16;
/// Ticks for which a particle flies: so many starts are in the air at once.
const FLIGHT_TICKS: usize = 32;

#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
struct Particle {
    x: i32,
    y: i32,
    speed_x: i16,
    speed_y: i16,
    bounces: u8,
}

/// The state.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct StoreYard {
    yard: Vec<u8>,
    /// In ascending order after every tick.
    keys: Vec<u32>,
    /// The oldest are overwritten first.
    ring: Vec<Particle>,
    next: u32,
    words: u64,
}

impl Simulation for StoreYard {
    type Input = Push;
    type Command = NoCommand;

    fn describe() -> GameDescription {
        GameDescription {
            tick_rate: TickRate::Hz60,
            state_schema: "store-yard/v1",
            config_schema: ConfigSchema::empty(),
            seats: 1..=8,
            capabilities: Capabilities { commands: false, projection: true },
        }
    }

    fn init(context: &InitContext<'_>) -> Result<Self, u32> {
        let grounded = Particle { x: 0, y: 0, speed_x: 0, speed_y: 0, bounces: 0 };
        Ok(StoreYard {
            yard: vec![0; YARD_BYTES],
            keys: vec![0; KEYS],
            ring: vec![grounded; PARTICLES],
            next: 0,
            words: context.rng("words").next_u64(),
        })
    }

    fn step(&mut self, context: &StepContext<'_, Self>) {
        for (seat, input) in context.inputs() {
            let [x, y, press] = [input.x.to_le_bytes()[0], input.y.to_le_bytes()[0], u8::from(input.press)];
            let controls = [seat.number(), x, y, press, 0, 0, 0, 0];
            self.words = mixed(self.words ^ u64::from_le_bytes(controls));
        }
        self.write_rows();
        self.scatter();
        self.move_blocks();
        self.sort_keys();
        self.fly();
    }

    /// A digest of everything.
    fn project(&self, out: &mut Vec<u8>) {
        let fold = |sum: u64, word: u64| (sum ^ word).wrapping_mul(0x0000_0100_0000_01B3).rotate_left(23);
        let (words, _) = self.yard.as_chunks();
        let sum = words.iter().fold(self.words, |sum, word| fold(sum, u64::from_le_bytes(*word)));
        let sum = self.keys.iter().fold(sum, |sum, key| fold(sum, u64::from(*key)));
        let particle = |sum: u64, particle: &Particle| {
            let place = (particle.x.cast_unsigned(), particle.y.cast_unsigned());
            let speed =
                (u64::from(particle.speed_x.cast_unsigned()) << 16) | u64::from(particle.speed_y.cast_unsigned());
            let sum = fold(sum, (u64::from(place.0) << 32) | u64::from(place.1));
            fold(sum, (speed << 8) | u64::from(particle.bounces))
        };
        let sum = self.ring.iter().fold(sum, particle);
        out.extend_from_slice(&sum.to_le_bytes());
        out.extend_from_slice(&self.next.to_le_bytes());
    }
}

impl StoreYard {
    /// The next pseudo-random word, cheap enough not to be what is measured.
    fn word(&mut self) -> u64 {
        self.words = self.words.wrapping_mul(0x5851_F42D_4C95_7F2D).wrapping_add(0x1405_7B7E_F767_814F);
        self.words ^ (self.words >> 29)
    }

    /// Where `length` bytes have room.
    fn place(&mut self, length: usize) -> usize {
        let places = (YARD_BYTES - length + 1) as u64;
        usize::try_from(((self.word() >> 32) * places) >> 32).unwrap_or_default()
    }

    fn row(&mut self) -> (&mut [u8], u64) {
        let (start, word) = (self.place(ROW_BYTES), self.word());
        (&mut self.yard[start..start + ROW_BYTES], word)
    }

    /// One row with each width, each value made of the one before.
    fn write_rows(&mut self) {
        let (row, word) = self.row();
        row.iter_mut().fold(word, |word, byte| {
            *byte ^= word.to_le_bytes()[3];
            next(word)
        });
        let (row, word) = self.row();
        row.as_chunks_mut().0.iter_mut().fold(word, |word, cell| {
            *cell = u16::from_le_bytes(*cell).wrapping_add(low(word)).to_le_bytes();
            next(word)
        });
        let (row, word) = self.row();
        row.as_chunks_mut().0.iter_mut().fold(word, |word, cell| {
            *cell = (u32::from_le_bytes(*cell) ^ half(word)).to_le_bytes();
            next(word)
        });
        let (row, word) = self.row();
        row.as_chunks_mut().0.iter_mut().fold(word, |word, cell| {
            *cell = u64::from_le_bytes(*cell).wrapping_add(word).to_le_bytes();
            next(word)
        });
    }

    /// Single values here and there, at any alignment.
    fn scatter(&mut self) {
        for _ in 0..SCATTERED {
            let word = self.word();
            self.put(&word.to_le_bytes());
            self.put(&half(word).to_le_bytes());
            self.put(&low(word).to_le_bytes());
            self.put(&[word.to_le_bytes()[1]]);
        }
    }

    #[inline]
    fn put<const WIDTH: usize>(&mut self, value: &[u8; WIDTH]) {
        let place = self.place(WIDTH);
        if let Some(cell) = self.yard[place..].first_chunk_mut() {
            *cell = *value;
        }
    }

    fn move_blocks(&mut self) {
        let (from, to) = (self.place(BLOCK_BYTES), self.place(BLOCK_BYTES));
        self.yard.copy_within(from..from + BLOCK_BYTES, to);
        let (start, value) = (self.place(BLOCK_BYTES), self.word().to_le_bytes()[5]);
        self.yard[start..start + BLOCK_BYTES].fill(value);
    }

    /// Replaces some keys, and sorts all by insertion.
    fn sort_keys(&mut self) {
        for _ in 0..NEW_KEYS {
            let word = self.word();
            let index = usize::try_from(word % KEYS as u64).unwrap_or_default();
            self.keys[index] = half(word);
        }
        for end in 1..self.keys.len() {
            let key = self.keys[end];
            let mut place = end;
            while place > 0 && self.keys[place - 1] > key {
                self.keys[place] = self.keys[place - 1];
                place -= 1;
            }
            self.keys[place] = key;
        }
    }

    /// Starts some particles over the oldest, and moves those in the air.
    fn fly(&mut self) {
        for _ in 0..STARTED {
            let [a, b, c, d, e, f, ..] = self.word().to_le_bytes();
            let (speed_x, speed_y) = (i16::from_le_bytes([a, b]) >> 6, i16::from_le_bytes([c, d]) >> 6);
            let particle = Particle { x: i32::from(e) << 8, y: i32::from(f) << 8, speed_x, speed_y, bounces: 0 };
            self.ring[self.next as usize % PARTICLES] = particle;
            self.next = self.next.wrapping_add(1);
        }
        for age in 1..=STARTED * FLIGHT_TICKS {
            let particle = &mut self.ring[(self.next as usize).wrapping_sub(age) % PARTICLES];
            particle.x += i32::from(particle.speed_x);
            particle.y += i32::from(particle.speed_y);
            particle.speed_y = particle.speed_y.wrapping_add(3);
            if !(0..=0xFFFF).contains(&particle.x) || !(0..=0xFFFF).contains(&particle.y) {
                particle.speed_x = particle.speed_x.wrapping_neg();
                particle.speed_y = particle.speed_y.wrapping_neg();
                particle.bounces = particle.bounces.wrapping_add(1);
            }
        }
    }
}

/// The next value of a row.
fn next(word: u64) -> u64 {
    word.rotate_left(11).wrapping_add(0x9E37_79B9)
}

fn half(word: u64) -> u32 {
    let [.., a, b, c, d] = word.to_le_bytes();
    u32::from_le_bytes([a, b, c, d])
}

fn low(word: u64) -> u16 {
    let [a, b, ..] = word.to_le_bytes();
    u16::from_le_bytes([a, b])
}
