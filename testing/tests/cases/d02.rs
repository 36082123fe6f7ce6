//! D02: the order of a hash map, and a layout that does not survive a snapshot.

use std::collections::BTreeSet;

use retick_core::runtime::{Keep, Output, Runtime, RuntimeFactory, SeatStep, StepBatch};
use retick_core::seat::{ControlEpoch, Presence};
use retick_core::tick::Tick;
use retick_testing::assert::{
    Compared, GameFault, assert_deterministic, assert_hydration, check_deterministic, check_hydration, check_synctest,
    synctest,
};
use retick_testing::fixtures::{pack_tally, tally_descriptor, zig_packed};
use retick_testing::twins::{OrderedIds, ProbedIds, PushIds, RandomIds, push_factory};

fn runtime<M: PushIds>() -> Box<dyn Runtime> {
    let factory = push_factory::<M>();
    factory.create(&tally_descriptor(&factory, 2, 1)).expect("a match of PUSH")
}

fn play_to(runtime: &mut dyn Runtime, end: u64) {
    let (mut batch, mut output) = (StepBatch::default(), Output::default());
    batch.reset(runtime.tick());
    for _ in runtime.tick().index()..end {
        batch.push_step(Keep::NOTHING);
        for _ in 0..2 {
            let (presence, epoch) = (Presence::Human, ControlEpoch(1));
            batch.push_seat(SeatStep { input: &pack_tally(0), substituted: false, malformed: false, presence, epoch });
        }
    }
    runtime.advance(&batch, &mut output).expect("PUSH does not fault");
}

/// The mix, and the ids in the map's own order.
fn shown(runtime: &mut dyn Runtime) -> (u32, Vec<u32>) {
    let mut output = Output::default();
    runtime.keep(Keep::PROJECTION, &mut output).expect("PUSH projects");
    let (words, []) = output.projections.as_chunks::<4>() else { panic!("whole words") };
    let words: Vec<u32> = words.iter().map(|word| u32::from_le_bytes(*word)).collect();
    (words[0], words[1..].to_vec())
}

fn bytes(runtime: &mut dyn Runtime) -> Vec<u8> {
    let (mut output, mut bytes) = (Output::default(), Vec::new());
    runtime.keep(Keep::CHECKPOINT, &mut output).expect("PUSH is captured");
    runtime.export(output.kept[0].checkpoint.expect("asked for"), 0, usize::MAX, &mut bytes).expect("kept");
    bytes
}

#[test]
fn d02_clean_gives_the_reference_values_and_passes_every_check_for_10_000_frames() {
    let mut push = runtime::<OrderedIds>();
    for (frame, mix) in [(1, 0xCE67_3821), (10, 0x924B_3141)] {
        play_to(push.as_mut(), frame);
        assert_eq!(shown(push.as_mut()), (mix, (0..64).collect()), "S({frame})");
    }
    let factory = push_factory::<OrderedIds>();
    let descriptor = tally_descriptor(&factory, 2, 1);
    assert_eq!(assert_deterministic(&factory, &descriptor, zig_packed, 10_000).states, 10_001);
    synctest(&factory, &descriptor, zig_packed, 1000, 3);
    assert_hydration(&factory, &descriptor, zig_packed, 10_000, 90);
}

#[test]
fn d02_faulty_random_keys_are_flagged_by_the_determinism_check_at_frame_1() {
    let factory = push_factory::<RandomIds>();
    assert_eq!(factory.manifest().identity(), push_factory::<OrderedIds>().manifest().identity());
    let fault = check_deterministic(&factory, &tally_descriptor(&factory, 2, 1), zig_packed, 60).expect_err("flagged");
    let GameFault::Differs { compared: Compared::Instances, tick, difference: Some(difference), .. } = fault else {
        panic!("{fault}")
    };
    assert_eq!(tick, Tick::new(1));
    assert!((8..12).contains(&difference.offset), "in the mix, behind the tick: {difference:?}");
}

#[test]
fn d02_faulty_insertion_history_is_flagged_by_the_hydration_check_at_frame_91() {
    let factory = push_factory::<ProbedIds>();
    let descriptor = tally_descriptor(&factory, 2, 1);
    // Same history, same order: neither instances nor rollbacks differ.
    assert!(check_deterministic(&factory, &descriptor, zig_packed, 360).is_ok());
    assert!(check_synctest(&factory, &descriptor, zig_packed, 360, 3).is_ok());
    let fault = check_hydration(&factory, &descriptor, zig_packed, 360, 90).expect_err("flagged");
    let GameFault::Differs { compared, tick, difference: Some(difference), .. } = fault.clone() else {
        panic!("{fault}")
    };
    assert_eq!((compared, tick), (Compared::Hydrated { at: Tick::new(90) }, Tick::new(91)));
    assert!((8..12).contains(&difference.offset), "in the mix, behind the tick: {difference:?}");
    assert!(
        fault.to_string().starts_with("after hydration with S(90) there is another state: S(91), first at byte 8"),
        "{fault}"
    );

    // Guard: what was restored equals the donor's as a set, and byte for byte; only its order does not.
    let (mut donor, mut joiner) = (runtime::<ProbedIds>(), runtime::<ProbedIds>());
    play_to(donor.as_mut(), 90);
    let snapshot = bytes(donor.as_mut());
    joiner.hydrate(Tick::new(90), &snapshot).expect("canonical");
    assert_eq!(bytes(joiner.as_mut()), snapshot);
    let ((mix, order), (same_mix, other_order)) = (shown(donor.as_mut()), shown(joiner.as_mut()));
    let set = |ids: &[u32]| ids.iter().copied().collect::<BTreeSet<_>>();
    assert_eq!((mix, set(&order)), (same_mix, set(&other_order)));
    assert_eq!(set(&order), (0..64).collect());
    assert_ne!(order, other_order);
}
