//! The floats, NaNs and all, in several engines and at several levels of optimisation: with the rewrite, every state has one checksum (W4);
//! without it, the engines part within a few ticks.

use std::iter;

use retick_benches::direct::{Direct, OptLevel};
use retick_core::config::SessionConfig;
use retick_core::digest::Checksum;
use retick_core::identity::MatchDescriptor;
use retick_core::rng::SessionSeed;
use retick_core::runtime::abi::{InitBlock, encode_init, encode_step};
use retick_core::runtime::{Keep, Output, Runtime, RuntimeFactory, SeatStep, StepBatch};
use retick_core::seat::{ControlEpoch, Presence, SeatCount};
use retick_core::tick::Tick;
use retick_core::tree::{PageTree, TREE_PAGE_BYTES};
use retick_kernels::{FLOATS, scripted_input};
use retick_wasm::{Limits, WasmFactory, normalise};

use crate::v8::{TIERS, V8};

const TICKS: u64 = 10_000;
/// Ticks after which engines without the rewrite must have parted.
const RAW_TICKS: u64 = 100;
/// Ticks of one batch.
const BATCH_TICKS: u64 = 50;
const SEED: u64 = 41;
/// Pages of 64 KiB.
const MEMORY_PAGES: u64 = 16;
const MEMORY_BYTES: usize = 1 << 20;
/// Pages of the tree and of the dirty map.
const SMALL_PAGES: u32 = 256;
const _: () = assert!(SMALL_PAGES as usize * TREE_PAGE_BYTES == MEMORY_BYTES);

fn limits() -> Limits {
    Limits { memory_pages: MEMORY_PAGES, ..Limits::default() }
}

/// A match: the factory's own, and as the blocks that any host can pass.
struct Script {
    factory: WasmFactory,
    descriptor: MatchDescriptor,
    init: Vec<u8>,
    steps: Vec<Vec<u8>>,
}

impl Script {
    fn new(ticks: u64) -> Script {
        let factory = WasmFactory::load(FLOATS, limits()).expect("an admissible module");
        let (seats, seed) = (SeatCount::new(3).expect("three seats"), SessionSeed::from_u64(SEED));
        let descriptor = MatchDescriptor::new(factory.manifest(), SessionConfig::empty(), seed, seats);
        let mut script = Script { factory, descriptor, init: Vec::new(), steps: Vec::new() };
        let tick_rate = script.descriptor.tick_rate();
        encode_init(&InitBlock { seats, tick_rate, seed: *seed.as_bytes(), config: &[] }, &mut script.init);
        let mut batch = StepBatch::default();
        for tick in (0..ticks).map(Tick::new) {
            batch.reset(tick);
            script.push(&mut batch, tick);
            let mut block = Vec::new();
            batch.steps().for_each(|view| encode_step(view, &mut block));
            script.steps.push(block);
        }
        script
    }

    fn push(&self, batch: &mut StepBatch, tick: Tick) {
        batch.push_step(Keep::CHECKSUM);
        for seat in self.descriptor.seats().seats() {
            let input = scripted_input(seat, tick, SEED);
            let input = &self.factory.manifest().input_schema().pack(&input).expect("in range");
            let (presence, epoch) = (Presence::Human, ControlEpoch(1));
            batch.push_seat(SeatStep { input, substituted: false, malformed: false, presence, epoch });
        }
    }

    /// The checksum of every state, as the runtime gives it.
    fn checksums(&self) -> Vec<Checksum> {
        let mut runtime = self.factory.create_runtime(&self.descriptor).expect("a match of this game");
        let (mut batch, mut output) = (StepBatch::default(), Output::default());
        runtime.keep(Keep::CHECKSUM, &mut output).expect("the first state");
        while runtime.tick() < Tick::new(self.steps.len() as u64) {
            batch.reset(runtime.tick());
            (0..BATCH_TICKS).for_each(|ahead| self.push(&mut batch, runtime.tick().saturating_add(ahead)));
            runtime.advance(&batch, &mut output).expect("the next ticks");
        }
        output.kept.iter().map(|kept| kept.checksum.expect("asked for")).collect()
    }

    /// The module and everything that is passed to it.
    fn parts<'a>(&'a self, module: &'a [u8]) -> impl Iterator<Item = &'a [u8]> {
        let steps = self.steps.iter().map(Vec::as_slice);
        iter::once(module).chain(iter::once(self.init.as_slice())).chain(steps)
    }
}

/// A copy of a state that is followed by what changed.
struct Followed {
    memory: Vec<u8>,
    dirty: Vec<u32>,
    /// The trailer of the canonical bytes, from the pages on.
    globals: Vec<u8>,
    tree: PageTree,
}

impl Followed {
    fn new() -> Followed {
        let (memory, mut tree) = (vec![0; MEMORY_BYTES], PageTree::new());
        tree.update(&memory, &[]);
        Followed { memory, dirty: Vec::new(), globals: Vec::new(), tree }
    }

