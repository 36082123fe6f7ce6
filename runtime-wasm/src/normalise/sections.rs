//! The sections other than code, with what the rewrite adds to them.

use wasm_encoder::reencode::{Reencode, RoundtripReencoder};
use wasm_encoder::{
    ConstExpr, DataSection, ExportKind, ExportSection, FunctionSection, GlobalSection, GlobalType, MemorySection,
    MemoryType, TypeSection, ValType,
};
use wasmparser::{DataKind, ExternalKind, Operator, SectionLimited};

use super::layout::Layout;
use super::plan::{Appended, Globals};
use super::{BASE_NAME, DEPTH_BUDGET_NAME, DEPTH_NAME, GAS_NAME, PAGES_NAME, global_name};
use crate::admit::Admitted;
use crate::error::LoadError;

/// The module's types, and those of the added functions.
pub(super) fn types(types: SectionLimited<'_, wasmparser::RecGroup>) -> Result<TypeSection, LoadError> {
    let mut section = TypeSection::new();
    RoundtripReencoder.parse_type_section(&mut section, types).map_err(|error| LoadError::unencodable(&error))?;
    section.ty().function([ValType::I32; 3], []);
    section.ty().function([ValType::I32], [ValType::I32]);
    Ok(section)
}

/// The types of the module's functions, and of the added ones.
pub(super) fn functions(functions: SectionLimited<'_, u32>, appended: &Appended) -> Result<FunctionSection, LoadError> {
    let mut section = FunctionSection::new();
    for function in functions {
        section.function(function?);
    }
    let Appended { first_type, helpers, .. } = *appended;
    for _ in [helpers.fill, helpers.copy].iter().flatten() {
        section.function(first_type);
    }
    if helpers.grow.is_some() {
        section.function(first_type.saturating_add(1));
    }
    Ok(section)
}

/// The memory: all that there may ever be, from the start.
pub(super) fn memory(layout: &Layout) -> MemorySection {
    let (minimum, maximum) = (layout.pages(), Some(layout.pages()));
    let mut section = MemorySection::new();
    section.memory(MemoryType { minimum, maximum, memory64: false, shared: false, page_size_log2: None });
    section
}

/// The module's globals, and behind them those of [`Globals`] in its order.
pub(super) fn globals(
    globals: Option<SectionLimited<'_, wasmparser::Global<'_>>>,
    layout: &Layout,
    budget: u32,
) -> Result<GlobalSection, LoadError> {
    let mut section = GlobalSection::new();
    if let Some(globals) = globals {
        let parsed = RoundtripReencoder.parse_global_section(&mut section, globals);
        parsed.map_err(|error| LoadError::unencodable(&error))?;
    }
    let mut add = |val_type, mutable, value: &ConstExpr| {
        section.global(GlobalType { val_type, mutable, shared: false }, value);
    };
    let word = |value: u32| ConstExpr::i32_const(value.cast_signed());
    add(ValType::I64, true, &ConstExpr::i64_const(0));
    add(ValType::I32, true, &word(budget));
    add(ValType::I32, true, &word(layout.initial_pages));
    add(ValType::I32, false, &word(layout.base()));
    add(ValType::I32, false, &word(budget));
    Ok(section)
}

/// The module's exports, its mutable globals, and what the host needs.
pub(super) fn exports(
    exports: SectionLimited<'_, wasmparser::Export<'_>>,
    admitted: &Admitted,
    globals: &Globals,
) -> Result<ExportSection, LoadError> {
    let mut section = ExportSection::new();
    for export in exports {
        let export = export?;
        let kind = match export.kind {
            ExternalKind::Func | ExternalKind::FuncExact => ExportKind::Func,
            ExternalKind::Table => ExportKind::Table,
            ExternalKind::Memory => ExportKind::Memory,
            ExternalKind::Global => ExportKind::Global,
            ExternalKind::Tag => ExportKind::Tag,
        };
        section.export(export.name, kind, export.index);
    }
    for (index, _) in &admitted.globals {
        section.export(&global_name(*index), ExportKind::Global, *index);
    }
    let Globals { gas, depth, pages, base, budget } = *globals;
    let own =
        [(GAS_NAME, gas), (DEPTH_NAME, depth), (PAGES_NAME, pages), (BASE_NAME, base), (DEPTH_BUDGET_NAME, budget)];
    for (name, index) in own {
        section.export(name, ExportKind::Global, index);
    }
    Ok(section)
}

/// The data segments, behind the base.
pub(super) fn data(
    segments: SectionLimited<'_, wasmparser::Data<'_>>,
    layout: &Layout,
) -> Result<DataSection, LoadError> {
    let mut section = DataSection::new();
    for segment in segments {
        let segment = segment?;
        let DataKind::Active { offset_expr, .. } = segment.kind else {
            section.passive(segment.data.iter().copied());
            continue;
        };
        // No global is imported, so that there is nothing else that a constant could be made of.
        let Operator::I32Const { value } = offset_expr.get_operators_reader().read()? else {
            return Err(LoadError::unencodable(&"an offset that is no constant"));
        };
        let offset = value.cast_unsigned().saturating_add(layout.base());
        section.active(0, &ConstExpr::i32_const(offset.cast_signed()), segment.data.iter().copied());
    }
    Ok(section)
}
