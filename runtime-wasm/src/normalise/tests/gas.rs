//! What each shape of code costs, and that nothing runs for ever.

use wasmtime::{Instance, Module, OptLevel, Store, Trap};

use super::{Nans, engine_with, normalised, set_depth, set_gas};
use crate::normalise::GAS_NAME;

/// Calls `f` of a module with this gas: whether it returned, and what is left.
fn run(body: &str, gas: i64) -> (Result<(), Trap>, i64) {
    let text = format!("(module (memory 1) {body})");
    let module = wat::parse_str(text).expect("a valid module");
    let normalised = normalised(&module);
    let engine = engine_with(Nans::AsTheyCome, OptLevel::Speed);
    let module = Module::new(&engine, normalised).expect("a valid module");
    let mut store = Store::new(&engine, ());
    let instance = Instance::new(&mut store, &module, &[]).expect("nothing to import");
    set_gas(&mut store, &instance, gas);
    set_depth(&mut store, &instance);
    let global = instance.get_global(&mut store, GAS_NAME).expect("exported");
    let function = instance.get_typed_func::<(), ()>(&mut store, "f").expect("exported");
    let called = function.call(&mut store, ()).map_err(|error| *error.downcast_ref().expect("a trap"));
    (called, global.get(&mut store).i64().expect("a number"))
}

/// W5: one unit an instruction, for those that were run and no others, however a function is left.
#[test]
fn w5_every_way_through_a_function_is_paid_for() {
    let cases = [
        ("straight on", 2, r#"(func (export "f") i32.const 1 drop)"#),
        ("shapes are free", 1, r#"(func (export "f") block nop return end)"#),
        ("left by a branch", 1, r#"(func (export "f") block br 1 end i32.const 0 drop)"#),
        ("left by a branch on a condition", 2, r#"(func (export "f") i32.const 1 br_if 0 i32.const 0 drop)"#),
        ("not left by it", 4, r#"(func (export "f") i32.const 0 br_if 0 i32.const 0 drop)"#),
        ("left by a table", 2, r#"(func (export "f") block i32.const 1 br_table 0 1 end i32.const 0 drop)"#),
        ("not left by it", 4, r#"(func (export "f") block i32.const 0 br_table 0 1 end i32.const 0 drop)"#),
        ("one arm", 4, r#"(func (export "f") i32.const 1 if i32.const 1 drop else nop end)"#),
        ("the other", 4, r#"(func (export "f") i32.const 0 if i32.const 1 drop else i32.const 1 return end)"#),
        (
            "ten rounds",
            80,
            r#"(func (export "f") (local i32) (loop (local.set 0 (i32.add (local.get 0) (i32.const 1)))
                (br_if 0 (i32.lt_u (local.get 0) (i32.const 10)))))"#,
        ),
        ("calls", 9, r#"(func (export "f") call $g call $g call $g) (func $g i32.const 1 drop)"#),
        (
            "calls through a table",
            4,
            r#"(table funcref (elem $g)) (func (export "f") i32.const 0 call_indirect) (func $g i32.const 1 drop)"#,
        ),
        ("bytes", 4 + 6, r#"(func (export "f") (memory.fill (i32.const 0) (i32.const 1) (i32.const 100)))"#),
    ];
    for (name, cost, body) in cases {
        assert_eq!(run(body, cost), (Ok(()), 0), "{name}");
        // One less is below zero, whether it was noticed on the way or is by whoever called.
        let (called, left) = run(body, cost - 1);
        assert_eq!(left, -1, "{name}: {called:?}");
    }
}

/// W5: whatever could go on for ever ends with the gas, below zero and before the stack does.
#[test]
fn w5_nothing_runs_for_ever() {
    let endless = [
        r#"(func (export "f") (loop br 0))"#,
        r#"(func (export "f") call 0)"#,
        r#"(func (export "f") (loop call $g br 0)) (func $g)"#,
        r#"(func (export "f") (loop (memory.fill (i32.const 0) (i32.const 0) (i32.const 65536)) br 0))"#,
        r#"(func (export "f") (memory.copy (i32.const 0) (i32.const 0) (i32.const -1)))"#,
    ];
    for body in endless {
        let (called, left) = run(body, 3_000);
        assert_eq!(called, Err(Trap::UnreachableCodeReached), "{body}");
        assert!(left < 0, "{body}: {left}");
    }
}
