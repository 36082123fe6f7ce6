//! W02 at load, and W05: what is refused, before anything is compiled, and by which name.

use retick_core::runtime::{CreateError, RuntimeFactory, StepFault};
use retick_wasm::{ExportRefusal, ImportRefusal, Limits, LoadError, Quantity, WasmFactory};
use wasmparser::{Validator, WasmFeatures};

use crate::support::{description, descriptor, expand, expand_claiming_projection, load, module, refusal};

/// A module with something at its start, before the interface, and something at its end.
fn with(start: &str, end: &str) -> String {
    let step = "(func (export \"retick_step\") (param i32 i32) (result i32) (i32.const 0))";
    format!("(module {start} (memory (export \"memory\") 1)\n;; interface\n{step} {end})")
}

/// The same with another memory.
fn with_memory(memory: &str) -> String {
    with("", "").replacen("\"memory\") 1)", &format!("\"memory\") {memory})"), 1)
}

fn import(module: &str, name: &str, refusal: ImportRefusal) -> LoadError {
    LoadError::Import { module: module.into(), name: name.into(), refusal }
}

fn export(name: &str, refusal: ExportRefusal) -> LoadError {
    LoadError::Export { name: name.into(), refusal }
}

fn instruction(instruction: &str, feature: &str, function: u32) -> LoadError {
    LoadError::Instruction { instruction: instruction.into(), feature: feature.into(), function }
}

/// Index of the step, which stands behind the interface's functions, and of what `with` puts at the end.
const STEP: u32 = 5;
const LAST: u32 = 6;

const STATEFUL: &str = "changing tables and segments";
const EMIT: &str = "(import \"retick\" \"emit\" (func (param i32 i32 i32 i32 i32)))";
const LOG: &str = "(import \"retick\" \"log\" (func (param i32 i32)))";

/// Checks that each module is refused as expected, though a stock engine with all features would take it.
fn check(cases: &[(&str, LoadError)]) {
    for (text, expected) in cases {
        let stock = Validator::new_with_features(WasmFeatures::all()).validate_all(&module(text)).map(drop);
        assert!(stock.is_ok(), "{stock:?}: {text}");
        assert_eq!(&refusal(text), expected, "{text}");
    }
}

#[test]
fn w05_imports_are_granted_by_name_and_type_or_refused() {
    let renamed = with("(import \"retick\" \"now\" (func (param i32 i32)))", "");
    let other_module = with("(import \"env\" \"log\" (func (param i32 i32)))", "");
    let retyped = with("(import \"retick\" \"log\" (func (param i32 i64)))", "");
    let answering = with("(import \"retick\" \"log\" (func (param i32 i32) (result i32)))", "");
    let global = with("(import \"retick\" \"log\" (global i32))", "");
    let table = with("(import \"retick\" \"log\" (table 1 funcref))", "");
    check(&[
        (include_str!("../wat/clock.wat"), import("wasi_snapshot_preview1", "clock_time_get", ImportRefusal::Unknown)),
        (include_str!("../wat/random.wat"), import("wasi_snapshot_preview1", "random_get", ImportRefusal::Unknown)),
        (include_str!("../wat/import_memory.wat"), import("env", "memory", ImportRefusal::NotAFunction)),
        (&renamed, import("retick", "now", ImportRefusal::Unknown)),
        (&other_module, import("env", "log", ImportRefusal::Unknown)),
        (&retyped, import("retick", "log", ImportRefusal::Type)),
        (&answering, import("retick", "log", ImportRefusal::Type)),
        (&global, import("retick", "log", ImportRefusal::NotAFunction)),
        (&table, import("retick", "log", ImportRefusal::NotAFunction)),
        (&with(&EMIT.replacen("i32", "i64", 1), ""), import("retick", "emit", ImportRefusal::Type)),
        (&with(&EMIT.replacen("i32 ", "", 1), ""), import("retick", "emit", ImportRefusal::Type)),
        (&with(&EMIT.repeat(2), ""), import("retick", "emit", ImportRefusal::Twice)),
        (&with(&[LOG, EMIT, LOG].concat(), ""), import("retick", "log", ImportRefusal::Twice)),
        (&with(&LOG.repeat(2), ""), import("retick", "log", ImportRefusal::Twice)),
    ]);
    for imports in [LOG, EMIT, &[EMIT, LOG].concat()] {
        load(&with(imports, "")).expect("a module with only granted imports loads");
    }
}

