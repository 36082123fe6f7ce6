//! W6: a module's steps, checkpoints, checksums, projections and rollbacks allocate nothing, whichever way its pages are tracked.

use retick_core::input::GameInput;
use retick_core::runtime::abi::{encode_description, pack_span};
use retick_core::runtime::{GameDescription, Simulation};
use retick_wasm::{Limits, Tracking, WasmFactory};

use crate::{Byte, Sums, allocations, session};

/// Where the module keeps its description.
const DESCRIPTION_POINTER: u32 = 4096;

/// A mebibyte, in which each tick writes three pages that follow from its inputs.
fn factory(tracking: Tracking) -> WasmFactory {
    let mut description = vec![];
    let game = GameDescription { state_schema: "pages/v1", ..Sums::describe() };
    encode_description(&game, &Byte::schema(), &mut description);
    let span = pack_span(DESCRIPTION_POINTER, u32::try_from(description.len()).unwrap());
    let bytes: String = description.iter().map(|byte| format!("\\{byte:02x}")).collect();
    let text = format!(
        r#"(module
            (memory (export "memory") 16 16)
            (data (i32.const {DESCRIPTION_POINTER}) "{bytes}")
            (global $sum (mut i32) (i32.const 0))
            (func (export "retick_abi") (result i32) (i32.const 1))
            (func (export "retick_buffer") (param i32) (result i32) (i32.const 32768))
            (func (export "retick_describe") (result i64) (i64.const {span}))
            (func (export "retick_init") (param i32 i32) (result i32) (i32.const 0))
            (func (export "retick_project") (result i64)
                (i32.store (i32.const 0) (global.get $sum)) (i64.const 4))
            (func (export "retick_step") (param $block i32) (param i32) (result i32)
                (local $input i32)
                (local.set $input (i32.load8_u (i32.add (local.get $block) (i32.load offset=32 (local.get $block)))))
                (global.set $sum (i32.add (i32.mul (global.get $sum) (i32.const 31)) (local.get $input)))
                (i32.store offset=65536 (i32.and (global.get $sum) (i32.const 0x3ffff)) (global.get $sum))
                (i32.store offset=524288 (i32.shl (local.get $input) (i32.const 10)) (global.get $sum))
                (i32.const 0)))"#
    );
    let module = wat::parse_str(text).expect("well-formed");
    WasmFactory::load_tracking(&module, Limits::default(), tracking).expect("an admissible module")
}

#[test]
fn w6_i7_a_module_that_rolls_back_in_every_tick_allocates_nothing() {
    for tracking in [Tracking::DirtyMap, Tracking::ProtectPages, Tracking::ComparePages] {
        let mut session = session(&factory(tracking));
        let found = allocations(&mut session, 1_200, 600);
        assert_eq!(found.count_total, 0, "{tracking:?}: {found:?}");
    }
}
