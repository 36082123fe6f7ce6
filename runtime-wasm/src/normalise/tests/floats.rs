//! Random modules that do little else than make NaNs and look at their bits.

use wasm_encoder::{
    BlockType, CodeSection, ConstExpr, DataSection, ExportKind, ExportSection, Function, FunctionSection, Ieee32,
    Ieee64, Instruction as I, MemArg, MemorySection, MemoryType, Module, TypeSection, ValType,
};

const STATEMENTS: usize = 80;
/// Locals of a function, its two parameters first: floats, doubles, vectors.
const F32: [u32; 3] = [0, 2, 3];
const F64: [u32; 3] = [1, 4, 5];
const V128: [u32; 3] = [6, 7, 8];

/// Random bytes of a seed.
struct Dice(blake3::OutputReader);

impl Dice {
    fn below(&mut self, limit: usize) -> usize {
        let mut bytes = [0; 8];
        self.0.fill(&mut bytes);
        usize::from_le_bytes(bytes) % limit
    }

    fn of<T: Clone>(&mut self, choices: &[T]) -> T {
        choices[self.below(choices.len())].clone()
    }
}

/// A module of two functions, of which one calls the other.
pub(super) fn module(seed: u64) -> Vec<u8> {
    let mut dice = Dice(blake3::Hasher::new().update(b"floats").update(&seed.to_le_bytes()).finalize_xof());
    let (mut types, mut functions, mut code) = (TypeSection::new(), FunctionSection::new(), CodeSection::new());
    types.ty().function([ValType::F32, ValType::F64], [ValType::F64]);
    for calls in [false, true] {
        functions.function(0);
        let mut function = Function::new([(2, ValType::F32), (2, ValType::F64), (3, ValType::V128)]);
        for _ in 0..STATEMENTS {
            statement(&mut function, &mut dice);
        }
        if calls {
            [I::LocalGet(F32[1]), I::LocalGet(F64[1]), I::Call(0), I::LocalSet(F64[2])]
                .iter()
                .for_each(|instruction| push(&mut function, instruction));
            store(&mut function, &mut dice, 1);
        }
        function.instruction(&I::LocalGet(F64[0])).instruction(&I::End);
        code.function(&function);
    }
    let mut memories = MemorySection::new();
    memories.memory(MemoryType { minimum: 1, maximum: None, memory64: false, shared: false, page_size_log2: None });
    let mut exports = ExportSection::new();
    exports.export("memory", ExportKind::Memory, 0).export("f", ExportKind::Func, 1).export("g", ExportKind::Func, 0);
    let mut data = DataSection::new();
    let bytes: Vec<u8> = (0..512).map(|_| dice.of(&[0, 0, 0x80, 0x7F, 0xFF, 0xF0, 0xF8, 0x3F, 1])).collect();
    data.active(0, &ConstExpr::i32_const(0), bytes);
    let mut module = Module::new();
    module.section(&types).section(&functions).section(&memories).section(&exports).section(&code).section(&data);
    module.finish()
}

fn push(function: &mut Function, instruction: &I<'_>) {
    function.instruction(instruction);
}

fn place(dice: &mut Dice) -> MemArg {
    MemArg { offset: dice.below(500) as u64, align: 0, memory_index: 0 }
}

/// Stores one of the locals, or its bits as an integer.
fn store(function: &mut Function, dice: &mut Dice, width: usize) {
    let place = place(dice);
    function.instruction(&I::I32Const(0));
    let (get, store): (u32, Vec<I<'_>>) = match width {
        0 => (dice.of(&F32), dice.of(&[vec![I::F32Store(place)], vec![I::I32ReinterpretF32, I::I32Store(place)]])),
        1 => (dice.of(&F64), dice.of(&[vec![I::F64Store(place)], vec![I::I64ReinterpretF64, I::I64Store(place)]])),
        _ => (dice.of(&V128), vec![I::V128Store(place)]),
    };
    function.instruction(&I::LocalGet(get));
    store.iter().for_each(|instruction| push(function, instruction));
}

