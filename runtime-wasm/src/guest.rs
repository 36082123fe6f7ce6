//! One compiled game, and one instance of it: the calls across the interface, and the state as bytes.

use retick_core::event::EventBatch;
use retick_core::runtime::{StepFault, abi};
use retick_core::tick::Tick;
use wasmtime::{
    Config, Extern, Global, Instance, InstancePre, Memory, Module, Store, TypedFunc, Val, WasmParams, WasmResults,
};

use crate::admit::{self, Admitted, GlobalKind};
use crate::cache::code;
use crate::error::LoadError;
use crate::fault::fault_of;
use crate::hash::{self, Trailer};
use crate::host::{self, Host};
use crate::limits::Limits;
use crate::normalise::{DEPTH_NAME, FIGURES, GAS_NAME, Layout, Marks, PAGES_NAME, Report, global_name, rewrite};
use crate::pages::{SMALL_PAGE_BYTES, mark};
use crate::tracking::Tracking;
use crate::{engine, memory};

/// A compiled game: what all of its instances share.
pub(crate) struct Program {
    module: InstancePre<Host>,
    admitted: Admitted,
    limits: Limits,
    layout: Layout,
    tracking: Tracking,
    report: Report,
}

impl Program {
    /// Admits, normalises and compiles a module.
    pub fn compile(bytes: &[u8], limits: Limits, tracking: Tracking, config: &Config) -> Result<Program, LoadError> {
        let (admitted, layout, tracking) = Program::admit(bytes, &limits, tracking)?;
        let normalised = rewrite(bytes, &admitted, &limits, tracking.marks())?;
        let engine = engine::engine(config)?;
        let module = Module::new(&engine, normalised.bytes()).map_err(|error| refused(&error))?;
        let module = host::linker(&engine)?.instantiate_pre(&module).map_err(|error| refused(&error))?;
        Ok(Program { module, admitted, limits, layout, tracking, report: *normalised.report() })
    }

    /// Admits a module whose code is there already, as [`Program::compiled`] gave it.
    pub fn load(
        bytes: &[u8],
        limits: Limits,
        tracking: Tracking,
        config: &Config,
        compiled: &[u8],
    ) -> Result<Program, LoadError> {
        let (admitted, layout, tracking) = Program::admit(bytes, &limits, tracking)?;
        let engine = engine::engine(config)?;
        let stale = || LoadError::Engine { message: "the compiled code is another engine's".to_owned() };
        // Whether the kernel can protect pages is known anew in each process: code without marks is none for a dirty map.
        let (marks, rest) = compiled.split_first().ok_or_else(stale)?;
        if *marks != u8::from(tracking.marks() == Marks::Map) {
            return Err(stale());
        }
        let (words, code) = rest.split_first_chunk::<REPORT_BYTES>().ok_or_else(stale)?;
        let mut figures = [0; FIGURES];
        figures.iter_mut().zip(words.as_chunks().0).for_each(|(figure, bytes)| *figure = u64::from_le_bytes(*bytes));
        let report = Report::from_figures(figures).ok_or_else(stale)?;
        let module = code::load(&engine, code).ok_or_else(stale)?;
        let module = host::linker(&engine)?.instantiate_pre(&module).map_err(|error| refused(&error))?;
        Ok(Program { module, admitted, limits, layout, tracking, report })
    }

    /// The code, with whether it marks what it writes and the report in front of it; nothing if the engine can't give it.
    pub fn compiled(&self) -> Option<Vec<u8>> {
        let mut compiled = vec![u8::from(self.tracking.marks() == Marks::Map)];
        compiled.extend(self.report.figures().into_iter().flat_map(|(_, figure)| figure.to_le_bytes()));
        compiled.extend(self.module.module().serialize().ok()?);
        Some(compiled)
    }

