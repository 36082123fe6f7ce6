//! Every proof of the kit, with one signature, for any twin.

use std::sync::Arc;

use retick_core::config::SessionConfig;
use retick_core::identity::MatchDescriptor;
use retick_core::rng::SessionSeed;
use retick_core::seat::{Seat, SeatCount};
use retick_core::tick::{Tick, TickRate};
use retick_testing::assert::{
    GameFault, check_convergence, check_deterministic, check_hydration, check_late_join_hydration,
    check_presentation_parity, check_replay_verifies, check_runner_lifecycle, check_synctest,
    check_two_client_convergence,
};
use retick_testing::environment;
use retick_testing::sim::{ClientSetup, MatchSetup};
use retick_testing::twins::Twin;

/// A proof: its name in the table, and what it says of so many ticks of a twin.
pub struct Proof {
    pub name: &'static str,
    check: fn(&Twin, u64) -> Result<(), GameFault>,
}

impl Proof {
    /// What it says of a twin, on machines that were just switched on.
    pub fn check(&self, twin: &Twin, ticks: u64) -> Result<(), GameFault> {
        environment::reset_cameras();
        (self.check)(twin, ticks)
    }
}

/// In the order of the table.
pub const PROOFS: [Proof; 9] = [
    Proof { name: "assert_deterministic", check: deterministic },
    Proof { name: "synctest", check: rollback },
    Proof { name: "assert_hydration", check: hydration },
    Proof { name: "assert_replay_verifies", check: replay },
    Proof { name: "assert_two_client_convergence", check: convergence },
    Proof { name: "assert_late_join_hydration", check: late_join },
    Proof { name: "assert_presentation_parity", check: parity },
    Proof { name: "assert_runner_lifecycle", check: lifecycle },
    Proof { name: "SimulatedMatch::check", check: simulated },
];

/// A match of a twin.
pub fn descriptor(twin: &Twin, seats: u8) -> MatchDescriptor {
    let (seats, seed) = (SeatCount::new(seats).expect("seats"), SessionSeed::from_u64(1));
    MatchDescriptor::new(twin.factories[0].manifest(), SessionConfig::empty(), seed, seats)
}

fn script(twin: &Twin) -> impl Fn(Seat, Tick) -> Vec<u8> + Clone + Send + Sync + 'static {
    let script = twin.script.clone();
    move |seat, tick| script(seat, tick)
}

fn deterministic(twin: &Twin, ticks: u64) -> Result<(), GameFault> {
    let [one, other] = &twin.factories;
    match Arc::ptr_eq(one, other) {
        true => check_deterministic(one, &descriptor(twin, 2), script(twin), ticks).map(drop),
        false => check_convergence([one, other], &descriptor(twin, 2), script(twin), ticks).map(drop),
    }
}

fn rollback(twin: &Twin, ticks: u64) -> Result<(), GameFault> {
    check_synctest(&twin.factories[1], &descriptor(twin, 2), script(twin), ticks, 3).map(drop)
}

fn hydration(twin: &Twin, ticks: u64) -> Result<(), GameFault> {
    check_hydration(&twin.factories[1], &descriptor(twin, 2), script(twin), ticks, 30).map(drop)
}

fn replay(twin: &Twin, ticks: u64) -> Result<(), GameFault> {
    check_replay_verifies(twin.factories.clone(), &descriptor(twin, 2), &script(twin), ticks).map(drop)
}

fn convergence(twin: &Twin, ticks: u64) -> Result<(), GameFault> {
    check_two_client_convergence(twin.factories.clone(), &descriptor(twin, 2), &script(twin), ticks).map(drop)
}

/// Two players, and a third one who comes after 60 ticks, on the second machine.
fn late_join(twin: &Twin, ticks: u64) -> Result<(), GameFault> {
    let player = || ClientSetup::new(script(twin)).latency_ticks(TickRate::Hz60, 3);
    let setup = MatchSetup::of(twin.factories[0].clone(), &descriptor(twin, 3)).strict();
    let setup = setup.hard_tolerance_ticks(30).checksum_cadence_ticks(10).client(player()).client(player());
    check_late_join_hydration(setup, player().factory(twin.factories[1].clone()), 60, ticks).map(drop)
}

fn parity(twin: &Twin, ticks: u64) -> Result<(), GameFault> {
    check_presentation_parity(twin.factories.clone(), &descriptor(twin, 2), &script(twin), ticks).map(drop)
}

fn lifecycle(twin: &Twin, ticks: u64) -> Result<(), GameFault> {
    check_runner_lifecycle(&twin.factories[1], &descriptor(twin, 2), &script(twin), ticks).map(drop)
}

/// A whole match under its checkers, as a test of a game would set it up.
fn simulated(twin: &Twin, ticks: u64) -> Result<(), GameFault> {
    let player = |machine: usize| {
        let player = ClientSetup::new(script(twin)).latency_ticks(TickRate::Hz60, 3);
        player.factory(twin.factories[machine].clone())
    };
    let setup = MatchSetup::of(twin.factories[0].clone(), &descriptor(twin, 2)).strict().hard_tolerance_ticks(30);
    let setup = setup.checksum_cadence_ticks(20).client(player(0)).client(player(1));
    let mut sim = setup.last_tick(ticks).build();
    sim.run_until_confirmed(ticks);
    sim.check().map(drop).map_err(GameFault::Breaches)
}
