//! The forms of a frame: everything, and only what changed (A2, K13), and what is none of them.

use alloc::vec;

use super::*;
use crate::codec::wire::Cursor;
use crate::config::SessionConfig;
use crate::identity::{IdentityManifest, MatchDescriptor};
use crate::input::{InputSchema, MAX_INPUT_BYTES};
use crate::rng::SessionSeed;
use crate::seat::SeatCount;
use crate::tick::TickRate;

fn seats(count: u8) -> SeatCount {
    SeatCount::new(count).expect("valid")
}

fn frame(tick: u64, inputs: &[Option<&[u8]>]) -> Frame {
    let mut frame = Frame::new(Generation(3), Tick::new(tick));
    for (input, number) in inputs.iter().zip(0u32..) {
        let epoch = ControlEpoch(number);
        frame.push_seat(SeatFrame { input: *input, substituted: number == 1, presence: Presence::Human, epoch });
    }
    frame
}

fn blank() -> Frame {
    Frame::new(Generation(0), Tick::ZERO)
}

fn key(tick: u64, count: u8) -> FrameKey {
    FrameKey { generation: Generation(3), tick: Tick::new(tick), seats: seats(count) }
}

fn encoded(frame: &Frame, base: Option<&Frame>) -> Vec<u8> {
    run(core::slice::from_ref(frame), base)
}

/// The bytes of a run; `base` is the frame before its first.
fn run(frames: &[Frame], base: Option<&Frame>) -> Vec<u8> {
    let mut writer = FrameRunWriter::default();
    let bases = core::iter::once(base).chain(frames.iter().map(Some));
    frames.iter().zip(bases).for_each(|(frame, base)| writer.push(frame, base));
    assert_eq!(writer.count() as usize, frames.len());
    writer.body().to_vec()
}

fn decoded(bytes: &[u8], base: Option<&Frame>, key: FrameKey) -> Result<Frame, FrameError> {
    Ok(read_run(bytes, 1, base, key)?.remove(0))
}

fn read_run(bytes: &[u8], count: u64, base: Option<&Frame>, key: FrameKey) -> Result<Vec<Frame>, FrameError> {
    let (mut reader, mut read) = (FrameRunReader::new(bytes), Vec::<Frame>::new());
    for offset in 0..count {
        let (mut frame, tick) = (blank(), key.tick.saturating_add(offset));
        reader.read(&mut frame, read.last().or(base), FrameKey { tick, ..key })?;
        read.push(frame);
    }
    reader.finish().map(|()| read)
}

fn full(frame: &Frame) -> Vec<u8> {
    let mut full = vec![];
    frame.encode_full(&mut full);
    full
}

fn decoded_full(bytes: &[u8], seats: SeatCount) -> Result<Frame, FrameError> {
    let (mut cursor, mut frame) = (Cursor::new(bytes), blank());
    frame.decode_full(&mut cursor, seats)?;
    cursor.finish()?;
    Ok(frame)
}

#[test]
fn a2_a_frame_is_self_contained_and_the_wire_may_abbreviate_it() {
    let first = frame(8, &[Some(b"ab"), None, Some(b"")]);
    let mut second = frame(9, &[Some(b"ab"), Some(b"x"), Some(b"")]);
    let seat = Seat::new(2).expect("valid");
    second.push_command(CommandSource::Game(seat), b"build");
    second.push_command(CommandSource::Authority, b"");
    second.set_fence(70_000);

    let full = full(&second);
    assert_eq!(decoded_full(&full, seats(3)), Ok(second.clone()));
    let mut same_drivers = second.clone();
    same_drivers.set_fence(0);
    for second in [second, same_drivers] {
        let delta = encoded(&second, Some(&first));
        assert!(delta.len() + 4 < full.len(), "{} against {}", delta.len(), full.len());
        assert_eq!(decoded(&delta, Some(&first), key(9, 3)), Ok(second));
        assert_eq!(decoded(&delta, None, key(9, 3)), Err(FrameError::NoBase));
    }
}

