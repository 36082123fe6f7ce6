//! A module and next to nothing around it: an instance in the engine, blocks in, state out. No checkpoints, no faults, no limits.
//!
//! It runs a game's own module as well as the rewritten one, by the same path, so that a measurement of both differs by the module alone,
//! and a rewritten one in an engine that is set up otherwise.

use retick_core::runtime::abi;
pub use wasmtime::OptLevel;
use wasmtime::{Config, Engine, Global, Instance, Linker, Memory, Module, Store, TypedFunc, Val};

/// Bytes of a page of the dirty map.
pub const MAP_PAGE_BYTES: usize = 4096;
/// More than any step needs.
const GAS: i64 = 1 << 60;

/// One instance.
pub struct Direct {
    store: Store<()>,
    memory: Memory,
    buffer: TypedFunc<u32, u32>,
    init: TypedFunc<(u32, u32), u32>,
    step: TypedFunc<(u32, u32), u32>,
    project: Option<TypedFunc<(), i64>>,
    rewritten: Option<Rewritten>,
    /// Where the game's memory begins.
    base: usize,
}

/// What a rewritten module exports beside the interface.
struct Rewritten {
    gas: Global,
    depth: Global,
    depth_budget: Val,
    pages: Global,
    /// The game's own, in the order of their indices.
    globals: Vec<Global>,
}

/// The runtime's engine settings, as far as they can change speed, at one level of optimisation.
#[must_use]
pub fn engine(level: OptLevel) -> Engine {
    let mut config = Config::new();
    config.cranelift_opt_level(level).memory_may_move(false).max_wasm_stack(512 << 10);
    config.cranelift_nan_canonicalization(false).consume_fuel(false);
    Engine::new(&config).expect("settings that the engine has")
}

impl Direct {
    /// An instance of a module, before init.
    ///
    /// # Panics
    /// For bytes that are not a game's module.
    #[must_use]
    pub fn new(module: &[u8], level: OptLevel) -> Direct {
        let engine = engine(level);
        let module = Module::new(&engine, module).expect("a module");
        let (mut store, mut linker) = (Store::new(&engine, ()), Linker::new(&engine));
        linker.func_wrap(abi::IMPORT_MODULE, abi::IMPORT_LOG, |_: u32, _: u32| ()).expect("a new name");
        let emit = |_: u32, _: u32, _: u32, _: u32, _: u32| ();
        linker.func_wrap(abi::IMPORT_MODULE, abi::IMPORT_EMIT, emit).expect("a new name");
        let instance = linker.instantiate(&mut store, &module).expect("no other imports");
        let rewritten = Rewritten::of(&instance, &mut store);
        let base = instance.get_global(&mut store, "retick:base").and_then(|base| base.get(&mut store).i32());
        let memory = instance.get_memory(&mut store, abi::EXPORT_MEMORY).expect("a game exports it");
        let mut direct = Direct {
            memory,
            buffer: instance.get_typed_func(&mut store, abi::EXPORT_BUFFER).expect("a game exports it"),
            init: instance.get_typed_func(&mut store, abi::EXPORT_INIT).expect("a game exports it"),
            step: instance.get_typed_func(&mut store, abi::EXPORT_STEP).expect("a game exports it"),
            project: instance.get_typed_func(&mut store, abi::EXPORT_PROJECT).ok(),
            rewritten,
            base: base.map_or(0, |base| base.cast_unsigned() as usize),
            store,
        };
        if let Ok(initialize) = instance.get_typed_func::<(), ()>(&mut direct.store, abi::EXPORT_INITIALIZE) {
            direct.prepare();
            initialize.call(&mut direct.store, ()).expect("no fault");
        }
        direct
    }

    /// Makes `S(0)`.
    ///
    /// # Panics
    /// When the game refuses the match or faults.
    pub fn init(&mut self, block: &[u8]) {
        let span = self.pass(block);
        self.prepare();
        assert_eq!(self.init.call(&mut self.store, span).expect("no fault"), 0, "the game takes the match");
    }

    /// One step.
    ///
    /// # Panics
    /// When the game faults.
    pub fn step(&mut self, block: &[u8]) {
        let span = self.pass(block);
        self.prepare();
        self.step.call(&mut self.store, span).expect("no fault");
    }

