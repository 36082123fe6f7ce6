//! False alarms (A8): how often a room says that machines disagree, when nothing but rollbacks happens to them.
//!
//! ```
//! use std::sync::Arc;
//!
//! use retick_testing::alarms::count_false_alarms;
//! use retick_testing::fixtures::tally_factory;
//!
//! let count = count_false_alarms(&Arc::new(tally_factory()), 500, 7);
//! assert!(count.rollbacks >= 500 && count.reports > 0);
//! assert_eq!(count.alarms, 0);
//! ```

use std::sync::Arc;

use retick_core::runtime::RuntimeFactory;
use retick_core::seat::Seat;
use retick_core::tick::{Tick, TickRate};

use crate::certify::{made_up_inputs, nearest_to_zero};
use crate::net::LinkProfile;
use crate::sim::{ClientSetup, MatchSetup};

/// Ticks of one match.
const TICKS: u64 = 900;
/// Every how many ticks a checksum is reported.
const CADENCE_TICKS: u32 = 30;
/// One way, in ticks, for each seat.
const LATENCY_TICKS: [u64; 4] = [2, 3, 4, 6];

/// What was counted.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct AlarmCount {
    /// Matches that were played.
    pub matches: u64,
    /// Ticks that their rooms confirmed.
    pub ticks: u64,
    /// Rollbacks of all clients.
    pub rollbacks: u64,
    /// Ticks that were played again in them.
    pub resimulated_ticks: u64,
    /// Checksums that were reported.
    pub reports: u64,
    /// States of which the room said that reports differ.
    pub alarms: u64,
}

/// Plays matches of four clients, whose inputs change all the time and arrive late, until there were so many rollbacks; and counts how
/// often their rooms announce a desync. Each match has another seed.
///
/// # Panics
/// When the game can't be played by four seats, or a match does not come to its end.
pub fn count_false_alarms<F: RuntimeFactory + 'static>(factory: &Arc<F>, rollbacks: u64, seed: u64) -> AlarmCount {
    let factory: Arc<dyn RuntimeFactory> = factory.clone();
    let mut count = AlarmCount::default();
    while count.rollbacks < rollbacks {
        let before = count.rollbacks;
        let seed = seed.wrapping_add(count.matches);
        add_match(&mut count, &factory, seed);
        assert!(count.rollbacks > before, "seed {seed}: no prediction is ever wrong, so that nothing is counted");
    }
    count
}

fn add_match(count: &mut AlarmCount, factory: &Arc<dyn RuntimeFactory>, seed: u64) {
    let manifest = factory.manifest();
    let rate: TickRate = manifest.tick_rate();
    let config = nearest_to_zero(manifest.config_schema());
    let config = config.unwrap_or_else(|error| panic!("no config: {error}"));
    let game_seed = retick_core::rng::SessionSeed::from_u64(seed);
    let mut setup = MatchSetup::new(factory.clone()).game(config, game_seed).seed(seed);
    setup = setup.checksum_cadence_ticks(CADENCE_TICKS).hard_tolerance_ticks(20).last_tick(TICKS + 60);
    for latency in LATENCY_TICKS {
        let inputs = made_up_inputs(manifest.input_schema().clone(), seed);
        // Each tick has an input of its own.
        let script = move |seat: Seat, tick: Tick| inputs(seat, Tick::new(tick.index() * 64));
        let mut client = ClientSetup::new(script);
        (client.up, client.down) = (LinkProfile::ticks(rate, latency), LinkProfile::ticks(rate, latency));
        client.config.prediction_window_ticks = 16;
        setup = setup.client(client);
    }
    let mut sim = setup.build();
    sim.run_until_confirmed(TICKS);
    sim.run_ticks(20);
    let report = sim.report();
    count.matches += 1;
    count.ticks += report.frames.len() as u64;
    count.rollbacks += report.rollbacks();
    count.resimulated_ticks += report.clients.iter().map(|client| client.stats.resimulated_ticks).sum::<u64>();
    count.reports += report.clients.iter().map(|client| client.reports.len() as u64).sum::<u64>();
    count.alarms += report.desyncs();
}
