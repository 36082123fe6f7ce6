//! NaN bits made canonical in the module itself, only where they become observable (W4).
//!
//! An arithmetic instruction may give a NaN any bits, and engines differ in which. What nobody sees needs no repair: a value
//! that may be such a NaN is *loose*, and is followed along the operand stack and through locals. Where its bits would show (in
//! memory, in a global, in an integer, as a sign, in a vector), it is replaced by the one canonical NaN if it is a NaN. All
//! other values keep their bits, a NaN's payload that was loaded or spelled out included.
//!
//! A local is loose in all of a function when something loose is ever put into it; parameters, results of calls and of blocks
//! are always loose. Vectors are repaired where they are made, unless the very next instruction takes them as the same lanes.

use wasm_encoder::{Encode, Ieee32, Ieee64, Instruction, ValType};
use wasmparser::{CompositeInnerType, FuncValidator, Operator, ValidatorResources, WasmModuleResources};

use super::locals::Locals;
use crate::error::LoadError;

/// What a repair works on.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(super) enum Lanes {
    F32,
    F64,
    F32x4,
    F64x2,
}

/// A repair of the topmost operand, before the instruction at this offset of the module.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Repair {
    pub(super) at: usize,
    pub(super) lanes: Lanes,
}

/// The canonical NaN of each width: positive, quiet, without payload.
const NAN_F32: u32 = 0x7FC0_0000;
const NAN_F64: u64 = 0x7FF8_0000_0000_0000;

impl Repair {
    /// Appends the repair's instructions: the operand itself if it equals itself, the canonical NaN otherwise.
    pub(super) fn encode(&self, locals: &mut Locals, out: &mut Vec<u8>) {
        let lanes = |bits: u128, width: u32| (0..128 / width).fold(0_u128, |all, lane| all | bits << (lane * width));
        let (ty, nan, equal, choose) = match self.lanes {
            Lanes::F32 => {
                (ValType::F32, Instruction::F32Const(Ieee32::new(NAN_F32)), Instruction::F32Eq, Instruction::Select)
            }
            Lanes::F64 => {
                (ValType::F64, Instruction::F64Const(Ieee64::new(NAN_F64)), Instruction::F64Eq, Instruction::Select)
            }
            Lanes::F32x4 => {
                let nan = Instruction::V128Const(lanes(u128::from(NAN_F32), 32).cast_signed());
                (ValType::V128, nan, Instruction::F32x4Eq, Instruction::V128Bitselect)
            }
            Lanes::F64x2 => {
                let nan = Instruction::V128Const(lanes(u128::from(NAN_F64), 64).cast_signed());
                (ValType::V128, nan, Instruction::F64x2Eq, Instruction::V128Bitselect)
            }
        };
        let local = locals.scratch(ty);
        let (get, tee) = (Instruction::LocalGet(local), Instruction::LocalTee(local));
        [tee, nan, get.clone(), get, equal, choose].iter().for_each(|instruction| instruction.encode(out));
    }
}

/// Finds a function's repairs, in the order of their offsets.
///
/// `operators` are its instructions with their offsets, `validator` stands at its start. Which locals are loose is known at the
/// end alone, so that the walk notes what a repair depends on, and decides then: once through the function, whatever it does.
pub(super) fn repairs<'a>(
    operators: &[(Operator<'a>, usize)],
    validator: FuncValidator<ValidatorResources>,
) -> Result<Vec<Repair>, LoadError> {
    let flow = Flow::new(&validator);
    let mut walk = Walk { validator, sources: Vec::new(), flow, repairs: Vec::new() };
    for (index, (operator, offset)) in operators.iter().enumerate() {
        walk.step(operator, *offset, operators.get(index + 1))?;
    }
    let loose = walk.flow.solved();
    let needed = |source| match source {
        Source::Exact => false,
        Source::Loose => true,
        Source::Node(node) => is_loose(&loose, node),
    };
    Ok(walk.repairs.into_iter().filter(|(_, source)| needed(*source)).map(|(repair, _)| repair).collect())
}

/// What decides whether an operand is loose.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Source {
    Exact,
    Loose,
    /// Whatever this node is: a local, or behind these a choice between two.
    Node(u32),
}

