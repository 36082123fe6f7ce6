//! When records are forced to the disk, and what is said of it.

use std::time::Duration;

use retick_authority::log::FrameLog;
use retick_authority::log::file::{Durability, FileLogConfig, StorageOperation};
use retick_core::tick::Moment;

use crate::disk::{Dice, Disk, Tear, config};

fn with(durability: Durability) -> FileLogConfig {
    FileLogConfig { durability, ..config() }
}

#[test]
fn a12_every_frame_is_on_the_disk_when_its_append_returns() {
    let disk = Disk::new();
    let mut log = disk.log(with(Durability::EveryFrame));
    assert_eq!(log.synced_sequence(), None);
    for sequence in 1..=5 {
        let (appends, syncs) = (disk.asked(StorageOperation::Append), disk.asked(StorageOperation::Sync));
        log.append(sequence, b"record").unwrap();
        assert_eq!(log.synced_sequence(), Some(sequence));
        assert_eq!(disk.asked(StorageOperation::Append), appends + 1, "an append is one write");
        assert_eq!(disk.asked(StorageOperation::Sync), syncs + 1);
    }
    assert_eq!((log.sync_due(Moment::from_millis(1_000_000)), log.next_sync()), (Ok(Some(5)), None));
}

#[test]
fn a12_an_interval_begins_with_the_first_record_and_covers_all_before_its_end() {
    let disk = Disk::new();
    let mut log = disk.log(with(Durability::Interval(Duration::from_millis(50))));
    let at = Moment::from_millis;
    assert_eq!((log.sync_due(at(0)), log.next_sync()), (Ok(None), None));
    let syncs = disk.asked(StorageOperation::Sync);
    log.append(1, b"one").unwrap();
    assert_eq!((log.sync_due(at(1000)), log.next_sync()), (Ok(None), Some(at(1050))));
    log.append(2, b"two").unwrap();
    assert_eq!(log.sync_due(at(1049)), Ok(None));
    assert_eq!(disk.asked(StorageOperation::Sync), syncs);
    assert_eq!((log.sync_due(at(1050)), log.next_sync()), (Ok(Some(2)), None));
    assert_eq!(disk.asked(StorageOperation::Sync), syncs + 1);
    // Nothing is due without a record, and the next one begins another interval.
    assert_eq!((log.sync_due(at(5000)), log.next_sync()), (Ok(Some(2)), None));
    log.append(3, b"three").unwrap();
    assert_eq!((log.sync_due(at(6000)), log.next_sync()), (Ok(Some(2)), Some(at(6050))));
    // A sync that was asked for ends the interval.
    assert_eq!((log.sync(), log.next_sync()), (Ok(Some(3)), None));
}

#[test]
fn a12_an_interval_of_zero_or_of_ages_is_one_too() {
    let disk = Disk::new();
    let mut log = disk.log(with(Durability::Interval(Duration::ZERO)));
    log.append(1, b"one").unwrap();
    assert_eq!(log.sync_due(Moment::ZERO), Ok(Some(1)));
    drop(log);
    let mut log = disk.log(with(Durability::Interval(Duration::MAX)));
    log.append(2, b"two").unwrap();
    assert_eq!(log.sync_due(Moment::from_millis(1)), Ok(Some(1)));
    assert_eq!(log.sync_due(Moment::from_nanos(u64::MAX)), Ok(Some(2)));
}

#[test]
fn a12_without_durability_only_full_segments_and_wishes_reach_the_disk() {
    let disk = Disk::new();
    let mut log = disk.log(with(Durability::None));
    let syncs = disk.asked(StorageOperation::Sync);
    for sequence in 1..=3 {
        log.append(sequence, &[0; 250]).unwrap();
    }
    assert_eq!(log.sync_due(Moment::from_nanos(u64::MAX)), Ok(None));
    assert_eq!(disk.asked(StorageOperation::Sync), syncs);
    // The fourth does not fit: the first three reach the disk, then the next segment's header.
    log.append(4, &[0; 250]).unwrap();
    assert_eq!((log.synced_sequence(), disk.asked(StorageOperation::Sync)), (Some(3), syncs + 2));
    assert_eq!(log.sync(), Ok(Some(4)));
    assert_eq!((log.sync(), disk.asked(StorageOperation::Sync)), (Ok(Some(4)), syncs + 3));
}

/// What a process left without the machine's end may be in the system's memory alone.
#[test]
fn a12_what_an_opening_found_is_on_the_disk_before_it_is_said_to_be() {
    for durability in [Durability::EveryFrame, Durability::None] {
        let disk = Disk::new();
        let mut log = disk.log(with(Durability::None));
        (1..=3).for_each(|sequence| log.append(sequence, b"unsynced").unwrap());
        drop(log);
        assert_eq!(disk.log(with(durability)).synced_sequence(), Some(3));
        disk.crash(&mut Dice(1), Tear::Prefix);
        assert_eq!(disk.log(with(durability)).next_sequence(), 4);
    }
}
