//! Presentation parity (T1): the same inputs show the same, offline and in a room. On the real runner, which is what a game ships.
//!
//! It catches what no comparison of states can: a projection that shows one state in two ways.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use retick_core::client::PredictionMode;
use retick_core::frame::Frame;
use retick_core::identity::MatchDescriptor;
use retick_core::runner::OfflineOptions;
use retick_core::runtime::RuntimeFactory;
use retick_core::seat::Seat;
use retick_core::session::{Retention, Session};
use retick_core::tick::Tick;

use super::convergence::match_of;
use super::fault::expect;
use super::lane::check_emitted;
use super::names::Located;
use super::watch::seat_of;
use super::{ByteDifference, Compared, Emitted, GameFault, Premise};
use crate::runner::{HarnessSetup, Pictures, RunnerHarness, Script, Shown};

/// Ticks behind the script in which everyone is neutral, so that predictions come true and a predicted picture is of a confirmed state.
const NEUTRAL_TICKS: u64 = 60;
/// Seconds that a match may need beyond its ticks.
const SLACK_SECONDS: u64 = 10;
/// The machine that plays offline; runners in rooms are on those of their seats' numbers.
const OFFLINE_MACHINE: u8 = 202;

/// What was shown, and compared.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct ParityProof {
    /// Pictures of the match in a room, predicted states included, that were of a state of the offline match.
    pub pictures: u64,
    /// Different ones among the projections of the offline match.
    pub distinct: u64,
    /// Confirmed presentation events that were compared, of all runners.
    pub events: u64,
    /// Rollbacks of all runners that predicted.
    pub rollbacks: u64,
}

/// What one runner showed and told in a match.
struct Seen {
    harness: RunnerHarness,
    ticks: u64,
}

