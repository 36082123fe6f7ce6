//! Invariant 7: in steady state, session and client allocate nothing per tick, counted by the allocator itself.
#![expect(clippy::unwrap_used, reason = "a panic in a test is a red test")]

use std::sync::Arc;

use allocation_counter::{AllocationInfo, measure};
use retick_authority::room::{ConnectionId, Output as RoomOutput, Room, RoomConfig, RoomSecret};
use retick_core::client::{Client, ClientConfig, Output};
use retick_core::config::{ConfigSchema, SessionConfig};
use retick_core::event::{EventId, EventLife};
use retick_core::frame::{Frame, SeatFrame};
use retick_core::identity::MatchDescriptor;
use retick_core::input::{GameInput, InputSchema, Packer, Unpacker};
use retick_core::rng::SessionSeed;
use retick_core::runner::{NetworkedOptions, Output as RunnerOutput, Runner, RunnerConfig, TransportEvent};
use retick_core::runtime::{
    Capabilities, GameDescription, InitContext, NativeFactory, NoCommand, RuntimeFactory, Simulation, StepContext,
};
use retick_core::seat::{Generation, Presence, Seat, SeatCount};
use retick_core::session::{
    Budget, HeldInputs, InputRetention, LocalConfig, LocalSession, Retention, Session, SessionPolicy,
};
use retick_core::tick::{Tick, TickRate};
use serde::{Deserialize, Serialize};

mod chunked;
mod module;
mod tree;

/// A state without a heap, so that every allocation counted is one of the kernel's.
#[derive(Clone, Serialize, Deserialize)]
struct Sums([u64; 2]);

#[derive(Clone)]
struct Byte(i64);

impl GameInput for Byte {
    fn schema() -> InputSchema {
        InputSchema::builder("byte/v1").integer("value", 0..=255).build().unwrap()
    }
    fn pack(&self, packer: &mut Packer<'_>) {
        packer.integer(self.0);
    }
    fn unpack(unpacker: &mut Unpacker<'_>) -> Self {
        Byte(unpacker.integer())
    }
}

impl Simulation for Sums {
    type Input = Byte;
    type Command = NoCommand;

    fn describe() -> GameDescription {
        GameDescription {
            tick_rate: TickRate::Hz60,
            state_schema: "sums/v1",
            config_schema: ConfigSchema::empty(),
            seats: 2..=2,
            capabilities: Capabilities { commands: false, projection: true },
        }
    }
    fn init(_: &InitContext<'_>) -> Result<Self, u32> {
        Ok(Sums([0; 2]))
    }
    fn step(&mut self, context: &StepContext<'_, Self>) {
        for (seat, sum) in context.seats().zip(&mut self.0) {
            // One event a seat and tick, whose payload a misprediction changes.
            let value = context.input(seat).0;
            context.emit(EventId { source: u32::from(seat.number()), ..EventId::default() }, &value.to_le_bytes());
            *sum = sum.wrapping_mul(31).wrapping_add(context.input(seat).0.unsigned_abs());
        }
    }
    fn project(&self, out: &mut Vec<u8>) {
        self.0.iter().for_each(|sum| out.extend_from_slice(&sum.to_le_bytes()));
    }
}

fn factory() -> Arc<NativeFactory<Sums>> {
    Arc::new(NativeFactory::new(|sources| sources.module("main.rs", include_bytes!("main.rs"))).unwrap())
}

fn descriptor(factory: &impl RuntimeFactory) -> MatchDescriptor {
    let seats = SeatCount::new(2).unwrap();
    MatchDescriptor::new(factory.manifest(), SessionConfig::empty(), SessionSeed::from_u64(1), seats)
}

fn value(seat: usize, tick: u64) -> u8 {
    (tick * 7 + seat as u64 * 3).to_le_bytes()[0]
}

/// A session in which seat 0 is local, and a checksum is due in every tenth tick.
fn session(factory: &impl RuntimeFactory) -> Session {
    session_with(factory, SessionPolicy { checksum_cadence_ticks: 10, ..SessionPolicy::default() })
}

fn session_with(factory: &impl RuntimeFactory, policy: SessionPolicy) -> Session {
    let descriptor = descriptor(factory);
    let runtime = factory.create(&descriptor).unwrap();
    Session::new(runtime, &descriptor, policy, [Seat::new(0).unwrap()].into_iter().collect()).unwrap()
}

