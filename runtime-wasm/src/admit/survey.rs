//! One pass over a module's sections: refuses by name what is not allowed, counts what is limited, and notes what the checks
//! after it need. It runs before validation, so that a refusal names the feature and not where it was noticed.

use wasmparser::{
    BlockType, CompositeInnerType, ConstExpr, DataKind, ElementKind, ExternalKind, FunctionBody, MemoryType, Operator,
    Parser, Payload, RecGroup, SectionLimited, TableInit, TypeRef, ValType, WasmFeatures,
};

use super::GlobalKind;
use super::{at_most, import_error, instructions};
use crate::error::{ImportRefusal, LoadError, Quantity};
use crate::limits::{Limits, PAGE_BYTES};

/// What a module is made of, as far as admission asks.
#[derive(Debug, Default)]
pub(super) struct Survey {
    pub imports: Vec<Import>,
    pub exports: Vec<Export>,
    /// Initial and, if stated, greatest pages.
    pub memory: Option<(u64, Option<u64>)>,
    pub mutable_globals: Vec<(u32, GlobalKind)>,
    /// Parameters of each type, as far as it may be a block's.
    parameters: Vec<u64>,
    bodies: u32,
    locals: u64,
    loop_work: u64,
}

#[derive(Debug)]
pub(super) struct Import {
    pub module: String,
    pub name: String,
}

#[derive(Debug)]
pub(super) struct Export {
    pub name: String,
    pub kind: ExternalKind,
    pub index: u32,
}

impl Survey {
    pub fn export(&self, name: &str) -> Option<&Export> {
        self.exports.iter().find(|export| export.name == name)
    }
}

/// Most results of a function or a block, and most parameters of a block. Each instruction that ends one moves all of them, so that a
/// thousand, which the format allows, would make an instruction's gas and its bytes mean nothing. No toolchain that we know gives
/// more than a few.
const MOST_RESULTS: u64 = 16;

/// First bytes of a component, where a module's own begin with version 1.
const COMPONENT_PREAMBLE: [u8; 8] = *b"\0asm\x0d\0\x01\0";

fn feature(feature: &'static str) -> Result<(), LoadError> {
    Err(LoadError::Feature { feature })
}

pub(super) fn survey(module: &[u8], limits: &Limits) -> Result<Survey, LoadError> {
    if module.starts_with(&COMPONENT_PREAMBLE) {
        feature("the component model")?;
    }
    let mut survey = Survey::default();
    let mut parser = Parser::new(0);
    parser.set_features(WasmFeatures::all());
    for payload in parser.parse_all(module) {
        section(&mut survey, payload?, limits)?;
    }
    Ok(survey)
}

fn section(survey: &mut Survey, payload: Payload<'_>, limits: &Limits) -> Result<(), LoadError> {
    match payload {
        Payload::TypeSection(types) => types.into_iter().try_for_each(|group| function_types(survey, &group?)),
        Payload::ImportSection(imports) => imports.into_imports().try_for_each(|import| import_item(survey, import?)),
        Payload::FunctionSection(functions) => {
            at_most(Quantity::Functions, u64::from(functions.count()), limits.functions)
        }
        Payload::TableSection(tables) => table_section(tables, limits),
        Payload::MemorySection(memories) => memory_section(survey, memories, limits),
        Payload::GlobalSection(globals) => global_section(survey, globals, limits),
        Payload::ExportSection(exports) => exports.into_iter().try_for_each(|export| {
            let wasmparser::Export { name, kind, index } = export?;
            survey.exports.push(Export { name: name.to_owned(), kind, index });
            Ok(())
        }),
        Payload::StartSection { .. } => Err(LoadError::StartFunction),
        Payload::ElementSection(elements) => elements.into_iter().try_for_each(|element| match element?.kind {
            ElementKind::Active { offset_expr, .. } => constant(&offset_expr),
            ElementKind::Passive => feature("passive element segments"),
            ElementKind::Declared => Ok(()),
        }),
        Payload::DataSection(data) => data_section(survey, data, limits),
        Payload::CodeSectionEntry(body) => function_body(survey, &body, limits),
        Payload::TagSection(_) => feature("exceptions"),
        Payload::UnknownSection { .. } => feature("an unknown section"),
        // Headers and ends; custom sections, whose bytes are hashed and otherwise ignored.
        _ => Ok(()),
    }
}

