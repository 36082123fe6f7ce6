//! What may load (W2): an allow-list of features, instructions, imports, exports and sizes. All else is refused by name,
//! before anything is compiled.
//!
//! Admission also keeps hidden state out, so that memory and globals are all the state there is (W3): instructions that
//! change a table or drop a segment are refused, as are passive segments and globals that hold references. No toolchain's
//! output that we know needs them.

mod features;
pub(crate) mod instructions;
mod survey;

pub(crate) use features::{FEATURES, GlobalKind};

use retick_core::runtime::abi;
use wasmparser::types::{Types, TypesRef};
use wasmparser::{ExternalKind, FuncType, ValType, Validator};

use crate::error::{ExportRefusal, ImportRefusal, LoadError, Quantity};
use crate::limits::Limits;
use survey::Survey;

/// Prefix of the export names that [`crate::normalise`] adds.
pub(crate) const RESERVED_PREFIX: &str = "retick:";
/// Prefix of the interface's own export names.
const INTERFACE_PREFIX: &str = "retick_";

/// What the rest of the crate needs to know of an admitted module.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Admitted {
    /// Pages that the memory starts with.
    pub initial_pages: u64,
    /// Pages that the module lets it grow to, if it says so.
    pub maximum_pages: Option<u64>,
    /// Index and kind of every mutable global, in order.
    pub globals: Vec<(u32, GlobalKind)>,
    /// Whether it projects.
    pub projects: bool,
    /// Whether it exports `_initialize`.
    pub initializes: bool,
}

/// Admits a module or says why not.
pub(crate) fn admit(module: &[u8], limits: &Limits) -> Result<Admitted, LoadError> {
    at_most(Quantity::ModuleBytes, module.len() as u64, limits.module_bytes)?;
    let survey = survey::survey(module, limits)?;
    survey.imports.iter().try_for_each(|import| granted(&import.module, &import.name).map(drop))?;
    let types = Validator::new_with_features(FEATURES).validate_all(module)?;
    check_import_types(&survey, &types)?;
    check_exports(survey, &types)
}

/// Refuses more than `limit` of something.
pub(crate) fn at_most(quantity: Quantity, found: u64, limit: u64) -> Result<(), LoadError> {
    if found <= limit { Ok(()) } else { Err(LoadError::Limit { quantity, found, limit }) }
}

fn import_error(module: &str, name: &str, refusal: ImportRefusal) -> LoadError {
    LoadError::Import { module: module.to_owned(), name: name.to_owned(), refusal }
}

/// The parameters of a granted import; none has results.
fn granted(module: &str, name: &str) -> Result<&'static [ValType], LoadError> {
    match (module, name) {
        (abi::IMPORT_MODULE, abi::IMPORT_LOG) => Ok(&[ValType::I32; 2]),
        (abi::IMPORT_MODULE, abi::IMPORT_EMIT) => Ok(&[ValType::I32; 5]),
        _ => Err(import_error(module, name, ImportRefusal::Unknown)),
    }
}

fn check_import_types(survey: &Survey, types: &Types) -> Result<(), LoadError> {
    for (index, import) in (0..).zip(&survey.imports) {
        let refused = |refusal| Err(import_error(&import.module, &import.name, refusal));
        if !has_type(types.as_ref(), index, granted(&import.module, &import.name)?, &[]) {
            return refused(ImportRefusal::Type);
        }
        if (0..index).zip(&survey.imports).any(|(_, earlier)| earlier.name == import.name) {
            return refused(ImportRefusal::Twice);
        }
    }
    Ok(())
}

fn has_type(types: TypesRef<'_>, function: u32, params: &[ValType], results: &[ValType]) -> bool {
    let found: &FuncType = types[types.core_function_at(function)].unwrap_func();
    found.params() == params && found.results() == results
}

/// The interface's functions: name, parameters, results, and whether a module must have it.
const INTERFACE: [(&str, &[ValType], &[ValType], Need); 7] = [
    (abi::EXPORT_ABI, &[], &[ValType::I32], Need::Required),
    (abi::EXPORT_BUFFER, &[ValType::I32], &[ValType::I32], Need::Required),
    (abi::EXPORT_DESCRIBE, &[], &[ValType::I64], Need::Required),
    (abi::EXPORT_INIT, &[ValType::I32, ValType::I32], &[ValType::I32], Need::Required),
    (abi::EXPORT_STEP, &[ValType::I32, ValType::I32], &[ValType::I32], Need::Required),
    (abi::EXPORT_PROJECT, &[], &[ValType::I64], Need::Optional),
    (abi::EXPORT_INITIALIZE, &[], &[], Need::Optional),
];

#[derive(Clone, Copy, PartialEq, Eq)]
enum Need {
    Required,
    Optional,
}

fn export_error(name: &str, refusal: ExportRefusal) -> LoadError {
    LoadError::Export { name: name.to_owned(), refusal }
}

fn check_exports(survey: Survey, types: &Types) -> Result<Admitted, LoadError> {
    let missing_memory = || export_error(abi::EXPORT_MEMORY, ExportRefusal::Missing);
    match survey.export(abi::EXPORT_MEMORY) {
        Some(export) if export.kind == ExternalKind::Memory => {}
        Some(_) => return Err(export_error(abi::EXPORT_MEMORY, ExportRefusal::Type)),
        None => return Err(missing_memory()),
    }
    for (name, params, results, need) in INTERFACE {
        match survey.export(name) {
            Some(export) if export.kind != ExternalKind::Func => return Err(export_error(name, ExportRefusal::Type)),
            Some(export) if !has_type(types.as_ref(), export.index, params, results) => {
                return Err(export_error(name, ExportRefusal::Type));
            }
            None if need == Need::Required => return Err(export_error(name, ExportRefusal::Missing)),
            _ => {}
        }
    }
    let known = |name: &str| INTERFACE.iter().any(|(known, ..)| *known == name);
    let reserved = |name: &str| name.starts_with(INTERFACE_PREFIX) && !known(name) || name.starts_with(RESERVED_PREFIX);
    if let Some(export) = survey.exports.iter().find(|export| reserved(&export.name)) {
        return Err(export_error(&export.name, ExportRefusal::Reserved));
    }
    let (initial_pages, maximum_pages) = survey.memory.ok_or_else(missing_memory)?;
    let has = |name: &str| survey.export(name).is_some();
    let (projects, initializes) = (has(abi::EXPORT_PROJECT), has(abi::EXPORT_INITIALIZE));
    Ok(Admitted { initial_pages, maximum_pages, globals: survey.mutable_globals, projects, initializes })
}