    fn trailer(&self, tick: usize) -> Vec<u8> {
        [&(tick as u64).to_le_bytes()[..], &self.globals].concat()
    }

    fn checksum(&mut self, tick: usize) -> Checksum {
        self.tree.update(&self.memory, &self.dirty);
        Checksum::from_bytes(self.tree.root(&self.trailer(tick)))
    }

    /// Has `change` say what changed up to each state, and compares the checksum of each.
    fn assert_follows(mut self, who: &str, expected: &[Checksum], mut change: impl FnMut(usize, &mut Followed)) {
        for (tick, expected) in expected.iter().enumerate() {
            change(tick, &mut self);
            assert_eq!(self.checksum(tick), *expected, "{who}: the first other checksum is that of S({tick})");
        }
    }
}

/// The rewritten module in the engine, at this level of optimisation.
fn assert_in_wasmtime(script: &Script, module: &[u8], level: OptLevel, expected: &[Checksum]) {
    let mut direct = Direct::new(module, level);
    direct.init(&script.init);
    Followed::new().assert_follows(&format!("wasmtime, {level:?}"), expected, |tick, followed| {
        if let Some(step) = tick.checked_sub(1) {
            direct.step(&script.steps[step]);
        }
        direct.take_dirty(&mut followed.dirty);
        if tick == 0 {
            // What the module's data segments wrote is in no map.
            followed.dirty = (0..SMALL_PAGES).collect();
        }
        for page in &followed.dirty {
            let start = *page as usize * TREE_PAGE_BYTES;
            let page = start..start + TREE_PAGE_BYTES;
            followed.memory[page.clone()].copy_from_slice(&direct.memory()[page]);
        }
        direct.globals(&mut followed.globals);
        if tick + 1 == expected.len() {
            assert!(followed.memory == direct.memory(), "the map named every page that was written");
            let whole = blake3::Hasher::new().update(direct.memory()).update(&followed.trailer(tick)).finalize();
            assert_eq!(whole.as_bytes(), expected[tick].as_bytes(), "a checksum is the plain BLAKE3 of the bytes");
        }
    });
}

/// The rewritten module in V8; nothing where there is no node.
fn assert_in_v8(script: &Script, module: &[u8], tier: &[&str], expected: &[Checksum]) {
    let Some(mut v8) = V8::start(tier, script.parts(module)) else { return };
    Followed::new().assert_follows(&format!("V8 {tier:?}"), expected, |_, followed| {
        v8.record(&mut followed.memory, &mut followed.dirty, &mut followed.globals);
    });
    v8.finish();
}

#[test]
fn w4_ten_thousand_ticks_of_floats_have_one_sequence_of_checksums_in_every_engine() {
    let script = Script::new(TICKS);
    let expected = script.checksums();
    assert_eq!(expected.len() as u64, TICKS + 1);
    assert!(expected.windows(2).all(|pair| pair[0] != pair[1]));
    let module = normalise(FLOATS, &limits()).expect("an admissible module");
    for level in [OptLevel::Speed, OptLevel::None] {
        assert_in_wasmtime(&script, module.bytes(), level, &expected);
    }
    TIERS.into_iter().for_each(|tier| assert_in_v8(&script, module.bytes(), tier, &expected));
}

/// The memory after some ticks of the module as its compiler made it.
fn raw_in_wasmtime(script: &Script, level: OptLevel) -> Vec<u8> {
    let mut direct = Direct::new(FLOATS, level);
    direct.init(&script.init);
    script.steps.iter().for_each(|block| direct.step(block));
    let mut memory = direct.memory().to_vec();
    memory.resize(MEMORY_BYTES, 0);
    memory
}

fn raw_in_v8(script: &Script, tier: &[&str]) -> Option<Vec<u8>> {
    let (mut v8, mut memory) = (V8::start(tier, script.parts(FLOATS))?, vec![0; MEMORY_BYTES]);
    for _ in 0..=script.steps.len() {
        memory.fill(0);
        v8.record(&mut memory, &mut Vec::new(), &mut Vec::new());
    }
    v8.finish();
    Some(memory)
}

/// Guard: it is the rewrite that makes the engines agree.
#[test]
fn w4_without_the_rewrite_the_same_floats_leave_other_bytes_in_another_engine() {
    let script = Script::new(RAW_TICKS);
    let ours = [OptLevel::Speed, OptLevel::None].map(|level| raw_in_wasmtime(&script, level));
    let theirs: Vec<_> = TIERS.into_iter().map_while(|tier| raw_in_v8(&script, tier)).collect();
    let alike = theirs.iter().all(|memory| ours.iter().all(|other| other == memory));
    assert!(theirs.is_empty() || !alike, "every engine has the same bits without the rewrite");
}
