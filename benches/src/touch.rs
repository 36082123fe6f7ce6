//! A game with much memory, of which a tick touches so many pages of 4 KiB: as a module, written as text, and as rules for the peer.
//!
//! Page 0 holds the description and the step block, which the host writes in every tick; it is the first of the touched pages. The others
//! are spread over the rest of the memory, at another place in each tick.

use retick_core::codec::canonical::EncodeError;
use retick_core::config::{ConfigSchema, SessionConfig};
use retick_core::identity::MatchDescriptor;
use retick_core::input::GameInput;
use retick_core::rng::SessionSeed;
use retick_core::runtime::abi::{encode_description, pack_span};
use retick_core::runtime::{Capabilities, GameDescription, RuntimeFactory, StateCodec};
use retick_core::seat::SeatCount;
use retick_core::tick::TickRate;
use retick_wasm::limits::PAGE_BYTES;
use retick_wasm::{Limits, Tracking, WasmFactory};

use crate::game::{ByteInput, Game};

/// Bytes of a page of which so many are touched.
pub const SMALL_PAGE_BYTES: u32 = 4096;
/// From one touched page to the next. It has no factor in common with a power of two less one up to 2^14, so that no page comes twice.
const STRIDE: u32 = 11;
/// Where the description stands in the memory, and where the block goes.
const DESCRIPTION_PLACE: u32 = 64;
const BLOCK_PLACE: u32 = 2048;

/// How much memory, and how much of it a tick touches.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Extent {
    /// Bytes of the memory: a power of two from 64 KiB to 64 MiB.
    pub bytes: u32,
    /// Pages that a tick touches, the one with the block among them: 1 or more, and at most all.
    pub touched: u32,
}

impl Extent {
    /// Pages of the memory.
    #[must_use]
    pub fn pages(self) -> u32 {
        self.bytes / SMALL_PAGE_BYTES
    }

    /// The module.
    ///
    /// # Panics
    /// Never, unless the text is not one of a module.
    #[must_use]
    pub fn module(self) -> Vec<u8> {
        let mut block = Vec::new();
        let (config_schema, capabilities) = (ConfigSchema::empty(), Capabilities::default());
        let (tick_rate, state_schema, seats) = (TickRate::Hz60, "touch/v1", 1..=8);
        let game = GameDescription { tick_rate, state_schema, config_schema, seats, capabilities };
        encode_description(&game, &ByteInput::schema(), &mut block);
        let span = pack_span(DESCRIPTION_PLACE, u32::try_from(block.len()).expect("a short block"));
        let data: String = block.iter().map(|byte| format!("\\{byte:02x}")).collect();
        let (pages, others, rest) = (u64::from(self.bytes) / PAGE_BYTES, self.touched - 1, self.pages() - 1);
        wat::parse_str(format!(
            r#"(module
                (memory (export "memory") {pages} {pages})
                (data (i32.const {DESCRIPTION_PLACE}) "{data}")
                (func (export "retick_abi") (result i32) (i32.const 1))
                (func (export "retick_buffer") (param i32) (result i32) (i32.const {BLOCK_PLACE}))
                (func (export "retick_describe") (result i64) (i64.const {span}))
                (func (export "retick_init") (param i32 i32) (result i32) (i32.const 0))
                (func (export "retick_step") (param $block i32) (param $length i32) (result i32)
                    (local $seat i32) (local $salt i64) (local $place i32) (local $left i32) (local $at i32)
                    (local.set $salt (i64.load (local.get $block)))
                    (local.set $place (i32.wrap_i64 (i64.rem_u
                        (i64.mul (local.get $salt) (i64.const {STRIDE})) (i64.const {rest}))))
                    (loop $seats
                        (local.set $salt (i64.add (i64.mul (local.get $salt) (i64.const 31))
                            (i64.load8_u (i32.add (local.get $block) (i32.load
                                (i32.add (local.get $block)
                                    (i32.add (i32.const 16) (i32.shl (local.get $seat) (i32.const 4)))))))))
                        (local.set $seat (i32.add (local.get $seat) (i32.const 1)))
                        (br_if $seats (i32.lt_u (local.get $seat) (i32.load offset=8 (local.get $block)))))
                    (local.set $left (i32.const {others}))
                    (block $done
                        (loop $pages
                            (br_if $done (i32.eqz (local.get $left)))
                            (local.set $at (i32.add
                                (i32.mul (i32.add (local.get $place) (i32.const 1)) (i32.const {SMALL_PAGE_BYTES}))
                                (i32.and (i32.wrap_i64 (local.get $salt)) (i32.const 4088))))
                            (i64.store (local.get $at) (i64.add (i64.load (local.get $at)) (local.get $salt)))
                            (local.set $place
                                (i32.rem_u (i32.add (local.get $place) (i32.const {STRIDE})) (i32.const {rest})))
                            (local.set $left (i32.sub (local.get $left) (i32.const 1)))
                            (br $pages)))
                    (i32.const 0)))"#
        ))
        .expect("the text of a module")
    }

    /// The module's factory, with the memory as its limit.
    ///
    /// # Panics
    /// Never, unless the module is not one of a game.
    #[must_use]
    pub fn factory(self, tracking: Tracking) -> WasmFactory {
        let limits = Limits { memory_pages: u64::from(self.bytes) / PAGE_BYTES, ..Limits::default() };
        WasmFactory::load_tracking(&self.module(), limits, tracking).expect("an admissible module")
    }
}

