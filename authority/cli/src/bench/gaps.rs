//! Times between things, counted in buckets, so that counting one costs hardly anything.

/// Width of a bucket, in microseconds.
const BUCKET_MICROS: u64 = 50;
/// Buckets; what is longer counts in the last one.
const BUCKETS: usize = 20_000;

/// A distribution of times.
pub(super) struct Gaps {
    buckets: Vec<u64>,
    count: u64,
    longest_micros: u64,
}

impl Default for Gaps {
    fn default() -> Gaps {
        Gaps { buckets: vec![0; BUCKETS], count: 0, longest_micros: 0 }
    }
}

impl Gaps {
    pub(super) fn add(&mut self, nanos: u64) {
        let micros = nanos / 1_000;
        let bucket = usize::try_from(micros / BUCKET_MICROS).unwrap_or(usize::MAX).min(BUCKETS - 1);
        self.buckets[bucket] += 1;
        self.count += 1;
        self.longest_micros = self.longest_micros.max(micros);
    }

    /// The time, in milliseconds, that so many of a thousand do not exceed, to a bucket's width; 0 of none.
    pub(super) fn per_mille(&self, per_mille: u64) -> f64 {
        let wanted = (self.count * per_mille).div_ceil(1_000);
        let mut seen = 0;
        let bucket = self.buckets.iter().position(|count| {
            seen += count;
            seen >= wanted
        });
        if self.count == 0 { 0.0 } else { (bucket.unwrap_or(BUCKETS) as u64 + 1) as f64 * BUCKET_MICROS as f64 / 1e3 }
    }

    /// The longest, in milliseconds.
    pub(super) fn longest(&self) -> f64 {
        self.longest_micros as f64 / 1e3
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_distribution_gives_its_quantiles() {
        let mut gaps = Gaps::default();
        assert_eq!((gaps.per_mille(990), gaps.longest()), (0.0, 0.0));
        (1..=99).for_each(|_| gaps.add(16_620_000));
        assert_eq!((gaps.per_mille(500), gaps.per_mille(990)), (16.65, 16.65));
        gaps.add(5_000_000_000);
        assert_eq!((gaps.per_mille(990), gaps.longest()), (16.65, 5_000.0));
        gaps.add(5_000_000_000);
        assert_eq!(gaps.per_mille(990), 1_000.0);
    }
}
