//! The interface between the kernel and a game in a WASM module (W1): names, and the byte blocks that cross it.
//!
//! Host and guest share this file. Every block is fixed-width and little-endian, so that C and AssemblyScript read it with
//! plain loads. A decoder takes exactly the bytes that its encoder writes and refuses all others without panicking; nothing
//! is reserved for a count before the bytes behind it are there.
//!
//! | export | type | |
//! |---|---|---|
//! | `memory` | memory | the game's whole memory, declared by the module itself |
//! | `retick_abi` | `() -> i32` | [`ABI_VERSION`] |
//! | `retick_buffer` | `(len: i32) -> i32` | pointer to `len` bytes or more that the host fills before its next call |
//! | `retick_describe` | `() -> i64` | the *description* block, as a span: pointer in the high half, length in the low half |
//! | `retick_init` | `(ptr: i32, len: i32) -> i32` | takes the *init* block, makes `S(0)`; 0, or the game's own code of refusal |
//! | `retick_step` | `(ptr: i32, len: i32) -> i32` | takes the *step* block; how many malformed commands it skipped (K7) |
//! | `retick_project` | `() -> i64` | optional: the projection, as a span (K9) |
//! | `_initialize` | `() -> ()` | optional: called once before all others, for languages that have global constructors |
//!
//! All imports are optional, and of the module `retick`:
//!
//! | import | type | |
//! |---|---|---|
//! | `log` | `(ptr: i32, len: i32)` | a line of UTF-8 for whoever debugs the game |
//! | `emit` | `(module: i32, source: i32, event: i32, ptr: i32, len: i32)` | a presentation event and its payload (K10) |
//!
//! A game that gives up logs a line and traps (`unreachable`). It emits in its steps alone, and in every execution of them; an
//! event leaves the memory at once, and is no state. A `module` or `event` of more than 16 bits, a span outside the memory, and an
//! event outside a step break the interface; an event beyond the limits of [`crate::event`] is dropped and counted.
//!
//! `retick_buffer` is called anew before each block, as part of the same step, and its writes are state like any other's. The
//! pointer should be a multiple of 8.
//!
//! # Description
//! | offset | | |
//! |---|---|---|
//! | 0 | `u32` | [`ABI_VERSION`] |
//! | 4 | `u32` | ticks per second |
//! | 8 | `u32` | fewest seats |
//! | 12 | `u32` | most seats |
//! | 16 | `u32` | capabilities: bit 0 commands, bit 1 projection |
//! | 20 | `u32` | bytes of the input schema, as [`InputSchema::to_bytes`] gives it |
//! | 24 | `u32` | bytes of the state schema's id |
//! | 28 | `u32` | bytes of the config schema, as [`ConfigSchema::to_bytes`] gives it |
//! | 32 | | these three, in this order |
//!
//! # Init
//! | offset | | |
//! |---|---|---|
//! | 0 | `u32` | seats of the match |
//! | 4 | `u32` | ticks per second |
//! | 8 | 32 bytes | seed of the match |
//! | 40 | `u32` | bytes of the session config |
//! | 44 | | the session config's canonical bytes |
//!
//! # Step
//! | offset | | |
//! |---|---|---|
//! | 0 | `u64` | tick |
//! | 8 | `u32` | seats |
//! | 12 | `u32` | commands |
//! | 16 | 16 bytes a seat | `u32` offset and `u32` length of its input, `u32` flags, `u32` control epoch |
//! | | 12 bytes a command | `u32` offset and `u32` length of its payload, `u32` seat or 0xFFFF_FFFF for the authority |
//! | | | the inputs, then the payloads, in order and without gaps |
//!
//! Offsets count from the start of the block. A seat's flags: bit 0 substituted, bit 1 malformed, bits 8 to 15 presence
//! (0 empty, 1 human, 2 bot, 3 disconnected).
//!
//! # From one side to the other
//!
//! ```
//! use retick_core::runtime::abi::{AbiError, InitBlock, decode_init, encode_init, pack_span, unpack_span};
//! use retick_core::seat::SeatCount;
//! use retick_core::tick::TickRate;
//!
//! let seats = SeatCount::new(2).expect("two seats");
//! let init = InitBlock { seats, tick_rate: TickRate::Hz60, seed: [7; 32], config: b"config" };
//! let mut block = Vec::new();
//! encode_init(&init, &mut block);
//! assert_eq!((block.len(), block[0], decode_init(&block)), (44 + 6, 2, Ok(init)));
//! assert_eq!(decode_init(&block[..49]), Err(AbiError::Truncated));
//! assert_eq!(unpack_span(pack_span(4096, 50)), (4096, 50));
//! ```

