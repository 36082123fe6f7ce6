//! R1, R2: whoever writes a replay can write anything into it; what its checks do not tell is refused by name.

use retick_core::codec::wire::{WireError, encode};
use retick_core::config::SessionConfig;
use retick_core::digest::{Checksum, Digest};
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
use crate::replay_blocks::{
    KIND_CHECKSUM, KIND_END, KIND_FRAMES, KIND_HEADER, KIND_INDEX, START_BYTES, blocks, end, offsets, sealed,
};

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

/// The file with another block instead of the first one of its kind.
fn forged(kind: u8, payload: Vec<u8>) -> Vec<u8> {
    let file = recording(&descriptor(2));
    let mut blocks = blocks(&file);
    assert_eq!(sealed(&file[..START_BYTES], &descriptor(2), &blocks), file, "guard: the seal is the recorder's own");
    let place = blocks.iter().position(|block| block.0 == kind).unwrap();
    blocks[place].1 = payload;
    sealed(&file[..START_BYTES], &descriptor(2), &blocks)
}

/// The file with another block in front of its index.
fn with_block(kind: u8, payload: &[u8]) -> Vec<u8> {
    let file = recording(&descriptor(2));
    let mut blocks = blocks(&file);
    let place = blocks.iter().position(|block| block.0 == KIND_INDEX).unwrap();
    blocks.insert(place, (kind, payload.to_vec()));
    // The end says where the index stands, which has moved.
    let moved = sealed(&file[..START_BYTES], &descriptor(2), &blocks);
    let index = offsets(&moved).into_iter().find(|block| block.0 == KIND_INDEX).unwrap().1;
    let head = Replay::parse(&file).unwrap().chain_head().unwrap();
    blocks.last_mut().unwrap().1 = end([10, 1, 0], index as u64, head);
    sealed(&file[..START_BYTES], &descriptor(2), &blocks)
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
    // Another kind of block where the header should stand.
    let file = recording(&descriptor(2));
    let blocks = blocks(&file);
    let headless = sealed(&file[..START_BYTES], &descriptor(2), &blocks[1..]);
    assert_eq!(Replay::parse(&headless).unwrap_err(), ReplayError::Header);
}

#[test]
fn r2_frames_that_the_end_does_not_vouch_for_are_refused() {
    let Verdict::Verified { .. } = verify(&recording(&descriptor(2)), &factory()) else { panic!("guard") };
    let file = recording(&descriptor(2));
    let found = Replay::parse(&file).unwrap().chain_head().unwrap();
    let expected = Digest::of(b"another history");
    let index = offsets(&file).into_iter().find(|block| block.0 == KIND_INDEX).unwrap().1 as u64;
    let file = forged(KIND_END, end([10, 1, 0], index, expected));
    let tick = Tick::new(10);
    assert_eq!(verify(&file, &factory()), Verdict::Refused(Refused::Chain { tick, expected, found }));
}

/// An end vouches for everything that it counts: a file from which something was taken is damaged where it ends.
#[test]
fn r1_an_end_that_counts_something_else_is_damaged() {
    let file = recording(&descriptor(2));
    let head = Replay::parse(&file).unwrap().chain_head().unwrap();
    let places = offsets(&file);
    let (index, last) = (places[places.len() - 2].1 as u64, places[places.len() - 1].1);
    assert_eq!(forged(KIND_END, end([10, 1, 0], index, head)), file, "guard");
    for (counts, at) in [([9, 1, 0], index), ([10, 0, 0], index), ([10, 1, 1], index), ([10, 1, 0], index + 1)] {
        let replay = Replay::parse(&forged(KIND_END, end(counts, at, head))).unwrap();
        assert_eq!((replay.end(), replay.chain_head()), (ReplayEnd::Damaged { offset: last }, None), "{counts:?}");
    }
    let unlisted = forged(KIND_INDEX, encode(&vec![(Tick::new(4), 99u64)]));
    assert!(matches!(Replay::parse(&unlisted).unwrap().end(), ReplayEnd::Damaged { .. }));
    // Without an index there is no end, and behind it there are no frames.
    let blocks = blocks(&file);
    let without: Vec<_> = blocks.iter().filter(|block| block.0 != KIND_INDEX).cloned().collect();
    let damaged = Replay::parse(&sealed(&file[..START_BYTES], &descriptor(2), &without)).unwrap();
    assert!(matches!(damaged.end(), ReplayEnd::Damaged { .. }));
    let late = with_block(KIND_INDEX, &encode(&Vec::<(Tick, u64)>::new()));
    assert!(matches!(Replay::parse(&late).unwrap().end(), ReplayEnd::Damaged { .. }));
}

