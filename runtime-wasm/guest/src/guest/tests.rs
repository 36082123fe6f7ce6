//! A guest that is driven through its blocks plays as the same game does natively.

use std::boxed::Box;
use std::vec;

use retick_core::config::ConfigSchema;
use retick_core::event::{EventBatch, EventCollector, EventId};
use retick_core::identity::MatchDescriptor;
use retick_core::input::{FieldPolicy, Packer, Unpacker};
use retick_core::rng::{RngStream, SessionSeed};
use retick_core::runtime::abi::InitBlock;
use retick_core::runtime::{Capabilities, Keep, NativeFactory, Output, Runtime, RuntimeFactory, SeatStep};
use retick_core::seat::{ControlEpoch, Presence, Seat, SeatCount};
use retick_core::tick::{Tick, TickRate};
use serde::{Deserialize, Serialize};

use super::*;

/// A game whose state depends on everything that a step sees.
#[derive(Clone, Serialize, Deserialize)]
struct Ledger {
    entries: Vec<u64>,
    total: u64,
    rng: RngStream,
}

#[derive(Clone)]
struct Move {
    amount: i64,
    double: bool,
}

impl GameInput for Move {
    fn schema() -> InputSchema {
        let builder = InputSchema::builder("ledger-input/v1").integer("amount", -100..=100);
        builder.boolean("double").policy(FieldPolicy::Once).build().expect("valid")
    }

    fn pack(&self, packer: &mut Packer<'_>) {
        packer.integer(self.amount);
        packer.boolean(self.double);
    }

    fn unpack(unpacker: &mut Unpacker<'_>) -> Self {
        Move { amount: unpacker.integer(), double: unpacker.boolean() }
    }
}

impl Simulation for Ledger {
    type Input = Move;
    type Command = u8;

    fn describe() -> GameDescription {
        GameDescription {
            tick_rate: TickRate::Hz30,
            state_schema: "ledger/state/v1",
            config_schema: ConfigSchema::builder("ledger/v1").integer("start", 0..=9).build().expect("valid"),
            seats: 1..=4,
            capabilities: Capabilities { commands: true, projection: true },
        }
    }

    fn init(context: &InitContext<'_>) -> Result<Self, u32> {
        let start = context.config.integer("start").and_then(|start| u64::try_from(start).ok()).ok_or(1u32)?;
        if start == 9 {
            return Err(77);
        }
        let total = start * u64::from(context.tick_rate.hz());
        Ok(Ledger { entries: vec![start; context.seats.count()], total, rng: context.rng("ledger") })
    }

    fn step(&mut self, context: &StepContext<'_, Self>) {
        for (seat, entry) in context.seats().zip(&mut self.entries) {
            let Move { amount, double } = context.input(seat);
            let factor = if double { 2 } else { 1 };
            let flags = u64::from(context.substituted(seat)) << 1 | u64::from(context.malformed(seat));
            let driver = context.presence(seat) as u64 * 31 + u64::from(context.epoch(seat).0);
            if double {
                let source = u32::from(seat.number());
                context.emit(EventId { source, ..EventId::default() }, &entry.to_le_bytes());
            }
            *entry = mixed(*entry, amount.wrapping_mul(factor).cast_unsigned(), flags << 20 | driver);
        }
        for (source, command) in context.commands() {
            let source = match source {
                CommandSource::Game(seat) => u64::from(seat.number()),
                CommandSource::Authority => 1_000,
            };
            self.total = mixed(self.total, source, u64::from(*command));
        }
        self.total = mixed(self.total, context.tick().index(), u64::from(context.tick_rate().hz()));
        self.total ^= u64::from(self.rng.next_u32());
    }

    fn project(&self, out: &mut Vec<u8>) {
        self.entries.iter().chain([&self.total]).for_each(|value| out.extend_from_slice(&value.to_le_bytes()));
    }

    fn decode_command(payload: &[u8]) -> Option<u8> {
        match payload {
            [byte] => Some(*byte),
            _ => None,
        }
    }
}

fn mixed(state: u64, one: u64, other: u64) -> u64 {
    (state ^ one.rotate_left(17) ^ other.rotate_left(41)).wrapping_mul(0x9E37_79B9_7F4A_7C15).rotate_left(23)
}

fn seats() -> SeatCount {
    SeatCount::new(3).expect("three seats")
}

fn native(start: i64) -> Box<dyn Runtime> {
    let factory = NativeFactory::<Ledger>::new(|builder| builder).expect("a valid manifest");
    let config = Ledger::describe().config_schema.encode(&[("start", start.into())]).expect("in range");
    let descriptor = MatchDescriptor::new(factory.manifest(), config, SessionSeed::from_u64(5), seats());
    factory.create(&descriptor).expect("a match of this game")
}

