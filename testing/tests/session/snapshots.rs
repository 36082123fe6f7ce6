//! Snapshots: a session that is made of one goes on as its donor, and whatever is wrong is refused before anything changes (S8).

use retick_core::digest::Digest;
use retick_core::frame::Frame;
use retick_core::identity::MatchDescriptor;
use retick_core::rng::SessionSeed;
use retick_core::runtime::RuntimeFactory;
use retick_core::seat::{ControlEpoch, Presence, SeatSet};
use retick_core::session::{InputRetention, Session, SessionPolicy};
use retick_core::snapshot::{LastInput, Snapshot, SnapshotError, SnapshotFrameError};
use retick_core::tick::Tick;
use retick_testing::fixtures::{pack_tally, tally_factory, tally_state};

use crate::support::{Table, descriptor, fold, frame};

fn frames() -> Vec<Frame> {
    (0..300).map(|tick| frame(tick, [tick as i32 % 5, tick as i32 % 3], [false; 2])).collect()
}

/// A donor that has applied 130 frames of [`frames`] and predicted beyond them.
fn donor() -> Table {
    let mut table = Table::new(SessionPolicy::default());
    frames().iter().take(130).for_each(|frame| table.session.confirm(frame).expect("next"));
    table.submit_before(134, |_| 9);
    table.advance(134).expect("plays");
    assert_eq!((table.session.confirmed(), table.session.head()), (Tick::new(130), Tick::new(134)));
    table
}

#[test]
fn s8_a_hydrated_session_goes_on_as_its_donor() {
    let (frames, folded) = (frames(), fold(&frames()));
    // A report tick's state, and the last confirmed one, which is none.
    for tick in [121, 130] {
        let mut donor = donor();
        let before = donor.head_checksum();
        let snapshot = donor.session.export_snapshot(Tick::new(tick)).expect("kept");
        assert_eq!((snapshot.tick(), snapshot.checksum()), (Tick::new(tick), folded[tick as usize]));
        assert_eq!(donor.head_checksum(), before, "the donor predicts on undisturbed");
        let snapshot = Snapshot::from_bytes(&snapshot.to_bytes()).expect("its own bytes");

        // The joiner has shown the tick before, of a world of its own.
        let mut joiner = Table::new(SessionPolicy { prediction_window_ticks: 200, ..SessionPolicy::default() });
        joiner.submit_before(tick - 1, |_| 4);
        joiner.advance(tick - 1).expect("plays");
        joiner.session.hydrate(&snapshot).expect("a snapshot of this match");
        assert_eq!((joiner.session.confirmed(), joiner.session.head()), (Tick::new(tick), Tick::new(tick)));
        assert_eq!(joiner.head_checksum(), folded[tick as usize]);
        let (current, previous) = joiner.shown();
        assert_eq!(current, previous, "there is no tick before it");
        // Repeat-last repeats what the donor saw last: the same prediction from the same state.
        joiner.submit_before(tick + 2, |_| 9);
        joiner.advance(tick + 2).expect("plays");
        let repeated = frame(tick, [9, (tick as i32 - 1) % 3], [false; 2]);
        let next = frame(tick + 1, [9, (tick as i32 - 1) % 3], [false; 2]);
        let guessed = [&frames[..tick as usize], &[repeated, next]].concat();
        assert_eq!(Some(&joiner.head_checksum()), fold(&guessed).last());

        frames.iter().skip(tick as usize).for_each(|frame| joiner.session.confirm(frame).expect("next"));
        joiner.advance(0).expect("plays");
        let due: Vec<_> = (0..3).map(|k| 1 + 120 * k).filter(|due| *due > tick).collect();
        let reported: Vec<_> = joiner.checksums.iter().map(|(tick, _)| *tick).collect();
        assert_eq!(reported, due);
        assert!(joiner.checksums.iter().all(|(tick, checksum)| folded[*tick as usize] == *checksum));
        assert_eq!(joiner.head_checksum(), folded[300]);
        joiner.probe.assert_clean();
        donor.probe.assert_clean();
    }
}

#[test]
fn s8_a_snapshot_of_another_match_is_refused() {
    let factory = tally_factory();
    let seats = descriptor().seats();
    let config = retick_core::config::SessionConfig::empty();
    let other = MatchDescriptor::new(factory.manifest(), config, SessionSeed::from_u64(2), seats);
    let runtime = factory.create(&other).expect("a match of TALLY");
    let mut session = Session::new(runtime, &other, SessionPolicy::default(), SeatSet::EMPTY).expect("valid");
    let snapshot = donor().session.export_snapshot(Tick::new(121)).expect("kept");
    let expected = other.digest();
    let refusal = SnapshotError::OtherMatch { expected, found: descriptor().digest() };
    assert_eq!(session.hydrate(&snapshot), Err(refusal));
    assert_eq!(session.head(), Tick::ZERO);
}

#[test]
fn s8_no_flipped_bit_is_taken() {
    let mut table = Table::new(SessionPolicy { input_retention: InputRetention::All, ..SessionPolicy::default() });
    frames().iter().take(125).for_each(|frame| table.session.confirm(frame).expect("next"));
    table.advance(0).expect("plays");
    let snapshot = table.session.export_snapshot(Tick::new(121)).expect("kept");
    assert_eq!(snapshot.frontier(), Tick::new(125), "guard: it carries frames");
    let (bytes, before) = (snapshot.to_bytes(), table.head_checksum());
    for bit in 0..8 * bytes.len() {
        let mut flipped = bytes.clone();
        flipped[bit / 8] ^= 1 << (bit % 8);
        let taken = Snapshot::from_bytes(&flipped).and_then(|snapshot| table.session.hydrate_with_frames(&snapshot));
        assert!(taken.is_err(), "bit {bit}");
    }
    assert_eq!((table.head_checksum(), table.session.confirmed()), (before, Tick::new(125)));
    for end in 0..bytes.len() {
        assert!(Snapshot::from_bytes(&bytes[..end]).is_err(), "cut at {end}");
    }
    table.probe.assert_clean();
}

