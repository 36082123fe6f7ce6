//! The functions that a module gets for what one instruction can't do: filling, copying and growing a memory that stands behind
//! a base, has its size in a global, and is marked.

use wasm_encoder::{BlockType, Function, Instruction as I, MemArg, ValType};

use super::layout::Layout;
use super::memory::{MARK, Marks, PAGE_BITS};
use super::plan::Globals;

/// Units of gas for a page of 64 KiB, as a power of two: as for a fill of it.
const GAS_OF_A_PAGE_LOG2: i64 = 16 - super::gas::BYTES_OF_A_UNIT_LOG2;

/// `memory.grow`: answers from the limit alone, and makes what it grows by zero (W7).
///
/// A game that keeps to its memory finds zeros there; one that wrote beyond its size did so in the memory that it would get, and
/// loses it now. What is zero already is read and not written, so that it stays clean.
pub(super) fn grow(layout: &Layout, marks: Marks, globals: &Globals) -> Function {
    const COUNT: u32 = 0;
    let [old, at, end] = [1, 2, 3];
    let mut function = Function::new([(3, ValType::I32)]);
    put(
        &mut function,
        &[
            I::I32Const(layout.game_pages.cast_signed()),
            I::GlobalGet(globals.pages),
            I::LocalTee(old),
            I::I32Sub,
            I::LocalGet(COUNT),
            I::I32LtU,
            I::If(BlockType::Empty),
            I::I32Const(-1),
            I::Return,
            I::End,
            // Its length is paid for, now that it is known to be one.
            I::GlobalGet(globals.gas),
            I::LocalGet(COUNT),
            I::I64ExtendI32U,
            I::I64Const(GAS_OF_A_PAGE_LOG2),
            I::I64Shl,
            I::I64Sub,
            I::GlobalSet(globals.gas),
            I::GlobalGet(globals.gas),
            I::I64Const(0),
            I::I64LtS,
            I::If(BlockType::Empty),
            I::Unreachable,
            I::End,
            I::LocalGet(old),
            I::I32Const(16),
            I::I32Shl,
            I::LocalSet(at),
            I::LocalGet(old),
            I::LocalGet(COUNT),
            I::I32Add,
            I::LocalTee(COUNT),
            I::GlobalSet(globals.pages),
            I::LocalGet(COUNT),
            I::I32Const(16),
            I::I32Shl,
            I::LocalSet(end),
            I::Block(BlockType::Empty),
            I::Loop(BlockType::Empty),
            I::LocalGet(at),
            I::LocalGet(end),
            I::I32GeU,
            I::BrIf(1),
        ],
    );
    // Sixty-four bytes a round.
    let place = |offset: u64| MemArg { offset: u64::from(layout.base()) + offset, align: 3, memory_index: 0 };
    let offsets = || (0..8_u64).map(|word| word * 8);
    for offset in offsets() {
        put(&mut function, &[I::LocalGet(at), I::I64Load(place(offset))]);
        if offset > 0 {
            put(&mut function, &[I::I64Or]);
        }
    }
    put(&mut function, &[I::I64Const(0), I::I64Ne, I::If(BlockType::Empty)]);
    for offset in offsets() {
        put(&mut function, &[I::LocalGet(at), I::I64Const(0), I::I64Store(place(offset))]);
    }
    if marks == Marks::Map {
        put(&mut function, &[I::LocalGet(at), I::I32Const(PAGE_BITS), I::I32ShrU, I::I32Const(1), MARK]);
    }
    put(
        &mut function,
        &[
            I::End,
            I::LocalGet(at),
            I::I32Const(64),
            I::I32Add,
            I::LocalSet(at),
            I::Br(0),
            I::End,
            I::End,
            I::LocalGet(old),
            I::End,
        ],
    );
    function
}

const TARGET: u32 = 0;
/// The byte of a fill, or where a copy comes from.
const SOURCE: u32 = 1;
const LENGTH: u32 = 2;

/// `memory.fill`.
pub(super) fn fill(layout: &Layout, marks: Marks) -> Function {
    let mut function = Function::new([(2, ValType::I32)]);
    shifted(layout, TARGET, &mut function);
    put(&mut function, &[I::LocalGet(SOURCE), I::LocalGet(LENGTH), I::MemoryFill(0)]);
    mark_written(marks, &mut function);
    function
}

/// `memory.copy`.
pub(super) fn copy(layout: &Layout, marks: Marks) -> Function {
    let mut function = Function::new([(2, ValType::I32)]);
    shifted(layout, TARGET, &mut function);
    shifted(layout, SOURCE, &mut function);
    put(&mut function, &[I::LocalGet(LENGTH), I::MemoryCopy { src_mem: 0, dst_mem: 0 }]);
    mark_written(marks, &mut function);
    function
}

/// Puts an address of the game's there as one of the whole memory. One beyond the limit becomes the last that there is, which no
/// memory reaches, so that the instruction faults as it would have.
fn shifted(layout: &Layout, address: u32, function: &mut Function) {
    put(
        function,
        &[
            I::LocalGet(address),
            I::I32Const(layout.base().cast_signed()),
            I::I32Add,
            I::I32Const(-1),
            I::LocalGet(address),
            I::I32Const(layout.game_bytes().cast_signed()),
            I::I32LeU,
            I::Select,
        ],
    );
}

/// Marks all pages of what was written, and ends.
fn mark_written(marks: Marks, function: &mut Function) {
    let [first, last] = [3, 4];
    if marks == Marks::Map {
        put(
            function,
            &[
                I::LocalGet(LENGTH),
                I::If(BlockType::Empty),
                I::LocalGet(TARGET),
                I::I32Const(PAGE_BITS),
                I::I32ShrU,
                I::LocalTee(first),
                I::I32Const(1),
                MARK,
                I::LocalGet(TARGET),
                I::LocalGet(LENGTH),
                I::I32Add,
                I::I32Const(1),
                I::I32Sub,
                I::I32Const(PAGE_BITS),
                I::I32ShrU,
                I::LocalTee(last),
                I::I32Const(1),
                MARK,
                // Those between the two.
                I::LocalGet(last),
                I::LocalGet(first),
                I::I32Sub,
                I::I32Const(1),
                I::I32GtU,
                I::If(BlockType::Empty),
                I::LocalGet(first),
                I::I32Const(1),
                I::LocalGet(last),
                I::LocalGet(first),
                I::I32Sub,
                I::MemoryFill(0),
                I::End,
                I::End,
            ],
        );
    }
    put(function, &[I::End]);
}

fn put(function: &mut Function, instructions: &[I<'_>]) {
    for instruction in instructions {
        function.instruction(instruction);
    }
}
