//! The layout is a contract with other languages; these tests pin it.

use alloc::vec;

use super::*;
use crate::codec::wire::WireError;

fn step_batch() -> StepBatch {
    let mut batch = StepBatch::default();
    batch.reset(Tick::new(1 << 40));
    batch.push_step(Keep::NOTHING);
    let seat = |input, flags| seat_step(input, flags, ControlEpoch(7)).expect("known flags");
    let inputs: [&[u8]; 3] = [&[1, 2, 3], &[], &[4]];
    inputs.into_iter().zip([0x101, 0x302, 0x200]).for_each(|(input, flags)| batch.push_seat(seat(input, flags)));
    batch.push_command(CommandSource::Authority, b"round");
    batch.push_command(CommandSource::Game(Seat::new(2).expect("a seat")), b"");
    batch
}

fn step_block() -> Vec<u8> {
    let mut block = vec![];
    encode_step(step_batch().step(0).expect("one step"), &mut block);
    block
}

fn game() -> (GameDescription, InputSchema) {
    let schema = InputSchema::builder("input/v1").integer("move", -4..=4).build().expect("valid");
    let game = GameDescription {
        tick_rate: TickRate::Hz30,
        state_schema: "game/state/v1",
        config_schema: ConfigSchema::empty(),
        seats: 2..=128,
        capabilities: Capabilities { commands: true, projection: false },
    };
    (game, schema)
}

fn description_block() -> Vec<u8> {
    let mut block = vec![];
    let (game, schema) = game();
    encode_description(&game, &schema, &mut block);
    block
}

const CONFIG: &[u8] = b"config";

fn init_block() -> Vec<u8> {
    let seats = SeatCount::new(128).expect("valid");
    let init = InitBlock { seats, tick_rate: TickRate::Hz120, seed: [9; 32], config: CONFIG };
    let mut block = vec![];
    encode_init(&init, &mut block);
    assert_eq!(decode_init(&block), Ok(init));
    block
}

fn decoded(block: &[u8]) -> Result<StepBatch, AbiError> {
    let mut batch = step_batch();
    decode_step(block, &mut batch).map(|()| batch)
}

fn patched(mut block: Vec<u8>, offset: usize, value: u32) -> Vec<u8> {
    block[offset..offset + 4].copy_from_slice(&value.to_le_bytes());
    block
}

/// W1: what one side writes the other reads, and nothing else.
#[test]
fn w1_blocks_come_back_and_every_other_length_is_refused() {
    let (game, input_schema) = game();
    let description = decode_description(&description_block()).expect("what the encoder wrote");
    assert_eq!(description.input_schema, input_schema);
    assert_eq!((description.seats, description.tick_rate), (game.seats, game.tick_rate));
    assert_eq!((description.capabilities, description.config_schema), (game.capabilities, game.config_schema));
    assert_eq!(description.state_schema, game.state_schema);
    assert_eq!(decoded(&step_block()), Ok(step_batch()));
    type Decoder = fn(&[u8]) -> Option<AbiError>;
    let decoders: [(Vec<u8>, Decoder); 3] = [
        (description_block(), |block| decode_description(block).err()),
        (init_block(), |block| decode_init(block).err()),
        (step_block(), |block| decoded(block).err()),
    ];
    for (mut block, error) in decoders {
        for length in 0..block.len() {
            assert_eq!(error(&block[..length]), Some(AbiError::Truncated), "{length}");
        }
        block.push(0);
        assert_eq!(error(&block), Some(AbiError::Layout));
    }
}

/// The layout is a contract with other languages: these offsets never move within one version.
#[test]
fn w1_the_step_block_stands_where_the_documentation_says() {
    let block = step_block();
    let word_at = |offset: usize| u32::from_le_bytes(*block[offset..].first_chunk().expect("inside"));
    assert_eq!((word_at(0), word_at(4), word_at(8), word_at(12)), (0, 256, 3, 2));
    assert_eq!([16, 20, 24, 28].map(word_at), [88, 3, 0x101, 7]);
    assert_eq!([64, 68, 72].map(word_at), [92, 5, SOURCE_AUTHORITY]);
    assert_eq!([76, 80, 84].map(word_at), [97, 0, 2]);
    assert_eq!(&block[88..], b"\x01\x02\x03\x04round");
}

