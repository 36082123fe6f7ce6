//! Bodies that pull at each other, in floats of both widths and in vectors. Bodies often stand at one place, so directions of
//! zero vectors, 0/0 and ∞−∞ come up in every tick, and what comes of them is stored and computed with again. No branch and no
//! position depends on a NaN's bits.

use alloc::vec::Vec;

use retick_core::codec::canonical;
use retick_core::config::ConfigSchema;
use retick_core::runtime::{Capabilities, GameDescription, InitContext, NoCommand, Simulation, StepContext};
use retick_core::tick::{Tick, TickRate};
use serde::{Deserialize, Serialize};

use crate::input::Push;
use crate::numbers::{Four, contrast, lesser, relaxed, root, spread, wide_root};

/// How many bodies there are.
pub const BODIES: usize = 256;

/// How many others each body feels.
const FELT: usize = 8;
/// Bodies live between minus this and this, in both directions.
const EDGE: f32 = 64.0;
/// One body in so many lands on the target in each tick,
const LANDING: usize = 16;
/// and stays on it for so many.
const LANDED_TICKS: usize = 2;
const SPEED_LIMIT: f32 = 4.0;

#[derive(Clone, Copy, PartialEq, Debug, Serialize, Deserialize)]
struct Body {
    x: f32,
    y: f32,
    speed_x: f32,
    speed_y: f32,
    mass: f32,
    /// Towards the target, one long; NaN on the target.
    heading: [f32; 2],
    /// The sum of the inverse distances: infinite where two stand at one place.
    pressure: f64,
    /// How the pressure changed, which is NaN from infinity to infinity.
    strain: f64,
    heat: Four,
    /// NaN in a lane wherever the heats are equal or out of order.
    glow: Four,
    /// The greater less the lesser of two glows, NaN where one of them is; the last is one that bears a mark.
    flicker: Four,
    /// The least lane of the flicker, and a mark for some.
    least: f32,
    /// Everything that is NaN often, added up with changing signs.
    noise: f32,
}

/// The state.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct FloatField {
    bodies: Vec<Body>,
}

impl Simulation for FloatField {
    type Input = Push;
    type Command = NoCommand;

    fn describe() -> GameDescription {
        GameDescription {
            tick_rate: TickRate::Hz60,
            state_schema: "float-field/v1",
            config_schema: ConfigSchema::empty(),
            seats: 1..=8,
            capabilities: Capabilities { commands: false, projection: true },
        }
    }

    fn init(context: &InitContext<'_>) -> Result<Self, u32> {
        let mut places = context.rng("places");
        let mut place = || f32::from(i16::try_from(places.range(-60..=60)).unwrap_or_default());
        let body = |number: usize| Body {
            x: place(),
            y: place(),
            speed_x: 0.0,
            speed_y: 0.0,
            mass: 0.5 + small(number % 8) / 8.0,
            heading: [0.0; 2],
            pressure: 0.0,
            strain: 0.0,
            heat: [0, 1, 2, 3].map(|lane| small((number + lane) % 5)),
            glow: [0.0; 4],
            flicker: [0.0; 4],
            least: 0.0,
            noise: 0.0,
        };
        Ok(FloatField { bodies: (0..BODIES).map(body).collect() })
    }

    fn step(&mut self, context: &StepContext<'_, Self>) {
        let (mut target, mut pressed) = ([0.0, 0.0], 0.0);
        for (_, input) in context.inputs() {
            target = [within(target[0] + f32::from(input.x)), within(target[1] + f32::from(input.y))];
            pressed += if input.press { 1.0 } else { 0.0 };
        }
        advance(&mut self.bodies, context.tick(), target, pressed);
    }

    /// Every number, with one form for all NaNs.
    fn project(&self, out: &mut Vec<u8>) {
        // Floats and a sequence of known length always have a canonical form.
        let _ = canonical::encode_into(&self.bodies, out);
    }
}

/// A number that a float holds exactly.
fn small(number: usize) -> f32 {
    f32::from(u16::try_from(number).unwrap_or(u16::MAX))
}

