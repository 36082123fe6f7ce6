//! Arithmetic that gives the same bits natively and in a module, on every machine.
//!
//! `+`, `-`, `*`, `/`, comparisons and conversions of `f32` and `f64` are exact to the last bit by IEEE 754, and so is everything
//! on integers. The rest is what this module is for:
//!
//! | instead of | use | because |
//! |---|---|---|
//! | `x.sin()`, `x.powf(y)`, `x.exp()` … of the standard library | [`sin`], [`pow`], [`exp`] … | the standard library calls the platform's own libm, and no two of them agree in every last bit |
//! | `x.min(y)`, `x.max(y)` | [`min`], [`max`] | for zeros of two signs, the standard library may give either |
//! | `x.mul_add(y, z)` | [`mul_add`] | some platforms round twice |
//! | floats | [`fixed`] | for worlds that should not have floats at all; with the feature `fixed`, which is on by default |
//! | a float square root of an integer | `u32::isqrt` and its like | they are exact, and part of `core` |
//!
//! # What is promised
//!
//! Each function is the one of the crate `libm`, compiled into the game: portable code that uses basic operations alone. Where
//! that crate knows an instruction of the target, it is one whose result is exact (square root, rounding, absolute value, fused
//! multiplication), so that with it or without it the bits are the same. The bits are those of one *version* of the crate: a
//! module carries it within itself, and a native game names it in its manifest (`ManifestBuilder::dependency`).
//!
//! A result that is not a NaN has the same bits everywhere. That a result *is* a NaN is the same everywhere too, but a NaN's sign and
//! payload are not promised natively; within a module they are made canonical wherever they show. So no state, projection or
//! event should hold a NaN's own bits: branch on `x.is_nan()` instead.
//!
//! ```
//! use retick_guest::math;
//!
//! let (sine, cosine) = math::sin_cos(0.5_f32);
//! assert_eq!((sine.to_bits(), cosine.to_bits()), (0x3EF5_7744, 0x3F60_A940));
//! assert_eq!(math::hypot(3.0_f64, 4.0), 5.0);
//! assert_eq!(math::min(0.0_f32, -0.0).to_bits(), (-0.0_f32).to_bits());
//! assert!(math::sqrt(-1.0_f32).is_nan());
//! ```

#[cfg(feature = "fixed")]
pub mod fixed;
mod float;

pub use float::{
    Float, abs, acos, asin, atan, atan2, cbrt, ceil, copysign, cos, cosh, exp, exp_m1, exp2, floor, fmod, hypot, ln,
    ln_1p, log2, log10, max, min, mul_add, pow, round, round_ties_even, sin, sin_cos, sinh, sqrt, tan, tanh, trunc,
};
