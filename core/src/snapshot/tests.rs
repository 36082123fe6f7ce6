//! Each field of a snapshot is checked by itself: here a wrong one stands under a right digest.

use alloc::vec;

use super::*;
use crate::config::SessionConfig;
use crate::frame::SeatFrame;
use crate::identity::IdentityManifest;
use crate::input::InputSchema;
use crate::rng::SessionSeed;
use crate::runtime::Capabilities;
use crate::seat::{Generation, SeatCount};
use crate::tick::TickRate;

fn descriptor_with(capabilities: Capabilities) -> MatchDescriptor {
    let schema = InputSchema::builder("byte/v1").integer("value", 0..=255).build().expect("valid");
    let manifest =
        IdentityManifest::builder("native", 1, TickRate::Hz60).input_schema(schema).capabilities(capabilities);
    let (manifest, seats) = (manifest.build().expect("valid"), SeatCount::new(2).expect("valid"));
    MatchDescriptor::new(&manifest, SessionConfig::empty(), SessionSeed::from_u64(1), seats)
}

fn descriptor() -> MatchDescriptor {
    descriptor_with(Capabilities { commands: true, projection: false })
}

fn frame(tick: u64) -> Frame {
    let mut frame = Frame::new(Generation(0), Tick::new(tick));
    for seat in 0..2 {
        frame.push_seat(SeatFrame { input: Some(&[seat]), presence: Presence::Human, ..SeatFrame::default() });
    }
    frame
}

fn snapshot(frames: u64) -> Snapshot {
    let last = LastInput::new(&[7], Presence::Human, ControlEpoch(1));
    let state: Vec<u8> = (0..70_000u32).map(|index| (index.wrapping_mul(index) % 251).to_le_bytes()[0]).collect();
    let mut snapshot = Snapshot::new(&descriptor(), Tick::new(50), vec![last.clone(), last], &state);
    (50..50 + frames).for_each(|tick| snapshot.push_frame(&descriptor(), &frame(tick)).expect("the next"));
    snapshot
}

/// The bytes with a digest that is right for them.
fn resealed(body: &[u8]) -> Vec<u8> {
    [body, seal(body).as_bytes()].concat()
}

/// What an honest reader says of a snapshot in which something is wrong, under a right digest.
fn refusal(snapshot: &Snapshot) -> SnapshotError {
    let read = Snapshot::from_bytes(&snapshot.to_bytes());
    let read = read.and_then(|read| read.verify(&descriptor()).and_then(|_| read.frames(&descriptor())));
    read.expect_err("something is wrong with it")
}

fn raw_frame(frame: &Frame) -> Blob<MAX_SNAPSHOT_FRAME_BYTES> {
    let mut bytes = vec![];
    frame.encode_full(&mut bytes);
    Blob::new(bytes).expect("a frame")
}

#[test]
fn s8_what_was_written_is_read() {
    let snapshot = snapshot(3);
    let read = Snapshot::from_bytes(&snapshot.to_bytes()).expect("its own bytes");
    assert_eq!((&read, read.to_bytes()), (&snapshot, snapshot.to_bytes()));
    assert_eq!((read.tick(), read.frontier()), (Tick::new(50), Tick::new(53)));
    assert_eq!(read.frames(&descriptor()), Ok((50..53).map(frame).collect()));
    assert_eq!(read.without_frames().frames(&descriptor()), Ok(vec![]));
}

#[test]
fn s8_every_flipped_bit_is_refused() {
    let last = LastInput::new(&[7], Presence::Human, ControlEpoch(1));
    let mut snapshot = Snapshot::new(&descriptor(), Tick::new(50), vec![last.clone(), last], &[9; 100]);
    (50..52).for_each(|tick| snapshot.push_frame(&descriptor(), &frame(tick)).expect("the next"));
    let bytes = snapshot.to_bytes();
    for bit in 0..8 * bytes.len() {
        let mut flipped = bytes.clone();
        flipped[bit / 8] ^= 1 << (bit % 8);
        match Snapshot::from_bytes(&flipped) {
            Err(SnapshotError::Damaged { .. }) => {}
            Err(SnapshotError::Version { .. } | SnapshotError::Encoding(_)) if bit < 8 => {}
            other => panic!("bit {bit}: {other:?}"),
        }
    }
}