/// From where looseness reaches locals and choices.
#[derive(Debug)]
struct Flow {
    loose: Vec<bool>,
    /// If the first is loose, so is the second.
    edges: Vec<(u32, u32)>,
}

fn is_loose(loose: &[bool], node: u32) -> bool {
    loose.get(node as usize).copied().unwrap_or(true)
}

impl Flow {
    /// For a function whose parameters are loose, and no other local yet.
    fn new(validator: &FuncValidator<ValidatorResources>) -> Flow {
        let locals = validator.len_locals() as usize;
        let resources = validator.resources();
        let parameters = resources.type_index_of_function(validator.index());
        let parameters =
            parameters.and_then(|ty| resources.sub_type_at(ty)).map_or(locals, |ty| match &ty.composite_type.inner {
                CompositeInnerType::Func(function) => function.params().len(),
                _ => locals,
            });
        Flow { loose: (0..locals).map(|local| local < parameters).collect(), edges: Vec::new() }
    }

    /// A source reaches a node.
    fn reach(&mut self, source: Source, node: u32) {
        match source {
            Source::Exact => {}
            Source::Loose => {
                if let Some(loose) = self.loose.get_mut(node as usize) {
                    *loose = true;
                }
            }
            Source::Node(from) => self.edges.push((from, node)),
        }
    }

    /// One of two, nobody knows which.
    fn either(&mut self, one: Source, other: Source) -> Source {
        match (one, other) {
            (Source::Loose, _) | (_, Source::Loose) => Source::Loose,
            (Source::Exact, source) | (source, Source::Exact) => source,
            _ if one == other => one,
            _ => {
                let node = u32::try_from(self.loose.len()).unwrap_or(u32::MAX);
                self.loose.push(false);
                self.reach(one, node);
                self.reach(other, node);
                Source::Node(node)
            }
        }
    }

    /// Which nodes are loose, all edges followed.
    fn solved(mut self) -> Vec<bool> {
        self.edges.sort_unstable();
        let mut next: Vec<u32> = (0..).zip(&self.loose).filter(|(_, loose)| **loose).map(|(node, _)| node).collect();
        while let Some(node) = next.pop() {
            let first = self.edges.partition_point(|(from, _)| *from < node);
            for (_, to) in self.edges.iter().skip(first).take_while(|(from, _)| *from == node) {
                if let Some(loose) = self.loose.get_mut(*to as usize).filter(|loose| !**loose) {
                    *loose = true;
                    next.push(*to);
                }
            }
        }
        self.loose
    }
}

/// The pass over a function: where each operand comes from, beside the validator's own stack.
struct Walk {
    validator: FuncValidator<ValidatorResources>,
    sources: Vec<Source>,
    flow: Flow,
    /// Repairs, if what they depend on is loose.
    repairs: Vec<(Repair, Source)>,
}

impl Walk {
    /// Where the operand `depth` below the topmost comes from; unknown ones, in code that is never reached, are loose.
    fn source(&self, depth: usize) -> Source {
        self.sources.iter().rev().nth(depth).copied().unwrap_or(Source::Loose)
    }

