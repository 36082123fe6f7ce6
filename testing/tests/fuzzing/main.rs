//! The fuzzer's checks as ordinary tests: from the same first inputs, changed by a mutator of our own, on any toolchain.

use std::fs;
use std::path::{Path, PathBuf};

use allocation_counter::measure;
use retick_testing::fuzzing::{MAX_SEED_BYTES, Mutator, Seed, Seen, Target, Verdict, play};

/// Inputs that each check is given.
const INPUTS: usize = 4_000;
/// The same for checks that play or rewrite something.
const COSTLY_INPUTS: usize = 400;

/// Checks seeds and what the mutator makes of them, and the memory that it takes; gives how many were taken and refused.
fn run(target: Target, inputs: usize) -> [usize; 2] {
    let seeds = target.seeds();
    assert!(seeds.len() >= 3 && seeds.iter().all(|seed| seed.bytes.len() <= MAX_SEED_BYTES), "{}", target.name());
    let mut verdicts = [0, 0];
    let first: Vec<_> = seeds.iter().map(|seed| seed.bytes.clone()).collect();
    for input in first.into_iter().chain(Mutator::new(seeds, 7).take(inputs)) {
        let mut verdict = Verdict::Refused;
        let used = measure(|| verdict = target.check(&input));
        let most = target.most_bytes(input.len());
        assert!(used.bytes_max <= most, "{}: {} bytes for {}: {input:?}", target.name(), used.bytes_max, input.len());
        verdicts[usize::from(verdict == Verdict::Refused)] += 1;
    }
    verdicts
}

#[track_caller]
fn check(target: Target, inputs: usize) {
    let [taken, refused] = run(target, inputs);
    assert!(taken > inputs / 20 && refused > inputs / 20, "guard: {taken} taken, {refused} refused");
}

#[test]
fn k13_any_message_frame_or_record_has_one_form() {
    check(Target::Wire, INPUTS);
}

#[test]
fn s8_any_snapshot_has_one_form_and_is_of_the_state_that_it_names() {
    check(Target::Snapshot, INPUTS / 4);
}

#[test]
fn r1_any_replay_that_is_cut_off_is_a_shorter_one() {
    check(Target::Replay, INPUTS);
}

#[test]
fn k12_any_config_schema_manifest_or_descriptor_has_one_form() {
    check(Target::Config, INPUTS);
}

#[test]
fn k13_any_value_has_one_text_and_one_binary_form() {
    check(Target::Text, INPUTS);
}

#[cfg(feature = "admission")]
#[test]
fn w2_any_module_is_refused_by_name_or_rewritten_in_one_way() {
    check(Target::Module, COSTLY_INPUTS);
}

/// Whatever reaches a room, and whenever it is killed: gapless, ordered and equal frames, bounded outputs, and the same room again.
#[test]
fn a1_any_script_keeps_a_rooms_frames_gapless_ordered_and_equal() {
    let [taken, _] = run(Target::Room, COSTLY_INPUTS);
    assert!(taken > COSTLY_INPUTS / 2, "guard: {taken} scripts played a match");
    let mut all = Seen::default();
    for input in Mutator::new(Target::Room.seeds(), 7).take(COSTLY_INPUTS) {
        let seen = play(&input);
        all.ticks += seen.ticks;
        all.received_frames += seen.received_frames;
        all.claims += seen.claims;
        all.resumes += seen.resumes;
        all.changes += seen.changes;
        all.reconfigurations += seen.reconfigurations;
        all.snapshots += seen.snapshots;
        all.restarts += seen.restarts;
        all.restarts_from_summaries += seen.restarts_from_summaries;
        all.returned_ticks += seen.returned_ticks;
    }
    let least = [all.claims, all.resumes, all.changes, all.reconfigurations, all.snapshots, all.restarts];
    let rare = [all.restarts_from_summaries, all.returned_ticks];
    assert!(all.ticks > 10_000 && all.received_frames > 10_000, "guard: {all:?}");
    assert!(least.iter().chain(&rare).all(|count| *count >= 10), "guard: {all:?}");
}

fn corpus() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../fuzz/seeds")
}

/// The files in `fuzz/seeds` are what `cargo run -p retick-testing --example fuzz_seeds` writes.
#[test]
fn the_first_inputs_beside_the_fuzz_targets_are_these() {
    for target in Target::ALL {
        let folder = corpus().join(target.name());
        let mut found: Vec<_> = fs::read_dir(&folder).unwrap().map(|entry| entry.unwrap().file_name()).collect();
        found.sort();
        let mut seeds = target.seeds();
        seeds.sort_by_key(|seed| seed.name);
        let names: Vec<_> = seeds.iter().map(|seed| seed.name).collect();
        assert_eq!(found, names, "{}: write them again", target.name());
        for Seed { name, bytes } in &seeds {
            assert!(fs::read(folder.join(name)).unwrap() == *bytes, "{}/{name}: write it again", target.name());
        }
    }
}

/// The premise: a check that is given what breaks its rule panics.
#[test]
fn the_mutator_reaches_what_lies_behind_each_format() {
    for (target, changed) in [(Target::Snapshot, 200), (Target::Wire, 200), (Target::Config, 100), (Target::Text, 30)] {
        let seeds = target.seeds();
        let is_new = |input: &Vec<u8>| seeds.iter().all(|seed| seed.bytes != *input);
        let inputs = Mutator::new(seeds.clone(), 3).take(INPUTS).filter(is_new);
        let taken = inputs.filter(|input| target.check(input) == Verdict::Taken).count();
        assert!(taken > changed, "{}: {taken} inputs that are no seed were taken", target.name());
    }
}