#[test]
fn w05_features_and_instructions_are_refused_by_name() {
    let feature = |feature| LoadError::Feature { feature };
    let wide = "(func (result i64 i64) (i64.mul_wide_s (i64.const 0) (i64.const 0)))";
    let cases = [
        (include_str!("../wat/shared.wat").to_owned(), feature("threads (a shared memory)")),
        (include_str!("../wat/relaxed.wat").to_owned(), instruction("f32x4.relaxed_madd", "relaxed-simd", STEP)),
        (include_str!("../wat/start.wat").to_owned(), LoadError::StartFunction),
        (with("", "(memory 1)"), feature("multi-memory")),
        (with("", "(table i64 1 funcref)"), feature("memory64")),
        (with("", "(table 1 externref)"), feature("externref")),
        (with("(type (struct))", ""), feature("gc")),
        (with("(rec (type (func)))", ""), feature("gc")),
        (with("", "(tag)"), feature("exceptions")),
        (with("", "(global i32 (i32.add (i32.const 1) (i32.const 2)))"), feature("extended-const")),
        (with("", "(global (mut funcref) (ref.null func))"), feature("mutable globals that hold references")),
        (with("", "(data \"x\")"), feature("passive data segments")),
        (with("", "(elem func 0)"), feature("passive element segments")),
        (with("", "(func (return_call 6))"), instruction("return_call", "tail-call", LAST)),
        (with("", wide), instruction("i64.mul_wide_s", "wide-arithmetic", LAST)),
        (with("", "(func (atomic.fence))"), instruction("atomic.fence", "threads", LAST)),
        (with("", "(func (local externref))"), feature("externref")),
        (with("(type (func (param externref)))", ""), feature("externref")),
        (with_memory("1 (pagesize 1)"), feature("custom-page-sizes")),
    ];
    for (text, expected) in cases {
        check(&[(&text, expected)]);
    }
    // The fixture's own loads are for 32 bits, so no engine takes this one.
    assert_eq!(refusal(&with_memory("i64 1")), feature("memory64"));
}

#[test]
fn w02_table_and_segment_mutation_is_refused_by_name() {
    check(&[(include_str!("../wat/table.wat"), instruction("table.grow", STATEFUL, STEP))]);
    // Active segments stand in for passive ones, which are refused earlier.
    let segments = "(data $d (i32.const 0) \"x\") (elem $e (table $t) (i32.const 0) func)";
    let start = format!("(table $t 4 funcref) (elem declare func 0) {segments}");
    let bounds = "(i32.const 0) (i32.const 0) (i32.const 0)";
    for (name, body) in [
        ("table.set", "(table.set $t (i32.const 0) (ref.func 0))".to_owned()),
        ("table.fill", "(table.fill $t (i32.const 0) (ref.null func) (i32.const 1))".to_owned()),
        ("table.grow", "(drop (table.grow $t (ref.null func) (i32.const 1)))".to_owned()),
        ("table.copy", format!("(table.copy $t $t {bounds})")),
        ("table.init", format!("(table.init $t $e {bounds})")),
        ("elem.drop", "(elem.drop $e)".to_owned()),
        ("memory.init", format!("(memory.init $d {bounds})")),
        ("data.drop", "(data.drop $d)".to_owned()),
    ] {
        check(&[(&with("", &format!("{start} (func {body})")), instruction(name, STATEFUL, LAST))]);
    }
    let reading = "(table 4 funcref) (elem (i32.const 0) func 0) (func (drop (table.get (i32.const 0))))";
    load(&with("", reading)).expect("reading a table is no state");
}

