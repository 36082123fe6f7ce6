//! The native runtime of the game: the same inputs give the same bits, whatever happened in between.

use std::boxed::Box;
use std::vec;
use std::vec::Vec;

use retick_core::digest::Checksum;
use retick_core::frame::CommandSource;
use retick_core::identity::MatchDescriptor;
use retick_core::rng::SessionSeed;
use retick_core::runtime::{Checkpoint, Keep, Output, Runtime, RuntimeFactory, SeatStep, StepBatch};
use retick_core::seat::{ControlEpoch, Presence, SeatCount};
use retick_core::tick::Tick;

use super::table::seat;
use crate::{Command, Rules, native_factory, scripted_input};

const SEATS: u8 = 4;
const KEPT: Keep = Keep::CHECKSUM;

fn runtime() -> Box<dyn Runtime> {
    let factory = native_factory().expect("a valid manifest");
    let config = Rules::default().to_config().expect("in range");
    let seats = SeatCount::new(SEATS).expect("valid");
    let descriptor = MatchDescriptor::new(factory.manifest(), config, SessionSeed::from_u64(21), seats);
    factory.create(&descriptor).expect("a match of this game")
}

/// One scripted tick: humans, with a bot, substitutes, a disconnected seat and commands now and then.
fn batch_of(runtime: &dyn Runtime, tick: Tick, script: u64, keep: Keep) -> StepBatch {
    let mut batch = StepBatch::default();
    batch.reset(tick);
    batch.push_step(keep);
    for number in 0..SEATS {
        let input = scripted_input(seat(number), tick, script);
        let input = &runtime.manifest().input_schema().pack(&input).expect("in range");
        let presence = match (number, tick.index() / 200 % 3) {
            (3, _) => Presence::Bot,
            (2, 2) => Presence::Disconnected,
            _ => Presence::Human,
        };
        let substituted = number == 1 && tick.index() % 40 < 3;
        batch.push_seat(SeatStep { input, substituted, malformed: false, presence, epoch: ControlEpoch(1) });
    }
    if tick.index().is_multiple_of(60) {
        let [emote, colour] = [Command::Emote(2), Command::Colour(3)].map(Command::encode);
        batch.push_command(CommandSource::Game(seat(0)), &emote);
        batch.push_command(CommandSource::Game(seat(1)), &colour);
        batch.push_command(CommandSource::Game(seat(2)), b"malformed");
    }
    batch
}

fn advance(runtime: &mut dyn Runtime, script: u64, keep: Keep, output: &mut Output) {
    let batch = batch_of(runtime, runtime.tick(), script, keep);
    runtime.advance(&batch, output).expect("the next tick");
}

fn checksums(output: &Output) -> Vec<Checksum> {
    output.kept.iter().filter_map(|kept| kept.checksum).collect()
}

#[test]
fn k5_the_same_inputs_give_the_same_checksum_at_each_tick() {
    let [one, other] = [0, 1].map(|_| {
        let (mut runtime, mut output) = (runtime(), Output::default());
        (0..1_000).for_each(|_| advance(&mut *runtime, 5, KEPT, &mut output));
        checksums(&output)
    });
    assert_eq!((one.len(), &one), (1_000, &other));
    let distinct: std::collections::BTreeSet<_> = one.iter().collect();
    assert_eq!(distinct.len(), 1_000, "the state moves at each tick");
}

#[test]
fn k4_rolling_back_over_other_inputs_leaves_no_trace() {
    let (mut straight, mut rolling) = (runtime(), runtime());
    let (mut expected, mut output) = (Output::default(), Output::default());
    let mut checkpoint = keep_checkpoint(&mut *rolling);
    for tick in 0..600 {
        advance(&mut *straight, 5, KEPT, &mut expected);
        if tick % 8 == 7 {
            // Eight ticks of other inputs, taken back, then the real ones.
            (0..8).for_each(|_| advance(&mut *rolling, 6, Keep::NOTHING, &mut Output::default()));
            rolling.restore(checkpoint).expect("the youngest checkpoint");
            (0..8).for_each(|_| advance(&mut *rolling, 5, KEPT, &mut output));
            rolling.release(checkpoint).expect("still there");
            checkpoint = keep_checkpoint(&mut *rolling);
        }
    }
    assert_eq!(checksums(&output), checksums(&expected));
}

fn keep_checkpoint(runtime: &mut dyn Runtime) -> Checkpoint {
    let mut output = Output::default();
    runtime.keep(Keep::CHECKPOINT, &mut output).expect("a state");
    output.kept[0].checkpoint.expect("asked for")
}

#[test]
fn k13_a_state_survives_its_canonical_bytes() {
    let mut donor = runtime();
    (0..700).for_each(|_| advance(&mut *donor, 5, Keep::NOTHING, &mut Output::default()));
    let checkpoint = keep_checkpoint(&mut *donor);
    let mut bytes = vec![];
    donor.export(checkpoint, 0, usize::MAX, &mut bytes).expect("a checkpoint");
    let mut newcomer = runtime();
    newcomer.hydrate(donor.tick(), &bytes).expect("canonical bytes");
    let (mut one, mut other) = (Output::default(), Output::default());
    for _ in 0..200 {
        advance(&mut *donor, 5, KEPT, &mut one);
        advance(&mut *newcomer, 5, KEPT, &mut other);
    }
    assert_eq!(checksums(&one), checksums(&other));
}

#[test]
fn k7_malformed_commands_are_counted() {
    let (mut runtime, mut output) = (runtime(), Output::default());
    (0..121).for_each(|_| advance(&mut *runtime, 5, Keep::NOTHING, &mut output));
    assert_eq!(output.malformed_commands, 3);
}
