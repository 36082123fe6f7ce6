//! R1, R2, R4: a replay says what it is worth, whatever happened to its bytes.

use retick_core::digest::Checksum;
use retick_core::replay::{Recorder, Refused, Replay, ReplayEnd, ReplayError, Verdict, verify};
use retick_core::runtime::{Keep, NativeFactory, Output, RuntimeFactory, StepBatch};
use retick_core::tick::Tick;

use crate::counter::{Counter, descriptor, factory, frame, runtime};

const TICKS: u64 = 300;
const CADENCE: u64 = 60;

fn checksums() -> Vec<(Tick, Checksum)> {
    let mut runtime = runtime(2);
    let schema = runtime.manifest().input_schema().clone();
    let (mut batch, mut output) = (StepBatch::default(), Output::default());
    batch.reset(Tick::ZERO);
    for tick in 0..TICKS {
        batch.push_frame(&frame(tick), &schema, if tick % CADENCE == 0 { Keep::CHECKSUM } else { Keep::NOTHING });
    }
    runtime.advance(&batch, &mut output).unwrap();
    output.kept.iter().map(|kept| (kept.tick, kept.checksum.unwrap())).collect()
}

/// A recording in which `change` may alter each frame's tick of origin and each checksum.
fn record(swap: Option<u64>, spoil: Option<u64>) -> Vec<u8> {
    let mut recorder = Recorder::new(factory().manifest(), &descriptor(2));
    let checksums = checksums();
    let mut file = vec![];
    for tick in 0..TICKS {
        match swap {
            Some(at) if at == tick => recorder.push_frame(&tampered(tick)),
            _ => recorder.push_frame(&frame(tick)),
        }
        if let Some((state, checksum)) = checksums.iter().find(|(state, _)| state.index() == tick + 1) {
            let spoiled = if spoil == Some(state.index()) { Checksum::of(b"spoiled") } else { *checksum };
            recorder.push_checksum(*state, spoiled);
        }
        file.extend(recorder.take_bytes());
    }
    recorder.finish();
    file.extend(recorder.take_bytes());
    file
}

fn tampered(tick: u64) -> retick_core::frame::Frame {
    let mut changed = retick_core::frame::Frame::new(frame(tick).generation(), Tick::new(tick));
    for (mut seat, number) in frame(tick).seats().zip(0..) {
        let other = [seat.input.unwrap()[0] + 1];
        if number == 1 {
            seat.input = Some(&other);
        }
        changed.push_seat(seat);
    }
    frame(tick).commands().for_each(|(source, payload)| changed.push_command(source, payload));
    changed
}

#[test]
fn r2_an_untouched_replay_is_verified_each_time() {
    let file = record(None, None);
    for _ in 0..2 {
        let verdict = verify(&file, &factory());
        assert!(
            matches!(verdict, Verdict::Verified { checksums: 5, ticks, .. } if ticks == Tick::new(TICKS)),
            "{verdict:?}"
        );
    }
    let replay = Replay::parse(&file).unwrap();
    assert!(replay.frames().zip(0..).all(|(recorded, tick)| recorded == frame(tick)));
}

#[test]
fn r2_a_changed_input_diverges_between_the_checksums_around_it() {
    match verify(&record(Some(130), None), &factory()) {
        Verdict::Diverged { last_good, first_bad, later_bad, later_good } => {
            assert_eq!((last_good, first_bad.tick), (Some(Tick::new(121)), Tick::new(181)));
            assert_eq!((later_bad.len(), later_good.len()), (1, 0));
        }
        verdict => panic!("{verdict:?}"),
    }
}

#[test]
fn r2_a_changed_checksum_diverges_there_alone() {
    match verify(&record(None, Some(121)), &factory()) {
        Verdict::Diverged { last_good, first_bad, later_bad, later_good } => {
            assert_eq!((last_good, first_bad.tick), (Some(Tick::new(61)), Tick::new(121)));
            assert_eq!((later_bad.len(), later_good), (0, vec![Tick::new(181), Tick::new(241)]));
        }
        verdict => panic!("{verdict:?}"),
    }
}

#[test]
fn r2_a_replay_without_checksums_is_unverifiable() {
    let mut recorder = Recorder::new(factory().manifest(), &descriptor(2));
    (0..TICKS).for_each(|tick| recorder.push_frame(&frame(tick)));
    recorder.finish();
    assert_eq!(verify(&recorder.take_bytes(), &factory()), Verdict::Unverifiable { ticks: Tick::new(TICKS) });
}

