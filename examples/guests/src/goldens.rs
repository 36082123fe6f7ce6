//! The bits of every function of `retick_guest::math`, as the projection of a game.
//!
//! The committed list `tests/guests/goldens.txt` holds them; a native build and a module must both show it.

use retick_guest::math::fixed::{I16F16, I32F32, Trigonometry};
use retick_guest::prelude::*;
use serde::{Deserialize, Serialize};

/// A game without a state of its own, whose projection is the eight bytes of every number in [`Goldens::rows`].
#[derive(Clone, Serialize, Deserialize)]
pub struct Goldens;

/// No control at all.
#[derive(Clone, Copy, Debug)]
pub struct Nothing;

impl GameInput for Nothing {
    fn schema() -> InputSchema {
        InputSchema::builder("goldens-input/v1").boolean("nothing").build().expect("one field")
    }

    fn pack(&self, packer: &mut Packer<'_>) {
        packer.boolean(false);
    }

    fn unpack(_: &mut Unpacker<'_>) -> Self {
        Nothing
    }
}

impl Simulation for Goldens {
    type Input = Nothing;
    type Command = NoCommand;

    fn describe() -> GameDescription {
        GameDescription {
            tick_rate: TickRate::Hz20,
            state_schema: "goldens/state/v1",
            config_schema: ConfigSchema::empty(),
            seats: 1..=1,
            capabilities: Capabilities { commands: false, projection: true },
        }
    }

    fn init(_: &InitContext<'_>) -> Result<Self, u32> {
        Ok(Goldens)
    }

    fn step(&mut self, _: &StepContext<'_, Self>) {}

    fn project(&self, out: &mut Vec<u8>) {
        let mut append = |_: &'static str, bits: &mut dyn Iterator<Item = u64>| {
            bits.for_each(|bits| out.extend_from_slice(&bits.to_le_bytes()));
        };
        each_row(&mut append);
    }
}

impl Goldens {
    /// The name of every function with its width, and its bits at each of the inputs.
    #[must_use]
    pub fn rows() -> Vec<(&'static str, Vec<u64>)> {
        let mut rows = Vec::new();
        each_row(&mut |name, bits| rows.push((name, bits.collect())));
        rows
    }
}

/// Finite numbers of all sizes, both signs, halves, and the ends: what a game may come across.
const NUMBERS: [f64; 24] = [
    0.0,
    -0.0,
    1e-40,
    -1e-9,
    0.1,
    -0.25,
    0.5,
    0.7,
    -0.9,
    1.0,
    -1.5,
    2.5,
    3.0,
    -core::f64::consts::PI,
    7.25,
    -10.0,
    33.3,
    88.0,
    -100.7,
    1_000.0,
    65_536.5,
    -1e6,
    3.3e9,
    f64::INFINITY,
];

/// Bits of fixed-point numbers with 32 bits after the point: fractions, angles, and the ends of the type.
const FIXED: [i64; 16] = [
    0,
    1,
    -1,
    1 << 31,
    -(1 << 30),
    1 << 32,
    -(1 << 32),
    2_248_839_618,
    6_746_518_852,
    -13_493_037_705,
    26_986_075_409,
    429_496_729_600,
    -98_765_432_101,
    1_234_567_890_123_456,
    i64::MAX,
    i64::MIN,
];

/// Numbers as bits.
trait Bits {
    fn bits(self) -> u64;
}

// A NaN counts as the one that stands for all, since no other bits of it are promised.
impl Bits for f32 {
    fn bits(self) -> u64 {
        u64::from(if self.is_nan() { f32::NAN } else { self }.to_bits())
    }
}

impl Bits for f64 {
    fn bits(self) -> u64 {
        if self.is_nan() { f64::NAN } else { self }.to_bits()
    }
}

impl Bits for I16F16 {
    fn bits(self) -> u64 {
        u64::from(self.to_bits().cast_unsigned())
    }
}

impl Bits for I32F32 {
    fn bits(self) -> u64 {
        self.to_bits().cast_unsigned()
    }
}

