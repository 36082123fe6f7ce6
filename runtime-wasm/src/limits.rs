//! What a game may use (W5). Every figure is part of the identity: two machines with other limits never meet in a match.
//!
//! ```
//! use retick_wasm::limits::PAGE_BYTES;
//! use retick_wasm::{Limits, LoadError, Quantity, WasmFactory};
//!
//! let limits = Limits { module_bytes: 1024, ..Limits::default() };
//! assert_eq!(limits.memory_pages * PAGE_BYTES, 16 << 20);
//! let refused = WasmFactory::load(&[0; 1025], limits).err();
//! assert_eq!(refused, Some(LoadError::Limit { quantity: Quantity::ModuleBytes, found: 1025, limit: 1024 }));
//! ```

use crate::error::LoadError;

/// Bytes of a page of WASM memory.
pub const PAGE_BYTES: u64 = 65_536;
/// The greatest [`Limits::memory_pages`]: with its dirty map, the memory ends a page before the last 32-bit address.
pub const MAX_MEMORY_PAGES: u64 = 65_519;
/// The greatest [`Limits::stack_bytes`]: the budget is a number with a sign.
pub const MAX_STACK_BYTES: u64 = 1 << 30;

/// Limits of one game. Start from [`Limits::default`].
///
/// ```
/// use retick_wasm::Limits;
///
/// let limits = Limits { memory_pages: 64, ..Limits::default() };
/// assert_eq!(limits.gas_per_tick, retick_wasm::limits::DEFAULT_GAS_PER_TICK);
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Limits {
    /// Most bytes of the module.
    pub module_bytes: u64,
    /// Most functions that the module defines.
    pub functions: u64,
    /// Most locals of all functions together, parameters not counted.
    pub locals: u64,
    /// Most that locals may cost the compiler in loops and branches: over all functions, the highest local that a function uses
    /// times the square of the depth to which its loops nest, and times two for each block and each branch. The most operands that
    /// a function holds at once times its blocks and branches have the same limit. What the rewrite adds counts as four locals, and a
    /// function's blocks and branches count a 200th of their square. A compiler's time and memory grow with these, not
    /// with the module's bytes.
    pub loop_work: u64,
    /// Most globals.
    pub globals: u64,
    /// Most bytes of all data segments together.
    pub data_bytes: u64,
    /// Most pages of memory, 64 KiB each; 1 to [`MAX_MEMORY_PAGES`]. The state is as large as this, or as the module's own maximum,
    /// from the start; zeros cost nothing (W7).
    pub memory_pages: u64,
    /// Most tables.
    pub tables: u64,
    /// Most entries of all tables together.
    pub table_entries: u64,
    /// Gas of one step, and of one projection: one unit an instruction, and one for sixteen bytes of a bulk operation. It is
    /// counted in the module itself, so that it ends at the same instruction in any engine.
    pub gas_per_tick: u64,
    /// Gas of the description, and of everything up to `S(0)`.
    pub init_gas: u64,
    /// Bytes of stack that the game's calls may count: 128 for a call, 16 for each parameter, local and operand of its function, and
    /// 8 for each instruction that computes a value (16 for a vector), the same in every engine; 1 to [`MAX_STACK_BYTES`]. The calling thread needs twice as much and some 100 KiB more.
    pub stack_bytes: u64,
    /// Gas that one logged line costs.
    pub log_gas: u64,
    /// Bytes of a logged line that are kept.
    pub log_line_bytes: u64,
    /// The last so many logged lines are kept.
    pub log_lines: u64,
    /// Gas that one presentation event costs, also one that is dropped.
    pub event_gas: u64,
}

