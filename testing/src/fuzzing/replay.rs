//! Replays: whatever is cut off leaves a shorter replay, and its ticks follow one another.

use retick_core::replay::{Recorder, Replay};
use retick_core::runtime::RuntimeFactory;
use retick_core::tick::Tick;

use super::{Seed, Verdict};
use crate::fixtures::{tally_descriptor, tally_factory};
use crate::fuzzing::room::tally_frames;

pub(super) fn check(input: &[u8]) -> Verdict {
    let Ok(replay) = Replay::parse(input) else { return Verdict::Refused };
    let mut next = Tick::ZERO;
    for frame in replay.frames() {
        assert_eq!(frame.tick(), next, "ticks follow one another");
        next = next.saturating_add(1);
    }
    assert_eq!(next, replay.ticks(), "every tick has its frame");
    if let Ok(shorter) = Replay::parse(&input[..input.len() - input.len() / 4]) {
        assert!(shorter.ticks() <= replay.ticks(), "what is cut off makes no replay longer");
    }
    Verdict::Taken
}

pub(super) fn seeds() -> Vec<Seed> {
    let factory = tally_factory();
    let descriptor = tally_descriptor(&factory, 2, 1);
    let recorded = |ticks: u64, finish: bool| {
        let mut recorder = Recorder::new(factory.manifest(), &descriptor);
        tally_frames(2, ticks).iter().for_each(|frame| recorder.push_frame(frame));
        if finish {
            recorder.finish();
        } else {
            recorder.flush();
        }
        recorder.take_bytes()
    };
    let seed = |name, bytes| Seed { name, bytes };
    vec![seed("header", recorded(0, false)), seed("finished", recorded(40, true)), seed("left", recorded(90, false))]
}
