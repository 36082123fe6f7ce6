//! What each function stands for, how exact it is, and what it does at the ends.

use core::f64::consts::{FRAC_PI_2, PI};

use super::*;

/// Numbers of every size and both signs, from a simple generator.
fn numbers() -> impl Iterator<Item = f32> {
    let mut state = 7_u64;
    (0..20_000_u32).map(move |turn| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        let [a, b, ..] = state.to_be_bytes();
        let mantissa = f32::from(u16::from_be_bytes([a, b])) / 65_536.0 + 0.5;
        let size = libm::ldexpf(mantissa, i32::try_from(turn % 60).expect("small") - 40);
        if state & 1 == 0 { size } else { -size }
    })
}

/// The distance of a narrow result from the wide one, relative to the wide one; zero for two NaNs or equal numbers.
fn error(narrow: f32, wide: f64) -> f64 {
    let narrow = f64::from(narrow);
    if narrow == wide || narrow.is_nan() && wide.is_nan() { 0.0 } else { abs((narrow - wide) / wide) }
}

/// Each function of one argument, narrow and wide, with the greatest relative error of the narrow one in units of 2^-24.
#[test]
fn narrow_functions_are_off_by_a_unit_or_so_of_the_last_place() {
    type Pair = (&'static str, fn(f32) -> f32, fn(f64) -> f64, f64);
    let functions: [Pair; 20] = [
        ("sin", sin, sin, 2.0),
        ("cos", cos, cos, 2.0),
        ("tan", tan, tan, 2.0),
        ("asin", asin, asin, 2.0),
        ("acos", acos, acos, 2.0),
        ("atan", atan, atan, 2.0),
        ("sinh", sinh, sinh, 4.0),
        ("cosh", cosh, cosh, 4.0),
        ("tanh", tanh, tanh, 4.0),
        ("sqrt", sqrt, sqrt, 1.0),
        ("cbrt", cbrt, cbrt, 1.1),
        ("exp", exp, exp, 2.0),
        ("exp2", exp2, exp2, 2.0),
        ("exp_m1", exp_m1, exp_m1, 2.0),
        ("ln", ln, ln, 2.0),
        ("log2", log2, log2, 2.0),
        ("log10", log10, log10, 2.0),
        ("floor", floor, floor, 0.0),
        ("round", round, round, 0.0),
        ("trunc", trunc, trunc, 0.0),
    ];
    for (name, narrow, wide, bound) in functions {
        let results = numbers().map(|x| (narrow(x), wide(f64::from(x))));
        // Beyond the narrow range there is no relative error.
        let ordinary = results.filter(|(_, wide)| wide.is_nan() || (1e-37..1e38).contains(&abs(*wide)));
        let (mut worst, mut count) = (0.0_f64, 0);
        ordinary.for_each(|(narrow, wide)| (worst, count) = (worst.max(error(narrow, wide)), count + 1));
        assert!(worst * 16_777_216.0 <= bound && count > 4_000, "{name}: {} of {count}", worst * 16_777_216.0);
    }
}

#[test]
fn sin_cos_gives_the_bits_of_both() {
    for x in numbers() {
        let wide = f64::from(x) * 1.000_000_1;
        assert_eq!(sin_cos(x).0.to_bits(), sin(x).to_bits(), "{x}");
        assert_eq!(sin_cos(x).1.to_bits(), cos(x).to_bits(), "{x}");
        assert_eq!(sin_cos(wide).0.to_bits(), sin(wide).to_bits(), "{wide}");
        assert_eq!(sin_cos(wide).1.to_bits(), cos(wide).to_bits(), "{wide}");
    }
}

#[test]
fn exact_functions_are_exact() {
    for x in numbers() {
        let root = sqrt(abs(x));
        // Rounded to the nearest: a neighbour's square lies further away, as a wide float sees exactly.
        let miss = |root: f32| abs(f64::from(root) * f64::from(root) - f64::from(abs(x)));
        assert!(miss(root) <= miss(root.next_up()) && miss(root) <= miss(root.next_down()), "{x}");
        assert_eq!(fmod(x, 0.75).to_bits(), (x % 0.75).to_bits(), "{x}");
        assert_eq!(mul_add(x, x, 1.0).to_bits(), narrowed(f64::from(x), 1.0), "{x}");
    }
    let halves = [-2.5, -1.5, -0.5, 0.5, 1.5, 2.5_f64];
    assert_eq!(halves.map(round), [-3.0, -2.0, -1.0, 1.0, 2.0, 3.0]);
    assert_eq!(halves.map(round_ties_even), [-2.0, -2.0, 0.0, 0.0, 2.0, 2.0]);
    assert_eq!(halves.map(floor), [-3.0, -2.0, -1.0, 0.0, 1.0, 2.0]);
    assert_eq!(halves.map(ceil), [-2.0, -1.0, 0.0, 1.0, 2.0, 3.0]);
    assert_eq!(halves.map(trunc), [-2.0, -1.0, 0.0, 0.0, 1.0, 2.0]);
}

/// `x`² + `y` for a narrow `x`, rounded once: the square is exact in a wide float, and so is the sum's rounding where no tie is.
#[expect(clippy::cast_possible_truncation, reason = "rounding is what is wanted")]
fn narrowed(x: f64, y: f64) -> u32 {
    ((x * x + y) as f32).to_bits()
}

#[test]
fn the_ends_are_where_the_docs_say() {
    assert_eq!(
        [atan2(0.0, 0.0), atan2(0.0, -1.0), atan2(1.0, 0.0), atan2(-1.0, 0.0)],
        [0.0, PI, FRAC_PI_2, -FRAC_PI_2]
    );
    assert_eq!((ln(0.0_f64), exp(1_000.0_f64), exp(-1_000.0_f64)), (f64::NEG_INFINITY, f64::INFINITY, 0.0));
    assert!(
        [ln(-1.0), sqrt(-1.0), asin(1.1), acos(-1.1), pow(-2.0, 0.5), fmod(1.0, 0.0)].iter().all(|x: &f32| x.is_nan())
    );
    assert_eq!((pow(2.0_f64, -2.0), pow(0.0_f64, 0.0), hypot(3e200, 0.0)), (0.25, 1.0, 3e200));
    assert_eq!(copysign(3.0_f32, -0.0), -3.0);
    assert_eq!((ln_1p(1e-20), exp_m1(1e-20_f64)), (1e-20, 1e-20));
}

#[test]
fn the_lesser_and_the_greater_are_settled_for_zeros_and_nans() {
    for (one, other) in [(0.0, -0.0), (-0.0, 0.0_f32)] {
        assert_eq!((min(one, other).to_bits(), max(one, other).to_bits()), (0x8000_0000, 0));
    }
    assert_eq!([min(f32::NAN, 1.0), min(1.0, f32::NAN), max(f32::NAN, 1.0), max(1.0, f32::NAN)], [1.0; 4]);
    assert_eq!((min(1.0, 2.0_f64), max(1.0, 2.0_f64)), (1.0, 2.0));
    assert!(min(f64::NAN, f64::NAN).is_nan());
}
