//! Angles against the floats of `libm`, which are exact to some 2^-52.

use super::*;

/// Angles and coordinates from all sizes: bits 0 to 52 of a simple generator, so that an `f64` holds each exactly.
fn numbers() -> impl Iterator<Item = i64> {
    let mut state = 1_u64;
    (0..40_000_u32).map(move |turn| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state.cast_signed() >> 11) >> (turn % 53)
    })
}

#[expect(clippy::cast_precision_loss, reason = "at most 53 bits")]
fn float(bits: i64, point: i32) -> f64 {
    libm::ldexp(bits as f64, -point)
}

/// The distance of a result from the true number, in units of the result's last place.
fn error(found: i64, exact: f64, point: i32) -> f64 {
    libm::fabs(float(found, 0) - libm::ldexp(exact, point))
}

#[test]
fn sines_and_cosines_are_off_by_less_than_a_unit_of_the_last_place() {
    let mut worst = [0.0_f64; 2];
    for bits in numbers() {
        let (sine, cosine) = I32F32::from_bits(bits).sin_cos();
        let angle = float(bits, 32);
        let wide = [error(sine.to_bits(), libm::sin(angle), 32), error(cosine.to_bits(), libm::cos(angle), 32)];
        worst[0] = wide.into_iter().fold(worst[0], f64::max);
        let bits = truncated_32(bits);
        let (sine, cosine) = I16F16::from_bits(bits).sin_cos();
        let angle = float(bits.into(), 16);
        let narrow =
            [error(sine.to_bits().into(), libm::sin(angle), 16), error(cosine.to_bits().into(), libm::cos(angle), 16)];
        worst[1] = narrow.into_iter().fold(worst[1], f64::max);
    }
    assert!(worst[0] < 0.95 && worst[1] < 0.501, "{worst:?}");
}

#[test]
fn angles_of_points_are_off_by_less_than_a_unit_of_the_last_place() {
    let mut worst = [0.0_f64; 2];
    for (y, x) in numbers().zip(numbers().skip(7)) {
        let angle = I32F32::from_bits(y).atan2(I32F32::from_bits(x));
        worst[0] = worst[0].max(error(angle.to_bits(), libm::atan2(float(y, 0), float(x, 0)), 32));
        let (y, x) = (truncated_32(y), truncated_32(x));
        let angle = I16F16::from_bits(y).atan2(I16F16::from_bits(x));
        worst[1] = worst[1].max(error(angle.to_bits().into(), libm::atan2(y.into(), x.into()), 16));
    }
    assert!(worst[0] < 0.6 && worst[1] < 0.501, "{worst:?}");
}

/// The lower half of a number.
#[expect(clippy::cast_possible_truncation, reason = "the lower half is what is wanted")]
fn truncated_32(bits: i64) -> i32 {
    bits as i32
}

#[test]
fn axes_and_ends_have_their_angles() {
    let (zero, one) = (I32F32::ZERO, I32F32::ONE);
    let angles = [(zero, zero), (zero, one), (one, zero), (zero, -one), (-one, zero), (one, one), (-one, -one)];
    let found = angles.map(|(y, x)| y.atan2(x).to_bits());
    let (pi, half, eighth) = (13_493_037_705, 6_746_518_852, 3_373_259_426);
    assert_eq!(found, [0, 0, half, pi, -half, eighth, -3 * eighth]);
    assert_eq!((zero.sin_cos(), one.cos().to_bits()), ((zero, one), 2_320_580_734));
    for (y, x) in
        [(I32F32::MIN, I32F32::MIN), (I32F32::MAX, I32F32::MIN), (I32F32::MIN, zero), (I32F32::DELTA, I32F32::MAX)]
    {
        let exact = libm::atan2(y.to_num(), x.to_num());
        assert!(error(y.atan2(x).to_bits(), exact, 32) < 0.6, "{y} {x}");
    }
    // Nothing overflows at the ends of the range.
    for angle in [I32F32::MIN, I32F32::MAX] {
        let (sine, cosine) = angle.sin_cos();
        let length = sine.to_num::<f64>() * sine.to_num::<f64>() + cosine.to_num::<f64>() * cosine.to_num::<f64>();
        assert!(libm::fabs(length - 1.0) < 1e-9, "{angle}");
    }
    assert_eq!((I16F16::MIN.sin().to_bits(), I16F16::MAX.cos().to_bits()), (-60_808, 24_442));
}

#[test]
fn the_table_holds_the_angles() {
    for (step, angle) in (0..).zip(ANGLES) {
        let exact = libm::atan(libm::ldexp(1.0, -step));
        assert!(libm::fabs(float(angle, 61) - exact) < 1e-15, "step {step}");
    }
    let shortened: f64 = (0..40).map(|step| 1.0 / libm::sqrt(1.0 + libm::ldexp(1.0, -2 * step))).product();
    assert!(libm::fabs(float(SHORTENED, 61) - shortened) < 1e-15);
}