#[test]
fn r1_no_part_of_a_file_is_complete_and_what_is_there_is_readable() {
    let file = record(None, None);
    let mut most = 0;
    for length in (0..file.len()).step_by(7).chain(file.len() - 3..file.len()) {
        match Replay::parse(&file[..length]) {
            Ok(replay) => {
                assert_eq!(replay.end(), ReplayEnd::CutOff, "{length}");
                assert!(replay.ticks().index() >= most && replay.frames().zip(0..).all(|(a, tick)| a == frame(tick)));
                most = replay.ticks().index();
            }
            Err(error) => assert!(matches!(error, ReplayError::NotAReplay | ReplayError::Header), "{length}: {error}"),
        }
    }
    assert!(most >= TICKS - 1);
    let verdict = verify(&file[..file.len() - 1], &factory());
    let expected = Verdict::Incomplete { ticks: Tick::new(TICKS), checksums: 5, end: ReplayEnd::CutOff };
    assert_eq!(verdict, expected);
}

#[test]
fn r1_no_changed_byte_goes_unnoticed() {
    let file = record(None, None);
    for index in 0..file.len() {
        let mut changed = file.clone();
        changed[index] ^= 0x04;
        if let Ok(replay) = Replay::parse(&changed) {
            assert_ne!(replay.end(), ReplayEnd::Complete, "byte {index}");
        }
    }
}

#[test]
fn r2_another_game_another_version_and_no_replay_are_refused_before_tick_0() {
    let file = record(None, None);
    let other = NativeFactory::<Counter>::new(|manifest| manifest.module("counter.rs", b"other rules")).unwrap();
    let (expected, found) = (factory().manifest().identity(), other.manifest().identity());
    match verify(&file, &other) {
        Verdict::Refused(Refused::Identity(mismatch)) => {
            assert_eq!((mismatch.expected, mismatch.found), (expected, found));
            assert!(format!("{:?}", mismatch.part).contains("counter.rs"));
        }
        verdict => panic!("{verdict:?}"),
    }
    let mut old = file.clone();
    old[8] = 1;
    let refused = |bytes: &[u8]| match verify(bytes, &factory()) {
        Verdict::Refused(Refused::Unreadable(error)) => error,
        verdict => panic!("{verdict:?}"),
    };
    assert_eq!(refused(&old), ReplayError::Version { found: 1 });
    assert_eq!(refused(b""), ReplayError::NotAReplay);
    assert_eq!(refused(&file[..9]), ReplayError::Header);
}

/// A record that its own reader refuses is a recording lost: large frames close their record earlier.
#[test]
fn r1_the_largest_frames_are_recorded_and_read() {
    use retick_core::frame::{CommandSource, Frame, MAX_COMMAND_BYTES, MAX_COMMANDS_PER_FRAME};
    let mut recorder = Recorder::new(factory().manifest(), &descriptor(2));
    for tick in 0..120 {
        let mut large = Frame::new(frame(tick).generation(), Tick::new(tick));
        frame(tick).seats().for_each(|seat| large.push_seat(seat));
        let payload = vec![3; MAX_COMMAND_BYTES];
        (0..MAX_COMMANDS_PER_FRAME).for_each(|_| large.push_command(CommandSource::Authority, &payload));
        recorder.push_frame(&large);
    }
    recorder.finish();
    let replay = Replay::parse(&recorder.take_bytes()).unwrap();
    assert_eq!((replay.end(), replay.ticks()), (ReplayEnd::Complete, Tick::new(120)));
}

#[test]
fn r1_bytes_behind_the_end_are_noticed() {
    let mut file = record(None, None);
    let end = file.len();
    file.extend_from_slice(&[1, 2, 3]);
    assert_eq!(Replay::parse(&file).unwrap().end(), ReplayEnd::Damaged { offset: end });
}

#[test]
fn r1_a_match_of_another_identity_than_the_manifests_is_no_replay() {
    let other = NativeFactory::<Counter>::new(|m| m.module("counter.rs", b"other")).unwrap();
    let mut recorder = Recorder::new(other.manifest(), &descriptor(2));
    recorder.finish();
    assert_eq!(Replay::parse(&recorder.take_bytes()).unwrap_err(), ReplayError::OtherIdentity);
}
