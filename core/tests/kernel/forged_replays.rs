//! R1, R2: whoever writes a replay can write anything into it; what its running check does not tell is refused by name.

use std::iter;

use retick_core::codec::wire::{WireError, encode};
use retick_core::config::SessionConfig;
use retick_core::digest::Digest;
use retick_core::frame::{Frame, FrameRunWriter, SeatFrame};
use retick_core::identity::{DescriptorError, ManifestError, MatchDescriptor};
use retick_core::input::{InputSchema, InputSchemaError};
use retick_core::replay::{Recorder, Refused, Replay, ReplayEnd, ReplayError, Verdict, verify};
use retick_core::rng::SessionSeed;
use retick_core::runtime::{AdvanceError, CreateError, Keep, Output, RuntimeFactory};
use retick_core::seat::Generation;
use retick_core::tick::Tick;

use crate::counter::{descriptor, factory, frame, runtime, seats};
use crate::events;

/// Bytes of the magic and the version, of a record's kind and length, and of its check.
const START_BYTES: usize = 10;
const HEAD_BYTES: usize = 5;
const CHECK_BYTES: usize = 8;
const KIND_HEADER: u8 = 0;
const KIND_FRAMES: u8 = 1;
const KIND_END: u8 = 3;

/// The records of a file, each its kind and its payload.
fn records(file: &[u8]) -> Vec<(u8, Vec<u8>)> {
    let mut rest = &file[START_BYTES..];
    let next = || {
        let length = u32::from_le_bytes(*rest.get(1..)?.first_chunk()?) as usize;
        let record = (rest[0], rest[HEAD_BYTES..HEAD_BYTES + length].to_vec());
        rest = &rest[HEAD_BYTES + length + CHECK_BYTES..];
        Some(record)
    };
    iter::from_fn(next).collect()
}

/// A file of these records, with the running check that is right for them.
fn sealed(start: &[u8], records: &[(u8, Vec<u8>)]) -> Vec<u8> {
    let mut check = blake3::Hasher::new_derive_key("retick 2026 replay record v2");
    let mut file = start.to_vec();
    for (kind, payload) in records {
        let from = file.len();
        file.push(*kind);
        file.extend_from_slice(&u32::try_from(payload.len()).unwrap().to_le_bytes());
        file.extend_from_slice(payload);
        check.update(&file[from..]);
        file.extend_from_slice(&check.finalize().as_bytes()[..CHECK_BYTES]);
    }
    file
}

/// Ten ticks of a match, with the checksum of `S(0)`.
fn recording(descriptor: &MatchDescriptor) -> Vec<u8> {
    let mut recorder = Recorder::new(factory().manifest(), descriptor);
    let mut output = Output::default();
    runtime(2).keep(Keep::CHECKSUM, &mut output).unwrap();
    recorder.push_checksum(Tick::ZERO, output.kept[0].checksum.unwrap());
    (0..10).for_each(|tick| recorder.push_frame(&frame(tick)));
    recorder.finish();
    recorder.take_bytes()
}

/// The file with another record instead of its first or last one.
fn forged(kind: u8, payload: Vec<u8>) -> Vec<u8> {
    let file = recording(&descriptor(2));
    let mut records = records(&file);
    assert_eq!(sealed(&file[..START_BYTES], &records), file, "guard: the seal is the recorder's own");
    let place = records.iter().position(|record| record.0 == kind).unwrap();
    records[place].1 = payload;
    sealed(&file[..START_BYTES], &records)
}

fn with_header(manifest: &[u8], descriptor: &[u8]) -> Result<Replay, ReplayError> {
    let file = forged(KIND_HEADER, encode(&(manifest, descriptor)));
    let read = Replay::parse(&file);
    let refused = read.as_ref().err().cloned().map(Refused::Unreadable);
    assert!(refused.is_none_or(|refused| verify(&file, &factory()) == Verdict::Refused(refused)));
    read
}

#[test]
fn r2_a_manifest_or_descriptor_that_is_none_is_refused_by_name() {
    let (manifest, descriptor) = (factory().manifest().to_bytes(), descriptor(2).to_bytes());
    assert!(with_header(&manifest, &descriptor).is_ok(), "guard");

    let of_manifest = |bytes: &[u8]| with_header(bytes, &descriptor).unwrap_err();
    let malformed = ReplayError::Manifest(ManifestError::Encoding(WireError::Malformed));
    assert_eq!(of_manifest(b""), malformed);
    assert_eq!(of_manifest(&manifest[..manifest.len() - 1]), malformed);
    let offset = manifest.len();
    let longer = ManifestError::Encoding(WireError::NotCanonical { offset });
    assert_eq!(of_manifest(&[&manifest[..], &[0]].concat()), ReplayError::Manifest(longer));

    let of_descriptor = |bytes: &[u8]| with_header(&manifest, bytes).unwrap_err();
    let malformed = ReplayError::Descriptor(DescriptorError::Encoding(WireError::Malformed));
    assert_eq!(of_descriptor(b""), malformed);
    assert_eq!(of_descriptor(&descriptor[..descriptor.len() - 1]), malformed);
    let offset = descriptor.len();
    let longer = DescriptorError::Encoding(WireError::NotCanonical { offset });
    assert_eq!(of_descriptor(&[&descriptor[..], &[0]].concat()), ReplayError::Descriptor(longer));
}

