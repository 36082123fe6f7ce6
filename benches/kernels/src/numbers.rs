//! Square roots and arithmetic in fours: by the module's own instructions in WebAssembly, and lane by lane elsewhere. Every operation is
//! exact up to the bits of a NaN, so that both give the same numbers.

/// Four floats, one vector in a module.
pub type Four = [f32; 4];

#[cfg(target_arch = "wasm32")]
mod vectors {
    use core::arch::wasm32::{
        f32x4, f32x4_add, f32x4_div, f32x4_extract_lane, f32x4_max, f32x4_min, f32x4_mul, f32x4_splat, f32x4_sqrt,
        f32x4_sub, f64x2_extract_lane, f64x2_splat, f64x2_sqrt, v128,
    };

    use super::Four;

    #[target_feature(enable = "simd128")]
    fn join(four: Four) -> v128 {
        let [a, b, c, d] = four;
        f32x4(a, b, c, d)
    }

    #[target_feature(enable = "simd128")]
    fn part(vector: v128) -> Four {
        let (a, b) = (f32x4_extract_lane::<0>(vector), f32x4_extract_lane::<1>(vector));
        [a, b, f32x4_extract_lane::<2>(vector), f32x4_extract_lane::<3>(vector)]
    }

    #[target_feature(enable = "simd128")]
    pub fn root(value: f32) -> f32 {
        f32x4_extract_lane::<0>(f32x4_sqrt(f32x4_splat(value)))
    }

    #[target_feature(enable = "simd128")]
    pub fn wide_root(value: f64) -> f64 {
        f64x2_extract_lane::<0>(f64x2_sqrt(f64x2_splat(value)))
    }

    #[target_feature(enable = "simd128")]
    pub fn lesser(one: f32, other: f32) -> f32 {
        f32x4_extract_lane::<0>(f32x4_min(f32x4_splat(one), f32x4_splat(other)))
    }

    #[target_feature(enable = "simd128")]
    pub fn relaxed(from: Four, to: Four, share: f32) -> Four {
        let (from, to) = (join(from), join(to));
        part(f32x4_add(from, f32x4_mul(f32x4_sub(to, from), f32x4_splat(share))))
    }

    #[target_feature(enable = "simd128")]
    pub fn spread(one: Four, other: Four) -> Four {
        let (one, other) = (join(one), join(other));
        part(f32x4_sub(f32x4_max(one, other), f32x4_min(one, other)))
    }

    #[target_feature(enable = "simd128")]
    pub fn contrast(one: Four, other: Four) -> Four {
        let (one, other) = (join(one), join(other));
        part(f32x4_div(f32x4_sub(one, other), f32x4_sqrt(f32x4_sub(f32x4_mul(one, one), f32x4_mul(other, other)))))
    }
}

#[cfg(not(target_arch = "wasm32"))]
mod lanes {
    use core::array::from_fn;
    use core::cmp::Ordering;

    use super::Four;

    pub fn root(value: f32) -> f32 {
        libm::sqrtf(value)
    }

    pub fn wide_root(value: f64) -> f64 {
        libm::sqrt(value)
    }

    /// The lesser, of zeros the negative one, and NaN with a NaN: what a module's instruction gives.
    pub fn lesser(one: f32, other: f32) -> f32 {
        match one.partial_cmp(&other) {
            None => one + other,
            Some(Ordering::Less) => one,
            Some(Ordering::Equal) if one.is_sign_negative() => one,
            Some(Ordering::Equal | Ordering::Greater) => other,
        }
    }

    pub fn relaxed(from: Four, to: Four, share: f32) -> Four {
        from_fn(|lane| from[lane] + (to[lane] - from[lane]) * share)
    }

    pub fn spread(one: Four, other: Four) -> Four {
        from_fn(|lane| {
            let (one, other) = (one[lane], other[lane]);
            // Of two zeros too, whatever their signs.
            (one - other).abs()
        })
    }

    pub fn contrast(one: Four, other: Four) -> Four {
        from_fn(|lane| {
            let (one, other) = (one[lane], other[lane]);
            (one - other) / root(one * one - other * other)
        })
    }
}

#[cfg(not(target_arch = "wasm32"))]
pub use lanes::{contrast, lesser, relaxed, root, spread, wide_root};
#[cfg(target_arch = "wasm32")]
pub use vectors::{contrast, lesser, relaxed, root, spread, wide_root};
