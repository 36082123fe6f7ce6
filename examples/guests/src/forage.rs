//! Forage: up to four seats on a ground whose edges meet, and one pickup, which the match's seed places.
//!
//! A seat pushes along two axes and may dash. Whoever stands in the pickup's cell takes it: a point, a presentation event, a logged
//! line, and the pickup lies elsewhere. A seat that the authority substitutes moves on, but takes nothing; an empty one stands
//! still; a new driver starts without points. The one command takes everybody's points.
//!
//! The same game is written in C and in AssemblyScript beside this one. So randomness is a generator that fits a few lines of each
//! (SplitMix64, from the exclusive or of the seed's four words), where a game in Rust alone would take `context.rng("pickups")`.

use retick_guest::log;
use retick_guest::prelude::*;
use serde::{Deserialize, Serialize};

const WIDTH: i32 = 256;
const HEIGHT: i32 = 192;
/// Units of a cell; a pickup fills one.
const CELL: i32 = 32;
const MOST_SEATS: u8 = 4;
/// Greatest push along an axis, in units of 1/16.
const AXIS: i64 = 16;
/// Number of this module of the game.
const GROUND: u16 = 1;
/// The event of a pickup that was taken: the payload is the taker's points.
const TAKEN: u16 = 1;

/// The payload of the one command: it takes everybody's points.
pub const RESET: &[u8] = &[1];

/// The state.
#[derive(Clone, Serialize, Deserialize)]
pub struct Forage {
    random: u64,
    steps: u32,
    pickup_x: i32,
    pickup_y: i32,
    foragers: Vec<Forager>,
}

#[derive(Clone, Default, Serialize, Deserialize)]
struct Forager {
    x: i32,
    y: i32,
    vx: f32,
    vy: f32,
    /// The direction of the push in units of 1/256; zero for none.
    heading_x: i32,
    heading_y: i32,
    score: u32,
    epoch: u32,
}

/// What a seat does.
#[derive(Clone, Copy, Debug, Default)]
pub struct Push {
    /// To the right, -16 to 16.
    pub x: i64,
    /// Downwards, -16 to 16.
    pub y: i64,
    /// Faster, in this tick.
    pub dash: bool,
}

impl GameInput for Push {
    fn schema() -> InputSchema {
        let builder = InputSchema::builder("forage-input/v1").axis("x", -AXIS..=AXIS, 4).axis("y", -AXIS..=AXIS, 4);
        builder.boolean("dash").policy(FieldPolicy::Once).build().expect("three fields with names and ranges")
    }

    fn pack(&self, packer: &mut Packer<'_>) {
        packer.integer(self.x);
        packer.integer(self.y);
        packer.boolean(self.dash);
    }

    fn unpack(unpacker: &mut Unpacker<'_>) -> Self {
        Push { x: unpacker.integer(), y: unpacker.integer(), dash: unpacker.boolean() }
    }
}

/// The command.
#[derive(Clone, Copy, Debug)]
pub struct Reset;

impl Simulation for Forage {
    type Input = Push;
    type Command = Reset;

    fn describe() -> GameDescription {
        GameDescription {
            tick_rate: TickRate::Hz30,
            state_schema: "forage/state/v1",
            config_schema: ConfigSchema::empty(),
            seats: 1..=MOST_SEATS,
            capabilities: Capabilities { commands: true, projection: true },
        }
    }

    fn init(context: &InitContext<'_>) -> Result<Self, u32> {
        let (words, _) = context.seed.as_bytes().as_chunks();
        let random = words.iter().fold(0, |random, word| random ^ u64::from_le_bytes(*word));
        let start = |seat: Seat| Forager { x: 32 + 64 * i32::from(seat.number()), y: HEIGHT / 2, ..Forager::default() };
        let foragers = context.seats.seats().map(start).collect();
        let mut game = Forage { random, steps: 0, pickup_x: 0, pickup_y: 0, foragers };
        game.place_pickup();
        Ok(game)
    }

