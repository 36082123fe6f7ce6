//! R3: a seek gives the states of linear playback, from wherever it comes, and costs at most the ticks between two key frames.

use std::sync::LazyLock;

use proptest::prelude::*;
use retick_core::digest::Checksum;
use retick_core::identity::MatchDescriptor;
use retick_core::replay::{Recorder, RecorderOptions, Refused, Replay, ReplayPlayer, SeekError, Verdict, verify};
use retick_core::runtime::{Keep, Output, RuntimeFactory, StepBatch};
use retick_core::snapshot::Snapshot;
use retick_core::tick::Tick;

use crate::counter::{descriptor, factory, frame, runtime};
use crate::replay_blocks::{KIND_KEY_FRAME, START_BYTES, blocks, offsets, sealed};

const TICKS: u64 = 400;
const CADENCE: u64 = 20;
const INTERVAL: u64 = 60;

/// The state's bytes and checksum after each tick, from tick 0 on, played once.
fn linear() -> &'static [(Vec<u8>, Checksum)] {
    static STATES: LazyLock<Vec<(Vec<u8>, Checksum)>> = LazyLock::new(played);
    &STATES
}

fn played() -> Vec<(Vec<u8>, Checksum)> {
    let mut runtime = runtime(2);
    let schema = runtime.manifest().input_schema().clone();
    let (mut batch, mut states) = (StepBatch::default(), vec![]);
    for tick in 0..=TICKS {
        let mut output = Output::default();
        runtime.keep(Keep::CHECKPOINT | Keep::CHECKSUM, &mut output).unwrap();
        let (checkpoint, mut state) = (output.kept[0].checkpoint.unwrap(), vec![]);
        runtime.export(checkpoint, 0, usize::MAX, &mut state).unwrap();
        runtime.release(checkpoint).unwrap();
        states.push((state, output.kept[0].checksum.unwrap()));
        batch.reset(Tick::new(tick));
        batch.push_frame(&frame(tick), &schema, Keep::NOTHING);
        runtime.advance(&batch, &mut output).unwrap();
    }
    states
}

/// The match as a file, with the key frames that its recorder wants.
fn recorded(interval: u64) -> Vec<u8> {
    let options = RecorderOptions { key_frame_interval_ticks: interval, ..RecorderOptions::default() };
    let mut recorder = Recorder::with_options(factory().manifest(), &descriptor(2), options);
    let states = linear();
    let snapshot = |of: &MatchDescriptor, tick: Tick, state: &[u8]| Snapshot::new(of, tick, vec![], state);
    for tick in 0..TICKS {
        recorder.push_frame(&frame(tick));
        if !tick.is_multiple_of(CADENCE) {
            continue;
        }
        let (after, (state, checksum)) = (Tick::new(tick + 1), &states[tick as usize + 1]);
        recorder.push_checksum(after, *checksum);
        if let Some(wanted) = recorder.wanted_key_frame() {
            assert_eq!(wanted, after);
            // Of another match, of another tick, of another state: none of these is it.
            for other in [
                snapshot(&descriptor(1), after, state),
                snapshot(&descriptor(2), Tick::new(tick), state),
                snapshot(&descriptor(2), after, b"another state"),
            ] {
                assert!(!recorder.push_key_frame(&other));
            }
            assert!(recorder.push_key_frame(&snapshot(&descriptor(2), after, state)));
            assert_eq!(recorder.wanted_key_frame(), None);
        }
    }
    recorder.finish();
    recorder.take_bytes()
}

#[test]
fn r3_key_frames_stand_at_the_interval_and_are_verified() {
    let file = recorded(INTERVAL);
    let replay = Replay::parse(&file).unwrap();
    let ticks: Vec<u64> = replay.key_frames().map(Tick::index).collect();
    assert_eq!(ticks, [61, 121, 181, 241, 301, 361]);
    assert_eq!(replay.check_chain(), Ok(()));
    assert!(matches!(verify(&file, &factory()), Verdict::Verified { checksums: 20, .. }));
    let without = Replay::parse(&recorded(0)).unwrap();
    assert_eq!((without.key_frames().len(), without.ticks()), (0, replay.ticks()));
}

/// Whoever drains frames first and checksums then still records key frames, of the newest state that it has.
#[test]
fn r3_a_checksum_that_comes_late_becomes_a_key_frame_with_the_head_of_its_own_tick() {
    let options = RecorderOptions { key_frame_interval_ticks: INTERVAL, ..RecorderOptions::default() };
    let mut recorder = Recorder::with_options(factory().manifest(), &descriptor(2), options);
    (0..TICKS).for_each(|tick| recorder.push_frame(&frame(tick)));
    // The head of S(144) is gone by now, and that of S(145) is not.
    for (tick, wanted) in [(100, None), (144, None), (145, Some(145)), (301, Some(301)), (400, Some(400))] {
        recorder.push_checksum(Tick::new(tick), linear()[tick as usize].1);
        assert_eq!(recorder.wanted_key_frame(), wanted.map(Tick::new), "{tick}");
    }
    recorder.push_checksum(Tick::new(301), linear()[301].1);
    assert!(recorder.push_key_frame(&Snapshot::new(&descriptor(2), Tick::new(301), vec![], &linear()[301].0)));
    recorder.finish();
    let file = recorder.take_bytes();
    let replay = Replay::parse(&file).unwrap();
    assert_eq!((replay.key_frames().collect::<Vec<_>>(), replay.check_chain()), (vec![Tick::new(301)], Ok(())));
    assert!(matches!(verify(&file, &factory()), Verdict::Verified { checksums: 6, .. }));
}

