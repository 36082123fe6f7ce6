//! The whole life of a log in real files.

use std::fs;
use std::path::PathBuf;
use std::time::Duration;

use retick_authority::log::FrameLog;
use retick_authority::log::file::{
    Directory, Durability, FileLog, FileLogConfig, FileLogError, SegmentSize, StorageOperation,
};
use retick_core::digest::Digest;
use retick_core::tick::Moment;

/// A directory that nobody else uses and that is gone in the end.
struct Place(PathBuf);

impl Place {
    fn new(name: &str) -> Place {
        let path = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(format!("{name}-{}", std::process::id()));
        Place(path)
    }

    fn names(&self) -> Vec<String> {
        let entries = fs::read_dir(&self.0).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap());
        let mut names: Vec<_> = entries.collect();
        names.sort();
        names
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

fn config(durability: Durability) -> FileLogConfig {
    let segment_size = SegmentSize::new(4096).unwrap();
    FileLogConfig { durability, segment_size, ..FileLogConfig::new(Digest::of(b"room")) }
}

fn record(sequence: u64) -> Vec<u8> {
    vec![u8::try_from(sequence % 251).unwrap(); usize::try_from(sequence * 37 % 900).unwrap()]
}

#[test]
fn a12_a_log_lives_in_files_through_reopening_tears_and_leftovers() {
    let place = Place::new("life");
    let open = |durability| FileLog::open(Directory::open(&place.0).unwrap(), config(durability)).unwrap();
    let mut last = 0;
    let durabilities = [Durability::EveryFrame, Durability::Interval(Duration::from_millis(5)), Durability::None];
    for (round, durability) in durabilities.into_iter().cycle().take(6).enumerate() {
        let mut log = open(durability);
        assert_eq!((log.recovery().records, log.synced_sequence().unwrap_or(0)), (last, last));
        assert_eq!(log.recovery().cut_bytes > 0, round > 0);
        assert_eq!(log.recovery().removed_files, usize::from(round > 0));
        assert_eq!(Directory::open(&place.0).err(), Some(FileLogError::Locked));
        let mut out = Vec::new();
        for _ in 0..30 {
            last += 1;
            log.append(last, &record(last)).unwrap();
            log.sync_due(Moment::from_millis(last)).unwrap();
            // What was just written, and something old.
            for sequence in [last, last / 2 + 1] {
                assert!(log.read_into(sequence, &mut out).unwrap() && out == record(sequence));
            }
        }
        drop(log);
        // The machine stops within a record, and while a segment is made.
        let newest = place.names().into_iter().rfind(|name| name.ends_with(".log")).unwrap();
        let mut bytes = fs::read(place.0.join(&newest)).unwrap();
        bytes.extend_from_slice(&[1, 2, 3]);
        fs::write(place.0.join(&newest), bytes).unwrap();
        fs::write(place.0.join("00000999.tmp"), b"RETI").unwrap();
        fs::write(place.0.join("notes.txt"), b"not the log's").unwrap();
    }
    let mut log = open(Durability::None);
    let mut out = Vec::new();
    for sequence in 1..=last {
        assert!(log.read_into(sequence, &mut out).unwrap() && out == record(sequence), "record {sequence}");
    }
    let names = place.names();
    assert!(names.len() > 10 && names[0] == "00000001.log", "{names:?}");
    assert_eq!(names[names.len() - 2..], ["lock", "notes.txt"]);
}

#[test]
fn a12_a_log_is_opened_once_and_after_a_failed_opening_again() {
    let place = Place::new("lock");
    let first = Directory::open(&place.0).unwrap();
    assert_eq!(first.path(), place.0);
    assert_eq!(Directory::open(&place.0).err(), Some(FileLogError::Locked));
    drop(FileLog::open(first, config(Durability::None)).unwrap());
    let other = FileLogConfig::new(Digest::of(b"another room"));
    assert!(FileLog::open(Directory::open(&place.0).unwrap(), other).is_err());
    assert!(FileLog::open(Directory::open(&place.0).unwrap(), config(Durability::None)).is_ok());
}

#[test]
fn a12_a_place_that_can_hold_no_log_is_refused() {
    let place = Place::new("nowhere");
    let refused = Directory::open(place.0.join("missing").join("room")).err();
    let kind = std::io::ErrorKind::NotFound;
    assert_eq!(refused, Some(FileLogError::Storage { operation: StorageOperation::Open, kind }));
}
