//! The game's memory behind a base: shifted addresses, a size that only a global knows (W7), and the marks of what was written
//! (W6).
//!
//! Loads and stores get the base added to their offset. `memory.size` reads the global, and what has a length or a meaning of its
//! own (`memory.fill`, `memory.copy`, `memory.grow`) becomes a call of a function that [`helpers`](super::helpers) adds. Behind a
//! store its first and its last byte's pages are marked; behind, because then the addresses are known to be in the memory and
//! can't overflow.

use wasm_encoder::reencode::{self, Reencode};
use wasm_encoder::{Encode, Instruction, MemArg, ValType};
use wasmparser::Operator;

use super::layout::Layout;
use super::locals::Locals;
use super::plan::Appended;
use crate::error::LoadError;

/// A page's number is its address without these bits.
pub(super) const PAGE_BITS: i32 = 12;
const _: () = assert!(1 << PAGE_BITS == crate::pages::SMALL_PAGE_BYTES);

/// Whether a module marks what it writes. It changes nothing that the game or anybody after it can see.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Marks {
    /// Into the dirty map.
    Map,
    /// Not at all; the host finds out by other means.
    None,
}

/// Rewrites the instructions of one module.
#[derive(Debug)]
pub(super) struct Addresses<'a> {
    pub(super) layout: Layout,
    pub(super) marks: Marks,
    pub(super) appended: &'a Appended,
}

impl Reencode for Addresses<'_> {
    type Error = core::convert::Infallible;

    /// An offset that the base takes beyond 32 bits is one that no address of the game reaches, and stays so.
    fn mem_arg(&mut self, arg: wasmparser::MemArg) -> Result<MemArg, reencode::Error> {
        let offset = arg.offset.saturating_add(u64::from(self.layout.base())).min(u64::from(u32::MAX));
        Ok(MemArg { offset, align: u32::from(arg.align), memory_index: 0 })
    }
}

impl Addresses<'_> {
    /// Appends what an instruction becomes, and says whether it marks what it writes.
    pub(super) fn rewrite(
        &mut self,
        operator: &Operator<'_>,
        locals: &mut Locals,
        out: &mut Vec<u8>,
    ) -> Result<bool, LoadError> {
        let helpers = self.appended.helpers;
        let instead = match operator {
            Operator::MemorySize { .. } => Some(Instruction::GlobalGet(self.appended.globals.pages)),
            Operator::MemoryGrow { .. } => helpers.grow.map(Instruction::Call),
            Operator::MemoryFill { .. } => helpers.fill.map(Instruction::Call),
            Operator::MemoryCopy { .. } => helpers.copy.map(Instruction::Call),
            _ => None,
        };
        if let Some(instead) = instead {
            instead.encode(out);
            return Ok(false);
        }
        let written = stored(operator).filter(|_| self.marks == Marks::Map);
        let instruction = self.instruction(operator.clone()).map_err(|error| LoadError::unencodable(&error))?;
        let Some(Stored { value, bytes, offset }) = written else {
            instruction.encode(out);
            return Ok(false);
        };
        let (value, address) = (locals.scratch(value), locals.address());
        let before = [Instruction::LocalSet(value), Instruction::LocalTee(address), Instruction::LocalGet(value)];
        before.iter().for_each(|instruction| instruction.encode(out));
        instruction.encode(out);
        mark(address, offset, out);
        if bytes > 1 {
            mark(address, offset.saturating_add(bytes - 1), out);
        }
        Ok(true)
    }
}

/// Marks the page of an address and an offset, which are in the memory.
fn mark(address: u32, offset: u32, out: &mut Vec<u8>) {
    Instruction::LocalGet(address).encode(out);
    if offset > 0 {
        [Instruction::I32Const(offset.cast_signed()), Instruction::I32Add].iter().for_each(|next| next.encode(out));
    }
    let marked = [Instruction::I32Const(PAGE_BITS), Instruction::I32ShrU, Instruction::I32Const(1), MARK];
    marked.iter().for_each(|instruction| instruction.encode(out));
}

/// Writes the byte on top into the map at the page below it.
pub(super) const MARK: Instruction<'static> = Instruction::I32Store8(MemArg { offset: 0, align: 0, memory_index: 0 });

/// What a store writes.
struct Stored {
    value: ValType,
    bytes: u32,
    offset: u32,
}

fn stored(operator: &Operator<'_>) -> Option<Stored> {
    let (memarg, value, bytes) = match operator {
        Operator::I32Store8 { memarg } => (memarg, ValType::I32, 1),
        Operator::I32Store16 { memarg } => (memarg, ValType::I32, 2),
        Operator::I32Store { memarg } => (memarg, ValType::I32, 4),
        Operator::I64Store8 { memarg } => (memarg, ValType::I64, 1),
        Operator::I64Store16 { memarg } => (memarg, ValType::I64, 2),
        Operator::I64Store32 { memarg } => (memarg, ValType::I64, 4),
        Operator::I64Store { memarg } => (memarg, ValType::I64, 8),
        Operator::F32Store { memarg } => (memarg, ValType::F32, 4),
        Operator::F64Store { memarg } => (memarg, ValType::F64, 8),
        Operator::V128Store { memarg } => (memarg, ValType::V128, 16),
        Operator::V128Store8Lane { memarg, .. } => (memarg, ValType::V128, 1),
        Operator::V128Store16Lane { memarg, .. } => (memarg, ValType::V128, 2),
        Operator::V128Store32Lane { memarg, .. } => (memarg, ValType::V128, 4),
        Operator::V128Store64Lane { memarg, .. } => (memarg, ValType::V128, 8),
        _ => return None,
    };
    // Validation keeps offsets of a 32-bit memory below 2^32.
    Some(Stored { value, bytes, offset: u32::try_from(memarg.offset).unwrap_or(u32::MAX) })
}
