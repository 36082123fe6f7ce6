//! Limits, at the limit and one past it.

use retick_authority::log::file::{
    FileLogConfig, FileLogError, FileName, MAX_SEGMENT_BYTES, MIN_SEGMENT_BYTES, SegmentSize, StorageOperation,
};
use retick_authority::log::{FrameLog, MAX_RECORD_BYTES};

use crate::disk::{Disk, config};

#[test]
fn a12_a_record_has_at_most_its_bytes() {
    let disk = Disk::new();
    let mut log = disk.log(config());
    let longest = vec![3; MAX_RECORD_BYTES];
    log.append(1, &longest).unwrap();
    let too_long = vec![3; MAX_RECORD_BYTES + 1];
    let refused = FileLogError::TooLong { sequence: 2, bytes: MAX_RECORD_BYTES + 1 };
    assert_eq!(log.append(2, &too_long), Err(refused));
    // A mistake of the caller's changes nothing.
    log.append(2, b"").unwrap();
    let mut log = disk.log(config());
    let mut out = Vec::new();
    assert!(log.read_into(1, &mut out).unwrap() && out == longest);
    assert!(log.read_into(2, &mut out).unwrap() && out.is_empty());
    assert_eq!(disk.longest_read(), MAX_RECORD_BYTES + 48, "no read asks for more than a record");
}

#[test]
fn a12_a_length_that_no_record_has_asks_for_no_memory() {
    let disk = Disk::new();
    let mut log = disk.log(config());
    log.append(1, b"record").unwrap();
    let mut files = disk.files();
    files[0].1[88..92].copy_from_slice(&u32::MAX.to_le_bytes());
    files[0].1.extend_from_slice(&[9; 4000]);
    let disk = Disk::of(&files);
    let log = disk.log(config());
    // With nothing behind it that was ever a record, it is the last one.
    assert_eq!((log.recovery().records, log.recovery().cut_bytes), (0, 4054));
    assert!(disk.longest_read() <= 64 * 1024);
}

#[test]
fn a12_records_come_in_order() {
    let disk = Disk::new();
    let mut log = disk.log(config());
    for found in [0, 2, u64::MAX] {
        assert_eq!(log.append(found, b"record"), Err(FileLogError::Sequence { expected: 1, found }));
    }
    log.append(1, b"record").unwrap();
    assert_eq!(log.append(1, b"record"), Err(FileLogError::Sequence { expected: 2, found: 1 }));
    let mut out = vec![1];
    for absent in [0, 2, u64::MAX] {
        assert_eq!(log.read_into(absent, &mut out), Ok(false));
        assert!(out.is_empty());
    }
}

#[test]
fn a12_a_segment_is_full_to_the_byte() {
    let segment = |disk: &Disk| disk.files().iter().map(|(_, bytes)| bytes.len()).collect::<Vec<_>>();
    let disk = Disk::new();
    let mut log = disk.log(config());
    log.append(1, &[1; 400]).unwrap();
    log.append(2, &[1; 1024 - 88 - 448 - 48]).unwrap();
    assert_eq!(segment(&disk), [1024]);
    log.append(3, b"").unwrap();
    assert_eq!(segment(&disk), [1024, 136]);

    let disk = Disk::new();
    let mut log = disk.log(config());
    log.append(1, &[1; 400]).unwrap();
    log.append(2, &[1; 1024 - 88 - 448 - 48 + 1]).unwrap();
    assert_eq!(segment(&disk), [536, 577]);
    // A record that is longer than a segment is alone in one.
    log.append(3, &[1; 5000]).unwrap();
    log.append(4, b"").unwrap();
    assert_eq!(segment(&disk), [536, 577, 5136, 136]);
    assert_eq!(disk.files()[2].0, FileName::Segment(3));
    assert_eq!(disk.log(config()).next_sequence(), 5);
}

#[test]
fn a12_a_segment_has_a_size_within_limits() {
    let bytes = |bytes| SegmentSize::new(bytes).map(SegmentSize::bytes);
    assert_eq!((bytes(MIN_SEGMENT_BYTES), bytes(MIN_SEGMENT_BYTES - 1)), (Some(MIN_SEGMENT_BYTES), None));
    assert_eq!((bytes(MAX_SEGMENT_BYTES), bytes(MAX_SEGMENT_BYTES + 1)), (Some(MAX_SEGMENT_BYTES), None));
}

#[test]
fn a12_reading_one_record_of_a_long_log_reads_a_part_of_it() {
    let disk = Disk::new();
    let config = FileLogConfig { segment_size: SegmentSize::default(), ..config() };
    let mut log = disk.log(config);
    (1..=20_000_u64).for_each(|sequence| log.append(sequence, &sequence.to_le_bytes()).unwrap());
    let mut out = Vec::new();
    for sequence in [19_999, 1, 10_000, 20_000, 7] {
        let before = disk.asked(StorageOperation::Read);
        assert!(log.read_into(sequence, &mut out).unwrap() && out == sequence.to_le_bytes());
        // This disk gives 1,500 bytes at a time; a window has 64 KiB, the log over a million.
        assert!(disk.asked(StorageOperation::Read) - before <= 2 * 64 * 1024 / 1500 + 2, "record {sequence}");
    }
}
