//! Small modules that are admitted, each with other things that the rewrite looks after, and some that are refused.

use wasm_encoder::{
    BlockType, CodeSection, ConstExpr, DataSection, EntityType, ExportKind, ExportSection, Function, FunctionSection,
    GlobalSection, GlobalType, ImportSection, InstructionSink, MemArg, MemorySection, MemoryType, Module, StartSection,
    TypeSection, ValType,
};

/// What a module has beside the interface.
#[derive(Clone, Copy, Default)]
struct Parts {
    imports_log: bool,
    starts: bool,
    maximum_pages: Option<u64>,
    step: Option<fn(&mut InstructionSink<'_>)>,
}

const AT: MemArg = MemArg { offset: 8, align: 2, memory_index: 0 };

/// Every module with its name.
pub(super) fn all() -> Vec<(&'static str, Vec<u8>)> {
    let step = |step| Parts { step: Some(step), maximum_pages: Some(2), ..Parts::default() };
    vec![
        ("smallest", module(Parts::default())),
        ("stores", module(step(stores))),
        ("loops", module(step(loops))),
        ("floats", module(step(floats))),
        ("vectors", module(step(vectors))),
        ("grows", module(Parts { maximum_pages: None, ..step(grows) })),
        ("recurses", module(step(recurses))),
        ("logs", module(Parts { imports_log: true, ..step(stores) })),
        // Refused, each for another reason.
        ("refused-start", module(Parts { starts: true, ..Parts::default() })),
        ("refused-pages", module(Parts { maximum_pages: Some(0), ..Parts::default() })),
        ("refused-empty", Module::new().finish()),
    ]
}

fn stores(code: &mut InstructionSink<'_>) {
    code.local_get(0).local_get(1).i32_store(AT);
    code.global_get(0).i64_const(1).i64_add().global_set(0);
    code.i32_const(0).i32_const(7).i32_const(64).memory_fill(0);
}

fn loops(code: &mut InstructionSink<'_>) {
    code.loop_(BlockType::Empty).local_get(1).i32_const(1).i32_sub().local_tee(1).br_if(0).end();
    code.block(BlockType::Empty).local_get(0).br_table([0, 0], 0).end();
}

fn floats(code: &mut InstructionSink<'_>) {
    let at = MemArg { align: 3, ..AT };
    code.i32_const(0).i32_const(0).f64_load(at).f64_sqrt().local_get(0).f64_convert_i32_s().f64_div().f64_store(at);
    code.i32_const(0).local_get(1).f32_convert_i32_u().i32_reinterpret_f32().i32_store(AT);
}

fn vectors(code: &mut InstructionSink<'_>) {
    let at = MemArg { align: 4, ..AT };
    code.i32_const(0).local_get(0).f32_convert_i32_s().f32x4_splat().f32x4_sqrt().v128_store(at);
}

fn grows(code: &mut InstructionSink<'_>) {
    code.i32_const(1).memory_grow(0).drop().memory_size(0).drop();
}

fn recurses(code: &mut InstructionSink<'_>) {
    code.local_get(0).if_(BlockType::Empty).local_get(0).i32_const(1).i32_sub().local_get(1).call(4).drop().end();
}

/// The interface's functions, in the order of their indices behind the imports: abi, buffer, describe, init, step.
fn module(parts: Parts) -> Vec<u8> {
    let mut types = TypeSection::new();
    let word = ValType::I32;
    types.ty().function([], [word]);
    types.ty().function([word], [word]);
    types.ty().function([], [ValType::I64]);
    types.ty().function([word, word], [word]);
    types.ty().function([word, word], []);
    types.ty().function([], []);
    let mut module = Module::new();
    module.section(&types);
    let mut imports = ImportSection::new();
    if parts.imports_log {
        imports.import("retick", "log", EntityType::Function(4));
    }
    module.section(&imports);
    let first = u32::from(parts.imports_log);
    let mut functions = FunctionSection::new();
    for ty in [0, 1, 2, 3, 3, 5].into_iter().take(if parts.starts { 6 } else { 5 }) {
        functions.function(ty);
    }
    module.section(&functions);
    let mut memories = MemorySection::new();
    let (minimum, maximum) = (1, parts.maximum_pages);
    memories.memory(MemoryType { minimum, maximum, memory64: false, shared: false, page_size_log2: None });
    module.section(&memories);
    let mut globals = GlobalSection::new();
    globals.global(GlobalType { val_type: ValType::I64, mutable: true, shared: false }, &ConstExpr::i64_const(5));
    module.section(&globals);
    let mut exports = ExportSection::new();
    exports.export("memory", ExportKind::Memory, 0);
    for (name, index) in
        ["retick_abi", "retick_buffer", "retick_describe", "retick_init", "retick_step"].iter().zip(first..)
    {
        exports.export(name, ExportKind::Func, index);
    }
    module.section(&exports);
    if parts.starts {
        module.section(&StartSection { function_index: first + 5 });
    }
    let mut codes = CodeSection::new();
    body(&mut codes, |code| _ = code.i32_const(1));
    body(&mut codes, |code| _ = code.i32_const(32_768));
    body(&mut codes, |code| _ = code.i64_const(0));
    body(&mut codes, |code| _ = code.i32_const(0));
    body(&mut codes, |code| {
        parts.step.into_iter().for_each(|step| step(code));
        code.i32_const(0);
    });
    if parts.starts {
        body(&mut codes, |_| {});
    }
    module.section(&codes);
    let mut data = DataSection::new();
    data.active(0, &ConstExpr::i32_const(4096), *b"what it says of its game");
    module.section(&data);
    module.finish()
}

fn body(codes: &mut CodeSection, write: impl FnOnce(&mut InstructionSink<'_>)) {
    let mut function = Function::new([]);
    write(&mut function.instructions());
    function.instructions().end();
    codes.function(&function);
}
