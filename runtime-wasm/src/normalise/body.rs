//! One function rewritten: its repairs, its tolls, its depth, and its addresses.

use wasm_encoder::{Function, ValType};
use wasmparser::types::CoreTypeId;
use wasmparser::{FuncToValidate, FuncValidator, FuncValidatorAllocations, FunctionBody, Operator, ValidatorResources};

use super::depth::{Depth, Keeper};
use super::gas::{self, Purse};
use super::locals::Locals;
use super::memory::Addresses;
use super::nan;
use super::plan::Plan;
use super::report::Report;
use crate::admit::at_most;
use crate::error::{LoadError, Quantity};

/// Locals that a function can have at most, parameters among them, and bytes of its code: what engines agree on.
const MOST_LOCALS: u64 = 50_000;
const MOST_BODY_BYTES: u64 = 7_654_321 - 1_024;

/// Rewrites the functions of one module.
pub(super) struct Bodies<'a> {
    pub(super) plan: &'a Plan,
    pub(super) addresses: Addresses<'a>,
    pub(super) report: Report,
}

impl Bodies<'_> {
    /// A function as any engine may run it.
    pub(super) fn rewrite(
        &mut self,
        function: FuncToValidate<ValidatorResources>,
        body: &FunctionBody<'_>,
    ) -> Result<Function, LoadError> {
        let operators = body.get_operators_reader()?.into_iter_with_offsets().collect::<Result<Vec<_>, _>>()?;
        let depth = self.plan.depths.of(function.index);
        let validator = || begin(&function, body);
        let repairs = nan::repairs(&operators, validator()?)?;
        let mut locals = Locals::behind(validator()?.len_locals());
        let globals = self.plan.appended.globals;
        let purse = Purse { global: globals.gas, gas: locals.own(ValType::I64), length: locals.scratch(ValType::I32) };
        let keeper = depth.changes.then(|| Keeper { global: globals.depth, local: locals.own(ValType::I32) });
        let mut inserted = Inserted { repairs: &repairs, tolls: &gas::tolls(&operators) };
        let mut code = Vec::new();
        for (index, (operator, at)) in operators.iter().enumerate() {
            inserted.before(*at, &purse, &mut locals, &mut code);
            if let Some(keeper) = &keeper {
                let previous = index.checked_sub(1).and_then(|index| operators.get(index));
                self.keep_depth(keeper, depth, previous.map(|(previous, _)| previous), &mut code);
            }
            let marked = self.addresses.rewrite(operator, &mut locals, &mut code)?;
            self.report.marked_stores += u64::from(marked);
        }
        self.report.nan_repairs += repairs.len() as u64;
        let all_locals = u64::from(validator()?.len_locals()) + locals.added().len() as u64;
        at_most(Quantity::RewrittenLocals, all_locals, MOST_LOCALS)?;
        at_most(Quantity::RewrittenBytes, code.len() as u64, MOST_BODY_BYTES)?;
        let mut rewritten = Function::new(declared(body, &locals)?);
        rewritten.raw(code);
        Ok(rewritten)
    }

    /// What the depth needs behind an instruction, or where the function begins.
    fn keep_depth(&self, keeper: &Keeper, depth: Depth, previous: Option<&Operator<'_>>, code: &mut Vec<u8>) {
        let type_of = |index: u32| -> Option<CoreTypeId> { self.plan.types.get(index as usize).copied() };
        match previous {
            None => keeper.begin(depth.cost, code),
            Some(previous) if self.plan.depths.changed_by(previous, type_of) => keeper.put_back(code),
            Some(_) => {}
        }
    }
}

/// What is yet to be inserted, in the order of the offsets.
struct Inserted<'a> {
    repairs: &'a [nan::Repair],
    tolls: &'a [gas::Toll],
}

impl Inserted<'_> {
    /// Appends what stands before the instruction at this offset.
    fn before(&mut self, at: usize, purse: &Purse, locals: &mut Locals, code: &mut Vec<u8>) {
        while let Some((toll, rest)) = self.tolls.split_first().filter(|(toll, _)| toll.at == at) {
            toll.encode(purse, code);
            self.tolls = rest;
        }
        while let Some((repair, rest)) = self.repairs.split_first().filter(|(repair, _)| repair.at == at) {
            repair.encode(locals, code);
            self.repairs = rest;
        }
    }
}

/// A validator that stands at the function's start.
fn begin(
    function: &FuncToValidate<ValidatorResources>,
    body: &FunctionBody<'_>,
) -> Result<FuncValidator<ValidatorResources>, LoadError> {
    let FuncToValidate { resources, index, ty, features } = function;
    let (resources, allocations) = (resources.clone(), FuncValidatorAllocations::default());
    let function = FuncToValidate { resources, index: *index, ty: *ty, features: *features };
    let mut validator = function.into_validator(allocations);
    validator.read_locals(&mut body.get_binary_reader())?;
    Ok(validator)
}

/// The function's own locals, and those that were added.
fn declared(body: &FunctionBody<'_>, locals: &Locals) -> Result<Vec<(u32, ValType)>, LoadError> {
    let mut declared = Vec::new();
    for local in body.get_locals_reader()? {
        let (count, ty) = local?;
        declared.push((count, ValType::try_from(ty).map_err(|_| LoadError::unencodable(&ty))?));
    }
    declared.extend(locals.added().iter().map(|ty| (1, *ty)));
    Ok(declared)
}