    fn step(
        &mut self,
        operator: &Operator<'_>,
        offset: usize,
        next: Option<&(Operator<'_>, usize)>,
    ) -> Result<(), LoadError> {
        if let Some(lanes) = self.observed(operator) {
            self.repairs.push((Repair { at: offset, lanes }, self.source(0)));
        }
        let result = self.result(operator);
        let results = operator.operator_arity(&self.validator).map_or(0, |(_, results)| results as usize);
        if let Operator::LocalSet { local_index } | Operator::LocalTee { local_index } = operator {
            let source = self.source(0);
            self.flow.reach(source, *local_index);
        }
        self.validator.op(offset, operator)?;
        let height = self.validator.operand_stack_height() as usize;
        self.sources.truncate(height.saturating_sub(results));
        self.sources.resize(height, result);
        let taken_as_lanes = |lanes| next.is_some_and(|(next, _)| vector_arithmetic(next) == Some(lanes));
        if let (Some(lanes), Some((_, after))) = (vector_result(operator), next)
            && !taken_as_lanes(lanes)
        {
            self.repairs.push((Repair { at: *after, lanes }, Source::Loose));
        }
        Ok(())
    }

    /// What of the topmost operand an instruction makes observable.
    fn observed(&self, operator: &Operator<'_>) -> Option<Lanes> {
        match operator {
            Operator::F32Store { .. }
            | Operator::I32ReinterpretF32
            | Operator::F32Copysign
            | Operator::F32x4Splat
            | Operator::F32x4ReplaceLane { .. } => Some(Lanes::F32),
            Operator::F64Store { .. }
            | Operator::I64ReinterpretF64
            | Operator::F64Copysign
            | Operator::F64x2Splat
            | Operator::F64x2ReplaceLane { .. } => Some(Lanes::F64),
            // The global's own type: in code that is never reached there may be no operand to ask.
            Operator::GlobalSet { global_index } => {
                match self.validator.resources().global_at(*global_index)?.content_type {
                    wasmparser::ValType::F32 => Some(Lanes::F32),
                    wasmparser::ValType::F64 => Some(Lanes::F64),
                    _ => None,
                }
            }
            _ => None,
        }
    }

    /// Where what an instruction gives comes from, if it is a float. Whatever is not listed might be any NaN.
    fn result(&mut self, operator: &Operator<'_>) -> Source {
        match operator {
            Operator::F32Const { .. }
            | Operator::F64Const { .. }
            | Operator::F32Load { .. }
            | Operator::F64Load { .. }
            | Operator::GlobalGet { .. }
            | Operator::F32ReinterpretI32
            | Operator::F64ReinterpretI64
            | Operator::F32ConvertI32S
            | Operator::F32ConvertI32U
            | Operator::F32ConvertI64S
            | Operator::F32ConvertI64U
            | Operator::F64ConvertI32S
            | Operator::F64ConvertI32U
            | Operator::F64ConvertI64S
            | Operator::F64ConvertI64U
            | Operator::F32x4ExtractLane { .. }
            | Operator::F64x2ExtractLane { .. } => Source::Exact,
            Operator::F32Neg | Operator::F64Neg | Operator::F32Abs | Operator::F64Abs => self.source(0),
            Operator::F32Copysign | Operator::F64Copysign => self.source(1),
            Operator::Select | Operator::TypedSelect { .. } => {
                let (one, other) = (self.source(1), self.source(2));
                self.flow.either(one, other)
            }
            Operator::LocalGet { local_index } => Source::Node(*local_index),
            Operator::LocalTee { .. } => self.source(0),
            _ => Source::Loose,
        }
    }
}

/// The lanes that a vector instruction computes with, and in whose NaNs it takes no interest.
fn vector_arithmetic(operator: &Operator<'_>) -> Option<Lanes> {
    match operator {
        Operator::F32x4Add
        | Operator::F32x4Sub
        | Operator::F32x4Mul
        | Operator::F32x4Div
        | Operator::F32x4Sqrt
        | Operator::F32x4Min
        | Operator::F32x4Max
        | Operator::F32x4Ceil
        | Operator::F32x4Floor
        | Operator::F32x4Trunc
        | Operator::F32x4Nearest
        | Operator::F64x2PromoteLowF32x4 => Some(Lanes::F32x4),
        Operator::F64x2Add
        | Operator::F64x2Sub
        | Operator::F64x2Mul
        | Operator::F64x2Div
        | Operator::F64x2Sqrt
        | Operator::F64x2Min
        | Operator::F64x2Max
        | Operator::F64x2Ceil
        | Operator::F64x2Floor
        | Operator::F64x2Trunc
        | Operator::F64x2Nearest
        | Operator::F32x4DemoteF64x2Zero => Some(Lanes::F64x2),
        _ => None,
    }
}

/// The lanes of a vector instruction's result that may be any NaN.
fn vector_result(operator: &Operator<'_>) -> Option<Lanes> {
    match operator {
        Operator::F64x2PromoteLowF32x4 => Some(Lanes::F64x2),
        Operator::F32x4DemoteF64x2Zero => Some(Lanes::F32x4),
        _ => vector_arithmetic(operator),
    }
}
