//! K3, K4, K7: the native adapter keeps the runtime's contract.

use retick_core::digest::Checksum;
use retick_core::frame::CommandSource;
use retick_core::runtime::{
    AdvanceError, CheckpointError, CreateError, HydrateError, Keep, Output, Runtime, RuntimeFactory, StepBatch,
};
use retick_core::tick::Tick;

use crate::counter::{descriptor, factory, frame, runtime, seats};

fn advance(runtime: &mut dyn Runtime, ticks: u64, keep: Keep) -> Output {
    let schema = runtime.manifest().input_schema().clone();
    let (mut batch, mut output) = (StepBatch::default(), Output::default());
    let first = runtime.tick().index();
    batch.reset(runtime.tick());
    (first..first + ticks).for_each(|tick| batch.push_frame(&frame(tick), &schema, keep));
    runtime.advance(&batch, &mut output).unwrap();
    output
}

fn checksum(runtime: &mut dyn Runtime) -> Checksum {
    let mut output = Output::default();
    runtime.keep(Keep::CHECKSUM, &mut output).unwrap();
    output.kept[0].checksum.unwrap()
}

#[test]
fn k2_one_batch_is_the_same_as_many() {
    let (mut whole, mut single) = (runtime(2), runtime(2));
    let at_once = advance(whole.as_mut(), 50, Keep::CHECKSUM | Keep::PROJECTION);
    for tick in 0..50 {
        let output = advance(single.as_mut(), 1, Keep::CHECKSUM | Keep::PROJECTION);
        assert_eq!(output.kept[0].checksum, at_once.kept[tick].checksum, "S({})", tick + 1);
        assert_eq!(output.projection(&output.kept[0]), at_once.projection(&at_once.kept[tick]));
    }
    // The checksums move, or this proves nothing.
    assert_ne!(at_once.kept[0].checksum, at_once.kept[1].checksum);
}

#[test]
fn k4_a_checkpoint_restores_the_same_bytes_each_time_and_releases_the_younger() {
    let mut runtime = runtime(2);
    let output = advance(runtime.as_mut(), 10, Keep::CHECKPOINT | Keep::CHECKSUM);
    let [fourth, eighth] = [3, 7].map(|index| output.kept[index].clone());
    let (older, younger) = (fourth.checkpoint.unwrap(), eighth.checkpoint.unwrap());
    for _ in 0..3 {
        runtime.restore(older).unwrap();
        assert_eq!((runtime.tick(), Some(checksum(runtime.as_mut()))), (Tick::new(4), fourth.checksum));
        advance(runtime.as_mut(), 4, Keep::NOTHING);
        assert_eq!(Some(checksum(runtime.as_mut())), eighth.checksum);
    }
    let stale = CheckpointError::Stale { tick: Tick::new(8) };
    assert_eq!(runtime.restore(younger), Err(stale.clone()));
    assert_eq!(runtime.release(younger), Err(stale.clone()));
    assert_eq!(runtime.export(younger, 0, 1, &mut vec![]), Err(stale));
    runtime.release(older).unwrap();
    assert_eq!(runtime.restore(older), Err(CheckpointError::Stale { tick: Tick::new(4) }));
}

#[test]
fn k4_an_older_checkpoint_is_exported_in_pieces_while_the_present_goes_on() {
    let mut donor = runtime(2);
    let output = advance(donor.as_mut(), 5, Keep::CHECKPOINT | Keep::CHECKSUM);
    let (checkpoint, expected) = (output.kept[2].checkpoint.unwrap(), output.kept[2].checksum);
    let mut bytes = vec![];
    loop {
        let total = donor.export(checkpoint, bytes.len() as u64, 7, &mut bytes).unwrap();
        advance(donor.as_mut(), 1, Keep::NOTHING);
        if bytes.len() as u64 == total {
            break;
        }
    }
    assert_eq!(Some(Checksum::of(&bytes)), expected, "a checksum is the BLAKE3 of the exported bytes");
    assert!(donor.tick() > Tick::new(6), "the donor went on");

    let mut joiner = runtime(2);
    let held = advance(joiner.as_mut(), 1, Keep::CHECKPOINT).kept[0].checkpoint.unwrap();
    joiner.hydrate(Tick::new(3), &bytes).unwrap();
    assert_eq!((joiner.tick(), Some(checksum(joiner.as_mut()))), (Tick::new(3), expected));
    assert_eq!(joiner.restore(held), Err(CheckpointError::Stale { tick: Tick::new(1) }));
    let at_four = advance(joiner.as_mut(), 1, Keep::CHECKSUM);
    assert_eq!(at_four.kept[0].checksum, output.kept[3].checksum);
}