fn function_types(survey: &mut Survey, group: &RecGroup) -> Result<(), LoadError> {
    if group.is_explicit_rec_group() {
        feature("gc")?;
    }
    for ty in group.types() {
        let composite = &ty.composite_type;
        if composite.shared {
            feature("shared-everything-threads")?;
        }
        match &composite.inner {
            CompositeInnerType::Func(function) if ty.is_final && ty.supertype_idx.is_none() => {
                function.params().iter().chain(function.results()).try_for_each(|ty| value_type(*ty))?;
                at_most(Quantity::Results, function.results().len() as u64, MOST_RESULTS)?;
                survey.parameters.push(function.params().len() as u64);
            }
            CompositeInnerType::Cont(_) => feature("stack-switching")?,
            _ => feature("gc")?,
        }
    }
    Ok(())
}

fn value_type(ty: ValType) -> Result<(), LoadError> {
    match ty {
        ValType::Ref(reference) if reference.is_extern_ref() => feature("externref"),
        ValType::Ref(reference) if !(reference.is_func_ref() && reference.is_nullable()) => feature("gc"),
        _ => Ok(()),
    }
}

fn import_item(survey: &mut Survey, import: wasmparser::Import<'_>) -> Result<(), LoadError> {
    let wasmparser::Import { module, name, ty } = import;
    if !matches!(ty, TypeRef::Func(_)) {
        return Err(import_error(module, name, ImportRefusal::NotAFunction));
    }
    survey.imports.push(Import { module: module.to_owned(), name: name.to_owned() });
    Ok(())
}

fn table_section(tables: SectionLimited<'_, wasmparser::Table<'_>>, limits: &Limits) -> Result<(), LoadError> {
    at_most(Quantity::Tables, u64::from(tables.count()), limits.tables)?;
    let mut entries = 0u64;
    for table in tables {
        let table = table?;
        if table.ty.table64 {
            feature("memory64")?;
        }
        if table.ty.shared {
            feature("shared-everything-threads")?;
        }
        if let TableInit::Expr(_) = table.init {
            feature("function-references")?;
        }
        value_type(ValType::Ref(table.ty.element_type))?;
        entries = entries.saturating_add(table.ty.initial);
        at_most(Quantity::TableEntries, entries, limits.table_entries)?;
    }
    Ok(())
}

fn memory_section(
    survey: &mut Survey,
    memories: SectionLimited<'_, MemoryType>,
    limits: &Limits,
) -> Result<(), LoadError> {
    if memories.count() > 1 {
        feature("multi-memory")?;
    }
    for memory in memories {
        let memory = memory?;
        if memory.memory64 {
            feature("memory64")?;
        }
        if memory.shared {
            feature("threads (a shared memory)")?;
        }
        if memory.page_size_log2.is_some() {
            feature("custom-page-sizes")?;
        }
        at_most(Quantity::MemoryPages, memory.initial, limits.memory_pages)?;
        survey.memory = Some((memory.initial, memory.maximum));
    }
    Ok(())
}

fn global_section(
    survey: &mut Survey,
    globals: SectionLimited<'_, wasmparser::Global<'_>>,
    limits: &Limits,
) -> Result<(), LoadError> {
    at_most(Quantity::Globals, u64::from(globals.count()), limits.globals)?;
    for (index, global) in (0..).zip(globals) {
        let global = global?;
        if global.ty.shared {
            feature("shared-everything-threads")?;
        }
        value_type(global.ty.content_type)?;
        constant(&global.init_expr)?;
        if global.ty.mutable {
            match GlobalKind::of(global.ty.content_type) {
                Some(kind) => survey.mutable_globals.push((index, kind)),
                None => feature("mutable globals that hold references")?,
            }
        }
    }
    Ok(())
}

