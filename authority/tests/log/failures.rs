//! A disk that refuses poisons the log, and opening it again finds out what is there.

use retick_authority::log::FrameLog;
use retick_authority::log::file::{Durability, FileLog, FileLogConfig, FileLogError, FileName, StorageOperation};
use retick_core::tick::Moment;

use crate::disk::{Disk, config};

/// Two records of which the second does not fit beside the first.
const LONG: [u8; 700] = [5; 700];

#[test]
fn a12_every_refusal_of_a_write_poisons_the_log_and_loses_nothing_before_it() {
    use StorageOperation::{Append, Create, Rename, Sync, SyncDirectory};
    for operation in [Append, Sync, Create, Rename, SyncDirectory] {
        let disk = Disk::new();
        let mut log = disk.log(config());
        log.append(1, &LONG).unwrap();
        disk.refuse_next(operation);
        let refused = log.append(2, &LONG).unwrap_err();
        assert!(matches!(refused, FileLogError::Storage { operation: named, .. } if named == operation), "{refused}");
        let mut out = vec![1];
        assert_eq!(log.append(2, &LONG), Err(FileLogError::Poisoned), "{operation:?}");
        assert_eq!(log.append(9, &LONG), Err(FileLogError::Poisoned));
        assert_eq!(log.read_into(1, &mut out), Err(FileLogError::Poisoned));
        assert_eq!(
            (log.sync(), log.sync_due(Moment::ZERO)),
            (Err(FileLogError::Poisoned), Err(FileLogError::Poisoned))
        );
        assert_eq!(log.synced_sequence(), Some(1));
        drop(log);
        let mut log = disk.log(config());
        assert!(log.read_into(1, &mut out).unwrap() && out == LONG);
        assert_eq!(log.next_sequence(), 2, "{operation:?}");
        log.append(2, &LONG).unwrap();
    }
}

#[test]
fn a12_a_refused_sync_is_no_sync() {
    let disk = Disk::new();
    let mut log = disk.log(FileLogConfig { durability: Durability::None, ..config() });
    log.append(1, b"record").unwrap();
    disk.refuse_next(StorageOperation::Sync);
    assert!(matches!(log.sync(), Err(FileLogError::Storage { operation: StorageOperation::Sync, .. })));
    assert_eq!((log.synced_sequence(), log.sync()), (None, Err(FileLogError::Poisoned)));
}

#[test]
fn a12_every_refusal_at_an_opening_is_named_and_the_next_opening_is_whole() {
    use StorageOperation::{Create, Length, List, Read, Remove, Rename, Sync, SyncDirectory, Truncate};
    let disk = Disk::new();
    let mut log = disk.log(config());
    log.append(1, b"whole").unwrap();
    let mut files = disk.files();
    files[0].1.extend_from_slice(b"torn");
    files.push((FileName::Temporary(2), Vec::new()));
    for operation in [List, Length, Read, Remove, Truncate, Sync, SyncDirectory] {
        let disk = Disk::of(&files);
        disk.refuse_next(operation);
        let refused = FileLog::open(disk.clone(), config()).err();
        assert!(
            matches!(refused, Some(FileLogError::Storage { operation: named, .. }) if named == operation),
            "{refused:?}"
        );
        assert_eq!(disk.log(config()).recovery().records, 1);
    }
    for operation in [Create, Rename] {
        let disk = Disk::new();
        disk.refuse_next(operation);
        assert!(FileLog::open(disk.clone(), config()).is_err());
        assert_eq!(disk.log(config()).next_sequence(), 1);
    }
}

#[test]
fn a12_a_refused_read_poisons_nothing() {
    let disk = Disk::new();
    let mut log = disk.log(config());
    log.append(1, b"record").unwrap();
    disk.refuse_next(StorageOperation::Read);
    let mut out = Vec::new();
    assert!(matches!(log.read_into(1, &mut out), Err(FileLogError::Storage { operation: StorageOperation::Read, .. })));
    assert!(log.read_into(1, &mut out).unwrap() && out == b"record");
    log.append(2, b"more").unwrap();
}

#[test]
fn a12_what_was_being_made_when_a_log_was_left_is_removed() {
    let disk = Disk::new();
    let mut log = disk.log(config());
    log.append(1, &LONG).unwrap();
    log.append(2, &LONG).unwrap();
    let files = disk.files();
    // A segment of which only the beginning of its header is there, under its name or another.
    for name in [FileName::Segment(2), FileName::Temporary(2)] {
        for kept in 0..88 {
            let left = [files[0].clone(), (name, files[1].1[..kept].to_vec())];
            let disk = Disk::of(&left);
            let mut log = disk.log(config());
            assert_eq!((log.recovery().records, log.recovery().removed_files), (1, 1), "{name:?}, {kept} bytes");
            log.append(2, &LONG).unwrap();
            assert_eq!(disk.files(), files);
        }
    }
}