use alloc::string::String;
use alloc::vec::Vec;
use core::ops::RangeInclusive;

use super::{Capabilities, GameDescription, Keep, SeatStep, StepBatch, StepView};
use crate::config::ConfigSchema;
use crate::frame::CommandSource;
use crate::input::{InputSchema, InputSchemaError};
use crate::rng::SessionSeed;
use crate::seat::{ControlEpoch, MAX_SEATS, Presence, Seat, SeatCount};
use crate::tick::{Tick, TickRate, TickRateError};

/// Version of this interface; part of the identity (K11).
pub const ABI_VERSION: u32 = 1;

/// The exported memory.
pub const EXPORT_MEMORY: &str = "memory";
/// Export `() -> i32`: the version of the interface.
pub const EXPORT_ABI: &str = "retick_abi";
/// Export `(len: i32) -> i32`: a buffer that the host fills before its next call.
pub const EXPORT_BUFFER: &str = "retick_buffer";
/// Export `() -> i64`: the span of the description block.
pub const EXPORT_DESCRIBE: &str = "retick_describe";
/// Export `(ptr: i32, len: i32) -> i32`: takes the init block.
pub const EXPORT_INIT: &str = "retick_init";
/// Export `(ptr: i32, len: i32) -> i32`: takes a step block; how many malformed commands it skipped.
pub const EXPORT_STEP: &str = "retick_step";
/// Optional export `() -> i64`: the span of the projection.
pub const EXPORT_PROJECT: &str = "retick_project";
/// Optional export `() -> ()`: called once, before all others.
pub const EXPORT_INITIALIZE: &str = "_initialize";
/// The module of every import.
pub const IMPORT_MODULE: &str = "retick";
/// Import `(ptr: i32, len: i32)`: a line of UTF-8.
pub const IMPORT_LOG: &str = "log";
/// Import `(module: i32, source: i32, event: i32, ptr: i32, len: i32)`: a presentation event.
pub const IMPORT_EMIT: &str = "emit";

/// The `source` of a command of the authority's own.
pub const SOURCE_AUTHORITY: u32 = u32::MAX;
/// Bit of a seat's flags: the input is a substitute.
pub const SEAT_SUBSTITUTED: u32 = 1;
/// Bit of a seat's flags: the input was malformed, and is neutral.
pub const SEAT_MALFORMED: u32 = 2;
/// Shift of a seat's presence in its flags.
pub const SEAT_PRESENCE_SHIFT: u32 = 8;
/// Bit of the capabilities: the game decodes commands.
pub const CAPABILITY_COMMANDS: u32 = 1;
/// Bit of the capabilities: the game projects.
pub const CAPABILITY_PROJECTION: u32 = 2;

/// Bytes before the description's schemas.
pub const DESCRIPTION_HEADER_BYTES: usize = 32;
/// Bytes before the init block's config.
pub const INIT_HEADER_BYTES: usize = 44;
/// Bytes before a step block's seats.
pub const STEP_HEADER_BYTES: usize = 16;
/// Bytes of a step block's record of a seat.
pub const SEAT_RECORD_BYTES: usize = 16;
/// Bytes of a step block's record of a command.
pub const COMMAND_RECORD_BYTES: usize = 12;
/// Most bytes of the state schema's id.
pub const MAX_STATE_SCHEMA_BYTES: usize = 256;

/// Why bytes are not a block of this interface.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum AbiError {
    /// The block ends early.
    #[error("the block ends early")]
    Truncated,
    /// There are bytes that nothing refers to, or an offset is not where the encoder would have put it.
    #[error("the block's parts don't follow one another without gaps")]
    Layout,
    /// The game was built for another version.
    #[error("interface version {found}, where {ABI_VERSION} is known")]
    Version {
        /// What the block states.
        found: u32,
    },
    /// The tick rate does not exist.
    #[error("{0}")]
    TickRate(#[from] TickRateError),
    /// A number of seats, or a range of them, that can't be.
    #[error("{least} to {most} seats, where 1 to {MAX_SEATS} can be")]
    Seats {
        /// Fewest, or the number itself.
        least: u32,
        /// Most, or the number itself.
        most: u32,
    },
    /// A flag that has no meaning.
    #[error("the flags {flags:#x} have no meaning")]
    Flags {
        /// All flags of the record.
        flags: u32,
    },
    /// A command's source is neither a seat nor the authority.
    #[error("a command of source {source_number}")]
    Source {
        /// What the block states.
        source_number: u32,
    },
    /// The input schema is malformed.
    #[error("the input schema: {0}")]
    InputSchema(InputSchemaError),
    /// The state schema's id is empty, too long or not UTF-8.
    #[error("the state schema's id is empty, longer than {MAX_STATE_SCHEMA_BYTES} bytes or not UTF-8")]
    StateSchema,
    /// The config schema is malformed.
    #[error("the config schema is malformed")]
    ConfigSchema,
}