#[test]
fn w05_exports_are_there_and_of_their_types() {
    let good = with("", "");
    for name in ["retick_abi", "retick_buffer", "retick_describe", "retick_init", "retick_step", "memory"] {
        let text = expand(&good).replace(&format!("(export \"{name}\")"), "");
        assert_eq!(refused_text(&text), export(name, ExportRefusal::Missing));
    }
    let step = "(func (export \"retick_step\") (param i32 i32) (result i32) (i32.const 0))";
    for other in [
        "(func (export \"retick_step\") (param i32) (result i32) (i32.const 0))",
        "(func (export \"retick_step\") (param i32 i32))",
        "(func (export \"retick_step\") (param i32 i32) (result i64) (i64.const 0))",
        "(global (export \"retick_step\") i32 (i32.const 0))",
    ] {
        check(&[(&good.replace(step, other), export("retick_step", ExportRefusal::Type))]);
    }
    let misspelt = with("", "(func (export \"retick_projct\") (result i64) (i64.const 0))");
    let reserved = with("", "(func (export \"retick:global:0\"))");
    check(&[
        (&misspelt, export("retick_projct", ExportRefusal::Reserved)),
        (&reserved, export("retick:global:0", ExportRefusal::Reserved)),
    ]);
}

fn refused_text(text: &str) -> LoadError {
    let module = wat::parse_str(text).expect("well-formed");
    WasmFactory::load(&module, Limits::default()).expect_err("must be refused")
}

#[test]
fn w02_sizes_beyond_the_limits_are_refused_with_figure_and_limit() {
    let limit = |quantity, found, limit| LoadError::Limit { quantity, found, limit };
    let pages = refusal(include_str!("../wat/initial.wat"));
    assert_eq!(pages, limit(Quantity::MemoryPages, 300, 256));
    assert_eq!(pages.to_string(), "300 memory pages, of which 256 are allowed");
    let data = "x".repeat((1 << 20) + 1);
    let cases = [
        (with_memory(&format!("32) (data (i32.const 65536) \"{data}\"")), Quantity::DataBytes, 1_048_577, 1 << 20),
        (with("", &"(func)".repeat(100_000)), Quantity::Functions, 100_006, 20_000),
        (with("", &"(table 1 funcref)".repeat(1_000)), Quantity::Tables, 1_000, 16),
        (with("", "(table 10001 funcref)"), Quantity::TableEntries, 10_001, 10_000),
        (with("", &"(table 5001 funcref)".repeat(2)), Quantity::TableEntries, 10_002, 10_000),
        (with("", &"(global i32 (i32.const 0))".repeat(1_001)), Quantity::Globals, 1_001, 1_000),
    ];
    for (text, quantity, found, most) in cases {
        assert_eq!(refusal(&text), limit(quantity, found, most));
    }
    let megabytes = vec![0; 32 << 20];
    assert_eq!(
        WasmFactory::load(&megabytes, Limits::default()).err(),
        Some(limit(Quantity::ModuleBytes, 32 << 20, 2 << 20))
    );
    // 21 functions of 50,000 locals each: a few bytes that would take the compiler long.
    let locals: String = (0..50_000).map(|_| "i32 ").collect();
    let bomb = with("", &format!("(func (local {locals}))").repeat(21));
    assert_eq!(refusal(&bomb), limit(Quantity::Locals, 1_050_000, 1_000_000));
    // 400 locals that live through 400 nested loops: 15 KB that would take the compiler a minute.
    let loops = |count: usize| {
        let locals: String = (0..count).map(|_| "i32 ").collect();
        let uses: String = (0..count).map(|local| format!("(local.set {local} (i32.const 1))")).collect();
        format!("(func (local {locals}) {uses} {} {})", "(loop ".repeat(count), ")".repeat(count))
    };
    assert_eq!(refusal(&with("", &loops(400))), limit(Quantity::LoopWork, 64_964_000, 16_000_000));
    load(&with("", &loops(40))).expect("what a compiler makes of a game loads");
    load(&with("", "(table 10000 funcref)")).expect("a table at the limit loads");
}