/// A match of the game with two seats.
///
/// # Panics
/// Never: two seats can be.
#[must_use]
pub fn touch_match(factory: &WasmFactory) -> MatchDescriptor {
    let seats = SeatCount::new(2).expect("two seats");
    MatchDescriptor::new(factory.manifest(), SessionConfig::empty(), SessionSeed::from_u64(1), seats)
}

/// The same rules on a vector, for the peer. Page 0 stays as it is.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Touch {
    extent: Extent,
    played: u64,
    memory: Vec<u8>,
}

impl Touch {
    /// A state before the first tick.
    #[must_use]
    pub fn new(extent: Extent) -> Touch {
        Touch { extent, played: 0, memory: vec![0; extent.bytes as usize] }
    }

    /// The pages behind the first, which both sides hold.
    #[must_use]
    pub fn shared(&self) -> &[u8] {
        &self.memory[SMALL_PAGE_BYTES as usize..]
    }
}

impl Game for Touch {
    type Codec = TouchCodec;

    fn play(&mut self, inputs: impl Iterator<Item = u8>) {
        let (stride, rest) = (u64::from(STRIDE), u64::from(self.extent.pages() - 1));
        let mut place = self.played.wrapping_mul(stride) % rest;
        let salt = inputs.fold(self.played, |salt, input| salt.wrapping_mul(31).wrapping_add(u64::from(input)));
        for _ in 1..self.extent.touched {
            let start = (place + 1) * u64::from(SMALL_PAGE_BYTES) + (salt & 4088);
            let start = usize::try_from(start).expect("within the memory");
            if let Some(cell) = self.memory[start..].first_chunk_mut() {
                *cell = u64::from_le_bytes(*cell).wrapping_add(salt).to_le_bytes();
            }
            place = (place + stride) % rest;
        }
        self.played += 1;
    }
}

/// The bytes of the peer's state.
#[derive(Clone, Copy, Debug)]
pub enum TouchCodec {}

impl StateCodec<Touch> for TouchCodec {
    fn encode(state: &Touch, out: &mut Vec<u8>) -> Result<(), EncodeError> {
        out.extend_from_slice(&state.played.to_le_bytes());
        out.extend_from_slice(&state.memory);
        Ok(())
    }

    /// Nothing reads it back.
    fn decode(_: &[u8]) -> Option<Touch> {
        None
    }
}