fn init_block(start: i64) -> Vec<u8> {
    let config = Ledger::describe().config_schema.encode(&[("start", start.into())]).expect("in range");
    let (tick_rate, seed) = (TickRate::Hz30, *SessionSeed::from_u64(5).as_bytes());
    let mut block = vec![];
    abi::encode_init(&InitBlock { seats: seats(), tick_rate, seed, config: config.bytes() }, &mut block);
    block
}

/// A step in which every flag, presence and kind of command comes up sooner or later.
fn push_step(batch: &mut StepBatch, tick: u64) {
    let schema = Move::schema();
    batch.push_step(Keep::PROJECTION);
    for seat in 0..3 {
        let turn = tick * 3 + seat;
        let amount = i64::try_from(turn * 37 % 201).expect("small") - 100;
        let input = schema.pack(&Move { amount, double: turn.is_multiple_of(5) }).expect("in range");
        let presences = [Presence::Human, Presence::Bot, Presence::Disconnected, Presence::Empty];
        let presence = presences[usize::try_from(turn / 7 % 4).expect("small")];
        let epoch = ControlEpoch(u32::try_from(turn / 50).expect("small"));
        let (substituted, malformed) = (turn.is_multiple_of(11), turn.is_multiple_of(13));
        batch.push_seat(SeatStep { input: &input, substituted, malformed, presence, epoch });
    }
    let payloads: [&[u8]; 4] = [&[1], &[], &[2, 2], &[3]];
    if tick.is_multiple_of(3) {
        let seat = Seat::new(u8::try_from(tick % 3).expect("small")).expect("a seat");
        batch.push_command(CommandSource::Game(seat), payloads[usize::try_from(tick % 4).expect("small")]);
        batch.push_command(CommandSource::Authority, &[9]);
    }
}

#[test]
fn w1_a_guest_plays_as_the_native_game() {
    let (mut native, mut guest) = (native(4), Guest::<Ledger>::new());
    assert_eq!(guest.init(&init_block(4)), Ok(()));
    let (mut batch, mut output, mut block) = (StepBatch::default(), Output::default(), vec![]);
    let (mut malformed, mut events) = (0, EventBatch::default());
    for tick in 0..300 {
        batch.reset(Tick::new(tick));
        push_step(&mut batch, tick);
        native.advance(&batch, &mut output).expect("one step");
        block.clear();
        abi::encode_step(batch.step(0).expect("one step"), &mut block);
        events.begin_tick(Tick::new(tick));
        let stepped = guest.step_emitting(&block, &EventCollector::new(&mut events));
        malformed += u64::from(stepped.expect("one step"));
        let kept = output.kept.last().expect("asked for");
        assert_eq!(Ok(output.projection(kept).expect("asked for")), guest.project(), "tick {tick}");
    }
    assert_eq!(malformed, output.malformed_commands);
    assert_eq!(events, output.events);
    assert_eq!(events.len(), 180, "K10: every fifth of 900 moves is a double one");
    assert!(malformed > 10, "the script has malformed commands");
    let distinct: std::collections::BTreeSet<_> = output.projections.chunks(32).collect();
    assert_eq!(distinct.len(), 300, "every step changed the state");
}

#[test]
fn w1_the_description_is_the_game_s() {
    let mut guest = Guest::<Ledger>::new();
    let description = abi::decode_description(guest.describe()).expect("a description");
    let game = Ledger::describe();
    assert_eq!((description.tick_rate, description.seats), (game.tick_rate, game.seats));
    assert_eq!((description.capabilities, description.config_schema), (game.capabilities, game.config_schema));
    assert_eq!((description.input_schema, &description.state_schema[..]), (Move::schema(), game.state_schema));
}

#[test]
fn w1_refusals_and_broken_blocks_change_nothing() {
    let mut guest = Guest::<Ledger>::new();
    assert_eq!(guest.step(&[]), Err(GuestError::NoGame));
    assert_eq!(guest.project(), Err(GuestError::NoGame));
    assert_eq!(guest.init(&[1, 2]), Err(GuestError::Block(AbiError::Truncated)));
    assert_eq!(guest.init(&init_block(9)), Err(GuestError::Refused { code: 77 }));
    let mut config = init_block(4);
    let last = config.len() - 8;
    config[last] = 10;
    assert!(matches!(guest.init(&config), Err(GuestError::Config(ConfigError::OutOfRange { value: 10, .. }))));
    assert!(guest.game().is_none());

    assert_eq!(guest.init(&init_block(4)), Ok(()));
    let before = guest.project().expect("a state").to_vec();
    assert_eq!(guest.step(&[0; 7]), Err(GuestError::Block(AbiError::Truncated)));
    assert_eq!(guest.project(), Ok(&before[..]));
}