type Row<'a> = &'a mut dyn FnMut(&'static str, &mut dyn Iterator<Item = u64>);

#[expect(clippy::cast_possible_truncation, reason = "rounding is what is wanted")]
fn narrow(number: f64) -> f32 {
    number as f32
}

/// Rows of functions of one float, then of two, each in both widths.
macro_rules! float_rows {
    ($row:ident, $numbers:ident: $($one:ident)* ; $($two:ident)*) => {
        let pairs = || $numbers.iter().zip($numbers.iter().cycle().skip(7));
        $(
            $row(concat!(stringify!($one), " f32"), &mut $numbers.iter().map(|x| math::$one(narrow(*x)).bits()));
            $row(concat!(stringify!($one), " f64"), &mut $numbers.iter().map(|x| math::$one(*x).bits()));
        )*
        $(
            let narrowed = &mut pairs().map(|(x, y)| math::$two(narrow(*x), narrow(*y)).bits());
            $row(concat!(stringify!($two), " f32"), narrowed);
            $row(concat!(stringify!($two), " f64"), &mut pairs().map(|(x, y)| math::$two(*x, *y).bits()));
        )*
    };
}

fn each_row(row: Row<'_>) {
    // So that nothing is computed while the module is built.
    let (numbers, fixed) = core::hint::black_box((NUMBERS, FIXED));
    row("inputs f32", &mut numbers.iter().map(|x| narrow(*x).bits()));
    row("inputs f64", &mut numbers.iter().map(|x| x.bits()));
    float_rows! {
        row, numbers:
        sin cos tan asin acos atan sinh cosh tanh sqrt cbrt exp exp2 exp_m1 ln ln_1p log2 log10 floor ceil round
        round_ties_even trunc abs ;
        atan2 hypot pow fmod copysign min max
    }
    let sums = numbers.iter().zip(numbers.iter().cycle().skip(5));
    row("mul_add f32", &mut sums.clone().map(|(x, y)| math::mul_add(narrow(*x), narrow(*y), 0.1).bits()));
    row("mul_add f64", &mut sums.map(|(x, y)| math::mul_add(*x, *y, 0.1).bits()));
    fixed_rows(&fixed, row);
}

fn fixed_rows(numbers: &[i64], row: Row<'_>) {
    let narrow = || numbers.iter().map(|bits| I32F32::from_bits(*bits).saturating_to_num::<I16F16>());
    let wide = || numbers.iter().map(|bits| I32F32::from_bits(*bits));
    row("inputs I16F16", &mut narrow().map(I16F16::bits));
    row("inputs I32F32", &mut wide().map(I32F32::bits));
    row("sin I16F16", &mut narrow().map(|x| x.sin().bits()));
    row("sin I32F32", &mut wide().map(|x| x.sin().bits()));
    row("cos I16F16", &mut narrow().map(|x| x.cos().bits()));
    row("cos I32F32", &mut wide().map(|x| x.cos().bits()));
    row("atan2 I16F16", &mut narrow().zip(narrow().cycle().skip(3)).map(|(y, x)| y.atan2(x).bits()));
    row("atan2 I32F32", &mut wide().zip(wide().cycle().skip(3)).map(|(y, x)| y.atan2(x).bits()));
    row("sqrt I16F16", &mut narrow().map(|x| x.saturating_abs().sqrt().bits()));
    row("sqrt I32F32", &mut wide().map(|x| x.saturating_abs().sqrt().bits()));
    row("mul I16F16", &mut narrow().zip(narrow().skip(1)).map(|(x, y)| x.wrapping_mul(y).bits()));
    row("mul I32F32", &mut wide().zip(wide().skip(1)).map(|(x, y)| x.wrapping_mul(y).bits()));
    row(
        "div I32F32",
        &mut wide().zip(wide().cycle().skip(5)).map(|(x, y)| x.checked_div(y).unwrap_or_default().bits()),
    );
}