/// W05: what would take the compiler long, or the step more than its gas says, though the bytes are few.
#[test]
fn w05_results_and_parameters_of_blocks_are_few() {
    let limit = |quantity, found| LoadError::Limit { quantity, found, limit: 16 };
    let values = |count: usize| "i32 ".repeat(count);
    let results = |count| with("", &format!("(func (result {}) unreachable)", values(count)));
    load(&results(16)).expect("as many as there may be");
    assert_eq!(refusal(&results(17)), limit(Quantity::Results, 17));
    for (block, end) in [("block", "end"), ("loop", "end"), ("if", "else unreachable end")] {
        let taking = |count| {
            let ty = format!("(type $t (func (param {})))", values(count));
            with(&ty, &format!("(func unreachable {block} (type $t) unreachable {end})"))
        };
        load(&taking(16)).expect("as many as there may be");
        assert_eq!(refusal(&taking(17)), limit(Quantity::BlockParameters, 17), "{block}");
    }
    load(&with("", &format!("(func (param {}))", values(1000)))).expect("a call pays for what it passes");
}

/// W05: what is kept where ways part and meet costs a compiler the product of the two, in time and in memory.
#[test]
fn w05_what_is_kept_through_branches_is_limited() {
    let work = |function: &str, loop_work| {
        WasmFactory::load(&module(&with("", function)), Limits { loop_work, ..Limits::default() }).map(drop)
    };
    let locals = "(local i32 i32 i32) (local.set 2 (i32.const 1))";
    let pushed = "i32.const 1 ".repeat(12);
    let dropped = "drop ".repeat(12);
    for (ways, branches) in [
        (1, "block end"),
        (1, "(if (i32.const 0) (then))"),
        (2, "block br 0 end"),
        (2, "(block (br_if 0 (i32.const 0)))"),
        (4, "(block (br_table 0 0 0 (i32.const 0)))"),
    ] {
        let function = format!("(func {locals} {branches})");
        let (most, limit) = (2 * (3 + 4) * ways, 2 * (3 + 4) * ways - 1);
        assert_eq!(work(&function, most), Ok(()), "{branches}");
        let refused = LoadError::Limit { quantity: Quantity::LoopWork, found: most, limit };
        assert_eq!(work(&function, limit), Err(refused), "{branches}");
        let function = format!("(func {pushed} {branches} {dropped})");
        let highest = if branches.contains("const") { 13 } else { 12 };
        let (most, limit) = (highest * ways, highest * ways - 1);
        assert_eq!(work(&function, most), Ok(()), "{branches}");
        let refused = LoadError::Limit { quantity: Quantity::OperandWork, found: most, limit };
        assert_eq!(work(&function, limit), Err(refused), "{branches}");
    }
    // Without a local, but for the gas: nested loops, and branches in a row, which an engine compares with each other.
    let loops = "(loop (br_if 0 (i32.const 0)) ".repeat(4_000) + &")".repeat(4_000);
    let row = "(block (br_if 0 (i32.const 0)))".repeat(40_000);
    let calls = "(call_indirect (type $nothing) (i32.const 0))".repeat(30_000);
    for body in [loops, row, calls] {
        let refused = refusal(&with("(type $nothing (func))", &format!("(table 1 funcref) (func {body})")));
        assert!(matches!(refused, LoadError::Limit { quantity: Quantity::LoopWork, .. }), "{refused}");
    }
    // Some 110 KB, which would take the compiler a gigabyte.
    let (locals, count) = ("i32 ".repeat(4_000), 4_000);
    let uses: String = (0..count).map(|local| format!("(local.set {local} (i32.const 1))")).collect();
    let ifs = "(if (i32.const 0) (then))".repeat(count);
    let refused = refusal(&with("", &format!("(func (local {locals}) {uses} {ifs} {uses})")));
    assert!(matches!(refused, LoadError::Limit { quantity: Quantity::LoopWork, found: 32_112_000, .. }), "{refused}");
}

