//! More state outside the canonical state: random numbers of the process, a clock that is read once, a field that no checksum has
//! and that works late, and a snapshot that loses what it can't hold.

use std::sync::atomic::{AtomicU64, Ordering};

use serde::{Deserialize, Serialize};

use super::Leak;
use crate::environment;

/// Draws from a generator that the whole process shares.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct ProcessRandom {}

static GENERATOR: AtomicU64 = AtomicU64::new(0x9E37_79B9_7F4A_7C15);

impl Leak for ProcessRandom {
    const SCHEMA: &'static str = "twin/process-random/v1";

    fn next(&mut self) -> u64 {
        let step =
            |drawn: u64| Some(drawn.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407));
        GENERATOR.fetch_update(Ordering::Relaxed, Ordering::Relaxed, step).unwrap_or_default() >> 32
    }
}

/// Draws from a generator beside the state: every instance has the same numbers, until one is made of a snapshot.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct SkippedRandom {
    #[serde(skip, default = "seeded")]
    generator: u64,
}

fn seeded() -> u64 {
    12_345
}

impl Default for SkippedRandom {
    fn default() -> SkippedRandom {
        SkippedRandom { generator: seeded() }
    }
}

impl Leak for SkippedRandom {
    const SCHEMA: &'static str = "twin/skipped-random/v1";

    fn next(&mut self) -> u64 {
        self.generator = self.generator.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        self.generator >> 32
    }
}

/// Notes its machine's clock when the match begins: the first state differs already.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct StartedAt {
    millis: u64,
}

impl Default for StartedAt {
    fn default() -> StartedAt {
        StartedAt { millis: environment::current().now_millis }
    }
}

impl Leak for StartedAt {
    const SCHEMA: &'static str = "twin/started-at/v1";

    fn next(&mut self) -> u64 {
        1
    }
}

/// Remembers its machine in a field that no checksum covers, and lets it into the state [`LateEffect::FRAME`] frames on.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct LateEffect {
    #[serde(skip)]
    machine: u8,
    steps: u64,
}

impl LateEffect {
    /// The first state that shows what was wrong from the start.
    pub const FRAME: u64 = 50;
}

impl Leak for LateEffect {
    const SCHEMA: &'static str = "twin/late-effect/v1";

    fn next(&mut self) -> u64 {
        self.machine = environment::current().machine;
        self.steps += 1;
        if self.steps < LateEffect::FRAME { 1 } else { u64::from(self.machine) }
    }
}

/// Counts steps, and writes down sixteens of them: a checkpoint is exact, a snapshot is not, and the checksum is the snapshot's.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(from = "u64", into = "u64")]
pub struct LossySnapshot {
    steps: u64,
}

impl From<u64> for LossySnapshot {
    fn from(sixteens: u64) -> LossySnapshot {
        LossySnapshot { steps: sixteens * 16 }
    }
}

impl From<LossySnapshot> for u64 {
    fn from(counted: LossySnapshot) -> u64 {
        counted.steps / 16
    }
}

impl Leak for LossySnapshot {
    const SCHEMA: &'static str = "twin/lossy-snapshot/v1";

    fn next(&mut self) -> u64 {
        self.steps += 1;
        self.steps
    }
}