/// A span of the guest's memory as one word: the pointer in the high half, the length in the low half.
#[must_use]
pub const fn pack_span(pointer: u32, length: u32) -> i64 {
    (((pointer as u64) << 32) | length as u64).cast_signed()
}

/// The pointer and the length of a span.
#[must_use]
pub const fn unpack_span(span: i64) -> (u32, u32) {
    let [a, b, c, d, e, f, g, h] = span.to_be_bytes();
    (u32::from_be_bytes([a, b, c, d]), u32::from_be_bytes([e, f, g, h]))
}

/// What a module says of its game: a decoded description block.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Description {
    /// Ticks per second.
    pub tick_rate: TickRate,
    /// How many seats the game takes.
    pub seats: RangeInclusive<u8>,
    /// Whether it decodes commands and projects.
    pub capabilities: Capabilities,
    /// Schema of the inputs.
    pub input_schema: InputSchema,
    /// Id of the state's schema.
    pub state_schema: String,
    /// Schema of the session config.
    pub config_schema: ConfigSchema,
}

/// Appends the description block of a game to `out`.
pub fn encode_description(game: &GameDescription, input_schema: &InputSchema, out: &mut Vec<u8>) {
    let (input, state, config) = (input_schema.to_bytes(), game.state_schema.as_bytes(), game.config_schema.to_bytes());
    let header = [
        ABI_VERSION,
        game.tick_rate.hz(),
        u32::from(*game.seats.start()),
        u32::from(*game.seats.end()),
        capability_bits(game.capabilities),
        word(input.len()),
        word(state.len()),
        word(config.len()),
    ];
    header.into_iter().for_each(|value| push(value, out));
    [&input, state, &config].into_iter().for_each(|part| out.extend_from_slice(part));
}

/// The description that a block encodes.
///
/// # Errors
/// [`AbiError`] when the block is not exactly one, or describes a game that can't be.
pub fn decode_description(block: &[u8]) -> Result<Description, AbiError> {
    let mut reader = Reader { block, position: 0 };
    let found = reader.word()?;
    if found != ABI_VERSION {
        return Err(AbiError::Version { found });
    }
    let tick_rate = TickRate::from_hz(reader.word()?)?;
    let seats = seat_range(reader.word()?, reader.word()?)?;
    let capabilities = capabilities_of(reader.word()?)?;
    let lengths = [reader.word()?, reader.word()?, reader.word()?];
    let [input, state, config] = [reader.bytes(lengths[0])?, reader.bytes(lengths[1])?, reader.bytes(lengths[2])?];
    reader.finish()?;
    let state_schema = core::str::from_utf8(state).map_err(|_| AbiError::StateSchema)?;
    if !(1..=MAX_STATE_SCHEMA_BYTES).contains(&state.len()) {
        return Err(AbiError::StateSchema);
    }
    Ok(Description {
        tick_rate,
        seats,
        capabilities,
        input_schema: InputSchema::from_bytes(input).map_err(AbiError::InputSchema)?,
        state_schema: String::from(state_schema),
        config_schema: ConfigSchema::from_bytes(config).map_err(|_| AbiError::ConfigSchema)?,
    })
}

fn seat_range(least: u32, most: u32) -> Result<RangeInclusive<u8>, AbiError> {
    let count = |seats: u32| u8::try_from(seats).ok().filter(|seats| SeatCount::new(*seats).is_some());
    match (count(least), count(most)) {
        (Some(first), Some(last)) if first <= last => Ok(first..=last),
        _ => Err(AbiError::Seats { least, most }),
    }
}

