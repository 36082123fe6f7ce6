//! Fixed-point numbers: the types of the crate `fixed`, and the angles that it lacks.
//!
//! [`I16F16`] has 16 bits on either side of the point, [`I32F32`] has 32. Their arithmetic, `sqrt`, `hypot` and `lerp` are integer
//! arithmetic, so they are the same everywhere. What they do with an overflow is not: an operator panics in a debug build and wraps
//! in a release build. A game says which it means: by `wrapping_add`, `saturating_mul` and their like, or once for all by
//! [`Wrapping`] and [`Saturating`]. A conversion from a float (`from_num`) is exact where the float is; constants are better
//! written with [`lit`](I16F16::lit). With `serde`, all of them can stand in a native game's state.
//!
//! ```
//! use retick_guest::math::fixed::{I16F16, Trigonometry};
//!
//! let speed = I16F16::lit("2.5");
//! let (sine, cosine) = I16F16::lit("0.5236").sin_cos(); // 30 degrees
//! let (dx, dy) = (speed.wrapping_mul(cosine), speed.wrapping_mul(sine));
//! assert_eq!((dx.to_bits(), dy.to_bits()), (141_890, 81_920));
//! assert_eq!(dy.atan2(dx).to_bits(), 34_314);
//! assert_eq!(dx.hypot(dy).to_bits(), 163_840);
//! // Whole numbers have their own exact root.
//! assert_eq!(1_000_000_u32.isqrt(), 1_000);
//! ```

pub use ::fixed::types::{I8F8, I16F16, I32F32, U8F8, U16F16, U32F32};
pub use ::fixed::{FixedI32, FixedI64, Saturating, Wrapping};

/// Angles of fixed-point numbers, in radians: exact integer arithmetic, the same on every machine.
pub trait Trigonometry: Copy {
    /// Sine and cosine, each to the nearest representable number but for one unit of the last place.
    fn sin_cos(self) -> (Self, Self);

    /// The angle in [-π, π] from the positive x axis to the point (`x`, `self`), to the nearest representable number but for one
    /// unit of the last place. Zero for the origin.
    #[must_use]
    fn atan2(self, x: Self) -> Self;

    /// Sine; [`sin_cos`](Trigonometry::sin_cos) gives both for the same price.
    #[must_use]
    fn sin(self) -> Self {
        self.sin_cos().0
    }

    /// Cosine.
    #[must_use]
    fn cos(self) -> Self {
        self.sin_cos().1
    }
}

impl Trigonometry for I32F32 {
    fn sin_cos(self) -> (I32F32, I32F32) {
        let (sine, cosine) = rotation(self.to_bits());
        (I32F32::from_bits(rounded(sine, 32)), I32F32::from_bits(rounded(cosine, 32)))
    }

    fn atan2(self, x: I32F32) -> I32F32 {
        I32F32::from_bits(rounded(direction(self.to_bits(), x.to_bits()), 32))
    }
}

impl Trigonometry for I16F16 {
    fn sin_cos(self) -> (I16F16, I16F16) {
        let (sine, cosine) = rotation(I32F32::from(self).to_bits());
        (half(rounded(sine, 16)), half(rounded(cosine, 16)))
    }

    fn atan2(self, x: I16F16) -> I16F16 {
        half(rounded(direction(i64::from(self.to_bits()), i64::from(x.to_bits())), 16))
    }
}

/// A result of the few bits that a sine or an angle takes.
fn half(bits: i64) -> I16F16 {
    // At most π, which fits.
    I16F16::from_bits(i32::try_from(bits).unwrap_or(0))
}

/// Bits after the point of everything below.
const POINT: u32 = 61;
/// Steps of a rotation: each halves the angle that may be left, so that 2^-39 is left in the end.
const STEPS: usize = 40;
const PI: i64 = 7_244_019_458_077_122_842;
const HALF_PI: i64 = 3_622_009_729_038_561_421;
/// 2/π with 64 bits after the point.
const QUARTERS_PER_RADIAN: i128 = 11_743_562_013_128_004_906;
/// What a vector's length is multiplied by before [`STEPS`] rotations make it longer: the product of cos(atan(2^-k)).
const SHORTENED: i64 = 1_400_229_935_014_726_477;

