//! How loose floats are followed through locals and choices: each repair is where it must be, and nowhere else.

use super::{known, rewrite};
use crate::limits::Limits;
use crate::normalise::Marks;

/// Repairs in a function with some float locals: 0 is a parameter, the others begin exact.
fn repairs(locals: usize, body: &str) -> u64 {
    let locals = "f32 ".repeat(locals - 1);
    let text = format!("(module (memory 1) (func (param f32) (local {locals}) {body}))");
    let module = wat::parse_str(&text).unwrap_or_else(|error| panic!("{body}: {error}"));
    let limits = Limits { stack_bytes: 1 << 20, ..Limits::default() };
    rewrite(&module, &known(&module), &limits, Marks::None).expect("a valid module").report().nan_repairs
}

fn store(value: &str) -> String {
    format!("(f32.store (i32.const 0) {value})")
}

/// W4: a local is loose if something loose is ever put into it, on whatever detour and however late.
#[test]
fn w4_looseness_is_followed_through_locals_and_choices() {
    let [two, exact] = ["(local.get 2)", "(f32.const nan:0x1234)"];
    let either = |one: &str, other: &str| format!("(select {one} {other} (i32.const 1))");
    let set = |local: u32, value: &str| format!("(local.set {local} {value})");
    let get = |local: u32| format!("(local.get {local})");
    for (expected, before, after) in [
        (0, store(two), set(2, exact)),
        (1, store(two), set(2, &get(0))),
        (1, store(two), set(1, &get(0)) + &set(2, &get(1))),
        // The other way round in the text: the value is from before, and the local may be from a loop's last round.
        (1, store(two), set(2, &get(1)) + &set(1, &get(0))),
        (0, store(two), set(2, &get(1)) + &set(1, &get(2))),
        (1, store(two), set(2, &either(&get(1), &get(3))) + &set(3, &get(0))),
        (1, store(two), set(2, &either(&get(3), &get(1))) + &set(3, &get(0))),
        (0, store(two), set(2, &either(&get(3), &get(1))) + &set(3, exact)),
        (1, store(two), set(2, &either(exact, &get(1))) + &set(1, "(f32.sqrt (local.get 3))")),
        (1, store(&either(exact, two)), set(2, "(f32.neg (local.get 0))")),
        (0, store(&either(exact, two)), set(2, "(f32.load (i32.const 8))")),
        (1, store(&format!("(local.tee 3 {two})")), set(2, &get(0))),
        (2, store(two) + &store(&get(3)), format!("(local.set 3 (local.tee 2 {}))", get(0))),
        // The sign alone is seen, and what it is given to stays exact.
        (1, store(&format!("(f32.copysign {exact} {two})")), set(2, &get(0))),
    ] {
        assert_eq!(repairs(4, &(before.clone() + &after)), expected, "{before} {after}");
    }
}

/// W4: one pass is enough however long the way is: against the order of the text, each step took a pass of its own once, which for
/// a module of this size was minutes.
#[test]
fn w4_a_long_way_against_the_text_takes_one_pass() {
    const LOCALS: usize = 30_000;
    let chain: String = (2..LOCALS).map(|local| format!("(local.set {} (local.get {local}))", local - 1)).collect();
    let last = LOCALS - 1;
    let store = store("(local.get 1)");
    assert_eq!(repairs(LOCALS, &format!("{store} {chain} (local.set {last} (local.get 0))")), 1);
    assert_eq!(repairs(LOCALS, &format!("{store} {chain} (local.set {last} (f32.const 1))")), 0);
}
