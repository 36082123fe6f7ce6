//! A WebAssembly module that takes the inputs of TALLY, and faults in a step with an input that it can't bear.

use retick_core::input::GameInput;
use retick_core::runtime::abi::{encode_description, pack_span};
use retick_core::runtime::{Capabilities, GameDescription, Simulation};
use retick_testing::fixtures::{Tally, TallyInput};
use retick_wasm::{Limits, WasmFactory};

/// Where the module keeps its description.
const DESCRIPTION_POINTER: u32 = 4096;

pub fn module_factory() -> WasmFactory {
    let capabilities = Capabilities { commands: true, projection: true };
    let game = GameDescription { state_schema: "module/state/v1", seats: 2..=2, capabilities, ..Tally::describe() };
    let mut description = vec![];
    encode_description(&game, &TallyInput::schema(), &mut description);
    let span = pack_span(DESCRIPTION_POINTER, u32::try_from(description.len()).expect("short"));
    let bytes: String = description.iter().map(|byte| format!("\\{byte:02x}")).collect();
    let text = include_str!("module.wat").replace("{span}", &span.to_string()).replace("{description}", &bytes);
    let limits = Limits { memory_pages: 4, ..Limits::default() };
    WasmFactory::load(&wat::parse_str(text).expect("well-formed"), limits).expect("an admissible module")
}
