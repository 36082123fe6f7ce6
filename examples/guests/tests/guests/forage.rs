//! Forage natively and as three modules: equal descriptions, and equal projections, events, logs and counts of malformed commands
//! after each tick, straight on and with every window played twice.

use retick_core::config::SessionConfig;
use retick_core::event::Emitted;
use retick_core::frame::{CommandSource, MAX_COMMAND_BYTES};
use retick_core::identity::MatchDescriptor;
use retick_core::input::InputSchema;
use retick_core::rng::{RngStream, SessionSeed};
use retick_core::runtime::{
    Keep, NativeFactory, Output, Runtime, RuntimeFactory, SeatStep, Simulation, StepBatch, abi,
};
use retick_core::seat::{ControlEpoch, Presence, Seat, SeatCount};
use retick_core::tick::Tick;
use retick_example_guests::{Forage, Push, RESET};
use retick_testing::assert::{assert_hydration, synctest};
use retick_wasm::{Limits, WasmFactory};

const MODULES: [(&str, &[u8]); 3] = [
    ("Rust", include_bytes!("../../rust/forage.wasm")),
    ("C", include_bytes!("../../c/forage.wasm")),
    ("AssemblyScript", include_bytes!("../../assemblyscript/forage.wasm")),
];
const SEATS: u8 = 4;
const TICKS: u64 = 2_000;
/// Ticks of one rollback.
const WINDOW: u64 = 8;
/// Malformed commands of one tick in the middle.
const LARGE_COMMANDS: u64 = 40;