    fn admit(bytes: &[u8], limits: &Limits, tracking: Tracking) -> Result<(Admitted, Layout, Tracking), LoadError> {
        limits.check()?;
        let admitted = admit::admit(bytes, limits)?;
        let layout = Layout::of(&admitted, limits);
        let tracking = tracking.resolve();
        Ok((admitted, layout, tracking))
    }

    pub fn layout(&self) -> &Layout {
        &self.layout
    }

    /// How checkpoints of this game learn what was written.
    pub fn tracking(&self) -> Tracking {
        self.tracking
    }

    /// What the rewrite did.
    pub fn report(&self) -> &Report {
        &self.report
    }

    pub fn limits(&self) -> &Limits {
        &self.limits
    }

    /// Whether the module exports a projection.
    pub fn projects(&self) -> bool {
        self.admitted.projects
    }

    /// Bytes of a state's trailer.
    pub fn trailer_bytes(&self) -> usize {
        hash::trailer_bytes(self.kinds())
    }

    /// Bytes of every state.
    pub fn state_bytes(&self) -> u64 {
        u64::from(self.layout.game_bytes()) + self.trailer_bytes() as u64
    }

    /// Whether the game can know its memory to have this many pages.
    pub fn can_have_pages(&self, pages: u32) -> bool {
        (self.layout.initial_pages..=self.layout.game_pages).contains(&pages)
    }

    pub fn kinds(&self) -> impl Iterator<Item = GlobalKind> {
        self.admitted.globals.iter().map(|(_, kind)| *kind)
    }
}

/// Bytes of a report in front of compiled code.
const REPORT_BYTES: usize = FIGURES * 8;

fn refused(error: &wasmtime::Error) -> LoadError {
    LoadError::Engine { message: error.to_string() }
}

/// What bounds a call.
#[derive(Clone, Copy)]
struct Meters {
    gas: Global,
    depth: Global,
    depth_budget: i32,
}

/// One instance of a game.
pub(crate) struct Guest {
    store: Store<Host>,
    memory: Memory,
    base: usize,
    meters: Meters,
    pages: Global,
    globals: Vec<Global>,
    initialize: Option<TypedFunc<(), ()>>,
    version: TypedFunc<(), u32>,
    describe: TypedFunc<(), i64>,
    buffer: TypedFunc<u32, u32>,
    init: TypedFunc<(u32, u32), u32>,
    step: TypedFunc<(u32, u32), u32>,
    project: Option<TypedFunc<(), i64>>,
}

impl Guest {
    /// A fresh instance that has run nothing yet. Only this machine can fail here: what a module may be was checked before.
    pub fn new(program: &Program) -> Result<Guest, StepFault> {
        Guest::instantiate(program).map_err(|error| fault_of(&error))
    }

    fn instantiate(program: &Program) -> wasmtime::Result<Guest> {
        let mut store = Store::new(program.module.module().engine(), Host::new(program.limits, program.layout.base()));
        // Active segments are all that runs here; they are bounded by the module's own bytes.
        let instance = program.module.instantiate(&mut store)?;
        let missing = || wasmtime::Error::msg("an export that admission saw is missing");
        let memory = instance.get_memory(&mut store, abi::EXPORT_MEMORY).ok_or_else(missing)?;
        store.data_mut().memory = Some(memory);
        let [gas, depth, pages] =
            [GAS_NAME, DEPTH_NAME, PAGES_NAME].map(|name| instance.get_global(&mut store, name).ok_or_else(missing));
        let (gas, depth, pages) = (gas?, depth?, pages?);
        store.data_mut().gas = Some(gas);
        let depth_budget = i32::try_from(program.report.depth_budget).unwrap_or(i32::MAX);
        let indices = program.admitted.globals.iter();
        let export = |(index, _): &(u32, _)| instance.get_export(&mut store, &global_name(*index));
        let exports = indices.map(export).map(|export| export.and_then(Extern::into_global).ok_or_else(missing));
        let globals = exports.collect::<wasmtime::Result<_>>()?;
        Ok(Guest {
            memory,
            base: program.layout.base() as usize,
            meters: Meters { gas, depth, depth_budget },
            pages,
            globals,
            initialize: optional(&instance, &mut store, abi::EXPORT_INITIALIZE, program.admitted.initializes)?,
            version: instance.get_typed_func(&mut store, abi::EXPORT_ABI)?,
            describe: instance.get_typed_func(&mut store, abi::EXPORT_DESCRIBE)?,
            buffer: instance.get_typed_func(&mut store, abi::EXPORT_BUFFER)?,
            init: instance.get_typed_func(&mut store, abi::EXPORT_INIT)?,
            step: instance.get_typed_func(&mut store, abi::EXPORT_STEP)?,
            project: optional(&instance, &mut store, abi::EXPORT_PROJECT, program.admitted.projects)?,
            store,
        })
    }