#[test]
fn k4_hydration_takes_only_canonical_states_and_changes_nothing_otherwise() {
    let mut runtime = runtime(2);
    let output = advance(runtime.as_mut(), 3, Keep::CHECKPOINT);
    let mut bytes = vec![];
    runtime.export(output.kept[2].checkpoint.unwrap(), 0, usize::MAX, &mut bytes).unwrap();
    let before = checksum(runtime.as_mut());
    let tick = HydrateError::Tick { expected: Tick::new(4), found: Tick::new(3) };
    assert_eq!(runtime.hydrate(Tick::new(4), &bytes), Err(tick));
    for length in 0..bytes.len() {
        assert_eq!(runtime.hydrate(Tick::new(3), &bytes[..length]), Err(HydrateError::Malformed), "{length}");
    }
    let longer = [bytes.as_slice(), &[0]].concat();
    assert_eq!(runtime.hydrate(Tick::new(3), &longer), Err(HydrateError::Malformed));
    assert_eq!((checksum(runtime.as_mut()), runtime.tick()), (before, Tick::new(3)));
    assert_eq!(runtime.hydrate(Tick::new(3), &bytes), Ok(()));
}

#[test]
fn k7_a_malformed_command_is_skipped_and_counted_and_a_malformed_input_is_neutral() {
    let mut runtime = runtime(2);
    let schema = runtime.manifest().input_schema().clone();
    let mut spoiled = frame(1);
    spoiled.push_command(CommandSource::Authority, b"no such command");
    spoiled.push_command(CommandSource::Authority, &[2]);
    let (mut batch, mut output) = (StepBatch::default(), Output::default());
    batch.reset(Tick::ZERO);
    batch.push_frame(&frame(0), &schema, Keep::NOTHING);
    batch.push_frame(&spoiled, &schema, Keep::PROJECTION);
    runtime.advance(&batch, &mut output).unwrap();
    assert_eq!(output.malformed_commands, 1);
    // Ticks 0 and 1 give -5, -2, 2 and 5; the commands 3,000 and 2,000.
    assert_eq!(output.projection(&output.kept[0]), Some(5000i64.to_le_bytes().as_slice()));

    let mut bad_input = retick_core::frame::Frame::new(retick_core::seat::Generation(0), Tick::new(2));
    bad_input.push_seat(retick_core::frame::SeatFrame { input: Some(b"too long"), ..Default::default() });
    bad_input.push_seat(retick_core::frame::SeatFrame::default());
    batch.reset(Tick::new(2));
    batch.push_frame(&bad_input, &schema, Keep::NOTHING);
    let seat = batch.step(0).unwrap().seats().next().unwrap();
    assert_eq!((seat.malformed, seat.input), (true, schema.neutral()));
}

#[test]
fn k2_a_batch_for_another_tick_or_seat_count_is_refused() {
    let mut runtime = runtime(2);
    let schema = runtime.manifest().input_schema().clone();
    let (mut batch, mut output) = (StepBatch::default(), Output::default());
    batch.reset(Tick::new(1));
    batch.push_frame(&frame(1), &schema, Keep::CHECKPOINT);
    let not_current = AdvanceError::NotCurrent { first: Tick::new(1), current: Tick::ZERO };
    assert_eq!(runtime.advance(&batch, &mut output), Err(not_current));
    batch.reset(Tick::ZERO);
    batch.push_step(Keep::CHECKPOINT);
    assert_eq!(runtime.advance(&batch, &mut output), Err(AdvanceError::Seats { found: 0, expected: 2 }));
    assert_eq!((runtime.tick(), output), (Tick::ZERO, Output::default()));
}

#[test]
fn k12_a_config_that_is_none_of_the_games_is_refused_with_its_digest() {
    let config = retick_core::config::SessionConfig::from_bytes(b"extra").unwrap();
    let digest = config.digest();
    let seed = retick_core::rng::SessionSeed::from_u64(9);
    let descriptor = retick_core::identity::MatchDescriptor::new(factory().manifest(), config, seed, seats(2));
    let refused = factory().create(&descriptor).map(|_| ()).unwrap_err();
    assert!(matches!(refused, CreateError::Config { digest: found, .. } if found == digest), "{refused:?}");
}

#[test]
fn k11_k12_a_factory_refuses_matches_that_are_not_its_own() {
    let factory = factory();
    let error = |count| factory.create(&descriptor(count)).map(|_| ()).unwrap_err();
    assert_eq!(error(5), CreateError::Seats { seats: 5, least: 1, most: 4 });
    assert_eq!(error(3), CreateError::Refused { code: 33, log: vec![] });
    let other =
        retick_core::runtime::NativeFactory::<crate::counter::Counter>::new(|m| m.module("counter.rs", b"other"))
            .unwrap();
    let (expected, loaded) = (factory.manifest().identity(), other.manifest().identity());
    let refused = other.create(&descriptor(2)).map(|_| ()).unwrap_err();
    assert_eq!(refused, CreateError::Identity { expected, loaded });
}
