//! A room and two clients in one process, without a socket: what a game does that brings its own transport.
//!
//! The machines take bytes and time, and give bytes and events. Here the bytes take 50 ms each way, so both players predict each
//! other all the time; in the end they agree with each other and with the room.

#![expect(clippy::print_stdout, reason = "an example shows what it does")]

use std::collections::VecDeque;
use std::error::Error;

use retick_authority::room::{ConnectionId, Output as RoomOutput, Room, RoomConfig, RoomSecret};
use retick_core::client::{Client, ClientConfig, Output};
use retick_core::config::{ConfigSchema, SessionConfig};
use retick_core::identity::MatchDescriptor;
use retick_core::input::{GameInput, InputSchema, Packer, Unpacker};
use retick_core::rng::{RngStream, SessionSeed};
use retick_core::runtime::{
    Capabilities, GameDescription, InitContext, NativeFactory, NoCommand, RuntimeFactory, Simulation, StepContext,
};
use retick_core::seat::SeatCount;
use retick_core::tick::{Moment, Tick, TickRate};
use serde::{Deserialize, Serialize};

/// One way through the pretended network.
const LATENCY_MILLIS: u64 = 50;
const MATCH_TICKS: u64 = 301;

/// Two dice players: whoever presses rolls, and the sums grow.
#[derive(Clone, Serialize, Deserialize)]
struct Dice {
    sums: Vec<u32>,
    dice: RngStream,
}

#[derive(Clone)]
struct Press(bool);

impl GameInput for Press {
    fn schema() -> InputSchema {
        InputSchema::builder("dice-input/v1").boolean("press").build().expect("one field")
    }

    fn pack(&self, packer: &mut Packer<'_>) {
        packer.boolean(self.0);
    }

    fn unpack(unpacker: &mut Unpacker<'_>) -> Self {
        Press(unpacker.boolean())
    }
}

impl Simulation for Dice {
    type Input = Press;
    type Command = NoCommand;

    fn describe() -> GameDescription {
        GameDescription {
            tick_rate: TickRate::Hz60,
            state_schema: "dice-state/v1",
            config_schema: ConfigSchema::empty(),
            seats: 1..=8,
            capabilities: Capabilities::default(),
        }
    }

    fn init(context: &InitContext<'_>) -> Result<Self, u32> {
        Ok(Dice { sums: vec![0; context.seats.count()], dice: context.rng("dice") })
    }

    fn step(&mut self, context: &StepContext<'_, Self>) {
        for seat in context.seats().filter(|seat| context.input(*seat).0) {
            self.sums[seat.index()] += self.dice.range(1..=6u32);
        }
    }
}

/// Bytes on their way, with the moment at which they arrive.
type Wire = VecDeque<(Moment, Vec<u8>)>;

struct Player {
    client: Client,
    connection: ConnectionId,
    to_room: Wire,
    from_room: Wire,
}

fn main() -> Result<(), Box<dyn Error>> {
    let factory = std::sync::Arc::new(NativeFactory::<Dice>::new(|sources| {
        sources.module("in_memory.rs", include_bytes!("in_memory.rs"))
    })?);
    let seats = SeatCount::new(2).ok_or("two seats")?;
    let descriptor = MatchDescriptor::new(factory.manifest(), SessionConfig::empty(), SessionSeed::from_u64(6), seats);
    // A real room draws its secret from the operating system.
    let mut room = Room::new(RoomConfig::new(descriptor), RoomSecret([7; 32]))?;
    let mut players = [0, 1].map(|number| Player {
        client: Client::new(ClientConfig::default(), Box::new(factory.clone())),
        connection: ConnectionId(number),
        to_room: Wire::new(),
        from_room: Wire::new(),
    });

    let mut now = Moment::ZERO;
    for player in &mut players {
        room.handle_connected(player.connection, now);
        player.client.handle_connected(now);
    }
    while players.iter().any(|player| confirmed(player) < Tick::new(MATCH_TICKS)) {
        turn(&mut room, &mut players, now)?;
        now = now.plus_nanos(1_000_000_000 / 60);
    }

    let state = Tick::new(MATCH_TICKS / 120 * 120 + 1);
    for player in &players {
        let checksum = player.client.session().and_then(|session| session.confirmed_checksum(state));
        let stats = player.client.stats();
        let checksum = checksum.ok_or("the last report is kept")?;
        println!("S({state}) {checksum}, {} rollbacks, {} reports", stats.rollbacks, stats.reports);
    }
    println!("the room says: {:?}", room.verification(state));
    Ok(())
}

fn confirmed(player: &Player) -> Tick {
    player.client.session().map_or(Tick::ZERO, |session| session.confirmed())
}

/// Deliver, confirm, play: one sixtieth of a second.
fn turn(room: &mut Room, players: &mut [Player], now: Moment) -> Result<(), Box<dyn Error>> {
    for player in players.iter_mut() {
        while let Some(bytes) = arrived(&mut player.to_room, now) {
            room.handle_message(player.connection, &bytes, now);
        }
    }
    room.handle_timeout(now);
    let later = now.plus_nanos(LATENCY_MILLIS * 1_000_000);
    while let Some(output) = room.poll_output() {
        if let RoomOutput::Transmit { to, bytes } = output {
            let receivers = players.iter_mut().filter(|player| to.contains(&player.connection));
            receivers.for_each(|player| player.from_room.push_back((later, bytes.to_vec())));
        }
    }
    for player in players.iter_mut() {
        while let Some(bytes) = arrived(&mut player.from_room, now) {
            player.client.handle_message(&bytes, now)?;
        }
        player.client.handle_turn(now);
        while let Some(tick) = player.client.wanted_input() {
            // Each presses in a rhythm of its own.
            let pressed = tick.index() % (3 + player.connection.0) == 0;
            player.client.submit_input(&[u8::from(pressed)])?;
        }
        player.client.step()?;
        while let Some(output) = player.client.poll_output() {
            if let Output::Transmit(bytes) = output {
                player.to_room.push_back((later, bytes.to_vec()));
            }
        }
    }
    Ok(())
}

fn arrived(wire: &mut Wire, now: Moment) -> Option<Vec<u8>> {
    let due = wire.front().is_some_and(|(due, _)| *due <= now);
    if due { wire.pop_front().map(|(_, bytes)| bytes) } else { None }
}