#[test]
fn s8_carried_frames_are_queued_as_confirmed_by_who_trusts_them() {
    let (frames, folded) = (frames(), fold(&frames()));
    let policy = SessionPolicy { input_retention: InputRetention::Last(200), ..SessionPolicy::default() };
    let mut donor = Table::new(policy);
    frames.iter().take(240).for_each(|frame| donor.session.confirm(frame).expect("next"));
    donor.advance(0).expect("plays");
    let snapshot = donor.session.export_snapshot(Tick::new(121)).expect("kept");
    assert_eq!((snapshot.tick(), snapshot.frontier()), (Tick::new(121), Tick::new(240)));
    let snapshot = Snapshot::from_bytes(&snapshot.to_bytes()).expect("its own bytes");

    let mut heir = Table::new(policy);
    heir.session.hydrate_with_frames(&snapshot).expect("a snapshot of this match");
    assert_eq!((heir.session.confirmed(), heir.session.received()), (Tick::new(121), Tick::new(240)));
    heir.advance(0).expect("plays");
    assert_eq!((heir.session.confirmed(), heir.head_checksum()), (Tick::new(240), folded[240]));
    assert_eq!(heir.confirmed, &frames[121..240]);
    // What it took it can give on.
    let again = heir.session.export_snapshot(Tick::new(121)).expect("kept");
    assert_eq!(again.to_bytes(), snapshot.to_bytes());
    // The next frame follows the carried ones.
    heir.session.confirm(&frames[240]).expect("next");

    // Who does not trust the donor takes the state alone, and the frames from the authority.
    let mut client = Table::new(SessionPolicy::default());
    client.session.hydrate(&snapshot).expect("a snapshot of this match");
    assert_eq!((client.session.received(), client.session.queued_frames()), (Tick::new(121), 0));
    client.session.confirm(&frames[121]).expect("next");
    // And a donor without retained frames carries none.
    let mut plain = Table::new(SessionPolicy::default());
    frames.iter().take(240).for_each(|frame| plain.session.confirm(frame).expect("next"));
    plain.advance(0).expect("plays");
    let plain = plain.session.export_snapshot(Tick::new(121)).expect("kept");
    assert_eq!(plain, snapshot.without_frames());
}

#[test]
fn s8_a_wrong_carried_frame_is_refused_before_anything_changes() {
    let mut table = donor();
    let (before, confirmed) = (table.head_checksum(), table.session.confirmed());
    let last = table.session.export_snapshot(Tick::new(121)).expect("kept").last_inputs().to_vec();
    // A donor of the same game whose match allows longer inputs is another match, so the snapshot is made by hand.
    let state = tally_state(Tick::new(121), 2);
    let mut snapshot = Snapshot::new(&descriptor(), Tick::new(121), last, &state);
    snapshot.push_frame(&descriptor(), &frames()[121]).expect("next");
    let mut bytes = snapshot.to_bytes();
    // Its tick, in the frame's own form, resealed by hand: a forger's work, and still no frame of this place.
    let body = bytes.len() - 32;
    let mut full = vec![];
    frames()[121].encode_full(&mut full);
    let at = body - full.len() + 1;
    assert_eq!(bytes[at], 121, "guard: the frame's tick");
    bytes[at] = 122;
    let digest = Digest::derived("retick 2026 snapshot v2", &[&bytes[..body]]);
    bytes[body..].copy_from_slice(digest.as_bytes());
    let forged = Snapshot::from_bytes(&bytes).expect("a right digest");
    let error = SnapshotFrameError::NotNext { found: Tick::new(122) };
    let refusal = SnapshotError::Frame { tick: Tick::new(121), error };
    assert_eq!(table.session.hydrate_with_frames(&forged), Err(refusal));
    assert_eq!((table.head_checksum(), table.session.confirmed()), (before, confirmed));
    table.session.hydrate(&forged).expect("its state is one");
}

#[test]
fn s8_last_inputs_are_checked_before_anything_changes() {
    let mut table = donor();
    let (before, confirmed) = (table.head_checksum(), table.session.confirmed());
    let good = LastInput::new(&pack_tally(1), Presence::Human, ControlEpoch(0));
    let short = LastInput::new(&[1], Presence::Human, ControlEpoch(0));
    for last in [vec![], vec![good.clone()], vec![good.clone(); 3], vec![good.clone(), short]] {
        let snapshot = Snapshot::new(&descriptor(), Tick::new(9), last, &tally_state(Tick::new(9), 2));
        assert_eq!(table.session.hydrate(&snapshot), Err(SnapshotError::LastInputs));
    }
    let not_a_state = Snapshot::new(&descriptor(), Tick::new(9), vec![good.clone(); 2], &tally_state(Tick::new(8), 2));
    assert!(matches!(table.session.hydrate(&not_a_state), Err(SnapshotError::State(_))));
    assert_eq!((table.head_checksum(), table.session.confirmed()), (before, confirmed));
    let snapshot = Snapshot::new(&descriptor(), Tick::new(9), vec![good; 2], &tally_state(Tick::new(9), 2));
    assert_eq!(table.session.hydrate(&snapshot), Ok(()));
}
