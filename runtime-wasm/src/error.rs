//! Why a module is not loaded (W2): every refusal names what it is about, with the figure and the limit where there is one.

use core::fmt;

use retick_core::identity::ManifestError;
use retick_core::runtime::abi::AbiError;
use retick_core::runtime::{Logged, StepFault};

/// A module, or limits, that can't be played with. Found before tick 0, and but for the last five before anything is compiled.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum LoadError {
    /// No engine can keep this limit.
    #[error("{value} can't be the limit of {name}")]
    BadLimits {
        /// The limit's name.
        name: &'static str,
        /// Its value.
        value: u64,
    },
    /// More of something than the limits allow.
    #[error("{found} {quantity}, of which {limit} are allowed")]
    Limit {
        /// What there is too much of.
        quantity: Quantity,
        /// How much the module has.
        found: u64,
        /// How much it may have.
        limit: u64,
    },
    /// The module needs a feature that is not on the list.
    #[error("the module needs {feature}, which is not allowed")]
    Feature {
        /// The feature or proposal.
        feature: &'static str,
    },
    /// A function holds an instruction that is not on the list.
    #[error("function {function} uses `{instruction}` of {feature}, which is not allowed")]
    Instruction {
        /// The instruction.
        instruction: String,
        /// The feature or proposal that it belongs to.
        feature: String,
        /// The function's index.
        function: u32,
    },
    /// An import that is not granted as it stands.
    #[error("the import `{name}` from `{module}` {refusal}")]
    Import {
        /// The module it is asked from.
        module: String,
        /// Its name.
        name: String,
        /// What is wrong with it.
        refusal: ImportRefusal,
    },
    /// An export that is missing or not as the interface says.
    #[error("the export `{name}` {refusal}")]
    Export {
        /// Its name.
        name: String,
        /// What is wrong with it.
        refusal: ExportRefusal,
    },
    /// The module has a start function, which would run before any limit could hold it. Export it as `_initialize` instead.
    #[error("the module has a start function; export it as `_initialize` instead")]
    StartFunction,
    /// The bytes are not a valid module.
    #[error("not a valid module at byte {offset}: {message}")]
    Invalid {
        /// Where it was noticed.
        offset: u64,
        /// The parser's own words.
        message: String,
    },
    /// The engine did not take the module, or could not be built on this machine.
    #[error("the engine did not take the module: {message}")]
    Engine {
        /// The engine's own words.
        message: String,
    },
    /// The game faulted while it described itself.
    #[error("runtime fault in the description: {fault}{}", Logged(.log))]
    Fault {
        /// What happened.
        fault: StepFault,
        /// The last lines that the game logged before it.
        log: Vec<String>,
    },
    /// The game was built for another version of the interface.
    #[error("the module is of interface version {found}, where {expected} is known")]
    AbiVersion {
        /// What it states.
        found: u32,
        /// What this runtime knows.
        expected: u32,
    },
    /// The game's description is malformed.
    #[error("the description: {0}")]
    Description(#[from] AbiError),
    /// The game can't have an identity.
    #[error("the identity: {0}")]
    Manifest(#[from] ManifestError),
}

impl LoadError {
    /// What the rewrite read can't be written again. Admission lets nothing of that kind in.
    pub(crate) fn unencodable(what: &impl fmt::Display) -> LoadError {
        LoadError::Engine { message: format!("{what} can't be encoded") }
    }
}

impl From<wasmparser::BinaryReaderError> for LoadError {
    fn from(error: wasmparser::BinaryReaderError) -> Self {
        LoadError::Invalid { offset: error.offset() as u64, message: error.message().to_owned() }
    }
}

/// What a module can have too much of.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Quantity {
    /// Bytes of the module.
    ModuleBytes,
    /// Functions.
    Functions,
    /// Locals of all functions.
    Locals,
    /// Locals times the square of their loops' nesting, and times the ways that part or meet in their function.
    LoopWork,
    /// Operands that functions hold at once, times the ways that part or meet in them.
    OperandWork,
    /// Results of one function or block.
    Results,
    /// Parameters of one block.
    BlockParameters,
    /// Globals.
    Globals,
    /// Bytes of data segments.
    DataBytes,
    /// Pages of memory that the module starts with.
    MemoryPages,
    /// Tables.
    Tables,
    /// Entries of all tables.
    TableEntries,
    /// Bytes of memory that a data segment needs, of those that the module starts with.
    DataEnd,
    /// Locals of a function as it runs.
    RewrittenLocals,
    /// Bytes of a function's code as it runs.
    RewrittenBytes,
    /// Bytes of stack that the heaviest chain of calls counts, recursion left out.
    StackBytes,
}

impl fmt::Display for Quantity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Quantity::ModuleBytes => "module bytes",
            Quantity::Functions => "functions",
            Quantity::Locals => "locals",
            Quantity::LoopWork => "locals times the square of the depth of loops, and times two for each branch",
            Quantity::OperandWork => "operands times branches",
            Quantity::Results => "results",
            Quantity::BlockParameters => "parameters of a block",
            Quantity::Globals => "globals",
            Quantity::DataBytes => "data bytes",
            Quantity::MemoryPages => "memory pages",
            Quantity::Tables => "tables",
            Quantity::TableEntries => "table entries",
            Quantity::DataEnd => "bytes of memory up to a data segment's end",
            Quantity::RewrittenLocals => "locals of a function as it runs",
            Quantity::RewrittenBytes => "bytes of a function as it runs",
            Quantity::StackBytes => "bytes of stack without recursion",
        })
    }
}

/// What is wrong with an import.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
pub enum ImportRefusal {
    /// Nothing of this name is granted.
    #[error("is not granted")]
    Unknown,
    /// Only functions are granted, not memories, tables, globals or tags.
    #[error("is not a function")]
    NotAFunction,
    /// The granted function has another type.
    #[error("has another type than the granted function")]
    Type,
    /// It is imported twice.
    #[error("is imported twice")]
    Twice,
}

/// What is wrong with an export.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
pub enum ExportRefusal {
    /// It is not there.
    #[error("is missing")]
    Missing,
    /// It is there, but of another kind or type.
    #[error("has another type than the interface says")]
    Type,
    /// Its name is reserved, and the interface has nothing of this name.
    #[error("has a reserved name that means nothing")]
    Reserved,
}
