//! The deterministic rewrite between admission and compilation, after which any engine, a browser's too, computes the same bits
//! of the same state and ends at the same instruction.
//!
//! | | | |
//! |---|---|---|
//! | W3 | mutable globals are exported under reserved names | a checkpoint is whole |
//! | W4 | NaN bits are made canonical where they become observable | no engine's own show |
//! | W5 | gas is counted by the instruction | a step ends at the same one everywhere |
//! | W5 | recursion pays from a depth budget | and at the same call, whatever the native stack |
//! | W6 | stores mark the 4 KiB pages that they write | a checkpoint costs what was touched |
//! | W7 | the memory has its limit's size, a global what the game knows of it | growing never fails on one machine alone |
//!
//! The game's memory stands behind a [base](Report::base_bytes), with the dirty map in front of it, where none of the game's
//! addresses can reach: address `a` of the game is `base + a` of the module that runs. The map has one byte for each 4 KiB page,
//! 1 if it was written since the host last cleared it. Custom sections are left out.
//!
//! Another host, in a browser for instance, runs [`Normalised::bytes`] with these exports of the module:
//!
//! | export | type | |
//! |---|---|---|
//! | [`GAS_NAME`] | `mut i64` | gas that is left; set before a call, below zero after one that ran out of it |
//! | [`DEPTH_NAME`] | `mut i32` | depth that is left; set to the budget before each call, below zero after one that went too deep |
//! | [`DEPTH_BUDGET_NAME`] | `i32` | that budget |
//! | [`PAGES_NAME`] | `mut i32` | the memory's size as the game knows it, in pages of 64 KiB; state |
//! | [`BASE_NAME`] | `i32` | the base, in bytes |
//! | [`global_name`] | | each mutable global of the game, by its index; state |
//!
//! ```
//! use retick_wasm::{Limits, normalise};
//! # use retick_core::{config::ConfigSchema, input::InputSchema, tick::TickRate};
//! # let text = r#"(module (memory (export "memory") 1 2)
//! #   (func (export "retick_abi") (result i32) i32.const 1)
//! #   (func (export "retick_buffer") (param i32) (result i32) i32.const 0)
//! #   (func (export "retick_describe") (result i64) i64.const 0)
//! #   (func (export "retick_init") (param i32 i32) (result i32) i32.const 0)
//! #   (func (export "retick_step") (param i32 i32) (result i32)
//! #     (i32.store (i32.const 8) (i32.const 1)) (i32.const 0)))"#;
//! # let module = wat::parse_str(text)?;
//! // `module` has a memory of one page that may grow to two, and one store.
//! let normalised = normalise(&module, &Limits::default())?;
//! let report = normalised.report();
//! assert_eq!((report.memory_bytes, report.marked_stores, report.nan_repairs), (2 << 16, 1, 0));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! A pass that changes a bit of what any module computes raises the engine revision, which is part of the identity.

mod body;
mod depth;
mod gas;
mod helpers;
mod layout;
mod locals;
mod memory;
mod nan;
mod plan;
mod report;
mod sections;
#[cfg(test)]
mod tests;

use wasm_encoder::{CodeSection, Module, RawSection};
use wasmparser::{Parser, Payload, ValidPayload, Validator};

use crate::admit::FEATURES;
use crate::admit::{self, Admitted, RESERVED_PREFIX};
use crate::error::{LoadError, Quantity};
use crate::limits::Limits;
use crate::tracking::Tracking;
use body::Bodies;
use memory::Addresses;
use plan::{Helpers, Plan, plan};

pub(crate) use layout::Layout;
pub(crate) use memory::Marks;
pub(crate) use report::FIGURES;
pub use report::Report;

/// Section id of custom sections.
const CUSTOM: u8 = 0;