fn statement(function: &mut Function, dice: &mut Dice) {
    let [a32, b32, c32] = [0; 3].map(|_| dice.of(&F32));
    let [a64, b64, c64] = [0; 3].map(|_| dice.of(&F64));
    let [av, bv, cv] = [0; 3].map(|_| dice.of(&V128));
    let (place, width) = (place(dice), dice.below(3));
    let lane = dice.of(&[0, 1]);
    let binary32 = dice.of(&[I::F32Add, I::F32Sub, I::F32Mul, I::F32Div, I::F32Min, I::F32Max]);
    let binary64 = dice.of(&[I::F64Add, I::F64Sub, I::F64Mul, I::F64Div, I::F64Min, I::F64Max]);
    let vector = dice.of(&[
        I::F32x4Add,
        I::F32x4Sub,
        I::F32x4Mul,
        I::F32x4Div,
        I::F64x2Add,
        I::F64x2Sub,
        I::F64x2Mul,
        I::F64x2Div,
        I::F32x4PMin,
        I::F64x2PMax,
        I::F32x4Min,
        I::F64x2Max,
    ]);
    let again = dice.of(&[I::F32x4Mul, I::F64x2Add, I::F32x4Sqrt, I::V128Not]);
    let again = match again {
        I::F32x4Sqrt | I::V128Not => vec![again],
        _ => vec![I::LocalGet(cv), again],
    };
    let unary32 = dice.of(&[I::F32Sqrt, I::F32Abs, I::F32Ceil, I::F32Nearest]);
    let unary64 = dice.of(&[I::F64Sqrt, I::F64Abs, I::F64Floor, I::F64Trunc]);
    let statements: Vec<Vec<I<'_>>> = vec![
        vec![I::I32Const(0), I::F32Load(place), I::LocalSet(a32)],
        vec![I::I32Const(0), I::F64Load(place), I::LocalSet(a64)],
        vec![I::I32Const(0), I::V128Load(place), I::LocalSet(av)],
        vec![I::LocalGet(a32), I::LocalGet(b32), binary32, I::LocalSet(c32)],
        vec![I::LocalGet(a64), I::LocalGet(b64), binary64, I::LocalSet(c64)],
        [vec![I::LocalGet(av), I::LocalGet(bv), vector], again, vec![I::LocalSet(cv)]].concat(),
        vec![I::LocalGet(a32), unary32, I::LocalTee(b32), I::F64PromoteF32, I::LocalSet(a64)],
        vec![I::LocalGet(a64), unary64, I::LocalTee(b64), I::F32DemoteF64, I::LocalSet(a32)],
        vec![I::F32Const(Ieee32::new(0x7FA0_1234)), I::LocalSet(a32)],
        vec![I::F64Const(Ieee64::new(0xFFF0_0000_0000_0001)), I::LocalSet(a64)],
        vec![I::LocalGet(a32), I::F32x4Splat, I::LocalSet(av)],
        vec![I::LocalGet(av), I::LocalGet(a64), I::F64x2ReplaceLane(lane), I::LocalSet(bv)],
        vec![I::LocalGet(av), I::F32x4ExtractLane(lane), I::LocalSet(a32)],
        vec![
            I::LocalGet(a32),
            I::LocalGet(b32),
            I::LocalGet(a64),
            I::LocalGet(b64),
            I::F64Lt,
            I::Select,
            I::LocalSet(c32),
        ],
        vec![
            I::LocalGet(a64),
            I::LocalGet(b64),
            I::F64Gt,
            I::If(BlockType::Result(ValType::F64)),
            I::LocalGet(a64),
            I::LocalGet(c64),
            I::F64Div,
            I::Else,
            I::LocalGet(b64),
            I::End,
            I::LocalSet(c64),
        ],
        vec![I::LocalGet(av), I::F64x2PromoteLowF32x4, I::LocalSet(bv)],
        vec![I::LocalGet(av), I::F32x4DemoteF64x2Zero, I::LocalSet(bv)],
    ];
    let signs_turned: Vec<Vec<I<'_>>> = vec![
        vec![I::LocalGet(a32), I::F32Neg, I::LocalSet(b32)],
        vec![I::LocalGet(a64), I::LocalGet(b64), I::F64Copysign, I::LocalSet(c64)],
        vec![I::LocalGet(av), I::F32x4Neg, I::LocalSet(bv)],
    ];
    match dice.below(10) {
        0..3 => store(function, dice, width),
        3 => dice.of(&signs_turned).iter().for_each(|instruction| push(function, instruction)),
        _ => dice.of(&statements).iter().for_each(|instruction| push(function, instruction)),
    }
}