#[test]
fn s8_every_field_is_checked_by_itself() {
    let good = snapshot(2);
    let wrong_match = Snapshot { descriptor: Digest::of(b"another"), ..good.clone() };
    assert!(matches!(refusal(&wrong_match), SnapshotError::OtherMatch { .. }));
    let wrong_checksum = Snapshot { checksum: Checksum::of(b"another"), ..good.clone() };
    assert!(matches!(refusal(&wrong_checksum), SnapshotError::Checksum { .. }));
    for state_bytes in [0, good.state_bytes - 1, good.state_bytes + 1, MAX_STATE_BYTES as u64 + 1, u64::MAX] {
        let wrong_size = Snapshot { state_bytes, ..good.clone() };
        assert_eq!(refusal(&wrong_size), SnapshotError::Blocks { state_bytes });
    }
    let mut wrong_blocks = good.clone();
    wrong_blocks.blocks.0.swap(0, 1);
    assert!(matches!(refusal(&wrong_blocks), SnapshotError::Blocks { .. }));
    let wrong_tick = Snapshot { tick: Tick::new(49), ..good.clone() };
    let error = SnapshotFrameError::NotNext { found: Tick::new(50) };
    assert_eq!(refusal(&wrong_tick), SnapshotError::Frame { tick: Tick::new(49), error });
    let wrong_version = Snapshot { version: 1, ..good.clone() };
    assert_eq!(refusal(&wrong_version), SnapshotError::Version { found: 1 });
    // A list longer than its limit, an origin that does not exist, a presence that does not exist.
    let mut crowded = good.clone();
    crowded.last_inputs.0 = vec![LastInput::new(&[7], Presence::Human, ControlEpoch(1)); 129];
    assert!(matches!(refusal(&crowded), SnapshotError::Encoding(WireError::Malformed)));
    let body = wire::encode(&good);
    for position in [1 + DIGEST_BYTES + 1 + DIGEST_BYTES, 1 + DIGEST_BYTES + 1 + DIGEST_BYTES + 1 + 1 + 2] {
        let mut changed = body.clone();
        changed[position] = 9;
        let refused = Snapshot::from_bytes(&resealed(&changed));
        assert_eq!(refused, Err(SnapshotError::Encoding(WireError::Malformed)), "{position}");
    }
    assert!(Snapshot::from_bytes(&resealed(&[&body[..], &[0]].concat())).is_err(), "bytes behind the end");
}

#[test]
fn s8_every_frame_is_checked_by_itself() {
    let check = |bad: &Frame, expected: SnapshotFrameError| {
        let expected = Err(SnapshotError::Frame { tick: Tick::new(51), error: expected });
        let mut pushed = snapshot(1);
        assert_eq!(pushed.push_frame(&descriptor(), bad), expected.clone(), "pushed");
        assert_eq!(pushed, snapshot(1), "nothing was added");
        let mut read = snapshot(1);
        read.frames.0.push(raw_frame(bad));
        assert_eq!(Err(refusal(&read)), expected, "read");
    };
    check(&frame(52), SnapshotFrameError::NotNext { found: Tick::new(52) });
    check(&frame(50), SnapshotFrameError::NotNext { found: Tick::new(50) });
    let mut other = frame(51);
    other.reset(Generation(1), Tick::new(51));
    (0..2).for_each(|_| other.push_seat(SeatFrame::default()));
    check(&other, SnapshotFrameError::OtherMatch);
    let mut long = Frame::new(Generation(0), Tick::new(51));
    (0..2).for_each(|_| long.push_seat(SeatFrame { input: Some(&[1, 2]), ..SeatFrame::default() }));
    check(&long, SnapshotFrameError::Limit);

    // What the frame's own decoder refuses: a seat too many, and bytes behind the frame.
    let mut read = snapshot(1);
    let mut wide = frame(51);
    wide.push_seat(SeatFrame::default());
    read.frames.0.push(raw_frame(&wide));
    assert!(matches!(refusal(&read), SnapshotError::Frame { error: SnapshotFrameError::Frame(_), .. }));
    let mut bytes = vec![];
    frame(51).encode_full(&mut bytes);
    bytes.push(0);
    read.frames.0[1] = Blob::new(bytes).expect("short");
    assert!(matches!(refusal(&read), SnapshotError::Frame { error: SnapshotFrameError::Frame(_), .. }));
}

#[test]
fn s8_a_game_without_commands_has_none_in_its_frames() {
    let silent = descriptor_with(Capabilities::default());
    let mut snapshot = Snapshot::new(&silent, Tick::ZERO, vec![], &[]);
    let mut commanding = frame(0);
    commanding.push_command(CommandSource::Authority, b"");
    let refused = Err(SnapshotError::Frame { tick: Tick::ZERO, error: SnapshotFrameError::Limit });
    assert_eq!(snapshot.push_frame(&silent, &commanding), refused);
    let mut loud = Snapshot::new(&descriptor(), Tick::ZERO, vec![], &[]);
    assert_eq!(loud.push_frame(&descriptor(), &commanding), Ok(()));
}

