//! Random modules under the rewrite: the same bits whatever the engine does with NaNs, and the same results as before.

mod depth;
mod floats;
mod flow;
mod gas;
mod memory;
mod v8;
mod valid;

use std::fmt::Write as _;

use wasm_encoder::reencode::{self, Reencode, RoundtripReencoder};
use wasm_smith::{Config as Shape, Module as Random};
use wasmparser::{Operator, Parser, Payload};
use wasmtime::{Config, Engine, Instance, Module, OptLevel, Store, Trap, V128, Val, ValType};

use super::{BASE_NAME, DEPTH_BUDGET_NAME, DEPTH_NAME, GAS_NAME, Marks, rewrite};
use crate::admit::{Admitted, GlobalKind};
use crate::engine;
use crate::hash::append_global;
use crate::limits::Limits;

/// Bytes from which a module is drawn.
const ENTROPY_BYTES: usize = 3_000;
/// More than any of these modules uses.
const GAS: i64 = 1 << 40;
/// Function calls and loop rounds after which a random module stops.
const ROUNDS: u32 = 300;

/// Whether random modules have vectors, which a script can neither give nor take.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Vectors {
    Some,
    None,
}

/// A random module of what may load, as far as instructions go, that always ends.
fn random_module(seed: u64) -> Option<Vec<u8>> {
    random_module_of(seed, Vectors::Some)
}

fn random_module_of(seed: u64, vectors: Vectors) -> Option<Vec<u8>> {
    let mut entropy = vec![0; ENTROPY_BYTES];
    blake3::Hasher::new().update(&seed.to_le_bytes()).finalize_xof().fill(&mut entropy);
    let shape = Shape {
        allow_start_export: false,
        bulk_memory_enabled: false,
        exceptions_enabled: false,
        export_everything: true,
        extended_const_enabled: false,
        gc_enabled: false,
        max_imports: 0,
        max_instructions: 120,
        max_memories: 1,
        max_memory32_bytes: 1 << 17,
        memory64_enabled: false,
        memory_max_size_required: true,
        min_funcs: 3,
        min_memories: 1,
        multi_value_enabled: true,
        reference_types_enabled: false,
        relaxed_simd_enabled: false,
        simd_enabled: vectors == Vectors::Some,
        tail_call_enabled: false,
        threads_enabled: false,
        wide_arithmetic_enabled: false,
        ..Shape::default()
    };
    let mut module = Random::new(shape, &mut wasm_smith_entropy(&entropy)).ok()?;
    module.ensure_termination(ROUNDS).ok()?;
    let module = module.to_bytes();
    Some(if seed.is_multiple_of(4) { module } else { with_whole_memory(&module) })
}

/// The module with the memory that it may grow to from the start: where the two differ, a rewritten module sees the larger one.
fn with_whole_memory(module: &[u8]) -> Vec<u8> {
    struct Whole;
    impl Reencode for Whole {
        type Error = core::convert::Infallible;
        fn memory_type(&mut self, memory: wasmparser::MemoryType) -> Result<wasm_encoder::MemoryType, reencode::Error> {
            let minimum = memory.maximum.unwrap_or(memory.initial);
            RoundtripReencoder.memory_type(wasmparser::MemoryType { initial: minimum, ..memory })
        }
    }
    let mut out = wasm_encoder::Module::new();
    Whole.parse_core_module(&mut out, Parser::new(0), module).expect("a valid module");
    out.finish()
}

fn wasm_smith_entropy(bytes: &[u8]) -> arbitrary::Unstructured<'_> {
    arbitrary::Unstructured::new(bytes)
}

/// What the rewrite needs to know of a module that was not admitted.
fn known(module: &[u8]) -> Admitted {
    let (mut globals, mut memory) = (Vec::new(), (0, None));
    for payload in Parser::new(0).parse_all(module) {
        match payload.expect("a valid module") {
            Payload::GlobalSection(section) => {
                for (index, global) in (0..).zip(section) {
                    let ty = global.expect("a valid global").ty;
                    globals.extend(GlobalKind::of(ty.content_type).filter(|_| ty.mutable).map(|kind| (index, kind)));
                }
            }
            Payload::MemorySection(section) => {
                let first = section.into_iter().next().expect("a memory").expect("a valid memory");
                memory = (first.initial, first.maximum);
            }
            _ => {}
        }
    }
    let (initial_pages, maximum_pages) = memory;
    Admitted { initial_pages, maximum_pages, globals, projects: false, initializes: false }
}

