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
/// `operators` are its instructions with their offsets, `validator` gives one that stands at its start, as often as asked.
pub(super) fn repairs<'a>(
    operators: &[(Operator<'a>, usize)],
    validator: impl Fn() -> Result<FuncValidator<ValidatorResources>, LoadError>,
) -> Result<Vec<Repair>, LoadError> {
    let mut loose_locals = Vec::new();
    loop {
        let mut walk = Walk { validator: validator()?, loose: Vec::new(), loose_locals, repairs: Vec::new() };
        walk.begin();
        let before = walk.loose_locals.clone();
        for (index, (operator, offset)) in operators.iter().enumerate() {
            walk.step(operator, *offset, operators.get(index + 1))?;
        }
        if walk.loose_locals == before {
            return Ok(walk.repairs);
        }
        loose_locals = walk.loose_locals;
    }
}

/// One pass over a function: which operands are loose, beside the validator's own stack.
struct Walk {
    validator: FuncValidator<ValidatorResources>,
    loose: Vec<bool>,
    loose_locals: Vec<bool>,
    repairs: Vec<Repair>,
}

impl Walk {
    fn begin(&mut self) {
        let locals = self.validator.len_locals() as usize;
        if self.loose_locals.is_empty() {
            let resources = self.validator.resources();
            let parameters = resources.type_index_of_function(self.validator.index());
            let parameters = parameters.and_then(|ty| resources.sub_type_at(ty)).map_or(locals, |ty| {
                match &ty.composite_type.inner {
                    CompositeInnerType::Func(function) => function.params().len(),
                    _ => locals,
                }
            });
            self.loose_locals = (0..locals).map(|local| local < parameters).collect();
        }
    }

    /// Whether the operand `depth` below the topmost is loose; unknown ones, in code that is never reached, are.
    fn is_loose(&self, depth: usize) -> bool {
        self.loose.iter().rev().nth(depth).copied().unwrap_or(true)
    }

    fn step(
        &mut self,
        operator: &Operator<'_>,
        offset: usize,
        next: Option<&(Operator<'_>, usize)>,
    ) -> Result<(), LoadError> {
        if let Some(lanes) = self.observed(operator).filter(|_| self.is_loose(0)) {
            self.repairs.push(Repair { at: offset, lanes });
        }
        let result_is_loose = self.result_is_loose(operator);
        let results = operator.operator_arity(&self.validator).map_or(0, |(_, results)| results as usize);
        self.note_local(operator);
        self.validator.op(offset, operator)?;
        let height = self.validator.operand_stack_height() as usize;
        self.loose.truncate(height.saturating_sub(results));
        self.loose.resize(height, result_is_loose);
        let taken_as_lanes = |lanes| next.is_some_and(|(next, _)| vector_arithmetic(next) == Some(lanes));
        if let (Some(lanes), Some((_, after))) = (vector_result(operator), next)
            && !taken_as_lanes(lanes)
        {
            self.repairs.push(Repair { at: *after, lanes });
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

    /// Whether what an instruction gives is loose, if it is a float. Whatever is not listed might be.
    fn result_is_loose(&self, operator: &Operator<'_>) -> bool {
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
            | Operator::F64x2ExtractLane { .. } => false,
            Operator::F32Neg | Operator::F64Neg | Operator::F32Abs | Operator::F64Abs => self.is_loose(0),
            Operator::F32Copysign | Operator::F64Copysign => self.is_loose(1),
            Operator::Select | Operator::TypedSelect { .. } => self.is_loose(1) || self.is_loose(2),
            Operator::LocalGet { local_index } => self.local_is_loose(*local_index),
            Operator::LocalTee { .. } => self.is_loose(0),
            _ => true,
        }
    }

    fn local_is_loose(&self, local: u32) -> bool {
        self.loose_locals.get(local as usize).copied().unwrap_or(true)
    }

    fn note_local(&mut self, operator: &Operator<'_>) {
        let (Operator::LocalSet { local_index } | Operator::LocalTee { local_index }) = operator else { return };
        if self.is_loose(0)
            && let Some(local) = self.loose_locals.get_mut(*local_index as usize)
        {
            *local = true;
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
