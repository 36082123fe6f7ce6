//! Native code and the module show the same of each state (K9), bit for bit up to the one form that all NaNs have there.

use retick_core::config::SessionConfig;
use retick_core::identity::MatchDescriptor;
use retick_core::rng::SessionSeed;
use retick_core::runtime::{Keep, Output, RuntimeFactory, SeatStep, StepBatch};
use retick_core::seat::{ControlEpoch, Presence, SeatCount};
use retick_kernels::{BODIES, FLOATS, STORES, native_floats, native_stores, scripted_input};
use retick_wasm::{Limits, WasmFactory};

const TICKS: u64 = 600;
const SEED: u64 = 23;
/// The quiet NaN without sign or payload, as it stands in a projection.
const NAN_32: [u8; 4] = 0x7FC0_0000_u32.to_le_bytes();
const NAN_64: [u8; 8] = 0x7FF8_0000_0000_0000_u64.to_le_bytes();

/// The projections of every tick.
fn played(factory: &dyn RuntimeFactory) -> Output {
    let seats = SeatCount::new(3).expect("three seats");
    let descriptor =
        MatchDescriptor::new(factory.manifest(), SessionConfig::empty(), SessionSeed::from_u64(SEED), seats);
    let mut runtime = factory.create(&descriptor).expect("a match of this game");
    let (mut batch, mut output) = (StepBatch::default(), Output::default());
    for _ in 0..TICKS / 8 {
        let first = runtime.tick();
        batch.reset(first);
        for ahead in 0..8 {
            batch.push_step(Keep::PROJECTION);
            for seat in seats.seats() {
                let input = scripted_input(seat, first.saturating_add(ahead), SEED);
                let input = &factory.manifest().input_schema().pack(&input).expect("in range");
                let (presence, epoch) = (Presence::Human, ControlEpoch(1));
                batch.push_seat(SeatStep { input, substituted: false, malformed: false, presence, epoch });
            }
        }
        runtime.advance(&batch, &mut output).expect("the next ticks");
    }
    output
}

fn shown(output: &Output) -> Vec<&[u8]> {
    output.kept.iter().map(|kept| output.projection(kept).expect("asked for")).collect()
}

fn assert_equal(native: &Output, module: &Output) {
    let (native, module) = (shown(native), shown(module));
    assert_eq!((native.len() as u64, module.len() as u64), (TICKS, TICKS));
    let different = native.iter().zip(&module).position(|(one, other)| one != other);
    assert_eq!(different, None, "the first tick at which they differ");
    let moved = native.windows(2).filter(|pair| pair[0] != pair[1]).count() as u64;
    assert_eq!(moved, TICKS - 1, "every tick changes something");
}

fn module(bytes: &[u8]) -> WasmFactory {
    WasmFactory::load(bytes, Limits::default()).expect("an admissible module")
}

/// Times that a pattern stands in some bytes, at any alignment, without overlaps.
fn count(bytes: &[u8], pattern: &[u8]) -> usize {
    let (mut rest, mut found) = (bytes, 0);
    while let Some(at) = rest.windows(pattern.len()).position(|window| window == pattern) {
        (rest, found) = (&rest[at + pattern.len()..], found + 1);
    }
    found
}

#[test]
fn k9_floats_show_the_same_natively_and_as_a_module() {
    let native = played(&native_floats().expect("a valid manifest"));
    for tick in [10, 100, 599] {
        let shown = shown(&native)[tick];
        let (narrow, wide) = (count(shown, &NAN_32), count(shown, &NAN_64));
        assert!(narrow > BODIES / 8 && wide > 8, "guard: NaNs everywhere, but {narrow} and {wide} in tick {tick}");
        assert!(narrow + wide < 9 * BODIES, "guard: and numbers too, but {narrow} and {wide} NaNs in tick {tick}");
    }
    assert_equal(&native, &played(&module(FLOATS)));
}

#[test]
fn k9_stores_show_the_same_natively_and_as_a_module() {
    assert_equal(&played(&native_stores().expect("a valid manifest")), &played(&module(STORES)));
}