fn capability_bits(capabilities: Capabilities) -> u32 {
    let Capabilities { commands, projection } = capabilities;
    let bit = |set: bool, bit: u32| if set { bit } else { 0 };
    bit(commands, CAPABILITY_COMMANDS) | bit(projection, CAPABILITY_PROJECTION)
}

fn capabilities_of(flags: u32) -> Result<Capabilities, AbiError> {
    let (commands, projection) = (flags & CAPABILITY_COMMANDS != 0, flags & CAPABILITY_PROJECTION != 0);
    let capabilities = Capabilities { commands, projection };
    if capability_bits(capabilities) == flags { Ok(capabilities) } else { Err(AbiError::Flags { flags }) }
}

/// What a game's init gets: an init block.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct InitBlock<'a> {
    /// How many seats the match has.
    pub seats: SeatCount,
    /// Ticks per second.
    pub tick_rate: TickRate,
    /// Seed of the match: [`SessionSeed::as_bytes`].
    pub seed: [u8; 32],
    /// The session config's bytes, which the host has checked against the game's own schema.
    pub config: &'a [u8],
}

impl InitBlock<'_> {
    /// The seed of the match.
    #[must_use]
    pub fn session_seed(&self) -> SessionSeed {
        SessionSeed::from_bytes(self.seed)
    }
}

/// Appends an init block to `out`.
pub fn encode_init(init: &InitBlock<'_>, out: &mut Vec<u8>) {
    push(word(init.seats.count()), out);
    push(init.tick_rate.hz(), out);
    out.extend_from_slice(&init.seed);
    push(word(init.config.len()), out);
    out.extend_from_slice(init.config);
}

/// The init block that these bytes are.
///
/// # Errors
/// [`AbiError`] when they are not exactly one.
pub fn decode_init(block: &[u8]) -> Result<InitBlock<'_>, AbiError> {
    let mut reader = Reader { block, position: 0 };
    let seats = reader.word()?;
    let count = u8::try_from(seats).ok().and_then(SeatCount::new);
    let seats = count.ok_or(AbiError::Seats { least: seats, most: seats })?;
    let tick_rate = TickRate::from_hz(reader.word()?)?;
    let seed = reader.array()?;
    let length = reader.word()?;
    let config = reader.bytes(length)?;
    reader.finish()?;
    Ok(InitBlock { seats, tick_rate, seed, config })
}

/// Appends the block of one step to `out`. A part of 4 GiB or more, which no frame can hold, gives a block that the decoder
/// refuses.
pub fn encode_step(view: StepView<'_>, out: &mut Vec<u8>) {
    out.extend_from_slice(&view.tick().index().to_le_bytes());
    let (seats, commands) = (view.seats(), view.commands());
    push(word(seats.len()), out);
    push(word(commands.len()), out);
    let mut offset = STEP_HEADER_BYTES + seats.len() * SEAT_RECORD_BYTES + commands.len() * COMMAND_RECORD_BYTES;
    let mut place = |bytes: &[u8], out: &mut Vec<u8>| {
        push(word(offset), out);
        push(word(bytes.len()), out);
        offset = offset.saturating_add(bytes.len());
    };
    for seat in seats {
        place(seat.input, out);
        push(seat_flags(&seat), out);
        push(seat.epoch.0, out);
    }
    for (source, payload) in commands {
        place(payload, out);
        push(source_number(source), out);
    }
    view.seats().for_each(|seat| out.extend_from_slice(seat.input));
    view.commands().for_each(|(_, payload)| out.extend_from_slice(payload));
}

/// Makes `batch` the one step that a block encodes, keeping nothing after it. Reuses the batch's buffers. After an error the
/// batch holds no meaningful step.
///
/// # Errors
/// [`AbiError`] when the block is not exactly one step.
pub fn decode_step(block: &[u8], batch: &mut StepBatch) -> Result<(), AbiError> {
    let mut reader = Reader { block, position: 0 };
    let tick = Tick::new(u64::from_le_bytes(reader.array()?));
    let (seats, commands) = (reader.word()?, reader.word()?);
    if seats > u32::from(MAX_SEATS) {
        return Err(AbiError::Seats { least: seats, most: seats });
    }
    let mut records = Reader { block, position: STEP_HEADER_BYTES };
    reader.skip(seats, SEAT_RECORD_BYTES)?;
    reader.skip(commands, COMMAND_RECORD_BYTES)?;
    batch.reset(tick);
    batch.push_step(Keep::NOTHING);
    for _ in 0..seats {
        let input = records.part(&mut reader)?;
        let seat = seat_step(input, records.word()?, ControlEpoch(records.word()?))?;
        batch.push_seat(seat);
    }
    for _ in 0..commands {
        let payload = records.part(&mut reader)?;
        batch.push_command(source_of(records.word()?)?, payload);
    }
    reader.finish()
}