    /// Sets what the next calls may use together.
    fn set_gas(&mut self, gas: u64) -> Result<(), StepFault> {
        let gas = i64::try_from(gas).unwrap_or(i64::MAX);
        self.meters.gas.set(&mut self.store, Val::I64(gas)).map_err(|_| StepFault::Host)
    }

    /// What the last calls left.
    fn gas_left(&mut self) -> u64 {
        self.meters.gas.get(&mut self.store).i64().and_then(|gas| u64::try_from(gas).ok()).unwrap_or(0)
    }

    /// Runs what a language's runtime needs before all else, under the gas of init.
    pub fn start(&mut self, gas: u64) -> Result<(), StepFault> {
        self.set_gas(gas)?;
        self.initialize.as_ref().map_or(Ok(()), |initialize| call(&mut self.store, self.meters, initialize, ()))
    }

    /// The interface's version, as the module says.
    pub fn version(&mut self) -> Result<u32, StepFault> {
        call(&mut self.store, self.meters, &self.version, ())
    }

    /// The description block.
    pub fn describe(&mut self) -> Result<&[u8], StepFault> {
        let span = call(&mut self.store, self.meters, &self.describe, ())?;
        self.span(span)
    }

    /// Makes `S(0)`: 0, or the game's own code of refusal. Gas is what [`Guest::start`] left.
    pub fn init(&mut self, block: &[u8]) -> Result<u32, StepFault> {
        let span = self.pass(block)?;
        call(&mut self.store, self.meters, &self.init, span)
    }

    /// One step under a gas of its own: how many malformed commands it skipped, and the gas it took. What it emits is added to
    /// `events`, whose tick was begun; also when it faults.
    pub fn step(&mut self, block: &[u8], gas: u64, events: &mut EventBatch) -> Result<(u32, u64), StepFault> {
        self.store.data_mut().events = Some(std::mem::take(events));
        let stepped = self.step_emitting(block, gas);
        *events = self.store.data_mut().events.take().unwrap_or_default();
        stepped
    }

    fn step_emitting(&mut self, block: &[u8], gas: u64) -> Result<(u32, u64), StepFault> {
        self.set_gas(gas)?;
        let span = self.pass(block)?;
        let skipped = call(&mut self.store, self.meters, &self.step, span)?;
        Ok((skipped, gas.saturating_sub(self.gas_left())))
    }

    /// The projection under a gas of its own; nothing for a game that has none. Leaves its writes: the caller undoes them.
    pub fn project(&mut self, gas: u64) -> Result<&[u8], StepFault> {
        self.set_gas(gas)?;
        let Some(project) = &self.project else { return Ok(&[]) };
        let span = call(&mut self.store, self.meters, project, ())?;
        self.span(span)
    }

    /// Puts a block where the guest wants it.
    fn pass(&mut self, block: &[u8]) -> Result<(u32, u32), StepFault> {
        let length = u32::try_from(block.len()).map_err(|_| StepFault::Interface)?;
        let pointer = call(&mut self.store, self.meters, &self.buffer, length)?;
        let memory = self.memory.data_mut(&mut self.store);
        memory::write(memory.get_mut(self.base..).unwrap_or_default(), pointer, block)?;
        mark(memory, pointer, length);
        Ok((pointer, length))
    }

