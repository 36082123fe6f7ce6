//! Test: what a running room has reserved stops growing (invariant 7 of the design), the history aside.

use alloc::vec::Vec;

use retick_core::config::SessionConfig;
use retick_core::identity::{IdentityManifest, MatchDescriptor};
use retick_core::input::InputSchema;
use retick_core::rng::SessionSeed;
use retick_core::runtime::Capabilities;
use retick_core::seat::{ControlEpoch, Generation, Seat, SeatCount};
use retick_core::tick::{Moment, Tick, TickRate};
use retick_core::wire::{ClientMessage, Entry, Hello, InputRun, Inputs, PROTOCOL_VERSION};

use super::{ConnectionId, Durability, PausePolicy, Room, RoomConfig, RoomSecret};

const CLIENTS: [ConnectionId; 2] = [ConnectionId(0), ConnectionId(1)];
const OBSERVER: ConnectionId = ConnectionId(2);

fn room() -> Room {
    let schema = InputSchema::builder("byte/v1").integer("value", 0..=255).build().expect("a valid schema");
    let manifest = IdentityManifest::builder("native", 1, TickRate::Hz60)
        .capabilities(Capabilities { commands: true, projection: false })
        .input_schema(schema)
        .build()
        .expect("valid");
    // Two players and a bot.
    let seats = SeatCount::new(3).expect("valid");
    let descriptor = MatchDescriptor::new(&manifest, SessionConfig::empty(), SessionSeed::from_u64(1), seats);
    let mut config = RoomConfig { durability: Durability::EveryFrame, ..RoomConfig::new(descriptor) };
    config.rules.checksum_cadence_ticks = 1;
    config.seats.initial_bots = Seat::new(2).into_iter().collect();
    config.pause = PausePolicy::Anyone;
    Room::new(config, RoomSecret([1; 32])).expect("a valid config")
}

fn send(room: &mut Room, client: ConnectionId, message: &ClientMessage<'_>, now: Moment) {
    let mut bytes = Vec::new();
    message.encode_into(&mut bytes);
    room.handle_message(client, &bytes, now);
}

/// Plays one tick. Records become durable two ticks later, so that the outbox is never empty.
fn play(room: &mut Room, tick: u64, recorded: &mut u64) {
    let now = TickRate::Hz60.moment_of(Tick::new(tick));
    for client in CLIENTS {
        let value = [u8::try_from(tick % 251).expect("small")];
        let inputs = InputRun::new(1, &value).expect("one input");
        let (generation, epoch) = (Generation(0), ControlEpoch(1));
        let message = Inputs { generation, epoch, first: Tick::new(tick), inputs };
        send(room, client, &ClientMessage::Inputs(message), now);
        send(room, client, &ClientMessage::Ping { sent_micros: tick, rollbacks: 0 }, now);
        let sequence = u32::try_from(tick).expect("small");
        let generation = Generation(0);
        send(room, client, &ClientMessage::Command { generation, sequence, payload: &value }, now);
    }
    send(room, OBSERVER, &ClientMessage::Ping { sent_micros: tick, rollbacks: 0 }, now);
    // A short stop of the clock, between two ticks.
    for paused in [true, false].into_iter().filter(|_| tick.is_multiple_of(50)) {
        send(room, CLIENTS[0], &ClientMessage::Pause { generation: Generation(0), paused }, now);
    }
    room.handle_timeout(now);
    room.handle_persisted(recorded.saturating_sub(2));
    while let Some(output) = room.poll_output() {
        if let super::Output::Persist { sequence, .. } = output {
            *recorded = sequence;
        }
    }
}

#[test]
fn a_running_room_reserves_no_more_memory() {
    let (mut room, mut recorded) = (room(), 0);
    let identity = room.descriptor().identity();
    for client in CLIENTS {
        let hello = Hello { protocol: PROTOCOL_VERSION, identity, entry: Entry::Join { ticket: b"" } };
        room.handle_connected(client, Moment::ZERO);
        send(&mut room, client, &ClientMessage::Hello(hello), Moment::ZERO);
        send(&mut room, client, &ClientMessage::Ready { generation: Generation(0) }, Moment::ZERO);
    }
    room.handle_connected(OBSERVER, Moment::ZERO);
    let entry = Entry::Observe { ticket: b"", generation: Generation(0), next: Tick::ZERO, fence: None };
    let hello = Hello { protocol: PROTOCOL_VERSION, identity, entry };
    send(&mut room, OBSERVER, &ClientMessage::Hello(hello), Moment::ZERO);
    let reserved = |room: &Room| (room.outbox.capacities(), room.release.capacity());
    (0..200).for_each(|tick| play(&mut room, tick, &mut recorded));
    let before = reserved(&room);
    (200..3_000).for_each(|tick| play(&mut room, tick, &mut recorded));
    assert_eq!(reserved(&room), before);
    assert_eq!(room.observer_count(), 1);
    assert_eq!((room.frontier(), room.stats().seats.counters.rejected_commands), (Tick::new(3_000), 0));
}