fn data_section(
    survey: &Survey,
    data: SectionLimited<'_, wasmparser::Data<'_>>,
    limits: &Limits,
) -> Result<(), LoadError> {
    let memory_bytes = survey.memory.map_or(0, |(initial, _)| initial.saturating_mul(PAGE_BYTES));
    let mut bytes = 0u64;
    for segment in data {
        let segment = segment?;
        match segment.kind {
            DataKind::Active { offset_expr, .. } => {
                constant(&offset_expr)?;
                // Without imported globals, there is no other offset that is valid.
                if let Operator::I32Const { value } = offset_expr.get_operators_reader().read()? {
                    let end = u64::from(value.cast_unsigned()) + segment.data.len() as u64;
                    at_most(Quantity::DataEnd, end, memory_bytes)?;
                }
            }
            DataKind::Passive => feature("passive data segments")?,
        }
        bytes = bytes.saturating_add(segment.data.len() as u64);
        at_most(Quantity::DataBytes, bytes, limits.data_bytes)?;
    }
    Ok(())
}

fn constant(expression: &ConstExpr<'_>) -> Result<(), LoadError> {
    for operator in expression.get_operators_reader() {
        if !instructions::is_plain_constant(&operator?) {
            feature("extended-const")?;
        }
    }
    Ok(())
}

fn function_body(survey: &mut Survey, body: &FunctionBody<'_>, limits: &Limits) -> Result<(), LoadError> {
    let function = u32::try_from(survey.imports.len()).unwrap_or(u32::MAX).saturating_add(survey.bodies);
    survey.bodies = survey.bodies.saturating_add(1);
    for local in body.get_locals_reader()? {
        let (count, ty) = local?;
        value_type(ty)?;
        survey.locals = survey.locals.saturating_add(u64::from(count));
        at_most(Quantity::Locals, survey.locals, limits.locals)?;
    }
    let mut work = LoopWork::default();
    for operator in body.get_operators_reader()? {
        let operator = operator?;
        instructions::check(&operator, function)?;
        if let Operator::Block { blockty } | Operator::Loop { blockty } | Operator::If { blockty } = &operator
            && let BlockType::FuncType(ty) = blockty
        {
            let parameters = survey.parameters.get(*ty as usize).copied().unwrap_or(0);
            at_most(Quantity::BlockParameters, parameters, MOST_RESULTS)?;
        }
        work.take(&operator);
    }
    survey.loop_work = survey.loop_work.saturating_add(work.total());
    at_most(Quantity::LoopWork, survey.loop_work, limits.loop_work)
}

/// What a local costs where ways part or meet, in units of what it costs in nested loops: time, and 60 bytes until the function is
/// compiled.
const WORK_OF_A_WAY: u64 = 2;

/// The engine's time also grows with the square of the ways in a function, far more slowly: by one unit for so many pairs of them.
const WAYS_TOGETHER: u64 = 200;

/// What the rewrite keeps through a function counts as so many locals: the gas that is left, which every round of a loop changes.
const ADDED_LOCALS: u64 = 4;

/// What the locals of one function cost a compiler in nested loops and wherever ways part or meet.
#[derive(Debug, Default)]
struct LoopWork {
    /// Whether each open block is a loop.
    open: Vec<bool>,
    depth: u64,
    deepest: u64,
    ways: u64,
    locals: u64,
}

impl LoopWork {
    fn take(&mut self, operator: &Operator<'_>) {
        self.ways = self.ways.saturating_add(instructions::ways(operator));
        match operator {
            Operator::Loop { .. } => self.enter(true),
            Operator::Block { .. } | Operator::If { .. } => self.enter(false),
            Operator::End => self.depth -= u64::from(self.open.pop().unwrap_or(false)),
            Operator::LocalGet { local_index }
            | Operator::LocalSet { local_index }
            | Operator::LocalTee { local_index } => self.locals = self.locals.max(u64::from(*local_index) + 1),
            _ => {}
        }
    }

    fn enter(&mut self, is_loop: bool) {
        self.open.push(is_loop);
        self.depth += u64::from(is_loop);
        self.deepest = self.deepest.max(self.depth);
    }

    fn total(&self) -> u64 {
        let loops = self.deepest.saturating_mul(self.deepest);
        let locals = self.locals.saturating_add(ADDED_LOCALS);
        let kept = locals.saturating_mul(loops.saturating_add(self.ways.saturating_mul(WORK_OF_A_WAY)));
        kept.saturating_add(self.ways.saturating_mul(self.ways) / WAYS_TOGETHER)
    }
}
