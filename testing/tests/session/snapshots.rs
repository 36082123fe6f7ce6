//! Snapshots: a session that is made of one goes on as its donor, and whatever is wrong is refused before anything changes (S8).

use retick_core::frame::Frame;
use retick_core::identity::MatchDescriptor;
use retick_core::rng::SessionSeed;
use retick_core::runtime::RuntimeFactory;
use retick_core::seat::SeatSet;
use retick_core::session::{Session, SessionPolicy};
use retick_core::snapshot::{Snapshot, SnapshotError};
use retick_core::tick::Tick;
use retick_testing::fixtures::tally_factory;

use crate::support::{Table, fold, frame};

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
    let seats = crate::support::descriptor().seats();
    let config = retick_core::config::SessionConfig::empty();
    let other = MatchDescriptor::new(factory.manifest(), config, SessionSeed::from_u64(2), seats);
    let runtime = factory.create(&other).expect("a match of TALLY");
    let mut session = Session::new(runtime, &other, SessionPolicy::default(), SeatSet::EMPTY).expect("valid");
    let snapshot = donor().session.export_snapshot(Tick::new(121)).expect("kept");
    let expected = other.digest();
    let refusal = SnapshotError::OtherMatch { expected, found: crate::support::descriptor().digest() };
    assert_eq!(session.hydrate(&snapshot), Err(refusal));
    assert_eq!(session.head(), Tick::ZERO);
}

#[test]
fn s8_no_flipped_bit_changes_a_state() {
    let mut table = donor();
    let snapshot = table.session.export_snapshot(Tick::new(121)).expect("kept");
    let (bytes, checksum) = (snapshot.to_bytes(), snapshot.checksum());
    let mut refused = 0;
    for position in 0..bytes.len() {
        for bit in [0, 7] {
            let mut flipped = bytes.clone();
            flipped[position] ^= 1 << bit;
            let (before, confirmed) = (table.head_checksum(), table.session.confirmed());
            let taken = Snapshot::from_bytes(&flipped).and_then(|snapshot| table.session.hydrate(&snapshot));
            match taken {
                Err(_) => {
                    refused += 1;
                    assert_eq!((table.head_checksum(), table.session.confirmed()), (before, confirmed));
                }
                // A seat's last input is only what predictions start from; the state is the same.
                Ok(()) => assert_eq!(table.head_checksum(), checksum, "byte {position}"),
            }
        }
    }
    assert!(refused > bytes.len(), "guard: {refused} of {} were refused", 2 * bytes.len());
    for end in 0..bytes.len() {
        assert!(Snapshot::from_bytes(&bytes[..end]).is_err(), "cut at {end}");
    }
    table.probe.assert_clean();
}