/// The export of the gas that is left.
pub const GAS_NAME: &str = "retick:gas";
/// The export of the depth that is left.
pub const DEPTH_NAME: &str = "retick:depth";
/// The export of the depth that a call begins with.
pub const DEPTH_BUDGET_NAME: &str = "retick:depth-budget";
/// The export of the memory's size as the game knows it.
pub const PAGES_NAME: &str = "retick:pages";
/// The export of where the game's memory begins.
pub const BASE_NAME: &str = "retick:base";

/// The export of the game's mutable global with this index.
pub fn global_name(index: u32) -> String {
    format!("{RESERVED_PREFIX}global:{index}")
}

/// A module as it runs.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Normalised {
    bytes: Vec<u8>,
    report: Report,
}

impl Normalised {
    /// The module, for any engine.
    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// What was done to it.
    pub fn report(&self) -> &Report {
        &self.report
    }
}

/// Admits a module and rewrites it, with the marks of the dirty map. The bytes depend on the module and the limits alone.
///
/// # Errors
/// [`LoadError`], which names what was refused (W2).
pub fn normalise(module: &[u8], limits: &Limits) -> Result<Normalised, LoadError> {
    limits.check()?;
    rewrite(module, &admit::admit(module, limits)?, limits, Marks::Map)
}

/// The same for a host that finds written pages in its own way: the marks are left out where `tracking` does without them, as it
/// may on this machine. It is the module that [`WasmFactory::load_tracking`](crate::WasmFactory::load_tracking) compiles.
///
/// ```
/// use retick_wasm::{Limits, Tracking, normalise, normalise_for};
/// # let text = r#"(module (memory (export "memory") 1 2)
/// #   (func (export "retick_abi") (result i32) i32.const 1)
/// #   (func (export "retick_buffer") (param i32) (result i32) i32.const 0)
/// #   (func (export "retick_describe") (result i64) i64.const 0)
/// #   (func (export "retick_init") (param i32 i32) (result i32) i32.const 0)
/// #   (func (export "retick_step") (param i32 i32) (result i32)
/// #     (i32.store (i32.const 8) (i32.const 1)) (i32.const 0)))"#;
/// # let module = wat::parse_str(text)?;
/// let limits = Limits::default();
/// let without = normalise_for(&module, &limits, Tracking::CopyAll)?;
/// assert_eq!(without.report().marked_stores, 0);
/// assert_eq!(normalise_for(&module, &limits, Tracking::DirtyMap)?, normalise(&module, &limits)?);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
/// [`LoadError`], which names what was refused (W2).
pub fn normalise_for(module: &[u8], limits: &Limits, tracking: Tracking) -> Result<Normalised, LoadError> {
    limits.check()?;
    let admitted = admit::admit(module, limits)?;
    let marks = tracking.resolve().marks();
    rewrite(module, &admitted, limits, marks)
}

/// Rewrites an admitted module.
pub(crate) fn rewrite(
    module: &[u8],
    admitted: &Admitted,
    limits: &Limits,
    marks: Marks,
) -> Result<Normalised, LoadError> {
    let (plan, layout) = (plan(module)?, Layout::of(admitted, limits));
    if plan.operand_work > limits.loop_work {
        let (found, limit) = (plan.operand_work, limits.loop_work);
        return Err(LoadError::Limit { quantity: Quantity::OperandWork, found, limit });
    }
    let acyclic = plan.depths.acyclic_bytes;
    if acyclic >= limits.stack_bytes {
        return Err(LoadError::Limit { quantity: Quantity::StackBytes, found: acyclic, limit: limits.stack_bytes });
    }
    // The limits keep it below 2^31.
    let budget = u32::try_from(limits.stack_bytes - acyclic).unwrap_or(u32::MAX);
    let Helpers { fill, copy, grow } = plan.appended.helpers;
    let count = |length: usize| u32::try_from(length).unwrap_or(u32::MAX);
    let report = Report {
        functions: plan.functions,
        added_functions: count([fill, copy, grow].iter().flatten().count()),
        state_globals: count(admitted.globals.len()),
        recursive_functions: count(plan.depths.recursive()),
        acyclic_stack_bytes: acyclic,
        depth_budget: budget,
        base_bytes: layout.base(),
        memory_bytes: u64::from(layout.game_bytes()),
        original_bytes: module.len() as u64,
        ..Report::default()
    };
    let addresses = Addresses { layout, marks, appended: &plan.appended };
    let bodies = Bodies { plan: &plan, addresses, report };
    let mut writer = Writer { out: Module::new(), code: CodeSection::new(), left: 0, globals_are_out: false, bodies };
    writer.module(module, admitted)?;
    let (bytes, report) = (writer.out.finish(), writer.bodies.report);
    let normalised_bytes = bytes.len() as u64;
    Ok(Normalised { bytes, report: Report { normalised_bytes, ..report } })
}