#[test]
fn w1_values_without_a_meaning_are_refused_by_name() {
    let step = |offset, value| decoded(&patched(step_block(), offset, value)).err();
    assert_eq!(step(8, 129), Some(AbiError::Seats { least: 129, most: 129 }));
    assert_eq!(step(12, u32::MAX), Some(AbiError::Truncated));
    assert_eq!(step(16, 87), Some(AbiError::Layout));
    assert_eq!(step(20, u32::MAX), Some(AbiError::Truncated));
    assert_eq!(step(24, 0x104), Some(AbiError::Flags { flags: 0x104 }));
    assert_eq!(step(24, 0x400), Some(AbiError::Flags { flags: 0x400 }));
    assert_eq!(step(84, 128), Some(AbiError::Source { source_number: 128 }));
    let describe = |offset, value| decode_description(&patched(description_block(), offset, value)).err();
    assert_eq!(describe(0, 2), Some(AbiError::Version { found: 2 }));
    assert_eq!(describe(4, 61), Some(AbiError::TickRate(TickRateError { hz: 61 })));
    assert_eq!(describe(8, 0), Some(AbiError::Seats { least: 0, most: 128 }));
    assert_eq!(describe(12, 1), Some(AbiError::Seats { least: 2, most: 1 }));
    assert_eq!(describe(16, 4), Some(AbiError::Flags { flags: 4 }));
    let init = |offset, value| decode_init(&patched(init_block(), offset, value)).err();
    assert_eq!(init(0, 0), Some(AbiError::Seats { least: 0, most: 0 }));
    assert_eq!(init(4, 0), Some(AbiError::TickRate(TickRateError { hz: 0 })));
}

/// A description block of these three parts, behind a header that is right for them.
fn description_of(input: &[u8], state: &[u8], config: &[u8]) -> Vec<u8> {
    let mut block = description_block();
    block.truncate(DESCRIPTION_HEADER_BYTES);
    for (part, offset) in [input, state, config].into_iter().zip([20, 24, 28]) {
        block = patched(block, offset, word(part.len()));
        block.extend_from_slice(part);
    }
    block
}

#[test]
fn w1_a_description_whose_schemas_can_t_be_is_refused_by_name() {
    let (input, state, config) = (game().1.to_bytes(), b"state/v1", ConfigSchema::empty().to_bytes());
    assert!(decode_description(&description_of(&input, state, &config)).is_ok());

    let input_schema = |bytes: &[u8]| decode_description(&description_of(bytes, state, &config)).err();
    let malformed = InputSchemaError::Encoding(WireError::Malformed);
    for bytes in [&b"junk"[..], &input[..input.len() - 1], &[]] {
        assert_eq!(input_schema(bytes), Some(AbiError::InputSchema(malformed.clone())), "{bytes:?}");
    }
    let nameless = [&[0], &input[1 + "input/v1".len()..]].concat();
    let name = InputSchemaError::Name { name: String::new() };
    assert_eq!(input_schema(&nameless), Some(AbiError::InputSchema(name)));

    let state_schema = |id: &[u8]| decode_description(&description_of(&input, id, &config));
    assert!(state_schema(&[b'x'; MAX_STATE_SCHEMA_BYTES]).is_ok());
    for id in [&[][..], &[b'x'; MAX_STATE_SCHEMA_BYTES + 1], b"state\xFF"] {
        assert_eq!(state_schema(id).err(), Some(AbiError::StateSchema), "{id:?}");
    }

    for bytes in [&b"junk"[..], &config[..config.len() - 1], &[]] {
        let refused = decode_description(&description_of(&input, state, bytes)).err();
        assert_eq!(refused, Some(AbiError::ConfigSchema), "{bytes:?}");
    }
}

#[test]
fn w1_a_span_is_one_word() {
    for span in [(0, 0), (65_536, 12), (u32::MAX, u32::MAX), (1, u32::MAX)] {
        assert_eq!(unpack_span(pack_span(span.0, span.1)), span);
    }
}
