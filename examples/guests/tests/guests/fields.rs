//! What `retick.h` and `retick.ts` write into a description and read from blocks is what the kernel means: every kind of field, numbers
//! of every length, and values at their ends.

use retick_core::config::{ConfigSchema, ConfigValue};
use retick_core::identity::MatchDescriptor;
use retick_core::input::{FieldPolicy, InputSchema};
use retick_core::rng::{RngStream, SessionSeed};
use retick_core::runtime::{Capabilities, Keep, Output, RuntimeFactory, SeatStep, StepBatch};
use retick_core::seat::{ControlEpoch, Presence, SeatCount};
use retick_core::tick::TickRate;
use retick_wasm::{Limits, WasmFactory};

const MODULES: [(&str, &[u8]); 2] = [
    ("C", include_bytes!("../../c/fields.wasm")),
    ("AssemblyScript", include_bytes!("../../assemblyscript/fields.wasm")),
];
const TICKS: usize = 200;
/// The least value of each field, and the distance from it to the greatest.
const FIELDS: [(i64, u64); 7] =
    [(-(1 << 32), (1 << 32) + 200), (0, 1), (0, 65_535), (0, 4_095), (-16, 32), (7, 0), (i64::MIN, u64::MAX)];

fn input_schema() -> InputSchema {
    let builder = InputSchema::builder("kinds/v1").integer("name", -(1_i64 << 32)..=200);
    let builder = builder.boolean("fire").policy(FieldPolicy::Once).choice("pick", 65_536).policy(FieldPolicy::Neutral);
    let builder = builder.flags("keys", 12).axis("aimx", -16..=16, 4).integer("only", 7..=7);
    builder.integer("wide", i64::MIN..=i64::MAX).build().expect("valid")
}

fn config_schema() -> ConfigSchema {
    let builder = ConfigSchema::builder("arena/v1").max_bytes(256).integer("rounds", 1..=9).boolean("fast");
    builder.text("map", 32).bytes("salt", 16).build().expect("valid")
}

/// A field's distance from its least value: often one of its ends, otherwise random.
fn raw(random: &mut RngStream, greatest: u64) -> u64 {
    match random.range(0..=3_u32) {
        0 => 0,
        1 => greatest,
        _ => greatest.checked_add(1).map_or(random.next_u64(), |count| random.next_u64() % count),
    }
}

#[test]
fn w1_the_sdks_describe_every_kind_of_field() {
    for (language, module) in MODULES {
        let factory = WasmFactory::load(module, Limits::default()).expect(language);
        let description = factory.description();
        assert_eq!(description.input_schema, input_schema(), "{language}");
        assert_eq!(description.config_schema, config_schema(), "{language}");
        assert_eq!((description.tick_rate, &description.state_schema[..]), (TickRate::Hz20, "fields/state/v1"));
        assert_eq!(description.seats, 1..=2);
        assert_eq!(description.capabilities, Capabilities { commands: false, projection: true });
    }
}

#[test]
fn w1_the_sdks_read_every_kind_of_field() {
    let seats = SeatCount::new(2).expect("two seats");
    let (rounds, map) = (ConfigValue::Integer(3), ConfigValue::Text("canyon".into()));
    let values = [("rounds", rounds), ("fast", true.into()), ("map", map), ("salt", (&[1_u8, 2][..]).into())];
    let config = config_schema().encode(&values).expect("in range");
    for (language, module) in MODULES {
        let factory = WasmFactory::load(module, Limits::default()).expect(language);
        let seed = SessionSeed::from_u64(3);
        let descriptor = MatchDescriptor::new(factory.manifest(), config.clone(), seed, seats);
        let mut runtime = factory.create(&descriptor).expect(language);
        let (mut random, mut output) = (RngStream::derive(&seed, "inputs"), Output::default());
        let (mut batch, mut expected, mut moved) = (StepBatch::default(), Vec::<u8>::new(), 0);
        batch.reset(runtime.tick());
        for tick in 0..TICKS as u64 {
            batch.push_step(Keep::PROJECTION);
            let length = i64::try_from(config.bytes().len()).expect("short");
            expected.extend([tick.cast_signed(), length, 3].iter().flat_map(|number| number.to_le_bytes()));
            for _ in 0..2 {
                let raws = FIELDS.map(|(_, greatest)| raw(&mut random, greatest));
                let mut rest = raws.into_iter();
                let input = input_schema().pack_raw(|_| rest.next().expect("seven fields"));
                let (presence, epoch) = (Presence::Human, ControlEpoch(0));
                batch.push_seat(SeatStep { input: &input, substituted: false, malformed: false, presence, epoch });
                let read = FIELDS.iter().zip(raws).map(|((least, _), raw)| least.wrapping_add_unsigned(raw));
                expected.extend(read.flat_map(i64::to_le_bytes));
                moved += raws.iter().filter(|raw| **raw != 0).count();
            }
        }
        runtime.advance(&batch, &mut output).expect(language);
        assert!(moved > TICKS * 6, "the fields hold something");
        assert_eq!(output.projections, expected, "{language}");
    }
}