/// Every change of a seat's input, from each length to each, comes out as it went in, and as nothing where it is none.
#[test]
fn a2_every_change_of_an_input_is_read_as_it_was_written() {
    let long: Vec<u8> = (0..20).collect();
    let mut other = long.clone();
    (other[0], other[7], other[8], other[19]) = (99, 98, 97, 96);
    let full = vec![7; MAX_INPUT_BYTES];
    let inputs: [Option<&[u8]>; 8] =
        [None, Some(b""), Some(b"a"), Some(b"b"), Some(&long), Some(&other), Some(&full), Some(&[0; MAX_INPUT_BYTES])];
    for (index, held) in (0..inputs.len().pow(2)).zip(inputs.iter().cycle()) {
        let (before, after) = (inputs[index / inputs.len()], inputs[index % inputs.len()]);
        let (first, second) = (frame(8, &[before, *held]), frame(9, &[after, *held]));
        let delta = encoded(&second, Some(&first));
        assert_eq!(decoded(&delta, Some(&first), key(9, 2)), Ok(second), "{before:?} to {after:?}");
        assert_eq!(delta.is_empty(), before == after);
    }
}

#[test]
fn a2_a_frame_costs_what_changed_in_it() {
    let held: [Option<&[u8]>; 4] = [Some(&[7; 16]); 4];
    let first = frame(8, &held);
    let cost = |inputs: [Option<&[u8]>; 4]| encoded(&frame(9, &inputs), Some(&first)).len();
    let third = |input| [held[0], held[1], input, held[3]];
    assert_eq!(cost(held), 0);
    // The parts, the seats, a mask for each eight bytes, and what changed.
    let mut one = [7; 16];
    one[3] = 8;
    assert_eq!(cost(third(Some(&one))), 2 + 2 + 1);
    assert_eq!(cost([Some(&[9; 16]); 4]), 2 + 4 * (2 + 16));
    // Of another length: its length, and all of it.
    assert_eq!(cost(third(Some(b"abc"))), 2 + 1 + 3);
    assert_eq!(cost(third(None)), 2 + 1);
    let mut fenced = frame(9, &held);
    fenced.set_fence(1);
    assert_eq!(encoded(&fenced, Some(&first)).len(), 1 + 1 + 4 * 2);
}

#[test]
fn a2_frames_in_which_nothing_changes_are_a_number() {
    let (still, moved) = ([Some(&b"still"[..])], [Some(&b"moved"[..])]);
    let base = frame(7, &still);
    for unchanged in [0, 1, 2, 127, 128, 129, 256, 300, 1024] {
        let mut frames: Vec<_> = (0..unchanged).map(|index| frame(8 + index, &still)).collect();
        assert!(run(&frames, Some(&base)).is_empty());
        assert_eq!(read_run(b"", unchanged, Some(&base), key(8, 1)), Ok(frames.clone()));
        frames.push(frame(8 + unchanged, &moved));
        let bytes = run(&frames, Some(&base));
        let written = encoded(&frame(8, &moved), Some(&base)).len() as u64;
        assert_eq!(bytes.len() as u64, unchanged.div_ceil(128) + written, "{unchanged}");
        assert_eq!(read_run(&bytes, unchanged + 1, Some(&base), key(8, 1)), Ok(frames));
        // One frame less than there are, whichever part of the run is left.
        assert!(matches!(read_run(&bytes, unchanged, Some(&base), key(8, 1)), Err(FrameError::Encoding(_))));
    }
}

#[test]
fn k13_a_run_has_one_form() {
    let base = frame(7, &[Some(b"a")]);
    let moved = encoded(&frame(8, &[Some(b"b")]), Some(&base));
    let read = |count: u64, lead: &[u8], rest: &[u8]| {
        read_run(&[lead, rest].concat(), count, Some(&base), key(8, 1)).map(|frames| frames.len())
    };
    assert_eq!(read(3, &[0x81], &moved), Ok(3), "guard");
    assert_eq!(read(257, &[0xFF, 0xFF], &moved), Ok(257), "guard");
    assert_eq!(read(130, &[0xFF, 0x80], &moved), Ok(130), "guard");
    // An unchanged frame written as one, numbers that could be one, and a number at the end, where none is needed.
    for lead in [&[0][..], &[0x80, 0x80], &[0x80, 0xFF], &[0xFE, 0x80]] {
        assert_eq!(read(300, lead, &moved), Err(FrameError::NotAbbreviated), "{lead:?}");
    }
    for lead in [&[0x80][..], &[0xFF], &[0xFF, 0xFF]] {
        assert_eq!(read(300, lead, b""), Err(FrameError::NotAbbreviated), "{lead:?}");
    }
    // The first frame of those that stand alone is never unchanged.
    for bytes in [&b""[..], &[&[0x80][..], &moved].concat()] {
        assert_eq!(read_run(bytes, 2, None, key(8, 1)), Err(FrameError::NoBase));
    }
}