fn seat_flags(seat: &SeatStep<'_>) -> u32 {
    let presence = match seat.presence {
        Presence::Empty => 0,
        Presence::Human => 1,
        Presence::Bot => 2,
        Presence::Disconnected => 3,
    };
    let bit = |set: bool, bit: u32| if set { bit } else { 0 };
    bit(seat.substituted, SEAT_SUBSTITUTED) | bit(seat.malformed, SEAT_MALFORMED) | (presence << SEAT_PRESENCE_SHIFT)
}

fn seat_step(input: &[u8], flags: u32, epoch: ControlEpoch) -> Result<SeatStep<'_>, AbiError> {
    let presence = match flags >> SEAT_PRESENCE_SHIFT {
        0 => Presence::Empty,
        1 => Presence::Human,
        2 => Presence::Bot,
        3 => Presence::Disconnected,
        _ => return Err(AbiError::Flags { flags }),
    };
    let (substituted, malformed) = (flags & SEAT_SUBSTITUTED != 0, flags & SEAT_MALFORMED != 0);
    let seat = SeatStep { input, substituted, malformed, presence, epoch };
    if seat_flags(&seat) == flags { Ok(seat) } else { Err(AbiError::Flags { flags }) }
}

fn source_number(source: CommandSource) -> u32 {
    match source {
        CommandSource::Game(seat) => u32::from(seat.number()),
        CommandSource::Authority => SOURCE_AUTHORITY,
    }
}

fn source_of(number: u32) -> Result<CommandSource, AbiError> {
    let seat = || u8::try_from(number).ok().and_then(Seat::new).map(CommandSource::Game);
    let source = if number == SOURCE_AUTHORITY { Some(CommandSource::Authority) } else { seat() };
    source.ok_or(AbiError::Source { source_number: number })
}

fn word(length: usize) -> u32 {
    u32::try_from(length).unwrap_or(u32::MAX)
}

fn push(value: u32, out: &mut Vec<u8>) {
    out.extend_from_slice(&value.to_le_bytes());
}

/// Reads a block from its start to its end.
struct Reader<'a> {
    block: &'a [u8],
    position: usize,
}

impl<'a> Reader<'a> {
    fn bytes(&mut self, length: u32) -> Result<&'a [u8], AbiError> {
        let length = usize::try_from(length).map_err(|_| AbiError::Truncated)?;
        let end = self.position.checked_add(length).ok_or(AbiError::Truncated)?;
        let bytes = self.block.get(self.position..end).ok_or(AbiError::Truncated)?;
        self.position = end;
        Ok(bytes)
    }

    fn array<const LENGTH: usize>(&mut self) -> Result<[u8; LENGTH], AbiError> {
        let rest = self.block.get(self.position..).unwrap_or_default();
        let array = rest.first_chunk().ok_or(AbiError::Truncated)?;
        self.position += LENGTH;
        Ok(*array)
    }

    fn word(&mut self) -> Result<u32, AbiError> {
        self.array().map(u32::from_le_bytes)
    }

    /// Passes over `count` records, which must be there.
    fn skip(&mut self, count: u32, record_bytes: usize) -> Result<(), AbiError> {
        let count = usize::try_from(count).map_err(|_| AbiError::Truncated)?;
        let bytes = count.checked_mul(record_bytes).and_then(|bytes| u32::try_from(bytes).ok());
        self.bytes(bytes.ok_or(AbiError::Truncated)?).map(drop)
    }

    /// Reads an offset and a length here, and the bytes that they mean from `parts`, which must stand exactly there.
    fn part(&mut self, parts: &mut Reader<'a>) -> Result<&'a [u8], AbiError> {
        let (offset, length) = (self.word()?, self.word()?);
        if usize::try_from(offset) != Ok(parts.position) {
            return Err(AbiError::Layout);
        }
        parts.bytes(length)
    }

    fn finish(&self) -> Result<(), AbiError> {
        if self.position == self.block.len() { Ok(()) } else { Err(AbiError::Layout) }
    }
}

#[cfg(test)]
mod tests;
