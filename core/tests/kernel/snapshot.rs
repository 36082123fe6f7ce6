//! S8: snapshots travel whole or not at all.

use retick_core::codec::wire::WireError;
use retick_core::digest::Checksum;
use retick_core::seat::{ControlEpoch, Presence};
use retick_core::snapshot::{LastInput, Snapshot, SnapshotError};
use retick_core::tick::Tick;

use crate::counter::descriptor;

fn sparse_state() -> Vec<u8> {
    let mut state = vec![0; 300_000];
    (0..70_000usize).for_each(|index| state[100_000 + index] = (index % 251) as u8);
    state
}

fn snapshot(state: &[u8]) -> Snapshot {
    let last = LastInput::new(&[100], Presence::Human, ControlEpoch(1));
    Snapshot::new(&descriptor(2), Tick::new(121), vec![last.clone(), last], state)
}

#[test]
fn s8_a_snapshot_survives_its_bytes_and_zero_pages_are_free() {
    for state in [vec![], vec![1], vec![7; 65_536], vec![0; 65_537], sparse_state()] {
        let bytes = snapshot(&state).to_bytes();
        let decoded = Snapshot::from_bytes(&bytes).unwrap();
        assert_eq!((decoded.tick(), decoded.checksum()), (Tick::new(121), Checksum::of(&state)));
        assert_eq!(decoded.verify(&descriptor(2)), Ok(state));
    }
    assert!(snapshot(&vec![0; 1 << 20]).to_bytes().len() < 200);
}

#[test]
fn s8_no_changed_byte_and_no_part_of_a_snapshot_gives_another_state() {
    let state: Vec<u8> = (0..2000u32).map(|index| (index * index % 256) as u8).collect();
    let bytes = snapshot(&state).to_bytes();
    for index in 0..bytes.len() {
        let mut changed = bytes.clone();
        changed[index] ^= 0x10;
        let taken = Snapshot::from_bytes(&changed).and_then(|snapshot| snapshot.verify(&descriptor(2)));
        // The tick and the last inputs are the receiver's to check: the state is none the worse.
        assert!(taken.is_err() || taken == Ok(state.clone()), "byte {index}");
        assert!(Snapshot::from_bytes(&bytes[..index]).is_err(), "prefix {index}");
    }
}

#[test]
fn s8_versions_matches_and_sizes_are_refused_by_name() {
    let mut bytes = snapshot(&[1, 2, 3]).to_bytes();
    let other = Snapshot::from_bytes(&bytes).unwrap().verify(&descriptor(4));
    let (expected, found) = (descriptor(4).digest(), descriptor(2).digest());
    assert_eq!(other, Err(SnapshotError::OtherMatch { expected, found }));
    bytes[0] = 1;
    assert_eq!(Snapshot::from_bytes(&bytes), Err(SnapshotError::Version { found: 1 }));
    let long = vec![2; (4 << 20) + 1];
    let too_long = WireError::TooLong { actual: long.len(), limit: 4 << 20 };
    assert_eq!(Snapshot::from_bytes(&long), Err(SnapshotError::Encoding(too_long)));
}