/// The module as it runs.
fn normalised(module: &[u8]) -> Vec<u8> {
    marked(module, Marks::Map)
}

fn marked(module: &[u8], marks: Marks) -> Vec<u8> {
    let rewritten = rewrite(module, &known(module), &Limits::default(), marks).expect("a valid module");
    rewritten.bytes().to_vec()
}

/// Whether an instruction turns a NaN's sign: then not even an engine with canonical NaNs gives the original's bits.
fn turns_signs(module: &[u8]) -> bool {
    let turns = |operator: &Operator<'_>| {
        matches!(operator, Operator::F32Neg | Operator::F64Neg | Operator::F32Copysign | Operator::F64Copysign)
            || matches!(operator, Operator::F32x4Neg | Operator::F64x2Neg)
    };
    Parser::new(0).parse_all(module).any(|payload| match payload {
        Ok(Payload::CodeSectionEntry(body)) => {
            let mut operators = body.get_operators_reader().expect("a valid body");
            std::iter::from_fn(|| (!operators.eof()).then(|| operators.read().expect("valid"))).any(|op| turns(&op))
        }
        _ => false,
    })
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Nans {
    AsTheyCome,
    Canonical,
}

fn engine_with(nans: Nans, level: OptLevel) -> Engine {
    let mut config: Config = engine::config(&Limits::default());
    config.cranelift_nan_canonicalization(nans == Nans::Canonical);
    config.cranelift_opt_level(level);
    Engine::new(&config).expect("a valid configuration")
}

/// Everything that a run leaves: results and traps of each function, the memory, the globals, the gas.
#[derive(Debug)]
struct Left {
    returned: Vec<Result<Vec<u8>, Option<Trap>>>,
    memory: [u8; 32],
    globals: Vec<u8>,
    gas: Option<i64>,
    /// The memory with whatever stands in front of the game's, which is not compared.
    whole: Option<Vec<u8>>,
}

impl PartialEq for Left {
    fn eq(&self, other: &Left) -> bool {
        let parts = |left: &Left| (left.returned.clone(), left.memory, left.globals.clone(), left.gas);
        parts(self) == parts(other)
    }
}

/// Calls every exported function of numbers once, with a NaN for each float.
fn run(engine: &Engine, module: &[u8]) -> Option<Left> {
    let module = Module::new(engine, module).expect("a valid module");
    let mut store = Store::new(engine, ());
    let instance = Instance::new(&mut store, &module, &[]).ok()?;
    set_gas(&mut store, &instance, GAS);
    let base = word(&mut store, &instance, BASE_NAME).unwrap_or(0);
    let exports = module.exports().filter(|export| !export.name().starts_with("retick:"));
    let names: Vec<String> = exports.map(|export| export.name().to_owned()).collect();
    let mut left = Left { returned: Vec::new(), memory: [0; 32], globals: Vec::new(), gas: None, whole: None };
    for name in &names {
        let Some(function) = instance.get_func(&mut store, name) else { continue };
        let ty = function.ty(&store);
        let Some(given) = ty.params().map(|ty| argument(&ty)).collect::<Option<Vec<Val>>>() else { continue };
        let Some(mut results) = ty.results().map(|ty| argument(&ty)).collect::<Option<Vec<Val>>>() else { continue };
        set_depth(&mut store, &instance);
        let called = function.call(&mut store, &given, &mut results);
        let bytes = |results: &[Val]| {
            let mut bytes = Vec::new();
            results.iter().for_each(|value| append_global(&unloosened(value), &mut bytes));
            bytes
        };
        left.returned.push(called.map(|()| bytes(&results)).map_err(|error| error.downcast_ref::<Trap>().copied()));
    }
    for name in &names {
        if let Some(memory) = instance.get_memory(&mut store, name) {
            // The original's memory may be smaller, but what it doesn't have is zero.
            let game = &memory.data(&store)[usize::try_from(base).expect("an address")..];
            let last = game.as_chunks::<4096>().0.iter().rposition(|page| *page != [0; 4096]);
            left.whole = Some(memory.data(&store).to_vec());
            left.memory = *blake3::hash(&game[..last.map_or(0, |last| (last + 1) * 4096)]).as_bytes();
        }
        if let Some(global) = instance.get_global(&mut store, name) {
            append_global(&global.get(&mut store), &mut left.globals);
        }
    }
    left.gas = instance.get_global(&mut store, GAS_NAME).and_then(|gas| gas.get(&mut store).i64());
    Some(left)
}

