//! A runner's life (T1): offline, in a room, offline again, and the end. On the real runner and room.

use std::collections::BTreeMap;
use std::sync::Arc;

use retick_core::digest::Checksum;
use retick_core::identity::MatchDescriptor;
use retick_core::runner::{Lifecycle, Mode, OfflineOptions, RunnerError, Status};
use retick_core::runtime::RuntimeFactory;
use retick_core::seat::Seat;
use retick_core::session::{Retention, Session};
use retick_core::tick::Tick;

use super::convergence::match_of;
use super::fault::{LifecycleStep, expect};
use super::names::Located;
use super::watch::seat_of;
use super::{Compared, GameFault, Premise};
use crate::runner::{HarnessSetup, Pictures, RunnerHarness, Shown};

/// Seconds that a match may need beyond its ticks.
const SLACK_SECONDS: u64 = 10;

/// What a runner lived through.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct LifecycleProof {
    /// Every status that it told, in order.
    pub statuses: Vec<Status>,
    /// Ticks of each match: offline, in the room, offline again.
    pub ticks: [Tick; 3],
    /// States in which the two offline matches were compared, `S(0)` the first.
    pub states: u64,
    /// Messages of the room that arrived after its match, and changed nothing.
    pub late_messages: u64,
}

/// Lets one runner live: an offline match of `ticks` ticks with bots, a match in a room with a runner in every other seat, the same
/// offline match again, and a stop. Each step must tell its statuses and get on; what is under way of the room arrives in the second
/// offline match, which must be the first one, state by state.
///
/// # Errors
/// [`GameFault::Lifecycle`] names the step with the statuses that are to be told and were, [`GameFault::Differs`] the first state in
/// which the offline matches differ; [`GameFault::PremiseNotMet`] says what was missing: two seats, progress, messages under way.
pub fn check_runner_lifecycle(
    factory: &Arc<dyn RuntimeFactory>,
    descriptor: &MatchDescriptor,
    script: &(impl Fn(Seat, Tick) -> Vec<u8> + Clone + Send + Sync + 'static),
    ticks: u64,
) -> Result<LifecycleProof, GameFault> {
    let setup = HarnessSetup::new(factory.clone(), descriptor.seats().count(), script.clone());
    check_runner_lifecycle_of(setup, descriptor, ticks)
}

/// [`check_runner_lifecycle`] with the game, the network, the room and the runners of any setup; how many runners there are, and what
/// they keep, is the proof's.
///
/// # Errors
/// As there.
pub fn check_runner_lifecycle_of(
    mut setup: HarnessSetup,
    descriptor: &MatchDescriptor,
    ticks: u64,
) -> Result<LifecycleProof, GameFault> {
    match_of(&setup.factory, descriptor, 2)?;
    setup.config.client.retention = Retention::Window;
    (setup.runners, setup.pictures) = (descriptor.seats().count(), Pictures::Whole);
    // So that no state goes by unseen.
    setup.updates_per_tick = setup.updates_per_tick.max(2);
    let mut life = Life { harness: RunnerHarness::new(setup), ticks };
    check(life.harness.runner(0).lifecycle() == Lifecycle::Idle, LifecycleStep::Offline, &[], &[])?;
    let options = OfflineOptions::new(descriptor.clone()).fill_with_bots();
    let mut proof = LifecycleProof::default();

    proof.ticks[0] = life.offline(&options, LifecycleStep::Offline, &mut proof.statuses)?;
    let first = life.harness.shown(0).to_vec();
    proof.ticks[1] = life.networked(descriptor, &mut proof.statuses)?;
    let stale = life.harness.runner(0).stats().stale_transport_events;
    proof.ticks[2] = life.offline(&options, LifecycleStep::OfflineAgain, &mut proof.statuses)?;
    proof.late_messages = life.harness.runner(0).stats().stale_transport_events - stale;
    proof.states = life.compare(&first, &options)?;
    if proof.late_messages == 0 {
        return Err(Premise::LateMessages.into());
    }
    life.stop(&options, &mut proof.statuses)?;
    Ok(proof)
}

/// [`check_runner_lifecycle`], for tests.
///
/// # Panics
/// With the fault.
#[track_caller]
pub fn assert_runner_lifecycle<F: RuntimeFactory + Clone + 'static>(
    factory: &F,
    descriptor: &MatchDescriptor,
    script: &(impl Fn(Seat, Tick) -> Vec<u8> + Clone + Send + Sync + 'static),
    ticks: u64,
) -> LifecycleProof {
    let factory: Arc<dyn RuntimeFactory> = Arc::new(factory.clone());
    expect(check_runner_lifecycle(&factory, descriptor, script, ticks))
}

struct Life {
    harness: RunnerHarness,
    ticks: u64,
}

impl Life {
    /// An offline match, from its start to its last tick.
    fn offline(
        &mut self,
        options: &OfflineOptions,
        step: LifecycleStep,
        told: &mut Vec<Status>,
    ) -> Result<Tick, GameFault> {
        self.harness.clear_records();
        self.harness.runner_mut(0).start_offline(options).map_err(GameFault::Runner)?;
        self.harness.update(0, 0.0).map_err(GameFault::Runner)?;
        let reached = self.play(self.ticks + 2, |life| life.confirmed(0))?;
        let here = matches!(self.harness.runner(0).lifecycle(), Lifecycle::Running { mode: Mode::Offline, .. });
        self.told(here, step, &[Status::Offline], told)?;
        Ok(reached)
    }

    /// A match in a room that opens now, with everyone in it.
    fn networked(&mut self, descriptor: &MatchDescriptor, told: &mut Vec<Status>) -> Result<Tick, GameFault> {
        self.harness.clear_records();
        self.harness.open_room(descriptor.clone());
        self.harness.join_all();
        let slack = SLACK_SECONDS * u64::from(descriptor.tick_rate().hz());
        let everyone = descriptor.seats().count();
        let all = |life: &Life| (0..everyone).map(|player| life.confirmed(player)).min().unwrap_or_default();
        let reached = self.play(self.ticks + slack, all)?;
        let there = match self.harness.runner(0).lifecycle() {
            Lifecycle::Running { mode: Mode::Networked, local_seats, .. } => local_seats.contains(seat_of(0)),
            _ => false,
        };
        self.told(there, LifecycleStep::Networked, &[Status::Connecting, Status::Syncing, Status::Live], told)?;
        Ok(reached)
    }

    fn stop(&mut self, options: &OfflineOptions, told: &mut Vec<Status>) -> Result<(), GameFault> {
        self.harness.clear_records();
        self.harness.runner_mut(0).stop().map_err(GameFault::Runner)?;
        self.harness.drain(0);
        let stopped = self.harness.runner(0).lifecycle() == Lifecycle::Stopped;
        self.told(stopped, LifecycleStep::Stop, &[Status::Stopped], told)?;
        self.harness.runner_mut(0).dispose();
        let final_word = self.harness.runner_mut(0).start_offline(options);
        check(final_word == Err(RunnerError::Disposed), LifecycleStep::Stop, &[], self.harness.statuses(0))
    }

    /// Plays until `reached` is far enough.
    fn play(&mut self, limit: u64, reached: impl Fn(&Life) -> Tick) -> Result<Tick, GameFault> {
        let wanted = Tick::new(self.ticks);
        for _ in 0..limit {
            if reached(self) >= wanted {
                break;
            }
            self.harness.advance();
        }
        let reached = reached(self);
        if reached >= wanted { Ok(reached) } else { Err(Premise::Progress { reached, wanted }.into()) }
    }

    fn confirmed(&self, player: usize) -> Tick {
        self.harness.runner(player).session().map_or(Tick::ZERO, Session::confirmed)
    }

    /// The step is what it should be, and told its statuses.
    fn told(
        &self,
        is_there: bool,
        step: LifecycleStep,
        expected: &[Status],
        told: &mut Vec<Status>,
    ) -> Result<(), GameFault> {
        let found = self.harness.statuses(0);
        told.extend(found);
        check(is_there && found == expected, step, expected, found)
    }

    /// How many states this offline match has in common with the first one; all of them must be equal.
    fn compare(&mut self, first: &[Shown], options: &OfflineOptions) -> Result<u64, GameFault> {
        let second: BTreeMap<Tick, Checksum> =
            self.harness.shown(0).iter().map(|shown| (shown.tick, shown.checksum)).collect();
        let first: BTreeMap<Tick, Checksum> = first.iter().map(|shown| (shown.tick, shown.checksum)).collect();
        let common = first.keys().filter(|tick| second.contains_key(tick)).count() as u64;
        let differs = |(tick, checksum): &(&Tick, &Checksum)| second.get(tick).is_some_and(|other| other != *checksum);
        let Some(tick) = first.iter().find(differs).map(|(tick, _)| *tick) else {
            let reached = Tick::new(common.saturating_sub(1));
            let wanted = Tick::new(self.ticks);
            return if reached >= wanted { Ok(common) } else { Err(Premise::Progress { reached, wanted }.into()) };
        };
        // Neither match has kept that state: both are played once more, up to there.
        let states = self.state_at(options, tick).zip(self.state_at(options, tick));
        Err(GameFault::differs(Compared::Matches, tick, Located::of(states)))
    }

    /// A state of one more offline match.
    fn state_at(&mut self, options: &OfflineOptions, tick: Tick) -> Option<Vec<u8>> {
        self.harness.runner_mut(0).start_offline(options).ok()?;
        for _ in 0..tick.index() + 2 {
            if self.confirmed(0) >= tick {
                break;
            }
            self.harness.advance();
        }
        let local = self.harness.runner_mut(0).local_mut()?;
        local.export_snapshot(tick).ok()?.verify(&options.descriptor).ok()
    }
}

fn check(holds: bool, step: LifecycleStep, expected: &[Status], found: &[Status]) -> Result<(), GameFault> {
    let (expected, found) = (expected.to_vec(), found.to_vec());
    if holds { Ok(()) } else { Err(GameFault::Lifecycle { step, expected, found }) }
}