    fn step(&mut self, context: &StepContext<'_, Self>) {
        self.steps = self.steps.wrapping_add(1);
        if !context.commands().is_empty() {
            self.foragers.iter_mut().for_each(|forager| forager.score = 0);
        }
        for (seat, input) in context.inputs() {
            if context.presence(seat) == Presence::Empty {
                continue;
            }
            let forager = &mut self.foragers[usize::from(seat.number())];
            let epoch = context.epoch(seat).0;
            if forager.epoch != epoch {
                (forager.epoch, forager.score) = (epoch, 0);
            }
            forager.push(input);
            if !context.substituted(seat) {
                self.forage(seat, context);
            }
        }
    }

    fn project(&self, out: &mut Vec<u8>) {
        let place = [self.pickup_x, self.pickup_y].map(|cell| low_half(cell).to_le_bytes()[0]);
        out.extend_from_slice(&self.steps.to_le_bytes());
        out.extend_from_slice(&[place[0], place[1], low_byte(self.foragers.len()), 0]);
        for Forager { x, y, vx, vy, heading_x, heading_y, score, .. } in &self.foragers {
            let numbers = [x, y, heading_x, heading_y].map(|number| low_half(*number));
            numbers.iter().for_each(|number| out.extend_from_slice(&number.to_le_bytes()));
            // To the last bit, and never a NaN.
            [vx, vy].iter().for_each(|velocity| out.extend_from_slice(&velocity.to_le_bytes()));
            out.extend_from_slice(&score.to_le_bytes());
        }
    }

    fn decode_command(payload: &[u8]) -> Option<Reset> {
        (payload == RESET).then_some(Reset)
    }
}

impl Forage {
    /// SplitMix64.
    fn draw(&mut self) -> u64 {
        self.random = self.random.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let word = self.random;
        let word = (word ^ word >> 30).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        let word = (word ^ word >> 27).wrapping_mul(0x94D0_49BB_1331_11EB);
        word ^ word >> 31
    }

    /// A cell below `count`, from the upper half of the next word.
    fn draw_cell(&mut self, count: i32) -> i32 {
        let count = u64::from(count.unsigned_abs());
        i32::try_from((self.draw() >> 32) % count).unwrap_or(0)
    }

    fn place_pickup(&mut self) {
        self.pickup_x = self.draw_cell(WIDTH / CELL);
        self.pickup_y = self.draw_cell(HEIGHT / CELL);
    }

    fn forage(&mut self, seat: Seat, context: &StepContext<'_, Self>) {
        let forager = &mut self.foragers[usize::from(seat.number())];
        if (forager.x / CELL, forager.y / CELL) == (self.pickup_x, self.pickup_y) {
            forager.score = forager.score.wrapping_add(1);
            let id = EventId { module: GROUND, source: u32::from(seat.number()), event: TAKEN };
            context.emit(id, &forager.score.to_le_bytes());
            log!("a pickup is taken");
            self.place_pickup();
        }
    }
}

impl Forager {
    fn push(&mut self, input: Push) {
        let [x, y] = [input.x, input.y].map(|axis| f32::from(i16::try_from(axis).unwrap_or(0)) * 0.0625);
        let reach = if input.dash { 12.0 } else { 3.0 };
        let length = math::sqrt(x * x + y * y);
        // NaN for whoever pushes nowhere.
        let (along_x, along_y) = (x / length, y / length);
        self.vx = self.vx * 0.75 + if along_x.is_nan() { 0.0 } else { along_x * reach };
        self.vy = self.vy * 0.75 + if along_y.is_nan() { 0.0 } else { along_y * reach };
        (self.heading_x, self.heading_y) = (whole(along_x * 256.0), whole(along_y * 256.0));
        self.x = (self.x + whole(self.vx)).rem_euclid(WIDTH);
        self.y = (self.y + whole(self.vy)).rem_euclid(HEIGHT);
    }
}

/// Towards zero, and 0 for NaN. Everything here is far within an integer's range.
#[expect(clippy::cast_possible_truncation, reason = "that is what it is for")]
fn whole(number: f32) -> i32 {
    number as i32
}

#[expect(clippy::cast_possible_truncation, reason = "what is projected fits 16 bits")]
fn low_half(number: i32) -> i16 {
    number as i16
}

fn low_byte(count: usize) -> u8 {
    count.to_le_bytes()[0]
}