/// A block is of one match and of one place: whole blocks with right checks don't make a file when they are put together.
#[test]
fn r1_a_block_of_another_match_or_another_place_is_damaged() {
    let recorded = |of: &MatchDescriptor| {
        let mut recorder = Recorder::new(factory().manifest(), of);
        (0..3).for_each(|tick| recorder.push_checksum(Tick::new(tick), Checksum::of(&[tick as u8])));
        (0..10).for_each(|tick| recorder.push_frame(&frame(tick)));
        recorder.finish();
        recorder.take_bytes()
    };
    let seed = SessionSeed::from_u64(10);
    let other = MatchDescriptor::new(factory().manifest(), SessionConfig::empty(), seed, seats(2));
    let (ours, theirs) = (recorded(&descriptor(2)), recorded(&other));
    let places: Vec<usize> =
        offsets(&ours).into_iter().filter(|(kind, _)| *kind == KIND_CHECKSUM).map(|of| of.1).collect();
    let length = places[1] - places[0];
    let transplanted = |to: usize, from: &[u8], at: usize| {
        let mut file = ours.clone();
        file[to..to + length].copy_from_slice(&from[at..at + length]);
        Replay::parse(&file).unwrap().end()
    };
    assert_eq!((length, transplanted(places[0], &ours, places[0])), (46, ReplayEnd::Complete), "guard");
    let damaged = ReplayEnd::Damaged { offset: places[0] };
    assert_eq!(transplanted(places[0], &ours, places[1]), damaged);
    assert_eq!(offsets(&theirs), offsets(&ours), "guard");
    assert_eq!(transplanted(places[0], &theirs, places[0]), damaged);
}

#[test]
fn r1_an_optional_section_is_skipped_and_a_required_one_refused() {
    let skipped = with_block(0x81, b"what a later version adds");
    let replay = Replay::parse(&skipped).unwrap();
    assert_eq!((replay.end(), replay.skipped_sections()), (ReplayEnd::Complete, 1));
    assert!(matches!(verify(&skipped, &factory()), Verdict::Verified { .. }));
    for kind in [6, 0x7f] {
        let refused = ReplayError::Section { kind };
        assert_eq!(Replay::parse(&with_block(kind, b"")).unwrap_err(), refused);
        assert_eq!(verify(&with_block(kind, b""), &factory()), Verdict::Refused(Refused::Unreadable(refused)));
    }
}

/// Frames in which nothing changes take no bytes, so a block's count is believed only up to the most that one holds.
#[test]
fn r1_a_block_of_more_frames_than_one_holds_is_damaged() {
    let mut run = FrameRunWriter::default();
    run.push(&frame(0), None);
    for (count, ticks) in [(0u32, 0), (1, 1), (600, 600), (601, 0), (u32::MAX, 0)] {
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

/// A match that went another way before it faulted is said to have done so, and where.
#[test]
fn r2_what_diverged_before_it_faulted_has_diverged() {
    let mut recorder = Recorder::new(events::factory().manifest(), &events::descriptor());
    for tick in 0..9 {
        let mut frame = Frame::new(Generation(0), Tick::new(tick));
        frame.push_seat(SeatFrame { input: Some(&[1]), ..SeatFrame::default() });
        recorder.push_frame(&frame);
    }
    recorder.push_checksum(Tick::new(4), Checksum::of(b"another state"));
    recorder.finish();
    let verdict = verify(&recorder.take_bytes(), &events::factory());
    let Verdict::Diverged { first_bad, .. } = verdict else { panic!("{verdict:?}") };
    assert_eq!(first_bad.tick, Tick::new(4));
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
