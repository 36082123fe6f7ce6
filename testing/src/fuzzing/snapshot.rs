//! Snapshots: canonical, whole, and of the state that they name.

use retick_core::digest::{Checksum, Digest};
use retick_core::frame::{Frame, SeatFrame};
use retick_core::identity::MatchDescriptor;
use retick_core::seat::{ControlEpoch, Generation, Presence, SeatCount};
use retick_core::snapshot::{LastInput, Snapshot, StateCheck};
use retick_core::tick::Tick;

use super::{Seed, Verdict};
use crate::fixtures::{tally_descriptor, tally_factory, zig_packed};

const SEATS: u8 = 2;
/// What a snapshot's digest is derived under (`core/src/snapshot.rs`).
const SEAL_CONTEXT: &str = "retick 2026 snapshot v2";
/// Blocks of the state that are checked at a time.
const BLOCKS_PER_STEP: usize = 4;
/// Most steps: zero blocks take no bytes, so a state may be longer than what was given.
const MAX_STEPS: usize = 64;

fn descriptor() -> MatchDescriptor {
    tally_descriptor(&tally_factory(), SEATS, 1)
}

pub(super) fn check(input: &[u8]) -> Verdict {
    let Some((kind, bytes)) = input.split_first() else { return Verdict::Refused };
    if kind % 2 == 0 { read(bytes) } else { read(&sealed(bytes)) }
}

/// The bytes as a snapshot whose digest is right.
fn sealed(body: &[u8]) -> Vec<u8> {
    [body, Digest::derived(SEAL_CONTEXT, &[body]).as_bytes()].concat()
}

fn read(bytes: &[u8]) -> Verdict {
    let snapshot = Snapshot::from_bytes(bytes);
    let Ok(snapshot) = &snapshot else { return Verdict::Refused };
    assert_eq!(snapshot.to_bytes(), bytes, "what was decoded encodes to the same bytes");
    let descriptor = descriptor();
    if let Ok(frames) = snapshot.frames(&descriptor) {
        let ticks = (0..).map(|offset| snapshot.tick().saturating_add(offset));
        assert!(frames.iter().zip(ticks).all(|(frame, tick)| frame.tick() == tick), "frames follow one another");
        assert_eq!(snapshot.frontier().since(snapshot.tick()), frames.len() as u64);
    }
    check_state(snapshot.clone(), &descriptor);
    Verdict::Taken
}

fn check_state(snapshot: Snapshot, descriptor: &MatchDescriptor) {
    let expected = snapshot.checksum();
    let Ok(mut check) = StateCheck::new(snapshot.clone(), descriptor) else { return };
    for _ in 0..MAX_STEPS {
        match check.step(BLOCKS_PER_STEP) {
            Ok(false) => {}
            Ok(true) => {
                let state = snapshot.verify(descriptor);
                assert_eq!(state.map(|state| Checksum::of(&state)), Ok(expected), "what was checked verifies");
                return;
            }
            Err(_) => return,
        }
    }
}

pub(super) fn seeds() -> Vec<Seed> {
    let descriptor = descriptor();
    let last = |packed: &[u8]| LastInput::new(packed, Presence::Human, ControlEpoch(1));
    let of = |tick: u64, state: &[u8]| Snapshot::new(&descriptor, Tick::new(tick), vec![last(&[1]), last(&[2])], state);
    let compressible: Vec<u8> = (0..3000u32).map(|index| if index % 7 == 0 { 1 } else { 0 }).collect();
    let mut with_frames = of(4, b"a state of no game");
    for tick in 4..8 {
        let mut frame = Frame::new(Generation(0), Tick::new(tick));
        for seat in SeatCount::new(SEATS).into_iter().flat_map(SeatCount::seats) {
            let input = zig_packed(seat, Tick::new(tick));
            frame.push_seat(SeatFrame { input: Some(&input), presence: Presence::Human, ..SeatFrame::default() });
        }
        assert_eq!(with_frames.push_frame(&descriptor, &frame), Ok(()));
    }
    let whole = |name, snapshot: &Snapshot| Seed::tagged(name, 0, &snapshot.to_bytes());
    let body = |name, snapshot: &Snapshot| {
        let bytes = snapshot.to_bytes();
        Seed::tagged(name, 1, &bytes[..bytes.len() - sealed(b"").len()])
    };
    vec![
        whole("whole-small", &of(0, b"state")),
        whole("whole-frames", &with_frames),
        body("body-empty", &of(1, b"")),
        body("body-small", &of(121, b"state")),
        body("body-zeros", &of(121, &[0; 20_000])),
        body("body-compressible", &of(241, &compressible)),
        body("body-frames", &with_frames),
    ]
}