fn modules() -> [(&'static str, WasmFactory); 3] {
    MODULES.map(|(language, module)| (language, WasmFactory::load(module, Limits::default()).expect(language)))
}

fn native() -> NativeFactory<Forage> {
    NativeFactory::new(|sources| sources.module("src/forage.rs", include_bytes!("../../src/forage.rs"))).expect("valid")
}

fn descriptor(factory: &dyn RuntimeFactory, seats: u8, seed: u64) -> MatchDescriptor {
    let seats = SeatCount::new(seats).expect("at most four");
    MatchDescriptor::new(factory.manifest(), SessionConfig::empty(), SessionSeed::from_u64(seed), seats)
}

/// Random inputs, a function of seat, tick and script; every third of them rests, which is where NaNs come up.
fn input(schema: &InputSchema, script: u64, seat: u8, tick: Tick) -> Vec<u8> {
    let mut random = RngStream::derive(&SessionSeed::from_u64(script), &format!("{seat} {}", tick.index() / 5));
    let rests = random.range(0..=2_u32) == 0;
    let mut axis = || if rests { 0 } else { i64::from(random.range(-16..=16_i32)) };
    let (x, y) = (axis(), axis());
    schema.pack(&Push { x, y, dash: tick.index().is_multiple_of(7) }).expect("in range")
}

/// Appends one tick of a script in which everything comes up that a frame can say.
fn push(batch: &mut StepBatch, schema: &InputSchema, script: u64, tick: Tick) {
    batch.push_step(Keep::PROJECTION);
    let (index, phase) = (tick.index(), tick.index() / 200);
    for number in 0..SEATS {
        let presence = match (number, phase % 5) {
            (1, 1) => Presence::Empty,
            (2, 2) => Presence::Disconnected,
            (3, 0 | 3) => Presence::Bot,
            _ => Presence::Human,
        };
        let epoch = ControlEpoch(if number == 1 { u32::try_from(phase).expect("few") } else { 0 });
        let (substituted, malformed) = ((index + u64::from(number)) % 31 < 4, (index + u64::from(number)) % 41 == 0);
        let neutral = schema.neutral().to_vec();
        let input = if malformed { neutral } else { input(schema, script, number, tick) };
        batch.push_seat(SeatStep { input: &input, substituted, malformed, presence, epoch });
    }
    if index % 333 == 332 {
        let seat = Seat::new(2).expect("a seat");
        batch.push_command(CommandSource::Game(seat), b"not a command");
        batch.push_command(CommandSource::Authority, RESET);
        batch.push_command(CommandSource::Authority, b"");
    }
    // More than the modules' memory begins with, so that the buffer makes it grow, and a rollback makes it shrink.
    if index == 1_001 {
        (0..LARGE_COMMANDS).for_each(|_| batch.push_command(CommandSource::Authority, &[1; MAX_COMMAND_BYTES]));
    }
}

fn advance(runtime: &mut dyn Runtime, ticks: u64, script: u64, output: &mut Output) {
    let (schema, first) = (runtime.manifest().input_schema().clone(), runtime.tick());
    let mut batch = StepBatch::default();
    batch.reset(first);
    (0..ticks).for_each(|ahead| push(&mut batch, &schema, script, first.saturating_add(ahead)));
    runtime.advance(&batch, output).expect("the next ticks");
}

fn straight(factory: &dyn RuntimeFactory) -> (Output, Vec<String>) {
    let mut runtime = factory.create(&descriptor(factory, SEATS, 5)).expect("a match");
    let mut output = Output::default();
    (0..TICKS / WINDOW).for_each(|_| advance(&mut *runtime, WINDOW, 5, &mut output));
    (output, runtime.last_log())
}

/// Every window after a misprediction: played with other inputs, taken back, played again.
fn rolling_back(factory: &dyn RuntimeFactory) -> Output {
    let mut runtime = factory.create(&descriptor(factory, SEATS, 5)).expect("a match");
    let (mut output, mut kept) = (Output::default(), Output::default());
    for _ in 0..TICKS / WINDOW {
        kept.clear();
        runtime.keep(Keep::CHECKPOINT, &mut kept).expect("a state");
        let checkpoint = kept.kept[0].checkpoint.expect("asked for");
        advance(&mut *runtime, WINDOW, 6, &mut Output::default());
        runtime.restore(checkpoint).expect("the youngest checkpoint");
        advance(&mut *runtime, WINDOW, 5, &mut output);
        runtime.release(checkpoint).expect("still there");
    }
    output
}

/// Names the first tick or event in which two runs differ.
fn assert_equal(what: &str, expected: &Output, found: &Output) {
    assert_eq!((expected.kept.len() as u64, found.kept.len() as u64), (TICKS, TICKS), "{what}");
    for (one, other) in expected.kept.iter().zip(&found.kept) {
        assert_eq!(expected.projection(one), found.projection(other), "{what}: S({})", one.tick);
    }
    let different = expected.events.iter().zip(found.events.iter()).find(|(one, other)| one != other);
    assert_eq!((different, expected.events.len()), (None, found.events.len()), "{what}");
    assert_eq!(expected.malformed_commands, found.malformed_commands, "{what}");
}

/// The match was one: seats ran, rested and turned, pickups were taken, points were lost.
fn assert_premise(output: &Output) {
    let takers: Vec<u32> = output.events.iter().map(|Emitted { key, .. }| key.source).collect();
    assert!(takers.len() > 30 && (0..4).all(|seat| takers.contains(&seat)), "{takers:?}");
    let shown = |index: usize| output.projection(&output.kept[index]).expect("asked for");
    let headings = (0..output.kept.len()).map(|index| &shown(index)[12..16]);
    let resting = headings.clone().filter(|heading| **heading == [0; 4]).count();
    assert!(resting > 200 && headings.count() - resting > 1_000, "{resting} ticks at rest");
    assert_eq!(output.malformed_commands, 2 * (TICKS / 333) + LARGE_COMMANDS);
}

#[test]
fn k9_three_languages_show_what_the_native_game_shows() {
    let native = native();
    let (expected, _) = straight(&native);
    assert_premise(&expected);
    assert_equal("native, rolling back", &expected, &rolling_back(&native));
    let mut logs = Vec::new();
    for (language, factory) in modules() {
        let (found, log) = straight(&factory);
        assert_equal(language, &expected, &found);
        assert_equal(language, &expected, &rolling_back(&factory));
        logs.push(log);
    }
    assert_eq!(logs[0].last().map(String::as_str), Some("a pickup is taken"));
    assert!(logs.iter().all(|log| *log == logs[0]), "{logs:?}");
}

#[test]
fn w1_three_languages_describe_the_same_game() {
    let mut described = Vec::new();
    let schema = native().manifest().input_schema().clone();
    abi::encode_description(&Forage::describe(), &schema, &mut described);
    let expected = abi::decode_description(&described).expect("a description");
    for (language, factory) in modules() {
        assert_eq!(*factory.description(), expected, "{language}");
    }
}

#[test]
fn t1_each_module_passes_the_kit() {
    for (_, factory) in modules() {
        let descriptor = descriptor(&factory, SEATS, 9);
        let schema = factory.manifest().input_schema();
        let script = |seat: Seat, tick: Tick| input(schema, 9, seat.number(), tick);
        let proof = synctest(&factory, &descriptor, script, 200, 7);
        assert!(proof.rollbacks > 0);
        assert_hydration(&factory, &descriptor, script, 200, 50);
    }
}

#[test]
fn w1_fewer_seats_are_the_same_game_too() {
    let native = native();
    let shown = |factory: &dyn RuntimeFactory| {
        let mut runtime = factory.create(&descriptor(factory, 1, 77)).expect("a match");
        let mut output = Output::default();
        runtime.keep(Keep::PROJECTION, &mut output).expect("a state");
        output.projections
    };
    let expected = shown(&native);
    assert_eq!(expected.len(), 8 + 20);
    for (language, factory) in modules() {
        assert_eq!(shown(&factory), expected, "{language}");
    }
}
