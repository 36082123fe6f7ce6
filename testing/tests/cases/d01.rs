//! D01 (a) and (b): NaN bits and signed zero in a native state.

use retick_core::runtime::{
    Checkpoint, Keep, Output, Runtime, RuntimeFactory, SeatStep, SerdeState, StateCodec, StepBatch,
};
use retick_core::seat::{ControlEpoch, Presence};
use retick_core::tick::{Moment, Tick};
use retick_testing::assert::{
    Compared, GameFault, assert_deterministic, assert_hydration, check_deterministic, check_hydration, check_synctest,
    synctest,
};
use retick_testing::environment::{self, MACHINES};
use retick_testing::fixtures::{pack_tally, tally_descriptor, zig_packed};
use retick_testing::twins::{FloatLeft, Floats, NanBits, RawFloats, ZeroSign, floats_factory};

/// What both widths of NaN are in captured state.
const CANONICAL: (u64, u32) = (0x7FF8_0000_0000_0000, 0x7FC0_0000);

/// A machine's runtime at S(10), and a checkpoint of it.
fn at_frame_10<L: FloatLeft, C: StateCodec<Floats<L>> + 'static>(machine: usize) -> (Box<dyn Runtime>, Checkpoint) {
    environment::enter(MACHINES[machine].at(Moment::ZERO));
    let factory = floats_factory::<L, C>();
    let mut runtime = factory.create(&tally_descriptor(&factory, 1, 1)).expect("a match");
    let (mut batch, mut output) = (StepBatch::default(), Output::default());
    batch.reset(Tick::ZERO);
    for tick in 0..10 {
        batch.push_step(if tick == 9 { Keep::CHECKPOINT } else { Keep::NOTHING });
        let (presence, epoch) = (Presence::Human, ControlEpoch(1));
        batch.push_seat(SeatStep { input: &pack_tally(3), substituted: false, malformed: false, presence, epoch });
    }
    runtime.advance(&batch, &mut output).expect("it steps");
    (runtime, output.kept[0].checkpoint.expect("asked for"))
}

fn exported((runtime, checkpoint): &mut (Box<dyn Runtime>, Checkpoint)) -> Vec<u8> {
    let mut bytes = Vec::new();
    runtime.export(*checkpoint, 0, usize::MAX, &mut bytes).expect("kept");
    bytes
}

/// The bits of both floats in the live state.
fn bits(runtime: &mut dyn Runtime) -> (u64, u32) {
    let mut output = Output::default();
    runtime.keep(Keep::PROJECTION, &mut output).expect("it projects");
    let (wide, narrow) = output.projections.split_first_chunk().expect("eight bytes");
    (u64::from_le_bytes(*wide), u32::from_le_bytes(narrow.try_into().expect("four bytes")))
}

/// What the floats are after restoring the checkpoint, and after hydrating the bytes on the same machine.
fn restored_and_hydrated<L: FloatLeft>(machine: usize) -> [(u64, u32); 2] {
    let mut built = at_frame_10::<L, SerdeState>(machine);
    let state = exported(&mut built);
    let (mut runtime, checkpoint) = built;
    runtime.restore(checkpoint).expect("kept");
    let restored = bits(runtime.as_mut());
    runtime.hydrate(Tick::new(10), &state).expect("canonical");
    [restored, bits(runtime.as_mut())]
}

#[test]
fn d01_a_the_bits_of_a_nan_are_one_form_in_captured_state_and_in_what_is_hydrated() {
    let [mut one, mut other] = [0, 1].map(at_frame_10::<NanBits, SerdeState>);
    assert_eq!([&mut one, &mut other].map(|(runtime, _)| bits(runtime.as_mut())), NanBits::BITS, "guard");
    let state = exported(&mut one);
    assert_eq!(state, exported(&mut other));
    let form = [CANONICAL.0.to_le_bytes().as_slice(), &CANONICAL.1.to_le_bytes()].concat();
    assert_eq!(state[8..20], form);
    for machine in [0, 1] {
        // A checkpoint is a clone and keeps the machine's own bits (reading 11); hydrating gives the form to both.
        let raw = NanBits::BITS[machine];
        assert_eq!(restored_and_hydrated::<NanBits>(machine), [raw, CANONICAL]);
    }
}

#[test]
fn d01_a_clean_passes_every_check_for_10_000_frames() {
    let factory = floats_factory::<NanBits, SerdeState>();
    let descriptor = tally_descriptor(&factory, 2, 1);
    assert_eq!(assert_deterministic(&factory, &descriptor, zig_packed, 10_000).states, 10_001);
    synctest(&factory, &descriptor, zig_packed, 10_000, 3);
    // Each tick is hydrated, so what would go on from a machine's own bits goes on from the form.
    assert_eq!(assert_hydration(&factory, &descriptor, zig_packed, 10_000, 1).hydrations, 10_001);
}

#[test]
fn d01_a_faulty_raw_float_bytes_are_flagged_at_frame_10() {
    let factory = floats_factory::<NanBits, RawFloats>();
    let descriptor = tally_descriptor(&factory, 2, 1);
    let fault = check_deterministic(&factory, &descriptor, zig_packed, 60).expect_err("flagged");
    let GameFault::Differs { compared: Compared::Instances, tick, difference: Some(difference), .. } = fault else {
        panic!("{fault}")
    };
    assert_eq!((tick, difference.offset, difference.first, difference.second), (Tick::new(10), 8, Some(0), Some(1)));
    assert!(check_hydration(&factory, &descriptor, zig_packed, 60, 5).is_err());
}

#[test]
fn d01_b_the_two_zeros_are_two_values_and_flagged_at_frame_10() {
    let factory = floats_factory::<ZeroSign, SerdeState>();
    let descriptor = tally_descriptor(&factory, 2, 1);
    let fault = check_deterministic(&factory, &descriptor, zig_packed, 60).expect_err("flagged");
    let GameFault::Differs { compared: Compared::Instances, tick, difference: Some(difference), .. } = fault else {
        panic!("{fault}")
    };
    // The sign stands in the last byte of the f64, behind the tick.
    assert_eq!((tick, difference.offset), (Tick::new(10), 15));
    assert_eq!((difference.first, difference.second), (Some(0), Some(0x80)));
    assert!(check_synctest(&factory, &descriptor, zig_packed, 60, 3).is_err());
    let [mut one, mut other] = [0, 1].map(at_frame_10::<ZeroSign, SerdeState>);
    let (one, other) = (exported(&mut one), exported(&mut other));
    assert_eq!(one[..15], other[..15]);
    assert_eq!((&one[15..16], &one[16..20], &other[15..16], &other[16..20]), {
        (&[0][..], &[0; 4][..], &[0x80][..], &[0, 0, 0, 0x80][..])
    });
    // Both survive capture and restore.
    for machine in [0, 1] {
        assert_eq!(restored_and_hydrated::<ZeroSign>(machine), [ZeroSign::BITS[machine]; 2]);
    }
}