#[cfg_attr(target_arch = "wasm32", target_feature(enable = "simd128"))]
fn advance(bodies: &mut [Body], tick: Tick, target: [f32; 2], pressed: f32) {
    let landing = usize::try_from(tick.index() % LANDING as u64).unwrap_or_default();
    for index in 0..bodies.len() {
        let mut body = bodies[index];
        let (pull, pressure) = felt(bodies, index);
        body.strain = pressure - body.pressure;
        body.pressure = pressure;
        let (away_x, away_y) = (target[0] - body.x, target[1] - body.y);
        let gain = (1.0 + pressed) / (root(away_x * away_x + away_y * away_y) + 8.0);
        body.speed_x = limited((body.speed_x + pull[0] + away_x * gain) * 0.97);
        body.speed_y = limited((body.speed_y + pull[1] + away_y * gain) * 0.97);
        body.x = within(body.x + body.speed_x);
        body.y = within(body.y + body.speed_y);
        if (index + LANDING - landing) % LANDING < LANDED_TICKS {
            [body.x, body.y] = target;
            body.heat = [target[0], target[1], pressed, small(index % 5)];
        }
        body.heading = normalised(target[0] - body.x, target[1] - body.y);
        let next = bodies[(index + 1) % BODIES].heat;
        body.heat = relaxed(body.heat, next, 0.25 + 0.5 * (body.x / (4.0 * EDGE)));
        body.glow = contrast(body.heat, next);
        let before = bodies[(index + BODIES - 1) % BODIES];
        let [red, green, blue, _] = body.glow;
        body.flicker = spread([red, green, blue, marked(index)], before.glow);
        let most = if index % 4 == 0 { marked(index) } else { EDGE };
        body.least = body.flicker.into_iter().fold(most, |least, lane| lesser(lane, least));
        body.noise = noise(&body, before.noise);
        bodies[index] = body;
    }
}

/// One long, but for the zero vector.
#[cfg_attr(target_arch = "wasm32", target_feature(enable = "simd128"))]
fn normalised(x: f32, y: f32) -> [f32; 2] {
    let length = root(x * x + y * y);
    [x / length, y / length]
}

/// What a body feels of others: a pull, and how near they are altogether.
#[cfg_attr(target_arch = "wasm32", target_feature(enable = "simd128"))]
fn felt(bodies: &[Body], index: usize) -> ([f32; 2], f64) {
    let body = &bodies[index];
    let (mut pull, mut pressure) = ([0.0, 0.0], 0.0);
    for step in 1..=FELT {
        let other = &bodies[(index + step * step) % BODIES];
        let (away_x, away_y) = (other.x - body.x, other.y - body.y);
        let square = away_x * away_x + away_y * away_y;
        let inverse = 1.0 / wide_root(f64::from(square));
        pressure += f64::from(other.mass) * inverse;
        if square > 0.0 {
            let strength = other.mass / (square + 2.0);
            pull = [pull[0] + away_x * strength, pull[1] + away_y * strength];
        }
    }
    (pull, pressure)
}

/// A NaN that says whose it is, as some games mark what isn't there.
fn marked(index: usize) -> f32 {
    f32::from_bits(0x7FC0_0001 + u32::try_from(index).unwrap_or_default())
}

/// NaNs of several origins in one sum, of which an engine may keep the bits of any.
#[cfg_attr(target_arch = "wasm32", target_feature(enable = "simd128"))]
fn noise(body: &Body, other: f32) -> f32 {
    let [across, along] = body.heading;
    let [warm, cold, ..] = body.glow;
    let sum = (across * warm - along) + (-cold + across / along);
    if sum.is_nan() && other.is_nan() { -(sum + other) } else { sum }
}

fn limited(speed: f32) -> f32 {
    speed.clamp(-SPEED_LIMIT, SPEED_LIMIT)
}

/// Out at one edge is in at the other.
fn within(place: f32) -> f32 {
    if place > EDGE {
        place - 2.0 * EDGE
    } else if place < -EDGE {
        place + 2.0 * EDGE
    } else {
        place
    }
}
