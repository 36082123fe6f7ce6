//! The first pass over a module: what must be known of all of it before the first function is rewritten.

use wasmparser::types::CoreTypeId;
use wasmparser::{
    ElementItems, ElementKind, FuncToValidate, FuncValidatorAllocations, FunctionBody, Operator, Parser, Payload,
    TypeRef, ValidPayload, Validator, ValidatorResources,
};

use super::depth::{Calls, Depths, VALUE_BYTES, VECTOR_BYTES};
use super::gas;
use crate::admit::FEATURES;
use crate::admit::instructions::ways as ways_of;
use crate::error::LoadError;

/// Indices of the globals that the rewrite adds.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(super) struct Globals {
    pub(super) gas: u32,
    pub(super) depth: u32,
    pub(super) pages: u32,
    pub(super) base: u32,
    pub(super) budget: u32,
}

/// Indices of the functions that it adds, of those that are needed.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(super) struct Helpers {
    pub(super) fill: Option<u32>,
    pub(super) copy: Option<u32>,
    pub(super) grow: Option<u32>,
}

/// What stands behind what the module has itself.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(super) struct Appended {
    /// The first type that is added: of a fill and a copy. The one after it is that of growing.
    pub(super) first_type: u32,
    pub(super) globals: Globals,
    pub(super) helpers: Helpers,
}

/// What the first pass finds.
#[derive(Debug, Default)]
pub(super) struct Plan {
    pub(super) appended: Appended,
    pub(super) depths: Depths,
    pub(super) functions: u32,
    /// Over all functions: the most operands that one holds at once, times the ways that part or meet in it.
    pub(super) operand_work: u64,
    /// The canonical type of each type index.
    pub(super) types: Vec<CoreTypeId>,
}

/// Looks through a module.
pub(super) fn plan(module: &[u8]) -> Result<Plan, LoadError> {
    let mut validator = Validator::new_with_features(FEATURES);
    let mut pass = Pass::default();
    for payload in Parser::new(0).parse_all(module) {
        let payload = payload?;
        if let ValidPayload::Func(function, body) = validator.payload(&payload)? {
            pass.body(function, &body)?;
            continue;
        }
        match payload {
            Payload::ImportSection(imports) => {
                for import in imports.into_imports() {
                    if let TypeRef::Func(_) = import?.ty {
                        pass.calls.import();
                        pass.functions = pass.functions.saturating_add(1);
                    }
                }
            }
            Payload::FunctionSection(functions) => pass.functions = pass.functions.saturating_add(functions.count()),
            Payload::GlobalSection(globals) => pass.globals = globals.count(),
            Payload::ElementSection(elements) => {
                let types = validator.types(0);
                for element in elements {
                    let element = element?;
                    if let ElementKind::Active { .. } = element.kind {
                        pass.elements(element.items, |function| types.map(|types| types.core_function_at(function)))?;
                    }
                }
            }
            Payload::CodeSectionStart { .. } => {
                if let Some(types) = validator.types(0) {
                    let count = types.core_type_count_in_module();
                    pass.types = (0..count).map(|index| types.core_type_at_in_module(index)).collect();
                }
            }
            _ => {}
        }
    }
    Ok(pass.end())
}

#[derive(Default)]
struct Pass {
    calls: Calls,
    types: Vec<CoreTypeId>,
    functions: u32,
    operand_work: u64,
    globals: u32,
    fills: bool,
    copies: bool,
    grows: bool,
}

impl Pass {
    fn elements(
        &mut self,
        items: ElementItems<'_>,
        type_of: impl Fn(u32) -> Option<CoreTypeId>,
    ) -> Result<(), LoadError> {
        let mut add = |function: u32| type_of(function).map(|ty| self.calls.in_table(function, ty));
        match items {
            ElementItems::Functions(functions) => functions.into_iter().try_for_each(|function| {
                add(function?);
                Ok(())
            }),
            ElementItems::Expressions(_, expressions) => {
                for expression in expressions {
                    for operator in expression?.get_operators_reader() {
                        if let Operator::RefFunc { function_index } = operator? {
                            add(function_index);
                        }
                    }
                }
                Ok(())
            }
        }
    }

    fn body(&mut self, function: FuncToValidate<ValidatorResources>, body: &FunctionBody<'_>) -> Result<(), LoadError> {
        self.calls.function();
        let mut validator = function.into_validator(FuncValidatorAllocations::default());
        validator.read_locals(&mut body.get_binary_reader())?;
        let (mut highest, mut ways, mut computed) = (0, 0_u64, 0_u64);
        for operator in body.get_operators_reader()?.into_iter_with_offsets() {
            let (operator, offset) = operator?;
            validator.op(offset, &operator)?;
            highest = highest.max(validator.operand_stack_height());
            ways = ways.saturating_add(ways_of(&operator));
            if computes(&operator) {
                let is_vector = validator.get_operand_type(0).flatten() == Some(wasmparser::ValType::V128);
                computed = computed.saturating_add(if is_vector { VECTOR_BYTES } else { VALUE_BYTES });
            }
            match operator {
                Operator::Call { function_index } => self.calls.calls(function_index),
                Operator::CallIndirect { type_index, .. } => {
                    if let Some(ty) = self.types.get(type_index as usize) {
                        self.calls.calls_any(*ty);
                    }
                }
                Operator::MemoryFill { .. } => self.fills = true,
                Operator::MemoryCopy { .. } => self.copies = true,
                Operator::MemoryGrow { .. } => self.grows = true,
                _ => {}
            }
        }
        self.operand_work = self.operand_work.saturating_add(u64::from(highest).saturating_mul(ways));
        self.calls.frame(u64::from(validator.len_locals()) + u64::from(highest), computed);
        Ok(())
    }

    fn end(self) -> Plan {
        let mut next = self.functions;
        let mut helper = |needed: bool| {
            let index = next;
            next = next.saturating_add(u32::from(needed));
            needed.then_some(index)
        };
        let helpers = Helpers { fill: helper(self.fills), copy: helper(self.copies), grow: helper(self.grows) };
        let global = |place: u32| self.globals.saturating_add(place);
        let globals =
            Globals { gas: global(0), depth: global(1), pages: global(2), base: global(3), budget: global(4) };
        let first_type = u32::try_from(self.types.len()).unwrap_or(u32::MAX);
        let appended = Appended { first_type, globals, helpers };
        Plan {
            appended,
            depths: self.calls.depths(),
            functions: self.functions,
            operand_work: self.operand_work,
            types: self.types,
        }
    }
}

/// Whether a compiler may keep what an instruction computes, an address among it: all do but those that shape the code, name a
/// constant, or move a value that a local or an operand counts for already.
fn computes(operator: &Operator<'_>) -> bool {
    let moves = matches!(
        operator,
        Operator::LocalGet { .. }
            | Operator::LocalSet { .. }
            | Operator::LocalTee { .. }
            | Operator::GlobalGet { .. }
            | Operator::GlobalSet { .. }
            | Operator::I32Const { .. }
            | Operator::I64Const { .. }
            | Operator::F32Const { .. }
            | Operator::F64Const { .. }
            | Operator::V128Const { .. }
            | Operator::Drop
            | Operator::Call { .. }
            | Operator::CallIndirect { .. }
    );
    let shapes = gas::ends_a_run(operator) || matches!(operator, Operator::Nop | Operator::Block { .. });
    !moves && !shapes
}
