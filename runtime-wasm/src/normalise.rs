//! The deterministic rewrite between admission and compilation: what makes hidden state visible (W3) and floats the same
//! everywhere (W4).
//!
//! It exports every mutable global under a reserved name, so that a checkpoint is whole, makes NaN bits canonical where they
//! become observable ([`nan`]), counts gas in a global of its own ([`gas`]), gives the memory its greatest size, so that growing beyond the limit fails in the module as the
//! specification says, and leaves custom sections out. A pass that changes a bit raises [`crate::engine::ENGINE_REVISION`].

mod gas;
mod nan;
#[cfg(test)]
mod tests;

use wasm_encoder::reencode::{self, Reencode, RoundtripReencoder};
use wasm_encoder::{
    CodeSection, ConstExpr, ExportKind, ExportSection, Function, GlobalSection, GlobalType, MemorySection, MemoryType,
    Module, RawSection, ValType,
};
use wasmparser::{
    ExternalKind, FuncToValidate, FuncValidatorAllocations, FunctionBody, Parser, Payload, SectionLimited,
    ValidPayload, Validator, ValidatorResources,
};

use crate::admit::{Admitted, RESERVED_PREFIX};
use crate::engine::FEATURES;
use crate::error::LoadError;
use crate::limits::Limits;

/// Section id of custom sections.
const CUSTOM: u8 = 0;

/// The reserved export name of the global that holds the gas.
pub(crate) const GAS_NAME: &str = "retick:gas";

/// The reserved export name of the global with this index.
pub(crate) fn global_name(index: u32) -> String {
    format!("{RESERVED_PREFIX}global:{index}")
}

/// The module that is compiled. Its bytes depend on nothing but the admitted module's and the limits.
pub(crate) fn normalise(module: &[u8], admitted: &Admitted, limits: &Limits) -> Result<Vec<u8>, LoadError> {
    let (mut out, mut code) = (Module::new(), Code::default());
    let mut globals_are_out = false;
    let mut validator = Validator::new_with_features(FEATURES);
    for payload in Parser::new(0).parse_all(module) {
        let payload = payload?;
        if let ValidPayload::Func(function, body) = validator.payload(&payload)? {
            if code.add(module, function, &body)? {
                out.section(&code.section);
            }
            continue;
        }
        match &payload {
            Payload::CodeSectionStart { count, .. } => {
                code.left = *count;
                if *count == 0 {
                    out.section(&code.section);
                }
            }
            Payload::MemorySection(_) => {
                out.section(&memory(admitted, limits));
            }
            Payload::GlobalSection(globals) => {
                code.gas = globals.count();
                out.section(&all_globals(Some(globals.clone()))?);
                globals_are_out = true;
            }
            Payload::ExportSection(exports) => {
                if !globals_are_out {
                    out.section(&all_globals(None)?);
                }
                out.section(&all_exports(exports.clone(), admitted, code.gas)?);
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

/// The code section as it grows.
#[derive(Default)]
struct Code {
    section: CodeSection,
    left: u32,
    /// Index of the global that holds the gas.
    gas: u32,
}

impl Code {
    /// Adds a function, rewritten, and says whether it was the last.
    fn add(
        &mut self,
        module: &[u8],
        function: FuncToValidate<ValidatorResources>,
        body: &FunctionBody<'_>,
    ) -> Result<bool, LoadError> {
        self.section.function(&rewritten(module, &function, body, self.gas)?);
        self.left = self.left.saturating_sub(1);
        Ok(self.left == 0)
    }
}

/// A function with its repairs and tolls. Everything else keeps its bytes.
fn rewritten(
    module: &[u8],
    function: &FuncToValidate<ValidatorResources>,
    body: &FunctionBody<'_>,
    gas: u32,
) -> Result<Function, LoadError> {
    let operators = body.get_operators_reader()?.into_iter_with_offsets().collect::<Result<Vec<_>, _>>()?;
    let validator = || {
        let FuncToValidate { resources, index, ty, features } = function;
        let (resources, allocations) = (resources.clone(), FuncValidatorAllocations::default());
        let mut validator =
            FuncToValidate { resources, index: *index, ty: *ty, features: *features }.into_validator(allocations);
        validator.read_locals(&mut body.get_binary_reader())?;
        Ok(validator)
    };
    let repairs = nan::repairs(&operators, validator)?;
    let first = validator()?.len_locals();
    let (temporaries, mut types) = nan::Temporaries::of(&repairs, first);
    let next = first.saturating_add(u32::try_from(types.len()).unwrap_or(u32::MAX));
    let purse = gas::Purse { global: gas, gas: next, length: next.saturating_add(1) };
    types.extend([ValType::I64, ValType::I32]);
    let tolls = gas::tolls(&operators);
    let mut locals = Vec::new();
    for local in body.get_locals_reader()? {
        let (count, ty) = local?;
        let unencodable = |_| LoadError::Engine { message: format!("a local of type {ty} can't be encoded") };
        locals.push((count, wasm_encoder::ValType::try_from(ty).map_err(unencodable)?));
    }
    locals.extend(types.into_iter().map(|ty| (1, ty)));
    let (mut out, mut from) = (Function::new(locals), operators.first().map_or(body.range().end, |first| first.1));
    let (mut repairs, mut tolls) = (repairs.iter().peekable(), tolls.iter().peekable());
    while let Some(at) =
        [repairs.peek().map(|next| next.at), tolls.peek().map(|next| next.at)].into_iter().flatten().min()
    {
        let mut bytes = module.get(from..at).unwrap_or_default().to_vec();
        while let Some(toll) = tolls.next_if(|toll| toll.at == at) {
            toll.encode(&purse, &mut bytes);
        }
        while let Some(repair) = repairs.next_if(|repair| repair.at == at) {
            repair.encode(&temporaries, &mut bytes);
        }
        out.raw(bytes);
        from = at;
    }
    out.raw(module.get(from..body.range().end).unwrap_or_default().iter().copied());
    Ok(out)
}

fn memory(admitted: &Admitted, limits: &Limits) -> MemorySection {
    let maximum = admitted.maximum_pages.map_or(limits.memory_pages, |pages| pages.min(limits.memory_pages));
    let (minimum, maximum) = (admitted.initial_pages, Some(maximum));
    let mut section = MemorySection::new();
    section.memory(MemoryType { minimum, maximum, memory64: false, shared: false, page_size_log2: None });
    section
}

/// The module's globals, and the gas behind them.
fn all_globals(globals: Option<SectionLimited<'_, wasmparser::Global<'_>>>) -> Result<GlobalSection, LoadError> {
    let mut section = GlobalSection::new();
    if let Some(globals) = globals {
        let unencodable = |error: reencode::Error| LoadError::Engine { message: error.to_string() };
        RoundtripReencoder.parse_global_section(&mut section, globals).map_err(unencodable)?;
    }
    let gas = GlobalType { val_type: ValType::I64, mutable: true, shared: false };
    section.global(gas, &ConstExpr::i64_const(0));
    Ok(section)
}

fn all_exports(
    exports: SectionLimited<'_, wasmparser::Export<'_>>,
    admitted: &Admitted,
    gas: u32,
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
    section.export(GAS_NAME, ExportKind::Global, gas);
    Ok(section)
}