proptest! {
    #[test]
    fn r3_seeking_both_ways_is_linear_playback(goals in prop::collection::vec(0..=TICKS, 1..24)) {
        let states = linear();
        let mut player = ReplayPlayer::new(Replay::parse(&recorded(INTERVAL)).unwrap(), &factory()).unwrap();
        for goal in goals {
            let (from, before) = (player.tick().index(), player.steps());
            player.seek(Tick::new(goal)).unwrap();
            prop_assert_eq!(player.tick(), Tick::new(goal));
            prop_assert_eq!(player.checksum().unwrap(), states[goal as usize].1);
            let steps = player.steps() - before;
            // From the first key frame on there is one every 60 ticks, before it there is S(0).
            prop_assert!(steps <= INTERVAL, "{from} to {goal} took {steps} steps");
            prop_assert!(from > goal || steps <= goal - from, "{from} to {goal} took {steps} steps");
        }
    }
}

#[test]
fn r3_what_is_shown_there_is_what_was_shown() {
    let mut player = ReplayPlayer::new(Replay::parse(&recorded(INTERVAL)).unwrap(), &factory()).unwrap();
    player.seek(Tick::new(200)).unwrap();
    let shown = player.projection().unwrap().to_vec();
    player.seek(Tick::new(399)).unwrap();
    assert_ne!(player.projection().unwrap(), shown, "guard");
    player.seek(Tick::new(200)).unwrap();
    assert_eq!(player.projection().unwrap(), shown);
}

#[test]
fn r3_there_is_nothing_behind_the_last_state() {
    let mut player = ReplayPlayer::new(Replay::parse(&recorded(INTERVAL)).unwrap(), &factory()).unwrap();
    let (tick, last) = (Tick::new(TICKS + 1), Tick::new(TICKS));
    assert_eq!(player.seek(tick), Err(SeekError::Beyond { tick, last }));
    assert_eq!((player.seek(last), player.tick()), (Ok(()), last));
}

/// The file with the state of another tick in its third key frame, and what its maker would write about it.
fn forged(change: impl Fn(&mut Vec<u8>)) -> Vec<u8> {
    let file = recorded(INTERVAL);
    let mut blocks = blocks(&file);
    let place = blocks.iter().enumerate().filter(|(_, block)| block.0 == KIND_KEY_FRAME).nth(2).unwrap().0;
    let length = blocks[place].1.len();
    change(&mut blocks[place].1);
    assert_eq!(blocks[place].1.len(), length, "guard: everything else stays where it is");
    let forged = sealed(&file[..START_BYTES], &descriptor(2), &blocks);
    assert_eq!(offsets(&forged), offsets(&file), "guard");
    forged
}

#[test]
fn r2_a_key_frame_of_another_state_is_refused_once_all_else_is_right() {
    // Behind its tick a key frame states its checksum, and at its end stand the bytes of its state.
    let tick = Tick::new(181);
    let found = linear()[181].1;
    let file = forged(|payload| *payload.last_mut().unwrap() ^= 1);
    assert_eq!(verify(&file, &factory()), Verdict::Refused(Refused::KeyFrame { tick, expected: None, found }));
    let mut player = ReplayPlayer::new(Replay::parse(&file).unwrap(), &factory()).unwrap();
    player.seek(Tick::new(300)).unwrap();
    assert_eq!(player.seek(Tick::new(200)), Err(SeekError::KeyFrame { tick }));
    assert_eq!((player.seek(Tick::new(130)), player.checksum()), (Ok(()), Ok(linear()[130].1)));

    let checksum_at = blocks(&file).iter().find(|block| block.0 == KIND_KEY_FRAME).unwrap().1[0];
    assert_eq!(checksum_at, 61, "guard: the tick is one byte");
    let file = forged(|payload| payload[1] ^= 1);
    assert!(matches!(verify(&file, &factory()), Verdict::Refused(Refused::KeyFrame { expected: None, .. })));
    // The head of the chain stands behind the checksum.
    let file = forged(|payload| payload[1 + 32] ^= 1);
    assert!(matches!(verify(&file, &factory()), Verdict::Refused(Refused::Chain { tick: at, .. }) if at == tick));
}
