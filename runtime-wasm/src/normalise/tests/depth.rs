//! How deep recursion goes: one number for a module, whatever runs it on however much stack.

use wasmtime::{Instance, Module, OptLevel, Store, Trap};

use super::{Nans, engine_with, normalised, rewrite, set_depth, set_gas, word};
use crate::error::{LoadError, Quantity};
use crate::limits::Limits;
use crate::normalise::tests::known;
use crate::normalise::tests::v8::{hex_lines, in_v8};
use crate::normalise::{DEPTH_NAME, Marks};

/// Modules that recurse without end. Each counts its calls in a global.
fn recursions() -> Vec<(&'static str, String)> {
    let module = |functions: &str| {
        format!("(module (memory 1) (global $count (export \"count\") (mut i32) (i32.const 0)) {functions})")
    };
    let count = "(global.set $count (i32.add (global.get $count) (i32.const 1)))";
    // Twelve vectors that live across the call, and as many floats that only operands hold.
    let vectors: String = (0..12).map(|_| "(local v128)").collect();
    let sets: String = (0..12).map(|local| format!("(local.set {local} (i32x4.splat (global.get $count)))")).collect();
    let gets: String = (0..12).map(|local| format!("(v128.store (i32.const 0) (local.get {local}))")).collect();
    // Values that are computed on both sides of the call, so that a compiler keeps hundreds of them meanwhile.
    let kept = |values: u32| {
        let once: String = (1..=values)
            .map(|n| format!("(local.set 1 (i64.xor (local.get 1) (i64.mul (local.get 0) (i64.const {}))))", 2 * n + 1))
            .collect();
        module(&format!(
            "(func $g (param i64) (result i64) (local i64) {count} {once}
                (local.set 1 (i64.add (local.get 1) (call $g (i64.add (local.get 0) (i64.const 1))))) {once} (local.get 1))
             (func (export \"f\") (drop (call $g (i64.const 1))))"
        ))
    };
    let (pushed, added) = ("(f64.load (i32.const 8)) ".repeat(12), "f64.add ".repeat(12));
    vec![
        ("plain", module(&format!("(func $f (export \"f\") {count} call $f)"))),
        (
            "parameters and a result",
            module(&format!(
                "(func $g (param i64 i64 f64) (result i64) {count}
                (i64.add (call $g (local.get 1) (local.get 0) (local.get 2)) (local.get 0)))
             (func (export \"f\") (drop (call $g (i64.const 1) (i64.const 2) (f64.const 0))))"
            )),
        ),
        (
            "two that call each other",
            module(&format!("(func $f (export \"f\") (local i64 i64) {count} call $g) (func $g {count} call $f)")),
        ),
        (
            "through a table",
            module(&format!(
                "(type $t (func)) (table funcref (elem $g)) (func $g {count} (call_indirect (type $t) (i32.const 0)))
             (func (export \"f\") call $g)"
            )),
        ),
        (
            "vectors across the call",
            module(&format!("(func $f (export \"f\") {vectors} {count} {sets} call $f {gets})")),
        ),
        ("two hundred values kept", kept(200)),
        ("three thousand values kept", kept(3_000)),
        (
            "operands across the call",
            module(&format!(
                "(func $g (result f64) {count} {pushed} call $g {added})
             (func (export \"f\") (drop (call $g)))"
            )),
        ),
    ]
}

/// The count, and the trap, on a thread with so much stack.
fn count(module: &[u8], level: OptLevel, stack_bytes: usize) -> (i32, Trap) {
    let module = module.to_vec();
    let run = move || {
        let engine = engine_with(Nans::AsTheyCome, level);
        let module = Module::new(&engine, module).expect("a valid module");
        let mut store = Store::new(&engine, ());
        let instance = Instance::new(&mut store, &module, &[]).expect("nothing to import");
        set_gas(&mut store, &instance, i64::MAX);
        set_depth(&mut store, &instance);
        let function = instance.get_typed_func::<(), ()>(&mut store, "f").expect("exported");
        let error = function.call(&mut store, ()).expect_err("it never ends");
        assert!(word(&mut store, &instance, DEPTH_NAME).is_some_and(|depth| depth < 0));
        let count = word(&mut store, &instance, "count").expect("exported");
        (count, *error.downcast_ref().expect("a trap"))
    };
    let thread = std::thread::Builder::new().stack_size(stack_bytes).spawn(run);
    thread.expect("a thread").join().expect("no panic")
}

/// The counts in V8, where there is node, with a tier alone or as they are.
fn counts_in_v8(tier: &[&str], modules: &[Vec<u8>]) -> Option<Vec<i32>> {
    const SCRIPT: &str = r#"
for (const line of require("fs").readFileSync(0, "utf8").trim().split("\n")) {
  const { exports } = new WebAssembly.Instance(new WebAssembly.Module(Buffer.from(line, "hex")));
  exports["retick:gas"].value = 1n << 40n;
  exports["retick:depth"].value = exports["retick:depth-budget"].value;
  try { exports.f(); } catch (error) { if (!(error instanceof WebAssembly.RuntimeError)) throw error; }
  console.log(exports.count.value);
}
"#;
    let counts = in_v8(tier, SCRIPT, &hex_lines(modules))?;
    Some(counts.iter().map(|line| line.parse().expect("a number")).collect())
}

/// W4, W5: recursion ends at the same call in every build, on every stack and in another engine, by the module's own trap.
#[test]
fn w5_recursion_ends_at_the_same_call_everywhere() {
    let modules: Vec<(&str, Vec<u8>)> = recursions()
        .into_iter()
        .map(|(name, text)| {
            (name, normalised(&wat::parse_str(&text).unwrap_or_else(|error| panic!("{name}: {error}"))))
        })
        .collect();
    let counts: Vec<i32> = modules
        .iter()
        .map(|(name, module)| {
            let (expected, trap) = count(module, OptLevel::Speed, 2 << 20);
            assert_eq!(trap, Trap::UnreachableCodeReached, "{name}: the native stack must suffice");
            for (level, stack) in
                [(OptLevel::None, 2 << 20), (OptLevel::SpeedAndSize, 8 << 20), (OptLevel::None, 64 << 20)]
            {
                assert_eq!(count(module, level, stack), (expected, trap), "{name}");
            }
            expected
        })
        .collect();
    // 512 KiB, by 128 bytes, 16 for each of two operands and 8 for the sum that is computed.
    assert_eq!(counts[0], (512 << 10) / (128 + 16 * 2 + 8));
    let bytes: Vec<Vec<u8>> = modules.into_iter().map(|(_, module)| module).collect();
    for tier in [&[][..], &["--liftoff-only"], &["--no-liftoff"]] {
        let Some(found) = counts_in_v8(tier, &bytes) else { return };
        assert_eq!(found, counts, "{tier:?}");
    }
}

/// W5: what is not recursive pays nothing, however often and deep it calls, and what was taken is given back after each call.
#[test]
fn w5_the_depth_is_whole_again_after_every_call() {
    let text = "(module (memory 1)
        (func $down (param i32) (if (local.get 0) (then (call $down (i32.sub (local.get 0) (i32.const 1))))))
        (func $twice (call $down (i32.const 2000)) (call $down (i32.const 2000)))
        (func (export \"f\") (local i32) (loop
            (call $twice)
            (br_if 0 (i32.lt_u (local.tee 0 (i32.add (local.get 0) (i32.const 1))) (i32.const 50))))))";
    let engine = engine_with(Nans::AsTheyCome, OptLevel::Speed);
    let module = Module::new(&engine, normalised(&wat::parse_str(text).expect("well-formed"))).expect("a valid module");
    let mut store = Store::new(&engine, ());
    let instance = Instance::new(&mut store, &module, &[]).expect("nothing to import");
    set_gas(&mut store, &instance, i64::MAX);
    set_depth(&mut store, &instance);
    let before = word(&mut store, &instance, DEPTH_NAME);
    let function = instance.get_typed_func::<(), ()>(&mut store, "f").expect("exported");
    function.call(&mut store, ()).expect("two thousand calls fit");
    assert_eq!(word(&mut store, &instance, DEPTH_NAME), before);
}

/// W5: a chain of calls that is heavier than the limit without any recursion is refused by name, and one that just fits is not.
#[test]
fn w5_a_chain_that_can_not_fit_is_refused() {
    const CHAIN: u64 = 200;
    let functions: String = (1..CHAIN).map(|index| format!("(func (call {index}))")).collect();
    let module = wat::parse_str(format!("(module (memory 1) {functions} (func))")).expect("well-formed");
    let bytes = CHAIN * 128;
    let load = |stack_bytes| {
        let limits = Limits { stack_bytes, ..Limits::default() };
        rewrite(&module, &known(&module), &limits, Marks::Map).map(|normalised| *normalised.report())
    };
    let refused = LoadError::Limit { quantity: Quantity::StackBytes, found: bytes, limit: bytes };
    assert_eq!(load(bytes), Err(refused));
    let report = load(bytes + 1).expect("it fits");
    assert_eq!((report.acyclic_stack_bytes, report.depth_budget, report.recursive_functions), (bytes, 1, 0));
}