/// atan(2^-k) with [`POINT`] bits after the point. From the 22nd on it is 2^-k, but for less than the last bit.
const ANGLES: [i64; STEPS] = {
    const LARGE: [i64; 22] = [
        1_811_004_864_519_280_711,
        1_069_098_597_953_152_948,
        564_882_337_777_596_249,
        286_743_094_836_456_889,
        143_927_976_672_616_092,
        72_034_151_524_184_357,
        36_025_865_417_378_411,
        18_014_032_019_027_246,
        9_007_153_442_175_927,
        4_503_593_900_760_542,
        2_251_799_097_857_775,
        1_125_899_817_364_151,
        562_949_942_236_502,
        281_474_975_312_555,
        140_737_488_180_565,
        70_368_744_155_819,
        35_184_372_086_101,
        17_592_186_044_075,
        8_796_093_022_165,
        4_398_046_511_099,
        2_199_023_255_551,
        1_099_511_627_776,
    ];
    let mut angles = [0; STEPS];
    let mut step = 0;
    while step < STEPS {
        angles[step] = if step < LARGE.len() { LARGE[step] } else { angles[step - 1] / 2 };
        step += 1;
    }
    angles
};

/// Sine and cosine of an angle with 32 bits after the point, by rotating a vector through the angles of the table (CORDIC).
fn rotation(angle: i64) -> (i64, i64) {
    // Quarter turns with 96 bits after the point: the nearest whole number of them, and what is left, at most half of one.
    let turns = i128::from(angle) * QUARTERS_PER_RADIAN;
    let quarters = (turns + (1 << 95)) >> 96;
    let left = truncated((turns - (quarters << 96)) >> 34);
    let mut angle = truncated((i128::from(left) * i128::from(HALF_PI)) >> 62);
    let (mut x, mut y) = (SHORTENED, 0_i64);
    for (step, turned) in ANGLES.into_iter().enumerate() {
        let (dx, dy) = (y >> step, x >> step);
        if angle >= 0 {
            (x, y, angle) = (x - dx, y + dy, angle - turned);
        } else {
            (x, y, angle) = (x + dx, y - dy, angle + turned);
        }
    }
    match quarters & 3 {
        0 => (y, x),
        1 => (x, -y),
        2 => (-y, -x),
        _ => (-x, y),
    }
}

/// The angle of the point (`x`, `y`), whatever their unit, by rotating it onto the positive x axis.
fn direction(y: i64, x: i64) -> i64 {
    if (x, y) == (0, 0) {
        return 0;
    }
    // Both as large as they can be while the steps, which lengthen by 1.65, leave room.
    let greatest = x.unsigned_abs().max(y.unsigned_abs());
    let (mut right, mut up) = match greatest.leading_zeros() {
        spare @ 3.. => (x << (spare - 3), y << (spare - 3)),
        spare => (x >> (3 - spare), y >> (3 - spare)),
    };
    let mut angle = 0;
    if right < 0 {
        // Half a turn first, so that the steps suffice.
        (right, up) = (-right, -up);
        angle = if y < 0 { -PI } else { PI };
    }
    for (step, turned) in ANGLES.into_iter().enumerate() {
        let (dx, dy) = (up >> step, right >> step);
        if up > 0 {
            (right, up, angle) = (right + dx, up - dy, angle + turned);
        } else {
            (right, up, angle) = (right - dx, up + dy, angle - turned);
        }
    }
    angle
}

/// A number with [`POINT`] bits after the point as one with `bits`, to the nearest.
fn rounded(number: i64, bits: u32) -> i64 {
    let dropped = POINT - bits;
    (number + (1 << (dropped - 1))) >> dropped
}

/// What is known to fit.
#[expect(clippy::cast_possible_truncation, reason = "its callers shift the surplus away")]
fn truncated(number: i128) -> i64 {
    number as i64
}

#[cfg(test)]
mod tests;
