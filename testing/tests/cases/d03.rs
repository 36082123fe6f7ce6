//! D03: padding and uninitialised bytes in the checksum.

use retick_core::digest::Checksum;
use retick_core::runtime::{Checkpoint, Keep, Kept, Output, Runtime, RuntimeFactory, SeatStep, StepBatch};
use retick_core::seat::{ControlEpoch, Presence, Seat};
use retick_core::tick::{Moment, Tick};
use retick_testing::assert::{
    ByteDifference, Compared, GameFault, assert_deterministic, assert_hydration, check_deterministic, check_hydration,
    check_synctest, synctest,
};
use retick_testing::environment::{self, Machine};
use retick_testing::fixtures::{pack_tally, tally_descriptor};
use retick_testing::twins::{LogicalForm, Narrow, Padded, RawForm, Wide, padded_factory};

/// The checksum of {a: 7, b: 9, c: 3} at tick 0, on every machine.
const GOLDEN: &str = "b6374e1cb31906d55b8cd03f0e42484b8c01272baa61edc1d0bbe16b51ff2cc7";
/// Its bytes: the tick, and the three fields without anything between them.
const BYTES: [u8; 15] = [0, 0, 0, 0, 0, 0, 0, 0, 7, 9, 0, 0, 0, 3, 0];

/// From tick 40 on `b` is 300, so it is from S(41) on; then it moves.
fn script(seat: Seat, tick: Tick) -> Vec<u8> {
    let value = match (seat.number(), tick.index()) {
        (0, 40) => 291,
        (0, 41..) => 1,
        _ => 0,
    };
    pack_tally(value)
}

/// A runtime of the clean struct on a machine of this number, at S(0).
fn built_on(machine: u8) -> Box<dyn Runtime> {
    environment::enter(Machine::numbered(machine).at(Moment::ZERO));
    let factory = padded_factory::<Wide, LogicalForm>();
    factory.create(&tally_descriptor(&factory, 2, 1)).expect("a match")
}

fn keep(runtime: &mut dyn Runtime, keep: Keep) -> (Kept, Vec<u8>) {
    let mut output = Output::default();
    runtime.keep(keep, &mut output).expect("it is captured");
    (output.kept.remove(0), output.projections)
}

fn checksum(runtime: &mut dyn Runtime) -> Checksum {
    keep(runtime, Keep::CHECKSUM).0.checksum.expect("asked for")
}

fn checkpoint(runtime: &mut dyn Runtime) -> Checkpoint {
    keep(runtime, Keep::CHECKPOINT).0.checkpoint.expect("asked for")
}

/// One step in which `b` moves.
fn step(runtime: &mut dyn Runtime) {
    let (mut batch, mut output) = (StepBatch::default(), Output::default());
    batch.reset(runtime.tick());
    batch.push_step(Keep::NOTHING);
    for _ in 0..2 {
        let (presence, epoch) = (Presence::Human, ControlEpoch(1));
        batch.push_seat(SeatStep { input: &pack_tally(5), substituted: false, malformed: false, presence, epoch });
    }
    runtime.advance(&batch, &mut output).expect("it steps");
}

#[test]
fn d03_however_the_state_came_to_be_its_checksum_is_the_golden_one() {
    let fresh_memory = Padded::<Wide>::FRESH_MEMORY;
    // Fresh, and in memory that was full of something else.
    let memories = [2, 0, 1].map(|machine| {
        let mut runtime = built_on(machine);
        assert_eq!(checksum(runtime.as_mut()).to_string(), GOLDEN, "machine {machine}");
        let memory = keep(runtime.as_mut(), Keep::PROJECTION).1;
        assert!(memory.len() > 7, "guard: there is padding");
        let padding = memory.iter().filter(|byte| **byte == fresh_memory[usize::from(machine % 3)]).count();
        assert!(padding >= memory.len() - 7, "guard: the padding holds what was there before");
        memory
    });
    assert!(memories[0] != memories[1] && memories[1] != memories[2], "guard: the memories differ");

    // After a thousand rollbacks.
    let mut runtime = built_on(0);
    let start = checkpoint(runtime.as_mut());
    for _ in 0..1000 {
        step(runtime.as_mut());
        assert_ne!(checksum(runtime.as_mut()).to_string(), GOLDEN, "guard: the step moved the state");
        runtime.restore(start).expect("kept");
    }
    assert_eq!(checksum(runtime.as_mut()).to_string(), GOLDEN);

    // From its bytes.
    let mut exported = Vec::new();
    assert_eq!(runtime.export(start, 0, usize::MAX, &mut exported), Ok(BYTES.len() as u64));
    assert_eq!(exported, BYTES);
    let mut hydrated = built_on(1);
    step(hydrated.as_mut());
    hydrated.hydrate(Tick::ZERO, &exported).expect("canonical");
    assert_eq!(checksum(hydrated.as_mut()).to_string(), GOLDEN);
    assert_eq!(Checksum::of(&BYTES).to_string(), GOLDEN);
}

#[test]
fn d03_clean_passes_every_check_for_10_000_frames() {
    let factory = padded_factory::<Wide, LogicalForm>();
    let descriptor = tally_descriptor(&factory, 2, 1);
    assert_eq!(assert_deterministic(&factory, &descriptor, script, 10_000).states, 10_001);
    assert_eq!(synctest(&factory, &descriptor, script, 10_000, 3).rollbacks, 10_000);
    assert_hydration(&factory, &descriptor, script, 10_000, 10);
}

#[test]
fn d03_faulty_raw_bytes_are_flagged_at_frame_0() {
    let factory = padded_factory::<Wide, RawForm>();
    let fault = check_deterministic(&factory, &tally_descriptor(&factory, 2, 1), script, 60).expect_err("flagged");
    // The first byte of padding stands behind the tick and `a`.
    let [first, second, _] = Padded::<Wide>::FRESH_MEMORY.map(Some);
    let difference = Some(ByteDifference { offset: 9, first, second });
    assert_eq!(fault, GameFault::Differs { compared: Compared::Instances, tick: Tick::ZERO, difference, field: None });
}

#[test]
fn d03_faulty_narrow_saves_are_flagged_by_the_first_rollback_to_a_b_beyond_255() {
    let factory = padded_factory::<Narrow, LogicalForm>();
    let descriptor = tally_descriptor(&factory, 2, 1);
    assert!(check_deterministic(&factory, &descriptor, script, 60).is_ok());
    for depth in [1, 3, 8] {
        // Nothing before it: b is 9 up to S(40), and no rollback goes to a later state before tick 40 + depth is played.
        assert!(check_synctest(&factory, &descriptor, still, 40 + depth, depth).is_ok());
        let fault = check_synctest(&factory, &descriptor, script, 60, depth).expect_err("flagged");
        let flagged =
            GameFault::Differs { compared: Compared::Restored, tick: Tick::new(41), difference: None, field: None };
        assert_eq!(fault, flagged, "depth {depth}");
    }
    // Whoever joins is given a save, too.
    let fault = check_hydration(&factory, &descriptor, script, 60, 1).expect_err("flagged");
    assert!(
        matches!(fault, GameFault::Differs { compared: Compared::Hydrated { at }, tick, .. } if at == tick && tick.index() == 41)
    );
}

/// As [`script`] up to where `b` would outgrow a byte; then it moves within it.
fn still(seat: Seat, tick: Tick) -> Vec<u8> {
    if tick.index() < 40 { script(seat, tick) } else { pack_tally(2) }
}
