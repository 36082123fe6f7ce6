//! `docs/guest-abi.md` is true: its bytes are those that the kernel reads and writes, its figures are the defaults, and its module
//! loads and plays.

use retick_core::config::{ConfigSchema, ConfigValue, SessionConfig};
use retick_core::event::{EventId, MAX_EVENT_BYTES, MAX_EVENT_BYTES_PER_TICK, MAX_EVENTS_PER_TICK};
use retick_core::frame::{CommandSource, MAX_COMMAND_BYTES, MAX_COMMANDS_PER_FRAME};
use retick_core::identity::MatchDescriptor;
use retick_core::input::{FieldKind, FieldPolicy, InputSchema, MAX_INPUT_BYTES};
use retick_core::rng::SessionSeed;
use retick_core::runtime::abi::{ABI_VERSION, InitBlock, decode_init, decode_step, encode_init, encode_step};
use retick_core::runtime::{Keep, Output, RuntimeFactory, SeatStep, StepBatch};
use retick_core::seat::{ControlEpoch, MAX_SEATS, Presence, SeatCount};
use retick_core::tick::{Tick, TickRate};
use retick_wasm::{Limits, WasmFactory};

const DOCUMENT: &str = include_str!("../../../docs/guest-abi.md");

/// What stands between the fences of the block that is called so.
fn block(name: &str) -> &'static str {
    let (_, rest) = DOCUMENT.split_once(&format!("\n```{name}\n")).unwrap_or_else(|| panic!("no block {name}"));
    rest.split_once("\n```").expect("every block ends").0
}

/// The bytes of a block in hexadecimal, whose comments follow semicolons.
fn bytes(name: &str) -> Vec<u8> {
    let block = block(&format!("hex {name}"));
    let digits = block.lines().flat_map(|line| line.split(';').next().unwrap_or_default().split_whitespace());
    digits.map(|byte| u8::from_str_radix(byte, 16).expect("two digits")).collect()
}

fn input_schema() -> InputSchema {
    let builder = InputSchema::builder("kinds/v1").integer("name", -(1_i64 << 32)..=200);
    let builder = builder.boolean("fire").policy(FieldPolicy::Once).choice("pick", 65_536).policy(FieldPolicy::Neutral);
    builder.flags("keys", 12).axis("aimx", -16..=16, 4).build().expect("valid")
}

fn config_schema() -> ConfigSchema {
    let builder = ConfigSchema::builder("arena/v1").max_bytes(256).integer("rounds", 1..=9).boolean("fast");
    builder.text("map", 32).bytes("salt", 16).build().expect("valid")
}

#[test]
fn w1_the_documented_bytes_are_the_kernel_s() {
    assert_eq!(bytes("input-schema"), input_schema().to_bytes());
    // Each field's distance from its least value.
    let mut raw = [(1 << 32) - 1, 1, 3, 1 | 1 << 11, 5 + 16].into_iter();
    assert_eq!(bytes("packed-input"), input_schema().pack_raw(|_| raw.next().expect("five fields")));
    assert_eq!(bytes("config-schema"), config_schema().to_bytes());

    let values = [
        ("rounds", ConfigValue::Integer(3)),
        ("fast", true.into()),
        ("map", "canyon".into()),
        ("salt", (&[1, 2, 3, 4, 5][..]).into()),
    ];
    let config = config_schema().encode(&values).expect("in range");
    let (seats, tick_rate) = (SeatCount::new(2).expect("two seats"), TickRate::Hz20);
    let init = InitBlock { seats, tick_rate, seed: [7; 32], config: config.bytes() };
    let mut encoded = Vec::new();
    encode_init(&init, &mut encoded);
    assert_eq!((bytes("init-block"), decode_init(&encoded)), (encoded.clone(), Ok(init)));
}

fn seat(input: &[u8], presence: Presence, epoch: u32) -> SeatStep<'_> {
    let (substituted, epoch) = (presence == Presence::Bot, ControlEpoch(epoch));
    SeatStep { input, substituted, malformed: false, presence, epoch }
}

