//! The replay (T1, R2): a match that was played in a room, exported by one of its clients, and re-simulated from its file alone.

use std::sync::Arc;

use retick_core::digest::Checksum;
use retick_core::identity::MatchDescriptor;
use retick_core::replay::{self, Verdict};
use retick_core::runtime::{Keep, Output, RuntimeFactory};
use retick_core::seat::Seat;
use retick_core::session::InputRetention;
use retick_core::tick::{Moment, Tick};

use super::convergence::match_of;
use super::fault::expect;
use super::lane::{Game, Lane, check_moved};
use super::names::Located;
use super::watch::{self, seat_of};
use super::{Compared, GameFault, Premise};
use crate::environment::{self, Machine};
use crate::sim::{RollbackSeen, Script, SimulatedMatch};

/// The machine that verifies; the clients were on those of their seats' numbers.
const VERIFYING_MACHINE: Machine = Machine::numbered(201);

/// What a replay's verification did.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ReplayProof {
    /// Bytes of the file.
    pub bytes: usize,
    /// Ticks that were re-simulated.
    pub ticks: Tick,
    /// States whose checksums were compared: `S(0)` to the last.
    pub states: u64,
    /// Rollbacks of the client that recorded, of which nothing stands in the file.
    pub rollbacks: u64,
    /// Checksum of the last state.
    pub last: Checksum,
}