/// Default of [`Limits::module_bytes`]: 2 MiB.
pub const DEFAULT_MODULE_BYTES: u64 = 2 << 20;
/// Default of [`Limits::functions`].
pub const DEFAULT_FUNCTIONS: u64 = 20_000;
/// Default of [`Limits::locals`].
pub const DEFAULT_LOCALS: u64 = 1_000_000;
/// Default of [`Limits::loop_work`]: some seconds of a slow compiler. What a Rust compiler makes of a game stays far below.
pub const DEFAULT_LOOP_WORK: u64 = 16_000_000;
/// Default of [`Limits::globals`].
pub const DEFAULT_GLOBALS: u64 = 1_000;
/// Default of [`Limits::data_bytes`]: 1 MiB.
pub const DEFAULT_DATA_BYTES: u64 = 1 << 20;
/// Default of [`Limits::memory_pages`]: 16 MiB.
pub const DEFAULT_MEMORY_PAGES: u64 = 256;
/// Default of [`Limits::tables`].
pub const DEFAULT_TABLES: u64 = 16;
/// Default of [`Limits::table_entries`].
pub const DEFAULT_TABLE_ENTRIES: u64 = 10_000;
/// Default of [`Limits::gas_per_tick`]: a rollback of eight ticks stays below half a second on a slow machine.
pub const DEFAULT_GAS_PER_TICK: u64 = 20_000_000;
/// Default of [`Limits::init_gas`].
pub const DEFAULT_INIT_GAS: u64 = 500_000_000;
/// Default of [`Limits::stack_bytes`]: 512 KiB, for which a thread with Rust's default stack is enough.
pub const DEFAULT_STACK_BYTES: u64 = 512 << 10;
/// Default of [`Limits::log_gas`].
pub const DEFAULT_LOG_GAS: u64 = 1_000;
/// Default of [`Limits::log_line_bytes`].
pub const DEFAULT_LOG_LINE_BYTES: u64 = 1_024;
/// Default of [`Limits::log_lines`].
pub const DEFAULT_LOG_LINES: u64 = 32;
/// Default of [`Limits::event_gas`].
pub const DEFAULT_EVENT_GAS: u64 = 200;

const _: () = assert!(DEFAULT_DATA_BYTES <= DEFAULT_MODULE_BYTES, "the data stands in the module");
const _: () = assert!(DEFAULT_DATA_BYTES <= DEFAULT_MEMORY_PAGES * PAGE_BYTES, "the data stands in the memory");
const _: () = assert!(DEFAULT_MEMORY_PAGES <= MAX_MEMORY_PAGES);

impl Default for Limits {
    fn default() -> Self {
        Limits {
            module_bytes: DEFAULT_MODULE_BYTES,
            functions: DEFAULT_FUNCTIONS,
            locals: DEFAULT_LOCALS,
            loop_work: DEFAULT_LOOP_WORK,
            globals: DEFAULT_GLOBALS,
            data_bytes: DEFAULT_DATA_BYTES,
            memory_pages: DEFAULT_MEMORY_PAGES,
            tables: DEFAULT_TABLES,
            table_entries: DEFAULT_TABLE_ENTRIES,
            gas_per_tick: DEFAULT_GAS_PER_TICK,
            init_gas: DEFAULT_INIT_GAS,
            stack_bytes: DEFAULT_STACK_BYTES,
            log_gas: DEFAULT_LOG_GAS,
            log_line_bytes: DEFAULT_LOG_LINE_BYTES,
            log_lines: DEFAULT_LOG_LINES,
            event_gas: DEFAULT_EVENT_GAS,
        }
    }
}

impl Limits {
    /// Every limit by its name, for the identity (K11). The pattern has no `..`, so that no limit is forgotten.
    pub fn settings(&self) -> [(&'static str, u64); 16] {
        let Limits {
            module_bytes,
            functions,
            locals,
            loop_work,
            globals,
            data_bytes,
            memory_pages,
            tables,
            table_entries,
            gas_per_tick,
            init_gas,
            stack_bytes,
            log_gas,
            log_line_bytes,
            log_lines,
            event_gas,
        } = *self;
        [
            ("limit-module-bytes", module_bytes),
            ("limit-functions", functions),
            ("limit-locals", locals),
            ("limit-loop-work", loop_work),
            ("limit-globals", globals),
            ("limit-data-bytes", data_bytes),
            ("limit-memory-pages", memory_pages),
            ("limit-tables", tables),
            ("limit-table-entries", table_entries),
            ("limit-gas-per-tick", gas_per_tick),
            ("limit-init-gas", init_gas),
            ("limit-stack-bytes", stack_bytes),
            ("log-gas", log_gas),
            ("limit-log-line-bytes", log_line_bytes),
            ("limit-log-lines", log_lines),
            ("event-gas", event_gas),
        ]
    }

    /// Refuses limits that no engine can keep.
    pub(crate) fn check(&self) -> Result<(), LoadError> {
        let refused = |name, value| Err(LoadError::BadLimits { name, value });
        if !(1..=MAX_MEMORY_PAGES).contains(&self.memory_pages) {
            return refused("memory-pages", self.memory_pages);
        }
        if !(1..=MAX_STACK_BYTES).contains(&self.stack_bytes) {
            return refused("stack-bytes", self.stack_bytes);
        }
        Ok(())
    }
}
