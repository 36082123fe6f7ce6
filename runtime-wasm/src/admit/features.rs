//! What a module may be made of: the features that admission and the engine both know, and what a global may hold.

use wasmparser::{ValType, WasmFeatures};

/// Everything that a module may use. Of the reference types and the bulk memory operations some instructions are refused
/// nonetheless, by [`super::instructions`].
pub(crate) const FEATURES: WasmFeatures = WasmFeatures::FLOATS
    .union(WasmFeatures::MUTABLE_GLOBAL)
    .union(WasmFeatures::SIGN_EXTENSION)
    .union(WasmFeatures::SATURATING_FLOAT_TO_INT)
    .union(WasmFeatures::MULTI_VALUE)
    .union(WasmFeatures::BULK_MEMORY)
    .union(WasmFeatures::REFERENCE_TYPES)
    .union(WasmFeatures::SIMD);

/// What a mutable global holds.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum GlobalKind {
    I32,
    I64,
    F32,
    F64,
    V128,
}

impl GlobalKind {
    /// The kind of a type; `None` for references.
    pub fn of(ty: ValType) -> Option<GlobalKind> {
        match ty {
            ValType::I32 => Some(GlobalKind::I32),
            ValType::I64 => Some(GlobalKind::I64),
            ValType::F32 => Some(GlobalKind::F32),
            ValType::F64 => Some(GlobalKind::F64),
            ValType::V128 => Some(GlobalKind::V128),
            ValType::Ref(_) => None,
        }
    }

    /// Its bytes in a state.
    pub fn bytes(self) -> usize {
        match self {
            GlobalKind::I32 | GlobalKind::F32 => 4,
            GlobalKind::I64 | GlobalKind::F64 => 8,
            GlobalKind::V128 => 16,
        }
    }
}
