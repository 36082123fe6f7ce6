//! An honest module, and what can be changed in it.

use retick_core::config::ConfigSchema;
use retick_core::input::InputSchema;
use retick_core::runtime::abi::{encode_description, pack_span};
use retick_core::runtime::{Capabilities, GameDescription};
use retick_core::tick::TickRate;

/// Where the module keeps its description.
const DESCRIPTION_POINTER: u32 = 4096;

/// A module of one or two seats. Its first word counts steps, its second is a mix of the first seat's inputs; it emits the first
/// eight bytes in each step, and projects them.
#[derive(Clone, Copy)]
pub struct Module {
    /// Fields of the input schema: one, or none.
    pub fields: usize,
    /// What init gives.
    pub init: &'static str,
    /// What the step does at its end.
    pub end: &'static str,
    /// What the projection gives.
    pub project: &'static str,
    /// Whether the description says that it projects.
    pub claims_projection: bool,
}

impl Module {
    pub fn honest() -> Module {
        Module { fields: 1, init: "(i32.const 0)", end: "", project: "(i64.const 8)", claims_projection: true }
    }

    fn description(&self) -> Vec<u8> {
        let builder = InputSchema::builder("press/v1");
        let builder = (0..self.fields).fold(builder, |builder, _| builder.integer("press", 0..=65_535));
        let game = GameDescription {
            tick_rate: TickRate::Hz60,
            state_schema: "press/v1",
            config_schema: ConfigSchema::empty(),
            seats: 1..=2,
            capabilities: Capabilities { commands: true, projection: self.claims_projection },
        };
        let mut block = Vec::new();
        encode_description(&game, &builder.build().expect("valid"), &mut block);
        block
    }

    pub fn bytes(&self) -> Vec<u8> {
        let description = self.description();
        let span = pack_span(DESCRIPTION_POINTER, u32::try_from(description.len()).expect("short"));
        let data: String = description.iter().map(|byte| format!("\\{byte:02x}")).collect();
        let input = match self.fields {
            0 => "(i32.const 3)",
            _ => "(i32.load16_u (i32.add (local.get $block) (i32.load offset=16 (local.get $block))))",
        };
        let Module { init, end, project, .. } = self;
        wat::parse_str(format!(
            r#"(module
                (import "retick" "emit" (func $emit (param i32 i32 i32 i32 i32)))
                (import "retick" "log" (func $log (param i32 i32)))
                (memory (export "memory") 1 2)
                (data (i32.const 512) "goodbye")
                (data (i32.const {DESCRIPTION_POINTER}) "{data}")
                (func (export "retick_abi") (result i32) (i32.const 1))
                (func (export "retick_buffer") (param i32) (result i32) (i32.const 32768))
                (func (export "retick_describe") (result i64) (i64.const {span}))
                (func (export "retick_init") (param i32 i32) (result i32) {init})
                (func (export "retick_project") (result i64) {project})
                (func (export "retick_step") (param $block i32) (param i32) (result i32)
                    (i64.store (i32.const 0) (i64.add (i64.load (i32.const 0)) (i64.const 1)))
                    (i32.store (i32.const 8) (i32.add
                        (i32.mul (i32.load (i32.const 8)) (i32.const 31))
                        {input}))
                    (call $emit (i32.const 1) (i32.const 0) (i32.const 2) (i32.const 0) (i32.const 8))
                    {end}
                    ;; No command is one of this game. One input in a few costs a little more gas.
                    (if (i32.eqz (i32.and {input} (i32.const 7))) (then (drop (memory.size))))
                    (i32.load offset=12 (local.get $block))))"#
        ))
        .expect("well-formed")
    }
}