/// The game itself says what it makes of a match: it takes it, refuses it by a code of its own, or faults.
#[test]
fn w5_a_match_whose_init_refuses_or_faults_is_not_begun() {
    let text = expand(&with("", ""));
    let takes = "(param i32 i32) (result i32) (i32.const 0))";
    let create = |body: &str| {
        let text = text.replacen(takes, &format!("(param i32 i32) (result i32) {body})"), 1);
        let module = wat::parse_str(text).expect("the fixture is well-formed");
        let factory = WasmFactory::load(&module, Limits::default()).expect("nothing asked it yet");
        factory.create(&descriptor(&factory)).err()
    };
    assert_eq!(create("(i32.const 0)"), None);
    assert_eq!(create("(i32.const 33)"), Some(CreateError::Refused { code: 33, log: vec![] }));
    assert_eq!(create("unreachable"), Some(faulted(StepFault::Aborted)));
    assert_eq!(create("(i32.load (i32.const -8))"), Some(faulted(StepFault::OutOfBounds)));
    assert_eq!(create("(loop (br 0)) unreachable"), Some(faulted(StepFault::OutOfGas)));
}

fn faulted(fault: StepFault) -> CreateError {
    CreateError::Fault { fault, log: vec![] }
}

/// W5: whatever fails or refuses before tick 0 says what the game logged, as a fault of a step does.
#[test]
fn w5_what_a_game_logs_before_tick_0_stands_in_the_error() {
    let text =
        expand(&with(r#"(import "retick" "log" (func $log (param i32 i32)))"#, r#"(data (i32.const 64) "bad map")"#));
    let says = "(call $log (i32.const 64) (i32.const 7))";
    let with_init = |code: &str| {
        let init = format!("(param i32 i32) (result i32) {says} {code})");
        let module = wat::parse_str(text.replacen("(param i32 i32) (result i32) (i32.const 0))", &init, 1));
        let factory = WasmFactory::load(&module.expect("well-formed"), Limits::default()).expect("loads");
        factory.create(&descriptor(&factory)).err().expect("refused")
    };
    let log = vec!["bad map".to_owned()];
    assert_eq!(with_init("(i32.const 7)"), CreateError::Refused { code: 7, log: log.clone() });
    let fault = with_init("unreachable");
    assert_eq!(fault.to_string(), "runtime fault in init: the game aborted; it logged: bad map");
    assert_eq!(fault, CreateError::Fault { fault: StepFault::Aborted, log: log.clone() });
    let describe = format!("(func (export \"retick_describe\") (result i64) {says} unreachable ");
    let refused = refused_text(&text.replacen("(func (export \"retick_describe\") (result i64) ", &describe, 1));
    assert_eq!(refused, LoadError::Fault { fault: StepFault::Aborted, log });
}

#[test]
fn w05_one_custom_section_byte_is_another_identity() {
    let module = module(&with("", ""));
    let section = |byte: u8| [&module[..], &[0, 3, 1, b'x', byte]].concat();
    let [one, other] =
        [section(1), section(2)].map(|bytes| WasmFactory::load(&bytes, Limits::default()).expect("loads"));
    assert_ne!(one.manifest().identity(), other.manifest().identity());
    let joined = other.create(&descriptor(&one)).err();
    let (expected, loaded) = (one.manifest().identity(), other.manifest().identity());
    assert_eq!(joined, Some(CreateError::Identity { expected, loaded }));
}

#[test]
fn w5_every_limit_is_part_of_the_identity() {
    let module = module(&with("", ""));
    let identity = |limits| WasmFactory::load(&module, limits).expect("loads").manifest().identity();
    let base = Limits::default();
    let variants = [
        Limits { module_bytes: base.module_bytes + 1, ..base },
        Limits { functions: base.functions + 1, ..base },
        Limits { locals: base.locals + 1, ..base },
        Limits { loop_work: base.loop_work + 1, ..base },
        Limits { globals: base.globals + 1, ..base },
        Limits { data_bytes: base.data_bytes + 1, ..base },
        Limits { memory_pages: base.memory_pages + 1, ..base },
        Limits { tables: base.tables + 1, ..base },
        Limits { table_entries: base.table_entries + 1, ..base },
        Limits { gas_per_tick: base.gas_per_tick + 1, ..base },
        Limits { init_gas: base.init_gas + 1, ..base },
        Limits { stack_bytes: base.stack_bytes + 1, ..base },
        Limits { log_gas: base.log_gas + 1, ..base },
        Limits { log_line_bytes: base.log_line_bytes + 1, ..base },
        Limits { log_lines: base.log_lines + 1, ..base },
        Limits { event_gas: base.event_gas + 1, ..base },
    ];
    for limits in variants {
        assert_ne!(identity(limits), identity(base), "{limits:?}");
    }
    for limits in [
        Limits { memory_pages: 0, ..base },
        Limits { memory_pages: 65_520, ..base },
        Limits { stack_bytes: 0, ..base },
        Limits { stack_bytes: (1 << 30) + 1, ..base },
    ] {
        let refused = WasmFactory::load(&module, limits).err();
        assert!(matches!(refused, Some(LoadError::BadLimits { .. })), "{refused:?}");
    }
}

#[test]
fn w2_bytes_that_are_no_module_are_refused() {
    let good = module(&with("", ""));
    // The description is the last that a module needs; behind it stand names.
    let described = description(false);
    let start = good.windows(described.len()).position(|bytes| bytes == described).expect("there");
    for length in 0..start + described.len() {
        WasmFactory::load(&good[..length], Limits::default()).expect_err("a prefix is no module");
    }
    let component = b"\0asm\x0d\0\x01\0";
    let refused = WasmFactory::load(component, Limits::default()).err();
    assert_eq!(refused, Some(LoadError::Feature { feature: "the component model" }));
    assert!(matches!(refusal(&with("", "(func (result i32))")), LoadError::Invalid { .. }));
}

#[test]
fn w01_what_runs_before_tick_0_has_its_gas_too() {
    let fault = LoadError::Fault { fault: StepFault::OutOfGas, log: vec![] };
    let module = module(include_str!("../wat/initialize.wat"));
    let limits = Limits { init_gas: 1_000_000, ..Limits::default() };
    assert_eq!(WasmFactory::load(&module, limits).err(), Some(fault));
}

#[test]
fn w1_descriptions_that_lie_are_refused() {
    let text = expand(&with("", ""));
    let abi = text.replace("(result i32) (i32.const 1))", "(result i32) (i32.const 2))");
    assert_eq!(refused_text(&abi), LoadError::AbiVersion { found: 2, expected: 1 });
    let start = text.find("(result i64) (i64.const ").expect("there") + "(result i64) (i64.const ".len();
    let end = start + text[start..].find(')').expect("closed");
    let span = |span: &str| refused_text(&[&text[..start], span, &text[end..]].concat());
    assert_eq!(span("-1"), LoadError::Fault { fault: StepFault::Interface, log: vec![] });
    assert!(matches!(span("0x100000000010"), LoadError::Description(_)));
    // It claims a projection and has none.
    let claims = expand_claiming_projection(&with("", ""));
    assert_eq!(refused_text(&claims), export("retick_project", ExportRefusal::Missing));
}
