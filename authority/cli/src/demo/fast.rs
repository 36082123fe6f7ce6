//! The demo on a virtual clock: the same machines in one process, reproducible by seed.

use std::ops::Range;
use std::sync::Arc;

use retick_core::rng::{RngStream, SessionSeed};
use retick_core::runtime::RuntimeFactory;
use retick_core::seat::Seat;
use retick_core::tick::{Moment, Tick};
use retick_testing::net::{Jitter, LinkProfile};
use retick_testing::sim::{ClientRecord, ClientSetup, DEFAULT_LOBBY_TICKS, MatchSetup, SimulatedMatch};

use super::report::{Results, SeatResult};
use super::{CUT_MILLIS, Plan, STALL_EVERY_MILLIS, STALL_MILLIS};
use crate::failure::Failure;
use crate::observer::{Observer, Records};
use crate::scripted::{due_command, packed_script};

/// Ticks that the match may take beyond its length.
const PATIENCE_TICKS: u64 = 1_800;

/// Plays the match and gives what was seen of it.
pub fn play(plan: &Plan) -> Result<Results, Failure> {
    let mut sim = setup(plan).build();
    let seats = plan.descriptor.seats();
    let mut requested = vec![0; seats.count()];
    let is_done = |sim: &SimulatedMatch| {
        (0..seats.count()).all(|seat| {
            let session = sim.client(seat).and_then(|client| client.session());
            session.is_some_and(|session| session.confirmed() >= plan.ticks)
        })
    };
    for _ in 0..plan.ticks.index() + PATIENCE_TICKS {
        if is_done(&sim) {
            break;
        }
        sim.advance();
        for (seat, requested) in requested.iter_mut().enumerate() {
            let Some(client) = sim.client_mut(seat) else { continue };
            let Some(command) = due_command(client, *requested) else { continue };
            *requested += 1;
            // Without a transport the request is simply not made: an emote is not worth a retry.
            let _ = client.request_command(&command);
        }
    }
    if !is_done(&sim) {
        return Err(Failure::Run("the match did not come to its end".into()));
    }
    let report = sim.check().map_err(|breaches| Failure::CheckFailed(format!("{breaches:?}")))?;
    let mut results = Results { seats: Vec::new(), replay: Vec::new() };
    for client in &report.clients {
        take(plan, client, &mut results);
    }
    Ok(results)
}

fn setup(plan: &Plan) -> MatchSetup {
    let factory: Arc<dyn RuntimeFactory> = plan.factory.clone();
    let rate = plan.descriptor.tick_rate();
    let mut setup = MatchSetup::new(factory)
        .game(plan.descriptor.config().clone(), *plan.descriptor.seed())
        .seed(plan.seed)
        .hard_tolerance_ticks(plan.rules.hard_tolerance_ticks)
        .checksum_cadence_ticks(plan.rules.checksum_cadence_ticks);
    for seat in plan.descriptor.seats().seats() {
        let (schema, seed) = (plan.factory.manifest().input_schema().clone(), plan.seed);
        let script = move |seat: Seat, tick: Tick| packed_script(&schema, seat, tick, seed);
        let mut client = ClientSetup::new(script);
        client.config = plan.client;
        client.up = link(plan, seat, "up");
        client.down = link(plan, seat, "down");
        setup = setup.client(client);
    }
    let last = plan.descriptor.seats().count() - 1;
    let cut_at = rate.ticks_in_millis(plan.cut_at_millis());
    setup.disconnect(cut_at, last).reconnect(cut_at + rate.ticks_in_millis(CUT_MILLIS), last)
}

/// One direction of one seat's network.
fn link(plan: &Plan, seat: Seat, direction: &str) -> LinkProfile {
    let one_way_nanos = u64::from(plan.round_trip_millis(seat.number())) * 1_000_000 / 2;
    let mut chance = RngStream::derive(&SessionSeed::from_u64(plan.seed), &format!("demo stalls {seat} {direction}"));
    LinkProfile {
        latency_nanos: one_way_nanos,
        jitter: Jitter { steps: 8, step_nanos: one_way_nanos / 32 },
        stalls: stalls(plan, &mut chance),
        ..LinkProfile::default()
    }
}

/// Stalls from the start to the end of the match, with pauses between a half and one and a half of the mean.
fn stalls(plan: &Plan, chance: &mut RngStream) -> Vec<Range<Moment>> {
    let rate = plan.descriptor.tick_rate();
    let end = rate.moment_of(plan.ticks.saturating_add(DEFAULT_LOBBY_TICKS));
    let mut stalls = Vec::new();
    let mut at = rate.moment_of(Tick::new(DEFAULT_LOBBY_TICKS));
    while at < end {
        let pause = chance.range(STALL_EVERY_MILLIS / 2..=STALL_EVERY_MILLIS * 3 / 2);
        let start = at.plus_nanos(u64::from(pause) * 1_000_000);
        at = start.plus_nanos(u64::from(STALL_MILLIS) * 1_000_000);
        stalls.push(start..at);
    }
    stalls
}

/// What a record of the simulation says, as if it had been watched live.
fn take(plan: &Plan, client: &ClientRecord, results: &mut Results) {
    let records = if results.seats.is_empty() { Records::Match } else { Records::Nothing };
    let mut observer = Observer::new(plan.factory.manifest(), plan.ticks, records);
    observer.begin(&plan.descriptor);
    client.events.iter().for_each(|(_, event)| observer.take(event));
    let mut checksums = client.checksums.iter().peekable();
    for frame in &client.frames {
        observer.take_frame(frame);
        let state = frame.tick().saturating_add(1);
        while let Some((tick, checksum)) = checksums.next_if(|(tick, _)| *tick <= state) {
            observer.take_checksum(*tick, *checksum);
        }
    }
    client.rollbacks.iter().for_each(|rollback| observer.take_rollback(rollback.from, rollback.to));
    if let Some(replay) = observer.finish_recording() {
        results.replay = replay;
    }
    let stats = client.stats;
    let cut_off = u64::from(usize::from(client.seat.number()) + 1 == plan.descriptor.seats().count());
    results.seats.push(SeatResult {
        seen: observer.seen,
        sent_bytes: stats.sent_bytes,
        received_bytes: stats.received_bytes,
        cut_off,
    });
}