#[test]
fn k13_a_frame_that_repeats_what_is_known_is_refused() {
    let held: [Option<&[u8]>; 2] = [Some(b"a"), Some(b"b")];
    let (first, second) = (frame(8, &held), frame(9, &held));
    let whole = encoded(&second, None);
    let after = |base: &Frame| decoded(&whole, Some(base), key(9, 2));
    assert_eq!(after(&first), Err(FrameError::NotAbbreviated));
    // Inputs of the same lengths, and then the same substitutes.
    let mut changed = frame(8, &[Some(b"x"), Some(b"y")]);
    assert_eq!(after(&changed), Err(FrameError::NotAbbreviated));
    changed = frame(8, &[Some(b"xx"), Some(b"y")]);
    assert_eq!(after(&changed), Err(FrameError::NotAbbreviated));
    changed.reset(Generation(3), Tick::new(8));
    (0..2).for_each(|_| changed.push_seat(SeatFrame { input: Some(b"xx"), ..SeatFrame::default() }));
    assert_eq!(after(&changed), Ok(second));
}

/// Each part of a frame by hand: what its form leaves out is refused where it is written nevertheless.
#[test]
fn k13_each_part_of_a_frame_has_one_form() {
    let base = frame(8, &[Some(b"abcdefghij"), Some(b"k")]);
    let check = |bytes: &[u8], expected: Result<(), FrameError>| {
        assert_eq!(decoded(bytes, Some(&base), key(9, 2)).map(|_| ()), expected, "{bytes:?}");
    };
    let malformed = FrameError::Encoding(WireError::Malformed);
    let repeated = FrameError::NotAbbreviated;
    check(&[1, 1, 0b1, b'x', 0b10, b'y'], Ok(()));
    check(&[1, 0], Err(repeated));
    check(&[1, 1, 0, 0], Err(repeated));
    check(&[1, 1, 0b1, b'a', 0], Err(repeated));
    check(&[1, 1, 0, 0b100, b'x'], Err(malformed));
    check(&[1, 2, 0b10, b'x'], Err(malformed));
    check(&[1, 4, 0b1, b'x'], Err(FrameError::Limit));
    check(&[3, 1, 0], Ok(()));
    check(&[3, 1, 11, b'x', b'x', b'x', b'x', b'x', b'x', b'x', b'x', b'x', b'x'], Err(repeated));
    check(&[3, 2, 2, b'k'], Err(repeated));
    check(&[3, 0], Err(repeated));
    check(&[2, 1, 0], Err(malformed));
    check(&[4, 1], Ok(()));
    check(&[4, 2], Err(repeated));
    check(&[4, 4], Err(FrameError::Limit));
    check(&[8, 1, 1, 0, 1, 1], Ok(()));
    check(&[8, 0, 1, 0, 1, 1], Err(repeated));
    check(&[8, 0, 9, 0, 1, 1], Err(malformed));
    check(&[16, 1, 1, 0], Ok(()));
    check(&[16, 0], Err(repeated));
    (32..128).for_each(|unknown| check(&[unknown], Err(malformed)));
    // Without the frame before there is nothing that bytes could have changed of.
    assert_eq!(decoded(&[1, 3, 1, 7, 1, 7], None, key(9, 2)), Err(FrameError::NoBase));
    let null = frame(8, &[None, Some(b"k")]);
    assert_eq!(decoded(&[1, 1, 1, 7], Some(&null), key(9, 2)), Err(malformed));
}

