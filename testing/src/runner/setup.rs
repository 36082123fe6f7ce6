//! What a harness is made with.

use std::sync::Arc;

use retick_core::runner::RunnerConfig;
use retick_core::runtime::RuntimeFactory;
use retick_core::seat::Seat;
use retick_core::tick::Tick;

use super::Pictures;

/// The packed input of a seat for a tick, for players and bots alike.
pub type Script = Arc<dyn Fn(Seat, Tick) -> Vec<u8> + Send + Sync>;

/// What a harness is made with.
#[derive(Clone)]
pub struct HarnessSetup {
    /// The game.
    pub factory: Arc<dyn RuntimeFactory>,
    /// What every runner is made with.
    pub config: RunnerConfig,
    /// How many runners there are.
    pub runners: usize,
    /// Their inputs.
    pub script: Script,
    /// Seed of everything that the network does.
    pub seed: u64,
    /// Ticks that a message takes each way.
    pub latency_ticks: u64,
    /// Updates of each runner in a tick.
    pub updates_per_tick: u32,
    /// Ticks that rooms wait before they substitute (A1).
    pub hard_tolerance_ticks: u16,
    /// Every how many confirmed ticks a checksum is reported (A8).
    pub checksum_cadence_ticks: u32,
    /// Whether pictures are kept whole.
    pub pictures: Pictures,
    /// The number of the first runner's machine; the others follow.
    pub first_machine: u8,
}

impl HarnessSetup {
    /// So many runners with the default config on links that take two ticks, in rooms that wait for 30.
    pub fn new(
        factory: Arc<dyn RuntimeFactory>,
        runners: usize,
        script: impl Fn(Seat, Tick) -> Vec<u8> + Send + Sync + 'static,
    ) -> HarnessSetup {
        HarnessSetup {
            factory,
            config: RunnerConfig::default(),
            runners,
            script: Arc::new(script),
            seed: 1,
            latency_ticks: 2,
            updates_per_tick: 1,
            hard_tolerance_ticks: 30,
            checksum_cadence_ticks: 60,
            pictures: Pictures::default(),
            first_machine: 0,
        }
    }
}