/// Plays `ticks` ticks three times with the same inputs: offline, in a room with prediction, and in a room without. Every picture in a
/// room whose state is one of the offline match must be the offline one, byte for byte, and the confirmed events must be the same, in
/// order. A runner in each seat; the first factory plays offline, the second in the room.
///
/// # Errors
/// [`GameFault::Differs`] names the state and the projection's first byte, [`GameFault::EventsDiffer`] the tick;
/// [`GameFault::PremiseNotMet`] says what was missing: two seats, a projection that changes, rollbacks, pictures of confirmed states.
pub fn check_presentation_parity(
    [offline, networked]: [Arc<dyn RuntimeFactory>; 2],
    descriptor: &MatchDescriptor,
    script: &(impl Fn(Seat, Tick) -> Vec<u8> + Clone + Send + Sync + 'static),
    ticks: u64,
) -> Result<ParityProof, GameFault> {
    let setup = HarnessSetup::new(networked, descriptor.seats().count(), script.clone());
    check_presentation_parity_of(setup, offline, descriptor, ticks)
}

/// [`check_presentation_parity`] with the network, the room and the runners of any setup, which has the script and plays in the room;
/// how many runners there are, what they keep, and whether they predict, is the proof's.
///
/// # Errors
/// As there.
pub fn check_presentation_parity_of(
    setup: HarnessSetup,
    offline: Arc<dyn RuntimeFactory>,
    descriptor: &MatchDescriptor,
    ticks: u64,
) -> Result<ParityProof, GameFault> {
    match_of(&offline, descriptor, 2)?;
    if !offline.create(descriptor)?.capabilities().projection {
        return Err(Premise::Projection.into());
    }
    let (neutral, script) = (offline.manifest().input_schema().neutral().to_vec(), setup.script.clone());
    let script: Script =
        Arc::new(move |seat, tick| if tick.index() < ticks { script(seat, tick) } else { neutral.clone() });
    let setup = HarnessSetup { script, runners: descriptor.seats().count(), pictures: Pictures::Whole, ..setup };
    let ticks = ticks + NEUTRAL_TICKS;
    let mut alone = play_offline(&setup, offline, descriptor, ticks)?;
    let expected: BTreeMap<Tick, Shown> =
        alone.harness.shown(0).iter().map(|shown| (shown.tick, shown.clone())).collect();
    let distinct = expected.values().map(|shown| &shown.current).collect::<BTreeSet<_>>().len() as u64;
    if expected.len() as u64 <= ticks {
        let reached = expected.keys().next_back().copied().unwrap_or_default();
        return Err(Premise::Progress { reached, wanted: Tick::new(ticks) }.into());
    }
    let mut proof = ParityProof { distinct, ..ParityProof::default() };
    for mode in [PredictionMode::Always, PredictionMode::ConfirmedOnly] {
        let mut room = play_in_room(&setup, descriptor, ticks, mode)?;
        for player in 0..descriptor.seats().count() {
            compare_states(&mut alone, &mut room, player)?;
            let compared = compare_pictures(&expected, room.harness.shown(player), player, mode)?;
            let shown = room.harness.shown(player).len() as u64;
            if compared == 0 || distinct < 2 {
                return Err(Premise::Pictures { shown, compared, distinct }.into());
            }
            proof.pictures += compared;
            proof.events += compare_events(&alone, &room, player)?;
            let rollbacks = room.harness.runner(player).snapshot().rollbacks;
            // Everyone mispredicts the first tick: nobody is there before it.
            if mode == PredictionMode::Always && rollbacks < 2 {
                return Err(Premise::Rollback { seat: seat_of(player), ticks }.into());
            }
            proof.rollbacks += rollbacks;
        }
    }
    Ok(proof)
}

/// [`check_presentation_parity`] of one factory, for tests.
///
/// # Panics
/// With the fault.
#[track_caller]
pub fn assert_presentation_parity<F: RuntimeFactory + Clone + 'static>(
    factory: &F,
    descriptor: &MatchDescriptor,
    script: &(impl Fn(Seat, Tick) -> Vec<u8> + Clone + Send + Sync + 'static),
    ticks: u64,
) -> ParityProof {
    let factory: Arc<dyn RuntimeFactory> = Arc::new(factory.clone());
    expect(check_presentation_parity([factory.clone(), factory], descriptor, script, ticks))
}

fn with_mode(setup: &HarnessSetup, mode: PredictionMode) -> HarnessSetup {
    let mut setup = setup.clone();
    (setup.config.client.mode, setup.config.client.retention) = (mode, Retention::Window);
    setup
}

/// Every seat at one machine, drawn twice a tick, so that no state goes by unseen.
fn play_offline(
    setup: &HarnessSetup,
    factory: Arc<dyn RuntimeFactory>,
    descriptor: &MatchDescriptor,
    ticks: u64,
) -> Result<Seen, GameFault> {
    let setup = HarnessSetup { factory, runners: 1, ..with_mode(setup, PredictionMode::Always) };
    let mut harness = RunnerHarness::new(HarnessSetup { updates_per_tick: 2, first_machine: OFFLINE_MACHINE, ..setup });
    let local_seats = descriptor.seats().seats().collect();
    let options = OfflineOptions { local_seats, ..OfflineOptions::new(descriptor.clone()) };
    harness.runner_mut(0).start_offline(&options).map_err(GameFault::Runner)?;
    harness.update(0, 0.0).map_err(GameFault::Runner)?;
    let mut left = 2 * ticks + 10;
    while left > 0 && confirmed(&harness, 0) < Tick::new(ticks) {
        harness.advance();
        left -= 1;
    }
    Ok(Seen { harness, ticks })
}

fn play_in_room(
    setup: &HarnessSetup,
    descriptor: &MatchDescriptor,
    ticks: u64,
    mode: PredictionMode,
) -> Result<Seen, GameFault> {
    let (runners, wanted, script) = (setup.runners, Tick::new(ticks), setup.script.clone());
    let mut harness = RunnerHarness::new(with_mode(setup, mode));
    harness.open_room(descriptor.clone());
    harness.join_all();
    let mut left = ticks + SLACK_SECONDS * u64::from(descriptor.tick_rate().hz());
    let reached = |harness: &RunnerHarness| (0..runners).map(|player| confirmed(harness, player)).min();
    while left > 0 && reached(&harness) < Some(wanted) {
        harness.advance();
        left -= 1;
    }
    if reached(&harness) < Some(wanted) {
        let reached = reached(&harness).unwrap_or_default();
        return Err(Premise::Progress { reached, wanted }.into());
    }
    let frames = harness.frames();
    frames.iter().filter(|frame| frame.tick() < wanted).try_for_each(|frame| check_inputs(frame, &script))?;
    Ok(Seen { harness, ticks })
}

/// The frame holds what everyone gave, as an offline one does.
fn check_inputs(frame: &Frame, script: &Script) -> Result<(), Premise> {
    for (index, given) in frame.seats().enumerate() {
        let (seat, tick) = (seat_of(index), frame.tick());
        if given.substituted || given.input != Some(&script(seat, tick)[..]) {
            return Err(Premise::OwnInputs { seat, tick });
        }
    }
    Ok(())
}

fn confirmed(harness: &RunnerHarness, player: usize) -> Tick {
    harness.runner(player).session().map_or(Tick::ZERO, Session::confirmed)
}

/// The last state of both; if it differs, the first one that differs of those that both have kept, the last 256.
fn compare_states(alone: &mut Seen, room: &mut Seen, player: usize) -> Result<(), GameFault> {
    let end = Tick::new(alone.ticks);
    if difference_at(alone, room, player, end).is_none() {
        return Ok(());
    }
    let mut kept = (alone.ticks.saturating_sub(u64::from(u8::MAX))..=alone.ticks).map(Tick::new);
    let first = kept.find_map(|tick| difference_at(alone, room, player, tick).map(|difference| (tick, difference)));
    let (tick, located) = first.unwrap_or((end, Located::default()));
    Err(GameFault::differs(Compared::Modes, tick, located))
}

/// Whether a state that both have kept differs, and in which byte first.
fn difference_at(alone: &mut Seen, room: &mut Seen, player: usize, tick: Tick) -> Option<Located> {
    let descriptor = room.harness.room().descriptor().clone();
    let offline = alone.harness.runner_mut(0).local_mut()?.export_snapshot(tick).ok()?;
    let networked = room.harness.runner_mut(player).session_mut()?.export_snapshot(tick).ok()?;
    if offline.checksum() == networked.checksum() {
        return None;
    }
    let bytes = [offline, networked].map(|snapshot| snapshot.verify(&descriptor).unwrap_or_default());
    Some(Located::between(&bytes[0], &bytes[1]))
}

/// How many pictures were of a state of the offline match; each of them must be the offline one.
fn compare_pictures(
    expected: &BTreeMap<Tick, Shown>,
    shown: &[Shown],
    player: usize,
    mode: PredictionMode,
) -> Result<u64, GameFault> {
    let (seat, mut compared) = (seat_of(player), 0);
    for shown in shown {
        let Some(offline) = expected.get(&shown.tick) else { continue };
        let tick = shown.tick;
        if shown.checksum != offline.checksum {
            if shown.confirmed {
                return Err(GameFault::differs(Compared::Modes, tick, Located::default()));
            }
            continue;
        }
        compared += 1;
        let mut difference = ByteDifference::between(&offline.current, &shown.current);
        // What is drawn between two ticks, too; a prediction shows one before that may have come true in another way.
        if mode == PredictionMode::ConfirmedOnly {
            difference = difference.or(ByteDifference::between(&offline.previous, &shown.previous));
        }
        if difference.is_some() {
            // What stands in a projection is the game's own.
            let located = Located { difference, field: None };
            return Err(GameFault::differs(Compared::Pictures { seat }, tick, located));
        }
    }
    Ok(compared)
}

/// How many confirmed events there were of the ticks that both have played.
fn compare_events(alone: &Seen, room: &Seen, player: usize) -> Result<u64, GameFault> {
    let end = Tick::new(alone.ticks);
    let of = |harness: &RunnerHarness, player: usize| {
        harness.heard(player).iter().filter(|event| event.key.tick < end).cloned().collect::<Vec<Emitted>>()
    };
    let (offline, networked) = (of(&alone.harness, 0), of(&room.harness, player));
    check_emitted(Tick::ZERO, &offline, &networked)?;
    Ok(offline.len() as u64)
}