#[test]
fn r2_a_header_that_is_none_is_refused() {
    let both = encode(&(&factory().manifest().to_bytes()[..], &descriptor(2).to_bytes()[..]));
    for payload in [&both[..both.len() - 1], &[&both[..], &[0]].concat(), b""] {
        assert_eq!(Replay::parse(&forged(KIND_HEADER, payload.to_vec())).unwrap_err(), ReplayError::Header);
    }
    // Another kind of record where the header should stand.
    let file = recording(&descriptor(2));
    let records = records(&file);
    assert_eq!(Replay::parse(&sealed(&file[..START_BYTES], &records[1..])).unwrap_err(), ReplayError::Header);
}

#[test]
fn r2_frames_that_the_end_record_does_not_vouch_for_are_refused() {
    let Verdict::Verified { .. } = verify(&recording(&descriptor(2)), &factory()) else { panic!("guard") };
    let found = Replay::parse(&recording(&descriptor(2))).unwrap().chain_head().unwrap();
    let expected = Digest::of(b"another history");
    let file = forged(KIND_END, encode(&(Tick::new(10), expected)));
    assert_eq!(verify(&file, &factory()), Verdict::Refused(Refused::Chain { expected, found }));
}

/// Frames in which nothing changes take no bytes, so a record's count is believed only up to the most that one holds.
#[test]
fn r1_a_record_of_more_frames_than_one_holds_is_damaged() {
    let mut run = FrameRunWriter::default();
    run.push(&frame(0), None);
    for (count, ticks) in [(1u32, 1), (60, 60), (61, 0), (u32::MAX, 0)] {
        let file = forged(KIND_FRAMES, encode(&(Tick::ZERO, count, run.body())));
        let replay = Replay::parse(&file).unwrap();
        assert_eq!((replay.ticks(), replay.frames().count() as u64), (Tick::new(ticks), ticks), "{count}");
        assert!(matches!(replay.end(), ReplayEnd::Damaged { .. }));
    }
}

#[test]
fn r2_a_match_that_the_game_refuses_is_refused() {
    let refused = verify(&recording(&descriptor(3)), &factory());
    assert_eq!(refused, Verdict::Refused(Refused::Create(CreateError::Refused { code: 33, log: vec![] })));
    let config = SessionConfig::from_bytes(b"extra").unwrap();
    let seed = SessionSeed::from_u64(9);
    let foreign = MatchDescriptor::new(factory().manifest(), config, seed, seats(2));
    let refused = verify(&recording(&foreign), &factory());
    let digest = foreign.config().digest();
    assert!(
        matches!(refused, Verdict::Refused(Refused::Create(CreateError::Config { digest: found, .. })) if found == digest)
    );
}

/// The game of the event tests has no canonical form from `S(8)` on.
#[test]
fn r2_a_game_that_ends_while_it_is_simulated_again_is_refused() {
    let mut recorder = Recorder::new(events::factory().manifest(), &events::descriptor());
    for tick in 0..9 {
        let mut frame = Frame::new(Generation(0), Tick::new(tick));
        frame.push_seat(SeatFrame { input: Some(&[1]), ..SeatFrame::default() });
        recorder.push_frame(&frame);
    }
    recorder.finish();
    let verdict = verify(&recorder.take_bytes(), &events::factory());
    let Verdict::Refused(Refused::Fault(AdvanceError::Capture { tick, .. })) = verdict else { panic!("{verdict:?}") };
    assert_eq!(tick, Tick::new(9));
}

/// The schemas that a manifest carries are read with it.
#[test]
fn r2_a_manifest_with_a_schema_that_is_none_is_refused() {
    let manifest = factory().manifest().to_bytes();
    let id = b"add/v1";
    let at = manifest.windows(id.len()).position(|window| window == id).unwrap();
    let mut changed = manifest;
    // The id is one byte shorter, and what follows it is no list of fields.
    changed[at - 1] -= 1;
    let schema = InputSchema::from_bytes(&changed[at - 1..]);
    assert!(matches!(schema, Err(InputSchemaError::Encoding(_))), "guard");
    let refused = with_header(&changed, &descriptor(2).to_bytes()).unwrap_err();
    assert_eq!(refused, ReplayError::Manifest(ManifestError::Schema));
}
