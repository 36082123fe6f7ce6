//! Floats: thin functions over the crate `libm`, one name for both widths.

// Without SSE2, a 32-bit x86 computes even additions in registers of 80 bits: nothing below could keep its promise.
#[cfg(all(target_arch = "x86", not(target_feature = "sse2")))]
compile_error!("floats are not the same on x86 without SSE2");

mod sealed {
    pub trait Sealed {}
    impl Sealed for f32 {}
    impl Sealed for f64 {}
}

/// Declares each function once: for both widths, with the functions of `libm` for `f32` and for `f64`.
macro_rules! functions {
    ($($(#[$doc:meta])+ $name:ident($($argument:ident),+) = $single:ident, $double:ident;)*) => {
        /// `f32` or `f64`: what the functions of [`math`](crate::math) take. No other type can be one.
        pub trait Float: sealed::Sealed + Copy {
            $(#[doc(hidden)] fn $name($($argument: Self),+) -> Self;)*
            #[doc(hidden)]
            fn sin_cos(angle: Self) -> (Self, Self);
        }

        impl Float for f32 {
            $(#[inline] fn $name($($argument: f32),+) -> f32 { libm::$single($($argument),+) })*
            #[inline]
            fn sin_cos(angle: f32) -> (f32, f32) { libm::sincosf(angle) }
        }

        impl Float for f64 {
            $(#[inline] fn $name($($argument: f64),+) -> f64 { libm::$double($($argument),+) })*
            #[inline]
            fn sin_cos(angle: f64) -> (f64, f64) { libm::sincos(angle) }
        }

        $($(#[$doc])+ #[inline] pub fn $name<F: Float>($($argument: F),+) -> F { F::$name($($argument),+) })*
    };
}

functions! {
    /// Sine of an angle in radians.
    sin(angle) = sinf, sin;
    /// Cosine of an angle in radians.
    cos(angle) = cosf, cos;
    /// Tangent of an angle in radians.
    tan(angle) = tanf, tan;
    /// The angle in [-π/2, π/2] whose sine this is; NaN beyond [-1, 1].
    asin(x) = asinf, asin;
    /// The angle in [0, π] whose cosine this is; NaN beyond [-1, 1].
    acos(x) = acosf, acos;
    /// The angle in [-π/2, π/2] whose tangent this is.
    atan(x) = atanf, atan;
    /// The angle in [-π, π] from the positive x axis to the point (`x`, `y`); `y` comes first, as everywhere. Zero for the origin.
    atan2(y, x) = atan2f, atan2;
    /// Hyperbolic sine.
    sinh(x) = sinhf, sinh;
    /// Hyperbolic cosine.
    cosh(x) = coshf, cosh;
    /// Hyperbolic tangent.
    tanh(x) = tanhf, tanh;
    /// Square root, exactly rounded; NaN below zero. (The standard library's is exact as well; a crate without it has none.)
    sqrt(x) = sqrtf, sqrt;
    /// Cube root.
    cbrt(x) = cbrtf, cbrt;
    /// Length of the vector (`x`, `y`), without overflow on the way.
    hypot(x, y) = hypotf, hypot;
    /// `base` to the power of `exponent`; NaN for a negative base and a broken exponent.
    pow(base, exponent) = powf, pow;
    /// e to the power of `x`.
    exp(x) = expf, exp;
    /// 2 to the power of `x`.
    exp2(x) = exp2f, exp2;
    /// e to the power of `x`, less one, exact for small `x`.
    exp_m1(x) = expm1f, expm1;
    /// Natural logarithm; -∞ for zero, NaN below.
    ln(x) = logf, log;
    /// Natural logarithm of 1 + `x`, exact for small `x`.
    ln_1p(x) = log1pf, log1p;
    /// Logarithm to the base 2.
    log2(x) = log2f, log2;
    /// Logarithm to the base 10.
    log10(x) = log10f, log10;
    /// What is left of `x` after whole multiples of `y`, with the sign of `x`, exactly: the operator `%`.
    fmod(x, y) = fmodf, fmod;
    /// `x` × `y` + `z`, rounded once.
    mul_add(x, y, z) = fmaf, fma;
    /// The greatest whole number that is not above `x`.
    floor(x) = floorf, floor;
    /// The least whole number that is not below `x`.
    ceil(x) = ceilf, ceil;
    /// The nearest whole number; halves go away from zero.
    round(x) = roundf, round;
    /// The nearest whole number; halves go to the even neighbour.
    round_ties_even(x) = roundevenf, roundeven;
    /// The whole part, towards zero.
    trunc(x) = truncf, trunc;
    /// The distance from zero.
    abs(x) = fabsf, fabs;
    /// `magnitude` with the sign of `sign`. Of a NaN as `sign`, the sign is not promised natively.
    copysign(magnitude, sign) = copysignf, copysign;
    /// The lesser one; the other one if one is a NaN. -0.0 is below 0.0.
    min(x, y) = fminimum_numf, fminimum_num;
    /// The greater one; the other one if one is a NaN. 0.0 is above -0.0.
    max(x, y) = fmaximum_numf, fmaximum_num;
}

/// Sine and cosine of an angle in radians: the same bits as [`sin`] and [`cos`], for less than both.
#[inline]
pub fn sin_cos<F: Float>(angle: F) -> (F, F) {
    F::sin_cos(angle)
}

#[cfg(test)]
mod tests;
