//! Vectors, angles and the few conversions between floats and integers. Nothing here depends on the platform: plain IEEE
//! arithmetic, and `libm` for the rest, so that a native build and a WebAssembly build agree bit for bit.

use core::f32::consts::TAU;
use core::ops::{Add, AddAssign, Mul, Sub};

use serde::{Deserialize, Serialize};

/// Directions of a full turn; an aim is a number below it.
pub const AIM_STEPS: u16 = 1024;

/// Units of a projected coordinate in one unit of the arena.
pub const FIXED_SCALE: f32 = 64.0;

/// A point or a direction in the arena. x grows to the right and y downwards.
#[derive(Clone, Copy, PartialEq, Debug, Default, Serialize, Deserialize)]
pub struct Vec2 {
    /// To the right.
    pub x: f32,
    /// Downwards.
    pub y: f32,
}

impl Vec2 {
    /// The origin.
    pub const ZERO: Vec2 = Vec2 { x: 0.0, y: 0.0 };

    /// The vector with these coordinates.
    pub const fn new(x: f32, y: f32) -> Vec2 {
        Vec2 { x, y }
    }

    /// The square of the length.
    pub fn length_squared(self) -> f32 {
        self.x * self.x + self.y * self.y
    }

    /// The length.
    pub fn length(self) -> f32 {
        libm::sqrtf(self.length_squared())
    }

    /// The vector, shortened to `most` if it is longer.
    #[must_use]
    pub fn shortened(self, most: f32) -> Vec2 {
        let length = self.length();
        if length > most { self * (most / length) } else { self }
    }

    /// The direction of an aim in [`AIM_STEPS`]ths of a turn, clockwise from the right.
    #[must_use]
    pub fn heading(aim: u16) -> Vec2 {
        let angle = f32::from(aim % AIM_STEPS) * (TAU / f32::from(AIM_STEPS));
        Vec2::new(libm::cosf(angle), libm::sinf(angle))
    }

    /// The aim that comes closest to this direction; 0 for the zero vector.
    pub fn aim(self) -> u16 {
        let turns = libm::atan2f(self.y, self.x) / TAU;
        let positive = if turns < 0.0 { turns + 1.0 } else { turns };
        whole(positive * f32::from(AIM_STEPS) + 0.5) % AIM_STEPS
    }
}

impl Add for Vec2 {
    type Output = Vec2;

    fn add(self, other: Vec2) -> Vec2 {
        Vec2::new(self.x + other.x, self.y + other.y)
    }
}

impl AddAssign for Vec2 {
    fn add_assign(&mut self, other: Vec2) {
        *self = *self + other;
    }
}

impl Sub for Vec2 {
    type Output = Vec2;

    fn sub(self, other: Vec2) -> Vec2 {
        Vec2::new(self.x - other.x, self.y - other.y)
    }
}

impl Mul<f32> for Vec2 {
    type Output = Vec2;

    fn mul(self, factor: f32) -> Vec2 {
        Vec2::new(self.x * factor, self.y * factor)
    }
}

/// `value`, brought between `low` and `high`. Unlike `f32::min` and `max` it says which zero it returns.
#[must_use]
pub fn bounded(value: f32, low: f32, high: f32) -> f32 {
    if value < low {
        low
    } else if value > high {
        high
    } else {
        value
    }
}

/// The whole part of `value`; 0 for a negative value or a NaN, and the greatest number for one beyond it.
#[must_use]
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "Rust's float casts saturate, everywhere alike"
)]
pub fn whole(value: f32) -> u16 {
    value as u16
}

/// A coordinate as it is projected: in [`FIXED_SCALE`]ths of a unit.
#[must_use]
pub fn to_fixed(coordinate: f32) -> u16 {
    whole(coordinate * FIXED_SCALE + 0.5)
}

/// The coordinate that was projected so.
#[must_use]
pub fn from_fixed(fixed: u16) -> f32 {
    f32::from(fixed) / FIXED_SCALE
}

/// The count of a list that a constant bounds below 256.
#[must_use]
pub fn count(length: usize) -> u8 {
    u8::try_from(length).unwrap_or(u8::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_aim_survives_its_heading() {
        for aim in 0..AIM_STEPS {
            let heading = Vec2::heading(aim);
            assert!((heading.length() - 1.0).abs() < 1e-6);
            assert_eq!(heading.aim(), aim);
        }
        assert_eq!(Vec2::ZERO.aim(), 0);
    }

    #[test]
    fn conversions_saturate() {
        assert_eq!((whole(-3.0), whole(f32::NAN), whole(1e9), whole(2.9)), (0, 0, u16::MAX, 2));
        assert_eq!(from_fixed(to_fixed(12.25)), 12.25);
        assert_eq!((bounded(-1.0, 0.0, 2.0), bounded(3.0, 0.0, 2.0), bounded(1.5, 0.0, 2.0)), (0.0, 2.0, 1.5));
    }
}