/// Sets the gas of a rewritten module.
fn set_gas(store: &mut Store<()>, instance: &Instance, gas: i64) {
    if let Some(global) = instance.get_global(&mut *store, GAS_NAME) {
        global.set(store, Val::I64(gas)).expect("mutable");
    }
}

/// Gives a rewritten module its whole depth.
fn set_depth(store: &mut Store<()>, instance: &Instance) {
    if let Some(budget) = word(store, instance, DEPTH_BUDGET_NAME) {
        let depth = instance.get_global(&mut *store, DEPTH_NAME).expect("exported");
        depth.set(store, Val::I32(budget)).expect("mutable");
    }
}

fn word(store: &mut Store<()>, instance: &Instance, name: &str) -> Option<i32> {
    instance.get_global(&mut *store, name).and_then(|global| global.get(store).i32())
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().fold(String::new(), |mut text, byte| {
        write!(text, "{byte:02x}").expect("a string takes everything");
        text
    })
}

fn argument(ty: &ValType) -> Option<Val> {
    match ty {
        ValType::I32 => Some(Val::I32(5)),
        ValType::I64 => Some(Val::I64(-3)),
        ValType::F32 => Some(Val::F32(0x7FA0_0001)),
        ValType::F64 => Some(Val::F64(0x7FF4_0000_0000_0001)),
        ValType::V128 => Some(Val::V128(V128::from(0x7FA0_0001_3F80_0000_0000_0000_4000_0000_u128))),
        ValType::Ref(_) => None,
    }
}

/// A float that a function returns may be any NaN: inside of a module only another function can see it.
fn unloosened(value: &Val) -> Val {
    match value {
        Val::F32(bits) if f32::from_bits(*bits).is_nan() => Val::F32(0x7FC0_0000),
        Val::F64(bits) if f64::from_bits(*bits).is_nan() => Val::F64(0x7FF8_0000_0000_0000),
        other => *other,
    }
}

/// W4: whatever NaNs the engine's arithmetic gives and however it optimises, memory, globals and results have the same bits.
/// Where NaNs are rare and no instruction turns a sign, they are also those of the original in an engine with canonical NaNs.
#[test]
fn w4_random_modules_compute_the_same_bits_whatever_the_engine_does_with_nans() {
    let engines = [
        engine_with(Nans::Canonical, OptLevel::Speed),
        engine_with(Nans::AsTheyCome, OptLevel::Speed),
        engine_with(Nans::AsTheyCome, OptLevel::None),
    ];
    let mut counts = Counts::default();
    (0..400).filter_map(random_module).for_each(|module| counts.add(check(&engines, &module, !turns_signs(&module))));
    assert!(counts.ran > 250 && counts.as_before > 30, "{counts:?}");

    // Modules of few kinds of instructions rarely meet a NaN; these meet little else.
    let mut counts = Counts::default();
    (0..150).map(floats::module).for_each(|module| counts.add(check(&engines, &module, false)));
    assert_eq!(counts.ran, 150);
    assert!(counts.differed > 100, "guard: without the rewrite nearly all of them differ: {counts:?}");
}

#[derive(Debug, Default)]
struct Counts {
    /// Modules that ran.
    ran: u32,
    /// Of these, those held against the original.
    as_before: u32,
    /// And those that give other bits without the rewrite.
    differed: u32,
}

impl Counts {
    fn add(&mut self, (ran, as_before, differed): (bool, bool, bool)) {
        self.ran += u32::from(ran);
        self.as_before += u32::from(as_before);
        self.differed += u32::from(differed);
    }
}

/// Whether a module ran, whether it was held against the original, and whether it needs the rewrite.
fn check(engines: &[Engine; 3], original: &[u8], as_before: bool) -> (bool, bool, bool) {
    let normalised = normalised(original);
    let [canonical, plain, slow] = engines.each_ref().map(|engine| run(engine, &normalised));
    let Some(canonical) = canonical else { return (false, false, false) };
    assert_eq!(plain.as_ref(), Some(&canonical));
    assert_eq!(slow.as_ref(), Some(&canonical));
    let [before, loose] = [&engines[0], &engines[1]].map(|engine| run(engine, original));
    let differs = before.as_ref().map(|left| left.memory) != loose.map(|left| left.memory);
    let exported = |left: Left| (left.returned, left.memory);
    let known = known(original);
    let as_before = as_before && known.maximum_pages == Some(known.initial_pages);
    if as_before {
        assert_eq!(before.map(exported), Some(exported(canonical)));
    }
    (true, as_before, differs)
}