#[test]
fn w1_the_documented_step_is_the_kernel_s() {
    let (mut batch, mut decoded, mut encoded) = (StepBatch::default(), StepBatch::default(), Vec::new());
    batch.reset(Tick::new(7));
    batch.push_step(Keep::NOTHING);
    batch.push_seat(seat(&[5], Presence::Human, 0));
    batch.push_seat(seat(&[200], Presence::Bot, 3));
    batch.push_command(CommandSource::Authority, b"hi");
    encode_step(batch.step(0).expect("one step"), &mut encoded);
    assert_eq!(bytes("step-block"), encoded);
    assert_eq!(decode_step(&encoded, &mut decoded), Ok(()));
}

#[test]
fn w1_the_documented_module_loads_and_plays() {
    let module = wat::parse_str(block("wat")).expect("well-formed");
    let factory = WasmFactory::load(&module, Limits::default()).expect("admissible");
    let description = factory.description();
    assert_eq!((description.tick_rate, description.seats.clone()), (TickRate::Hz20, 1..=4));
    assert_eq!((&description.state_schema[..], &description.config_schema), ("count/state/v1", &ConfigSchema::empty()));
    assert_eq!(description.input_schema.fields()[0].kind(), &FieldKind::Integer { min: 0, max: 200 });

    let seats = SeatCount::new(3).expect("three seats");
    let descriptor = MatchDescriptor::new(factory.manifest(), SessionConfig::empty(), SessionSeed::from_u64(1), seats);
    let (mut runtime, mut output) = (factory.create(&descriptor).expect("a match"), Output::default());
    let mut batch = StepBatch::default();
    batch.reset(Tick::ZERO);
    for _ in 0..2 {
        batch.push_step(Keep::PROJECTION);
        [[7], [0], [200]].iter().for_each(|input| batch.push_seat(seat(input, Presence::Human, 0)));
    }
    runtime.advance(&batch, &mut output).expect("two steps");
    let shown = output.projection(&output.kept[1]).expect("asked for");
    assert_eq!(shown, [14, 0, 0, 0, 0, 0, 0, 0, 0x90, 1, 0, 0]);
    let heard: Vec<_> = output.events.iter().map(|event| (event.key.id(), event.payload[0])).collect();
    let id = EventId { module: 1, source: 2, event: 1 };
    assert_eq!(heard, [(id, 200), (id, 0x90)]);
}

/// Figures that stand in the document's tables and sentences.
#[test]
fn w5_the_documented_limits_are_the_defaults() {
    let grouped = |number: u64| {
        let digits = number.to_string();
        let groups: Vec<&str> =
            digits.as_bytes().rchunks(3).rev().map(|group| str::from_utf8(group).expect("digits")).collect();
        groups.join(",")
    };
    let limits = Limits::default();
    let (kib, mib) = (|bytes: u64| format!("{} KiB", bytes >> 10), |bytes: u64| format!("{} MiB", bytes >> 20));
    let said = [
        format!("of this interface is **{ABI_VERSION}**"),
        format!("| {}; {} |", mib(limits.module_bytes), mib(limits.data_bytes)),
        format!("| {}; {}; {} |", grouped(limits.functions), grouped(limits.globals), grouped(limits.locals)),
        format!("| {}; {} |", grouped(limits.tables), grouped(limits.table_entries)),
        format!("| memory | {} |", mib(limits.memory_pages << 16)),
        format!("| {}; {} |", grouped(limits.gas_per_tick), grouped(limits.init_gas)),
        format!("| {}; {} |", grouped(limits.log_gas), grouped(limits.event_gas)),
        format!("| stack that calls count | {} |", kib(limits.stack_bytes)),
        format!("{} bytes of it are kept", grouped(limits.log_line_bytes)),
        format!("most seats, at most {MAX_SEATS}"),
        format!("At most {MAX_INPUT_BYTES} bytes"),
        format!("at most {MAX_COMMANDS_PER_FRAME} |"),
        format!("bytes, at most {} |", grouped(MAX_COMMAND_BYTES as u64)),
        format!("More than {MAX_EVENTS_PER_TICK} events a tick, {} bytes an event or", grouped(MAX_EVENT_BYTES as u64)),
        format!("{} a tick are dropped", kib(MAX_EVENT_BYTES_PER_TICK as u64)),
    ];
    let text = DOCUMENT.split_whitespace().collect::<Vec<_>>().join(" ");
    said.iter().for_each(|said| assert!(text.contains(said.as_str()), "the document does not say: {said}"));
}