#[test]
fn a12_a_chain_over_frames_and_one_over_their_bytes_are_one() {
    let descriptor = descriptor();
    let (mut frames, mut encoded) = (FrameChain::new(&descriptor), FrameChain::new(&descriptor));
    for tick in 0..3 {
        let frame = frame(tick, &[Some(b"ab"), None]);
        let before = encoded.head();
        frames.extend(&frame);
        encoded.extend_encoded(&full(&frame));
        assert!(frames.head() == encoded.head() && encoded.head() != before);
    }
}

fn descriptor() -> MatchDescriptor {
    let schema = InputSchema::builder("byte/v1").integer("value", 0..=255).build().expect("valid");
    let manifest = IdentityManifest::builder("native", 1, TickRate::Hz60).input_schema(schema).build();
    let (manifest, seed) = (manifest.expect("valid"), SessionSeed::from_u64(1));
    MatchDescriptor::new(&manifest, SessionConfig::empty(), seed, seats(2))
}

#[test]
fn a12_a_fence_makes_another_frame_and_another_history() {
    let plain = frame(9, &[Some(b"a"), None]);
    let mut fenced = plain.clone();
    fenced.set_fence(1);
    assert_eq!((plain.fence(), fenced.fence()), (0, 1));
    assert_ne!(plain, fenced);
    let heads = [&plain, &fenced].map(|frame| {
        let mut chain = FrameChain::new(&descriptor());
        chain.extend(frame);
        chain.head()
    });
    assert_ne!(heads[0], heads[1]);
    // It stays until it is said otherwise, and a frame that is made anew has none.
    let next = decoded(b"", Some(&fenced), key(10, 2)).expect("unchanged");
    assert_eq!(next.fence(), 1);
    let mut copy = blank();
    copy.copy_from(&next);
    assert_eq!(copy, next);
    copy.reset(Generation(3), Tick::new(11));
    assert_eq!(copy.fence(), 0);
}

#[test]
fn k13_a_frame_that_is_cut_or_written_otherwise_is_refused() {
    let mut frame = frame(300, &[Some(b"ab"), None]);
    frame.push_command(CommandSource::Game(Seat::new(1).expect("valid")), b"build");
    let full = full(&frame);
    let check = |bytes: &[u8], error: WireError| {
        assert_eq!(decoded_full(bytes, seats(2)), Err(FrameError::Encoding(error)), "{bytes:?}");
    };
    (0..full.len()).for_each(|end| check(&full[..end], WireError::Malformed));
    check(&[&full[..], &[0]].concat(), WireError::NotCanonical { offset: full.len() });
    // The generation in three bytes, and a length.
    check(&[&[251, 3, 0], &full[1..]].concat(), WireError::NotCanonical { offset: 0 });
    let place = full.windows(2).position(|two| two == b"ab").expect("its input") - 1;
    check(&[&full[..place], &[251, 3, 0], &full[place + 1..]].concat(), WireError::NotCanonical { offset: place });

    let base = self::frame(299, &[Some(b"xb"), None]);
    for base in [None, Some(&base)] {
        let body = encoded(&frame, base);
        for end in 1..body.len() {
            let cut = decoded(&body[..end], base, key(300, 2));
            assert_eq!(cut, Err(FrameError::Encoding(WireError::Malformed)), "{end} of {body:?}");
        }
    }
}

#[test]
fn k13_frames_beyond_the_limits_are_refused() {
    let check = |frame: &Frame| assert_eq!(decoded(&encoded(frame, None), None, key(0, 1)), Err(FrameError::Limit));
    check(&frame(0, &[Some(&[0; MAX_INPUT_BYTES + 1])]));
    check(&frame(0, &[None, None]));
    let mut crowded = frame(0, &[None]);
    (0..=MAX_COMMANDS_PER_FRAME).for_each(|_| crowded.push_command(CommandSource::Authority, b""));
    check(&crowded);
    let mut foreign = frame(0, &[None]);
    foreign.push_command(CommandSource::Game(Seat::new(1).expect("valid")), b"");
    check(&foreign);
    let mut long = frame(0, &[None]);
    long.push_command(CommandSource::Authority, &[0; MAX_COMMAND_BYTES + 1]);
    check(&long);
    assert_eq!(decoded(&[3, 1, 253, 0, 0, 0, 0, 0, 0, 0, 1], None, key(0, 1)), Err(FrameError::Limit));
}