/// What turns gave: how many rolled back, and events by [`EventLife`].
#[derive(Default)]
struct Played {
    rollbacks: u64,
    lives: [u64; 3],
}

/// Plays `tick` in which the frame of seven ticks ago is there.
fn turn(session: &mut Session, frame: &mut Frame, tick: u64, played: &mut Played) {
    session.submit(Seat::new(0).unwrap(), Tick::new(tick), &[value(0, tick)]).unwrap();
    if let Some(late) = tick.checked_sub(7) {
        frame.reset(Generation(0), Tick::new(late));
        for seat in 0..2 {
            let packed = [value(seat, late)];
            let presence = Presence::Human;
            frame.push_seat(SeatFrame { input: Some(&packed), presence, ..SeatFrame::default() });
        }
        session.confirm(frame).unwrap();
    }
    let budget = Budget { confirmed_frames: usize::MAX, target: Tick::new(tick + 1) };
    let progress = session.advance(budget).unwrap();
    while session.poll_event().is_some() {}
    while let Some(event) = session.poll_presentation_event() {
        played.lives[event.life as usize] += 1;
    }
    played.rollbacks += u64::from(progress.resimulated > 0);
}

/// Allocations in the `counted` ticks after `warm_up`, in nearly all of which the session rolls back.
fn allocations(session: &mut Session, warm_up: u64, counted: u64) -> AllocationInfo {
    allocations_and_lives(session, warm_up, counted).0
}

/// The same, and the lives of all events, with those of the warm-up.
fn allocations_and_lives(session: &mut Session, warm_up: u64, counted: u64) -> (AllocationInfo, [u64; 3]) {
    let (mut frame, mut played) = (Frame::new(Generation(0), Tick::ZERO), Played::default());
    (0..warm_up).for_each(|tick| turn(session, &mut frame, tick, &mut played));
    let before = played.rollbacks;
    let info = measure(|| (warm_up..warm_up + counted).for_each(|tick| turn(session, &mut frame, tick, &mut played)));
    assert!(played.rollbacks - before > counted * 9 / 10, "{} rollbacks", played.rollbacks);
    (info, played.lives)
}

/// Every tick rolls back seven ticks, takes and releases checkpoints, projects, emits events of which some are canceled, and now
/// and then gives a checksum.
#[test]
fn i7_a_session_that_rolls_back_in_every_tick_allocates_nothing() {
    for retention in [Retention::Required, Retention::Window] {
        for input_retention in [InputRetention::Off, InputRetention::Last(100)] {
            let policy =
                SessionPolicy { checksum_cadence_ticks: 10, retention, input_retention, ..SessionPolicy::default() };
            let (counted, lives) = allocations_and_lives(&mut session_with(&factory(), policy), 600, 1000);
            assert_eq!(counted.count_total, 0, "{policy:?}: {counted:?}");
            let [predicted, confirmed, canceled] =
                [EventLife::Predicted, EventLife::Confirmed, EventLife::Canceled].map(|life| lives[life as usize]);
            assert_eq!(confirmed, 2 * 1593);
            assert!(predicted > 10_000 && canceled > 10_000, "{predicted} predicted, {canceled} canceled");
        }
    }
}

/// A player and a bot at one machine, with frames that are retained for a while.
#[test]
fn i7_local_play_allocates_nothing_per_tick() {
    let factory = factory();
    let descriptor = descriptor(&factory);
    let [player, bot] = [0, 1].map(|number| Seat::new(number).unwrap());
    let input_retention = InputRetention::Last(100);
    let config = LocalConfig {
        local_seats: [player].into_iter().collect(),
        bot_seats: [bot].into_iter().collect(),
        policy: SessionPolicy { input_retention, ..SessionPolicy::default() },
        ..LocalConfig::default()
    };
    let mut local = LocalSession::new(factory.create(&descriptor).unwrap(), &descriptor, config).unwrap();
    let mut play = |updates: u64| {
        for update in 0..updates {
            local.set_input(player, &[value(0, update)]).unwrap();
            let mut bots = |seat: Seat, tick: Tick, packed: &mut Vec<u8>| packed[0] = value(seat.index(), tick.index());
            local.update(core::time::Duration::from_millis(40), &mut bots).unwrap();
            while local.poll_event().is_some() {}
        }
        local.tick()
    };
    play(500);
    let mut tick = Tick::ZERO;
    let counted = measure(|| tick = play(500));
    assert_eq!((counted.count_total, tick), (0, Tick::new(2400)), "{counted:?}");
}