    fn span(&self, span: i64) -> Result<&[u8], StepFault> {
        let (pointer, length) = abi::unpack_span(span);
        memory::read(self.memory(), pointer, length)
    }

    /// The game's memory.
    pub fn memory(&self) -> &[u8] {
        self.memory.data(&self.store).get(self.base..).unwrap_or_default()
    }

    /// The whole memory that the module runs on, and where the game's begins.
    pub fn whole_memory(&mut self) -> (&mut [u8], usize) {
        (self.memory.data_mut(&mut self.store), self.base)
    }

    /// The memory's size as the game knows it, in pages of 64 KiB.
    pub fn known_pages(&mut self) -> u32 {
        self.pages.get(&mut self.store).i32().unwrap_or_default().cast_unsigned()
    }

    /// Appends the trailer of the state as it is.
    pub fn append_trailer(&mut self, tick: Tick, out: &mut Vec<u8>) {
        let pages = self.known_pages();
        hash::begin_trailer(tick, pages, out);
        for global in &self.globals {
            hash::append_global(&global.get(&mut self.store), out);
        }
    }

    /// Sets everything that a trailer of this game says but for the tick.
    pub fn set_trailer(&mut self, program: &Program, trailer: &Trailer<'_>) -> Result<(), StepFault> {
        let pages = Val::I32(trailer.pages.cast_signed());
        let globals = self.globals.iter().zip(trailer.values(program.kinds()));
        for (global, value) in [(&self.pages, pages)].into_iter().chain(globals) {
            global.set(&mut self.store, value).map_err(|_| StepFault::Host)?;
        }
        Ok(())
    }

    /// Replaces the state by one of this game.
    pub fn overwrite(&mut self, program: &Program, memory: &[u8], trailer: &Trailer<'_>) -> Result<(), StepFault> {
        let (whole, base) = self.whole_memory();
        let game = whole.get_mut(base..).filter(|game| game.len() == memory.len()).ok_or(StepFault::Host)?;
        // What is equal is not written: most of a memory is zero on both sides, and needs no memory of the machine's until it is.
        for (page, new) in game.chunks_mut(SMALL_PAGE_BYTES).zip(memory.chunks(SMALL_PAGE_BYTES)) {
            if page != new {
                page.copy_from_slice(new);
            }
        }
        self.set_trailer(program, trailer)
    }

    /// The last lines that the game logged.
    pub fn last_log(&self) -> Vec<String> {
        self.store.data().log.iter().cloned().collect()
    }
}

/// Calls a function of the module's. A meter below zero afterwards means that it ran out, wherever the module noticed.
fn call<P: WasmParams, R: WasmResults>(
    store: &mut Store<Host>,
    meters: Meters,
    function: &TypedFunc<P, R>,
    params: P,
) -> Result<R, StepFault> {
    let Meters { gas, depth, depth_budget } = meters;
    depth.set(&mut *store, Val::I32(depth_budget)).map_err(|_| StepFault::Host)?;
    let called = function.call(&mut *store, params).map_err(|error| fault_of(&error));
    let overdrawn = gas.get(&mut *store).i64().is_none_or(|left| left < 0);
    match called {
        Ok(_) | Err(StepFault::Aborted) if overdrawn => Err(StepFault::OutOfGas),
        Err(StepFault::Aborted) if depth.get(&mut *store).i32().is_some_and(|left| left < 0) => {
            Err(StepFault::StackExhausted)
        }
        called => called,
    }
}

fn optional<P: WasmParams, R: WasmResults>(
    instance: &Instance,
    store: &mut Store<Host>,
    name: &str,
    is_there: bool,
) -> wasmtime::Result<Option<TypedFunc<P, R>>> {
    if is_there { instance.get_typed_func(store, name).map(Some) } else { Ok(None) }
}