/// Plays `ticks` ticks of a match in a room with two real clients, lets the first one export it, and verifies the file on another
/// [machine](crate::environment): every state from `S(0)` to the last has its checksum there, and re-simulation gives it.
/// The match is played with the first factory and verified with the second.
///
/// # Errors
/// [`GameFault::Differs`] names the first state and byte, [`GameFault::Replay`] says why else the file is not verified;
/// [`GameFault::PremiseNotMet`] says what was missing: two seats, movement, rollbacks of the recording client, a checksum of each state.
pub fn check_replay_verifies(
    [plays, verifies]: [Arc<dyn RuntimeFactory>; 2],
    descriptor: &MatchDescriptor,
    script: &(impl Fn(Seat, Tick) -> Vec<u8> + Clone + Send + Sync + 'static),
    ticks: u64,
) -> Result<ReplayProof, GameFault> {
    let Recorded { mut sim, bytes, start } = record(&plays, descriptor, Arc::new(script.clone()), ticks)?;
    environment::enter(VERIFYING_MACHINE.at(Moment::ZERO));
    let verdict = replay::verify(&bytes, verifies.as_ref());
    let script = |seat: Seat, tick: Tick| script(seat, tick);
    let game = Game { factory: verifies.as_ref(), descriptor, script: &script };
    let mut lane = Lane::new(game, VERIFYING_MACHINE)?;
    let first = lane.bytes()?;
    if start != first {
        return Err(GameFault::differs(Compared::Replayed, Tick::ZERO, Located::between(&start, &first)));
    }
    match verdict {
        Verdict::Verified { ticks: verified, checksums, final_checksum } => {
            let due = verified.index();
            let found = checksums as u64;
            if found < due {
                return Err(Premise::Checksums { seat: seat_of(0), found, due }.into());
            }
            let frames = sim.frames();
            lane.fold(frames.get(..usize::try_from(due).unwrap_or(0)).unwrap_or(&frames), Keep::NOTHING)?;
            check_moved(&start, &lane.bytes()?, due)?;
            let rolled_back = |seen: &&RollbackSeen| seen.from > Tick::ZERO;
            let rollbacks = sim.report().clients[0].rollbacks.iter().filter(rolled_back).count() as u64;
            if rollbacks == 0 {
                return Err(Premise::Rollback { seat: seat_of(0), ticks }.into());
            }
            let states = due + 1;
            Ok(ReplayProof { bytes: bytes.len(), ticks: verified, states, rollbacks, last: final_checksum })
        }
        Verdict::Diverged { first_bad, .. } => {
            let tick = first_bad.tick;
            let frames: Vec<_> = sim.frames().into_iter().take_while(|frame| frame.tick() < tick).collect();
            let replayed = lane.fold(&frames, Keep::NOTHING).ok().and_then(|()| lane.bytes().ok());
            let played = bytes_at(&mut sim, tick);
            Err(GameFault::differs(Compared::Replayed, tick, Located::of(played.zip(replayed))))
        }
        other => Err(GameFault::Replay(format!("{other:?}"))),
    }
}

/// [`check_replay_verifies`] of one factory, for tests.
///
/// # Panics
/// With the fault.
#[track_caller]
pub fn assert_replay_verifies<F: RuntimeFactory + Clone + 'static>(
    factory: &F,
    descriptor: &MatchDescriptor,
    script: &(impl Fn(Seat, Tick) -> Vec<u8> + Clone + Send + Sync + 'static),
    ticks: u64,
) -> ReplayProof {
    let factory: Arc<dyn RuntimeFactory> = Arc::new(factory.clone());
    expect(check_replay_verifies([factory.clone(), factory], descriptor, script, ticks))
}

/// A match whose first client has exported it.
struct Recorded {
    sim: SimulatedMatch,
    bytes: Vec<u8>,
    /// `S(0)`, as the recording client's machine built it.
    start: Vec<u8>,
}

fn record(
    factory: &Arc<dyn RuntimeFactory>,
    descriptor: &MatchDescriptor,
    script: Script,
    ticks: u64,
) -> Result<Recorded, GameFault> {
    if ticks == 0 {
        return Err(Premise::Work { ticks }.into());
    }
    let setup = match_of(factory, descriptor, 2)?.checksum_cadence_ticks(1);
    let player = || {
        let mut player = watch::player(&script, descriptor.tick_rate());
        player.config.input_retention = InputRetention::All;
        player
    };
    let mut sim = setup.client(player()).client(player()).last_tick(ticks).build();
    let start = start_of(factory, descriptor)?;
    let confirmed = |sim: &SimulatedMatch| {
        let session = sim.client(0).and_then(|client| client.session());
        session.map_or(Tick::ZERO, |session| session.confirmed())
    };
    let limit = 2 * ticks + 20 * u64::from(descriptor.tick_rate().hz());
    while confirmed(&sim) < Tick::new(ticks) && sim.authority_tick() < Tick::new(limit) {
        sim.advance();
    }
    let reached = confirmed(&sim);
    let Some(session) =
        sim.client_mut(0).and_then(|client| client.session_mut()).filter(|_| reached >= Tick::new(ticks))
    else {
        return Err(Premise::Progress { reached, wanted: Tick::new(ticks) }.into());
    };
    let bytes = session.export_replay().map_err(|error| GameFault::Replay(error.to_string()))?;
    Ok(Recorded { sim, bytes, start })
}

/// `S(0)` on the machine of the client that records.
fn start_of(factory: &Arc<dyn RuntimeFactory>, descriptor: &MatchDescriptor) -> Result<Vec<u8>, GameFault> {
    environment::enter(Machine::numbered(0).at(Moment::ZERO));
    let mut runtime = factory.create(descriptor)?;
    let mut output = Output::default();
    runtime.keep(Keep::CHECKPOINT, &mut output)?;
    let (mut bytes, checkpoint) = (Vec::new(), output.kept.first().and_then(|kept| kept.checkpoint));
    if let Some(checkpoint) = checkpoint {
        while runtime.export(checkpoint, bytes.len() as u64, usize::MAX, &mut bytes)? > bytes.len() as u64 {}
    }
    Ok(bytes)
}

fn bytes_at(sim: &mut SimulatedMatch, tick: Tick) -> Option<Vec<u8>> {
    let descriptor = sim.room().descriptor().clone();
    sim.client_mut(0)?.session_mut()?.export_snapshot(tick).ok()?.verify(&descriptor).ok()
}