/// Until then a client's ring of the newest frames (A12) has its final size.
const WARM_UP_TICKS: u64 = 2100;

/// A room that asks nobody for a snapshot: a donation, once a minute, makes and frees one.
fn room_without_snapshots(factory: &impl RuntimeFactory) -> Room {
    let mut config = RoomConfig::new(descriptor(factory));
    config.donation.snapshot_interval_millis = 3_600_000;
    Room::new(config, RoomSecret([1; 32])).unwrap()
}

/// Two clients and a room without latency: messages are taken, decoded, confirmed, answered.
#[test]
fn i7_clients_allocate_nothing_per_turn() {
    let factory = factory();
    let mut room = room_without_snapshots(&factory);
    let mut clients = [0, 1].map(|_| Client::new(ClientConfig::default(), Box::new(factory.clone())));
    let mut allocations = 0;
    for tick in 0..3000u64 {
        let now = TickRate::Hz60.moment_of(Tick::new(tick));
        for (client, number) in clients.iter_mut().zip(0..) {
            if tick == 0 {
                room.handle_connected(ConnectionId(number), now);
                client.handle_connected(now);
            }
            let counted = measure(|| {
                client.handle_turn(now);
                while let Some(tick) = client.wanted_input() {
                    client.submit_input(&[value(usize::from(number == 1), tick.index())]).unwrap();
                }
                client.step().unwrap();
            });
            allocations += if tick > WARM_UP_TICKS { counted.count_total } else { 0 };
            while let Some(output) = client.poll_output() {
                if let Output::Transmit(bytes) = output {
                    room.handle_message(ConnectionId(number), bytes, now);
                }
            }
        }
        room.handle_timeout(now);
        while let Some(output) = room.poll_output() {
            let RoomOutput::Transmit { to, bytes } = output else { continue };
            for (client, number) in clients.iter_mut().zip(0..) {
                if to.contains(&ConnectionId(number)) {
                    let counted = measure(|| client.handle_message(bytes, now).unwrap());
                    allocations += if tick > WARM_UP_TICKS { counted.count_total } else { 0 };
                }
            }
        }
    }
    let confirmed = clients[0].session().unwrap().confirmed();
    assert!(confirmed > Tick::new(2900) && clients[1].stats().rollbacks > 100, "the match was played: {confirmed}");
    assert_eq!(allocations, 0);
}

/// What one runner does in a tick, around the client that is counted above: it samples, copies messages and looks for changes.
#[test]
fn i7_runners_allocate_nothing_per_update() {
    let factory = factory();
    let mut room = room_without_snapshots(&factory);
    let mut runners = [0, 1].map(|_| {
        let mut runner = Runner::new(RunnerConfig::default(), factory.clone()).unwrap();
        let link = runner.start_networked(NetworkedOptions::default()).unwrap();
        runner.handle_transport(link, TransportEvent::Connected);
        (runner, link)
    });
    let mut allocations = 0;
    for tick in 0..3000u64 {
        let now = TickRate::Hz60.moment_of(Tick::new(tick));
        for ((runner, _), number) in runners.iter_mut().zip(0..) {
            if tick == 0 {
                room.handle_connected(ConnectionId(number), now);
            }
            let counted = measure(|| {
                runner.apply_input(&[value(usize::from(number == 1), tick)]).unwrap();
                runner.update(1000.0 / 60.0, &mut HeldInputs).unwrap();
                assert!(runner.snapshot().alpha < 1.0);
            });
            allocations += if tick > WARM_UP_TICKS { counted.count_total } else { 0 };
            while let Some(output) = runner.poll_output() {
                if let RunnerOutput::Transmit { bytes, .. } = output {
                    room.handle_message(ConnectionId(number), bytes, now);
                }
            }
        }
        room.handle_timeout(now);
        while let Some(output) = room.poll_output() {
            let RoomOutput::Transmit { to, bytes } = output else { continue };
            for ((runner, link), number) in runners.iter_mut().zip(0..) {
                if to.contains(&ConnectionId(number)) {
                    let counted = measure(|| runner.handle_transport(*link, TransportEvent::Message(bytes)));
                    allocations += if tick > WARM_UP_TICKS { counted.count_total } else { 0 };
                }
            }
        }
    }
    let snapshot = runners[0].0.snapshot();
    assert!(snapshot.applied_through > Some(Tick::new(2900)) && snapshot.rollbacks > 100, "the match was played");
    assert_eq!(allocations, 0);
}
