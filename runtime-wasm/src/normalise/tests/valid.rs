//! What is rewritten is a module again, or is refused.

use super::{Marks, Vectors, known, normalised, random_module_of, rewrite};
use crate::admit;
use crate::error::{LoadError, Quantity};
use crate::limits::{Limits, MAX_STACK_BYTES};

fn assert_valid(module: &[u8]) {
    let checked = wasmparser::Validator::new_with_features(admit::FEATURES).validate_all(module);
    assert!(checked.is_ok(), "{:?}", checked.err());
}

/// W4: what is rewritten stays valid, code that is never reached included; modules are made there that no compiler would make.
#[test]
fn w4_rewritten_modules_stay_valid() {
    let kinds = [Vectors::None, Vectors::Some];
    let modules = (0..800).flat_map(|seed| kinds.map(|vectors| random_module_of(seed, vectors))).flatten();
    // In this one, a value that nothing reaches is put into an integer global, with floats on the stack below the branch.
    let unreached = random_module_of(1347, Vectors::None).expect("a module");
    let mut valid = 0;
    for module in modules.chain([unreached]) {
        assert_valid(&normalised(&module));
        valid += 1;
    }
    assert!(valid > 1_000, "{valid}");
}

/// W2: what a function grows to must fit the format, and is refused by figure and limit one past it.
#[test]
fn w2_functions_that_grow_beyond_the_format_are_refused() {
    let rewritten = |module: &[u8]| {
        let limits = Limits { stack_bytes: MAX_STACK_BYTES, ..Limits::default() };
        rewrite(module, &known(module), &limits, Marks::Map).map(|normalised| assert_valid(normalised.bytes()))
    };
    // Two locals are added to each function: its gas, and a length.
    let locals = |count: usize| {
        let text = format!("(module (memory 1) (func (export \"f\") (local {})))", "i32 ".repeat(count));
        rewritten(&wat::parse_str(text).expect("well-formed"))
    };
    assert_eq!(locals(49_998), Ok(()));
    let refused = LoadError::Limit { quantity: Quantity::RewrittenLocals, found: 50_001, limit: 50_000 };
    assert_eq!(locals(49_999), Err(refused));
    let stores = |count: usize| {
        let body = "(i32.store offset=3 (i32.const 0) (i32.const 0))".repeat(count);
        rewritten(&wat::parse_str(format!("(module (memory 1) (func (export \"f\") {body}))")).expect("well-formed"))
    };
    assert_eq!(stores(150_000), Ok(()));
    let refused = stores(250_000);
    let bytes =
        matches!(&refused, Err(LoadError::Limit { quantity: Quantity::RewrittenBytes, found, limit }) if found > limit);
    assert!(bytes, "{refused:?}");
}
