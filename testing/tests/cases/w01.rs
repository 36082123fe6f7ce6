//! W01: an endless loop in a step, in a room: it ends at the same tick on every client, however long each of them takes. What a module
//! does at load, and its gas step by step, stand with the WASM runtime's tests.

use std::sync::Arc;

use retick_core::client::{Client, EndReason};
use retick_core::input::GameInput;
use retick_core::runtime::abi::{encode_description, pack_span};
use retick_core::runtime::{Capabilities, GameDescription, Simulation, StepFault};
use retick_core::seat::Seat;
use retick_core::session::SessionFault;
use retick_core::tick::Tick;
use retick_testing::fixtures::{Tally, TallyInput, pack_tally};
use retick_testing::sim::{ClientSetup, MatchSetup};
use retick_wasm::{Limits, WasmFactory};

use crate::support::RATE;

/// Where the module keeps its description.
const DESCRIPTION_POINTER: u32 = 4096;
/// The tick that never returns.
const ENDLESS: Tick = Tick::new(10);

fn factory() -> WasmFactory {
    let capabilities = Capabilities { commands: false, projection: true };
    let game = GameDescription { state_schema: "w01/v1", seats: 2..=2, capabilities, ..Tally::describe() };
    let mut description = vec![];
    encode_description(&game, &TallyInput::schema(), &mut description);
    let span = pack_span(DESCRIPTION_POINTER, u32::try_from(description.len()).expect("short"));
    let bytes: String = description.iter().map(|byte| format!("\\{byte:02x}")).collect();
    let text = include_str!("w01.wat").replace("{span}", &span.to_string()).replace("{description}", &bytes);
    let limits = Limits { memory_pages: 4, ..Limits::default() };
    WasmFactory::load(&wat::parse_str(text).expect("well-formed"), limits).expect("an admissible module")
}

/// 1 in ticks 0 to 9, and 7 in tick 10.
fn script(seat: Seat, tick: Tick) -> Vec<u8> {
    pack_tally(if tick == ENDLESS && seat.index() == 0 { 7 } else { 1 })
}

#[test]
fn w01_an_endless_loop_is_terminal_at_its_tick_on_a_quick_client_and_on_a_slow_one() {
    let quick = ClientSetup::new(script).latency_ticks(RATE, 2);
    // Eighty times what a tick has: it is far behind when the quick one has ended.
    let slow = ClientSetup { step_nanos: 80 * 1_000_000_000 / 60, ..quick.clone() };
    let mut sim = MatchSetup::new(Arc::new(factory())).hard_tolerance_ticks(6).client(quick).client(slow).build();
    let mut ended = [None; 2];
    for _ in 0..1_500 {
        sim.advance();
        for (seat, ended) in ended.iter_mut().enumerate() {
            let over = sim.client(seat).and_then(Client::end).is_some();
            *ended = ended.or(over.then_some(sim.authority_tick().index()));
        }
    }
    let [Some(quick_at), Some(slow_at)] = ended else { panic!("both end: {ended:?}") };
    assert!(slow_at >= 10 * quick_at, "guard: {quick_at} and {slow_at}");
    let frames = sim.frames();
    assert_eq!(frames[10].input(Seat::new(0).expect("valid")), Some(&pack_tally(7)[..]), "guard");
    let mut states = vec![];
    for seat in 0..2 {
        let client = sim.client_mut(seat).expect("a client");
        let end = client.end().cloned();
        let fault = SessionFault::Runtime { tick: ENDLESS, fault: StepFault::OutOfGas };
        assert_eq!(end, Some(EndReason::Fault(fault)), "seat {seat}");
        let session = client.session_mut().expect("still there");
        assert_eq!((session.confirmed(), session.head()), (ENDLESS, ENDLESS), "seat {seat}");
        // The state before the failing step, and not the half-done one after it.
        assert_eq!(session.projections().0, 10_u32.to_le_bytes(), "seat {seat}");
        states.push(session.export_snapshot(ENDLESS).expect("readable").checksum());
    }
    assert_eq!(states[0], states[1]);
    // The room goes on; it knows no game.
    assert!(frames.len() as u64 > slow_at - 20);
}
