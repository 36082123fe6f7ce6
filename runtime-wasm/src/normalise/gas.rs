//! Gas in the module itself, so that it ends at the same instruction in any engine (W4, W5).
//!
//! A function keeps the gas that is left in a local of its own, takes it from a global when it begins and after each call, and
//! puts it back before each call and when it ends. Every run of instructions without a branch is paid for where it begins: one
//! unit an instruction, nothing for what only shapes the code. Where a function or a round of a loop begins, gas below zero
//! traps; between these there is no way back, so no run without end goes unpaid. Instructions on memory whose work has a length
//! pay for that length first, a memory that grows for what it grows by.
//!
//! Gas below zero in the global marks such a trap; the host looks there, and after a call as well.

use wasm_encoder::{BlockType, Encode, Instruction};
use wasmparser::Operator;

/// Bytes that one unit pays for, as a power of two, where work has a length.
pub(super) const BYTES_OF_A_UNIT_LOG2: i64 = 4;

/// Something to insert before the instruction at this offset of the module.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Toll {
    pub(super) at: usize,
    kind: Kind,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Kind {
    /// The global's gas becomes the local's.
    Take,
    /// The local's gas becomes the global's.
    Give,
    /// A run of instructions costs this much.
    Pay(i64),
    /// Gas below zero traps.
    Stop,
    /// The length on top of the operands is paid for.
    PayBytes,
}

/// Where a function keeps its gas, and a length while it is paid for.
#[derive(Clone, Copy, Debug)]
pub(super) struct Purse {
    pub(super) global: u32,
    pub(super) gas: u32,
    pub(super) length: u32,
}

/// What to insert into a function, in the order of the offsets.
pub(super) fn tolls(operators: &[(Operator<'_>, usize)]) -> Vec<Toll> {
    let Some((_, first)) = operators.first() else { return Vec::new() };
    let mut tolls = vec![Toll { at: *first, kind: Kind::Take }];
    let (mut begin, mut cost, mut stops, mut depth) = (*first, 0, true, 0_u32);
    let last = operators.len() - 1;
    let mut inside = Vec::new();
    for (index, (operator, at)) in operators.iter().enumerate() {
        cost += price(operator);
        inside.extend(before(operator, depth, index == last).map(|kind| Toll { at: *at, kind }));
        match operator {
            Operator::Block { .. } | Operator::Loop { .. } | Operator::If { .. } => depth += 1,
            Operator::End => depth = depth.saturating_sub(1),
            _ => {}
        }
        let next = operators.get(index + 1).map(|(_, next)| *next);
        if let (true, Some(next)) = (pays_itself(operator), next) {
            inside.push(Toll { at: next, kind: Kind::Take });
        }
        if ends_a_run(operator) {
            let pay = (cost > 0).then_some(Toll { at: begin, kind: Kind::Pay(cost) });
            let stop = stops.then_some(Toll { at: begin, kind: Kind::Stop });
            tolls.extend(pay.into_iter().chain(stop));
            tolls.append(&mut inside);
            (begin, cost, stops) = (next.unwrap_or(*at), 0, matches!(operator, Operator::Loop { .. }));
        }
    }
    tolls
}

/// Units of an instruction.
fn price(operator: &Operator<'_>) -> i64 {
    let shapes = matches!(
        operator,
        Operator::Block { .. } | Operator::Loop { .. } | Operator::Else | Operator::End | Operator::Nop
    );
    i64::from(!shapes)
}

/// Whether what follows an instruction may be reached without it, or not be reached.
pub(super) fn ends_a_run(operator: &Operator<'_>) -> bool {
    matches!(
        operator,
        Operator::Loop { .. }
            | Operator::If { .. }
            | Operator::Else
            | Operator::End
            | Operator::Br { .. }
            | Operator::BrIf { .. }
            | Operator::BrTable { .. }
            | Operator::Return
            | Operator::Unreachable
    )
}

/// Whether an instruction runs what takes gas from the global: another function, or the growing of the memory.
fn pays_itself(operator: &Operator<'_>) -> bool {
    matches!(operator, Operator::Call { .. } | Operator::CallIndirect { .. } | Operator::MemoryGrow { .. })
}

/// What must happen before an instruction: gas goes back where the function may end, and lengths are paid.
fn before(operator: &Operator<'_>, depth: u32, is_last: bool) -> Option<Kind> {
    let leaves = |label: u32| label >= depth;
    match operator {
        Operator::Return => Some(Kind::Give),
        _ if pays_itself(operator) => Some(Kind::Give),
        Operator::Br { relative_depth } | Operator::BrIf { relative_depth } if leaves(*relative_depth) => {
            Some(Kind::Give)
        }
        Operator::BrTable { targets } => {
            let any = leaves(targets.default()) || targets.targets().any(|target| target.is_ok_and(leaves));
            any.then_some(Kind::Give)
        }
        Operator::End if is_last => Some(Kind::Give),
        Operator::MemoryFill { .. } | Operator::MemoryCopy { .. } => Some(Kind::PayBytes),
        _ => None,
    }
}

impl Toll {
    /// Appends its instructions, which leave the operands as they are.
    pub(super) fn encode(&self, purse: &Purse, out: &mut Vec<u8>) {
        let Purse { global, gas, length } = *purse;
        let mut put = |instructions: &[Instruction<'_>]| instructions.iter().for_each(|next| next.encode(out));
        let stop = [
            Instruction::LocalGet(gas),
            Instruction::I64Const(0),
            Instruction::I64LtS,
            Instruction::If(BlockType::Empty),
            Instruction::LocalGet(gas),
            Instruction::GlobalSet(global),
            Instruction::Unreachable,
            Instruction::End,
        ];
        match self.kind {
            Kind::Take => put(&[Instruction::GlobalGet(global), Instruction::LocalSet(gas)]),
            Kind::Give => put(&[Instruction::LocalGet(gas), Instruction::GlobalSet(global)]),
            Kind::Pay(cost) => put(&[
                Instruction::LocalGet(gas),
                Instruction::I64Const(cost),
                Instruction::I64Sub,
                Instruction::LocalSet(gas),
            ]),
            Kind::Stop => put(&stop),
            Kind::PayBytes => {
                put(&[
                    Instruction::LocalTee(length),
                    Instruction::LocalGet(gas),
                    Instruction::LocalGet(length),
                    Instruction::I64ExtendI32U,
                    Instruction::I64Const(BYTES_OF_A_UNIT_LOG2),
                    Instruction::I64ShrU,
                    Instruction::I64Sub,
                    Instruction::LocalSet(gas),
                ]);
                put(&stop);
            }
        }
    }
}