#[test]
fn s8_frames_end_at_their_limits() {
    let most = MAX_SNAPSHOT_FRAMES as u64;
    let mut full = snapshot(most);
    let tick = Tick::new(50 + most);
    let refused = SnapshotError::Frame { tick, error: SnapshotFrameError::TooMany };
    assert_eq!(full.push_frame(&descriptor(), &frame(tick.index())), Err(refused));
    assert!(Snapshot::from_bytes(&full.to_bytes()).is_ok(), "at the limit");
    full.frames.0.push(raw_frame(&frame(tick.index())));
    assert!(Snapshot::from_bytes(&full.to_bytes()).is_err(), "one past");

    let large = |tick: u64| {
        let mut large = frame(tick);
        (0..8).for_each(|_| large.push_command(CommandSource::Authority, &[1; 4000]));
        large
    };
    let (mut heavy, mut tick) = (snapshot(0), 50);
    while heavy.push_frame(&descriptor(), &large(tick)).is_ok() {
        tick += 1;
    }
    assert!(heavy.frame_bytes() <= MAX_SNAPSHOT_FRAME_BYTES && heavy.frame_bytes() + 33_000 > MAX_SNAPSHOT_FRAME_BYTES);
    assert!(Snapshot::from_bytes(&heavy.to_bytes()).is_ok());
    heavy.frames.0.push(raw_frame(&large(tick)));
    let error = SnapshotFrameError::TooMany;
    assert_eq!(Snapshot::from_bytes(&heavy.to_bytes()), Err(SnapshotError::Frame { tick: Tick::new(50), error }));
}

#[test]
fn s8_a_frame_that_would_make_the_snapshot_too_long_is_left_out() {
    // A state that does not pack, just below the ceiling.
    let mut state = vec![0u8; MAX_SNAPSHOT_BYTES - 2000];
    let mut word = 1u32;
    for byte in &mut state {
        word = word.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        *byte = word.to_be_bytes()[0];
    }
    let mut snapshot = Snapshot::new(&descriptor(), Tick::ZERO, vec![], &state);
    let mut tick = 0;
    while snapshot.push_frame(&descriptor(), &frame(tick)).is_ok() {
        tick += 1;
    }
    assert!(tick > 10 && tick < 200, "{tick} frames");
    assert!(Snapshot::from_bytes(&snapshot.to_bytes()).is_ok());
}

#[test]
fn s8_the_last_tick_has_no_frame() {
    let mut snapshot = Snapshot::new(&descriptor(), Tick::MAX, vec![], &[]);
    let refused = SnapshotError::Frame { tick: Tick::MAX, error: SnapshotFrameError::TickRange };
    assert_eq!(snapshot.push_frame(&descriptor(), &frame(u64::MAX)), Err(refused));
}

#[test]
fn a7_a_check_by_pieces_says_what_a_whole_one_says() {
    let check = |snapshot: &Snapshot, blocks: usize| {
        let mut check = StateCheck::new(snapshot.clone(), &descriptor())?;
        let mut steps = 1;
        while !check.step(blocks)? {
            steps += 1;
        }
        Ok::<_, SnapshotError>(steps)
    };
    let honest = snapshot(0);
    assert_eq!((check(&honest, 1), check(&honest, 2), check(&honest, 9)), (Ok(2), Ok(1), Ok(1)));

    let mut lie = honest.clone();
    lie.checksum = Checksum::of(b"another state");
    let mut short = honest.clone();
    short.blocks.0[1] = Block::Zero;
    let mut long = honest.clone();
    long.blocks.0[0] = Block::Stored(Blob::new([1, 2, 3]).expect("short"));
    let mut larger = honest.clone();
    larger.state_bytes += 1 << 16;
    for wrong in [lie, short, long, larger] {
        assert_eq!(check(&wrong, 1).err(), Some(wrong.verify(&descriptor()).expect_err("something is wrong with it")));
    }
    let promoted = honest.clone().with_origin(Origin::Promotion);
    assert_eq!(check(&promoted, 1), Err(SnapshotError::Promoted));
    let mut lonely = honest.clone();
    lonely.last_inputs.0.pop();
    assert_eq!(check(&lonely, 1), Err(SnapshotError::LastInputs));
    let other = descriptor_with(Capabilities { commands: false, projection: false });
    assert!(matches!(StateCheck::new(honest, &other), Err(SnapshotError::OtherMatch { .. })));
}
