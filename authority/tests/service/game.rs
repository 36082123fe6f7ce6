//! The smallest game that shows a wrong order, a lost input and a wrong tick: each step folds every input into a sum.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use retick_authority::room::RoomConfig;
use retick_client::Player;
use retick_core::client::ClientEvent;
use retick_core::config::{ConfigSchema, SessionConfig};
use retick_core::digest::Checksum;
use retick_core::identity::MatchDescriptor;
use retick_core::input::{GameInput, InputSchema, Packer, Unpacker};
use retick_core::rng::SessionSeed;
use retick_core::runtime::{
    Capabilities, GameDescription, InitContext, NativeFactory, NoCommand, RuntimeFactory, Simulation, StepContext,
};
use retick_core::seat::SeatCount;
use retick_core::session::SessionEvent;
use retick_core::tick::{Tick, TickRate};
use serde::{Deserialize, Serialize};

/// Every how many ticks a test's clients report a checksum.
pub const CADENCE_TICKS: u32 = 20;

#[derive(Clone)]
pub struct Push(pub i64);

impl GameInput for Push {
    fn schema() -> InputSchema {
        InputSchema::builder("fold/input/v1").integer("push", -1000..=1000).build().expect("a valid schema")
    }

    fn pack(&self, packer: &mut Packer<'_>) {
        packer.integer(self.0);
    }

    fn unpack(unpacker: &mut Unpacker<'_>) -> Push {
        Push(unpacker.integer())
    }
}

/// `HZ` is a parameter of the type, since a game's tick rate is.
#[derive(Clone, Serialize, Deserialize)]
pub struct Fold<const HZ: u32> {
    sum: u64,
}

impl<const HZ: u32> Simulation for Fold<HZ> {
    type Input = Push;
    type Command = NoCommand;

    fn describe() -> GameDescription {
        GameDescription {
            tick_rate: TickRate::from_hz(HZ).expect("a rate that exists"),
            state_schema: "fold/state/v1",
            config_schema: ConfigSchema::empty(),
            seats: 1..=8,
            capabilities: Capabilities::default(),
        }
    }

    fn init(_: &InitContext<'_>) -> Result<Self, u32> {
        Ok(Fold { sum: 1 })
    }

    fn step(&mut self, context: &StepContext<'_, Self>) {
        for seat in context.seats() {
            let push = context.input(seat).0.cast_unsigned();
            self.sum = self.sum.wrapping_mul(0x9e37_79b9_7f4a_7c15).wrapping_add(push).rotate_left(7);
        }
    }
}

/// A factory of the game, whose identity depends on `source`.
pub fn factory<const HZ: u32>(source: &[u8]) -> Arc<dyn RuntimeFactory> {
    let made = NativeFactory::<Fold<HZ>>::new(|manifest| manifest.module("fold.rs", source));
    Arc::new(made.expect("a valid manifest"))
}

pub fn descriptor(factory: &Arc<dyn RuntimeFactory>, seats: u8) -> MatchDescriptor {
    let config = SessionConfig::from_bytes(factory.manifest().config_schema().encode(&[]).expect("empty").bytes());
    let seats = SeatCount::new(seats).expect("a count");
    MatchDescriptor::new(factory.manifest(), config.expect("short"), SessionSeed::from_u64(5), seats)
}

pub fn room_config(factory: &Arc<dyn RuntimeFactory>, seats: u8) -> RoomConfig {
    let mut config = RoomConfig::new(descriptor(factory, seats));
    config.rules.checksum_cadence_ticks = CADENCE_TICKS;
    config
}

/// What one player's machine reported.
pub type Checksums = Arc<Mutex<BTreeMap<Tick, Checksum>>>;

/// Plays a script of its own, and writes down the checksums of confirmed states.
pub struct Scripted {
    script: u64,
    schema: InputSchema,
    checksums: Checksums,
}

impl Scripted {
    pub fn new(script: u64) -> (Scripted, Checksums) {
        let checksums = Checksums::default();
        (Scripted { script, schema: Push::schema(), checksums: checksums.clone() }, checksums)
    }
}

impl Player for Scripted {
    fn input(&mut self, tick: Tick) -> Vec<u8> {
        // Changes at almost every tick, so that guesses go wrong.
        let push = (tick.index() / 2 * (self.script + 3) + self.script) % 1000;
        self.schema.pack(&Push(push.cast_signed())).expect("within the schema")
    }

    fn event(&mut self, event: ClientEvent) -> Option<ClientEvent> {
        if let ClientEvent::Session(SessionEvent::Checksum { tick, checksum }) = &event {
            self.checksums.lock().expect("not poisoned").insert(*tick, *checksum);
        }
        Some(event)
    }
}

/// A6, A8: whoever has a state of a tick has the same one, there are enough of them, and they change.
pub fn assert_agreement(players: &[Checksums], least_common: usize) {
    let maps: Vec<_> = players.iter().map(|player| player.lock().expect("not poisoned").clone()).collect();
    let common: Vec<Tick> =
        maps[0].keys().copied().filter(|tick| maps.iter().all(|map| map.contains_key(tick))).collect();
    assert!(common.len() >= least_common, "{} common states, where {least_common} are asked for", common.len());
    for tick in &common {
        let values: Vec<Checksum> = maps.iter().map(|map| map[tick]).collect();
        assert!(values.iter().all(|value| *value == values[0]), "S({tick}): {values:?}");
    }
    let moved = common.windows(2).all(|pair| maps[0][&pair[0]] != maps[0][&pair[1]]);
    assert!(moved, "the state moves");
}