/// The module as it grows.
struct Writer<'a> {
    out: Module,
    code: CodeSection,
    /// Functions that are not yet in the code section.
    left: u32,
    globals_are_out: bool,
    bodies: Bodies<'a>,
}

impl Writer<'_> {
    fn module(&mut self, module: &[u8], admitted: &Admitted) -> Result<(), LoadError> {
        let mut validator = Validator::new_with_features(FEATURES);
        for payload in Parser::new(0).parse_all(module) {
            let payload = payload?;
            if let ValidPayload::Func(function, body) = validator.payload(&payload)? {
                self.code.function(&self.bodies.rewrite(function, &body)?);
                self.left = self.left.saturating_sub(1);
                self.end_code();
            } else {
                self.section(module, &payload, admitted)?;
            }
        }
        Ok(())
    }

    fn plan(&self) -> &Plan {
        self.bodies.plan
    }

    fn section(&mut self, module: &[u8], payload: &Payload<'_>, admitted: &Admitted) -> Result<(), LoadError> {
        let (layout, budget) = (self.bodies.addresses.layout, self.bodies.report.depth_budget);
        match payload {
            Payload::TypeSection(types) => {
                self.out.section(&sections::types(types.clone())?);
            }
            Payload::FunctionSection(functions) => {
                let section = sections::functions(functions.clone(), &self.plan().appended)?;
                self.out.section(&section);
            }
            Payload::MemorySection(_) => {
                self.out.section(&sections::memory(&layout));
            }
            Payload::GlobalSection(globals) => {
                self.out.section(&sections::globals(Some(globals.clone()), &layout, budget)?);
                self.globals_are_out = true;
            }
            Payload::ExportSection(exports) => {
                if !self.globals_are_out {
                    self.out.section(&sections::globals(None, &layout, budget)?);
                }
                let section = sections::exports(exports.clone(), admitted, &self.plan().appended.globals)?;
                self.out.section(&section);
            }
            Payload::CodeSectionStart { count, .. } => {
                self.left = *count;
                self.end_code();
            }
            Payload::DataSection(data) => {
                self.out.section(&sections::data(data.clone(), &layout)?);
            }
            _ => {
                if let Some((id, range)) = payload.as_section().filter(|(id, _)| *id != CUSTOM) {
                    self.out.section(&RawSection { id, data: module.get(range).unwrap_or_default() });
                }
            }
        }
        Ok(())
    }

    /// Adds the functions that are the rewrite's own, and the code section itself, once all others are in it.
    fn end_code(&mut self) {
        if self.left > 0 {
            return;
        }
        let (Addresses { layout, marks, .. }, appended) = (&self.bodies.addresses, self.plan().appended);
        let Helpers { fill, copy, grow } = appended.helpers;
        let fill = fill.map(|_| helpers::fill(layout, *marks));
        let copy = copy.map(|_| helpers::copy(layout, *marks));
        let grow = grow.map(|_| helpers::grow(layout, *marks, &appended.globals));
        for function in [fill, copy, grow].into_iter().flatten() {
            self.code.function(&function);
        }
        self.out.section(&self.code);
    }
}
