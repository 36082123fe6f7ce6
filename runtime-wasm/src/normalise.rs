//! The deterministic rewrite between admission and compilation: what makes hidden state visible (W3).
//!
//! Today it exports every mutable global under a reserved name, so that a checkpoint is whole, gives the memory its greatest
//! size, so that growing beyond the limit fails in the module as the specification says, and leaves custom sections out.
//! [`normalise`] is the place where further passes belong (NaN bits, gas, call depth, the memory's virtual size); each that
//! changes a bit raises [`crate::engine::ENGINE_REVISION`].

use wasm_encoder::{ExportKind, ExportSection, MemorySection, MemoryType, Module, RawSection};
use wasmparser::{ExternalKind, Parser, Payload, SectionLimited};

use crate::admit::{Admitted, RESERVED_PREFIX};
use crate::error::LoadError;
use crate::limits::Limits;

/// Section id of custom sections.
const CUSTOM: u8 = 0;

/// The reserved export name of the global with this index.
pub(crate) fn global_name(index: u32) -> String {
    format!("{RESERVED_PREFIX}global:{index}")
}

/// The module that is compiled. Its bytes depend on nothing but the admitted module's and the limits.
pub(crate) fn normalise(module: &[u8], admitted: &Admitted, limits: &Limits) -> Result<Vec<u8>, LoadError> {
    let mut out = Module::new();
    for payload in Parser::new(0).parse_all(module) {
        let payload = payload?;
        match &payload {
            Payload::MemorySection(_) => {
                out.section(&memory(admitted, limits));
            }
            Payload::ExportSection(exports) => {
                out.section(&all_exports(exports.clone(), admitted)?);
            }
            _ => match payload.as_section() {
                Some((id, range)) if id != CUSTOM => {
                    let data = module.get(range).unwrap_or_default();
                    out.section(&RawSection { id, data });
                }
                _ => {}
            },
        }
    }
    Ok(out.finish())
}

fn memory(admitted: &Admitted, limits: &Limits) -> MemorySection {
    let maximum = admitted.maximum_pages.map_or(limits.memory_pages, |pages| pages.min(limits.memory_pages));
    let (minimum, maximum) = (admitted.initial_pages, Some(maximum));
    let mut section = MemorySection::new();
    section.memory(MemoryType { minimum, maximum, memory64: false, shared: false, page_size_log2: None });
    section
}

fn all_exports(
    exports: SectionLimited<'_, wasmparser::Export<'_>>,
    admitted: &Admitted,
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
    Ok(section)
}
