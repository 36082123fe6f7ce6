//! The bits of math: a native build and a module in the engine show the committed list.

use std::fmt::Write as _;
use std::path::Path;

use retick_core::config::SessionConfig;
use retick_core::identity::MatchDescriptor;
use retick_core::rng::SessionSeed;
use retick_core::runtime::{Keep, Output, RuntimeFactory};
use retick_core::seat::SeatCount;
use retick_example_guests::Goldens;
use retick_wasm::{Limits, WasmFactory};

const EXPECTED: &str = include_str!("goldens.txt");
const MODULE: &[u8] = include_bytes!("../../rust/goldens.wasm");

/// One line for each function: its name, its width, and the bits at each of the inputs.
fn listed() -> String {
    let mut text = String::new();
    for (name, bits) in Goldens::rows() {
        // A narrow number has no upper half.
        let digits = if name.ends_with(" f32") || name.ends_with(" I16F16") { 8 } else { 16 };
        let numbers: Vec<String> = bits.iter().map(|bits| format!("{bits:0digits$x}")).collect();
        writeln!(text, "{name}: {}", numbers.join(" ")).expect("a string takes everything");
    }
    text
}

#[test]
fn w4_native_math_gives_the_committed_bits() {
    let found = listed();
    assert!(found.lines().count() > 70 && found.len() > 20_000);
    if found != EXPECTED {
        let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join("goldens.txt");
        std::fs::write(&path, &found).expect("the build's own folder");
        let different = found.lines().zip(EXPECTED.lines()).find(|(found, expected)| found != expected);
        panic!("{different:?}; what was found stands in {}", path.display());
    }
}

#[test]
fn w4_math_in_a_module_gives_the_native_bits() {
    let factory = WasmFactory::load(MODULE, Limits::default()).expect("an admissible module");
    let seats = SeatCount::new(1).expect("one seat");
    let descriptor = MatchDescriptor::new(factory.manifest(), SessionConfig::empty(), SessionSeed::from_u64(1), seats);
    let mut runtime = factory.create(&descriptor).expect("a match of this game");
    let mut output = Output::default();
    runtime.keep(Keep::PROJECTION, &mut output).expect("a state");
    let (words, rest) = output.projections.as_chunks();
    let mut shown = words.iter().map(|word| u64::from_le_bytes(*word));
    for (name, expected) in Goldens::rows() {
        let found: Vec<u64> = shown.by_ref().take(expected.len()).collect();
        assert_eq!(found, expected, "{name}");
    }
    assert_eq!((shown.next(), rest), (None, &[][..]));
}