    /// What the game shows of its state; nothing if it projects nothing. What that writes stays written.
    ///
    /// # Panics
    /// When the game faults.
    pub fn project(&mut self) -> &[u8] {
        self.prepare();
        let Some(project) = &self.project else { return &[] };
        let (start, length) = abi::unpack_span(project.call(&mut self.store, ()).expect("no fault"));
        &self.memory()[start as usize..][..length as usize]
    }

    fn pass(&mut self, block: &[u8]) -> (u32, u32) {
        let length = u32::try_from(block.len()).expect("a short block");
        self.prepare();
        let pointer = self.buffer.call(&mut self.store, length).expect("no fault");
        let start = self.base + pointer as usize;
        self.memory.data_mut(&mut self.store)[start..start + block.len()].copy_from_slice(block);
        self.mark_block(pointer as usize, block.len());
        (pointer, length)
    }

    /// The module marks what it writes itself; the host's block is the host's to mark.
    fn mark_block(&mut self, start: usize, length: usize) {
        if self.rewritten.is_some() && length > 0 {
            let pages = start / MAP_PAGE_BYTES..=(start + length - 1) / MAP_PAGE_BYTES;
            self.memory.data_mut(&mut self.store)[pages].fill(1);
        }
    }

    /// Fills what a call of a rewritten module may use.
    fn prepare(&mut self) {
        if let Some(rewritten) = &self.rewritten {
            rewritten.gas.set(&mut self.store, Val::I64(GAS)).expect("a mutable global");
            rewritten.depth.set(&mut self.store, rewritten.depth_budget).expect("a mutable global");
        }
    }

    /// The game's memory; in a rewritten module as long as its limit.
    #[must_use]
    pub fn memory(&self) -> &[u8] {
        &self.memory.data(&self.store)[self.base..]
    }

    /// Replaces `dirty` by the pages that were written since the last call, in order.
    pub fn take_dirty(&mut self, dirty: &mut Vec<u32>) {
        dirty.clear();
        let base = self.base;
        let map = &mut self.memory.data_mut(&mut self.store)[..base];
        dirty.extend((0..).zip(&*map).filter(|(_, mark)| **mark != 0).map(|(page, _)| page));
        map.fill(0);
    }

    /// Replaces `values` by what follows the memory and the tick in the canonical bytes of the state: the size, and every mutable global.
    ///
    /// # Panics
    /// Unless the module is a rewritten one.
    pub fn globals(&mut self, values: &mut Vec<u8>) {
        let rewritten = self.rewritten.as_ref().expect("a rewritten module");
        values.clear();
        let globals = [&rewritten.pages].into_iter().chain(&rewritten.globals);
        for global in globals {
            match global.get(&mut self.store) {
                Val::I32(value) => values.extend_from_slice(&value.to_le_bytes()),
                Val::I64(value) => values.extend_from_slice(&value.to_le_bytes()),
                Val::F32(bits) => values.extend_from_slice(&bits.to_le_bytes()),
                Val::F64(bits) => values.extend_from_slice(&bits.to_le_bytes()),
                Val::V128(value) => values.extend_from_slice(&value.as_u128().to_le_bytes()),
                other => panic!("a reference: {other:?}"),
            }
        }
    }
}

impl Rewritten {
    /// Nothing for a module that is as its game's compiler made it.
    fn of(instance: &Instance, store: &mut Store<()>) -> Option<Rewritten> {
        let indexed =
            |(name, global): (&str, Global)| Some((name.strip_prefix("retick:global:")?.parse::<u32>().ok()?, global));
        let exports = instance.exports(&mut *store).filter_map(|export| {
            let name = export.name().to_owned();
            export.into_global().map(|global| (name, global))
        });
        let exports: Vec<(String, Global)> = exports.collect();
        let mut globals: Vec<_> = exports.iter().filter_map(|(name, global)| indexed((name, *global))).collect();
        globals.sort_by_key(|(index, _)| *index);
        let named = |name: &str| exports.iter().find(|(found, _)| found == name).map(|(_, global)| *global);
        let budget = named("retick:depth-budget")?;
        Some(Rewritten {
            gas: named("retick:gas")?,
            depth: named("retick:depth")?,
            depth_budget: budget.get(&mut *store),
            pages: named("retick:pages")?,
            globals: globals.into_iter().map(|(_, global)| global).collect(),
        })
    }
}
